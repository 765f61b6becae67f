"""What became of every copy of every species, as exact sums over games: kernels over the game record.

The observation is one copy of a card for one player in one game, and its value the player's share of the win. Copies
and players of one game depend on each other, so the sums keep what errors clustered by game need: squares and cross
products of a game's totals. All sums are integers and merge exactly. Seats with the same policy form a group.
"""

from enum import IntEnum

import numpy as np
from numba import from_dtype, int64, njit, types, uint8

from policies import KERNEL_CACHE  # noqa: F401  # kernels above the engine are kept there
from sim.actions import MAX_ACTIONS
from sim.codes import Face, Fate, Phase, Place
from sim.deal import setup
from sim.legal import is_playable, legal_actions
from sim.machine import advance, apply
from sim.play import PLAYED_OUT
from sim.policy import IN_RUN
from sim.rules import DECK_SIZE, HALVES, MAX_PLAYERS, SPECIES
from sim.scoring import species_points, total_points, win_shares


class Figure(IntEnum):
    """Ratios of two sums over games, y / x; see `sum_copy` and `sum_forest`."""

    OH = 0  # y: share of the win, x: copies in the opening hand
    GD = 1  # copies that came into the hand later
    GIH = 2  # copies ever in hand
    GNS = 3  # copies never in hand
    PLAYED = 4  # copies in the final forest that show the species
    POINTS = 5  # y: the species' points, x: its copies in the final forest
    POINTS_PER_CARD = 6  # x: its copies and the cards paid for them
    LEFT = 7  # y: it could be played in some turn and never was, x: players
    LEFT_IF_PLAYABLE = 8  # x: players who could play it in some turn


class CopyFate(IntEnum):
    """How a copy came to a player (BOX to STRAIGHT: one of them), and what became of it if it did (PAID_FOR and on)."""

    BOX = 0  # out of the game from the start
    UNSEEN = 1  # in the game, but never with this player
    OPENING = 2  # opening hand
    DRAWN = 3  # from the stack
    TAKEN = 4  # from the clearing
    STRAIGHT = 5  # into forest or cave without ever being in hand
    PAID_FOR = 6  # played as this species, for its cost
    FREE = 7  # played as this species, by an effect
    OTHER_HALF = 8  # played as the species on its other half
    FACE_DOWN = 9  # laid face down as a universal moor
    PAID_AWAY = 10  # paid, swapped away or discarded
    CAVE = 11  # in this player's cave
    IN_HAND = 12  # in hand at the end


FIGURES, FATES = len(Figure), len(CopyFate)
X, Y, XX, XY, YY, GAMES = range(6)  # columns of a ratio's sums; GAMES counts those with x > 0
RATIO = 6
TURN_STARTS = np.array([0, 1, 6, 11, 16, 21, 31, 46])  # first own turn of each bin; 0 is the setup
BINS = len(TURN_STARTS)
ALL = SPECIES  # row of `turn` for all cards together
HELD = int(Fate.OPENING | Fate.FROM_STACK | Fate.FROM_CLEARING)

CARD_SUMS = np.dtype(
    [
        ("games", np.int64),
        ("players", np.int64),
        ("base", np.int64, (RATIO,)),  # y: share of the win, x: players
        ("figure", np.int64, (SPECIES, FIGURES, RATIO)),
        ("in_hand", np.int64, (SPECIES, 4, 4)),  # cross products of GIH x, GIH y, GNS x, GNS y
        ("turn", np.int64, (SPECIES + 1, BINS, RATIO)),  # GIH by the player's turn of first holding the copy
        ("turn_products", np.int64, (SPECIES, 2 * BINS, 2 * BINS)),  # of x and y of every bin: x0, y0, x1, y1, ..
        ("fate", np.int64, (SPECIES, FATES)),
        # Of one player a game, in turn, so that observations are independent: final forests with both species of a
        # pair a <= b, their shares of the win, and these squared; a = b is the species alone.
        ("pair", np.int64, (SPECIES, SPECIES, 3)),
        ("forest", np.int64, (3,)),  # the same of all final forests
    ],
    align=True,
)
CardSums = from_dtype(CARD_SUMS)


@njit(cache=True, nogil=True)
def play_watched(state, tables, policies, weights, actions, playable):
    """Play a game that is set up to its end and note every half that its holder could have played in an own turn.

    `playable`: uint8, (players, cards), gets a bit for each half. Returns as `sim.play.play_game`.
    """
    playable[:, :] = 0
    advance(state, tables, actions)
    while state.phase != Phase.OVER:
        player = state.player
        if state.phase == Phase.TURN:
            note_playable(state, tables, player, playable)
        n = legal_actions(state, tables, actions)
        choice = 0
        if n > 1:
            state.decisions += 1
            choice = policies[player](state, tables, actions, n, weights[player])
            if choice < 0 or choice >= n:
                return np.int64(player)
        apply(state, tables, actions[choice])
        advance(state, tables, actions)
    return PLAYED_OUT


