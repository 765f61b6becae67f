"""The plain player: a reference player without chance, so that any other engine can replay its games card by card.

Cards are ordered by id, lowest first (`plain_high`: highest first); the first play, card and slot in order are taken.
The player plays with five or more cards in hand, otherwise draws: first from the stack, then from the clearing.
`plain_bonus` pays with matching symbols where that earns a bonus.
"""

from numba import njit

from sim.actions import act_of, card_of
from sim.codes import Act, EffectOp, Phase
from sim.policy import policy
from sim.rules import DRAWS_PER_TURN

PLAY_FROM = 5


@njit(cache=True, nogil=True)
def first_card(actions, n, high):
    """Return the index of the first action in the order of cards; halves of one card keep their order."""
    if not high:
        return 0
    last = n - 1
    if act_of(actions[last]) == Act.DECLINE:
        last -= 1
    while last > 0 and card_of(actions[last - 1]) == card_of(actions[last]):
        last -= 1
    return last


@njit(cache=True, nogil=True)
def choose_draw(state, actions, n, high):
    """First from the stack; then from the clearing, or from the stack when that is empty; never leave it."""
    if state.draws_left == DRAWS_PER_TURN or state.clearing_n == 0:
        return 0
    return 1 + first_card(actions[1 : 1 + state.clearing_n], state.clearing_n, high)


@njit(cache=True, nogil=True)
def choose_payment(state, tables, actions, n, high):
    """Pay with the first cards that show the species' symbol if enough do and it has a bonus, else with the first."""
    species = tables.species[state.play_card, state.play_half]
    symbol = tables.symbol[state.play_card, state.play_half]
    if tables.bonus_op[species] == EffectOp.NONE or state.paid_match & 1 == 0:
        return first_card(actions, n, high)
    matching = 0
    first = -1
    for k in range(n):
        i = n - 1 - k if high else k
        if tables.symbols[card_of(actions[i])] >> symbol & 1:
            matching += 1
            if first < 0:
                first = i
    return first if matching >= state.to_pay else first_card(actions, n, high)


@njit(cache=True, nogil=True)
def choose_plain(state, tables, actions, n, high, bonus):
    """Answer every decision as the plain player does."""
    if state.phase == Phase.TURN:  # asked only when both drawing and playing are possible
        return 1 if state.hand_n[state.player] >= PLAY_FROM else 0
    if state.phase == Phase.DRAW:
        return choose_draw(state, actions, n, high)
    if state.phase == Phase.HOST or state.phase == Phase.CAVE:
        return 0
    if state.phase == Phase.PAY and bonus:
        return choose_payment(state, tables, actions, n, high)
    return first_card(actions, n, high)


@policy
def plain(state, tables, actions, n, weights):
    """Cards lowest first, no thought of bonuses."""
    return choose_plain(state, tables, actions, n, False, False)


@policy
def plain_high(state, tables, actions, n, weights):
    """Cards highest first."""
    return choose_plain(state, tables, actions, n, True, False)


@policy
def plain_bonus(state, tables, actions, n, weights):
    """Cards lowest first, paying for bonuses."""
    return choose_plain(state, tables, actions, n, False, True)
