"""The headlines of a study: a few questions that are put again to another policy, another deck, another reading.

The questions come from the main part of the study: the first seat's win share, the turn of the last winter, the best
cave against each other one, and the cards that help most. `compare` tells where another world answers differently.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.estimates import LEVEL, holm, normal_quantile, p_value
from experiments.study_tables import Row, Tables
from sim.deck import REFERENCE
from sim.rules import WINTERS

SURE = 0.05  # adjusted p- or q-value below which something is claimed
ASKED_CARDS = 5
BEGINNER = "first_player="  # the ruling that lets another seat begin than the first
FIRST_SEAT, LAST_WINTER, CAVE, CARD = "first seat", f"winter {WINTERS}", "cave", "card"


@dataclass(frozen=True)
class View:
    """A table size, who plays there, and what is assumed otherwise than by default."""

    players: int
    policy: str
    deck: str = REFERENCE
    ruling: str = ""
    icon: str = ""

    @property
    def world(self) -> str:
        """What is assumed, in words; empty for the defaults."""
        deck = "" if self.deck == REFERENCE else f"deck {self.deck}"
        ruling, icon = f"ruling {self.ruling}" if self.ruling else "", f"icon {self.icon}" if self.icon else ""
        return ", ".join(part for part in (deck, ruling, icon) if part)


@dataclass(frozen=True)
class Questions:
    """What is asked again: the best cave against each other one, and the species whose help was shown."""

    cave: int
    species: tuple[str, ...]


def ask(caves: Tables, cards: Tables) -> Questions:
    """Return the questions that the caves' and the cards' tables of the main part raise."""
    best = max(caves["summary"], key=lambda row: row["win_share"]["value"])
    return Questions(best["cave"], tuple(row["species"] for row in helping(cards["summary"])[:ASKED_CARDS]))


def helping(cards: Sequence[Row]) -> list[Row]:
    """Return the species whose owners are shown to win more, the surest help first."""
    shown = [row for row in cards if _shown(row) and row["iih_turn"]["value"] > 0]
    return sorted(shown, key=lambda row: -row["iih_turn"]["ci"][0])


def hindering(cards: Sequence[Row]) -> list[Row]:
    """Return the species whose owners are shown to win less, the surest first."""
    shown = [row for row in cards if _shown(row) and row["iih_turn"]["value"] < 0]
    return sorted(shown, key=lambda row: row["iih_turn"]["ci"][1])


def _shown(row: Row) -> bool:
    return row["iih_turn_q"] is not None and row["iih_turn_q"] < SURE


def answers(view: View, tables: Mapping[str, Tables], questions: Questions) -> list[Row]:
    """Return a row for each question: players, policy, world, question, answer (an estimate).

    tables: those of the kinds seats, winter, caves and cards. Who begins by lot has no seat to ask about.
    """
    found = {}
    if not view.ruling.startswith(BEGINNER):
        found[FIRST_SEAT] = next(row["win_share"] for row in tables["seats"]["seats"] if row["seat"] == 0)
    found[LAST_WINTER] = next(
        row["mean"] for row in tables["winter"]["summary"] if row["winter"] == WINTERS and row["measure"] == "turn"
    )
    for row in tables["caves"]["pairs"]:
        if questions.cave in (row["a"], row["b"]):
            other = row["b"] if row["a"] == questions.cave else row["a"]
            found[f"{CAVE} {questions.cave} over {other}"] = turned(row["win_share"], row["a"] != questions.cave)
    cards = {row["species"]: row["iih_turn"] for row in tables["cards"]["summary"]}
    found |= {f"{CARD} {species}": cards[species] for species in questions.species}
    head = {"players": view.players, "policy": view.policy, "world": view.world}
    return [{**head, "question": question, "answer": answer} for question, answer in found.items()]


def turned(one: Mapping[str, Any], reverse: bool) -> dict[str, Any]:
    """Return a difference seen from the other side, if `reverse`."""
    if not reverse:
        return dict(one)
    ends = None if one["ci"] is None else [-one["ci"][1], -one["ci"][0]]
    return {**one, "value": -one["value"], "ci": ends}


def null_of(row: Row) -> float | None:
    """Return the answer that would mean "no effect"; None where the question is only how much."""
    if row["question"] == LAST_WINTER:
        return None
    return 1 / row["players"] if row["question"] == FIRST_SEAT else 0.0


def claim(row: Row) -> int:
    """Return 1 or -1 where the answer's interval lies above or below "no effect", else 0."""
    null, ends = null_of(row), row["answer"]["ci"]
    if null is None or ends is None:
        return 0
    return (ends[0] > null) - (ends[1] < null)


def compare(base: Sequence[Row], others: Sequence[Row]) -> list[Row]:
    """Return for every answer of others how it differs from the base's to the same question at the same table size.

    `difference` is taken as one of independent answers. They share their deals, which makes it less uncertain than
    said. `p_holm` is corrected over all rows. `verdict`: `same`, `size` (shown to differ, but the conclusion stays),
    `lost` (the base's conclusion does not hold), `reversed`, or `new` (a conclusion where the base has none).
    """
    known = {(row["players"], row["question"]): row for row in base}
    rows = []
    for row in others:
        before = known.get((row["players"], row["question"]))
        if before is not None:
            gap = difference(row["answer"], before["answer"])
            rows.append({**row, "before": before["answer"], "difference": gap})
    raw = [p_value(row["difference"]) for row in rows]
    for row, adjusted in zip(rows, holm([1.0 if p is None else p for p in raw]) if rows else [], strict=True):
        row["p_holm"] = adjusted
        row["verdict"] = _verdict(claim({**row, "answer": row["before"]}), claim(row), adjusted < SURE)
    return rows


def difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return one estimate minus another, as if independent; without an interval where one of them has none."""
    n = min(one["n"], other["n"])
    if one["value"] is None or other["value"] is None:
        return {"value": None, "se": None, "ci": None, "n": n}
    value = one["value"] - other["value"]
    if one["se"] is None or other["se"] is None:
        return {"value": value, "se": None, "ci": None, "n": n}
    se = math.hypot(one["se"], other["se"])
    half = normal_quantile(LEVEL) * se
    return {"value": value, "se": se, "ci": [value - half, value + half], "n": n}


def _verdict(before: int, here: int, differs: bool) -> str:
    if not differs:
        return "same"
    if before == here:
        return "size"
    if before == 0:
        return "new"
    return "lost" if here == 0 else "reversed"
