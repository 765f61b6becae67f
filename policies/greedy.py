"""The greedy player: the best immediate score change for each card spent.

It plays when the best play is worth a card's work or the hand is nearly full, pays with what it can use least (with
matching symbols where the bonus is worth it), and takes from the clearing what beats an unseen card.
"""

import numpy as np
from numba import njit

from policies.values import best_free, best_host, card_value, half_value, matching_cards, most_valuable
from sim.actions import act_of, card_of, half_of
from sim.cards import NO_CARD
from sim.codes import Act, EffectOp, Phase
from sim.gain import NOWHERE, cave_gain, placement_gain
from sim.legal import is_playable
from sim.policy import policy
from sim.rules import CAVE_STEPS, UNIVERSAL_MOOR

PLAY_FROM_VALUE = 1.5  # points a card, below which the player rather draws
FULL_HAND = 9  # cards from which it plays whatever it has
UNSEEN_VALUE = 2.0  # points a card that the top of the stack promises
BONUS_POINTS = 2.0  # what a bonus is worth on average
NO_SYMBOL = 6


@njit(cache=True, nogil=True)
def play_value(state, tables, player, card, half):
    """Value a playable half, with its bonus where the hand can pay for it in matching symbols."""
    species = tables.species[card, half]
    value = half_value(state, tables, player, card, half)
    cost = tables.cost[species]
    has_bonus = tables.bonus_op[species] != EffectOp.NONE and cost > 0
    if has_bonus and matching_cards(state, tables, player, tables.symbol[card, half], card) >= cost:
        value += BONUS_POINTS / (1 + cost)
    return value


@njit(cache=True, nogil=True)
def choose_turn(state, tables, player):
    """Return the index of DRAW (0) or PLAY (1); asked only when both are possible."""
    if state.hand_n[player] >= FULL_HAND:
        return 1
    for i in range(state.hand_n[player]):
        card = state.hand[player, i]
        for half in range(tables.halves[card]):
            if (
                is_playable(state, tables, player, card, half)
                and play_value(state, tables, player, card, half) >= PLAY_FROM_VALUE
            ):
                return 1
    return 0


@njit(cache=True, nogil=True)
def choose_card(state, tables, player, actions, n):
    """The half of the highest value; ties go to the first."""
    best, best_value = 0, -1.0
    for i in range(n):
        value = play_value(state, tables, player, card_of(actions[i]), half_of(actions[i]))
        if value > best_value:
            best, best_value = i, value
    return best


@njit(cache=True, nogil=True)
def choose_draw(state, tables, player, actions, n):
    """The best card of the clearing if it beats an unseen one, otherwise the stack; the second draw is always taken."""
    best, best_value = 0, UNSEEN_VALUE
    for i in range(n):
        if act_of(actions[i]) == Act.CLEARING:
            value = card_value(state, tables, player, card_of(actions[i]))
            if value > best_value:
                best, best_value = i, value
    return best


@njit(cache=True, nogil=True)
def choose_payment(state, tables, player, actions, n):
    """The least useful card; with a bonus in reach the least useful of those that show its symbol."""
    species = tables.species[state.play_card, state.play_half]
    symbol = tables.symbol[state.play_card, state.play_half]
    wants_symbol = (
        tables.bonus_op[species] != EffectOp.NONE
        and state.paid_match & 1 == 1
        and matching_cards(state, tables, player, symbol, NO_CARD) >= state.to_pay
    )
    best, best_value = 0, -1.0
    for i in range(n):
        card = card_of(actions[i])
        if wants_symbol and tables.symbols[card] >> symbol & 1 == 0:
            continue
        value = card_value(state, tables, player, card)
        if best_value < 0 or value < best_value:
            best, best_value = i, value
    return best


@njit(cache=True, nogil=True)
def choose_moor(state, tables, player, actions, n):
    """Lay the least useful card face down if the moor is worth more than the card."""
    optional = act_of(actions[n - 1]) == Act.DECLINE
    cards = n - 1 if optional else n
    best = most_valuable(state, tables, player, actions, cards, True)
    gain = placement_gain(state, tables, player, UNIVERSAL_MOOR, NO_SYMBOL, NOWHERE, 0)
    worth_it = 1.0 + gain >= card_value(state, tables, player, card_of(actions[best]))
    return best if worth_it or not optional else n - 1


@njit(cache=True, nogil=True)
def choose_cave(state, tables, actions, n):
    """The cave with the most points for sure; ties go to the lowest number."""
    best, best_points = 0, -1
    for i in range(n):
        cave = card_of(actions[i])
        points = tables.cave_points[cave]
        for step in range(CAVE_STEPS):
            op, types, count = tables.cave_op[cave, step], tables.cave_types[cave, step], tables.cave_op_n[cave, step]
            points += cave_gain(state, tables, state.player, op, types, count)
        if points > best_points:
            best, best_points = i, points
    return best


@policy
def greedy(state, tables, actions, n, weights):
    """Answer every decision by the best immediate score change for each card spent."""
    player = np.int64(state.player)
    phase = state.phase
    if phase == Phase.TURN:
        return choose_turn(state, tables, player)
    if phase == Phase.CARD:
        return choose_card(state, tables, player, actions, n)
    if phase == Phase.DRAW:
        return choose_draw(state, tables, player, actions, n)
    if phase == Phase.PAY:
        return choose_payment(state, tables, player, actions, n)
    if phase == Phase.HOST:
        return best_host(state, tables, player, actions, n)
    if phase == Phase.FREE:
        return best_free(state, tables, player, actions, n)
    if phase == Phase.MOOR:
        return choose_moor(state, tables, player, actions, n)
    if phase == Phase.CAVE:
        return choose_cave(state, tables, actions, n)
    return most_valuable(state, tables, player, actions, n, phase != Phase.TAKE)
