"""Many games at once: the same bytes for any threads, chunks and splits; single games; policies that misbehave."""

import itertools
import time

import numpy as np
import pytest

from policies.plain import plain, plain_bonus
from policies.random_policy import random_policy
from sim.actions import MAX_ACTIONS
from sim.batch import Match, chunks, in_order, merge_totals, play
from sim.codes import CaveMode
from sim.deal import setup
from sim.errors import DartmoorError
from sim.play import OUTCOME, PLAYED_OUT, TOTALS, note_outcome, play_game
from sim.policy import policy
from sim.rules import MAX_PLAYERS, SHARES
from sim.state import new_games

GAMES = 600
SEED = 17


@policy
def beyond(state, tables, actions, n, weights):
    """Misbehave, one past the last action, in games with a certain card on top of the stack."""
    return n if state.stack[0] == weights[0] else 0


@policy
def below_zero(state, tables, actions, n, weights):
    """The same, before the first action."""
    return -1 if state.stack[0] == weights[0] else 0


def match_of(tables, players=3, policies=None, cave_mode=CaveMode.DRAFT, seed=SEED, **more):
    """Return a match; random players and plain ones take turns unless `policies` are given."""
    policies = policies or list(itertools.islice(itertools.cycle([random_policy, plain, plain_bonus]), players))
    weights = more.pop("weights", [np.zeros(1)] * players)
    return Match(tables, players, policies, weights, seed, cave_mode, (3, 1, 3, 0, 2)[:players], **more)


def outcomes_of(match, games, **options):
    """Play and return totals and one outcome a game."""
    rows = []
    totals = play(match, games, on_chunk=lambda count, outcomes: rows.append(outcomes), keep_outcomes=True, **options)
    return totals, np.concatenate(rows)


def set_up(match, game, games=None):
    """Return a record with a game of the match before its first decision."""
    games = new_games() if games is None else games
    setup(
        games,
        match.tables[0],
        match.players,
        np.uint64(match.seed),
        game,
        int(match.cave_mode),
        match.kernel_caves,
    )
    return games


def play_single(match, game, games=None):
    """Return the record after one game, played on its own."""
    games = set_up(match, game, games)
    actions = np.zeros(MAX_ACTIONS, np.int32)
    seat = play_game(games[0], match.tables[0], match.kernel_policies, match.kernel_weights, actions)
    assert seat == PLAYED_OUT
    return games


@pytest.fixture(scope="module")
def whole(tables):
    """Return the totals of GAMES games on one thread, in one chunk."""
    return play(match_of(tables), GAMES, chunk=GAMES)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("chunk", [1, 7, 100, 1000])
def test_threads_and_chunks_change_no_byte(tables, whole, threads, chunk):
    assert play(match_of(tables), GAMES, threads=threads, chunk=chunk).tobytes() == whole.tobytes()


def test_split_runs_merge_to_the_same_bytes(tables, whole):
    parts = [
        play(match_of(tables), last - first, start=first) for first, last in itertools.pairwise([0, 1, 250, GAMES])
    ]
    for order in itertools.permutations(parts):
        merged = np.zeros(1, TOTALS)
        for part in order:
            merge_totals(merged, part)
        assert merged.tobytes() == whole.tobytes()


def test_another_seed_or_start_gives_other_games(tables, whole):
    assert play(match_of(tables, seed=SEED + 1), GAMES).tobytes() != whole.tobytes()
    assert play(match_of(tables), GAMES, start=1).tobytes() != whole.tobytes()


@pytest.mark.parametrize("players", [2, 3, 4, 5])
@pytest.mark.parametrize("mode", CaveMode)
def test_outcomes_are_those_of_single_games(tables, players, mode):
    match = match_of(tables, players, cave_mode=mode)
    _, outcomes = outcomes_of(match, 30, threads=2, chunk=8, start=5)
    assert outcomes["game"].tolist() == list(range(5, 35))
    for outcome in outcomes:
        single = np.zeros(1, OUTCOME)
        game = int(outcome["game"])
        note_outcome(play_single(match, game)[0], tables[0], game, single[0])
        for name in OUTCOME.names:
            assert (single[name][0] == outcome[name]).all(), name
        if mode == CaveMode.GIVEN:
            assert outcome["cave"][:players].tolist() == list(match.caves)


