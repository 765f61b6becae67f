"""The reconstructed deck: everything that is known of the cards, and otherwise as even as possible.

Which species share a card and most symbols are not published (rulings, The deck that is not published). `build_deck`
keeps the known cards and symbols; seed None gives the reference deck, other seeds other decks within the same bounds:

- no two species meet on two cards;
- the copies of a species show the six symbols equally often, give or take one;
- so does each kind of half (shrubs, moors, tops, bottoms, lefts, rights), and so do all of them together;
- each pair of symbols meets equally often on the cards of a kind, give or take one;
- a side species has as many left as right halves, give or take one.

Trees are six copies of six species, in blocks of ids; D005 makes the first block moor birches. Shrubs and moors stand
in blocks too, in the order of species.csv.
"""

from collections.abc import Sequence
from random import Random

from sim.codes import Slot
from sim.deck import (
    HALF_SLOTS,
    KINDS,
    REFERENCE,
    SEED_PREFIX,
    Card,
    Deck,
    card_id,
    check_deck,
)
from sim.deck_solver import Pair, pair_species, shuffled, spread, spread_symbols
from sim.errors import DartmoorError
from sim.grammar import SYMBOL_NAMES
from sim.known_cards import KnownCard, known_cards, known_symbols
from sim.species import Species, box_species

NAMES = tuple(SYMBOL_NAMES)
SYMBOL_TRIES = 200  # a supply even over all kinds is found after a few


def build_deck(seed: int | None = None, species: Sequence[Species] | None = None) -> Deck:
    """Return the deck of a seed, or the reference deck.

    Parameters
    ----------
    seed
        Any whole number; None for the reference deck.
    species
        The species to share out; those of the box if None.

    Raises
    ------
    DartmoorError
        The known cards or symbols cannot be kept with these species.
    """
    species = box_species() if species is None else species
    name = REFERENCE if seed is None else f"{SEED_PREFIX}{seed}"
    rng = Random(f"Dartmoor deck {name}")  # a text, so that no seed gives the reference deck
    known = {card.id: card for card in known_cards()}
    supply = _symbol_supply(rng, species)
    halves: dict[str, list[tuple[str, ...]]] = {}
    symbols: dict[str, list[Sequence[str]]] = {}
    for kind in HALF_SLOTS:
        if len(HALF_SLOTS[kind]) == 1:
            halves[kind] = [(key,) for key in _whole_cards(kind, species, known)]
            symbols[kind] = [(supply[key].pop(),) for (key,) in halves[kind]]
        else:
            pairs = _split_cards(rng, kind, species, known)
            halves[kind] = list(pairs)
            shown = {key: supply[key] for pair in pairs for key in pair}
            symbols[kind] = list(spread_symbols(rng, pairs, shown, NAMES))
    deck = Deck(_cards(halves, symbols, known), name)
    check_deck(deck, species)
    return deck


def _cards(
    halves: dict[str, list[tuple[str, ...]]], symbols: dict[str, list[Sequence[str]]], known: dict[str, KnownCard]
) -> tuple[Card, ...]:
    """Return the cards in the order of their ids, from species and symbols by kind."""
    cards = []
    for number, kind in enumerate(KINDS):
        i = number - KINDS.index(kind)
        first, second = (*halves[kind][i], "")[:2]
        first_symbol, second_symbol = (*symbols[kind][i], "")[:2]
        known_card = known.get(card_id(number))
        status = known_card.status if known_card else "reconstructed"
        cards.append(Card(card_id(number), kind, first, first_symbol, second, second_symbol, status))
    return tuple(cards)


def _of_slot(species: Sequence[Species], *slots: Slot) -> list[Species]:
    return [one for one in species if one.slot in slots]


def _known_of(kind: str, known: dict[str, KnownCard]) -> dict[int, Pair]:
    """Return the species of the known cards of a kind, by place among the cards of the kind."""
    places = [card_id(number) for number, name in enumerate(KINDS) if name == kind]
    return {places.index(card.id): (card.first, card.second) for card in known.values() if card.kind == kind}


def _take(pool: list[str], key: str) -> None:
    if key not in pool:
        raise DartmoorError(f"known cards need more copies of {key} than there are")
    pool.remove(key)


# Species


