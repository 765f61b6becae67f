"""A slow, plain-Python engine of the whole game: the check on the kernels in `sim/`.

Written from the rulebook and from `docs/decisions.md` alone, with lists and dicts, and without a line of `sim/`. What
a species scores and does stands in the dicts `POINTS`, `EFFECT`, `BONUS` and `REACTS_TO` below, in code of its own and
not read from the texts that the engine parses; costs, slots, types and placements come from `sim/data/species.csv`.

A game is one generator (`Referee._game`) that reads like the rulebook and yields wherever a player decides.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "sim" / "data"

OPENING_HAND = 6
HAND_LIMIT = 10
CLEARING_LIMIT = 10
LAST_WINTER = 3
WINTERS = ("W1", "W2", "W3")
SIDES = {"top_bottom": ("top", "bottom"), "left_right": ("left", "right")}
TREE_SLOTS = ("top", "bottom", "left", "right")
MOOR_SLOTS = ("top", "bottom", "top2", "bottom2")
DRAGONFLY_SET_POINTS = (0, 0, 5, 10, 15, 30)  # by the number of species in the set

# The first value of every ruling is its default. Those marked only shape the deal, which the referee is given.
RULINGS: dict[str, tuple[str, ...]] = {
    "cuckoo_per_habitat": ("one", "many"),
    "wheatear_trigger": ("effect", "bonus"),
    "free_cost_bonus": ("always", "never"),
    "winter_pile": ("floor", "ceil", "random"),  # deal
    "swap_to": ("clearing", "discard"),
    "first_player": ("seat0", "random"),  # deal
    "free_play_optional": ("yes", "no"),
    "second_draw": ("optional", "forced"),
    "new_permanents": ("at_once", "next_turn"),
    "moor_from_hand_optional": ("yes", "no"),
    "extra_turn_again": ("yes", "no"),
    "cuckoo_bird": ("top", "any"),
    "late_water_soldiers": ("stay", "merge"),
}


# ---------------------------------------------------------------------------------------------------------- the box


@dataclass(frozen=True)
class Species:
    """One row of `species.csv`: what a card must pay, where it may lie, what counts it."""

    key: str
    slot: str
    cost: int
    types: frozenset[str]
    placement: str


UNIVERSAL_MOOR = Species("universal_moor", "moor", 0, frozenset({"moor"}), "")


@dataclass(frozen=True)
class Card:
    """A deck card: a kind and one or two (species, symbol) halves."""

    id: str
    kind: str
    halves: tuple[tuple[Species, str], ...]

    def shows(self, symbol: str) -> bool:
        """Whether the card shows this tree symbol, on either half."""
        return any(symbol == own for _, own in self.halves)


@dataclass(frozen=True)
class Visible:
    """What lies open in a forest: a card, which half of it (None face down), and the turn in which it came."""

    card: str
    half: int | None
    species: Species
    symbol: str | None
    turn: int = 0


@dataclass
class Habitat:
    """A tree, shrub or moor with its four slots; every slot lists what lies there in order of arrival."""

    base: Visible
    slots: dict[str, list[Visible]] = field(init=False)

    def __post_init__(self) -> None:
        self.slots = {slot: [] for slot in (MOOR_SLOTS if self.is_moor else TREE_SLOTS)}

    @property
    def is_moor(self) -> bool:
        return "moor" in self.base.species.types

    @property
    def is_full(self) -> bool:
        return all(self.slots.values())

    def on_it(self) -> list[Visible]:
        """Every card in the four slots."""
        return [visible for slot in self.slots.values() for visible in slot]

    def has(self, key: str) -> bool:
        """Whether a species lies in one of the slots."""
        return any(visible.species.key == key for visible in self.on_it())

    def on_side(self, side: str) -> list[str]:
        """Slots of one side; the twin slots of an empty pair are the same place, so only the first is named."""
        slots = [slot for slot in self.slots if slot.rstrip("2") == side]
        both_empty = not any(self.slots[slot] for slot in slots)
        return slots[:1] if both_empty else slots


Forest = list[Habitat]


def everything(forest: Forest) -> list[Visible]:
    """Every visible species of a forest, habitats and what lies at them."""
    return [visible for habitat in forest for visible in (habitat.base, *habitat.on_it())]


def count_cards(forest: Forest, types: Iterable[str]) -> int:
    """Cards of a forest that have at least one of the types."""
    return sum(not visible.species.types.isdisjoint(types) for visible in everything(forest))


def read_rows(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file as dicts."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def read_species() -> dict[str, Species]:
    """The 66 species by key."""
    return {
        row["key"]: Species(
            row["key"], row["slot"], int(row["cost"]), frozenset(row["types"].split(";")), row["placement"]
        )
        for row in read_rows(DATA / "species.csv")
    }


def read_icons() -> dict[str, tuple[str, ...]]:
    """The type texts that every icon lost from the published texts may stand for, its default first."""
    return {row["icon"]: (row["default"], *row["candidates"].split(";")) for row in read_rows(DATA / "icons.csv")}


@dataclass(frozen=True)
class Cave:
    """A cave: the steps of its opening effect and its points at the end, each point term with a type or None."""

    number: int
    opening: tuple[tuple[str, int], ...]
    points: tuple[tuple[int, str | None], ...]


def read_caves(rows: Iterable[dict[str, str]] | None = None) -> dict[int, Cave]:
    """Caves by number, from rows as in `caves.csv` (by default that file)."""
    caves = {}
    for row in read_rows(DATA / "caves.csv") if rows is None else rows:
        opening: list[tuple[str, int]] = []
        points: list[tuple[int, str | None]] = []
        for step in re.split(r" then | \+ ", row["effect"]):
            words = step.split()
            n = int(words[1]) if len(words) > 1 else 1
            if words[0] == "points":
                points.append((n, words[3] if "per" in words else None))
            else:
                opening.append((words[0], n))
        caves[int(row["cave"])] = Cave(int(row["cave"]), tuple(opening), tuple(points))
    return caves


def read_card(row: dict[str, str]) -> Card:
    """A card from a row of the deck file."""
    species = read_species()
    halves = [(species[row["first"]], row["first_symbol"])]
    if row["kind"] in SIDES:
        halves.append((species[row["second"]], row["second_symbol"]))
    return Card(row["id"], row["kind"], tuple(halves))


# ------------------------------------------------------------------------------------------------------------ points


@dataclass(frozen=True)
class Copy:
    """One visible card that scores, with everything that its points may depend on."""

    visible: Visible
    habitat: Habitat
    forest: Forest
    cave_cards: int
    most_moors: bool

    def cards(self, *types: str) -> int:
        """Cards in the forest of any of the types."""
        return count_cards(self.forest, types)

    def symbols(self, symbol: str | None) -> int:
        """Visible species with this symbol; without a symbol none."""
        return sum(symbol is not None and visible.symbol == symbol for visible in everything(self.forest))

    def different(self, type_: str) -> int:
        """Different species of a type in the forest."""
        return len({visible.species.key for visible in everything(self.forest) if type_ in visible.species.types})

    def below(self) -> int:
        """Cards placed below any habitat."""
        return sum(len(habitat.slots[s]) for habitat in self.forest for s in habitat.slots if s.startswith("bottom"))

    def full(self, points: int) -> int:
        """Points for a habitat with something in all four slots."""
        return points if self.habitat.is_full else 0

    def in_moor(self, points: int) -> int:
        """Points for lying at a moor."""
        return points if self.habitat.is_moor else 0


def bat_points(copy: Copy) -> int:
    """Every bat: five with three different bats in the forest."""
    return 5 if copy.different("bat") >= 3 else 0


def pipit_points(copy: Copy) -> int:
    """Meadow Pipit: 1, 3, 6 or 10 from 1, 2, 4 or 6 different birds on."""
    birds = copy.different("bird")
    return 10 if birds >= 6 else 6 if birds >= 4 else 3 if birds >= 2 else 1


# Points of one copy. Dragonflies and Warty Newts, which score together, are not here.
POINTS: dict[str, Callable[[Copy], int]] = {
    "ash": lambda copy: copy.symbols("black_alder") + copy.cards("plant"),
    "black_alder": lambda copy: 5,
    "crab_apple": lambda copy: copy.full(8),
    "goat_willow": lambda copy: copy.cards("moor"),
    "moor_birch": lambda copy: 1,
    "sessile_oak": lambda copy: copy.cards("tree") + copy.cards("shrub"),
    "common_hazel": lambda copy: 0,
    "elderberry": lambda copy: 0,
    "universal_moor": lambda copy: 0,
    "blanket_bog": lambda copy: 0,
    "fountainhead": lambda copy: 0,
    "lowland_heath": lambda copy: 2 * copy.cards("amphibian"),
    "rhos_pasture": lambda copy: 2 * copy.cards("hoofed"),
    "rivulet": lambda copy: 2 * copy.symbols("goat_willow"),
    "tor": lambda copy: 0,
    "valley_mire": lambda copy: 2 * copy.cards("insect"),
    "warrens": lambda copy: 2 * copy.cards("pawed"),
    "wet_woodland": lambda copy: 2 * copy.cards("moor"),
    "barn_owl": lambda copy: 3 * copy.cards("bat"),
    "black_tailed_godwit": lambda copy: 10 if copy.most_moors else 0,
    "buzzard": lambda copy: 2 * copy.cards("mouse"),
    "common_moorhen": lambda copy: 2 * copy.cards("dragonfly"),
    "cuckoo": lambda copy: 7,
    "curlew": lambda copy: 10 if copy.cards("insect") >= 5 else 3,
    "grey_heron": lambda copy: 8,
    "meadow_pipit": pipit_points,
    "wheatear": lambda copy: copy.in_moor(5),
    "adder": lambda copy: copy.cards("amphibian") + copy.cards("mouse"),
    "adders_tongue": lambda copy: 3,
    "beaver": lambda copy: copy.cave_cards,
    "blue_ground_beetle": lambda copy: copy.below(),
    "blueberry": lambda copy: 2 * copy.different("bird"),
    "bog_asphodel": lambda copy: copy.cards("moor"),
    "common_lizard": lambda copy: 15 if copy.different("amphibian") >= 3 else 5,
    "grass_snake": lambda copy: 5,
    "greater_butterfly_orchid": lambda copy: 15 if copy.different("plant") >= 5 else 3,
    "heather": lambda copy: copy.cards("insect"),
    "meadowsweet": lambda copy: copy.in_moor(5),
    "moor_frog": lambda copy: 8 if copy.cards("moor") >= 5 else 0,
    "otter": lambda copy: 3 * copy.cards("amphibian"),
    "royal_fern": lambda copy: 2 * copy.different("plant"),
    "water_soldiers": lambda copy: 2 * copy.cards("dragonfly"),
    "alcathoe_bat": bat_points,
    "brandts_bat": bat_points,
    "capercaillie": lambda copy: copy.cards("plant"),
    "common_noctule": bat_points,
    "common_pheasant": lambda copy: copy.cards("tree") + copy.cards("shrub"),
    "dartmoor_badger": lambda copy: 2 * copy.cards("pawed"),
    "dartmoor_black_rabbit": lambda copy: copy.cards("rabbit"),
    "dartmoor_pony": lambda copy: 15 if copy.most_moors else 5,
    "dartmoor_sheep": lambda copy: 2 * copy.cards("hoofed"),
    "daubentons_bat": bat_points,
    "field_vole": lambda copy: copy.cards("mouse"),
    "gnat": lambda copy: copy.cards("bat"),
    "lake_fly": lambda copy: copy.cards("bat"),
    "nuthatch": lambda copy: copy.full(10),
    "roe_deer": lambda copy: 3 * copy.symbols(copy.visible.symbol),
    "serotine_bat": bat_points,
    "shrew": lambda copy: 1,
    "treecreeper": lambda copy: 5,
    "wood_mouse": lambda copy: copy.cards("mouse"),
}
WARTY_NEWTS = (0, 5, 15, 25)  # all copies together, by their number


def dragonfly_points(counts: Iterable[int]) -> int:
    """Points of dragonflies, largest sets first; `counts` has the copies of each species."""
    left = [n for n in counts if n]
    points = 0
    while left:
        points += DRAGONFLY_SET_POINTS[len(left)]
        left = [n - 1 for n in left if n > 1]
    return points


@cache
def naive_dragonflies(counts: tuple[int, ...]) -> int:
    """The best points over all ways to part dragonflies into sets of different species, by trying them all."""
    left = [i for i, n in enumerate(counts) if n]
    best = 0
    for size in range(1, len(left) + 1):
        for chosen in combinations(left, size):
            rest = tuple(sorted(n - (i in chosen) for i, n in enumerate(counts)))
            best = max(best, DRAGONFLY_SET_POINTS[size] + naive_dragonflies(rest))
    return best


def copy_points(copy: Copy) -> int:
    """Points of one copy, doubled for a plant below a Blanket Bog."""
    points = POINTS[copy.visible.species.key](copy)
    is_doubled = copy.habitat.base.species.key == "blanket_bog" and "plant" in copy.visible.species.types
    return 2 * points if is_doubled else points


def score_forest(forest: Forest, cave: Cave | None, cave_cards: int, most_moors: bool) -> dict[str, int]:
    """Points of one player: by species with a copy in the forest, `dragonflies`, `cave` and `total`.

    The five dragonflies have one common key; `universal_moor` counts as a species.
    """
    points: Counter[str] = Counter()
    dragonflies: Counter[str] = Counter()
    newts = 0
    for habitat in forest:
        for visible in (habitat.base, *habitat.on_it()):
            key = visible.species.key
            if "dragonfly" in visible.species.types:
                dragonflies[key] += 1
            elif key == "warty_newt":
                newts += 1
                points[key] = WARTY_NEWTS[newts]
            else:
                points[key] += copy_points(Copy(visible, habitat, forest, cave_cards, most_moors))
    points["dragonflies"] = dragonfly_points(dragonflies.values())
    points["cave"] = cave_cards
    for n, type_ in cave.points if cave else ():
        points["cave"] += n if type_ is None else n * count_cards(forest, (type_,))
    return {**points, "total": sum(points.values())}


def score_table(forests: list[Forest], caves: list[Cave | None], cave_cards: list[int]) -> list[dict[str, int]]:
    """Points of every player of a table, as `score_forest`."""
    moors = [count_cards(forest, ("moor",)) for forest in forests]
    return [
        score_forest(forest, caves[seat], cave_cards[seat], moors[seat] == max(moors))
        for seat, forest in enumerate(forests)
    ]


def read_entry(entry: str, symbol: str | None = None) -> Visible:
    """An entry `species` or `species:symbol` of a forest file; a tree shows its own symbol."""
    key, _, own = entry.partition(":")
    if key == UNIVERSAL_MOOR.key:
        return Visible("", None, UNIVERSAL_MOOR, None)
    species = read_species()[key]
    return Visible("", 0, species, key if species.slot == "tree" else own or symbol)


def read_habitat(doc: dict[str, Any]) -> Habitat:
    """A habitat of a forest file; on a moor all cards of a side but the first lie in its second slot."""
    habitat = Habitat(read_entry(doc["card"], doc.get("symbol")))
    for side in TREE_SLOTS:
        for i, entry in enumerate(doc.get(side, ())):
            slot = f"{side}2" if habitat.is_moor and i else side
            habitat.slots[slot].append(read_entry(entry))
    return habitat


def score_forests(doc: dict[str, Any]) -> list[dict[str, int]]:
    """Points of every player of a forest file document, in its order; it is not checked for legality."""
    caves = read_caves()
    players = doc["players"]
    return score_table(
        [[read_habitat(habitat) for habitat in player["habitats"]] for player in players],
        [caves.get(player.get("cave")) for player in players],
        [player.get("cave_cards", 0) for player in players],
    )


# ----------------------------------------------------------------------------------------------------------- effects

# An effect is a verb with its operands; "?" stands for the icon that bears the name of the species.
Effect = tuple[Any, ...]
EFFECT: dict[str, Effect] = {
    "ash": ("draw", 1),
    "moor_birch": ("draw", 1),
    "barn_owl": ("extra_turn_if", "bat"),
    "buzzard": ("draw_per", "?"),
    "wheatear": ("stack_to_cave_per", "moor"),
    "adders_tongue": ("draw", 1),
    "beaver": ("clearing_trees_to_cave",),
    "blue_ground_beetle": ("play_free", "?"),
    "blueberry": ("play_free", "?"),
    "otter": ("draw", 1),
    "alcathoe_bat": ("clearing_to_cave", 2),
    "brandts_bat": ("stack_to_cave", 2),
    "capercaillie": ("play_free", "plant"),
    "common_noctule": ("clearing_to_forest", "plant"),
    "dartmoor_black_rabbit": ("play_free_any_number", "rabbit"),
    "dartmoor_sheep": ("draw", 1),
    "daubentons_bat": ("clearing_to_forest", "insect"),
    "field_vole": ("draw", 1),
    "gnat": ("play_free_any_number", "bat"),
    "lake_fly": ("play_free_with_effect", "bat"),
    "serotine_bat": ("clearing_to_hand", 1),
    "treecreeper": ("draw", 1),
}
BONUS: dict[str, Effect] = {
    "ash": ("clearing_to_hand", 1),
    "black_alder": ("extra_turn",),
    "crab_apple": ("clearing_to_hand", 1),
    "goat_willow": ("moor_from_hand", 1),
    "common_hazel": ("play_free", "bat"),
    "elderberry": ("play_free", "plant"),
    "lowland_heath": ("play_free", "?"),
    "rhos_pasture": ("draw", 1),
    "valley_mire": ("play_free", "?"),
    "warrens": ("play_free", "?"),
    "black_tailed_godwit": ("moor_from_hand", 1),
    "bog_asphodel": ("play_free", "?"),
    "common_lizard": ("clearing_to_hand", 1),
    "grass_snake": ("play_free", "?"),
    "greater_butterfly_orchid": ("play_free", "?"),
    "meadowsweet": ("play_free", "?"),
    "moor_frog": ("moor_from_hand", 1),
    "royal_fern": ("extra_turn",),
    "common_pheasant": ("moor_from_hand", 1),
    "dartmoor_pony": ("moor_from_hand", 1),
    "nuthatch": ("extra_turn",),
    "roe_deer": ("draw", 1),
    "shrew": ("stack_to_cave_per", "?"),
    "wood_mouse": ("play_free", "?"),
}
REACTS_TO = {"common_hazel": "bat", "elderberry": "plant", "fountainhead": "moor", "tor": "bird"}

Answer = tuple[Any, ...]
Asking = Generator[tuple[str, list[Answer]], Answer, Any]
DECLINE: Answer = ("decline",)


class ThirdWinter(Exception):
    """The game ends on the spot."""


def choose_settings(kind: str, given: dict[str, str] | None, valid: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """The first value of every setting, overlaid by what is given.

    Raises
    ------
    ValueError
        A name or a value that is not among the valid ones.
    """
    given = given or {}
    for name, value in given.items():
        if name not in valid:
            raise ValueError(f"{kind} {name!r} unknown, expected one of {', '.join(valid)}")
        if value not in valid[name]:
            raise ValueError(f"{kind} {name}: {value!r} unknown, expected one of {', '.join(valid[name])}")
    return {name: given.get(name, values[0]) for name, values in valid.items()}


class Referee:
    """One game, from a deal to its end, one decision at a time.

    Parameters
    ----------
    deck_rows : list of dict
        Rows of the deck file: id, kind, first, first_symbol, second, second_symbol.
    deal : dict
        `box` and `stack` (top first, with the opening hands on top and W1 to W3 among the cards), `caves` on offer,
        `first` seat.
    rulings, icons : dict, optional
        Departures from the defaults.
    caves : "draft" or list of int
        Whether the caves of the deal are drafted, or the cave of every seat.
    cave_rows : list of dict, optional
        Rows that replace `caves.csv`.

    Attributes
    ----------
    phase, player : str, int
        The pending decision and who takes it; `phase` is "OVER" at the end.
    ending : str or None
        What revealed the third winter: draw, tree, effect or cave.
    in_play, paid, drawn
        The (card, half) chosen and not yet placed, or None; what was paid in the last paid play, in order; how many
        cards the draw action had drawn when it asked last.
    """

    def __init__(
        self,
        deck_rows: list[dict[str, str]],
        deal: dict[str, Any],
        *,
        rulings: dict[str, str] | None = None,
        icons: dict[str, str] | None = None,
        caves: str | list[int] = "draft",
        cave_rows: list[dict[str, str]] | None = None,
    ) -> None:
        self.rulings = choose_settings("ruling", rulings, RULINGS)
        self.icons = choose_settings("icon", icons, read_icons())
        self.cards = {row["id"]: read_card(row) for row in deck_rows}
        self.cave_book = read_caves(cave_rows)
        self.players = len(deal["caves"] if caves == "draft" else caves)
        self.first = deal["first"]
        self.box = list(deal["box"])
        self.stack = list(deal["stack"])
        self.offered = sorted(deal["caves"]) if caves == "draft" else []
        self.caves: list[int | None] = [None] * self.players if caves == "draft" else list(caves)  # type: ignore[arg-type]
        self.hands: list[list[str]] = [[] for _ in range(self.players)]
        self.forests: list[Forest] = [[] for _ in range(self.players)]
        self.cave_cards: list[list[str]] = [[] for _ in range(self.players)]
        self.clearing: list[str] = []
        self.discard: list[str] = []
        self.turn = 0
        self.winters: list[str] = []
        self.winter_turns: list[int] = []
        self.extra_turn = False  # earned in this turn
        self.in_extra_turn = False
        self.ending: str | None = None
        self.in_play: tuple[str, int] | None = None
        self.paid: list[str] = []
        self.drawn = 0
        self.player = self.first
        self.phase = ""
        self._answers: list[Answer] = []
        self._script = self._game()
        self._run(None)

    # ------------------------------------------------------------------------------------------------ the interface

    def legal(self) -> list[Answer]:
        """The legal answers to the pending decision, in the order of `docs/decisions.md`; none when it is over."""
        return list(self._answers)

    def apply(self, answer: Answer) -> None:
        """Answer the pending decision and run on to the next one with a choice, or to the end.

        Raises
        ------
        ValueError
            The answer is not legal.
        """
        if answer not in self._answers:
            raise ValueError(f"{self.phase}: {answer} is not legal, expected one of {self._answers}")
        self._run(answer)

    def score(self, seat: int) -> dict[str, int]:
        """Points of one player as `score_forest`, of the table as it lies."""
        caves = [None if number is None else self.cave_book[number] for number in self.caves]
        return score_table(self.forests, caves, [len(cards) for cards in self.cave_cards])[seat]

    def win_shares(self) -> list[float]:
        """1/k for each of the k players with the most points."""
        totals = [self.score(seat)["total"] for seat in range(self.players)]
        winners = totals.count(max(totals))
        return [1 / winners if total == max(totals) else 0.0 for total in totals]

    def state(self) -> dict[str, Any]:
        """Everything on the table as plain data; piles without an order are sorted by id."""
        return {
            "phase": self.phase,
            "player": self.player,
            "hands": [sorted(hand) for hand in self.hands],
            "clearing": sorted(self.clearing),
            "discard": sorted(self.discard),
            "box": sorted(self.box),
            "stack": list(self.stack),
            "in_play": self.in_play,
            "caves": list(self.caves),
            "caves_offered": list(self.offered),
            "cave_cards": [sorted(cards) for cards in self.cave_cards],
            "forests": [[describe_habitat(habitat) for habitat in forest] for forest in self.forests],
            "turn": self.turn,
            "winters": list(self.winters),
            "winter_turns": list(self.winter_turns),
            "extra_turn": self.extra_turn,
            "ending": self.ending,
        }

    def bonus_of(self, species: Species) -> Effect | None:
        """The bonus of a species under the rulings."""
        if species.key == "wheatear":
            return EFFECT["wheatear"] if self.rulings["wheatear_trigger"] == "bonus" else None
        return BONUS.get(species.key)

    def effect_of(self, species: Species) -> Effect | None:
        """The instant effect of a species under the rulings."""
        if species.key == "wheatear" and self.rulings["wheatear_trigger"] == "bonus":
            return None
        return EFFECT.get(species.key)

    # -------------------------------------------------------------------------------------------- running the script

    def _run(self, answer: Answer | None) -> None:
        """Go on with an answer, carrying out decisions with a single legal answer, until a choice or the end."""
        try:
            phase, answers = self._script.send(answer)  # type: ignore[arg-type]
            while len(answers) == 1:
                phase, answers = self._script.send(answers[0])
        except StopIteration:
            phase, answers = "OVER", []
        self.phase, self._answers = phase, answers

    def _ask(self, phase: str, answers: list[Answer]) -> Asking:
        """Ask `self.player`; returns the answer."""
        assert answers, f"{phase} has no legal answer"
        answer = yield phase, answers
        return answer

    def _ask_card(self, phase: str, kind: str, cards: list[str], optional: bool = False) -> Asking:
        """Ask for one card of a pile, ascending; returns its id, or None when declined."""
        answers: list[Answer] = [(kind, card) for card in sorted(cards)]
        answer = yield from self._ask(phase, [*answers, DECLINE] if optional else answers)
        return None if answer == DECLINE else answer[1]

    # ----------------------------------------------------------------------------------------------------- the game

    def _game(self) -> Asking:
        """Setup and turns, until the third winter."""
        try:
            yield from self._setup()
            yield from self._turns()
        except ThirdWinter:
            return

    def _setup(self) -> Asking:
        """Opening hands, the draft of the caves, and their opening effects."""
        turn_order = [(self.first + i) % self.players for i in range(self.players)]
        for seat in turn_order:
            self.hands[seat], self.stack = self.stack[:OPENING_HAND], self.stack[OPENING_HAND:]
            assert not set(WINTERS) & set(self.hands[seat]), "a winter among the opening hands"
        if self.offered:
            for self.player in reversed(turn_order):
                _, number = yield from self._ask("CAVE", [("cave", number) for number in self.offered])
                self.offered.remove(number)
                self.caves[self.player] = number
        for self.player in reversed(turn_order):
            for step in self.cave_book[self.caves[self.player]].opening:
                yield from self._carry_out(step, None)
        self.player = self.first

    def _turns(self) -> Asking:
        """One turn after the other; the third winter ends this loop from within."""
        while True:
            self.turn += 1
            self.extra_turn = False
            yield from self._take_turn()
            if len(self.clearing) >= CLEARING_LIMIT:
                self.discard += self.clearing
                self.clearing.clear()
            self.in_extra_turn = self.extra_turn
            if not self.extra_turn:
                self.player = (self.player + 1) % self.players

    def _take_turn(self) -> Asking:
        """Exactly one action."""
        actions: list[Answer] = []
        if len(self.hand) < HAND_LIMIT:
            actions.append(("draw",))
        if self._playable():
            actions.append(("play",))
        (action,) = yield from self._ask("TURN", actions or [("swap",)])
        if action == "draw":
            yield from self._draw_action()
        elif action == "play":
            yield from self._play_action()
        else:
            yield from self._swap_action()

    @property
    def hand(self) -> list[str]:
        """The hand of the player who acts."""
        return self.hands[self.player]

    @property
    def forest(self) -> Forest:
        """The forest of the player who acts."""
        return self.forests[self.player]

    # ------------------------------------------------------------------------------------------------ the three actions

    def _draw_action(self) -> Asking:
        """One or two cards, each from the stack or the clearing."""
        for self.drawn in (0, 1):
            if len(self.hand) >= HAND_LIMIT:
                return
            answers: list[Answer] = [("stack",), *(("clearing", card) for card in sorted(self.clearing))]
            if self.drawn and self.rulings["second_draw"] == "optional":
                answers.append(("stop",))
            answer = yield from self._ask("DRAW", answers)
            if answer == ("stop",):
                return
            if answer == ("stack",):
                self._draw("draw")
            else:
                self.clearing.remove(answer[1])
                self.hand.append(answer[1])

    def _play_action(self) -> Asking:
        """Pay, place, permanent effects, instant effect, bonus."""
        _, card, half = yield from self._ask("CARD", self._playable())
        species, symbol = self.cards[card].halves[half]
        self.hand.remove(card)
        self.in_play = card, half
        self.paid = []
        for _ in range(species.cost):
            paid = yield from self._ask_card("PAY", "pay", self.hand)
            self.hand.remove(paid)
            self.paid.append(paid)
            self.clearing.append(paid)
        is_bonus_earned = self._earns_bonus(symbol)
        yield from self._place(card, half)
        yield from self._carry_out(self.effect_of(species), species)
        if is_bonus_earned:
            yield from self._carry_out(self.bonus_of(species), species)

    def _earns_bonus(self, symbol: str) -> bool:
        """Whether every card paid shows the symbol; what holds when none was paid is a ruling."""
        if not self.paid:
            return self.rulings["free_cost_bonus"] == "always"
        return all(self.cards[paid].shows(symbol) for paid in self.paid)

    def _swap_action(self) -> Asking:
        """Two cards away, two from the stack."""
        for _ in range(2):
            card = yield from self._ask_card("DISCARD", "discard", self.hand)
            self.hand.remove(card)
            (self.clearing if self.rulings["swap_to"] == "clearing" else self.discard).append(card)
        for _ in range(2):
            self._draw("draw")

    # --------------------------------------------------------------------------------------------------- the stack

    def _turn_over(self, cause: str) -> str:
        """The top card of the stack; a winter is laid aside and replaced, the third one ends the game."""
        while (card := self.stack.pop(0)) in WINTERS:
            self.winters.append(card)
            self.winter_turns.append(self.turn)
            if len(self.winters) == LAST_WINTER:
                self.ending = cause
                raise ThirdWinter
        return card

    def _draw(self, cause: str) -> None:
        """One card from the stack to the hand; with ten in hand none is turned."""
        if len(self.hand) < HAND_LIMIT:
            self.hand.append(self._turn_over(cause))

    # --------------------------------------------------------------------------------------------------- placing

    def _halves(self, cards: Iterable[str]) -> list[tuple[str, int]]:
        """Every half of some cards, cards ascending."""
        return [(card, half) for card in sorted(cards) for half in range(len(self.cards[card].halves))]

    def _playable(self) -> list[Answer]:
        """Every half in hand that has a legal place and can be paid with the other cards."""
        return [
            ("card", card, half)
            for card, half in self._halves(self.hand)
            if self.cards[card].halves[half][0].cost < len(self.hand) and self._has_place(card, half)
        ]

    def _has_place(self, card: str, half: int) -> bool:
        return self.cards[card].kind not in SIDES or bool(self._hosts(card, half))

    def _hosts(self, card: str, half: int) -> list[Answer]:
        """Every legal place of a half: habitats oldest first, their slots in order."""
        species, _ = self.cards[card].halves[half]
        side = SIDES[self.cards[card].kind][half]
        return [
            ("host", habitat.base.card, slot)
            for habitat in self.forest
            for slot in habitat.on_side(side)
            if self._accepts(habitat, slot, species)
        ]

    def _accepts(self, habitat: Habitat, slot: str, species: Species) -> bool:
        """Whether a species may be laid into this slot now."""
        there = habitat.slots[slot]
        if species.placement == "cuckoo":
            return self._accepts_cuckoo(habitat)
        if species.placement == "moor_only" and not habitat.is_moor:
            return False
        if not there:
            return True
        if "dragonfly" in species.types:
            return habitat.has("water_soldiers") and all("dragonfly" in other.species.types for other in there)
        return "rabbit" in species.types and habitat.has("dartmoor_badger")

    def _accepts_cuckoo(self, habitat: Habitat) -> bool:
        """A tree or shrub with another bird; the Cuckoo joins nothing but birds in the top slot."""
        if habitat.is_moor or (habitat.has("cuckoo") and self.rulings["cuckoo_per_habitat"] == "one"):
            return False
        top = habitat.slots["top"]
        if self.rulings["cuckoo_bird"] == "top":
            return any("bird" in other.species.types for other in top)
        has_bird = any("bird" in other.species.types for other in habitat.on_it())
        return has_bird and all("bird" in other.species.types for other in top)

    def _place(self, card: str, half: int) -> Asking:
        """Lay a card that has left its pile: as a habitat, or at one; then a tree's reveal, then permanent effects."""
        self.in_play = card, half
        species, symbol = self.cards[card].halves[half]
        draws = self._reactions(species)
        visible = Visible(card, half, species, symbol, self.turn)
        if self.cards[card].kind in SIDES:
            _, host, slot = yield from self._ask("HOST", self._hosts(card, half))
            (habitat,) = [habitat for habitat in self.forest if habitat.base.card == host]
            habitat.slots[slot].append(visible)
            if species.key == "water_soldiers":
                self._gather_dragonflies(habitat)
        else:
            self.forest.append(Habitat(visible))
        self.in_play = None
        if species.slot == "tree":
            self.clearing.append(self._turn_over("tree"))
        for _ in range(draws):
            self._draw("effect")

    def _reactions(self, species: Species) -> int:
        """Permanent effects in the forest that react to a species about to be laid."""
        return sum(
            REACTS_TO.get(visible.species.key) in species.types
            and (self.rulings["new_permanents"] == "at_once" or visible.turn < self.turn)
            for visible in everything(self.forest)
        )

    def _gather_dragonflies(self, habitat: Habitat) -> None:
        """Water Soldiers came to a moor with dragonflies in both top slots: by the ruling they stay or merge."""
        if not habitat.is_moor or self.rulings["late_water_soldiers"] == "stay":
            return
        first, second = habitat.slots["top"], habitat.slots["top2"]
        if first and second and all("dragonfly" in other.species.types for other in first + second):
            first += second
            second.clear()

    def _lay_moor(self, card: str) -> None:
        """A hand card face down as a universal moor; permanent effects on moors react."""
        draws = self._reactions(UNIVERSAL_MOOR)
        self.hand.remove(card)
        self.forest.append(Habitat(Visible(card, None, UNIVERSAL_MOOR, None, self.turn)))
        for _ in range(draws):
            self._draw("effect")

    # --------------------------------------------------------------------------------------------------- effects

    def _carry_out(self, effect: Effect | None, source: Species | None) -> Asking:
        """An effect, a bonus or a step of a cave, in full where possible; `source` names the icons."""
        match effect:
            case None:
                return
            case "draw", int(n):
                for _ in range(n):
                    self._draw("effect")
            case "draw_per", types:
                for _ in range(count_cards(self.forest, self._types(types, source))):
                    self._draw("effect")
            case "stack_to_cave", int(n):
                self._stack_to_cave(n)
            case "stack_to_cave_per", types:
                self._stack_to_cave(count_cards(self.forest, self._types(types, source)))
            case ("clearing_trees_to_cave",):
                trees = [card for card in self.clearing if self.cards[card].kind == "tree"]
                self.clearing = [card for card in self.clearing if card not in trees]
                self.cave_cards[self.player] += trees
            case ("extra_turn",):
                self._earn_extra_turn()
            case "extra_turn_if", type_:
                if count_cards(self.forest, (type_,)):
                    self._earn_extra_turn()
            case "play_free" | "play_free_with_effect" | "play_free_any_number" | "clearing_to_forest" as verb, types:
                yield from self._place_free(verb, self._types(types, source))
            case verb, int(n):
                for _ in range(n):
                    is_declined = yield from self._move_one(verb)
                    if is_declined:
                        return

    def _types(self, text: str, source: Species | None) -> set[str]:
        """Types of an operand: one, two joined by a bar, or the icon of the species."""
        if text == "?":
            assert source is not None
            text = self.icons[source.key]
        return set(text.split("|"))

    def _earn_extra_turn(self) -> None:
        if not self.in_extra_turn or self.rulings["extra_turn_again"] == "yes":
            self.extra_turn = True

    def _stack_to_cave(self, n: int) -> None:
        for _ in range(n):
            self.cave_cards[self.player].append(self._turn_over("cave"))

    def _place_free(self, verb: str, types: set[str]) -> Asking:
        """Free placements from the hand or the clearing: one, any number, or one with its instant effect."""
        while True:
            pile = self.clearing if verb == "clearing_to_forest" else self.hand
            answers: list[Answer] = [
                ("card", card, half)
                for card, half in self._halves(pile)
                if not types.isdisjoint(self.cards[card].halves[half][0].types) and self._has_place(card, half)
            ]
            if not answers:
                return
            if self.rulings["free_play_optional"] == "yes":
                answers.append(DECLINE)
            answer = yield from self._ask("FREE", answers)
            if answer == DECLINE:
                return
            _, card, half = answer
            pile.remove(card)
            yield from self._place(card, half)
            if verb == "play_free_with_effect":
                species, _ = self.cards[card].halves[half]
                yield from self._carry_out(self.effect_of(species), species)
            if verb != "play_free_any_number":
                return

    def _move_one(self, verb: str) -> Asking:
        """Move one card that the player chooses, if there is one to move; returns whether the player declined."""
        hand, clearing = self.hand, self.clearing
        match verb:
            case "clearing_to_hand":
                if clearing and len(hand) < HAND_LIMIT:
                    card = yield from self._ask_card("TAKE", "take", clearing)
                    clearing.remove(card)
                    hand.append(card)
            case "clearing_to_cave":
                if clearing:
                    card = yield from self._ask_card("STORE", "store", clearing)
                    clearing.remove(card)
                    self.cave_cards[self.player].append(card)
            case "moor_from_hand":
                if hand:
                    optional = self.rulings["moor_from_hand_optional"] == "yes"
                    card = yield from self._ask_card("MOOR", "moor", hand, optional)
                    if card is None:
                        return True
                    self._lay_moor(card)
            case "discard":
                if hand:
                    card = yield from self._ask_card("DISCARD", "discard", hand)
                    hand.remove(card)
                    clearing.append(card)
            case "hand_to_cave":
                if hand:
                    card = yield from self._ask_card("HIDE", "hide", hand)
                    hand.remove(card)
                    self.cave_cards[self.player].append(card)
            case _:
                raise ValueError(f"effect {verb!r} unknown")
        return False


def describe(visible: Visible) -> tuple[str, int | None, str, str | None]:
    """A visible card as (card, half, species, symbol); half and symbol are None face down."""
    return visible.card, visible.half, visible.species.key, visible.symbol


def describe_habitat(habitat: Habitat) -> dict[str, Any]:
    """A habitat as plain data: its card, species and symbol, and by slot name what lies there, oldest first."""
    card, _, species, symbol = describe(habitat.base)
    slots = {slot: [describe(visible) for visible in there] for slot, there in habitat.slots.items()}
    return {"card": card, "species": species, "symbol": symbol, **slots}
