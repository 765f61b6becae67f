"""What an experiment hands back, and how it becomes a results directory."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.files import (
    MANIFEST,
    manifest,
    prepare_directory,
    read_manifest,
    write_bytes,
    write_manifest,
    write_text,
)
from experiments.options import World
from experiments.precision import Plan, Stop
from policies.registry import LoadedPolicy
from sim import ENGINE_VERSION, __version__
from sim.batch import CHUNK_SECONDS, Match, Pace, in_order, run_kernel, timed
from sim.deck import deck_hash

MAIN_TABLE = "summary"

COUNTED = "counted"  # how many games or deals are in sums

Sums = dict[str, Any]  # exact integers, or arrays of them, by name


@dataclass(frozen=True)
class Result:
    """An experiment's findings: the document of --json, and its tables as tidy frames, `summary` first."""

    document: dict[str, Any]
    frames: dict[str, pd.DataFrame]
    stop: Stop
    manifest: dict[str, Any] = field(default_factory=dict)


def write_results(out: Path, result: Result, pictures: Mapping[str, bytes] | None = None) -> None:
    """Write a result into its directory; see `write_directory`."""
    write_directory(out, result.frames, result.manifest, pictures)


def write_directory(
    out: Path,
    frames: Mapping[str, pd.DataFrame],
    content: Mapping[str, Any],
    pictures: Mapping[str, bytes] | None = None,
) -> None:
    """Write a results directory: one CSV a table, pictures, and last the manifest `content`, which lists them.

    Each file is there whole or not at all, so a directory with a manifest is complete. Files that an older manifest
    lists are removed first, so that nothing of another run stays beside the new one; those that `content` lists under
    `files` are there already and stay.
    """
    prepare_directory(out)
    listed = {"tables": [f"{name}.csv" for name in frames], "pictures": list(pictures or ())}
    remove_older(out, keep=content.get("files", ()))
    for name, frame in frames.items():
        write_text(out / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))
    for name, picture in (pictures or {}).items():
        write_bytes(out / name, picture)
    write_manifest(out, {**content, **listed})


def remove_older(out: Path, keep: Iterable[str] = ()) -> None:
    """Remove the manifest of an older run in a results directory, and what it lists.

    Raises
    ------
    DartmoorError
        The manifest is not ours, so neither is the directory.
    """
    if not (out / MANIFEST).exists():
        return
    older = read_manifest(out)
    (out / MANIFEST).unlink()
    for key in ("tables", "pictures", "files"):
        for name in older.get(key) or ():
            if name not in keep and Path(name).name == name:
                (out / name).unlink(missing_ok=True)


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
        options={"command": command, **world.options, **options, **length},
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


def add_sums(into: Sums, part: Sums) -> None:
    """Add exact sums of further games; Python integers, so that no number of games overflows.

    All of them are added in one step: an interrupt leaves `into` with the games or without them.
    """
    exact = {name: np.asarray(values).astype(object) for name, values in part.items()}
    into.update({name: into[name] + values if name in into else values for name, values in exact.items()})


def sum_games(
    work: Callable[[int, int], Sums],
    into: Sums,
    start: int,
    count: int,
    threads: int,
    chunk: int | None = None,
    on_games: Callable[[int], object] = lambda done: None,
) -> int:
    """Add work(first, number) of every chunk to `into` and return how many games were added: fewer after Ctrl-C.

    The chunks are added in order, so an interrupted run is a shorter run. `into` counts the games under `COUNTED`.
    Without `chunk` the size of chunks follows the speed of play; it changes no result.
    """
    before = int(into.get(COUNTED, 0))
    pace = Pace(CHUNK_SECONDS, threads, first=1)
    size, timed_work = (pace, timed(work, pace)) if chunk is None else (chunk, work)
    parts = in_order(timed_work, start, count, threads, size)
    try:
        for number, part in parts:
            add_sums(into, {**part, COUNTED: number})
            on_games(number)
    except KeyboardInterrupt:
        parts.close()
    return int(into.get(COUNTED, 0)) - before


def play_out(kernel: Callable[..., int], match: Match, games: np.ndarray, at: np.ndarray, *arguments: Any) -> None:
    """Call a kernel that plays games of a match: kernel(games, tables, policies, weights, players, *arguments, at).

    It returns PLAYED_OUT, or the seat whose policy returned an index that does not exist, and notes in `at` (int64,
    (1,)) which game it is at.

    Raises
    ------
    DartmoorError
        A policy returned an index that does not exist, or raised.
    """
    table = match.tables, match.kernel_policies, match.kernel_weights, match.players
    run_kernel(match, games, lambda: int(at[0]), lambda: kernel(games, *table, *arguments, at))


def check_any(stop: Stop) -> None:
    """Refuse to report on nothing."""
    if stop.games == 0:
        raise KeyboardInterrupt  # before any game was complete: there is nothing to write


def columns(name: str, one: Mapping[str, Any]) -> dict[str, Any]:
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
