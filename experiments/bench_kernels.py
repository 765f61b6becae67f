"""Kernels of the benchmark: the floor that no engine gets below, and counters of what a game is made of."""

import numpy as np
from numba import from_dtype, int64, njit, types, uint64

from policies import KERNEL_CACHE  # noqa: F401  # kernels above the engine are kept there
from sim.actions import MAX_ACTIONS
from sim.codes import CaveMode, EffectOp, Phase
from sim.deal import setup
from sim.legal import legal_actions
from sim.machine import apply, step
from sim.policy import AT_TABLE
from sim.rules import MAX_PLAYERS

NO_CAVES = np.zeros(MAX_PLAYERS, np.uint8)
PHASES = max(Phase) + 1
STEPS = max(EffectOp) + 1

# Sums over games, exact: two versions of the engine that play the same games can be compared number by number.
COUNTERS = np.dtype(
    [
        ("games", np.int64),
        ("turns", np.int64),
        ("cards_in_forests", np.int64),
        ("asked", np.int64, (PHASES,)),  # decisions with a choice, by Phase
        ("forced", np.int64, (PHASES,)),  # decisions with one legal answer
        ("listed", np.int64, (PHASES,)),  # legal answers written down
        ("steps", np.int64, (STEPS,)),  # pending steps resolved, by EffectOp
    ],
    align=True,
)
Counters = from_dtype(COUNTERS)


@njit(cache=True, nogil=True)
def deal_games(games, tables, players, seed, count):
    """Shuffle and deal `count` games and play none of them."""
    for game in range(count):
        setup(games, tables, players, seed, game, CaveMode.DRAFT, NO_CAVES)


@njit(cache=True, nogil=True)
def copy_games(games, count):
    """Copy a whole game record `count` times, round about in `games`, which holds several."""
    n = len(games)
    for i in range(count):
        games[(i + 1) % n] = games[i % n]
        games[i % n].turn = i & 1023  # so that no copy is like the one before


@njit(cache=True, nogil=True)
def count_steps(state, tables, actions, counters):
    """Do what `sim.machine.advance` does, and count."""
    while state.phase == Phase.RESOLVE:
        counters.steps[state.pending_op[state.pending_count - 1]] += 1
        step(state, tables, actions)


@njit(
    types.void(
        *AT_TABLE,
        uint64,
        int64,
        types.Array(Counters, 1, "C"),
    ),
    cache=True,
    nogil=True,
)
def count_games(games, tables, policies, weights, players, seed, count, counters):
    """Play games 0 .. count-1 of run `seed` as `sim.play.play_games` does, and add to counters[0]."""
    actions = np.empty(MAX_ACTIONS, np.int32)
    table, total = tables[0], counters[0]
    for game in range(count):
        setup(games, table, players, seed, game, CaveMode.DRAFT, NO_CAVES)
        state = games[0]
        count_steps(state, table, actions, total)
        while state.phase != Phase.OVER:
            n = legal_actions(state, table, actions)
            total.listed[state.phase] += n
            choice = 0
            if n > 1:
                total.asked[state.phase] += 1
                choice = policies[state.player](state, table, actions, n, weights[state.player])
            else:
                total.forced[state.phase] += 1
            apply(state, table, actions[choice])
            count_steps(state, table, actions, total)
        total.games += 1
        total.turns += state.turn
        for player in range(players):
            total.cards_in_forests += state.species_n[player].sum()
