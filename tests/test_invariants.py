"""What must hold after every step of a game: each card in one place, limits kept, every running counter right.

The counters of `sim/state.py` save the kernels from walking over forests. Here they are counted anew from where the
cards lie (place, face, host, slot), in plain Python, and from the tables alone.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from sim.actions import MAX_ACTIONS, act_of
from sim.codes import (
    Act,
    CardType,
    CaveMode,
    Face,
    Fate,
    MoorSlot,
    Phase,
    Place,
    Placement,
    ScoreOp,
    Share,
    Symbol,
    TreeSlot,
)
from sim.deal import setup
from sim.deck import load_deck
from sim.legal import legal_actions
from sim.machine import apply, step
from sim.play import OUTCOME, note_outcome
from sim.rules import (
    CARDS_TO_BOX,
    CLEARING_LIMIT,
    DECK_SIZE,
    HAND_LIMIT,
    MAX_PLAYERS,
    OPENING_HAND,
    SLOTS,
    SPECIES,
    STACK_SIZE,
    TYPES,
    UNIVERSAL_MOOR,
    WINTERS,
)
from sim.rulings import Rulings
from sim.scoring import cave_points, species_points, total_points
from sim.state import PENDING, SPECIES_ROWS, new_games
from sim.tables import TERMS, build_tables

GAMES = 4  # of each number of players and set of rulings
RULINGS = {
    "default": {},
    "sharing": {
        "cuckoo_per_habitat": "many",
        "cuckoo_bird": "any",
        "late_water_soldiers": "merge",
        "new_permanents": "next_turn",
    },
    "others": {
        "wheatear_trigger": "bonus",
        "winter_pile": "random",
        "swap_to": "discard",
        "first_player": "random",
        "free_play_optional": "no",
        "extra_turn_again": "no",
    },
}
# Counters of the record that follow from the forests, with their shapes.
COUNTERS = (
    "slot_n",
    "slot_types",
    "accepts",
    "shares_top",
    "shares_sides",
    "cuckoos",
    "birds_top",
    "birds_any",
    "placeable",
    "species_n",
    "full_n",
    "in_moor_n",
    "doubled_n",
    "own_symbol_n",
    "type_n",
    "kinds_n",
    "symbol_n",
    "below_n",
    "trigger_n",
    "type_worth",
    "symbol_worth",
    "below_worth",
    "cave_worth",
    "full_worth",
)
TYPES_OF_KIND = [[kind for kind in range(TYPES) if mask >> kind & 1] for mask in range(1 << TYPES)]
BIRD, DRAGONFLY = 1 << CardType.BIRD, 1 << CardType.DRAGONFLY
TOPS, BOTTOMS = (MoorSlot.TOP, MoorSlot.TOP2), (MoorSlot.BOTTOM, MoorSlot.BOTTOM2)


class Guest:
    """A card in a slot of a habitat."""

    def __init__(self, card: int, species: int, symbol: int, slot: int) -> None:
        self.card, self.species, self.symbol, self.slot = card, species, symbol, slot


class Recount:
    """Every counter of a record, counted anew from where its cards lie."""

    def __init__(self, games: np.ndarray, tables: np.void) -> None:
        self.tables = tables
        self.place, self.face, self.host, self.slot = (
            games[name][0].tolist() for name in ("place", "face", "host", "slot")
        )
        self.counts = {name: np.zeros(games.dtype[name].shape, np.int64) for name in COUNTERS}
        self.counts["cave_worth"][:] = 1
        self.counts["placeable"][:] = 1 << Placement.HABITAT
        self.kinds: set[tuple[int, int]] = set()  # (player, species)
        for card in range(DECK_SIZE):
            if Place.FOREST <= self.place[card] < Place.CAVE and self.host[card] == card:
                self._count_habitat(self.place[card] - Place.FOREST, card)
        for player, species in self.kinds:
            for kind in TYPES_OF_KIND[tables["types"][species]]:
                self.counts["kinds_n"][player, kind] += 1

    def _visible(self, card: int) -> tuple[int, int]:
        face = self.face[card]
        if face == Face.DOWN:
            return UNIVERSAL_MOOR, int(Symbol.NONE)
        return int(self.tables["species"][card, face]), int(self.tables["symbol"][card, face])

    def _count_habitat(self, player: int, habitat: int) -> None:
        species, symbol = self._visible(habitat)
        guests = [
            Guest(card, *self._visible(card), self.slot[card])
            for card in range(DECK_SIZE)
            if card != habitat and self.host[card] == habitat and self.place[card] == Place.FOREST + player
        ]
        is_moor = bool(self.tables["types"][species] >> CardType.MOOR & 1)
        self._count_slots(habitat, guests)
        self._count_leave(habitat, guests)
        accepts = self._moor_accepts(habitat, guests) if is_moor else self._tree_accepts(habitat, guests)
        self.counts["accepts"][habitat] = accepts
        self.counts["placeable"][player] |= accepts
        is_full = all(any(guest.slot == slot for guest in guests) for slot in range(SLOTS))
        self._count_visible(player, species, symbol, habitat, is_full, 1)
        for guest in guests:
            is_below = guest.slot in (BOTTOMS if is_moor else (TreeSlot.BOTTOM,))
            doubled = is_below and bool(self.tables["doubles"][species] & self.tables["types"][guest.species])
            self.counts["below_n"][player] += is_below
            self.counts["in_moor_n"][player, guest.species] += is_moor
            self.counts["doubled_n"][player, guest.species] += doubled
            self._count_visible(player, guest.species, guest.symbol, habitat, is_full, 1 + doubled)

    def _count_slots(self, habitat: int, guests: list[Guest]) -> None:
        for slot in range(SLOTS):
            there = [int(self.tables["types"][guest.species]) for guest in guests if guest.slot == slot]
            self.counts["slot_n"][habitat, slot] = len(there)
            self.counts["slot_types"][habitat, slot] = np.bitwise_and.reduce(there) if there else 0

    def _count_leave(self, habitat: int, guests: list[Guest]) -> None:
        """Count who lets others share a slot, and what a Cuckoo asks about."""
        for guest in guests:
            share, types = self.tables["share"][guest.species], int(self.tables["share_types"][guest.species])
            if share == Share.TOP:
                self.counts["shares_top"][habitat] |= types
            elif share == Share.SIDES:
                self.counts["shares_sides"][habitat] |= types
            is_cuckoo = bool(self.tables["is_cuckoo"][guest.species])
            is_bird = not is_cuckoo and bool(self.tables["types"][guest.species] & BIRD)
            self.counts["cuckoos"][habitat] += is_cuckoo
            self.counts["birds_any"][habitat] += is_bird
            self.counts["birds_top"][habitat] += is_bird and guest.slot == TreeSlot.TOP

    def _types_in(self, guests: list[Guest], slot: int) -> list[int]:
        return [int(self.tables["types"][guest.species]) for guest in guests if guest.slot == slot]

    def _tree_accepts(self, habitat: int, guests: list[Guest]) -> int:
        top, bottom, left, right = (self._types_in(guests, slot) for slot in TreeSlot)
        leave_top, leave_sides = self.counts["shares_top"][habitat], self.counts["shares_sides"][habitat]
        answers = {
            Placement.TOP: not top,
            Placement.TOP_SHARING: all(types & DRAGONFLY for types in top) and (not top or leave_top),
            Placement.TOP_CUCKOO: self._takes_cuckoo(guests, top),
            Placement.BOTTOM: not bottom,
            Placement.LEFT: not left,
            Placement.RIGHT: not right,
            Placement.LEFT_SHARING: not left or leave_sides,
            Placement.RIGHT_SHARING: not right or leave_sides,
        }
        return sum(1 << placement for placement, answer in answers.items() if answer)

    def _takes_cuckoo(self, guests: list[Guest], top: list[int]) -> bool:
        types, is_cuckoo = self.tables["types"], self.tables["is_cuckoo"]
        birds = [guest for guest in guests if types[guest.species] & BIRD and not is_cuckoo[guest.species]]
        if self.tables["cuckoo_per_habitat"] == 0 and any(is_cuckoo[guest.species] for guest in guests):
            return False
        if self.tables["cuckoo_bird"] == 0:
            return any(guest.slot == TreeSlot.TOP for guest in birds)
        return bool(birds) and all(mask & BIRD for mask in top)

    def _moor_accepts(self, habitat: int, guests: list[Guest]) -> int:
        tops = [self._types_in(guests, slot) for slot in TOPS]
        has_top, has_bottom = not all(tops), not all(self._types_in(guests, slot) for slot in BOTTOMS)
        shared = self.counts["shares_top"][habitat] and any(all(types & DRAGONFLY for types in top) for top in tops)
        answers = {
            Placement.TOP: has_top,
            Placement.TOP_MOOR: has_top,
            Placement.TOP_SHARING: has_top or shared,
            Placement.BOTTOM: has_bottom,
            Placement.BOTTOM_MOOR: has_bottom,
        }
        return sum(1 << placement for placement, answer in answers.items() if answer)

    def _count_visible(self, player: int, species: int, symbol: int, habitat: int, is_full: bool, times: int) -> None:
        counts, tables = self.counts, self.tables
        counts["species_n"][player, species] += 1
        counts["symbol_n"][player, symbol] += 1
        self.kinds.add((player, species))
        for kind in TYPES_OF_KIND[tables["types"][species]]:
            counts["type_n"][player, kind] += 1
        for kind in TYPES_OF_KIND[tables["trigger_types"][species]]:
            counts["trigger_n"][player, kind] += 1
        for term in range(TERMS):
            op, arg = tables["score_op"][species, term], tables["score_arg"][species, term]
            n = int(tables["score_n"][species, term]) * times
            if op == ScoreOp.PER_TYPE:
                counts["type_worth"][player, arg] += n
            elif op == ScoreOp.PER_SYMBOL:
                counts["symbol_worth"][player, arg] += n
            elif op == ScoreOp.PER_OWN_SYMBOL:
                counts["own_symbol_n"][player, symbol] += 1
                counts["symbol_worth"][player, symbol] += n
            elif op == ScoreOp.PER_CARD_BELOW:
                counts["below_worth"][player] += n
            elif op == ScoreOp.PER_CAVE_CARD:
                counts["cave_worth"][player] += n
            elif op == ScoreOp.HOST_FULL:
                counts["full_worth"][habitat] += n
                counts["full_n"][player, species] += is_full


class Watch:
    """A game of random answers, checked after every step of the machine."""

    def __init__(self, tables: np.ndarray, players: int, game: int, mode: CaveMode) -> None:
        self.tables = tables[0]
        self.players = players
        self.games = new_games()
        setup(self.games, self.tables, players, np.uint64(21), game, int(mode), np.arange(MAX_PLAYERS, dtype=np.uint8))
        self.state = self.games[0]
        self.actions = np.zeros(MAX_ACTIONS, np.int32)
        self.rng = random.Random(f"{players} players, game {game}")
        self.eager = game % 2 == 1
        self.deepest = 0  # pending steps
        self.layout = b""
        self.recount = Recount(self.games, self.tables)
        self.turn = 0
        self.triggers_at_start = np.zeros((MAX_PLAYERS, TYPES), np.int64)
        self.first_held: dict[tuple[int, int], int] = {}

    def get(self, name: str) -> Any:
        return self.games[name][0].tolist()

    def play(self) -> None:
        """Play to the end, checking after every answer and after every pending step."""
        self.check()
        while self.get("phase") != Phase.OVER:
            if self.get("phase") == Phase.RESOLVE:
                step(self.state, self.tables, self.actions)
            else:
                n = int(legal_actions(self.state, self.tables, self.actions))
                assert n > 0
                apply(self.state, self.tables, self.actions[self.choose(n)])
            self.check()

    def choose(self, n: int) -> int:
        """Return an answer by chance; the eager one plays rather than draws and declines nothing."""
        dull = (Act.DRAW, Act.STOP, Act.DECLINE)
        good = [i for i in range(n) if act_of.py_func(int(self.actions[i])) not in dull]
        return self.rng.choice(good) if self.eager and good else self.rng.randrange(n)

    def check(self) -> None:
        """Check everything that must hold now."""
        self.deepest = max(self.deepest, self.get("pending_count"))
        self.check_cards()
        self.check_hands_and_clearing()
        self.check_forests()
        self.check_fresh()
        self.check_fate()

    def check_cards(self) -> None:
        """Every card and winter is in exactly one place, and each list says what `place` says."""
        place, top, stack = self.get("place"), self.get("stack_top"), self.get("stack")[: self.get("stack_n")]
        assert len(place) == DECK_SIZE and len(stack) == STACK_SIZE - CARDS_TO_BOX[self.players]
        lists = {Place.STACK: [card for card in stack[top:] if card < DECK_SIZE]}
        lists[Place.CLEARING] = self.get("clearing")[: self.get("clearing_n")]
        for player in range(self.players):
            lists[Place.HAND + player] = self.get("hand")[player][: self.get("hand_n")[player]]
        for where, cards in lists.items():
            assert sorted(cards) == [card for card in range(DECK_SIZE) if place[card] == where]
        outside = set(range(DECK_SIZE)) - set(stack)
        assert {card for card in range(DECK_SIZE) if place[card] == Place.BOX} == outside
        in_play = [card for card in range(DECK_SIZE) if place[card] == Place.IN_PLAY]
        assert in_play == ([self.get("play_card")] if self.get("phase") in (Phase.PAY, Phase.HOST) else [])
        assert sorted(card for card in stack if card >= DECK_SIZE) == list(range(DECK_SIZE, STACK_SIZE))
        assert sum(card >= DECK_SIZE for card in stack[:top]) == self.get("winters")
        assert (self.get("winters") == WINTERS) == (self.get("phase") == Phase.OVER)
        for player in range(self.players):
            assert self.get("cave_n")[player] == place.count(Place.CAVE + player)

    def check_hands_and_clearing(self) -> None:
        hands = [self.get("hand")[player][: self.get("hand_n")[player]] for player in range(self.players)]
        clearing = self.get("clearing")[: self.get("clearing_n")]
        assert all(cards == sorted(cards) for cards in (*hands, clearing))
        assert all(len(hand) <= HAND_LIMIT for hand in hands)
        if self.get("phase") == Phase.TURN:
            assert len(clearing) < CLEARING_LIMIT and self.get("pending_count") == 0
            assert sum(self.get("player_turns")) == self.get("turn")

    def check_forests(self) -> None:
        """The habitats listed, their guests, and every counter."""
        self.recount_if_changed()
        recount = self.recount
        for player in range(self.players):
            habitats = self.get("habitats")[player][: self.get("habitats_n")[player]]
            mine = [card for card in range(DECK_SIZE) if recount.place[card] == Place.FOREST + player]
            assert sorted(habitats) == [card for card in mine if recount.host[card] == card]
            assert all(recount.host[card] in habitats for card in mine)
        for name in COUNTERS:
            expected, found = recount.counts[name], self.games[name][0]
            assert np.array_equal(expected, found), f"{name}: expected {expected.tolist()}, found {found.tolist()}"

    def recount_if_changed(self) -> None:
        place = self.games["place"][0]
        is_laid = (place >= Place.FOREST) & (place < Place.CAVE)
        rest = (self.games[name][0] for name in ("face", "host", "slot"))
        layout = b"".join(part.tobytes() for part in (np.where(is_laid, place, 0), *rest))
        if layout != self.layout:
            self.layout, self.recount = layout, Recount(self.games, self.tables)

    def check_fresh(self) -> None:
        """The permanent effects laid in this turn are those since its start."""
        triggers = self.games["trigger_n"][0].astype(np.int64)
        if self.get("turn") != self.turn:
            self.turn, self.triggers_at_start = self.get("turn"), triggers
        player = self.get("player")
        assert (triggers - self.triggers_at_start)[player].tolist() == self.get("fresh_n")

    def check_fate(self) -> None:
        """How each card came to a player, and the turn in which the player first held it."""
        fate, place, face = self.get("fate"), self.get("place"), self.get("face")
        turns, seen = self.get("player_turns"), self.get("seen")
        held = Fate.OPENING | Fate.FROM_STACK | Fate.FROM_CLEARING
        for card in range(DECK_SIZE):
            player, where = place[card] % 8, place[card] // 8 * 8
            if where == Place.HAND:
                assert fate[player][card] & held
                assert seen[player][card] == self.first_held.setdefault((player, card), turns[player])
            elif where == Place.FOREST:
                assert bool(fate[player][card] & Fate.FACE_DOWN) == (face[card] == Face.DOWN)
                ways = Fate.PLAYED | Fate.PLAYED_FREE | Fate.FACE_DOWN
                assert (fate[player][card] & ways).bit_count() == 1
            elif where == Place.CAVE:
                assert fate[player][card] & Fate.CAVE
        if self.turn == 0:
            assert all(sum(own[card] == Fate.OPENING for card in range(DECK_SIZE)) <= OPENING_HAND for own in fate)


@pytest.mark.parametrize("players", [2, 3, 4, 5])
@pytest.mark.parametrize("name", RULINGS)
def test_every_step_of_random_games(name, players):
    tables = build_tables(load_deck(), Rulings(**RULINGS[name]))
    deepest = 0
    for game in range(GAMES):
        watch = Watch(tables, players, game, list(CaveMode)[game % len(CaveMode)])
        watch.play()
        deepest = max(deepest, watch.deepest)
    assert 3 <= deepest < PENDING


def finished_game(tables: np.ndarray, players: int) -> np.ndarray:
    watch = Watch(tables, players, 1, CaveMode.DRAFT)
    watch.check = lambda: None  # type: ignore[method-assign]
    watch.play()
    return watch.games


@pytest.mark.parametrize("players", [2, 5])
def test_scoring_changes_nothing(tables, players):
    games = finished_game(tables, players)
    state, outcome = games[0], np.zeros(1, OUTCOME)
    before = games.tobytes()
    for player in range(players):
        parts = [int(species_points(state, tables[0], player, species)) for species in range(SPECIES)]
        assert total_points(state, tables[0], player) == cave_points(state, tables[0], player) + sum(parts)
    note_outcome(state, tables[0], 0, outcome[0])
    assert games.tobytes() == before
    again = np.zeros(1, OUTCOME)
    note_outcome(state, tables[0], 0, again[0])
    assert again.tobytes() == outcome.tobytes()


def test_listing_answers_changes_nothing(tables):
    watch = Watch(tables, 3, 0, CaveMode.DRAFT)
    first = np.zeros(MAX_ACTIONS, np.int32)

    def check() -> None:
        if watch.get("phase") not in (Phase.RESOLVE, Phase.OVER):
            before = watch.games.tobytes()
            n = legal_actions(watch.state, watch.tables, first)
            assert watch.games.tobytes() == before
            assert len(set(first[:n].tolist())) == n
            assert legal_actions(watch.state, watch.tables, watch.actions) == n
            assert (watch.actions[:n] == first[:n]).all()

    watch.check = check  # type: ignore[method-assign]
    watch.play()


def test_the_universal_moor_is_a_moor_that_scores_and_does_nothing(tables):
    assert SPECIES_ROWS == UNIVERSAL_MOOR + 1
    assert tables[0]["types"][UNIVERSAL_MOOR] == 1 << CardType.MOOR
    for name in ("cost", "score_op", "effect_op", "bonus_op", "trigger_types", "share", "doubles"):
        assert not tables[0][name][UNIVERSAL_MOOR].any(), name
