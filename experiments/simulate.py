"""A run of games: played on threads, summarised, and written into a results directory."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.files import prepare_directory, write_manifest, write_text
from experiments.games_file import GamesFile
from experiments.options import Setting
from experiments.summary import summarise
from sim.batch import play
from sim.errors import DartmoorError


@dataclass(frozen=True)
class Run:
    """What a run leaves: its totals (shape (1,), dtype TOTALS) and their summary."""

    totals: np.ndarray
    summary: dict[str, Any]


def simulate(
    setting: Setting,
    games: int,
    threads: int,
    on_games: Callable[[int], object] = lambda count: None,
    out: Path | None = None,
    games_out: bool = False,
) -> Run:
    """Play `games` games of a setting; with `games_out` also write one row a game into `out`/games.parquet.

    Ctrl-C ends the run early with the games that are complete; the summary says how many.

    Raises
    ------
    DartmoorError
        The directory cannot be written, a policy misbehaved, or the run was interrupted before any game was complete.
    """
    if out is not None:
        prepare_directory(out)
    rows = GamesFile(out / "games.parquet", setting) if games_out and out is not None else None

    def take(count: int, outcomes: np.ndarray) -> None:
        if rows is not None:
            rows.add(outcomes)
        on_games(count)

    start = time.perf_counter()
    try:
        totals = play(setting.match(), games, threads, on_chunk=take, keep_outcomes=rows is not None)
        seconds = time.perf_counter() - start
        if totals["games"][0] == 0:
            raise DartmoorError("interrupted before any game was complete; nothing written")
        if rows is not None:
            rows.finish()
    finally:
        if rows is not None:
            rows.discard()
    return Run(totals, summarise(setting, totals, seconds))


def write_results(out: Path, setting: Setting, run: Run) -> None:
    """Write manifest and tables of a run into its directory, each file whole or not at all; the manifest last."""
    for name, frame in summary_frames(run.summary).items():
        write_text(out / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))
    write_manifest(out, setting.manifest("simulate", run.summary["games"]))


def summary_frames(summary: dict[str, Any]) -> dict[str, pd.DataFrame]:
    """Return the tables of a summary as tidy frames: summary (one row a seat), species, caves, winters, endings."""
    seats = [
        {
            "seat": seat["seat"],
            "policy": seat["policy"],
            "cave": seat["cave"],
            **flat("win_share", seat["win_share"]),
            **flat("score", seat["score"]),
            "score_sd": seat["score"]["sd"],
            **{f"score_q{level}": value for level, value in seat["score"]["quantiles"].items()},
        }
        for seat in summary["seats"]
    ]
    species = [
        {"species": key, **{name: value for part in parts for name, value in flat(part, parts[part]).items()}}
        for key, parts in summary["species"].items()
    ]
    caves = [
        {
            "cave": cave["cave"],
            "effect": cave["effect"],
            **flat("win_share", cave["win_share"]),
            **flat("score", cave["score"]),
        }
        for cave in summary["caves"]
    ]
    winters = [
        {
            "winter": winter["winter"],
            "measure": measure,
            **flat("mean", winter[measure]["mean"]),
            **{f"q{level}": value for level, value in winter[measure]["quantiles"].items()},
        }
        for winter in summary["winter"]
        for measure in ("turn", "round", "stack_left")
    ]
    endings = [{"ending": name, "games": count} for name, count in summary["endings"].items()]
    return {
        "summary": pd.DataFrame(seats),
        "species": pd.DataFrame(species),
        "caves": pd.DataFrame(caves),
        "winters": pd.DataFrame(winters),
        "endings": pd.DataFrame(endings),
    }


def flat(name: str, estimate: dict[str, Any]) -> dict[str, Any]:
    """Return an estimate as columns: name, name_se, name_low, name_high, name_n."""
    low, high = estimate["ci"] or (None, None)
    return {
        name: estimate["value"],
        f"{name}_se": estimate["se"],
        f"{name}_low": low,
        f"{name}_high": high,
        f"{name}_n": estimate["n"],
    }
