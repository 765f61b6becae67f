"""`dartmoor tournament`: policies against each other, seats rotated, with ratings, a sequential test and Nash."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    print_assumptions,
    print_json,
    print_tables,
    progress,
    warn,
    world_of,
)

if TYPE_CHECKING:
    from experiments.tournament import Contest, Table


def tournament_command(
    policies: Annotated[str, typer.Option("--policies", help="The policies, a,b,..")] = "random,plain,greedy",
    players: PlayersOption = 2,
    games: Annotated[
        int, typer.Option("--games", help="Games at each table, rounded up to whole blocks; with --sprt at most.")
    ] = 20_000,
    tables: Annotated[
        str,
        typer.Option(
            "--tables", help="solo: each policy alone at a table of each other (all pairs); all compositions."
        ),
    ] = "solo",
    table: Annotated[
        list[str] | None,
        typer.Option("--table", help="A table a,b,b instead, one policy a seat; may be given several times."),
    ] = None,
    sprt: Annotated[
        str | None,
        typer.Option("--sprt", help="elo0,elo1: stop when the first of two policies is shown to be nearer to one."),
    ] = None,
    openskill: Annotated[bool, typer.Option("--openskill", help="Also rate with openskill (extra `ratings`).")] = False,
    caves: CavesOption = "draft",
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
    deck: DeckOption = "reference",
    ruling: RulingOption = None,
    icon: IconOption = None,
    caves_file: CavesFileOption = None,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hold a tournament: every table on the same deals, seats rotated, errors over blocks, ratings, Nash mixture.

    Example: dartmoor tournament --policies greedy,balanced,random --games 20000 --seed 1

    Sequential test: dartmoor tournament --policies balanced,greedy --sprt 0,20 --games 100000
    """
    from sim.errors import DartmoorError

    if sprt is not None and (out is not None or openskill or table):
        raise DartmoorError("--sprt: tests two --policies; not with --out, --openskill or --table")
    world = world_of(deck, ruling, icon, caves_file)
    from experiments.options import check_games, check_threads
    from experiments.tournament import make_contest, make_tables, parse_names, parse_tables

    check_games(games)
    workers = check_threads(threads)
    contest = make_contest(world, players, caves, seed)
    blocks = -(-games // players)
    if sprt is not None:
        complete = _sequential(contest, tuple(parse_names(policies)), sprt, blocks, workers, as_json)
    else:
        listed = parse_tables(table, players) if table else make_tables(parse_names(policies), players, tables)
        complete = _tournament(contest, listed, blocks, workers, openskill, out, as_json)
    print_assumptions(world)
    if not complete:
        raise typer.Exit(1)


def _tournament(
    contest: Contest, listed: list[Table], blocks: int, workers: int, openskill: bool, out: Path | None, as_json: bool
) -> bool:
    """Play the tables, report them and return whether all were played."""
    from experiments.files import prepare_directory
    from experiments.ratings import OPENSKILL_BLOCKS
    from experiments.tournament import run_tournament
    from experiments.tournament_report import tournament_document, tournament_grids, write_results

    if out is not None:
        prepare_directory(out)
    with progress(len(listed) * blocks * contest.players) as done:
        kept = OPENSKILL_BLOCKS if openskill else 0
        tournament = run_tournament(contest, listed, blocks, workers, done, kept)
    document = tournament_document(tournament, openskill)
    if not tournament.complete:
        warn(f"interrupted after {document['games']:,} games; what follows is of those games")
    if out is not None:
        write_results(out, tournament, document)
    if as_json:
        print_json(document)
    else:
        print_tables(tournament_grids(document))
    return tournament.complete


def _sequential(contest: Contest, table: Table, sprt: str, blocks: int, workers: int, as_json: bool) -> bool:
    """Run and report a sequential test; return whether it was not interrupted."""
    from experiments.sprt import parse_sprt, run_sprt
    from experiments.tournament_report import sprt_document, sprt_grid

    elo0, elo1 = parse_sprt(sprt)
    with progress(2 * blocks) as done:
        test = run_sprt(contest, table, elo0, elo1, blocks, workers, done)
    if not test.complete:
        warn(f"interrupted after {2 * test.result.blocks:,} games; what follows is of those games")
    document = sprt_document(contest, test)
    if as_json:
        print_json(document)
    else:
        print_tables([sprt_grid(document)])
    return test.complete


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("tournament")(tournament_command)
