"""`dartmoor simulate`: play games and print what came of them."""

from typing import Annotated

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
    as_json: JsonOption = False,
) -> None:
    """Play games; print win shares, scores, game length, winters and what each species made.

    Example: dartmoor simulate --players 3 --games 200000 --policies greedy,greedy,random --seed 1 --out results/run
    """
    from sim.errors import DartmoorError

    if games_out and out is None:
        raise DartmoorError("--games-out: needs --out DIR for the file")
    world = world_of(deck, ruling, icon, caves_file)
    from experiments.options import check_games, check_threads, make_setting
    from experiments.simulate import simulate, write_results
    from experiments.tables import summary_tables

    check_games(games)
    workers = check_threads(threads)
    setting = make_setting(world, players, policies, caves, seed)
    with progress(games) as done:
        run = simulate(setting, games, workers, done, out, games_out)
    if run.summary["games"] < games:
        warn(f"interrupted after {run.summary['games']:,} of {games:,} games; what follows is of those games")
    if out is not None:
        write_results(out, setting, run)
    if as_json:
        print_json(run.summary)
    else:
        print_tables(summary_tables(run.summary))
    print_assumptions(world)
    if run.summary["games"] < games:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate")(simulate_command)
