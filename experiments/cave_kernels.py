"""One deal, every cave: the games that a paired comparison of caves is made of, and drafts on the same deals."""

import numpy as np
from numba import float64, int64, njit, types, uint64

from policies.cave_rule import best_cave, count_hand_types
from sim.actions import MAX_ACTIONS
from sim.codes import CaveMode
from sim.deal import setup
from sim.play import PLAYED_OUT, play_game
from sim.policy import AT_TABLE
from sim.rng import seed_stream, shuffle
from sim.rules import MAX_CAVES, MAX_PLAYERS
from sim.scoring import total_points, win_shares
from sim.state import STREAMS

OTHERS_STREAM = STREAMS  # of the seats' caves in a deal; the streams below belong to the deal and the players
DEALT, OWN_DRAFT, RULE_DRAFT = range(3)  # ways to come to caves, in the order of `drafts`


@njit(cache=True, nogil=True)
def seat_of(game, players):
    """Return the seat whose cave is varied in a game: each in turn, so that every seat has its share of deals."""
    return game % players


@njit(cache=True, nogil=True)
def give_caves(order, players, seat, cave, given):
    """Write the seats' caves into `given`: `cave` for `seat`, for the others one each in the deal's random `order`.

    Whoever would hold `cave` has the next in order, which nobody holds, instead. So a game of a deal differs from what
    the order gives by the cave of the seat compared, and by at most one other: the one whose cave was taken away.
    """
    spare = order[players - 1]
    others = 0
    for other in range(players):
        if other == seat:
            given[other] = cave
        else:
            given[other] = spare if order[others] == cave else order[others]
            others += 1


@njit(cache=True, nogil=True)
def note_result(state, tables, players, scores, shares):
    """Write the final scores (int32) and win shares (uint8, in 60ths) of all seats."""
    for player in range(players):
        scores[player] = total_points(state, tables, player)
    win_shares(scores, players, shares)


@njit(
    int64(
        *AT_TABLE,
        uint64,
        int64,
        types.Array(int64, 2, "C"),
        types.Array(int64, 2, "C"),
        types.Array(int64, 2, "C"),
        types.Array(int64, 1, "C"),
    ),
    cache=True,
    nogil=True,
)
def play_caves(games, tables, policies, weights, players, seed, start, shares, scores, hands, at):
    """Play each deal once with every cave in the deal's seat, in games[0].

    shares, scores: (deals, caves), win share in 60ths and score of that seat. hands: (deals, TYPES), how many cards of
    its opening hand show each type. at: (1,), the deal it is at. Returns PLAYED_OUT, or the seat whose policy returned
    an index that does not exist.
    """
    table = tables[0]
    actions = np.empty(MAX_ACTIONS, np.int32)
    order, given = np.empty(MAX_CAVES, np.uint8), np.zeros(MAX_PLAYERS, np.uint8)
    score, share = np.zeros(MAX_PLAYERS, np.int32), np.zeros(MAX_PLAYERS, np.uint8)
    rng = np.empty(4, np.uint64)
    for deal in range(len(shares)):
        at[0] = game = start + deal
        seat = seat_of(game, players)
        for i in range(table.caves_n):
            order[i] = i
        seed_stream(rng, seed, game, OTHERS_STREAM)
        shuffle(rng, order, table.caves_n)
        for cave in range(table.caves_n):
            give_caves(order, players, seat, cave, given)
            setup(games, table, players, seed, game, CaveMode.GIVEN, given)
            if cave == 0:
                count_hand_types(games[0], table, seat, hands[deal])
            failed = play_game(games[0], table, policies, weights, actions)
            if failed != PLAYED_OUT:
                return failed
            note_result(games[0], table, players, score, share)
            shares[deal, cave] = share[seat]
            scores[deal, cave] = score[seat]
    return PLAYED_OUT


@njit(cache=True, nogil=True)
def draft_by_rule(state, tables, rule, given):
    """Write into `given` the caves of a draft in which all follow the rule, the last player of the round first."""
    offer = np.empty(MAX_PLAYERS, np.uint8)
    n = np.int64(state.players)
    for i in range(n):
        offer[i] = state.cave[i]  # as dealt: together they are the offer
    offer[:n].sort()
    while n > 0:
        player = (state.first + n - 1) % state.players
        pick = best_cave(state, tables, player, offer, n, rule)
        given[player] = offer[pick]
        n -= 1
        for i in range(pick, n):
            offer[i] = offer[i + 1]


@njit(
    int64(
        *AT_TABLE,
        uint64,
        int64,
        types.Array(float64, 1, "C"),
        types.Array(int64, 3, "C"),
        types.Array(int64, 3, "C"),
        types.Array(int64, 1, "C"),
    ),
    cache=True,
    nogil=True,
)
def play_drafts(games, tables, policies, weights, players, seed, start, rule, shares, scores, at):
    """Play each deal with the caves as dealt, as drafted by the policies, and as drafted by the rule.

    shares, scores: (deals, 3 ways, players), by place in the draft: 0 picks first, which is the last player in turn.
    at: (1,), the deal it is at. Returns PLAYED_OUT, or the seat whose policy returned an index that does not exist.
    """
    table = tables[0]
    actions = np.empty(MAX_ACTIONS, np.int32)
    given = np.zeros(MAX_PLAYERS, np.uint8)
    score, share = np.zeros(MAX_PLAYERS, np.int32), np.zeros(MAX_PLAYERS, np.uint8)
    for deal in range(len(shares)):
        at[0] = start + deal
        for way in range(3):
            mode = CaveMode.RANDOM
            if way == OWN_DRAFT:
                mode = CaveMode.DRAFT
            elif way == RULE_DRAFT:
                setup(games, table, players, seed, start + deal, CaveMode.RANDOM, given)
                draft_by_rule(games[0], table, rule, given)
                mode = CaveMode.GIVEN
            setup(games, table, players, seed, start + deal, mode, given)
            failed = play_game(games[0], table, policies, weights, actions)
            if failed != PLAYED_OUT:
                return failed
            note_result(games[0], table, players, score, share)
            for place in range(players):
                player = (games[0].first + players - 1 - place) % players
                shares[deal, way, place] = share[player]
                scores[deal, way, place] = score[player]
    return PLAYED_OUT
