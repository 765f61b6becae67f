"""Carrying out effects, bonuses, permanents and caves: one pending step after the other (rulebook, Effects)."""

import numpy as np
from numba import njit

from sim.cards import NO_CARD, add_to_clearing, clearing_types_to_cave, draw_cards, stack_to_cave, take_from_stack
from sim.codes import EffectOp, Ending, Phase
from sim.legal import list_free
from sim.rules import HAND_LIMIT, TYPES


@njit(cache=True, nogil=True)
def push(state, op, types, n):
    """Put a step on top of the pending ones; NONE is no step."""
    if op == EffectOp.NONE:
        return
    top = state.pending_count
    state.pending_op[top] = op
    state.pending_types[top] = types
    state.pending_n[top] = n
    state.pending_count = top + 1


@njit(cache=True, nogil=True)
def pop(state):
    """Drop the pending step on top."""
    state.pending_count -= 1


@njit(cache=True, nogil=True)
def count_off(state):
    """One of the n choices of the pending step is made; after the last one the step is done."""
    top = state.pending_count - 1
    state.pending_n[top] -= 1
    if state.pending_n[top] == 0:
        pop(state)


@njit(cache=True, nogil=True)
def count_types(state, player, types):
    """Return how many cards of the types the forest holds (a universal moor is a moor)."""
    n = 0
    for kind in range(TYPES):
        if types >> kind & 1:
            n += np.int64(state.type_n[player, kind])
    return n


@njit(cache=True, nogil=True)
def choice_phase(state, tables, player, op, types, scratch):
    """Return the phase in which the step asks the player; RESOLVE when there is nothing to choose from.

    `scratch` (int32) is room for a list of actions.
    """
    if op == EffectOp.CLEARING_TO_HAND:
        return Phase.TAKE if state.clearing_n > 0 and state.hand_n[player] < HAND_LIMIT else Phase.RESOLVE
    if op == EffectOp.CLEARING_TO_CAVE:
        return Phase.STORE if state.clearing_n > 0 else Phase.RESOLVE
    if op == EffectOp.CLEARING_TO_FOREST:
        n = list_free(state, tables, player, types, state.clearing, state.clearing_n, scratch)
        return Phase.FREE if n > 0 else Phase.RESOLVE
    if state.hand_n[player] == 0:
        return Phase.RESOLVE
    if op == EffectOp.MOOR_FROM_HAND:
        return Phase.MOOR
    if op == EffectOp.HAND_TO_CLEARING or op == EffectOp.SWAP_DISCARD:
        return Phase.DISCARD
    if op == EffectOp.HAND_TO_CAVE:
        return Phase.HIDE
    n = list_free(state, tables, player, types, state.hand[player], state.hand_n[player], scratch)
    return Phase.FREE if n > 0 else Phase.RESOLVE


@njit(cache=True, nogil=True)
def asks(op):
    """Return whether the step is a choice of the player's."""
    return (
        op == EffectOp.CLEARING_TO_HAND
        or op == EffectOp.PLAY_FREE
        or op == EffectOp.PLAY_FREE_ANY_NUMBER
        or op == EffectOp.PLAY_FREE_WITH_EFFECT
        or op == EffectOp.CLEARING_TO_FOREST
        or op == EffectOp.CLEARING_TO_CAVE
        or op == EffectOp.MOOR_FROM_HAND
        or op == EffectOp.HAND_TO_CLEARING
        or op == EffectOp.HAND_TO_CAVE
        or op == EffectOp.SWAP_DISCARD
    )


@njit(cache=True, nogil=True)
def perform(state, tables, player, op, types, n):
    """Carry out a step that leaves no choice."""
    if op == EffectOp.DRAW or op == EffectOp.TRIGGERED_DRAW:
        draw_cards(state, player, n, Ending.EFFECT)
    elif op == EffectOp.DRAW_PER_TYPE:
        draw_cards(state, player, n * count_types(state, player, types), Ending.EFFECT)
    elif op == EffectOp.CLEARING_TYPE_TO_CAVE:
        clearing_types_to_cave(state, tables, player, types)
    elif op == EffectOp.STACK_TO_CAVE:
        stack_to_cave(state, player, n)
    elif op == EffectOp.STACK_TO_CAVE_PER_TYPE:
        stack_to_cave(state, player, n * count_types(state, player, types))
    elif op == EffectOp.EXTRA_TURN:
        earn_extra_turn(state, tables)
    elif op == EffectOp.EXTRA_TURN_IF_TYPE:
        if count_types(state, player, types) >= n:
            earn_extra_turn(state, tables)
    elif op == EffectOp.REVEAL:
        card = take_from_stack(state, Ending.TREE)
        if card != NO_CARD:
            add_to_clearing(state, card)
    elif op == EffectOp.SWAP_DRAW:
        draw_cards(state, player, n, Ending.DRAW)


@njit(cache=True, nogil=True)
def earn_extra_turn(state, tables):
    """One full turn after this one, not more if several effects give it (ruling extra_turn_again)."""
    if tables.extra_turn_again == 0 or state.is_extra == 0:
        state.extra_turn = 1
