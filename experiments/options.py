"""What every command that plays has in common: its options, checked, and the match they make."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.files import manifest
from policies.registry import LoadedPolicy, load_seats
from sim.batch import Match
from sim.caves import Cave, read_caves
from sim.codes import CaveMode
from sim.deck import REFERENCE, Deck, deck_hash, load_deck
from sim.errors import DartmoorError
from sim.rules import MAX_PLAYERS, MIN_PLAYERS
from sim.rulings import Rulings, default_icons, describe, parse_icons, parse_rulings
from sim.tables import build_tables

MAX_SEED = 2**63 - 1  # also within int64, the integers of Parquet and most readers of JSON
MAX_GAMES = 10**12
CAVE_MODES = {"draft": CaveMode.DRAFT, "random": CaveMode.RANDOM}


@dataclass(frozen=True)
class World:
    """The box and the rules in force, whoever plays: tables for the kernels, and where they come from."""

    deck: Deck
    rulings: Rulings
    icons: dict[str, str]
    caves: list[Cave]
    tables: np.ndarray  # shape (1,), dtype TABLES

    @property
    def assumptions(self) -> list[str]:
        """One line for everything that the published rules leave open, for reports."""
        lines = describe(self.rulings, self.icons, self.caves)
        if any(card.status == "reconstructed" for card in self.deck.cards):
            lines.insert(0, f"deck {self.deck.name}: pairing and most symbols are reconstructed, not published")
        return lines

    @property
    def assumed(self) -> str:
        """The assumptions in one sentence, for the terminal."""
        parts = [f"deck {self.deck.name}"]
        if any(card.status == "reconstructed" for card in self.deck.cards):
            parts[0] += ", pairing and most symbols reconstructed"
        parts.append("icons " + ", ".join(f"{name}={value}" for name, value in self.icons.items()))
        caves = [f"{cave.number} ({cave.status})" for cave in self.caves if cave.status != "published"]
        if caves:
            parts.append("caves " + ", ".join(caves))
        changed = [f"{name}={value}" for name, value in self.options["rulings"].items()]
        parts.append("rulings " + (", ".join(changed) + ", the others" if changed else "all") + " at their default")
        return "; ".join(parts)

    @property
    def options(self) -> dict[str, Any]:
        """What differs from the defaults, for manifests: rulings, icons, and the effects of caves of the user's."""
        standard, icons = Rulings(), default_icons()
        rulings = {name: value for name, value in asdict(self.rulings).items() if value != getattr(standard, name)}
        chosen = {name: value for name, value in self.icons.items() if value != icons[name]}
        caves = {} if self.caves == read_caves() else {str(cave.number): cave.effect for cave in self.caves}
        return {"rulings": rulings, "icons": chosen, "own_caves": caves}

    def cave_number(self, index: int) -> int:
        """Return the number of the cave at an index of the tables."""
        return self.caves[index].number


@dataclass(frozen=True)
class Setting:
    """A world, who sits where, and how caves are given: all of a run but the games' indices."""

    world: World
    players: int
    seats: list[LoadedPolicy]
    seed: int
    cave_mode: CaveMode
    cave_numbers: tuple[int, ...]  # by seat, for CaveMode.GIVEN

    @property
    def caves_text(self) -> str:
        """The option --caves as it was given."""
        if self.cave_mode == CaveMode.GIVEN:
            return ",".join(map(str, self.cave_numbers))
        return self.cave_mode.name.lower()

    def match(self) -> Match:
        """Return the match for `sim.batch.play`."""
        numbers = [cave.number for cave in self.world.caves]
        return Match(
            tables=self.world.tables,
            players=self.players,
            policies=[seat.function for seat in self.seats],
            weights=[seat.weights for seat in self.seats],
            seed=self.seed,
            cave_mode=self.cave_mode,
            caves=[numbers.index(number) for number in self.cave_numbers],
            names=[seat.name for seat in self.seats],
        )

    def manifest(self, command: str, games: int, **options: object) -> dict[str, Any]:
        """Return the manifest of a results directory for this setting."""
        return manifest(
            seed=self.seed,
            games=games,
            options={
                "command": command,
                "players": self.players,
                "caves": self.caves_text,
                **self.world.options,
                **options,
            },
            deck={"name": self.world.deck.name, "hash": deck_hash(self.world.deck)},
            assumptions=self.world.assumptions,
            policies=[{"name": seat.name, "hash": seat.hash} for seat in self.seats],
        )


def make_world(
    deck: str = REFERENCE,
    rulings: Sequence[str] = (),
    icons: Sequence[str] = (),
    caves_file: Path | None = None,
) -> World:
    """Return the world of the options --deck, --ruling, --icon and --caves-file.

    Raises
    ------
    DartmoorError
        Any of them is wrong; the message names the valid choices.
    """
    cards, chosen, types, caves = load_deck(deck), parse_rulings(rulings), parse_icons(icons), read_caves(caves_file)
    return World(cards, chosen, types, caves, build_tables(cards, chosen, types, caves))


def make_setting(world: World, players: int, policies: str, caves: str = "draft", seed: int = 0) -> Setting:
    """Return the setting of the options --players, --policies, --caves and --seed in a world.

    Raises
    ------
    DartmoorError
        Any of them is wrong; the message names the valid choices.
    """
    check_players(players)
    check_seed(seed)
    mode, numbers = parse_caves(caves, players, world.caves)
    return Setting(world, players, load_seats(policies, players), seed, mode, numbers)


def check_players(players: int) -> None:
    """Refuse a number of players that the game is not for."""
    if not MIN_PLAYERS <= players <= MAX_PLAYERS:
        raise DartmoorError(f"--players: {players}, expected {MIN_PLAYERS} to {MAX_PLAYERS}")


def check_seed(seed: int) -> None:
    """Refuse a seed that is no natural number of 63 bits."""
    if not 0 <= seed <= MAX_SEED:
        raise DartmoorError(f"--seed: {seed}, expected 0 to {MAX_SEED}")


def check_games(games: int, option: str = "--games") -> None:
    """Refuse a number of games that is no run."""
    if not 1 <= games <= MAX_GAMES:
        raise DartmoorError(f"{option}: {games}, expected 1 to {MAX_GAMES}")


def check_threads(threads: int | None) -> int:
    """Return the number of threads to use: as asked, or one for each core."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not 1 <= threads <= 1024:
        raise DartmoorError(f"--threads: {threads}, expected 1 to 1024")
    return threads


def parse_caves(text: str, players: int, caves: Sequence[Cave]) -> tuple[CaveMode, tuple[int, ...]]:
    """Return how caves are given and, for a list such as `1,4`, the seats' cave numbers."""
    known = [cave.number for cave in caves]
    if len(known) < players:
        raise DartmoorError(f"--caves-file: {len(known)} caves for {players} players, expected at least one a player")
    if text in CAVE_MODES:
        return CAVE_MODES[text], ()
    numbers: list[int] = []
    for part in text.split(","):
        if not (part.isascii() and part.strip().isdecimal()) or int(part) not in known:
            valid = ", ".join(map(str, known))
            raise DartmoorError(f"--caves: {part.strip()!r} unknown, expected draft, random or a list from {valid}")
        if int(part) in numbers:
            raise DartmoorError(f"--caves: cave {int(part)} is named twice, the box holds each cave once")
        numbers.append(int(part))
    if len(numbers) != players:
        raise DartmoorError(f"--caves: {len(numbers)} caves for {players} players, expected one a player")
    return CaveMode.GIVEN, tuple(numbers)
