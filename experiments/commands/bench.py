"""`dartmoor bench`: how fast the engine is on this machine, beside others."""

from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.commands.common import (
    JsonOption,
    OutOption,
    SeedOption,
    console,
    print_assumptions,
    print_json,
    print_tables,
    world_of,
)

FILE = "bench.json"


def bench_command(
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes and few rounds, for a first look.")] = False,
    rounds: Annotated[int | None, typer.Option("--rounds", help="Rounds; by default 7, with --quick 3.")] = None,
    only: Annotated[
        str | None, typer.Option("--only", help="Sections, a,b,..: engines, threads, start, growth, counters, scale.")
    ] = None,
    compare: Annotated[Path | None, typer.Option("--compare", help="A bench.json of before to compare with.")] = None,
    seed: SeedOption = 1,
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure speed beside OpenSpiel's C++ games, a plain-Python engine and the floor; threads, start-up, growth.

    Example: dartmoor bench --quick --only engines,counters --out results/bench

    With --compare an older bench.json is held against this run. A full run takes about ten minutes.
    """
    from dataclasses import replace

    from sim.errors import DartmoorError

    if rounds is not None and rounds < 1:
        raise DartmoorError(f"--rounds: {rounds}, expected 1 or more")
    world = world_of()
    from experiments.bench import FULL, QUICK, bench, check_sections
    from experiments.bench_report import bench_tables, compare_tables, read_bench
    from experiments.bench_report import compare as compare_documents
    from experiments.files import prepare_directory, write_json
    from experiments.options import check_seed

    check_seed(seed)
    sections = check_sections(only)
    size = QUICK if quick else FULL
    old = read_bench(compare) if compare else None
    if out is not None:
        prepare_directory(out)
    err = console(stderr=True)
    with err.status("") as status:
        document: dict[str, Any] = bench(
            world,
            seed,
            replace(size, rounds=rounds) if rounds else size,
            sections,
            lambda what: status.update(f"bench: {what} ..."),
        )
    comparison = compare_documents(old, document) if old else None
    if comparison is not None:
        document["comparison"] = comparison
    if out is not None:
        write_json(out / FILE, document)
    if as_json:
        print_json(document)
    else:
        print_tables([*bench_tables(document), *(compare_tables(comparison) if comparison else ())])
    print_assumptions(world)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bench")(bench_command)
