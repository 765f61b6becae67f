"""What an experiment hands back, and how it becomes a results directory."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.estimates import Estimate
from experiments.files import manifest, prepare_directory, write_bytes, write_manifest, write_text
from experiments.options import World
from experiments.precision import Plan, Stop
from policies.registry import LoadedPolicy
from sim import ENGINE_VERSION, __version__
from sim.batch import in_order
from sim.deck import deck_hash
from sim.errors import DartmoorError

MAIN_TABLE = "summary"

Sums = dict[str, np.ndarray]


@dataclass(frozen=True)
class Result:
    """An experiment's findings: the document of --json, and its tables as tidy frames, `summary` first."""

    document: dict[str, Any]
    frames: dict[str, pd.DataFrame]
    stop: Stop
    manifest: dict[str, Any] = field(default_factory=dict)


def write_results(out: Path, result: Result, pictures: Mapping[str, bytes] | None = None) -> None:
    """Write a result into its directory: one CSV a table, pictures, and last the manifest, which lists them.

    Each file is there whole or not at all, so a directory with a manifest is complete.
    """
    prepare_directory(out)
    for name, frame in result.frames.items():
        write_text(out / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))
    for name, content in (pictures or {}).items():
        write_bytes(out / name, content)
    listed = {"tables": [f"{name}.csv" for name in result.frames], "pictures": list(pictures or ())}
    write_manifest(out, {**result.manifest, **listed})


def experiment_manifest(
    world: World,
    command: str,
    seed: int,
    plan: Plan,
    stop: Stop,
    policies: Sequence[LoadedPolicy],
    options: Mapping[str, object],
) -> dict[str, Any]:
    """Return the manifest of an experiment.

    `options` are the command's own, under their own names; how long to play is added, so that they play the same again.
    """
    length: dict[str, object] = {"games": stop.games}
    if plan.target is not None:
        length = {"precision": plan.target, "max_games": plan.most}
    return manifest(
        seed=seed,
        games=stop.games,
        options={"command": command, **options, **length},
        deck={"name": world.deck.name, "hash": deck_hash(world.deck)},
        assumptions=world.assumptions,
        policies=[{"name": one.name, "hash": one.hash} for one in policies],
    )


def document_head(world: World, players: int, seed: int, plan: Plan, stop: Stop, games_played: int) -> dict[str, Any]:
    """Return the part of --json that all experiments share.

    `deals` counts the independent deals, `games` the games played on them. `level` is that of the intervals: above 0.95
    with --precision, so that they hold at all looks together.
    """
    return {
        "deals": stop.games,
        "games": games_played,
        "players": players,
        "seed": seed,
        "stopped": stop.reason,
        "level": plan.level,
        "version": __version__,
        "engine_version": ENGINE_VERSION,
        "deck": world.deck.name,
        "assumptions": world.assumptions,
    }


def add_sums(into: Sums, part: Mapping[str, np.ndarray]) -> None:
    """Add exact sums of further games; Python integers, so that no number of games overflows."""
    for name, values in part.items():
        exact = np.asarray(values).astype(object)
        into[name] = into[name] + exact if name in into else exact


def sum_games(
    work: Callable[[int, int], Mapping[str, np.ndarray]],
    into: Sums,
    start: int,
    count: int,
    threads: int,
    chunk: int,
    on_games: Callable[[int], object] = lambda done: None,
) -> int:
    """Add work(first, number) of every chunk to `into` and return how many games were added: fewer after Ctrl-C.

    The chunks are added in order, so an interrupted run is a shorter run.
    """
    done = 0
    parts = in_order(work, start, count, threads, chunk)
    try:
        for number, part in parts:
            add_sums(into, part)
            done += number
            on_games(number)
    except KeyboardInterrupt:
        parts.close()  # type: ignore[attr-defined]
    return done


def check_any(stop: Stop) -> None:
    """Refuse to report on nothing."""
    if stop.games == 0:
        raise DartmoorError("interrupted before any game was complete; nothing written")


def columns(name: str, one: Estimate) -> dict[str, Any]:
    """Return an estimate as columns of a tidy frame: name, name_se, name_low, name_high, name_n."""
    low, high = one["ci"] or (None, None)
    return {
        name: one["value"],
        f"{name}_se": one["se"],
        f"{name}_low": low,
        f"{name}_high": high,
        f"{name}_n": one["n"],
    }


def tidy(rows: Iterable[Mapping[str, Any]], plain: Sequence[str] = ()) -> pd.DataFrame:
    """Return rows as a frame, in which every estimate (a dict with `value` and `ci`) is spread over columns.

    `plain` are the columns of a frame without rows, so that its file has a header.
    """
    flat_rows = []
    for row in rows:
        flat: dict[str, Any] = {}
        for name, value in row.items():
            flat.update(columns(name, value) if isinstance(value, Mapping) and "ci" in value else {name: value})
        flat_rows.append(flat)
    return pd.DataFrame(flat_rows) if flat_rows else pd.DataFrame(columns=list(plain))
