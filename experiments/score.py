"""Scores of real tables: forest files in, points by species out (rulebook, End)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table as Sheet
from rich.text import Text

from experiments.forest_file import UNIVERSAL_MOOR_KEY, Forest, check_counts, lay_out, parse_table, read_document
from sim.deck import load_deck
from sim.rules import UNIVERSAL_MOOR
from sim.scoring import cave_points, species_points, total_points
from sim.species import Species, box_species
from sim.tables import build_tables

Score = dict[str, Any]


def score_files(
    paths: Sequence[Path],
    *,
    tables: np.ndarray | None = None,
    species: Sequence[Species] | None = None,
    lenient: bool = False,
) -> list[Score]:
    """Return the scores of the table in each forest file, in order; see `score_document`."""
    tables = build_tables(load_deck()) if tables is None else tables
    return [
        score_document(read_document(path), tables=tables, species=species, lenient=lenient, where=str(path))
        for path in paths
    ]


def score_document(
    document: object,
    *,
    tables: np.ndarray | None = None,
    species: Sequence[Species] | None = None,
    lenient: bool = False,
    where: str = "table",
) -> Score:
    """Return the scores of one table.

    Parameters
    ----------
    document
        The content of a forest file.
    tables
        Shape (1,), dtype TABLES: the caves and rulings in force; by default those of the box.
    species
        The species that `tables` was built from; by default those of the box.
    lenient
        Score also what the rules would not allow; unknown names stay errors.
    where
        The file's name, for messages.

    Returns
    -------
    dict
        `{"players": [{"name", "total", "cave", "lines": [{"species", "count", "points"}]}], "winners": [names]}`, with
        a line for each species in the forest, in table order. The lines and the points of `cave` add up to `total`.

    Raises
    ------
    DartmoorError
        A name is unknown or, unless `lenient`, the table is not legal; the message names the place.
    """
    tables = build_tables(load_deck()) if tables is None else tables
    species = box_species() if species is None else species
    caves = [int(number) for number in tables["cave_number"][0, : tables["caves_n"][0]]]
    table = parse_table(document, species, caves, where)
    if not lenient:
        check_counts(table, species)
    state, own_tables = lay_out(table, tables, species, lenient)
    players = [_score_forest(state, own_tables, seat, forest, species) for seat, forest in enumerate(table.forests)]
    best = max(player["total"] for player in players)
    return {"players": players, "winners": [player["name"] for player in players if player["total"] == best]}


def score_json(scores: Sequence[Score]) -> Score | list[Score]:
    """Return what `score --json` prints: the one table's scores, or the list of them."""
    return scores[0] if len(scores) == 1 else list(scores)


def score_sheet(score: Score, species: Sequence[Species] | None = None, title: str | None = None) -> Sheet:
    """Return one table's scores for the terminal: a row for each species, for each player cards and points."""
    names = _names(box_species() if species is None else species)
    players = score["players"]
    lines = [{line["species"]: line for line in player["lines"]} for player in players]
    sheet = Sheet(title=Text(title) if title else None, caption=Text(_verdict(score)))
    sheet.add_column("Points (cards)")
    for player in players:
        sheet.add_column(Text(player["name"]), justify="right")
    for key, name in names.items():
        if any(key in own for own in lines):
            sheet.add_row(name, *(_cell(own.get(key)) for own in lines))
    sheet.add_row("Cave", *(str(player["cave"]) for player in players))
    sheet.add_section()
    sheet.add_row("Total", *(str(player["total"]) for player in players), style="bold")
    return sheet


def print_scores(
    scores: Sequence[Score], titles: Sequence[str], console: Console, species: Sequence[Species] | None = None
) -> None:
    """Print the score sheet of each table, under its title."""
    for score, title in zip(scores, titles, strict=True):
        console.print(score_sheet(score, species, title))


def _score_forest(
    state: np.void, tables: np.void, player: int, forest: Forest, species: Sequence[Species]
) -> dict[str, Any]:
    keys = [one.key for one in species] + [UNIVERSAL_MOOR_KEY]
    lines = [
        {
            "species": keys[code],
            "count": int(state["species_n"][player, code]),
            "points": int(species_points(state, tables, player, code)),
        }
        for code in range(UNIVERSAL_MOOR + 1)
        if state["species_n"][player, code]
    ]
    return {
        "name": forest.name,
        "total": int(total_points(state, tables, player)),
        "cave": int(cave_points(state, tables, player)),
        "lines": lines,
    }


def _names(species: Sequence[Species]) -> dict[str, str]:
    return {one.key: one.name for one in species} | {UNIVERSAL_MOOR_KEY: "Universal Moor"}


def _cell(line: Mapping[str, int] | None) -> str:
    """Return points and cards of a species in a cell, such as `10 (2)`."""
    return f"{line['points']} ({line['count']})" if line else ""


def _verdict(score: Score) -> str:
    winners = score["winners"]
    if len(score["players"]) == 1:
        return ""
    return f"Winner: {winners[0]}" if len(winners) == 1 else f"Shared win: {', '.join(winners)}"
