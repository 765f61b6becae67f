"""The weights policy and its files, the archetypes, what is hidden, and the check of policies."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from policies.feature_names import NAMES, TEXTS, Feature
from policies.registry import LoadedPolicy, load_policy, load_seats, policy_names
from policies.weights_file import archetype_names, read_archetype, read_weights, write_weights
from sim.codes import CardType, Phase
from sim.errors import DartmoorError
from sim.rules import SPECIES

GAMES = 300
SEED = 11
STYLES = {
    "amphibians": [CardType.AMPHIBIAN],
    "bats": [CardType.BAT],
    "birds": [CardType.BIRD],
    "dragonflies": [CardType.DRAGONFLY],
    "hoofed": [CardType.HOOFED],
    "mice": [CardType.MOUSE],
    "moors": [CardType.MOOR],
    "plants": [CardType.PLANT],
    "rabbits": [CardType.RABBIT],
    "trees": [CardType.TREE, CardType.SHRUB],
}


# Weights files


def minimal(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_feature_is_described():
    assert list(TEXTS) == list(Feature)
    assert [feature.name.lower() for feature in Feature] == list(NAMES)
    assert [NAMES[Feature.TREE + kind] for kind in CardType] == [kind.name.lower() for kind in CardType]


def test_weights_survive_writing_and_reading(tmp_path):
    weights = np.random.default_rng(SEED).normal(size=len(NAMES)) * 1e3
    write_weights(tmp_path / "w.toml", 'a "name"', "a summary", weights, [2, 4])
    found = read_weights(tmp_path / "w.toml")
    assert np.array_equal(found.weights, weights)
    assert (found.name, found.summary, found.players, found.base) == ('a "name"', "a summary", (2, 4), None)


def test_a_base_has_the_weights_left_out(tmp_path):
    found = read_weights(minimal(tmp_path, 'base = "balanced"\n[weights]\nbat = 3\n'))
    expected = read_archetype("balanced").weights.copy()
    expected[Feature.BAT] = 3.0
    assert np.array_equal(found.weights, expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('base = "balanced"\n[weights]\nbats = 3\n', "feature 'bats' unknown, expected one of points,"),
        ("[weights]\npoints = 1\n", "missing points_late, .*or name a base"),
        ('base = "balanced"\n', r"the table \[weights\] is missing"),
        ('base = "no"\n[weights]\n', "archetype 'no' unknown, expected one of amphibians"),
        ("base = 3\n[weights]\n", "base: expected the name of an archetype"),
        ('base = "balanced"\n[weights]\nbat = "3"\n', "weights: bat: expected a number"),
        ('base = "balanced"\n[weights]\nbat = nan\n', "weights: bat: expected a number"),
        ('base = "balanced"\n[weights]\nbat = true\n', "weights: bat: expected a number"),
        ('base = "balanced"\nplayers = [1]\n[weights]\n', "players: expected a list of numbers from 2 to 5"),
        ('base = "balanced"\nplayers = []\n[weights]\n', "players: expected a list"),
        ('base = "balanced"\nname = 1\n[weights]\n', "name: expected a text"),
        ("weight = 3\n", "key 'weight' unknown, expected name, summary"),
        ("[weights\n", "not a TOML document"),
    ],
)
def test_a_mistake_in_a_weights_file_is_named(tmp_path, text, message):
    path = minimal(tmp_path, text)
    with pytest.raises(DartmoorError, match=message) as error:
        read_weights(path)
    assert "\n" not in str(error.value)


def test_a_weights_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DartmoorError, match="cannot be read"):
        load_policy(f"weights:{tmp_path / 'none.toml'}")


def test_weights_for_another_table_are_refused(tmp_path):
    path = minimal(tmp_path, 'base = "balanced"\nplayers = [2]\n[weights]\n')
    assert len(load_seats(f"weights:{path}", 2)) == 2
    with pytest.raises(DartmoorError, match="weights for 2 players, not for 3"):
        load_seats(f"weights:{path}", 3)


def test_an_unknown_policy_is_answered_with_the_known_ones():
    with pytest.raises(DartmoorError, match="'gredy' unknown, expected one of random, greedy.*balanced.*weights:FILE"):
        load_policy("gredy")


def test_the_hash_tells_weights_apart(tmp_path):
    path = minimal(tmp_path, 'base = "balanced"\n[weights]\n')
    assert load_policy(f"weights:{path}").hash == load_policy("balanced").hash != load_policy("bats").hash


# Strength and style


def forests(tables: np.ndarray, policy: LoadedPolicy, other: LoadedPolicy, games: int = GAMES) -> dict[str, np.ndarray]:
    """Return win share, copies by species and cave cards of `policy` against `other`, half the games in either seat."""
    from sim.batch import Match, play_chunk

    share, copies, cave = 0.0, np.zeros(SPECIES), 0.0
    for seat in (0, 1):
        seats = [policy, other] if seat == 0 else [other, policy]
        match = Match(tables, 2, [one.function for one in seats], [one.weights for one in seats], SEED)
        totals, outcomes = play_chunk(match, 0, games // 2, keep_outcomes=True)
        share += totals["share"][0, seat] / 60
        copies += outcomes["copies"][:, seat].sum(axis=0)
        cave += outcomes["cave_n"][:, seat].sum()
    return {"share": share / games, "copies": copies, "cave": cave / games}


def type_share(tables: np.ndarray, copies: np.ndarray, kinds: list[CardType]) -> float:
    types = tables["types"][0, :SPECIES]
    return copies[(types & sum(1 << kind for kind in kinds)) != 0].sum() / copies.sum()


@pytest.fixture(scope="module")
def balanced(tables):
    return forests(tables, load_policy("balanced"), load_policy("random"))


@pytest.mark.parametrize("name", archetype_names())
def test_an_archetype_beats_random(tables, name):
    assert forests(tables, load_policy(name), load_policy("random"), 200)["share"] > 0.98


@pytest.mark.parametrize("name", sorted(STYLES))
def test_an_archetype_has_its_style(tables, balanced, name):
    found = forests(tables, load_policy(name), load_policy("random"))
    kinds = STYLES[name]
    assert type_share(tables, found["copies"], kinds) > 1.15 * type_share(tables, balanced["copies"], kinds)


def test_cave_rush_fills_its_cave(tables, balanced):
    found = forests(tables, load_policy("cave_rush"), load_policy("random"))
    assert found["cave"] > 1.3 * balanced["cave"]
    assert set(archetype_names()) == {*STYLES, "balanced", "cave_rush"}


def test_balanced_beats_greedy(tables):
    assert forests(tables, load_policy("balanced"), load_policy("greedy"))["share"] > 0.75


@pytest.mark.parametrize("players", [3, 5])
def test_balanced_plays_at_any_table(tables, players):
    from sim.batch import Match, play_chunk

    seats = load_seats(",".join(["balanced"] + ["greedy"] * (players - 1)), players)
    match = Match(tables, players, [one.function for one in seats], [one.weights for one in seats], SEED)
    totals, _ = play_chunk(match, 0, 100)
    assert totals["share"][0, 0] / 60 / 100 > 1 / players


# What is left of the game


def test_the_share_left_goes_from_one_to_nothing(tables):
    from policies.features import share_left

    last = {}
    for games in played_positions(tables, 3):
        left = share_left(games[0])
        assert 0 <= left <= 1 + 1e-12
        last.setdefault(int(games[0]["turn"]), left)
    assert last[1] == pytest.approx(1, abs=0.1)
    assert min(last.values()) < 0.25


def played_positions(tables: np.ndarray, players: int, count: int = 400) -> list[np.ndarray]:
    from policies.check import _Trial, sample_positions

    trial = _Trial(load_policy("balanced"), tables)
    return [games for games, _ in sample_positions(trial, players, count, SEED)]


# The check of policies


@pytest.mark.parametrize("name", policy_names())
def test_every_shipped_policy_passes_the_check(tables, name):
    from policies.check import check_policy

    report = check_policy(load_policy(name, 2), tables, 2, 200, SEED)
    assert report.passed, report.findings
    assert report.positions == 200 and sum(report.phases.values()) == 200
    assert set(report.phases) <= {phase.name for phase in Phase}


@pytest.mark.parametrize("players", [3, 4, 5])
def test_balanced_passes_the_check_at_larger_tables(tables, players):
    from policies.check import check_policy

    assert check_policy(load_policy("balanced"), tables, players, 300, SEED).passed


# The command


def run(*arguments: str) -> tuple[int, str]:
    from experiments.cli import app

    result = CliRunner().invoke(app, ["policies", *arguments])
    return result.exit_code, result.stdout


def test_list_names_every_policy():
    code, out = run("list", "--json")
    assert code == 0 and [entry["name"] for entry in json.loads(out)["policies"]] == policy_names()
    assert all(entry["summary"] for entry in json.loads(out)["policies"])


def test_show_prints_features_and_weights():
    code, out = run("show", "bats", "--json")
    document = json.loads(out)
    assert code == 0 and document["base"] == "balanced"
    shown = {feature["name"]: feature["weight"] for feature in document["features"]}
    assert shown == dict(zip(NAMES, read_archetype("bats").weights.tolist(), strict=True))
    code, out = run("show", "bats")
    assert code == 0 and all(name in out for name in NAMES)


def test_check_reports_what_it_tried():
    code, out = run("check", "plain", "--positions", "50", "--json")
    document = json.loads(out)
    assert code == 0 and document["passed"] and document["positions"] == 50
    assert {finding["name"] for finding in document["findings"]} == {
        "legality",
        "determinism",
        "blindness",
        "reads only",
    }
