"""Summaries as tables for people (rich)."""

from typing import Any

from rich.table import Table

from experiments.estimates import proportion_estimate

TOP_SPECIES = 12
ENDINGS = {
    "draw": "drawing a card",
    "tree": "laying a tree",
    "effect": "a card's effect",
    "cave": "a card on its way into a cave",
}


def number(value: float | None, digits: int = 1) -> str:
    """Return a number for a table, with a dash for none."""
    return "-" if value is None else f"{value:,.{digits}f}"


def interval(estimate: dict[str, Any], digits: int = 1, scale: float = 1.0) -> str:
    """Return `value ± half width` of the 95 % interval, or both ends where it is lopsided."""
    value, ends = estimate["value"], estimate["ci"]
    if value is None:
        return "-"
    if ends is None:
        return number(value * scale, digits)
    low, high = value - ends[0], ends[1] - value
    if max(low, high) - min(low, high) > 0.1 * max(low, high):
        return f"{value * scale:,.{digits}f} ({ends[0] * scale:,.{digits}f} to {ends[1] * scale:,.{digits}f})"
    return f"{value * scale:,.{digits}f} ± {max(low, high) * scale:,.{digits}f}"


def spread(quantiles: dict[str, Any]) -> str:
    """Return the 5, 50 and 95 % quantiles."""
    return " / ".join(number(quantiles[level], 0) for level in ("5", "50", "95"))


def summary_tables(summary: dict[str, Any]) -> list[Table]:
    """Return the tables of `simulate`."""
    return [seats_table(summary), course_table(summary), species_table(summary)]


def seats_table(summary: dict[str, Any]) -> Table:
    """Win share and score of each seat."""
    rate = summary["games_per_second"]
    table = Table(
        title=f"{summary['games']:,} games of {summary['players']} players, seed {summary['seed']}, "
        f"deck {summary['deck']}",
        caption=f"95 % intervals; ties shared; {number(rate, 0)} games a second",
    )
    for heading in ("seat", "policy", "cave"):
        table.add_column(heading)
    for heading in ("win share %", "score", "score 5/50/95 %"):
        table.add_column(heading, justify="right")
    for seat in summary["seats"]:
        table.add_row(
            str(seat["seat"]),
            seat["policy"],
            str(seat["cave"]),
            interval(seat["win_share"], 2, 100),
            interval(seat["score"], 2),
            spread(seat["score"]["quantiles"]),
        )
    return table


def course_table(summary: dict[str, Any]) -> Table:
    """Length, winters and endings."""
    table = Table(title="Course of the game", caption="turns count over all players, from 1")
    table.add_column("what")
    table.add_column("mean", justify="right")
    table.add_column("5/50/95 %", justify="right")
    for name, label in (("turns", "turns"), ("rounds", "rounds"), ("stack_left", "cards left in the stack")):
        part = summary["length"][name]
        table.add_row(label, interval(part["mean"], 2), spread(part["quantiles"]))
    for winter in summary["winter"]:
        part = winter["turn"]
        table.add_row(f"turn of winter {winter['winter']}", interval(part["mean"], 2), spread(part["quantiles"]))
    total = sum(summary["endings"].values())
    for name, count in summary["endings"].items():
        table.add_row(f"ended by {ENDINGS[name]}, %", interval(proportion_estimate(count, total), 1, 100), "")
    return table


def species_table(summary: dict[str, Any]) -> Table:
    """The species that make the most points."""
    best = sorted(summary["species"].items(), key=lambda item: -item[1]["points"]["value"])[:TOP_SPECIES]
    table = Table(title=f"Points by species, the {TOP_SPECIES} with the most", caption="a game, all players together")
    table.add_column("species")
    for heading in ("points", "copies played", "forests with it %"):
        table.add_column(heading, justify="right")
    for key, part in best:
        table.add_row(
            key, interval(part["points"], 2), interval(part["played"], 2), interval(part["in_final_forest"], 1, 100)
        )
    return table
