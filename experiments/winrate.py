"""Win rates: every table of the given policies, in every seating, on the same deals.

A *table* is who plays, without order: two policies at a table for three make AAA, AAB, ABB and BBB. Each deal is played
once for every distinct seating of every table, so that nobody gains by a seat or by luck with the cards. All games of a
deal share their luck: the deal is the unit of error, and `n` counts deals.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, permutations
from typing import Any

import numpy as np

from experiments.estimates import Estimate, estimate, holm, p_value, share_estimate
from experiments.options import Setting, World, check_players, check_seed, parse_caves
from experiments.precision import Plan, Stop, run_plan
from experiments.results import Result, Sums, check_any, document_head, experiment_manifest, sum_games, tidy
from policies.registry import LoadedPolicy, load_seats
from sim.batch import play_chunk
from sim.errors import DartmoorError
from sim.rules import SHARES

TABLES = ("all", "pairs")


@dataclass(frozen=True)
class Gathering:
    """One table: the indices of its policies, ascending, and every distinct order of them round the table."""

    members: tuple[int, ...]
    seatings: tuple[tuple[int, ...], ...]

    def seats_of(self, policy: int) -> int:
        """Return how many seats the policy holds over all seatings."""
        return sum(seating.count(policy) for seating in self.seatings)


@dataclass(frozen=True)
class Field:
    """All of an experiment but its deals."""

    world: World
    players: int
    policies: list[LoadedPolicy]
    gatherings: list[Gathering]
    seed: int
    caves: str
    tables: str

    @property
    def names(self) -> list[str]:
        """The policies' names; a policy that is given again is another contender, `greedy#2`."""
        given = [one.name for one in self.policies]
        times = [given[: place + 1].count(name) for place, name in enumerate(given)]
        return [name if time == 1 else f"{name}#{time}" for name, time in zip(given, times, strict=True)]

    @property
    def games_a_deal(self) -> int:
        """Games that one deal takes."""
        return sum(len(one.seatings) for one in self.gatherings)


def make_field(
    world: World, players: int, policies: str, caves: str = "draft", seed: int = 0, tables: str = "all"
) -> Field:
    """Return the field of the options --players, --policies, --caves, --seed and --tables.

    `tables`: `all` tables that the policies can make, or `pairs`: one policy at a table of another, and of itself.

    Raises
    ------
    DartmoorError
        Any of them is wrong; the message names the valid choices.
    """
    check_players(players)
    check_seed(seed)
    parse_caves(caves, players, world.caves)
    if tables not in TABLES:
        raise DartmoorError(f"--tables: {tables!r} unknown, expected {' or '.join(TABLES)}")
    loaded = [load_seats(name, players)[0] for name in policies.split(",")]
    return Field(world, players, loaded, list(_gatherings(len(loaded), players, tables)), seed, caves, tables)


def _gatherings(policies: int, players: int, tables: str) -> Iterator[Gathering]:
    for members in combinations_with_replacement(range(policies), players):
        counts = sorted(members.count(one) for one in set(members))
        if tables == "all" or counts in ([players], [1, players - 1]):
            yield Gathering(members, tuple(sorted(set(permutations(members)))))


def winrate(
    field: Field, plan: Plan, threads: int = 1, on_deals: Callable[[int], object] = lambda count: None
) -> Result:
    """Play the field's tables by a plan and return the findings.

    Returns
    -------
    Result
        Frames `summary` (the matrix: a policy against a table of another), `tables` (each policy at each table),
        `seats` and `seats_by_policy`. The document has the same as lists, and `seat_test`.

    Raises
    ------
    DartmoorError
        A policy misbehaved, or the run was interrupted before any deal was complete.
    """
    sums: Sums = {}
    matches = [[_setting(field, seating).match() for seating in one.seatings] for one in field.gatherings]

    def work(first: int, count: int) -> Sums:
        return _deal_sums(field, matches, first, count)

    stop = run_plan(
        plan,
        lambda first, count: sum_games(work, sums, first, count, threads, None, on_deals),
        lambda level: [row["win_share"] for row in matrix_rows(field, sums, level) + _all_seats(field, sums, level)],
    )
    check_any(stop)
    return _result(field, plan, stop, sums)


def _setting(field: Field, seating: Sequence[int]) -> Setting:
    mode, numbers = parse_caves(field.caves, field.players, field.world.caves)
    seats = [field.policies[policy] for policy in seating]
    return Setting(field.world, field.players, seats, field.seed, mode, numbers)


