"""Tournaments: policies at tables, seats rotated, every table on the same deals.

A *table* is the list of policies that play each other, such as `a,b,b`. A *block* is one deal played in every seat
rotation of the table: in rotation r the policy at position k sits in seat (k + r) mod players. The games of a block are
dependent, so the block is the unit of every error. Block i is game index i of the run's seed in all rotations and at
all tables: common random numbers. A policy's own stream belongs to the seat, so a policy against copies of itself plays
the same game in every rotation and its copies come out exactly equal.
"""

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, permutations

import numpy as np

from experiments.estimates import LEVEL, Estimate, bounded_estimate, estimate, t_quantile
from experiments.options import Setting, World, check_players, check_seed, parse_caves
from policies.registry import load_seats
from sim.batch import Match, in_order, play_chunk
from sim.errors import DartmoorError
from sim.rules import SHARES

GROUPS = 20  # of blocks, by index: a jackknife over them gives the error of what is no mean
CHUNK_SECONDS = 0.5  # of play on one thread between two chances to stop
MAX_CHUNK = 500  # blocks
PENTANOMIAL = 5  # results of two games for one player: none, a tie, one win, a win and a tie, both
SOLO, ALL = "solo", "all"  # which tables are played when none is named

Table = tuple[str, ...]


@dataclass(frozen=True)
class Blocks:
    """Results of consecutive blocks of one table: shape (blocks, rotations, positions), int64.

    share: of the win, in 60ths. score: points. Position k of rotation r sat in seat (k + r) mod players.
    """

    first: int
    share: np.ndarray
    score: np.ndarray


class BlockSums:
    """Exact integer sums over blocks of one table of n policies; parts add up to the same in any order.

    Attributes
    ----------
    blocks : (GROUPS,), number of blocks, by block index modulo GROUPS
    share, score : (GROUPS, n), sums over blocks of the block totals of each position
    share_xx, score_xx : (GROUPS, n, n), sums over blocks of the products of block totals
    game_share, game_xx : (GROUPS, n, n) and (GROUPS, n, n, n), the same of single games, by rotation
    seat_share, seat_sq : (n,), sums over blocks of each seat's share in all rotations, and of its square
    pairs : (5,), of two players: blocks that gave position 0 none, 1/4, 1/2, 3/4 or all of their shares (pentanomial)
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.blocks = np.zeros(GROUPS, np.int64)
        self.share, self.score = np.zeros((2, GROUPS, n), np.int64)
        self.share_xx, self.score_xx, self.game_share = np.zeros((3, GROUPS, n, n), np.int64)
        self.game_xx = np.zeros((GROUPS, n, n, n), np.int64)
        self.seat_share, self.seat_sq = np.zeros((2, n), np.int64)
        self.pairs = np.zeros(PENTANOMIAL, np.int64)

    def add(self, part: Blocks) -> None:
        """Add the results of further blocks."""
        group = (part.first + np.arange(len(part.share))) % GROUPS
        for totals, sums, products in (
            (part.share.sum(1), self.share, self.share_xx),
            (part.score.sum(1), self.score, self.score_xx),
        ):
            np.add.at(sums, group, totals)
            np.add.at(products, group, totals[:, :, None] * totals[:, None, :])
        np.add.at(self.blocks, group, 1)
        np.add.at(self.game_share, group, part.share)
        np.add.at(self.game_xx, group, part.share[:, :, :, None] * part.share[:, :, None, :])
        by_seat = seat_totals(part.share)
        self.seat_share += by_seat.sum(0)
        self.seat_sq += (by_seat**2).sum(0)
        if self.n == 2:
            quarters = part.share[:, :, 0].sum(1) * (PENTANOMIAL - 1) // (2 * SHARES)
            self.pairs += np.bincount(quarters, minlength=PENTANOMIAL)


def seat_totals(share: np.ndarray) -> np.ndarray:
    """Return each seat's share over a block, shape (blocks, seats), from (blocks, rotations, positions)."""
    n = share.shape[2]
    totals = np.zeros((len(share), n), np.int64)
    for rotation in range(n):
        totals += np.roll(share[:, rotation], rotation, axis=1)
    return totals


