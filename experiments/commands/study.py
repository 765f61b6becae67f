"""`dartmoor study`: the reference study and its findings in plain words."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.common import (
    JsonOption,
    SeedOption,
    ThreadsOption,
    announce_compilation,
    console,
    print_json,
    progress,
    warn,
)

DEFAULT_OUT = Path("results/study")
PAGE = "README.md"


def study_command(
    games: Annotated[
        int, typer.Option("--games", help="Games of the longest parts; the others take fixed shares of it.")
    ] = 20_000,
    players: Annotated[str, typer.Option("--players", help="Numbers of players, a list.")] = "2,3,4,5",
    policy: Annotated[str, typer.Option("--policy", help="Who plays: one policy for all seats.")] = "tuned",
    check: Annotated[
        str, typer.Option("--check", help="The policy that shows whether conclusions hold for another one.")
    ] = "greedy",
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
    quick: Annotated[bool, typer.Option("--quick", help="A twentieth of the games.")] = False,
    out: Annotated[Path, typer.Option("--out", help="Directory for the parts' tables.")] = DEFAULT_OUT,
    page: Annotated[
        Path | None, typer.Option("--page", help="The findings' page; by default README.md in or above --out.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Study seats, caves, cards, winter and policies for all table sizes; write tables and a page of findings.

    Parts that are in --out already, of the same version, options and policies, are read and not played again.

    Example: dartmoor study --players 2,3 --policy greedy --check random --quick --out out/study
    """
    announce_compilation()
    from experiments.files import prepare_directory, write_text
    from experiments.findings import findings_document
    from experiments.findings_page import page as page_of
    from experiments.options import check_threads
    from experiments.study import make_study, part_count, run_study

    study = make_study(games, players, policy, check, seed, quick)
    workers = check_threads(threads)
    target = page or (out.parent if out == DEFAULT_OUT else out) / PAGE
    prepare_directory(target.parent)
    err = console(stderr=True)
    finished = []
    try:
        with progress(part_count(study), "parts") as done:

            def on_part(name: str, seconds: float | None) -> None:
                finished.append(name)
                err.print(f"{name}: {'there already' if seconds is None else f'{seconds:.0f} s'}")
                done(1)

            found = run_study(study, out, workers, on_part)
    except KeyboardInterrupt:
        warn(f"interrupted: {len(finished)} of {part_count(study)} parts are in {out}; the same command goes on there")
        raise typer.Exit(1) from None
    document = findings_document(found)
    write_text(target, page_of(document))
    if as_json:
        print_json(document)
    else:
        console().print(f"{target}: the findings of {len(finished)} parts, whose tables are in {out}", soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("study")(study_command)
