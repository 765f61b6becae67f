"""What cards and halves are worth to their owner now: the shared eyes of the scoring policies."""

from numba import njit

from sim.actions import act_of, card_of, half_of, slot_of
from sim.codes import Act, EffectOp, Slot
from sim.effects import count_types
from sim.forest import can_place
from sim.gain import NOWHERE, cave_gain, placement_gain

LEAST_SPENT = 0.5  # a play that draws as many cards as it spends still costs the turn
UNPLACED = 0.6  # a half without a legal place may get one later


@njit(cache=True, nogil=True)
def drawn_cards(state, tables, player, op, types, n):
    """Return how many cards an effect brings into the hand, before the hand limit."""
    if op == EffectOp.DRAW or op == EffectOp.CLEARING_TO_HAND:
        return n
    if op == EffectOp.DRAW_PER_TYPE:
        return n * count_types(state, player, types)
    return 0


@njit(cache=True, nogil=True)
def half_gain(state, tables, player, card, half):
    """Return the score change of playing a half somewhere, with what its effect is certain to put into the cave."""
    species = tables.species[card, half]
    gain = placement_gain(state, tables, player, species, tables.symbol[card, half], NOWHERE, 0)
    effect, types, n = tables.effect_op[species], tables.effect_types[species], tables.effect_n[species]
    return gain + cave_gain(state, tables, player, effect, types, n)


@njit(cache=True, nogil=True)
def half_value(state, tables, player, card, half):
    """Return the score change for each card spent: the card, its cost, less what its effect draws."""
    species = tables.species[card, half]
    effect, types, n = tables.effect_op[species], tables.effect_types[species], tables.effect_n[species]
    spent = 1 + tables.cost[species] - drawn_cards(state, tables, player, effect, types, n)
    return half_gain(state, tables, player, card, half) / max(LEAST_SPENT, spent)


@njit(cache=True, nogil=True)
def card_value(state, tables, player, card):
    """Return the value of the better half of a card that is held or could be, less while it has no place."""
    best = 0.0
    for half in range(tables.halves[card]):
        value = half_value(state, tables, player, card, half)
        if not can_place(state, tables, player, card, half):
            value *= UNPLACED
        best = max(best, value)
    return best


@njit(cache=True, nogil=True)
def most_valuable(state, tables, player, actions, n, least):
    """Return the index of the action whose card is worth most (with `least`, least) to the player; ties go first."""
    best, best_value = 0, 0.0
    for i in range(n):
        value = card_value(state, tables, player, card_of(actions[i]))
        if least:
            value = -value
        if i == 0 or value > best_value:
            best, best_value = i, value
    return best


@njit(cache=True, nogil=True)
def best_host(state, tables, player, actions, n):
    """Return the index of the HOST action with the highest gain; ties go to the first."""
    species = tables.species[state.play_card, state.play_half]
    symbol = tables.symbol[state.play_card, state.play_half]
    best, best_gain = 0, -1
    for i in range(n):
        gain = placement_gain(state, tables, player, species, symbol, card_of(actions[i]), slot_of(actions[i]))
        if gain > best_gain:
            best, best_gain = i, gain
    return best


@njit(cache=True, nogil=True)
def best_free(state, tables, player, actions, n):
    """Return the index of the free placement with the highest gain; the answer to decline, last, counts as none."""
    best, best_gain = n - 1, 0
    for i in range(n):
        if act_of(actions[i]) == Act.DECLINE:
            continue
        gain = half_gain(state, tables, player, card_of(actions[i]), half_of(actions[i]))
        if (
            gain > best_gain
            or act_of(actions[best]) == Act.DECLINE
            and gain >= best_gain
            and is_habitat(tables, actions[i])
        ):
            best, best_gain = i, gain
    return best


@njit(cache=True, nogil=True)
def is_habitat(tables, action):
    """Return whether a CARD action plays a tree, shrub or moor."""
    return tables.slot[tables.species[card_of(action), half_of(action)]] <= Slot.MOOR


@njit(cache=True, nogil=True)
def matching_cards(state, tables, player, symbol, but):
    """Return how many hand cards other than `but` show the symbol."""
    n = 0
    for i in range(state.hand_n[player]):
        card = state.hand[player, i]
        n += card != but and tables.symbols[card] >> symbol & 1
    return n
