"""Forest files: worked examples, legality of tables, and errors that name the place."""

import copy
import io
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from experiments.forest_file import check_counts, parse_table, read_document
from experiments.score import print_scores, score_document, score_files, score_json
from policies.random_policy import random_policy
from sim.actions import MAX_ACTIONS
from sim.codes import CaveMode, Face, Kind, MoorSlot, Place, ScoreOp, Symbol, TreeSlot
from sim.deal import setup
from sim.deck import load_deck
from sim.errors import DartmoorError
from sim.play import play_game
from sim.rules import DECK_SIZE, MAX_PLAYERS, MIN_PLAYERS
from sim.rulings import Rulings
from sim.scoring import total_points
from sim.species import box_species
from sim.state import new_games
from sim.tables import build_tables

EXAMPLES = json.loads((Path(__file__).parent / "data" / "examples.json").read_text(encoding="utf-8"))
SET_SPECIES = {one.key for one in box_species() if any(term.op == ScoreOp.SETS for term in one.scoring.terms)}


def table_of(*habitats, **more):
    """Return the document of one player with these habitats."""
    return {"players": [{"name": "A", "habitats": list(habitats), **more}]}


def tree(**sides):
    return {"card": "crab_apple", **sides}


def moor(**sides):
    return {"card": "universal_moor", **sides}


def points(score, player=0):
    """Return a player's points by species, with the two keys that the worked examples add."""
    lines = {line["species"]: line["points"] for line in score["players"][player]["lines"]}
    sets = sum(value for key, value in lines.items() if key in SET_SPECIES)
    return lines | {"dragonflies": sets, "cave": score["players"][player]["cave"]}


def refusal(document, **options):
    """Return the message that a document is refused with."""
    with pytest.raises(DartmoorError) as caught:
        score_document(document, where="t.json", **options)
    message = str(caught.value)
    assert "\n" not in message and message.startswith("t.json")
    return message


def tables_with(**rulings):
    return build_tables(load_deck(), Rulings(**rulings))


# Worked examples


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["id"])
def test_worked_example(example, tables):
    score = score_document(example["doc"], tables=tables)
    found = points(score)
    assert {key: found[key] for key in example["expected"]} == example["expected"]
    if "expected_total" in example:
        assert score["players"][0]["total"] == example["expected_total"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["id"])
def test_lines_and_cave_add_up_and_count_every_card(example, tables):
    score = score_document(example["doc"], tables=tables)
    for player, forest in zip(score["players"], example["doc"]["players"], strict=True):
        assert player["total"] == player["cave"] + sum(line["points"] for line in player["lines"])
        cards = Counter(
            entry.partition(":")[0]
            for habitat in forest["habitats"]
            for entry in [
                habitat["card"],
                *(e for side in ("top", "bottom", "left", "right") for e in habitat.get(side, [])),
            ]
        )
        assert {line["species"]: line["count"] for line in player["lines"]} == cards


def test_order_within_a_list_does_not_matter(tables):
    for example in EXAMPLES:
        turned = copy.deepcopy(example["doc"])
        for forest in turned["players"]:
            for habitat in forest["habitats"]:
                for side in ("top", "bottom", "left", "right"):
                    habitat[side] = habitat.get(side, [])[::-1]
        assert points(score_document(turned, tables=tables)) == points(score_document(example["doc"], tables=tables))


# Whole games


def forest_of(state, tables, player):
    """Return a player's forest as a forest file has it, read off the game record."""
    names = {symbol.value: symbol.name.lower() for symbol in Symbol}
    keys = [one.key for one in box_species()]

    def entry(card):
        half = state["face"][card]
        return f"{keys[tables['species'][0, card, half]]}:{names[tables['symbol'][0, card, half]]}"

    habitats = []
    for habitat in state["habitats"][player, : state["habitats_n"][player]]:
        is_down = state["face"][habitat] == Face.DOWN
        is_moor = is_down or tables["kind"][0, habitat] == Kind.MOOR
        sides = {"card": "universal_moor" if is_down else entry(habitat)}
        for card in range(DECK_SIZE):
            if state["place"][card] == Place.FOREST + player and state["host"][card] == habitat != card:
                slot = (MoorSlot if is_moor else TreeSlot)(state["slot"][card]).name.lower().rstrip("2")
                sides.setdefault(slot, []).append(entry(card))
        habitats.append(sides)
    cave = int(tables["cave_number"][0, state["cave"][player]])
    return {"name": f"P{player}", "cave": cave, "cave_cards": int(state["cave_n"][player]), "habitats": habitats}


