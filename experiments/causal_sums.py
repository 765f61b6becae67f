"""The same games with one thing changed for one player: kernels that play them and sum the paired differences.

Every game is played as it is, and then again with each species changed: its points off, its effects off, or a copy of
it in the opening hand. Deal, first player, caves on offer and all random streams stay the same, so the difference
between the two games is what the change did, through all that followed from it.
"""

from enum import IntEnum

import numpy as np
from numba import from_dtype, int64, njit, types, uint8

from policies import KERNEL_CACHE  # noqa: F401  # kernels above the engine are kept there
from sim.actions import MAX_ACTIONS
from sim.codes import Phase
from sim.deal import begin, clear, deal, setup
from sim.legal import legal_actions
from sim.machine import advance, apply
from sim.play import PLAYED_OUT
from sim.policy import IN_RUN
from sim.rng import below, seed_stream
from sim.rules import DECK_SIZE, MAX_PLAYERS, OPENING_HAND, SPECIES
from sim.scoring import species_points, total_points, win_shares
from sim.state import STREAMS


class Change(IntEnum):
    """What is changed for the player in question; the others play on as ever."""

    POINTS_OFF = 0  # the species' points are 0
    EFFECT_OFF = 1  # its effect, bonus and permanent effect do nothing
    OPENING_COPY = 2  # one more copy in the opening hand


CHANGES = len(Change)
TABLE_CHANGES = (Change.POINTS_OFF, Change.EFFECT_OFF)
NOT_CHANGED = 0  # row of the tables in which nothing is changed
NOWHERE = -1  # place in the stack of a card that is in the box; row of the tables of a change that cannot be made
SWAP_STREAM = STREAMS  # the game's own streams come before it; species k draws from SWAP_STREAM + k

CAUSAL_SUMS = np.dtype(
    [
        ("games", np.int64, (SPECIES, CHANGES)),  # that could be changed
        ("different", np.int64, (SPECIES, CHANGES)),  # in which anyone's score changed
        ("share", np.int64, (SPECIES, CHANGES)),  # changed game minus game as it is, of the player in question
        ("share_sq", np.int64, (SPECIES, CHANGES)),
        ("score", np.int64, (SPECIES, CHANGES)),
        ("score_sq", np.int64, (SPECIES, CHANGES)),
        ("points", np.int64, (SPECIES,)),  # of the player in question in the game as it is
    ],
    align=True,
)
CausalSums = from_dtype(CAUSAL_SUMS)


@njit(cache=True, nogil=True)
def changed_row(species, change):
    """Return the row of the tables that has this change."""
    return 1 + species * len(TABLE_CHANGES) + change


@njit(cache=True, nogil=True)
def table_of(player, focal, row):
    """Return the row of the tables that a player plays by: `row` for the player in question."""
    return row if player == focal else NOT_CHANGED


@njit(cache=True, nogil=True)
def play_changed(state, tables, focal, row, policies, weights, actions):
    """Play a game that is set up to its end; player `focal` plays by tables[row], the others by tables[NOT_CHANGED].

    Between two choices only the player who chose acts, so its tables serve until the next one. Returns as
    `sim.play.play_game`.
    """
    advance(state, tables[NOT_CHANGED], actions)  # draft and caves, the same in all tables
    while state.phase != Phase.OVER:
        player = state.player
        table = tables[table_of(player, focal, row)]
        n = legal_actions(state, table, actions)
        choice = 0
        if n > 1:
            state.decisions += 1
            choice = policies[player](state, table, actions, n, weights[player])
            if choice < 0 or choice >= n:
                return np.int64(player)
        apply(state, table, actions[choice])
        advance(state, table, actions)
    return PLAYED_OUT


@njit(cache=True, nogil=True)
def note_result(state, tables, focal, row, scores, shares):
    """Write every player's score and share of the win, by the tables that each played by."""
    for player in range(state.players):
        scores[player] = total_points(state, tables[table_of(player, focal, row)], player)
    win_shares(scores, state.players, shares)


@njit(cache=True, nogil=True)
def setup_with_copy(games, tables, players, seed, game, cave_mode, caves, focal, species):
    """Set up as `sim.deal.setup`, but with one more copy of the species in the opening hand of player `focal`.

    A random copy that lies in no opening hand changes places with a random card of the hand that does not show the
    species. All else lies where it lay. Returns False, with nothing to play, when there is no such copy or card.
    """
    clear(games, players, seed, game)
    state = games[0]
    deal(state, tables)
    rng = np.empty(4, np.uint64)
    seed_stream(rng, seed, game, SWAP_STREAM + species)
    if not swap_into_hand(state, tables, rng, focal, species):
        return False
    begin(state, cave_mode, caves)
    return True


@njit(cache=True, nogil=True)
def swap_into_hand(state, tables, rng, focal, species):
    """Swap a copy of the species into an opening hand, still on top of the stack; return whether that was possible."""
    start = (focal + state.players - state.first) % state.players * OPENING_HAND
    out = pick_place(state, tables, rng, species, start)
    copy = pick_copy(state, tables, rng, species)
    if out < 0 or copy < 0:
        return False
    source = place_in_stack(state, copy)
    if source != NOWHERE:
        state.stack[source] = state.stack[out]
    state.stack[out] = copy
    return True


