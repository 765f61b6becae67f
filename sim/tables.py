"""The fixed knowledge of a game as one read-only NumPy record: species, deck, caves and rulings in codes.

`build_tables` is the only way from data to kernels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields

import numpy as np
from numba import from_dtype

from sim.caves import Cave, read_caves
from sim.codes import CardType, Kind, ScoreOp, Slot, Symbol
from sim.deck import Deck, check_deck
from sim.errors import DartmoorError
from sim.grammar import SYMBOL_NAMES, mask_of
from sim.rules import CAVE_STEPS, DECK_SIZE, HALVES, MAX_CAVES, MAX_STEPS, SPECIES, TYPES, UNIVERSAL_MOOR
from sim.rulings import Rulings, complete_icons
from sim.species import WHEATEAR_TRIGGER, Species, box_species, effects, placements, sharing_types

SPECIES_ROWS = SPECIES + 1  # and the universal moor
TERMS = 2  # scoring terms of one species
MAX_TYPES = 4  # types of one species
MAX_JUMPERS = 12  # species whose points can jump when a card of one type comes
MAX_SET_SPECIES = 12

TABLES = np.dtype(
    [
        # species (rows 0..65; row 66 is the universal moor: slot and types MOOR, everything else zero)
        ("cost", np.uint8, (SPECIES_ROWS,)),
        ("slot", np.uint8, (SPECIES_ROWS,)),  # Slot
        ("types", np.uint16, (SPECIES_ROWS,)),  # mask of 1 << CardType
        ("placement", np.uint8, (SPECIES_ROWS, HALVES)),  # Placement as first or second half of its card
        ("is_cuckoo", np.uint8, (SPECIES_ROWS,)),
        ("score_op", np.uint8, (SPECIES_ROWS, TERMS)),  # ScoreOp
        ("score_arg", np.uint8, (SPECIES_ROWS, TERMS)),  # CardType or Symbol, by the op
        ("score_n", np.uint8, (SPECIES_ROWS, TERMS)),
        ("steps", np.uint8, (SPECIES_ROWS, MAX_STEPS)),  # points by count 0..15, for the step ops
        ("effect_op", np.uint8, (SPECIES_ROWS,)),  # EffectOp
        ("effect_types", np.uint16, (SPECIES_ROWS,)),
        ("effect_n", np.uint8, (SPECIES_ROWS,)),
        ("bonus_op", np.uint8, (SPECIES_ROWS,)),
        ("bonus_types", np.uint16, (SPECIES_ROWS,)),
        ("bonus_n", np.uint8, (SPECIES_ROWS,)),
        ("trigger_types", np.uint16, (SPECIES_ROWS,)),  # permanent: draw 1 when a card of the types is placed
        ("share", np.uint8, (SPECIES_ROWS,)),  # Share
        ("share_types", np.uint16, (SPECIES_ROWS,)),
        ("doubles", np.uint16, (SPECIES_ROWS,)),  # types that score twice in its bottom slots
        # the same, listed for loops: the types of a species; species whose points can jump when a card of a type comes
        # (step ops, PER_SPECIES, MOST_MOORS under MOOR); species that score in sets
        ("type_list", np.uint8, (SPECIES_ROWS, MAX_TYPES)),
        ("type_count", np.uint8, (SPECIES_ROWS,)),
        ("jumpers", np.uint8, (TYPES, MAX_JUMPERS)),
        ("jumper_count", np.uint8, (TYPES,)),
        ("set_list", np.uint8, (MAX_SET_SPECIES,)),
        ("set_count", np.uint8),
        # deck
        ("kind", np.uint8, (DECK_SIZE,)),  # Kind
        ("species", np.uint8, (DECK_SIZE, HALVES)),  # a whole card has its species in half 0
        ("symbol", np.uint8, (DECK_SIZE, HALVES)),  # Symbol
        ("halves", np.uint8, (DECK_SIZE,)),  # 1 or 2
        ("symbols", np.uint8, (DECK_SIZE,)),  # mask of 1 << symbol over its halves
        ("card_types", np.uint16, (DECK_SIZE,)),  # union of the types of its halves
        # caves
        ("caves_n", np.uint8),
        ("cave_number", np.uint8, (MAX_CAVES,)),
        ("cave_op", np.uint8, (MAX_CAVES, CAVE_STEPS)),  # EffectOp, in order
        ("cave_types", np.uint16, (MAX_CAVES, CAVE_STEPS)),
        ("cave_op_n", np.uint8, (MAX_CAVES, CAVE_STEPS)),
        ("cave_points", np.uint8, (MAX_CAVES,)),  # at the end
        ("cave_type_points", np.uint8, (MAX_CAVES, TYPES)),  # at the end, for each card of the type
        # rulings: the index of the value in force in its list of values, 0 the default (wheatear_trigger and icons act
        # on the species rows instead)
        ("cuckoo_per_habitat", np.uint8),  # 0 one, 1 many
        ("free_cost_bonus", np.uint8),  # 0 always, 1 never
        ("winter_pile", np.uint8),  # 0 floor, 1 ceil, 2 random
        ("swap_to", np.uint8),  # 0 clearing, 1 discard
        ("first_player", np.uint8),  # 0 seat0, 1 random
        ("free_play_optional", np.uint8),  # 0 yes, 1 no
        ("second_draw", np.uint8),  # 0 optional, 1 forced
        ("new_permanents", np.uint8),  # 0 at_once, 1 next_turn
        ("moor_from_hand_optional", np.uint8),  # 0 yes, 1 no
        ("extra_turn_again", np.uint8),  # 0 yes, 1 no
        ("cuckoo_bird", np.uint8),  # 0 top, 1 any
        ("late_water_soldiers", np.uint8),  # 0 stay, 1 merge
    ],
    align=True,
)
Tables = from_dtype(TABLES)


def build_tables(
    deck: Deck,
    rulings: Rulings | None = None,
    icons: Mapping[str, str] | None = None,
    caves: Sequence[Cave] | None = None,
    species: Sequence[Species] | None = None,
) -> np.ndarray:
    """Return the fixed knowledge of a game; kernels take element 0 of it.

    Parameters
    ----------
    deck
        The cards, from `sim.deck.load_deck`.
    rulings
        One value for each open point of the rules; all defaults if None.
    icons
        Icon to candidate, from `sim.rulings.parse_icons`; icons left out have their default.
    caves
        From `sim.caves.read_caves`; those of the box if None.
    species
        From `sim.species.read_species`; those of the box if None.

    Returns
    -------
    np.ndarray, shape (1,), dtype TABLES, read-only

    Raises
    ------
    DartmoorError
        The deck does not fit the species, or an icon is not among its candidates.
    """
    species = box_species() if species is None else species
    rulings = Rulings() if rulings is None else rulings
    check_deck(deck, species)
    tables = np.zeros(1, TABLES)
    _fill_species(tables[0], species, rulings, complete_icons(icons))
    _fill_deck(tables[0], deck, species)
    _fill_caves(tables[0], read_caves() if caves is None else caves)
    for option in fields(rulings):
        if option.name != WHEATEAR_TRIGGER:  # which acts on the species rows
            tables[0][option.name] = rulings.index(option.name)
    tables.flags.writeable = False
    return tables


def _fill_species(row: np.void, species: Sequence[Species], rulings: Rulings, icons: Mapping[str, str]) -> None:
    grants = sharing_types(species)
    for code, one in enumerate(species):
        row["cost"][code], row["slot"][code], row["types"][code] = one.cost, one.slot, one.types
        row["placement"][code] = placements(one, grants)
        row["is_cuckoo"][code] = one.is_cuckoo
        for i, term in enumerate(one.scoring.terms):
            row["score_op"][code, i], row["score_arg"][code, i], row["score_n"][code, i] = term.op, term.arg, term.n
        row["steps"][code], row["doubles"][code] = one.scoring.steps, one.scoring.doubles
        for name, effect in zip(("effect", "bonus"), effects(one, rulings, icons), strict=True):
            row[f"{name}_op"][code], row[f"{name}_types"][code], row[f"{name}_n"][code] = (
                effect.op,
                effect.types,
                effect.n,
            )
        row["trigger_types"][code] = one.permanent.trigger_types
        row["share"][code], row["share_types"][code] = one.permanent.share, one.permanent.share_types
    row["slot"][UNIVERSAL_MOOR] = Slot.MOOR
    row["types"][UNIVERSAL_MOOR] = mask_of(CardType.MOOR)
    _list_types(row)
    _list_scorers(row)


def _list_types(row: np.void) -> None:
    for code in range(SPECIES_ROWS):
        for kind in range(TYPES):
            if row["types"][code] >> kind & 1:
                _append(row["type_list"][code], row["type_count"], code, kind, "types")


def _list_scorers(row: np.void) -> None:
    for code in range(SPECIES):
        for op, arg in zip(row["score_op"][code], row["score_arg"][code], strict=True):
            if op in (ScoreOp.TYPE_STEPS, ScoreOp.SPECIES_STEPS, ScoreOp.PER_SPECIES):
                _append(row["jumpers"][arg], row["jumper_count"], arg, code, "species that count one type")
            elif op == ScoreOp.MOST_MOORS:
                _append(
                    row["jumpers"][CardType.MOOR], row["jumper_count"], CardType.MOOR, code, "species that count moors"
                )
            elif op == ScoreOp.SETS:
                if row["set_count"] == MAX_SET_SPECIES:
                    raise DartmoorError(f"species.csv: at most {MAX_SET_SPECIES} species can score in sets")
                row["set_list"][row["set_count"]] = code
                row["set_count"] += 1


def _append(room: np.ndarray, counts: np.ndarray, index: int, value: int, what: str) -> None:
    if counts[index] == len(room):
        raise DartmoorError(f"species.csv: too many {what}, the tables have room for {len(room)}")
    room[counts[index]] = value
    counts[index] += 1


def _fill_deck(row: np.void, deck: Deck, species: Sequence[Species]) -> None:
    codes = {one.key: code for code, one in enumerate(species)}
    row["symbol"][:] = Symbol.NONE  # what the missing half of a whole card shows
    for number, card in enumerate(deck.cards):
        row["kind"][number] = Kind[card.kind.upper()]
        row["halves"][number] = len(card.halves)
        for half, (key, symbol) in enumerate(card.halves):
            row["species"][number, half] = codes[key]
            row["symbol"][number, half] = SYMBOL_NAMES[symbol]
            row["symbols"][number] |= 1 << SYMBOL_NAMES[symbol]
            row["card_types"][number] |= species[codes[key]].types


def _fill_caves(row: np.void, caves: Sequence[Cave]) -> None:
    row["caves_n"] = len(caves)
    for i, cave in enumerate(caves):
        row["cave_number"][i] = cave.number
        row["cave_points"][i], row["cave_type_points"][i] = cave.codes.points, cave.codes.type_points
        for k, step in enumerate(cave.codes.steps):
            row["cave_op"][i, k], row["cave_types"][i, k], row["cave_op_n"][i, k] = step.op, step.types, step.n