@pytest.mark.parametrize("players", range(MIN_PLAYERS, MAX_PLAYERS + 1))
def test_forests_of_played_games_are_legal_and_score_the_same(players, tables):
    actions, games, caves = np.empty(MAX_ACTIONS, np.int32), new_games(), np.zeros(MAX_PLAYERS, np.uint8)
    for game in range(25):
        setup(games, tables[0], players, np.uint64(11), game, int(CaveMode.DRAFT), caves)
        play_game(games[0], tables[0], (random_policy,) * MAX_PLAYERS, np.zeros((MAX_PLAYERS, 1)), actions)
        document = {"players": [forest_of(games[0], tables, player) for player in range(players)]}
        totals = [player["total"] for player in score_document(document, tables=tables)["players"]]
        assert totals == [total_points(games[0], tables[0], player) for player in range(players)]


# Caves, winners, names, missing keys


def test_cave_and_cave_cards_may_be_missing(tables):
    assert points(score_document(table_of(), tables=tables))["cave"] == 0
    assert points(score_document(table_of(cave_cards=7), tables=tables))["cave"] == 7
    assert points(score_document(table_of(cave=3), tables=tables))["cave"] == 0


def test_cave_four_counts_besides_its_cards(tables):
    assert points(score_document(table_of(cave=4, cave_cards=10), tables=tables))["cave"] == 15


def test_winners_share_a_tie(tables):
    document = {
        "players": [
            {"name": name, "cave_cards": cards, "habitats": []} for name, cards in zip("ABC", (4, 5, 5), strict=True)
        ]
    }
    assert score_document(document, tables=tables)["winners"] == ["B", "C"]


def test_players_without_a_name_are_numbered(tables):
    score = score_document({"players": [{"habitats": []}, {"habitats": []}]}, tables=tables)
    assert [player["name"] for player in score["players"]] == ["Player 1", "Player 2"]


def test_five_forests_make_a_table(tables):
    document = {"players": [{"name": name, "habitats": [moor()]} for name in "ABCDE"]}
    assert len(score_document(document, tables=tables)["players"]) == 5
    document["players"].append({"name": "F", "habitats": []})
    assert refusal(document) == "t.json: players: 6 forests, expected 1 to 5"
    assert "0 forests, expected 1 to 5" in refusal({"players": []})


def test_moors_are_compared_over_all_players(tables):
    document = table_of(moor(top=["black_tailed_godwit"]))
    assert points(score_document(document, tables=tables))["black_tailed_godwit"] == 10
    document["players"].append({"name": "B", "habitats": [moor(), moor()]})
    assert points(score_document(document, tables=tables))["black_tailed_godwit"] == 0


def test_symbols_of_entries_count(tables):
    habitat = {"card": "ash", "left": ["roe_deer:ash"], "right": ["gnat:ash"], "top": ["buzzard"]}
    assert points(score_document(table_of(habitat), tables=tables))["roe_deer"] == 9
    rivulet = {"card": "rivulet", "symbol": "goat_willow", "top": ["wheatear:goat_willow", "barn_owl"]}
    assert points(score_document(table_of(rivulet), tables=tables))["rivulet"] == 4
    assert points(score_document(table_of({"card": "rivulet:goat_willow"}), tables=tables))["rivulet"] == 2


def test_own_symbol_without_a_symbol_scores_nothing(tables):
    assert points(score_document(table_of(tree(left=["roe_deer"])), tables=tables))["roe_deer"] == 0


# Slots, sides, sharing (rules, Slots)

