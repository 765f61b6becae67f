"""Playing until an interval is narrow enough: looks, level, and coverage where the truth is known."""

import numpy as np
import pytest

from experiments.estimates import LEVEL, estimate, normal_quantile, proportion_estimate
from experiments.precision import (
    Plan,
    critical_value,
    half_width,
    look_schedule,
    make_plan,
    run_plan,
    simultaneous_level,
    stay_probability,
    widest,
)
from experiments.results import sum_games
from sim.errors import DartmoorError


def test_one_look_is_an_ordinary_interval():
    assert critical_value((5000,)) == pytest.approx(normal_quantile(LEVEL), abs=1e-6)
    assert make_plan(700) == Plan((700,), LEVEL, None)


@pytest.mark.parametrize(
    ("most", "looks"), [(500, (500,)), (1999, (1999,)), (2000, (1000, 2000)), (7001, (1751, 3501, 7001))]
)
def test_looks_halve_from_the_longest_run(most, looks):
    assert look_schedule(most) == looks


def test_critical_value_of_equally_spaced_looks_is_pocock_s():
    """Pocock's table of 1977, two-sided 5 %: 2.178, 2.289, 2.361, 2.413 for two to five looks."""
    for count, constant in ((2, 2.178), (3, 2.289), (4, 2.361), (5, 2.413)):
        assert critical_value(tuple(range(1, count + 1))) == pytest.approx(constant, abs=6e-4)


def test_random_walk_stays_inside_as_often_as_computed():
    looks = look_schedule(16_000)
    steps = np.diff([0, *looks])
    walks = np.cumsum(np.random.default_rng(1).normal(size=(40_000, len(looks))) * np.sqrt(steps), axis=1)
    inside = (np.abs(walks) / np.sqrt(looks) <= 2.0).all(axis=1).mean()
    assert inside == pytest.approx(stay_probability(2.0, looks), abs=0.008)
    assert stay_probability(critical_value(looks), looks) == pytest.approx(LEVEL, abs=1e-9)


@pytest.mark.parametrize("p", [0.5, 0.1, 0.02])
def test_coverage_when_the_width_decides_when_to_stop(p):
    plan = make_plan(1, 0.01, 32_000)
    rng, hits, runs = np.random.default_rng(2), 0, 600
    for _ in range(runs):
        count = [0]
        games = [0]

        def play(first, number, count=count, games=games):
            count[0] += rng.binomial(number, p)
            games[0] += number
            return number

        run_plan(plan, play, lambda level, count=count, games=games: [proportion_estimate(count[0], games[0], level)])
        low, high = proportion_estimate(count[0], games[0], plan.level)["ci"]
        hits += low <= p <= high
    assert hits >= 0.94 * runs


def test_coverage_when_a_good_look_decides_when_to_stop():
    """The worst habit: to stop as soon as the interval excludes the truth. The level is made for it."""
    looks = look_schedule(8000)
    level, rng, wrong, runs = simultaneous_level(looks), np.random.default_rng(3), 0, 1000
    for _ in range(runs):
        values = rng.normal(size=looks[-1])
        for look in looks:
            total, squares = values[:look].sum(), (values[:look] ** 2).sum()
            half = normal_quantile(level) * np.sqrt((squares / look - (total / look) ** 2) / look)
            if abs(total / look) > half:
                wrong += 1
                break
    assert wrong <= 0.07 * runs


def test_runs_end_precise_exhausted_complete_or_interrupted():
    wide, narrow = estimate(50, 50, 100), estimate(5000, 5000, 10_000)
    plan = make_plan(1, 0.02, 4000)
    assert run_plan(plan, lambda first, n: n, lambda level: [wide, narrow]).reason == "max_games"
    assert run_plan(plan, lambda first, n: n, lambda level: [narrow]) == run_plan(
        Plan((1000,), LEVEL, 1.0), lambda f, n: n, lambda level: [narrow]
    )
    assert run_plan(plan, lambda first, n: n - 1, lambda level: [narrow]).reason == "interrupted"
    assert run_plan(make_plan(30), lambda first, n: n).reason == "complete"


def test_games_follow_on_each_other():
    asked = []
    run_plan(
        make_plan(1, 0.001, 4000), lambda first, n: asked.append((first, n)) or n, lambda level: [estimate(1, 1, 9)]
    )
    assert asked == [(0, 1000), (1000, 1000), (2000, 2000)]


def test_width_of_a_lopsided_interval_is_its_longer_side():
    assert half_width({"value": 0.1, "se": None, "ci": [0.0, 0.4], "n": 9}) == pytest.approx(0.3)
    assert widest([]) == float("inf")
    assert widest([estimate(1, 1, 1)]) == float("inf")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0,), "--games: 0"), ((9, 0.0), "--precision: 0"), ((9, 1.5), "--precision"), ((9, 0.1, 0), "--max-games: 0")],
)
def test_wrong_options_are_named(arguments, message):
    with pytest.raises(DartmoorError, match=message):
        make_plan(*arguments)


def test_interrupted_sums_are_those_of_a_shorter_run():
    def work(first, count):
        if first >= 30:
            raise KeyboardInterrupt
        return {"games": np.int64(count), "indices": np.arange(first, first + count).sum()}

    sums = {}
    done = sum_games(work, sums, 0, 100, 1, 10)
    assert done == 30
    assert sums["games"] == 30 and sums["indices"] == sum(range(30))


def test_sums_do_not_overflow():
    sums = {}
    sum_games(lambda first, count: {"x": np.array([2**62])}, sums, 0, 4, 1, 1)
    assert sums["x"][0] == 2**64
