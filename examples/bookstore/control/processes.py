"""Starts processes that outlive the command, records them in the data folder, and stops only those."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

STOP_S = 15.0
POSTGRES_USER = "postgres"


class Processes:
    """The processes of one data folder, by name."""

    def __init__(self, data: Path) -> None:
        self._run = data / "run"
        self._logs = data / "logs"
        for folder in (data, self._run, self._logs):
            folder.mkdir(parents=True, exist_ok=True)

    def start(
        self, name: str, command: Sequence[object], environment: Mapping[str, str], user: str | None = None
    ) -> int:
        """Starts a process in a new session; its output is in logs/NAME.log."""
        if self.pid(name) is not None:
            raise SystemExit(f"{name} is running already; `bookstore down` stops it")
        with open(self._logs / f"{name}.log", "ab") as log:
            child = subprocess.Popen(
                [str(part) for part in command],
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=user,
                group=user,
                extra_groups=[] if user else None,
            )
        self._file(name).write_text(json.dumps({"pid": child.pid, "started": started(child.pid)}))
        return child.pid

    def pid(self, name: str) -> int | None:
        """The process id, if the process with this id is still the one that was started."""
        try:
            known = json.loads(self._file(name).read_text())
        except FileNotFoundError:
            return None
        if known["started"] is None or started(known["pid"]) != known["started"]:
            return None
        return int(known["pid"])

    def stop(self, name: str, how: signal.Signals = signal.SIGTERM) -> None:
        """Stops a process and its children."""
        pid = self.pid(name)
        if pid is not None:
            signal_group(pid, how)
            deadline = time.monotonic() + STOP_S
            while self.pid(name) is not None and time.monotonic() < deadline:
                reap(pid)
                time.sleep(0.05)
            if self.pid(name) is not None:
                signal_group(pid, signal.SIGKILL)
                reap(pid)
        self._file(name).unlink(missing_ok=True)

    def names(self) -> list[str]:
        """Started processes, the newest first."""
        files = sorted(self._run.glob("*.json"), key=lambda file: file.stat().st_mtime_ns, reverse=True)
        return [file.stem for file in files]

    def _file(self, name: str) -> Path:
        return self._run / f"{name}.json"


def started(pid: int) -> str | None:
    """Start time of a process according to the kernel, since process ids are reused."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == "Z" else fields[19]


def signal_group(pid: int, how: signal.Signals) -> None:
    try:
        os.killpg(pid, how)
    except ProcessLookupError:
        pass


def reap(pid: int) -> None:
    """Reaps a child of this command; other processes are reaped by their parents."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass
