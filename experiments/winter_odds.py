"""The exact law of the winters in the stack, and the odds at the table. Needs nothing compiled, so it answers at once.

The first winter lies at a known depth, on top of the last of three piles; the other two are uniform among the cards
under it. Nobody's play changes the order of the stack, so these laws hold for every policy.

A *card* here is a deck card that somebody takes from the stack. A winter is laid aside and replaced at once, so it is
no card; the game ends when the third is turned. `stack_left` counts everything in the stack, winters too, as one would
at the table.

Exact is what follows from this law alone: the chance with the next card, and how many cards end the game with a given
chance. How many cards a turn takes is up to the players. So the chances within a turn and a round mix the law over the
cards that turns were measured to take, and are estimates.
"""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from sim.errors import DartmoorError
from sim.rules import CARDS_TO_BOX, DECK_SIZE, MAX_PLAYERS, MIN_PLAYERS, OPENING_HAND, WINTERS

PILES = 3
HIDDEN_WINTERS = 2  # under the first
LEVELS = (0.5, 0.8, 0.95)
PACE_FILE = Path(__file__).parent / "data" / "pace.csv"
PACE_COLUMNS = ("policy", "players", "winters_seen", "cards", "turns", "cut", "games")
EXACT = ("within_draw", "cards_to", "stack_down_by")  # keys of the odds that follow from the law alone
ESTIMATED = ("within_turn", "within_round")
MOST_SPREAD = 1.5  # cards a turn: half of all turns take one card, half two


def deck_cards(players: int) -> int:
    """Return the deck cards that are in the stack before the opening hands are dealt."""
    return DECK_SIZE - CARDS_TO_BOX[players]


def pile_sizes(players: int, winter_pile: str = "floor") -> dict[int, Fraction]:
    """Return the chance of each number of deck cards in the winters' pile, by the ruling winter_pile."""
    cards = deck_cards(players)
    low, rest = divmod(cards, PILES)
    if winter_pile == "floor":
        return {low: Fraction(1)}
    if winter_pile == "ceil":
        return {low + (rest > 0): Fraction(1)}
    sizes = {low: Fraction(PILES - rest, PILES), low + 1: Fraction(rest, PILES)}
    return {size: chance for size, chance in sizes.items() if chance}


def depth_law(players: int, winter: int, winter_pile: str = "floor") -> dict[int, Fraction]:
    """Return the chance of each depth of a winter: its place in the whole stack, 1 on top, opening hands included.

    Of m + 2 places under the first winter, the second and third winter take two at random, the third the lower: it is
    at place i with chance (i - 1) / C(m + 2, 2), the second with chance (m + 2 - i) / C(m + 2, 2).
    """
    law: dict[int, Fraction] = {}
    for pile, chance in pile_sizes(players, winter_pile).items():
        first = deck_cards(players) - pile + 1
        places = pile + HIDDEN_WINTERS
        if winter == 1:
            law[first] = law.get(first, Fraction(0)) + chance
            continue
        for place in range(1, places + 1):
            ways = place - 1 if winter == WINTERS else places - place
            if ways:
                share = chance * Fraction(ways, math.comb(places, 2))
                law[first + place] = law.get(first + place, Fraction(0)) + share
    return dict(sorted(law.items()))


@dataclass(frozen=True)
class Situation:
    """What can be seen at the table: players, everything left in the stack (winters too), winters laid beside it."""

    players: int
    stack_left: int
    winters_seen: int
    winter_pile: str = "floor"

    def __post_init__(self) -> None:
        if not MIN_PLAYERS <= self.players <= MAX_PLAYERS:
            raise DartmoorError(f"--players: {self.players}, expected {MIN_PLAYERS} to {MAX_PLAYERS}")
        if not 0 <= self.winters_seen < WINTERS:
            raise DartmoorError(f"--winters-seen: {self.winters_seen}, expected 0 to {WINTERS - 1}")
        low, high = self.possible()
        if not low <= self.stack_left <= high:
            raise DartmoorError(
                f"--stack-left: {self.stack_left} with {self.players} players and {self.winters_seen} winters seen, "
                f"expected {low} to {high} (winters in the stack count)"
            )

    def possible(self) -> tuple[int, int]:
        """Return the least and the most cards that the stack can hold after so many winters."""
        pile = max(pile_sizes(self.players, self.winter_pile))
        if self.winters_seen == 0:
            least = min(pile_sizes(self.players, self.winter_pile)) + WINTERS
            return least, deck_cards(self.players) + WINTERS - self.players * OPENING_HAND
        return WINTERS - self.winters_seen, pile + WINTERS - self.winters_seen

    def cards_above_end(self) -> dict[int, Fraction]:
        """Return the chance of each number of cards that can still be taken before the third winter is turned.

        With w winters among s places, uniformly, the last is at place j with chance C(j - 1, w - 1) / C(s, w), and
        j - w of the places above it are cards. This is the hypergeometric law: taking k cards ends the game exactly
        when all w winters are among the top k + w - 1 places.
        """
        if self.winters_seen:
            return _above_last(self.stack_left, WINTERS - self.winters_seen)
        law: dict[int, Fraction] = {}
        fitting = {
            pile: chance
            for pile, chance in pile_sizes(self.players, self.winter_pile).items()
            if pile + WINTERS <= self.stack_left
        }
        for pile, chance in fitting.items():
            before_first = self.stack_left - pile - WINTERS
            for cards, share in _above_last(pile + HIDDEN_WINTERS, HIDDEN_WINTERS).items():
                key = before_first + cards
                law[key] = law.get(key, Fraction(0)) + share * chance / sum(fitting.values())
        return dict(sorted(law.items()))


