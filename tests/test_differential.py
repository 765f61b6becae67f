"""The engine against the referee: the same deals and the same random answers, game by game and step by step.

After every step the two agree on the phase, the player, the legal answers in order, hands, clearing, discard pile, box,
stack, caves and everything else on the table. The forests, slot by slot, are compared whenever a card in a forest of
either engine came, turned or moved, so no step goes unchecked. Scores of all seats are compared at the start of every
turn, and by species at the end.

Every setting also has to show that it was put to the test: what is counted in `Seen`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest

from sim.caves import Cave, read_caves
from sim.codes import CaveMode
from sim.deals import Deal, deal_document
from sim.deck import Deck, load_deck
from sim.rulings import Rulings, default_icons, known_icons, ruling_values
from sim.tables import build_tables
from tests.bridge import Engine, WatchedReferee, referee_forest, referee_table
from tests.referee import BONUS, EFFECT, Answer, everything, read_rows, read_species

GAMES = 300  # of every cave mode and every value of a ruling
BLOCK = 20  # consecutive games that share deck, rulings, icons and caves
PLAYERS = (2, 3, 4, 5)  # in turn
DEAL_RULINGS = {"winter_pile", "first_player"}  # act on the deal, not on the play
TURN_PHASES = {"CAVE", "TURN", "DRAW", "CARD", "PAY", "HOST", "FREE", "MOOR", "TAKE", "STORE", "DISCARD"}
ENDINGS = {"draw", "tree", "effect", "cave"}
VERBS = {effect[0] for table in (EFFECT, BONUS) for effect in table.values()}

# Caves of a designer's: numbers out of order, every kind of opening step that the referee knows, points by type.
OWN_CAVES = """cave,when,effect,status,note
12,both,hand_to_cave 2 + points 1 per bat,own,
3,opening,draw 3 then discard 3,own,
20,opening,stack_to_cave 3,own,
7,both,clearing_to_hand 1 + points 2 + points 1 per moor,own,
5,opening,moor_from_hand 2,own,
9,opening,draw 4 then clearing_to_cave 2 then hand_to_cave 1,own,
"""


@dataclass(frozen=True)
class Plan:
    """What a block of games is played with, beside deals and answers."""

    deck: str = "reference"
    rulings: Mapping[str, str] = field(default_factory=dict)
    icons: Mapping[str, str] = field(default_factory=default_icons)
    cave_mode: CaveMode = CaveMode.DRAFT


@dataclass(frozen=True)
class Setting:
    """A number of games, and the plan of each block from a generator of the block's own."""

    games: int
    plan: Callable[[int, random.Random], Plan]


@dataclass
class Seen:
    """What happened in the games of a setting."""

    phases: Counter[str] = field(default_factory=Counter)
    verbs: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    species: Counter[str] = field(default_factory=Counter)
    departures: int = 0  # games that differ from those of the default rulings with the same answers


def always(**changes: Any) -> Callable[[int, random.Random], Plan]:
    """Return the same plan for every block."""
    return lambda block, rng: Plan(**changes)


def candidates(place: int) -> dict[str, str]:
    """Return the candidate of every icon at this place in its list, or its last one."""
    return {name: icon.candidates[min(place, len(icon.candidates) - 1)] for name, icon in known_icons().items()}


def random_icons(rng: random.Random) -> dict[str, str]:
    return {name: rng.choice(icon.candidates) for name, icon in known_icons().items()}


def random_rulings(rng: random.Random) -> dict[str, str]:
    return {name: rng.choice(values) for name, values in ruling_values().items()}


def mixed_plan(block: int, rng: random.Random) -> Plan:
    """Return a plan with everything by chance."""
    deck = rng.choice(("reference", f"seed:{block}"))
    return Plan(deck, random_rulings(rng), random_icons(rng), rng.choice(list(CaveMode)))


