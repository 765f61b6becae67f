"""A game record's forests in the form of a forest file, so that `score` can check every game that was played."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sim.codes import CardType, Face, MoorSlot, Place, Symbol, TreeSlot
from sim.rules import DECK_SIZE
from sim.species import box_species

UNIVERSAL_MOOR_KEY = "universal_moor"
TREE_SLOTS = {
    "top": (TreeSlot.TOP,),
    "bottom": (TreeSlot.BOTTOM,),
    "left": (TreeSlot.LEFT,),
    "right": (TreeSlot.RIGHT,),
}
MOOR_SLOTS = {"top": (MoorSlot.TOP, MoorSlot.TOP2), "bottom": (MoorSlot.BOTTOM, MoorSlot.BOTTOM2)}


def forest_document(state: np.void, tables: np.void, names: Sequence[str]) -> dict[str, Any]:
    """Return the forests of all players as the content of a forest file; `names` are the players'."""
    return {"players": [forest_entry(state, tables, player, name) for player, name in enumerate(names)]}


def forest_entry(state: np.void, tables: np.void, player: int, name: str) -> dict[str, Any]:
    """Return one player's forest as an entry of a forest file, habitats oldest first."""
    habitats = state["habitats"][player, : state["habitats_n"][player]]
    return {
        "name": name,
        "cave": int(tables["cave_number"][state["cave"][player]]),
        "cave_cards": int(state["cave_n"][player]),
        "habitats": [habitat_entry(state, tables, player, int(card)) for card in habitats],
    }


def is_moor_habitat(state: np.void, tables: np.void, card: int) -> bool:
    """Return whether the habitat of a card is a moor, universal moors included."""
    return state["face"][card] == Face.DOWN or bool(tables["types"][tables["species"][card, 0]] >> CardType.MOOR & 1)


def habitat_entry(state: np.void, tables: np.void, player: int, card: int) -> dict[str, Any]:
    """Return a habitat with what lives there."""
    entry: dict[str, Any] = {"card": UNIVERSAL_MOOR_KEY}
    if state["face"][card] != Face.DOWN:
        species, _, symbol = species_entry(state, tables, card).partition(":")
        entry = {"card": species, "symbol": symbol}
    guests = [
        guest
        for guest in range(DECK_SIZE)
        if guest != card and state["host"][guest] == card and state["place"][guest] == Place.FOREST + player
    ]
    for name, slots in (MOOR_SLOTS if is_moor_habitat(state, tables, card) else TREE_SLOTS).items():
        entry[name] = [
            species_entry(state, tables, guest) for slot in slots for guest in guests if state["slot"][guest] == slot
        ]
    return entry


def species_entry(state: np.void, tables: np.void, card: int) -> str:
    """Return `species:symbol` of the visible half of a card in a forest."""
    face = state["face"][card]
    symbol = Symbol(int(tables["symbol"][card, face])).name.lower()
    return f"{box_species()[int(tables['species'][card, face])].key}:{symbol}"
