"""Which cave to take, by what the opening hand shows: a linear rule, learned by `dartmoor caves --rule-out FILE`.

A rule is a float64 vector, so that it can be a policy's weights: for each number of players from 2 on and each cave, by
its place in the caves file, `RULE_WIDTH` entries: the worth of the cave with a hand that shows nothing, then what each
hand card adds that shows a type, by CardType. Worth is win share above the mean of all caves; an unknown cave counts 0.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numba import njit

from policies.greedy import greedy
from sim.actions import card_of
from sim.codes import CardType, Phase
from sim.errors import DartmoorError
from sim.policy import policy
from sim.rules import MAX_CAVES, MAX_PLAYERS, MIN_PLAYERS, TYPES

RULE_FILE = Path(__file__).parent / "data" / "cave_rule.csv"
RULE_WIDTH = 1 + TYPES
RULE_SIZE = (MAX_PLAYERS - MIN_PLAYERS + 1) * MAX_CAVES * RULE_WIDTH
RULE_COLUMNS = ("players", "cave", "base", *(kind.name.lower() for kind in CardType))


@njit(cache=True, nogil=True)
def count_hand_types(state, tables, player, counts):
    """Write into `counts` (int64, (TYPES,)) how many hand cards of a player show each type, on either half."""
    counts[:] = 0
    for i in range(state.hand_n[player]):
        types = tables.card_types[state.hand[player, i]]
        for kind in range(TYPES):
            counts[kind] += types >> kind & 1


@njit(cache=True, nogil=True)
def cave_worth(players, cave, counts, rule):
    """Return what a rule makes of the cave with an index in the tables, for a hand with these type counts."""
    start = ((players - MIN_PLAYERS) * MAX_CAVES + cave) * RULE_WIDTH
    worth = rule[start]
    for kind in range(TYPES):
        worth += rule[start + 1 + kind] * counts[kind]
    return worth


@njit(cache=True, nogil=True)
def best_cave(state, tables, player, caves, n, rule):
    """Return the place of the best of the first `n` cave indices for a player; ties go to the first."""
    counts = np.empty(TYPES, np.int64)
    count_hand_types(state, tables, player, counts)
    best, best_worth = 0, 0.0
    for i in range(n):
        worth = cave_worth(state.players, caves[i], counts, rule)
        if i == 0 or worth > best_worth:
            best, best_worth = i, worth
    return best


@njit(cache=True, nogil=True)
def choose_cave_by_rule(state, tables, actions, n, rule):
    """Answer a CAVE decision: for policies, with a rule (float64, (RULE_SIZE,)) from their weights."""
    caves = np.empty(n, np.uint8)
    for i in range(n):
        caves[i] = card_of(actions[i])
    return best_cave(state, tables, state.player, caves, n, rule)


@policy
def greedy_drafter(state, tables, actions, n, weights):
    """The greedy player, but for its cave, which it takes by the rule that is its weights."""
    if state.phase == Phase.CAVE:
        return choose_cave_by_rule(state, tables, actions, n, weights)
    return greedy(state, tables, actions, n, weights)


def rule_vector(rows: Sequence[Mapping[str, object]]) -> np.ndarray:
    """Return the rule, shape (RULE_SIZE,), float64, of rows with the columns `RULE_COLUMNS`; the rest of it is zero.

    `cave` is the cave's place in the caves file, from 1: for those of the box its number.
    """
    rule = np.zeros((MAX_PLAYERS - MIN_PLAYERS + 1, MAX_CAVES, RULE_WIDTH))
    for row in rows:
        place = int(str(row["players"])) - MIN_PLAYERS, int(str(row["cave"])) - 1
        rule[place] = [float(str(row[column])) for column in RULE_COLUMNS[2:]]
    return rule.ravel()


def read_rule(path: Path = RULE_FILE) -> np.ndarray:
    """Return the rule of a file, shape (RULE_SIZE,), float64.

    Raises
    ------
    DartmoorError
        The file cannot be read, or a row is not one of a rule.
    """
    return rule_vector(read_rule_file(path)[1])


def read_rule_file(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Return the comment lines of a rule file, which say how it was made, and its checked rows."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DartmoorError(f"{path}: cannot be read: {error}") from error
    comments = [line for line in lines if line.startswith("#")]
    content = [(i + 1, line) for i, line in enumerate(lines) if line and not line.startswith("#")]
    rows = list(csv.reader(line for _, line in content))
    if not rows or tuple(rows[0]) != RULE_COLUMNS:
        raise DartmoorError(f"{path}: columns are not {','.join(RULE_COLUMNS)}")
    for (line, _), cells in zip(content[1:], rows[1:], strict=True):
        _check_row(f"{path} line {line}", cells)
    return comments, [dict(zip(RULE_COLUMNS, cells, strict=True)) for cells in rows[1:]]


def _check_row(where: str, cells: Sequence[str]) -> None:
    if len(cells) != len(RULE_COLUMNS):
        raise DartmoorError(f"{where}: {len(cells)} cells, expected {len(RULE_COLUMNS)}")
    for place, (low, high) in enumerate(((MIN_PLAYERS, MAX_PLAYERS), (1, MAX_CAVES))):
        if not cells[place].isdecimal() or not low <= int(cells[place]) <= high:
            raise DartmoorError(f"{where}, column {RULE_COLUMNS[place]}: {cells[place]!r}, expected {low} to {high}")
    for column, cell in zip(RULE_COLUMNS[2:], cells[2:], strict=True):
        try:
            finite = np.isfinite(float(cell))
        except ValueError:
            finite = False
        if not finite:
            raise DartmoorError(f"{where}, column {column}: {cell!r} is not a number")
