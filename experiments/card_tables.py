"""Card values as tables for people (rich): on a narrow console the figures that matter most, on a wide one all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from experiments.report_pictures import CLAIM, is_clear
from experiments.tables import number

CLEAR = "*"
WIDE = 140  # columns of a console that holds all figures
READING = "figures ± 95 %, where an interval is lopsided as far as its farther end"
MORE = f"; all figures: a console of {WIDE} columns (COLUMNS={WIDE}), --json or --out"


@dataclass(frozen=True)
class Figure:
    """A column of the values: its heading, its estimate in a row, and how that is shown."""

    heading: str
    name: str
    digits: int = 1
    scale: float = 100
    is_tested: bool = False  # a difference from 0 with a q-value
    is_main: bool = False  # shown on a narrow console too


FIGURES = (
    Figure("in the\nopening\nhand %", "oh"),
    Figure("came\nlater\n%", "gd"),
    Figure("win rate\never held\n(GIH) %", "gih", is_main=True),
    Figure("never\nheld\n(GNS) %", "gns"),
    Figure("ever -\nnever\n%", "iih", is_tested=True),
    Figure("same turn\ndifference\n%", "iih_turn", is_tested=True, is_main=True),
    Figure("in final\nforest\n%", "played"),
    Figure("points\nwhen\nplayed", "points_when_played", 2, 1, is_main=True),
    Figure("points\na card", "points_per_card", 2, 1, is_main=True),
    Figure("left when\nplayable\n%", "playable_left", is_main=True),
)


def card_tables(document: dict[str, Any], width: int | None = None) -> list[Table]:
    """Return the tables of `cards`: for every policy the values, the causal values and the pairs.

    `width` is that of the console, in columns; by default that of stdout.
    """
    is_wide = (Console().width if width is None else width) >= WIDE
    tables = []
    for policy in document["policies"]:
        name = policy["policy"]
        rows = [row for row in document["species"] if row["policy"] == name]
        tables.append(values_table(document, name, rows, is_wide))
        if rows[0]["causal"]:
            tables.append(causal_table(document, name, rows, is_wide))
        pairs = [pair for pair in document["pairs"] if pair["policy"] == name]
        if pairs:
            tables.append(pairs_table(name, pairs))
    return tables


def _table(title: str, caption: str, words: Sequence[str], numbers: Sequence[str]) -> Table:
    """Return a table without lines between columns, which would cost a narrow console the room of one more."""
    table = Table(title=title, caption=caption, box=SIMPLE_HEAD, show_edge=False, padding=0)
    for heading in words:
        table.add_column(heading, no_wrap=True)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def short_interval(estimate: dict[str, Any], digits: int = 1, scale: float = 1.0) -> str:
    """Return `value±half width`; of a lopsided interval the wider half."""
    value, ends = estimate["value"], estimate["ci"]
    if value is None or ends is None:
        return number(None if value is None else value * scale, digits)
    return f"{value * scale:,.{digits}f}±{max(value - ends[0], ends[1] - value) * scale:,.{digits}f}"


def clear(text: str, q: float | None) -> str:
    """Mark a difference from 0 that stands after the correction for many species."""
    return text + CLEAR if is_clear(q) else text


def values_table(document: dict[str, Any], policy: str, rows: list[dict[str, Any]], is_wide: bool) -> Table:
    """The figures of every species, the greatest improvement in hand within the turn first."""
    figures = [figure for figure in FIGURES if is_wide or figure.is_main]
    table = _table(
        f"Card values for {policy}: {document['deals']:,} games of {document['players']} players, "
        f"seed {document['seed']}, deck {document['deck']}",
        f"{READING}, clustered by game. Win rates of players with the card; same turn difference: ever held minus all "
        "cards first held in the same turns; left when playable: share of the games in which it could be played and "
        f"never was. {CLEAR} differs from 0 with a false-discovery rate of {CLAIM:.0%}" + ("" if is_wide else MORE),
        ("species",),
        [figure.heading for figure in figures],
    )
    rows = sorted(rows, key=lambda row: -_or_low(row["iih_turn"]))
    for row in rows:
        table.add_row(row["species"], *(_cell(row, figure) for figure in figures))
    return table


def _cell(row: dict[str, Any], figure: Figure) -> str:
    text = short_interval(row[figure.name], figure.digits, figure.scale)
    return clear(text, row[f"{figure.name}_q"]) if figure.is_tested else text


def causal_table(document: dict[str, Any], policy: str, rows: list[dict[str, Any]], is_wide: bool) -> Table:
    """What each species causes, the greatest loss without its points first."""
    changes = list(rows[0]["causal"])
    headings = [
        f"{change.replace('_', chr(10))}\n{what}"
        for change in changes
        for what in (("win share %", "score") if is_wide else ("win share %",))
    ]
    table = _table(
        f"Causal values for {policy}: {document['causal_deals']:,} deals, each played again with every change",
        f"change of the win share in % points{', and of the score,' if is_wide else ''} of one player for whom alone: "
        "the species makes no points; its effect, bonus and permanent effect do nothing; one more copy is in the "
        "opening hand instead of a random card; - where there is nothing to lose. "
        f"{READING}; {CLEAR} differs from 0 with a false-discovery rate of {CLAIM:.0%} over all species"
        + ("" if is_wide else MORE),
        ("species",),
        headings,
    )
    for row in sorted(rows, key=lambda row: row["causal"][changes[0]]["value"]):
        table.add_row(row["species"], *(cell for change in changes for cell in _causal_cells(row, change, is_wide)))
    return table


def _causal_cells(row: dict[str, Any], change: str, is_wide: bool) -> list[str]:
    estimate = row["causal"][change]
    if is_exactly_zero(estimate):  # nothing to switch off
        return ["-", "-"] if is_wide else ["-"]
    share = clear(short_interval(estimate, 1, 100), row["causal_q"][change])
    return [share, short_interval(row["causal_score"][change])] if is_wide else [share]


def pairs_table(policy: str, pairs: list[dict[str, Any]]) -> Table:
    """The pairs that lift each other most."""
    table = _table(
        f"Pairs of species in one forest for {policy}",
        "win share with both minus that expected from each without the other, in % points; ordered by the lower end. "
        f"{READING}; {CLEAR} differs from 0 with a false-discovery rate of {CLAIM:.0%} over all pairs",
        ("first", "second"),
        ("lift %", "forests\nwith both", "q"),
    )
    for pair in pairs:
        lift = pair["lift"]
        table.add_row(
            pair["first"],
            pair["second"],
            clear(short_interval(lift, 1, 100), pair["q"]),
            f"{lift['n']:,}",
            number(pair["q"], 3),
        )
    return table


def is_exactly_zero(estimate: dict[str, Any]) -> bool:
    """Return whether an estimate is 0 by construction."""
    return estimate["ci"] == [0.0, 0.0]


def _or_low(estimate: dict[str, Any]) -> float:
    """Return the value, minus infinity for none."""
    return float("-inf") if estimate["value"] is None else float(estimate["value"])
