"""Ratings of policies from tables: a choice model with error bars for any number of players, and openskill's.

Elo ratings here are the fit of Luce's choice axiom: at a table, policy p with k seats takes the share k exp(r_p) / sum
k_q exp(r_q) of the wins. With two players this is the model of Bradley, Terry and Elo. A fit of shares by maximum
likelihood is consistent whatever their distribution; its covariance is the sandwich of the information and the observed
covariance of block shares, which with two players is that of the pentanomial counts.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.estimates import LEVEL, Estimate, normal_quantile
from experiments.sprt import ELO_SCALE, elo_of
from experiments.tournament import TableResult, Tournament
from sim.errors import DartmoorError
from sim.rules import SHARES

PER_NATURAL = ELO_SCALE / math.log(10)  # Elo points for a factor of e
PRIOR_BLOCKS = 1  # blocks shared fairly that every table is given, so that a policy that always won has a rating
STEPS = 100
CLOSE_ENOUGH = 1e-10
OPENSKILL_BLOCKS = 1000  # blocks a table that openskill, which learns game by game, is fed


def elo_estimate(share: Estimate) -> dict[str, Any]:
    """Return the Elo difference of a win share's estimate; an infinite value or end is None."""
    value, (low, high) = share["value"], share["ci"]
    inside = 0 < value < 1 and share["se"] is not None
    slope = PER_NATURAL / (value * (1 - value)) if inside else None
    return {
        "value": _finite(elo_of(value)),
        "se": share["se"] * slope if slope else None,
        "ci": [_finite(elo_of(low)), _finite(elo_of(high))],
        "n": share["n"],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def elo_ratings(results: Sequence[TableResult]) -> list[dict[str, Any]] | None:
    """Return each policy's Elo rating, the mean over policies being 0; None if the tables do not link all policies.

    Tables of one policy alone say nothing and are left out.
    """
    mixed = [result for result in results if len(set(result.table)) > 1]
    names = list(dict.fromkeys(name for result in mixed for name in result.table))
    if not mixed or not _linked(names, mixed):
        return None
    rows = [np.array([names.index(entrant) for entrant in result.entrants]) for result in mixed]
    ratings = _fit(len(names), mixed, rows)
    covariance = _sandwich(ratings, mixed, rows)
    return [
        {"policy": name, "elo": _rating(ratings[i], covariance[i, i], _blocks_of(name, mixed))}
        for i, name in enumerate(names)
    ]


def _rating(value: float, variance: float, blocks: int) -> Estimate:
    value, se = float(value * PER_NATURAL), float(math.sqrt(max(variance, 0.0)) * PER_NATURAL)
    half = normal_quantile(LEVEL) * se
    return {"value": value, "se": se, "ci": [value - half, value + half], "n": blocks}


def _blocks_of(name: str, results: Sequence[TableResult]) -> int:
    return sum(result.blocks for result in results if name in result.table)


def _linked(names: Sequence[str], results: Sequence[TableResult]) -> bool:
    """Return whether every policy met every other, directly or through others."""
    reached, grew = {names[0]}, True
    while grew:
        met = {name for result in results if reached & set(result.table) for name in result.table}
        grew = not met <= reached
        reached |= met
    return reached == set(names)


def _model(ratings: np.ndarray, result: TableResult, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected shares of a table's entrants and the information in one block."""
    weight = result.members.sum(1) * np.exp(ratings[row] - ratings[row].max())
    expected = weight / weight.sum()
    return expected, np.diag(expected) - np.outer(expected, expected)


def _fit(count: int, results: Sequence[TableResult], rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return the most likely ratings in natural units, mean 0, by Newton's method (the likelihood is concave)."""
    ratings = np.zeros(count)
    for _ in range(STEPS):
        slope, information = np.zeros(count), np.zeros((count, count))
        for result, row in zip(results, rows, strict=True):
            expected, one_block = _model(ratings, result, row)
            fair = result.members.sum(1) / result.sums.n
            observed = result.moments()[0] / (SHARES * result.sums.n) + PRIOR_BLOCKS * fair
            blocks = result.blocks + PRIOR_BLOCKS
            slope[row] += observed - blocks * expected
            information[np.ix_(row, row)] += blocks * one_block
        step = np.linalg.pinv(information, hermitian=True) @ slope
        step *= min(1.0, 1.0 / max(np.abs(step).max(), CLOSE_ENOUGH))  # far from the top Newton overshoots
        ratings = ratings + step - (ratings + step).mean()
        if np.abs(step).max() < CLOSE_ENOUGH:
            break
    return ratings


def _sandwich(ratings: np.ndarray, results: Sequence[TableResult], rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return the covariance of the ratings, shape (m, m), in natural units."""
    count = len(ratings)
    information, noise = np.zeros((count, count)), np.zeros((count, count))
    for result, row in zip(results, rows, strict=True):
        one_block = _model(ratings, result, row)[1]
        information[np.ix_(row, row)] += (result.blocks + PRIOR_BLOCKS) * one_block
        noise[np.ix_(row, row)] += _block_noise(result, one_block)
    bread = np.linalg.pinv(information, hermitian=True)
    return bread @ noise @ bread


def _block_noise(result: TableResult, one_block: np.ndarray) -> np.ndarray:
    """Return the covariance of the sum of block shares; of a single block, or blocks all alike, what the model says."""
    sums, products = result.moments()
    n, scale = result.blocks, SHARES * result.sums.n
    if n < 2:
        return n * one_block
    observed = (products - np.outer(sums, sums) / n) / scale**2 * n / (n - 1)
    return observed if np.trace(observed) > 0 else n * one_block


def openskill_ratings(tournament: Tournament) -> list[dict[str, Any]]:
    """Return each policy's openskill rating (model Plackett-Luce, its defaults), fed game by game in block order.

    Places are by score, equal scores tie. Copies of a policy at one table share a rating and take the mean of their
    changes. The error is the model's own sigma, a belief, not a sampling error; the rating also depends on the order of
    games, which is fixed.

    Raises
    ------
    DartmoorError
        The package openskill is not installed.
    """
    try:
        from openskill.models import PlackettLuce
    except ImportError:
        raise DartmoorError(
            "--openskill: needs the package openskill: pip install '.[ratings]' in the project's folder"
        ) from None
    model = PlackettLuce()
    tables = [result.table for result in tournament.results]
    ratings = {name: model.rating(name=name) for table in tables for name in table}
    games = dict.fromkeys(ratings, 0)
    for block in range(max(len(scores) for scores in tournament.scores)):
        for table, scores in zip(tables, tournament.scores, strict=True):
            for game in scores[block : block + 1].reshape(-1, len(table)):
                _rate(model, ratings, table, game)
                for name in set(table):
                    games[name] += 1
    z = normal_quantile(LEVEL)
    return [
        {
            "policy": name,
            "openskill": {
                "value": rating.mu,
                "se": rating.sigma,
                "ci": [rating.mu - z * rating.sigma, rating.mu + z * rating.sigma],
                "n": games[name],
            },
        }
        for name, rating in ratings.items()
    ]


def _rate(model: Any, ratings: dict[str, Any], table: Sequence[str], game: np.ndarray) -> None:
    """Take one game, scores by position, into the ratings."""
    teams = [[model.create_rating([ratings[name].mu, ratings[name].sigma])] for name in table]
    rated = model.rate(teams, scores=[float(score) for score in game])
    for name in set(table):
        own = [team[0] for team, other in zip(rated, table, strict=True) if other == name]
        ratings[name].mu = float(np.mean([rating.mu for rating in own]))
        ratings[name].sigma = float(np.mean([rating.sigma for rating in own]))
