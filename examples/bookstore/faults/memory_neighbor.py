"""Another process on the machine allocates memory and touches all of it."""

import time

from faults.fault import Fault, Truth

NAME = "memory-neighbor"
STEP_MIB, MAX_MIB, RESERVE_MIB = 32, 1024, 512
PAGE = 4096

FAULT = Fault(
    NAME,
    f"a process takes {STEP_MIB} MiB a second, up to {MAX_MIB} MiB, and writes to all of it again and again",
    Truth(cause="foreign-load", also=("machine",), is_everywhere=True),
    lambda shop: shop.background(NAME, "faults.memory_neighbor"),
    lambda shop: shop.processes.stop(NAME),
)


def available_mib() -> int:
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) // 1024 for line in file if line.startswith("MemAvailable"))


if __name__ == "__main__":
    blocks: list[bytearray] = []
    while True:
        if len(blocks) * STEP_MIB < MAX_MIB and available_mib() > RESERVE_MIB:
            blocks.append(bytearray(STEP_MIB << 20))
        for block in blocks:
            block[::PAGE] = bytes(len(block) // PAGE)
        time.sleep(1)
