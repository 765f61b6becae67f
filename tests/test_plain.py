"""The plain player on the engine against the plain player on the referee: games without chance but for the deal.

Nothing is handed from one engine to the other but the deal, as a JSON file; so the decisions of `policies/plain.py` are
compared with those of `tests/plain_referee.py` through everything that comes of them.
"""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from policies import plain
from sim.codes import Ending
from sim.deals import Deal, deal_document, read_deals
from sim.deck import load_deck
from sim.play import PLAYED_OUT, play_game
from sim.rules import MAX_PLAYERS, SHARES
from sim.rulings import Rulings, default_icons, known_icons, ruling_values
from sim.scoring import win_shares
from sim.tables import build_tables
from tests.bridge import Engine, WatchedReferee, referee_forest, referee_table
from tests.plain_referee import SETTINGS, play
from tests.referee import Referee

PLAYERS = (2, 3, 4, 5)  # in turn
GAMES = 400
MIXED_GAMES = 80
NAMES = tuple(SETTINGS)


def deck_rows(name: str = "reference") -> list[dict[str, str]]:
    return [asdict(card) for card in load_deck(name).cards]


def seats_of(game: int, players: int) -> list[str]:
    """Return a policy a seat: one for all in a quarter of the games each, in the last quarter mixed."""
    kind = game // len(PLAYERS) % (len(NAMES) + 1)
    return random.Random(game).choices(NAMES, k=players) if kind == len(NAMES) else [NAMES[kind]] * players


def play_engine(tables: np.ndarray, deal: Deal, seats: list[str]) -> Engine:
    """Play a deal to its end with the compiled policies."""
    engine = Engine(tables, deal)
    functions = [getattr(plain, name) for name in seats]
    policies = (*functions, *functions[:1] * (MAX_PLAYERS - len(functions)))
    weights = np.zeros((MAX_PLAYERS, 1))
    assert play_game(engine.record, engine.tables, policies, weights, engine.actions) == PLAYED_OUT
    return engine


def result_of(engine: Engine) -> dict[str, Any]:
    """Return what the referee's `play` does, but for the forests."""
    scores = np.zeros(MAX_PLAYERS, np.int32)
    scores[: engine.players] = engine.scores()
    shares = np.zeros(MAX_PLAYERS, np.uint8)
    win_shares(scores, engine.players, shares)
    return {
        "scores": engine.scores(),
        "win_shares": [share / SHARES for share in shares[: engine.players].tolist()],
        "turns": engine.get("turn"),
        "winter_turns": engine.get("winter_turn"),
        "ending": Ending(engine.get("ending")).name.lower(),
    }


def compare(engine: Engine, referee: Referee, seats: list[str]) -> None:
    """Play the referee's game and compare result, table and forests."""
    result = play(referee, [SETTINGS[name] for name in seats])
    del result["forests"]  # compared card by card instead
    assert result_of(engine) == result
    assert engine.table() == referee_table(referee)
    for seat in range(engine.players):
        assert engine.forest(seat) == referee_forest(referee, seat)


@pytest.fixture(scope="module")
def deals(tables, tmp_path_factory):
    """Return GAMES deals as documents and as read back from a file."""
    documents = [deal_document(tables, PLAYERS[game % len(PLAYERS)], 11, game) for game in range(GAMES)]
    path = tmp_path_factory.mktemp("deals") / "deals.json"
    path.write_text(json.dumps(documents), encoding="utf-8")
    return documents, read_deals(path, tables)


@pytest.mark.parametrize("part", range(4))
def test_plain_players_play_the_same_games(deals, tables, part):
    rows = deck_rows()
    size = GAMES // 4
    for game in range(part * size, (part + 1) * size):
        document, deal = deals[0][game], deals[1][game]
        seats = seats_of(game, deal.players)
        compare(play_engine(tables, deal, seats), WatchedReferee(rows, document), seats)


def test_plain_players_under_any_rulings_icons_and_decks():
    for game in range(MIXED_GAMES):
        rng = random.Random(f"plain, game {game}")
        rulings = {name: rng.choice(values) for name, values in ruling_values().items()}
        icons = default_icons() | {name: rng.choice(icon.candidates) for name, icon in known_icons().items()}
        name = f"seed:{game // 20}"
        tables = build_tables(load_deck(name), Rulings(**rulings), icons)
        document = deal_document(tables, PLAYERS[game % len(PLAYERS)], 12, game)
        seats = seats_of(game, PLAYERS[game % len(PLAYERS)])
        engine = play_engine(tables, Deal(document, tables), seats)
        compare(engine, WatchedReferee(deck_rows(name), document, rulings=rulings, icons=icons), seats)


def test_the_plain_players_differ(deals, tables):
    """Each setting matters: on most deals the three players play three different games."""
    results = [
        {name: json.dumps(result_of(play_engine(tables, deal, [name] * deal.players))) for name in NAMES}
        for deal in deals[1][:40]
    ]
    assert sum(len(set(result.values())) == len(NAMES) for result in results) > 30
