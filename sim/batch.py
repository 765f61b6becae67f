"""Millions of games: chunks on threads, merged exactly, in memory that does not grow with their number."""

import signal
import threading
import time
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

CHUNK_SECONDS = 0.1  # of play, so that a stop is quick and merging costs nothing
MAX_CHUNK = 1_000_000  # games
GROWTH = 8  # at most, from one chunk to the next


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
    run_kernel(
        match,
        games,
        lambda: start + int(totals["games"][0]),
        lambda: play_games(
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
        ),
    )
    return totals, outcomes


def run_kernel(match: Match, games: np.ndarray, game: Callable[[], int], kernel: Callable[[], int]) -> None:
    """Run a kernel that plays games in games[0] and returns PLAYED_OUT or the seat whose policy misbehaved.

    Raises
    ------
    DartmoorError
        A policy returned an index that does not exist, or raised; `game()` tells in which game.
    """
    try:
        seat = kernel()
    except Exception as error:  # the engine itself raises nothing: what comes out is from the policy that was asked
        raise misbehaved(match, int(games["player"][0]), game(), f"raised {told(error)}") from error
    if seat != PLAYED_OUT:
        raise misbehaved(match, seat, game(), "chose an action that does not exist")


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


class Pace:
    """How many games a chunk needs to take about `seconds`, learned from the chunks played so far.

    The size of chunks changes no result, only how soon a stop is heeded and how evenly the workers are loaded.
    """

    def __init__(self, seconds: float, workers: int, first: int = 16) -> None:
        """Start with chunks of `first` games for `workers` that play at the same time."""
        self.seconds, self.workers, self.size = seconds, workers, first

    def __call__(self, left: int) -> int:
        """Return the size of the next chunk with `left` games to go; towards the end all workers get a share."""
        return min(self.size, -(-left // (2 * self.workers)))

    def note(self, games: int, seconds: float) -> None:
        """Learn from a chunk of `games` that took `seconds`; growth is gradual, since small chunks measure badly."""
        self.size = max(1, min(int(games * self.seconds / max(seconds, 1e-6)), games * GROWTH, MAX_CHUNK))


class Interrupts:
    """Ctrl-C held back while results are being used, so that no sum is left half added; a second one is not.

    It raises KeyboardInterrupt in `wait`. Does nothing outside the main thread, or where Ctrl-C means something else.
    """

    def __init__(self) -> None:
        self.is_waiting = self.pressed = self.installed = False

    def __enter__(self) -> "Interrupts":
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._on_signal)
            self.installed = True
        return self

    def __exit__(self, *exception: object) -> None:
        if self.installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _on_signal(self, number: int, frame: object) -> None:
        if self.is_waiting or self.pressed:
            raise KeyboardInterrupt
        self.pressed = True

    def wait(self, future: "Future[Any]") -> Any:
        """Return the result of a future; here a Ctrl-C counts."""
        self.check()
        self.is_waiting = True
        try:
            return future.result()
        finally:
            self.is_waiting = False

    def check(self) -> None:
        """Raise what was held back."""
        if self.pressed:
            raise KeyboardInterrupt


def chunks(start: int, games: int, size: int | Callable[[int], int]) -> Iterator[tuple[int, int]]:
    """Yield (first game, number of games) of the chunks of a run; `size` may depend on the games left."""
    first, end = start, start + games
    while first < end:
        count = size(end - first) if callable(size) else min(size, end - first)
        yield first, count
        first += count


def in_order(
    work: Callable[[int, int], Any], start: int, games: int, threads: int, chunk: int | Callable[[int], int]
) -> Generator[tuple[int, Any], None, None]:
    """Yield (number of games, work(first, count)) of every chunk, in the order of games, played on `threads` threads.

    At most two chunks a thread are under way, so memory does not grow. On any exception the chunks not yet begun are
    dropped. Ctrl-C raises between two results, never while the caller is adding one up.
    """
    pool = ThreadPoolExecutor(threads)
    try:
        yield from results_in_order(
            lambda first, count: pool.submit(work, first, count), chunks(start, games, chunk), lambda: 2 * threads
        )
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def results_in_order(
    submit: Callable[[int, int], "Future[Any]"], parts: Iterator[tuple[int, int]], depth: Callable[[], int]
) -> Generator[tuple[int, Any], None, None]:
    """Yield (number of games, result) of every part in turn, with at most `depth()` futures in flight."""
    waiting: deque[tuple[int, Future[Any]]] = deque()
    with Interrupts() as interrupts:
        for first, count in parts:
            waiting.append((count, submit(first, count)))
            while len(waiting) >= depth():
                count, future = waiting.popleft()
                yield count, interrupts.wait(future)
        while waiting:
            count, future = waiting.popleft()
            yield count, interrupts.wait(future)
        interrupts.check()


def timed(work: Callable[[int, int], Any], pace: Pace) -> Callable[[int, int], Any]:
    """Return `work` with its time told to `pace`."""

    def run(first: int, count: int) -> Any:
        begun = time.perf_counter()
        result = work(first, count)
        pace.note(count, time.perf_counter() - begun)
        return result

    return run


def play_in_order(
    match: Match, start: int, games: int, threads: int, keep_outcomes: bool = False
) -> Generator[tuple[int, tuple[np.ndarray, np.ndarray]], None, None]:
    """Yield (number of games, `play_chunk`) of chunks of about CHUNK_SECONDS, in the order of games."""
    pace = Pace(CHUNK_SECONDS, threads)
    work = timed(lambda first, count: play_chunk(match, first, count, keep_outcomes), pace)
    return in_order(work, start, games, threads, pace)


def play(
    match: Match,
    games: int,
    threads: int = 1,
    start: int = 0,
    chunk: int | None = None,
    on_chunk: Callable[[int, np.ndarray], None] | None = None,
    keep_outcomes: bool = False,
) -> np.ndarray:
    """Play games start .. start+games-1 of a match and return their totals, shape (1,), dtype TOTALS.

    Ctrl-C returns the totals of the games that are complete without a gap from `start` on: `totals["games"]` says how
    many. `on_chunk(count, outcomes)` is called in the order of games, with the outcomes if they are kept. Without
    `chunk` the size of chunks follows the speed of play.
    """
    totals = np.zeros(1, TOTALS)
    if chunk is None:
        parts = play_in_order(match, start, games, threads, keep_outcomes)
    else:
        parts = in_order(lambda first, n: play_chunk(match, first, n, keep_outcomes), start, games, threads, chunk)
    try:
        for count, (part, outcomes) in parts:
            merge_totals(totals, part)
            if on_chunk:
                on_chunk(count, outcomes)
    except KeyboardInterrupt:
        parts.close()
    return totals
