"""When winter comes: the exact law against enumeration and against play, the odds at the table, and the command."""

import itertools
import json
import math
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from numba import int64, njit, types, uint8, uint64
from typer.testing import CliRunner

from experiments.cli import app
from experiments.options import make_setting, make_world
from experiments.precision import make_plan
from experiments.winter import (
    chi_squared,
    count_turn_cards,
    distribution,
    measure_paces,
    play_course_chunk,
    quantile_intervals,
    winter,
)
from experiments.winter_kernels import CUT, ENDED
from experiments.winter_odds import (
    PACE_FILE,
    Situation,
    Turn,
    assumed_turn,
    cards_to,
    deck_cards,
    depth_law,
    end_chance,
    measured_turn,
    mixed_chance,
    pace_text,
    pile_sizes,
    product_limit,
    read_paces,
    winter_odds,
)
from sim.actions import MAX_ACTIONS
from sim.batch import play_chunk
from sim.codes import Phase
from sim.deal import setup
from sim.errors import DartmoorError
from sim.legal import legal_actions
from sim.machine import advance, apply
from sim.policy import AT_TABLE
from sim.rules import CARDS_TO_BOX, MAX_PLAYERS, MIN_PLAYERS, WINTERS
from sim.state import new_games

PLAYERS = range(MIN_PLAYERS, MAX_PLAYERS + 1)
FRESH_SEED = 2026  # no game of the pace file has it


def ends_within(stack, seen, cards):
    """Take `cards` cards off a stack (True is a winter) by the rules and return whether the third winter is turned."""
    places = iter(stack)
    for _ in range(cards):
        while next(places):
            seen += 1
            if seen == WINTERS:
                return True
    return False


def stacks(places, winters):
    for held in itertools.combinations(range(places), winters):
        yield [place in held for place in range(places)]


# The law


@pytest.mark.parametrize("players", PLAYERS)
@pytest.mark.parametrize("pile", ["floor", "ceil", "random"])
def test_depths_of_a_winter_are_a_law(players, pile):
    for number in range(1, WINTERS + 1):
        law = depth_law(players, number, pile)
        assert sum(law.values()) == 1
        assert max(law) <= deck_cards(players) + WINTERS


def test_law_is_that_of_all_places():
    """Enumerate where the two hidden winters can lie in the pile of two players."""
    (size,) = pile_sizes(2)
    assert size == (172 - CARDS_TO_BOX[2]) // 3
    first = deck_cards(2) - size + 1
    pairs = list(itertools.combinations(range(1, size + 3), 2))
    for number, pick in ((2, min), (3, max)):
        counts = Counter(first + pick(pair) for pair in pairs)
        assert depth_law(2, number) == {depth: Fraction(count, len(pairs)) for depth, count in sorted(counts.items())}
    assert depth_law(2, 1) == {first: 1}


def test_random_pile_is_larger_for_the_rest_of_three():
    sizes = pile_sizes(3, "random")  # 142 cards: piles of 47, 47 and 48
    assert sizes == {47: Fraction(2, 3), 48: Fraction(1, 3)}
    assert pile_sizes(3, "ceil") == {48: 1}


@pytest.mark.parametrize("ruling", ["winter_pile=floor", "winter_pile=ceil", "winter_pile=random"])
def test_simulated_depths_follow_the_law(ruling):
    world = make_world(rulings=[ruling])
    document = winter(make_setting(world, 5, "random", seed=11), make_plan(4000), 2).document
    for test in (document["law_test"], document["second_winter_law_test"]):
        assert test["outside"] == 0
        assert test["p_value"] > 0.001
    assert document["law"][0].keys() == {"depth", "exact", "simulated"}
    assert math.isclose(sum(row["exact"] for row in document["law"]), 1)


def test_chi_squared_finds_a_wrong_law():
    assert chi_squared([50, 50], [50.0, 50.0])["p_value"] == 1
    assert chi_squared([80, 20], [50.0, 50.0])["p_value"] < 1e-6
    assert chi_squared([3, 2, 5], [4.0, 4.0, 2.0])["df"] == 0


