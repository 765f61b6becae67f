"""What a policy of one's own needs, in one import.

`policy` compiles a function (state, tables, actions, n, weights) -> index, and `kernel` a function that it calls, both
with checked array indices. All helpers look only at what the player to choose may see.
"""

from collections.abc import Callable
from typing import Any

from numba import njit, types

from sim.actions import act_of, card_of, half_of, slot_of
from sim.codes import Act, CardType, Phase, Symbol
from sim.forest import can_place
from sim.gain import NOWHERE, placement_gain
from sim.policy import SIGNATURE
from sim.rng import below
from sim.rules import UNIVERSAL_MOOR
from sim.scoring import total_points

__all__ = [
    "Act",
    "CardType",
    "Phase",
    "Symbol",
    "act_of",
    "card_of",
    "clearing",
    "cost_of",
    "half_of",
    "hand",
    "has_type",
    "kernel",
    "points",
    "points_gain",
    "policy",
    "random_below",
    "slot_of",
    "species_of",
]

NO_SYMBOL = int(Symbol.NONE)

kernel = njit(cache=True, nogil=True, boundscheck=True)


def policy(function: Callable[..., Any]) -> Any:
    """Compile a policy; as a decorator, or called with a plain function.

    Raises
    ------
    TypeError
        The function can return something that is no integer.
    """
    compiled = njit(SIGNATURE.args, cache=True, nogil=True, boundscheck=True)(function)
    returned = compiled.nopython_signatures[0].return_type
    if returned == SIGNATURE.return_type:
        return compiled
    if not isinstance(returned, types.Integer | types.Boolean):
        raise TypeError(f"{function.__name__} returns {returned}, expected an index: an integer on every way")
    return njit(SIGNATURE, cache=True, nogil=True, boundscheck=True)(function)


@njit(cache=True, nogil=True)
def hand(state):
    """Return the cards in the hand of the player to choose, uint8, ascending."""
    return state.hand[state.player][: state.hand_n[state.player]]


@njit(cache=True, nogil=True)
def clearing(state):
    """Return the cards in the clearing, uint8, ascending."""
    return state.clearing[: state.clearing_n]


@njit(cache=True, nogil=True)
def points(state, tables, player):
    """Return the points of any player as they stand."""
    return total_points(state, tables, player)


@njit(cache=True, nogil=True)
def random_below(state, n):
    """Return a random number 0..n-1 from the stream of the player to choose."""
    return below(state.rng[1 + state.player], n)


@njit(cache=True, nogil=True)
def species_of(state, tables, action):
    """Return the species code that a CARD or HOST action places, that of the first half for any other card."""
    if act_of(action) == Act.HOST:
        return tables.species[state.play_card, state.play_half]
    half = half_of(action) if act_of(action) == Act.CARD else 0
    return tables.species[card_of(action), half]


@njit(cache=True, nogil=True)
def cost_of(state, tables, action):
    """Return the cost in cards of what `species_of` names."""
    return tables.cost[species_of(state, tables, action)]


@njit(cache=True, nogil=True)
def has_type(state, tables, action, kind):
    """Return whether what `species_of` names is of a CardType; for actions without a half, whether any half is."""
    if act_of(action) == Act.CARD or act_of(action) == Act.HOST:
        return tables.types[species_of(state, tables, action)] >> kind & 1 != 0
    return tables.card_types[card_of(action)] >> kind & 1 != 0


@njit(cache=True, nogil=True)
def points_gain(state, tables, action):
    """Return the change of the own score by what an action places, without its effects.

    CARD: the half somewhere, the slot not chosen yet. HOST: at that slot. MOOR: a moor more. Any other card: its better
    half that has a legal place, 0 if none. Actions without a card: 0.
    """
    act, card, player = act_of(action), card_of(action), state.player
    if act == Act.CARD:
        return half_gain(state, tables, player, card, half_of(action))
    if act == Act.HOST:
        species, symbol = (
            tables.species[state.play_card, state.play_half],
            tables.symbol[state.play_card, state.play_half],
        )
        return placement_gain(state, tables, player, species, symbol, card, slot_of(action))
    if act == Act.MOOR:
        return placement_gain(state, tables, player, UNIVERSAL_MOOR, NO_SYMBOL, NOWHERE, 0)
    best = 0
    if act >= Act.CLEARING and act != Act.STOP and act != Act.DECLINE:
        for half in range(tables.halves[card]):
            if can_place(state, tables, player, card, half):
                best = max(best, half_gain(state, tables, player, card, half))
    return best


@njit(cache=True, nogil=True)
def half_gain(state, tables, player, card, half):
    """Return the change of the score when a half is placed somewhere."""
    species, symbol = tables.species[card, half], tables.symbol[card, half]
    return placement_gain(state, tables, player, species, symbol, NOWHERE, 0)
