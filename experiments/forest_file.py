"""Forest files: real tables as JSON or TOML, read, checked, and laid out as a game record for the kernels.

Every error names the file and the place in it, such as
`table.json: players[0].habitats[2].top[1]: species 'buzard' unknown, did you mean 'buzzard'?`.
"""

import difflib
import json
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sim.codes import Face, Kind, MoorSlot, Placement, Share, Slot, Symbol, TreeSlot
from sim.errors import DartmoorError
from sim.forest import place, slot_accepts
from sim.grammar import SYMBOL_NAMES
from sim.rules import DECK_SIZE, MAX_PLAYERS, UNIVERSAL_MOOR
from sim.scoring import NO_CAVE
from sim.species import COPIES, HABITATS, Species
from sim.state import new_games

UNIVERSAL_MOOR_KEY = "universal_moor"
KINDS = {
    Slot.TREE: Kind.TREE,
    Slot.SHRUB: Kind.SHRUB,
    Slot.MOOR: Kind.MOOR,
    Slot.TOP: Kind.TOP_BOTTOM,
    Slot.BOTTOM: Kind.TOP_BOTTOM,
    Slot.SIDE: Kind.LEFT_RIGHT,
}
# A split card shows one of its two halves, so a table shows no more of them than there are cards.
SPLIT_CARDS = {Kind.TOP_BOTTOM: COPIES[Slot.TOP], Kind.LEFT_RIGHT: COPIES[Slot.SIDE] // 2}


@dataclass(frozen=True)
class Side:
    """One list of a habitat in the file: which species it takes, as which half, and the slots that it means."""

    name: str
    slot: Slot
    half: int
    tree_slots: tuple[TreeSlot, ...]
    moor_slots: tuple[MoorSlot, ...]


SIDES = {
    side.name: side
    for side in (
        Side("top", Slot.TOP, 0, (TreeSlot.TOP,), (MoorSlot.TOP, MoorSlot.TOP2)),
        Side("bottom", Slot.BOTTOM, 1, (TreeSlot.BOTTOM,), (MoorSlot.BOTTOM, MoorSlot.BOTTOM2)),
        Side("left", Slot.SIDE, 0, (TreeSlot.LEFT,), ()),
        Side("right", Slot.SIDE, 1, (TreeSlot.RIGHT,), ()),
    )
}


@dataclass(frozen=True)
class Entry:
    """One visible card: its species code, its Symbol, and where it stands in the file."""

    species: int
    symbol: Symbol
    where: str


@dataclass(frozen=True)
class Habitat:
    """A tree, shrub or moor and what lives at it, by the lists of the file."""

    card: Entry
    dwellers: Mapping[str, tuple[Entry, ...]]


@dataclass(frozen=True)
class Forest:
    """One player's forest; `cave` is a cave's number, None where the file names none."""

    name: str
    cave: int | None
    cave_cards: int
    habitats: tuple[Habitat, ...]
    where: str

    def entries(self) -> Iterator[Entry]:
        """Yield every visible card, in the order of the file."""
        for habitat in self.habitats:
            yield habitat.card
            for entries in habitat.dwellers.values():
                yield from entries


@dataclass(frozen=True)
class Table:
    """The forests of one table, in the order of the file."""

    forests: tuple[Forest, ...]
    where: str

    def entries(self) -> Iterator[Entry]:
        """Yield every visible card of every player."""
        for forest in self.forests:
            yield from forest.entries()


def read_document(path: Path) -> object:
    """Return the content of a forest file: TOML if its name ends in .toml, else JSON.

    Raises
    ------
    DartmoorError
        The file cannot be read, or is not what its name says; the message names the line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DartmoorError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DartmoorError(f"{path}: is not text in UTF-8") from None
    try:
        if path.suffix.lower() == ".toml":
            return tomllib.loads(text)
        return json.loads(text, object_pairs_hook=_distinct_keys)
    except json.JSONDecodeError as error:
        raise DartmoorError(f"{path}: line {error.lineno} column {error.colno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise DartmoorError(f"{path}: nested too deeply for a forest file") from None
    except tomllib.TOMLDecodeError as error:
        raise DartmoorError(f"{path}: not TOML: {error}") from None
    except DartmoorError as error:
        raise DartmoorError(f"{path}: {error}") from None


def parse_table(document: object, species: Sequence[Species], caves: Collection[int], where: str) -> Table:
    """Return a forest file's content as a table, every name in it understood.

    Parameters
    ----------
    document
        What `read_document` returns.
    species
        The species of the box; a species code is an index into it.
    caves
        The numbers of the caves in force.
    where
        The file's name, for messages.

    Raises
    ------
    DartmoorError
        A key, species, symbol or cave is unknown, or a value is not of its kind.
    """
    content = _object(document, ("players",), ("players",), where)
    players = _list(content["players"], f"{where}: players")
    if not 1 <= len(players) <= MAX_PLAYERS:
        raise DartmoorError(f"{where}: players: {len(players)} forests, expected 1 to {MAX_PLAYERS}")
    reader = _Reader(species, caves)
    forests = [reader.forest(player, i, f"{where}: players[{i}]") for i, player in enumerate(players)]
    names: set[str] = set()
    for forest in forests:
        if forest.name in names:
            raise DartmoorError(f"{forest.where}.name: {forest.name!r} is the name of two players")
        names.add(forest.name)
    return Table(tuple(forests), where)


def check_counts(table: Table, species: Sequence[Species]) -> None:
    """Check that one box holds all that lies on the table (rules, Parts): copies, split cards, caves, cards in all.

    Raises
    ------
    DartmoorError
        Naming the first card or cave that is one too many.
    """
    copies: Counter[int] = Counter()
    split: Counter[Kind] = Counter()
    for entry in table.entries():
        if entry.species == UNIVERSAL_MOOR:
            continue
        one = species[entry.species]
        copies[entry.species] += 1
        if copies[entry.species] > one.copies:
            raise DartmoorError(f"{entry.where}: one {one.key!r} too many, the box holds {one.copies}")
        kind = KINDS[one.slot]
        split[kind] += 1
        if split[kind] > SPLIT_CARDS.get(kind, DECK_SIZE):
            name = kind.name.lower().replace("_", "/")
            raise DartmoorError(f"{entry.where}: one {name} card too many, the box holds {SPLIT_CARDS[kind]}")
    _check_caves(table)
    cards = sum(1 for _ in table.entries()) + sum(forest.cave_cards for forest in table.forests)
    if cards > DECK_SIZE:
        raise DartmoorError(f"{table.where}: players: {cards} cards in forests and caves, the deck holds {DECK_SIZE}")


def lay_out(
    table: Table, tables: np.ndarray, species: Sequence[Species], lenient: bool = False
) -> tuple[np.void, np.void]:
    """Lay a table's cards into a new game record, each where it may be.

    Which deck card shows a species is not in the file: the i-th card laid down is card number i of a deck of its own.

    Parameters
    ----------
    table
        From `parse_table`.
    tables
        Shape (1,), dtype TABLES: species, caves and rulings in force; its deck is not looked at.
    species
        The species of the box, for messages.
    lenient
        Lay cards down also where they may not be.

    Returns
    -------
    state, tables
        Records of dtype GAME and TABLES for the kernels of `sim.scoring`; the tables hold the deck made here.

    Raises
    ------
    DartmoorError
        More cards than a deck has, or, unless `lenient`, a card with no legal slot.
    """
    if (cards := sum(1 for _ in table.entries())) > DECK_SIZE:
        raise DartmoorError(f"{table.where}: players: {cards} cards in forests, the deck holds {DECK_SIZE}")
    layout = _Layout(tables, species, lenient)
    layout.state["players"] = len(table.forests)
    for player, forest in enumerate(table.forests):
        layout.set_cave(player, forest)
        for habitat in forest.habitats:
            layout.add_habitat(player, habitat)
    return layout.state, layout.tables


class _Reader:
    """Reads the parts of a forest file, with the names that are valid in it."""

    def __init__(self, species: Sequence[Species], caves: Collection[int]) -> None:
        self.species = species
        self.caves = caves
        self.codes = {one.key: code for code, one in enumerate(species)} | {UNIVERSAL_MOOR_KEY: UNIVERSAL_MOOR}
        self.habitat_keys = [one.key for one in species if one.slot in HABITATS] + [UNIVERSAL_MOOR_KEY]

    def forest(self, value: object, index: int, where: str) -> Forest:
        content = _object(value, ("name", "cave", "cave_cards", "habitats"), ("habitats",), where)
        name = content.get("name", f"Player {index + 1}")
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise DartmoorError(f"{where}.name: {name!r} is not a name, expected text")
        habitats = _list(content["habitats"], f"{where}.habitats")
        return Forest(
            name,
            self.cave(content.get("cave"), f"{where}.cave"),
            _whole_number(content.get("cave_cards", 0), DECK_SIZE, f"{where}.cave_cards"),
            tuple(self.habitat(habitat, f"{where}.habitats[{i}]") for i, habitat in enumerate(habitats)),
            where,
        )

    def cave(self, value: object, where: str) -> int | None:
        if value is None:
            return None
        if type(value) is not int or value not in self.caves:
            raise DartmoorError(f"{where}: cave {value!r} unknown, expected one of {_listed(sorted(self.caves))}")
        return value

    def habitat(self, value: object, where: str) -> Habitat:
        content = _object(value, ("card", "symbol", *SIDES), ("card",), where)
        card = self.habitat_card(content, where)
        dwellers = {
            side.name: tuple(
                self.dweller(entry, side, f"{where}.{side.name}[{i}]")
                for i, entry in enumerate(_list(content.get(side.name, []), f"{where}.{side.name}"))
            )
            for side in SIDES.values()
        }
        return Habitat(card, dwellers)

    def habitat_card(self, content: Mapping[str, object], where: str) -> Entry:
        code, symbol = self.entry(content["card"], self.habitat_keys, f"{where}.card")
        if "symbol" in content:
            apart = _symbol(content["symbol"], f"{where}.symbol")
            if symbol not in (Symbol.NONE, apart):
                raise DartmoorError(f"{where}.symbol: {content['symbol']!r} is not the symbol of {content['card']!r}")
            symbol = apart
        if code == UNIVERSAL_MOOR and symbol != Symbol.NONE:
            raise DartmoorError(f"{where}: a universal moor lies face down and shows no symbol")
        if code != UNIVERSAL_MOOR and self.species[code].slot == Slot.TREE:
            own = SYMBOL_NAMES[self.species[code].key]
            if symbol not in (Symbol.NONE, own):
                raise DartmoorError(f"{where}: a tree shows its own symbol, {own.name.lower()!r}")
            symbol = own
        elif code != UNIVERSAL_MOOR and self.species[code].slot not in HABITATS:
            raise DartmoorError(
                f"{where}.card: {self.species[code].key!r} is no habitat, expected one of {_listed(self.habitat_keys)}"
            )
        return Entry(code, symbol, f"{where}.card")

    def dweller(self, value: object, side: Side, where: str) -> Entry:
        keys = [one.key for one in self.species if one.slot == side.slot]
        code, symbol = self.entry(value, keys, where)
        if code == UNIVERSAL_MOOR or self.species[code].slot in HABITATS:
            raise DartmoorError(f"{where}: {value!r} is a habitat, expected one of {_listed(keys)}")
        return Entry(code, symbol, where)

    def entry(self, value: object, expected: Sequence[str], where: str) -> tuple[int, Symbol]:
        """Return species code and symbol of `species` or `species:symbol`; `expected` are the keys that fit here."""
        if not isinstance(value, str):
            raise DartmoorError(f"{where}: {value!r} is not an entry, expected 'species' or 'species:symbol'")
        key, colon, symbol = (part.strip() for part in value.partition(":"))
        if key not in self.codes:
            raise DartmoorError(f"{where}: species {key!r} unknown, {_suggestion(key, self.codes, expected)}")
        return self.codes[key], _symbol(symbol, where) if colon else Symbol.NONE


class _Layout:
    """A game record in the making, and the deck that it is made of."""

    def __init__(self, tables: np.ndarray, species: Sequence[Species], lenient: bool) -> None:
        self.state: np.void = new_games(1)[0]
        self.tables: np.void = tables.copy()[0]
        self.species = species
        self.lenient = lenient
        self.cards = 0

    def set_cave(self, player: int, forest: Forest) -> None:
        numbers = list(self.tables["cave_number"][: self.tables["caves_n"]])
        self.state["cave"][player] = NO_CAVE if forest.cave is None else numbers.index(forest.cave)
        self.state["cave_n"][player] = forest.cave_cards

    def add_habitat(self, player: int, habitat: Habitat) -> None:
        """Lay down a habitat, then its dwellers in an order in which each finds its slot if any order does."""
        card = self.add_card(habitat.card)
        face = Face.DOWN if habitat.card.species == UNIVERSAL_MOOR else Face.FIRST
        place(self.state, self.tables, player, card, int(face), card, 0)
        is_moor = habitat.card.species == UNIVERSAL_MOOR or self.species[habitat.card.species].slot == Slot.MOOR
        dwellers = [(SIDES[name], entry) for name, entries in habitat.dwellers.items() for entry in entries]
        for side, entry in sorted(dwellers, key=self.precedence):
            slot = self.free_slot(card, side, entry, is_moor)
            place(self.state, self.tables, player, self.add_card(entry), int(Face.FIRST), card, int(slot))

    def precedence(self, dweller: tuple[Side, Entry]) -> int:
        """Order dwellers: who lets others share, who needs a slot alone, who shares, who needs another bird there."""
        side, entry = dweller
        placement = self.tables["placement"][entry.species, side.half]
        if self.tables["share"][entry.species] != Share.NONE:
            return 0
        if placement == Placement.TOP_CUCKOO:
            return 3
        return 2 if _may_share(placement) else 1

    def free_slot(self, habitat: int, side: Side, entry: Entry, is_moor: bool) -> TreeSlot | MoorSlot:
        """Return the first slot of a list that takes a species now; if lenient and none does, the first."""
        slots: tuple[TreeSlot | MoorSlot, ...] = side.moor_slots if is_moor else side.tree_slots
        if self.species[entry.species].slot == side.slot:
            wanted = 1 << int(self.tables["placement"][entry.species, side.half])
            for slot in slots:
                if slot_accepts(self.state, self.tables, habitat, int(slot)) & wanted:
                    return slot
        if not self.lenient:
            raise DartmoorError(f"{entry.where}: {self.refusal(habitat, side, entry, is_moor)}")
        return slots[0] if slots else MoorSlot.TOP  # a side card at a moor counts as in the moor, but not as below it

    def refusal(self, habitat: int, side: Side, entry: Entry, is_moor: bool) -> str:
        """Say why no slot takes a species."""
        one = self.species[entry.species]
        if one.slot != side.slot:
            return f"{one.key!r} is a {one.slot.name.lower()} species, it cannot go to a {side.name} slot"
        if is_moor and not side.moor_slots:
            return f"a moor has no {side.name} slot for {one.key!r}"
        if one.moor_only and not is_moor:
            return f"{one.key!r} goes to a moor only"
        if one.is_cuckoo:
            return self.cuckoo_refusal(habitat, one.key, is_moor)
        shared = self.state["shares_top" if side.slot == Slot.TOP else "shares_sides"][habitat]
        if _may_share(self.tables["placement"][entry.species, side.half]) and not shared & one.types:
            hosts = [host.key for host in self.species if host.permanent.share_types & one.types]
            return f"no {side.name} slot free for {one.key!r}, and none to share without {' or '.join(hosts)}"
        return f"no {side.name} slot free for {one.key!r}"

    def cuckoo_refusal(self, habitat: int, key: str, is_moor: bool) -> str:
        if is_moor:
            return f"{key!r} goes to a tree or shrub only"
        if self.state["cuckoos"][habitat]:
            return f"a second {key!r} at the same tree or shrub (ruling cuckoo_per_habitat=one)"
        if self.tables["cuckoo_bird"]:
            return f"{key!r} needs another bird at the same tree or shrub, and nothing but birds in the top slot"
        return f"{key!r} needs another bird in the same top slot (ruling cuckoo_bird=top)"

    def add_card(self, entry: Entry) -> int:
        """Make the next card of the deck show an entry; return its number."""
        card, code = self.cards, entry.species
        self.cards += 1
        if code != UNIVERSAL_MOOR:  # whatever lies face down counts for nothing
            self.tables["kind"][card] = KINDS[self.species[code].slot]
            self.tables["species"][card] = code, code
            self.tables["symbol"][card] = entry.symbol, entry.symbol
            self.tables["halves"][card] = 1
            self.tables["symbols"][card] = 0 if entry.symbol == Symbol.NONE else 1 << entry.symbol
            self.tables["card_types"][card] = self.tables["types"][code]
        return card


def _may_share(placement: int) -> bool:
    return placement in (Placement.TOP_SHARING, Placement.LEFT_SHARING, Placement.RIGHT_SHARING)


def _check_caves(table: Table) -> None:
    owners: dict[int, str] = {}
    for forest in table.forests:
        if forest.cave is None:
            continue
        if forest.cave in owners:
            raise DartmoorError(f"{forest.where}.cave: cave {forest.cave} is that of {owners[forest.cave]!r} already")
        owners[forest.cave] = forest.name


def _symbol(value: object, where: str) -> Symbol:
    if not isinstance(value, str) or value not in SYMBOL_NAMES:
        raise DartmoorError(f"{where}: symbol {value!r} unknown, expected one of {_listed(SYMBOL_NAMES)}")
    return SYMBOL_NAMES[value]


def _whole_number(value: object, most: int, where: str) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise DartmoorError(f"{where}: {value!r} is not a whole number from 0 to {most}")
    return value


def _object(value: object, keys: Sequence[str], required: Sequence[str], where: str) -> dict[str, object]:
    """Return `value` if it is an object with no keys but `keys` and all that are `required`."""
    if not isinstance(value, dict):
        raise DartmoorError(f"{where}: expected an object with the keys {_listed(keys)}")
    for key in value:
        if key not in keys:
            raise DartmoorError(f"{where}: key {key!r} unknown, {_suggestion(key, keys, keys)}")
    for key in required:
        if key not in value:
            raise DartmoorError(f"{where}: key {key!r} is missing")
    return value


def _list(value: object, where: str) -> list[object]:
    if not isinstance(value, list):
        raise DartmoorError(f"{where}: {value!r} is not a list")
    return value


def _distinct_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return a JSON object; unlike the standard reader, refuse a key that stands in it twice."""
    content = dict(pairs)
    if len(content) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise DartmoorError(f"key {twice!r} stands twice in the same object")
    return content


def _suggestion(text: str, names: Collection[str], expected: Collection[str]) -> str:
    plain = text.lower().replace(" ", "_").replace("-", "_").replace("'", "")
    close = difflib.get_close_matches(plain, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"expected one of {_listed(expected)}"


def _listed(names: Collection[object]) -> str:
    return ", ".join(str(name) for name in names)