@dataclass(frozen=True)
class TableResult:
    """What a table's blocks came to."""

    table: Table
    sums: BlockSums

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return int(self.sums.blocks.sum())

    @property
    def entrants(self) -> list[str]:
        """The different policies in the order of their first position; of a policy alone at the table, its copies."""
        names = list(dict.fromkeys(self.table))
        return names if len(names) > 1 else [f"{names[0]} ({k + 1})" for k in range(len(self.table))]

    @property
    def members(self) -> np.ndarray:
        """Which positions belong to which entrant, shape (entrants, positions), 0 or 1."""
        if len(set(self.table)) == 1:
            return np.eye(len(self.table), dtype=np.int64)
        return np.array([[name == other for other in self.table] for name in self.entrants], np.int64)

    def moments(self, what: str = "share") -> tuple[np.ndarray, np.ndarray]:
        """Return sums (entrants,) and products (entrants, entrants) of the entrants' block totals of share or score."""
        members = self.members
        sums, products = getattr(self.sums, what).sum(0), getattr(self.sums, f"{what}_xx").sum(0)
        return members @ sums, members @ products @ members.T

    def win_share(self, entrant: int) -> Estimate:
        """Return an entrant's mean win share a seat."""
        (sums, products), seats = self.moments(), int(self.members[entrant].sum())
        most = SHARES * self.sums.n
        return bounded_estimate(sums[entrant], products[entrant, entrant], self.blocks, 0, most, most * seats)

    def score(self, entrant: int) -> Estimate:
        """Return an entrant's mean score a seat."""
        (sums, products), seats = self.moments("score"), int(self.members[entrant].sum())
        return estimate(int(sums[entrant]), int(products[entrant, entrant]), self.blocks, self.sums.n * seats)

    def lead(self, a: int, b: int) -> Estimate:
        """Return by how much the win share a seat of entrant `a` exceeds that of `b`."""
        sums, products = self.moments()
        k_a, k_b = (int(self.members[entrant].sum()) for entrant in (a, b))
        total, squares = _difference(sums, products, a, b, k_b, k_a)
        most = SHARES * self.sums.n
        return bounded_estimate(total, squares, self.blocks, -k_a * most, k_b * most, most * k_a * k_b)

    def margin(self, a: int, b: int) -> Estimate:
        """Return by how many points a seat the score of entrant `a` exceeds that of `b`."""
        sums, products = self.moments("score")
        k_a, k_b = (int(self.members[entrant].sum()) for entrant in (a, b))
        total, squares = _difference(sums, products, a, b, k_b, k_a)
        return estimate(total, squares, self.blocks, self.sums.n * k_a * k_b)

    def seat_share(self, seat: int) -> Estimate:
        """Return the mean win share of a seat, whoever sat there."""
        most = SHARES * self.sums.n
        return bounded_estimate(
            int(self.sums.seat_share[seat]), int(self.sums.seat_sq[seat]), self.blocks, 0, most, most
        )

    def variance_ratio(self, entrant: int) -> Estimate:
        """Return how many times as many games on deals of their own give the error that the blocks give.

        That is the variance of the mean of a block's games if they were independent, seats rotated evenly all the same,
        over the variance of the block mean as it is. Above 1 blocking helps. The error is a jackknife's over GROUPS.
        """
        row = self.members[entrant]
        game, block = self.sums.game_share @ row, self.sums.share @ row
        game_sq = np.einsum("k,grkl,l->gr", row, self.sums.game_xx, row)
        block_sq = np.einsum("k,gkl,l->g", row, self.sums.share_xx, row)
        return _jackknife_ratio(self.sums.blocks, game, game_sq, block, block_sq)