LEGAL = {
    "all four slots": tree(top=["buzzard"], bottom=["otter"], left=["gnat"], right=["shrew"]),
    "moor with four": moor(top=["buzzard", "curlew"], bottom=["otter", "moor_frog"]),
    "cuckoo beside a bird": tree(top=["cuckoo", "buzzard"]),
    "rabbits beside a badger": tree(
        left=["dartmoor_badger", "dartmoor_black_rabbit"], right=["roe_deer"] + ["dartmoor_black_rabbit"] * 3
    ),
    "badger behind its rabbit": tree(left=["dartmoor_black_rabbit", "dartmoor_badger"]),
    "rabbits alone in a slot": tree(left=["dartmoor_badger"], right=["dartmoor_black_rabbit"] * 2),
    "dragonflies beside water soldiers": tree(top=["keeled_skimmer"] * 3, bottom=["water_soldiers"]),
    "dragonflies in one slot of a moor": moor(
        top=["keeled_skimmer", "wheatear"] + ["keeled_skimmer"] * 3, bottom=["water_soldiers"]
    ),
    "dragonflies in both slots of a moor": moor(top=["keeled_skimmer"] * 4, bottom=["water_soldiers", "otter"]),
    "two dragonflies at a moor": moor(top=["keeled_skimmer"] * 2),
    "shrub": {"card": "elderberry", "left": ["gnat"]},
}
ILLEGAL = {
    "two tops at a tree": (tree(top=["buzzard", "barn_owl"]), ".top[1]: no top slot free for 'barn_owl'"),
    "three tops at a moor": (moor(top=["buzzard", "barn_owl", "curlew"]), ".top[2]: no top slot free for 'curlew'"),
    "three bottoms at a moor": (moor(bottom=["otter", "adder", "beaver"]), ".bottom[2]: no bottom slot free"),
    "wrong side": (tree(top=["beaver"]), ".top[0]: 'beaver' is a bottom species, it cannot go to a top slot"),
    "side card at a moor": (moor(left=["gnat"]), ".left[0]: a moor has no left slot for 'gnat'"),
    "moor only": (tree(bottom=["moor_frog"]), ".bottom[0]: 'moor_frog' goes to a moor only"),
    "cuckoo alone": (tree(top=["cuckoo"]), ".top[0]: 'cuckoo' needs another bird in the same top slot"),
    "cuckoo with a dragonfly": (tree(top=["keeled_skimmer", "cuckoo"]), ".top[1]: 'cuckoo' needs another bird"),
    "two cuckoos": (tree(top=["buzzard", "cuckoo", "cuckoo"]), ".top[2]: a second 'cuckoo' at the same tree or shrub"),
    "cuckoo at a moor": (moor(top=["buzzard", "cuckoo"]), ".top[1]: 'cuckoo' goes to a tree or shrub only"),
    "rabbits without a badger": (
        tree(left=["dartmoor_black_rabbit"] * 2),
        ".left[1]: no left slot free for 'dartmoor_black_rabbit', and none to share without dartmoor_badger",
    ),
    "two others beside a badger": (tree(left=["dartmoor_badger", "gnat"]), ".left[1]: no left slot free for 'gnat'"),
    "dragonflies without water soldiers": (
        tree(top=["keeled_skimmer"] * 2),
        ".top[1]: no top slot free for 'keeled_skimmer', and none to share without water_soldiers",
    ),
    "bird among dragonflies": (
        tree(top=["keeled_skimmer", "buzzard"], bottom=["water_soldiers"]),
        ".top[0]: no top slot free for 'keeled_skimmer'",
    ),
    "dragonfly beside two birds": (
        moor(top=["keeled_skimmer", "buzzard", "curlew"], bottom=["water_soldiers"]),
        ".top[0]: no top slot free for 'keeled_skimmer'",
    ),
}


@pytest.mark.parametrize("case", LEGAL)
def test_legal_habitat(case, tables):
    score_document(table_of(LEGAL[case]), tables=tables)


@pytest.mark.parametrize("case", ILLEGAL)
def test_illegal_habitat(case, tables):
    habitat, message = ILLEGAL[case]
    assert "t.json: players[0].habitats[1]" + message in refusal(table_of(moor(), habitat), tables=tables)


@pytest.mark.parametrize("case", ILLEGAL)
def test_lenient_scores_it_all_the_same(case, tables):
    habitat, _ = ILLEGAL[case]
    (player,) = score_document(table_of(habitat), tables=tables, lenient=True)["players"]
    assert sum(line["count"] for line in player["lines"]) == 1 + sum(
        len(entries) for side, entries in habitat.items() if side != "card"
    )


