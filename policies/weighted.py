"""The `weights` policy: every decision by the highest linear value of the position after it (`policies.features`)."""

import numpy as np
from numba import njit

from policies.feature_names import Feature
from policies.features import (
    VIEW,
    card_worth,
    effect_value,
    gift_value,
    look,
    look_at_time,
    payment,
    place_value,
    played_effects,
    shortage,
    value_hand,
)
from sim.actions import act_of, card_of, half_of, slot_of
from sim.codes import Act, EffectOp, Phase, Placement, Symbol
from sim.forest import is_moor
from sim.gain import placement_gain
from sim.legal import is_playable
from sim.policy import policy
from sim.rules import CAVE_STEPS, CLEARING_LIMIT, DRAWS_PER_TURN, HAND_LIMIT, SLOTS, UNIVERSAL_MOOR

NEVER = -np.inf
NO_PLACE = -1
ANY_SYMBOL = 255
NO_SYMBOL = int(Symbol.NONE)


@njit(cache=True, nogil=True)
def card8(action):
    """Return the card of an action as the record stores cards: one type of argument, one compilation."""
    return np.uint8(card_of(action))


@njit(cache=True, nogil=True)
def play_value(state, tables, view, player, i, half):
    """Return the value of the position after playing a half of hand card `i`, against having done nothing."""
    card = state.hand[player, i]
    species, symbol = tables.species[card, half], tables.symbol[card, half]
    cost = np.int64(tables.cost[species])
    hand_n = state.hand_n[player] - 1 - cost
    paid = view.w[Feature.HAND_WORTH] * payment(state, tables, view, player, i, cost, np.int64(ANY_SYMBOL))
    best = -paid
    if tables.bonus_op[species] != EffectOp.NONE:
        bonus = bonus_value(state, tables, view, player, species, card, hand_n)
        matching = payment(state, tables, view, player, i, cost, np.int64(1 << symbol))
        if cost == 0 and tables.free_cost_bonus == 0:
            best = bonus
        elif cost > 0 and matching >= 0:
            best = max(best, bonus - view.w[Feature.HAND_WORTH] * matching)
    value = (
        view.value[i, half]
        + view.effect[i, half]
        + best
        - (1 + cost) * view.card
        - view.w[Feature.HAND_WORTH] * view.worth[i]
    )
    if state.clearing_n + cost >= CLEARING_LIMIT:
        value += view.w[Feature.CLEARING_FLUSH]
    return value + shortage(view, hand_n)


@njit(cache=True, nogil=True)
def bonus_value(state, tables, view, player, species, card, hand_n):
    """Return the value of a species' bonus with `hand_n` cards in hand after paying."""
    op, types, n = tables.bonus_op[species], tables.bonus_types[species], tables.bonus_n[species]
    return effect_value(state, tables, view, player, op, types, n, card, hand_n)


@njit(cache=True, nogil=True)
def draw_value(state, tables, view, player):
    """Return the value of spending the turn on drawing the best cards in sight, or unseen ones."""
    cards = min(DRAWS_PER_TURN, HAND_LIMIT - state.hand_n[player])
    first = second = view.w[Feature.UNSEEN]
    for k in range(state.clearing_n):
        worth = card_worth(state, tables, view, player, state.clearing[k])
        if worth > first:
            first, second = worth, first
        elif worth > second:
            second = worth
    worths = first + second if cards == DRAWS_PER_TURN else first
    value = view.w[Feature.DRAW_TURN] + view.w[Feature.DRAW_LATE] * (1 - view.left)
    value += cards * view.card + view.w[Feature.HAND_WORTH] * worths
    return value + shortage(view, state.hand_n[player] + cards)


@njit(cache=True, nogil=True)
def choose_turn(state, tables, view, player):
    """Return the index of DRAW (0) or PLAY (1); asked only when both are possible."""
    value_hand(state, tables, view, player)
    draw = draw_value(state, tables, view, player)
    for i in range(np.int64(state.hand_n[player])):
        card = state.hand[player, i]
        for half in range(tables.halves[card]):
            if not is_playable(state, tables, player, card, half):
                continue
            if play_value(state, tables, view, player, i, half) > draw:
                return 1
    return 0


