"""Is a policy fit to play? Legality, determinism, blindness, leaving the game alone, and speed.

The positions come from games that the policy itself and random players play against each other, so that both its own
and odd positions occur.
"""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from policies.random_policy import random_policy
from policies.registry import NO_WEIGHTS, LoadedPolicy
from policies.worlds import sample_world
from sim.actions import MAX_ACTIONS
from sim.codes import CaveMode, Phase
from sim.deal import setup
from sim.legal import legal_actions
from sim.machine import advance, apply
from sim.rng import seed_from_key, seed_stream
from sim.rules import DECK_SIZE, MAX_PLAYERS
from sim.state import STREAMS, new_games

NO_CAVES = np.zeros(MAX_PLAYERS, np.uint8)
KEPT = 0.2  # share of the positions of a game that are tried, so that they come from several games
WORLDS = 5  # reshuffles of everything hidden that a choice is tried in
SPEED_SECONDS = 0.2
BLIND_STREAM = MAX_PLAYERS + 1  # beside the streams of the games


@dataclass(frozen=True)
class Finding:
    """The answer to one question about a policy."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class Report:
    """What `check_policy` found; speed is in choices a second of one thread, called from the engine's side."""

    policy: str
    players: int
    positions: int
    phases: dict[str, int]
    findings: list[Finding]
    microseconds: float | None

    @property
    def passed(self) -> bool:
        """Whether every question was answered well."""
        return all(finding.passed for finding in self.findings)


def check_policy(policy: LoadedPolicy, tables: np.ndarray, players: int, positions: int, seed: int) -> Report:
    """Try a policy in `positions` positions of games of `players` players.

    Parameters
    ----------
    tables
        Shape (1,), dtype TABLES.
    seed
        Decides the games, the sampled positions and the reshuffles.
    """
    trial = _Trial(policy, tables)
    for games, n in sample_positions(trial, players, positions, seed):
        trial.in_position(games, n, seed)
        if "legality" in trial.failures:
            break
    microseconds = None if trial.failures else trial.speed()
    findings = [
        Finding(name, name not in trial.failures, trial.failures.get(name, text)) for name, text in trial.asked()
    ]
    return Report(policy.name, players, trial.tried, dict(trial.phases), findings, microseconds)


class _Trial:
    """The questions put to one policy, position after position; the first failure of each is kept."""

    def __init__(self, policy: LoadedPolicy, tables: np.ndarray) -> None:
        self.policy, self.tables = policy, tables[0]
        self.actions = np.zeros(MAX_ACTIONS, np.int32)
        self.failures: dict[str, str] = {}
        self.phases: Counter[str] = Counter()
        self.kept: list[tuple[np.ndarray, np.ndarray, int]] = []
        self.tried = 0

    def asked(self) -> list[tuple[str, str]]:
        """Return every question with what to say when nothing speaks against the policy."""
        return [
            ("legality", f"an index in range in {self.tried} positions"),
            ("determinism", "the same choice when asked twice"),
            ("blindness", f"the same choice in {WORLDS} worlds that differ in what the player cannot see"),
            ("reads only", "nothing in the game changed but the policy's own random stream"),
        ]

    def in_position(self, games: np.ndarray, n: int, seed: int) -> None:
        """Put every question in one position."""
        self.tried += 1
        self.phases[Phase(int(games[0]["phase"])).name] += 1
        after = games.copy()
        choice = self.choose(after, n)
        if "legality" in self.failures:
            return
        self.kept.append((games.copy(), self.actions.copy(), n))
        self._compare(games, after)
        if self.choose(games.copy(), n) != choice:
            self._fail("determinism", games, "another choice when asked again")
        elif not self._is_blind(games, n, choice, seed):
            self._fail("blindness", games, "another choice after reshuffling what the player cannot see")

    def choose(self, games: np.ndarray, n: int) -> int:
        """Return the policy's choice in games[0], 0 after noting the failure where it raises or there is no such."""
        legal_actions(games[0], self.tables, self.actions)
        before = games.copy()  # a policy may have changed the game before it failed
        try:
            choice = int(self.policy.function(games[0], self.tables, self.actions, n, self.policy.weights))
        except Exception as error:
            self._fail("legality", before, f"raised {type(error).__name__}: {error}")
            return 0
        if not 0 <= choice < n:
            self._fail("legality", before, f"chose {choice}, the indices are 0 to {n - 1}")
            return 0
        return choice

    def speed(self) -> float:
        """Return the mean time of a choice, in microseconds, the cost of the call from Python taken off."""
        return max(0.0, self._mean_seconds(self.policy.function) - self._mean_seconds(_first())) * 1e6

    def _mean_seconds(self, function: Any) -> float:
        calls, start = 0, time.perf_counter()
        while time.perf_counter() - start < SPEED_SECONDS:
            for games, actions, n in self.kept:
                function(games[0], self.tables, actions, n, self.policy.weights)
            calls += len(self.kept)
        return (time.perf_counter() - start) / calls

    def _is_blind(self, games: np.ndarray, n: int, choice: int, seed: int) -> bool:
        rng = np.zeros(4, np.uint64)
        seed_stream(rng, np.uint64(seed), self.tried, BLIND_STREAM)
        for _ in range(WORLDS):
            world = games.copy()
            player = int(world[0]["player"])
            sample_world(world[0], self.tables, player, rng, np.empty(DECK_SIZE, np.uint8))
            for stream in range(STREAMS):  # a look at another stream tells of cards to come
                if stream != 1 + player:
                    seed_from_key(world["rng"][0, stream], rng[0] ^ np.uint64(stream))
            if self.choose(world, n) != choice:
                return False
        return True

    def _compare(self, before: np.ndarray, after: np.ndarray) -> None:
        own = 1 + int(before[0]["player"])
        after["rng"][0, own] = before["rng"][0, own]
        for name in before.dtype.names or ():
            if not np.array_equal(before[name], after[name]):
                self._fail("reads only", before, f"changed state.{name}")
                return

    def _fail(self, name: str, games: np.ndarray, detail: str) -> None:
        where = f"{Phase(int(games[0]['phase'])).name}, turn {games[0]['turn']}"
        self.failures.setdefault(name, f"{where}: {detail}")


def sample_positions(trial: "_Trial", players: int, count: int, seed: int) -> Iterator[tuple[np.ndarray, int]]:
    """Yield `count` times (games, n): a position with n > 1 legal actions in games[0], some of each game.

    In each game one seat in turn has the policy under test, and the others play at random.
    """
    table, actions = trial.tables, np.zeros(MAX_ACTIONS, np.int32)
    rng = np.random.default_rng(seed)
    game = yielded = 0
    while True:
        games = new_games()
        setup(games, table, players, np.uint64(seed), game, int(CaveMode.DRAFT), NO_CAVES)
        advance(games[0], table, actions)
        while games[0]["phase"] != Phase.OVER:
            n = int(legal_actions(games[0], table, actions))
            choice = 0
            if n > 1:
                if rng.random() < KEPT:
                    yield games.copy(), n
                    yielded += 1
                    if yielded == count:
                        return
                if games[0]["player"] == game % players:
                    asked = games.copy()  # a policy that writes into the game must not spoil the positions
                    choice = trial.choose(asked, n)
                    games["rng"] = asked["rng"]
                else:
                    choice = random_policy(games[0], table, actions, n, NO_WEIGHTS)
            apply(games[0], table, actions[choice])
            advance(games[0], table, actions)
        game += 1


def _first() -> Any:
    """Return a policy that does nothing, to time the call alone."""
    from sim.policy import policy

    @policy
    def first(state, tables, actions, n, weights):
        return 0

    return first
