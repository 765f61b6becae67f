"""Causal values of species: the same games with one thing changed for one player, compared game by game.

- `points_off`: the species makes no points for the player, who knows it. (What it adds to other species' counts stays.)
- `effect_off`: its effect, bonus and permanent effect do nothing for the player, doubling by a Blanket Bog included.
- `opening_copy`: one more copy in the player's opening hand. It changes places with a random card of the hand that does
  not show the species; the copy is a random one that nobody holds, in stack or box, so nobody else's hand changes.

The other players play by the rules as they are. The player in question is one of a policy's seats, each in turn.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from experiments.card_estimates import false_discovery
from experiments.causal_sums import CAUSAL_SUMS, CHANGES, TABLE_CHANGES, Change, changed_row, sum_changes
from experiments.estimates import LEVEL, Estimate, bounded_estimate, estimate
from experiments.results import Sums, play_out
from sim.batch import Match
from sim.rules import SHARES, SPECIES
from sim.state import new_games

CHUNK = 5  # deals
GAMES_A_DEAL = 1 + SPECIES * CHANGES  # at most: the deal as it is, and with every change
POINTS = ("score_op", "score_arg", "score_n", "steps")
EFFECTS = (
    *("effect_op", "effect_types", "effect_n", "bonus_op", "bonus_types", "bonus_n"),
    *("trigger_types", "share", "share_types", "doubles"),
)
FIELDS = {Change.POINTS_OFF: POINTS, Change.EFFECT_OFF: EFFECTS}
DOES_SOMETHING = {  # any of these not 0
    Change.POINTS_OFF: ("score_n", "steps"),
    Change.EFFECT_OFF: ("effect_op", "bonus_op", "trigger_types", "share", "doubles"),
}


def changed_tables(tables: np.ndarray) -> np.ndarray:
    """Return the tables as they are, and in row `changed_row(species, change)` with the species' fields set to 0.

    Parameters
    ----------
    tables
        Shape (1,), dtype TABLES.

    Returns
    -------
    np.ndarray, shape (1 + species x changes,), dtype TABLES, read-only
    """
    rows = np.repeat(tables, 1 + SPECIES * len(TABLE_CHANGES))
    for species in range(SPECIES):
        for change in TABLE_CHANGES:
            for name in FIELDS[change]:
                rows[changed_row.py_func(species, change)][name][species] = 0
    rows.flags.writeable = False
    return rows


def what_matters(tables: np.ndarray) -> np.ndarray:
    """Return which changes can change anything: uint8, (SPECIES, CHANGES); no points or no effect, nothing to lose."""
    matters = np.ones((SPECIES, CHANGES), np.uint8)
    for change, names in DOES_SOMETHING.items():
        for species in range(SPECIES):
            matters[species, change] = any(np.any(tables[0][name][species]) for name in names)
    return matters


class CausalRun:
    """Plays the changed games of one policy's seats in a match; `work` serves `experiments.results.sum_games`."""

    def __init__(self, match: Match, seats: Sequence[int]) -> None:
        self.match = replace(match, tables=changed_tables(match.tables))
        self.seats = np.array(seats, np.uint8)
        self.matters = what_matters(match.tables)

    def work(self, start: int, count: int) -> dict[str, np.ndarray]:
        """Return the sums of games start .. start+count-1, by the names of CAUSAL_SUMS.

        Raises
        ------
        DartmoorError
            A policy returned an index that does not exist.
        """
        sums, at, match = np.zeros(1, CAUSAL_SUMS), np.zeros(1, np.int64), self.match
        deals = (int(match.cave_mode), match.kernel_caves, np.uint64(match.seed), start, count)
        play_out(sum_changes, match, new_games(), at, *deals, self.seats, self.matters, sums)
        return {name: sums[name][0] for name in CAUSAL_SUMS.names or ()}


def causal_rows(sums: Sums, matters: np.ndarray, games: int, level: float = LEVEL) -> list[list[dict[str, Any]]]:
    """Return for each species and each Change `{change, win_share, score, different, q}`.

    `win_share` and `score` are the changed game minus the game as it is. `different` counts the games in which anyone's
    score changed. `q` is the false-discovery value of the win-share change over all species; None where there is
    nothing to judge, as for a species without effects: its change is exactly 0.
    """
    table = [[_change(sums, matters, games, species, change, level) for change in Change] for species in range(SPECIES)]
    for change in Change:
        column = [row[change] for row in table]
        for cell, q in zip(column, false_discovery([one["win_share"] for one in column], level), strict=True):
            cell["q"] = q
    return table


def _change(sums: Sums, matters: np.ndarray, games: int, species: int, change: Change, level: float) -> dict[str, Any]:
    if not matters[species, change]:
        share = score = _exactly_zero(games)
        return {"change": change.name.lower(), "win_share": share, "score": score, "different": 0}
    n, total, squares, score_total, score_squares, different = (
        int(sums[name][species, change]) for name in ("games", "share", "share_sq", "score", "score_sq", "different")
    )
    return {
        "change": change.name.lower(),
        "win_share": bounded_estimate(total, squares, n, -SHARES, SHARES, SHARES, level),
        "score": estimate(score_total, score_squares, n, level=level),
        "different": different,
    }


def _exactly_zero(games: int) -> Estimate:
    return {"value": 0.0, "se": 0.0, "ci": [0.0, 0.0], "n": games}
