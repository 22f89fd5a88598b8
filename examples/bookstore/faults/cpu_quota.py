"""A replica gets a CPU quota (cgroup) that is less than it needs."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from faults.fault import Fault, Truth

if TYPE_CHECKING:
    from control.shop import Shop

REPLICA = "store-2"
PERIOD_US = 100_000
QUOTA_US = 3_000
V1, V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")


def group(shop: "Shop") -> Path:
    parent = V1 if (V1 / "cpu.cfs_quota_us").exists() else V2
    return parent / f"bookstore-{shop.layout.first_port}"


def start(shop: "Shop") -> None:
    folder, pid = group(shop), shop.processes.pid(REPLICA)
    try:
        folder.mkdir(exist_ok=True)
        if folder.parent == V1:
            (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (folder / "cpu.cfs_quota_us").write_text(str(QUOTA_US))
        else:
            (folder / "cpu.max").write_text(f"{QUOTA_US} {PERIOD_US}")
        (folder / "cgroup.procs").write_text(str(pid))
    except OSError as error:
        raise SystemExit(f"a CPU quota needs the right to make cgroups: {error}") from error


def stop(shop: "Shop") -> None:
    folder, pid = group(shop), shop.processes.pid(REPLICA)
    if pid is not None:
        (folder.parent / "cgroup.procs").write_text(str(pid))
    if folder.is_dir():
        os.rmdir(folder)


FAULT = Fault(
    "cpu-quota",
    f"store-2 may use {100 * QUOTA_US // PERIOD_US} % of a CPU, {QUOTA_US // 1000} ms of every {PERIOD_US // 1000}",
    Truth(service="store", replicas=(REPLICA,), cause="configuration", also=("machine", "waiting")),
    start,
    stop,
)
