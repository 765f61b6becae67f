"""Actions as integers: `act << 16 | card << 8 | detail`, and what they say. Policies read them with these helpers."""

from numba import njit

from sim.rules import DECK_SIZE, HALVES

MAX_ACTIONS = HALVES * DECK_SIZE + 1  # every half of every card, and to decline


@njit(cache=True, nogil=True)
def make_action(act, card, detail):
    """Return the action for an Act, a card (or cave index, or habitat) and a half or slot."""
    return act << 16 | card << 8 | detail


@njit(cache=True, nogil=True)
def act_of(action):
    """Return the Act of an action."""
    return action >> 16


@njit(cache=True, nogil=True)
def card_of(action):
    """Return the card of an action: played, paid, picked, the habitat of HOST, the cave index of CAVE."""
    return action >> 8 & 255


@njit(cache=True, nogil=True)
def half_of(action):
    """Return the half of a CARD action: 0 whole, top or left; 1 bottom or right."""
    return action & 255


@njit(cache=True, nogil=True)
def slot_of(action):
    """Return the slot of a HOST action."""
    return action & 255
