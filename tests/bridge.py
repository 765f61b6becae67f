"""The engine behind the referee's interface: actions as the referee's answers, the record as the referee's state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from sim.actions import MAX_ACTIONS, act_of, card_of, half_of, slot_of
from sim.codes import Act, CaveMode, Ending, Face, Kind, MoorSlot, Phase, Place, Symbol, TreeSlot
from sim.deals import CARD_IDS, WINTER_IDS, Deal
from sim.legal import legal_actions
from sim.machine import advance, apply
from sim.rules import DECK_SIZE, DRAWS_PER_TURN, MAX_PLAYERS, SPECIES
from sim.scoring import cave_points, species_points, total_points
from sim.species import box_species
from sim.state import new_games
from tests.referee import (
    MOOR_SLOTS,
    TREE_SLOTS,
    Answer,
    Asking,
    Effect,
    Habitat,
    Referee,
    Species,
    describe,
    read_species,
    score_forest,
)

NAMES = CARD_IDS + WINTER_IDS
SPECIES_KEYS = [one.key for one in box_species()] + ["universal_moor"]
DRAGONFLIES = {key for key, species in read_species().items() if "dragonfly" in species.types}
SYMBOLS = [None if symbol == Symbol.NONE else symbol.name.lower() for symbol in Symbol]
PHASES = [phase.name for phase in Phase]
ONE_WORD = frozenset({Act.DRAW, Act.PLAY, Act.SWAP, Act.STACK, Act.STOP, Act.DECLINE})
# As plain numbers: looking up a member of an enumeration is slow.
HOST, DOWN, BOX, DISCARD, IN_PLAY, FOREST, CAVE = map(
    int, (Act.HOST, Face.DOWN, Place.BOX, Place.DISCARD, Place.IN_PLAY, Place.FOREST, Place.CAVE)
)
PLACES = CAVE + MAX_PLAYERS
# For bytes.translate, which makes looking for changes cheap: places of piles that are not lists in the record, and
# places in forests; all others become the same byte.
OTHER = 255
PILES = bytes(p if p in (BOX, DISCARD, IN_PLAY) or p >= CAVE else OTHER for p in range(256))
FORESTS = bytes(p if FOREST <= p < CAVE else OTHER for p in range(256))
LAYOUT = ("place", "face", "host", "slot")  # where a card in a forest is

assert tuple(slot.name.lower() for slot in TreeSlot) == TREE_SLOTS
assert tuple(slot.name.lower() for slot in MoorSlot) == MOOR_SLOTS


@njit(cache=True, nogil=True)
def run_on(state, tables, actions):
    """Run to the next decision with a choice, through forced ones; return the number of answers, 0 at the end."""
    advance(state, tables, actions)
    n = legal_actions(state, tables, actions)
    while n == 1:
        apply(state, tables, actions[0])
        advance(state, tables, actions)
        n = legal_actions(state, tables, actions)
    return n


# Python hands over arrays faster than records.


@njit(cache=True, nogil=True)
def begin(games, tables, actions):
    """Run games[0] to its first decision with a choice; return the number of answers."""
    return run_on(games[0], tables[0], actions)


@njit(cache=True, nogil=True)
def answer_and_run_on(games, tables, actions, index):
    """Give the listed answer `index` in games[0] and run to the next decision with a choice."""
    apply(games[0], tables[0], actions[index])
    return run_on(games[0], tables[0], actions)


@njit(cache=True, nogil=True)
def write_scores(games, tables, scores):
    """Write every seat's score in games[0] as it stands into `scores` (int64)."""
    for player in range(games[0].players):
        scores[player] = total_points(games[0], tables[0], player)


