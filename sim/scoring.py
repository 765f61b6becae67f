"""Points (rulebook, End): one small kernel for each way of scoring; a species never costs a walk over the forest.

Small unsigned counters become int64 before they are multiplied or added: numba makes a float of int64 plus uint64.
"""

import numpy as np
from numba import njit

from sim.codes import CardType, ScoreOp
from sim.rules import MAX_PLAYERS, MAX_STEPS, SHARES, SPECIES, SYMBOLS, TYPES

TERMS = 2
NO_CAVE = 255  # a player of a forest file without a cave


@njit(cache=True, nogil=True)
def steps_points(tables, species, count):
    """Return the points that a step table gives for a count."""
    return np.int64(tables.steps[species, min(count, MAX_STEPS - 1)])


@njit(cache=True, nogil=True)
def has_most_moors(state, player):
    """Most moors of all players or tied for it; with no moor anywhere all are tied."""
    for other in range(state.players):
        if state.type_n[other, CardType.MOOR] > state.type_n[player, CardType.MOOR]:
            return False
    return True


@njit(cache=True, nogil=True)
def per_copy(state, tables, player, species, term):
    """Return the points of one copy by a term that gives the same to every copy, wherever it sits."""
    op = tables.score_op[species, term]
    arg = tables.score_arg[species, term]
    n = np.int64(tables.score_n[species, term])
    if op == ScoreOp.FIXED:
        return n
    if op == ScoreOp.PER_TYPE:
        return n * np.int64(state.type_n[player, arg])
    if op == ScoreOp.PER_SYMBOL:
        return n * np.int64(state.symbol_n[player, arg])
    if op == ScoreOp.MOST_MOORS:
        return steps_points(tables, species, 1 if has_most_moors(state, player) else 0)
    if op == ScoreOp.TYPE_STEPS:
        return steps_points(tables, species, state.type_n[player, arg])
    if op == ScoreOp.SPECIES_STEPS:
        return steps_points(tables, species, state.kinds_n[player, arg])
    if op == ScoreOp.PER_SPECIES:
        return n * np.int64(state.kinds_n[player, arg])
    if op == ScoreOp.PER_CAVE_CARD:
        return n * np.int64(state.cave_n[player])
    if op == ScoreOp.PER_CARD_BELOW:
        return n * np.int64(state.below_n[player])
    return 0


@njit(cache=True, nogil=True)
def species_points(state, tables, player, species):
    """Return the points of all copies of a species in a player's forest."""
    copies = np.int64(state.species_n[player, species])
    points = 0
    if copies == 0:
        return points
    for term in range(TERMS):
        op = tables.score_op[species, term]
        n = np.int64(tables.score_n[species, term])
        if op == ScoreOp.HOST_FULL:
            points += n * np.int64(state.full_n[player, species])
        elif op == ScoreOp.IN_MOOR:
            points += n * np.int64(state.in_moor_n[player, species] + state.doubled_n[player, species])
        elif op == ScoreOp.PER_OWN_SYMBOL:
            for symbol in range(SYMBOLS):
                points += n * np.int64(state.own_symbol_n[player, symbol] * state.symbol_n[player, symbol])
        elif op == ScoreOp.COPIES_STEPS:
            points += steps_points(tables, species, copies)
        elif op == ScoreOp.SETS:
            points += set_points(state, tables, player, species)
        else:
            points += per_copy(state, tables, player, species, term) * (
                copies + np.int64(state.doubled_n[player, species])
            )
    return points


@njit(cache=True, nogil=True)
def set_points(state, tables, player, species):
    """Return a species' part of the sets: the k-th set holds every set species with at least k copies.

    A set's points are divided evenly over its species, the remainder one each to the first in table order, so that the
    parts are whole and add up to the sets' points. Largest sets first is the best split (rules, dragonfly sets).
    """
    points = 0
    for k in range(1, state.species_n[player, species] + 1):
        size = 0
        rank = 0
        for i in range(tables.set_count):
            other = tables.set_list[i]
            if state.species_n[player, other] >= k:
                size += 1
                rank += other < species
        of_set = steps_points(tables, species, size)
        points += of_set // size + (rank < of_set % size)
    return points


@njit(cache=True, nogil=True)
def cave_points(state, tables, player):
    """Return one point for each card in the cave, and what the cave itself gives at the end (cave 4)."""
    points = np.int64(state.cave_n[player])
    cave = state.cave[player]
    if cave == NO_CAVE:
        return points
    points += np.int64(tables.cave_points[cave])
    for kind in range(TYPES):
        points += np.int64(tables.cave_type_points[cave, kind] * state.type_n[player, kind])
    return points


@njit(cache=True, nogil=True)
def total_points(state, tables, player):
    """Return a player's score as it stands."""
    points = cave_points(state, tables, player)
    for species in range(SPECIES):
        if state.species_n[player, species] > 0:
            points += species_points(state, tables, player, species)
    return points


@njit(cache=True, nogil=True)
def win_shares(scores, players, shares):
    """Write each seat's share of the win in 60ths into `shares`: a tie of k players is 60/k each."""
    best = scores[0]
    winners = 0
    for player in range(players):
        if scores[player] > best:
            best = scores[player]
    for player in range(players):
        winners += scores[player] == best
    for player in range(MAX_PLAYERS):
        shares[player] = SHARES // winners if player < players and scores[player] == best else 0
