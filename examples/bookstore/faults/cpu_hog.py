"""Other processes use the CPU of the machine."""

import multiprocessing

from faults.fault import Fault, Truth

NAME = "cpu-hog"
PER_CPU = 2

FAULT = Fault(
    NAME,
    f"{PER_CPU} processes for each CPU of the machine compute",
    Truth(cause="foreign-load", also=("machine",), is_everywhere=True),
    lambda shop: shop.background(NAME, "faults.cpu_hog"),
    lambda shop: shop.processes.stop(NAME),
)


def compute() -> None:
    while True:
        pass


if __name__ == "__main__":
    for _ in range(PER_CPU * multiprocessing.cpu_count()):
        multiprocessing.Process(target=compute).start()
