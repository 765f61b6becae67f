"""Tournaments: rotation, exact sums, ratings, the sequential test and the Nash mixture."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments.cli import app
from experiments.nash import nash_mixture, nash_report
from experiments.options import make_world
from experiments.ratings import elo_estimate, elo_ratings
from experiments.sprt import (
    ACCEPT_H0,
    ACCEPT_H1,
    VALUES,
    constrained_probabilities,
    elo_of,
    expected_share,
    log_likelihood_ratio,
    parse_sprt,
    run_sprt,
    wald_bounds,
)
from experiments.tournament import (
    ALL,
    GROUPS,
    Blocks,
    BlockSums,
    TableResult,
    blocks_in_order,
    make_contest,
    make_tables,
    parse_names,
    parse_tables,
    play_blocks,
    run_tournament,
)
from experiments.tournament_report import comparisons, nash_of, tournament_document
from sim.errors import DartmoorError
from sim.rules import SHARES


@pytest.fixture(scope="module")
def world():
    return make_world()


def sums_equal(a, b):
    return all(np.array_equal(value, vars(b)[name]) for name, value in vars(a).items())


def fake_table(table, share, score=None):
    """Return the result of a table from shares of shape (blocks, rotations, positions), in 60ths."""
    share = np.asarray(share, np.int64)
    sums = BlockSums(len(table))
    sums.add(Blocks(0, share, share if score is None else score))
    return TableResult(tuple(table), sums)


def pairs_table(table, halves):
    """Return a table of two from the first policy's wins in both games of each block, 0, 1/2 or 1."""
    first = (np.asarray(halves) * SHARES).astype(np.int64)
    return fake_table(table, np.stack([first, SHARES - first], axis=2))


# Playing


@pytest.mark.parametrize("policy", ["random", "greedy"])
@pytest.mark.parametrize("players", [2, 3, 5])
def test_a_policy_against_itself_comes_out_exactly_equal(world, policy, players):
    contest = make_contest(world, players, seed=5)
    tournament = run_tournament(contest, [(policy,) * players], 7)
    result = tournament.results[0]
    for entrant in range(players):
        share = result.win_share(entrant)
        assert share["value"] == 1 / players
        assert share["se"] == 0
    assert (result.sums.share.sum(0) == 7 * SHARES).all()


def test_sums_do_not_depend_on_threads_or_chunks(world):
    contest = make_contest(world, 3, seed=8)
    matches = contest.matches(("greedy", "random", "plain"))
    every = [BlockSums(3) for _ in range(3)]
    for sums, (threads, chunk) in zip(every, [(1, 45), (2, 7), (2, None)], strict=True):
        for part in blocks_in_order(matches, 45, threads, chunk):
            sums.add(part)
    assert sums_equal(every[0], every[1])
    assert sums_equal(every[0], every[2])


def test_rotation_brings_everyone_into_every_seat(world):
    contest = make_contest(world, 3, seed=8)
    for rotation, match in enumerate(contest.matches(("greedy", "random", "plain"))):
        for position, name in enumerate(("greedy", "random", "plain")):
            assert match.names[(position + rotation) % 3] == name


def test_blocks_share_their_deal_and_add_up(world):
    contest = make_contest(world, 3, seed=8)
    blocks = play_blocks(contest.matches(("greedy", "random", "plain")), 4, 3)
    assert blocks.share.shape == (3, 3, 3)
    assert (blocks.share.sum(2) == SHARES).all()
    assert (blocks.share[:, :, 0] == SHARES).all()  # greedy wins wherever it sits


def test_entrants_group_the_seats_of_a_policy():
    share = np.zeros((2, 3, 3), np.int64)
    share[:, :, 0] = SHARES
    result = fake_table("abb", share)
    assert result.entrants == ["a", "b"]
    assert result.win_share(0)["value"] == 1
    assert result.win_share(1)["value"] == 0
    assert result.lead(0, 1)["value"] == 1
    assert result.seat_share(1)["value"] == pytest.approx(1 / 3)


def test_seat_shares_follow_the_rotation():
    share = np.zeros((5, 2, 2), np.int64)
    share[:, 0, 0] = SHARES  # rotation 0: position 0 in seat 0 wins
    share[:, 1, 1] = SHARES  # rotation 1: position 1 in seat 0 wins
    result = fake_table("ab", share)
    assert result.seat_share(0)["value"] == 1
    assert result.win_share(0)["value"] == 0.5


def test_variance_ratio_measures_what_blocking_gains():
    rng = np.random.default_rng(1)
    luck = rng.integers(0, 2, 4000)
    opposite = pairs_table("ab", np.stack([luck, 1 - luck], 1))  # the second game undoes the first: no error left
    assert opposite.variance_ratio(0)["value"] is None
    alike = pairs_table("ab", np.stack([luck, luck], 1))  # the second game says nothing new
    assert alike.variance_ratio(0)["value"] == pytest.approx(0.5)
    apart = pairs_table("ab", rng.integers(0, 2, (4000, 2)))
    low, high = apart.variance_ratio(0)["ci"]
    assert low < 1 < high
    assert apart.sums.blocks.shape == (GROUPS,)


