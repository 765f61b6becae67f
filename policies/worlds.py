"""Sampled worlds: everything that a player cannot see, dealt out afresh in a copy of the game record.

What a player knows of a card: it holds it, it lies face up (clearing, discard pile, forests), or it saw it go where it
is: into a hand from the clearing, into a cave after having been held or paid. All other cards are equally likely in
every hidden place: the stack, the box, unknown cards of other hands, face-down moors of others and cards in caves. (A
card that a tree revealed and an effect then took into a cave counts as unknown too, since the record does not tell it
from one of the stack. That gives away nothing and loses next to nothing.)
"""

import numpy as np
from numba import njit

from sim.cards import insert_sorted
from sim.codes import Face, Fate, Place
from sim.deal import last_pile_size
from sim.rng import below, shuffle
from sim.rules import DECK_SIZE, MAX_PLAYERS, SLOTS, WINTERS

FIRST_WINTER = DECK_SIZE
CHANCES = 3  # of the ruling winter_pile=random
SEEN_IN_OTHERS_HANDS = int(Fate.FROM_CLEARING)
SEEN_BEFORE_CAVE = int(Fate.FROM_CLEARING | Fate.PAID_AWAY)


@njit(cache=True, nogil=True)
def is_known(state, player, card):
    """Return whether `player` knows where a card is."""
    place = state.place[card]
    if place == Place.BOX or place == Place.STACK:
        return False
    if Place.HAND <= place < Place.HAND + MAX_PLAYERS:
        owner = place - Place.HAND
        return owner == player or state.fate[owner, card] & SEEN_IN_OTHERS_HANDS != 0
    if Place.FOREST <= place < Place.FOREST + MAX_PLAYERS:
        owner = place - Place.FOREST
        return owner == player or state.face[card] != Face.DOWN or state.fate[owner, card] & SEEN_IN_OTHERS_HANDS != 0
    if place >= Place.CAVE:
        return was_seen_before_cave(state, player, card)
    return True


@njit(cache=True, nogil=True)
def was_seen_before_cave(state, player, card):
    """Return whether `player` held a card that is in a cave now, or saw it paid or taken from the clearing."""
    if state.fate[player, card] & ~np.uint8(Fate.CAVE):
        return True
    for other in range(state.players):
        if state.fate[other, card] & SEEN_BEFORE_CAVE:
            return True
    return False


@njit(cache=True, nogil=True)
def sample_world(state, tables, player, rng, pool):
    """Deal everything that `player` cannot see out afresh in `state`, from the stream `rng`.

    The result depends on what the player knows and on `rng` only. `pool` (uint8, (172,)) is room for the cards.
    """
    in_caves = np.zeros(MAX_PLAYERS, np.int64)
    n = collect_hidden(state, player, pool, in_caves)
    shuffle(rng, pool, n)
    lay_winters(state, tables, rng)
    taken = deal_moors(state, player, pool)
    for other in range(state.players):
        for _ in range(in_caves[other]):
            state.place[pool[taken]] = Place.CAVE + other
            taken += 1
        if other != player:
            taken = deal_hand(state, other, pool, taken)
    deal_rest(state, pool, taken, n)
    rewrite_notes(state, pool, n)


@njit(cache=True, nogil=True)
def rewrite_notes(state, pool, n):
    """What the fates note of the cards dealt out afresh would give away where those were: note it afresh too."""
    for i in range(n):
        card = pool[i]
        for owner in range(state.players):
            state.seen[owner, card] = 0
            state.fate[owner, card] = 0
            if state.place[card] == Place.HAND + owner:
                state.fate[owner, card] = Fate.FROM_STACK
            elif state.place[card] == Place.FOREST + owner:
                state.fate[owner, card] = Fate.FACE_DOWN
            elif state.place[card] == Place.CAVE + owner:
                state.fate[owner, card] = Fate.CAVE


@njit(cache=True, nogil=True)
def collect_hidden(state, player, pool, in_caves):
    """List the cards whose place `player` does not know, ascending; count those in each cave."""
    n = 0
    for card in range(DECK_SIZE):
        if not is_known(state, player, card):
            pool[n] = card
            n += 1
            if state.place[card] >= Place.CAVE:
                in_caves[state.place[card] - Place.CAVE] += 1
    return n


