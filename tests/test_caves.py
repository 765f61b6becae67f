"""Which cave to take: known truths, fairness of the pairing, the learned rule, and the command."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments.cave_kernels import OWN_DRAFT, RULE_DRAFT, draft_by_rule, give_caves, play_drafts
from experiments.caves import caves, groups, learn_rule, play_cave_deals, rule_picks, write_rule
from experiments.cli import app
from experiments.estimates import paired_difference
from experiments.experiment_tables import cave_tables
from experiments.options import make_setting, make_world
from experiments.precision import make_plan
from experiments.results import play_out
from policies.cave_rule import RULE_COLUMNS, RULE_FILE, RULE_SIZE, greedy_drafter, read_rule, rule_vector
from policies.registry import LoadedPolicy
from sim.batch import Match, play, play_chunk
from sim.codes import CardType, CaveMode
from sim.deal import setup
from sim.errors import DartmoorError
from sim.policy import policy
from sim.rng import seed_stream, shuffle
from sim.rules import MAX_PLAYERS, TYPES
from sim.state import STREAMS, new_games


@policy
def out_of_range(state, tables, actions, n, weights):
    """A policy with a mistake."""
    return n


POINTS = [(1, 50), (2, 1), (3, 7)]


def caves_file(path, points=POINTS):
    """Write a file of caves that only give points at the end."""
    lines = [f"{number},end,points {n},designed,none" for number, n in points]
    path.write_text("cave,when,effect,status,note\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def world():
    return make_world()


@pytest.fixture(scope="module")
def points_world(tmp_path_factory):
    return make_world(caves_file=caves_file(tmp_path_factory.mktemp("caves") / "points.csv"))


# Known truths


@pytest.mark.parametrize("players", [2, 3])
def test_cave_of_fifty_points_is_best_by_fifty(points_world, players):
    result = caves(make_setting(points_world, players, "random"), make_plan(300), 2)
    assert result.document["best"] == {"cave": 1, "sure": True, "not_worse": []}
    for row in result.document["pairs"]:
        points = dict(POINTS)
        truth = points[row["a"]] - points[row["b"]]
        low, high = row["score"]["ci"]
        assert low <= truth <= high
        assert row["score"]["value"] == truth  # nobody plays otherwise for such caves, so the luck cancels out
    assert result.document["unless"] == []


def test_equal_caves_do_not_differ(tmp_path):
    equal = make_world(caves_file=caves_file(tmp_path / "equal.csv", [(1, 4), (2, 4), (3, 4)]))
    result = caves(make_setting(equal, 2, "plain"), make_plan(200), 2)
    assert all(row["win_share"]["value"] == 0 and row["p_holm"] == 1 for row in result.document["pairs"])
    assert not result.document["best"]["sure"]
    assert {row["gain"]["value"] for row in result.document["draft"] if "gain" in row} == {0.0}


def test_policy_that_misbehaves_is_named(world):
    setting = make_setting(world, 2, "random", seed=1)
    broken = LoadedPolicy("broken", out_of_range, np.zeros(1), "")
    with pytest.raises(DartmoorError, match="policy broken: chose an action that does not exist .seat 1, game 7"):
        play_cave_deals(replace(setting, seats=[setting.seats[0], broken]), 7, 3)


# The pairing


@pytest.mark.parametrize("players", range(2, MAX_PLAYERS + 1))
def test_caves_change_for_the_seat_and_at_most_one_other(players):
    order = np.array([3, 0, 4, 1, 2], np.uint8)
    for seat, cave in itertools.product(range(players), range(5)):
        given = np.zeros(MAX_PLAYERS, np.uint8)
        give_caves(order, players, seat, cave, given)
        assert given[seat] == cave
        assert len(set(given[:players])) == players
        others = [given[other] for other in range(players) if other != seat]
        assert sum(have != usual for have, usual in zip(others, order, strict=False)) <= 1


def test_games_are_those_of_the_engine(points_world, world):
    """A deal played with cave c in its seat is the engine's game with these caves given."""
    setting = make_setting(world, 5, "plain", seed=3)
    shares, scores, _ = play_cave_deals(setting, 0, 10)
    for game in range(10):
        seat = game % 5
        for cave in range(5):
            numbers = _given(setting, game, seat, cave)
            match = make_setting(world, 5, "plain", ",".join(str(index + 1) for index in numbers), seed=3).match()
            outcome = play_chunk(match, game, 1)[1][0]
            assert outcome["cave"][seat] == cave
            assert (outcome["score"][seat], outcome["share"][seat]) == (scores[game, cave], shares[game, cave])