class Engine:
    """One game of the compiled engine, in the referee's words."""

    def __init__(
        self, tables: np.ndarray, deal: Deal, cave_mode: CaveMode = CaveMode.DRAFT, caves: Sequence[int] = ()
    ) -> None:
        """Set up a deal and run to the first choice; `caves` are the seats' cave indices for CaveMode.GIVEN."""
        self.all_tables, self.tables = tables, tables[0]
        self.players = deal.players
        self.games = new_games()
        deal.setup(self.games, 0, cave_mode, np.array([*caves, *[0] * MAX_PLAYERS][:MAX_PLAYERS], np.uint8))
        self.record = self.games[0]
        self.columns = {name: self.games[name] for name in self.games.dtype.names or ()}
        self.cave_numbers = self.tables["cave_number"].tolist()
        self.species = self.tables["species"].tolist()
        self.symbols = self.tables["symbol"].tolist()
        self.is_moor_card = (self.tables["kind"] == Kind.MOOR).tolist()
        # As they were when last looked at:
        self.pile_bytes, self.piles = b"", [[""]]
        self.layout_bytes, self.layout = (b"",), np.zeros((len(LAYOUT), DECK_SIZE), np.uint8)
        self.words: dict[int, Answer] = {}  # of the actions met so far
        self.actions = np.zeros(MAX_ACTIONS, np.int32)
        self.seat_scores = np.zeros(MAX_PLAYERS, np.int64)
        self.n = int(begin(self.games, tables, self.actions))

    def get(self, name: str) -> Any:
        """Return a field of the record, in Python numbers and lists."""
        return self.columns[name][0].tolist()

    def choose(self, index: int) -> None:
        """Give the legal answer `index` and run to the next decision with a choice, or to the end."""
        self.n = int(answer_and_run_on(self.games, self.all_tables, self.actions, index))

    def legal(self) -> list[Answer]:
        """Return the legal answers to the pending decision, in the engine's order."""
        return [self.words.get(action) or self._words(action) for action in self.actions[: self.n].tolist()]

    def _words(self, action: int) -> Answer:
        act, card = act_of.py_func(action), card_of.py_func(action)
        if act == HOST:  # not kept: the slots of a card depend on how it lies
            return "host", CARD_IDS[card], self._slots(card)[slot_of.py_func(action)]
        self.words[action] = self._lasting_words(Act(act), card, half_of.py_func(action))
        return self.words[action]

    def _lasting_words(self, act: Act, card: int, half: int) -> Answer:
        name = act.name.lower()
        if act in ONE_WORD:
            return (name,)
        if act == Act.CAVE:
            return name, self.cave_numbers[card]
        return (name, CARD_IDS[card], half) if act == Act.CARD else (name, CARD_IDS[card])

    def _slots(self, habitat: int) -> tuple[str, ...]:
        is_moor = self.is_moor_card[habitat] or self.columns["face"][0, habitat] == DOWN
        return MOOR_SLOTS if is_moor else TREE_SLOTS

    # Points

    def scores(self) -> list[int]:
        """Return every seat's score as it stands."""
        write_scores(self.games, self.all_tables, self.seat_scores)
        return self.seat_scores[: self.players].tolist()

    def score(self, seat: int) -> dict[str, int]:
        """Return a seat's points by what the referee's `score` names: species, `dragonflies`, `cave`, `total`."""
        points = {"dragonflies": 0}
        for code, copies in enumerate(self.get("species_n")[seat]):
            if copies:
                key = "dragonflies" if SPECIES_KEYS[code] in DRAGONFLIES else SPECIES_KEYS[code]
                own = int(species_points(self.record, self.tables, seat, code)) if code < SPECIES else 0
                points[key] = points.get(key, 0) + own
        points["cave"] = int(cave_points(self.record, self.tables, seat))
        return {**points, "total": self.scores()[seat]}

    # The table

    def outline(self) -> tuple[Any, ...]:
        """Return phase, player, turn and the sizes of stack, clearing, hands and caves."""
        get, n = self.get, self.players
        left = get("stack_n") - get("stack_top")
        return (
            PHASES[get("phase")],
            get("player"),
            get("turn"),
            left,
            get("clearing_n"),
            get("hand_n")[:n],
            get("cave_n")[:n],
        )

    def table(self) -> dict[str, Any]:
        """Return everything but the forests; like the referee's `state`, with what `referee_table` adds."""
        get, piles = self.get, self._piles()
        top, clearing_n, winters, phase = get("stack_top"), get("clearing_n"), get("winters"), Phase(get("phase"))
        stack = get("stack")[: get("stack_n")]
        hand, hand_n = get("hand"), get("hand_n")
        return {
            "phase": phase.name,
            "player": get("player"),
            "hands": [[CARD_IDS[card] for card in hand[seat][: hand_n[seat]]] for seat in range(self.players)],
            "clearing": [CARD_IDS[card] for card in get("clearing")[:clearing_n]],
            "discard": piles[DISCARD],
            "box": piles[BOX],
            "stack": [NAMES[card] for card in stack[top:]],
            "in_play": (*piles[IN_PLAY], get("play_half")) if piles[IN_PLAY] else None,
            "caves": self._caves(),
            "caves_offered": [self.cave_numbers[cave] for cave in get("offer")[: get("offer_n")]],
            "cave_cards": piles[CAVE : CAVE + self.players],
            "turn": get("turn"),
            "winters": [NAMES[card] for card in stack[:top] if card >= DECK_SIZE],
            "winter_turns": get("winter_turn")[:winters],
            "extra_turn": bool(get("extra_turn")),
            "in_extra_turn": bool(get("is_extra")),
            "ending": Ending(get("ending")).name.lower() if phase == Phase.OVER else None,
            "drawn": DRAWS_PER_TURN - get("draws_left") if phase == Phase.DRAW else None,
            "paid": get("paid_n") if phase == Phase.PAY else None,
        }

    def _piles(self) -> list[list[str]]:
        """Return the cards at each Place that is not a list in the record, ascending."""
        now = self.columns["place"].tobytes().translate(PILES)
        if now != self.pile_bytes:
            self.pile_bytes, self.piles = now, [[] for _ in range(PLACES)]
            for card, place in zip(CARD_IDS, now, strict=True):
                if place != OTHER:
                    self.piles[place].append(card)
        return self.piles

    def _caves(self) -> list[int | None]:
        """Return the numbers of the seats' caves; in a draft the seats early in turn order have none yet."""
        caves: list[int | None] = [self.cave_numbers[cave] for cave in self.get("cave")[: self.players]]
        for i in range(self.get("offer_n")):
            caves[(self.get("first") + i) % self.players] = None
        return caves

    def forest(self, seat: int) -> list[dict[str, Any]]:
        """Return a seat's forest as the referee's `state` does, but with each slot sorted by card."""
        face, host, slot = (self.get(name) for name in LAYOUT[1:])
        habitats = self.get("habitats")[seat][: self.get("habitats_n")[seat]]
        forest = {habitat: self._habitat(habitat, face[habitat]) for habitat in habitats}
        for card in np.flatnonzero(self.columns["place"][0] == FOREST + seat).tolist():
            if host[card] != card:
                visible, slots = self._visible(card, face[card]), self._slots(host[card])
                forest[host[card]][slots[slot[card]]].append(visible)
        return list(forest.values())

    def _habitat(self, habitat: int, face: int) -> dict[str, Any]:
        card, _, species, symbol = self._visible(habitat, face)
        return {"card": card, "species": species, "symbol": symbol, **{name: [] for name in self._slots(habitat)}}

    def _visible(self, card: int, face: int) -> tuple[str, int | None, str, str | None]:
        if face == DOWN:
            return CARD_IDS[card], None, SPECIES_KEYS[SPECIES], None
        return CARD_IDS[card], face, SPECIES_KEYS[self.species[card][face]], SYMBOLS[self.symbols[card][face]]

    def changed_forests(self) -> set[int]:
        """Return the seats in whose forests a card came, went, turned or moved since the last call."""
        place, *rest = (self.columns[name].tobytes() for name in LAYOUT)
        now = place.translate(FORESTS), *rest
        if now == self.layout_bytes:
            return set()
        self.layout_bytes = now
        before, self.layout = self.layout, np.concatenate([self.columns[name] for name in LAYOUT])
        changed = (before != self.layout).any(axis=0)
        places = {*before[0, changed].tolist(), *self.layout[0, changed].tolist()}
        return {place - FOREST for place in places if FOREST <= place < FOREST + self.players}


