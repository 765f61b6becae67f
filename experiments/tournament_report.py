"""What a tournament or a sequential test came to: the JSON document, tidy frames and tables for people."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table as Grid

from experiments.estimates import LEVEL, holm, normal_quantile, p_value
from experiments.files import manifest
from experiments.nash import nash_report
from experiments.ratings import elo_estimate, elo_ratings, openskill_ratings
from experiments.results import columns, write_directory
from experiments.sprt import ACCEPT_H1, ERROR, UNDECIDED, SprtResult, wald_bounds
from experiments.tables import interval
from experiments.tournament import Contest, TableResult, Tournament
from policies.registry import load_seats
from sim import ENGINE_VERSION, __version__
from sim.deck import deck_hash

RANKED = "Luce choice model on block shares, 400 points for a factor of ten in the odds, mean 0"
TINY_P = 1e-16  # below it a p-value is only said to be smaller
EARLY_STOP = "estimates after a sequential test lean away from the hypothesis that was turned down"


def tournament_document(tournament: Tournament, with_openskill: bool = False) -> dict[str, Any]:
    """Return the document of `tournament --json`."""
    results = tournament.results
    ratings = elo_ratings(results)
    return {
        **_header(tournament.contest),
        "complete": tournament.complete,
        "blocks": sum(result.blocks for result in results),
        "games": sum(result.blocks * len(result.table) for result in results),
        "tables": [table_document(result) for result in results],
        "comparisons": comparisons(results),
        "matrix": matrix(results),
        "ratings": ratings,
        "rating_model": RANKED,
        "openskill": openskill_ratings(tournament) if with_openskill else None,
        "nash": nash_of(tournament),
    }


def _header(contest: Contest) -> dict[str, Any]:
    return {
        "players": contest.players,
        "seed": contest.seed,
        "caves_mode": contest.caves,
        "deck": contest.world.deck.name,
        "version": __version__,
        "engine_version": ENGINE_VERSION,
        "assumptions": contest.world.assumptions,
    }


def table_document(result: TableResult) -> dict[str, Any]:
    """Return one table: its entrants, seats, what blocking gained and, of two players, pentanomial counts and Elo."""
    document: dict[str, Any] = {
        "policies": list(result.table),
        "blocks": result.blocks,
        "games": result.blocks * len(result.table),
        "fair_share": 1 / len(result.table),
        "entrants": [
            {
                "policy": name,
                "seats": int(result.members[entrant].sum()),
                "win_share": result.win_share(entrant),
                "score": result.score(entrant),
                "variance_ratio": result.variance_ratio(entrant),
            }
            for entrant, name in enumerate(result.entrants)
        ],
        "seats": [{"seat": seat, "win_share": result.seat_share(seat)} for seat in range(len(result.table))],
    }
    if len(result.table) == 2 and len(set(result.table)) == 2:
        document["pentanomial"] = result.sums.pairs.tolist()
        document["elo"] = elo_estimate(result.win_share(0))
    return document


def comparisons(results: list[TableResult]) -> list[dict[str, Any]]:
    """Return "a against b" of every table, with p-values corrected for their number by Holm and what may be claimed."""
    rows: list[dict[str, Any]] = [
        {
            "table": list(result.table),
            "a": result.entrants[a],
            "b": result.entrants[b],
            "lead": result.lead(a, b),
            "margin": result.margin(a, b),
        }
        for result in results
        if len(set(result.table)) > 1
        for a in range(len(result.entrants))
        for b in range(a + 1, len(result.entrants))
    ]
    p_values = [p_value(row["lead"]) for row in rows]
    adjusted = holm([1.0 if p is None else p for p in p_values])
    for row, p, p_holm in zip(rows, p_values, adjusted, strict=True):
        row["p"], row["p_holm"] = p, p_holm
        row["claim"] = _claim(row)
    return rows


def _claim(row: dict[str, Any]) -> str:
    if row["p_holm"] >= 1 - LEVEL:
        return "no difference shown"
    better, worse = (row["a"], row["b"]) if row["lead"]["value"] > 0 else (row["b"], row["a"])
    return f"{better} beats {worse}"


def matrix(results: list[TableResult]) -> list[dict[str, Any]]:
    """Return win share and margin of every policy alone (row) at a table of another (column)."""
    rows = []
    for result in results:
        solo = [name for name in dict.fromkeys(result.table) if result.table.count(name) == 1]
        if len(set(result.table)) != 2:
            continue
        for name in solo:
            row, column = result.entrants.index(name), 1 - result.entrants.index(name)
            rows.append(
                {
                    "row": name,
                    "column": result.entrants[column],
                    "win_share": result.win_share(row),
                    "margin": result.margin(row, column),
                }
            )
    return rows


def nash_of(tournament: Tournament) -> list[dict[str, Any]] | None:
    """Return the Nash mixture of a two-player tournament in which every pair met; None otherwise.

    With more players a table is no matrix game, and its equilibria are no linear program.
    """
    if tournament.contest.players != 2:
        return None
    cells = {(row["row"], row["column"]): row["win_share"] for row in matrix(tournament.results)}
    names = list(dict.fromkeys(name for pair in cells for name in pair))
    if len(names) < 2 or any((a, b) not in cells for a in names for b in names if a != b):
        return None
    share, se = np.full((len(names), len(names)), 0.5), np.zeros((len(names), len(names)))
    for (a, b), cell in cells.items():
        share[names.index(a), names.index(b)] = cell["value"]
        se[names.index(a), names.index(b)] = (cell["ci"][1] - cell["ci"][0]) / (2 * normal_quantile(LEVEL))
    blocks = min(cell["n"] for cell in cells.values())
    return nash_report(names, share, se, blocks, tournament.contest.seed)


def sprt_document(contest: Contest, test: SprtResult) -> dict[str, Any]:
    """Return the document of `tournament --sprt --json`."""
    result = test.result
    return {
        **_header(contest),
        "complete": test.complete,
        "policies": list(result.table),
        "blocks": result.blocks,
        "games": result.blocks * len(result.table),
        "sprt": {
            "elo0": test.elo0,
            "elo1": test.elo1,
            "alpha": ERROR,
            "beta": ERROR,
            "llr": test.llr,
            "bounds": list(wald_bounds()),
            "decision": test.decision,
            "text": sprt_text(test),
            "pentanomial": result.sums.pairs.tolist(),
        },
        "win_share": result.win_share(0),
        "elo": elo_estimate(result.win_share(0)),
        "margin": result.margin(0, 1),
        "note": EARLY_STOP,
    }


def sprt_text(test: SprtResult) -> str:
    """Return the decision in words."""
    a, b = test.result.table
    if test.decision == UNDECIDED:
        return f"undecided between {test.elo0:g} and {test.elo1:g} Elo for {a} over {b}"
    held, other = (test.elo1, test.elo0) if test.decision == ACCEPT_H1 else (test.elo0, test.elo1)
    return f"{a} over {b}: {held:g} Elo accepted against {other:g}"


def frames(document: dict[str, Any]) -> dict[str, pd.DataFrame]:
    """Return the document's tables as tidy frames."""
    entrants = [
        {
            "table": " ".join(table["policies"]),
            "policy": entrant["policy"],
            "seats": entrant["seats"],
            **columns("win_share", entrant["win_share"]),
            **columns("score", entrant["score"]),
            **columns("variance_ratio", entrant["variance_ratio"]),
        }
        for table in document["tables"]
        for entrant in table["entrants"]
    ]
    compared = [
        {
            "table": " ".join(row["table"]),
            "a": row["a"],
            "b": row["b"],
            **columns("lead", row["lead"]),
            **columns("margin", row["margin"]),
            "p": row["p"],
            "p_holm": row["p_holm"],
            "claim": row["claim"],
        }
        for row in document["comparisons"]
    ]
    found = {"summary": pd.DataFrame(entrants), "comparisons": pd.DataFrame(compared)}
    if document["ratings"]:
        found["ratings"] = pd.DataFrame(
            [{"policy": row["policy"], **columns("elo", row["elo"])} for row in document["ratings"]]
        )
    if document["openskill"]:
        found["openskill"] = pd.DataFrame(
            [{"policy": row["policy"], **columns("openskill", row["openskill"])} for row in document["openskill"]]
        )
    if document["nash"]:
        found["nash"] = pd.DataFrame(
            [
                {
                    "policy": row["policy"],
                    **columns("weight", row["weight"]),
                    **columns("share_against_mixture", row["share_against_mixture"]),
                    "dominated_by": " ".join(other["policy"] for other in row["dominated_by"]),
                }
                for row in document["nash"]
            ]
        )
    return found


