"""Reading of CSV files, with errors that name file, line and column."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sim.errors import DartmoorError

DATA = Path(__file__).parent / "data"
MAX_DIGITS = 100  # Python refuses to convert texts of some thousand digits


@dataclass(frozen=True)
class Row:
    """One row of a CSV file: its file, its line number (the header is line 1) and its cells by column."""

    file: str
    line: int
    cells: dict[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells[column]

    def error(self, column: str, message: str) -> DartmoorError:
        """Return an error about the cell in `column`."""
        return DartmoorError(f"{self.file} line {self.line}, column {column}: {message}")

    @contextmanager
    def blame(self, column: str) -> Iterator[None]:
        """Put file, line and column in front of any DartmoorError raised inside."""
        try:
            yield
        except DartmoorError as error:
            raise self.error(column, str(error)) from None

    def choice(self, column: str, choices: Iterable[str]) -> str:
        """Return the cell if it is one of `choices`."""
        with self.blame(column):
            return pick(self[column], choices)

    def number(self, column: str, least: int, most: int) -> int:
        """Return the cell as a whole number from `least` to `most`."""
        with self.blame(column):
            return whole_number(self[column], least, most)


def pick(text: str, choices: Iterable[str]) -> str:
    """Return `text` if it is one of `choices`; otherwise raise a DartmoorError that lists them."""
    choices = list(choices)
    if text not in choices:
        expected = ", ".join(choice or "blank" for choice in choices)
        raise DartmoorError(f"{text!r} unknown, expected {'one of ' if len(choices) > 1 else ''}{expected}")
    return text


def whole_number(text: str, least: int, most: int) -> int:
    """Return `text` as a whole number from `least` to `most`; otherwise raise a DartmoorError."""
    is_number = text.isascii() and text.isdigit() and len(text) < MAX_DIGITS
    if not is_number or not least <= int(text) <= most:
        raise DartmoorError(f"{text!r} is not a whole number from {least} to {most}")
    return int(text)


def read_rows(path: Path, columns: Sequence[str]) -> list[Row]:
    """Return the rows of a CSV file with a header of exactly `columns`, in this order; cells are stripped.

    Raises
    ------
    DartmoorError
        The file cannot be read as UTF-8 CSV, its header differs, or a row has too few or too many cells.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            lines = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader if any(cells)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DartmoorError(f"cannot read {path}: {reason}") from None
    if not lines or lines[0][1] != list(columns):
        found = ",".join(lines[0][1]) if lines else ""
        raise DartmoorError(f"{path.name} line 1: columns are {found!r}, expected {','.join(columns)!r}")
    for line, cells in lines[1:]:
        if len(cells) != len(columns):
            raise DartmoorError(f"{path.name} line {line}: {len(cells)} cells, expected {len(columns)}")
    return [Row(path.name, line, dict(zip(columns, cells, strict=True))) for line, cells in lines[1:]]


def check_distinct(rows: Sequence[Row], column: str) -> None:
    """Raise a DartmoorError at the second row with the same cell in `column`."""
    lines: dict[str, int] = {}
    for row in rows:
        if row[column] in lines:
            raise row.error(column, f"{row[column]!r} stands in line {lines[row[column]]} already")
        lines[row[column]] = row.line
