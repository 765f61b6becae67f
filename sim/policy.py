"""The one signature of every policy, and the decorator that compiles a function to it.

`policy(state, tables, actions, n, weights) -> int`: the index, 0..n-1, of the chosen action.
state: the game record (`sim.state.GAME`); it is to be read only, but for the policy's own random stream
`state.rng[1 + state.player]`. A policy may use only what its player can see: not the stack, not the other hands.
tables: fixed knowledge (`sim.tables.TABLES`). actions: int32, the first n count, see `sim.actions`. weights: float64.
"""

import warnings

from numba import njit, types
from numba.core.errors import NumbaExperimentalFeatureWarning

from sim.rules import MAX_PLAYERS
from sim.state import Game
from sim.tables import Tables

# First-class functions are experimental in numba; every test of the engine plays through them.
warnings.simplefilter("ignore", NumbaExperimentalFeatureWarning)

Actions = types.Array(types.int32, 1, "C", readonly=True)  # a policy that wrote into it would choose anything
Weights = types.Array(types.float64, 1, "C")
SIGNATURE = types.int64(Game, Tables, Actions, types.int64, Weights)
PolicyType = types.FunctionType(SIGNATURE)
Seats = types.UniTuple(PolicyType, MAX_PLAYERS)

# What every kernel takes that plays games: games, tables, policies, weights, players; in a run of games also cave_mode,
# caves, seed, start, count.
AT_TABLE = (
    types.Array(Game, 1, "C"),
    types.Array(Tables, 1, "C", readonly=True),
    Seats,
    types.Array(types.float64, 2, "C"),
    types.int64,
)
IN_RUN = (*AT_TABLE, types.int64, types.Array(types.uint8, 1, "C"), types.uint64, types.int64, types.int64)

policy = njit(SIGNATURE, cache=True, nogil=True)
