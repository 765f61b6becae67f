"""Setup (rulebook, Setup): shuffle, box, winters, hands and caves; or the same from a given deal."""

import numpy as np
from numba import njit

from sim.cards import insert_sorted
from sim.codes import CaveMode, Fate, Place
from sim.forest import HABITAT_MASK
from sim.machine import start_draft, start_openings
from sim.rng import below, seed_stream, shuffle
from sim.rules import CARDS_TO_BOX, DECK_SIZE, MAX_CAVES, MAX_PLAYERS, OPENING_HAND, WINTERS
from sim.state import new_games

BLANK = new_games()
PILES = 3
TO_BOX = np.array(CARDS_TO_BOX, np.int64)
FIRST_WINTER = DECK_SIZE  # cards 172, 173, 174


@njit(cache=True, nogil=True)
def setup(games, tables, players, seed, game, cave_mode, caves):
    """Set up game `game` of run `seed` in games[0]; `caves` (uint8, (5,)) are the seats' indices for CaveMode.GIVEN."""
    clear(games, players, seed, game)
    deal(games[0], tables)
    begin(games[0], cave_mode, caves)


@njit(cache=True, nogil=True)
def setup_dealt(games, players, seed, game, cave_mode, caves, stack, offer, first):
    """Set up games[0] from a given deal: `stack` (uint8, top first, winters 172..174) and the caves on `offer`."""
    clear(games, players, seed, game)
    state = games[0]
    state.stack_n = len(stack)
    state.stack[: len(stack)] = stack
    state.offer_n = len(offer)
    state.offer[: len(offer)] = offer
    state.first = first
    begin(state, cave_mode, caves)


@njit(cache=True, nogil=True)
def clear(games, players, seed, game):
    """Blank games[0] and seed its streams: 0 for deck and setup, one for each player's policy."""
    games[0] = BLANK[0]
    state = games[0]
    state.players = players
    for stream in range(1 + MAX_PLAYERS):
        seed_stream(state.rng[stream], seed, game, stream)


@njit(cache=True, nogil=True)
def deal(state, tables):
    """Everything that chance decides before the first turn, drawn in the same order for every option."""
    rng = state.rng[0]
    box = TO_BOX[state.players]
    cards = np.empty(DECK_SIZE, np.uint8)
    for card in range(DECK_SIZE):
        cards[card] = card
    shuffle(rng, cards, DECK_SIZE)
    lay_stack(state, tables, cards[box:], DECK_SIZE - box)
    lay_caves(state, tables)
    first = below(rng, state.players)
    state.first = first if tables.first_player == 1 else 0


@njit(cache=True, nogil=True)
def last_pile_size(tables, cards, chance):
    """Cards of the pile with the winters, by the ruling winter_pile; `chance` is uniform in 0..2."""
    rest = cards % PILES
    if tables.winter_pile == 0:
        return cards // PILES
    if tables.winter_pile == 1:
        return (cards + PILES - 1) // PILES
    return cards // PILES + (1 if chance < rest else 0)


@njit(cache=True, nogil=True)
def lay_stack(state, tables, cards, n):
    """Two winters anywhere among the cards of the last pile, the first winter on top of it."""
    rng = state.rng[0]
    pile = last_pile_size(tables, n, below(rng, PILES))
    start = n - pile  # place of the first winter in the stack
    second = below(rng, pile + 2)
    third = below(rng, pile + 1)
    if third >= second:
        third += 1
    if third < second:
        second, third = third, second
    state.stack_n = n + WINTERS
    k = 0
    for i in range(n + WINTERS):
        if i == start:
            state.stack[i] = FIRST_WINTER
        elif i == start + 1 + second:
            state.stack[i] = FIRST_WINTER + 1
        elif i == start + 1 + third:
            state.stack[i] = FIRST_WINTER + 2
        else:
            state.stack[i] = cards[k]
            k += 1


@njit(cache=True, nogil=True)
def lay_caves(state, tables):
    """Lay out as many random caves as there are players, in the order dealt."""
    caves = np.empty(MAX_CAVES, np.uint8)
    for cave in range(tables.caves_n):
        caves[cave] = cave
    shuffle(state.rng[0], caves, tables.caves_n)
    for i in range(state.players):
        state.offer[i] = caves[i]
    state.offer_n = state.players


@njit(cache=True, nogil=True)
def begin(state, cave_mode, caves):
    """With stack, caves and first player laid out: opening hands, then the draft or the given caves' effects."""
    for i in range(state.stack_n):
        if state.stack[i] < DECK_SIZE:
            state.place[state.stack[i]] = Place.STACK
    state.placeable[:] = HABITAT_MASK
    state.cave_worth[:] = 1
    for i in range(state.players):
        take_opening_hand(state, (state.first + i) % state.players)
    if cave_mode == CaveMode.DRAFT:
        sort_offer(state)
        start_draft(state)
    else:
        for player in range(state.players):
            state.cave[player] = caves[player] if cave_mode == CaveMode.GIVEN else state.offer[player]
        state.offer_n = 0
        start_openings(state)


@njit(cache=True, nogil=True)
def sort_offer(state):
    """The caves on offer are listed ascending."""
    for i in range(1, state.offer_n):
        insert_sorted(state.offer, i, state.offer[i])


@njit(cache=True, nogil=True)
def take_opening_hand(state, player):
    """Six cards from the top of the stack."""
    for _ in range(OPENING_HAND):
        card = state.stack[state.stack_top]
        state.stack_top += 1
        insert_sorted(state.hand[player], state.hand_n[player], card)
        state.hand_n[player] += 1
        state.place[card] = Place.HAND + player
        state.fate[player, card] = Fate.OPENING
