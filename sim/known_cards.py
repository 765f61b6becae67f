"""What is known of physical cards: `known_cards.csv` (their species) and `known_symbols.csv` (symbols of a species)."""

from dataclasses import dataclass
from functools import cache

from sim.data_files import DATA, check_distinct, read_rows
from sim.grammar import SYMBOL_NAMES
from sim.rules import DECK_SIZE


@dataclass(frozen=True)
class KnownCard:
    """A physical card whose species are known, but not their symbols."""

    id: str
    kind: str
    first: str
    second: str
    status: str


@dataclass(frozen=True)
class KnownSymbol:
    """What is known of one symbol on one species: how many copies show it at least and at most."""

    species: str
    symbol: str
    least: int
    most: int


@cache
def known_cards() -> tuple[KnownCard, ...]:
    """Return the cards of `known_cards.csv`."""
    rows = read_rows(DATA / "known_cards.csv", ("id", "kind", "first", "second", "status", "note"))
    check_distinct(rows, "id")
    return tuple(KnownCard(*(row[name] for name in ("id", "kind", "first", "second", "status"))) for row in rows)


@cache
def known_symbols() -> tuple[KnownSymbol, ...]:
    """Return the facts of `known_symbols.csv`."""
    rows = read_rows(DATA / "known_symbols.csv", ("species", "symbol", "least", "most", "note"))
    return tuple(
        KnownSymbol(
            row["species"],
            row.choice("symbol", SYMBOL_NAMES),
            row.number("least", 0, DECK_SIZE),
            row.number("most", 0, DECK_SIZE),
        )
        for row in rows
    )
