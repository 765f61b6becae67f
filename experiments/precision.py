"""Playing until an interval is narrow enough: looks fixed in advance, at a level that holds at all of them together.

Whoever looks at an interval again and again, and stops when it pleases, has more than one chance to be wrong in 20. So
the looks are fixed before the first game: the most games allowed, half of them, a quarter, .. down to `FIRST_LOOK`. All
use the same critical value c, chosen so that a mean of independent observations stays within c standard errors of its
expectation at *every* look with probability `LEVEL` (Pocock, "Group sequential methods in the design and analysis of
clinical trials", Biometrika 64, 1977; the probability is computed by the recursion of Armitage, McPherson and Rowe,
"Repeated significance tests on accumulating data", J. R. Stat. Soc. A 132, 1969). The interval printed at the end is
therefore valid whatever made the run stop at that look: its width, another estimate's width, or the mean itself.

With ten looks c is 2.72 where a single look has 1.96, which costs 1.9 times the games: the price of not having said
beforehand how many to play. The promise is for each estimate by itself; for many at once see `estimates.holm`.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from experiments.estimates import LEVEL, Estimate, normal_quantile
from experiments.options import check_games
from sim.errors import DartmoorError

FIRST_LOOK = 1000  # games, or as many as are allowed: below, normal approximations are not to be trusted
NODES = 96  # of the quadrature at each look; doubling them changes c by less than 1e-9
ACCURACY = 1e-10  # of the probability that c is solved for
DEFAULT_MAX_GAMES = 1_000_000


@dataclass(frozen=True)
class Plan:
    """When a run may stop.

    looks: numbers of games, ascending. level: confidence level of an interval at any of them. target: half the width
    that the widest interval is to have; None for a run of fixed length.
    """

    looks: tuple[int, ...]
    level: float = LEVEL
    target: float | None = None

    @property
    def most(self) -> int:
        """Games of the longest run."""
        return self.looks[-1]


@dataclass(frozen=True)
class Stop:
    """How a run ended: the games done, and why: `complete`, `precise`, `max_games` or `interrupted`."""

    games: int
    reason: str


def make_plan(games: int, precision: float | None = None, max_games: int = DEFAULT_MAX_GAMES) -> Plan:
    """Return the plan of the options --games, --precision and --max-games; with a precision `games` does not count.

    Raises
    ------
    DartmoorError
        An option is out of range.
    """
    if precision is None:
        check_games(games)
        return Plan((games,))
    if not 0 < precision < 1:
        raise DartmoorError(f"--precision: {precision:g}, expected a half width between 0 and 1, such as 0.01")
    check_games(max_games, "--max-games")
    looks = look_schedule(max_games)
    return Plan(looks, simultaneous_level(looks), precision)


def look_schedule(max_games: int, first: int = FIRST_LOOK) -> tuple[int, ...]:
    """Return the looks of a run of at most `max_games`: halves of it, rounded up, while at least `first`."""
    looks = [max_games]
    while looks[-1] >= 2 * first:
        looks.append((looks[-1] + 1) // 2)
    return tuple(reversed(looks))


def simultaneous_level(looks: Sequence[int], level: float = LEVEL) -> float:
    """Return the level that intervals at each look need so that all hold together with probability `level`."""
    return math.erf(critical_value(tuple(looks), level) / math.sqrt(2))


@cache
def critical_value(looks: tuple[int, ...], level: float = LEVEL) -> float:
    """Return c such that a standardised random walk stays within +-c at all looks with probability `level`."""
    low = normal_quantile(level)
    high = normal_quantile(1 - (1 - level) / len(looks)) + ACCURACY  # Bonferroni
    while high - low > ACCURACY:
        middle = (low + high) / 2
        low, high = (middle, high) if stay_probability(middle, looks) < level else (low, middle)
    return high


def stay_probability(c: float, looks: Sequence[int]) -> float:
    """Return the chance that |S_n| <= c sqrt(n) at every look n, for a random walk S with standard normal steps.

    The density of S at a look, over the paths that were inside at all looks before, is carried on from look to look
    by Gauss-Legendre quadrature.
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    times = [look / looks[0] for look in looks]
    places = c * nodes
    mass = c * weights * _density(places)
    for before, now in pairwise(times):
        step, reach = math.sqrt(now - before), c * math.sqrt(now)
        arrivals = reach * nodes
        mass = reach * weights * (_density((arrivals[:, None] - places) / step) / step @ mass)
        places = arrivals
    return float(mass.sum())


def _density(x: np.ndarray) -> np.ndarray:
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def run_plan(
    plan: Plan, play: Callable[[int, int], int], estimates: Callable[[float], Iterable[Estimate]] = lambda level: ()
) -> Stop:
    """Play from look to look until the plan is fulfilled.

    Parameters
    ----------
    plan
        From `make_plan`.
    play
        Called with (first game, number of games); plays and adds them, and returns how many it completed: fewer when
        the user has interrupted it.
    estimates
        Called with the level; returns the estimates that are to be as narrow as the plan's target.
    """
    done = 0
    for look in plan.looks:
        count = look - done
        played = play(done, count)
        done += played
        if played < count:
            return Stop(done, "interrupted")
        if plan.target is not None and widest(estimates(plan.level)) <= plan.target:
            return Stop(done, "precise")
    return Stop(done, "complete" if plan.target is None else "max_games")


def widest(estimates: Iterable[Estimate]) -> float:
    """Return the largest distance from a value to an end of its interval; infinite without any interval."""
    reaches = [half_width(one) for one in estimates]
    return max(reaches, default=math.inf)


def half_width(one: Estimate) -> float:
    """Return the distance from an estimate's value to the farther end of its interval."""
    if one["value"] is None or one["ci"] is None:
        return math.inf
    low, high = one["ci"]
    return max(one["value"] - low, high - one["value"])