def referee_outline(referee: Referee) -> tuple[Any, ...]:
    """Return the same as `Engine.outline`."""
    sizes = len(referee.stack), len(referee.clearing), [*map(len, referee.hands)], [*map(len, referee.cave_cards)]
    return referee.phase, referee.player, referee.turn, *sizes


def referee_table(referee: Referee) -> dict[str, Any]:
    """Return everything of the referee's but the forests, with what its `state` leaves out of a running turn."""
    return {
        "phase": referee.phase,
        "player": referee.player,
        "hands": [sorted(hand) for hand in referee.hands],
        "clearing": sorted(referee.clearing),
        "discard": sorted(referee.discard),
        "box": sorted(referee.box),
        "stack": referee.stack,
        "in_play": referee.in_play,
        "caves": referee.caves,
        "caves_offered": referee.offered,
        "cave_cards": [sorted(cards) for cards in referee.cave_cards],
        "turn": referee.turn,
        "winters": referee.winters,
        "winter_turns": referee.winter_turns,
        "extra_turn": referee.extra_turn,
        "in_extra_turn": referee.in_extra_turn,
        "ending": referee.ending,
        "drawn": referee.drawn if referee.phase == "DRAW" else None,
        "paid": len(referee.paid) if referee.phase == "PAY" else None,
    }