def test_totals_are_sums_of_outcomes(tables):
    totals, outcomes = outcomes_of(match_of(tables), GAMES, chunk=64)
    total = totals[0]
    assert total["games"] == GAMES == total["ending"].sum()
    assert total["decisions"] == outcomes["decisions"].sum() and total["swaps"] == outcomes["swaps"].sum()
    scores, shares = outcomes["score"].astype(np.int64), outcomes["share"].astype(np.int64)
    assert (shares.sum(axis=1) == SHARES).all()
    for name, values in (("score", scores), ("share", shares)):
        assert (total[name] == values.sum(axis=0)).all() and (total[f"{name}_sq"] == (values**2).sum(axis=0)).all()
    assert (total["score_max"] == scores.max(axis=0)).all()
    assert total["ties"] == ((shares > 0).sum(axis=1) > 1).sum()
    for seat in range(3):
        assert (total["score_bins"][seat] == np.bincount(scores[:, seat], minlength=total["score_bins"].shape[1])).all()
    for name in ("turns", "rounds", "stack_left", "ending"):
        assert (total[name] == np.bincount(outcomes[name], minlength=len(total[name]))).all()
    for name in ("winter_turn", "winter_round", "winter_left"):
        for winter, counts in enumerate(total[name]):
            assert (counts == np.bincount(outcomes[name][:, winter], minlength=len(counts))).all()
    for name in ("paid", "copies", "points"):
        assert (total[name] == outcomes[name].astype(np.int64).sum(axis=(0, 1))).all()
    for name in ("copies", "points"):
        assert (total[f"{name}_sq"] == (outcomes[name].astype(np.int64).sum(axis=1) ** 2).sum(axis=0)).all()
    assert (total["forests"] == (outcomes["copies"] > 0).sum(axis=(0, 1))).all()
    caves = outcomes["cave"][:, :3]
    for cave in range(len(total["cave_games"])):
        seats = np.nonzero(caves == cave)
        assert total["cave_games"][cave] == len(seats[0])
        for name, values in (("score", scores), ("share", shares)):
            assert total[f"cave_{name}"][cave] == values[seats].sum()
            assert total[f"cave_{name}_sq"][cave] == (values[seats] ** 2).sum()


def test_a_game_does_not_depend_on_what_the_record_held_before(tables):
    match = match_of(tables, 4, [random_policy] * 4)
    used = new_games()
    for other in (match_of(tables, 5), match_of(tables, 2, seed=3)):
        play_single(other, 1, used)
    for game in (0, 1, 17):
        assert play_single(match, game, used).tobytes() == play_single(match, game).tobytes()


def test_policies_meet_the_same_deals(tables):
    """What chance decides before the first turn depends on seed and game only, not on who plays."""
    for game in range(20):
        one = play_single(match_of(tables, 3, [plain] * 3), game)[0]
        other = play_single(match_of(tables, 3, [random_policy] * 3), game)[0]
        assert one["stack"].tolist() == other["stack"].tolist() and one["first"] == other["first"]


def test_a_random_player_draws_from_its_own_stream(tables):
    """A seat's stream does not move when another seat's policy draws."""
    mixed = play_single(match_of(tables, 2, [plain, random_policy]), 3)
    start = set_up(match_of(tables, 2), 3)
    moved = [(mixed["rng"][0, stream] != start["rng"][0, stream]).any() for stream in range(1 + MAX_PLAYERS)]
    assert moved == [False, False, True, False, False, False]


def bad_card(tables, game):
    """Return the card on top of the stack in a game, and check that no earlier game has it there."""
    tops = [int(set_up(match_of(tables), earlier)["stack"][0, 0]) for earlier in range(game + 1)]
    assert tops.count(tops[-1]) == 1
    return tops[-1]


@pytest.mark.parametrize("misbehaving", [beyond, below_zero])
@pytest.mark.parametrize("seat", [0, 2])
@pytest.mark.parametrize("chunk, threads", [(1000, 1), (5, 2), (1, 1)])
def test_a_policy_that_misbehaves_is_named_with_seat_and_game(tables, misbehaving, seat, chunk, threads):
    game = 12
    policies, weights = [plain] * 3, [np.zeros(1)] * 3
    policies[seat], weights[seat] = misbehaving, np.array([float(bad_card(tables, game))])
    for names, who in (((), f"of seat {seat}"), (("a", "b", "c"), "abc"[seat])):
        match = match_of(tables, 3, policies, weights=weights, names=names)
        with pytest.raises(DartmoorError) as caught:
            play(match, 40, threads=threads, chunk=chunk)
        assert str(caught.value) == f"policy {who}: chose an action that does not exist (seat {seat}, game {game})"


def test_weights_of_different_lengths_reach_their_seats(tables):
    match = match_of(tables, 2, [random_policy] * 2, weights=[np.array([1.0, 2.0, 3.0]), np.array([4.0])])
    assert match.kernel_weights[:2].tolist() == [[1.0, 2.0, 3.0], [4.0, 0.0, 0.0]]


def test_an_interrupt_keeps_the_games_that_are_complete(tables):
    seen = []

    def interrupt(count, outcomes):
        seen.append(count)
        if len(seen) == 3:
            raise KeyboardInterrupt

    totals = play(match_of(tables), GAMES, threads=2, chunk=50, on_chunk=interrupt)
    assert totals["games"] == sum(seen) == 150
    assert totals.tobytes() == play(match_of(tables), 150).tobytes()


def test_chunks_cover_a_run_without_gap_or_overlap():
    assert list(chunks(3, 10, 4)) == [(3, 4), (7, 4), (11, 2)]
    assert list(chunks(0, 0, 4)) == []


def test_results_come_in_the_order_of_games_and_few_wait():
    begun = []

    def work(first, count):
        begun.append(first)
        time.sleep(0.03 if first % 4 == 0 else 0)
        return first

    firsts = []
    for _, first in in_order(work, 0, 40, threads=2, chunk=2):
        firsts.append(first)
        assert len(begun) <= len(firsts) + 4
        time.sleep(0.002)
    assert firsts == list(range(0, 40, 2))


def test_no_games_give_empty_totals(tables):
    assert play(match_of(tables), 0).tobytes() == np.zeros(1, TOTALS).tobytes()
