"""`dartmoor caves`: which cave to take."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.common import (
    CavesFileOption,
    DeckOption,
    IconOption,
    JsonOption,
    OutOption,
    PlayersOption,
    PoliciesOption,
    RulingOption,
    SeedOption,
    ThreadsOption,
    progress,
    warn,
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


def caves_command(
    players: PlayersOption = 2,
    games: DealsOption = 20_000,
    policies: PoliciesOption = "greedy",
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
    precision: PrecisionOption = None,
    max_games: MaxGamesOption = 1_000_000,
    deck: DeckOption = "reference",
    ruling: RulingOption = None,
    icon: IconOption = None,
    caves_file: CavesFileOption = None,
    rule_out: Annotated[
        Path | None, typer.Option("--rule-out", help="Write the learned drafting rule into this file.")
    ] = None,
    out: OutOption = None,
    plot: PlotOption = False,
    as_json: JsonOption = False,
) -> None:
    """Play each deal with every cave in the same seat; print which is best, by how much, and for which hands not.

    Half as many deals again test the best cave, the learned rule and the draft. New caves: --caves-file.

    Example: dartmoor caves --players 3 --policies greedy --games 20000 --seed 1
    """
    check_plot(plot, out)
    world = world_of(deck, ruling, icon, caves_file)
    from experiments.caves import all_deals, caves, write_rule
    from experiments.experiment_tables import cave_tables
    from experiments.files import prepare_directory
    from experiments.options import check_threads, make_setting
    from experiments.precision import make_plan

    plan = make_plan(games, precision, max_games)
    setting = make_setting(world, players, policies, "draft", seed)
    workers = check_threads(threads)
    if out is not None:
        prepare_directory(out)
    with progress(all_deals(plan), "deals") as done:
        result = caves(setting, plan, workers, done)
    if rule_out is not None and result.stop.reason == "interrupted":
        warn(f"interrupted: no rule is written into {rule_out.name}")
    elif rule_out is not None:
        command = f"dartmoor caves --players {players} --policies {policies} --games {result.stop.games} --seed {seed}"
        write_rule(rule_out, result.document["rule"], command)

    def pictures() -> dict[str, bytes]:
        from experiments.plots import cave_pictures

        return cave_pictures(result)

    options = world_options(deck, ruling, icon, caves_file)
    tables_shown = cave_tables(result.document)
    hand_over(result, world, plan, tables_shown, as_json, out, options, pictures if plot else None)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("caves")(caves_command)