def _given(setting, game, seat, cave):
    """Return the seats' cave indices when `seat` tries `cave`."""
    rng, order, given = np.empty(4, np.uint64), np.arange(5, dtype=np.uint8), np.zeros(MAX_PLAYERS, np.uint8)
    seed_stream(rng, np.uint64(setting.seed), game, STREAMS)
    shuffle(rng, order, 5)
    give_caves(order, setting.players, seat, cave, given)
    return [int(index) for index in given[: setting.players]]


def test_hands_are_those_of_the_deal(world):
    setting = make_setting(world, 3, "random", seed=9)
    _, _, hands = play_cave_deals(setting, 4, 6)
    games, given = new_games(), np.zeros(MAX_PLAYERS, np.uint8)
    for i, game in enumerate(range(4, 10)):
        setup(games, world.tables[0], 3, np.uint64(9), game, int(CaveMode.RANDOM), given)
        cards = games[0]["hand"][game % 3, :6]
        masks = world.tables[0]["card_types"][cards]
        assert hands[i].tolist() == [int((masks >> kind & 1).sum()) for kind in range(TYPES)]


def test_groups_split_the_deals(world):
    result = caves(make_setting(world, 3, "plain"), make_plan(300), 2)
    pairs = result.frames["pairs"]
    sizes = pairs.groupby("group", sort=False)["win_share_n"].first()
    assert sizes["all"] == 300
    assert [sizes[f"seat {seat}"] for seat in range(3)] == [100, 100, 100]
    for kind in CardType:
        assert sizes[f"has {kind.name.lower()}"] + sizes[f"no {kind.name.lower()}"] == 300
    assert list(sizes.index) == [group.name for group in groups(3)]


def test_pairs_are_paired_by_deal(world):
    setting = make_setting(world, 2, "plain", seed=1)
    result = caves(setting, make_plan(250), 2)
    _, scores, _ = play_cave_deals(setting, 0, 250)
    x, y = scores[:, 0], scores[:, 3]
    row = next(row for row in result.document["pairs"] if (row["a"], row["b"]) == (1, 4))
    expected = paired_difference(x.sum(), y.sum(), (x * x).sum(), (x * y).sum(), (y * y).sum(), 250)
    assert row["score"] == expected
    assert row["score"]["se"] == pytest.approx(np.std(x - y, ddof=1) / np.sqrt(250))


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_nothing(world, threads):
    setting = make_setting(world, 2, "plain", seed=2)
    assert caves(setting, make_plan(450), threads).document == caves(setting, make_plan(450), 2).document


def test_an_interrupted_comparison_tests_nothing(world):
    def stop(count):
        raise KeyboardInterrupt

    result = caves(make_setting(world, 2, "random"), make_plan(500), 1, stop)
    assert result.stop.reason == "interrupted" and 0 < result.stop.games < 500
    assert result.document["tests"] == [] and result.document["draft"] == []
    assert all(len(frame.columns) for frame in result.frames.values())


@pytest.mark.parametrize(("not_worse", "than"), [([], "every other"), ([2], "3"), ([2, 3], "none of the others")])
def test_title_claims_only_what_is_shown(points_world, not_worse, than):
    document = caves(make_setting(points_world, 2, "random"), make_plan(60), 2).document
    document["best"] = {"cave": 1, "sure": not not_worse, "not_worse": not_worse}
    title = cave_tables(document)[0].title
    assert title.endswith(f"highest win share: cave 1; shown to be better than: {than}")


def test_tables_print_their_own_number_of_deals(points_world):
    document = caves(make_setting(points_world, 2, "random"), make_plan(60), 2).document
    *_, exceptions, gains, draft = cave_tables(document)
    for table in (gains, draft):
        (cells,) = [set(column.cells) for column in table.columns if column.header == "n"]
        assert cells == {"30"}
    assert exceptions.row_count == 1 and not exceptions.show_header and exceptions.box is None


# The drafting rule


def hand_sums(hands, worth):
    """Return the sums that the rule is learned from, for hands and the win shares in 60ths of three caves."""
    design = np.column_stack([np.ones(len(hands), np.int64), hands])
    above = 3 * worth - worth.sum(axis=1, keepdims=True)
    sums = {"deals": np.array([len(hands)]), "hand_xx": design.T @ design, "hand_xy": design.T @ above}
    return {name: value.astype(object) for name, value in (sums | {"above_mean_sq": (above**2).sum(axis=0)}).items()}


def test_rule_finds_what_matters_and_nothing_else():
    rng = np.random.default_rng(8)
    hands = rng.integers(0, 3, size=(4000, TYPES))
    chances = 0.4 + np.column_stack([0.15 * hands[:, CardType.MOOR], np.full(4000, 0.1), np.zeros(4000)])
    worth = 60 * (rng.random((4000, 3)) < chances)
    rows = learn_rule(hand_sums(hands, worth), 2, 3)
    assert rows[0]["moor"] == pytest.approx(0.1, abs=0.02)  # 0.15 less its third in the mean of the caves
    assert rows[0]["tree"] == rows[1]["bat"] == rows[2]["bird"] == 0
    picks = rule_picks(hands, rule_vector(rows), 2, 3)
    assert set(picks[hands[:, CardType.MOOR] == 0]) == {1}
    assert set(picks[hands[:, CardType.MOOR] == 2]) == {0}