RULING_VALUES = [(name, value) for name, values in ruling_values().items() for value in values[1:]]
ICON_PLACES = range(max(len(icon.candidates) for icon in known_icons().values()))
SETTINGS = {f"caves {mode.name.lower()}": Setting(GAMES, always(cave_mode=mode)) for mode in CaveMode}
SETTINGS |= {f"{name} {value}": Setting(GAMES, always(rulings={name: value})) for name, value in RULING_VALUES}
SETTINGS |= {f"icons {k}": Setting(4 * BLOCK, always(icons=candidates(k))) for k in ICON_PLACES if k}
SETTINGS |= {
    "icons by chance": Setting(6 * BLOCK, lambda block, rng: Plan(icons=random_icons(rng))),
    "rulings by chance": Setting(10 * BLOCK, lambda block, rng: Plan(rulings=random_rulings(rng))),
    "decks": Setting(6 * BLOCK, lambda block, rng: Plan(deck=f"seed:{1000 + block}")),
    "mixed": Setting(15 * BLOCK, mixed_plan),
}
RARE = {"late_water_soldiers merge"}  # the situation needs luck, so that few games meet it


@cache
def deck_of(name: str) -> tuple[Deck, list[dict[str, str]]]:
    """Return a deck and the rows of its file."""
    deck = load_deck(name)
    columns = ("id", "kind", "first", "first_symbol", "second", "second_symbol")
    return deck, [{column: getattr(card, column) for column in columns} for card in deck.cards]


def tables_of(plan: Plan, caves: list[Cave] | None = None) -> np.ndarray:
    return build_tables(deck_of(plan.deck)[0], Rulings(**plan.rulings), plan.icons, caves)


class Chooser:
    """Picks answers by chance: evenly, or in every second game eagerly, so that forests grow large.

    The eager one plays whenever it can, declines nothing, and lays halves of a few species it likes before others.
    """

    def __init__(self, rng: random.Random, eager: bool, rows: list[dict[str, str]]) -> None:
        self.rng = rng
        self.eager = eager
        liked = set(rng.sample(sorted(read_species()), 12))
        self.liked = {(row["id"], half) for row in rows for half in (0, 1) if row[("first", "second")[half]] in liked}

    def index(self, answers: list[Answer]) -> int:
        """Return the index of the answer chosen."""
        if self.eager and self.rng.random() < 0.9:
            best = [i for i, answer in enumerate(answers) if self._is_liked(answer)]
            good = best or [i for i, answer in enumerate(answers) if answer[0] not in ("draw", "stop", "decline")]
            if good:
                return self.rng.choice(good)
        return self.rng.randrange(len(answers))

    def _is_liked(self, answer: Answer) -> bool:
        return answer == ("play",) or (answer[0] == "card" and answer[1:] in self.liked)


