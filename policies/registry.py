"""Policies by name: the built-in ones, a user's file, or a weights file."""

import hashlib
import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sim.errors import DartmoorError

NO_WEIGHTS = np.zeros(1)


@dataclass(frozen=True)
class BuiltIn:
    """Where a built-in policy lives, and one line about it."""

    module: str
    function: str
    summary: str


BUILT_IN = {
    "random": BuiltIn("policies.random_policy", "random_policy", "uniform over the legal actions of every decision"),
    "greedy": BuiltIn("policies.greedy", "greedy", "best immediate score change for each card spent"),
    "plain": BuiltIn("policies.plain", "plain", "a player without chance: lowest card first"),
    "plain_high": BuiltIn("policies.plain", "plain_high", "the plain player, highest card first"),
    "plain_bonus": BuiltIn("policies.plain", "plain_bonus", "the plain player, paying for bonuses"),
}


@dataclass(frozen=True)
class LoadedPolicy:
    """A policy ready to play: its compiled function, its weights (float64, (m,)) and a hash of what it is made of."""

    name: str
    function: Any
    weights: np.ndarray
    hash: str


def load_policy(name: str) -> LoadedPolicy:
    """Return the policy that a user named.

    Raises
    ------
    DartmoorError
        There is no such policy; the message lists those there are.
    """
    if name not in BUILT_IN:
        raise DartmoorError(f"policy {name!r} unknown, expected one of {', '.join(BUILT_IN)}")
    entry = BUILT_IN[name]
    module = importlib.import_module(entry.module)
    return LoadedPolicy(name, getattr(module, entry.function), NO_WEIGHTS, source_hash(Path(str(module.__file__))))


def load_seats(names: str, players: int) -> list[LoadedPolicy]:
    """Return one policy a seat for `a,b,..`; a single name is for all seats.

    Raises
    ------
    DartmoorError
        A name is unknown, or there are neither one nor `players` names.
    """
    parts = [part.strip() for part in names.split(",")]
    if len(parts) == 1:
        parts *= players
    if len(parts) != players:
        raise DartmoorError(f"--policies: {len(parts)} names for {players} players, expected one or {players}")
    loaded = {part: load_policy(part) for part in parts}
    return [loaded[part] for part in parts]


def source_hash(path: Path) -> str:
    """Return the SHA-256 of a source file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
