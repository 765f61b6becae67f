"""The benchmark's document as tables, and two documents held against each other."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from experiments.files import PROGRAM
from sim.errors import DartmoorError

MILLION = 1e6
MEGABYTE = 2**20
COUNTER_COLUMNS = ("decisions", "turns", "cards_in_forests", "steps_draw", "steps_reveal")


def bench_tables(document: Mapping[str, Any]) -> list[Table]:
    """Return the tables of a document, one a section that it holds."""
    makers: dict[str, Callable[[Any], Table]] = {
        "engines": engines_table,
        "threads": threads_table,
        "start": start_table,
        "growth": growth_table,
        "counters": counters_table,
        "scale": scale_table,
    }
    return [make(document[name]) for name, make in makers.items() if name in document]


def table_of(title: str, columns: tuple[str, ...], caption: str | None = None) -> Table:
    """Return an empty table; all columns but the first hold numbers."""
    table = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right", no_wrap=number == 0)
    return table


def ranged(value: Mapping[str, Any], scale: float = 1.0, digits: int = 2) -> str:
    """Return the median of the rounds with the lowest and the highest round."""
    median, low, high = (f"{value[name] * scale:,.{digits}f}" for name in ("median", "low", "high"))
    return f"{median} ({low}-{high})"


def engines_table(section: Mapping[str, Any]) -> Table:
    """Return everything side by side."""
    sizes = {one["state_bytes"] for one in section["contestants"] if one["state_bytes"]}
    notes = [
        f"Processor time of one thread. x slower: than {section['base']} in the same round, median (lowest-highest), "
        "in decisions a second; in games a second where there are none.",
        *(f"A game's state is {size:,} bytes." for size in sizes),
        *section["missing"],
    ]
    table = table_of("Side by side", ("", "M dec/s", "games/s", "dec/g", "x slower"), " ".join(notes))
    for one in section["contestants"]:
        decisions = one["decisions_per_second"]
        table.add_row(
            one["name"],
            f"{decisions['median'] / MILLION:.2f}" if decisions else "",
            f"{one['games_per_second']['median']:,.0f}",
            f"{one['decisions_per_game']:.0f}" if decisions else "",
            ranged(one["base_to_this"]),
        )
    return table


def threads_table(section: list[Mapping[str, Any]]) -> Table:
    """Return speed over threads."""
    table = table_of(
        "Threads, 2 players",
        ("policy", "threads", "games/s", "speed-up", "without others"),
        "speed-up by the wall clock; without others: by processor time, as if nothing else ran",
    )
    for one in section:
        table.add_row(
            one["policy"],
            str(one["threads"]),
            ranged(one["games_per_second"], digits=0),
            ranged(one["speedup"]),
            ranged(one["speedup_without_others"]),
        )
    return table


def start_table(section: Mapping[str, list[float]]) -> Table:
    """Return start-up times."""
    table = table_of("Start-up, wall seconds", ("", "median", "lowest", "highest", "runs"))
    for name, values in section.items():
        ordered = sorted(values)
        median = ordered[len(ordered) // 2]
        table.add_row(
            name.replace("_", " "), f"{median:.2f}", f"{ordered[0]:.2f}", f"{ordered[-1]:.2f}", str(len(values))
        )
    return table


def growth_table(section: Mapping[str, Any]) -> Table:
    """Return time and memory over games."""
    table = table_of(
        f"Growth: random, 2 players, {section['threads']} threads",
        ("games", "seconds", "games/s", "peak MB"),
        f"time grows with the power {section['time_exponent']:.3f} of the games (1 is linear); "
        f"memory by {section['more_memory_bytes'] / MEGABYTE:,.1f} MB from first to last",
    )
    for one in section["runs"]:
        table.add_row(
            f"{one['games']:,}",
            f"{one['seconds']:.3f}",
            f"{one['games'] / one['seconds']:,.0f}",
            f"{one['peak_bytes'] / MEGABYTE:,.1f}",
        )
    return table


def counters_table(section: Mapping[str, Any]) -> Table:
    """Return what a game is made of, a game; --json has all counters."""
    instructions = section["instructions_per_game"]
    known = f"{instructions:,.0f} instructions a random 2-player game" if instructions else "perf counts none here"
    table = table_of(
        f"What a game is made of, means of {section['games']:,} games",
        ("", *(name.replace("_", " ") for name in COUNTER_COLUMNS)),
        f"{known}; --json has the exact sums of all counters",
    )
    for name, sums in section["counted"].items():
        table.add_row(name, *(f"{sums.get(column, 0) / section['games']:.2f}" for column in COUNTER_COLUMNS))
    return table


def scale_table(section: Mapping[str, Any]) -> Table:
    """Return the hashes of one summary by the way it was made."""
    verdict = "the same" if section["same"] else "NOT the same"
    table = table_of(f"Summary of {section['games']:,} games: {verdict}", ("", "hash but for times"))
    for name, value in section["hashes"].items():
        table.add_row(name, value or "not here (pip install '.[cluster]' in the project's folder)")
    return table


# Comparison


def read_bench(path: Path) -> dict[str, Any]:
    """Return a document that `bench --out` or `bench --json` wrote.

    Raises
    ------
    DartmoorError
        It cannot be read or is no such document.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DartmoorError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DartmoorError(f"{path}: not a JSON document: {error}") from error
    if not isinstance(document, dict) or document.get("program") != PROGRAM or "machine" not in document:
        raise DartmoorError(f"{path}: not a document of bench --json")
    return document


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the new document differs: speeds relative to the other engines of its own run, and exact counters.

    Clock times of two runs say little when the machine was not the same or not as busy. So speeds are compared by their
    ratio to OpenSpiel's or the floor's in the same run where it holds them: `speed` is the change of
    decisions a second, `relative` the change of each ratio, with the range that both spreads allow.
    """
    return {
        "same_machine": all(
            old["machine"].get(key) == new["machine"].get(key) for key in ("processor", "cores", "system")
        ),
        "engine_versions": [old["engine_version"], new["engine_version"]],
        "speed": compare_engines(old, new, "games_per_second"),
        "relative": compare_engines(old, new, "base_to_this"),
        "counters": compare_counters(old, new),
    }


def compare_engines(old: Mapping[str, Any], new: Mapping[str, Any], measure: str) -> dict[str, dict[str, float]]:
    """Return new / old of a measure by contestant; low and high from the extreme rounds of both."""
    before, after = (
        {one["name"]: one[measure] for one in document.get("engines", {}).get("contestants", ())}
        for document in (old, new)
    )
    return {
        name: {
            "median": after[name]["median"] / before[name]["median"],
            "low": after[name]["low"] / before[name]["high"],
            "high": after[name]["high"] / before[name]["low"],
        }
        for name in after
        if name in before
    }


def compare_counters(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, dict[str, list[int]]] | None:
    """Return the counters that differ, as [old, new] by contestant; None where they are not of the same games."""
    before, after = old.get("counters"), new.get("counters")
    if not before or not after or (before["games"], old["seed"]) != (after["games"], new["seed"]):
        return None
    changed = {}
    for name in before["counted"].keys() & after["counted"].keys():
        was, now = before["counted"][name], after["counted"][name]
        differing = {key: [was.get(key, 0), now.get(key, 0)] for key in sorted(was.keys() | now.keys())}
        differing = {key: pair for key, pair in differing.items() if pair[0] != pair[1]}
        if differing:
            changed[name] = differing
    return dict(sorted(changed.items()))


def compare_tables(comparison: Mapping[str, Any]) -> list[Table]:
    """Return a comparison as tables."""
    same = comparison["same_machine"]
    speed = table_of(
        "New to old" + ("" if same else "; ANOTHER MACHINE"),
        ("", "games/s", "base / this"),
        "1 is unchanged; a change counts only if 1 is outside its range, which comes from the extreme rounds",
    )
    for name, value in comparison["speed"].items():
        speed.add_row(name, ranged(value), ranged(comparison["relative"][name]))
    counters = table_of("Counters that differ", ("", "counter", "old", "new"))
    if comparison["counters"] is None:
        counters.add_row("not of the same games: seed or number differ, or a document has none")
    elif not comparison["counters"]:
        counters.add_row("none: both versions play the same games")
    for name, differing in (comparison["counters"] or {}).items():
        for key, (before, after) in differing.items():
            counters.add_row(name, key, f"{before:,}", f"{after:,}")
    return [speed, counters]
