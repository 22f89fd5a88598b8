"""A fault: its start and end, and its ground truth."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from control.shop import Shop


@dataclass(frozen=True)
class Truth:
    """The expected diagnosis. Names are those of the spans.

    `cause` is the class of cause as Laggard names it; other right answers are in `also`. Without a service and not
    everywhere (on the whole machine), a change is harmless: whatever is said about it is false.
    """

    service: str | None = None
    operation: str | None = None
    edge: tuple[str, str] | None = None
    replicas: tuple[str, ...] = ()
    tenant: str | None = None
    cause: str | None = None
    also: tuple[str, ...] = ()
    errors: bool = False
    is_everywhere: bool = False
    more: tuple["Truth", ...] = field(default=())

    @property
    def is_harmless(self) -> bool:
        return self.service is None and self.edge is None and not self.is_everywhere

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def nothing(_: "Shop") -> None:
    """Effects and changes of load end without help."""


@dataclass(frozen=True)
class Fault:
    """A switch."""

    name: str
    summary: str
    truth: Truth
    start: Callable[["Shop"], object]
    stop: Callable[["Shop"], object] = nothing


def by_effects(name: str, summary: str, truth: Truth, *effects: dict[str, Any]) -> Fault:
    """A fault that the shop's processes have in them (`shop/switches.py`)."""
    return Fault(name, summary, truth, lambda shop: shop.effects(name, *effects))
