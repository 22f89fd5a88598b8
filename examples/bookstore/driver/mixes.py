"""The fourteen interactions of TPC-W and how often each mix requests them (clause 5.2.2 of TPC-W 1.8)."""

import random
from dataclasses import dataclass

MIXES = ("browsing", "shopping", "ordering")
SUBJECTS = 24
ITEMS = 10_000


@dataclass(frozen=True)
class Interaction:
    """A page and its share in each mix, in percent."""

    name: str
    method: str
    path: str
    percent: tuple[float, float, float]
    query: str = ""


INTERACTIONS = (
    Interaction("Home", "GET", "/home", (29.00, 16.00, 9.12), "item={item}"),
    Interaction("New Products", "GET", "/new", (11.00, 5.00, 0.46), "subject={subject}"),
    Interaction("Best Sellers", "GET", "/best", (11.00, 5.00, 0.46), "subject={subject}"),
    Interaction("Product Detail", "GET", "/item", (21.00, 17.00, 12.35), "item={item}"),
    Interaction("Search Request", "GET", "/search", (12.00, 20.00, 14.53), "item={item}"),
    Interaction("Search Results", "GET", "/results", (11.00, 17.00, 13.08), "text={text}"),
    Interaction("Shopping Cart", "POST", "/cart", (2.00, 11.60, 13.53), "item={item}"),
    Interaction("Customer Registration", "POST", "/register", (0.82, 3.00, 12.86)),
    Interaction("Buy Request", "POST", "/buy", (0.75, 2.60, 12.73)),
    Interaction("Buy Confirm", "POST", "/confirm", (0.69, 1.20, 10.18)),
    Interaction("Order Inquiry", "GET", "/inquiry", (0.30, 0.75, 0.25)),
    Interaction("Order Display", "GET", "/order", (0.25, 0.66, 0.22)),
    Interaction("Admin Request", "GET", "/admin", (0.10, 0.10, 0.12), "item={item}"),
    Interaction("Admin Confirm", "POST", "/admin", (0.09, 0.09, 0.11), "item={item}&cents={cents}"),
)


def choose(mix: str, dice: random.Random) -> Interaction:
    column = MIXES.index(mix)
    return dice.choices(INTERACTIONS, [one.percent[column] for one in INTERACTIONS])[0]


def address(interaction: Interaction, dice: random.Random) -> str:
    """Path and query. A few books are requested more often than the others."""
    values = {
        "item": 1 + int(ITEMS * dice.random() ** 3) % ITEMS,
        "subject": f"subject-{dice.randrange(SUBJECTS)}",
        "text": f"{dice.randrange(256):02x}",
        "cents": dice.randrange(500, 10_000),
    }
    query = interaction.query.format(**values)
    return f"{interaction.path}?{query}" if query else interaction.path
