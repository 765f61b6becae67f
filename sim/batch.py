"""Millions of games: chunks on threads, merged exactly, in memory that does not grow with their number."""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sim.codes import CaveMode
from sim.errors import DartmoorError
from sim.play import OUTCOME, PLAYED_OUT, TOTALS, play_games
from sim.rules import MAX_PLAYERS
from sim.state import new_games

CHUNK = 1000  # games; some 50 ms of random play, so that a stop is quick and merging costs nothing


@dataclass(frozen=True)
class Match:
    """Who plays what: everything that decides a game but for its index.

    tables: shape (1,), dtype TABLES. policies: one compiled policy a seat. weights: one float64 array a seat.
    caves: the seats' cave indices for CaveMode.GIVEN.
    """

    tables: np.ndarray
    players: int
    policies: Sequence[Any]
    weights: Sequence[np.ndarray]
    seed: int
    cave_mode: CaveMode = CaveMode.DRAFT
    caves: Sequence[int] = ()
    names: Sequence[str] = ()
    kernel_policies: tuple[Any, ...] = field(init=False)
    kernel_weights: np.ndarray = field(init=False)
    kernel_caves: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        spare = MAX_PLAYERS - self.players
        object.__setattr__(self, "kernel_policies", (*self.policies, *[self.policies[0]] * spare))
        width = max(1, *(len(row) for row in self.weights))
        weights = np.zeros((MAX_PLAYERS, width))
        for seat, row in enumerate(self.weights):
            weights[seat, : len(row)] = row
        object.__setattr__(self, "kernel_weights", weights)
        object.__setattr__(self, "kernel_caves", np.array([*self.caves, *[0] * MAX_PLAYERS][:MAX_PLAYERS], np.uint8))


def play_chunk(match: Match, start: int, count: int, keep_outcomes: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Play games start .. start+count-1 of a match in this thread.

    Returns
    -------
    totals, outcomes
        Shape (1,), dtype TOTALS, and one record of dtype OUTCOME a game, or the last one only.

    Raises
    ------
    DartmoorError
        A policy returned an index that does not exist, or raised.
    """
    games = new_games()
    totals = np.zeros(1, TOTALS)
    outcomes = np.zeros(count if keep_outcomes else 1, OUTCOME)
    try:
        seat = play_games(
            games,
            match.tables,
            match.kernel_policies,
            match.kernel_weights,
            match.players,
            int(match.cave_mode),
            match.kernel_caves,
            np.uint64(match.seed),
            start,
            count,
            outcomes,
            totals,
        )
    except Exception as error:  # the engine itself raises nothing: what comes out is from the policy that was asked
        seat = int(games["player"][0])
        raise misbehaved(match, seat, start + int(totals["games"][0]), f"raised {told(error)}") from error
    if seat != PLAYED_OUT:
        raise misbehaved(match, seat, start + int(totals["games"][0]), "chose an action that does not exist")
    return totals, outcomes


def misbehaved(match: Match, seat: int, game: int, what: str) -> DartmoorError:
    """Return the error that names the policy, the seat and the game."""
    name = match.names[seat] if match.names else f"of seat {seat}"
    return DartmoorError(f"policy {name}: {what} (seat {seat}, game {game})")


def told(error: Exception) -> str:
    """Return kind and text of an exception in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def merge_totals(into: np.ndarray, totals: np.ndarray) -> None:
    """Add totals of other games; the order of merging does not matter."""
    for name in TOTALS.names or ():
        if name == "score_max":
            np.maximum(into[name], totals[name], out=into[name])
        else:
            into[name] += totals[name]


def chunks(start: int, games: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield (first game, number of games) of the chunks of a run."""
    for first in range(start, start + games, size):
        yield first, min(size, start + games - first)


def in_order(
    work: Callable[[int, int], Any], start: int, games: int, threads: int, chunk: int
) -> Generator[tuple[int, Any], None, None]:
    """Yield (number of games, work(first, count)) of every chunk, in the order of games, played on `threads` threads.

    At most two chunks a thread are under way, so memory does not grow. On any exception, Ctrl-C too, the chunks not yet
    begun are dropped.
    """
    waiting: deque[tuple[int, Future[Any]]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for first, count in chunks(start, games, chunk):
            waiting.append((count, pool.submit(work, first, count)))
            if len(waiting) >= 2 * threads:
                count, future = waiting.popleft()
                yield count, future.result()
        while waiting:
            count, future = waiting.popleft()
            yield count, future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def play(
    match: Match,
    games: int,
    threads: int = 1,
    start: int = 0,
    chunk: int = CHUNK,
    on_chunk: Callable[[int, np.ndarray], None] | None = None,
    keep_outcomes: bool = False,
) -> np.ndarray:
    """Play games start .. start+games-1 of a match and return their totals, shape (1,), dtype TOTALS.

    Ctrl-C returns the totals of the games that are complete without a gap from `start` on: `totals["games"]` says how
    many. `on_chunk(count, outcomes)` is called in the order of games, with the outcomes if they are kept.
    """
    totals = np.zeros(1, TOTALS)
    parts = in_order(lambda first, n: play_chunk(match, first, n, keep_outcomes), start, games, threads, chunk)
    try:
        for count, (part, outcomes) in parts:
            merge_totals(totals, part)
            if on_chunk:
                on_chunk(count, outcomes)
    except KeyboardInterrupt:
        parts.close()
    return totals
