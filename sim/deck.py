"""The deck: which species share a card and which symbols they show. Files, checks and the name of the deck in force."""

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from sim.codes import Kind, Slot
from sim.data_files import DATA, Row, pick, read_rows, whole_number
from sim.errors import DartmoorError
from sim.grammar import SYMBOL_NAMES
from sim.known_cards import KnownCard, known_cards, known_symbols
from sim.rules import DECK_SIZE
from sim.species import COPIES, Species, box_species

COLUMNS = ("id", "kind", "first", "first_symbol", "second", "second_symbol", "status")
STATUSES = ("published", "uncertain", "reconstructed")
REFERENCE = "reference"
SEED_PREFIX = "seed:"
MAX_SEED = 2**63 - 1
# Cards of each kind, in the order of their ids (rulings, The deck that is not published).
KIND_SIZES = {
    Kind.TREE: COPIES[Slot.TREE],
    Kind.SHRUB: COPIES[Slot.SHRUB],
    Kind.LEFT_RIGHT: COPIES[Slot.SIDE] // 2,
    Kind.TOP_BOTTOM: COPIES[Slot.TOP],
    Kind.MOOR: COPIES[Slot.MOOR],
}
KINDS = tuple(kind.name.lower() for kind, size in KIND_SIZES.items() for _ in range(size))  # by card number
# Slots of the species on the first and the second half of a card.
HALF_SLOTS: dict[str, tuple[Slot, ...]] = {
    "tree": (Slot.TREE,),
    "shrub": (Slot.SHRUB,),
    "left_right": (Slot.SIDE, Slot.SIDE),
    "top_bottom": (Slot.TOP, Slot.BOTTOM),
    "moor": (Slot.MOOR,),
}
HALF_COLUMNS = (("first", "first_symbol"), ("second", "second_symbol"))


@dataclass(frozen=True)
class Card:
    """One row of a deck file; first is the whole, the top or the left, second is empty on whole cards."""

    id: str
    kind: str
    first: str
    first_symbol: str
    second: str
    second_symbol: str
    status: str

    @property
    def halves(self) -> tuple[tuple[str, str], ...]:
        """Species and symbol of each half."""
        both = (self.first, self.first_symbol), (self.second, self.second_symbol)
        return both[: len(HALF_SLOTS[self.kind])]


@dataclass(frozen=True)
class Deck:
    """The 172 cards in the order of their ids; `name` says where they come from."""

    cards: tuple[Card, ...]
    name: str

    def to_csv(self) -> str:
        """Return the text of the deck's file."""
        return _csv_text(COLUMNS, (astuple(card) for card in self.cards))

    def write(self, path: Path | str) -> None:
        """Write the deck's file."""
        Path(path).write_text(self.to_csv(), encoding="utf-8", newline="")