# The odds


@pytest.mark.parametrize("seen", [1, 2])
@pytest.mark.parametrize("left", [2, 3, 7, 11])
def test_odds_are_those_of_all_stacks(seen, left):
    law = Situation(3, left, seen).cards_above_end()
    every = list(stacks(left, WINTERS - seen))
    for cards in range(left):
        exact = Fraction(sum(ends_within(stack, seen, cards) for stack in every), len(every))
        assert end_chance(law, cards) == float(exact)


def test_odds_before_the_first_winter_are_those_of_all_stacks():
    (size,) = pile_sizes(2)
    left = size + WINTERS + 4  # four cards above the first winter
    law = Situation(2, left, 0).cards_above_end()
    every = [[False] * 4 + [True] + rest for rest in stacks(size + 2, 2)]
    for cards in (0, 4, 5, 6, 20, size + 4, size + 5):
        exact = Fraction(sum(ends_within(stack, 0, cards) for stack in every), len(every))
        assert end_chance(law, cards) == float(exact)


def test_one_draw_after_the_first_winter():
    """Both winters must lie on top: 1 of C(31, 2) pairs of places."""
    assert end_chance(Situation(3, 31, 1).cards_above_end(), 1) == 1 / math.comb(31, 2)


def test_turn_mixes_the_law_and_a_round_all_its_turns():
    law, shares = Situation(3, 9, 1).cards_above_end(), (0.5, 0.2, 0.3)
    odds = winter_odds(Situation(3, 9, 1), Turn(shares, "given"))
    assert odds["within_turn"] == pytest.approx(0.2 * end_chance(law, 1) + 0.3 * end_chance(law, 2))
    expected = sum(
        shares[a] * shares[b] * shares[c] * end_chance(law, a + b + c)
        for a, b, c in itertools.product(range(3), repeat=3)
    )
    assert odds["within_round"] == pytest.approx(expected)
    assert odds["pace"] == pytest.approx(0.8)


def test_only_what_follows_from_the_law_is_called_exact():
    one, other = (winter_odds(Situation(3, 31, 1), assumed_turn(pace)) for pace in (0.5, 2.4))
    chances = {key for key in one if key.startswith(("within", "cards_to", "stack_down"))}
    assert set(one["exact"]) | set(one["estimated"]) == chances
    assert all(one[key] == other[key] for key in one["exact"])
    assert all(one[key] < other[key] for key in one["estimated"])


@pytest.mark.parametrize("pace", [0.0, 0.8, 1.5, 2.4, 7.0])
def test_assumed_turn_has_the_mean_that_was_given(pace):
    turn = assumed_turn(pace)
    assert turn.pace == pytest.approx(pace)
    assert sum(turn.shares) == pytest.approx(1)
    assert min(turn.shares) >= 0


def test_turns_cut_short_are_not_taken_for_short_ones():
    """Cut turns at random places, whatever they would take: the law of the turns comes out all the same."""
    truth, rng, seen = (0.5, 0.25, 0.2, 0.05), np.random.default_rng(3), 40_000
    wanted, above = rng.choice(4, seen, p=truth), rng.integers(0, 5, seen)
    is_cut = wanted > above
    turns = np.bincount(wanted[~is_cut], minlength=4).tolist()
    cut = np.bincount(above[is_cut], minlength=4).tolist()
    assert product_limit(turns, cut)[:4] == pytest.approx(truth, abs=0.01)
    assert turns[0] / sum(turns) > 0.55  # leaving the cut turns out would not do


def test_law_of_turns_without_cuts_is_their_shares():
    assert product_limit([6, 3, 1], [0, 0, 0]) == pytest.approx((0.6, 0.3, 0.1, 0.0))
    assert product_limit([1, 0], [0, 1]) == pytest.approx((0.5, 0.0, 0.5))  # more than one card: taken as two


