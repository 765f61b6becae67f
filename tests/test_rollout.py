"""Sampled worlds, and the policy that plays them out."""

import numpy as np
import pytest

from policies.registry import load_policy
from policies.rollout import (
    DEFAULT_SETTINGS,
    FEW_WORLDS,
    PLAYOUTS,
    SEARCHED,
    SETTINGS,
    best_of,
    drop_losers,
    rank,
    rollout,
)
from policies.weighted import weighted
from policies.weights_file import read_archetype
from policies.worlds import is_known, lay_winters, sample_world
from sim.actions import MAX_ACTIONS
from sim.batch import Match, play, play_chunk
from sim.codes import CaveMode, Face, Fate, Phase, Place
from sim.deal import setup
from sim.errors import DartmoorError
from sim.legal import legal_actions
from sim.machine import advance, apply
from sim.rules import DECK_SIZE, MAX_PLAYERS, WINTERS
from sim.scoring import total_points
from sim.state import new_games

INNER = read_archetype("balanced").weights
FIELDS_ASIDE = {"rng", "stack"}  # streams, and the stack's cards that are gone


def positions(tables, players, seed, every=17):
    """Yield game records at decisions of a game of random play."""
    rng = np.random.default_rng(seed)
    games, actions = new_games(), np.empty(MAX_ACTIONS, np.int32)
    setup(games, tables[0], players, np.uint64(seed), 0, int(CaveMode.DRAFT), np.zeros(MAX_PLAYERS, np.uint8))
    advance(games[0], tables[0], actions)
    step = 0
    while games[0]["phase"] != Phase.OVER:
        if step % every == 0:
            yield games.copy()
        n = legal_actions(games[0], tables[0], actions)
        apply(games[0], tables[0], actions[rng.integers(n)])
        advance(games[0], tables[0], actions)
        step += 1


def sampled(games, tables, player, key=(1, 2, 3, 4)):
    """Return a sampled world of a position."""
    world = games.copy()
    sample_world(world[0], tables[0], player, np.array(key, np.uint64), np.empty(DECK_SIZE, np.uint8))
    return world


def hidden(games, player):
    """Return the cards whose place a player does not know."""
    return [card for card in range(DECK_SIZE) if not is_known(games[0], player, card)]


def stack_of(state):
    return state["stack"][state["stack_top"] : state["stack_n"]]


def check_whole(state):
    """Every card is in one place, and the lists agree with it."""
    stack = [card for card in stack_of(state) if card < DECK_SIZE]
    assert sorted(stack) == sorted(np.flatnonzero(state["place"] == Place.STACK))
    assert sum(card >= DECK_SIZE for card in stack_of(state)) == WINTERS - state["winters"]
    for player in range(state["players"]):
        hand = state["hand"][player][: state["hand_n"][player]].tolist()
        assert hand == np.flatnonzero(state["place"] == Place.HAND + player).tolist()
        assert (state["place"] == Place.CAVE + player).sum() == state["cave_n"][player]
        assert state["fate"][player][hand].all()
        assert not state["fate"][player][np.isin(state["place"], (Place.STACK, Place.BOX))].any()
        for habitat in state["habitats"][player][: state["habitats_n"][player]]:
            assert state["place"][habitat] == Place.FOREST + player
            assert state["host"][habitat] == habitat


@pytest.mark.parametrize("players", [2, 3, 5])
def test_sampled_worlds_are_whole_and_keep_what_is_known(tables, players):
    for seed in range(3):
        for games in positions(tables, players, seed):
            for player in range(players):
                world = sampled(games, tables, player)
                check_whole(world[0])
                unknown = hidden(games, player)
                known = np.setdiff1d(np.arange(DECK_SIZE), unknown)
                for field in ("place", "face", "host", "slot"):
                    changed = known[games[0][field][known] != world[0][field][known]]
                    assert field in ("host",) or not len(changed)
                assert sorted(games[0]["place"][unknown]) == sorted(world[0]["place"][unknown])
                for other in range(players):
                    assert total_points(world[0], tables[0], other) == total_points(games[0], tables[0], other)


@pytest.mark.parametrize("players", [2, 4])
def test_sampled_worlds_depend_on_what_is_known_only(tables, players):
    """A world sampled from a sampled world is the world sampled from the truth: nothing hidden shines through."""
    for games in positions(tables, players, seed=9):
        for player in range(players):
            other_truth = sampled(games, tables, player, key=(5, 6, 7, 8))
            first, second = sampled(games, tables, player), sampled(other_truth, tables, player)
            assert np.array_equal(stack_of(first[0]), stack_of(second[0]))
            for field in first.dtype.names:
                if field not in FIELDS_ASIDE:
                    assert np.array_equal(first[0][field], second[0][field]), field


