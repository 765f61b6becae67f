"""The Nash mixture of a matchup matrix: how often to play each style so that no style does better than even.

A policy that another beats against everybody has no place in it, however high its rating against a weak field.
"""

from typing import Any

import numpy as np

from experiments.estimates import LEVEL, normal_quantile

RESAMPLES = 200
TINY = 1e-9


def nash_mixture(share: np.ndarray) -> np.ndarray:
    """Return the mixture x, shape (m,), that secures the largest win share against every policy.

    Maximise v subject to x @ share[:, j] >= v for all j, sum x = 1, x >= 0 (linear programming). With several optimal
    mixtures it is one of them.

    Parameters
    ----------
    share
        Shape (m, m): win share of the row against the column; share + share.T = 1.
    """
    from scipy.optimize import linprog  # slow to import

    m = len(share)
    result = linprog(
        c=[0.0] * m + [-1.0],
        A_ub=np.hstack([-share.T, np.ones((m, 1))]),
        b_ub=np.zeros(m),
        A_eq=[[1.0] * m + [0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * m + [(None, None)],
        method="highs",
    )
    assert result.success, result.message  # a matrix game always has a solution
    mixture = np.maximum(result.x[:m], 0)
    mixture[mixture < TINY] = 0
    return mixture / mixture.sum()


def nash_report(names: list[str], share: np.ndarray, se: np.ndarray, blocks: int, seed: int) -> list[dict[str, Any]]:
    """Return each policy's weight in the Nash mixture, its share against the mixture and who dominates it.

    Intervals of weights are quantiles over RESAMPLES matrices drawn from the estimates' normal errors. `dominated_by`
    names the policies that do better against every policy; `shown` says whether the intervals support it.

    Parameters
    ----------
    names
        m policies.
    share, se
        Shape (m, m): win shares of rows against columns and their standard errors (near 0 and 1 what stands for
        them); the diagonal is 1/2 and 0.
    blocks
        On which every entry rests.
    seed
        Of the resampling.
    """
    weights = nash_mixture(share)
    samples = np.array([nash_mixture(matrix) for matrix in _resampled(share, se, seed)])
    low, high = np.quantile(samples, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    against = share @ weights
    against_se = np.sqrt(se**2 @ weights**2)
    z = normal_quantile(LEVEL)
    return [
        {
            "policy": name,
            "weight": {
                "value": float(weights[i]),
                "se": float(samples[:, i].std(ddof=1)),
                "ci": [min(float(low[i]), float(weights[i])), max(float(high[i]), float(weights[i]))],
                "n": blocks,
            },
            "share_against_mixture": {
                "value": float(against[i]),
                "se": float(against_se[i]),
                "ci": [
                    max(0.0, float(against[i] - z * against_se[i])),
                    min(1.0, float(against[i] + z * against_se[i])),
                ],
                "n": blocks,
            },
            "dominated_by": [
                {"policy": names[j], "shown": bool(_dominates(share, se, j, i, z))}
                for j in range(len(names))
                if j != i and _dominates(share, se, j, i, 0.0)
            ],
        }
        for i, name in enumerate(names)
    ]


def _resampled(share: np.ndarray, se: np.ndarray, seed: int) -> list[np.ndarray]:
    """Return matrices drawn around `share`, each with opposite entries that add up to 1."""
    rng = np.random.default_rng(seed)
    upper = np.triu(np.ones_like(share, dtype=bool), 1)
    matrices = []
    for _ in range(RESAMPLES):
        drawn = np.where(upper, np.clip(share + se * rng.standard_normal(share.shape), 0, 1), 0)
        matrices.append(drawn + np.where(upper.T, 1 - drawn.T, 0) + np.eye(len(share)) / 2)
    return matrices


def _dominates(share: np.ndarray, se: np.ndarray, a: int, b: int, z: float) -> bool:
    """Return whether `a` does better than `b` against every policy, by more than z standard errors."""
    return bool((share[a] - share[b] > z * np.sqrt(se[a] ** 2 + se[b] ** 2)).all())
