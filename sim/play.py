"""Playing a whole game, and chunks of games with their outcomes and exact totals."""

import numpy as np
from numba import from_dtype, int64, njit, types

from sim.actions import MAX_ACTIONS
from sim.codes import Fate, Phase, Place
from sim.deal import setup
from sim.legal import legal_actions
from sim.machine import advance, apply
from sim.policy import IN_RUN, Seats
from sim.rules import DECK_SIZE, MAX_CAVES, MAX_PLAYERS, SPECIES, WINTERS
from sim.scoring import species_points, total_points, win_shares
from sim.state import Game
from sim.tables import Tables

PLAYED_OUT = -1  # play_game: no policy misbehaved
SCORE_BINS = 4096  # the last bin also counts everything beyond
TURN_BINS = 4096
STACK_BINS = 176
ENDINGS = 5

OUTCOME = np.dtype(
    [
        ("game", np.uint64),  # index in the run
        ("players", np.uint8),
        ("first", np.uint8),
        ("score", np.int32, (MAX_PLAYERS,)),
        ("share", np.uint8, (MAX_PLAYERS,)),  # of the win, in 60ths
        ("cave", np.uint8, (MAX_PLAYERS,)),  # index in the tables
        ("cave_n", np.uint8, (MAX_PLAYERS,)),
        ("turns", np.uint16),
        ("rounds", np.uint16),
        ("decisions", np.uint32),
        ("swaps", np.uint16),
        ("stack_left", np.uint8),
        ("winter_turn", np.uint16, (WINTERS,)),
        ("winter_round", np.uint16, (WINTERS,)),
        ("winter_left", np.uint8, (WINTERS,)),
        ("ending", np.uint8),
        ("paid", np.uint8, (MAX_PLAYERS, SPECIES)),  # copies played for their cost
        ("copies", np.uint8, (MAX_PLAYERS, SPECIES)),  # copies in the final forest, however they came
        ("points", np.int32, (MAX_PLAYERS, SPECIES)),
    ],
    align=True,
)

# Sums over games. Integers, so that parts add up to the same bytes in any order; a maximum merges as such.
TOTALS = np.dtype(
    [
        ("games", np.int64),
        ("decisions", np.int64),
        ("swaps", np.int64),
        ("ties", np.int64),  # games with more than one winner
        ("share", np.int64, (MAX_PLAYERS,)),
        ("share_sq", np.int64, (MAX_PLAYERS,)),
        ("score", np.int64, (MAX_PLAYERS,)),
        ("score_sq", np.int64, (MAX_PLAYERS,)),
        ("score_bins", np.int64, (MAX_PLAYERS, SCORE_BINS)),
        ("score_max", np.int64, (MAX_PLAYERS,)),
        ("turns", np.int64, (TURN_BINS,)),
        ("rounds", np.int64, (TURN_BINS,)),
        ("stack_left", np.int64, (STACK_BINS,)),
        ("winter_turn", np.int64, (WINTERS, TURN_BINS)),
        ("winter_round", np.int64, (WINTERS, TURN_BINS)),
        ("winter_left", np.int64, (WINTERS, STACK_BINS)),
        ("ending", np.int64, (ENDINGS,)),
        # by species, of all seats together; squares are of a game's sum
        ("paid", np.int64, (SPECIES,)),
        ("paid_sq", np.int64, (SPECIES,)),
        ("copies", np.int64, (SPECIES,)),
        ("copies_sq", np.int64, (SPECIES,)),
        ("forests", np.int64, (SPECIES,)),  # final forests with at least one copy
        ("forests_sq", np.int64, (SPECIES,)),
        ("points", np.int64, (SPECIES,)),
        ("points_sq", np.int64, (SPECIES,)),
        # by cave
        ("cave_games", np.int64, (MAX_CAVES,)),
        ("cave_share", np.int64, (MAX_CAVES,)),
        ("cave_share_sq", np.int64, (MAX_CAVES,)),
        ("cave_score", np.int64, (MAX_CAVES,)),
        ("cave_score_sq", np.int64, (MAX_CAVES,)),
    ],
    align=True,
)
Outcome, Totals = from_dtype(OUTCOME), from_dtype(TOTALS)


@njit(
    int64(Game, Tables, Seats, types.Array(types.float64, 2, "C"), types.Array(types.int32, 1, "C")),
    cache=True,
    nogil=True,
)
def play_game(state, tables, policies, weights, actions):
    """Play a game that is set up to its end; forced answers are carried out without asking.

    Returns PLAYED_OUT, or the seat whose policy returned an index that does not exist.
    """
    advance(state, tables, actions)
    while state.phase != Phase.OVER:
        n = legal_actions(state, tables, actions)
        choice = 0
        if n > 1:
            state.decisions += 1
            choice = policies[state.player](state, tables, actions, n, weights[state.player])
            if choice < 0 or choice >= n:
                return np.int64(state.player)
        apply(state, tables, actions[choice])
        advance(state, tables, actions)
    return PLAYED_OUT


