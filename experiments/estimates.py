"""Estimates with their uncertainty, from exact integer sums.

Sums of integers merge exactly over threads, machines and resumed runs, so an estimate does not depend on how its games
were divided. `n` is always the number of independent observations: games, or deals when several games share one (then
the sums are over the deals' totals). Every estimate is `{"value", "se", "ci": [low, high], "n"}`, with None where the
data say nothing: no value without observations, no standard error from a single one.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

LEVEL = 0.95  # of every interval that does not ask for another
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

Estimate = dict[str, Any]


def estimate(total: int, squares: int, n: int, scale: int = 1, level: float = LEVEL) -> Estimate:
    """Return the mean of `n` independent observations, with Student's t interval.

    Parameters
    ----------
    total, squares
        Exact sums of the observations and of their squares, in units of 1 / `scale`.
    n
        Number of observations.
    scale
        What one unit of the result is in the sums, such as 60 for win shares counted in sixtieths.
    level
        Confidence level of the interval.
    """
    if n == 0:
        return _estimate(None, None, None, 0)
    value = int(total) / (n * scale)
    variance = sample_variance(total, squares, n)
    if variance is None:
        return _estimate(value, None, None, n)
    se = math.sqrt(variance / n) / scale
    half = t_quantile(level, n - 1) * se
    return _estimate(value, se, [value - half, value + half], n)


def clustered_estimate(
    total: int, squares: int, clusters: int, size: int, scale: int = 1, level: float = LEVEL
) -> Estimate:
    """Return the mean over clusters of `size` dependent observations each, such as the seats of a game.

    Only the clusters are independent: `squares` is the sum of the squared totals of the clusters, and `n` of the result
    is `clusters`. For clusters of different sizes see `ratio_estimate`.
    """
    return estimate(total, squares, clusters, scale * size, level)


def ratio_estimate(
    y: int, x: int, yy: int, xy: int, xx: int, clusters: int, scale: int = 1, level: float = LEVEL
) -> Estimate:
    """Return the ratio of two means by the delta method: points when played are points over plays, clustered by game.

    The variance of y/x is that of the residuals y_c - (y/x) x_c over the clusters c, divided by the squared mean of x.

    Parameters
    ----------
    y, x
        Sums of numerator and denominator over all clusters; y in units of 1 / `scale`.
    yy, xy, xx
        Sums over the clusters of y_c squared, x_c times y_c, x_c squared.
    clusters
        Number of clusters with x_c > 0: the others add nothing to a sum, and counting them would make a ratio that
        rests on a single game look certain.
    """
    y, x, yy, xy, xx = int(y), int(x), int(yy), int(xy), int(xx)
    if x == 0:
        return _estimate(None, None, None, clusters)
    value = y / (x * scale)
    if clusters < 2:
        return _estimate(value, None, None, clusters)
    residuals = Fraction(yy * x * x - 2 * x * y * xy + y * y * xx, x**4)
    se = math.sqrt(residuals * clusters / (clusters - 1)) / scale
    half = t_quantile(level, clusters - 1) * se
    return _estimate(value, se, [value - half, value + half], clusters)


def difference_sums(x: int, y: int, xx: int, xy: int, yy: int) -> tuple[int, int]:
    """Return the sum and the sum of squares of x - y over pairs, from the sums of both."""
    return int(x) - int(y), int(xx) - 2 * int(xy) + int(yy)


def paired_difference(
    x: int, y: int, xx: int, xy: int, yy: int, n: int, scale: int = 1, level: float = LEVEL
) -> Estimate:
    """Return the mean of x - y over `n` pairs that share their luck; each pair is one observation."""
    return estimate(*difference_sums(x, y, xx, xy, yy), n, scale, level)


def paired_share_difference(
    x: int, y: int, xx: int, xy: int, yy: int, n: int, scale: int = 1, level: float = LEVEL
) -> Estimate:
    """Return the mean difference of two shares over pairs, with the bounded interval of `bounded_estimate`."""
    return bounded_estimate(*difference_sums(x, y, xx, xy, yy), n, -scale, scale, scale, level)


def share_estimate(total: int, squares: int, n: int, scale: int = 1, level: float = LEVEL) -> Estimate:
    """Return the mean of shares between 0 and 1 (win shares, ties split), with the interval of `bounded_estimate`.

    `total` and `squares` are in units of 1 / `scale`. For the mean share of clusters of k games pass k times the scale.
    """
    return bounded_estimate(total, squares, n, 0, scale, scale, level)


def proportion_estimate(count: int, n: int, level: float = LEVEL) -> Estimate:
    """Return the share of `count` in `n` independent cases with Wilson's score interval."""
    return share_estimate(count, count, n, 1, level)


def bounded_estimate(
    total: int, squares: int, n: int, low: int, high: int, scale: int = 1, level: float = LEVEL
) -> Estimate:
    """Return the mean of observations that lie between `low` and `high`, with an interval that holds near the ends.

    The interval is Wilson's score interval for a proportion with an effective number of observations n / d. A mean p of
    values in [0, 1] has a variance of at most p (1 - p), reached by zeros and ones alone. d compares the observed
    variance with that bound:

        d = (S + z^2 / 4) / (n p (1 - p) + z^2 / 4),   S the sum of squared deviations.

    Zeros and ones give d = 1, which is Wilson's interval. Ties and paired games, which vary less, give a narrower one.
    The term z^2 / 4 (the pseudo-observations of Agresti and Coull) draws d to 1 while there is little evidence, so that
    a player who won all of ten games is not said to win for certain. `tests/test_estimates.py` measures the coverage.

    Parameters
    ----------
    total, squares
        Exact sums of the observations and of their squares.
    n
        Number of independent observations.
    low, high
        Bounds of one observation, in the unit of the sums.
    scale
        What one unit of the result is in the sums.
    level
        Confidence level of the interval.
    """
    if n == 0:
        return _estimate(None, None, None, 0)
    total, squares, width = int(total), int(squares), high - low
    variance = sample_variance(total, squares, n)
    se = None if variance is None else math.sqrt(variance / n) / scale
    p = Fraction(total - n * low, n * width)
    deviations = Fraction(0) if variance is None else variance * (n - 1) / width**2
    ends = _wilson(float(p), float(deviations), float(n * p * (1 - p)), n, normal_quantile(level))
    return _estimate(total / (n * scale), se, [(low + width * end) / scale for end in ends], n)


