"""`dartmoor replay`: one game of a run, or of given deals, in words or as a document."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.common import (
    CavesFileOption,
    CavesOption,
    DeckOption,
    IconOption,
    JsonOption,
    PoliciesOption,
    RulingOption,
    SeedOption,
    console,
    print_assumptions,
    print_json,
    world_of,
)


def replay_command(
    deal: Annotated[
        list[Path] | None, typer.Option("--deal", help="Play this deal (JSON); may be given again.")
    ] = None,
    deals: Annotated[list[Path] | None, typer.Argument(help="Further deals, after --deal.")] = None,
    players: Annotated[int | None, typer.Option("--players", help="Number of players; a deal says it itself.")] = None,
    policies: PoliciesOption = "greedy",
    caves: CavesOption = "draft",
    seed: SeedOption = 0,
    game: Annotated[int, typer.Option("--game", help="Index of the game in the run.")] = 0,
    deck: DeckOption = "reference",
    ruling: RulingOption = None,
    icon: IconOption = None,
    caves_file: CavesFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a game so that a player can follow and audit it, with the final scoring sheet.

    Example: dartmoor replay --players 2 --policies greedy,random --seed 1 --game 77
    """
    from sim.errors import DartmoorError

    world = world_of(deck, ruling, icon, caves_file)
    from experiments.options import MAX_GAMES, Setting, make_setting
    from experiments.replay import final_sheet, narrate, result_document
    from experiments.score import print_scores
    from sim.deals import Deal, read_deals

    if not 0 <= game < MAX_GAMES:
        raise DartmoorError(f"--game: {game}, expected 0 to {MAX_GAMES - 1}")
    paths = [*(deal or []), *(deals or [])]
    runs: list[tuple[Setting, Deal | None]] = []
    if paths:
        for path in paths:
            for one in read_deals(path, world.tables):
                if players is not None and players != one.players:
                    raise DartmoorError(f"{one.where}: a deal for {one.players} players, but --players {players}")
                runs.append((make_setting(world, one.players, policies, caves, seed), one))
    else:
        runs.append((make_setting(world, 2 if players is None else players, policies, caves, seed), None))
    if as_json:
        print_json([result_document(setting, game, given) for setting, given in runs])
    else:
        out = console()
        for setting, given in runs:
            title = given.where if given else f"Game {game} of seed {seed}"
            out.print(title, markup=False, soft_wrap=True)
            for line in narrate(setting, game, given):
                out.print(line, markup=False, soft_wrap=True)
            print_scores([final_sheet(setting, game, given)], ["Final scoring"], out)
    print_assumptions(world)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay")(replay_command)
