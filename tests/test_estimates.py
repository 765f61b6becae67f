"""Estimates against scipy, against hand-made cases, and their intervals' coverage by simulation with fixed seeds."""

import math

import numpy as np
import pytest
from scipy import stats

from experiments import estimates
from sim.rules import SHARES

SHARE_UNITS = (0, 12, 15, 20, 30, SHARES)  # of a win: none, tied by five, four, three, two, alone


def sums(values):
    """Return the exact sum and sum of squares of integers."""
    return int(np.sum(values)), int(np.sum(np.square(values, dtype=np.int64)))


def pair_sums(x, y):
    """Return the sums of x, y, xx, xy and yy of two integer arrays."""
    return tuple(int(np.sum(values, dtype=np.int64)) for values in (x, y, x * x, x * y, y * y))


def covers(result, truth):
    low, high = result["ci"]
    return low <= truth <= high


def test_estimate_is_the_t_interval_of_scipy():
    values = np.random.default_rng(1).integers(-50, 300, 40)
    result = estimates.estimate(*sums(values), len(values))
    interval = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert result["value"] == pytest.approx(values.mean(), rel=1e-12)
    assert result["se"] == pytest.approx(stats.sem(values), rel=1e-12)
    assert result["ci"] == pytest.approx(list(interval), rel=1e-9)
    assert result["n"] == 40


def test_estimate_scales_units():
    values = np.array([0, 30, 60, 60])
    shares = estimates.estimate(*sums(values), 4, SHARES)
    assert shares["value"] == 0.625
    assert shares["se"] == pytest.approx(stats.sem(values / SHARES))


def test_estimate_keeps_precision_where_squares_are_huge():
    values = np.arange(5) + 10**9
    result = estimates.estimate(int(values.sum()), sum(int(v) ** 2 for v in values), 5)
    assert result["se"] == pytest.approx(math.sqrt(2.5 / 5), rel=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        estimates.estimate,
        estimates.share_estimate,
        lambda total, squares, n: estimates.clustered_estimate(total, squares, n, 1),
        lambda total, squares, n: estimates.ratio_estimate(total, n, squares, total, n, n),
        lambda total, squares, n: estimates.paired_difference(total, 0, squares, 0, 0, n),
    ],
)
def test_few_observations(make):
    assert make(0, 0, 0) == {"value": None, "se": None, "ci": None, "n": 0}
    single = make(1, 1, 1)
    assert single["value"] == 1
    assert single["se"] is None
    same = make(4, 4, 4)
    assert same["value"] == 1
    assert same["se"] == 0


def test_clusters_count_once():
    totals = np.random.default_rng(2).integers(100, 400, 30)  # of three seats each
    result = estimates.clustered_estimate(*sums(totals), 30, 3)
    assert result["value"] == pytest.approx((totals / 3).mean())
    assert result["se"] == pytest.approx(stats.sem(totals / 3))
    assert result["n"] == 30


def test_ratio_of_equal_denominators_is_the_mean():
    y = np.random.default_rng(3).integers(0, 20, 25)
    x = np.full(25, 2)
    ratio = estimates.ratio_estimate(y.sum(), x.sum(), (y * y).sum(), (x * y).sum(), (x * x).sum(), 25)
    mean = estimates.estimate(*sums(y), 25, 2)
    for key in ratio:
        assert ratio[key] == pytest.approx(mean[key])


def test_ratio_from_a_single_game_claims_no_certainty():
    result = estimates.ratio_estimate(y=12, x=3, yy=144, xy=36, xx=9, clusters=1)
    assert (result["value"], result["se"], result["ci"]) == (4.0, None, None)


def test_paired_difference_is_that_of_the_differences():
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, 200, 50), rng.integers(0, 200, 50)
    a, b, aa, ab, bb = pair_sums(x, y)
    result = estimates.paired_difference(a, b, aa, ab, bb, 50)
    test = stats.ttest_rel(x, y)
    assert result["value"] == pytest.approx((x - y).mean())
    assert result["ci"] == pytest.approx(list(test.confidence_interval(0.95)))
    assert estimates.p_value(result) == pytest.approx(test.pvalue, rel=1e-9)


