"""Runs of faults with their ground truth."""

import json
import time
from pathlib import Path
from typing import Any

from control.shop import Shop
from faults.fault import Fault


def begin(shop: Shop, fault: Fault) -> Path:
    """Injects a fault. The truth is written now and again at the end."""
    since = time.time_ns()
    shop.log(f"{fault.name} begins")
    fault.start(shop)
    path = shop.layout.data / "truth" / f"{fault.name}-{since // 10**9}.json"
    path.parent.mkdir(exist_ok=True)
    write(shop, fault, path, since, None)
    return path


def end(shop: Shop, fault: Fault) -> Path | None:
    """Removes the fault and completes its latest truth."""
    fault.stop(shop)
    shop.effects(fault.name)
    shop.load(fault.name)
    until = time.time_ns()
    shop.log(f"{fault.name} ends")
    paths = sorted((shop.layout.data / "truth").glob(f"{fault.name}-[0-9]*.json"))
    if not paths:
        return None
    since = json.loads(paths[-1].read_text())["broken_unix_ns"]
    write(shop, fault, paths[-1], since, until)
    return paths[-1]


def run(shop: Shop, fault: Fault, before_s: float, during_s: float, after_s: float) -> Path | None:
    time.sleep(before_s)
    begin(shop, fault)
    time.sleep(during_s)
    path = end(shop, fault)
    time.sleep(after_s)
    return path


def write(shop: Shop, fault: Fault, path: Path, since: int, until: int | None) -> None:
    """The onset is the first line that the shop itself logged after the switch; without one, the switch."""
    lines = []
    if shop.layout.fault_log.is_file():
        lines = [json.loads(line) for line in shop.layout.fault_log.read_text().splitlines()]
    log = [line for line in lines if since <= line["time_unix_ns"] <= (until or time.time_ns())]
    effects: list[dict[str, Any]] = [line for line in log if line["instance"] != "bookstore"]
    onset = min((line["time_unix_ns"] for line in effects or log), default=since)
    truth = fault.truth.as_json() | {
        "fault": fault.name,
        "summary": fault.summary,
        "broken_unix_ns": since,
        "onset_unix_ns": onset,
        "end_unix_ns": until,
        "log": log,
    }
    path.write_text(json.dumps(truth, indent=2) + "\n")
