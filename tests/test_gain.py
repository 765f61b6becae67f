"""Every placement gain is the score after minus the score before, in real games of random and greedy play."""

import numpy as np
import pytest

from policies.greedy import greedy
from policies.random_policy import random_policy
from sim.actions import MAX_ACTIONS, act_of, card_of, half_of, slot_of
from sim.codes import Act, CaveMode, EffectOp, Face, Phase, Symbol
from sim.deal import setup
from sim.forest import place
from sim.gain import NOWHERE, cave_gain, placement_gain
from sim.legal import legal_actions
from sim.machine import advance, apply
from sim.rules import UNIVERSAL_MOOR
from sim.scoring import total_points
from sim.state import new_games
from sim.tables import build_tables


def placed_gain(games, tables, player, card, face, habitat, slot):
    """Place on a copy and return the change of the score: the slow truth."""
    copy = games.copy()
    before = total_points(copy[0], tables, player)
    place(copy[0], tables, player, card, face, habitat, slot)
    return total_points(copy[0], tables, player) - before


def check_host_gains(games, tables, actions, n):
    """Hold the gain of every HOST action against the truth."""
    state = games[0]
    player, card, half = int(state["player"]), int(state["play_card"]), int(state["play_half"])
    species, symbol = int(tables["species"][card, half]), int(tables["symbol"][card, half])
    for action in actions[:n]:
        habitat, slot = card_of(int(action)), slot_of(int(action))
        gain = placement_gain(state, tables, player, species, symbol, habitat, slot)
        assert gain == placed_gain(games, tables, player, card, half, habitat, slot)
        assert isinstance(gain, int)


def check_habitat_gains(games, tables, actions, n):
    """Hold the gain of every tree, shrub and moor that could be played, and of a universal moor, against the truth."""
    state = games[0]
    player = int(state["player"])
    for action in actions[:n]:
        card = card_of(int(action))
        if act_of(int(action)) != Act.CARD or tables["halves"][card] == 2:
            continue
        species, symbol = int(tables["species"][card, 0]), int(tables["symbol"][card, 0])
        gain = placement_gain(state, tables, player, species, symbol, NOWHERE, 0)
        assert gain == placed_gain(games, tables, player, card, half_of(int(action)), card, 0)
    for card in state["hand"][player, : min(1, state["hand_n"][player])]:
        gain = placement_gain(state, tables, player, UNIVERSAL_MOOR, int(Symbol.NONE), NOWHERE, 0)
        assert gain == placed_gain(games, tables, player, int(card), int(Face.DOWN), int(card), 0)


@pytest.mark.parametrize("players", [2, 5])
@pytest.mark.parametrize("policy", [random_policy, greedy], ids=["random", "greedy"])
def test_gain_is_the_change_of_the_score(tables: np.ndarray, players: int, policy) -> None:
    table, games, actions = tables[0], new_games(), np.zeros(MAX_ACTIONS, np.int32)
    hosts = cards = 0
    for game in range(6):
        setup(games, table, players, np.uint64(3), game, int(CaveMode.DRAFT), np.zeros(5, np.uint8))
        state = games[0]
        advance(state, table, actions)
        while state["phase"] != Phase.OVER:
            n = legal_actions(state, table, actions)
            if state["phase"] == Phase.HOST:
                hosts += n
                check_host_gains(games, table, actions, n)
            elif state["phase"] == Phase.CARD:
                cards += n
                check_habitat_gains(games, table, actions, n)
            choice = policy(state, table, actions, n, np.zeros(1)) if n > 1 else 0
            apply(state, table, int(actions[choice]))
            advance(state, table, actions)
    assert hosts > 200 and cards > 200


def test_cave_gain_counts_what_an_effect_puts_into_the_cave(tables: np.ndarray) -> None:
    games = new_games()
    setup(games, tables[0], 2, np.uint64(1), 0, int(CaveMode.DRAFT), np.zeros(5, np.uint8))
    state = games[0]
    assert cave_gain(state, tables[0], 0, int(EffectOp.STACK_TO_CAVE), 0, 2) == 2
    state["cave_worth"][0] = 3  # two Beavers in the forest
    assert cave_gain(state, tables[0], 0, int(EffectOp.STACK_TO_CAVE), 0, 2) == 6
    assert cave_gain(state, tables[0], 0, int(EffectOp.CLEARING_TO_CAVE), 0, 2) == 0  # an empty clearing
    assert cave_gain(state, tables[0], 0, int(EffectOp.DRAW), 0, 2) == 0


def test_tables_list_what_loops_need() -> None:
    from sim.deck import load_deck

    table = build_tables(load_deck())[0]
    for species in range(UNIVERSAL_MOOR + 1):
        listed = table["type_list"][species, : table["type_count"][species]]
        assert sum(1 << int(kind) for kind in listed) == table["types"][species]
    assert table["set_count"] == 5
