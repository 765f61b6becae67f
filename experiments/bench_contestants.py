"""Who runs side by side in the benchmark: our engine, the floor, the plain-Python referee, OpenSpiel's C++ games."""

import csv
import importlib
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import thread_time as clock  # processor time of this thread: other processes do not count
from typing import Any

import numpy as np

import sim
from experiments.bench_kernels import copy_games, deal_games
from experiments.options import World, make_setting
from sim.batch import play_chunk
from sim.deals import deal_document
from sim.rules import MAX_PLAYERS, MIN_PLAYERS
from sim.state import GAME, new_games

POLICIES = ("random", "greedy", "plain")
BASE = "dartmoor random 2p"  # what all ratios of decisions a second are taken to
OPEN_SPIEL = {"crazy_eights": (2, 5), "hearts": (4,), "gin_rummy": (2,)}  # players
FIXED_PLAYERS = ("hearts", "gin_rummy")  # OpenSpiel games that take no number of players
PROJECT = Path(sim.__file__).resolve().parent.parent
COPIES = 8  # records to copy round about: they stay in the cache, as a rollout's do


@dataclass(frozen=True)
class Work:
    """Some games played: how many, with how many decisions (None where there are none), and in how many seconds."""

    games: int
    decisions: int | None
    seconds: float


@dataclass(frozen=True)
class Contestant:
    """Something to be timed: `run(first, games)` plays games and returns the work. `bytes` is the size of a state."""

    name: str
    run: Callable[[int, int], Work]
    bytes: int | None = None


def contestants(world: World, seed: int) -> tuple[list[Contestant], list[str]]:
    """Return all contestants there are on this machine, and one line for each that is missing."""
    found = [*engine(world, seed), *floor(world, seed)]
    missing = []
    for name, make in (("referee", lambda: referee(world, seed)), ("OpenSpiel", lambda: open_spiel(seed))):
        try:
            found.extend(make())
        except ImportError as error:
            missing.append(f"{name}: not here ({error})")
    return found, missing


def engine(world: World, seed: int) -> Iterator[Contestant]:
    """Yield our engine with each policy and number of players, on one thread."""
    for policy in POLICIES:
        for players in range(MIN_PLAYERS, MAX_PLAYERS + 1):
            match = make_setting(world, players, policy, seed=seed).match()

            def run(first: int, games: int, match: Any = match) -> Work:
                begun = clock()
                totals, _ = play_chunk(match, first, games)
                return Work(games, int(totals["decisions"][0]), clock() - begun)

            yield Contestant(f"dartmoor {policy} {players}p", run, GAME.itemsize)


def floor(world: World, seed: int) -> Iterator[Contestant]:
    """Yield what no engine gets below: shuffle and deal only, and a copy of the state."""
    games, copies = new_games(), new_games(COPIES)

    def deal(first: int, count: int) -> Work:
        begun = clock()
        deal_games(games, world.tables[0], MIN_PLAYERS, np.uint64(seed), count)
        return Work(count, None, clock() - begun)

    def copy(first: int, count: int) -> Work:
        begun = clock()
        copy_games(copies, count)
        return Work(count, None, clock() - begun)

    yield Contestant("floor: shuffle, deal", deal, GAME.itemsize)
    yield Contestant("floor: copy a state", copy, GAME.itemsize)


def referee(world: World, seed: int) -> Iterator[Contestant]:
    """Yield the slow engine in plain Python that the tests hold ours against, with random players.

    Raises
    ------
    ImportError
        The tests are not here, as in an installed package.
    """
    if not (PROJECT / "tests" / "referee.py").is_file():
        raise ImportError("tests/referee.py is part of the sources only")
    if str(PROJECT) not in sys.path:
        sys.path.append(str(PROJECT))
    make = importlib.import_module("tests.referee").Referee
    with (PROJECT / "sim" / "data" / "reference_deck.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    def run(first: int, games: int) -> Work:
        decisions, seconds = 0, 0.0
        for game in range(first, first + games):
            deal, choose = deal_document(world.tables, MIN_PLAYERS, seed, game), random.Random(game).choice
            begun = clock()
            table = make(rows, deal)
            while table.phase != "OVER":
                answers = table.legal()
                decisions += len(answers) > 1
                table.apply(choose(answers))
            seconds += clock() - begun
        return Work(games, decisions, seconds)

    yield Contestant(f"plain-Python referee {MIN_PLAYERS}p", run)


def open_spiel(seed: int) -> Iterator[Contestant]:
    """Yield OpenSpiel's card games with its uniform random bots; the loop of a game runs in C++.

    Raises
    ------
    ImportError
        open_spiel is not installed.
    """
    try:
        import pyspiel
    except ImportError as error:
        raise ImportError("install it with: pip install '.[bench]' in the project's folder") from error
    for name, tables in OPEN_SPIEL.items():
        for players in tables:
            game = pyspiel.load_game(name if name in FIXED_PLAYERS else f"{name}(players={players})")
            bots = [pyspiel.make_uniform_random_bot(player, seed + player) for player in range(players)]

            def run(first: int, games: int, game: Any = game, bots: Any = bots) -> Work:
                decisions, seconds = 0, 0.0
                for index in range(first, first + games):
                    begun = clock()
                    state = game.new_initial_state()
                    pyspiel.evaluate_bots(state, bots, index)
                    seconds += clock() - begun
                    decisions += sum(step.player >= 0 for step in state.full_history())  # below 0 is chance
                return Work(games, decisions, seconds)

            yield Contestant(f"OpenSpiel {name} {players}p", run)