def _difference(sums: np.ndarray, products: np.ndarray, a: int, b: int, times_a: int, times_b: int) -> tuple[int, int]:
    """Return sum and sum of squares over blocks of times_a * A - times_b * B."""
    total = times_a * int(sums[a]) - times_b * int(sums[b])
    squares = (
        times_a**2 * int(products[a, a])
        - 2 * times_a * times_b * int(products[a, b])
        + times_b**2 * int(products[b, b])
    )
    return total, squares


def _jackknife_ratio(
    blocks: np.ndarray, game: np.ndarray, game_sq: np.ndarray, block: np.ndarray, block_sq: np.ndarray
) -> Estimate:
    """Return the sum over rotations of the games' variances over the variance of block totals, from sums by group."""

    def ratio(n: int, x: np.ndarray, xx: np.ndarray, y: int, yy: int) -> float | None:
        apart = float((xx - x.astype(float) ** 2 / n).sum())
        together = float(yy - float(y) ** 2 / n)
        return apart / together if together > 0 else None

    totals = [part.sum(0) for part in (blocks, game, game_sq, block, block_sq)]
    n = int(totals[0])
    value = ratio(*totals) if n > 1 else None
    left_out = [
        ratio(*(total - part[g] for total, part in zip(totals, (blocks, game, game_sq, block, block_sq), strict=True)))
        for g in range(GROUPS)
        if n - blocks[g] > 1
    ]
    if value is None or int(blocks.min()) < 2 or any(other is None for other in left_out):
        return {"value": value, "se": None, "ci": None, "n": n}
    spread = np.array(left_out, float)
    se = float(np.sqrt((GROUPS - 1) / GROUPS * ((spread - spread.mean()) ** 2).sum()))
    half = t_quantile(LEVEL, GROUPS - 1) * se
    return {"value": value, "se": se, "ci": [value - half, value + half], "n": n}


@dataclass(frozen=True)
class Contest:
    """Everything that decides a tournament's games but for who plays."""

    world: World
    players: int
    caves: str
    seed: int

    def matches(self, table: Table) -> list[Match]:
        """Return the table's matches, one for each rotation."""
        mode, numbers = parse_caves(self.caves, self.players, self.world.caves)
        seats = load_seats(",".join(table), self.players)
        setting = Setting(self.world, self.players, seats, self.seed, mode, numbers)
        n = self.players
        return [
            replace(setting, seats=[seats[(seat - rotation) % n] for seat in range(n)]).match() for rotation in range(n)
        ]


def make_contest(world: World, players: int, caves: str = "draft", seed: int = 0) -> Contest:
    """Return the contest of the options --players, --caves and --seed in a world.

    Raises
    ------
    DartmoorError
        Any of them is wrong; the message names the valid choices.
    """
    check_players(players)
    check_seed(seed)
    parse_caves(caves, players, world.caves)
    return Contest(world, players, caves, seed)


def play_blocks(matches: Sequence[Match], first: int, count: int) -> Blocks:
    """Play blocks first .. first+count-1 of a table, given its matches by rotation, in this thread."""
    n = len(matches)
    share = np.zeros((count, n, n), np.int64)
    score = np.zeros((count, n, n), np.int64)
    for rotation, match in enumerate(matches):
        _, outcomes = play_chunk(match, first, count, keep_outcomes=True)
        share[:, rotation] = np.roll(outcomes["share"][:, :n], -rotation, axis=1)
        score[:, rotation] = np.roll(outcomes["score"][:, :n], -rotation, axis=1)
    return Blocks(first, share, score)


def blocks_in_order(
    matches: Sequence[Match], blocks: int, threads: int, chunk: int | None = None, start: int = 0
) -> Generator[Blocks, None, None]:
    """Yield the results of blocks start .. start+blocks-1 in order, `chunk` at once or what takes a moment."""
    begin = time.perf_counter()
    if chunk is None:
        yield play_blocks(matches, start, 1)
        seconds = max(time.perf_counter() - begin, 1e-6)
        chunk = max(1, min(MAX_CHUNK, int(CHUNK_SECONDS / seconds)))
        start, blocks = start + 1, blocks - 1
    parts = in_order(lambda first, count: play_blocks(matches, first, count), start, blocks, threads, chunk)
    for _, part in parts:
        yield part


