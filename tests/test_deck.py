"""Deck files, their checks, and the reconstructed decks, whose constraints are checked here without the builder."""

import csv
from collections import Counter
from dataclasses import replace
from itertools import combinations

import pytest
from rich.console import Console

from experiments.commands.deck import deck_table
from sim.data_files import DATA, read_rows
from sim.deck import (
    COLUMNS,
    Deck,
    check_deck,
    deck_hash,
    deck_warnings,
    load_deck,
    read_deck,
    template,
)
from sim.deck_builder import build_deck
from sim.errors import DartmoorError
from sim.species import box_species, read_species

SEEDS = [None, *range(20)]
SYMBOLS = ("crab_apple", "ash", "sessile_oak", "black_alder", "moor_birch", "goat_willow")
SPLIT = ("left_right", "top_bottom")


@pytest.fixture(scope="module", params=SEEDS, ids=lambda seed: "reference" if seed is None else f"seed{seed}")
def deck(request) -> Deck:
    return build_deck(request.param)


def of_kind(deck: Deck, kind: str) -> list:
    return [card for card in deck.cards if card.kind == kind]


def shown(cards) -> Counter:
    """Return how often the halves of the cards show each species with each symbol."""
    halves = [(card.first, card.first_symbol) for card in cards]
    return Counter(halves + [(card.second, card.second_symbol) for card in cards if card.second])


def is_even(counts) -> bool:
    counts = list(counts)
    return max(counts) - min(counts) <= 1


# The reconstruction


def test_reference_deck_file_is_what_the_builder_makes():
    assert (DATA / "reference_deck.csv").read_bytes() == build_deck().to_csv().encode()
    assert load_deck() == build_deck()


def test_ids_run_by_kind(deck):
    kinds = ["tree"] * 36 + ["shrub"] * 8 + ["left_right"] * 45 + ["top_bottom"] * 56 + ["moor"] * 27
    assert [card.kind for card in deck.cards] == kinds
    assert [card.id for card in deck.cards] == [f"D{n:03d}" for n in range(1, 173)]


def test_deck_shows_every_copy(deck):
    copies = Counter(card.first for card in deck.cards) + Counter(card.second for card in deck.cards if card.second)
    assert copies == {one.key: one.copies for one in box_species()}
    assert not deck_warnings(deck)


def test_known_cards_are_kept(deck):
    cards = {card.id: card for card in deck.cards}
    known = read_rows(DATA / "known_cards.csv", ("id", "kind", "first", "second", "status", "note"))
    for row in known:
        card = cards[row["id"]]
        assert (card.kind, card.first, card.second, card.status) == tuple(
            row[name] for name in ("kind", "first", "second", "status")
        )
    others = [card for card in deck.cards if card.id not in {row["id"] for row in known}]
    assert {card.status for card in others} == {"reconstructed"}


def test_known_symbols_are_kept(deck):
    counts = shown(deck.cards)
    assert [counts["roe_deer", symbol] for symbol in SYMBOLS] == [1, 1, 1, 1, 1, 0]
    assert counts["common_lizard", "crab_apple"] >= 1


def test_halves_of_a_card_differ(deck):
    for card in of_kind(deck, "left_right") + of_kind(deck, "top_bottom"):
        assert card.first != card.second
        assert card.first_symbol != card.second_symbol


def test_no_pair_of_species_shares_two_cards(deck):
    pairs = Counter(frozenset((card.first, card.second)) for kind in SPLIT for card in of_kind(deck, kind))
    assert max(pairs.values()) == 1


def test_copies_spread_evenly_over_the_symbols(deck):
    counts = shown(deck.cards)
    for one in box_species():
        if one.key not in SYMBOLS:
            assert is_even(counts[one.key, symbol] for symbol in SYMBOLS), one.key


def test_symbols_are_equally_frequent(deck):
    halves = {
        "shrub": [card.first_symbol for card in of_kind(deck, "shrub")],
        "moor": [card.first_symbol for card in of_kind(deck, "moor")],
        "left": [card.first_symbol for card in of_kind(deck, "left_right")],
        "right": [card.second_symbol for card in of_kind(deck, "left_right")],
        "top": [card.first_symbol for card in of_kind(deck, "top_bottom")],
        "bottom": [card.second_symbol for card in of_kind(deck, "top_bottom")],
    }
    halves["side"] = halves["left"] + halves["right"]
    halves["all"] = halves["shrub"] + halves["moor"] + halves["side"] + halves["top"] + halves["bottom"]
    for name, symbols in halves.items():
        assert is_even(symbols.count(symbol) for symbol in SYMBOLS), name


