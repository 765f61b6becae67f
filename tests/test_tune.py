"""Tuning: the same search whatever the threads and restarts, and weights files that say where they come from."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments import tune as tune_module
from experiments.cli import app
from experiments.options import make_world
from experiments.tune import (
    CHECKPOINT,
    Arena,
    TuneSettings,
    blocks_for,
    check_settings,
    games_played,
    tune,
    write_tuned,
)
from policies.weights_file import NAMES, read_weights
from sim.errors import DartmoorError

pytest.importorskip("cmaes")
SETTINGS = TuneSettings(
    players=2, start="balanced", pool=("greedy",), games=4, generations=4, population=4, sigma=0.3, seed=7
)


@pytest.fixture(scope="module")
def world():
    return make_world()


@pytest.fixture(scope="module")
def whole(world, tmp_path_factory):
    """Return a whole search on one thread and its directory."""
    out = tmp_path_factory.mktemp("whole")
    return tune(world, SETTINGS, out), out


def with_settings(**changes):
    return TuneSettings(**{**vars(SETTINGS), **changes})


def test_threads_do_not_change_a_search(world, whole, tmp_path):
    assert tune(world, SETTINGS, tmp_path, threads=2) == whole[0]


def test_an_interrupted_search_goes_on_to_the_same_end(world, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(tune_module, "CHECK_EVERY", 2)
    monkeypatch.setattr(tune_module, "CHAMPION_EVERY", 2)
    uninterrupted = tune(world, SETTINGS, tmp_path / "whole")

    def stop(generation, best):
        if generation == 2:
            raise KeyboardInterrupt

    part = tune(world, SETTINGS, tmp_path / "parts", on_generation=stop)
    assert len(part.fitness) == 3
    assert tune(world, SETTINGS, tmp_path / "parts", resume=True) == uninterrupted
    assert uninterrupted.fitness[:2] == whole[0].fitness[:2]  # a champion joins after them


def test_candidates_of_a_generation_share_their_deals(world):
    arena = Arena(world, SETTINGS)
    weights = arena.start.weights
    assert arena.fitness(weights, 3, 8) == arena.fitness(weights.copy(), 3, 8)
    assert arena.fitness(weights, 3, 8) != arena.fitness(weights, 90, 8)


def test_a_weights_file_says_where_it_comes_from(whole):
    found, out = whole
    path = write_tuned(out, SETTINGS, found, "dartmoor tune --seed 7")
    assert path.read_text().startswith("# dartmoor tune --seed 7\n# Mean of generation")
    assert read_weights(path, 2).weights.tolist() == found.best
    with pytest.raises(DartmoorError, match="not for 3"):
        read_weights(path, 3)


def test_games_are_counted(whole):
    assert blocks_for(4, 1, 2) == 2
    assert blocks_for(5, 2, 3) == 1
    assert games_played(SETTINGS, whole[0]) == 4 * 4 * 4


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"pool": ()}, "--pool: no opponent"),
        ({"games": 0}, "--games: 0"),
        ({"population": 3}, "--population: 3"),
        ({"sigma": 0.0}, "--sigma: 0"),
        ({"players": 6}, "--players: 6"),
        ({"start": "greedy"}, "--start: 'greedy' has no weights"),
        ({"pool": ("nobody",)}, "'nobody' unknown"),
    ],
)
def test_mistakes_are_named(world, tmp_path, changes, words):
    with pytest.raises(DartmoorError, match=words):
        tune(world, with_settings(**changes), tmp_path)


def test_a_checkpoint_is_not_overwritten_or_mixed_up(world, whole, tmp_path):
    with pytest.raises(DartmoorError, match="continue it with --resume"):
        tune(world, SETTINGS, whole[1])
    with pytest.raises(DartmoorError, match="search with seed 7, not 8"):
        tune(world, with_settings(seed=8), whole[1], resume=True)
    with pytest.raises(DartmoorError, match="nothing to resume"):
        tune(world, SETTINGS, tmp_path, resume=True)
    (tmp_path / CHECKPOINT).write_text("{}")
    with pytest.raises(DartmoorError, match="damaged"):
        tune(world, SETTINGS, tmp_path, resume=True)


def test_good_settings_pass():
    check_settings(SETTINGS)


def test_command(tmp_path):
    arguments = f"tune --pool greedy --games 4 --generations 1 --population 4 --json --out {tmp_path}"
    result = CliRunner().invoke(app, arguments.split())
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert list(document["weights"]) == list(NAMES)
    assert document["checks"][0]["win_share"]["n"] == 8
    assert np.isfinite(read_weights(tmp_path / "tuned_2p.toml").weights).all()