def test_cards_to_a_chance():
    law = Situation(3, 31, 1).cards_above_end()
    for level in (0.5, 0.8, 0.95):
        cards = cards_to(law, level)
        assert end_chance(law, cards) >= level > end_chance(law, cards - 1)
    odds = winter_odds(Situation(3, 31, 1), assumed_turn(2.4))
    assert odds["stack_down_by"]["50"] == odds["cards_to"]["50"] + 1


def test_last_card_of_the_stack_ends_the_game():
    assert winter_odds(Situation(2, 1, 2), assumed_turn(1.0))["within_draw"] == 1
    assert winter_odds(Situation(2, 2, 1), assumed_turn(1.0))["within_draw"] == 1


@pytest.mark.parametrize(
    ("situation", "message"),
    [
        ((1, 31, 1), "--players: 1"),
        ((3, 31, 3), "--winters-seen: 3, expected 0 to 2"),
        ((3, 50, 1), "--stack-left: 50 .* expected 2 to 49"),
        ((3, 49, 2), "expected 1 to 48"),
        ((3, 49, 0), "expected 50 to 127"),
    ],
)
def test_impossible_situations_are_refused(situation, message):
    with pytest.raises(DartmoorError, match=message):
        Situation(*situation)


@pytest.mark.parametrize("pace", [-1.0, math.nan, math.inf, 1000.0])
def test_impossible_paces_are_refused(pace):
    with pytest.raises(DartmoorError, match="--pace"):
        assumed_turn(pace)


def test_paces_are_shipped():
    for policy in ("random", "plain", "greedy", "balanced", "tuned"):
        for players, seen in itertools.product(PLAYERS, range(WINTERS)):
            turn = measured_turn(policy, players, seen)
            assert 0.3 < turn.pace < 3
            assert sum(turn.shares) == pytest.approx(1)
    assert "# dartmoor winter pace " in PACE_FILE.read_text()
    with pytest.raises(DartmoorError, match=r"expected one of .*greedy"):
        measured_turn("nobody", 3, 1)


def test_pace_file_is_read_as_written(tmp_path):
    rows = measure_paces(make_world(), ["random"], [2], 200, 1, 1)
    path = tmp_path / "pace.csv"
    path.write_text(pace_text(rows, "dartmoor winter pace"))
    assert read_paces(path) == [{key: str(value) for key, value in row.items()} for row in rows]
    path.write_text("a,b\n1,2\n")
    with pytest.raises(DartmoorError, match="expected the columns policy,players"):
        read_paces(path)


def test_damaged_pace_file_is_named(tmp_path):
    path = tmp_path / "pace.csv"
    path.write_text("policy,players,winters_seen,cards,turns,cut,games\nrandom,2,1,0,many,0,9\n")
    with pytest.raises(DartmoorError, match=r"pace\.csv: damaged, random with 2 players: .*'many'"):
        measured_turn("random", 2, 1, path)


# The odds against play


@njit(
    int64(
        *AT_TABLE,
        int64,
        types.Array(uint8, 1, "C"),
        uint64,
        int64,
        types.Array(int64, 2, "C"),
    ),
    cache=True,
)
def log_turns(games, tables, policies, weights, players, cave_mode, caves, seed, game, log):
    """Play a game and log winters seen and stack left when each turn began; return the number of turns."""
    actions = np.empty(MAX_ACTIONS, np.int32)
    setup(games, tables[0], players, seed, game, cave_mode, caves)
    state = games[0]
    advance(state, tables[0], actions)
    while state.phase != Phase.OVER:
        if state.phase == Phase.TURN:
            log[state.turn - 1, 0] = state.winters
            log[state.turn - 1, 1] = int64(state.stack_n) - int64(state.stack_top)
        n = legal_actions(state, tables[0], actions)
        choice = 0
        if n > 1:
            choice = policies[state.player](state, tables[0], actions, n, weights[state.player])
        apply(state, tables[0], actions[choice])
        advance(state, tables[0], actions)
    return int64(state.turn)


