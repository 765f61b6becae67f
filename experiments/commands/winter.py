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
from sim.errors import DartmoorError

winter_app = typer.Typer(invoke_without_command=True)
UNASKED = ("DEFAULT", "DEFAULT_MAP")  # sources of a parameter that nobody gave


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
        refuse_options_before(context, context.invoked_subcommand)
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


def refuse_options_before(context: typer.Context, command: str) -> None:
    """Refuse options of `winter` before a command of its own, which would drop them silently."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = [name for name, source in sources.items() if source is not None and source.name not in UNASKED]
    if given:
        option = "--json" if given[0] == "as_json" else "--" + given[0].replace("_", "-")
        raise DartmoorError(f"{option}: options go after `winter {command}`, before it they have no effect")


@winter_app.command("odds")
def odds_command(
    stack_left: Annotated[int, typer.Option("--stack-left", help="Cards left in the stack, winters among them too.")],
    players: PlayersOption = 2,
    winters_seen: Annotated[int, typer.Option("--winters-seen", help="Winters beside the clearing, 0 to 2.")] = 1,
    pace: Annotated[
        float | None,
        typer.Option(
            "--pace",
            help="Mean cards that a turn takes from the stack. Assumed for it: up to 1.5, one or two cards with equal "
            "chance, otherwise none; above, one of the two whole numbers next to it.",
        ),
    ] = None,
    policy: Annotated[str, typer.Option("--policy", help="Without --pace: whose measured turns to use.")] = "greedy",
    ruling: RulingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the chance that the game ends with the next card (exact), within a turn and within a round (estimates).

    Exact too: how many cards end it with a chance of 50, 80 and 95 per cent. A turn and a round depend on how many
    cards the players take: as measured for a policy, or assumed for the mean of --pace.

    Example: dartmoor winter odds --players 3 --stack-left 31 --winters-seen 1
    """
    from experiments.winter_odds import Situation, assumed_turn, measured_turn, winter_odds
    from sim.rulings import parse_rulings

    situation = Situation(players, stack_left, winters_seen, parse_rulings(ruling or ()).winter_pile)
    turn = measured_turn(policy, players, winters_seen) if pace is None else assumed_turn(pace)
    odds = winter_odds(situation, turn)
    if as_json:
        print_json(odds)
        return
    from experiments.experiment_tables import odds_table

    table = odds_table(odds)
    table.caption = (
        f"exact but for a turn and a round, which are estimates; a turn takes {turn.pace:.2g} cards, {turn.source}"
    )
    print_tables([table])


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
    """Count turns by the cards they take from the stack, for 2 to 5 players; write the file that `winter odds` reads.

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