@dataclass(frozen=True)
class Tournament:
    """The tables' results in the order played; `complete` unless it was interrupted. `scores` are kept on demand."""

    contest: Contest
    results: list[TableResult]
    complete: bool
    scores: list[np.ndarray]  # by table, shape (blocks kept, rotations, positions)


def run_tournament(
    contest: Contest,
    tables: Sequence[Table],
    blocks: int,
    threads: int = 1,
    on_games: Callable[[int], object] = lambda count: None,
    keep_scores: int = 0,
) -> Tournament:
    """Play `blocks` blocks at every table. Ctrl-C ends it early with the blocks that are complete.

    `keep_scores` is how many blocks a table keep their games' scores, for ratings that need single games.

    Raises
    ------
    DartmoorError
        A policy is unknown or misbehaved, or it was interrupted before any block was complete.
    """
    seats = [contest.matches(table) for table in tables]
    results: list[TableResult] = []
    scores: list[np.ndarray] = []
    for table, matches in zip(tables, seats, strict=True):
        sums, kept, complete = BlockSums(contest.players), [], True
        parts = blocks_in_order(matches, blocks, threads)
        try:
            for part in parts:
                sums.add(part)
                kept.append(part.score[: max(0, keep_scores - part.first)])
                on_games(len(part.share) * contest.players)
        except KeyboardInterrupt:
            parts.close()
            complete = False
        if sums.blocks.sum() > 0:
            results.append(TableResult(table, sums))
            scores.append(np.concatenate(kept))
        if not complete:
            break
    if not results:
        raise KeyboardInterrupt  # before any block was complete: there is nothing to write
    return Tournament(contest, results, len(results) == len(tables) and complete, scores)


def parse_names(text: str) -> list[str]:
    """Return the policies of `a,b,..`, each once.

    Raises
    ------
    DartmoorError
        A name is empty or there twice.
    """
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if not name:
            raise DartmoorError(f"--policies: an empty name in {text!r}, expected a,b,..")
        if names.count(name) > 1:
            raise DartmoorError(f"--policies: {name!r} is named twice; for a policy against itself use --table")
    return names


def make_tables(names: Sequence[str], players: int, which: str = SOLO) -> list[Table]:
    """Return the tables of a tournament between policies.

    Parameters
    ----------
    names
        The policies.
    players
        At each table.
    which
        SOLO: every policy alone at a table of every other (of two players: every pair). ALL: every composition of
        different policies, whichever the order of its seats.

    Raises
    ------
    DartmoorError
        Fewer than two policies, or `which` is neither.
    """
    if len(names) < 2:
        raise DartmoorError(f"--policies: {len(names)} policy, expected at least two (or tables by --table)")
    if which == ALL:
        return [table for table in combinations_with_replacement(names, players) if len(set(table)) > 1]
    if which != SOLO:
        raise DartmoorError(f"--tables: {which!r} unknown, expected {SOLO} or {ALL}")
    pairs = combinations(names, 2) if players == 2 else permutations(names, 2)
    return [(a, *[b] * (players - 1)) for a, b in pairs]


def parse_tables(texts: Sequence[str], players: int) -> list[Table]:
    """Return the tables named by --table, such as `a,b,b`.

    Raises
    ------
    DartmoorError
        A table has not one policy a player, or is there twice.
    """
    tables: list[Table] = []
    for text in texts:
        table = tuple(name.strip() for name in text.split(","))
        if len(table) != players or not all(table):
            raise DartmoorError(
                f"--table: {text!r} names {len(table)} policies for {players} players, expected one each"
            )
        if table in tables:
            raise DartmoorError(f"--table: {text!r} is there twice")
        tables.append(table)
    return tables
