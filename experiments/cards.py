"""Card values: how players with a species did, how often it was played and left, and what it causes.

The figures in hand are those of card-game statistics. The observation is one copy for one player in one game: its win
rate is the player's mean share of the win, ties shared. A split card is a copy of both its species. These figures are
correlations: who wins has drawn more cards, and a bad player leaves good cards. `causal` is what a species does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from experiments.card_estimates import (
    false_discovery,
    pair_lift,
    ratio,
    ratio_difference,
    share_ratio,
    standardised_difference,
)
from experiments.card_sums import ALL, CARD_SUMS, FATES, GAMES, TURN_STARTS, CopyFate, Figure, sum_games
from experiments.causal import CHUNK as CAUSAL_CHUNK
from experiments.causal import CausalRun, causal_rows
from experiments.causal_sums import Change
from experiments.estimates import LEVEL, Estimate
from experiments.options import Setting
from experiments.precision import Plan, Stop, run_plan
from experiments.results import Result, Sums, check_any, document_head, experiment_manifest, play_out, tidy
from experiments.results import sum_games as sum_chunks
from sim.batch import Match
from sim.rules import MAX_PLAYERS, SPECIES
from sim.species import box_species
from sim.state import new_games

CHUNK = 1000  # games
TOP_PAIRS = 20
SHARE_FIGURES = {"oh": Figure.OH, "gd": Figure.GD, "gih": Figure.GIH, "gns": Figure.GNS, "played": Figure.PLAYED}
POINT_FIGURES = {"points_when_played": Figure.POINTS, "points_per_card": Figure.POINTS_PER_CARD}
LEFT_FIGURES = {"playable_left": Figure.LEFT, "left_when_playable": Figure.LEFT_IF_PLAYABLE}
ESTIMATES = (*SHARE_FIGURES, "iih", "iih_turn", *POINT_FIGURES, *LEFT_FIGURES)


@dataclass(frozen=True)
class Group:
    """The seats that play one policy."""

    policy: str
    seats: tuple[int, ...]


def groups_of(setting: Setting) -> list[Group]:
    """Return the groups of seats with the same policy, in the order of their first seat."""
    names = [seat.name for seat in setting.seats]
    return [
        Group(name, tuple(seat for seat, other in enumerate(names) if other == name)) for name in dict.fromkeys(names)
    ]


def card_values(
    setting: Setting,
    plan: Plan,
    causal_games: int,
    threads: int,
    on_games: Callable[[int], object] = lambda count: None,
    on_causal: Callable[[int], object] = lambda count: None,
) -> Result:
    """Play a setting and return the values of all species for every policy in it.

    Parameters
    ----------
    setting, plan
        What to play and how long; with a precision until the improvement in hand of every species is that precise.
    causal_games
        Deals that are played again with every change for the causal values, 0 for none.
    threads
        To play on; the results do not depend on them.
    on_games, on_causal
        Called with the number of games, and of deals of the causal part, just done.

    Returns
    -------
    Result
        Frames: `summary` (a row for each policy and species), `turns`, `fates`, `pairs`, `causal`.

    Raises
    ------
    DartmoorError
        A policy misbehaved, or the run was interrupted before any game was complete.
    """
    groups = groups_of(setting)
    sums: Sums = {}
    work = work_of(setting.match(), groups)
    stop = run_plan(
        plan,
        lambda first, count: sum_chunks(work, sums, first, count, threads, CHUNK, on_games),
        lambda level: [one for group in range(len(groups)) for one in _improvements(sums, group, level)],
    )
    check_any(stop)
    wanted = 0 if stop.reason == "interrupted" else causal_games
    causal, done = causal_values(setting, groups, wanted, threads, plan.level, on_causal)
    if done < wanted:
        stop = Stop(stop.games, "interrupted")
    rows = [row for group in range(len(groups)) for row in _species_rows(sums, groups, group, plan.level)]
    for row in rows:
        _add_causal(row, causal.get(row["policy"]))
    pairs = [row for group in range(len(groups)) for row in _pairs(sums, groups, group, plan.level)]
    document = {
        **document_head(setting.world, setting.players, setting.seed, plan, stop, stop.games),
        "causal_deals": done,
        "policies": [_policy(sums, groups, group, plan.level) for group in range(len(groups))],
        "species": rows,
        "pairs": pairs,
    }
    header = experiment_manifest(
        setting.world, "cards", setting.seed, plan, stop, setting.seats, _options(setting, done)
    )
    return Result(document, frames(document), stop, header)


def causal_values(
    setting: Setting,
    groups: Sequence[Group],
    games: int,
    threads: int,
    level: float = LEVEL,
    on_games: Callable[[int], object] = lambda count: None,
) -> tuple[dict[str, list[list[dict[str, Any]]]], int]:
    """Return for each policy the rows of `experiments.causal.causal_rows`, and how many deals they rest on.

    After Ctrl-C the policies that are complete are there, and the one that was under way with the deals it had.
    """
    values: dict[str, list[list[dict[str, Any]]]] = {}
    done = 0
    if games:
        match = setting.match()
        for group in groups:
            run, sums = CausalRun(match, group.seats), Sums()
            done = sum_chunks(run.work, sums, 0, games, threads, CAUSAL_CHUNK, on_games)
            if done:
                values[group.policy] = causal_rows(sums, run.matters, done, level)
            if done < games:
                break
    return values, done


def frames(document: dict[str, Any]) -> dict[str, pd.DataFrame]:
    """Return the tables of a document of `card_values` as tidy frames."""
    rows, players = document["species"], document["players"]
    key = [{"policy": row["policy"], "players": players, "species": row["species"]} for row in rows]
    nested = {"turns", "fates", "causal", "causal_score", "causal_q", "causal_different"}
    summary = [
        {**start, **{name: value for name, value in row.items() if name not in nested}}
        for start, row in zip(key, rows, strict=True)
    ]
    turns = [{**start, **one} for start, row in zip(key, rows, strict=True) for one in row["turns"]]
    fates = [
        {**start, "fate": name, "copies": count}
        for start, row in zip(key, rows, strict=True)
        for name, count in row["fates"].items()
    ]
    causal = [
        {
            **start,
            "change": change,
            "win_share": row["causal"][change],
            "score": row["causal_score"][change],
            "different": row["causal_different"][change],
            "q": row["causal_q"][change],
        }
        for start, row in zip(key, rows, strict=True)
        if row["causal"]
        for change in row["causal"]
    ]
    pairs = [{"players": players, **row} for row in document["pairs"]]
    tables = {"summary": summary, "turns": turns, "fates": fates, "pairs": pairs, "causal": causal}
    found = {name: tidy(part) for name, part in tables.items() if part}
    found["turns"]["to_turn"] = found["turns"]["to_turn"].astype("Int64")  # the last bin has no end
    return found


def work_of(match: Match, groups: Sequence[Group]) -> Callable[[int, int], dict[str, np.ndarray]]:
    """Return the function that plays a chunk of a match and returns its sums, by the names of CARD_SUMS."""
    group_of = np.zeros(MAX_PLAYERS, np.uint8)
    for number, group in enumerate(groups):
        group_of[list(group.seats)] = number

    def work(start: int, count: int) -> dict[str, np.ndarray]:
        sums = np.zeros(len(groups), CARD_SUMS)
        mode, at = int(match.cave_mode), np.zeros(1, np.int64)
        deals = (mode, match.kernel_caves, np.uint64(match.seed), start, count)
        play_out(sum_games, match, new_games(), at, *deals, group_of, sums)
        return {name: sums[name] for name in CARD_SUMS.names or ()}

    return work


def _options(setting: Setting, causal_games: int) -> dict[str, object]:
    """Return the options of the command that plays this again."""
    return {
        "players": setting.players,
        "policies": ",".join(seat.name for seat in setting.seats),
        "caves": setting.caves_text,
        **({"causal_games": causal_games} if causal_games else {"no_causal": True}),
    }


def _policy(sums: Sums, groups: Sequence[Group], group: int, level: float) -> dict[str, Any]:
    base = share_ratio(sums["base"][group], level=level)
    return {"policy": groups[group].policy, "seats": list(groups[group].seats), "win_share": base}


def _improvements(sums: Sums, group: int, level: float) -> list[Estimate]:
    """Return the improvement in hand, GIH minus GNS, of every species."""
    figure, products = sums["figure"][group], sums["in_hand"][group]
    return [
        ratio_difference(figure[code, Figure.GIH], figure[code, Figure.GNS], products[code], level=level)
        for code in range(SPECIES)
    ]


def _improvements_by_turn(sums: Sums, group: int, level: float) -> list[Estimate]:
    """Return GIH minus the win rate of all cards that came into the hand in the same turns, of every species."""
    turn, products = sums["turn"][group], sums["turn_products"][group]
    games = sums["figure"][group][:, Figure.GIH, GAMES]
    return [
        standardised_difference(turn[code], turn[ALL], products[code], int(games[code]), level=level)
        for code in range(SPECIES)
    ]


def _species_rows(sums: Sums, groups: Sequence[Group], group: int, level: float) -> list[dict[str, Any]]:
    """Return the figures of every species for one group, without the causal ones."""
    improvements, by_turn = _improvements(sums, group, level), _improvements_by_turn(sums, group, level)
    q, q_turn = false_discovery(improvements, level), false_discovery(by_turn, level)
    rows = []
    for code, species in enumerate(box_species()):
        figure = sums["figure"][group][code]
        shares = {name: share_ratio(figure[k], level=level) for name, k in SHARE_FIGURES.items()}
        points = {name: ratio(figure[k], level=level) for name, k in POINT_FIGURES.items()}
        left = {name: share_ratio(figure[k], 1, level) for name, k in LEFT_FIGURES.items()}
        improvement = {
            "iih": improvements[code],
            "iih_q": q[code],
            "iih_turn": by_turn[code],
            "iih_turn_q": q_turn[code],
        }
        head = {"policy": groups[group].policy, "species": species.key, "copies": species.copies, "cost": species.cost}
        nested = {"turns": _turns(sums, group, code, level), "fates": _fates(sums, group, code)}
        rows.append({**head, **shares, **improvement, **points, **left, **nested})
    return rows


def _turns(sums: Sums, group: int, code: int, level: float) -> list[dict[str, Any]]:
    """Return GIH by the player's turn in which the copy first came into the hand, beside that of all cards."""
    starts = [int(turn) for turn in TURN_STARTS]
    ends: list[int | None] = [turn - 1 for turn in starts[1:]]
    return [
        {
            "from_turn": start,
            "to_turn": end,
            "gih": share_ratio(sums["turn"][group][code, k], level=level),
            "all_cards": share_ratio(sums["turn"][group][ALL, k], level=level),
        }
        for k, (start, end) in enumerate(zip(starts, [*ends, None], strict=True))
    ]


