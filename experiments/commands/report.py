"""`dartmoor report`: a results directory as one HTML page."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.common import JsonOption, console, print_json


def report_command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A directory that --out wrote, or one of such.")],
    as_json: JsonOption = False,
) -> None:
    """Write DIR/report.html: all tables (sortable) and pictures, the assumptions, and how to repeat every number.

    The page stands by itself and needs no network. It has a section for every results directory in DIR.

    Example: dartmoor report results/cards
    """
    from experiments.report import write_report

    written = write_report(directory)
    if as_json:
        print_json(written)
    else:
        console().print(
            f"{written['report']}: {written['sections']} sections, {written['tables']} tables, "
            f"{written['pictures']} pictures",
            soft_wrap=True,
        )


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report_command)
