"""A bookstore in its data folder: what starts, stops, and breaks it."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from control import database, nginx
from control.folders import SOURCES, install, installed, missing_packages, program, python
from control.processes import Processes, signal_group
from shop.layout import HOST, STORES, Layout

START_S = 60.0
FIRST_VERSION = "1.0.0"
#: CPU time is reported by process.cpu.time; the machine's own figures come from one process, not from each.
EXCLUDED_METRICS = "system.*,process.runtime.*,process.cpu.utilization"


class Shop:
    """Everything that commands and faults do to a bookstore."""

    def __init__(self, data: Path, first_port: int, otlp: str) -> None:
        self.layout = Layout(data.resolve(), first_port)
        self.processes = Processes(self.layout.data)
        self._otlp = otlp

    # Starting and stopping

    def up(self) -> None:
        if packages := missing_packages():
            raise SystemExit(f"these packages are missing: apt-get install {' '.join(packages)}")
        install()
        self.layout.switches.write_text('{"effects": {}}')
        database.make(self.layout)
        self.processes.start("postgres", database.command(self.layout), os.environ, database.user())
        self.wait_for(self.layout.postgres, "postgres")
        database.fill(self.layout)
        self.start_redis()
        for name in ("payment", "link", "recommendations", "worker", *STORES):
            self.start(name)
        self.wait_for(self.layout.recommendations, "recommendations")
        for name in STORES:
            self.wait_for(self.layout.store(name), name)
        self.start_nginx()
        self.start("machine")

    def down(self) -> None:
        for name in self.processes.names():
            # PostgreSQL: the fast shutdown, which ends connections.
            self.processes.stop(name, signal.SIGINT if name == "postgres" else signal.SIGTERM)

    def start(self, name: str, version: str = FIRST_VERSION) -> None:
        """One of the shop's own processes."""
        service = "store" if name in STORES else name
        environment = self.environment(service, name, version)
        if name == "recommendations":
            folder = installed() / "recommendations"
            command = ["node", "--import", folder / "telemetry.mjs", folder / "server.mjs"]
        elif service in ("store", "worker"):
            command = [python().with_name("opentelemetry-instrument"), python(), "-m", f"shop.{service}"]
        else:
            command = [python(), "-m", f"shop.{name}"]
        self.processes.start(name, command, environment)

    def restart(self, name: str, version: str = FIRST_VERSION) -> None:
        self.processes.stop(name)
        self.start(name, version)
        if name in STORES:
            self.wait_for(self.layout.store(name), name)
        elif name == "recommendations":
            self.wait_for(self.layout.recommendations, name)

    def deploy(self, version: str, names: Sequence[str] = STORES, pause_s: float = 2.0) -> None:
        """A rolling upgrade: one replica after the other."""
        for name in names:
            self.restart(name, version)
            time.sleep(pause_s)

    def environment(self, service: str, instance: str, version: str) -> dict[str, str]:
        return os.environ | {
            "PYTHONPATH": str(SOURCES),
            "PYTHONDONTWRITEBYTECODE": "1",
            "BOOKSTORE_DATA": str(self.layout.data),
            "BOOKSTORE_PORT": str(self.layout.first_port),
            "BOOKSTORE_INSTANCE": instance,
            "BOOKSTORE_VERSION": version,
            "OTEL_SERVICE_NAME": service,
            "OTEL_RESOURCE_ATTRIBUTES": f"service.instance.id={instance},service.version={version},host.name={os.uname().nodename}",
            "OTEL_EXPORTER_OTLP_ENDPOINT": self._otlp,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_LOGS_EXPORTER": "none",
            "OTEL_BSP_SCHEDULE_DELAY": "1000",
            "OTEL_METRIC_EXPORT_INTERVAL": "10000",
            "OTEL_SEMCONV_STABILITY_OPT_IN": "http,database",
            "OTEL_PYTHON_SYSTEM_METRICS_EXCLUDED_METRICS": EXCLUDED_METRICS,
        }

    def start_redis(self) -> None:
        folder = self.layout.data / "redis"
        folder.mkdir(exist_ok=True)
        options = {"port": self.layout.redis, "bind": HOST, "dir": folder, "save": "", "maxmemory-policy": "allkeys-random"}
        command = ["redis-server", *(part for name, value in options.items() for part in (f"--{name}", value))]
        self.processes.start("redis", command, os.environ)
        self.wait_for(self.layout.redis, "redis")

    def start_nginx(self) -> None:
        (self.layout.data / "nginx").mkdir(exist_ok=True)
        self.write_nginx({})
        self.processes.start("nginx", [program("nginx"), "-e", "stderr", "-c", self.layout.data / "nginx.conf"], os.environ)
        self.wait_for(self.layout.front, "nginx")

    def wait_for(self, port: int, name: str) -> None:
        """Until something listens; a process that ended before is an error."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            with socket.socket() as sock:
                if sock.connect_ex((HOST, port)) == 0:
                    return
            if self.processes.pid(name) is None:
                raise SystemExit(f"{name} ended; see {self.layout.data}/logs/{name}.log")
            time.sleep(0.1)
        raise SystemExit(f"{name} does not answer on port {port}; see {self.layout.data}/logs/{name}.log")

    # Breaking

    def effects(self, fault: str, *effects: Mapping[str, Any]) -> None:
        """What the processes are to do wrong; none ends it."""
        switches = self._switches()
        switches["effects"].pop(fault, None)
        if effects:
            switches["effects"][fault] = list(effects)
        self._write_switches(switches)

    def load(self, fault: str, **changes: Any) -> None:
        """What the driver is to do otherwise; nothing ends it."""
        switches = self._switches()
        switches.setdefault("load", {}).pop(fault, None)
        if changes:
            switches["load"][fault] = changes
        self._write_switches(switches)

    def sql(self, text: str) -> str:
        return database.sql(self.layout, text)

    def redis(self, *words: str) -> str:
        command = ["redis-cli", "-p", str(self.layout.redis), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def write_nginx(self, weights: Mapping[str, int]) -> None:
        text = nginx.configuration(self.layout, weights, os.geteuid() == 0)
        (self.layout.data / "nginx.conf").write_text(text)
        pid = self.processes.pid("nginx")
        if pid is not None:
            os.kill(pid, signal.SIGHUP)

    def spawn(self, name: str, *arguments: object) -> int:
        """A process of a fault: a module of the package `faults`."""
        command = [python(), "-m", *arguments]
        return self.processes.start(name, command, self.environment(name, name, FIRST_VERSION))

    def kill(self, name: str) -> None:
        pid = self.processes.pid(name)
        if pid is not None:
            signal_group(pid, signal.SIGKILL)

    def log(self, what: str) -> None:
        """A line of the fault log: when something was really done."""
        line = {"time_unix_ns": time.time_ns(), "instance": "bookstore", "effect": what}
        with open(self.layout.fault_log, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _switches(self) -> dict[str, Any]:
        return json.loads(self.layout.switches.read_text())

    def _write_switches(self, switches: Mapping[str, Any]) -> None:
        temporary = self.layout.switches.with_suffix(".new")
        temporary.write_text(json.dumps(switches))
        temporary.rename(self.layout.switches)
