"""Which cave to take: each deal played once with every cave in the same seat, everything else equal.

The seat that is varied is each in turn, by the deal's number, so a deal is one independent observation and `n` counts
deals. The other seats hold caves in a random order that belongs to the deal. When one of them would hold the cave that
is tried, it has the next cave in that order instead, and all the rest keep theirs. What a cave is worth here therefore
includes that nobody else has it.

On further deals, which took no part in finding them, the best cave, the learned drafting rule and the draft itself are
put to the test.
"""

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from experiments.cave_kernels import DEALT, OWN_DRAFT, RULE_DRAFT, play_caves, play_drafts, seat_of
from experiments.estimates import (
    Estimate,
    bounded_estimate,
    estimate,
    holm,
    p_value,
    paired_difference,
    paired_share_difference,
    share_estimate,
)
from experiments.files import write_text
from experiments.options import Setting
from experiments.precision import Plan, Stop, run_plan
from experiments.results import Result, Sums, check_any, document_head, experiment_manifest, play_out, sum_games, tidy
from policies.cave_rule import RULE_COLUMNS, RULE_WIDTH, read_rule_file, rule_vector
from sim.codes import CardType
from sim.rules import MAX_CAVES, MIN_PLAYERS, SHARES, TYPES
from sim.state import new_games

TEST_SHARE = 2  # one deal of the test for that many of the comparison
SURE = 0.05  # adjusted p-value from which on a difference is called one
WAYS = {DEALT: "dealt", OWN_DRAFT: "own draft", RULE_DRAFT: "rule draft"}


@dataclass(frozen=True)
class Group:
    """Some of the deals: all, those of one seat, or those whose opening hand shows a type or does not."""

    name: str
    kind: str  # all, seat, hand


def groups(players: int) -> list[Group]:
    """Return all groups of deals, in the order of the sums."""
    hands = [f"{word} {kind.name.lower()}" for kind in CardType for word in ("has", "no")]
    return [
        Group("all", "all"),
        *(Group(f"seat {seat}", "seat") for seat in range(players)),
        *(Group(name, "hand") for name in hands),
    ]


def caves(
    setting: Setting, plan: Plan, threads: int = 1, on_deals: Callable[[int], object] = lambda count: None
) -> Result:
    """Compare all caves of a setting's world by a plan; how the setting gives caves does not count.

    Returns
    -------
    Result
        Frames `summary` (each cave), `pairs` (each pair, in all deals and in each group), `unless` (hands for which
        another cave than the best is better), `draft`, `rule` and `tests`. The document has `caves`, `pairs` and more.

    Raises
    ------
    DartmoorError
        A policy misbehaved, or the run was interrupted before any deal was complete.
    """
    sums: Sums = {}
    size = len(setting.world.caves)
    stop = run_plan(
        plan,
        lambda first, count: sum_games(
            lambda start, n: _compare(setting, start, n), sums, first, count, threads, None, on_deals
        ),
        lambda level: [row["win_share"] for row in _pair_rows(setting, sums, 0, level)],
    )
    check_any(stop)
    best = int(np.argmax([int(total) for total in sums["share"][0]]))
    rows = learn_rule(sums, setting.players, size)
    tested: Sums = {}
    if stop.reason != "interrupted":
        further, vector = further_deals(stop.games), rule_vector(rows)
        done = sum_games(
            lambda start, n: _test(setting, best, vector, start, n),
            tested,
            stop.games,
            further,
            threads,
            None,
            on_deals,
        )
        if done < further:
            stop = Stop(stop.games, "interrupted")
    return _result(setting, plan, stop, sums, tested, rows, best)


def all_deals(plan: Plan) -> int:
    """Return the deals of the longest run, with those of the test."""
    return plan.most + further_deals(plan.most)


