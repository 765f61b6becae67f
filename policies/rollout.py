"""The `rollout` policy: at the choices that matter it plays sampled worlds to their end and takes what does best.

The best few answers in the eyes of the `weights` policy are candidates. Each sampled world (`policies.worlds`) is
played out once after every candidate, all players by the `weights` policy, so that they are compared on the same luck.
A candidate that falls behind the first, which is the weights policy's own answer, drops out; in the end the best of the
others is taken only where it leads by more than chance explains. Without that caution the noise of few play-outs costs
more than searching gains: at choices between near-equals the largest of several noisy means is mostly the luckiest.
"""

import numpy as np
from numba import njit

from policies.weighted import weighted
from policies.worlds import sample_world
from sim.actions import MAX_ACTIONS
from sim.codes import Phase
from sim.legal import legal_actions
from sim.machine import advance, apply
from sim.policy import policy
from sim.rules import DECK_SIZE
from sim.scoring import total_points
from sim.state import GAME

# Settings at the head of the weights, before those of the weights policy.
PLAYOUTS = 0  # play-outs of one decision at most
CANDIDATES = 1
CONFIDENCE = 2  # standard errors by which another answer must lead
SETTINGS = 3
DEFAULT_SETTINGS = np.array([60.0, 4.0, 1.0])

SEARCHED = 1 << Phase.TURN | 1 << Phase.CARD | 1 << Phase.DRAW | 1 << Phase.FREE
LEAD_SCALE = 25.0  # points: a lead of that many at the end is worth 0.73
FEW_WORLDS = 5  # before which no candidate drops out


@njit(cache=True, nogil=True)
def rank(state, tables, actions, n, inner, answers):
    """Fill `answers` (int64) with the indices of the best actions in the eyes of the weights policy, best first.

    The policy is asked again and again, each time without the answers it gave.
    """
    rest = actions[:n].copy()
    index = np.arange(n)
    for k in range(len(answers)):
        left = n - k
        choice = weighted(state, tables, rest, left, inner) if left > 1 else np.int64(0)
        answers[k] = index[choice]
        for i in range(choice, left - 1):
            rest[i] = rest[i + 1]
            index[i] = index[i + 1]


@njit(cache=True, nogil=True)
def race(state, tables, actions, answers, weights):
    """Play the answers against each other on sampled worlds; return the place in `answers` of the one to give."""
    player = np.int64(state.player)
    games = np.empty(2, GAME)
    pool = np.empty(DECK_SIZE, np.uint8)
    scratch = np.empty(MAX_ACTIONS, np.int32)
    alive = np.arange(len(answers))
    running = len(answers)
    lead, squares = np.zeros((2, len(answers)))
    worlds, played = 0, 0
    while running > 1 and played + running <= weights[PLAYOUTS]:
        games[0] = state
        sample_world(games[0], tables, player, state.rng[1 + player], pool)
        first = 0.0
        for k in range(running):
            games[1] = games[0]
            apply(games[1], tables, actions[answers[alive[k]]])
            play_out(games[1], tables, weights[SETTINGS:], scratch)
            value = success(games[1], tables, player)
            if k == 0:
                first = value
            lead[alive[k]] += value - first
            squares[alive[k]] += (value - first) ** 2
        worlds += 1
        played += running
        if worlds >= FEW_WORLDS:
            running = drop_losers(lead, squares, worlds, alive, running)
    return best_of(lead, squares, worlds, alive, running, weights[CONFIDENCE])


@njit(cache=True, nogil=True)
def play_out(state, tables, inner, scratch):
    """Play a game to its end, every player by the weights policy."""
    advance(state, tables, scratch)
    while state.phase != Phase.OVER:
        n = legal_actions(state, tables, scratch)
        choice = weighted(state, tables, scratch, n, inner) if n > 1 else np.int64(0)
        apply(state, tables, scratch[choice])
        advance(state, tables, scratch)


@njit(cache=True, nogil=True)
def success(state, tables, player):
    """Return what the end is worth to a player, 0 to 1: the logistic function of the lead over the best other score.

    It tells more than a won or lost game, and unlike the bare lead it does not trade a likely win for points.
    """
    best_other = -1
    for other in range(state.players):
        if other != player:
            best_other = max(best_other, total_points(state, tables, other))
    return 1 / (1 + np.exp((best_other - total_points(state, tables, player)) / LEAD_SCALE))


@njit(cache=True, nogil=True)
def standard_error(total, squares, n):
    """Return the standard error of the mean of `n` values from their sums."""
    mean = total / n
    return np.sqrt(max(squares / n - mean * mean, 0.0) / max(n - 1, 1))


@njit(cache=True, nogil=True)
def drop_losers(lead, squares, worlds, alive, running):
    """Keep the first candidate and those not behind it by more than a standard error; return how many are left."""
    kept = 1
    for k in range(1, running):
        i = alive[k]
        if lead[i] / worlds + standard_error(lead[i], squares[i], worlds) >= 0:
            alive[kept] = i
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def best_of(lead, squares, worlds, alive, running, confidence):
    """Return the candidate with the largest lead that exceeds `confidence` standard errors; else the first, 0."""
    best, best_lead = np.int64(0), 0.0
    for k in range(1, running):
        i = alive[k]
        clear = worlds > 1 and lead[i] / worlds > confidence * standard_error(lead[i], squares[i], worlds)
        if clear and lead[i] > best_lead:
            best, best_lead = i, lead[i]
    return best


@policy
def rollout(state, tables, actions, n, weights):
    """Answer what matters by play-outs, the rest as the `weights` policy does."""
    inner = weights[SETTINGS:]
    count = min(n, np.int64(weights[CANDIDATES]))
    if count < 2 or SEARCHED >> state.phase & 1 == 0:
        return weighted(state, tables, actions, n, inner)
    answers = np.empty(count, np.int64)
    rank(state, tables, actions, n, inner, answers)
    return answers[race(state, tables, actions, answers, weights)]