def write_results(out: Path, tournament: Tournament, document: dict[str, Any]) -> None:
    """Write a tournament's frames and its manifest, the manifest last."""
    contest = tournament.contest
    names = list(dict.fromkeys(name for result in tournament.results for name in result.table))
    loaded = {seat.name: seat.hash for name in names for seat in load_seats(name, contest.players)}
    content = manifest(
        seed=contest.seed,
        games=document["games"],
        options={
            "command": "tournament",
            "players": contest.players,
            "caves": contest.caves,
            "games": max(result.blocks for result in tournament.results) * contest.players,  # at one table
            **contest.world.options,
            "tables": [",".join(result.table) for result in tournament.results],
        },
        deck={"name": contest.world.deck.name, "hash": deck_hash(contest.world.deck)},
        assumptions=contest.world.assumptions,
        policies=[{"name": name, "hash": digest} for name, digest in loaded.items()],
    )
    write_directory(out, frames(document), content)


# Tables for people


def tournament_grids(document: dict[str, Any]) -> list[Grid]:
    """Return the tables of `tournament`."""
    grids = [shares_grid(document), claims_grid(document)]
    grids += [grid for grid in (ratings_grid(document), nash_grid(document)) if grid is not None]
    return grids


def _grid(title: str, words: tuple[str, ...], numbers: tuple[str, ...], caption: str = "") -> Grid:
    grid = Grid(title=title, caption=caption or None)
    for heading in words:
        grid.add_column(heading, overflow="fold")  # names are broken where they must be, never cut
    for heading in numbers:
        grid.add_column(heading, justify="right")
    return grid