@njit(cache=True, nogil=True)
def choose_card(state, tables, view, player, actions, n):
    """The half whose play is worth most."""
    value_hand(state, tables, view, player)
    best, best_value = 0, NEVER
    place = 0
    for i in range(n):
        while state.hand[player, place] != card_of(actions[i]):
            place += 1
        value = play_value(state, tables, view, player, place, np.uint64(half_of(actions[i])))
        if value > best_value:
            best, best_value = i, value
    return best


@njit(cache=True, nogil=True)
def choose_draw(state, tables, view, player, actions, n):
    """The best card of the clearing, an unseen one, or (where the draw may stop) none."""
    best, best_value = 0, NEVER
    for i in range(n):
        act = act_of(actions[i])
        value = 0.0
        if act == Act.STACK:
            value = view.card + view.w[Feature.HAND_WORTH] * view.w[Feature.UNSEEN]
        elif act == Act.CLEARING:
            worth = card_worth(state, tables, view, player, card8(actions[i]))
            value = view.card + view.w[Feature.HAND_WORTH] * worth
        if value > best_value:
            best, best_value = i, value
    return best


@njit(cache=True, nogil=True)
def choose_payment(state, tables, view, player, actions, n):
    """The hand card that is least missed and least wanted by the next player; all in the symbol if the bonus pays."""
    value_hand(state, tables, view, player)
    species, symbol = tables.species[state.play_card, state.play_half], tables.symbol[state.play_card, state.play_half]
    mask = np.int64(ANY_SYMBOL)
    if tables.bonus_op[species] != EffectOp.NONE and state.paid_match & 1:
        to_pay, nowhere = np.int64(state.to_pay), np.int64(NO_PLACE)
        matching = payment(state, tables, view, player, nowhere, to_pay, np.int64(1 << symbol))
        if matching >= 0:
            hand_n = state.hand_n[player] - to_pay
            bonus = bonus_value(state, tables, view, player, species, state.play_card, hand_n)
            least = payment(state, tables, view, player, nowhere, to_pay, mask)
            if bonus > view.w[Feature.HAND_WORTH] * (matching - least):
                mask = np.int64(1 << symbol)
    best, best_value = 0, NEVER
    for i in range(n):
        card = card8(actions[i])
        if tables.symbols[card] & mask:
            value = -view.w[Feature.HAND_WORTH] * view.worth[i]
            value += gift_value(state, tables, view, player, card, np.int64(state.to_pay))
            if value > best_value:
                best, best_value = i, value
    return best


@njit(cache=True, nogil=True)
def choose_host(state, tables, view, player, actions, n):
    """The slot with the most points, then by what it leaves and what it fills."""
    species, symbol = tables.species[state.play_card, state.play_half], tables.symbol[state.play_card, state.play_half]
    placement = tables.placement[species, state.play_half]
    needs_moor = placement == Placement.TOP_MOOR or placement == Placement.BOTTOM_MOOR
    best, best_value = 0, NEVER
    for i in range(n):
        habitat, slot = card_of(actions[i]), slot_of(actions[i])
        value = float(placement_gain(state, tables, player, species, symbol, habitat, slot))
        if not needs_moor and is_moor(state, tables, habitat):
            value += view.w[Feature.MOOR_SLOT]
        if state.full_worth[habitat] > 0:
            for other in range(SLOTS):
                value += view.w[Feature.HOST_FILLED] * (state.slot_n[habitat, other] > 0 and other != slot)
        if value > best_value:
            best, best_value = i, value
    return best


@njit(cache=True, nogil=True)
def choose_free(state, tables, view, player, actions, n):
    """The free placement of the highest value, or to decline where none is worth its card."""
    op = state.pending_op[state.pending_count - 1]
    held = op != EffectOp.CLEARING_TO_FOREST
    best, best_value = 0, NEVER
    for i in range(n):
        value = 0.0
        if act_of(actions[i]) == Act.CARD:
            card, half = card8(actions[i]), half_of(actions[i])
            species, symbol = tables.species[card, half], tables.symbol[card, half]
            value = place_value(state, tables, view, player, species, symbol, card)
            value += view.w[Feature.FREE_CARD] - (view.card if held else 0.0)
            if op == EffectOp.PLAY_FREE_WITH_EFFECT:
                hand_n = state.hand_n[player] - 1
                value += played_effects(state, tables, view, player, species, card, hand_n)
        if value > best_value:
            best, best_value = i, value
    return best


