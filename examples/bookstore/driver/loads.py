"""Number of clients of each mix over time."""

import math
from collections.abc import Callable

from driver.mixes import MIXES

#: Clients of each mix at a time in seconds.
Load = Callable[[float], dict[str, int]]


def steady(mix: str, clients: int) -> Load:
    return lambda _: {mix: clients}


def paper(clients: int, hour_s: float) -> Load:
    """The 21.5 hours before the changes in the experiment of Cherkasova et al. (ACM TOCS 27(3), 2009), again and again.

    Clients are given for a population of at most `clients`; an hour of the paper takes `hour_s` seconds.
    Steady: five steps up to all clients of one mix. Mixed: 2 % browsing, 3 % shopping, 5 % ordering clients and
    bursts of up to 70 % shopping clients.
    """
    phases = ((5.0, "browsing"), (3.0, "mixed"), (5 + 1 / 6, "shopping"), (4.0, "ordering"), (4 + 1 / 3, "mixed"))
    total = sum(hours for hours, _ in phases)

    def population(time_s: float) -> dict[str, int]:
        hour = time_s / hour_s % total
        for hours, phase in phases:
            if hour < hours:
                break
            hour -= hours
        if phase != "mixed":
            return {phase: round(clients * (1 + int(5 * hour / hours)) / 5)}
        # Bursts of 25 minutes, with 15 minutes between them; their sizes differ.
        burst, within = divmod(hour * 1.5, 1)
        more = 0.15 + 0.55 * math.sin(burst * 2.4) ** 2 if within < 0.625 else 0.0
        shares = {"browsing": 0.02, "shopping": 0.03 + more, "ordering": 0.05}
        return {mix: round(clients * share) for mix, share in shares.items()}

    return population


def changed(population: dict[str, int], factor: float, mix: str | None) -> dict[str, int]:
    """The load after changes by a fault or a harmless day."""
    scaled = {name: round(factor * population.get(name, 0)) for name in MIXES}
    return scaled if mix is None else {mix: sum(scaled.values())}
