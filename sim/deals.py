"""A deal as a document: everything that chance decides before the first turn, so that any engine can play it.

`{"box": [ids], "stack": [ids and W1..W3, top first, with the opening hands], "caves": [numbers], "first": seat}`
"""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sim.codes import CaveMode
from sim.errors import DartmoorError
from sim.rules import DECK_SIZE, MAX_PLAYERS, MIN_PLAYERS, OPENING_HAND, WINTERS

CARD_IDS = [f"D{card + 1:03}" for card in range(DECK_SIZE)]
WINTER_IDS = [f"W{winter + 1}" for winter in range(WINTERS)]
NUMBERS = {name: number for number, name in enumerate(CARD_IDS + WINTER_IDS)}
KEYS = ("box", "stack", "caves", "first")


def deal_document(tables: np.ndarray, players: int, seed: int, game: int) -> dict[str, Any]:
    """Return the deal of game `game` of run `seed`."""
    from sim.deal import clear, deal  # compiles kernels, which reading a deal does not need
    from sim.state import new_games

    games = new_games()
    clear(games, players, seed, game)
    deal(games[0], tables[0])
    state = games[0]
    stack = [int(card) for card in state["stack"][: state["stack_n"]]]
    names = CARD_IDS + WINTER_IDS
    return {
        "box": [CARD_IDS[card] for card in sorted(set(range(DECK_SIZE)) - set(stack))],
        "stack": [names[card] for card in stack],
        "caves": [int(tables[0]["cave_number"][cave]) for cave in state["offer"][:players]],
        "first": int(state["first"]),
    }


class Deal:
    """A checked deal in the engine's numbers, for `sim.deal.setup_dealt`."""

    def __init__(self, document: Mapping[str, Any], tables: np.ndarray, where: str = "deal") -> None:
        """Check `document`.

        Raises
        ------
        DartmoorError
            A key is missing, a card is unknown, missing or there twice, a cave is unknown, or the first player is none.
        """
        self.where = where
        _check_keys(document, where)
        self.players = len(document["caves"])
        if not MIN_PLAYERS <= self.players <= MAX_PLAYERS:
            raise DartmoorError(
                f"{where}: caves: {self.players} caves, expected one a player, {MIN_PLAYERS} to {MAX_PLAYERS}"
            )
        self.first = document["first"]
        if type(self.first) is not int or not 0 <= self.first < self.players:
            raise DartmoorError(f"{where}: first: {self.first!r}, expected a seat from 0 to {self.players - 1}")
        self.stack = np.array(self._numbers(document["stack"], "stack", NUMBERS), np.uint8)
        self._check_cards(document)
        self.offer = self._caves(document["caves"], tables)

    def _numbers(self, names: list[str], key: str, numbers: Mapping[str, int]) -> list[int]:
        for place, name in enumerate(names):
            if name not in numbers:
                raise DartmoorError(
                    f"{self.where}: {key}[{place}]: {name!r} unknown, expected D001 to D172 or W1 to W3"
                )
        return [numbers[name] for name in names]

    def _check_cards(self, document: Mapping[str, Any]) -> None:
        box = self._numbers(document["box"], "box", {name: NUMBERS[name] for name in CARD_IDS})
        counts = Counter([*box, *self.stack.tolist()])
        for name, number in NUMBERS.items():
            if counts[number] != 1:
                raise DartmoorError(f"{self.where}: card {name} is there {counts[number]} times, expected once")
        hands = self.players * OPENING_HAND
        if any(card >= DECK_SIZE for card in self.stack[:hands]):
            raise DartmoorError(f"{self.where}: stack: a winter among the {hands} cards of the opening hands")

    def _caves(self, numbers: list[int], tables: np.ndarray) -> np.ndarray:
        table = tables[0]
        known = [int(number) for number in table["cave_number"][: table["caves_n"]]]
        for place, number in enumerate(numbers):
            if type(number) is not int or number not in known:
                valid = ", ".join(map(str, known))
                raise DartmoorError(f"{self.where}: caves[{place}]: {number!r} unknown, expected one of {valid}")
            if number in numbers[:place]:
                raise DartmoorError(f"{self.where}: caves[{place}]: cave {number} is there twice")
        return np.array([known.index(number) for number in numbers], np.uint8)

    def setup(
        self, games: np.ndarray, seed: int = 0, cave_mode: int = CaveMode.DRAFT, caves: np.ndarray | None = None
    ) -> None:
        """Set up games[0] from this deal; `seed` is for policies that use chance."""
        from sim.deal import setup_dealt

        given = np.zeros(MAX_PLAYERS, np.uint8) if caves is None else caves
        setup_dealt(games, self.players, seed, 0, int(cave_mode), given, self.stack, self.offer, self.first)


def _check_keys(document: Mapping[str, Any], where: str) -> None:
    if not isinstance(document, Mapping):
        raise DartmoorError(f"{where}: not a deal, expected an object with the keys {', '.join(KEYS)}")
    for key in document:
        if key not in KEYS:
            raise DartmoorError(f"{where}: key {key!r} unknown, expected {', '.join(KEYS)}")
    for key in KEYS:
        if key not in document:
            raise DartmoorError(f"{where}: key {key!r} is missing, expected {', '.join(KEYS)}")
        if key != "first" and not isinstance(document[key], list):
            raise DartmoorError(f"{where}: {key}: expected a list")
    for key in ("box", "stack"):
        if any(not isinstance(name, str) for name in document[key]):
            raise DartmoorError(f"{where}: {key}: expected a list of card ids such as D001")


def read_deals(path: Path, tables: np.ndarray) -> list[Deal]:
    """Return the deals of a JSON file: one deal, or a list of deals.

    Raises
    ------
    DartmoorError
        The file cannot be read, is not JSON, or holds something that is no deal.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DartmoorError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise DartmoorError(f"{path}: not a JSON document: {error}") from error
    if not isinstance(content, list):
        return [Deal(content, tables, str(path))]
    if not content:
        raise DartmoorError(f"{path}: an empty list, expected at least one deal")
    return [Deal(document, tables, f"{path}: deal {i}") for i, document in enumerate(content)]