def _whole_cards(kind: str, species: Sequence[Species], known: dict[str, KnownCard]) -> list[str]:
    """Return the species of the trees, shrubs or moors in blocks: known cards' first, then as in species.csv."""
    facts = {place: pair[0] for place, pair in _known_of(kind, known).items()}
    blocks = sorted(_of_slot(species, HALF_SLOTS[kind][0]), key=lambda one: one.key not in facts.values())
    keys = [one.key for one in blocks for _ in range(one.copies)]
    for place, key in facts.items():
        if keys[place] != key:
            raise DartmoorError(f"known cards: {key} cannot be {kind} {place + 1} with blocks of copies")
    return keys


def _split_cards(rng: Random, kind: str, species: Sequence[Species], known: dict[str, KnownCard]) -> list[Pair]:
    """Return the species of the cards of a kind, known ones in their places."""
    facts = _known_of(kind, known)
    if kind == "left_right":
        firsts, seconds = _sides(rng, species, list(facts.values()))
    else:
        firsts, seconds = (
            [one.key for one in _of_slot(species, slot) for _ in range(one.copies)] for slot in HALF_SLOTS[kind]
        )
    for first, second in facts.values():
        _take(firsts, first)
        _take(seconds, second)
    others = iter(pair_species(rng, list(facts.values()), firsts, seconds))
    return [facts[place] if place in facts else next(others) for place in range(KINDS.count(kind))]


def _sides(rng: Random, species: Sequence[Species], facts: Sequence[Pair]) -> tuple[list[str], list[str]]:
    """Return the species on left and on right halves: half of the copies each.

    An odd copy goes where the known cards need it, otherwise to the side that has fewer.
    """
    sides = _of_slot(species, Slot.SIDE)
    lefts, rights = ([one.key for one in sides for _ in range(one.copies // 2)] for _ in range(2))
    free = []
    for key in shuffled(rng, (one.key for one in sides if one.copies % 2)):
        if [first for first, _ in facts].count(key) > lefts.count(key):
            lefts.append(key)
        elif [second for _, second in facts].count(key) > rights.count(key):
            rights.append(key)
        else:
            free.append(key)
    for key in free:
        (lefts if len(lefts) <= len(rights) else rights).append(key)
    return lefts, rights


# Symbols


def _symbol_supply(rng: Random, species: Sequence[Species]) -> dict[str, list[str]]:
    """Return the symbols that the copies of each species show: even by species, by kind of half, and over all."""
    best: dict[str, list[str]] = {}
    best_spread = -1
    for _ in range(SYMBOL_TRIES):
        supply: dict[str, list[str]] = {}
        totals = dict.fromkeys(NAMES, 0)
        for slot in (Slot.SHRUB, Slot.MOOR, Slot.TOP, Slot.BOTTOM, Slot.SIDE):
            supply |= _slot_supply(rng, _of_slot(species, slot), totals)
        if best_spread < 0 or spread(totals.values()) < best_spread:
            best, best_spread = supply, spread(totals.values())
        if best_spread <= 1:
            break
    return best | {one.key: [one.key] * one.copies for one in _of_slot(species, Slot.TREE)}


def _slot_supply(rng: Random, species: Sequence[Species], totals: dict[str, int]) -> dict[str, list[str]]:
    """Return the symbols of the species of one slot, and add them to `totals`.

    Each species takes the symbols that are rarest so far, which keeps the slot even; those with known symbols come
    first, while they can still choose.
    """
    constrained = {fact.species for fact in known_symbols()}
    counts = dict.fromkeys(NAMES, 0)
    supply = {}
    for one in sorted(shuffled(rng, species), key=lambda one: one.key not in constrained):
        supply[one.key] = _species_supply(rng, one, counts, totals)
        for name in supply[one.key]:
            counts[name] += 1
            totals[name] += 1
    return supply


def _species_supply(rng: Random, one: Species, counts: dict[str, int], totals: dict[str, int]) -> list[str]:
    """Return the symbols of one species: every symbol equally often, and the copies left over on the rarest symbols."""
    least = dict.fromkeys(NAMES, 0)
    most = dict.fromkeys(NAMES, one.copies)
    for fact in known_symbols():
        if fact.species == one.key:
            least[fact.symbol], most[fact.symbol] = fact.least, fact.most
    each, extra = divmod(one.copies, len(NAMES))
    order = sorted(
        (name for name in shuffled(rng, NAMES) if most[name] > each),
        key=lambda name: (least[name] <= each, counts[name], totals[name]),
    )
    result = [name for name in NAMES for _ in range(each)] + order[:extra]
    if len(order) < extra or any(not least[name] <= result.count(name) <= most[name] for name in NAMES):
        raise DartmoorError(f"known symbols of {one.key} do not spread evenly over {one.copies} copies")
    return result
