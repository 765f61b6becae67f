"""When winter comes: turns and stack at each winter, what is left to play then, what ends the game, and the pace.

Every game is one independent observation. Distributions are kept whole, as exact counts; quantiles come with an
interval from order statistics, which needs no assumption about their shape.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from experiments.estimates import (
    LEVEL,
    QUANTILES,
    Estimate,
    clustered_estimate,
    estimate,
    histogram_quantiles,
    histogram_sums,
    proportion_estimate,
    ratio_estimate,
)
from experiments.options import Setting, World, check_games, make_setting
from experiments.precision import Plan, Stop, run_plan
from experiments.results import Result, Sums, check_any, document_head, experiment_manifest, play_out, sum_games, tidy
from experiments.summary import ENDINGS
from experiments.winter_kernels import COURSE, CUT, ENDED, TURN_CARDS, play_courses
from experiments.winter_odds import deck_cards, depth_law
from sim.batch import Match
from sim.errors import DartmoorError
from sim.play import STACK_BINS, TURN_BINS
from sim.rules import WINTERS
from sim.state import new_games

MEASURES = ("turn", "round", "stack_left")
MORE_TURNS = 150  # turns after a winter up to which chances are counted
LEAST_CHANCE = 0.001  # beyond the first chance below, more turns are not listed
LEAST_EXPECTED = 5  # games in a bin of the chi-squared test


def winter(
    setting: Setting, plan: Plan, threads: int = 1, on_games: Callable[[int], object] = lambda count: None
) -> Result:
    """Play games of a setting by a plan and return when the winters came.

    Returns
    -------
    Result
        Frames `summary` (each winter), `length`, `more_turns`, `endings`, `law`, `pace` and `distributions`; the
        document has the same as lists but for the distributions.

    Raises
    ------
    DartmoorError
        A policy misbehaved, or the run was interrupted before any game was complete.
    """
    sums: Sums = {}
    match = setting.match()

    def work(first: int, count: int) -> Sums:
        return course_sums(play_course_chunk(match, first, count)[0], setting.players)

    stop = run_plan(
        plan,
        lambda first, count: sum_games(work, sums, first, count, threads, None, on_games),
        lambda level: [row["share"] for row in _endings(sums, level)] + _chances(sums, setting.players, level),
    )
    check_any(stop)
    return _result(setting, plan, stop, sums)


def play_course_chunk(match: Match, start: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Play games start .. start+count-1 of a match.

    Returns
    -------
    courses, turn_cards
        Shape (count,), dtype COURSE; and the turns by the deck cards they took, int64, shape TURN_CARDS.

    Raises
    ------
    DartmoorError
        A policy returned an index that does not exist, or raised.
    """
    courses, turn_cards = np.zeros(count, COURSE), np.zeros(TURN_CARDS, np.int64)
    mode, caves, seed = int(match.cave_mode), match.kernel_caves, np.uint64(match.seed)
    at = np.zeros(1, np.int64)
    play_out(play_courses, match, new_games(), at, mode, caves, seed, start, courses, turn_cards)
    return courses, turn_cards


def course_sums(courses: np.ndarray, players: int) -> Sums:
    """Return exact counts and sums over the courses of games."""
    sums: Sums = {
        "games": np.int64(len(courses)),
        "turns": _histogram(courses["turns"], TURN_BINS),
        "rounds": _histogram(courses["rounds"], TURN_BINS),
        "endings": _histogram(courses["ending"], len(ENDINGS) + 1),
    }
    for player in range(players):
        sums[f"player_turns{player}"] = _histogram(courses["player_turns"][:, player], TURN_BINS)
    for winter in range(WINTERS):
        for measure, field in zip(MEASURES, ("winter_turn", "winter_round", "winter_left"), strict=True):
            bins = STACK_BINS if measure == "stack_left" else TURN_BINS
            sums[f"{measure}{winter}"] = _histogram(courses[field][:, winter], bins)
    for winter in range(WINTERS - 1):
        sums |= _more_turns_sums(courses, players, winter)
    sums["pace"] = np.stack([_pace_sums(*phase) for phase in _phases(courses)])
    return sums


def _histogram(values: np.ndarray, bins: int) -> np.ndarray:
    return np.bincount(np.minimum(values, bins - 1), minlength=bins)