# Which tables


def test_tables():
    assert make_tables("abc", 2) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert make_tables("ab", 3) == [("a", "b", "b"), ("b", "a", "a")]
    assert make_tables("ab", 3, ALL) == [("a", "a", "b"), ("a", "b", "b")]
    assert parse_tables(["a, b,b"], 3) == [("a", "b", "b")]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: make_tables(["a"], 2), "at least two"),
        (lambda: make_tables("ab", 2, "some"), "expected solo or all"),
        (lambda: parse_names("a,,b"), "empty name"),
        (lambda: parse_names("a,b,a"), "named twice"),
        (lambda: parse_tables(["a,b"], 3), "3 players"),
        (lambda: parse_tables(["a,b", "a,b"], 2), "there twice"),
        (lambda: parse_sprt("5"), "two numbers"),
        (lambda: parse_sprt("5,0"), "elo0 below elo1"),
        (lambda: parse_sprt("0,nan"), "elo0 below elo1"),
    ],
)
def test_mistakes_are_named(call, words):
    with pytest.raises(DartmoorError, match=words):
        call()


# Ratings


def test_elo_of_a_share():
    assert elo_of(0.5) == 0
    assert elo_of(10 / 11) == pytest.approx(400)
    assert expected_share(elo_of(0.7)) == pytest.approx(0.7)
    assert elo_of(1) == math.inf
    whole = elo_estimate({"value": 1.0, "se": 0.0, "ci": [0.9, 1.0], "n": 40})
    assert whole["value"] is None
    assert whole["ci"] == [pytest.approx(elo_of(0.9)), None]


def test_ratings_of_two_agree_with_their_share():
    rng = np.random.default_rng(2)
    result = pairs_table("ab", rng.random((20_000, 2)) < 0.7)
    a, b = elo_ratings([result])
    single = elo_estimate(result.win_share(0))
    assert a["elo"]["value"] - b["elo"]["value"] == pytest.approx(single["value"], abs=0.1)
    assert 2 * a["elo"]["se"] == pytest.approx(single["se"], rel=0.01)
    assert a["elo"]["value"] == pytest.approx(-b["elo"]["value"])


def test_ratings_recover_known_strengths_at_tables_of_three():
    rng, strength = np.random.default_rng(3), dict(zip("abc", (300.0, 0.0, -300.0), strict=True))
    results = []
    for table in ("abb", "bcc", "abc"):
        weight = np.array([10 ** (strength[name] / 400) for name in table])
        winners = rng.choice(3, (4000, 3), p=weight / weight.sum())
        results.append(fake_table(table, SHARES * np.eye(3, dtype=np.int64)[winners]))
    for row in elo_ratings(results):
        low, high = row["elo"]["ci"]
        assert low - 5 < strength[row["policy"]] < high + 5
        assert row["elo"]["se"] < 10


def test_ratings_of_policies_that_never_met_are_not_compared():
    share = np.full((3, 2, 2), SHARES // 2)
    assert elo_ratings([fake_table("ab", share), fake_table("cd", share)]) is None


def test_a_policy_that_always_won_has_a_finite_rating():
    a, _ = elo_ratings([pairs_table("ab", np.ones((50, 2)))])
    assert 200 < a["elo"]["value"] < 2000


def test_openskill_ranks_by_strength(world):
    pytest.importorskip("openskill")
    tournament = run_tournament(
        make_contest(world, 3, seed=1), make_tables(["random", "greedy"], 3), 20, keep_scores=20
    )
    document = tournament_document(tournament, with_openskill=True)
    learned = {row["policy"]: row["openskill"] for row in document["openskill"]}
    assert learned["greedy"]["ci"][0] > learned["random"]["ci"][1]
    assert learned["greedy"]["n"] == 2 * 20 * 3


# Claims


def test_claims_need_evidence_after_correction():
    rng = np.random.default_rng(4)
    strong = pairs_table("ab", rng.random((500, 2)) < 0.7)
    even = [pairs_table(("c", str(i)), rng.random((500, 2)) < 0.5) for i in range(20)]
    rows = comparisons([strong, *even])
    assert rows[0]["claim"] == "a beats b"
    assert {row["claim"] for row in rows[1:]} == {"no difference shown"}
    assert rows[0]["p_holm"] == pytest.approx(rows[0]["p"] * 21)


# Sequential test


def test_constrained_probabilities_have_the_mean():
    frequencies = np.array([0.1, 0.2, 0.3, 0.15, 0.25])
    for mean in (0.2, 0.5, 0.7):
        p = constrained_probabilities(frequencies, mean)
        assert p.sum() == pytest.approx(1)
        assert p @ VALUES == pytest.approx(mean)
    at_mean = constrained_probabilities(frequencies, frequencies @ VALUES)
    assert at_mean == pytest.approx(frequencies)


def test_likelihood_ratio_is_close_to_that_of_a_normal_mean():
    counts = np.array([520, 40, 900, 38, 560])
    n, share = counts.sum(), counts @ VALUES / counts.sum()
    variance = counts @ (VALUES - share) ** 2 / n
    s0, s1 = expected_share(0), expected_share(10)
    normal = n * (s1 - s0) * (2 * share - s0 - s1) / (2 * variance)
    assert log_likelihood_ratio(counts, 0, 10) == pytest.approx(normal, rel=0.02)


@pytest.mark.parametrize(("elo", "wrong"), [(0, ACCEPT_H1), (40, ACCEPT_H0)])
def test_sequential_test_keeps_its_error(elo, wrong):
    """Of 200 tests at either hypothesis, at most the nominal 5 % are wrong (within 3 standard errors)."""
    rng, (low, high), errors = np.random.default_rng(6), wald_bounds(), 0
    p = np.array([0.2, 0.1, 0.4, 0.1, 0.2])
    p = constrained_probabilities(p, expected_share(elo))
    for _ in range(200):
        counts, llr = np.zeros(5), 0.0
        while low < llr < high:
            counts += rng.multinomial(20, p)
            llr = log_likelihood_ratio(counts, 0, 40)
        errors += (ACCEPT_H1 if llr >= high else ACCEPT_H0) == wrong
    assert errors / 200 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)


