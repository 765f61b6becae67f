"""The legal answers to the pending decision, in the order of `docs/decisions.md`."""

from numba import njit

from sim.actions import make_action
from sim.codes import Act, EffectOp, MoorSlot, Phase
from sim.forest import can_place, is_moor, slot_accepts
from sim.rules import DRAWS_PER_TURN, HAND_LIMIT, SLOTS


@njit(cache=True, nogil=True)
def legal_actions(state, tables, actions):
    """Write the legal actions of the pending decision into `actions` (int32) and return their number."""
    phase = state.phase
    player = state.player
    if phase == Phase.TURN:
        return turn_actions(state, tables, player, actions)
    if phase == Phase.DRAW:
        return draw_actions(state, tables, actions)
    if phase == Phase.CARD:
        return card_actions(state, tables, player, actions)
    if phase == Phase.PAY:
        return list_cards(Act.PAY, state.hand[player], state.hand_n[player], actions)
    if phase == Phase.HOST:
        return host_actions(state, tables, player, actions)
    if phase == Phase.FREE:
        return free_actions(state, tables, player, actions)
    if phase == Phase.MOOR:
        n = list_cards(Act.MOOR, state.hand[player], state.hand_n[player], actions)
        return with_decline(actions, n, tables.moor_from_hand_optional == 0)
    if phase == Phase.TAKE:
        return list_cards(Act.TAKE, state.clearing, state.clearing_n, actions)
    if phase == Phase.STORE:
        return list_cards(Act.STORE, state.clearing, state.clearing_n, actions)
    if phase == Phase.DISCARD:
        return list_cards(Act.DISCARD, state.hand[player], state.hand_n[player], actions)
    if phase == Phase.HIDE:
        return list_cards(Act.HIDE, state.hand[player], state.hand_n[player], actions)
    if phase == Phase.CAVE:
        return list_cards(Act.CAVE, state.offer, state.offer_n, actions)
    return 0


@njit(cache=True, nogil=True)
def list_cards(act, cards, n, actions):
    """List one action for each of cards[:n]."""
    for i in range(n):
        actions[i] = make_action(act, cards[i], 0)
    return n


@njit(cache=True, nogil=True)
def with_decline(actions, n, optional):
    """Add the answer to decline, last, where the rules leave the choice."""
    if optional:
        actions[n] = make_action(Act.DECLINE, 0, 0)
        return n + 1
    return n


@njit(cache=True, nogil=True)
def turn_actions(state, tables, player, actions):
    """Draw with fewer than ten cards; play when a half is playable; the swap when neither."""
    n = 0
    if state.hand_n[player] < HAND_LIMIT:
        actions[n] = make_action(Act.DRAW, 0, 0)
        n += 1
    if can_play(state, tables, player):
        actions[n] = make_action(Act.PLAY, 0, 0)
        n += 1
    if n == 0:
        actions[n] = make_action(Act.SWAP, 0, 0)
        n += 1
    return n


@njit(cache=True, nogil=True)
def is_playable(state, tables, player, card, half):
    """A half is playable when it has a legal place and the other hand cards can pay its cost."""
    return can_place(state, tables, player, card, half) and (
        tables.cost[tables.species[card, half]] < state.hand_n[player]
    )


@njit(cache=True, nogil=True)
def can_play(state, tables, player):
    """Return whether any half of any hand card is playable."""
    for i in range(state.hand_n[player]):
        card = state.hand[player, i]
        for half in range(tables.halves[card]):
            if is_playable(state, tables, player, card, half):
                return True
    return False


@njit(cache=True, nogil=True)
def draw_actions(state, tables, actions):
    """From the stack, or any card of the clearing; the second draw may be left (ruling second_draw)."""
    actions[0] = make_action(Act.STACK, 0, 0)
    n = 1
    for i in range(state.clearing_n):
        actions[n] = make_action(Act.CLEARING, state.clearing[i], 0)
        n += 1
    if state.draws_left < DRAWS_PER_TURN and tables.second_draw == 0:
        actions[n] = make_action(Act.STOP, 0, 0)
        n += 1
    return n


@njit(cache=True, nogil=True)
def card_actions(state, tables, player, actions):
    """Every playable half of a hand card."""
    n = 0
    for i in range(state.hand_n[player]):
        card = state.hand[player, i]
        for half in range(tables.halves[card]):
            if is_playable(state, tables, player, card, half):
                actions[n] = make_action(Act.CARD, card, half)
                n += 1
    return n


@njit(cache=True, nogil=True)
def free_actions(state, tables, player, actions):
    """Every half of the wanted types with a legal place, from the hand or the clearing; declining where optional."""
    top = state.pending_count - 1
    types = state.pending_types[top]
    if state.pending_op[top] == EffectOp.CLEARING_TO_FOREST:
        n = list_free(state, tables, player, types, state.clearing, state.clearing_n, actions)
    else:
        n = list_free(state, tables, player, types, state.hand[player], state.hand_n[player], actions)
    return with_decline(actions, n, n > 0 and tables.free_play_optional == 0)


@njit(cache=True, nogil=True)
def list_free(state, tables, player, types, cards, count, actions):
    """List the halves among cards[:count] that are of the types and have a legal place."""
    n = 0
    for i in range(count):
        card = cards[i]
        if tables.card_types[card] & types == 0:
            continue
        for half in range(tables.halves[card]):
            if tables.types[tables.species[card, half]] & types and can_place(state, tables, player, card, half):
                actions[n] = make_action(Act.CARD, card, half)
                n += 1
    return n


@njit(cache=True, nogil=True)
def host_actions(state, tables, player, actions):
    """Every slot that takes the half in play, habitats oldest first; of two empty slots of a moor only the first."""
    wanted = 1 << tables.placement[tables.species[state.play_card, state.play_half], state.play_half]
    n = 0
    for i in range(state.habitats_n[player]):
        habitat = state.habitats[player, i]
        if state.accepts[habitat] & wanted == 0:
            continue
        moor = is_moor(state, tables, habitat)
        for slot in range(SLOTS):
            if moor and slot >= MoorSlot.TOP2 and is_same_as_first(state, habitat, slot):
                continue
            if slot_accepts(state, tables, habitat, slot) & wanted:
                actions[n] = make_action(Act.HOST, habitat, slot)
                n += 1
    return n


@njit(cache=True, nogil=True)
def is_same_as_first(state, habitat, slot):
    """The second top (bottom) slot of a moor is the same answer as the first while both are empty."""
    first = slot - MoorSlot.TOP2
    return state.slot_n[habitat, slot] == 0 and state.slot_n[habitat, first] == 0