def test_lenient_counts_a_side_card_at_a_moor_as_in_no_bottom_slot(tables):
    document = table_of(moor(left=["gnat"], right=["gnat"]), tree(bottom=["blue_ground_beetle"]))
    assert points(score_document(document, tables=tables, lenient=True))["blue_ground_beetle"] == 1


def test_ruling_many_cuckoos():
    document = table_of(tree(top=["buzzard", "cuckoo", "cuckoo"]))
    score = score_document(document, tables=tables_with(cuckoo_per_habitat="many"))
    assert points(score)["cuckoo"] == 14


def test_ruling_any_bird_for_the_cuckoo():
    tables = tables_with(cuckoo_bird="any")
    for top in (["cuckoo"], ["cuckoo", "buzzard"]):
        assert points(score_document(table_of(tree(top=top, left=["nuthatch"])), tables=tables))["cuckoo"] == 7
    for habitat in (tree(top=["cuckoo"]), tree(top=["keeled_skimmer", "cuckoo"], left=["nuthatch"])):
        assert "'cuckoo' needs another bird at the same tree or shrub" in refusal(table_of(habitat), tables=tables)


# What one box holds


def test_copies_over_all_players(tables):
    forests = [{"name": name, "habitats": [tree(left=["gnat"])]} for name in "AB"]
    document = {"players": forests}
    score_document(document, tables=tables)
    forests[1]["habitats"].append(tree(left=["gnat"]))
    message = "t.json: players[1].habitats[1].left[0]: one 'gnat' too many, the box holds 2"
    assert refusal(document, tables=tables) == message
    score_document(document, tables=tables, lenient=True)


def test_trees_are_counted_too(tables):
    assert "habitats[6].card: one 'crab_apple' too many, the box holds 6" in refusal(table_of(*[tree()] * 7))


def test_split_cards_show_one_half_each(tables):
    """56 cards are split into top and bottom: all 56 tops and one bottom need a card more."""
    tops = [one.key for one in box_species() if one.slot.name == "TOP" for _ in range(one.copies)]
    habitats = [moor(top=tops[i : i + 2]) for i in range(0, len(tops), 2)]
    table = parse_table(table_of(*habitats), box_species(), [], "t.json")
    check_counts(table, box_species())
    habitats[-1]["bottom"] = ["otter"]
    table = parse_table(table_of(*habitats), box_species(), [], "t.json")
    with pytest.raises(DartmoorError, match=r"habitats\[27\].bottom\[0\]: one top/bottom card too many, .* 56"):
        check_counts(table, box_species())


def test_cards_in_all(tables):
    score_document(table_of(*[moor()] * 100, cave_cards=72), tables=tables)
    message = "t.json: players: 173 cards in forests and caves, the deck holds 172"
    assert refusal(table_of(*[moor()] * 100, cave_cards=73), tables=tables) == message
    assert "173 cards in forests" in refusal(table_of(*[moor()] * 173), tables=tables, lenient=True)


def test_a_cave_has_one_owner(tables):
    document = {"players": [{"name": name, "cave": 4, "habitats": []} for name in "AB"]}
    assert refusal(document, tables=tables) == "t.json: players[1].cave: cave 4 is that of 'A' already"
    assert score_document(document, tables=tables, lenient=True)["winners"] == ["A", "B"]


# Names and values that are wrong, lenient or not