def test_sprt_stops_early_and_the_same_for_all_threads(world):
    contest = make_contest(world, 2, seed=2)
    tests = [run_sprt(contest, ("greedy", "random"), 0, 50, 5000, threads) for threads in (1, 2)]
    assert {test.decision for test in tests} == {ACCEPT_H1}
    assert tests[0].result.blocks == tests[1].result.blocks < 200
    assert tests[0].llr == tests[1].llr
    with pytest.raises(DartmoorError, match="two policies"):
        run_sprt(contest, ("greedy", "greedy"), 0, 50, 10)


# Nash


def test_nash_of_rock_paper_scissors_and_a_dominated_style():
    share = np.array([[0.5, 1, 0, 1], [0, 0.5, 1, 1], [1, 0, 0.5, 1], [0, 0, 0, 0.5]])
    assert nash_mixture(share) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])


def test_nash_report_names_domination():
    share = np.array([[0.5, 0.7, 0.9], [0.3, 0.5, 0.6], [0.1, 0.4, 0.5]])
    rows = nash_report(["a", "b", "c"], share, np.full((3, 3), 0.01) * (1 - np.eye(3)), 100, 0)
    assert rows[0]["weight"]["value"] == 1
    assert rows[2]["dominated_by"] == [{"policy": "a", "shown": True}, {"policy": "b", "shown": True}]
    assert rows[1]["share_against_mixture"]["value"] == pytest.approx(0.3)


def test_nash_needs_every_pair(world):
    contest = make_contest(world, 2, seed=2)
    tournament = run_tournament(contest, [("random", "plain"), ("random", "greedy")], 3)
    assert nash_of(tournament) is None


# Command


def run(text):
    """Run the command line on words."""
    return CliRunner().invoke(app, text.split())


def test_command_prints_one_document():
    result = run("tournament --policies random,greedy --games 200 --seed 3 --threads 2 --json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["games"] == 200
    assert document["tables"][0]["pentanomial"] == [100, 0, 0, 0, 0]
    assert document["comparisons"][0]["claim"] == "greedy beats random"
    assert {row["row"] for row in document["matrix"]} == {"random", "greedy"}
    assert document["nash"][1]["weight"]["value"] == 1


def test_tables_break_at_names_and_cut_none():
    words = ["tournament", "--policies", "random,greedy,balanced", "--players", "3", "--games", "30", "--seed", "3"]
    result = CliRunner().invoke(app, words, env={"COLUMNS": "80"})
    assert result.exit_code == 0
    assert "…" not in result.stdout and max(map(len, result.stdout.splitlines())) <= 80


def test_command_writes_results(tmp_path):
    out = tmp_path / "run"
    result = run(f"tournament --players 3 --table greedy,random,plain --games 60 --out {out}")
    assert result.exit_code == 0
    assert {path.name for path in out.iterdir()} == {"summary.csv", "comparisons.csv", "ratings.csv", "manifest.json"}


def test_command_runs_a_sequential_test():
    document = json.loads(run("tournament --policies greedy,random --sprt 0,50 --games 4000 --json").stdout)
    assert document["sprt"]["decision"] == "H1"
    assert document["games"] < 400
