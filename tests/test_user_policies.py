"""A user's own policy file: the documented template works, and every mistake is one clear line."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from policies.registry import load_policy, load_seats
from sim.errors import DartmoorError

PROJECT = Path(__file__).parent.parent
HEAD = "def policy(state, tables, actions, n, weights):\n"
SEED = 5


def load(tmp_path: Path, text: str, name: str = "policy"):
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    return load_policy(f"{path}:{name}")


def play(tables: np.ndarray, loaded, games: int = 20):
    from sim.batch import Match, play_chunk

    random = load_policy("random")
    match = Match(
        tables, 2, [random.function, loaded.function], [random.weights] * 2, SEED, names=["random", loaded.name]
    )
    return play_chunk(match, 0, games)[0]


def template() -> str:
    found = re.search(r"```python\n(.*?)```", (PROJECT / "docs" / "policies.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


def test_the_template_is_short_and_plays_well(tables, tmp_path):
    from policies.check import check_policy

    assert len(template().splitlines()) <= 25
    loaded = load(tmp_path, template())
    assert play(tables, loaded, 100)["share"][0, 1] / 60 / 100 > 0.9
    assert check_policy(loaded, tables, 2, 300, SEED).passed


def test_a_seat_takes_a_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(HEAD + "    return 0\n", encoding="utf-8")
    assert [one.name for one in load_seats(f"greedy,{path}:policy", 2)] == ["greedy", f"{path}:policy"]


def test_a_decorated_policy_is_compiled_once(tmp_path):
    text = "from policies.helpers import policy as compiled\n@compiled\n" + HEAD + "    return n - 1\n"
    assert load(tmp_path, text).function is sys.modules["dartmoor_user_mine"].policy


def test_the_engines_decorator_is_compiled_again_with_checked_indices(tmp_path):
    text = "from sim.policy import policy as compiled\n@compiled\n" + HEAD + "    return n - 1\n"
    assert load(tmp_path, text).function.targetoptions["boundscheck"]


def test_a_file_may_use_modules_beside_it(tables, tmp_path):
    (tmp_path / "beside_it.py").write_text("CHOICE = 0\n", encoding="utf-8")
    loaded = load(tmp_path, "from beside_it import CHOICE\n" + HEAD + "    return CHOICE\n")
    assert play(tables, loaded)["games"][0] == 20


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def policy(state:\n", "cannot be imported: SyntaxError"),
        ("import no_such_module\n", "cannot be imported: ModuleNotFoundError"),
        ("raise RuntimeError('two\\nlines')\n", "cannot be imported: RuntimeError: two lines"),
        ("import sys\nsys.exit(3)\n", "cannot be imported: SystemExit"),
        ("def other(state, tables, actions, n, weights):\n    return 0\n", "no 'policy' in it, functions there: other"),
        ("policy = 3\n", "policy is no function but int"),
        (
            "def policy(state, n):\n    return 0\n",
            r"policy\(state, n\) has the wrong parameters, expected \(state, tab",
        ),
        ("def policy(state, tables, actions, n, weights, more):\n    return 0\n", "wrong parameters"),
        (HEAD + "    return unknown(n)\n", "does not compile: .*name 'unknown' is not defined"),
        (HEAD + "    return state.hands[0]\n", "does not compile: .*no field 'hands'"),
        (HEAD + "    return 0.5\n", "does not compile: .*returns float64, expected an index"),
        (HEAD + "    return 'first'\n", "does not compile: "),
        (HEAD + "    pass\n", "does not compile: .*returns none, expected an index"),
        (HEAD + "    if n > 2:\n        return 1\n", "does not compile: .*expected an index"),
        ("from policies.helpers import policy as p\n@p\n" + HEAD + "    return state.x\n", "cannot be imported: "),
    ],
)
def test_a_file_that_cannot_play_is_refused_in_one_line(tmp_path, text, message):
    with pytest.raises(DartmoorError, match=message) as error:
        load(tmp_path, text)
    assert "\n" not in str(error.value) and str(tmp_path / "mine.py") in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DartmoorError, match="none.py: no such file"):
        load_policy(f"{tmp_path / 'none.py'}:policy")


FAULTS = [
    ("    return n\n", "chose an action that does not exist"),
    ("    return -1\n", "chose an action that does not exist"),
    ("    if state.turn > 8:\n        raise ValueError('my fault')\n    return 0\n", "raised ValueError: my fault"),
    ("    return actions[n + 100000]\n", "raised IndexError"),
    ("    return tables.cost[n + 100000]\n", "raised IndexError"),
    ("    return state.hand[state.player, n + 1000]\n", "raised IndexError"),
    ("    return n // (state.turn - state.turn)\n", "raised ZeroDivisionError"),
    ("    assert n < 3\n    return 0\n", "raised AssertionError"),
]


@pytest.mark.parametrize(("body", "message"), FAULTS)
def test_a_fault_at_play_names_policy_seat_and_game(tables, tmp_path, body, message):
    loaded = load(tmp_path, HEAD + body)
    with pytest.raises(DartmoorError, match=rf"mine.py:policy: {message}.*\(seat 1, game \d+\)") as error:
        play(tables, loaded)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("body", "message"), FAULTS)
def test_the_check_finds_every_fault(tables, tmp_path, body, message):
    from policies.check import check_policy

    report = check_policy(load(tmp_path, HEAD + body), tables, 2, 300, SEED)
    failed = [finding for finding in report.findings if not finding.passed]
    assert [finding.name for finding in failed] == ["legality"]
    assert "chose" in failed[0].detail or message in failed[0].detail


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("    return state.stack[state.stack_top] % n\n", "blindness"),
        ("    return state.hand[(state.player + 1) % state.players, 0] % n\n", "blindness"),
        ("    return state.rng[0, 0] % n\n", "blindness"),
        ("    return np.random.randint(n)\n", "determinism"),
        ("    state.winters = 0\n    state.swaps += 1\n    return 0\n", "reads only"),
    ],
)
def test_the_check_finds_a_cheat(tables, tmp_path, body, name):
    from policies.check import check_policy

    report = check_policy(load(tmp_path, "import numpy as np\n" + HEAD + body), tables, 2, 200, SEED)
    failed = {finding.name: finding.detail for finding in report.findings if not finding.passed}
    assert name in failed, report.findings


@pytest.mark.parametrize("body", ["    return actions[n + 100000]\n", "    return 0.5\n"])
def test_the_command_line_prints_one_line_and_exits_with_2(tmp_path, body):
    path = tmp_path / "mine.py"
    path.write_text(HEAD + body, encoding="utf-8")
    code = "from experiments.cli import main; main()"
    command = [sys.executable, "-c", code, "simulate", "--policies", f"{path}:policy", "--games", "100"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT, env=dict(os.environ), check=False)
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert done.returncode == 2 and done.stdout == "" and len(errors) == 1, done.stderr
    assert "Traceback" not in done.stderr


def test_helpers_say_what_an_action_is(tables, tmp_path):
    """The gain of a HOST action is the change of the score that placing it makes."""
    from policies.check import _Trial, sample_positions
    from policies.helpers import Act, Phase, act_of, clearing, cost_of, hand, points, points_gain, species_of
    from sim.actions import MAX_ACTIONS
    from sim.legal import legal_actions
    from sim.machine import apply

    actions, table, tried = np.zeros(MAX_ACTIONS, np.int32), tables[0], 0
    for games, n in sample_positions(_Trial(load_policy("greedy"), tables), 2, 600, SEED):
        game = games[0]
        player = int(game["player"])
        assert list(hand(game)) == list(game["hand"][player, : game["hand_n"][player]])
        assert list(clearing(game)) == list(game["clearing"][: game["clearing_n"]])
        legal_actions(game, table, actions)
        if game["phase"] != Phase.HOST:
            continue
        assert act_of(actions[n - 1]) == Act.HOST
        species = species_of(game, table, actions[n - 1])
        assert cost_of(game, table, actions[n - 1]) == table["cost"][species]
        gain = points_gain(game, table, actions[n - 1])
        before = points(game, table, player)
        apply(game, table, actions[n - 1])
        assert points(game, table, player) == before + gain
        tried += 1
    assert tried > 10