def _above_last(places: int, winters: int) -> dict[int, Fraction]:
    total = math.comb(places, winters)
    return {last - winters: Fraction(math.comb(last - 1, winters - 1), total) for last in range(winters, places + 1)}


def end_chance(law: dict[int, Fraction], cards: int) -> float:
    """Return the exact chance that the game ends while `cards` cards are taken, by a law of `cards_above_end`."""
    return float(sum((chance for above, chance in law.items() if above < cards), Fraction(0)))


def mixed_chance(law: dict[int, Fraction], shares: Sequence[float]) -> float:
    """Return the chance that the game ends while 0, 1, 2, .. cards are taken with the chances `shares`."""
    return math.fsum(share * end_chance(law, cards) for cards, share in enumerate(shares) if share)


def cards_to(law: dict[int, Fraction], level: float) -> int:
    """Return the least number of cards that end the game with a chance of at least `level`."""
    reached, exact = Fraction(0), Fraction(str(level))
    for above, chance in sorted(law.items()):
        reached += chance
        if reached >= exact:
            return above + 1
    raise AssertionError("the chances of a law add up to 1")


@dataclass(frozen=True)
class Turn:
    """The deck cards that a turn takes from the stack: the chances of 0, 1, 2, .., and where they are from."""

    shares: tuple[float, ...]
    source: str

    @property
    def pace(self) -> float:
        """Return the mean."""
        return math.fsum(cards * share for cards, share in enumerate(self.shares))

    def several(self, turns: int) -> tuple[float, ...]:
        """Return the chances of 0, 1, 2, .. cards in so many turns together, each as if independent of the others."""
        together = [1.0]
        for _ in range(turns):
            longer = [0.0] * (len(together) + len(self.shares) - 1)
            for before, chance in enumerate(together):
                for cards, share in enumerate(self.shares):
                    longer[before + cards] += chance * share
            together = longer
        return tuple(together)


def product_limit(turns: Sequence[int], cut: Sequence[int]) -> tuple[float, ...]:
    """Return the chance that a turn takes 0, 1, 2, .. cards, the last number being one more than was seen.

    The third winter cuts a turn short: of such a turn one knows only that it would have taken more cards. To leave
    these turns out, or to count them as they are, would make turns look too short. The product-limit estimator does
    neither (Kaplan and Meier, "Nonparametric estimation from incomplete observations", J. Am. Stat. Assoc. 53, 1958):
    a turn bears on whether to stop at k cards as long as it got so far. It is unbiased here because players cannot see
    where the winter lies.

    Parameters
    ----------
    turns, cut
        By number of cards: turns that took exactly so many, and those that the third winter ended after so many.
    """
    shares, going_on, reached = [], 1.0, sum(turns) + sum(cut)
    for ended, stopped in zip(turns, cut, strict=True):
        shares.append(going_on * ended / reached if reached else 0.0)
        going_on -= shares[-1]
        reached -= ended + stopped
    last = going_on if cut[-1] else 0.0
    return (*shares, last)


