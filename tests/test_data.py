"""Data files, their readers, the grammar of their texts, rulings, caves and the tables record."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from sim.caves import read_caves
from sim.codes import CardType, EffectOp, Placement, ScoreOp, Share, Slot, Symbol
from sim.data_files import DATA, read_rows
from sim.deck import load_deck
from sim.errors import DartmoorError
from sim.grammar import (
    Effect,
    Permanent,
    Scoring,
    Term,
    mask_of,
    parse_cave,
    parse_effect,
    parse_permanent,
    parse_scoring,
)
from sim.rules import CAVE_STEPS, DECK_SIZE, MAX_CAVES, MAX_STEPS, SPECIES, UNIVERSAL_MOOR
from sim.rulings import Rulings, default_icons, describe, known_icons, parse_icons, parse_rulings, ruling_values
from sim.species import box_species, placements, read_species, sharing_types
from sim.tables import TABLES, build_tables

CODES = {one.key: code for code, one in enumerate(box_species())}
ICONS = default_icons()
CAVE_HEADER = "cave,when,effect,status,note\n"


def steps(*points: int) -> tuple[int, ...]:
    return points + points[-1:] * (MAX_STEPS - len(points))


@pytest.fixture(scope="module")
def row() -> np.void:
    return build_tables(load_deck())[0]


# Species


def test_box_has_66_species_on_172_cards():
    species = box_species()
    assert len(species) == SPECIES == len({one.key for one in species})
    copies = {slot: sum(one.copies for one in species if one.slot == slot) for slot in Slot}
    assert copies == {Slot.TREE: 36, Slot.SHRUB: 8, Slot.MOOR: 27, Slot.TOP: 56, Slot.BOTTOM: 56, Slot.SIDE: 90}
    assert DECK_SIZE == 36 + 8 + 27 + 56 + 90 // 2


@pytest.mark.parametrize(
    ("slot", "count", "copies"), [(Slot.TREE, 6, {6}), (Slot.SHRUB, 2, {4}), (Slot.MOOR, 9, {3}), (Slot.TOP, 14, {4})]
)
def test_copies_by_slot(slot, count, copies):
    of_slot = [one for one in box_species() if one.slot == slot]
    assert (len(of_slot), {one.copies for one in of_slot}) == (count, copies)


def edited(tmp_path: Path, name: str, old: str, new: str) -> Path:
    """Return a copy of a data file in which `old`, found exactly once, is `new`."""
    text = (DATA / name).read_text(encoding="utf-8")
    assert text.count(old) == 1
    path = tmp_path / name
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


SPECIES_MISTAKES = [
    ("buzzard,Buzzard,top,", "buzzard,Buzzard,roof,", "species.csv line 22, column slot: 'roof' unknown"),
    ("buzzard,Buzzard,top,4,2", "buzzard,Buzzard,top,3,2", "column copies: 55 top copies, expected 56"),
    ("buzzard,Buzzard,top,4,2", "buzzard,Buzzard,top,four,2", "line 22, column copies: 'four' is not a whole number"),
    ("buzzard,Buzzard,top,4,2", "buzzard,Buzzard,top,4,10", "line 22, column cost: '10' is not a whole number from 0"),
    ("buzzard,Buzzard,top,4,2,bird", "buzzard,Buzzard,top,4,2,fish", "line 22, column types: 'fish' unknown, expected"),
    ("buzzard,Buzzard,top,4,2,bird", "buzzard,Buzzard,top,4,2,moor", "column types: 'moor' does not fit slot 'top'"),
    ("buzzard,Buzzard", "cuckoo,Buzzard", "line 24, column key: 'cuckoo' stands in line 22 already"),
    ("type:mouse*2", "type:mouse", "line 22, column scoring: scoring 'type:mouse' unknown, expected one of fixed N; "),
    ("type:mouse*2", "type:mice*2", "line 22, column scoring: 'mice' unknown, expected one of tree, shrub"),
    ("type:mouse*2", "", "line 22, column scoring: scoring '' unknown"),
    ("type:mouse*2", "in_moor 300", "column scoring: '300' is not a whole number from 0 to 255"),
    ("type:mouse*2", "fixed 1 + fixed 1 + fixed 1", "column scoring: 3 scoring terms, at most 2"),
    ("type:mouse*2", "most_moors 1 else 0 + at_least 2 bat: 1 else 0", "at most one scoring term may have steps"),
    ("type:mouse*2", "own symbol*1", "only one species may score its own symbol"),
    ("type:mouse*2", "dragonfly_sets 0/9", "all species of the sets must give the same points"),
    ("type:mouse*2", "dragonfly_sets 5/0", "the points of larger sets may not fall"),
    ("type:mouse*2", "fixed 0; doubles the points of plants below it", "only a tree, shrub or moor can double"),
    ("type:mouse*2", "fixed 0; eats mice", "'eats mice' unknown, expected 'doubles the points of TYPES below it'"),
    ("type:mouse*2", "all copies together 1/2 for 1", "2 points for 1 numbers of copies"),
    ("type:mouse*2", "by different bird species 3:1 2:5", "counts must rise and stay below 16"),
    ("type:mouse*2", "at_least 16 bird: 1 else 0", "'16' is not a whole number from 1 to 15"),
    (
        "symbol:goat_willow*2",
        "symbol:willow*2",
        "line 14, column scoring: 'willow' unknown, expected one of crab_apple",
    ),
    ("fixed 3,draw 1", "host_full 3,draw 1", "which is not possible for PER_OWN_SYMBOL, HOST_FULL, COPIES_STEPS, SETS"),
    ("symbol:goat_willow*2", "in_moor 2", "only a half can score in_moor"),
    (
        "draw 1 per ?buzzard in forest",
        "draw 1 per ?hawk in forest",
        "column effect: 'hawk' unknown, expected one of lo",
    ),
    ("draw 1 per ?buzzard in forest", "draw all", "column effect: effect 'draw all' unknown, expected one of draw N; "),
    (
        "draw 1 per ?buzzard in forest",
        "draw 1 (ruling swap_to)",
        "only an effect without a bonus beside it may name the ruling wheatear_trigger",
    ),
    ("on_play bat: draw 1", "on_play bat: draw 2", "column permanent: permanent effect 'on_play bat: draw 2' unknown"),
    (
        "on_play bat: draw 1",
        "any number of bats share one top slot of this habitat",
        "only a half can let others share",
    ),
    (
        "any number of rabbits may",
        "any number of hares may",
        "column permanent: 'hares' unknown, expected one of trees",
    ),
    ("top,4,1,bird,cuckoo,", "top,4,1,bird;dragonfly,cuckoo,", "'cuckoo' is not possible for a type that may share"),
    (
        "top,4,1,bird,cuckoo,",
        "top,4,1,bird,nest,",
        "line 24, column placement: 'nest' unknown, expected one of blank, moor_only, cuckoo",
    ),
    ("side,5,2,hoofed,,", "side,5,2,hoofed,moor_only,", "column placement: 'moor_only' unknown, expected blank"),
    ("black_alder,Black", "alder,Black", "column key: a tree is named after its symbol, one of crab_apple"),
    ("Meadow Pipit,top", "Meadow Pipit,extra,top", "species.csv line 29: 12 cells, expected 11"),
    ("key,name", "name,key", "species.csv line 1: columns are 'name,key,slot"),
]


@pytest.mark.parametrize(("old", "new", "message"), SPECIES_MISTAKES)
def test_species_mistake_is_named(tmp_path, old, new, message):
    with pytest.raises(DartmoorError) as error:
        read_species(edited(tmp_path, "species.csv", old, new))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_two_shared_types_are_refused(tmp_path):
    sharing = "fixed 3,,,any number of bats share one top slot of this habitat"
    with pytest.raises(DartmoorError, match="must share it with the same type"):
        read_species(edited(tmp_path, "species.csv", "fixed 3,draw 1,,", sharing))


def test_missing_species_is_named(tmp_path):
    text = (DATA / "species.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "fewer.csv"
    path.write_text("".join(text[:-1]), encoding="utf-8")
    with pytest.raises(DartmoorError, match=r"fewer.csv: 65 species, expected 66"):
        read_species(path)


def test_unreadable_files_are_named(tmp_path):
    with pytest.raises(DartmoorError, match="cannot read .*none.csv: No such file"):
        read_species(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes("key,Rhôs".encode("latin-1"))
    with pytest.raises(DartmoorError, match="cannot read .*latin.csv"):
        read_species(tmp_path / "latin.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(DartmoorError, match="empty.csv line 1: columns are ''"):
        read_species(tmp_path / "empty.csv")


def test_byte_order_mark_and_blank_lines_are_fine(tmp_path):
    path = tmp_path / "species.csv"
    path.write_bytes(b"\xef\xbb\xbf" + (DATA / "species.csv").read_bytes().replace(b"\n", b"\r\n") + b"\r\n\r\n")
    assert tuple(read_species(path)) == box_species()


# Grammar

SCORINGS = [
    ("at_least 5 insect: 10 else 3", Term(ScoreOp.TYPE_STEPS, 0, CardType.INSECT, steps(3, 3, 3, 3, 3, 10))),
    ("at_least 3 different bat species: 5 else 0", Term(ScoreOp.SPECIES_STEPS, 0, CardType.BAT, steps(0, 0, 0, 5))),
    (
        "by different bird species 1:1 2:3 4:6 6:10",
        Term(ScoreOp.SPECIES_STEPS, 0, CardType.BIRD, steps(0, 1, 3, 3, 6, 6, 10)),
    ),
    ("different bird species*2", Term(ScoreOp.PER_SPECIES, 2, CardType.BIRD)),
    ("all copies together 5/15/25 for 1/2/3", Term(ScoreOp.COPIES_STEPS, 0, 0, steps(0, 5, 15, 25))),
    ("dragonfly_sets 0/5/10/15/30", Term(ScoreOp.SETS, 0, 0, steps(0, 0, 5, 10, 15, 30))),
    ("most_moors 15 else 5", Term(ScoreOp.MOST_MOORS, 0, 0, steps(5, 15))),
    ("each scores the number of rabbits", Term(ScoreOp.PER_TYPE, 1, CardType.RABBIT)),
    ("symbol:goat_willow*2", Term(ScoreOp.PER_SYMBOL, 2, Symbol.GOAT_WILLOW)),
    ("own symbol*3", Term(ScoreOp.PER_OWN_SYMBOL, 3)),
    ("host_full 8", Term(ScoreOp.HOST_FULL, 8)),
    ("in_moor 5", Term(ScoreOp.IN_MOOR, 5)),
    ("cave_cards*1", Term(ScoreOp.PER_CAVE_CARD, 1)),
    ("cards placed below any habitat*1", Term(ScoreOp.PER_CARD_BELOW, 1)),
]


@pytest.mark.parametrize(("text", "term"), SCORINGS)
def test_scoring_text(text, term):
    assert parse_scoring(text) == Scoring((term,))


def test_scoring_sum_and_doubling():
    assert parse_scoring("type:tree*1 + type:shrub*1") == Scoring(
        (Term(ScoreOp.PER_TYPE, 1, CardType.TREE), Term(ScoreOp.PER_TYPE, 1, CardType.SHRUB))
    )
    doubling = parse_scoring("fixed 0; doubles the points of plants below it")
    assert doubling == Scoring((Term(ScoreOp.FIXED, 0),), mask_of(CardType.PLANT))


EFFECTS = [
    ("", Effect()),
    ("draw 2", Effect(EffectOp.DRAW, 0, 2)),
    ("draw 1 per ?buzzard in forest", Effect(EffectOp.DRAW_PER_TYPE, mask_of(CardType.MOUSE), 1)),
    ("clearing_to_hand 1", Effect(EffectOp.CLEARING_TO_HAND, 0, 1)),
    ("play_free bat", Effect(EffectOp.PLAY_FREE, mask_of(CardType.BAT), 1)),
    (
        "play_free ?bog_asphodel (one of two types)",
        Effect(EffectOp.PLAY_FREE, mask_of(CardType.PLANT, CardType.INSECT), 1),
    ),
    ("play_free rabbit any number", Effect(EffectOp.PLAY_FREE_ANY_NUMBER, mask_of(CardType.RABBIT), 1)),
    ("play_free bat and use its effect", Effect(EffectOp.PLAY_FREE_WITH_EFFECT, mask_of(CardType.BAT), 1)),
    ("clearing_to_forest insect", Effect(EffectOp.CLEARING_TO_FOREST, mask_of(CardType.INSECT), 1)),
    ("clearing_to_cave 2", Effect(EffectOp.CLEARING_TO_CAVE, 0, 2)),
    ("clearing_trees_to_cave all", Effect(EffectOp.CLEARING_TYPE_TO_CAVE, mask_of(CardType.TREE), 1)),
    ("stack_to_cave 2", Effect(EffectOp.STACK_TO_CAVE, 0, 2)),
    (
        "stack_to_cave 1 per moor in forest (ruling wheatear_trigger)",
        Effect(EffectOp.STACK_TO_CAVE_PER_TYPE, mask_of(CardType.MOOR), 1, "wheatear_trigger"),
    ),
    ("moor_from_hand", Effect(EffectOp.MOOR_FROM_HAND, 0, 1)),
    ("extra_turn", Effect(EffectOp.EXTRA_TURN, 0, 1)),
    (
        "extra_turn if at least 1 bat in forest",
        Effect(EffectOp.EXTRA_TURN_IF_TYPE, mask_of(CardType.BAT), 1),
    ),
]


@pytest.mark.parametrize(("text", "effect"), EFFECTS)
def test_effect_text(text, effect):
    assert parse_effect(text, ICONS) == effect


PERMANENTS = [
    ("", Permanent()),
    ("on_play another moor (universal moors too): draw 1", Permanent(mask_of(CardType.MOOR))),
    (
        "any number of dragonflies share one top slot of this habitat",
        Permanent(0, Share.TOP, mask_of(CardType.DRAGONFLY)),
    ),
    (
        "any number of rabbits may enter the left and right slots of this tree or shrub even if occupied",
        Permanent(0, Share.SIDES, mask_of(CardType.RABBIT)),
    ),
]


@pytest.mark.parametrize(("text", "permanent"), PERMANENTS)
def test_permanent_text(text, permanent):
    assert parse_permanent(text) == permanent


@given(st.text(max_size=40))
def test_any_text_is_parsed_or_refused_as_the_users_mistake(text):
    for parse in (parse_scoring, parse_permanent, parse_cave, lambda words: parse_effect(words, ICONS)):
        try:
            parse(text)
        except DartmoorError as error:
            assert str(error)


# Placements


PLACEMENTS = {
    "ash": (Placement.HABITAT, Placement.HABITAT),
    "buzzard": (Placement.TOP, Placement.TOP),
    "curlew": (Placement.TOP_MOOR, Placement.TOP_MOOR),
    "cuckoo": (Placement.TOP_CUCKOO, Placement.TOP_CUCKOO),
    "keeled_skimmer": (Placement.TOP_SHARING, Placement.TOP_SHARING),
    "beaver": (Placement.BOTTOM, Placement.BOTTOM),
    "warty_newt": (Placement.BOTTOM_MOOR, Placement.BOTTOM_MOOR),
    "gnat": (Placement.LEFT, Placement.RIGHT),
    "dartmoor_black_rabbit": (Placement.LEFT_SHARING, Placement.RIGHT_SHARING),
}


@pytest.mark.parametrize(("key", "expected"), PLACEMENTS.items())
def test_placement_of_species(key, expected):
    assert placements(box_species()[CODES[key]], sharing_types(box_species())) == expected


def test_placements_follow_the_sharing_species(tmp_path):
    path = edited(tmp_path, "species.csv", "any number of rabbits may", "any number of mice may")
    species = read_species(path)
    grants = sharing_types(species)
    assert placements(species[CODES["field_vole"]], grants) == (Placement.LEFT_SHARING, Placement.RIGHT_SHARING)
    assert placements(species[CODES["dartmoor_black_rabbit"]], grants) == (Placement.LEFT, Placement.RIGHT)


# Rulings and icons


def test_rulings_have_the_options_and_defaults_of_the_data():
    defaults = {option: values[0] for option, values in ruling_values().items()}
    assert dataclasses.asdict(Rulings()) == defaults


def test_every_value_of_every_ruling_reaches_the_tables():
    deck = load_deck()
    for option, values in ruling_values().items():
        for index, value in enumerate(values):
            row = build_tables(deck, parse_rulings([f"{option}={value}"]))[0]
            if option in TABLES.names:
                assert row[option] == index
            else:
                assert option == "wheatear_trigger"


def test_wheatear_moves_its_effect_to_its_bonus(row):
    wheatear = CODES["wheatear"]
    moved = build_tables(load_deck(), Rulings(wheatear_trigger="bonus"))[0]
    for field in ("op", "types", "n"):
        assert row[f"effect_{field}"][wheatear] == moved[f"bonus_{field}"][wheatear] > 0
        assert row[f"bonus_{field}"][wheatear] == moved[f"effect_{field}"][wheatear] == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("swap_to=hand", "ruling swap_to: 'hand' unknown, expected one of clearing, discard"),
        ("swap=hand", "ruling 'swap' unknown, expected one of cuckoo_per_habitat, "),
        ("swap_to", "ruling 'swap_to' is not of the form name=value"),
    ],
)
def test_ruling_mistakes(text, message):
    with pytest.raises(DartmoorError) as error:
        parse_rulings([text])
    assert message in str(error.value)


def test_unknown_value_is_refused_without_parsing_too():
    with pytest.raises(DartmoorError, match="ruling winter_pile: 'big' unknown"):
        Rulings(winter_pile="big")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("shrew=bird", "icon shrew: 'bird' unknown, expected one of mouse, pawed, insect"),
        ("hare=pawed", "icon 'hare' unknown, expected one of lowland_heath, "),
        ("shrew", "icon 'shrew' is not of the form name=value"),
    ],
)
def test_icon_mistakes(text, message):
    with pytest.raises(DartmoorError) as error:
        parse_icons([text])
    assert message in str(error.value)


def test_icons_in_force():
    icons = parse_icons(["shrew=pawed", "bog_asphodel=shrub|tree", "blueberry=default"])
    assert icons == ICONS | {"shrew": "pawed", "bog_asphodel": "tree|shrub"}
    with pytest.raises(DartmoorError, match="icon shrew: given twice"):
        parse_icons(["shrew=pawed", "shrew=mouse"])
    with pytest.raises(DartmoorError, match="ruling swap_to: given twice"):
        parse_rulings(["swap_to=clearing", "swap_to=discard"])


def test_every_icon_is_used_by_its_species_and_every_candidate_changes_only_it():
    deck = load_deck()
    default = build_tables(deck)
    for name, icon in known_icons().items():
        seen = set()
        for candidate in icon.candidates:
            row = build_tables(deck, icons={name: candidate})[0]
            changed = {
                code
                for field in ("effect_types", "bonus_types")
                for code in np.flatnonzero(row[field] != default[0][field])
            }
            assert changed <= {CODES[name]}
            seen.add((int(row["effect_types"][CODES[name]]), int(row["bonus_types"][CODES[name]])))
        assert len(seen) == len(icon.candidates)


def test_description_lists_what_is_assumed():
    lines = describe(Rulings(swap_to="discard"), {"shrew": "insect"})
    assert len(lines) == len(ICONS) + 1 + 3
    assert "icon shrew: insect (default mouse)" in lines
    assert "icon buzzard: mouse (default, confidence high)" in lines
    assert "ruling swap_to: discard (default clearing)" in lines
    assert "cave 2: stack_to_cave 2 (assumed)" in lines


# Caves


def caves_file(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "caves.csv"
    path.write_text(CAVE_HEADER + "".join(f"{row},mine,\n" for row in rows))
    return path


def test_caves_of_the_box(row):
    assert [cave.number for cave in read_caves()] == [1, 2, 3, 4, 5]
    assert row["caves_n"] == 5
    assert row["cave_op"][:5].tolist() == [
        [EffectOp.DRAW, 0, 0, 0],
        [EffectOp.STACK_TO_CAVE, 0, 0, 0],
        [EffectOp.DRAW, EffectOp.HAND_TO_CLEARING, 0, 0],
        [0, 0, 0, 0],
        [EffectOp.MOOR_FROM_HAND, 0, 0, 0],
    ]
    assert row["cave_op_n"][2].tolist() == [3, 3, 0, 0]
    assert row["cave_points"][:5].tolist() == [0, 0, 0, 5, 0]


def test_a_designers_caves(tmp_path):
    path = caves_file(
        tmp_path,
        "9,both,draw 2 then hand_to_cave 1 + points 3 + points 2 per moor",
        "7,opening,discard 2 then play_free tree",
        "200,end,points 1 per bat",
    )
    row = build_tables(load_deck(), caves=read_caves(path))[0]
    assert row["cave_number"][:3].tolist() == [7, 9, 200]  # in the order in which a draft offers them
    assert row["cave_op"][:2, :2].tolist() == [
        [EffectOp.HAND_TO_CLEARING, EffectOp.PLAY_FREE],
        [EffectOp.DRAW, EffectOp.HAND_TO_CAVE],
    ]
    assert row["cave_types"][0, 1] == mask_of(CardType.TREE)
    assert row["cave_points"][:3].tolist() == [0, 3, 0]
    assert row["cave_type_points"][1, CardType.MOOR] == 2
    assert row["cave_type_points"][2, CardType.BAT] == 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0,end,points 1", "caves.csv line 2, column cave: '0' is not a whole number from 1 to 255"),
        ("1,never,points 1", "line 2, column when: 'never' unknown, expected one of opening, end, both"),
        ("1,end,draw 1", "line 2, column when: 'end' does not fit the effect 'draw 1', expected 'opening'"),
        ("1,both,points 1", "expected 'end'"),
        ("1,opening,draw 1 + points 1", "expected 'both'"),
        ("1,opening,dig 1", "column effect: effect 'dig 1' unknown, expected one of discard N; hand_to_cave N; draw N"),
        ("1,end,points 1 per fish", "column effect: 'fish' unknown"),
        ("1,end,points 200 + points 100", "column effect: more than 255 points"),
        ("1,opening,extra_turn", "a cave cannot give an extra turn"),
        ("1,opening," + " then ".join(["draw 1"] * (CAVE_STEPS + 1)), "5 opening steps, at most 4"),
    ],
)
def test_cave_mistakes(tmp_path, row, message):
    with pytest.raises(DartmoorError) as error:
        read_caves(caves_file(tmp_path, row))
    assert message in str(error.value)


def test_caves_are_distinct_and_not_too_many(tmp_path):
    with pytest.raises(DartmoorError, match="line 3, column cave: cave 1 stands in line 2 already"):
        read_caves(caves_file(tmp_path, "1,end,points 1", "01,end,points 2"))
    with pytest.raises(DartmoorError, match="33 caves, expected 1 to 32"):
        read_caves(caves_file(tmp_path, *(f"{n},end,points 1" for n in range(1, MAX_CAVES + 2))))
    with pytest.raises(DartmoorError, match="0 caves"):
        read_caves(caves_file(tmp_path))


# Tables


def test_table_rows_of_known_species(row):
    lizard = CODES["common_lizard"]
    assert row["cost"][lizard] == 2
    assert row["types"][lizard] == mask_of(CardType.AMPHIBIAN)
    assert row["score_op"][lizard].tolist() == [ScoreOp.SPECIES_STEPS, ScoreOp.NONE]
    assert row["steps"][lizard].tolist() == list(steps(5, 5, 5, 15))
    assert row["bonus_op"][lizard] == EffectOp.CLEARING_TO_HAND
    assert row["trigger_types"][CODES["tor"]] == mask_of(CardType.BIRD)
    assert row["doubles"][CODES["blanket_bog"]] == mask_of(CardType.PLANT)
    assert row["share"][CODES["dartmoor_badger"]] == Share.SIDES
    assert row["share_types"][CODES["water_soldiers"]] == mask_of(CardType.DRAGONFLY)
    assert row["is_cuckoo"].nonzero()[0].tolist() == [CODES["cuckoo"]]


LISTED = ("types", "slot", "type_list", "type_count")  # what says that it is a moor


def test_universal_moor_is_nothing_but_a_moor(row):
    assert row["types"][UNIVERSAL_MOOR] == mask_of(CardType.MOOR)
    assert row["slot"][UNIVERSAL_MOOR] == Slot.MOOR
    for field in TABLES.names:
        if TABLES[field].shape[:1] == (UNIVERSAL_MOOR + 1,) and field not in (
            "types",
            "slot",
            "type_list",
            "type_count",
        ):
            assert not row[field][UNIVERSAL_MOOR].any(), field


def test_deck_columns(row):
    for number, card in enumerate(load_deck().cards):
        assert row["halves"][number] == (2 if card.second else 1)
        for half, (key, symbol) in enumerate(card.halves):
            assert row["species"][number, half] == CODES[key]
            assert row["symbol"][number, half] == Symbol[symbol.upper()]
        assert row["symbols"][number] == sum({1 << Symbol[symbol.upper()] for _, symbol in card.halves})
        expected = 0
        for key, _ in card.halves:
            expected |= box_species()[CODES[key]].types
        assert row["card_types"][number] == expected


@njit
def total_cost(tables):
    total = 0
    for species in range(SPECIES):
        total += tables.cost[species]
    return total


def test_tables_are_read_only_and_kernels_take_them():
    tables = build_tables(load_deck())
    assert tables.shape == (1,)
    with pytest.raises(ValueError, match="read-only"):
        tables["cost"][0, 0] = 1
    assert total_cost(tables[0]) == sum(one.cost for one in box_species())


# Project


def test_data_need_no_numba():
    code = (
        "import sys, sim.codes, sim.rules, sim.errors, sim.species, sim.rulings, sim.caves, sim.deck_builder;"
        "sys.exit('numba' in sys.modules or 'pandas' in sys.modules)"
    )
    project = DATA.parent.parent
    assert subprocess.run([sys.executable, "-c", code], cwd=project, env=os.environ, check=False).returncode == 0


@pytest.mark.parametrize("path", sorted(DATA.glob("*.csv")), ids=lambda path: path.name)
def test_data_files_are_clean_csv(path):
    content = path.read_bytes()
    assert b"\r" not in content
    assert content.endswith(b"\n")
    header = content.decode("utf-8").splitlines()[0].split(",")
    assert read_rows(path, header)
