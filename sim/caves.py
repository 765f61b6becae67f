"""Caves: the five of the box, or a designer's, from a CSV file."""

from dataclasses import dataclass
from pathlib import Path

from sim.data_files import DATA, Row, read_rows
from sim.errors import DartmoorError
from sim.grammar import CaveEffect, parse_cave
from sim.rules import CAVE_STEPS, MAX_CAVES

COLUMNS = ("cave", "when", "effect", "status", "note")
MAX_CAVE_NUMBER = 255


@dataclass(frozen=True)
class Cave:
    """One cave: its number, its effect in words and in codes, and how sure we are of it."""

    number: int
    when: str
    effect: str
    status: str
    note: str
    codes: CaveEffect


def read_caves(path: Path | str | None = None) -> list[Cave]:
    """Return the caves of a CSV file with columns cave, when, effect, status, note; by default those of the box.

    Raises
    ------
    DartmoorError
        A number outside 1..255 or twice, an unknown effect, `when` at odds with the effect, too many caves or steps.
    """
    path = Path(path) if path else DATA / "caves.csv"
    rows = read_rows(path, COLUMNS)
    if not 1 <= len(rows) <= MAX_CAVES:
        raise DartmoorError(f"{path.name}: {len(rows)} caves, expected 1 to {MAX_CAVES}")
    caves: dict[int, Cave] = {}
    lines: dict[int, int] = {}
    for row in rows:
        cave = _read_cave(row)
        if cave.number in caves:
            raise row.error("cave", f"cave {cave.number} stands in line {lines[cave.number]} already")
        caves[cave.number], lines[cave.number] = cave, row.line
    return [caves[number] for number in sorted(caves)]  # a draft lists its answers by number


def _read_cave(row: Row) -> Cave:
    number = row.number("cave", 1, MAX_CAVE_NUMBER)
    when = row.choice("when", ("opening", "end", "both"))
    with row.blame("effect"):
        codes = parse_cave(row["effect"])
        if len(codes.steps) > CAVE_STEPS:
            raise DartmoorError(f"{len(codes.steps)} opening steps, at most {CAVE_STEPS}")
    if when != codes.when:
        raise row.error("when", f"{when!r} does not fit the effect {row['effect']!r}, expected {codes.when!r}")
    return Cave(number, when, row["effect"], row["status"], row["note"], codes)