def test_draft_goes_in_reverse_turn_order(world):
    """With a rule that ranks 4 over 1 over the rest, the last player has the best cave on offer."""
    worth = {4: 0.3, 1: 0.2, 2: 0.1, 3: 0.0, 5: -0.1}
    rule = rule_vector([_row(4, cave, value) for cave, value in worth.items()])
    games, given = new_games(), np.zeros(MAX_PLAYERS, np.uint8)
    for game in range(20):
        setup(games, world.tables[0], 4, np.uint64(1), game, int(CaveMode.RANDOM), given)
        offer = sorted((int(index) + 1 for index in games[0]["cave"][:4]), key=lambda cave: -worth[cave])
        draft_by_rule(games[0], world.tables[0], rule, given)
        assert [int(index) + 1 for index in given[3::-1]][:4] == offer


def _row(players, cave, base):
    return {column: 0 for column in RULE_COLUMNS} | {"players": players, "cave": cave, "base": base}


def test_draft_by_policies_is_the_engine_s(world):
    setting = make_setting(world, 3, "greedy", seed=6)
    match = setting.match()
    shares, scores = np.zeros((2, 40, 3, 3), np.int64)
    rule = np.zeros(RULE_SIZE)
    play_out(play_drafts, match, new_games(), np.zeros(1, np.int64), np.uint64(6), 0, rule, shares, scores)
    totals = play(match, 40)[0]
    assert shares[:, OWN_DRAFT].sum(axis=0)[::-1].tolist() == totals["share"][:3].tolist()
    assert (shares.sum(axis=2) == 60).all()
    assert RULE_DRAFT == 2


def test_greedy_drafter_takes_the_cave_of_its_rule(world):
    rule = rule_vector([_row(2, 3, 1.0)])
    seat = LoadedPolicy("greedy_drafter", greedy_drafter, rule, "")
    match = Match(world.tables, 2, [seat.function] * 2, [seat.weights] * 2, 4)
    _, outcomes = play_chunk(match, 0, 60, keep_outcomes=True)
    dealt = play_chunk(make_setting(world, 2, "greedy", "random", seed=4).match(), 0, 60, keep_outcomes=True)[1]
    for drafted, offered in zip(outcomes["cave"][:, :2], dealt["cave"][:, :2], strict=True):
        assert drafted[1] == (2 if 2 in offered else min(offered))


def test_shipped_rule_is_read():
    rule = read_rule()
    assert rule.shape == (RULE_SIZE,)
    assert np.count_nonzero(rule) >= 4 * 5
    assert RULE_FILE.read_text().startswith("# players 2: dartmoor caves --players 2 ")


def test_rule_file_keeps_other_numbers_of_players(tmp_path):
    path = tmp_path / "rule.csv"
    write_rule(path, [_row(3, 1, 0.5)], "first")
    write_rule(path, [_row(2, 1, 0.25)], "second")
    write_rule(path, [_row(3, 1, -0.5)], "third")
    assert path.read_text().splitlines()[:2] == ["# players 2: second", "# players 3: third"]
    assert np.array_equal(read_rule(path), rule_vector([_row(2, 1, 0.25), _row(3, 1, -0.5)]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n", "columns are not players,cave"),
        (",".join(RULE_COLUMNS) + "\n9" + ",1" * 15 + "\n", "line 2, column players: '9', expected 2 to 5"),
        (",".join(RULE_COLUMNS) + "\n2,1,x" + ",1" * 13 + "\n", "line 2, column base: 'x' is not a number"),
        (",".join(RULE_COLUMNS) + "\n2,1\n", "line 2: 2 cells"),
    ],
)
def test_damaged_rule_files_are_refused(tmp_path, content, message):
    path = tmp_path / "rule.csv"
    path.write_text(content)
    with pytest.raises(DartmoorError, match=message):
        read_rule(path)


def test_command_prints_one_document(tmp_path):
    designed = caves_file(tmp_path / "new.csv")
    arguments = ["--policies", "random", "--games", "60", "--caves-file", str(designed), "--out", str(tmp_path / "out")]
    run = CliRunner().invoke(app, ["caves", *arguments, "--json"])
    assert run.exit_code == 0
    document = json.loads(run.stdout)
    assert [row["cave"] for row in document["caves"]] == [1, 2, 3]
    assert {"a", "b", "win_share", "score"} <= set(document["pairs"][0])
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["options"]["caves_file"] == "new.csv"