def _wilson(p: float, deviations: float, bound: float, n: int, z: float) -> list[float]:
    """Return the ends of the score interval for a mean `p` of `n` values in [0, 1]; see `bounded_estimate`.

    One observation says nothing about the variance and counts in full.
    """
    pseudo = z * z / 4
    effect = (deviations + pseudo) / (bound + pseudo) if n > 1 else 1.0
    size = n / effect
    middle = (p + z * z / (2 * size)) / (1 + z * z / size)
    half = z / (1 + z * z / size) * math.sqrt(p * (1 - p) / size + z * z / (4 * size * size))
    # At p = 0 and 1 an end is exactly 0 or 1, but for rounding.
    return [0.0 if p == 0 else max(0.0, middle - half), 1.0 if p == 1 else min(1.0, middle + half)]


def sample_variance(total: int, squares: int, n: int) -> Fraction | None:
    """Return the sample variance (divisor n - 1), exactly; None for fewer than two observations."""
    if n < 2:
        return None
    return Fraction(n * int(squares) - int(total) ** 2, n * (n - 1))


def standard_deviation(total: int, squares: int, n: int, scale: int = 1) -> float | None:
    """Return the sample standard deviation; None for fewer than two observations."""
    variance = sample_variance(total, squares, n)
    return None if variance is None else math.sqrt(variance) / scale


def histogram_sums(counts: Sequence[int] | np.ndarray, first: int = 0) -> tuple[int, int, int]:
    """Return total, sum of squares and number of observations of a histogram; `counts[i]` had the value first + i."""
    pairs = [(first + i, int(count)) for i, count in enumerate(counts)]
    return (
        sum(value * count for value, count in pairs),
        sum(value * value * count for value, count in pairs),
        sum(count for _, count in pairs),
    )


def histogram_quantiles(
    counts: Sequence[int] | np.ndarray, levels: Sequence[float] = QUANTILES, first: int = 0
) -> dict[str, int | None]:
    """Return exact quantiles of integer observations, by level in per cent: {"5": .., "25": .., "50": ..}.

    The quantile of level q is the smallest value v such that at least a share q of the observations is at most v (the
    inverse of the empirical distribution function). It is always a value that was observed; the median of an even
    number of observations is the lower of the two in the middle. None without observations.

    Parameters
    ----------
    counts
        Shape (values,); `counts[i]` observations had the value `first` + i.
    levels
        Between 0 (the least value) and 1 (the greatest).
    """
    below = np.cumsum(np.asarray(counts, dtype=np.int64))
    n = int(below[-1]) if below.size else 0
    result: dict[str, int | None] = {}
    for level in levels:
        exact = Fraction(str(level))  # as written: a binary 0.1 is a little more than a tenth
        rank = max(1, math.ceil(exact * n))
        result[f"{float(exact * 100):g}"] = first + int(np.searchsorted(below, rank)) if n else None
    return result


def p_value(result: Estimate, null: float = 0.0, level: float = LEVEL) -> float | None:
    """Return the two-sided p-value of an estimate against `null`, or None where there is no interval.

    It is read off the interval at `level`, not off the standard error, so that it is below 1 - `level` exactly where
    the interval excludes `null`, and a bounded estimate whose observations were all alike has no p-value of zero.
    """
    if result["ci"] is None:
        return None
    value, (low, high) = result["value"], result["ci"]
    if value == null:
        return 1.0
    reach = value - low if value > null else high - value
    if reach <= 0:
        return 0.0
    from scipy.special import stdtr  # slow to import

    degrees = max(1, result["n"] - 1)
    return float(2 * stdtr(degrees, -abs(value - null) / reach * t_quantile(level, degrees)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for many comparisons by Holm: below a, at most a chance a of any false finding."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    return _in_order(order, np.maximum.accumulate(steps))


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Benjamini and Hochberg: below a, a share of at most a of the findings is false."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = p[order] * len(p) / np.arange(1, len(p) + 1)
    return _in_order(order, np.minimum.accumulate(steps[::-1])[::-1])


def _in_order(order: np.ndarray, sorted_values: np.ndarray) -> list[float]:
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(sorted_values, 1.0)
    return [float(value) for value in adjusted]


@cache
def normal_quantile(level: float) -> float:
    """Return z such that a standard normal value lies within +-z with probability `level`."""
    from scipy.special import ndtri  # slow to import

    return float(ndtri((1 + level) / 2))


@cache
def t_quantile(level: float, degrees: int) -> float:
    """Return t such that Student's t with `degrees` of freedom lies within +-t with probability `level`."""
    from scipy.special import stdtrit  # slow to import

    return float(stdtrit(degrees, (1 + level) / 2))


def _estimate(value: float | None, se: float | None, ci: list[float] | None, n: int) -> Estimate:
    return {"value": value, "se": se, "ci": ci, "n": int(n)}
