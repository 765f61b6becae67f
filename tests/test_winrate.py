"""Win rates: known truths, exact sums, seats, and the command."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from experiments.cli import app
from experiments.experiment_tables import winrate_tables
from experiments.options import make_world
from experiments.precision import make_plan
from experiments.results import write_results
from experiments.winrate import make_field, seat_test, winrate
from policies.registry import NO_WEIGHTS, LoadedPolicy
from sim.errors import DartmoorError
from sim.policy import policy
from sim.rng import below


@policy
def random_from_the_end(state, tables, actions, n, weights):
    """The random player, counting its actions from the other end: equal in strength, different in every game."""
    return n - 1 - below(state.rng[1 + state.player], n)


@pytest.fixture(scope="module")
def world():
    return make_world()


def twins(world, players, seed):
    """Return a field of two policies that are equally strong but never play the same game."""
    field = make_field(world, players, "random,plain", seed=seed, tables="pairs")
    twin = LoadedPolicy("random_from_the_end", random_from_the_end, NO_WEIGHTS, "")
    return replace(field, policies=[field.policies[0], twin])


@pytest.mark.parametrize(("players", "seeds", "deals"), [(2, 100, 60), (3, 40, 40)])
def test_intervals_cover_one_half_for_equal_policies(world, players, seeds, deals):
    fair, covered = 1 / players, 0
    for seed in range(seeds):
        result = winrate(twins(world, players, seed), make_plan(deals), 2)
        low, high = result.document["matrix"][1]["win_share"]["ci"]
        covered += low <= fair <= high
    assert covered >= stats.binom.ppf(0.01, seeds, 0.95)


def test_policy_against_itself_wins_exactly_its_fair_share(world):
    result = winrate(make_field(world, 2, "greedy,greedy"), make_plan(50), 2)
    assert [row["win_share"]["value"] for row in result.document["matrix"]] == [0.5] * 4
    assert [row["margin"]["value"] for row in result.document["matrix"]] == [0.0] * 4
    assert result.document["policies"] == ["greedy", "greedy#2"]


def test_matrix_of_two_players_mirrors_itself(world):
    matrix = winrate(make_field(world, 2, "random,plain"), make_plan(200), 2).document["matrix"]
    there, back = matrix[1], matrix[2]
    assert (there["row"], there["column"], back["row"], back["column"]) == ("random", "plain", "plain", "random")
    assert there["win_share"]["value"] + back["win_share"]["value"] == pytest.approx(1, abs=1e-12)
    assert there["margin"]["value"] == -back["margin"]["value"]
    assert there["p_holm"] == back["p_holm"] < 0.05


def test_stronger_policy_is_found(world):
    matrix = winrate(make_field(world, 2, "greedy,random"), make_plan(200), 2).document["matrix"]
    assert matrix[1]["win_share"]["ci"][0] > 0.95
    assert matrix[1]["p_holm"] < 1e-6


def test_every_table_and_seating_is_played(world):
    field = make_field(world, 3, "random,plain")
    assert [one.members for one in field.gatherings] == [(0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 1, 1)]
    assert [len(one.seatings) for one in field.gatherings] == [1, 3, 3, 1]
    result = winrate(field, make_plan(40), 2)
    assert result.document["games"] == 40 * 8
    for names in (["random", "random", "plain"], ["random", "plain", "plain"]):
        shares = {
            row["policy"]: row["win_share"]["value"] for row in result.document["tables"] if row["table"] == names
        }
        assert sum(shares[name] for name in names) == pytest.approx(1, abs=1e-12)


def test_pairs_leave_out_mixed_tables(world):
    field = make_field(world, 4, "random,plain,greedy", tables="pairs")
    assert all(len(set(one.members)) <= 2 for one in field.gatherings)
    assert len(field.gatherings) == 3 + 6


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_change_nothing(world, threads):
    field = make_field(world, 3, "random,plain", seed=5)
    assert winrate(field, make_plan(450), threads).document == winrate(field, make_plan(450), 3).document


def test_more_deals_begin_with_the_same_ones(world):
    """Common random numbers: the first deals of a longer run are those of a shorter one."""
    counts = []
    field = make_field(world, 2, "random,plain", seed=3)
    short = winrate(field, make_plan(1, 0.9, 2000), 2, counts.append)
    assert short.stop.games == 1000 and short.stop.reason == "precise"
    assert (
        short.document["matrix"][1]["win_share"]["value"]
        == winrate(field, make_plan(1000)).document["matrix"][1]["win_share"]["value"]
    )


def test_precision_is_reached(world):
    plan = make_plan(1, 0.03, 16_000)
    result = winrate(make_field(world, 2, "random,plain"), plan, 2)
    assert result.stop.reason == "precise"
    for row in result.document["matrix"]:
        low, high = row["win_share"]["ci"]
        assert max(high - row["win_share"]["value"], row["win_share"]["value"] - low) <= 0.03


def test_seat_test_is_the_t_test_for_two_seats():
    rng = np.random.default_rng(4)
    first = rng.choice([0, 30, 60], size=80, p=[0.35, 0.05, 0.6])
    shares = np.column_stack([first, 60 - first])
    found = seat_test(shares.sum(axis=0), shares.T @ shares, 80)
    t, p = stats.ttest_1samp(first, 30)
    assert found["f"] == pytest.approx(t**2)
    assert found["p_value"] == pytest.approx(p)


def test_seat_test_holds_its_level_with_three_seats():
    rng, rejected = np.random.default_rng(5), 0
    for _ in range(400):
        shares = 60 * rng.multinomial(1, [1 / 3] * 3, size=150)
        rejected += seat_test(shares.sum(axis=0), shares.T @ shares, 150)["p_value"] < 0.05
    assert 0.025 <= rejected / 400 <= 0.08


def test_seat_test_says_nothing_without_variation():
    shares = np.full((50, 2), 30)
    assert seat_test(shares.sum(axis=0), shares.T @ shares, 50)["p_value"] is None


def test_seats_by_policy_are_corrected_over_the_policies(world):
    rows = winrate(make_field(world, 2, "random,plain"), make_plan(300), 2).document["seats_by_policy"]
    tests = {row["policy"]: (row["p_value"], row["p_holm"]) for row in rows}
    assert list(tests) == ["random", "plain"]
    low, high = sorted(tests.values())
    assert low[1] == pytest.approx(min(1, 2 * low[0]))
    assert high[1] == pytest.approx(max(high[0], low[1]))


def test_seats_table_names_both_p_values(world):
    document = winrate(make_field(world, 2, "random,plain"), make_plan(50), 2).document
    seats = winrate_tables(document)[-1]
    assert [column.header for column in seats.columns][-2:] == ["p", "p, Holm"]
    assert seats.row_count == 3


def test_seats_are_equal_when_the_first_player_is_random():
    world = make_world(rulings=["first_player=random"])
    test = winrate(make_field(world, 3, "plain"), make_plan(2000), 2).document["seat_test"]
    assert test["p_value"] > 0.001


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"policies": "nobody"}, "'nobody'"),
        ({"players": 6}, "--players: 6"),
        ({"tables": "some"}, "--tables: 'some'"),
        ({"caves": "1"}, "--caves: 1 caves for 2 players"),
        ({"seed": -1}, "--seed: -1"),
    ],
)
def test_wrong_options_are_named(world, change, message):
    with pytest.raises(DartmoorError, match=message):
        make_field(world, **{"players": 2, "policies": "random", **change})


def test_results_directory_is_written(world, tmp_path):
    result = winrate(make_field(world, 2, "random,plain"), make_plan(30), 1)
    write_results(tmp_path / "out", result, {"a.png": b"x"})
    about = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert about["options"] == {
        "command": "winrate", **world.options,
        "players": 2, "policies": "random,plain", "caves": "draft", "tables": "all", "games": 30,
    }  # fmt: skip
    for name in about["tables"] + about["pictures"]:
        assert (tmp_path / "out" / name).stat().st_size > 0
    assert about["tables"][0] == "summary.csv"


def test_command_prints_one_document():
    run = CliRunner().invoke(app, ["winrate", "--policies", "random,plain", "--games", "50", "--json", "--seed", "2"])
    assert run.exit_code == 0
    document = json.loads(run.stdout)
    assert {"row", "column", "win_share", "margin"} <= set(document["matrix"][0])
    assert [row["seat"] for row in document["seats"]] == [0, 1]
    assert set(document["seats"][0]["win_share"]) == {"value", "se", "ci", "n"}
    assert math.isclose(sum(row["win_share"]["value"] for row in document["seats"]), 1)
