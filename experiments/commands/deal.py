"""`dartmoor deal`: the deal of a game of a seed, as JSON."""

from typing import Annotated

import typer

from experiments.commands.common import (
    CavesFileOption,
    DeckOption,
    JsonOption,
    PlayersOption,
    RulingOption,
    SeedOption,
    print_json,
    world_of,
)


def deal_command(
    players: PlayersOption = 2,
    seed: SeedOption = 0,
    game: Annotated[int, typer.Option("--game", help="Index of the game in the run.")] = 0,
    deck: DeckOption = "reference",
    ruling: RulingOption = None,
    caves_file: CavesFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print everything that chance decides before the first turn, as JSON (with or without --json).

    Example: dartmoor deal --players 3 --seed 1 --game 77 > deal.json
    """
    from sim.errors import DartmoorError

    del as_json  # a deal has no other form
    world = world_of(deck, ruling, None, caves_file)
    from experiments.options import MAX_GAMES, check_players, check_seed, parse_caves
    from sim.deals import deal_document

    check_players(players)
    check_seed(seed)
    parse_caves("draft", players, world.caves)
    if not 0 <= game < MAX_GAMES:
        raise DartmoorError(f"--game: {game}, expected 0 to {MAX_GAMES - 1}")
    print_json(deal_document(world.tables, players, seed, game))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("deal")(deal_command)
