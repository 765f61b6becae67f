"""The engine behind the referee's interface: its actions as the referee's answers, its record as the referee's state."""

from __future__ import annotations

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
from tests.referee import MOOR_SLOTS, TREE_SLOTS, Answer, Habitat, Referee, describe, read_species, score_forest

NAMES = CARD_IDS + WINTER_IDS
SPECIES_KEYS = [one.key for one in box_species()] + ["universal_moor"]
DRAGONFLIES = {key for key, species in read_species().items() if "dragonfly" in species.types}
SYMBOLS = [None if symbol == Symbol.NONE else symbol.name.lower() for symbol in Symbol]
ONE_WORD = frozenset({Act.DRAW, Act.PLAY, Act.SWAP, Act.STACK, Act.STOP, Act.DECLINE})

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


@njit(cache=True, nogil=True)
def answer_and_run_on(state, tables, actions, index):
    """Give the listed answer `index` and run to the next decision with a choice."""
    apply(state, tables, actions[index])
    return run_on(state, tables, actions)


@njit(cache=True, nogil=True)
def write_scores(state, tables, scores):
    """Write every seat's score as it stands into `scores` (int64)."""
    for player in range(state.players):
        scores[player] = total_points(state, tables, player)


class Engine:
    """One game of the compiled engine, in the referee's words."""

    def __init__(
        self, tables: np.ndarray, deal: Deal, cave_mode: CaveMode = CaveMode.DRAFT, caves: Sequence[int] = ()
    ) -> None:
        """Set up a deal and run to the first choice; `caves` are the seats' cave indices for CaveMode.GIVEN."""
        self.tables = tables[0]
        self.players = deal.players
        self.games = new_games()
        deal.setup(self.games, 0, cave_mode, np.array([*caves, *[0] * MAX_PLAYERS][:MAX_PLAYERS], np.uint8))
        self.record = self.games[0]
        self.columns = {name: self.games[name] for name in self.games.dtype.names or ()}
        self.cave_numbers = self.tables["cave_number"].tolist()
        self.species = self.tables["species"].tolist()
        self.symbols = self.tables["symbol"].tolist()
        self.is_moor_card = (self.tables["kind"] == Kind.MOOR).tolist()
        self.actions = np.zeros(MAX_ACTIONS, np.int32)
        self.seat_scores = np.zeros(MAX_PLAYERS, np.int64)
        self.n = int(run_on(self.record, self.tables, self.actions))

    def get(self, name: str) -> Any:
        """Return a field of the record, in Python numbers and lists."""
        return self.columns[name][0].tolist()

    def choose(self, index: int) -> None:
        """Give the legal answer `index` and run to the next decision with a choice, or to the end."""
        self.n = int(answer_and_run_on(self.record, self.tables, self.actions, index))

    def legal(self) -> list[Answer]:
        """Return the legal answers to the pending decision, in the engine's order."""
        return [self._words(action) for action in self.actions[: self.n].tolist()]

    def _words(self, action: int) -> Answer:
        act, card = Act(act_of.py_func(action)), card_of.py_func(action)
        name = act.name.lower()
        if act in ONE_WORD:
            return (name,)
        if act == Act.CAVE:
            return name, self.cave_numbers[card]
        if act == Act.CARD:
            return name, CARD_IDS[card], half_of.py_func(action)
        if act == Act.HOST:
            return name, CARD_IDS[card], self._slots(card)[slot_of.py_func(action)]
        return name, CARD_IDS[card]

    def _slots(self, habitat: int) -> tuple[str, ...]:
        is_moor = self.is_moor_card[habitat] or self.columns["face"][0, habitat] == Face.DOWN
        return MOOR_SLOTS if is_moor else TREE_SLOTS

    # Points

    def scores(self) -> list[int]:
        """Return every seat's score as it stands."""
        write_scores(self.record, self.tables, self.seat_scores)
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

    def table(self) -> dict[str, Any]:
        """Return everything but the forests; like the referee's `state`, with what `referee_table` adds."""
        get, place = self.get, self.columns["place"][0]
        top, clearing_n, winters, phase = get("stack_top"), get("clearing_n"), get("winters"), Phase(get("phase"))
        stack = get("stack")[: get("stack_n")]
        hand, hand_n = get("hand"), get("hand_n")
        in_play = [(CARD_IDS[card], get("play_half")) for card in np.flatnonzero(place == Place.IN_PLAY)]
        return {
            "phase": phase.name,
            "player": get("player"),
            "hands": [[CARD_IDS[card] for card in hand[seat][: hand_n[seat]]] for seat in range(self.players)],
            "clearing": [CARD_IDS[card] for card in get("clearing")[:clearing_n]],
            "discard": self._at(Place.DISCARD),
            "box": self._at(Place.BOX),
            "stack": [NAMES[card] for card in stack[top:]],
            "in_play": in_play[0] if len(in_play) == 1 else in_play or None,
            "caves": self._caves(),
            "caves_offered": [self.cave_numbers[cave] for cave in get("offer")[: get("offer_n")]],
            "cave_cards": [self._at(Place.CAVE + seat) for seat in range(self.players)],
            "turn": get("turn"),
            "winters": [NAMES[card] for card in stack[:top] if card >= DECK_SIZE],
            "winter_turns": get("winter_turn")[:winters],
            "extra_turn": bool(get("extra_turn")),
            "in_extra_turn": bool(get("is_extra")),
            "ending": Ending(get("ending")).name.lower() if phase == Phase.OVER else None,
            "drawn": DRAWS_PER_TURN - get("draws_left") if phase == Phase.DRAW else None,
            "paid": get("paid_n") if phase == Phase.PAY else None,
        }

    def _at(self, place: int) -> list[str]:
        return [CARD_IDS[card] for card in np.flatnonzero(self.columns["place"][0] == place)]

    def _caves(self) -> list[int | None]:
        """Return the numbers of the seats' caves; in a draft the seats early in turn order have none yet."""
        caves: list[int | None] = [self.cave_numbers[cave] for cave in self.get("cave")[: self.players]]
        for i in range(self.get("offer_n")):
            caves[(self.get("first") + i) % self.players] = None
        return caves

    def forests(self) -> list[list[dict[str, Any]]]:
        """Return every forest as the referee's `state` does, but with each slot sorted by card."""
        place, face, host, slot = (self.get(name) for name in ("place", "face", "host", "slot"))
        guests: dict[int, list[int]] = {}
        for card in range(DECK_SIZE):
            if Place.FOREST <= place[card] < Place.CAVE and host[card] != card:
                guests.setdefault(host[card], []).append(card)
        habitats, habitats_n = self.get("habitats"), self.get("habitats_n")
        forests = []
        for seat in range(self.players):
            forest = []
            for habitat in habitats[seat][: habitats_n[seat]]:
                slots = self._slots(habitat)
                card, _, species, symbol = self._visible(habitat, face[habitat])
                entry: dict[str, Any] = {"card": card, "species": species, "symbol": symbol}
                entry |= {name: [] for name in slots}
                for guest in guests.get(habitat, ()):
                    assert place[guest] == place[habitat] == Place.FOREST + seat, "a guest in another forest"
                    entry[slots[slot[guest]]].append(self._visible(guest, face[guest]))
                forest.append(entry)
            forests.append(forest)
        return forests

    def _visible(self, card: int, face: int) -> tuple[str, int | None, str, str | None]:
        if face == Face.DOWN:
            return CARD_IDS[card], None, SPECIES_KEYS[SPECIES], None
        return CARD_IDS[card], face, SPECIES_KEYS[self.species[card][face]], SYMBOLS[self.symbols[card][face]]

    def layout(self) -> bytes:
        """Return bytes that change whenever a card in a forest comes, turns or moves."""
        place, columns = self.columns["place"][0], self.columns
        is_laid = (place >= Place.FOREST) & (place < Place.CAVE)
        return np.where(is_laid, (place, columns["face"][0], columns["host"][0], columns["slot"][0]), 255).tobytes()


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