@pytest.mark.parametrize("count, n", [(0, 10), (1, 10), (5, 10), (10, 10), (3, 1000), (999, 1000), (1, 1)])
def test_proportion_is_the_wilson_interval_of_scipy(count, n):
    result = estimates.proportion_estimate(count, n)
    interval = stats.binomtest(count, n).proportion_ci(0.95, method="wilson")
    assert result["ci"] == pytest.approx([interval.low, interval.high], abs=1e-12)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_quantiles_of_distributions(level):
    assert estimates.normal_quantile(level) == pytest.approx(stats.norm.ppf((1 + level) / 2))
    assert estimates.t_quantile(level, 7) == pytest.approx(stats.t.ppf((1 + level) / 2, 7))


def test_shares_at_the_ends_are_not_certain():
    lost = estimates.share_estimate(0, 0, 20, SHARES)
    won = estimates.share_estimate(20 * SHARES, 20 * SHARES**2, 20, SHARES)
    assert lost["ci"][0] == 0 and 0.1 < lost["ci"][1] < 0.2
    assert won["ci"][1] == 1 and 0.8 < won["ci"][0] < 0.9


def test_equal_shares_of_paired_games_narrow_the_interval():
    halves = estimates.share_estimate(30 * 400, 900 * 400, 400, SHARES)  # every deal shared
    whole = estimates.share_estimate(SHARES * 200, SHARES**2 * 200, 400, SHARES)  # every second deal won
    assert halves["value"] == whole["value"] == 0.5
    assert 0 < halves["ci"][1] - halves["ci"][0] < 0.2 * (whole["ci"][1] - whole["ci"][0])


SHARE_CASES = {
    "even": (50, (0.5, 0, 0, 0, 0, 0.5)),
    "seat of three with ties": (100, (0.62, 0, 0, 0.03, 0.05, 0.3)),
    "seldom wins": (60, (0.95, 0, 0, 0, 0, 0.05)),
    "seldom wins, mostly ties": (60, (0.93, 0, 0, 0.02, 0.04, 0.01)),
    "nearly always wins": (40, (0.02, 0, 0, 0, 0.02, 0.96)),
    "hardly ever wins": (200, (0.99, 0, 0, 0, 0.005, 0.005)),
    "always five equals": (30, (0, 0.98, 0, 0, 0, 0.02)),
    "few games": (10, (0.4, 0, 0, 0, 0.2, 0.4)),
}


@pytest.mark.parametrize("case", SHARE_CASES)
def test_coverage_of_share_intervals(case):
    """At least nearly the level in every case, also where the plain interval of the mean fails."""
    n, chances = SHARE_CASES[case]
    truth = float(np.dot(chances, SHARE_UNITS)) / SHARES
    draws = np.random.default_rng(5).choice(SHARE_UNITS, size=(2000, n), p=chances)
    covered = [covers(estimates.share_estimate(*sums(row), n, SHARES), truth) for row in draws]
    assert np.mean(covered) >= 0.93


def test_coverage_of_paired_share_differences():
    """Two caves seldom change who wins: most differences are nought, and sometimes all of them."""
    units = np.array([-SHARES, 0, SHARES])
    for chances in ((0.01, 0.97, 0.02), (0.1, 0.7, 0.2), (0.0, 0.98, 0.02)):
        truth = float(np.dot(chances, units)) / SHARES
        draws = np.random.default_rng(6).choice(units, size=(2000, 80), p=chances)
        covered = []
        for row in draws:
            total, squares = sums(row)
            result = estimates.bounded_estimate(total, squares, 80, -SHARES, SHARES, SHARES)
            covered.append(covers(result, truth))
        assert np.mean(covered) >= 0.93, chances


