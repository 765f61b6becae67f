"""Setup against theory: where the winters lie, what goes into the box, and that chance is even.

With L cards in the last pile, L + 2 places lie under the first winter and the two other winters take any two of them:
the third winter is at place k (0 the highest) with chance k / C(L + 2, 2), k = 1 .. L + 1.
"""

from dataclasses import dataclass
from math import comb

import numpy as np
import pytest
from numba import njit
from scipy.stats import chi2, chisquare

from sim.codes import CaveMode
from sim.deal import clear, deal, setup
from sim.deals import Deal, deal_document
from sim.deck import load_deck
from sim.rules import CARDS_TO_BOX, DECK_SIZE, MAX_PLAYERS, OPENING_HAND, STACK_SIZE, WINTERS
from sim.rulings import Rulings
from sim.state import new_games
from sim.tables import build_tables

PLAYERS = (2, 3, 4, 5)
UNDER_FIRST_WINTER = {2: 44, 3: 49, 4: 54, 5: 59}  # cards, the two other winters included: a third, rounded down, and 2
DEALS = 60_000
LEAST_EXPECTED = 10  # deals in a bin of a chi-square test; rarer places are put together
RARELY = 1e-4  # chance of a worse fit that a fixed seed must not fall below


@dataclass(frozen=True)
class Deals:
    """Many deals: stacks (uint8, (deals, cards and winters)), caves on offer (uint8, (deals, players)), first seats."""

    stacks: np.ndarray
    offers: np.ndarray
    firsts: np.ndarray

    def winter_places(self) -> np.ndarray:
        """Return the places of the three winters in every stack, ascending, int64, shape (deals, 3)."""
        return np.nonzero(self.stacks >= DECK_SIZE)[1].reshape(len(self.stacks), WINTERS)

    def places_under_first(self) -> np.ndarray:
        """Return the places of the other two among the cards under the first winter, shape (deals, 2)."""
        places = self.winter_places()
        return places[:, 1:] - places[:, :1] - 1


@njit(cache=True, nogil=True)
def deal_many(games, tables, players, seed, stacks, offers, firsts):
    """Deal game after game of run `seed` into the rows of the arrays."""
    state = games[0]
    for game in range(len(stacks)):
        clear(games, players, seed, game)
        deal(state, tables)
        for i in range(state.stack_n):
            stacks[game, i] = state.stack[i]
        for i in range(players):
            offers[game, i] = state.offer[i]
        firsts[game] = state.first


def deals_of(tables, players, seed=1):
    """Return DEALS deals of a run."""
    stacks = np.zeros((DEALS, STACK_SIZE - CARDS_TO_BOX[players]), np.uint8)
    offers, firsts = np.zeros((DEALS, players), np.uint8), np.zeros(DEALS, np.uint8)
    deal_many(new_games(), tables[0], players, seed, stacks, offers, firsts)
    return Deals(stacks, offers, firsts)


def tables_with(**rulings):
    return build_tables(load_deck(), Rulings(**rulings))


@pytest.fixture(scope="module")
def deals(tables):
    """Return the deals of each number of players, default rulings."""
    return {players: deals_of(tables, players) for players in PLAYERS}


def pooled(counts, expected):
    """Return observed and expected counts with rare bins at the start put together."""
    first = int(np.searchsorted(np.cumsum(expected), LEAST_EXPECTED))
    return [np.concatenate([[np.sum(values[: first + 1])], values[first + 1 :]]) for values in (counts, expected)]


def third_winter_law(pile):
    """Return the chance of each place of the third winter under the first, for a last pile of `pile` cards."""
    return np.arange(pile + 2) / comb(pile + 2, 2)


@pytest.mark.parametrize("players", PLAYERS)
def test_first_winter_lies_on_the_last_third(deals, players):
    stacks = deals[players].stacks
    places = deals[players].winter_places()
    assert (stacks.shape[1] - 1 - places[:, 0] == UNDER_FIRST_WINTER[players]).all()
    cards = DECK_SIZE - CARDS_TO_BOX[players]
    assert UNDER_FIRST_WINTER[players] == cards // 3 + WINTERS - 1
    assert (places[:, 0] >= players * OPENING_HAND).all()


@pytest.mark.parametrize("players", PLAYERS)
def test_third_winter_follows_the_exact_law(deals, players):
    law = third_winter_law(UNDER_FIRST_WINTER[players] - 2)
    assert law.sum() == pytest.approx(1)
    counts = np.bincount(deals[players].places_under_first()[:, 1], minlength=len(law))
    assert chisquare(*pooled(counts, DEALS * law)).pvalue > RARELY


@pytest.mark.parametrize("players", PLAYERS)
def test_second_and_third_winter_take_any_two_places(deals, players):
    places = deals[players].places_under_first()
    n = UNDER_FIRST_WINTER[players]
    pairs = np.bincount(places[:, 0] * n + places[:, 1], minlength=n * n).reshape(n, n)
    is_pair = np.triu(np.ones((n, n), bool), 1)
    assert pairs[~is_pair].sum() == 0
    assert chisquare(pairs[is_pair]).pvalue > RARELY


