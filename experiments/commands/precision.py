"""Options and output that the experiments share: --precision, --max-games, --plot, and how a result is handed over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.common import print_assumptions, print_json, print_tables, warn

if TYPE_CHECKING:
    from rich.table import Table

    from experiments.options import World
    from experiments.precision import Plan
    from experiments.results import Result

DealsOption = Annotated[
    int, typer.Option("--games", help="Number of deals; each is played in every arrangement that is compared.")
]
PrecisionOption = Annotated[
    float | None,
    typer.Option(
        "--precision",
        help="Play until every interval of a share reaches at most this far to a side (0.01: one point in 100), "
        "at looks fixed in advance, and with intervals that hold at all of them. Replaces --games.",
    ),
]
MaxGamesOption = Annotated[int, typer.Option("--max-games", help="With --precision: the most deals to play.")]
PlotOption = Annotated[bool, typer.Option("--plot", help="Also draw pictures into --out (needs matplotlib).")]
SeatsOption = Annotated[
    str, typer.Option("--policies", help="One policy a seat, a,b,..; a single name is for all seats.")
]


def check_plot(plot: bool, out: Path | None) -> None:
    """Refuse --plot without a directory or without matplotlib, before anything is played."""
    if not plot:
        return
    from experiments.plots import check_matplotlib
    from sim.errors import DartmoorError

    if out is None:
        raise DartmoorError("--plot: needs --out DIR for the pictures")
    check_matplotlib()


def world_options(
    deck: str, ruling: list[str] | None, icon: list[str] | None, caves_file: Path | None
) -> dict[str, object]:
    """Return the world's options that differ from their defaults, for the manifest."""
    given = {"deck": None if deck == "reference" else deck, "ruling": ruling, "icon": icon, "caves_file": caves_file}
    return {name: value.name if isinstance(value, Path) else value for name, value in given.items() if value}


def hand_over(
    result: Result,
    world: World,
    plan: Plan,
    tables: list[Table],
    as_json: bool,
    out: Path | None,
    options: Mapping[str, object],
    pictures: Callable[[], Mapping[str, bytes]] | None = None,
) -> None:
    """Write a result into `out`, print it, say what it assumes, and end with exit code 1 if it was cut short.

    `options` are the world's, from `world_options`; `pictures` draws them, when they are wanted.
    """
    stop = result.stop
    if stop.reason == "interrupted":
        warn(f"interrupted after {stop.games:,} of {plan.most:,} deals; what follows is of those")
    elif stop.reason == "max_games":
        warn(f"--precision {plan.target:g} is not reached within --max-games {plan.most}; what follows is less precise")
    if out is not None:
        from experiments.results import write_results

        result.manifest["options"] |= options
        write_results(out, result, pictures() if pictures else None)
    if as_json:
        print_json(result.document)
    else:
        print_tables(tables)
    print_assumptions(world)
    if stop.reason == "interrupted":
        raise typer.Exit(1)
