"""`dartmoor tune`: search for better weights of the `weights` policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.common import (
    CavesFileOption,
    DeckOption,
    IconOption,
    JsonOption,
    PlayersOption,
    RulingOption,
    SeedOption,
    ThreadsOption,
    console,
    print_assumptions,
    print_json,
    progress,
    warn,
    world_of,
)


def tune_command(
    out: Annotated[Path, typer.Option("--out", help="Directory for the checkpoint and the weights file.")],
    players: PlayersOption = 2,
    start: Annotated[
        str, typer.Option("--start", help="Weights to start from: an archetype or weights:FILE.")
    ] = "balanced",
    pool: Annotated[str, typer.Option("--pool", help="Opponents, a,b,..; champions of the search join them.")] = (
        "greedy,balanced"
    ),
    games: Annotated[int, typer.Option("--games", help="Games of one candidate in one generation.")] = 400,
    generations: Annotated[int, typer.Option("--generations", help="Generations of the search.")] = 60,
    population: Annotated[int, typer.Option("--population", help="Candidates in one generation.")] = 16,
    sigma: Annotated[float, typer.Option("--sigma", help="First step size; 1 is the size of a starting weight.")] = 0.3,
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the search in --out.")] = False,
    deck: DeckOption = "reference",
    ruling: RulingOption = None,
    icon: IconOption = None,
    caves_file: CavesFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search for better weights by CMA-ES against a pool; the checkpoint makes a stopped search go on to the same end.

    Example: dartmoor tune --players 3 --pool greedy,balanced --generations 60 --seed 1 --out results/tune_3p
    """
    world = world_of(deck, ruling, icon, caves_file)
    from experiments.options import check_threads
    from experiments.tune import TuneSettings, command_line, tune, tune_document, write_tuned

    workers = check_threads(threads)
    opponents = tuple(name.strip() for name in pool.split(",") if name.strip())
    settings = TuneSettings(players, start, opponents, games, generations, population, sigma, seed)
    with progress(generations, "generations") as done:
        found = tune(world, settings, out, workers, resume, lambda generation, best: done(1))
    command = command_line(settings, out.name)
    path = write_tuned(out, settings, found, command)
    complete = len(found.fitness) >= generations
    if not complete:
        warn(f"interrupted after {len(found.fitness)} of {generations} generations; continue with --resume")
    if as_json:
        print_json(tune_document(world, settings, found, command))
    else:
        best = max(found.checks, key=lambda check: check["soft_share"])
        low, high = best["win_share"]["ci"]
        console().print(
            f"{path}: win share {best['win_share']['value']:.3f} ({low:.3f} to {high:.3f}) against the pool on "
            f"{best['win_share']['n']} held-out deals, generation {best['generation']}"
        )
    print_assumptions(world)
    if not complete:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("tune")(tune_command)
