"""Policies by name: built in, an archetype, tuned weights, search on top of them, a user's file or a weights file."""

import hashlib
import importlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from policies.feature_names import NAMES, TEXTS, Feature
from policies.weights_file import ARCHETYPES, archetype_names, read_archetype, read_weights
from sim.errors import DartmoorError
from sim.rules import MIN_PLAYERS

NO_WEIGHTS = np.zeros(1)
WEIGHTS_PREFIX = "weights:"
FOLDER = Path(__file__).parent
TUNED_FILES = FOLDER / "tuned"
TUNED, ROLLOUT = "tuned", "rollout"
ROLLOUT_PREFIX = "rollout:"
MAX_PLAYOUTS = 1_000_000
SEARCHING = {
    TUNED: "the weights that CMA-ES found for the number of players",
    ROLLOUT: "plays sampled worlds out from the best answers of tuned; rollout:N for N play-outs a decision",
}
FORMS = "rollout:N, weights:FILE.toml, FILE.py:NAME"


@dataclass(frozen=True)
class BuiltIn:
    """Where a built-in policy lives, and one line about it."""

    module: str
    function: str
    summary: str
    weights: str = ""  # the module's function that returns the policy's weights, if it has any


BUILT_IN = {
    "random": BuiltIn("policies.random_policy", "random_policy", "uniform over the legal actions of every decision"),
    "greedy": BuiltIn("policies.greedy", "greedy", "best immediate score change for each card spent"),
    "plain": BuiltIn("policies.plain", "plain", "a player without chance: lowest card first"),
    "plain_high": BuiltIn("policies.plain", "plain_high", "the plain player, highest card first"),
    "plain_bonus": BuiltIn("policies.plain", "plain_bonus", "the plain player, paying for bonuses"),
    "greedy_drafter": BuiltIn(
        "policies.cave_rule",
        "greedy_drafter",
        "greedy, choosing its cave by the rule that `caves` learned",
        "read_rule",
    ),
}


@dataclass(frozen=True)
class LoadedPolicy:
    """A policy ready to play: its compiled function, its weights (float64, (m,)) and a hash of what it is made of."""

    name: str
    function: Any
    weights: np.ndarray
    hash: str


def policy_names() -> list[str]:
    """Return every name that needs no file: the built-in policies, tuned ones, then the archetypes."""
    return [*BUILT_IN, *SEARCHING, *archetype_names()]


def policy_list() -> list[dict[str, str]]:
    """Return name, kind (built-in, tuned or archetype) and summary of every policy that needs no file."""
    built_in = [{"name": name, "kind": "built-in", "summary": entry.summary} for name, entry in BUILT_IN.items()]
    archetypes = [
        {"name": name, "kind": "archetype", "summary": read_archetype(name).summary} for name in archetype_names()
    ]
    searching = [{"name": name, "kind": "tuned", "summary": text} for name, text in SEARCHING.items()]
    return built_in + searching + archetypes


def describe_policy(name: str) -> dict[str, Any]:
    """Return what there is to say of a policy: `name`, `summary`, and for weights every feature with its weight.

    Raises
    ------
    DartmoorError
        There is no such policy, or its file cannot be used.
    """
    if name in BUILT_IN:
        return {"name": name, "summary": BUILT_IN[name].summary}
    if _is_rollout(name):
        return {"name": name, "summary": SEARCHING[ROLLOUT]}
    path = _weights_path(name)
    if path is None:
        return {"name": name, "summary": str(load_policy(name).function.__doc__ or "a policy of the user's").strip()}
    found = read_weights(path)
    base = read_archetype(found.base).weights if found.base else None
    features = [
        {"name": feature, "weight": float(found.weights[i]), "text": TEXTS[Feature(i)]}
        | ({} if base is None else {"base_weight": float(base[i])})
        for i, feature in enumerate(NAMES)
    ]
    return {
        "name": name,
        "summary": found.summary,
        "players": list(found.players),
        "base": found.base,
        "features": features,
    }


