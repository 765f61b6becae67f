"""The decision machine: `advance` runs to the next choice, `legal_actions` lists it, `apply` carries out the answer.

The same functions serve the batch loop, replay, rollouts and the referee's tests (`docs/decisions.md`).
"""

from numba import njit

from sim.actions import act_of, card_of, half_of, slot_of
from sim.cards import (
    add_to_cave,
    add_to_clearing,
    add_to_hand,
    draw_cards,
    empty_full_clearing,
    remove_sorted,
    take_from_clearing,
    take_from_hand,
)
from sim.codes import Act, CardType, EffectOp, Ending, Face, Fate, Phase, Place, Slot
from sim.effects import asks, choice_phase, count_off, perform, pop, push
from sim.forest import count_reactions, place
from sim.rules import CAVE_STEPS, DRAWS_PER_TURN, HAND_LIMIT, SWAPPED_CARDS, UNIVERSAL_MOOR


@njit(cache=True, nogil=True)
def advance(state, tables, scratch):
    """Resolve pending steps until a player has to choose or the game is over; `scratch` (int32) is a list's room."""
    while state.phase == Phase.RESOLVE:
        step(state, tables, scratch)


@njit(cache=True, nogil=True)
def step(state, tables, scratch):
    """Resolve the pending step on top: ask the player, or carry it out."""
    top = state.pending_count - 1
    op, types, n = state.pending_op[top], state.pending_types[top], state.pending_n[top]
    if asks(op):
        state.phase = choice_phase(state, tables, state.player, op, types, scratch)
        if state.phase == Phase.RESOLVE:
            pop(state)
        return
    pop(state)
    if op == EffectOp.END_TURN:
        end_turn(state)
    elif op == EffectOp.OPENING:
        next_opening(state, tables)
    else:
        perform(state, tables, state.player, op, types, n)


# Turns and setup


@njit(cache=True, nogil=True)
def start_turn(state, player, is_extra):
    """A player's turn begins."""
    state.player = player
    state.is_extra = is_extra
    state.extra_turn = 0
    state.turn += 1
    state.player_turns[player] += 1
    if player == state.first and not is_extra:
        state.rounds += 1
    state.fresh_n[:] = 0
    state.phase = Phase.TURN


@njit(cache=True, nogil=True)
def end_turn(state):
    """Tidy the clearing, then the same player again with an extra turn, otherwise the next one."""
    empty_full_clearing(state)
    if state.extra_turn:
        start_turn(state, state.player, 1)
    else:
        start_turn(state, (state.player + 1) % state.players, 0)


@njit(cache=True, nogil=True)
def next_in_setup(state):
    """Setup goes in reverse turn order: make the next player the one to act."""
    state.setup_left -= 1
    state.player = (state.first + state.setup_left) % state.players


@njit(cache=True, nogil=True)
def start_draft(state):
    """The last player chooses a cave first."""
    state.setup_left = state.players
    next_in_setup(state)
    state.phase = Phase.CAVE


@njit(cache=True, nogil=True)
def start_openings(state):
    """After the caves are chosen, their opening effects, the last player's first."""
    state.setup_left = state.players
    push(state, EffectOp.OPENING, 0, 0)
    state.phase = Phase.RESOLVE


@njit(cache=True, nogil=True)
def next_opening(state, tables):
    """Carry out the opening effect of the next cave; after the last one the first turn begins."""
    if state.setup_left == 0:
        start_turn(state, state.first, 0)
        return
    next_in_setup(state)
    push(state, EffectOp.OPENING, 0, 0)
    cave = state.cave[state.player]
    for i in range(CAVE_STEPS - 1, -1, -1):
        push(state, tables.cave_op[cave, i], tables.cave_types[cave, i], tables.cave_op_n[cave, i])


@njit(cache=True, nogil=True)
def choose_cave(state, cave):
    """Take a cave from the offer; the draft passes on in reverse turn order."""
    state.cave[state.player] = cave
    remove_sorted(state.offer, state.offer_n, cave)
    state.offer_n -= 1
    if state.offer_n == 0:
        start_openings(state)
    else:
        next_in_setup(state)


# Answers


@njit(cache=True, nogil=True)
def apply(state, tables, action):
    """Carry out a legal answer to the pending decision; `advance` goes on from there."""
    act, card = act_of(action), card_of(action)
    player = state.player
    state_phase = state.phase
    state.phase = Phase.RESOLVE
    if act == Act.DRAW:
        push(state, EffectOp.END_TURN, 0, 0)
        state.draws_left = DRAWS_PER_TURN
        state.phase = Phase.DRAW
    elif act == Act.STACK or act == Act.CLEARING:
        draw_one(state, player, act, card)
    elif act == Act.PLAY:
        push(state, EffectOp.END_TURN, 0, 0)
        state.phase = Phase.CARD
    elif act == Act.CARD:
        if state_phase == Phase.CARD:
            start_play(state, tables, player, card, half_of(action))
        else:
            start_free_play(state, tables, player, card, half_of(action))
    elif act == Act.PAY:
        pay(state, tables, player, card)
    elif act == Act.HOST:
        finish_play(state, tables, player, card, slot_of(action))
    elif act == Act.DECLINE:
        pop(state)
    elif act == Act.MOOR:
        lay_face_down(state, tables, player, card)
    elif act == Act.SWAP:
        push(state, EffectOp.END_TURN, 0, 0)
        push(state, EffectOp.SWAP_DRAW, 0, SWAPPED_CARDS)
        push(state, EffectOp.SWAP_DISCARD, 0, SWAPPED_CARDS)
        state.swaps += 1
    elif act == Act.CAVE:
        state.phase = Phase.CAVE
        choose_cave(state, card)
    elif act != Act.STOP:
        pick(state, tables, player, act, card)