def logs_of(match, games):
    """Return for each game an array of (winters seen, stack left) by turn."""
    log, tables = np.zeros((2000, 2), np.int64), match.tables
    seats, caves = (match.kernel_policies, match.kernel_weights), match.kernel_caves
    for game in range(games):
        mode = int(match.cave_mode)
        turns = log_turns(new_games(), tables, *seats, match.players, mode, caves, np.uint64(match.seed), game, log)
        yield log[:turns].copy()


def calibration(policy, players, seen, games):
    """Return (predicted, happened) endings of each game, summed over its turns, for a turn and for a round."""
    turn = measured_turn(policy, players, seen)
    together, laws = turn.several(players), {}
    found = np.zeros((games, 2, 2))
    for game, log in enumerate(logs_of(make_setting(make_world(), players, policy, seed=FRESH_SEED).match(), games)):
        for number, (winters, left) in enumerate(log.tolist()):
            if winters != seen:
                continue
            if left not in laws:
                law = Situation(players, left, seen).cards_above_end()
                laws[left] = mixed_chance(law, turn.shares), mixed_chance(law, together)
            found[game, :, 0] += laws[left]
            found[game, :, 1] += number == len(log) - 1, number >= len(log) - players
    return found


@pytest.mark.parametrize("seen", [1, 2])
@pytest.mark.parametrize(("policy", "players"), [("greedy", 3), ("random", 2)])
def test_odds_are_calibrated_on_fresh_games(policy, players, seen):
    """The endings predicted turn by turn add up to those that happen; games are independent, their turns are not."""
    games = 400
    for part in calibration(policy, players, seen, games).transpose(1, 2, 0):
        difference = part[1] - part[0]
        error = difference.std(ddof=1) * math.sqrt(games)
        assert abs(difference.sum()) < 3 * error, part.sum(axis=1)
        assert part[1].sum() > 10


# The simulation


@pytest.fixture(scope="module")
def setting():
    return make_setting(make_world(), 3, "random,plain,greedy", seed=7)


@pytest.mark.parametrize("caves", ["draft", "random"])
def test_turns_are_counted_by_their_cards(caves):
    """Every turn once, every card after setup once, and the last turn of every game is cut short."""
    match = make_setting(make_world(), 3, "random,plain,greedy", caves, seed=7).match()
    courses, counts = play_course_chunk(match, 0, 200)
    assert counts.sum() == courses["turns"].sum()
    taken = courses["start_left"] - courses["stack_left"] - WINTERS
    assert (counts.sum(axis=(0, 1)) * np.arange(counts.shape[2])).sum() == taken.sum()
    assert counts[:, CUT].sum() == 200
    logs = np.concatenate(list(logs_of(match, 200)))
    assert counts.sum(axis=(1, 2)).tolist() == np.bincount(logs[:, 0], minlength=WINTERS).tolist()
    assert np.array_equal(count_turn_cards(match, 200, 2), counts)
    assert counts[0, ENDED].sum() > 0


def test_courses_are_those_of_the_engine(setting):
    courses, _ = play_course_chunk(setting.match(), 5, 60)
    _, outcomes = play_chunk(setting.match(), 5, 60, keep_outcomes=True)
    for name in ("turns", "rounds", "stack_left", "ending", "winter_turn", "winter_round", "winter_left"):
        assert np.array_equal(courses[name], outcomes[name]), name


def test_turns_of_the_players_add_up(setting):
    courses, _ = play_course_chunk(setting.match(), 0, 200)
    assert np.array_equal(courses["player_turns"].sum(axis=1), courses["turns"])
    assert np.array_equal(courses["had_turns"].sum(axis=2), courses["winter_turn"])


def test_paces_add_up_to_the_stack(setting):
    courses, _ = play_course_chunk(setting.match(), 0, 200)
    result = winter(setting, make_plan(200), 2)
    taken = (courses["start_left"] - courses["stack_left"] - WINTERS).sum()
    assert result.document["pace"][-1]["pace"]["value"] == pytest.approx(taken / courses["turns"].sum())


def test_every_ending_is_counted(setting):
    document = winter(setting, make_plan(300), 2).document
    assert sum(document["endings"].values()) == 300
    assert set(document["endings"]) == {"draw", "tree", "effect", "cave"}


