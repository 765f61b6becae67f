"""The totals of a run in the users' terms: win shares, scores, length, winters, endings, species, caves."""

from typing import Any

import numpy as np

from experiments.estimates import (
    Estimate,
    estimate,
    histogram_quantiles,
    histogram_sums,
    proportion_estimate,
    share_estimate,
    standard_deviation,
)
from experiments.options import Setting
from sim import ENGINE_VERSION, __version__
from sim.codes import CaveMode, Ending
from sim.rules import SHARES
from sim.species import box_species

ENDINGS = (Ending.DRAW, Ending.TREE, Ending.EFFECT, Ending.CAVE)


def summarise(setting: Setting, totals: np.ndarray, seconds: float) -> dict[str, Any]:
    """Return the document of `simulate --json` for the totals (shape (1,), dtype TOTALS) of a run."""
    row = totals[0]
    games = int(row["games"])
    return {
        "games": games,
        "players": setting.players,
        "seed": setting.seed,
        "version": __version__,
        "engine_version": ENGINE_VERSION,
        "deck": setting.world.deck.name,
        "caves_mode": setting.caves_text,
        "assumptions": setting.world.assumptions,
        "seconds": seconds,
        "games_per_second": games / seconds if seconds > 0 else None,
        "decisions": int(row["decisions"]),
        "swaps": int(row["swaps"]),
        "ties": proportion_estimate(int(row["ties"]), games),
        "seats": [seat_summary(setting, row, seat) for seat in range(setting.players)],
        "length": {
            "turns": distribution(row["turns"]),
            "rounds": distribution(row["rounds"]),
            "stack_left": distribution(row["stack_left"]),
        },
        "winter": [winter_summary(row, winter) for winter in range(len(row["winter_turn"]))],
        "endings": {ending.name.lower(): int(row["ending"][ending]) for ending in ENDINGS},
        "species": species_summary(row, games, setting.players),
        "caves": cave_summary(setting, row),
    }


def distribution(counts: np.ndarray) -> dict[str, Any]:
    """Return mean and exact quantiles of a histogram over 0, 1, 2, ..; its last bin also counts all beyond."""
    total, squares, n = histogram_sums(counts)
    last = int(counts[-1])
    return {
        "mean": estimate(total, squares, n),
        "quantiles": histogram_quantiles(counts),
        **({"beyond_range": last} if last else {}),
    }


def seat_summary(setting: Setting, row: np.void, seat: int) -> dict[str, Any]:
    """Return win share and score of one seat."""
    games = int(row["games"])
    total, squares = int(row["score"][seat]), int(row["score_sq"][seat])
    return {
        "seat": seat,
        "policy": setting.seats[seat].name,
        "cave": setting.cave_numbers[seat] if setting.cave_mode == CaveMode.GIVEN else setting.caves_text,
        "win_share": share_estimate(int(row["share"][seat]), int(row["share_sq"][seat]), games, SHARES),
        "score": {
            **estimate(total, squares, games),
            "sd": standard_deviation(total, squares, games),
            "quantiles": histogram_quantiles(row["score_bins"][seat]),
            "max": int(row["score_max"][seat]),
        },
    }


def winter_summary(row: np.void, winter: int) -> dict[str, Any]:
    """Return when a winter came."""
    return {
        "winter": winter + 1,
        "turn": distribution(row["winter_turn"][winter]),
        "round": distribution(row["winter_round"][winter]),
        "stack_left": distribution(row["winter_left"][winter]),
    }


def species_summary(row: np.void, games: int, players: int) -> dict[str, dict[str, Any]]:
    """Return what all seats together made of each species, a game; `in_final_forest` is a share of all forests."""

    def mean(name: str, code: int, scale: int = 1) -> Estimate:
        return estimate(int(row[name][code]), int(row[f"{name}_sq"][code]), games, scale)

    return {
        species.key: {
            "played": mean("copies", code),
            "played_for_cost": mean("paid", code),
            "in_final_forest": mean("forests", code, players),
            "points": mean("points", code),
        }
        for code, species in enumerate(box_species())
    }


def cave_summary(setting: Setting, row: np.void) -> list[dict[str, Any]]:
    """Return win share and score by cave. With the draft the players chose them: no comparison of like with like."""
    caves = []
    for index, cave in enumerate(setting.world.caves):
        games = int(row["cave_games"][index])
        if games:
            share = share_estimate(int(row["cave_share"][index]), int(row["cave_share_sq"][index]), games, SHARES)
            score = estimate(int(row["cave_score"][index]), int(row["cave_score_sq"][index]), games)
            caves.append({"cave": cave.number, "effect": cave.effect, "win_share": share, "score": score})
    return caves
