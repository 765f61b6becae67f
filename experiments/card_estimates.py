"""From the sums of `card_sums` to estimates: ratios, differences of ratios, standardised by turn, and lifts of pairs.

Copies, players and species of one game depend on each other; games do not. So every error is that of the games' totals:
an estimate is linearised (delta method, for survey ratios see Cochran, "Sampling Techniques", 3rd ed., 1977, chapter 6)
and its variance is that of the sum of the games' residuals.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.card_sums import GAMES, XX, XY, YY, X, Y
from experiments.estimates import (
    LEVEL,
    Estimate,
    benjamini_hochberg,
    normal_quantile,
    p_value,
    ratio_estimate,
    sample_variance,
    t_quantile,
)
from sim.rules import SHARES

LEAST_GAMES = 30  # below, neither a normal approximation nor a p-value is to be trusted
LEAST_FORESTS = 100  # of each kind that a pair is judged by

NOTHING: Estimate = {"value": None, "se": None, "ci": None, "n": 0}


def ratio(sums: Sequence[int], scale: int = 1, level: float = LEVEL) -> Estimate:
    """Return y / x of a ratio's six sums, with errors clustered by game; y in units of 1 / `scale`."""
    return ratio_estimate(sums[Y], sums[X], sums[YY], sums[XY], sums[XX], int(sums[GAMES]), scale, level)


def share_ratio(sums: Sequence[int], scale: int = SHARES, level: float = LEVEL) -> Estimate:
    """Return a ratio that lies between 0 and 1, with an interval that stays there.

    The interval is Wilson's with an effective number of games, as in `experiments.estimates.bounded_estimate`: the
    clustered variance takes the place of that of independent observations.
    """
    result = ratio(sums, scale, level)
    if result["se"] is None:
        return result
    value, n = result["value"], result["n"]
    z = normal_quantile(level)
    pseudo = z * z / 4
    size = n * (n * value * (1 - value) + pseudo) / (result["se"] ** 2 * n * (n - 1) + pseudo)
    middle = (value + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * math.sqrt(value * (1 - value) / size + z * z / (4 * size * size))
    return {**result, "ci": [max(0.0, middle - half), min(1.0, middle + half)]}


def ratio_difference(
    first: Sequence[int], second: Sequence[int], products: np.ndarray, scale: int = SHARES, level: float = LEVEL
) -> Estimate:
    """Return the first ratio minus the second, of the same games.

    `products`, shape (4, 4), holds the sums over games of the products of x and y of the first, x and y of the second.
    """
    n = min(int(first[GAMES]), int(second[GAMES]))
    if n == 0:
        return NOTHING
    x1, x2 = float(first[X]), float(second[X])
    a, b = float(first[Y]) / x1, float(second[Y]) / x2
    return linear_estimate(a - b, np.array([-a / x1, 1 / x1, b / x2, -1 / x2]), products, n, scale, level)


def standardised_difference(
    bins: np.ndarray, baseline: np.ndarray, products: np.ndarray, n: int, scale: int = SHARES, level: float = LEVEL
) -> Estimate:
    """Return the sum of y - r x over that of x, of all bins, where r is the ratio of the baseline in the same bin.

    Parameters
    ----------
    bins, baseline
        Shape (bins, 6): the sums of one species' ratio in every bin, and those of all cards together. The baseline
        rests on some 66 times the data; its own error is left out.
    products
        Shape (2 bins, 2 bins): sums over games of the products of x and y of every bin, x0, y0, x1, y1, ..
    n
        Number of games with x > 0 in any bin.
    """
    x, y = bins[:, X].astype(float), bins[:, Y].astype(float)
    if n == 0:
        return NOTHING
    all_x = baseline[:, X].astype(float)
    r = np.divide(baseline[:, Y].astype(float), all_x, out=np.zeros(len(all_x)), where=all_x > 0)
    value = float((y - r * x).sum() / x.sum())
    coefficients = np.empty(2 * len(x))
    coefficients[0::2], coefficients[1::2] = -(r + value) / x.sum(), 1 / x.sum()
    return linear_estimate(value, coefficients, products, n, scale, level)


def linear_estimate(
    value: float, coefficients: np.ndarray, products: np.ndarray, n: int, scale: int, level: float
) -> Estimate:
    """Return a linearised estimate: a game's residual is the sum of its totals times the coefficients."""
    if n < 2:
        return {"value": value / scale, "se": None, "ci": None, "n": n}
    squares = max(0.0, float(coefficients @ products.astype(float) @ coefficients))
    se = math.sqrt(squares * n / (n - 1)) / scale
    half = t_quantile(level, n - 1) * se
    return {"value": value / scale, "se": se, "ci": [value / scale - half, value / scale + half], "n": n}


def pair_lift(
    both: Sequence[int],
    first: Sequence[int],
    second: Sequence[int],
    forests: Sequence[int],
    scale: int = SHARES,
    level: float = LEVEL,
) -> Estimate:
    """Return by how much two species in one forest win more than expected from each without the other.

    Expected is the share with the first alone, plus that with the second alone, minus that with neither. Each argument
    holds number, sum and sum of squares of independent observations: forests with both, with the first, with the
    second, and all. `n` is the number of forests with both.
    """
    of_both, of_first, of_second, of_all = (np.array(part, dtype=object) for part in (both, first, second, forests))
    cells = [of_both, of_first - of_both, of_second - of_both, of_all - of_first - of_second + of_both]
    n = int(of_both[0])
    if min(int(cell[0]) for cell in cells) < LEAST_FORESTS:
        return {**NOTHING, "n": n}
    means = [int(cell[1]) / int(cell[0]) for cell in cells]
    value = (means[0] - means[1] - means[2] + means[3]) / scale
    variances = [sample_variance(int(cell[1]), int(cell[2]), int(cell[0])) or 0 for cell in cells]
    se = math.sqrt(sum(variance / int(cell[0]) for variance, cell in zip(variances, cells, strict=True))) / scale
    half = t_quantile(level, min(int(cell[0]) for cell in cells) - 1) * se
    return {"value": value, "se": se, "ci": [value - half, value + half], "n": n}


def false_discovery(estimates: Sequence[Estimate], level: float = LEVEL) -> list[float | None]:
    """Return the q-values (Benjamini and Hochberg) of estimates against 0; None where there is too little to judge by.

    Calling every estimate with q below 0.05 different from 0, at most one in 20 of these calls is expected to be wrong.
    """
    p_values = [_p_value(one, level) for one in estimates]
    judged = [i for i, p in enumerate(p_values) if p is not None]
    adjusted = benjamini_hochberg([p for p in p_values if p is not None])
    result: list[Any] = [None] * len(p_values)
    for i, q in zip(judged, adjusted, strict=True):
        result[i] = q
    return result


def _p_value(one: Estimate, level: float) -> float | None:
    """Return a p-value, None for too few games and for what is certain (a change that changes nothing)."""
    if one["n"] < LEAST_GAMES or one["ci"] is None or one["ci"][0] == one["ci"][1]:
        return None
    return p_value(one, level=level)
