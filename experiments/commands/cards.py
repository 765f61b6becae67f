"""`dartmoor cards`: what each species is worth."""

import os
from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.common import (
    CavesFileOption,
    CavesOption,
    DeckOption,
    GamesOption,
    IconOption,
    JsonOption,
    OutOption,
    PlayersOption,
    PoliciesOption,
    RulingOption,
    SeedOption,
    ThreadsOption,
    console,
    progress,
    world_of,
)
from experiments.commands.precision import MaxGamesOption, PrecisionOption, hand_over, world_options

CausalOption = Annotated[
    bool,
    typer.Option(
        "--causal/--no-causal",
        help="Also play the same deals with each species' points off, its effects off, and a copy in the opening hand.",
    ),
]
CausalGamesOption = Annotated[
    int | None,
    typer.Option("--causal-games", help="Deals for --causal, each played some 180 times; by default up to 1000."),
]
PlotOption = Annotated[bool, typer.Option("--plot", help="Also draw the values into --out, as SVG.")]
MOST_CAUSAL = 1000  # deals by default


def cards_command(
    players: PlayersOption = 2,
    games: GamesOption = 50_000,
    policies: PoliciesOption = "greedy",
    caves: CavesOption = "draft",
    causal: CausalOption = True,
    causal_games: CausalGamesOption = None,
    precision: PrecisionOption = None,
    max_games: MaxGamesOption = 1_000_000,
    seed: SeedOption = 0,
    threads: ThreadsOption = None,
    deck: DeckOption = "reference",
    ruling: RulingOption = None,
    icon: IconOption = None,
    caves_file: CavesFileOption = None,
    out: OutOption = None,
    plot: PlotOption = False,
    as_json: JsonOption = False,
) -> None:
    """Value all 66 species: win rates in hand and played, points for each card spent, what they cause, which pairs fit.

    Example: dartmoor cards --players 3 --policies greedy --games 100000 --causal-games 2000 --out results/cards
    """
    from sim.errors import DartmoorError

    if plot and out is None:
        raise DartmoorError("--plot: needs --out DIR for the pictures")
    world = world_of(deck, ruling, icon, caves_file)
    announce_kernels()
    from experiments.card_tables import card_tables
    from experiments.cards import card_values, groups_of
    from experiments.causal import GAMES_A_DEAL
    from experiments.files import prepare_directory
    from experiments.options import check_games, check_threads, make_setting
    from experiments.precision import make_plan
    from experiments.report_pictures import card_pictures

    plan = make_plan(games, precision, max_games)
    if causal_games is not None:
        check_games(causal_games, "--causal-games")
    deals = (causal_games or min(MOST_CAUSAL, plan.most)) if causal else 0
    workers = check_threads(threads)
    setting = make_setting(world, players, policies, caves, seed)
    if out is not None:
        prepare_directory(out)
    with progress(plan.most + deals * GAMES_A_DEAL * len(groups_of(setting))) as done:
        result = card_values(setting, plan, deals, workers, done, lambda count: done(count * GAMES_A_DEAL))
    options = world_options(deck, ruling, icon, caves_file)
    pictures = (lambda: card_pictures(result.frames)) if plot else None
    hand_over(result, world, plan, card_tables(result.document), as_json, out, options, pictures)


def announce_kernels() -> None:
    """Say on stderr that this command's own kernels are being compiled, if they never were."""
    if not any(Path(os.environ["NUMBA_CACHE_DIR"]).glob("*/causal_sums.sum_changes-*.nbi")):
        console(stderr=True).print("compiling the kernels of this command, which takes half a minute ...")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("cards")(cards_command)
