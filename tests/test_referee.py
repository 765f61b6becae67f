"""The referee's own tests: the appendix's worked examples, corner cases of the rulebook, and games to the end."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.plain_referee import SETTINGS, choose, forest_file, play
from tests.referee import (
    BONUS,
    CLEARING_LIMIT,
    DATA,
    EFFECT,
    HAND_LIMIT,
    OPENING_HAND,
    POINTS,
    REACTS_TO,
    RULINGS,
    UNIVERSAL_MOOR,
    WINTERS,
    Habitat,
    Referee,
    Visible,
    dragonfly_points,
    naive_dragonflies,
    read_icons,
    read_rows,
    read_species,
    score_forests,
)

EXAMPLES = json.loads((Path(__file__).parent / "data" / "examples.json").read_text(encoding="utf-8"))
SYMBOLS = ("crab_apple", "ash", "sessile_oak", "black_alder", "moor_birch", "goat_willow")
BOXED = {2: 45, 3: 30, 4: 15, 5: 0}  # cards that go back to the box, by number of players


# -------------------------------------------------------------------------------------------------------- builders


def synthetic_deck(seed: int = 0) -> list[dict[str, str]]:
    """172 rows with the right copies and kinds; halves and symbols are dealt out by a seed and evenly."""
    rng = random.Random(seed)
    copies: dict[str, list[str]] = {slot: [] for slot in ("tree", "shrub", "side", "top", "bottom", "moor")}
    for row in read_rows(DATA / "species.csv"):
        copies[row["slot"]] += [row["key"]] * int(row["copies"])
    sides = sorted(copies["side"])
    middle = len(sides) // 2
    left_right = [
        pair if i % 2 else pair[::-1] for i, pair in enumerate(zip(sides[:middle], sides[middle:], strict=True))
    ]
    rng.shuffle(copies["top"])
    rng.shuffle(copies["bottom"])
    cards = [("tree", (key,)) for key in copies["tree"]]
    cards += [("shrub", (key,)) for key in copies["shrub"]]
    cards += [("left_right", pair) for pair in left_right]
    cards += [("top_bottom", pair) for pair in zip(copies["top"], copies["bottom"], strict=True)]
    cards += [("moor", (key,)) for key in copies["moor"]]
    rows = []
    for i, (kind, halves) in enumerate(cards):
        first, second = rng.sample(SYMBOLS, 2)
        rows.append(deck_row(f"D{i + 1:03}", kind, halves, (first, second)))
    return rows


def deck_row(card: str, kind: str, halves: tuple[str, ...], symbols: tuple[str, str]) -> dict[str, str]:
    """A row of the deck file; a tree shows its own symbol."""
    row = {"id": card, "kind": kind, "first": halves[0], "first_symbol": symbols[0], "second": "", "second_symbol": ""}
    if kind == "tree":
        row["first_symbol"] = halves[0]
    if len(halves) == 2:
        row |= {"second": halves[1], "second_symbol": symbols[1]}
    return row


def random_deal(deck: list[dict[str, str]], players: int, rng: random.Random, first: int = 0) -> dict[str, Any]:
    """A deal by the setup of the rulebook."""
    cards = [row["id"] for row in deck]
    rng.shuffle(cards)
    box, rest = cards[: BOXED[players]], cards[BOXED[players] :]
    last = rest[-(len(rest) // 3) :] + ["W1", "W2"]
    rng.shuffle(last)
    stack = rest[: -(len(rest) // 3)] + ["W3"] + last
    return {"box": box, "stack": stack, "caves": sorted(rng.sample(range(1, 6), players)), "first": first}


KINDS = {"tree": "tree", "shrub": "shrub", "moor": "moor", "side": "left_right", "top": "top_bottom"}
FILLER = tuple(f"moor_birch#stack{i}" for i in range(30))


def named_card(name: str) -> dict[str, str]:
    """A deck row from a name that says it all: `ash#2`, `tor:ash`, `lake_fly:ash/roe_deer` (`#` tells copies apart)."""
    entries = [entry.partition(":") for entry in name.partition("#")[0].split("/")]
    halves = tuple(species for species, _, _ in entries)
    symbols = [
        symbol or default for (_, _, symbol), default in zip(entries, ("sessile_oak", "goat_willow"), strict=False)
    ]
    kind = KINDS[read_species()[halves[0]].slot]
    return deck_row(name, kind, halves, (symbols[0], symbols[-1]))


class Position(Referee):
    """A game of two in the middle of it, seat 0 to move; cards bear names as in `named_card`.

    A habitat is a dict as in a forest file, with `card` (or `face_down`) and by slot the names of whole cards.
    """

    def __init__(
        self,
        hand: list[str],
        *,
        forest: list[dict[str, Any]] | None = None,
        clearing: tuple[str, ...] = (),
        stack: tuple[str, ...] = FILLER,
        winters: tuple[str, ...] = (),
        cave: int = 4,
        **settings: Any,
    ) -> None:
        self.laid = hand, forest or [], list(clearing), list(winters)
        names = [*hand, *clearing, *(card for card in stack if card not in WINTERS)]
        for doc in forest or []:
            names += [card for value in doc.values() for card in ([value] if isinstance(value, str) else value)]
        assert len(set(names)) == len(names)
        deck = [named_card(name) for name in names]
        deal = {"box": [], "stack": list(stack), "caves": [], "first": 0}
        super().__init__(deck, deal, caves=[cave, 4], **settings)

    def _setup(self) -> Any:
        hand, forest, clearing, winters = self.laid
        self.hands[0], self.clearing, self.winters = list(hand), clearing, winters
        self.winter_turns = [0] * len(winters)
        self.forests[0] = [self._habitat(doc) for doc in forest]
        yield from ()

    def _habitat(self, doc: dict[str, Any]) -> Habitat:
        if "face_down" in doc:
            habitat = Habitat(Visible(doc["face_down"], None, UNIVERSAL_MOOR, None))
        else:
            habitat = Habitat(Visible(doc["card"], 0, *self.cards[doc["card"]].halves[0]))
        for slot, names in doc.items():
            half = int(slot.rstrip("2") in ("bottom", "right"))
            if slot not in ("card", "face_down"):
                habitat.slots[slot] += [Visible(name, half, *self.cards[name].halves[half]) for name in names]
        return habitat

    def does(self, *answers: tuple[Any, ...]) -> Position:
        """Apply answers one after the other."""
        for answer in answers:
            self.apply(answer)
        return self

    def hosts(self, card: str, half: int) -> list[tuple[str, str]]:
        """Where a half of a card may go now, as (habitat, slot)."""
        return [answer[1:] for answer in self._hosts(card, half)]

    def slot(self, habitat: int, slot: str) -> list[str]:
        """Cards in a slot of seat 0."""
        return [visible.card for visible in self.forests[0][habitat].slots[slot]]


def lone_forest(*habitats: dict[str, Any], **player: Any) -> dict[str, int]:
    """Points of a player who sits alone at the table."""
    return score_forests({"players": [{"habitats": list(habitats), **player}]})[0]


# --------------------------------------------------------------------------------------------------------- scoring


@pytest.mark.parametrize("example", EXAMPLES, ids=[example["id"] for example in EXAMPLES])
def test_worked_examples(example):
    points = score_forests(example["doc"])[0]
    assert {key: points[key] for key in example["expected"]} == example["expected"]
    assert points["total"] == example.get("expected_total", points["total"])


def test_every_species_is_read():
    species = read_rows(DATA / "species.csv")
    together = {"warty_newt"} | {row["key"] for row in species if "dragonfly" in row["types"]}
    assert set(POINTS) == {row["key"] for row in species} - together | {"universal_moor"}
    assert set(EFFECT) == {row["key"] for row in species if row["effect"]}
    assert set(BONUS) == {row["key"] for row in species if row["bonus"]}
    assert set(REACTS_TO) == {row["key"] for row in species if row["permanent"].startswith("on_play")}


def test_icons_stand_where_the_texts_have_a_gap():
    gaps = {row["key"] for row in read_rows(DATA / "species.csv") if "?" in row["effect"] + row["bonus"]}
    assert gaps == set(read_icons())
    assert gaps == {key for table in (EFFECT, BONUS) for key, effect in table.items() if "?" in effect}


@pytest.mark.parametrize("counts", [c for c in product(range(5), repeat=5) if list(c) == sorted(c)])
def test_largest_dragonfly_sets_first_are_best(counts):
    assert dragonfly_points(counts) == naive_dragonflies(counts)


def test_blanket_bog_doubles_plants_only():
    bog = {"card": "blanket_bog", "bottom": ["heather", "royal_fern"], "top": ["keeled_skimmer"]}
    tree = {"card": "moor_birch", "bottom": ["meadowsweet"], "right": ["gnat"]}
    points = lone_forest(bog, tree)
    assert points["heather"] == 2 * 2  # skimmer and gnat
    assert points["royal_fern"] == 2 * 2 * 3
    assert points["meadowsweet"] == 0
    points = lone_forest({"card": "blanket_bog", "bottom": ["meadowsweet", "blue_ground_beetle"]})
    assert (points["meadowsweet"], points["blue_ground_beetle"]) == (10, 2)


def test_blanket_bog_doubles_steps_and_the_bogs_add_up_by_copy():
    bogs = [{"card": "blanket_bog", "bottom": ["greater_butterfly_orchid"]}] * 2
    assert lone_forest(*bogs)["greater_butterfly_orchid"] == 12
    moor = {"card": "tor", "bottom": ["greater_butterfly_orchid"]}
    assert lone_forest(*bogs, moor)["greater_butterfly_orchid"] == 15


def test_an_entry_without_symbol_counts_for_none():
    points = lone_forest({"card": "ash", "left": ["roe_deer"], "right": ["roe_deer:ash"]})
    assert points["roe_deer"] == 6


def test_most_moors_with_none_anywhere():
    tree = {"card": "ash", "left": ["dartmoor_pony"]}
    assert lone_forest(tree)["dartmoor_pony"] == 15
    players = [{"habitats": [tree]}, {"habitats": [{"card": "universal_moor"}]}]
    assert score_forests({"players": players})[0]["dartmoor_pony"] == 5


def test_different_species_are_counted_once():
    moor = {"card": "tor", "top": ["meadow_pipit", "meadow_pipit"]}
    assert lone_forest(moor)["meadow_pipit"] == 2
    tree = {"card": "ash", "top": ["grey_heron"], "left": ["nuthatch"], "right": ["treecreeper"]}
    assert lone_forest(moor, tree)["meadow_pipit"] == 12


def test_full_habitat_needs_all_four_slots():
    slots = {"top": ["buzzard"], "bottom": ["adder"], "left": ["gnat"], "right": ["nuthatch"]}
    assert lone_forest({"card": "crab_apple", **slots})["crab_apple"] == 8
    assert lone_forest({"card": "crab_apple", **slots, "left": []})["nuthatch"] == 0


def test_cave_four_counts_beside_the_cards():
    assert lone_forest(cave=4, cave_cards=3)["cave"] == 8
    assert lone_forest({"card": "ash", "bottom": ["beaver"]}, cave=4, cave_cards=3)["beaver"] == 3


# ------------------------------------------------------------------------------------------------------ the actions


def test_draw_is_one_or_two_cards():
    game = Position(["ash"], clearing=("tor",))
    assert game.legal() == [("stack",), ("clearing", "tor")]
    game.apply(("clearing", "tor"))
    assert game.player == 0 and game.legal() == [("stack",), ("stop",)]
    game.apply(("stop",))
    assert sorted(game.hands[0]) == ["ash", "tor"] and game.player == 1


def test_second_draw_may_be_forced():
    game = Position(["ash"], clearing=("tor",), rulings={"second_draw": "forced"})
    game.apply(("stack",))
    assert game.legal() == [("stack",), ("clearing", "tor")]


def test_with_nine_cards_draw_one():
    game = Position([f"buzzard/adder#{i}" for i in range(9)], clearing=("ash",))
    game.apply(("stack",))
    assert len(game.hands[0]) == HAND_LIMIT and game.player == 1


TEN_STUCK = [f"buzzard/adder#{i}" for i in range(10)]


@pytest.mark.parametrize("pile", ["clearing", "discard"])
def test_swap(pile):
    game = Position(TEN_STUCK, rulings={"swap_to": pile})
    assert game.phase == "DISCARD"
    game.does(("discard", TEN_STUCK[0]), ("discard", TEN_STUCK[3]))
    assert sorted(getattr(game, pile)) == [TEN_STUCK[0], TEN_STUCK[3]]
    assert len(game.hands[0]) == HAND_LIMIT and {*FILLER[:2]} <= set(game.hands[0])
    assert game.player == 1


def test_ten_in_hand_and_playable_must_play():
    game = Position([*TEN_STUCK[:9], "moor_birch"])
    assert game.forests[0][0].base.card == "moor_birch" and game.player == 1  # everything was forced


def test_cost_needs_other_cards():
    game = Position(["ash#1", "ash#2"], clearing=("tor",))
    assert ("play",) not in game.legal()  # two to pay, one other card: only the draw is left
    assert game.phase == "DRAW"
    game = Position(["ash#1", "ash#2", "ash#3"], clearing=("tor",))
    assert game.legal() == [("draw",), ("play",)]


def test_payment_lies_in_the_clearing_and_counts_for_effects():
    game = Position(["crab_apple#1", "crab_apple#2", "tor"], stack=("ash#9", *FILLER))
    game.does(("play",), ("card", "crab_apple#1", 0), ("pay", "crab_apple#2"))
    assert game.legal() == [("take", "ash#9"), ("take", "crab_apple#2")]  # revealed, and paid
    game.apply(("take", "crab_apple#2"))
    assert sorted(game.hands[0]) == ["crab_apple#2", "tor"] and game.clearing == ["ash#9"]


def test_bonus_by_either_half_and_only_if_all_match():
    hand = ["rhos_pasture:ash", "gnat:moor_birch/shrew:ash", "tor:ash", "tor:sessile_oak"]
    for second, drawn in (("tor:ash", 1), ("tor:sessile_oak", 0)):
        game = Position(hand)
        game.does(("play",), ("card", "rhos_pasture:ash", 0), ("pay", hand[1]), ("pay", second))
        assert len(game.hands[0]) == 1 + drawn


def test_illegal_answers_are_refused():
    game = Position(["ash"], clearing=("tor",))
    with pytest.raises(ValueError, match="DRAW: .* is not legal"):
        game.apply(("stop",))
    with pytest.raises(ValueError, match="swap_to: 'hand' unknown, expected one of clearing, discard"):
        Position(["ash"], rulings={"swap_to": "hand"})
    with pytest.raises(ValueError, match="icon 'ash' unknown"):
        Position(["ash"], icons={"ash": "bat"})


def test_clearing_is_emptied_before_an_extra_turn():
    clearing = tuple(f"tor#{i}" for i in range(CLEARING_LIMIT - 2))
    game = Position(["black_alder#1", "black_alder#2", "black_alder#3"], clearing=clearing)
    game.does(("play",), ("card", "black_alder#1", 0), ("pay", "black_alder#2"))
    assert game.clearing == [] and len(game.discard) == CLEARING_LIMIT + 1  # two paid, one revealed
    assert (game.player, game.turn) == (0, 2)


# ---------------------------------------------------------------------------------------------------------- winter


def test_first_winters_are_replaced():
    game = Position(["ash"], stack=("W2", "W1", *FILLER), clearing=("tor",))
    game.apply(("stack",))
    assert game.hands[0] == ["ash", FILLER[0]] and game.winters == ["W2", "W1"] and game.winter_turns == [1, 1]


def ending(game: Position, *answers: tuple[Any, ...]) -> Position:
    """The game after answers that bring the third winter."""
    game.does(*answers)
    assert game.phase == "OVER" and game.legal() == [] and game.in_play is None
    return game


TWO_WINTERS = {"winters": ("W1", "W2")}


def test_winter_ends_the_draw_action():
    game = Position(["ash"], stack=(FILLER[0], "W3"), clearing=("tor",), **TWO_WINTERS)
    ending(game, ("stack",), ("stack",))
    assert game.ending == "draw" and game.hands[0] == ["ash", FILLER[0]] and game.clearing == ["tor"]


def test_winter_ends_the_swap():
    game = Position(TEN_STUCK, stack=(FILLER[0], "W3"), **TWO_WINTERS)
    ending(game, ("discard", TEN_STUCK[0]), ("discard", TEN_STUCK[1]))
    assert game.ending == "draw" and len(game.hands[0]) == HAND_LIMIT - 1


def test_winter_under_a_tree():
    game = Position(["ash#1", "ash#2", "ash#3"], stack=("W3",), **TWO_WINTERS)
    ending(game, ("play",), ("card", "ash#1", 0), ("pay", "ash#2"))
    assert game.ending == "tree" and game.score(0)["total"] == 5  # the tree stands; cave 4
    assert game.clearing == ["ash#2", "ash#3"]


def test_winter_in_an_effect_keeps_what_came_before():
    forest = [{"card": "elderberry", "left": ["field_vole/gnat"], "right": ["gnat/field_vole"]}]
    game = Position(["buzzard/adder", "tor#1", "tor#2"], forest=forest, stack=(FILLER[0], "W3"), **TWO_WINTERS)
    ending(game, ("play",), ("card", "buzzard/adder", 0), ("pay", "tor#1"))
    assert game.ending == "effect" and game.hands[0] == [FILLER[0]] and game.slot(0, "top") == ["buzzard/adder"]


def test_winter_on_the_way_to_the_cave():
    game = Position(
        ["brandts_bat/gnat", "tor"], forest=[{"card": "elderberry"}], stack=(FILLER[0], "W3"), **TWO_WINTERS
    )
    ending(game, ("play",), ("card", "brandts_bat/gnat", 0))
    assert game.ending == "cave" and game.cave_cards[0] == [FILLER[0]] and game.score(0)["cave"] == 6


def test_winter_in_a_permanent_effect():
    forest = [{"card": "common_hazel#1"}, {"card": "common_hazel#2"}]
    game = Position(["gnat/brandts_bat", "tor"], forest=forest, stack=(FILLER[0], "W3"), **TWO_WINTERS)
    ending(game, ("play",), ("card", "gnat/brandts_bat", 1), ("host", "common_hazel#1", "right"))
    assert game.ending == "effect" and game.cave_cards[0] == []  # the bat's own effect never came


# ----------------------------------------------------------------------------------------------------------- slots


def test_sides_halves_and_moor_only():
    forest = [{"card": "elderberry"}, {"card": "tor"}, {"face_down": "ash"}]
    game = Position(["gnat/shrew", "curlew/adder", "buzzard/bog_asphodel"], forest=forest)
    assert game.hosts("gnat/shrew", 0) == [("elderberry", "left")]
    assert game.hosts("gnat/shrew", 1) == [("elderberry", "right")]
    assert game.hosts("curlew/adder", 0) == [("tor", "top"), ("ash", "top")]
    assert game.hosts("curlew/adder", 1) == [("elderberry", "bottom"), ("tor", "bottom"), ("ash", "bottom")]
    assert game.hosts("buzzard/bog_asphodel", 1) == [("tor", "bottom"), ("ash", "bottom")]


def test_badger_lets_rabbits_in_and_nothing_else():
    full = {"left": ["dartmoor_badger/gnat"], "right": ["gnat/roe_deer"]}
    forest = [{"card": "elderberry", **full}, {"card": "ash", "left": ["gnat/shrew"]}]
    rabbit = "dartmoor_black_rabbit/dartmoor_badger"
    game = Position([rabbit, "roe_deer/dartmoor_black_rabbit", "shrew/gnat#2", "tor"], forest=forest)
    assert game.hosts(rabbit, 0) == [("elderberry", "left")]  # elsewhere the left slot is taken
    assert game.hosts("roe_deer/dartmoor_black_rabbit", 1) == [("elderberry", "right"), ("ash", "right")]
    assert game.hosts("shrew/gnat#2", 1) == [("ash", "right")]
    assert game.hosts(rabbit, 1) == [("ash", "right")]


def test_no_badger_into_a_slot_with_a_rabbit():
    forest = [{"card": "ash", "left": ["dartmoor_black_rabbit/gnat"]}]
    game = Position(["dartmoor_badger/dartmoor_black_rabbit", "dartmoor_black_rabbit/shrew", "tor"], forest=forest)
    assert game.hosts("dartmoor_badger/dartmoor_black_rabbit", 0) == []
    assert game.hosts("dartmoor_black_rabbit/shrew", 0) == []  # no badger, no sharing
    assert game.hosts("dartmoor_black_rabbit/shrew", 1) == [("ash", "right")]


def test_rabbits_follow_one_another():
    rabbits = [f"dartmoor_black_rabbit/roe_deer#{i}" for i in range(3)]
    forest = [{"card": "ash", "left": ["dartmoor_badger/gnat"]}]
    game = Position([*rabbits, "tor"], forest=forest)
    game.does(("play",), ("card", rabbits[1], 0))
    assert game.phase == "FREE" and game.legal() == [("card", rabbits[0], 0), ("card", rabbits[2], 0), ("decline",)]
    game.does(("card", rabbits[2], 0), ("decline",))
    assert game.slot(0, "left") == ["dartmoor_badger/gnat", rabbits[1], rabbits[2]]
    assert game.score(0)["dartmoor_black_rabbit"] == 4


SKIMMERS = [f"keeled_skimmer/adder#{i}" for i in range(4)]


def test_water_soldiers_on_a_tree():
    forest = [{"card": "ash", "top": SKIMMERS[:1], "bottom": ["cuckoo/water_soldiers"]}]
    game = Position([*SKIMMERS[1:], "buzzard/adder#b"], forest=forest)
    assert game.hosts(SKIMMERS[1], 0) == [("ash", "top")]
    assert game.hosts("buzzard/adder#b", 0) == []
    game = Position([SKIMMERS[1]], forest=[{"card": "ash", "top": SKIMMERS[:1]}])
    assert game.hosts(SKIMMERS[1], 0) == []


def test_water_soldiers_on_a_moor():
    forest = [{"card": "tor", "top": SKIMMERS[:2], "bottom": ["cuckoo/water_soldiers"]}]
    game = Position([SKIMMERS[2], "buzzard/adder#b"], forest=forest)
    assert game.hosts(SKIMMERS[2], 0) == [("tor", "top"), ("tor", "top2")]
    assert game.hosts("buzzard/adder#b", 0) == [("tor", "top2")]
    forest[0]["top2"] = ["grey_heron/adder"]
    assert Position([SKIMMERS[2]], forest=forest).hosts(SKIMMERS[2], 0) == [("tor", "top")]


@pytest.mark.parametrize(("ruling", "tops"), [("stay", (1, 1)), ("merge", (2, 0))])
def test_late_water_soldiers(ruling, tops):
    forest = [{"card": "tor", "top": SKIMMERS[:1], "top2": SKIMMERS[1:2]}]
    game = Position(["cuckoo/water_soldiers", "ash#x"], forest=forest, rulings={"late_water_soldiers": ruling})
    game.does(("play",))
    assert (len(game.slot(0, "top")), len(game.slot(0, "top2"))) == tops


def test_late_water_soldiers_never_merge_with_a_bird():
    forest = [{"card": "tor", "top": SKIMMERS[:1], "top2": ["grey_heron/adder"]}]
    game = Position(["cuckoo/water_soldiers", "ash#x"], forest=forest, rulings={"late_water_soldiers": "merge"})
    game.does(("play",))
    assert game.slot(0, "top2") == ["grey_heron/adder"]


CUCKOO = "cuckoo/heather"


def cuckoo_hosts(forest: list[dict[str, Any]], **rulings: str) -> list[tuple[str, str]]:
    """Where the Cuckoo may go."""
    return Position([CUCKOO], forest=forest, rulings=rulings).hosts(CUCKOO, 0)


def test_cuckoo_joins_a_bird_on_a_tree():
    bird, dragonfly = {"top": ["buzzard/adder"]}, {"top": ["keeled_skimmer/otter"]}
    assert cuckoo_hosts([{"card": "ash", **bird}]) == [("ash", "top")]
    assert cuckoo_hosts([{"card": "tor", **bird}]) == []
    assert cuckoo_hosts([{"card": "ash", **dragonfly}]) == []
    assert cuckoo_hosts([{"card": "ash"}]) == []


def test_cuckoo_rulings():
    two = [{"card": "ash", "top": ["buzzard/adder", "cuckoo/adder"]}]
    assert cuckoo_hosts(two) == []
    assert cuckoo_hosts(two, cuckoo_per_habitat="many") == [("ash", "top")]
    beside = [{"card": "ash", "left": ["nuthatch/gnat"]}]
    assert cuckoo_hosts(beside) == []
    assert cuckoo_hosts(beside, cuckoo_bird="any") == [("ash", "top")]
    beside[0]["top"] = ["keeled_skimmer/otter"]
    assert cuckoo_hosts(beside, cuckoo_bird="any") == []


# --------------------------------------------------------------------------------------------------------- effects


@pytest.mark.parametrize(("ruling", "drawn"), [("at_once", 1), ("next_turn", 0)])
def test_hazel_reacts_to_its_own_bonus_bat(ruling, drawn):
    bat = "serotine_bat/gnat"
    game = Position(["common_hazel:ash", "ash#1", "ash#2", bat], rulings={"new_permanents": ruling})
    game.does(("play",), ("card", "common_hazel:ash", 0), ("pay", "ash#1"), ("pay", "ash#2"), ("card", bat, 0))
    assert game.slot(0, "left") == [bat] and len(game.hands[0]) == drawn
    assert game.player == 1  # no effect of a bat played free


def test_a_permanent_card_does_not_react_to_itself():
    game = Position(["fountainhead#1", "tor#1", "tor#2"], forest=[{"card": "fountainhead#2"}])
    game.does(("play",), ("card", "fountainhead#1", 0), ("pay", "tor#1"))
    assert len(game.hands[0]) == 1


def test_universal_moor_is_a_moor():
    game = Position(
        ["goat_willow#1", "goat_willow#2", "goat_willow#3", "tor"], forest=[{"card": "fountainhead"}], stack=FILLER
    )
    game.does(("play",), ("card", "goat_willow#1", 0), ("pay", "goat_willow#2"))
    assert game.legal() == [("moor", "goat_willow#3"), ("moor", "tor"), ("decline",)]
    game.apply(("moor", "goat_willow#3"))
    assert game.hands[0] == ["tor", FILLER[1]]  # the first filler was revealed by the tree
    assert game.state()["forests"][0][2]["species"] == "universal_moor"
    assert game.score(0)["goat_willow"] == 2


def test_moor_from_hand_may_be_forced():
    hand = ["goat_willow#1", "goat_willow#2", "tor"]
    game = Position(hand, rulings={"moor_from_hand_optional": "no"})
    game.does(("play",), ("card", "goat_willow#1", 0), ("pay", "goat_willow#2"))
    assert [habitat.base.card for habitat in game.forests[0]] == ["goat_willow#1", "tor"]


def test_lake_fly_chain():
    fly, second_fly, bat = "lake_fly/gnat", "lake_fly/gnat#2", "roe_deer/daubentons_bat"
    forest = [{"card": "elderberry"}, {"card": "common_hazel"}]
    game = Position([fly, bat, "serotine_bat/shrew"], forest=forest, clearing=(second_fly, "tor"))
    game.does(("play",), ("card", fly, 0), ("host", "elderberry", "left"))
    assert game.legal() == [("card", bat, 1), ("card", "serotine_bat/shrew", 0), ("decline",)]
    game.does(("card", bat, 1), ("host", "elderberry", "right"))
    assert game.phase == "FREE"  # Daubenton's own effect: an insect out of the clearing
    assert game.legal() == [("card", second_fly, 0), ("card", second_fly, 1), ("decline",)]
    game.apply(("card", second_fly, 1))
    assert game.slot(1, "right") == [second_fly]
    assert game.player == 1 and game.hands[0] == ["serotine_bat/shrew", FILLER[0]]  # Hazel drew for the bat


def test_gnat_plays_bats_without_their_effect():
    bats = ["brandts_bat/shrew", "roe_deer/brandts_bat"]
    forest = [{"card": "elderberry"}, {"card": "common_hazel"}]
    game = Position(["gnat/shrew", *bats], forest=forest)
    game.does(("play",), ("card", "gnat/shrew", 0), ("host", "elderberry", "left"))
    game.does(("card", bats[0], 0), ("card", bats[1], 1), ("host", "elderberry", "right"))
    assert game.cave_cards[0] == [] and len(game.hands[0]) == 2


def test_free_placement_may_be_forced():
    game = Position(
        ["gnat/shrew", "brandts_bat/roe_deer"],
        forest=[{"card": "elderberry"}, {"card": "ash"}],
        rulings={"free_play_optional": "no"},
    )
    game.does(("play",), ("card", "gnat/shrew", 0), ("host", "ash", "left"))
    assert game.slot(0, "left") == ["brandts_bat/roe_deer"]


def test_hand_limit_in_effects():
    forest = [{"card": f"common_hazel#{i}"} for i in range(3)]
    hand = ["gnat/shrew", "brandts_bat/roe_deer", *(f"tor#{i}" for i in range(8))]
    game = Position(hand, forest=forest)
    game.does(("card", "gnat/shrew", 0), ("host", "common_hazel#0", "left"))
    game.does(("card", "brandts_bat/roe_deer", 0), ("host", "common_hazel#1", "left"))
    assert len(game.hands[0]) == HAND_LIMIT
    assert game.hands[1] == [FILLER[2]]  # three Hazels, but only two cards were turned


def test_clearing_to_hand_with_a_full_hand():
    hand = ["serotine_bat:ash/shrew", *(f"tor#{i}" for i in range(9))]
    forest = [{"card": f"common_hazel#{i}"} for i in range(2)]
    game = Position(hand, forest=forest, clearing=("ash",))
    game.does(("card", hand[0], 0), ("pay", "tor#0"), ("host", "common_hazel#0", "left"))
    assert game.clearing == ["ash", "tor#0"] and game.player == 1


def test_clearing_to_cave_takes_two_or_what_there_is():
    game = Position(["alcathoe_bat/shrew", "tor#1", "tor#2"], forest=[{"card": "elderberry"}], clearing=("ash",))
    game.does(("play",), ("card", "alcathoe_bat/shrew", 0), ("pay", "tor#1"))
    assert game.legal() == [("store", "ash"), ("store", "tor#1")]
    game.apply(("store", "tor#1"))
    assert game.cave_cards[0] == ["tor#1", "ash"] and game.clearing == []


def test_beaver_takes_trees_but_no_shrubs():
    hand = ["buzzard/beaver", "ash#1", "ash#2"]
    game = Position(hand, forest=[{"card": "tor"}], clearing=("elderberry", "moor_birch#0"))
    game.does(("play",), ("card", "buzzard/beaver", 1), ("pay", "ash#1"))
    assert game.clearing == ["elderberry"] and len(game.cave_cards[0]) == 3
    assert game.score(0)["beaver"] == 3


def test_common_noctule_takes_from_the_clearing():
    game = Position(
        ["common_noctule/gnat", "tor"], forest=[{"card": "ash"}], clearing=("buzzard/heather", "crab_apple")
    )
    game.does(("play",), ("card", "common_noctule/gnat", 0))
    assert game.legal() == [("card", "buzzard/heather", 1), ("decline",)]
    game.apply(("card", "buzzard/heather", 1))
    assert game.slot(0, "bottom") == ["buzzard/heather"] and "buzzard/heather" not in game.clearing


@pytest.mark.parametrize(("ruling", "stored"), [("always", 2), ("never", 0)])
def test_shrew_pays_nothing(ruling, stored):
    forest = [{"card": "ash", "left": ["field_vole/gnat"]}]
    game = Position(["gnat/shrew", "tor"], forest=forest, rulings={"free_cost_bonus": ruling})
    game.does(("play",))
    assert game.slot(0, "right") == ["gnat/shrew"] and len(game.cave_cards[0]) == stored


@pytest.mark.parametrize(
    ("ruling", "payment", "stored"), [("effect", "tor", 2), ("bonus", "tor", 0), ("bonus", "ash", 2)]
)
def test_wheatear(ruling, payment, stored):
    forest = [{"card": "tor#0"}, {"face_down": "ash#0"}]
    game = Position(["wheatear:ash/adder", payment], forest=forest, rulings={"wheatear_trigger": ruling})
    game.does(("play",), ("card", "wheatear:ash/adder", 0), ("host", "ash#0", "top"))
    assert len(game.cave_cards[0]) == stored


def test_icons_may_be_read_otherwise_and_a_free_tree_reveals():
    hand = ["buzzard/bog_asphodel:ash", "ash#1", "ash#2", "elderberry", "gnat/shrew"]
    game = Position(hand, forest=[{"card": "tor"}], icons={"bog_asphodel": "tree|shrub"})
    game.does(("play",), ("card", hand[0], 1), ("pay", "ash#1"))
    assert game.legal() == [("card", "ash#2", 0), ("card", "elderberry", 0), ("decline",)]
    game.apply(("card", "ash#2", 0))
    assert game.clearing == ["ash#1", FILLER[0]]
    assert len(game.hands[0]) == 2  # the ash draws nothing


def owl_turns(**rulings: str) -> Position:
    """Barn Owl, extra turn, Barn Owl again."""
    owls = ["barn_owl/adder#1", "barn_owl/adder#2"]
    forest = [{"card": "ash", "left": ["serotine_bat/gnat"]}, {"card": "tor#0"}]
    game = Position([*owls, *(f"tor#{i}" for i in range(1, 6))], forest=forest, rulings=rulings)
    for i, owl in enumerate(owls):
        game.does(("play",), ("card", owl, 0), ("pay", f"tor#{2 * i + 1}"), ("pay", f"tor#{2 * i + 2}"))
        if i == 0:
            game.does(("host", "ash", "top"))
            assert (game.player, game.turn) == (0, 2)
    return game


def test_an_extra_turn_earns_another_one():
    assert (owl_turns().player, owl_turns().turn) == (0, 3)
    game = owl_turns(extra_turn_again="no")
    assert (game.player, game.turn) == (1, 3)


def test_several_extra_turns_in_one_turn_are_one():
    game = Position(["ash"], clearing=("tor",))
    game._earn_extra_turn()
    game._earn_extra_turn()
    game.does(("stack",), ("stop",))
    assert (game.player, game.turn, game.extra_turn) == (0, 2, False)


def test_barn_owl_without_a_bat():
    game = Position(["barn_owl/adder", "tor#1", "tor#2"], forest=[{"card": "ash"}])
    game.does(("play",), ("card", "barn_owl/adder", 0), ("pay", "tor#1"))
    assert game.player == 1


def test_buzzard_counts_once_when_the_effect_starts():
    forest = [{"card": "ash", "left": ["shrew/gnat"]}]
    game = Position(["buzzard/adder", "tor#1", "tor#2"], forest=forest)
    game.does(("play",), ("card", "buzzard/adder", 0), ("pay", "tor#1"))
    assert game.hands[0] == [FILLER[0]]


# ----------------------------------------------------------------------------------------------------------- setup


def opening(players: int, first: int, **settings: Any) -> tuple[Referee, dict[str, Any]]:
    """A new game and its deal."""
    deck = synthetic_deck()
    deal = random_deal(deck, players, random.Random(players), first)
    return Referee(deck, deal, **settings), deal


def test_hands_go_from_the_first_player_on():
    game, deal = opening(3, first=1, caves=[4, 4, 4])
    for i, seat in enumerate((1, 2, 0)):
        assert game.hands[seat] == deal["stack"][OPENING_HAND * i : OPENING_HAND * (i + 1)]
    assert game.player == 1 and game.turn == 1


def test_caves_are_taken_in_reverse_turn_order():
    game, deal = opening(3, first=1)
    assert game.phase == "CAVE" and game.player == 0
    assert game.legal() == [("cave", number) for number in deal["caves"]]
    game.apply(("cave", deal["caves"][1]))
    assert game.player == 2
    game.apply(("cave", deal["caves"][2]))
    assert game.caves == [deal["caves"][1], deal["caves"][0], deal["caves"][2]]


def test_opening_effects():
    game, deal = opening(4, first=0, caves=[1, 2, 3, 5])
    stack = deal["stack"][4 * OPENING_HAND :]
    assert (game.phase, game.player) == ("MOOR", 3)
    game.apply(("moor", min(game.hands[3])))
    assert len(game.forests[3]) == 1 and len(game.hands[3]) == OPENING_HAND - 1
    assert (game.phase, game.player) == ("DISCARD", 2) and len(game.hands[2]) == OPENING_HAND + 3
    for _ in range(3):
        game.apply(game.legal()[0])
    assert len(game.clearing) == 3 and len(game.hands[2]) == OPENING_HAND
    assert game.cave_cards[1] == stack[3:5] and game.hands[0][-1] == stack[5]
    assert (game.turn, game.player) == (1, 0)


def test_caves_of_the_users():
    rows = [
        {"cave": "7", "effect": "draw 2 then hand_to_cave 1"},
        {"cave": "9", "effect": "points 2 + points 1 per moor"},
    ]
    game, _ = opening(2, first=0, caves=[7, 9], cave_rows=rows)
    assert game.phase == "HIDE" and len(game.hands[0]) == OPENING_HAND + 2
    game.apply(game.legal()[0])
    assert len(game.cave_cards[0]) == 1
    assert game.score(1)["cave"] == 2


# ---------------------------------------------------------------------------------------------------- whole games


def check_invariants(game: Referee, cards: list[str]) -> None:
    """Every card in exactly one place; hand and clearing within their limits."""
    state = game.state()
    visible = [
        entry if isinstance(entry, str) else entry[0]
        for forest in state["forests"]
        for habitat in forest
        for key, value in habitat.items()
        if key not in ("species", "symbol")
        for entry in ([value] if isinstance(value, str) else value)
    ]
    in_play = [state["in_play"][0]] if state["in_play"] else []
    piles = [state[pile] for pile in ("box", "stack", "clearing", "discard", "winters")]
    everything = sum([*piles, *state["hands"], *state["cave_cards"], visible, in_play], [])
    assert sorted(everything) == cards
    assert all(len(hand) <= HAND_LIMIT for hand in state["hands"])
    if game.phase == "TURN":
        assert len(state["clearing"]) < CLEARING_LIMIT


def random_settings(rng: random.Random) -> dict[str, Any]:
    """Any reading of the rules."""
    return {
        "rulings": {name: rng.choice(values) for name, values in RULINGS.items()},
        "icons": {name: rng.choice(values) for name, values in read_icons().items()},
    }


@pytest.mark.parametrize("players", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(6))
def test_random_games_end(players, seed):
    rng = random.Random(f"{players} {seed}")
    deck = synthetic_deck(seed)
    deal = random_deal(deck, players, rng, rng.randrange(players))
    game = Referee(deck, deal, **(random_settings(rng) if seed else {}))
    cards = sorted([row["id"] for row in deck] + list(WINTERS))
    while game.phase != "OVER":
        check_invariants(game, cards)
        assert len(game.legal()) == len(set(game.legal())) >= 2
        game.apply(rng.choice(game.legal()))
    check_invariants(game, cards)
    assert len(game.winters) == 3 and game.ending in ("draw", "tree", "effect", "cave")
    check_final_table(game)


def check_final_table(game: Referee) -> None:
    """The table, written as a forest file and scored again, gives the same points."""
    again = score_forests(forest_file(game))
    assert again == [game.score(seat) for seat in range(game.players)]


@pytest.mark.parametrize("players", [2, 3, 4, 5])
@pytest.mark.parametrize("name", SETTINGS)
def test_plain_games_end(players, name):
    deck = synthetic_deck()
    deal = random_deal(deck, players, random.Random(players))
    game = Referee(deck, deal)
    result = play(game, [SETTINGS[name]] * players)
    assert len(result["scores"]) == players and sum(result["win_shares"]) == pytest.approx(1)
    assert result["winter_turns"] == sorted(result["winter_turns"]) and result["turns"] >= result["winter_turns"][-1]
    check_final_table(game)
    assert play(Referee(deck, deal), [SETTINGS[name]] * players) == result


@pytest.mark.parametrize(
    ("name", "paid"),
    [("plain", ["D002", "D003"]), ("plain_bonus", ["D002", "D004"]), ("plain_high", ["D005", "D004"])],
)
def test_plain_payment(name, paid):
    symbols = {"D002": "ash", "D003": "moor_birch", "D004": "ash", "D005": "ash"}
    if name == "plain_high":  # the high player would start with the last card of its hand
        deck = [deck_row("D006", "moor", ("rhos_pasture",), ("ash", ""))]
        symbols["D001"] = "ash"
    else:
        deck = [deck_row("D001", "moor", ("rhos_pasture",), ("ash", ""))]
        symbols["D006"] = "ash"
    deck += [deck_row(card, "moor", ("tor",), (symbol, "")) for card, symbol in symbols.items()]
    deck += [deck_row(f"D{i:03}", "tree", ("ash",), ("", "")) for i in range(7, 20)]
    stack = [*(f"D{i:03}" for i in range(1, 20)), *WINTERS]
    game = Referee(deck, {"box": [], "stack": stack, "caves": [], "first": 0}, caves=[4, 4])
    while not game.forests[0]:
        game.apply(choose(game, *SETTINGS[name]))
    assert game.forests[0][0].base.species.key == "rhos_pasture" and game.paid == paid


def test_plain_pays_in_order_when_too_few_cards_match():
    """One matching card is not enough for a cost of two, and is not preferred for the second payment either."""
    deck = [deck_row("D001", "moor", ("rhos_pasture",), ("ash", ""))]
    symbols = ("moor_birch", "goat_willow", "ash", "moor_birch", "goat_willow")
    deck += [deck_row(f"D{i:03}", "moor", ("tor",), (symbol, "")) for i, symbol in enumerate(symbols, start=2)]
    deck += [deck_row(f"D{i:03}", "tree", ("ash",), ("", "")) for i in range(7, 20)]
    stack = [*(f"D{i:03}" for i in range(1, 20)), *WINTERS]
    game = Referee(deck, {"box": [], "stack": stack, "caves": [], "first": 0}, caves=[4, 4])
    while not game.forests[0]:
        game.apply(choose(game, *SETTINGS["plain_bonus"]))
    assert game.paid == ["D002", "D003"]


def test_plain_second_draw_comes_from_the_clearing():
    game = Position(["buzzard/adder"], clearing=("tor", "ash"))
    game.clearing = ["D009", "D007"]
    assert choose(game, False, False) == ("stack",)
    game.drawn = 1
    assert choose(game, False, False) == ("clearing", "D007")
    assert choose(game, True, False) == ("clearing", "D009")