def referee_forest(referee: Referee, seat: int) -> list[dict[str, Any]]:
    """Return a seat's forest with each slot sorted by card: the engine does not keep the order of arrival."""
    return [_describe(habitat) for habitat in referee.forests[seat]]


def _describe(habitat: Habitat) -> dict[str, Any]:
    card, _, species, symbol = describe(habitat.base)
    slots = {slot: sorted(describe(visible) for visible in there) for slot, there in habitat.slots.items()}
    return {"card": card, "species": species, "symbol": symbol, **slots}


class WatchedReferee(Referee):
    """A referee that notes which seats have laid cards, and counts the effects it carries out by verb.

    Its scores in the course of a game are worked out anew only where something they depend on has changed: the
    forest, the number of cards in the cave, and who has the most moors.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        self.verbs: Counter[str] = Counter()
        self.changed: set[int] = set()  # seats that have laid a card; the test empties it
        self.versions = [0] * MAX_PLAYERS  # of the seats' forests
        self.known: dict[int, tuple[Any, int]] = {}
        super().__init__(*args, **settings)

    def totals(self) -> list[int]:
        """Return every seat's score as it stands."""
        moors = [sum(habitat.is_moor for habitat in forest) for forest in self.forests]
        return [self._total(seat, moors[seat] == max(moors)) for seat in range(self.players)]

    def _total(self, seat: int, most_moors: bool) -> int:
        number, cave_cards = self.caves[seat], len(self.cave_cards[seat])
        key = self.versions[seat], cave_cards, most_moors
        if seat not in self.known or self.known[seat][0] != key:
            cave = None if number is None else self.cave_book[number]
            self.known[seat] = key, score_forest(self.forests[seat], cave, cave_cards, most_moors)["total"]
        return self.known[seat][1]

    def _note(self) -> None:
        self.changed.add(self.player)
        self.versions[self.player] += 1

    def _place(self, card: str, half: int) -> Asking:
        yield from super()._place(card, half)
        self._note()

    def _lay_moor(self, card: str) -> None:
        super()._lay_moor(card)
        self._note()

    def _carry_out(self, effect: Effect | None, source: Species | None) -> Asking:
        if effect is not None:
            self.verbs[effect[0]] += 1
        yield from super()._carry_out(effect, source)