@njit(cache=True, nogil=True)
def lay_winters(state, tables, rng):
    """Mark the places of the winters to come in what is left of the stack, by the rules that laid them.

    The first is on top of the last pile, whose size is known (but for the ruling winter_pile=random); the others are
    anywhere below it.
    """
    left = WINTERS - state.winters
    low, n = np.int64(state.stack_top), np.int64(state.stack_n)
    for i in range(low, n):
        state.stack[i] = 0
    if left == WINTERS:
        start = first_winter_place(state, tables, rng)
        if start >= low:
            state.stack[start] = FIRST_WINTER
            left -= 1
            low = start + 1
    while left > 0:
        i = low + below(rng, n - low)
        if state.stack[i] < FIRST_WINTER:
            state.stack[i] = FIRST_WINTER
            left -= 1


@njit(cache=True, nogil=True)
def first_winter_place(state, tables, rng):
    """Return where in the stack the first winter is, which did not come yet; -1 if the stack was not laid by rule."""
    cards = np.int64(state.stack_n) - WINTERS
    first = below(rng, CHANCES)
    for i in range(CHANCES):
        start = cards - last_pile_size(tables, cards, (first + i) % CHANCES)
        if start >= state.stack_top:
            return start
    return np.int64(-1)


@njit(cache=True, nogil=True)
def deal_moors(state, player, pool):
    """The first cards of the pool lie under the face-down moors that `player` does not know; return how many."""
    taken = 0
    for owner in range(state.players):
        for i in range(state.habitats_n[owner]):
            card = state.habitats[owner, i]
            if not is_known(state, player, card):
                swap_habitats(state, card, pool[taken])
                taken += 1
    return taken


@njit(cache=True, nogil=True)
def swap_habitats(state, a, b):
    """Let two cards change places where one or both lie face down as a moor, with all that lies in its slots."""
    if a == b:
        return
    for owner in range(state.players):
        for i in range(state.habitats_n[owner]):
            if state.habitats[owner, i] == a or state.habitats[owner, i] == b:
                state.habitats[owner, i] = a + b - state.habitats[owner, i]
    for card in range(DECK_SIZE):
        if Place.FOREST <= state.place[card] < Place.FOREST + MAX_PLAYERS and (
            state.host[card] == a or state.host[card] == b
        ):
            state.host[card] = a + b - state.host[card]
    state.host[a], state.host[b] = state.host[b], state.host[a]
    for slot in range(SLOTS):
        state.slot_n[a, slot], state.slot_n[b, slot] = state.slot_n[b, slot], state.slot_n[a, slot]
        types = state.slot_types[a, slot]
        state.slot_types[a, slot], state.slot_types[b, slot] = state.slot_types[b, slot], types
    for field in (
        state.place,
        state.face,
        state.slot,
        state.cuckoos,
        state.birds_top,
        state.birds_any,
        state.full_worth,
    ):
        field[a], field[b] = field[b], field[a]
    for masks in (state.accepts, state.shares_top, state.shares_sides):
        masks[a], masks[b] = masks[b], masks[a]


@njit(cache=True, nogil=True)
def deal_hand(state, other, pool, taken):
    """Fill the unknown places of a hand from the pool; return how many of its cards are taken by now."""
    size = state.hand_n[other]
    kept = 0
    for i in range(size):
        card = state.hand[other, i]
        if state.fate[other, card] & SEEN_IN_OTHERS_HANDS:
            state.hand[other, kept] = card
            kept += 1
    for n in range(kept, size):
        insert_sorted(state.hand[other], n, pool[taken])
        state.place[pool[taken]] = Place.HAND + other
        taken += 1
    return taken


@njit(cache=True, nogil=True)
def deal_rest(state, pool, taken, n):
    """The cards that are left: into the stack between the winters, then into the box."""
    winter = FIRST_WINTER + np.int64(state.winters)
    for i in range(state.stack_top, state.stack_n):
        if state.stack[i] < FIRST_WINTER:
            state.stack[i] = pool[taken]
            state.place[pool[taken]] = Place.STACK
            taken += 1
        else:
            state.stack[i] = winter
            winter += 1
    for i in range(taken, n):
        state.place[pool[i]] = Place.BOX
