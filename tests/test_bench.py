"""The benchmark: its document, its comparison of two versions, and counters that are those of the engine."""

import json
from dataclasses import replace

import numpy as np
import pytest

from experiments import bench, bench_process
from experiments.bench_contestants import contestants
from experiments.bench_report import compare
from experiments.options import make_setting, make_world
from sim.batch import play
from sim.state import GAME

TINY = replace(bench.QUICK, rounds=2, slice_seconds=0.002, thread_seconds=0.01, counted=20)
SPREAD = {"median", "low", "high", "rounds"}


@pytest.fixture(scope="module")
def world():
    """Return the default world."""
    return make_world()


@pytest.fixture(scope="module")
def document(world):
    """Return the document of a tiny run of what needs no process of its own."""
    return bench.bench(world, 1, TINY, ("engines", "threads", "counters"))


def test_engines_side_by_side(document):
    section = document["engines"]
    names = [one["name"] for one in section["contestants"]]
    assert {f"dartmoor {policy} {n}p" for policy in ("random", "greedy", "plain") for n in (2, 3, 4, 5)} <= set(names)
    for one in section["contestants"]:
        assert set(one["games_per_second"]) == set(one["base_to_this"]) == SPREAD
        assert 0 < one["games_per_second"]["low"] <= one["games_per_second"]["median"]
        if one["name"].startswith("dartmoor"):
            assert one["state_bytes"] == GAME.itemsize and one["decisions_per_game"] > 100
    base = section["contestants"][names.index(section["base"])]
    assert base["base_to_this"]["low"] == base["base_to_this"]["high"] == 1


def test_the_referee_and_the_floor_take_part(document):
    by_name = {one["name"]: one for one in document["engines"]["contestants"]}
    assert by_name["plain-Python referee 2p"]["base_to_this"]["median"] > 1
    assert by_name["floor: copy a state"]["base_to_this"]["median"] < 1
    assert by_name["floor: shuffle, deal"]["decisions_per_second"] is None


def test_open_spiel_plays_or_is_said_to_be_missing(world):
    fields, missing = contestants(world, 1)
    spiel = [one for one in fields if one.name.startswith("OpenSpiel")]
    assert bool(spiel) != any(line.startswith("OpenSpiel: not here") for line in missing)
    for one in spiel:
        work = one.run(0, 2)
        assert work.games == 2 and work.decisions is not None and work.decisions > 20 and work.seconds > 0


def test_counters_are_those_of_the_games(world, document):
    games = document["counters"]["games"]
    for policy, players in (("random", 2), ("greedy", 5)):
        sums = document["counters"]["counted"][f"{policy} {players}p"]
        totals = play(make_setting(world, players, policy, seed=1).match(), games)[0]
        assert sums["decisions"] == totals["decisions"]
        assert sums["cards_in_forests"] >= totals["copies"].sum()  # face-down cards are no species
        assert sums["turns"] == (np.arange(len(totals["turns"])) * totals["turns"]).sum()
        assert sums["forced_turn"] + sums["asked_turn"] == sums["steps_end_turn"] + games
        assert sums["listed_turn"] >= sums["asked_turn"] * 2


def test_instructions_are_counted_where_perf_can(monkeypatch):
    counted = bench_process.instructions_a_game(1)
    assert counted is None or 10_000 < counted < 10_000_000
    monkeypatch.setattr(bench_process, "_instructions", lambda games, seed: 5e8 + 2e5 * games)
    monkeypatch.setattr(bench_process.shutil, "which", lambda name: name)
    assert bench_process.instructions_a_game(1) == 2e5


def test_speed_over_threads(document):
    for one in document["threads"]:
        assert one["speedup"]["low"] > 0 and one["threads"] >= 1
    assert {one["policy"] for one in document["threads"]} == {"random", "greedy", "plain"}


def test_the_same_version_compares_as_the_same(document):
    comparison = compare(document, document)
    assert comparison["same_machine"] and comparison["counters"] == {}
    for value in comparison["speed"].values():
        assert value["low"] <= value["median"] == 1 <= value["high"]


def test_a_change_of_the_games_shows_in_the_counters(document):
    other = json.loads(json.dumps(document))
    other["counters"]["counted"]["random 2p"]["decisions"] += 1
    del other["counters"]["counted"]["greedy 3p"]["steps_reveal"]
    before = document["counters"]["counted"]
    assert compare(document, other)["counters"] == {
        "greedy 3p": {"steps_reveal": [before["greedy 3p"]["steps_reveal"], 0]},
        "random 2p": {"decisions": [before["random 2p"]["decisions"], before["random 2p"]["decisions"] + 1]},
    }
    other["counters"]["games"] += 1
    assert compare(document, other)["counters"] is None


def test_machine_facts_hold_no_name():
    import platform

    assert platform.node() not in json.dumps(bench.machine(2)).split('"')


def test_growth_of_time_and_memory():
    runs = bench.growth_with_games((100, 10_000, 20_000), 1, 1)["runs"]
    assert [one["games"] for one in runs] == [100, 10_000, 20_000]
    assert runs[-1]["peak_bytes"] - runs[0]["peak_bytes"] < 50 * 2**20


def test_scale_check_finds_one_hash(monkeypatch):
    monkeypatch.setattr(bench_process, "on_two_workers", lambda common: None)  # tests/test_cluster.py has the workers
    checked = bench_process.scale_check(3000, 1, 2)
    assert checked["same"] and len({value for value in checked["hashes"].values() if value}) == 1
    assert set(checked["hashes"]) == {"1 thread", "2 threads", "killed and resumed", "2 dask workers"}


def test_the_command(dartmoor, tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "QUICK", TINY)
    monkeypatch.setattr(bench, "instructions_a_game", lambda seed: None)
    first = dartmoor("bench", "--quick", "--only", "counters", "--out", tmp_path, "--json")
    assert first.code == 0 and first.document == json.loads((tmp_path / "bench.json").read_text())
    again = dartmoor("bench", "--quick", "--only", "counters", "--compare", tmp_path / "bench.json")
    assert again.code == 0 and "both versions play the same games" in again.out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--only", "engine"), "--only: 'engine' unknown, expected a list from engines, threads, start"),
        (("--rounds", 0), "--rounds: 0, expected 1 or more"),
        (("--seed", -1), "--seed: -1, expected"),
        (("--compare", "pyproject.toml"), "pyproject.toml: not a JSON document"),
        (("--compare", "tests/data/examples.json"), "examples.json: not a document of bench --json"),
        (("--compare", "none.json"), "none.json: cannot be read"),
    ],
)
def test_mistakes(dartmoor, arguments, message):
    result = dartmoor("bench", "--quick", *arguments)
    assert result.code == 2 and message in result.err
