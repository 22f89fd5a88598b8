"""Other processes on the machine allocate memory and write to it without pause, which takes memory bandwidth, caches, and CPU."""

import multiprocessing
import time

from faults.fault import Fault, Truth

NAME = "memory-neighbor"
STEP_MIB, MAX_MIB, RESERVE_MIB = 32, 1024, 512
STEP_S = 1.0

FAULT = Fault(
    NAME,
    f"one process for each CPU; together they take {STEP_MIB} MiB a second, up to {MAX_MIB} MiB, and write to it without pause",
    Truth(cause="foreign-load", also=("machine",), is_everywhere=True),
    lambda shop: shop.background(NAME, "faults.memory_neighbor"),
    lambda shop: shop.processes.stop(NAME),
)


def available_mib() -> int:
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) // 1024 for line in file if line.startswith("MemAvailable"))


def fill(processes: int) -> None:
    blocks: list[bytearray] = []
    content = bytes(STEP_MIB << 20)
    next_step = time.monotonic()
    while True:
        has_room = len(blocks) * processes * STEP_MIB < MAX_MIB and available_mib() > RESERVE_MIB
        if has_room and time.monotonic() >= next_step:
            next_step += processes * STEP_S
            blocks.append(bytearray(content))
        for block in blocks:
            block[:] = content


if __name__ == "__main__":
    cpus = multiprocessing.cpu_count()
    for _ in range(cpus):
        multiprocessing.Process(target=fill, args=(cpus,)).start()
