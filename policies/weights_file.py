"""Weights of the `weights` policy as TOML files: read, check and write; the archetypes are such files.

A file has `name`, `summary`, `players` (the table sizes it is meant for) and a table `[weights]` with one number for
each feature. With `base = "balanced"` (an archetype) it names only the weights that differ from the base's.
"""

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policies.feature_names import NAMES
from sim.errors import DartmoorError
from sim.rules import MAX_PLAYERS, MIN_PLAYERS

ARCHETYPES = Path(__file__).parent / "archetypes"
KEYS = ("name", "summary", "players", "base", "weights")
ALL_PLAYERS = tuple(range(MIN_PLAYERS, MAX_PLAYERS + 1))


@dataclass(frozen=True)
class WeightsFile:
    """A weights file as read: `weights` is float64, (features,), in the order of `Feature`."""

    name: str
    summary: str
    players: tuple[int, ...]
    base: str | None
    weights: np.ndarray


def archetype_names() -> list[str]:
    """Return the names of the archetypes, sorted."""
    return sorted(path.stem for path in ARCHETYPES.glob("*.toml"))


def read_archetype(name: str) -> WeightsFile:
    """Return an archetype by name.

    Raises
    ------
    DartmoorError
        There is no such archetype; the message lists those there are.
    """
    if name not in archetype_names():
        raise DartmoorError(f"archetype {name!r} unknown, expected one of {', '.join(archetype_names())}")
    return read_weights(ARCHETYPES / f"{name}.toml")


def read_weights(path: Path, players: int | None = None) -> WeightsFile:
    """Return a weights file, checked; with `players`, also that it is meant for a table of that size.

    Raises
    ------
    DartmoorError
        The file cannot be read or is not TOML; a key or feature is missing or unknown, or a value is not valid.
    """
    document = _parse(path)
    for key in document:
        if key not in KEYS:
            raise DartmoorError(f"{path}: key {key!r} unknown, expected {', '.join(KEYS)}")
    base = document.get("base")
    if base is not None and not isinstance(base, str):
        raise DartmoorError(f"{path}: base: expected the name of an archetype")
    known = dict(zip(NAMES, read_archetype(base).weights.tolist(), strict=True)) if base else {}
    found = WeightsFile(
        name=_text(path, document, "name", path.stem),
        summary=_text(path, document, "summary", ""),
        players=_players(path, document.get("players", list(ALL_PLAYERS))),
        base=base,
        weights=_weights(path, document.get("weights"), known),
    )
    if players is not None and players not in found.players:
        meant = ", ".join(map(str, found.players))
        raise DartmoorError(f"{path}: weights for {meant} players, not for {players}")
    return found


def write_weights(
    path: Path, name: str, summary: str, weights: Sequence[float] | np.ndarray, players: Sequence[int] = ALL_PLAYERS
) -> None:
    """Write weights (float64, (features,)) so that `read_weights` gives back the same numbers."""
    lines = [f"name = {json.dumps(name)}", f"summary = {json.dumps(summary)}", f"players = {list(map(int, players))}"]
    lines += ["", "[weights]"]
    lines += [f"{feature} = {float(value)!r}" for feature, value in zip(NAMES, weights, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DartmoorError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # not UTF-8, or not TOML
        raise DartmoorError(f"{path}: not a TOML document: {error}") from error


def _text(path: Path, document: Mapping[str, Any], key: str, default: str) -> str:
    value = document.get(key, default)
    if not isinstance(value, str):
        raise DartmoorError(f"{path}: {key}: expected a text in quotes")
    return value


def _players(path: Path, value: Any) -> tuple[int, ...]:
    valid = isinstance(value, list) and value and all(type(n) is int and n in ALL_PLAYERS for n in value)
    if not valid:
        raise DartmoorError(f"{path}: players: expected a list of numbers from {MIN_PLAYERS} to {MAX_PLAYERS}")
    return tuple(value)


def _weights(path: Path, table: Any, known: dict[str, float]) -> np.ndarray:
    if not isinstance(table, dict):
        raise DartmoorError(f"{path}: the table [weights] is missing")
    for feature, value in table.items():
        if feature not in NAMES:
            raise DartmoorError(f"{path}: weights: feature {feature!r} unknown, expected one of {', '.join(NAMES)}")
        if type(value) not in (int, float) or not math.isfinite(value):
            raise DartmoorError(f"{path}: weights: {feature}: expected a number")
    merged = known | table
    missing = [feature for feature in NAMES if feature not in merged]
    if missing:
        raise DartmoorError(f"{path}: weights: missing {', '.join(missing)} (or name a base)")
    return np.array([merged[feature] for feature in NAMES], np.float64)