class Duel:
    """One game on both engines at once."""

    def __init__(
        self,
        plan: Plan,
        tables: np.ndarray,
        document: dict[str, Any],
        rng: random.Random,
        seen: Seen,
        cave_rows: list[dict[str, str]] | None = None,
    ) -> None:
        self.seen = seen
        deal = Deal(document, tables)
        given = list(deal.offer)
        if plan.cave_mode == CaveMode.GIVEN:
            given = rng.choices(range(int(tables[0]["caves_n"])), k=deal.players)
        self.engine = Engine(tables, deal, plan.cave_mode, given)
        numbers = "draft" if plan.cave_mode == CaveMode.DRAFT else [self.engine.cave_numbers[cave] for cave in given]
        rows = deck_of(plan.deck)[1]
        self.referee = WatchedReferee(
            rows, document, rulings=dict(plan.rulings), icons=dict(plan.icons), caves=numbers, cave_rows=cave_rows
        )
        # The same game under the default rulings, until it takes another course.
        self.shadow: Engine | None = None
        if plan.rulings:
            default = tables_of(Plan(plan.deck, icons=plan.icons))
            self.shadow = Engine(default, deal, plan.cave_mode, given)
        self.turn = 0
        self.chooser = Chooser(rng, rng.random() < 0.5, rows)

    def play(self) -> None:
        """Play to the end, comparing after every step."""
        self.compare()
        while self.referee.phase != "OVER":
            self.seen.phases[self.referee.phase] += 1
            answers = self.referee.legal()
            index = self.chooser.index(answers)
            self.step(index, answers[index])
            self.compare()
        self.compare_end()

    def step(self, index: int, answer: Answer) -> None:
        """Give both engines, and the one under default rulings, the same answer."""
        self.follow(index)
        self.engine.choose(index)
        self.referee.apply(answer)

    def follow(self, index: int) -> None:
        """Take the shadow along as long as it is the same game with the same choices."""
        if self.shadow is None:
            return
        n = self.engine.n
        if (
            n != self.shadow.n
            or not np.array_equal(self.engine.actions[:n], self.shadow.actions[:n])
            or self.engine.games.tobytes() != self.shadow.games.tobytes()
        ):
            self.shadow = None
            self.seen.departures += 1
        else:
            self.shadow.choose(index)

    def compare(self) -> None:
        """Compare the two engines at a decision."""
        engine, referee = self.engine, self.referee
        assert engine.legal() == referee.legal(), f"turn {referee.turn}, {referee.phase}: legal answers"
        assert engine.table() == referee_table(referee), f"turn {referee.turn}, {referee.phase}: table"
        for seat in engine.changed_forests() | referee.changed:
            assert engine.forest(seat) == referee_forest(referee, seat), f"turn {referee.turn}, {referee.phase}: forest"
        referee.changed.clear()
        if referee.turn != self.turn:
            self.turn = referee.turn
            assert engine.scores() == referee.totals(), f"turn {referee.turn}: scores"

    def compare_end(self) -> None:
        """Compare all forests and all scores by species, and note what the game has shown."""
        engine, referee = self.engine, self.referee
        for seat in range(referee.players):
            assert engine.forest(seat) == referee_forest(referee, seat), f"forest of seat {seat} at the end"
            assert engine.score(seat) == referee.score(seat), f"score of seat {seat} at the end"
        assert referee.ending is not None
        self.seen.endings[referee.ending] += 1
        self.seen.verbs += referee.verbs
        self.seen.species.update(visible.species.key for forest in referee.forests for visible in everything(forest))


def play_setting(name: str, setting: Setting) -> Seen:
    """Play and compare all games of a setting."""
    seen = Seen()
    for first in range(0, setting.games, BLOCK):
        block = first // BLOCK
        plan = setting.plan(block, random.Random(f"{name}, block {block}"))
        tables = tables_of(plan)
        default = tables_of(Plan(plan.deck, icons=plan.icons))
        for game in range(first, min(first + BLOCK, setting.games)):
            players = PLAYERS[game % len(PLAYERS)]
            document = deal_document(tables, players, 5, game)
            if plan.rulings.keys() & DEAL_RULINGS and document != deal_document(default, players, 5, game):
                seen.departures += 1
            Duel(plan, tables, document, random.Random(f"{name}, game {game}"), seen).play()
    return seen


@pytest.mark.parametrize("name", SETTINGS)
def test_engine_and_referee_play_the_same_games(name):
    seen = play_setting(name, SETTINGS[name])
    print(name, seen.departures, seen.endings, seen.phases, seen.verbs, seen.species)


def test_with_own_caves(tmp_path):
    path = tmp_path / "caves.csv"
    path.write_text(OWN_CAVES, encoding="utf-8")
    caves, rows = read_caves(path), read_rows(path)
    seen = Seen()
    for game in range(3 * BLOCK):
        plan = Plan(cave_mode=list(CaveMode)[game % len(CaveMode)])
        tables = tables_of(plan, caves)
        document = deal_document(tables, PLAYERS[game % len(PLAYERS)], 6, game)
        Duel(plan, tables, document, random.Random(f"own caves, game {game}"), seen, rows).play()
    assert seen.phases["HIDE"] and seen.phases["CAVE"]