def test_hidden_moors_are_dealt_afresh(tables):
    """A card that another player laid face down can be any hidden card, and what lies on it stays there."""
    for games in positions(tables, 2, seed=4, every=1):
        state = games[0]
        if state["turn"] > 12 and state["habitats_n"][1] > 0:
            moor = int(state["habitats"][1][0])
            state["face"][moor] = Face.DOWN
            state["fate"][1][moor] = Fate.FACE_DOWN
            break
    assert moor in hidden(games, 0)
    found = set()
    for key in range(1, 40):
        world = sampled(games, tables, 0, key=(key, 2, 3, 4))[0]
        check_whole(world)
        under = int(world["habitats"][1][0])
        found.add(under)
        assert np.array_equal(world["slot_n"][under], state["slot_n"][moor])
        assert world["face"][under] == Face.DOWN
    assert len(found) > 20


def test_winters_stay_where_the_rules_lay_them(tables):
    """Before the first winter its place is known; afterwards every place left is possible."""
    games = next(positions(tables, 2, seed=3))
    first = np.flatnonzero(games[0]["stack"][: games[0]["stack_n"]] >= DECK_SIZE)[0]
    rng, places = np.array([1, 2, 3, 4], np.uint64), set()
    for _ in range(300):
        lay_winters(games[0], tables[0], rng)
        laid = np.flatnonzero(games[0]["stack"][: games[0]["stack_n"]] >= DECK_SIZE)
        assert len(laid) == WINTERS
        assert laid[0] == first
        places.update(laid[1:].tolist())
    assert places == set(range(first + 1, games[0]["stack_n"]))


def test_rank_lists_the_weights_policys_answers_best_first(tables):
    actions, answers = np.empty(MAX_ACTIONS, np.int32), np.empty(3, np.int64)
    checked = 0
    for games in positions(tables, 2, seed=2, every=3):
        n = legal_actions(games[0], tables[0], actions)
        if n >= 3 and SEARCHED >> int(games[0]["phase"]) & 1:
            rank(games[0], tables[0], actions, n, INNER, answers)
            assert answers[0] == weighted(games[0], tables[0], actions, n, INNER)
            assert len(set(answers.tolist())) == 3
            checked += 1
    assert checked > 10


def test_losers_drop_out_and_a_lead_must_exceed_chance():
    alive = np.arange(3)
    lead, squares = np.array([0.0, -2.0, 1.0]), np.array([0.0, 0.9, 0.5])
    assert drop_losers(lead, squares, FEW_WORLDS, alive, 3) == 2
    assert alive[:2].tolist() == [0, 2]
    assert best_of(lead, squares, FEW_WORLDS, alive, 2, 1.0) == 2
    assert best_of(lead, squares, FEW_WORLDS, alive, 2, 10.0) == 0


def test_rollout_changes_nothing_but_its_own_stream(tables):
    actions = np.empty(MAX_ACTIONS, np.int32)
    weights = np.concatenate([[12.0, *DEFAULT_SETTINGS[1:]], INNER])
    for games in positions(tables, 3, seed=6, every=29):
        n = legal_actions(games[0], tables[0], actions)
        if n == 1:  # forced: no policy is asked
            continue
        before = games.copy()
        assert 0 <= rollout(games[0], tables[0], actions, n, weights) < n
        player = 1 + int(games[0]["player"])
        before[0]["rng"][player] = games[0]["rng"][player]
        for field in before.dtype.names:
            assert np.array_equal(games[0][field], before[0][field]), field


def match(tables, first, second, players=2, seed=1):
    weights = np.concatenate([[24.0, *DEFAULT_SETTINGS[1:]], INNER])
    functions = [first, *[second] * (players - 1)]
    return Match(tables, players, functions, [weights if f is not weighted else INNER for f in functions], seed)


def test_rollout_beats_the_policy_inside_it(tables):
    pairs = [match(tables, rollout, weighted), match(tables, weighted, rollout)]
    shares = [play(pair, 8, threads=2, chunk=1)["share"][0][seat] for seat, pair in enumerate(pairs)]
    assert sum(shares) / (16 * 60) > 0.5


def test_rollout_plays_the_same_game_again(tables):
    game = match(tables, rollout, weighted, players=3)
    first, second = (play_chunk(game, 3, 1, keep_outcomes=True)[1] for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_settings_come_before_the_inner_weights():
    assert len(DEFAULT_SETTINGS) == SETTINGS


# By name


def test_tuned_weights_are_those_for_the_number_of_players():
    for players in (2, 3, 4, 5):
        tuned, search = load_policy("tuned", players), load_policy("rollout", players)
        assert np.array_equal(search.weights[SETTINGS:], tuned.weights)
        assert search.weights[:SETTINGS].tolist() == DEFAULT_SETTINGS.tolist()
    assert not np.array_equal(load_policy("tuned", 2).weights, load_policy("tuned", 4).weights)


def test_the_number_of_playouts_is_part_of_the_name():
    found = load_policy("rollout:7", 3)
    assert found.weights[PLAYOUTS] == 7
    assert found.name == "rollout:7"
    assert found.hash != load_policy("rollout", 3).hash


@pytest.mark.parametrize("name", ["rollout:", "rollout:0", "rollout:many", "rollout:-3"])
def test_a_wrong_number_of_playouts_is_named(name):
    with pytest.raises(DartmoorError, match="number of play-outs N from 1"):
        load_policy(name, 2)
