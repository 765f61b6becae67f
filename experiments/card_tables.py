"""Card values as tables for people (rich)."""

from typing import Any

from rich.table import Table

from experiments.report_pictures import CLAIM, is_clear
from experiments.tables import interval, number

CLEAR = "*"


def card_tables(document: dict[str, Any]) -> list[Table]:
    """Return the tables of `cards`: for every policy the values, the causal values and the pairs."""
    tables = []
    for policy in document["policies"]:
        name = policy["policy"]
        rows = [row for row in document["species"] if row["policy"] == name]
        tables.append(values_table(document, name, rows))
        if rows[0]["causal"]:
            tables.append(causal_table(document, name, rows))
        pairs = [pair for pair in document["pairs"] if pair["policy"] == name]
        if pairs:
            tables.append(pairs_table(name, pairs))
    return tables


def _table(title: str, caption: str, words: tuple[str, ...], numbers: tuple[str, ...]) -> Table:
    table = Table(title=title, caption=caption)
    for heading in words:
        table.add_column(heading, no_wrap=True)
    for heading in numbers:
        table.add_column(heading, justify="right")
    return table


def clear(text: str, q: float | None) -> str:
    """Mark a difference from 0 that stands after the correction for many species."""
    return text + CLEAR if is_clear(q) else text


def values_table(document: dict[str, Any], policy: str, rows: list[dict[str, Any]]) -> Table:
    """The figures of every species, the greatest improvement in hand within the turn first."""
    table = _table(
        f"Card values for {policy}: {document['deals']:,} games of {document['players']} players, "
        f"seed {document['seed']}, deck {document['deck']}",
        "win rates in % with 95 % intervals clustered by game. OH opening hand, GD came later, GIH ever in hand, GNS "
        "never in hand, IIH = GIH - GNS; same turn: GIH minus all cards first held in the same turns; left: games in "
        f"which it could be played and never was. {CLEAR} differs from 0 with a false-discovery rate of {CLAIM:.0%}",
        ("species",),
        ("OH", "GD", "GIH", "GNS", "IIH", "same turn", "played", "points a copy", "points a card", "left %"),
    )
    rows = sorted(rows, key=lambda row: -_or_low(row["iih_turn"]))
    for row in rows:
        table.add_row(
            row["species"],
            *(interval(row[name], 1, 100) for name in ("oh", "gd", "gih", "gns")),
            clear(interval(row["iih"], 1, 100), row["iih_q"]),
            clear(interval(row["iih_turn"], 1, 100), row["iih_turn_q"]),
            interval(row["played"], 1, 100),
            interval(row["points_when_played"], 2),
            interval(row["points_per_card"], 2),
            interval(row["playable_left"], 1, 100),
        )
    return table


def causal_table(document: dict[str, Any], policy: str, rows: list[dict[str, Any]]) -> Table:
    """What each species causes, the greatest loss without its points first."""
    changes = list(rows[0]["causal"])
    table = _table(
        f"Causal values for {policy}: {document['causal_deals']:,} deals, each played again with every change",
        "change of the win share in % points, and of the score, of one player for whom alone: the species makes no "
        "points; its effect, bonus and permanent effect do nothing; one more copy is in the opening hand instead of a "
        f"random card; - where there is nothing to lose. {CLEAR} differs from 0 with a false-discovery rate of "
        f"{CLAIM:.0%} over all species",
        ("species",),
        tuple(f"{change.replace('_', ' ')}{what}" for change in changes for what in ("", ", score")),
    )
    for row in sorted(rows, key=lambda row: row["causal"][changes[0]]["value"]):
        cells = []
        for change in changes:
            if is_exactly_zero(row["causal"][change]):  # nothing to switch off
                cells += ["-", "-"]
                continue
            cells.append(clear(interval(row["causal"][change], 1, 100), row["causal_q"][change]))
            cells.append(interval(row["causal_score"][change], 1))
        table.add_row(row["species"], *cells)
    return table


def pairs_table(policy: str, pairs: list[dict[str, Any]]) -> Table:
    """The pairs that lift each other most."""
    table = _table(
        f"Pairs of species in one forest for {policy}",
        "win share with both minus that expected from each without the other, in % points; ordered by the lower end. "
        f"{CLEAR} differs from 0 with a false-discovery rate of {CLAIM:.0%} over all pairs",
        ("first", "second"),
        ("lift", "forests with both", "q"),
    )
    for pair in pairs:
        lift = pair["lift"]
        table.add_row(
            pair["first"],
            pair["second"],
            clear(interval(lift, 1, 100), pair["q"]),
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
