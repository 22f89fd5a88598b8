"""CPU of the servers that have no SDK (nginx, PostgreSQL, Redis), and CPU, memory, and disks of the machine, as OTLP metrics."""

import json
import os
import time
from collections.abc import Callable, Iterable

import psutil
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.instrumentation.system_metrics import SystemMetricsInstrumentor
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from shop.layout import Layout

SERVERS = ("nginx", "postgres", "redis")
MACHINE: dict[str, list[str] | None] = {
    "system.cpu.time": ["idle", "user", "system", "irq", "softirq", "steal", "iowait"],
    "system.memory.utilization": ["used", "free", "cached"],
}


def cpu_seconds(pid: int) -> Callable[[], float]:
    """CPU time of a process and all its observed descendants, which never decreases."""
    total = 0.0
    before: dict[tuple[int, float], float] = {}

    def read() -> float:
        nonlocal total, before
        now: dict[tuple[int, float], float] = {}
        try:
            parent = psutil.Process(pid)
            for process in [parent, *parent.children(recursive=True)]:
                times = process.cpu_times()
                now[process.pid, process.create_time()] = times.user + times.system
        except psutil.NoSuchProcess:
            pass
        total += sum(max(0.0, used - before.get(key, 0.0)) for key, used in now.items())
        before = before | now
        return total

    return read


def provider(attributes: dict[str, str]) -> MeterProvider:
    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    return MeterProvider([reader], resource=Resource.create(attributes))


def observe(name: str, pid: int) -> MeterProvider:
    read = cpu_seconds(pid)

    def callback(_: CallbackOptions) -> Iterable[Observation]:
        yield Observation(read())

    made = provider({"service.name": name, "service.instance.id": name, "host.name": os.uname().nodename})
    made.get_meter("bookstore").create_observable_counter("process.cpu.time", [callback], unit="s")
    return made


def main() -> None:
    run = Layout.from_environment().data / "run"
    servers = [observe(name, json.loads((run / f"{name}.json").read_text())["pid"]) for name in SERVERS]
    machine = provider({"host.name": os.uname().nodename})
    SystemMetricsInstrumentor(config=MACHINE).instrument(meter_provider=machine)
    while servers:
        time.sleep(60)


if __name__ == "__main__":
    main()