def test_chances_of_more_turns_fall(setting):
    rows = [row for row in winter(setting, make_plan(300), 2).document["more_turns"] if row["winter"] == 1]
    for key in ("all_players", "one_player"):
        values = [row[key]["value"] for row in rows]
        assert values == sorted(values, reverse=True)
    assert rows[0]["turns"] == 1


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_nothing(setting, threads):
    assert winter(setting, make_plan(1500), threads).document == winter(setting, make_plan(1500), 2).document


def test_distribution_is_kept_whole(setting):
    frames = winter(setting, make_plan(300), 2).frames
    part = frames["distributions"]
    third = part[(part["measure"] == "turn") & (part["number"] == WINTERS)]
    assert third["games"].sum() == 300
    mean = (third["value"] * third["games"]).sum() / 300
    assert frames["summary"].query("winter == 3 and measure == 'turn'")["mean"].item() == pytest.approx(mean)


def test_quantile_intervals_cover():
    rng, hits, runs = np.random.default_rng(6), Counter(), 500
    exact = np.quantile(np.arange(1000), [0.05, 0.5, 0.95], method="inverted_cdf")
    truth = dict(zip(("5", "50", "95"), exact, strict=True))
    for _ in range(runs):
        counts = np.bincount(rng.integers(0, 1000, 300), minlength=1000)
        found = quantile_intervals(counts)
        for q, value in truth.items():
            hits[q] += found[q][0] <= value <= found[q][1]
    assert all(hits[q] >= 0.93 * runs for q in truth)


def test_quantile_intervals_of_few_games_are_the_extremes():
    found = distribution(np.bincount([3, 5, 9]))
    assert found["quantile_intervals"]["50"] == [3, 9]
    assert found["quantiles"]["50"] == 5


def test_command_prints_one_document():
    run = CliRunner().invoke(app, ["winter", "--policies", "random", "--games", "100", "--json"])
    assert run.exit_code == 0
    document = json.loads(run.stdout)
    assert {"mean", "quantiles"} <= set(document["winters"][0]["turn"])
    assert {"winters", "endings", "law"} <= set(document)


def test_odds_command_needs_no_kernels():
    code = (
        "import sys; from typer.testing import CliRunner; from experiments.cli import app\n"
        "run = CliRunner().invoke(app, ['winter', 'odds', '--players', '3', '--stack-left', '31', '--json'])\n"
        "assert run.exit_code == 0, run.output\n"
        "print(sorted({'numba', 'pandas', 'scipy', 'numpy'} & set(sys.modules)))\n"
        "print(run.stdout)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded, document = output.split("\n", 1)
    assert loaded in ("[]", "['numpy']")
    assert set(json.loads(document)["cards_to"]) == {"50", "80", "95"}


@pytest.mark.parametrize("command", ["odds", "pace"])
@pytest.mark.parametrize("option", [["--players", "3"], ["--json"], ["--ruling", "winter_pile=ceil"]])
def test_options_before_a_command_are_not_dropped(option, command):
    arguments = ["--stack-left", "31"] if command == "odds" else ["--out", "pace.csv"]
    run = CliRunner().invoke(app, ["winter", *option, command, *arguments])
    assert isinstance(run.exception, DartmoorError)
    assert str(run.exception).startswith(f"{option[0]}: options go after `winter {command}`")


def test_odds_command_says_what_is_assumed():
    arguments = ["winter", "odds", "--players", "3", "--stack-left", "31", "--json"]
    given = json.loads(CliRunner().invoke(app, [*arguments, "--pace", "0.9"]).stdout)
    assert given["turn_cards_from"].startswith("assumed for a mean")
    assert given["turn_cards"] == pytest.approx([0.4, 0.3, 0.3])
    measured = json.loads(CliRunner().invoke(app, arguments).stdout)
    assert measured["turn_cards_from"].startswith("measured: greedy, 3 players")
    assert "within_turn" not in measured["exact"]