@njit(cache=True, nogil=True)
def note_playable(state, tables, player, playable):
    """Note the halves of the player's hand that could be played now."""
    for i in range(state.hand_n[player]):
        card = state.hand[player, i]
        for half in range(tables.halves[card]):
            if is_playable(state, tables, player, card, half):
                playable[player, card] |= 1 << half


@njit(cache=True, nogil=True)
def turn_bin(turn):
    """Return the bin of a player's turn."""
    k = BINS - 1
    while TURN_STARTS[k] > turn:
        k -= 1
    return k


@njit(cache=True, nogil=True)
def arrival(state, player, card):
    """Return how a copy came to a player, as a CopyFate."""
    fate = state.fate[player, card]
    if fate & Fate.OPENING:
        return CopyFate.OPENING
    if fate & Fate.FROM_STACK:  # only once, and before anyone can take it from the clearing
        return CopyFate.DRAWN
    if fate & Fate.FROM_CLEARING:
        return CopyFate.TAKEN
    if fate:
        return CopyFate.STRAIGHT
    return CopyFate.BOX if state.place[card] == Place.BOX else CopyFate.UNSEEN


@njit(cache=True, nogil=True)
def outcome_of(state, player, card, half):
    """Return what became of a copy that came to a player, seen from the species on one half, as a CopyFate."""
    place = state.place[card]
    if place == Place.FOREST + player:
        if state.face[card] == Face.DOWN:
            return CopyFate.FACE_DOWN
        if state.face[card] != half:
            return CopyFate.OTHER_HALF
        return CopyFate.PAID_FOR if state.fate[player, card] & Fate.PLAYED else CopyFate.FREE
    if place == Place.CAVE + player:
        return CopyFate.CAVE
    return CopyFate.IN_HAND if place == Place.HAND + player else CopyFate.PAID_AWAY


@njit(cache=True, nogil=True)
def count(work, species, figure, x, y):
    """Add to a game's x and y of one ratio."""
    work[species, figure, X] += x
    work[species, figure, Y] += y


@njit(cache=True, nogil=True)
def sum_copy(state, tables, player, card, half, share, work, fates):
    """Count one copy of the species on one half for one player; return whether it was ever in hand."""
    species = tables.species[card, half]
    came = arrival(state, player, card)
    fates[species, came] += 1
    held = state.fate[player, card] & HELD != 0
    count(work, species, Figure.GIH if held else Figure.GNS, 1, share)
    if held:
        count(work, species, Figure.OH if came == CopyFate.OPENING else Figure.GD, 1, share)
    if state.fate[player, card]:
        became = outcome_of(state, player, card, half)
        fates[species, became] += 1
        if became == CopyFate.PAID_FOR or became == CopyFate.FREE:
            count(work, species, Figure.PLAYED, 1, share)
            paid = tables.cost[species] if became == CopyFate.PAID_FOR else 0
            count(work, species, Figure.POINTS_PER_CARD, 1 + paid, 0)
    return held


@njit(cache=True, nogil=True)
def sum_forest(state, tables, player, playable, work):
    """Count what each species made in one player's forest, and whether it was left though it could be played."""
    could = np.zeros(SPECIES, np.uint8)
    for card in range(DECK_SIZE):
        for half in range(HALVES):
            if playable[player, card] >> half & 1:
                could[tables.species[card, half]] = 1
    for species in range(SPECIES):
        copies = state.species_n[player, species]
        left = 1 if could[species] and copies == 0 else 0
        count(work, species, Figure.LEFT, 1, left)
        count(work, species, Figure.LEFT_IF_PLAYABLE, could[species], left)
        if copies > 0:
            points = species_points(state, tables, player, species)
            count(work, species, Figure.POINTS, copies, points)
            count(work, species, Figure.POINTS_PER_CARD, 0, points)


@njit(cache=True, nogil=True)
def sum_cards(state, tables, player, share, work, turns, fates):
    """Count every copy for one player; `turns` gets those once in hand by the turn, once a card in row ALL."""
    for card in range(DECK_SIZE):
        k = turn_bin(state.seen[player, card])
        for half in range(tables.halves[card]):
            if sum_copy(state, tables, player, card, half, share, work, fates):
                count(turns, tables.species[card, half], k, 1, share)
                if half == 0:
                    count(turns, ALL, k, 1, share)