def referee_forests(referee: Referee) -> list[list[dict[str, Any]]]:
    """Return the referee's forests with each slot sorted by card: the engine does not keep the order of arrival."""
    return [[_habitat(habitat) for habitat in forest] for forest in referee.forests]


def _habitat(habitat: Habitat) -> dict[str, Any]:
    card, _, species, symbol = describe(habitat.base)
    slots = {slot: sorted(describe(visible) for visible in there) for slot, there in habitat.slots.items()}
    return {"card": card, "species": species, "symbol": symbol, **slots}


class RefereeScores:
    """The referee's scores in the course of a game, worked out anew only where something they depend on has changed.

    A forest only ever grows, so its number of cards tells whether it is the same; the rest a score depends on is the
    number of cards in the cave and who has the most moors.
    """

    def __init__(self, referee: Referee) -> None:
        self.referee = referee
        self.known: dict[int, tuple[Any, int]] = {}

    def totals(self) -> list[int]:
        """Return every seat's score as it stands."""
        referee = self.referee
        moors = [sum(habitat.is_moor for habitat in forest) for forest in referee.forests]
        return [self._total(seat, moors[seat] == max(moors)) for seat in range(referee.players)]

    def _total(self, seat: int, most_moors: bool) -> int:
        forest, cave_cards = self.referee.forests[seat], len(self.referee.cave_cards[seat])
        number = self.referee.caves[seat]
        key = (count_laid(forest), cave_cards, most_moors, number)
        if self.known.get(seat, (None, 0))[0] != key:
            cave = None if number is None else self.referee.cave_book[number]
            self.known[seat] = key, score_forest(forest, cave, cave_cards, most_moors)["total"]
        return self.known[seat][1]


def count_laid(forest: list[Habitat]) -> int:
    """Return how many cards lie in a forest."""
    return len(forest) + sum(len(there) for habitat in forest for there in habitat.slots.values())