@njit(cache=True, nogil=True)
def choose_moor(state, tables, view, player, actions, n):
    """The least worthy card face down, if the moor is worth it."""
    value_hand(state, tables, view, player)
    moor = place_value(state, tables, view, player, np.uint8(UNIVERSAL_MOOR), np.uint8(NO_SYMBOL), np.uint8(0))
    moor += view.w[Feature.FREE_MOOR] - view.card
    best, best_value = 0, NEVER
    for i in range(n):
        value = 0.0
        if act_of(actions[i]) == Act.MOOR:
            value = moor - view.w[Feature.HAND_WORTH] * view.worth[i]
        if value > best_value:
            best, best_value = i, value
    return best


@njit(cache=True, nogil=True)
def choose_given_away(state, tables, view, player, actions, n):
    """The hand card that is least missed, into the clearing, the discard pile or the cave."""
    value_hand(state, tables, view, player)
    best, best_value = 0, NEVER
    for i in range(n):
        value = -view.w[Feature.HAND_WORTH] * view.worth[i]
        if act_of(actions[i]) == Act.DISCARD:
            value += gift_value(state, tables, view, player, card8(actions[i]), np.int64(1))
        if value > best_value:
            best, best_value = i, value
    return best


@njit(cache=True, nogil=True)
def choose_from_clearing(state, tables, view, player, actions, n):
    """TAKE the card of most worth; STORE the one that is worth least here and most to the next player."""
    best, best_value = 0, NEVER
    for i in range(n):
        card = card8(actions[i])
        value = view.w[Feature.HAND_WORTH] * card_worth(state, tables, view, player, card)
        if act_of(actions[i]) == Act.STORE:
            value = -value - gift_value(state, tables, view, player, card, np.int64(0))
        if value > best_value:
            best, best_value = i, value
    return best


@njit(cache=True, nogil=True)
def choose_cave(state, tables, view, player, actions, n):
    """The cave whose points and opening effects are worth most."""
    best, best_value = 0, NEVER
    for i in range(n):
        cave = card_of(actions[i])
        value = view.w[Feature.POINTS] * tables.cave_points[cave]
        for step in range(CAVE_STEPS):
            op, types, count = tables.cave_op[cave, step], tables.cave_types[cave, step], tables.cave_op_n[cave, step]
            hand_n = np.int64(state.hand_n[player])
            value += effect_value(state, tables, view, player, op, types, count, np.uint8(0), hand_n)
        if value > best_value:
            best, best_value = i, value
    return best


@njit(cache=True, nogil=True)
def answer(state, tables, views, weights, actions, n):
    """Answer any decision; `views` (dtype VIEW, (1,)) is blank room, which the caller keeps alive."""
    player = np.int64(state.player)
    phase = state.phase
    view = views[0]
    look_at_time(state, weights, view)
    if phase == Phase.HOST:
        return choose_host(state, tables, view, player, actions, n)
    look(state, tables, player, view)
    if phase == Phase.TURN:
        return choose_turn(state, tables, view, player)
    if phase == Phase.CARD:
        return choose_card(state, tables, view, player, actions, n)
    if phase == Phase.DRAW:
        return choose_draw(state, tables, view, player, actions, n)
    if phase == Phase.PAY:
        return choose_payment(state, tables, view, player, actions, n)
    if phase == Phase.FREE:
        return choose_free(state, tables, view, player, actions, n)
    if phase == Phase.MOOR:
        return choose_moor(state, tables, view, player, actions, n)
    if phase == Phase.CAVE:
        return choose_cave(state, tables, view, player, actions, n)
    if phase == Phase.TAKE or phase == Phase.STORE:
        return choose_from_clearing(state, tables, view, player, actions, n)
    return choose_given_away(state, tables, view, player, actions, n)


@policy
def weighted(state, tables, actions, n, weights):
    """Answer every decision by the highest linear value."""
    views = np.zeros(1, VIEW)
    return answer(state, tables, views, weights, actions, n)