def _more_turns_sums(courses: np.ndarray, players: int, winter: int) -> Sums:
    """Count games, and players in a game, with at least k = 0 .. MORE_TURNS more turns after a winter."""
    k = np.arange(MORE_TURNS + 1)
    table = courses["turns"] - courses["winter_turn"][:, winter]
    own = courses["player_turns"][:, :players] - courses["had_turns"][:, winter, :players]
    reached = (own[:, :, None] >= k).sum(axis=1)
    return {
        f"more_table{winter}": (table[:, None] >= k).sum(axis=0),
        f"more_own{winter}": reached.sum(axis=0),
        f"more_own{winter}_sq": (reached * reached).sum(axis=0),
    }


def _phases(courses: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (deck cards taken from the stack, turns) before the first winter, between the winters, and in all.

    A turn counts to the phase in which it began, a card to the phase in which it was taken.
    """
    left, turn = courses["winter_left"].astype(np.int64), courses["winter_turn"].astype(np.int64)
    starts = [courses["start_left"].astype(np.int64), left[:, 0], left[:, 1]]
    cards = [np.maximum(starts[i] - left[:, i] - 1, 0) for i in range(WINTERS)]
    turns = [turn[:, 0], turn[:, 1] - turn[:, 0], turn[:, 2] - turn[:, 1]]
    return [*zip(cards, turns, strict=True), (sum(cards), turn[:, 2])]


def _pace_sums(cards: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Return the sums that a ratio estimate needs: y, x, yy, xy, xx and the clusters with turns."""
    y, x = cards, turns
    return np.array([y.sum(), x.sum(), (y * y).sum(), (x * y).sum(), (x * x).sum(), (x > 0).sum()])


def _result(setting: Setting, plan: Plan, stop: Stop, sums: Sums) -> Result:
    level, players = plan.level, setting.players
    winters: list[dict[str, Any]] = [
        {"winter": i + 1, **{measure: distribution(sums[f"{measure}{i}"], level) for measure in MEASURES}}
        for i in range(WINTERS)
    ]
    for row in winters:
        row["stack_share"] = _scaled(row["stack_left"]["mean"], deck_cards(players) + WINTERS)
    lengths = {"turns": sums["turns"], "rounds": sums["rounds"]}
    lengths |= {f"turns of seat {seat}": sums[f"player_turns{seat}"] for seat in range(players)}
    length = [{"what": what, **distribution(counts, level)} for what, counts in lengths.items()]
    law, test = _law(setting, sums, level, WINTERS)
    second_law, second_test = _law(setting, sums, level, WINTERS - 1)
    document = document_head(setting.world, players, setting.seed, plan, stop, stop.games)
    document |= {
        "policies": [seat.name for seat in setting.seats],
        "winters": winters,
        "length": length,
        "more_turns": _more_turns(sums, players, level),
        "endings": {row["ending"]: row["games"] for row in _endings(sums, level)},
        "ending_shares": {row["ending"]: row["share"] for row in _endings(sums, level)},
        "law": law,
        "law_test": test,
        "second_winter_law": second_law,
        "second_winter_law_test": second_test,
        "pace": pace_rows(sums, level),
    }
    options = {"players": players, "policies": ",".join(document["policies"]), "caves": setting.caves_text}
    about = experiment_manifest(setting.world, "winter", setting.seed, plan, stop, setting.seats, options)
    return Result(document, _frames(document, sums, level), stop, about)


def _frames(document: dict[str, Any], sums: Sums, level: float) -> dict[str, Any]:
    summary = [
        {"winter": row["winter"], "measure": measure, **_distribution_columns(row[measure])}
        for row in document["winters"]
        for measure in MEASURES
    ]
    shares = [{"winter": row["winter"], "stack_share": row["stack_share"]} for row in document["winters"]]
    length = [{"what": row["what"], **_distribution_columns(row)} for row in document["length"]]
    laws = [
        {"winter": winter, **row}
        for winter, key in ((WINTERS - 1, "second_winter_law"), (WINTERS, "law"))
        for row in document[key]
    ]
    counts = {name: values for name, values in sums.items() if _is_distribution(name)}
    distributions = [
        {"measure": name.rstrip("0123456789"), "number": _number_in(name), "value": value, "games": int(games)}
        for name, values in counts.items()
        for value, games in enumerate(values)
        if games
    ]
    return {
        "summary": tidy(summary),
        "stack_share": tidy(shares),
        "length": tidy(length),
        "more_turns": tidy(document["more_turns"]),
        "endings": tidy(_endings(sums, level)),
        "law": tidy(laws),
        "pace": tidy(document["pace"]),
        "distributions": tidy(distributions),
    }


def _is_distribution(name: str) -> bool:
    return name.rstrip("0123456789") in (*MEASURES, "turns", "rounds", "player_turns")


def _number_in(name: str) -> int | None:
    """Return the winter (from 1) or the seat (from 0) that a histogram is of; None for whole games."""
    number = name.lstrip("abcdefghijklmnopqrstuvwxyz_")
    if not number:
        return None
    return int(number) + (not name.startswith("player_turns"))


def distribution(counts: np.ndarray, level: float = LEVEL) -> dict[str, Any]:
    """Return mean, quantiles and their intervals of a histogram over 0, 1, 2, .. of independent observations."""
    total, squares, n = histogram_sums(counts)
    return {
        "mean": estimate(total, squares, n, 1, level),
        "quantiles": histogram_quantiles(counts),
        "quantile_intervals": quantile_intervals(counts, level),
    }


def quantile_intervals(counts: np.ndarray, level: float = LEVEL) -> dict[str, list[int] | None]:
    """Return an interval for each quantile of `QUANTILES`, from order statistics.

    How many of n observations lie below the true q-quantile is binomial (n, q), whatever the distribution, so the
    observations of ranks at the two ends of that binomial enclose it with at least the level's chance (David and
    Nagaraja, "Order Statistics", 3rd ed. 2003, section 7.1). Where no rank reaches far enough, the end is the extreme
    observation.
    """
    from scipy.special import bdtrik  # slow to import

    below = np.cumsum(np.asarray(counts, dtype=np.int64))
    n, tail = int(below[-1]), (1 - level) / 2
    intervals: dict[str, list[int] | None] = {}
    for q in QUANTILES:
        ranks = math.ceil(bdtrik(tail, n, q)), math.ceil(bdtrik(1 - tail, n, q)) + 1
        inside = [min(max(rank, 1), n) for rank in ranks]
        intervals[f"{100 * q:g}"] = [int(np.searchsorted(below, rank)) for rank in inside] if n else None
    return intervals


def _distribution_columns(part: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"mean": part["mean"]}
    for q, value in part["quantiles"].items():
        low, high = part["quantile_intervals"][q] or (None, None)
        row |= {f"q{q}": value, f"q{q}_low": low, f"q{q}_high": high}
    return row


def _scaled(one: Estimate, scale: int) -> Estimate:
    ends = None if one["ci"] is None else [end / scale for end in one["ci"]]
    return {
        "value": one["value"] / scale,
        "se": None if one["se"] is None else one["se"] / scale,
        "ci": ends,
        "n": one["n"],
    }


def _endings(sums: Sums, level: float) -> list[dict[str, Any]]:
    games = int(sums["games"])
    return [
        {
            "ending": ending.name.lower(),
            "games": int(sums["endings"][ending]),
            "share": proportion_estimate(int(sums["endings"][ending]), games, level),
        }
        for ending in ENDINGS
    ]


def _more_turns(sums: Sums, players: int, level: float) -> list[dict[str, Any]]:
    """Return the chance of at least k more turns after the first and second winter: of all players, and of one."""
    rows, games = [], int(sums["games"])
    for winter in range(WINTERS - 1):
        for k in range(1, MORE_TURNS + 1):
            count = int(sums[f"more_table{winter}"][k])
            if count < LEAST_CHANCE * games:
                break
            own = sums[f"more_own{winter}"][k], sums[f"more_own{winter}_sq"][k]
            rows.append(
                {
                    "winter": winter + 1,
                    "turns": k,
                    "all_players": proportion_estimate(count, games, level),
                    "one_player": clustered_estimate(*own, games, players, 1, level),
                }
            )
    return rows


def _chances(sums: Sums, players: int, level: float) -> list[Estimate]:
    return [row["all_players"] for row in _more_turns(sums, players, level)]


def _law(setting: Setting, sums: Sums, level: float, winter: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the exact and the simulated chance of each depth of a winter, and a chi-squared test that they agree."""
    games, stack = int(sums["games"]), deck_cards(setting.players) + WINTERS
    counts = sums[f"stack_left{winter - 1}"]
    law = depth_law(setting.players, winter, setting.world.rulings.winter_pile)
    rows = [
        {
            "depth": depth,
            "exact": float(chance),
            "simulated": proportion_estimate(int(counts[stack - depth]), games, level),
        }
        for depth, chance in law.items()
    ]
    observed = [int(counts[stack - depth]) for depth in law]
    outside = games - sum(observed)
    return rows, {**chi_squared(observed, [float(chance) * games for chance in law.values()]), "outside": outside}


def chi_squared(observed: Sequence[int], expected: Sequence[float]) -> dict[str, Any]:
    """Return Pearson's chi-squared test; neighbouring bins are joined until each expects `LEAST_EXPECTED` games."""
    joined = [[0.0, 0.0]]  # observed and expected games
    for seen, wanted in zip(observed, expected, strict=True):
        if joined[-1][1] >= LEAST_EXPECTED:
            joined.append([0.0, 0.0])
        joined[-1][0] += seen
        joined[-1][1] += wanted
    if len(joined) > 1 and joined[-1][1] < LEAST_EXPECTED:
        last = joined.pop()
        joined[-1] = [joined[-1][0] + last[0], joined[-1][1] + last[1]]
    degrees = len(joined) - 1
    if degrees == 0:
        return {"chi_squared": None, "df": 0, "p_value": None}
    from scipy.special import chdtrc  # slow to import

    statistic = sum((seen - wanted) ** 2 / wanted for seen, wanted in joined)
    return {"chi_squared": statistic, "df": degrees, "p_value": float(chdtrc(degrees, statistic))}


def pace_rows(sums: Sums, level: float = LEVEL) -> list[dict[str, Any]]:
    """Return deck cards from the stack a turn after 0, 1 and 2 winters, and over the whole game (winters_seen None)."""
    rows = []
    for seen, (y, x, yy, xy, xx, clusters) in zip([*range(WINTERS), None], sums["pace"], strict=True):
        rows.append({"winters_seen": seen, "pace": ratio_estimate(y, x, yy, xy, xx, int(clusters), 1, level)})
    return rows


def measure_paces(
    world: World,
    policies: Sequence[str],
    players: Sequence[int],
    games: int,
    seed: int,
    threads: int,
    on_games: Callable[[int], object] = lambda count: None,
) -> list[dict[str, Any]]:
    """Return the rows of a pace file: every policy in all seats, for each number of players and winters seen.

    Raises
    ------
    DartmoorError
        An option is wrong, or the run was interrupted: half a file would be mistaken for a whole one.
    """
    settings = [(name, make_setting(world, number, name, seed=seed)) for name in policies for number in players]
    check_games(games)
    rows = []
    for name, setting in settings:
        turn_cards = count_turn_cards(setting.match(), games, threads, on_games)
        rows += [
            {"policy": name, "players": setting.players, "winters_seen": seen, **row, "games": games}
            for seen in range(WINTERS)
            for row in _card_rows(turn_cards[seen])
        ]
    return rows


def count_turn_cards(
    match: Match, games: int, threads: int, on_games: Callable[[int], object] = lambda count: None
) -> np.ndarray:
    """Play games 0 .. games-1 of a match and count their turns, int64, shape TURN_CARDS."""
    sums: Sums = {}

    def work(first: int, count: int) -> Sums:
        return {"turn_cards": play_course_chunk(match, first, count)[1]}

    if sum_games(work, sums, 0, games, threads, None, on_games) < games:
        raise DartmoorError("interrupted; no pace file written")
    return sums["turn_cards"]


def _card_rows(counts: np.ndarray) -> list[dict[str, int]]:
    """Return the numbers of cards that occurred, with the turns that took them and those cut short after them."""
    return [
        {"cards": cards, "turns": int(counts[ENDED, cards]), "cut": int(counts[CUT, cards])}
        for cards in range(counts.shape[1])
        if counts[:, cards].any()
    ]