@njit(cache=True, nogil=True)
def note_outcome(state, tables, game, outcome):
    """Write the outcome of a finished game into the record `outcome`."""
    outcome.game = game
    outcome.players = state.players
    outcome.first = state.first
    outcome.turns = state.turn
    outcome.rounds = state.rounds
    outcome.decisions = state.decisions
    outcome.swaps = state.swaps
    outcome.stack_left = state.stack_n - state.stack_top
    outcome.ending = state.ending
    for i in range(WINTERS):
        outcome.winter_turn[i] = state.winter_turn[i]
        outcome.winter_round[i] = state.winter_round[i]
        outcome.winter_left[i] = state.winter_left[i]
    for player in range(state.players):
        outcome.score[player] = total_points(state, tables, player)
        outcome.cave[player] = state.cave[player]
        outcome.cave_n[player] = state.cave_n[player]
        for species in range(SPECIES):
            outcome.copies[player, species] = state.species_n[player, species]
            outcome.points[player, species] = species_points(state, tables, player, species)
    win_shares(outcome.score, state.players, outcome.share)
    note_paid(state, tables, outcome)


@njit(cache=True, nogil=True)
def note_paid(state, tables, outcome):
    """Count the copies in each final forest that were played for their cost."""
    outcome.paid[:, :] = 0
    for card in range(DECK_SIZE):
        player = state.place[card] - Place.FOREST
        if 0 <= player < MAX_PLAYERS and state.fate[player, card] & Fate.PLAYED:
            outcome.paid[player, tables.species[card, state.face[card]]] += 1


@njit(cache=True, nogil=True)
def add_outcome(outcome, totals):
    """Add one game to the totals."""
    totals.games += 1
    totals.decisions += outcome.decisions
    totals.swaps += outcome.swaps
    totals.turns[min(outcome.turns, TURN_BINS - 1)] += 1
    totals.rounds[min(outcome.rounds, TURN_BINS - 1)] += 1
    totals.stack_left[outcome.stack_left] += 1
    totals.ending[outcome.ending] += 1
    for i in range(WINTERS):
        totals.winter_turn[i, min(outcome.winter_turn[i], TURN_BINS - 1)] += 1
        totals.winter_round[i, min(outcome.winter_round[i], TURN_BINS - 1)] += 1
        totals.winter_left[i, outcome.winter_left[i]] += 1
    winners = 0
    for player in range(outcome.players):
        add_seat(outcome, player, totals)
        winners += outcome.share[player] > 0
    totals.ties += winners > 1
    for species in range(SPECIES):
        add_species(outcome, species, totals)


@njit(cache=True, nogil=True)
def add_seat(outcome, player, totals):
    """Add one seat's score and share, to the seat's sums and to its cave's."""
    score, share, cave = np.int64(outcome.score[player]), np.int64(outcome.share[player]), outcome.cave[player]
    totals.share[player] += share
    totals.share_sq[player] += share * share
    totals.score[player] += score
    totals.score_sq[player] += score * score
    totals.score_bins[player, min(score, SCORE_BINS - 1)] += 1
    totals.score_max[player] = max(totals.score_max[player], score)
    totals.cave_games[cave] += 1
    totals.cave_share[cave] += share
    totals.cave_share_sq[cave] += share * share
    totals.cave_score[cave] += score
    totals.cave_score_sq[cave] += score * score


@njit(cache=True, nogil=True)
def add_species(outcome, species, totals):
    """Add what all seats made of one species."""
    paid = copies = forests = points = 0
    for player in range(outcome.players):
        paid += outcome.paid[player, species]
        copies += outcome.copies[player, species]
        forests += outcome.copies[player, species] > 0
        points += outcome.points[player, species]
    totals.paid[species] += paid
    totals.paid_sq[species] += paid * paid
    totals.copies[species] += copies
    totals.copies_sq[species] += copies * copies
    totals.forests[species] += forests
    totals.forests_sq[species] += forests * forests
    totals.points[species] += points
    totals.points_sq[species] += points * points


@njit(
    int64(
        *IN_RUN,
        types.Array(Outcome, 1, "C"),
        types.Array(Totals, 1, "C"),
    ),
    cache=True,
    nogil=True,
)
def play_games(games, tables, policies, weights, players, cave_mode, caves, seed, start, count, outcomes, totals):
    """Play games start .. start+count-1 of run `seed` in games[0] and add them to totals[0].

    `outcomes` takes one record a game when it has `count` of them, and only the last with one. Returns PLAYED_OUT, or
    the seat whose policy misbehaved in game start + totals[0].games.
    """
    actions = np.empty(MAX_ACTIONS, np.int32)
    table = tables[0]
    for i in range(count):
        setup(games, table, players, seed, start + i, cave_mode, caves)
        seat = play_game(games[0], table, policies, weights, actions)
        if seat != PLAYED_OUT:
            return seat
        outcome = outcomes[min(i, len(outcomes) - 1)]
        note_outcome(games[0], table, start + i, outcome)
        add_outcome(outcome, totals[0])
    return PLAYED_OUT