def _fates(sums: Sums, group: int, code: int) -> dict[str, int]:
    """Return how many copies had each fate, counted once a player and game."""
    return {CopyFate(k).name.lower(): int(sums["fate"][group][code, k]) for k in range(FATES)}


def _pairs(sums: Sums, groups: Sequence[Group], group: int, level: float) -> list[dict[str, Any]]:
    """Return the pairs that lift each other most for certain: those whose interval begins highest."""
    pair, forest, keys = sums["pair"][group], sums["forest"][group], [one.key for one in box_species()]
    codes = [(a, b) for a in range(SPECIES) for b in range(a + 1, SPECIES)]
    lifts = [pair_lift(pair[a, b], pair[a, a], pair[b, b], forest, level=level) for a, b in codes]
    q = false_discovery(lifts, level)
    best = sorted((k for k in range(len(codes)) if q[k] is not None), key=lambda k: -lifts[k]["ci"][0])[:TOP_PAIRS]
    names = [(keys[codes[k][0]], keys[codes[k][1]]) for k in best]
    return [
        {"policy": groups[group].policy, "first": first, "second": second, "lift": lifts[k], "q": q[k]}
        for k, (first, second) in zip(best, names, strict=True)
    ]


def _add_causal(row: dict[str, Any], table: list[list[dict[str, Any]]] | None) -> None:
    """Add the causal values of a species to its row; None without any."""
    names = {"causal": "win_share", "causal_score": "score", "causal_q": "q", "causal_different": "different"}
    if table is None:
        row.update(dict.fromkeys(names))
        return
    keys = [one.key for one in box_species()]
    cells = table[keys.index(row["species"])]
    for name, part in names.items():
        row[name] = {cells[change]["change"]: cells[change][part] for change in Change}
