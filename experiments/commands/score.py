"""`dartmoor score`: points of real tables."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.common import (
    CavesFileOption,
    JsonOption,
    RulingOption,
    console,
    print_json,
    world_of,
)


def score_command(
    files: Annotated[list[Path], typer.Argument(help="Forest files, JSON or TOML.")],
    lenient: Annotated[bool, typer.Option("--lenient", help="Score also what the rules would not allow.")] = False,
    ruling: RulingOption = None,
    caves_file: CavesFileOption = None,
    seed: Annotated[int, typer.Option("--seed", help="Taken for uniformity; scoring uses no chance.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Score forests line by line, by species; with several files --json prints a list.

    Example: dartmoor score table.json --json
    """
    del seed
    world = world_of(ruling=ruling, caves_file=caves_file)
    from experiments.score import print_scores, score_files, score_json

    scores = score_files(files, tables=world.tables, lenient=lenient)
    if as_json:
        print_json(score_json(scores))
    else:
        print_scores(scores, [str(path) for path in files], console())


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("score")(score_command)
