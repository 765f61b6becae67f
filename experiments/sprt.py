"""Sequential tests between two policies: play block after block until the evidence is enough.

The generalised sequential probability ratio test (GSPRT) on pentanomial counts, as the testers of chess engines use it.
Two games with seats swapped on one deal are one observation, worth 0, 1/4, 1/2, 3/4 or 1. H0 says that the expected
share is that of `elo0`, H1 that of `elo1`. Each likelihood is the largest over all distributions on the five values
with that mean; the test stops when the logarithm of their ratio leaves (log(beta / (1 - alpha)), log((1 - beta) /
alpha)), Wald's bounds.

Sources: X. Li, J. Liu, Z. Ying, Generalized sequential probability ratio test for separate families of hypotheses,
Sequential Analysis 33 (2014); M. Van den Bergh, notes on the GSPRT and on maximum likelihood with a given mean
(hardy.uhasselt.be/Fishtest). Their correction for overshoot is left out, which only makes errors rarer.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.tournament import PENTANOMIAL, BlockSums, Contest, Table, TableResult, blocks_in_order
from sim.errors import DartmoorError

VALUES = np.arange(PENTANOMIAL) / (PENTANOMIAL - 1)  # shares of a pair of games
ERROR = 0.05  # of both kinds
NEVER_SEEN = 1e-3  # blocks: stands for a value without observations, so that a likelihood exists for every mean
CHECKED_EVERY = 20  # blocks; a fixed step, so that threads do not move the stop
ELO_SCALE = 400.0  # points for a factor of ten in the odds
ACCEPT_H0, ACCEPT_H1, UNDECIDED = "H0", "H1", "undecided"


def expected_share(elo: float) -> float:
    """Return the expected share of a player who is `elo` points stronger (logistic curve)."""
    return 1 / (1 + 10 ** (-elo / ELO_SCALE))


def elo_of(share: float) -> float:
    """Return the difference in Elo points that an expected share stands for; infinite at 0 and 1."""
    if share <= 0 or share >= 1:
        return math.copysign(math.inf, share - 0.5)
    return -ELO_SCALE * math.log10(1 / share - 1)


def constrained_probabilities(frequencies: np.ndarray, mean: float) -> np.ndarray:
    """Return the most likely distribution on VALUES with a given mean.

    It is p_i = f_i / (1 + t (v_i - mean)) with the t that makes sum p_i (v_i - mean) zero.

    Parameters
    ----------
    frequencies
        Shape (5,), all positive, adding up to 1.
    mean
        Strictly between 0 and 1.
    """
    from scipy.optimize import brentq  # slow to import

    distance = VALUES - mean
    low, high = -1 / distance.max(), -1 / distance.min()
    slack = 1e-9 * (high - low)

    def excess(t: float) -> float:
        return float((frequencies * distance / (1 + t * distance)).sum())

    t = brentq(excess, low + slack, high - slack, xtol=1e-13)
    return frequencies / (1 + t * distance)


def log_likelihood_ratio(counts: Sequence[int] | np.ndarray, elo0: float, elo1: float) -> float:
    """Return the logarithm of the likelihood ratio of H1 to H0 for pentanomial counts, shape (5,)."""
    weights = np.maximum(np.asarray(counts, float), NEVER_SEEN)
    frequencies = weights / weights.sum()
    p0, p1 = (constrained_probabilities(frequencies, expected_share(elo)) for elo in (elo0, elo1))
    return float((weights * np.log(p1 / p0)).sum())


def wald_bounds(alpha: float = ERROR, beta: float = ERROR) -> tuple[float, float]:
    """Return the bounds of the logarithm of the likelihood ratio below and above which H0 and H1 are accepted."""
    return math.log(beta / (1 - alpha)), math.log((1 - beta) / alpha)


def parse_sprt(text: str) -> tuple[float, float]:
    """Return elo0 and elo1 of `--sprt elo0,elo1`.

    Raises
    ------
    DartmoorError
        They are not two finite numbers, the first below the second, within 1000 points.
    """
    try:
        elo0, elo1 = (float(part) for part in text.split(","))
    except ValueError:
        raise DartmoorError(f"--sprt: {text!r}, expected two numbers elo0,elo1 such as 0,10") from None
    if not -1000 <= elo0 < elo1 <= 1000:
        raise DartmoorError(f"--sprt: {text!r}, expected elo0 below elo1, both from -1000 to 1000")
    return elo0, elo1


@dataclass(frozen=True)
class SprtResult:
    """How a sequential test ended; the estimates in `result` are biased by the stopping, away from the other side."""

    elo0: float
    elo1: float
    llr: float
    decision: str
    result: TableResult
    complete: bool


def run_sprt(
    contest: Contest,
    table: Table,
    elo0: float,
    elo1: float,
    blocks: int,
    threads: int = 1,
    on_games: Callable[[int], object] = lambda count: None,
) -> SprtResult:
    """Play a table of two until one hypothesis is accepted, at most `blocks` blocks; Ctrl-C leaves it undecided.

    Raises
    ------
    DartmoorError
        The table is not of two different policies, or it was interrupted before any block was complete.
    """
    if len(table) != 2 or len(set(table)) != 2:
        raise DartmoorError(f"--sprt: compares two policies at a table of two, not {','.join(table)}")
    low, high = wald_bounds()
    sums, llr, decision, complete = BlockSums(2), 0.0, UNDECIDED, True
    parts = blocks_in_order(contest.matches(table), blocks, threads, CHECKED_EVERY)
    try:
        for part in parts:
            sums.add(part)
            llr = log_likelihood_ratio(sums.pairs, elo0, elo1)
            on_games(2 * len(part.share))
            if not low < llr < high:
                decision = ACCEPT_H1 if llr >= high else ACCEPT_H0
                break
    except KeyboardInterrupt:
        complete = False
    parts.close()
    if sums.blocks.sum() == 0:
        raise KeyboardInterrupt  # before any block was complete: there is nothing to write
    return SprtResult(elo0, elo1, llr, decision, TableResult(table, sums), complete)
