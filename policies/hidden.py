"""Everything that a player cannot see, dealt anew: for the blindness check and for playing out sampled worlds.

Hidden from a player are the box, the order of the stack, and the cards that other players hold from their opening hand
or the stack. A card taken from the clearing was seen by all and stays where it is, and so do cave and discard pile.
Winters come where they can still be: the first on top of the last third, the others anywhere in what is left below.
"""

import numpy as np
from numba import njit

from sim.cards import insert_sorted
from sim.codes import Fate, Place
from sim.rng import next_uint64, shuffle
from sim.rules import DECK_SIZE, MAX_PLAYERS, STACK_SIZE, WINTERS

RNG_WORDS = 4


@njit(cache=True, nogil=True)
def reshuffle_hidden(state, player, rng):
    """Deal everything hidden from `player` anew from the stream `rng` (uint64, (4,)), other streams included."""
    cards = np.empty(DECK_SIZE, np.uint8)
    n = collect_hidden(state, player, cards)
    shuffle(rng, cards, n)
    n = deal_hands(state, player, cards, n)
    n = deal_stack(state, cards, n, rng)
    for i in range(n):
        state.place[cards[i]] = Place.BOX
    for stream in range(1 + MAX_PLAYERS):
        if stream != 1 + player:
            for i in range(RNG_WORDS):
                state.rng[stream, i] = next_uint64(rng)


@njit(cache=True, nogil=True)
def is_hidden(state, player, card):
    """Return whether the place of a card is unknown to `player`."""
    place = state.place[card]
    if place == Place.BOX or place == Place.STACK:
        return True
    owner = np.int64(place) - Place.HAND
    if owner < 0 or owner >= MAX_PLAYERS or owner == player:
        return False
    return state.fate[owner, card] & Fate.FROM_CLEARING == 0


@njit(cache=True, nogil=True)
def collect_hidden(state, player, cards):
    """List the hidden cards and return their number."""
    n = 0
    for card in range(DECK_SIZE):
        if is_hidden(state, player, card):
            cards[n] = card
            n += 1
    return n


@njit(cache=True, nogil=True)
def deal_hands(state, player, cards, n):
    """Replace the hidden cards of every other hand from the end of cards[:n]; return how many are left.

    What the owner knows of a card (how and when it came) stays with its place in the hand.
    """
    old = np.empty(state.hand.shape[1], np.uint8)
    for owner in range(state.players):
        if owner == player:
            continue
        count = state.hand_n[owner]
        old[:] = state.hand[owner]
        notes = np.empty((count, 2), np.uint8)
        for i in range(count):
            notes[i, 0], notes[i, 1] = state.fate[owner, old[i]], state.seen[owner, old[i]]
        state.hand_n[owner] = 0
        for i in range(count):
            card = old[i]
            if notes[i, 0] & Fate.FROM_CLEARING == 0:
                state.fate[owner, card], state.seen[owner, card] = 0, 0
        for i in range(count):
            card = old[i]
            if notes[i, 0] & Fate.FROM_CLEARING == 0:
                n -= 1
                card = cards[n]
                state.place[card] = Place.HAND + owner
                state.fate[owner, card], state.seen[owner, card] = notes[i, 0], notes[i, 1]
            insert_sorted(state.hand[owner], state.hand_n[owner], card)
            state.hand_n[owner] += 1
    return n


@njit(cache=True, nogil=True)
def deal_stack(state, cards, n, rng):
    """Lay the rest of the stack anew from the end of cards[:n]; return how many are left."""
    top, bottom = state.stack_top, state.stack_n
    lay_winters(state, top, bottom, rng)
    for i in range(top, bottom):
        if state.stack[i] < DECK_SIZE:
            n -= 1
            state.stack[i] = cards[n]
            state.place[cards[n]] = Place.STACK
    return n


@njit(cache=True, nogil=True)
def lay_winters(state, top, bottom, rng):
    """Shuffle winters and cards of stack[top:bottom] below the first winter, which stays if it is still to come."""
    start = top
    if state.winters == 0:
        while state.stack[start] < DECK_SIZE:
            start += 1
        start += 1
    rest = np.empty(STACK_SIZE, np.uint8)
    for i in range(start, bottom):
        rest[i - start] = state.stack[i]
    shuffle(rng, rest, bottom - start)
    winter = DECK_SIZE + WINTERS - 1 - count_winters(rest, bottom - start)
    for i in range(start, bottom):
        state.stack[i] = rest[i - start]
        if rest[i - start] >= DECK_SIZE:  # in the order in which they come
            winter += 1
            state.stack[i] = winter


@njit(cache=True, nogil=True)
def count_winters(cards, n):
    """Return the number of winters among cards[:n]."""
    found = 0
    for i in range(n):
        found += cards[i] >= DECK_SIZE
    return found