@njit(cache=True, nogil=True)
def sum_pairs(state, player, share, pair, forest):
    """Count the pairs of species in one final forest."""
    forest[0] += 1
    forest[1] += share
    forest[2] += share * share
    present = np.empty(SPECIES, np.int64)
    n = 0
    for species in range(SPECIES):
        if state.species_n[player, species] > 0:
            present[n] = species
            n += 1
    for i in range(n):
        for k in range(i, n):
            sums = pair[present[i], present[k]]
            sums[0] += 1
            sums[1] += share
            sums[2] += share * share


@njit(cache=True, nogil=True)
def fold_ratio(sums, x, y):
    """Add a game's x and y to the sums of a ratio."""
    if x > 0:
        sums[X] += x
        sums[Y] += y
        sums[XX] += x * x
        sums[XY] += x * y
        sums[YY] += y * y
        sums[GAMES] += 1


@njit(cache=True, nogil=True)
def fold_ratios(sums, work):
    """Add a game's x and y of every row and ratio."""
    for row in range(work.shape[0]):
        for k in range(work.shape[1]):
            fold_ratio(sums[row, k], work[row, k, X], work[row, k, Y])


@njit(cache=True, nogil=True)
def fold_products(products, work):
    """Add the products of x0, y0, x1, y1, .. of a game; work: (ratios, 2)."""
    values = work.reshape(-1)
    for i in range(len(values)):
        if values[i] != 0:
            for k in range(len(values)):
                products[i, k] += values[i] * values[k]


@njit(cache=True, nogil=True)
def fold_game(sums, work, turns):
    """Add one game's counts to a group's sums."""
    fold_ratios(sums.figure, work)
    fold_ratios(sums.turn, turns)
    for species in range(SPECIES):
        fold_products(sums.in_hand[species], work[species, Figure.GIH : Figure.GNS + 1])
        fold_products(sums.turn_products[species], turns[species])


@njit(cache=True, nogil=True)
def sum_group(state, tables, game, group, group_of, shares, playable, work, turns, sums):
    """Add a finished game of one group's seats to its sums; `work` and `turns` are room."""
    work[:, :, :] = 0
    turns[:, :, :] = 0
    seats = share = 0
    for player in range(state.players):
        if group_of[player] == group:
            sum_cards(state, tables, player, shares[player], work, turns, sums.fate)
            sum_forest(state, tables, player, playable, work)
            seats += 1
            share += shares[player]
    sums.games += 1
    sums.players += seats
    fold_ratio(sums.base, seats, share)
    fold_game(sums, work, turns)
    player = seat_in_turn(np.int64(state.players), game, group, group_of)
    sum_pairs(state, player, np.int64(shares[player]), sums.pair, sums.forest)


@njit(cache=True, nogil=True)
def seat_in_turn(players, game, group, group_of):
    """Return one seat of a group; every seat has its turn from game to game."""
    seats = 0
    for player in range(players):
        seats += group_of[player] == group
    wanted = game % seats
    for player in range(players):
        if group_of[player] == group:
            if wanted == 0:
                return player
            wanted -= 1
    return -1


@njit(
    int64(
        *IN_RUN,
        types.Array(uint8, 1, "C"),
        types.Array(CardSums, 1, "C"),
        types.Array(int64, 1, "C"),
    ),
    cache=True,
    nogil=True,
)
def sum_games(games, tables, policies, weights, players, cave_mode, caves, seed, start, count, group_of, sums, at):
    """Play games start .. start+count-1 of run `seed` in games[0] and add each group g of seats to sums[g].

    Returns PLAYED_OUT, or the seat whose policy misbehaved in game at[0].
    """
    actions = np.empty(MAX_ACTIONS, np.int32)
    scores = np.zeros(MAX_PLAYERS, np.int32)
    shares = np.zeros(MAX_PLAYERS, np.uint8)
    playable = np.zeros((MAX_PLAYERS, DECK_SIZE), np.uint8)
    work = np.zeros((SPECIES, FIGURES, 2), np.int64)
    turns = np.zeros((SPECIES + 1, BINS, 2), np.int64)
    table = tables[0]
    for game in range(start, start + count):
        at[0] = game
        setup(games, table, players, seed, game, cave_mode, caves)
        state = games[0]
        seat = play_watched(state, table, policies, weights, actions, playable)
        if seat != PLAYED_OUT:
            return seat
        for player in range(players):
            scores[player] = total_points(state, table, player)
        win_shares(scores, players, shares)
        for group in range(len(sums)):
            sum_group(state, table, game, group, group_of, shares, playable, work, turns, sums[group])
    return PLAYED_OUT