@njit(cache=True, nogil=True)
def shows(tables, card, species):
    """Return whether any half of a card shows the species."""
    for half in range(tables.halves[card]):
        if tables.species[card, half] == species:
            return True
    return False


@njit(cache=True, nogil=True)
def place_in_stack(state, card):
    """Return the place of a card in the dealt stack, NOWHERE for the box."""
    for i in range(state.stack_n):
        if state.stack[i] == card:
            return np.int64(i)
    return NOWHERE


@njit(cache=True, nogil=True)
def pick_place(state, tables, rng, species, start):
    """Return the place of a random card of the opening hand at `start` that does not show the species; -1 if none."""
    places = np.empty(OPENING_HAND, np.int64)
    n = 0
    for i in range(start, start + OPENING_HAND):
        if not shows(tables, state.stack[i], species):
            places[n] = i
            n += 1
    return places[below(rng, n)] if n > 0 else -1


@njit(cache=True, nogil=True)
def pick_copy(state, tables, rng, species):
    """Return a random copy of the species from stack or box, -1 if all lie in opening hands."""
    in_hand = np.zeros(DECK_SIZE, np.bool_)
    for i in range(state.players * OPENING_HAND):
        in_hand[state.stack[i]] = True
    copies = np.empty(DECK_SIZE, np.int64)
    n = 0
    for card in range(DECK_SIZE):
        if not in_hand[card] and shows(tables, card, species):
            copies[n] = card
            n += 1
    return copies[below(rng, n)] if n > 0 else -1


@njit(cache=True, nogil=True)
def add_difference(sums, species, change, focal, players, scores, shares, base_scores, base_shares):
    """Add one pair of games."""
    share = np.int64(shares[focal]) - np.int64(base_shares[focal])
    score = np.int64(scores[focal]) - np.int64(base_scores[focal])
    different = 0
    for player in range(players):
        if scores[player] != base_scores[player]:
            different = 1
    sums.games[species, change] += 1
    sums.different[species, change] += different
    sums.share[species, change] += share
    sums.share_sq[species, change] += share * share
    sums.score[species, change] += score
    sums.score_sq[species, change] += score * score


@njit(cache=True, nogil=True)
def set_up_change(games, tables, players, seed, game, cave_mode, caves, focal, species, change):
    """Set up a game with one change; return the row of the tables for player `focal`, NOWHERE if it cannot be made."""
    if change == Change.OPENING_COPY:
        table = tables[NOT_CHANGED]
        if setup_with_copy(games, table, players, seed, game, cave_mode, caves, focal, species):
            return NOT_CHANGED
        return NOWHERE
    setup(games, tables[NOT_CHANGED], players, seed, game, cave_mode, caves)
    return changed_row(species, change)


@njit(
    int64(
        *IN_RUN,
        types.Array(uint8, 1, "C"),
        types.Array(uint8, 2, "C"),
        types.Array(CausalSums, 1, "C"),
        types.Array(int64, 1, "C"),
    ),
    cache=True,
    nogil=True,
)
def sum_changes(
    games, tables, policies, weights, players, cave_mode, caves, seed, start, count, seats, matters, sums, at
):
    """Play games start .. start+count-1 of run `seed`, each as it is and once with every change, and add the pairs.

    tables: row NOT_CHANGED, and `changed_row` for each species and change of the tables. seats: the seats in question,
    which take turns from game to game. matters: (SPECIES, CHANGES), 0 where a change would change nothing, so that
    nothing is played. Returns PLAYED_OUT, or the seat whose policy misbehaved in game at[0].
    """
    actions = np.empty(MAX_ACTIONS, np.int32)
    scores, base_scores = np.zeros(MAX_PLAYERS, np.int32), np.zeros(MAX_PLAYERS, np.int32)
    shares, base_shares = np.zeros(MAX_PLAYERS, np.uint8), np.zeros(MAX_PLAYERS, np.uint8)
    for game in range(start, start + count):
        at[0] = game
        focal = np.int64(seats[game % len(seats)])
        setup(games, tables[NOT_CHANGED], players, seed, game, cave_mode, caves)
        seat = play_changed(games[0], tables, focal, NOT_CHANGED, policies, weights, actions)
        if seat != PLAYED_OUT:
            return seat
        note_result(games[0], tables, focal, NOT_CHANGED, base_scores, base_shares)
        for species in range(SPECIES):
            sums[0].points[species] += species_points(games[0], tables[NOT_CHANGED], focal, species)
        for species in range(SPECIES):
            for change in range(CHANGES):
                row = NOWHERE
                if matters[species, change]:
                    row = set_up_change(games, tables, players, seed, game, cave_mode, caves, focal, species, change)
                if row == NOWHERE:
                    continue
                seat = play_changed(games[0], tables, focal, row, policies, weights, actions)
                if seat != PLAYED_OUT:
                    return seat
                note_result(games[0], tables, focal, row, scores, shares)
                add_difference(sums[0], species, change, focal, players, scores, shares, base_scores, base_shares)
    return PLAYED_OUT
