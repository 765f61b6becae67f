"""`dartmoor winrate`: every policy against every other."""

from typing import Annotated

import typer

from experiments.commands.common import (
    CavesFileOption,
    CavesOption,
    DeckOption,
    IconOption,
    JsonOption,
    OutOption,
    PlayersOption,
    RulingOption,
    SeedOption,
    ThreadsOption,
    progress,
    world_of,
)
from experiments.commands.precision import (
    DealsOption,
    MaxGamesOption,
    PlotOption,
    PrecisionOption,
    check_plot,
    hand_over,
    world_options,
)


def winrate_command(
    players: PlayersOption = 2,
    games: DealsOption = 10_000,
    policies: Annotated[
        str, typer.Option("--policies", help="The policies to compare, a,b,..: every table of them is played.")
    ] = "random,greedy",
    tables: Annotated[
        str, typer.Option("--tables", help="all tables the policies can make, or pairs: one at a table of another.")
    ] = "all",
    caves: CavesOption = "draft",
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
    precision: PrecisionOption = None,
    max_games: MaxGamesOption = 1_000_000,
    deck: DeckOption = "reference",
    ruling: RulingOption = None,
    icon: IconOption = None,
    caves_file: CavesFileOption = None,
    out: OutOption = None,
    plot: PlotOption = False,
    as_json: JsonOption = False,
) -> None:
    """Play every policy against every other, in every seating, on the same deals; print win shares and the seats'.

    Example: dartmoor winrate --players 2 --policies random,plain,greedy --games 10000 --seed 1
    """
    check_plot(plot, out)
    world = world_of(deck, ruling, icon, caves_file)
    from experiments.experiment_tables import winrate_tables
    from experiments.files import prepare_directory
    from experiments.options import check_threads
    from experiments.precision import make_plan
    from experiments.winrate import make_field, winrate

    plan = make_plan(games, precision, max_games)
    field = make_field(world, players, policies, caves, seed, tables)
    workers = check_threads(threads)
    if out is not None:
        prepare_directory(out)
    with progress(plan.most, "deals") as done:
        result = winrate(field, plan, workers, done)

    def pictures() -> dict[str, bytes]:
        from experiments.plots import winrate_pictures

        return winrate_pictures(result)

    options = world_options(deck, ruling, icon, caves_file)
    tables_shown = winrate_tables(result.document)
    hand_over(result, world, plan, tables_shown, as_json, out, options, pictures if plot else None)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("winrate")(winrate_command)