@pytest.mark.parametrize("kind", SPLIT)
def test_pairs_of_symbols_are_equally_frequent(deck, kind):
    pairs = Counter(frozenset((card.first_symbol, card.second_symbol)) for card in of_kind(deck, kind))
    assert is_even(pairs[frozenset(pair)] for pair in combinations(SYMBOLS, 2))


def test_side_species_stand_on_both_sides(deck):
    lefts = Counter(card.first for card in of_kind(deck, "left_right"))
    rights = Counter(card.second for card in of_kind(deck, "left_right"))
    for key in lefts | rights:
        assert abs(lefts[key] - rights[key]) <= 1, key


def test_seeds_give_different_decks_and_always_the_same():
    decks = {seed: deck_hash(build_deck(seed)) for seed in SEEDS}
    assert len(set(decks.values())) == len(SEEDS)
    assert load_deck("seed:7") == build_deck(7)
    assert deck_hash(load_deck("seed:7")) == decks[7]


# Captured once; another Python or machine must build the same cards.
HASHES = {
    None: "88e877a334760c7a3ccf392662f768a4b1f587d9a35e830b9102c5bbb8f82042",
    1: "e0a742df236cb100071cc54293f6c75b4ea0b384205d36c9d2ebb60bf8a5e999",
}


@pytest.mark.parametrize(("seed", "digest"), HASHES.items())
def test_decks_do_not_depend_on_the_machine(seed, digest):
    assert deck_hash(build_deck(seed)) == digest


def test_builder_serves_other_species_of_the_box(tmp_path):
    """A designer moves one copy from a top species to another one."""
    text = (DATA / "species.csv").read_text(encoding="utf-8")
    text = text.replace("Buzzard,top,4", "Buzzard,top,3").replace("Grey Heron,top,4", "Grey Heron,top,5")
    (tmp_path / "species.csv").write_text(text, encoding="utf-8")
    species = read_species(tmp_path / "species.csv")
    deck = build_deck(1, species)
    assert sum(card.first == "grey_heron" for card in deck.cards) == 5
    assert not deck_warnings(deck, species)
    with pytest.raises(DartmoorError, match="3 copies of buzzard, expected 4"):
        check_deck(deck)


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ([("Gnat,side,2", "Gnat,side,1"), ("Lake Fly,side,3", "Lake Fly,side,4")], None),
        ([("Roe Deer,side,5", "Roe Deer,side,6"), ("Shrew,side,5", "Shrew,side,4")], "known symbols of roe_deer"),
        (
            [("Keeled Skimmer,top,4", "Keeled Skimmer,top,2"), ("Buzzard,top,4", "Buzzard,top,6")],
            "known cards need more copies of keeled_skimmer than there are",
        ),
    ],
)
def test_builder_keeps_known_cards_or_says_that_it_cannot(tmp_path, edits, message):
    text = (DATA / "species.csv").read_text(encoding="utf-8")
    for old, new in edits:
        text = text.replace(old, new)
    (tmp_path / "species.csv").write_text(text, encoding="utf-8")
    species = read_species(tmp_path / "species.csv")
    if message is None:
        check_deck(build_deck(3, species), species)
    else:
        with pytest.raises(DartmoorError, match=message):
            build_deck(3, species)


# Files


def test_deck_file_round_trip(tmp_path, deck):
    deck.write(tmp_path / "deck.csv")
    again = read_deck(tmp_path / "deck.csv")
    assert again.cards == deck.cards
    assert again.name == str(tmp_path / "deck.csv")
    assert deck_hash(again) == deck_hash(deck)


def test_hash_ignores_the_status_and_nothing_else():
    reference = load_deck()
    first = reference.cards[36]
    other_status = replace(reference, cards=tuple(replace(card, status="uncertain") for card in reference.cards))
    other_symbol = next(symbol for symbol in SYMBOLS if symbol != first.first_symbol)
    changed = reference.cards[:36] + (replace(first, first_symbol=other_symbol),) + reference.cards[37:]
    assert deck_hash(other_status) == deck_hash(reference)
    assert deck_hash(replace(reference, cards=changed)) != deck_hash(reference)


