"""Moving cards between stack, hands, clearing, discard pile and caves. Every move outside forests is here."""

from numba import njit

from sim.codes import Ending, Fate, Phase, Place
from sim.rules import CLEARING_LIMIT, DECK_SIZE, HAND_LIMIT, WINTERS

NO_CARD = 255  # from the stack: the third winter came instead


@njit(cache=True, nogil=True)
def insert_sorted(cards, n, card):
    """Insert `card` into the ascending cards[:n]; the caller counts."""
    i = n
    while i > 0 and cards[i - 1] > card:
        cards[i] = cards[i - 1]
        i -= 1
    cards[i] = card


@njit(cache=True, nogil=True)
def remove_sorted(cards, n, card):
    """Remove `card`, which is there, from cards[:n]; the caller counts."""
    i = 0
    while cards[i] != card:
        i += 1
    for k in range(i, n - 1):
        cards[k] = cards[k + 1]


@njit(cache=True, nogil=True)
def add_to_hand(state, player, card, how):
    """Put `card` into the hand of `player`, with the Fate bit `how` it came."""
    insert_sorted(state.hand[player], state.hand_n[player], card)
    state.hand_n[player] += 1
    state.place[card] = Place.HAND + player
    if state.fate[player, card] == 0:
        state.seen[player, card] = min(state.player_turns[player], 255)
    state.fate[player, card] |= how


@njit(cache=True, nogil=True)
def take_from_hand(state, player, card, why):
    """Take `card` out of the hand of `player`, into play until the caller lays it down; `why` is a Fate bit."""
    remove_sorted(state.hand[player], state.hand_n[player], card)
    state.hand_n[player] -= 1
    state.place[card] = Place.IN_PLAY
    state.fate[player, card] |= why


@njit(cache=True, nogil=True)
def add_to_clearing(state, card):
    """Lay `card` face up into the clearing."""
    insert_sorted(state.clearing, state.clearing_n, card)
    state.clearing_n += 1
    state.place[card] = Place.CLEARING


@njit(cache=True, nogil=True)
def take_from_clearing(state, card):
    """Take `card` out of the clearing, into play until the caller lays it down."""
    remove_sorted(state.clearing, state.clearing_n, card)
    state.clearing_n -= 1
    state.place[card] = Place.IN_PLAY


@njit(cache=True, nogil=True)
def add_to_cave(state, player, card):
    """Put `card` into the cave of `player`; it is out of the game but for its point."""
    state.place[card] = Place.CAVE + player
    state.fate[player, card] |= Fate.CAVE
    state.cave_n[player] += 1


@njit(cache=True, nogil=True)
def empty_full_clearing(state):
    """End of a turn: with ten or more cards in the clearing all of them go to the discard pile."""
    if state.clearing_n >= CLEARING_LIMIT:
        for i in range(state.clearing_n):
            state.place[state.clearing[i]] = Place.DISCARD
        state.clearing_n = 0


@njit(cache=True, nogil=True)
def take_from_stack(state, cause):
    """Return the next card of the stack, or NO_CARD when the third winter ends the game (`cause` is its Ending).

    The first and the second winter are laid aside and replaced at once (rulebook, Winter).
    """
    while True:
        card = state.stack[state.stack_top]
        state.stack_top += 1
        if card < DECK_SIZE:
            return card
        count_winter(state)
        if state.winters == WINTERS:
            state.phase = Phase.OVER
            state.ending = cause
            state.pending_count = 0
            return NO_CARD


@njit(cache=True, nogil=True)
def count_winter(state):
    """Note when a winter came and what it left in the stack."""
    state.winter_turn[state.winters] = state.turn
    state.winter_round[state.winters] = state.rounds
    state.winter_left[state.winters] = state.stack_n - state.stack_top
    state.winters += 1


@njit(cache=True, nogil=True)
def draw_cards(state, player, n, cause):
    """Draw `n` cards from the stack, up to the hand limit: at ten no card is turned."""
    for _ in range(n):
        if state.hand_n[player] >= HAND_LIMIT:
            return
        card = take_from_stack(state, cause)
        if card == NO_CARD:
            return
        add_to_hand(state, player, card, Fate.FROM_STACK)


@njit(cache=True, nogil=True)
def stack_to_cave(state, player, n):
    """Put `n` stack cards into the cave, one after the other, winters as always."""
    for _ in range(n):
        card = take_from_stack(state, Ending.CAVE)
        if card == NO_CARD:
            return
        add_to_cave(state, player, card)


@njit(cache=True, nogil=True)
def clearing_types_to_cave(state, tables, player, types):
    """Put every clearing card that has one of the `types` into the cave."""
    kept = 0
    for i in range(state.clearing_n):
        card = state.clearing[i]
        if tables.card_types[card] & types:
            add_to_cave(state, player, card)
        else:
            state.clearing[kept] = card
            kept += 1
    state.clearing_n = kept
