"""A bookstore in its data folder: start, stop, and fault injection."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from control import database, nginx
from control.folders import SOURCES, install, installed, program, python
from control.processes import Processes, signal_group
from shop.layout import HOST, STORES, Layout

START_S = 60.0
FIRST_VERSION = "1.0.0"
CACHE = {"maxmemory": "64mb", "maxmemory-policy": "allkeys-random"}
#: CPU time is reported by process.cpu.time; the machine's own figures come from one process, not from each.
EXCLUDED_METRICS = "system.*,process.runtime.*,process.cpu.utilization"


class Shop:
    """Operations of commands and faults on a bookstore."""

    def __init__(self, data: Path, first_port: int) -> None:
        self.layout = Layout(data.resolve(), first_port)
        self.processes = Processes(self.layout.data)

    @staticmethod
    def from_environment() -> "Shop":
        layout = Layout.from_environment()
        return Shop(layout.data, layout.first_port)

    @property
    def first_version(self) -> str:
        return FIRST_VERSION

    # Starting and stopping

    def up(self, otlp: str | None, record: bool) -> None:
        """Starts everything; `otlp` is the endpoint of traces and metrics (`None`: the shop is not instrumented), which are
        sent through the recorder if enabled."""
        install()
        self.layout.switches.write_text('{"effects": {}}')
        (self.layout.data / "otlp").write_text(f"http://{HOST}:{self.layout.recorder}" if record else otlp or "")
        if record:
            self.start("recorder", arguments=[otlp or ""])
            self.wait_for(self.layout.recorder, "recorder")
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
        if self._endpoint():
            self.start("machine")

    def down(self) -> None:
        for name in self.processes.names():
            # PostgreSQL: the fast shutdown, which ends connections.
            self.processes.stop(name, signal.SIGINT if name == "postgres" else signal.SIGTERM)

    def start(self, name: str, version: str = FIRST_VERSION, arguments: Sequence[str] = ()) -> None:
        """One of the shop's own processes."""
        service = "store" if name in STORES else name
        environment = self.environment(service, name, version)
        is_instrumented = bool(self._endpoint())
        if name == "recommendations":
            folder = installed() / "recommendations"
            telemetry = ["--import", folder / "telemetry.mjs"] if is_instrumented else []
            command = ["node", *telemetry, folder / "server.mjs"]
        elif service in ("store", "worker"):
            instrument = [python().with_name("opentelemetry-instrument")] if is_instrumented else []
            command = [*instrument, python(), "-m", f"shop.{service}"]
        else:
            command = [python(), "-m", f"shop.{name}"]
        self.processes.start(name, [*command, *arguments], environment)

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
        resource = {"service.instance.id": instance, "service.version": version, "host.name": os.uname().nodename}
        return os.environ | {
            "PYTHONPATH": str(SOURCES),
            "PYTHONDONTWRITEBYTECODE": "1",
            "BOOKSTORE_DATA": str(self.layout.data),
            "BOOKSTORE_PORT": str(self.layout.first_port),
            "BOOKSTORE_INSTANCE": instance,
            "BOOKSTORE_VERSION": version,
            "OTEL_SERVICE_NAME": service,
            "OTEL_RESOURCE_ATTRIBUTES": ",".join(f"{name}={value}" for name, value in resource.items()),
            "OTEL_EXPORTER_OTLP_ENDPOINT": self._endpoint(),
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
        options = {"port": self.layout.redis, "bind": HOST, "dir": folder, "save": "", **CACHE}
        command = ["redis-server", *(part for name, value in options.items() for part in (f"--{name}", value))]
        self.processes.start("redis", command, os.environ)
        self.wait_for(self.layout.redis, "redis")

    def start_nginx(self) -> None:
        (self.layout.data / "nginx").mkdir(exist_ok=True)
        self.write_nginx({})
        command = [program("nginx"), "-e", "stderr", "-c", self.layout.data / "nginx.conf"]
        self.processes.start("nginx", command, os.environ)
        self.wait_for(self.layout.front, "nginx")

    def wait_for(self, port: int, name: str) -> None:
        """Waits until a port is open; fails if the process has exited."""
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
        """Sets the effects of a fault on the processes; without effects, removes them."""
        switches = self._switches()
        switches["effects"].pop(fault, None)
        if effects:
            switches["effects"][fault] = list(effects)
        self._write_switches(switches)

    def load(self, fault: str, **changes: Any) -> None:
        """Sets how a fault changes the load; without changes, removes it."""
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

    def background(self, name: str, module: str, *arguments: object) -> None:
        """Starts a process of a fault, which runs until it is stopped."""
        environment = self.environment(name, name, FIRST_VERSION)
        self.processes.start(name, [sys.executable, "-m", module, *arguments], environment)

    def database_settings(self, **settings: str | None) -> None:
        """Changes settings that need no restart; None restores the configured value."""
        for name, value in settings.items():
            self.sql(f"ALTER SYSTEM RESET {name}" if value is None else f"ALTER SYSTEM SET {name} = {value}")
        self.sql("SELECT pg_reload_conf()")

    def backup(self) -> None:
        address = f"host={HOST} port={self.layout.postgres} user=bookstore dbname=bookstore"
        with open(self.layout.data / "backup.sql", "wb") as file:
            subprocess.run(["pg_dump", address], check=True, stdout=file)

    def kill(self, name: str) -> None:
        pid = self.processes.pid(name)
        if pid is not None:
            signal_group(pid, signal.SIGKILL)

    def log(self, what: str) -> None:
        """Appends a line to the fault log with the actual time of an action."""
        line = {"time_unix_ns": time.time_ns(), "instance": "bookstore", "effect": what}
        with open(self.layout.fault_log, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _endpoint(self) -> str:
        """Where traces and metrics are sent; empty if the shop is not instrumented."""
        return (self.layout.data / "otlp").read_text()

    def _switches(self) -> dict[str, Any]:
        return json.loads(self.layout.switches.read_text())

    def _write_switches(self, switches: Mapping[str, Any]) -> None:
        temporary = self.layout.switches.with_suffix(".new")
        temporary.write_text(json.dumps(switches))
        temporary.rename(self.layout.switches)
