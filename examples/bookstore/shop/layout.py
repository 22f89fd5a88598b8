"""The layout of a shop: its data folder and its ports, numbered from the first one."""

import os
from dataclasses import dataclass
from pathlib import Path

STORES = ("store-1", "store-2", "store-3")
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Layout:
    """A running shop's folder and ports."""

    data: Path
    first_port: int

    @staticmethod
    def from_environment() -> "Layout":
        return Layout(Path(os.environ["BOOKSTORE_DATA"]), int(os.environ["BOOKSTORE_PORT"]))

    @property
    def front(self) -> int:
        return self.first_port

    def store(self, instance: str) -> int:
        return self.first_port + 1 + STORES.index(instance)

    @property
    def recommendations(self) -> int:
        return self.first_port + 4

    @property
    def payment(self) -> int:
        return self.first_port + 5

    @property
    def names(self) -> int:
        """UDP: the name server that knows the payment gateway."""
        return self.first_port + 6

    @property
    def postgres(self) -> int:
        return self.first_port + 7

    @property
    def redis(self) -> int:
        return self.first_port + 8

    def link(self, instance: str) -> int:
        """The proxy between a replica of the store and the recommendations."""
        return self.first_port + 11 + STORES.index(instance)

    @property
    def recorder(self) -> int:
        return self.first_port + 9

    @property
    def switches(self) -> Path:
        """The file of current faults, written by `bookstore break` and read by every process."""
        return self.data / "switches.json"

    @property
    def fault_log(self) -> Path:
        """The fault log with actual starts and ends: one JSON object per line."""
        return self.data / "faults.log"