def _deal_sums(field: Field, matches: Sequence[Sequence[Any]], first: int, count: int) -> Sums:
    """Play `count` deals at every table and return sums over deals of what the seatings of a deal add up to."""
    sums: Sums = {"deals": np.int64(count)}
    everywhere = np.zeros((count, field.players), np.int64)
    for number, (gathering, seatings) in enumerate(zip(field.gatherings, matches, strict=True)):
        size = (len(field.policies), count)
        share, score, margin = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
        ties, by_seat = np.zeros(count, np.int64), np.zeros((count, field.players), np.int64)
        for seating, match in zip(gathering.seatings, seatings, strict=True):
            _, outcomes = play_chunk(match, first, count, keep_outcomes=True)
            shares = outcomes["share"][:, : field.players].astype(np.int64)
            scores = outcomes["score"][:, : field.players].astype(np.int64)
            for seat, policy in enumerate(seating):
                share[policy] += shares[:, seat]
                score[policy] += scores[:, seat]
                # n times the own score less everybody's: n - 1 times the lead over the mean of the others
                margin[policy] += field.players * scores[:, seat] - scores.sum(axis=1)
            ties += (shares > 0).sum(axis=1) > 1
            by_seat += shares
        everywhere += by_seat
        for name, values in (("share", share), ("score", score), ("margin", margin), ("ties", ties)):
            sums[f"{name}{number}"] = values.sum(axis=-1)
            sums[f"{name}{number}_sq"] = (values * values).sum(axis=-1)
        sums[f"seats{number}"], sums[f"seats{number}_xy"] = by_seat.sum(axis=0), by_seat.T @ by_seat
    sums["seats"], sums["seats_xy"] = everywhere.sum(axis=0), everywhere.T @ everywhere
    return sums


def _result(field: Field, plan: Plan, stop: Stop, sums: Sums) -> Result:
    matrix = matrix_rows(field, sums, plan.level)
    _adjust(field, matrix)
    tables, seats = table_rows(field, sums, plan.level), _all_seats(field, sums, plan.level)
    by_policy = _seats_by_policy(field, sums, plan.level)
    test = seat_test(sums["seats"], sums["seats_xy"], stop.games)
    document = document_head(field.world, field.players, field.seed, plan, stop, stop.games * field.games_a_deal)
    document |= {"policies": field.names, "fair_share": 1 / field.players}
    document |= {"matrix": matrix, "tables": tables, "seats": seats, "seat_test": test, "seats_by_policy": by_policy}
    frames = {
        "summary": tidy(matrix),
        "tables": tidy([{**row, "table": " ".join(row["table"])} for row in tables]),
        "seats": tidy(seats).assign(p_value=test["p_value"]),
        "seats_by_policy": tidy(by_policy),
    }
    options = {
        "players": field.players,
        "policies": ",".join(one.name for one in field.policies),
        "caves": field.caves,
        "tables": field.tables,
    }
    about = experiment_manifest(field.world, "winrate", field.seed, plan, stop, field.policies, options)
    return Result(document, frames, stop, about)


def _all_seats(field: Field, sums: Sums, level: float) -> list[dict[str, Any]]:
    return seat_rows(sums["seats"], sums["seats_xy"], int(sums["deals"]), field.games_a_deal, level)


def _seats_by_policy(field: Field, sums: Sums, level: float) -> list[dict[str, Any]]:
    """Return the seats' win shares at each table that one policy fills alone, with the test of that table.

    `p_value` is of that table alone, `p_holm` is corrected by Holm over the tables; both are None where the data cannot
    tell.
    """
    rows, deals = [], int(sums["deals"])
    alone = [number for number, gathering in enumerate(field.gatherings) if len(set(gathering.members)) == 1]
    found = [(sums[f"seats{number}"], sums[f"seats{number}_xy"]) for number in alone]
    raw = [seat_test(totals, products, deals)["p_value"] for totals, products in found]
    adjusted = holm([1.0 if p is None else p for p in raw])
    for number, (totals, products), p, corrected in zip(alone, found, raw, adjusted, strict=True):
        tests = {"p_value": p, "p_holm": None if p is None else corrected}
        name = field.names[field.gatherings[number].members[0]]
        rows += [{"policy": name, **row, **tests} for row in seat_rows(totals, products, deals, 1, level)]
    return rows


