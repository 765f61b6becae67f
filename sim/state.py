"""The game as one NumPy record: passive data, changed only by the kernels of `sim`.

Numba passes a record as a pointer, so `state.hand_n[p]` costs a load and `states[1] = states[0]` copies a whole game.
Card numbers are 0..171 (ids D001..D172), winters 172..174. Lists are sorted by card number where the comment says so.
"""

import numpy as np
from numba import from_dtype

from sim.rules import (
    CARDS_TO_BOX,
    DECK_SIZE,
    HAND_LIMIT,
    MAX_PLAYERS,
    SLOTS,
    SPECIES,
    STACK_SIZE,
    SYMBOLS,
    TYPES,
    WINTERS,
)

assert CARDS_TO_BOX[MAX_PLAYERS] == 0, "the largest game uses every card"

PENDING = 12  # steps the machine can have waiting; the deepest chain (Lake Fly, bat, plant) needs 8
SPECIES_ROWS = SPECIES + 1  # and the universal moor
STREAMS = 1 + MAX_PLAYERS

GAME = np.dtype(
    [
        # randomness
        ("rng", np.uint64, (STREAMS, 4)),  # xoshiro256++ states: 0 deck and setup, 1 + p the policy of player p
        # course of the game
        ("players", np.uint8),
        ("first", np.uint8),  # first player
        ("player", np.uint8),  # whose turn, draft or opening effect it is
        ("phase", np.uint8),  # Phase
        ("ending", np.uint8),  # Ending; NONE while the game goes on
        ("extra_turn", np.uint8),  # 1: the player has earned one more turn
        ("is_extra", np.uint8),  # 1: this turn is an extra turn
        ("setup_left", np.uint8),  # caves to choose, then opening effects to carry out
        ("turn", np.uint16),  # of all players, from 1; 0 in setup
        ("rounds", np.uint16),  # ordinary turns of the first player so far
        ("player_turns", np.uint16, (MAX_PLAYERS,)),
        ("decisions", np.uint32),  # choices asked of policies so far
        ("swaps", np.uint16),
        # winters
        ("winters", np.uint8),  # revealed so far
        ("winter_turn", np.uint16, (WINTERS,)),
        ("winter_round", np.uint16, (WINTERS,)),
        ("winter_left", np.uint8, (WINTERS,)),  # cards (winters too) left in the stack when it came
        # common cards
        ("stack", np.uint8, (STACK_SIZE,)),  # top first, from stack_top to stack_n - 1
        ("stack_top", np.uint8),
        ("stack_n", np.uint8),
        ("clearing", np.uint8, (DECK_SIZE,)),  # sorted
        ("clearing_n", np.uint8),
        ("offer", np.uint8, (MAX_PLAYERS,)),  # indices of the caves laid out, ascending once a draft begins
        ("offer_n", np.uint8),
        # players
        ("hand", np.uint8, (MAX_PLAYERS, HAND_LIMIT)),  # sorted
        ("hand_n", np.uint8, (MAX_PLAYERS,)),
        ("cave", np.uint8, (MAX_PLAYERS,)),  # index of the cave in the tables
        ("cave_n", np.uint8, (MAX_PLAYERS,)),  # cards in it
        ("habitats", np.uint8, (MAX_PLAYERS, DECK_SIZE)),  # cards, oldest first
        ("habitats_n", np.uint8, (MAX_PLAYERS,)),
        # cards
        ("place", np.uint8, (DECK_SIZE,)),  # Place, plus the player
        ("face", np.uint8, (DECK_SIZE,)),  # Face, of a card in a forest
        ("host", np.uint8, (DECK_SIZE,)),  # habitat card of a card in a forest; its own number for a habitat
        ("slot", np.uint8, (DECK_SIZE,)),  # TreeSlot or MoorSlot in its host
        ("fate", np.uint8, (MAX_PLAYERS, DECK_SIZE)),  # Fate bits
        ("seen", np.uint8, (MAX_PLAYERS, DECK_SIZE)),  # the player's own turn when it first held the card, at most 255
        # habitats, by their card
        ("slot_n", np.uint8, (DECK_SIZE, SLOTS)),  # cards in each slot
        ("slot_types", np.uint16, (DECK_SIZE, SLOTS)),  # type mask common to all cards in the slot
        ("accepts", np.uint16, (DECK_SIZE,)),  # mask of Placement that is legal there now
        ("shares_top", np.uint16, (DECK_SIZE,)),  # type mask with leave to share a top slot here
        ("shares_sides", np.uint16, (DECK_SIZE,)),  # type mask with leave to join the side slots here
        ("cuckoos", np.uint8, (DECK_SIZE,)),
        ("birds_top", np.uint8, (DECK_SIZE,)),  # birds other than cuckoos in the top slot
        ("birds_any", np.uint8, (DECK_SIZE,)),  # birds other than cuckoos in any slot
        # running counters of each forest
        ("placeable", np.uint16, (MAX_PLAYERS,)),  # union of `accepts`
        ("species_n", np.uint8, (MAX_PLAYERS, SPECIES_ROWS)),
        ("full_n", np.uint8, (MAX_PLAYERS, SPECIES_ROWS)),  # HOST_FULL copies whose habitat is fully occupied
        ("in_moor_n", np.uint8, (MAX_PLAYERS, SPECIES_ROWS)),  # copies in a slot of a moor
        ("doubled_n", np.uint8, (MAX_PLAYERS, SPECIES_ROWS)),  # copies that score twice (Blanket Bog)
        ("own_symbol_n", np.uint8, (MAX_PLAYERS, SYMBOLS + 1)),  # copies of the PER_OWN_SYMBOL species by symbol
        ("type_n", np.uint8, (MAX_PLAYERS, TYPES)),
        ("kinds_n", np.uint8, (MAX_PLAYERS, TYPES)),  # different species of each type
        ("symbol_n", np.uint8, (MAX_PLAYERS, SYMBOLS + 1)),
        ("below_n", np.uint8, (MAX_PLAYERS,)),  # cards in bottom slots
        ("trigger_n", np.uint8, (MAX_PLAYERS, TYPES)),  # permanent effects that draw when the type is placed
        ("fresh_n", np.uint8, (TYPES,)),  # those of them laid in this turn
        # linear part of every score, so that a score change needs no walk over the forest
        ("type_worth", np.uint16, (MAX_PLAYERS, TYPES)),  # points that one more card of the type is worth
        ("symbol_worth", np.uint16, (MAX_PLAYERS, SYMBOLS + 1)),
        ("below_worth", np.uint16, (MAX_PLAYERS,)),
        ("cave_worth", np.uint16, (MAX_PLAYERS,)),  # points that one more cave card is worth, itself included
        ("full_worth", np.uint8, (DECK_SIZE,)),  # by habitat: points when it becomes fully occupied
        # what is being resolved
        ("play_card", np.uint8),
        ("play_half", np.uint8),
        ("play_mode", np.uint8),  # EffectOp that places it; NONE for a paid play
        ("to_pay", np.uint8),  # cards still to pay
        ("paid_match", np.uint8),  # 1 while every card paid shows the symbol
        ("paid_n", np.uint8),
        ("draws_left", np.uint8),  # of the draw action
        ("pending_op", np.uint8, (PENDING,)),  # EffectOp, last in first out
        ("pending_types", np.uint16, (PENDING,)),
        ("pending_n", np.uint8, (PENDING,)),
        ("pending_count", np.uint8),
    ],
    align=True,
)
Game = from_dtype(GAME)


def new_games(count: int = 1) -> np.ndarray:
    """Return `count` blank game records, shape (count,), dtype GAME; `setup` fills them."""
    return np.zeros(count, GAME)
