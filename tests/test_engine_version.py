"""The same seed plays the same games within an engine version, on every machine."""

import hashlib

import pytest

from policies.registry import load_policy
from sim import ENGINE_VERSION
from sim.batch import Match, play_chunk

# Of a few hundred games under an engine version. A change that alters games on purpose raises the version, says so in
# CHANGELOG.md, and notes its own hashes here.
HASHES = {
    1: {
        "random": "097ee69cd58ff731",
        "plain_bonus": "23709053bdbbbf7a",
    },
}


def hash_of_games(tables, name: str) -> str:
    """Hash scores, turns, winters and plays of 50 games for each number of players."""
    policy, digest = load_policy(name), hashlib.sha256()
    for players in (2, 3, 4, 5):
        match = Match(tables, players, [policy.function] * players, [policy.weights] * players, seed=2026)
        _, outcomes = play_chunk(match, 0, 50, keep_outcomes=True)
        for field in ("score", "share", "turns", "winter_turn", "ending", "copies", "points", "cave"):
            digest.update(outcomes[field].astype("<i8").tobytes())
    return digest.hexdigest()[:16]


@pytest.mark.parametrize("name", ["random", "plain_bonus"])
def test_games_of_a_seed_are_those_of_the_engine_version(tables, name: str) -> None:
    assert hash_of_games(tables, name) == HASHES[ENGINE_VERSION][name]
