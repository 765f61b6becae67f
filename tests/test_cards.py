"""Card values: sums against a slow recount, estimates against brute force, the causal part against known truths."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from experiments import card_estimates
from experiments.card_sums import BINS, CARD_SUMS, GAMES, TURN_STARTS, XX, XY, YY, CopyFate, Figure, X, Y, turn_bin
from experiments.card_tables import short_interval
from experiments.cards import TOP_PAIRS, card_values, groups_of, work_of
from experiments.causal import CausalRun, changed_tables, what_matters
from experiments.causal_sums import CAUSAL_SUMS, Change, changed_row, setup_with_copy
from experiments.commands import cards as command
from experiments.estimates import estimate, share_estimate
from experiments.options import make_setting, make_world
from experiments.precision import make_plan
from sim.actions import MAX_ACTIONS, card_of, half_of
from sim.batch import play_chunk
from sim.codes import Act, CaveMode, Fate, Phase, Place
from sim.deal import setup
from sim.errors import DartmoorError
from sim.legal import legal_actions
from sim.machine import advance, apply
from sim.policy import policy
from sim.rules import DECK_SIZE, MAX_PLAYERS, OPENING_HAND, SHARES, SPECIES
from sim.scoring import species_points, total_points
from sim.species import box_species
from sim.state import new_games

NO_CAVES = np.zeros(MAX_PLAYERS, np.uint8)
KEYS = [species.key for species in box_species()]


@pytest.fixture(scope="module")
def world():
    return make_world()


@pytest.fixture(scope="module")
def small(world):
    """A small mixed run with everything in it."""
    return card_values(make_setting(world, 3, "greedy,random,greedy", seed=5), make_plan(40), 3, threads=2)


# The sums against a recount in plain Python


def replay(setting, game):
    """Play one game step by step; return the final state and, by player, the halves that could be played in a turn."""
    match, games, actions = setting.match(), new_games(), np.empty(MAX_ACTIONS, np.int32)
    table = match.tables[0]
    setup(games, table, setting.players, match.seed, game, int(match.cave_mode), NO_CAVES)
    state = games[0]
    playable = [set() for _ in range(setting.players)]
    advance(state, table, actions)
    while state["phase"] != Phase.OVER:
        player = state["player"]
        n = legal_actions(state, table, actions)
        if state["phase"] == Phase.TURN and any(int(action) >> 16 == Act.PLAY for action in actions[:n]):
            copy = games.copy()
            apply(copy[0], table, Act.PLAY << 16)
            listed = np.empty(MAX_ACTIONS, np.int32)
            for action in listed[: legal_actions(copy[0], table, listed)]:
                playable[player].add((card_of(action), half_of(action)))
        choice = match.policies[player](state, table, actions, n, match.weights[player]) if n > 1 else 0
        apply(state, table, actions[choice])
        advance(state, table, actions)
    return state, playable


def win_shares_of(state, table, players):
    scores = [total_points(state, table, player) for player in range(players)]
    winners = scores.count(max(scores))
    return [SHARES // winners if score == max(scores) else 0 for score in scores]


def recount(state, table, players, player, playable):
    """Return x of every figure for one player, by species, and the y of those that are no win rates."""
    counts = {key: dict.fromkeys(Figure, 0) for key in KEYS}
    points = {key: species_points(state, table, player, code) for code, key in enumerate(KEYS)}
    for card in range(DECK_SIZE):
        bits = int(state["fate"][player, card])
        held = bits & (Fate.OPENING | Fate.FROM_STACK | Fate.FROM_CLEARING)
        for half in range(table["halves"][card]):
            code = table["species"][card, half]
            mine = counts[KEYS[code]]
            mine[Figure.GIH if held else Figure.GNS] += 1
            mine[Figure.OH] += bool(bits & Fate.OPENING)
            mine[Figure.GD] += bool(held and not bits & Fate.OPENING)
            if state["place"][card] == Place.FOREST + player and state["face"][card] == half:
                mine[Figure.PLAYED] += 1
                mine[Figure.POINTS] += 1
                mine[Figure.POINTS_PER_CARD] += 1 + (box_species()[code].cost if bits & Fate.PLAYED else 0)
    could = {KEYS[table["species"][card, half]] for card, half in playable[player]}
    for key, mine in counts.items():
        mine[Figure.LEFT], mine[Figure.LEFT_IF_PLAYABLE] = 1, key in could
        mine["left"] = key in could and mine[Figure.PLAYED] == 0
        mine["points"] = points[key]
    return counts


def test_sums_match_a_recount(world):
    setting = make_setting(world, 3, "greedy,random,greedy", seed=5)
    sums = play_sums(setting, 12)
    expected = np.zeros((2, SPECIES, len(Figure), 6), np.int64)
    for game in range(12):
        state, playable = replay(setting, game)
        shares = win_shares_of(state, world.tables[0], 3)
        for group, seats in enumerate([(0, 2), (1,)]):
            totals = np.zeros((SPECIES, len(Figure), 2), np.int64)
            for player in seats:
                for code, mine in enumerate(recount(state, world.tables[0], 3, player, playable).values()):
                    for figure in Figure:
                        y = mine[figure] * shares[player]
                        if figure in (Figure.POINTS, Figure.POINTS_PER_CARD):
                            y = mine["points"]
                        elif figure in (Figure.LEFT, Figure.LEFT_IF_PLAYABLE):
                            y = mine["left"]
                        totals[code, figure] += (mine[figure], y)
            add_ratios(expected[group], totals)
    assert np.array_equal(sums["figure"], expected)
    assert np.array_equal(sums["games"], [12, 12]) and np.array_equal(sums["players"], [24, 12])


def add_ratios(sums, totals):
    x, y = totals[..., 0], totals[..., 1]
    for column, values in {X: x, Y: y, XX: x * x, XY: x * y, YY: y * y, GAMES: x > 0}.items():
        sums[..., column] += np.where(x > 0, values, 0)


def play_sums(setting, games):
    """Return the sums of games 0 .. games-1, shape (groups,), dtype CARD_SUMS."""
    parts = work_of(setting.match(), groups_of(setting))(0, games)
    sums = np.zeros(len(groups_of(setting)), CARD_SUMS)
    for name, values in parts.items():
        sums[name] = values
    return sums


@pytest.mark.parametrize("players", [2, 5])
def test_every_copy_has_one_fate(world, players):
    games = 30
    fate = play_sums(make_setting(world, players, "greedy", seed=1), games)["fate"][0]
    arrivals = fate[:, CopyFate.BOX : CopyFate.STRAIGHT + 1].sum(axis=1)
    assert np.array_equal(arrivals, [species.copies * players * games for species in box_species()])
    came = fate[:, CopyFate.OPENING : CopyFate.STRAIGHT + 1].sum(axis=1)
    assert np.array_equal(came, fate[:, CopyFate.PAID_FOR :].sum(axis=1))
    assert (fate[:, CopyFate.BOX].sum() > 0) == (players < 5)
    whole = fate[[species.slot <= 2 for species in box_species()]]
    assert whole[:, CopyFate.OTHER_HALF].sum() == 0 < fate[:, CopyFate.OTHER_HALF].sum()


def test_hands_and_turns_add_up(world):
    sums = play_sums(make_setting(world, 2, "greedy", seed=2), 50)[0]
    figure, turn = sums["figure"], sums["turn"]
    for column in (X, Y):
        assert np.array_equal(
            figure[:, Figure.OH, column] + figure[:, Figure.GD, column], figure[:, Figure.GIH, column]
        )
        assert np.array_equal(turn[:SPECIES, :, column].sum(axis=1), figure[:, Figure.GIH, column])
    copies = [species.copies for species in box_species()]
    assert np.array_equal(figure[:, Figure.GIH, X] + figure[:, Figure.GNS, X], np.array(copies) * 2 * 50)
    assert figure[:, Figure.OH, X].sum() >= OPENING_HAND * 2 * 50 > turn[SPECIES, 0, X] * 0.5
    products = sums["in_hand"]
    assert np.array_equal(products[:, 0, 0], figure[:, Figure.GIH, XX])
    assert np.array_equal(products[:, 2, 3], figure[:, Figure.GNS, XY])
    assert np.array_equal(products, products.transpose(0, 2, 1))
    assert sums["base"][Y] == 50 * SHARES and sums["base"][X] == 100


def test_turn_bins():
    assert [turn_bin(turn) for turn in TURN_STARTS] == list(range(BINS))
    assert [turn_bin(turn - 1) for turn in TURN_STARTS[1:]] == list(range(BINS - 1))
    assert turn_bin(255) == BINS - 1


def test_pairs_count_one_forest_a_game(world):
    sums = play_sums(make_setting(world, 4, "greedy", seed=3), 25)[0]
    pair, forest = sums["pair"], sums["forest"]
    assert forest[0] == 25
    assert np.all(pair[..., 0] <= 25) and np.all(np.tril(pair[..., 0], -1) == 0)
    assert all(pair[a, b, 0] <= min(pair[a, a, 0], pair[b, b, 0]) for a in range(SPECIES) for b in range(a, SPECIES))


# Estimates


def test_ratio_difference_is_that_of_the_games_residuals():
    rng = np.random.default_rng(7)
    x = rng.integers(0, 5, (400, 2))
    y = x * rng.integers(0, 61, (400, 1)) // 2
    sums = [ratio_sums(x[:, k], y[:, k]) for k in range(2)]
    columns = np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]])
    result = card_estimates.ratio_difference(*sums, columns @ columns.T, scale=1)
    a, b = (y[:, k].sum() / x[:, k].sum() for k in range(2))
    residuals = (y[:, 0] - a * x[:, 0]) / x[:, 0].sum() - (y[:, 1] - b * x[:, 1]) / x[:, 1].sum()
    n = min((x[:, k] > 0).sum() for k in range(2))
    assert result["value"] == pytest.approx(a - b)
    assert result["se"] == pytest.approx(math.sqrt((residuals**2).sum() * n / (n - 1)))
    assert result["ci"][0] < result["value"] < result["ci"][1] and result["n"] == n


def test_standardised_difference_is_that_of_the_games_residuals():
    rng = np.random.default_rng(8)
    x, y = rng.integers(0, 3, (300, 4)), None
    y = x * rng.integers(0, 2, (300, 1)) * SHARES
    base = np.stack([ratio_sums(x[:, k] + 3, y[:, k] + 70) for k in range(4)])
    bins = np.stack([ratio_sums(x[:, k], y[:, k]) for k in range(4)])
    interleaved = np.stack([part for k in range(4) for part in (x[:, k], y[:, k])])
    result = card_estimates.standardised_difference(bins, base, interleaved @ interleaved.T, 300)
    r = base[:, Y] / base[:, X]
    value = ((y - r * x).sum()) / x.sum()
    residuals = ((y - (r + value) * x).sum(axis=1)) / x.sum()
    assert result["value"] == pytest.approx(value / SHARES)
    assert result["se"] == pytest.approx(math.sqrt((residuals**2).sum() * 300 / 299) / SHARES)


def ratio_sums(x, y):
    return [int(part.sum()) for part in (x, y, x * x, x * y, y * y, x > 0)]


def test_share_ratio_of_single_observations_is_the_share_estimate():
    shares = np.array([0, 60, 60, 30, 0, 60, 0, 20] * 9)
    ones = np.ones_like(shares)
    mine = card_estimates.share_ratio(ratio_sums(ones, shares))
    theirs = share_estimate(int(shares.sum()), int((shares**2).sum()), len(shares), SHARES)
    assert mine["ci"] == pytest.approx(theirs["ci"]) and mine["value"] == pytest.approx(theirs["value"])


def test_share_ratio_claims_no_certainty_from_few_games():
    result = card_estimates.share_ratio(ratio_sums(np.array([1, 2, 1]), np.array([60, 120, 60])))
    assert result["value"] == 1 and result["ci"][1] == 1 and result["ci"][0] < 0.6


def test_share_ratio_covers_with_clusters():
    """Copies of a game share its result: intervals that ignored this would cover far less than 95 in 100."""
    rng = np.random.default_rng(9)
    covered = 0
    for _ in range(400):
        x = rng.integers(0, 7, 150)
        y = x * SHARES * (rng.random(150) < 0.4)
        low, high = card_estimates.share_ratio(ratio_sums(x, y))["ci"]
        covered += low <= 0.4 <= high
    assert 0.92 * 400 <= covered <= 0.98 * 400


def test_pair_lift_covers_and_finds():
    rng = np.random.default_rng(10)
    covered = found = 0
    for _ in range(200):
        a, b = rng.random(2000) < 0.5, rng.random(2000) < 0.3
        won = rng.random(2000) < 0.3 + 0.1 * a + 0.1 * b + 0.2 * (a & b)
        cells = [[int(n.sum()), int((n & won).sum()), int((n & won).sum())] for n in (a & b, a, b, a | ~a)]
        low, high = card_estimates.pair_lift(*cells, scale=1)["ci"]
        covered += low <= 0.2 <= high
        found += low > 0
    assert 0.9 * 200 <= covered <= 0.99 * 200 and found > 180


def test_false_discovery_judges_only_what_can_be_judged():
    some = [estimate(200, 900, 100), estimate(1, 900, 100), estimate(3, 9, 3), card_estimates.NOTHING]
    q = card_estimates.false_discovery(some)
    assert q[0] < 0.001 < 0.5 < q[1] and q[2] is None and q[3] is None


# The causal part against known truths


def causal_sums(setting, games, seats=None):
    run = CausalRun(setting.match(), seats or range(setting.players))
    return run.work(0, games), run


@pytest.mark.parametrize("name", ["random", "plain"])
def test_points_off_costs_who_ignores_points_exactly_the_points(world, name):
    """With every species: the games stay the same, and the score falls by what the species made."""
    sums, _ = causal_sums(make_setting(world, 2, name, seed=4), 12)
    off = Change.POINTS_OFF
    assert np.array_equal(-sums["score"][:, off], sums["points"])
    assert (sums["points"] > 0).sum() > SPECIES / 2
    assert np.array_equal(sums["different"][:, off] > 0, sums["points"] > 0)
    assert np.all(sums["share"][:, off] <= 0)


def test_the_game_as_it_is_is_that_of_the_engine(world):
    setting = make_setting(world, 2, "greedy", seed=6)
    sums, _ = causal_sums(setting, 8)
    totals, outcomes = play_chunk(setting.match(), 0, 8, keep_outcomes=True)
    assert totals["games"][0] == 8
    points = sum(outcomes["points"][game, game % 2] for game in range(8))  # the seats take turns
    assert np.array_equal(sums["points"], points)


def test_nothing_to_lose_is_not_played(world):
    sums, run = causal_sums(make_setting(world, 2, "plain", seed=4), 2)
    matters = what_matters(world.tables)
    assert not matters[KEYS.index("cuckoo"), Change.EFFECT_OFF]
    assert not matters[KEYS.index("elderberry"), Change.POINTS_OFF]
    assert matters[KEYS.index("blanket_bog"), Change.EFFECT_OFF]
    assert matters[:, Change.OPENING_COPY].all()
    assert np.array_equal(sums["games"][:, :2] > 0, matters[:, :2] > 0)


def test_changed_tables_change_one_species_only(world):
    rows = changed_tables(world.tables)
    assert rows[0] == world.tables[0]
    bat, other = KEYS.index("brandts_bat"), KEYS.index("otter")
    points, effect = rows[changed_row(bat, Change.POINTS_OFF)], rows[changed_row(bat, Change.EFFECT_OFF)]
    assert not points["score_op"][bat].any() and points["effect_op"][bat]
    assert not effect["effect_op"][bat] and effect["score_op"][bat].any()
    for name in world.tables.dtype.names:
        if world.tables[0][name].shape[:1] == (SPECIES + 1,):
            assert np.array_equal(points[name][other], world.tables[0][name][other])
        else:
            assert np.array_equal(points[name], world.tables[0][name])


@pytest.mark.parametrize("players", [2, 3, 5])
def test_opening_copy_swaps_two_cards_and_nothing_else(world, players):
    table, before, after = world.tables[0], new_games(), new_games()
    made = boxed = 0
    for game in range(60):
        species, focal = game, game % players
        setup(before, table, players, 3, game, int(CaveMode.RANDOM), NO_CAVES)
        if not setup_with_copy(after, table, players, 3, game, int(CaveMode.RANDOM), NO_CAVES, focal, species):
            continue
        made += 1
        old, new = before[0], after[0]
        came = set(new["hand"][focal, :OPENING_HAND]) - set(old["hand"][focal, :OPENING_HAND])
        left = set(old["hand"][focal, :OPENING_HAND]) - set(new["hand"][focal, :OPENING_HAND])
        assert len(came) == len(left) == 1
        copy, card = came.pop(), left.pop()
        assert species in table["species"][copy, : table["halves"][copy]]
        assert species not in table["species"][card, : table["halves"][card]]
        moved = np.flatnonzero(old["stack"] != new["stack"])
        boxed += len(moved) == 1
        expected = old["stack"].copy()
        for place in moved:
            expected[place] = copy if expected[place] == card else card
        assert np.array_equal(new["stack"], expected)
        others = [player for player in range(players) if player != focal]
        assert np.array_equal(old["hand"][others], new["hand"][others])
        for name in ("first", "cave", "rng", "stack_n", "turn"):
            assert np.array_equal(old[name], new[name])
    assert made > 50 and (boxed > 0) == (players < 5)


def test_causal_sums_do_not_depend_on_chunks(world):
    run = CausalRun(make_setting(world, 3, "greedy,random,random", seed=2).match(), [0])
    whole, parts = run.work(0, 4), [run.work(0, 1), run.work(1, 3)]
    for name in CAUSAL_SUMS.names:
        assert np.array_equal(whole[name], parts[0][name] + parts[1][name])


# The experiment


def test_result_has_every_species_and_the_documented_keys(small):
    rows = small.document["species"]
    assert [(row["policy"], row["species"]) for row in rows] == [(p, key) for p in ("greedy", "random") for key in KEYS]
    for row in rows:
        for name in (
            "oh",
            "gd",
            "gih",
            "gns",
            "iih",
            "played",
            "points_when_played",
            "points_per_card",
            "playable_left",
        ):
            assert set(row[name]) == {"value", "se", "ci", "n"}, name
        for change in ("points_off", "effect_off", "opening_copy"):
            assert set(row["causal"][change]) == {"value", "se", "ci", "n"}
    assert small.document["causal_deals"] == 3
    assert len(small.document["pairs"]) <= 2 * TOP_PAIRS
    json.dumps(small.document)
    assert list(small.frames)[0] == "summary" and len(small.frames["summary"]) == 2 * SPECIES
    assert set(small.frames["causal"]["change"]) == {"points_off", "effect_off", "opening_copy"}


def test_result_does_not_depend_on_threads(world, small):
    setting = make_setting(world, 3, "greedy,random,greedy", seed=5)
    again = card_values(setting, make_plan(40), 3, threads=1)
    assert again.document == small.document


def test_values_of_a_share_add_up_to_the_base(small):
    for group in small.document["policies"]:
        assert group["seats"] == {"greedy": [0, 2], "random": [1]}[group["policy"]]
    greedy, random = (group["win_share"]["value"] for group in small.document["policies"])
    assert 2 * greedy + random == pytest.approx(1)


def test_pairs_of_a_larger_run_are_ordered_by_their_lower_ends(world):
    result = card_values(make_setting(world, 2, "greedy", seed=1), make_plan(3000), 0, threads=2)
    lows = [pair["lift"]["ci"][0] for pair in result.document["pairs"]]
    assert len(lows) == TOP_PAIRS and lows == sorted(lows, reverse=True)
    assert all(pair["lift"]["n"] >= card_estimates.LEAST_FORESTS for pair in result.document["pairs"])
    assert all(row["causal"] is None for row in result.document["species"])
    assert "causal" not in result.frames


def test_ctrl_c_keeps_the_games_that_are_done(world):
    def interrupt(count):
        raise KeyboardInterrupt

    setting = make_setting(world, 2, "greedy", seed=1)
    result = card_values(setting, make_plan(5000), 5, 1, on_games=interrupt)
    assert result.stop.reason == "interrupted" and result.document["deals"] == result.stop.games < 5000
    assert result.document["causal_deals"] == 0
    result = card_values(setting, make_plan(50), 50, 1, on_causal=interrupt)
    assert result.stop.reason == "interrupted" and result.document["deals"] == 50
    assert 0 < result.document["causal_deals"] < 50


@policy
def out_of_range(state, tables, actions, n, weights):
    """Choose what does not exist."""
    return n


def test_a_policy_that_misbehaves_is_named(world):
    setting = make_setting(world, 2, "random", seed=1)
    bad = replace(setting, seats=[replace(setting.seats[0], name="bad", function=out_of_range), setting.seats[1]])
    with pytest.raises(DartmoorError, match="policy bad: chose an action that does not exist"):
        card_values(bad, make_plan(10), 0, 1)
    with pytest.raises(DartmoorError, match="policy bad"):
        CausalRun(bad.match(), [0]).work(0, 1)


# The command


@pytest.fixture(scope="module")
def app():
    found = typer.Typer()
    found.callback()(lambda: None)
    command.register(found)
    return found


def test_command_writes_tables_pictures_and_json(app, tmp_path):
    options = [
        "cards",
        "--games",
        "30",
        "--causal-games",
        "1",
        "--seed",
        "2",
        "--out",
        str(tmp_path),
        "--plot",
        "--json",
    ]
    run = CliRunner().invoke(app, options, catch_exceptions=False)
    assert run.exit_code == 0, run.output
    document = json.loads(run.stdout)
    assert document["deals"] == 30 and len(document["species"]) == SPECIES
    assert {"summary.csv", "turns.csv", "fates.csv", "causal.csv", "manifest.json", "values_greedy.svg"} <= {
        path.name for path in tmp_path.iterdir()
    }
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["options"]["command"] == "cards" and manifest["options"]["causal_games"] == 1


def test_command_prints_all_species(app):
    run = CliRunner().invoke(
        app, ["cards", "--games", "20", "--no-causal"], env={"COLUMNS": "200"}, catch_exceptions=False
    )
    assert run.exit_code == 0
    assert all(key in run.stdout for key in KEYS)


@pytest.mark.parametrize(
    "options, message",
    [
        (["--games", "0"], "--games: 0, expected 1"),
        (["--causal-games", "0"], "--causal-games: 0, expected 1"),
        (["--plot"], "--plot: needs --out"),
        (["--policies", "nobody"], "'nobody' unknown"),
    ],
)
def test_command_refuses_in_one_line(app, options, message):
    with pytest.raises(DartmoorError, match=message):
        CliRunner().invoke(app, ["cards", *options], catch_exceptions=False)


def test_command_help_has_an_example(app):
    run = CliRunner().invoke(app, ["cards", "--help"])
    assert "Example: dartmoor cards" in " ".join(run.stdout.split())


@pytest.mark.parametrize("columns", [80, 140])
def test_tables_cut_nothing(app, columns):
    words = ["cards", "--games", "200", "--causal-games", "2"]
    run = CliRunner().invoke(app, words, env={"COLUMNS": str(columns)}, catch_exceptions=False)
    lines = run.stdout.splitlines()
    assert max(map(len, lines)) <= columns and "…" not in run.stdout
    starts = [line.split()[0] for line in lines if line.strip() and not line.startswith(" ")]
    assert all(starts.count(key) >= 2 for key in KEYS)  # a row each of the values and of the causal values
    assert ("came" in run.stdout) == (columns == 140)
    assert "COLUMNS=140" in run.stdout or columns == 140


def test_short_intervals_reach_the_farther_end():
    estimate = {"value": 0.9, "ci": [0.7, 0.95]}
    assert short_interval(estimate, 1, 100) == "90.0±20.0"
    assert short_interval({"value": 2.5, "ci": None}) == "2.5" and short_interval({"value": None, "ci": None}) == "-"
