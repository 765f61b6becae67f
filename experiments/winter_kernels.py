"""Games with their course noted: what the winter experiment needs beyond an outcome."""

import numpy as np
from numba import from_dtype, int64, njit, types, uint8, uint64

from policies import KERNEL_CACHE  # noqa: F401  # kernels above the engine are kept there
from sim.actions import MAX_ACTIONS
from sim.codes import Phase
from sim.deal import setup
from sim.legal import legal_actions
from sim.machine import advance, apply
from sim.play import PLAYED_OUT
from sim.policy import AT_TABLE
from sim.rules import DECK_SIZE, MAX_PLAYERS, WINTERS

COURSE = np.dtype(
    [
        ("turns", np.int32),  # of all players
        ("rounds", np.int32),
        ("player_turns", np.int32, (MAX_PLAYERS,)),
        ("start_left", np.int32),  # in the stack, winters too, when the first turn begins
        ("stack_left", np.int32),
        ("ending", np.int32),
        ("winter_turn", np.int32, (WINTERS,)),
        ("winter_round", np.int32, (WINTERS,)),
        ("winter_left", np.int32, (WINTERS,)),
        ("had_turns", np.int32, (WINTERS, MAX_PLAYERS)),  # each player's own turns up to the one that brought it
    ],
    align=True,
)
Course = from_dtype(COURSE)
ENDED, CUT = 0, 1
TURN_CARDS = (WINTERS, 2, DECK_SIZE + 1)  # turns by winters seen when they began, ENDED or CUT, deck cards taken


@njit(cache=True, nogil=True)
def note_winters(state, noted, course):
    """Note how many turns each player has had when a winter came, for winters beyond the first `noted`.

    Between the reveal and the next decision at most one turn has begun; it does not count.
    """
    while noted < state.winters:
        for player in range(state.players):
            begun = player == state.player and state.turn > state.winter_turn[noted]
            course.had_turns[noted, player] = state.player_turns[player] - begun
        noted += 1
    return noted


@njit(cache=True, nogil=True)
def note_turn(state, seen, top, turn_cards):
    """Count a turn that began with `seen` winters and `top` cards off the stack by the deck cards that it took.

    A turn that the third winter cut short would have taken at least one card more than it is noted with.
    """
    winters = int64(state.winters) - seen
    cut = CUT if state.phase == Phase.OVER else ENDED
    turn_cards[seen, cut, int64(state.stack_top) - top - winters] += 1


@njit(cache=True, nogil=True)
def note_course(state, course):
    """Note the course of a finished game."""
    course.turns = state.turn
    course.rounds = state.rounds
    course.stack_left = state.stack_n - state.stack_top
    course.ending = state.ending
    for player in range(state.players):
        course.player_turns[player] = state.player_turns[player]
    for winter in range(WINTERS):
        course.winter_turn[winter] = state.winter_turn[winter]
        course.winter_round[winter] = state.winter_round[winter]
        course.winter_left[winter] = state.winter_left[winter]


@njit(
    int64(
        *AT_TABLE,
        int64,
        types.Array(uint8, 1, "C"),
        uint64,
        int64,
        types.Array(Course, 1, "C"),
        types.Array(int64, 3, "C"),
        types.Array(int64, 1, "C"),
    ),
    cache=True,
    nogil=True,
)
def play_courses(games, tables, policies, weights, players, cave_mode, caves, seed, start, courses, turn_cards, at):
    """Play one game for each record of `courses`, from game `start` on, in games[0], and note its course.

    `turn_cards`, shape TURN_CARDS, counts their turns; `at`, shape (1,), is the game it is at. Returns PLAYED_OUT, or
    the seat whose policy returned an index that does not exist.
    """
    actions = np.empty(MAX_ACTIONS, np.int32)
    table = tables[0]
    for i in range(len(courses)):
        at[0] = start + i
        setup(games, table, players, seed, start + i, cave_mode, caves)
        state = games[0]
        advance(state, table, actions)
        noted = note_winters(state, 0, courses[i])
        turn, seen, top = int64(state.turn), int64(state.winters), int64(state.stack_top)  # turn 0 is setup
        while state.phase != Phase.OVER:
            if state.turn == 1 and state.phase == Phase.TURN:
                courses[i].start_left = state.stack_n - state.stack_top
            n = legal_actions(state, table, actions)
            choice = 0
            if n > 1:
                state.decisions += 1
                choice = policies[state.player](state, table, actions, n, weights[state.player])
                if choice < 0 or choice >= n:
                    return np.int64(state.player)
            apply(state, table, actions[choice])
            advance(state, table, actions)
            noted = note_winters(state, noted, courses[i])
            if state.turn != turn or state.phase == Phase.OVER:
                if turn > 0:
                    note_turn(state, seen, top, turn_cards)
                turn, seen, top = int64(state.turn), int64(state.winters), int64(state.stack_top)
        note_course(state, courses[i])
    return PLAYED_OUT