def rewritten(tmp_path, edit):
    """Write the reference deck after `edit` changed its list of rows (dicts by column); return the path."""
    rows = [dict(zip(COLUMNS, line, strict=True)) for line in csv.reader(load_deck().to_csv().splitlines())][1:]
    edit(rows)
    path = tmp_path / "mine.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return path


def cell(number, column, value):
    """Return an edit that puts `value` into a cell of the row with that card number."""
    return lambda rows: rows[number].update({column: value})


def swap_halves(number):
    def edit(rows):
        row = rows[number]
        row["first"], row["second"] = row["second"], row["first"]

    return edit


def same_halves(rows):
    rows[44]["second"] = rows[44]["first"]


def same_symbols(rows):
    rows[44]["second_symbol"] = rows[44]["first_symbol"]


def exchange_rows(rows):
    rows[0], rows[1] = rows[1], rows[0]


DECK_MISTAKES = [
    (lambda rows: rows.pop(), "mine.csv: 171 cards, expected 172"),
    (lambda rows: rows.append(rows[0]), "mine.csv: 173 cards, expected 172"),
    (exchange_rows, "mine.csv: card 'D002' in row 1 of the deck, expected D001"),
    (cell(0, "kind", "shrub"), "card D001, column kind: 'shrub' unknown, expected tree"),
    (cell(0, "status", "guessed"), "card D001, column status: 'guessed' unknown, expected one of published, uncertain"),
    (cell(36, "first", "fox"), "card D037, column first: 'fox' unknown, expected one of common_hazel, elderberry"),
    (cell(36, "first_symbol", "oak"), "card D037, column first_symbol: 'oak' unknown, expected one of crab_apple, ash"),
    (cell(36, "second", "gnat"), "card D037, column second: 'gnat' unknown, expected blank"),
    (cell(36, "second_symbol", "ash"), "card D037, column second_symbol: 'ash' unknown, expected blank"),
    (cell(0, "first_symbol", "ash"), "card D001, column first_symbol: 'ash' unknown, expected moor_birch"),
    (cell(36, "first", "elderberry"), "3 copies of common_hazel, expected 4"),
    (swap_halves(89), "card D090, column first: "),
    (same_halves, "card D045, column second: the two halves of a card are different species"),
    (same_symbols, "card D045, column second_symbol: the two halves of a card show different symbols"),
    (cell(44, "second", ""), "mine.csv line 46, column second: blank on card D045"),
    (cell(171, "first_symbol", ""), "mine.csv line 173, column first_symbol: blank on card D172"),
    (cell(5, "id", ""), "mine.csv line 7, column id: blank on card ?"),
    (cell(5, "kind", ""), "mine.csv line 7, column kind: blank on card D006"),
    (cell(5, "status", ""), "mine.csv line 7, column status: blank on card D006"),
]


@pytest.mark.parametrize(("edit", "message"), DECK_MISTAKES)
def test_deck_mistake_is_named(tmp_path, edit, message):
    with pytest.raises(DartmoorError) as error:
        read_deck(rewritten(tmp_path, edit))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_tree_symbol_may_be_left_blank(tmp_path):
    assert read_deck(rewritten(tmp_path, cell(3, "first_symbol", ""))).cards == load_deck().cards


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing.csv", "deck 'nothing.csv' unknown, expected reference, seed:N or the path of a deck file"),
        ("seed:x", "deck 'seed:x': 'x' is not a whole number from 0"),
        ("seed:-1", "deck 'seed:-1': '-1' is not a whole number from 0"),
    ],
)
def test_unknown_deck_is_named(name, message):
    with pytest.raises(DartmoorError) as error:
        load_deck(name)
    assert message in str(error.value)


# Departures from what is known


def exchange(deck: Deck, a: int, b: int, *columns: str) -> Deck:
    """Return the deck with the cells of two cards exchanged."""
    cards = list(deck.cards)
    cards[a] = replace(deck.cards[a], **{column: getattr(deck.cards[b], column) for column in columns})
    cards[b] = replace(deck.cards[b], **{column: getattr(deck.cards[a], column) for column in columns})
    changed = replace(deck, cards=tuple(cards))
    check_deck(changed)
    return changed


def test_other_halves_than_the_known_are_a_warning():
    reference = load_deck()
    other = next(
        number
        for number in range(44, 89)
        if {reference.cards[number].first, reference.cards[number].second}.isdisjoint(
            {"dartmoor_black_rabbit", "capercaillie"}
        )
    )
    halves = ("first", "first_symbol", "second", "second_symbol")
    warnings = deck_warnings(exchange(reference, 53, other, *halves))
    assert any("published: dartmoor_black_rabbit / capercaillie" in line for line in warnings)


