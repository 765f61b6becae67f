"""The engine against the referee: the same deals and the same random answers, game by game and step by step.

After every step the two agree on the phase, the player, the legal answers in order and the sizes of the piles, and on
every forest in which either engine laid, turned or moved a card, slot by slot. At the start of every turn, at the end,
and with most settings after every step, they agree on everything else on the table: hands, clearing, discard pile,
box, stack, caves, winters, payments. Only games with a single ruling changed leave the latter to the starts of turns,
for speed. Scores of all seats are compared at the start of every turn, and by species at the end.

Every setting also has to show that it was put to the test: that is what `Seen` counts.
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
from tests.bridge import Engine, WatchedReferee, referee_forest, referee_outline, referee_table
from tests.referee import (
    BONUS,
    EFFECT,
    SIDES,
    UNIVERSAL_MOOR,
    Answer,
    Referee,
    everything,
    read_rows,
    read_species,
)

GAMES = 300  # of every cave mode and every value of a ruling
BLOCK = 20  # consecutive games that share deck, rulings, icons and caves
LARGE_HAND = 7
PLAYERS = (2, 3, 4, 5)  # in turn
DEAL_RULINGS = {"winter_pile", "first_player"}  # act on the deal, not on the play
PHASES = {"CAVE", "TURN", "DRAW", "CARD", "PAY", "HOST", "FREE", "MOOR", "TAKE", "STORE", "DISCARD"}
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
    every_step: bool = True  # compare the whole table after every step, or only at the start of every turn


@dataclass
class Seen:
    """What happened in the games of a setting."""

    phases: Counter[str] = field(default_factory=Counter)
    verbs: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    species: Counter[str] = field(default_factory=Counter)
    departures: int = 0  # games that take another course than under the default rulings with the same answers


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
SETTINGS |= {
    f"{name} {value}": Setting(GAMES, always(rulings={name: value}), every_step=False) for name, value in RULING_VALUES
}
SETTINGS |= {f"icons {k}": Setting(60, always(icons=candidates(k))) for k in ICON_PLACES if k}
SETTINGS |= {
    "icons by chance": Setting(100, lambda block, rng: Plan(icons=random_icons(rng))),
    "rulings by chance": Setting(100, lambda block, rng: Plan(rulings=random_rulings(rng))),
    "decks": Setting(100, lambda block, rng: Plan(deck=f"seed:{1000 + block}")),
    "mixed": Setting(200, mixed_plan),
}


@cache
def deck_of(name: str) -> tuple[Deck, list[dict[str, str]]]:
    """Return a deck and the rows of its file."""
    deck = load_deck(name)
    columns = ("id", "kind", "first", "first_symbol", "second", "second_symbol")
    return deck, [{column: getattr(card, column) for column in columns} for card in deck.cards]


def tables_of(plan: Plan, caves: list[Cave] | None = None) -> np.ndarray:
    return build_tables(deck_of(plan.deck)[0], Rulings(**plan.rulings), plan.icons, caves)


Wish = Callable[[Referee, Answer], bool]


def says(*words: str) -> Wish:
    """Wish for answers of these kinds."""
    return lambda referee, answer: answer[0] in words


def shows_one_of(species: frozenset[str]) -> Wish:
    """Wish to lay halves of these species."""
    return lambda referee, answer: answer[0] == "card" and referee.cards[answer[1]].halves[answer[2]][0].key in species


def plays_from_a_large_hand(referee: Referee, answer: Answer) -> bool:
    """Play with enough cards in hand to choose what to pay with, before that draw."""
    return answer[0] == ("play" if len(referee.hand) >= LARGE_HAND else "draw")


def earns_the_bonus(referee: Referee, answer: Answer) -> bool:
    """Pay with cards that show the symbol of the half in play."""
    if answer[0] != "pay" or referee.in_play is None:
        return False
    card, half = referee.in_play
    return referee.cards[answer[1]].shows(referee.cards[card].halves[half][1])


def takes_no_habitat(referee: Referee, answer: Answer) -> bool:
    """Lay and take up split cards only."""
    return answer[0] in ("card", "clearing", "take") and referee.cards[answer[1]].kind in SIDES


def gives_away_a_habitat(referee: Referee, answer: Answer) -> bool:
    """Pay with, and discard, cards that are no split cards."""
    return answer[0] in ("pay", "discard", "store") and referee.cards[answer[1]].kind not in SIDES


def fills_a_second_slot(referee: Referee, answer: Answer) -> bool:
    """Lay halves into moors that have some already."""
    return answer[0] == "host" and answer[2] in ("top2", "bottom2")


def is_a_deed(referee: Referee, answer: Answer) -> bool:
    """Rather do something than draw, stop or decline."""
    return answer[0] not in ("draw", "stop", "decline")


WETLAND = frozenset(key for key, species in read_species().items() if {"moor", "dragonfly"} & species.types)
EXTRA_TURNS = frozenset(key for table in (EFFECT, BONUS) for key in table if table[key][0].startswith("extra_turn"))


def random_style(rng: random.Random) -> tuple[Wish, ...]:
    """Return the wishes of a game's players, in order; a third of the games have none.

    Others reach what even chance seldom does: bonuses, extra turns in a row, swaps, dragonflies beside Water Soldiers.
    """
    liked = frozenset(rng.sample(sorted(read_species()), 12))
    eager = (plays_from_a_large_hand, shows_one_of(liked), earns_the_bonus, is_a_deed)
    busy = (plays_from_a_large_hand, shows_one_of(EXTRA_TURNS), earns_the_bonus, is_a_deed)
    hoarding = (says("draw"), takes_no_habitat, gives_away_a_habitat)
    wetland = (plays_from_a_large_hand, shows_one_of(WETLAND), fills_a_second_slot, earns_the_bonus, is_a_deed)
    return rng.choice(((), (), eager, busy, hoarding, wetland))


def choose(rng: random.Random, style: tuple[Wish, ...], referee: Referee) -> int:
    """Return the index of an answer by chance; nine times in ten among those that fulfil a wish, if any do."""
    answers = referee.legal()
    for wish in style:
        good = [i for i, answer in enumerate(answers) if wish(referee, answer)]
        if good and rng.random() < 0.9:
            return rng.choice(good)
    return rng.randrange(len(answers))


class Duel:
    """One game on both engines at once."""

    def __init__(
        self,
        plan: Plan,
        tables: np.ndarray,
        document: dict[str, Any],
        rng: random.Random,
        seen: Seen,
        every_step: bool = True,
        cave_rows: list[dict[str, str]] | None = None,
    ) -> None:
        self.seen = seen
        self.every_step = every_step
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
        self.rng = rng
        self.style = random_style(rng)

    def play(self) -> None:
        """Play to the end, comparing after every step."""
        self.compare()
        while self.referee.phase != "OVER":
            self.seen.phases[self.referee.phase] += 1
            self.step(choose(self.rng, self.style, self.referee))
            self.compare()
        self.compare_end()

    def step(self, index: int) -> None:
        """Give both engines, and the one under default rulings, the same answer."""
        self.follow(index)
        self.engine.choose(index)
        self.referee.apply(self.referee.legal()[index])

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
        where = f"turn {referee.turn}, {referee.phase}"
        assert engine.legal() == referee.legal(), f"{where}: legal answers"
        assert engine.outline() == referee_outline(referee), f"{where}: phase, player or sizes of piles"
        for seat in engine.changed_forests() | referee.changed:
            assert engine.forest(seat) == referee_forest(referee, seat), f"{where}: forest of seat {seat}"
        referee.changed.clear()
        is_new_turn, self.turn = referee.turn != self.turn, referee.turn
        if is_new_turn or self.every_step:
            assert engine.table() == referee_table(referee), f"{where}: table"
        if is_new_turn:
            assert engine.scores() == referee.totals(), f"{where}: scores"

    def compare_end(self) -> None:
        """Compare table, forests and scores by species, and note what the game has shown."""
        engine, referee = self.engine, self.referee
        assert engine.table() == referee_table(referee), "table at the end"
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
            Duel(plan, tables, document, random.Random(f"{name}, game {game}"), seen, setting.every_step).play()
    return seen


@pytest.mark.parametrize("name", SETTINGS)
def test_engine_and_referee_play_the_same_games(name):
    seen = play_setting(name, SETTINGS[name])
    setting = SETTINGS[name]
    assert seen.species.keys() == {*read_species(), UNIVERSAL_MOOR.key}
    assert PHASES - ({"CAVE"} if "caves" in name else set()) <= seen.phases.keys()
    assert seen.verbs.keys() >= VERBS
    assert seen.endings.keys() == ENDINGS
    assert bool(seen.departures) == bool(setting.plan(0, random.Random(0)).rulings)


def test_every_value_of_every_ruling_and_icon_is_played():
    plans = [setting.plan(0, random.Random(0)) for setting in SETTINGS.values()]
    for name, values in ruling_values().items():
        assert {plan.rulings.get(name, values[0]) for plan in plans if len(plan.rulings) < 2} == set(values)
    for name, icon in known_icons().items():
        assert {plan.icons[name] for plan in plans} == set(icon.candidates)


def test_with_own_caves(tmp_path):
    path = tmp_path / "caves.csv"
    path.write_text(OWN_CAVES, encoding="utf-8")
    caves, rows = read_caves(path), read_rows(path)
    seen = Seen()
    for game in range(3 * BLOCK):
        plan = Plan(cave_mode=list(CaveMode)[game % len(CaveMode)])
        tables = tables_of(plan, caves)
        document = deal_document(tables, PLAYERS[game % len(PLAYERS)], 6, game)
        Duel(plan, tables, document, random.Random(f"own caves, game {game}"), seen, cave_rows=rows).play()
    assert seen.phases["HIDE"] and seen.phases["CAVE"]
