"""`dartmoor simulate`: play games and print what came of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.common import (
    CavesFileOption,
    CavesOption,
    DeckOption,
    GamesOption,
    IconOption,
    JsonOption,
    OutOption,
    PlayersOption,
    PoliciesOption,
    RulingOption,
    SeedOption,
    ThreadsOption,
    print_assumptions,
    print_json,
    print_tables,
    progress,
    warn,
    world_of,
)

if TYPE_CHECKING:
    from experiments.options import Setting
    from experiments.simulate import Parts


def simulate_command(
    players: PlayersOption = 2,
    games: GamesOption = 100_000,
    policies: PoliciesOption = "greedy",
    caves: CavesOption = "draft",
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
    deck: DeckOption = "reference",
    ruling: RulingOption = None,
    icon: IconOption = None,
    caves_file: CavesFileOption = None,
    out: OutOption = None,
    games_out: Annotated[bool, typer.Option("--games-out", help="Also write one row a game, games.parquet.")] = False,
    checkpoint: Annotated[
        bool, typer.Option("--checkpoint", help="Keep the progress in the --out directory, so that --resume goes on.")
    ] = False,
    checkpoint_every: Annotated[float, typer.Option(help="Seconds between two checkpoints.")] = 60.0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint in the --out directory; implies --checkpoint.")
    ] = False,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", help="Play on a dask cluster, such as tcp://head:8786.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Play games; print win shares, scores, game length, winters and what each species made.

    Example: dartmoor simulate --players 3 --games 200000 --policies greedy,greedy,random --seed 1 --out results/run

    A long run: add --checkpoint, and after it was killed give the same command again with --resume. A finished run can
    be made longer in the same way, with --resume and more --games.
    """
    from sim.errors import DartmoorError

    keeps = checkpoint or resume
    for option, given in (("--games-out", games_out), ("--resume" if resume else "--checkpoint", keeps)):
        if given and out is None:
            raise DartmoorError(f"{option}: needs --out DIR for its files")
    if scheduler and (games_out or threads):
        option = "--games-out" if games_out else "--threads"
        raise DartmoorError(f"{option}: not with --scheduler, whose workers send nothing but sums and have own threads")
    if not checkpoint_every > 0:
        raise DartmoorError(f"--checkpoint-every: {checkpoint_every}, expected more than 0 seconds")
    world = world_of(deck, ruling, icon, caves_file)
    from experiments.checkpoint import CHECKPOINT, Checkpoint
    from experiments.options import check_games, check_threads, make_setting
    from experiments.simulate import simulate, write_results
    from experiments.tables import summary_tables

    check_games(games)
    workers = check_threads(threads)
    setting = make_setting(world, players, policies, caves, seed)
    keeper = Checkpoint(out, setting, games_out, checkpoint_every) if keeps and out is not None else None
    if resume and keeper and not keeper.path.exists():
        warn(f"no {CHECKPOINT} in {out}; the run starts with the first game")
    with playing_on(scheduler, setting) as parts, progress(games) as done:
        run = simulate(setting, games, workers, done, out, games_out, keeper, resume, parts)
    if run.summary["games"] < games:
        warn(f"interrupted after {run.summary['games']:,} of {games:,} games; what follows is of those games")
    if out is not None:
        write_results(out, setting, run, games_out)
    if as_json:
        print_json(run.summary)
    else:
        print_tables(summary_tables(run.summary))
    print_assumptions(world)
    if run.summary["games"] < games:
        raise typer.Exit(1)


@contextmanager
def playing_on(scheduler: str | None, setting: "Setting") -> "Iterator[Parts | None]":
    """Yield what plays: the cluster behind `scheduler`, or None for the threads of this machine."""
    if scheduler is None:
        yield None
        return
    from experiments.cluster import cluster_parts

    with cluster_parts(scheduler, setting) as parts:
        yield parts


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate")(simulate_command)
