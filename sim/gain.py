"""How a placement changes its player's score, without a walk over the forest.

The linear part of every score is kept in `type_worth`, `symbol_worth`, `below_worth` and `full_worth`; what is left are
the new copy's own points and the few species whose points can jump (`tables.jumpers`). `scoring` is the reference:
tests hold every gain here against the score before and after.
"""

import numpy as np
from numba import njit

from sim.codes import CardType, EffectOp, Placement, ScoreOp
from sim.effects import count_types
from sim.forest import MOOR_BIT, is_bottom, is_moor, scores_twice
from sim.rules import SLOTS, SYMBOLS
from sim.scoring import TERMS, has_most_moors, steps_points

NOWHERE = 255  # as a habitat: somewhere, no slot chosen yet
MOOR_PLACE = 1 << Placement.TOP_MOOR | 1 << Placement.BOTTOM_MOOR


@njit(cache=True, nogil=True)
def placement_gain(state, tables, player, species, symbol, habitat, slot):
    """Return the change of the player's own score when `species` is placed at a slot of `habitat`; effects not counted.

    A tree, shrub or moor takes habitat NOWHERE. For a half it means a slot that is not chosen yet: the gain then leaves
    out what only some slots give (a full habitat, doubling), and takes a moor where one is open.
    """
    is_new = state.species_n[player, species] == 0
    bottom, moor, fills, twice = False, False, False, False
    if habitat == NOWHERE:
        placement = tables.placement[species, 1]
        bottom = placement == Placement.BOTTOM or placement == Placement.BOTTOM_MOOR
        moor = state.placeable[player] & MOOR_PLACE != 0
    else:
        moor = is_moor(state, tables, habitat)
        bottom = is_bottom(moor, slot)
        fills = completes(state, habitat, slot)
        twice = bottom and scores_twice(state, tables, species, habitat)
    full = fills or (habitat != NOWHERE and is_occupied(state, habitat))
    points = own_points(state, tables, player, species, symbol, is_new, bottom, moor, full)
    if twice:
        points *= 2
    points += others_points(state, tables, player, species, is_new)
    if symbol < SYMBOLS:
        points += np.int64(state.symbol_worth[player, symbol])
    if bottom:
        points += np.int64(state.below_worth[player])
    if fills:
        points += np.int64(state.full_worth[habitat])
    return points


@njit(cache=True, nogil=True)
def completes(state, habitat, slot):
    """Return whether a card in this slot makes the habitat fully occupied."""
    if state.slot_n[habitat, slot] > 0:
        return False
    for other in range(SLOTS):
        if other != slot and state.slot_n[habitat, other] == 0:
            return False
    return True


@njit(cache=True, nogil=True)
def is_occupied(state, habitat):
    """Return whether the habitat is fully occupied already."""
    for slot in range(SLOTS):
        if state.slot_n[habitat, slot] == 0:
            return False
    return True


@njit(cache=True, nogil=True)
def own_points(state, tables, player, species, symbol, is_new, bottom, moor, full):
    """Return the points of the new copy itself, counted with it in the forest."""
    types = tables.types[species]
    points = 0
    for term in range(TERMS):
        op = tables.score_op[species, term]
        if op == ScoreOp.NONE:
            break
        arg = tables.score_arg[species, term]
        n = np.int64(tables.score_n[species, term])
        if op == ScoreOp.FIXED:
            points += n
        elif op == ScoreOp.PER_TYPE:
            points += n * np.int64(state.type_n[player, arg] + (types >> arg & 1))
        elif op == ScoreOp.PER_SYMBOL:
            points += n * np.int64(state.symbol_n[player, arg] + (symbol == arg))
        elif op == ScoreOp.PER_OWN_SYMBOL:
            if symbol < SYMBOLS:
                points += n * np.int64(state.symbol_n[player, symbol] + 1)
        elif op == ScoreOp.HOST_FULL:
            points += n if full else 0
        elif op == ScoreOp.IN_MOOR:
            points += n if moor else 0
        elif op == ScoreOp.MOST_MOORS:
            points += steps_points(tables, species, 1 if leads_moors(state, player, types & MOOR_BIT) else 0)
        elif op == ScoreOp.TYPE_STEPS:
            points += steps_points(tables, species, state.type_n[player, arg] + (types >> arg & 1))
        elif op == ScoreOp.SPECIES_STEPS:
            points += steps_points(tables, species, state.kinds_n[player, arg] + (is_new and types >> arg & 1))
        elif op == ScoreOp.PER_SPECIES:
            points += n * np.int64(state.kinds_n[player, arg] + (is_new and types >> arg & 1))
        elif op == ScoreOp.COPIES_STEPS:
            copies = np.int64(state.species_n[player, species])
            points += steps_points(tables, species, copies + 1) - steps_points(tables, species, copies)
        elif op == ScoreOp.SETS:
            points += sets_gain(state, tables, player, species)
        elif op == ScoreOp.PER_CAVE_CARD:
            points += n * np.int64(state.cave_n[player])
        elif op == ScoreOp.PER_CARD_BELOW:
            points += n * np.int64(state.below_n[player] + bottom)
    return points