@pytest.mark.parametrize("players", PLAYERS)
def test_ruling_ceil_puts_one_more_card_into_the_last_pile(players):
    dealt = deals_of(tables_with(winter_pile="ceil"), players)
    under = dealt.stacks.shape[1] - 1 - dealt.winter_places()[:, 0]
    cards = DECK_SIZE - CARDS_TO_BOX[players]
    assert (under == -(-cards // 3) + 2).all() and cards % 3 == 1
    law = third_winter_law(-(-cards // 3))
    counts = np.bincount(dealt.places_under_first()[:, 1], minlength=len(law))
    assert chisquare(*pooled(counts, DEALS * law)).pvalue > RARELY


@pytest.mark.parametrize("players", PLAYERS)
def test_ruling_random_takes_the_large_pile_in_one_third(players):
    dealt = deals_of(tables_with(winter_pile="random"), players)
    large = dealt.stacks.shape[1] - 1 - dealt.winter_places()[:, 0] - UNDER_FIRST_WINTER[players]
    assert set(large) == {0, 1}
    assert chisquare(np.bincount(large), [DEALS * 2 / 3, DEALS / 3]).pvalue > RARELY
    law = third_winter_law(UNDER_FIRST_WINTER[players] - 1)
    counts = np.bincount(dealt.places_under_first()[large == 1, 1], minlength=len(law))
    assert chisquare(*pooled(counts, counts.sum() * law)).pvalue > RARELY


@pytest.mark.parametrize("players", PLAYERS)
def test_box_and_stack_hold_every_card_once(deals, players):
    stacks = deals[players].stacks
    cards = DECK_SIZE - CARDS_TO_BOX[players]
    assert stacks.shape[1] == cards + WINTERS
    ordered = np.sort(stacks, axis=1)
    assert (np.diff(ordered.astype(np.int64), axis=1) > 0).all()
    assert (ordered[:, -WINTERS:] == np.arange(DECK_SIZE, STACK_SIZE)).all()
    document = deal_document(tables_with(), players, 1, 0)
    assert len(document["box"]) == CARDS_TO_BOX[players]


@pytest.mark.parametrize("players", PLAYERS)
def test_every_card_is_equally_likely_to_stay_in_the_box(deals, players):
    """Given the size of the box, X^2 over the cards times (m - 1) / (m - box) follows chi-square with m - 1."""
    box = CARDS_TO_BOX[players]
    if box == 0:
        return
    stacks = deals[players].stacks
    boxed = DEALS - np.bincount(stacks[stacks < DECK_SIZE], minlength=DECK_SIZE)
    expected = DEALS * box / DECK_SIZE
    statistic = ((boxed - expected) ** 2 / expected).sum() * (DECK_SIZE - 1) / (DECK_SIZE - box)
    assert RARELY < chi2.sf(statistic, DECK_SIZE - 1) < 1 - RARELY


def test_every_card_is_equally_likely_at_every_place(deals):
    """Counts of a random permutation: X^2 times (m - 1) / m follows chi-square with (m - 1)^2 degrees of freedom."""
    stacks = deals[MAX_PLAYERS].stacks
    cards = stacks[stacks < DECK_SIZE].reshape(DEALS, DECK_SIZE).astype(np.int64)
    cells = np.bincount((cards * DECK_SIZE + np.arange(DECK_SIZE)).ravel(), minlength=DECK_SIZE**2)
    expected = DEALS / DECK_SIZE
    statistic = ((cells - expected) ** 2 / expected).sum() * (DECK_SIZE - 1) / DECK_SIZE
    assert RARELY < chi2.sf(statistic, (DECK_SIZE - 1) ** 2) < 1 - RARELY


@pytest.mark.parametrize("players", PLAYERS)
def test_every_order_of_caves_is_equally_likely(deals, players, tables):
    caves = int(tables[0]["caves_n"])
    offers = deals[players].offers.astype(np.int64)
    orders, counts = np.unique(offers @ caves ** np.arange(players), return_counts=True)
    assert len(orders) == np.prod(np.arange(caves - players + 1, caves + 1))
    assert chisquare(counts).pvalue > RARELY


@pytest.mark.parametrize("players", PLAYERS)
def test_first_player(deals, players):
    assert (deals[players].firsts == 0).all()
    firsts = deals_of(tables_with(first_player="random"), players).firsts
    counts = np.bincount(firsts)
    assert len(counts) == players and chisquare(counts).pvalue > RARELY


def test_rulings_on_the_deal_change_nothing_else_that_chance_decides(deals):
    """Common random numbers: shuffle, caves and the draw of the first player do not depend on the rulings."""
    other = deals_of(tables_with(winter_pile="ceil", first_player="random"), 3)
    mine = deals[3]
    is_card = mine.stacks < DECK_SIZE
    assert (mine.stacks[is_card] == other.stacks[other.stacks < DECK_SIZE]).all()
    assert (mine.offers == other.offers).all()


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("mode", [CaveMode.DRAFT, CaveMode.RANDOM, CaveMode.GIVEN])
def test_a_deal_document_sets_up_the_same_game(tables, players, mode):
    """Byte by byte, but for the stream that the document replaces: it has been drawn from, and the other not."""
    given = np.array([3, 1, 3, 0, 2], np.uint8)
    for game in (0, 7):
        direct, dealt = new_games(), new_games()
        setup(direct, tables[0], players, np.uint64(9), game, int(mode), given)
        Deal(deal_document(tables, players, 9, game), tables).setup(dealt, 9, mode, given)
        for name in direct.dtype.names:
            if name != "rng":
                assert (direct[name] == dealt[name]).all(), name