def test_paired_share_difference_from_sums():
    x, y = np.array([60, 0, 60, 30]), np.array([0, 0, 60, 30])
    a, b, aa, ab, bb = pair_sums(x, y)
    result = estimates.paired_share_difference(a, b, aa, ab, bb, 4, SHARES)
    assert result["value"] == 0.25
    assert result["se"] == pytest.approx(stats.sem((x - y) / SHARES))
    assert -1 <= result["ci"][0] < 0.25 < result["ci"][1] <= 1


def test_coverage_of_ratios():
    """Points per play where the number of plays of a game and its points depend on each other."""
    rng = np.random.default_rng(7)
    plays = rng.poisson(0.8, size=(2000, 300))
    strength = rng.normal(5, 2, size=plays.shape)
    points = np.round(plays * strength + 0.5 * plays**2).astype(int)
    truth = (0.8 * 5 + 0.5 * (0.8 + 0.64)) / 0.8
    covered = []
    for x, y in zip(plays, points, strict=True):
        sx, sy, xx, xy, yy = pair_sums(x, y)
        covered.append(covers(estimates.ratio_estimate(sy, sx, yy, xy, xx, int((x > 0).sum())), truth))
    assert 0.93 <= np.mean(covered) <= 0.97


def test_sums_of_shards_give_the_same_estimate():
    values = np.random.default_rng(8).integers(0, 300, 1000)
    parts = [sums(part) for part in np.array_split(values, 7)]
    merged = estimates.estimate(sum(a for a, _ in parts), sum(b for _, b in parts), 1000)
    assert merged == estimates.estimate(*sums(values), 1000)


def test_histogram_sums():
    values = np.array([3, 3, 5, 9])
    counts = np.bincount(values - 3)
    assert estimates.histogram_sums(counts, first=3) == (20, 124, 4)


def test_histogram_quantiles_are_inverse_distribution_values():
    values = np.random.default_rng(9).integers(-5, 60, 997)
    counts = np.bincount(values + 5)
    levels = (0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.95, 1)
    expected = np.quantile(values, levels, method="inverted_cdf")
    result = estimates.histogram_quantiles(counts, levels, first=-5)
    assert list(result.values()) == [int(value) for value in expected]
    assert list(result) == ["0", "5", "10", "25", "50", "75", "95", "100"]


def test_histogram_quantiles_read_levels_as_written():
    """0.1 times 30 is just above 3 in binary; the tenth part of 30 observations is the third."""
    assert estimates.histogram_quantiles(np.ones(30, int), (0.1,), first=1) == {"10": 3}


def test_histogram_quantiles_of_nothing():
    assert estimates.histogram_quantiles([], (0.5,)) == {"50": None}
    assert estimates.histogram_quantiles([0, 0], (0.5,)) == {"50": None}


def test_standard_deviation():
    assert estimates.standard_deviation(6, 14, 3) == pytest.approx(1.0)
    assert estimates.standard_deviation(6, 36, 1) is None


def test_p_value_agrees_with_the_interval():
    for wins in range(21):
        result = estimates.proportion_estimate(wins, 20)
        assert (estimates.p_value(result, 0.5) < 0.05) == (not covers(result, 0.5))


def test_p_value_of_games_all_won():
    assert 0 < estimates.p_value(estimates.proportion_estimate(5, 5), 0.5) < 0.05
    assert estimates.p_value(estimates.proportion_estimate(3, 6), 0.5) == 1.0
    assert estimates.p_value(estimates.estimate(0, 0, 0)) is None


def test_benjamini_hochberg_is_that_of_scipy():
    p = np.random.default_rng(10).uniform(0, 0.2, 30)
    assert estimates.benjamini_hochberg(p) == pytest.approx(list(stats.false_discovery_control(p)))


def test_holm_by_hand():
    assert estimates.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert estimates.holm([0.9, 0.8]) == [1.0, 1.0]
    assert estimates.holm([]) == estimates.benjamini_hochberg([]) == []
