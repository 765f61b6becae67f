"""A run of games: played on threads, summarised, and written into a results directory."""

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.checkpoint import Checkpoint, Progress
from experiments.files import prepare_directory
from experiments.games_file import GamesFile
from experiments.options import Setting
from experiments.summary import summarise
from sim.batch import merge_totals, play_in_order

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Run:
    """What a run leaves: its totals (shape (1,), dtype TOTALS) and their summary."""

    totals: np.ndarray
    summary: dict[str, Any]


Part = tuple[int, tuple[np.ndarray, np.ndarray]]  # number of games; totals and outcomes, as from play_chunk
Parts = Callable[[int, int], Generator[Part, None, None]]  # of (first game, number of games), in the order of games


def simulate(
    setting: Setting,
    games: int,
    threads: int,
    on_games: Callable[[int], object] = lambda count: None,
    out: Path | None = None,
    games_out: bool = False,
    checkpoint: Checkpoint | None = None,
    resume: bool = False,
    parts: Parts | None = None,
) -> Run:
    """Play `games` games of a setting; with `games_out` also write one row a game into `out`/games.parquet.

    Ctrl-C ends the run early with the games that are complete; the summary says how many.

    Parameters
    ----------
    setting, games, threads
        What to play, and on how many threads of this machine.
    on_games
        Called with the number of games just done.
    out, games_out
        The results directory, and whether it gets one row a game.
    checkpoint, resume
        Where to keep the progress, and whether to go on from what is kept there.
    parts
        What plays instead of the threads, such as a cluster.

    Raises
    ------
    DartmoorError
        The directory cannot be written, a policy misbehaved, the checkpoint is of another run, or the run was
        interrupted before any game was complete.
    """
    if out is not None:
        prepare_directory(out)
    progress = checkpoint.begin(resume, games) if checkpoint else Progress()
    rows = None
    if games_out and out is not None:
        rows = GamesFile(out / "games.parquet", setting, progress.parts if checkpoint else None)
    if parts is None:

        def parts(first: int, count: int) -> Generator[Part, None, None]:
            return play_in_order(setting.match(), first, count, threads, keep_outcomes=rows is not None)

    try:
        play_rest(progress, games, parts, on_games, rows, checkpoint)
        if progress.games == 0:
            raise KeyboardInterrupt  # before any game was complete: there is nothing to write
        finish(progress, progress.games == games, rows, checkpoint)
    finally:
        if rows is not None:
            rows.discard()
    return Run(progress.totals, summarise(setting, progress.totals, progress.seconds))


def play_rest(
    progress: Progress,
    games: int,
    parts: Parts,
    on_games: Callable[[int], object],
    rows: GamesFile | None,
    checkpoint: Checkpoint | None,
) -> None:
    """Play what is missing of a run and add it to `progress`; Ctrl-C ends it early."""
    before, begun = progress.seconds, time.perf_counter()
    on_games(progress.games)
    if checkpoint is not None:
        checkpoint.save(progress)
    stream = parts(progress.games, games - progress.games)
    try:
        for count, (totals, outcomes) in stream:
            merge_totals(progress.totals, totals)
            progress.seconds = before + time.perf_counter() - begun
            if rows is not None:
                rows.add(outcomes)
            on_games(count)
            if checkpoint is not None and checkpoint.due():
                progress.parts = rows.commit() if rows is not None else []
                checkpoint.save(progress)
    except KeyboardInterrupt:
        stream.close()


def finish(progress: Progress, is_whole: bool, rows: GamesFile | None, checkpoint: Checkpoint | None) -> None:
    """Put the file of games in its place, and note in the checkpoint that nothing is left to do."""
    if rows is not None:
        progress.parts = rows.finish()
    if checkpoint is not None:
        checkpoint.save(progress, finished=is_whole)
        if rows is not None:
            rows.forget_parts()


def write_results(out: Path, setting: Setting, run: Run, games_out: bool = False) -> None:
    """Write manifest and tables of a run into its directory; `games_out` says that games.parquet is there already."""
    from experiments.results import write_directory  # pandas is slow to import

    files = ["games.parquet"] if games_out else []
    content = setting.manifest("simulate", run.summary["games"])
    write_directory(out, summary_frames(run.summary), {**content, "files": files})


def summary_frames(summary: dict[str, Any]) -> "dict[str, pd.DataFrame]":
    """Return the tables of a summary as tidy frames: summary (one row a seat), species, caves, winters, endings."""
    import pandas as pd  # a fifth of the start-up, and needed for files only

    from experiments.results import columns

    seats = [
        {
            "seat": seat["seat"],
            "policy": seat["policy"],
            "cave": seat["cave"],
            **columns("win_share", seat["win_share"]),
            **columns("score", seat["score"]),
            "score_sd": seat["score"]["sd"],
            **{f"score_q{level}": value for level, value in seat["score"]["quantiles"].items()},
        }
        for seat in summary["seats"]
    ]
    species = [
        {"species": key, **{name: value for part in parts for name, value in columns(part, parts[part]).items()}}
        for key, parts in summary["species"].items()
    ]
    caves = [
        {
            "cave": cave["cave"],
            "effect": cave["effect"],
            **columns("win_share", cave["win_share"]),
            **columns("score", cave["score"]),
        }
        for cave in summary["caves"]
    ]
    winters = [
        {
            "winter": winter["winter"],
            "measure": measure,
            **columns("mean", winter[measure]["mean"]),
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
