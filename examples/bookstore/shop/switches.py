"""Fault effects in a process: the effects listed in a file that apply to it.

Nothing here knows a fault by name. An effect is an object with conditions and one action:

    conditions: service, instance, version, operation, tenant, share (0 to 1 of the calls)
    actions:    sleep_ms, spin_ms, lock_ms, error, leak_kib, read_file, set (names and values that the code asks for)
"""

import json
import os
import random
import threading
import time
from collections.abc import Iterator
from typing import Any

from shop.layout import Layout

POLL_S = 0.25
LEAK_MAX_KIB = 400 * 1024
CONDITIONS = ("service", "instance", "version", "operation", "tenant")


class SwitchedError(Exception):
    """The error that an effect raises."""


class Switches:
    """The effects on this process, reloaded whenever the file changes."""

    def __init__(self, layout: Layout, operation: str | None = None) -> None:
        self._layout = layout
        self._self = {
            "service": os.environ["OTEL_SERVICE_NAME"],
            "instance": os.environ["BOOKSTORE_INSTANCE"],
            "version": os.environ["BOOKSTORE_VERSION"],
        }
        self._effects: list[dict[str, Any]] = []
        self._changed: float = -1
        self._logged: set[str] = set()
        self._leaked: list[list[str]] = []
        self._lock = threading.Lock()
        self._read()
        threading.Thread(target=self._poll, daemon=True, name="switches").start()

    def apply(self, operation: str, tenant: str | None = None) -> None:
        """Applies the effects to one call of an operation."""
        for effect in self._matching(operation=operation, tenant=tenant):
            if random.random() < effect.get("share", 1):
                self._log(effect)
                self._act(effect)

    def value(self, name: str, default: Any, **call: str | None) -> Any:
        """A setting, possibly overridden by an effect."""
        for effect in self._matching(**call):
            if name in effect.get("set", {}):
                self._log(effect)
                return effect["set"][name]
        return default

    def _matching(self, **call: str | None) -> Iterator[dict[str, Any]]:
        known = self._self | call
        for effect in self._effects:
            if all(known.get(name) == effect[name] for name in CONDITIONS if name in effect):
                yield effect

    def _act(self, effect: dict[str, Any]) -> None:
        if "sleep_ms" in effect:
            time.sleep(effect["sleep_ms"] / 1000)
        if "spin_ms" in effect:
            end = time.thread_time() + effect["spin_ms"] / 1000
            while time.thread_time() < end:
                pass
        if "lock_ms" in effect:
            with self._lock:
                time.sleep(effect["lock_ms"] / 1000)
        if "leak_kib" in effect and len(self._leaked) * effect["leak_kib"] < LEAK_MAX_KIB:
            # Many small objects, as leaks are: a full collection visits all of them.
            self._leaked.append([str(number) * 2 for number in range(effect["leak_kib"] * 1024 // 70)])
        if "read_file" in effect:
            with open(effect["read_file"], "rb", buffering=0) as file:
                file.read(16)
        if "error" in effect:
            raise SwitchedError(effect["error"])

    def _log(self, effect: dict[str, Any]) -> None:
        """Logs the first application of an effect, which is the onset of the fault in this process."""
        text = json.dumps(effect, sort_keys=True)
        if text in self._logged:
            return
        self._logged.add(text)
        line = {"time_unix_ns": time.time_ns(), "instance": self._self["instance"], "effect": effect}
        with open(self._layout.fault_log, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _poll(self) -> None:
        while True:
            time.sleep(POLL_S)
            self._read()

    def _read(self) -> None:
        try:
            changed = self._layout.switches.stat().st_mtime_ns
            if changed == self._changed:
                return
            switches = json.loads(self._layout.switches.read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return
        self._effects = [effect for effects in switches["effects"].values() for effect in effects]
        self._changed = changed
        self._logged.clear()
        if not any("leak_kib" in effect for effect in self._effects):
            self._leaked.clear()
