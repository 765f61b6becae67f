"""Two small searches for the reconstructed deck: which halves share a card, and which half shows which symbol.

Both mend random arrangements by swaps. They draw on `random.Random.random` alone, the one method whose sequence Python
promises never to change, so a seed gives the same deck everywhere.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from random import Random
from typing import TypeVar

T = TypeVar("T")
Pair = tuple[str, str]  # of species, or of symbols, as first and second half

RESTARTS = 20
PAIRING_STEPS = 500  # 16 were enough for both kinds of cards in each of 200 decks
SYMBOL_STEPS = 4000  # 1800 were enough for both kinds of cards in each of 200 decks
CLASH = 1000  # cost of two equal halves on a card, far above any unevenness


def below(rng: Random, n: int) -> int:
    """Return a random whole number from 0 to n - 1."""
    return int(rng.random() * n)


def shuffled(rng: Random, items: Iterable[T]) -> list[T]:
    """Return the items in random order (Fisher and Yates)."""
    result = list(items)
    for i in range(len(result) - 1, 0, -1):
        k = below(rng, i + 1)
        result[i], result[k] = result[k], result[i]
    return result


def spread(counts: Iterable[int]) -> int:
    """Return the largest minus the smallest of the counts."""
    values = list(counts)
    return max(values) - min(values)


def _unordered(a: str, b: str) -> Pair:
    return (a, b) if a < b else (b, a)


# Species


def pair_species(rng: Random, known: Sequence[Pair], firsts: Sequence[str], seconds: Sequence[str]) -> list[Pair]:
    """Return the species on the cards that are not known: every first with one second.

    No card has the same species twice, and no two species meet on two cards (known cards counted) if the search can
    avoid it; otherwise the best arrangement found is returned.
    """
    best: list[Pair] = []
    best_cost = -1
    for _ in range(RESTARTS):
        pairs = list(zip(shuffled(rng, firsts), shuffled(rng, seconds), strict=True))
        cost = _mend_pairs(rng, known, pairs)
        if best_cost < 0 or cost < best_cost:
            best, best_cost = pairs, cost
        if best_cost == 0:
            break
    return best


def _mend_pairs(rng: Random, known: Sequence[Pair], pairs: list[Pair]) -> int:
    """Swap seconds until no card clashes or repeats another, or the steps run out; return the cost left."""
    meetings = Counter(_unordered(*pair) for pair in [*known, *pairs])
    for _ in range(PAIRING_STEPS):
        faulty = [i for i, pair in enumerate(pairs) if _pair_cost(meetings, pair) > 0]
        if not faulty:
            break
        i = faulty[below(rng, len(faulty))]
        _swap_seconds(meetings, pairs, i, _best_partner(rng, meetings, pairs, i))
    return sum(_pair_cost(meetings, pair) for pair in pairs)


def _pair_cost(meetings: Counter[Pair], pair: Pair) -> int:
    return CLASH if pair[0] == pair[1] else meetings[_unordered(*pair)] - 1


def _best_partner(rng: Random, meetings: Counter[Pair], pairs: list[Pair], i: int) -> int:
    """Return the card whose second half card i should take; the first found in random order wins ties."""
    best, best_cost = i, -1
    for k in shuffled(rng, range(len(pairs))):
        _swap_seconds(meetings, pairs, i, k)
        cost = _pair_cost(meetings, pairs[i]) + _pair_cost(meetings, pairs[k])
        _swap_seconds(meetings, pairs, i, k)
        if k != i and (best_cost < 0 or cost < best_cost):
            best, best_cost = k, cost
    return best


def _swap_seconds(meetings: Counter[Pair], pairs: list[Pair], i: int, k: int) -> None:
    for j in (i, k):
        meetings[_unordered(*pairs[j])] -= 1
    (a, b), (c, d) = pairs[i], pairs[k]
    if i != k:
        pairs[i], pairs[k] = (a, d), (c, b)
    for j in (i, k):
        meetings[_unordered(*pairs[j])] += 1


# Symbols


class SymbolSearch:
    """Symbols on the halves of one kind of card, with the counts that should become even.

    Parameters
    ----------
    cards
        The species on the first and second half of each card.
    symbols
        The symbols that the copies of each species show; every list is used up.
    """

    def __init__(self, rng: Random, cards: Sequence[Pair], symbols: dict[str, list[str]], names: Sequence[str]) -> None:
        self.rng = rng
        supply = {key: shuffled(rng, shown) for key, shown in symbols.items()}
        self.shown = [[supply[key].pop() for key in card] for card in cards]
        self.places: dict[str, list[tuple[int, int]]] = {}
        for i, card in enumerate(cards):
            for half, key in enumerate(card):
                self.places.setdefault(key, []).append((i, half))
        self.pairs: Counter[Pair] = Counter({pair: 0 for pair in combinations(sorted(names), 2)})
        self.halves: Counter[tuple[int, str]] = Counter({(half, name): 0 for half in (0, 1) for name in names})
        self.clashes = 0
        for i in range(len(cards)):
            self._count(i, 1)

    def _count(self, i: int, change: int) -> None:
        first, second = self.shown[i]
        self.halves[0, first] += change
        self.halves[1, second] += change
        if first == second:
            self.clashes += change
        else:
            self.pairs[_unordered(first, second)] += change

    def _swap(self, a: tuple[int, int], b: tuple[int, int]) -> None:
        cards = {a[0], b[0]}
        for i in cards:
            self._count(i, -1)
        shown = self.shown
        shown[a[0]][a[1]], shown[b[0]][b[1]] = shown[b[0]][b[1]], shown[a[0]][a[1]]
        for i in cards:
            self._count(i, 1)

    def cost(self) -> int:
        """Return clashes first, then how unevenly symbols meet on cards and stand on first and second halves."""
        uneven = sum(n * n for n in self.pairs.values()) + sum(n * n for n in self.halves.values())
        return CLASH * self.clashes + uneven

    def is_even(self) -> bool:
        """Return whether nothing is left to mend."""
        firsts, seconds = ([n for (half, _), n in self.halves.items() if half == side] for side in (0, 1))
        return self.clashes == 0 and max(map(spread, (self.pairs.values(), firsts, seconds))) <= 1

    def run(self) -> None:
        """Swap symbols between copies of a species while that is no step back, until even or out of steps."""
        species = sorted(self.places)
        cost = self.cost()
        for step in range(SYMBOL_STEPS):
            places = self.places[species[step % len(species)]]
            a, b = places[below(self.rng, len(places))], places[below(self.rng, len(places))]
            self._swap(a, b)
            changed = self.cost()
            if changed > cost:
                self._swap(a, b)
            elif changed < cost:
                cost = changed
                if self.is_even():
                    return


def spread_symbols(
    rng: Random, cards: Sequence[Pair], symbols: dict[str, list[str]], names: Sequence[str]
) -> list[list[str]]:
    """Return the symbols of both halves of each card, never the same twice on a card.

    The 15 pairs of symbols meet about equally often, and each symbol stands about equally often on first and on second
    halves: the best of some searches.
    """
    best: SymbolSearch | None = None
    for _ in range(RESTARTS):
        search = SymbolSearch(rng, cards, symbols, names)
        search.run()
        if best is None or search.cost() < best.cost():
            best = search
        if best.is_even():
            break
    assert best is not None, "there is at least one restart"
    return best.shown
