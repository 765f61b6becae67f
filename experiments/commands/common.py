"""What commands share: option types with their help, and output."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from experiments.options import World

PlayersOption = Annotated[int, typer.Option("--players", help="Number of players, 2 to 5.", show_default=True)]
GamesOption = Annotated[int, typer.Option("--games", help="Number of games.", show_default=True)]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of the run; the same seed plays the same games.")]
ThreadsOption = Annotated[int | None, typer.Option("--threads", help="Threads; by default one for each core.")]
PoliciesOption = Annotated[
    str, typer.Option("--policies", help="One policy a seat, a,b,..; a single name is for all seats.")
]
CavesOption = Annotated[
    str,
    typer.Option("--caves", help="draft (players choose), random (dealt), or a list such as 1,4: one cave a seat."),
]
DeckOption = Annotated[str, typer.Option("--deck", help="reference, seed:N (another reconstruction) or a deck file.")]
RulingOption = Annotated[
    list[str] | None,
    typer.Option("--ruling", help="option=value for an open point of the rules; may be given several times."),
]
IconOption = Annotated[
    list[str] | None,
    typer.Option("--icon", help="species=type for an icon that the published text lost; may be given several times."),
]
CavesFileOption = Annotated[
    Path | None, typer.Option("--caves-file", help="A CSV of caves that replaces those of the box.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]


def directory(text: str) -> Path:
    """Return the path of --out; an empty text (an unset variable of a shell) is no directory."""
    if not text:
        raise ValueError("empty, expected a directory")
    return Path(text)


OutOption = Annotated[
    Path | None, typer.Option("--out", parser=directory, metavar="DIR", help="Directory for manifest and tables.")
]


def world_of(
    deck: str = "reference",
    ruling: list[str] | None = None,
    icon: list[str] | None = None,
    caves_file: Path | None = None,
) -> World:
    """Return the world of the options; announces a first compilation, since kernels are imported here."""
    announce_compilation()
    from experiments.options import make_world

    return make_world(deck, ruling or (), icon or (), caves_file)


def announce_compilation() -> None:
    """Say on stderr that the kernels are being compiled, if this version of them never was on this machine."""
    from sim import KERNEL_CACHE

    if not any(KERNEL_CACHE.glob("*/play.play_games-*.nbi")):
        console(stderr=True).print("compiling the kernels for the first time, which takes up to a minute ...")


def console(stderr: bool = False) -> Console:
    """Return a console for people: stdout for tables, stderr for progress and warnings."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def warn(text: str) -> None:
    """Print one warning line on stderr."""
    console(stderr=True).print(f"[yellow]warning:[/] {text}", soft_wrap=True)


def print_json(document: Any) -> None:
    """Print one JSON document on stdout."""
    from experiments.files import json_text

    sys.stdout.write(json_text(document))


def print_tables(tables: list[Table]) -> None:
    """Print rich tables on stdout."""
    out = console()
    for table in tables:
        out.print(table)


def print_assumptions(world: World) -> None:
    """Say what the results take for granted, on stderr: the deck, icons, rulings and caves that are not published."""
    console(stderr=True).print(f"[yellow]assumed[/] (docs/assumptions.md): {world.assumed}")


@contextmanager
def progress(total: int, what: str = "games") -> Iterator[Any]:
    """Show a progress bar on stderr; yields a function that takes the number of games just done."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    err = console(stderr=True)
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)