@njit(cache=True, nogil=True)
def draw_one(state, player, act, card):
    """Draw one card of the draw action, from the stack or the clearing; a second follows below the hand limit."""
    if act == Act.STACK:
        draw_cards(state, player, 1, Ending.DRAW)
        if state.phase == Phase.OVER:
            return
    else:
        take_from_clearing(state, card)
        add_to_hand(state, player, card, Fate.FROM_CLEARING)
    state.draws_left -= 1
    if state.draws_left > 0 and state.hand_n[player] < HAND_LIMIT:
        state.phase = Phase.DRAW


@njit(cache=True, nogil=True)
def pick(state, tables, player, act, card):
    """Move one picked card as its effect says: into the hand, the cave, the clearing or the discard pile."""
    if act == Act.TAKE:
        take_from_clearing(state, card)
        add_to_hand(state, player, card, Fate.FROM_CLEARING)
    elif act == Act.STORE:
        take_from_clearing(state, card)
        add_to_cave(state, player, card)
    elif act == Act.HIDE:
        take_from_hand(state, player, card, Fate.CAVE)
        add_to_cave(state, player, card)
    else:
        take_from_hand(state, player, card, Fate.PAID_AWAY)
        if tables.swap_to == 1 and state.pending_op[state.pending_count - 1] == EffectOp.SWAP_DISCARD:
            state.place[card] = Place.DISCARD
        else:
            add_to_clearing(state, card)
    count_off(state)


# Playing a card


@njit(cache=True, nogil=True)
def start_play(state, tables, player, card, half):
    """A paid play: the card leaves the hand, then its cost is paid."""
    take_from_hand(state, player, card, Fate.PLAYED)
    state.play_card = card
    state.play_half = half
    state.play_mode = EffectOp.NONE
    state.to_pay = tables.cost[tables.species[card, half]]
    state.paid_n = 0
    state.paid_match = 1
    if state.to_pay > 0:
        state.phase = Phase.PAY
    else:
        find_host(state, tables, player)


@njit(cache=True, nogil=True)
def pay(state, tables, player, card):
    """Pay with one card, face up into the clearing."""
    take_from_hand(state, player, card, Fate.PAID_AWAY)
    add_to_clearing(state, card)
    state.paid_n += 1
    state.to_pay -= 1
    state.paid_match &= tables.symbols[card] >> tables.symbol[state.play_card, state.play_half]
    if state.to_pay > 0:
        state.phase = Phase.PAY
    else:
        find_host(state, tables, player)


@njit(cache=True, nogil=True)
def start_free_play(state, tables, player, card, half):
    """A free placement of the pending effect: the card leaves the hand or the clearing."""
    op = state.pending_op[state.pending_count - 1]
    if op == EffectOp.CLEARING_TO_FOREST:
        take_from_clearing(state, card)
        state.fate[player, card] |= Fate.PLAYED_FREE
    else:
        take_from_hand(state, player, card, Fate.PLAYED_FREE)
    if op != EffectOp.PLAY_FREE_ANY_NUMBER:
        pop(state)
    state.play_card = card
    state.play_half = half
    state.play_mode = op
    find_host(state, tables, player)


@njit(cache=True, nogil=True)
def find_host(state, tables, player):
    """A habitat is laid down at once, for a half the player chooses a slot."""
    if tables.slot[tables.species[state.play_card, state.play_half]] <= Slot.MOOR:
        finish_play(state, tables, player, state.play_card, 0)
    else:
        state.phase = Phase.HOST


@njit(cache=True, nogil=True)
def finish_play(state, tables, player, habitat, slot):
    """Lay the card down; then, last pushed first: a tree's reveal, permanent effects, its effect, its bonus."""
    card, half = state.play_card, state.play_half
    species = tables.species[card, half]
    draws = count_reactions(state, tables, player, species)
    place(state, tables, player, card, half, habitat, slot)
    if state.play_mode == EffectOp.NONE and earns_bonus(state, tables):
        push(state, tables.bonus_op[species], tables.bonus_types[species], tables.bonus_n[species])
    if state.play_mode == EffectOp.NONE or state.play_mode == EffectOp.PLAY_FREE_WITH_EFFECT:
        push(state, tables.effect_op[species], tables.effect_types[species], tables.effect_n[species])
    if draws > 0:
        push(state, EffectOp.TRIGGERED_DRAW, 0, draws)
    if tables.types[species] >> CardType.TREE & 1:
        push(state, EffectOp.REVEAL, 0, 1)


@njit(cache=True, nogil=True)
def earns_bonus(state, tables):
    """Every card paid shows the symbol of the half played; with nothing paid the ruling free_cost_bonus decides."""
    if state.paid_n == 0:
        return tables.free_cost_bonus == 0
    return state.paid_match & 1 == 1


@njit(cache=True, nogil=True)
def lay_face_down(state, tables, player, card):
    """Lay a hand card face down as a universal moor; permanent effects on moors react."""
    count_off(state)
    draws = count_reactions(state, tables, player, UNIVERSAL_MOOR)
    take_from_hand(state, player, card, Fate.FACE_DOWN)
    place(state, tables, player, card, Face.DOWN, card, 0)
    if draws > 0:
        push(state, EffectOp.TRIGGERED_DRAW, 0, draws)
