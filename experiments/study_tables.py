"""The small tables of the study: what is kept of an experiment's tables, rounded, and how they are read again."""

import csv
import io
import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from experiments.results import Result

Row = dict[str, Any]
Tables = dict[str, list[Row]]

ERROR_DIGITS = 3  # significant digits of a standard error; its estimate gets as many decimals
CHANCE_DIGITS = 4  # significant digits of p- and q-values
CHANCES = ("p_value", "p_holm", "q", "iih_turn_q")
ENDS = ("_se", "_low", "_high")
CARD_ESTIMATES = ("iih", "iih_turn", "played", "points_per_card")
MORE_TURNS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40)  # rows of the chances of at least so many turns more


def keep_columns(frame: pd.DataFrame, plain: tuple[str, ...], estimates: tuple[str, ...]) -> pd.DataFrame:
    """Return the plain columns and the estimates, with all that belongs to them, in this order."""
    spread = [f"{name}{suffix}" for name in estimates for suffix in ("", *ENDS, "_n")]
    return frame[[*plain, *spread]]


def _whole(frame: pd.DataFrame) -> pd.DataFrame:
    return frame


def _all_deals(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["kind"] == "all"].drop(columns=["group", "kind"])


def _card_summary(frame: pd.DataFrame) -> pd.DataFrame:
    return keep_columns(frame, ("species", "copies", "iih_turn_q"), CARD_ESTIMATES)


def _card_causal(frame: pd.DataFrame) -> pd.DataFrame:
    return keep_columns(frame, ("species", "change", "q"), ("win_share",))


def _more_turns(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["turns"].isin(MORE_TURNS)]


def _win_shares(frame: pd.DataFrame) -> pd.DataFrame:
    return keep_columns(frame, ("row", "column", "p_holm"), ("win_share",))


# What is kept of each kind of part, by table; a table that an experiment did not make is left out.
KEPT: dict[str, dict[str, Callable[[pd.DataFrame], pd.DataFrame]]] = {
    "seats": {"seats": _whole},
    "caves": {"summary": _whole, "pairs": _all_deals, "unless": _whole, "tests": _whole, "draft": _whole},
    "cards": {"summary": _card_summary, "causal": _card_causal},
    "winter": {
        "summary": _whole,
        "stack_share": _whole,
        "length": _whole,
        "more_turns": _more_turns,
        "endings": _whole,
        "pace": _whole,
    },
    "matrix": {"summary": _win_shares},
}


def kept_frames(kind: str, result: Result) -> dict[str, pd.DataFrame]:
    """Return the kept tables of a result, rounded."""
    return {name: rounded(cut(result.frames[name])) for name, cut in KEPT[kind].items() if name in result.frames}


def rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a tidy frame with every estimate rounded by its standard error, and p- and q-values to a few digits."""
    frame = frame.copy()
    for name in [column for column in frame.columns if f"{column}_se" in frame.columns]:
        decimals = [_decimals(error) for error in frame[f"{name}_se"]]
        for column in (name, *(f"{name}{end}" for end in ENDS)):
            frame[column] = [
                None if pd.isna(value) else round(float(value), places)
                for value, places in zip(frame[column], decimals, strict=True)
            ]
    for name in [column for column in CHANCES if column in frame.columns]:
        frame[name] = [None if pd.isna(value) else float(f"{value:.{CHANCE_DIGITS}g}") for value in frame[name]]
    return frame


def _decimals(error: float | None) -> int:
    """Return the decimals to which a number with a standard error is worth printing."""
    if error is None or not error > 0 or math.isinf(error):
        return ERROR_DIGITS + 1
    return max(0, ERROR_DIGITS - 1 - math.floor(math.log10(error)))


def csv_text(frame: pd.DataFrame) -> str:
    """Return a frame as CSV, as `experiments.results.write_results` writes it."""
    return frame.to_csv(index=False, lineterminator="\n")


def rows_of(text: str) -> list[Row]:
    """Return the rows of a tidy CSV, with each estimate folded into `{value, se, ci, n}` again."""
    return [folded({name: cell(value) for name, value in row.items()}) for row in csv.DictReader(io.StringIO(text))]


def cell(text: str) -> Any:
    """Return a cell of a CSV as a number if it is one, and None for an empty one."""
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def folded(row: Mapping[str, Any]) -> Row:
    """Return a row with the columns of each estimate put together: the reverse of `experiments.results.columns`."""
    names = [name for name in row if f"{name}_se" in row]
    parts = {f"{name}{suffix}" for name in names for suffix in (*ENDS, "_n")}
    return {name: _estimate(row, name) if name in names else value for name, value in row.items() if name not in parts}


def _estimate(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    low, high, n = row[f"{name}_low"], row[f"{name}_high"], row[f"{name}_n"]
    ends = None if low is None or high is None else [low, high]
    return {"value": row[name], "se": row[f"{name}_se"], "ci": ends, "n": int(n or 0)}