def assumed_turn(pace: float) -> Turn:
    """Return a turn of which only the mean is known.

    Up to 1.5 cards a turn takes one or two cards with equal chance, otherwise none, which is close to what was measured
    for greedy; above that, one of the two whole numbers next to the mean.
    """
    if not (math.isfinite(pace) and 0 <= pace <= DECK_SIZE):
        raise DartmoorError(f"--pace: {pace:g}, expected 0 to {DECK_SIZE} cards a turn")
    if pace <= MOST_SPREAD:
        some = pace / (2 * MOST_SPREAD)
        return Turn((1 - 2 * some, some, some), "assumed for a mean: 1 or 2 cards with equal chance, otherwise none")
    low = math.floor(pace)
    shares = (*[0.0] * low, low + 1 - pace, pace - low)
    return Turn(shares, "assumed for a mean: one of the two whole numbers next to it")


def winter_odds(situation: Situation, turn: Turn) -> dict[str, Any]:
    """Return the odds at the table, as `winter odds --json` prints them.

    Parameters
    ----------
    situation
        What can be seen.
    turn
        Deck cards that a turn takes from the stack.

    Returns
    -------
    dict
        Exact, by the law alone: `within_draw`, the chance that the third winter is turned by the next card taken;
        `cards_to`, cards to be taken until the game has ended with a chance of 50, 80 and 95 per cent;
        `stack_down_by`, which counts the winters turned on the way too: what the stack shrinks by.
        Estimates, as good as `turn_cards`, the chances of 0, 1, 2, .. cards a turn, from `turn_cards_from`:
        `within_turn` and `within_round`, as many turns as players, extra turns counting. `pace` is the mean of
        `turn_cards`. `exact` and `estimated` name the keys.
    """
    law = situation.cards_above_end()
    cards = {f"{100 * level:g}": cards_to(law, level) for level in LEVELS}
    winters = WINTERS - situation.winters_seen
    return {
        "players": situation.players,
        "stack_left": situation.stack_left,
        "winters_seen": situation.winters_seen,
        "within_draw": end_chance(law, 1),
        "within_turn": mixed_chance(law, turn.shares),
        "within_round": mixed_chance(law, turn.several(situation.players)),
        "cards_to": cards,
        "stack_down_by": {level: number + winters - 1 for level, number in cards.items()},
        "exact": list(EXACT),
        "estimated": list(ESTIMATED),
        "pace": turn.pace,
        "turn_cards": list(turn.shares),
        "turn_cards_from": turn.source,
    }


def measured_turn(policy: str, players: int, winters_seen: int, path: Path = PACE_FILE) -> Turn:
    """Return the deck cards that a policy's turns took from the stack, after so many winters.

    Raises
    ------
    DartmoorError
        It was not measured; the message names the policies there are.
    """
    rows = read_paces(path)
    key = (policy, str(players), str(winters_seen))
    found = [row for row in rows if (row["policy"], row["players"], row["winters_seen"]) == key]
    if not found:
        known = ", ".join(dict.fromkeys(row["policy"] for row in rows))
        raise DartmoorError(f"--policy: no pace was measured for {policy!r}, expected one of {known}; or give --pace")
    try:
        games, turns, cut = int(found[0]["games"]), *_by_cards(found)
    except ValueError as error:
        raise DartmoorError(f"{path}: damaged, {policy} with {players} players: {error}") from error
    source = f"measured: {policy}, {players} players, winters seen {winters_seen}, {games} games, {sum(turns)} turns"
    return Turn(product_limit(turns, cut), source)


def _by_cards(rows: Sequence[dict[str, str]]) -> tuple[list[int], list[int]]:
    """Return the columns `turns` and `cut` of rows by number of cards, 0 where a number has no row."""
    by_cards = {int(row["cards"]): (int(row["turns"]), int(row["cut"])) for row in rows}
    pairs = [by_cards.get(cards, (0, 0)) for cards in range(max(by_cards) + 1)]
    return [turns for turns, _ in pairs], [cut for _, cut in pairs]


def read_paces(path: Path = PACE_FILE) -> list[dict[str, str]]:
    """Return the rows of a pace file; its first lines, marked #, say how it was made."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise DartmoorError(f"{path}: cannot be read: {error.strerror}") from error
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    if not rows or tuple(rows[0]) != PACE_COLUMNS:
        raise DartmoorError(f"{path}: damaged, expected the columns {','.join(PACE_COLUMNS)}")
    return rows


def pace_text(rows: Sequence[dict[str, Any]], command: str) -> str:
    """Return the content of a pace file."""
    text = io.StringIO()
    text.write(
        "# Turns by the deck cards they took from the stack, by policy, players and winters seen when they began;\n"
    )
    text.write("# cut: turns that the third winter ended after so many cards. Made by:\n")
    text.write(f"# {command}\n")
    writer = csv.DictWriter(text, PACE_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