WRONG = {
    "species": (tree(top=["buzard"]), ".habitats[0].top[0]: species 'buzard' unknown, did you mean 'buzzard'?"),
    "printed name": (tree(top=["Barn Owl"]), "species 'Barn Owl' unknown, did you mean 'barn_owl'?"),
    "nothing like it": (tree(left=["xyz"]), ".left[0]: species 'xyz' unknown, expected one of alcathoe_bat, "),
    "symbol": (tree(top=["buzzard:oak"]), ".top[0]: symbol 'oak' unknown, expected one of crab_apple, ash, "),
    "empty symbol": (tree(top=["buzzard:"]), ".top[0]: symbol '' unknown"),
    "card symbol": ({"card": "tor", "symbol": 3}, ".habitats[0].symbol: symbol 3 unknown"),
    "two symbols": ({"card": "tor:ash", "symbol": "black_alder"}, ".symbol: 'black_alder' is not the symbol of"),
    "symbol of a tree": ({"card": "ash", "symbol": "crab_apple"}, "a tree shows its own symbol, 'ash'"),
    "symbol of a back": ({"card": "universal_moor", "symbol": "ash"}, "shows no symbol"),
    "dweller as habitat": ({"card": "buzzard"}, ".card: 'buzzard' is no habitat, expected one of ash, black_alder, "),
    "habitat as dweller": (tree(top=["tor"]), ".top[0]: 'tor' is a habitat, expected one of barn_owl, "),
    "number as entry": (tree(top=[3]), ".top[0]: 3 is not an entry"),
    "text as list": (tree(top="buzzard"), ".top: 'buzzard' is not a list"),
    "key": (tree(tops=["buzzard"]), ".habitats[0]: key 'tops' unknown, did you mean 'top'?"),
    "no card": ({"top": []}, ".habitats[0]: key 'card' is missing"),
    "no object": ("crab_apple", ".habitats[0]: expected an object with the keys card, symbol, top, "),
}


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("case", WRONG)
def test_wrong_habitat(case, lenient, tables):
    habitat, message = WRONG[case]
    assert message in refusal(table_of(habitat), tables=tables, lenient=lenient)


@pytest.mark.parametrize(
    "player, message",
    [
        ({"cave": 6}, ".cave: cave 6 unknown, expected one of 1, 2, 3, 4, 5"),
        ({"cave": True}, ".cave: cave True unknown"),
        ({"cave_cards": -1}, ".cave_cards: -1 is not a whole number from 0 to 172"),
        ({"cave_cards": 2.5}, ".cave_cards: 2.5 is not a whole number"),
        ({"name": ""}, ".name: '' is not a name"),
        ({"name": 3}, ".name: 3 is not a name"),
        ({"habitat": []}, "key 'habitat' unknown, did you mean 'habitats'?"),
    ],
)
def test_wrong_player(player, message, tables):
    assert f"t.json: players[0]{message}".replace("]key", "]: key") in refusal(table_of(**player), tables=tables)


def test_wrong_documents(tables):
    assert refusal([]) == "t.json: expected an object with the keys players"
    assert refusal({}) == "t.json: key 'players' is missing"
    assert refusal({"players": [{"name": "A"}]}) == "t.json: players[0]: key 'habitats' is missing"
    twins = {"players": [{"name": "A", "habitats": []}] * 2}
    assert refusal(twins) == "t.json: players[1].name: 'A' is the name of two players"


# Files


def test_json_and_toml_say_the_same(tmp_path, tables):
    document = table_of(tree(top=["buzzard:ash"], left=["shrew"]), cave=4, cave_cards=2)
    (tmp_path / "t.json").write_text(json.dumps(document))
    (tmp_path / "t.toml").write_text(
        '[[players]]\nname = "A"\ncave = 4\ncave_cards = 2\n'
        '[[players.habitats]]\ncard = "crab_apple"\ntop = ["buzzard:ash"]\nleft = ["shrew"]\n'
    )
    scores = score_files([tmp_path / "t.json", tmp_path / "t.toml"], tables=tables)
    assert scores[0] == scores[1] == score_document(document, tables=tables)
    assert score_json(scores) == scores and score_json(scores[:1]) == scores[0]


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("t.json", b'{"players": [\n}', "t.json: line 2 column 1: not JSON"),
        ("t.toml", b"players = 3 4\n", "t.toml: not TOML: .*line 1"),
        ("t.json", b'{"players": [], "players": []}', "t.json: key 'players' stands twice"),
        ("t.json", b"\xff\xfe{", "t.json: is not text in UTF-8"),
        ("t.json", None, "t.json: cannot be read: No such file"),
    ],
)
def test_unreadable_files(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DartmoorError, match=message):
        read_document(tmp_path / name)


def test_score_sheet(tables):
    document = table_of(tree(top=["buzzard"], left=["shrew"]), cave_cards=3)
    document["players"].append({"name": "[b]", "habitats": [moor()]})
    console = Console(width=80, record=True, file=io.StringIO())
    print_scores([score_document(document, tables=tables)], ["evening.json"], console)
    text = console.export_text()
    for part in ("evening.json", "[b]", "Crab Apple", "2 (1)", "Universal Moor", "Cave", "Total", "Winner: A"):
        assert part in text