@njit(cache=True, nogil=True)
def leads_moors(state, player, with_moor):
    """Return whether the player has most moors, or ties, with one more moor if `with_moor` is not 0."""
    if with_moor == 0:
        return has_most_moors(state, player)
    mine = state.type_n[player, CardType.MOOR] + 1
    for other in range(state.players):
        if other != player and state.type_n[other, CardType.MOOR] > mine:
            return False
    return True


@njit(cache=True, nogil=True)
def sets_gain(state, tables, player, species):
    """A further copy joins the set that holds the species with more copies than it has now."""
    copies = state.species_n[player, species]
    size = 0
    for i in range(tables.set_count):
        size += state.species_n[player, tables.set_list[i]] > copies
    return steps_points(tables, species, size + 1) - steps_points(tables, species, size)


@njit(cache=True, nogil=True)
def others_points(state, tables, player, species, is_new):
    """Return what the cards already in the forest gain by the types of a new one."""
    points = 0
    for i in range(tables.type_count[species]):
        kind = tables.type_list[species, i]
        points += np.int64(state.type_worth[player, kind])
        for k in range(tables.jumper_count[kind]):
            other = tables.jumpers[kind, k]
            copies = np.int64(state.species_n[player, other])
            if copies > 0:
                points += (copies + np.int64(state.doubled_n[player, other])) * jump(
                    state, tables, player, other, kind, is_new
                )
    return points


@njit(cache=True, nogil=True)
def jump(state, tables, player, species, kind, is_new):
    """Return what one copy of `species` gains by one more card of type `kind`, of a new species if `is_new`."""
    points = 0
    for term in range(TERMS):
        op = tables.score_op[species, term]
        if op == ScoreOp.MOST_MOORS and kind == CardType.MOOR:
            before = 1 if has_most_moors(state, player) else 0
            after = 1 if leads_moors(state, player, 1) else 0
            points += steps_points(tables, species, after) - steps_points(tables, species, before)
        elif tables.score_arg[species, term] != kind:
            continue
        elif op == ScoreOp.TYPE_STEPS:
            count = np.int64(state.type_n[player, kind])
            points += steps_points(tables, species, count + 1) - steps_points(tables, species, count)
        elif is_new and op == ScoreOp.SPECIES_STEPS:
            count = np.int64(state.kinds_n[player, kind])
            points += steps_points(tables, species, count + 1) - steps_points(tables, species, count)
        elif is_new and op == ScoreOp.PER_SPECIES:
            points += tables.score_n[species, term]
    return points


@njit(cache=True, nogil=True)
def cave_gain(state, tables, player, op, types, n):
    """Return the points that an effect is certain to put into the cave, Beavers counted."""
    cards = 0
    if op == EffectOp.STACK_TO_CAVE:
        cards = np.int64(n)
    elif op == EffectOp.STACK_TO_CAVE_PER_TYPE:
        cards = np.int64(n) * count_types(state, player, types)
    elif op == EffectOp.CLEARING_TO_CAVE:
        cards = np.int64(min(n, state.clearing_n))
    elif op == EffectOp.CLEARING_TYPE_TO_CAVE:
        for i in range(state.clearing_n):
            cards += tables.card_types[state.clearing[i]] & types != 0
    return cards * np.int64(state.cave_worth[player])