def turned_round(deck: Deck, number: int) -> Deck:
    card = deck.cards[number]
    turned = replace(
        card,
        first=card.second,
        first_symbol=card.second_symbol,
        second=card.first,
        second_symbol=card.first_symbol,
    )
    changed = replace(deck, cards=deck.cards[:number] + (turned,) + deck.cards[number + 1 :])
    check_deck(changed)
    return changed


def test_only_a_published_card_may_not_be_turned_round():
    assert not any("D055" in line for line in deck_warnings(turned_round(load_deck(), 54)))
    assert any("D054" in line for line in deck_warnings(turned_round(load_deck(), 53)))


def test_uneven_symbols_are_a_warning():
    """All elderberries show one symbol; then a roe deer shows goat willow."""
    cards = [replace(card, first_symbol="ash") if card.first == "elderberry" else card for card in load_deck().cards]
    warnings = deck_warnings(replace(load_deck(), cards=tuple(cards)))
    assert any(line.startswith("the copies of elderberry show the symbols unevenly") for line in warnings)
    assert any(line.startswith("the shrub species show the symbols unevenly") for line in warnings)
    deer = next(n for n, card in enumerate(load_deck().cards) if card.first == "roe_deer")
    cards[deer] = replace(cards[deer], first_symbol="goat_willow")
    warnings = deck_warnings(replace(load_deck(), cards=tuple(cards)))
    assert "1 copies of roe_deer show goat_willow; published: 0" in warnings


def test_repeated_pairs_and_one_sided_species_are_warnings():
    """A designer's deck may have them: all rabbits left, and one pair of species on two cards."""
    cards = list(load_deck().cards)
    for number in range(44, 89):
        if cards[number].second == "dartmoor_black_rabbit":
            cards[number] = turned_round(load_deck(), number).cards[number]
    one_sided = replace(load_deck(), cards=tuple(cards))
    check_deck(one_sided)
    assert "dartmoor_black_rabbit has 11 left and 0 right halves" in deck_warnings(one_sided)
    tops = [n for n in range(89, 145) if cards[n].first == "barn_owl"]
    partner = cards[tops[0]].second
    other = next(n for n in range(89, 145) if cards[n].second == partner and n not in tops)
    repeated = exchange(load_deck(), tops[1], other, "second", "second_symbol")
    assert f"{min('barn_owl', partner)} and {max('barn_owl', partner)} share 2 cards" in deck_warnings(repeated)


# Template


def test_template_holds_ids_kinds_and_known_halves():
    lines = list(csv.reader(template().splitlines()))
    assert tuple(lines[0]) == COLUMNS
    rows = lines[1:]
    assert [row[:2] for row in rows] == [[card.id, card.kind] for card in load_deck().cards]
    filled = {row[0]: (row[2], row[4]) for row in rows if row[2] or row[4]}
    known = read_rows(DATA / "known_cards.csv", ("id", "kind", "first", "second", "status", "note"))
    assert filled == {row["id"]: (row["first"], row["second"]) for row in known}
    assert not any(row[5] for row in rows)


def test_unfilled_template_names_the_first_blank_cell(tmp_path):
    path = tmp_path / "box.csv"
    path.write_text(template())
    with pytest.raises(DartmoorError, match="box.csv line 2, column first: blank on card D001"):
        read_deck(path)


def test_template_filled_from_a_deck_is_that_deck(tmp_path):
    rows = list(csv.reader(template().splitlines()))
    for row, card in zip(rows[1:], load_deck().cards, strict=True):
        row[2:6] = card.first, card.first_symbol, card.second, card.second_symbol
    path = tmp_path / "box.csv"
    path.write_text("\n".join(map(",".join, rows)) + "\n")
    assert deck_hash(read_deck(path)) == deck_hash(load_deck())
    assert "reconstructed" not in {card.status for card in read_deck(path).cards}


# The command


def test_deck_show_fits_80_columns(deck):
    console = Console(width=80)
    with console.capture() as capture:
        console.print(deck_table(deck))
    text = capture.get()
    assert "…" not in text and max(map(len, text.splitlines())) <= 80
    for card in deck.cards:
        assert f"{card.id} {card.kind}" in text and card.first in text and card.second in text