def matrix_rows(field: Field, sums: Sums, level: float) -> list[dict[str, Any]]:
    """Return the matrix: how one `row` policy does at a table where all others play `column`."""
    numbers = {gathering.members: number for number, gathering in enumerate(field.gatherings)}
    rows = []
    for row in range(len(field.policies)):
        for column in range(len(field.policies)):
            number = numbers[tuple(sorted([row] + [column] * (field.players - 1)))]
            found = _at_table(field, sums, number, row, level)
            rows.append(
                {
                    "row": field.names[row],
                    "column": field.names[column],
                    "win_share": found["win_share"],
                    "margin": found["margin"],
                }
            )
    return rows


def table_rows(field: Field, sums: Sums, level: float) -> list[dict[str, Any]]:
    """Return how each policy does at each table, and how often the win is shared there."""
    return [
        {
            "table": [field.names[member] for member in gathering.members],
            "policy": field.names[policy],
            **_at_table(field, sums, number, policy, level),
            "ties": share_estimate(
                sums[f"ties{number}"], sums[f"ties{number}_sq"], sums["deals"], len(gathering.seatings), level
            ),
        }
        for number, gathering in enumerate(field.gatherings)
        for policy in sorted(set(gathering.members))
    ]


def _at_table(field: Field, sums: Sums, number: int, policy: int, level: float) -> dict[str, Estimate]:
    """Return win share, score and margin of one copy of a policy at a table."""
    seats, deals = field.gatherings[number].seats_of(policy), int(sums["deals"])

    def both(name: str) -> tuple[int, int]:
        return sums[f"{name}{number}"][policy], sums[f"{name}{number}_sq"][policy]

    return {
        "win_share": share_estimate(*both("share"), deals, SHARES * seats, level),
        "score": estimate(*both("score"), deals, seats, level),
        "margin": estimate(*both("margin"), deals, seats * (field.players - 1), level),
    }


def _adjust(field: Field, matrix: Sequence[dict[str, Any]]) -> None:
    """Add Holm's p-values, `p_holm`, of "`row` wins its fair share against `column`" to the cells off the diagonal.

    With two players a cell and its mirror are one comparison and count once. The p-values are read off the intervals as
    if these were ordinary ones, so they allow for the looks of --precision too.
    """
    cells = [row for row in matrix if row["row"] != row["column"]]
    comparisons: dict[Any, float] = {}
    for cell in cells:
        p = p_value(cell["win_share"], 1 / field.players)
        comparisons.setdefault(_comparison(field, cell), 1.0 if p is None else p)
    adjusted = dict(zip(comparisons, holm(list(comparisons.values())), strict=True))
    for cell in cells:
        cell["p_holm"] = adjusted[_comparison(field, cell)]


def _comparison(field: Field, cell: dict[str, Any]) -> Any:
    names = (cell["row"], cell["column"])
    return frozenset(names) if field.players == 2 else names


def seat_rows(totals: np.ndarray, products: np.ndarray, deals: int, games: int, level: float) -> list[dict[str, Any]]:
    """Return the win share of each seat over the `games` games of a deal; seat 0 begins unless a ruling says otherwise.

    totals, products: shape (players,) and (players, players), sums over deals of the seats' shares and their products.
    """
    return [
        {"seat": seat, "win_share": share_estimate(total, products[seat][seat], deals, SHARES * games, level)}
        for seat, total in enumerate(totals)
    ]


def seat_test(totals: np.ndarray, products: np.ndarray, deals: int) -> dict[str, float | int | None]:
    """Test whether all seats win equally often: Hotelling's T squared of the seats' mean shares, as an F statistic.

    The shares of a deal add up to a constant, so the last seat says nothing new. None where the data cannot tell: fewer
    deals than seats, or shares that never vary.
    """
    players = len(totals)
    free = players - 1
    nothing: dict[str, float | int | None] = {"f": None, "df1": free, "df2": deals - free, "p_value": None}
    if deals <= players:
        return nothing
    fair = sum(totals) / (deals * players)
    mean = np.array([total / deals for total in totals[:free]], float)
    spread = [
        [float(products[i][j] * deals - totals[i] * totals[j]) / (deals * (deals - 1)) for j in range(free)]
        for i in range(free)
    ]
    covariance = np.array(spread) / deals
    if np.linalg.matrix_rank(covariance, hermitian=True) < free:
        return nothing
    from scipy.special import fdtrc  # slow to import

    difference = mean - fair
    statistic = float(difference @ np.linalg.solve(covariance, difference))
    f = statistic * (deals - free) / (free * (deals - 1))
    return {"f": f, "df1": free, "df2": deals - free, "p_value": float(fdtrc(free, deals - free, f))}
