"""`dartmoor winter`: when the winters come; `winter odds` at the table; `winter pace` measures paces."""

from pathlib import Path
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
    PoliciesOption,
    RulingOption,
    SeedOption,
    ThreadsOption,
    print_json,
    print_tables,
    progress,
    world_of,
)
from experiments.commands.precision import (
    MaxGamesOption,
    PlotOption,
    PrecisionOption,
    check_plot,
    hand_over,
    world_options,
)

winter_app = typer.Typer(invoke_without_command=True)


@winter_app.callback()
def winter_command(
    context: typer.Context,
    players: PlayersOption = 2,
    games: Annotated[int, typer.Option("--games", help="Number of games.")] = 50_000,
    policies: PoliciesOption = "greedy",
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
    """Play games; print when the winters came, what was left to play, what ended the game, and the exact law beside.

    Example: dartmoor winter --players 3 --policies greedy --games 50000 --seed 1
    """
    if context.invoked_subcommand is not None:
        return
    check_plot(plot, out)
    world = world_of(deck, ruling, icon, caves_file)
    from experiments.experiment_tables import winter_tables
    from experiments.files import prepare_directory
    from experiments.options import check_threads, make_setting
    from experiments.precision import make_plan
    from experiments.winter import winter

    plan = make_plan(games, precision, max_games)
    setting = make_setting(world, players, policies, caves, seed)
    workers = check_threads(threads)
    if out is not None:
        prepare_directory(out)
    with progress(plan.most) as done:
        result = winter(setting, plan, workers, done)

    def pictures() -> dict[str, bytes]:
        from experiments.plots import winter_pictures

        return winter_pictures(result)

    options = world_options(deck, ruling, icon, caves_file)
    tables_shown = winter_tables(result.document)
    hand_over(result, world, plan, tables_shown, as_json, out, options, pictures if plot else None)


@winter_app.command("odds")
def odds_command(
    stack_left: Annotated[int, typer.Option("--stack-left", help="Cards left in the stack, winters among them too.")],
    players: PlayersOption = 2,
    winters_seen: Annotated[int, typer.Option("--winters-seen", help="Winters beside the clearing, 0 to 2.")] = 1,
    pace: Annotated[
        float | None, typer.Option("--pace", help="Cards that a turn takes from the stack; measured ones are shipped.")
    ] = None,
    policy: Annotated[str, typer.Option("--policy", help="Without --pace: whose measured pace to use.")] = "greedy",
    ruling: RulingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the exact chance that the game ends with the next card, within a turn and within a round.

    Example: dartmoor winter odds --players 3 --stack-left 31 --winters-seen 1
    """
    from experiments.winter_odds import Situation, shipped_pace, winter_odds
    from sim.rulings import parse_rulings

    situation = Situation(players, stack_left, winters_seen, parse_rulings(ruling or ()).winter_pile)
    odds = winter_odds(situation, shipped_pace(policy, players, winters_seen) if pace is None else pace)
    if as_json:
        print_json(odds)
    else:
        from experiments.experiment_tables import odds_table

        print_tables([odds_table(odds)])


@winter_app.command("pace")
def pace_command(
    out: Annotated[Path, typer.Option("--out", help="The pace file to write.")],
    policies: Annotated[
        str, typer.Option("--policies", help="Policies to measure, each in all seats, a,b,..")
    ] = "greedy",
    games: Annotated[int, typer.Option("--games", help="Games for each policy and number of players.")] = 20_000,
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how many cards a turn takes from the stack, for 2 to 5 players, and write the file `winter odds` reads.

    Example: dartmoor winter pace --policies random,greedy --games 20000 --out pace.csv
    """
    world = world_of()
    from experiments.files import write_text
    from experiments.options import check_threads
    from experiments.winter import measure_paces
    from experiments.winter_odds import pace_text
    from sim.rules import MAX_PLAYERS, MIN_PLAYERS

    names, tables = [name.strip() for name in policies.split(",")], range(MIN_PLAYERS, MAX_PLAYERS + 1)
    with progress(games * len(names) * len(tables)) as done:
        rows = measure_paces(world, names, tables, games, seed, check_threads(threads), done)
    command = f"dartmoor winter pace --policies {policies} --games {games} --seed {seed} --out {out.name}"
    write_text(out, pace_text(rows, command))
    if as_json:
        print_json(rows)


def register(app: typer.Typer) -> None:
    """Add the command with its own commands."""
    app.add_typer(winter_app, name="winter")