def shares_grid(document: dict[str, Any]) -> Grid:
    """Win share, score and gain by blocking of every policy at every table."""
    grid = _grid(
        f"{document['games']:,} games of {document['players']} players, seed {document['seed']}, "
        f"deck {document['deck']}",
        ("table", "policy"),
        ("blocks", "win share % a seat", "score", "gain by blocks"),
        "95 % intervals over blocks (one deal, all seat rotations); gain by blocks: games on deals of their own that "
        "one blocked game is worth",
    )
    for table in document["tables"]:
        for k, entrant in enumerate(table["entrants"]):
            grid.add_row(
                ", ".join(table["policies"]) if k == 0 else "",
                entrant["policy"],
                f"{table['blocks']:,}",
                interval(entrant["win_share"], 2, 100),
                interval(entrant["score"], 1),
                interval(entrant["variance_ratio"], 2),
            )
    return grid


def claims_grid(document: dict[str, Any]) -> Grid:
    """What may be said of every two policies that met."""
    grid = _grid(
        f"Who beats whom, {len(document['comparisons'])} comparisons corrected by Holm",
        ("table", "claim"),
        ("lead in win share %", "margin in points", "p"),
    )
    for row in document["comparisons"]:
        grid.add_row(
            ", ".join(row["table"]),
            row["claim"],
            f"{row['a']}: {interval(row['lead'], 2, 100)}",
            interval(row["margin"], 1),
            f"{row['p_holm']:.2g}" if row["p_holm"] >= TINY_P else f"< {TINY_P:g}",
        )
    return grid


def ratings_grid(document: dict[str, Any]) -> Grid | None:
    """Ratings, the strongest first."""
    if not document["ratings"]:
        return None
    learned = {row["policy"]: row["openskill"] for row in document["openskill"] or ()}
    grid = _grid("Ratings", ("policy",), ("Elo",) + (("openskill",) if learned else ()), document["rating_model"])
    for row in sorted(document["ratings"], key=lambda row: -row["elo"]["value"]):
        extra = [interval(learned[row["policy"]], 2)] if learned else []
        grid.add_row(row["policy"], interval(row["elo"], 0), *extra)
    return grid


def nash_grid(document: dict[str, Any]) -> Grid | None:
    """The Nash mixture, the largest weight first."""
    if not document["nash"]:
        return None
    grid = _grid("Nash mixture", ("policy", "dominated by"), ("weight %", "win share % against the mixture"))
    for row in sorted(document["nash"], key=lambda row: -row["weight"]["value"]):
        grid.add_row(
            row["policy"],
            ", ".join(other["policy"] + ("" if other["shown"] else "?") for other in row["dominated_by"]) or "-",
            interval(row["weight"], 1, 100),
            interval(row["share_against_mixture"], 2, 100),
        )
    return grid


def sprt_grid(document: dict[str, Any]) -> Grid:
    """A sequential test."""
    test = document["sprt"]
    low, high = test["bounds"]
    grid = _grid(f"SPRT, {document['games']:,} games: {test['text']}", ("what",), ("value",), document["note"])
    grid.add_row("log likelihood ratio (bounds)", f"{test['llr']:.2f} ({low:.2f} to {high:.2f})")
    grid.add_row("pairs with 0, 1/2, 1, 3/2, 2 wins", " ".join(map(str, test["pentanomial"])))
    grid.add_row("win share %", interval(document["win_share"], 2, 100))
    grid.add_row("Elo", interval(document["elo"], 1))
    return grid