def _csv_text(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def card_id(number: int) -> str:
    """Return the id of a card number, D001 for 0."""
    return f"D{number + 1:03d}"


def load_deck(name: str = REFERENCE) -> Deck:
    """Return a deck by name: `reference`, `seed:N` for another reconstruction, or the path of a deck file.

    Raises
    ------
    DartmoorError
        No such deck, or one that `read_deck` refuses.
    """
    from sim.deck_builder import build_deck  # the builder makes decks, so it imports this module

    if name == REFERENCE:
        return replace(read_deck(DATA / "reference_deck.csv"), name=REFERENCE)
    if name.startswith(SEED_PREFIX):
        return build_deck(_parse_seed(name))
    if not Path(name).is_file():
        raise DartmoorError(f"deck {name!r} unknown, expected {REFERENCE}, {SEED_PREFIX}N or the path of a deck file")
    return read_deck(name)


def _parse_seed(name: str) -> int:
    try:
        return whole_number(name.removeprefix(SEED_PREFIX), 0, MAX_SEED)
    except DartmoorError as error:
        raise DartmoorError(f"deck {name!r}: {error}") from None


def read_deck(path: Path | str, species: Sequence[Species] | None = None) -> Deck:
    """Return the deck of a file, checked. A tree's symbol may be left blank: a tree shows its own.

    Raises
    ------
    DartmoorError
        The file cannot be read, a cell is blank, or `check_deck` finds something.
    """
    path = Path(path)
    rows = read_rows(path, COLUMNS)
    cards = []
    for row in rows:
        _check_filled(row)
        values = dict(row.cells)
        if row["kind"] == "tree" and not row["first_symbol"]:
            values["first_symbol"] = row["first"]
        cards.append(Card(**values))
    deck = Deck(tuple(cards), str(path))
    try:
        check_deck(deck, species)
    except DartmoorError as error:
        raise DartmoorError(f"{path.name}: {error}") from None
    return deck


def _check_filled(row: Row) -> None:
    needed = ["id", "kind", "status"]
    for half, columns in enumerate(HALF_COLUMNS[: len(HALF_SLOTS.get(row["kind"], ()))]):
        needed[2 + 2 * half : 2 + 2 * half] = columns if row["kind"] != "tree" else columns[:1]
    for column in needed:
        if not row[column]:
            raise row.error(column, f"blank on card {row['id'] or '?'}, fill in what the card shows")


def check_deck(deck: Deck, species: Sequence[Species] | None = None) -> None:
    """Check that the deck is one of this box: its kinds of cards, and the copies of every species.

    Raises
    ------
    DartmoorError
        The first thing that is wrong, with card, column and valid choices.
    """
    by_key = {one.key: one for one in species or box_species()}
    if len(deck.cards) != DECK_SIZE:
        raise DartmoorError(f"{len(deck.cards)} cards, expected {DECK_SIZE}")
    for number, card in enumerate(deck.cards):
        _check_card(card, number, by_key)
    copies = Counter(key for card in deck.cards for key, _ in card.halves)
    for key, one in by_key.items():
        if copies[key] != one.copies:
            raise DartmoorError(f"{copies[key]} copies of {key}, expected {one.copies}")


def _check_card(card: Card, number: int, by_key: dict[str, Species]) -> None:
    if card.id != card_id(number):
        raise DartmoorError(f"card {card.id!r} in row {number + 1} of the deck, expected {card_id(number)}")
    _check_cell(card, "kind", (KINDS[number],))
    _check_cell(card, "status", STATUSES)
    for slot, (key, symbol) in zip(HALF_SLOTS[card.kind], HALF_COLUMNS, strict=False):
        _check_cell(card, key, [name for name, one in by_key.items() if one.slot == slot])
        _check_cell(card, symbol, (card.first,) if slot == Slot.TREE else SYMBOL_NAMES)
    if len(card.halves) == 1:
        _check_cell(card, "second", ("",))
        _check_cell(card, "second_symbol", ("",))
    elif card.first == card.second:
        raise DartmoorError(f"card {card.id}, column second: the two halves of a card are different species")
    elif card.first_symbol == card.second_symbol:
        raise DartmoorError(f"card {card.id}, column second_symbol: the two halves of a card show different symbols")


def _check_cell(card: Card, column: str, choices: Iterable[str]) -> None:
    value: str = getattr(card, column)
    try:
        pick(value, choices)
    except DartmoorError as error:
        raise DartmoorError(f"card {card.id}, column {column}: {error}") from None


def deck_warnings(deck: Deck, species: Sequence[Species] | None = None) -> list[str]:
    """Return a line for everything in which a checked deck departs from published facts or from evenness.

    A designer's deck may: these are no errors.
    """
    species = box_species() if species is None else species
    return [
        *_known_card_warnings(deck),
        *_known_symbol_warnings(deck),
        *_symbol_warnings(deck, species),
        *_pair_warnings(deck),
        *_side_warnings(deck),
    ]


def _known_card_warnings(deck: Deck) -> Iterator[str]:
    cards = {card.id: card for card in deck.cards}
    for known in known_cards():
        card = cards[known.id]
        halves = (card.first, card.second)
        # Of an uncertain card the halves are known, but not on which side they are.
        if halves != (known.first, known.second) and (
            known.status == "published" or sorted(halves) != sorted((known.first, known.second))
        ):
            yield f"card {known.id} is {_names(*halves)}; {known.status}: {_names(known.first, known.second)}"


def _names(first: str, second: str) -> str:
    return f"{first} / {second}" if second else first


def _known_symbol_warnings(deck: Deck) -> Iterator[str]:
    shown = Counter(half for card in deck.cards for half in card.halves)
    for fact in known_symbols():
        copies = shown[fact.species, fact.symbol]
        if not fact.least <= copies <= fact.most:
            expected = fact.least if fact.least == fact.most else f"{fact.least} to {fact.most}"
            yield f"{copies} copies of {fact.species} show {fact.symbol}; published: {expected}"


def _symbol_warnings(deck: Deck, species: Sequence[Species]) -> Iterator[str]:
    """Yield a line for every species, and every slot, whose halves show the symbols unevenly."""
    shown = Counter(half for card in deck.cards for half in card.halves)
    for one in species:
        counts = [shown[one.key, symbol] for symbol in SYMBOL_NAMES]
        if one.slot != Slot.TREE and max(counts) - min(counts) > 1:
            yield f"the copies of {one.key} show the symbols unevenly: {_counts(counts)}"
    for slot in (Slot.SHRUB, Slot.MOOR, Slot.TOP, Slot.BOTTOM, Slot.SIDE):
        keys = [one.key for one in species if one.slot == slot]
        counts = [sum(shown[key, symbol] for key in keys) for symbol in SYMBOL_NAMES]
        if max(counts) - min(counts) > 1:
            yield f"the {slot.name.lower()} species show the symbols unevenly: {_counts(counts)}"


def _counts(counts: Iterable[int]) -> str:
    return ", ".join(f"{name} {n}" for name, n in zip(SYMBOL_NAMES, counts, strict=True))


def _pair_warnings(deck: Deck) -> Iterator[str]:
    pairs = Counter(tuple(sorted((card.first, card.second))) for card in deck.cards if card.second)
    for (first, second), n in pairs.items():
        if n > 1:
            yield f"{first} and {second} share {n} cards"


def _side_warnings(deck: Deck) -> Iterator[str]:
    lefts = Counter(card.first for card in deck.cards if card.kind == "left_right")
    rights = Counter(card.second for card in deck.cards if card.kind == "left_right")
    for key in sorted(lefts | rights):
        if abs(lefts[key] - rights[key]) > 1:
            yield f"{key} has {lefts[key]} left and {rights[key]} right halves"


def deck_hash(deck: Deck) -> str:
    """Return the SHA-256, in hex, of the deck's file without column `status`: the same cards have the same hash."""
    cards = (astuple(card)[:-1] for card in deck.cards)
    return hashlib.sha256(_csv_text(COLUMNS[:-1], cards).encode()).hexdigest()


def template() -> str:
    """Return the text of a deck file to fill in from a real box: ids, kinds and known species are there already.

    Status says `published` for what a box owner reads off a card; where it says `uncertain`, the halves given need a
    look too.
    """
    known = {card.id: card for card in known_cards()}
    rows = []
    for number, kind in enumerate(KINDS):
        card = known.get(card_id(number), KnownCard(card_id(number), kind, "", "", "published"))
        symbol = card.first if kind == "tree" else ""
        rows.append((card.id, card.kind, card.first, symbol, card.second, "", card.status))
    return _csv_text(COLUMNS, rows)