def load_policy(name: str, players: int | None = None) -> LoadedPolicy:
    """Return the policy that a user named; with `players`, its weights must be meant for a table of that size.

    Raises
    ------
    DartmoorError
        There is no such policy (the message lists those there are), or its file cannot be used.
    """
    if name in BUILT_IN:
        return _load_built_in(name)
    if _is_rollout(name):
        return _load_rollout(name, players)
    path = _weights_path(name, players)
    if path is not None:
        return _load_weights(name, path, players)
    file, _, function = name.rpartition(":")
    if file.endswith(".py"):
        from policies.user_file import load_function

        return LoadedPolicy(name, load_function(Path(file), function), NO_WEIGHTS, source_hash(Path(file)))
    raise DartmoorError(f"policy {name!r} unknown, expected one of {', '.join(policy_names())}, or {FORMS}")


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
    loaded = {part: load_policy(part, players) for part in parts}
    return [loaded[part] for part in parts]


def source_hash(*paths: Path) -> str:
    """Return the SHA-256 of source files, in hex."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _load_built_in(name: str) -> LoadedPolicy:
    entry = BUILT_IN[name]
    module = importlib.import_module(entry.module)
    weights = getattr(module, entry.weights)() if entry.weights else NO_WEIGHTS
    digest = hashlib.sha256(weights.tobytes())
    digest.update(source_hash(*sources_of(Path(str(module.__file__)))).encode())
    return LoadedPolicy(name, getattr(module, entry.function), weights, digest.hexdigest())


def sources_of(path: Path) -> list[Path]:
    """Return a module of this package and all modules of the package that it is made with, sorted.

    The engine's sources are not among them: the engine version stands for those.
    """
    found, waiting = {path}, [path]
    while waiting:
        for name in re.findall(r"^from policies\.(\w+) import", waiting.pop().read_text(), re.MULTILINE):
            other = path.with_name(f"{name}.py")
            if other not in found:
                found.add(other)
                waiting.append(other)
    return sorted(found)


def _is_rollout(name: str) -> bool:
    return name == ROLLOUT or name.startswith(ROLLOUT_PREFIX)


def _load_rollout(name: str, players: int | None) -> LoadedPolicy:
    """Return the search on top of the tuned weights, with its settings before them."""
    playouts = name.removeprefix(ROLLOUT_PREFIX)
    if name != ROLLOUT and not (playouts.isdecimal() and 1 <= int(playouts) <= MAX_PLAYOUTS):
        raise DartmoorError(
            f"policy {name!r}: expected rollout:N with a number of play-outs N from 1 to {MAX_PLAYOUTS}"
        )
    tuned = _load_weights(TUNED, _tuned_path(players), players)
    from policies.rollout import DEFAULT_SETTINGS, PLAYOUTS, rollout

    settings = DEFAULT_SETTINGS.copy()
    if name != ROLLOUT:
        settings[PLAYOUTS] = int(playouts)
    weights = np.concatenate([settings, tuned.weights])
    digest = hashlib.sha256(weights.tobytes())
    digest.update(source_hash(*sources_of(FOLDER / "rollout.py")).encode())
    return LoadedPolicy(name, rollout, weights, digest.hexdigest())


def _tuned_path(players: int | None) -> Path:
    """Return the file of the tuned weights for a number of players; those for two where none is said."""
    return TUNED_FILES / f"tuned_{players or MIN_PLAYERS}p.toml"


def _weights_path(name: str, players: int | None = None) -> Path | None:
    """Return the weights file that a name means, if it means one."""
    if name == TUNED:
        return _tuned_path(players)
    if name.startswith(WEIGHTS_PREFIX):
        return Path(name.removeprefix(WEIGHTS_PREFIX))
    return ARCHETYPES / f"{name}.toml" if name in archetype_names() else None


def _load_weights(name: str, path: Path, players: int | None) -> LoadedPolicy:
    found = read_weights(path, players)  # before the slow import: a mistake in the file is told at once
    from policies.weighted import weighted

    digest = hashlib.sha256(found.weights.tobytes())
    digest.update(source_hash(*sources_of(FOLDER / "weighted.py")).encode())
    return LoadedPolicy(name, weighted, found.weights, digest.hexdigest())