def further_deals(deals: int) -> int:
    """Return the further deals of the test after a comparison of `deals` deals."""
    return max(1, deals // TEST_SHARE)


def play_cave_deals(setting: Setting, start: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Play deals start .. start+count-1 with every cave.

    Returns
    -------
    shares, scores, hands
        int64; (count, caves) win shares in 60ths and scores of the seat varied, and (count, TYPES) the number of cards
        in its opening hand that show each type.

    Raises
    ------
    DartmoorError
        A policy returned an index that does not exist, or raised.
    """
    shares, scores = (np.zeros((count, len(setting.world.caves)), np.int64) for _ in range(2))
    hands = np.zeros((count, TYPES), np.int64)
    _run(play_caves, setting, start, shares, scores, hands)
    return shares, scores, hands


def _run(kernel: Any, setting: Setting, start: int, *arrays: np.ndarray) -> None:
    match = setting.match()
    play_out(kernel, match, new_games(), np.zeros(1, np.int64), np.uint64(match.seed), start, *arrays)


def _compare(setting: Setting, start: int, count: int) -> Sums:
    """Return sums over deals, by group: deals, shares and scores of each cave, and their products in pairs."""
    shares, scores, hands = play_cave_deals(setting, start, count)
    seats = seat_of(np.arange(start, start + count), setting.players)
    masks = [np.ones(count, bool), *(seats == seat for seat in range(setting.players))]
    for kind in range(TYPES):
        masks += [hands[:, kind] > 0, hands[:, kind] == 0]
    sums: Sums = {"deals": np.array([mask.sum() for mask in masks])}
    for name, values in (("share", shares), ("score", scores)):
        sums[name] = np.stack([values[mask].sum(axis=0) for mask in masks])
        sums[f"{name}_xy"] = np.stack([values[mask].T @ values[mask] for mask in masks])
    design = np.column_stack([np.ones(count, np.int64), hands])
    above_mean = shares.shape[1] * shares - shares.sum(axis=1, keepdims=True)
    sums |= {"hand_xx": design.T @ design, "hand_xy": design.T @ above_mean}
    return sums | {"above_mean_sq": (above_mean * above_mean).sum(axis=0)}


def learn_rule(sums: Sums, players: int, caves_n: int) -> list[dict[str, Any]]:
    """Return the rule as rows: each cave's win share above the mean of the caves, least squares on the hand's types.

    All caves are played on the same deals, so what the hand itself is worth drops out. A type stays in the rule only if
    its slope differs from zero after Holm's correction over all caves and types: the slopes are small, and a rule with
    all of them chases noise and loses to the best cave alone.
    """
    deals, scale = int(sums["deals"][0]), SHARES * caves_n
    xx, xy = sums["hand_xx"].astype(float), sums["hand_xy"].astype(float) / scale
    yy = sums["above_mean_sq"].astype(float) / scale**2
    fits = [_least_squares(xx, xy[:, cave], yy[cave], deals, np.arange(RULE_WIDTH)) for cave in range(caves_n)]
    p_values = [
        _slope_p(slope, se) for slopes, errors in fits for slope, se in zip(slopes[1:], errors[1:], strict=True)
    ]
    kept = np.reshape(holm(p_values), (caves_n, TYPES)) < SURE
    rows = []
    for cave in range(caves_n):
        used = np.flatnonzero([True, *kept[cave]])
        weights = np.zeros(RULE_WIDTH)
        weights[used] = _least_squares(xx, xy[:, cave], yy[cave], deals, used)[0]
        row = dict(zip(RULE_COLUMNS[2:], (round(float(weight), 6) for weight in weights), strict=True))
        rows.append({"players": players, "cave": cave + 1, **row})
    return rows


def _least_squares(
    xx: np.ndarray, xy: np.ndarray, yy: float, n: int, used: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients of the `used` columns and their standard errors, from the sums of products.

    A column that never varies, such as a type that no card of the deck shows, gets zero and no certainty.
    """
    inverse = np.linalg.pinv(xx[np.ix_(used, used)], hermitian=True)
    weights = inverse @ xy[used]
    residual = max(yy - weights @ xy[used], 0.0) / max(n - len(used), 1)
    return weights, np.sqrt(residual * np.diag(inverse).clip(0))


def _slope_p(slope: float, se: float) -> float:
    """Return the two-sided p-value of a slope against zero."""
    return math.erfc(abs(slope) / (se * math.sqrt(2))) if se > 0 else 1.0


def rule_picks(hands: np.ndarray, rule: np.ndarray, players: int, caves_n: int) -> np.ndarray:
    """Return the index of the cave that a rule would take of all, for each hand (shape (deals, TYPES))."""
    table = rule.reshape(-1, MAX_CAVES, RULE_WIDTH)[players - MIN_PLAYERS, :caves_n]
    return np.argmax(table[:, 0] + hands @ table[:, 1:].T, axis=1)


def _test(setting: Setting, best: int, rule: np.ndarray, start: int, count: int) -> Sums:
    """Return sums over further deals: what rule and best cave gain, and how the draft's places do."""
    size = len(setting.world.caves)
    shares, _, hands = play_cave_deals(setting, start, count)
    by_rule = shares[np.arange(count), rule_picks(hands, rule, setting.players, size)]
    gains = {
        "rule_best": by_rule - shares[:, best],
        "rule_mean": size * by_rule - shares.sum(axis=1),
        "best_mean": size * shares[:, best] - shares.sum(axis=1),
    }
    sums: Sums = {"deals": np.int64(count)}
    for name, values in gains.items():
        sums[name], sums[f"{name}_sq"] = values.sum(), (values * values).sum()
    drafted, scores = (np.zeros((count, len(WAYS), setting.players), np.int64) for _ in range(2))
    _run(play_drafts, setting, start, rule, drafted, scores)
    for name, values in (("share", drafted), ("score", scores)):
        sums[name], sums[f"{name}_sq"] = values.sum(axis=0), (values * values).sum(axis=0)
        sums[f"{name}_xy"] = (values * values[:, :1]).sum(axis=0)  # with the caves as dealt
    return sums


def _result(
    setting: Setting, plan: Plan, stop: Stop, sums: Sums, tested: Sums, rule: list[dict[str, Any]], best: int
) -> Result:
    level, size = plan.level, len(setting.world.caves)
    every = groups(setting.players)
    cave_rows = [
        {"cave": cave.number, "effect": cave.effect, **_one_cave(sums, 0, index, level)}
        for index, cave in enumerate(setting.world.caves)
    ]
    by_group = [_pair_rows(setting, sums, group, level) for group in range(len(every))]
    _adjust(by_group[0])
    _adjust([row for rows in by_group[1:] for row in rows])
    pairs = [
        {"group": every[group].name, "kind": every[group].kind, **row}
        for group, rows in enumerate(by_group)
        for row in rows
    ]
    further = int(tested["deals"]) if tested else 0
    document = document_head(
        setting.world,
        setting.players,
        setting.seed,
        plan,
        stop,
        stop.games * size + further * (size + len(WAYS)),
    )
    document |= {
        "policies": [seat.name for seat in setting.seats],
        "caves": cave_rows,
        "pairs": by_group[0],
        "best": _best(setting, by_group[0], best),
        "unless": _unless(setting, pairs, best),
        "groups": pairs[len(by_group[0]) :],
        "tests": gain_rows(tested, size, level),
        "draft": draft_rows(tested, setting.players, level),
        "rule": rule,
    }
    frames = {
        "summary": tidy(cave_rows),
        "pairs": tidy(pairs),
        "unless": tidy(document["unless"], ("group", "cave", "instead_of", "win_share", "score", "p_holm")),
        "tests": tidy(document["tests"], ("gain", "meaning", "win_share")),
        "draft": tidy(document["draft"], ("caves", "pick", "win_share", "score", "gain", "score_gain")),
        "rule": tidy(rule),
    }
    options = {"players": setting.players, "policies": ",".join(document["policies"])}
    about = experiment_manifest(setting.world, "caves", setting.seed, plan, stop, setting.seats, options)
    return Result(document, frames, stop, about)


def _one_cave(sums: Sums, group: int, cave: int, level: float) -> dict[str, Estimate]:
    deals = int(sums["deals"][group])
    share, score = sums["share"][group][cave], sums["score"][group][cave]
    return {
        "win_share": share_estimate(share, sums["share_xy"][group][cave][cave], deals, SHARES, level),
        "score": estimate(score, sums["score_xy"][group][cave][cave], deals, 1, level),
    }


def _pair_rows(setting: Setting, sums: Sums, group: int, level: float) -> list[dict[str, Any]]:
    """Return each pair of caves in a group of deals: win share and score of `a` minus those of `b`."""
    deals = int(sums["deals"][group])
    rows = []
    for a, b in combinations(range(len(setting.world.caves)), 2):
        share, score = (_pair_sums(sums, name, group, a, b) for name in ("share", "score"))
        rows.append(
            {
                "a": setting.world.cave_number(a),
                "b": setting.world.cave_number(b),
                "win_share": paired_share_difference(*share, deals, SHARES, level),
                "score": paired_difference(*score, deals, 1, level),
            }
        )
    return rows


def _pair_sums(sums: Sums, name: str, group: int, a: int, b: int) -> tuple[int, int, int, int, int]:
    total, products = sums[name][group], sums[f"{name}_xy"][group]
    return total[a], total[b], products[a][a], products[a][b], products[b][b]


def _adjust(rows: Sequence[dict[str, Any]]) -> None:
    """Add Holm's p-values of "no difference in win share", `p_holm`, over all the rows.

    They are read off the intervals as if these were ordinary ones, so they allow for the looks of --precision too.
    """
    raw = [p_value(row["win_share"]) for row in rows]
    for row, adjusted in zip(rows, holm([1.0 if p is None else p for p in raw]), strict=True):
        row["p_holm"] = adjusted


def _lead(row: dict[str, Any], cave: int) -> float:
    """Return the difference of a pair as seen from one of its caves."""
    value = row["win_share"]["value"] or 0.0
    return value if row["a"] == cave else -value


def _best(setting: Setting, pairs: Sequence[dict[str, Any]], best: int) -> dict[str, Any]:
    """Return the cave with the highest win share, and those that it is not shown to be better than."""
    number = setting.world.cave_number(best)
    rivals = [
        row["b"] if row["a"] == number else row["a"]
        for row in pairs
        if number in (row["a"], row["b"]) and not (row["p_holm"] < SURE and _lead(row, number) > 0)
    ]
    return {"cave": number, "sure": not rivals, "not_worse": rivals}


def _unless(setting: Setting, pairs: Sequence[dict[str, Any]], best: int) -> list[dict[str, Any]]:
    """Return the seats and hands for which another cave is shown to be better than the best of all deals."""
    number = setting.world.cave_number(best)
    found = []
    for row in pairs:
        if row["kind"] == "all" or number not in (row["a"], row["b"]) or row["p_holm"] >= SURE:
            continue
        other = row["b"] if row["a"] == number else row["a"]
        if _lead(row, other) > 0:
            sign = 1 if row["a"] == other else -1
            found.append(
                {
                    "group": row["group"],
                    "cave": other,
                    "instead_of": number,
                    "win_share": _signed(row["win_share"], sign),
                    "score": _signed(row["score"], sign),
                    "p_holm": row["p_holm"],
                }
            )
    return found


def _signed(one: Estimate, sign: int) -> Estimate:
    ends = None if one["ci"] is None else sorted(sign * end for end in one["ci"])
    return {"value": sign * one["value"], "se": one["se"], "ci": ends, "n": one["n"]}


def gain_rows(tested: Sums, size: int, level: float) -> list[dict[str, Any]]:
    """Return what choosing gains in win share, on deals that took no part in finding best cave and rule."""
    if not tested:
        return []
    comparisons = (
        ("best_mean", "the best cave, over the mean of all caves", size),
        ("rule_mean", "the cave by the rule, over the mean of all caves", size),
        ("rule_best", "the cave by the rule, over the best cave", 1),
    )
    return [
        {
            "gain": name,
            "meaning": meaning,
            "win_share": bounded_estimate(
                tested[name],
                tested[f"{name}_sq"],
                int(tested["deals"]),
                -SHARES * scale,
                SHARES * scale,
                SHARES * scale,
                level,
            ),
        }
        for name, meaning, scale in comparisons
    ]


def draft_rows(tested: Sums, players: int, level: float) -> list[dict[str, Any]]:
    """Return how each place in the draft does, and what drafting changes against caves as dealt.

    `pick` 1 chooses first, which is the last player of the round: so `win_share` mixes the pick with the seat, and
    `gain`, the difference to the same deals with the caves as dealt, is what the place in the draft is worth.
    """
    if not tested:
        return []
    deals, rows = int(tested["deals"]), []
    for way, name in WAYS.items():
        for place in range(players):
            share, score = (_draft_sums(tested, key, way, place) for key in ("share", "score"))
            row: dict[str, Any] = {
                "caves": name,
                "pick": place + 1,
                "win_share": share_estimate(share[0], share[2], deals, SHARES, level),
                "score": estimate(score[0], score[2], deals, 1, level),
            }
            if way != DEALT:
                row["gain"] = paired_share_difference(*share, deals, SHARES, level)
                row["score_gain"] = paired_difference(*score, deals, 1, level)
            rows.append(row)
    return rows


def _draft_sums(tested: Sums, name: str, way: int, place: int) -> tuple[int, int, int, int, int]:
    """Return the sums of a paired difference: a place in a draft against the same place with the caves as dealt."""
    total, squares, products = tested[name], tested[f"{name}_sq"], tested[f"{name}_xy"]
    return (
        total[way][place],
        total[DEALT][place],
        squares[way][place],
        products[way][place],
        squares[DEALT][place],
    )


def write_rule(path: Path, rows: Sequence[dict[str, Any]], command: str) -> None:
    """Write a learned rule into a rule file; rows for other numbers of players, and how they came, stay in it."""
    players = str(rows[0]["players"])
    comments, old = read_rule_file(path) if path.exists() else ([], [])
    note = f"# players {players}: "
    kept = [row for row in old if row["players"] != players]
    every = sorted([*kept, *rows], key=lambda row: (int(row["players"]), int(row["cave"])))
    text = io.StringIO()
    for line in sorted([*(line for line in comments if not line.startswith(note)), note + command]):
        text.write(line + "\n")
    writer = csv.DictWriter(text, RULE_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(every)
    write_text(path, text.getvalue())
