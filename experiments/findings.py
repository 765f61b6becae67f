"""What a study found: claims that its intervals support after correction for the number of comparisons, and the rest.

A claim carries its estimate and its corrected p-value (Holm: over all comparisons of its kind in the study) or q-value
(Benjamini and Hochberg: over the 66 species of a table). Where the correction does not support it there is no claim,
and the document says "not shown" by an empty list, None or False.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from experiments.estimates import holm, p_value
from experiments.headlines import SURE, View, answers, claim, compare, helping, hindering, turned
from experiments.study import HEADLINE_KINDS, Findings, checks
from experiments.study_tables import Row, Tables
from sim import ENGINE_VERSION, __version__
from sim.deck import REFERENCE

LISTED_CARDS = 8
DRAFTS = ("own draft", "rule draft")  # of the caves' table
CAUSAL_CHANGES = ("opening_copy", "points_off", "effect_off")


def findings_document(found: Findings) -> dict[str, Any]:
    """Return the findings of a study as one JSON document."""
    study, tables = found.study, found.tables
    sizes = study.players
    return {
        "version": __version__,
        "engine_version": ENGINE_VERSION,
        "options": study.options,
        "players": list(sizes),
        "policy": study.policy,
        "check_policy": study.check,
        "deck": REFERENCE,
        "assumptions": list(found.assumptions),
        "seconds": found.seconds,
        "threads": found.threads,
        "seats": seat_findings({size: tables[f"seats_{size}p"]["seats"] for size in sizes}),
        "caves": cave_findings({size: tables[f"caves_{size}p"] for size in sizes}),
        "cards": [card_findings(size, tables[f"cards_{size}p"]) for size in sizes],
        "winter": [winter_findings(size, tables[f"winter_{size}p"]) for size in sizes],
        "policies": [policy_findings(size, study.policy, tables[f"matrix_{size}p"]["summary"]) for size in sizes],
        "checks": check_findings(found),
    }


def adjusted(estimates: Sequence[Mapping[str, Any]], nulls: Sequence[float]) -> list[float]:
    """Return Holm's p-values of "the estimate is its null" over all estimates together."""
    raw = [p_value(dict(one), null) for one, null in zip(estimates, nulls, strict=True)]
    return holm([1.0 if p is None else p for p in raw]) if raw else []


# Seats


def seat_findings(tables: Mapping[int, Sequence[Row]]) -> list[dict[str, Any]]:
    """Return for each table size the seats' win shares and whether they are shown to differ.

    `different`: the test of all seats, corrected over the table sizes. `first`: 1 or -1 where the first seat is shown
    to win more or less than its fair share, else 0; it needs both that test and the seat's own.
    """
    sizes = list(tables)
    raw = [rows[0]["p_value"] for rows in tables.values()]
    together = holm([1.0 if p is None else p for p in raw])
    firsts = [next(row["win_share"] for row in rows if row["seat"] == 0) for rows in tables.values()]
    alone = adjusted(firsts, [1 / size for size in sizes])
    found = []
    for size, first, p_all, p_first in zip(sizes, firsts, together, alone, strict=True):
        sure = p_all < SURE and p_first < SURE
        found.append(
            {
                "players": size,
                "seats": [{"seat": row["seat"], "win_share": row["win_share"]} for row in tables[size]],
                "p_holm": p_all,
                "different": p_all < SURE,
                "first": (1 if first["value"] > 1 / size else -1) if sure else 0,
            }
        )
    return found


# Caves


def cave_findings(tables: Mapping[int, Tables]) -> list[dict[str, Any]]:
    """Return for each table size the caves by win share, the best one's lead, and what the draft is worth.

    `sure`: the best cave is shown to be better than each other one. `not_beaten`: those for which it is not shown.
    """
    pairs = _adjusted_pairs(tables)
    drafts = _adjusted_drafts(tables)
    return [_caves_of(size, tables[size], pairs[size], drafts[size]) for size in tables]


def _adjusted_pairs(tables: Mapping[int, Tables]) -> dict[int, list[Row]]:
    rows = [row for one in tables.values() for row in one["pairs"]]
    p_values = iter(adjusted([row["win_share"] for row in rows], [0.0] * len(rows)))
    return {size: [{**row, "p_holm": next(p_values)} for row in one["pairs"]] for size, one in tables.items()}


def _adjusted_drafts(tables: Mapping[int, Tables]) -> dict[int, list[Row]]:
    """Return the places in the drafts, by own choice and by rule, each with what it gains over caves as dealt."""
    drafted = {size: [row for row in one["draft"] if row["caves"] in DRAFTS] for size, one in tables.items()}
    rows = list(chain.from_iterable(drafted.values()))
    p_values = iter(adjusted([row["gain"] for row in rows], [0.0] * len(rows)))
    return {
        size: [
            {"caves": row["caves"], "pick": row["pick"], "gain": row["gain"], "p_holm": next(p_values)}
            for row in places
        ]
        for size, places in drafted.items()
    }


def _caves_of(players: int, tables: Tables, pairs: Sequence[Row], draft: Sequence[Row]) -> dict[str, Any]:
    ranking = sorted(tables["summary"], key=lambda row: -row["win_share"]["value"])
    best = ranking[0]["cave"]
    lead = [
        {
            "over": row["b"] if row["a"] == best else row["a"],
            "win_share": turned(row["win_share"], row["a"] != best),
            "score": turned(row["score"], row["a"] != best),
            "p_holm": row["p_holm"],
        }
        for row in pairs
        if best in (row["a"], row["b"])
    ]
    not_beaten = [row["over"] for row in lead if not _above(row["win_share"], row["p_holm"])]
    return {
        "players": players,
        "ranking": ranking,
        "best": best,
        "sure": not not_beaten,
        "not_beaten": not_beaten,
        "lead": lead,
        "unless": [row for row in tables["unless"] if row["instead_of"] == best],
        "draft": list(draft),
        "worth_drafting": [row for row in draft if row["p_holm"] < SURE],
    }


def _above(one: Mapping[str, Any], p: float) -> bool:
    return p < SURE and one["value"] is not None and one["value"] > 0


# Cards


def card_findings(players: int, tables: Tables) -> dict[str, Any]:
    """Return the species whose owners are shown to win more or less, and what changing a species is shown to cause."""
    rows = tables["summary"]
    up, down = helping(rows), hindering(rows)
    return {
        "players": players,
        "helping": up[:LISTED_CARDS],
        "helping_n": len(up),
        "hindering": down[:LISTED_CARDS],
        "hindering_n": len(down),
        "species_n": len(rows),
        "causal": {
            change: _causal([row for row in tables["causal"] if row["change"] == change]) for change in CAUSAL_CHANGES
        }
        if "causal" in tables
        else None,
    }


def _causal(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the species for which a change is shown to win more, and less, the clearest first."""
    shown = [row for row in rows if row["q"] is not None and row["q"] < SURE]
    more = sorted((row for row in shown if row["win_share"]["value"] > 0), key=lambda row: -row["win_share"]["ci"][0])
    less = sorted((row for row in shown if row["win_share"]["value"] < 0), key=lambda row: row["win_share"]["ci"][1])
    return {"more": more[:LISTED_CARDS], "less": less[:LISTED_CARDS]}


# Winter


def winter_findings(players: int, tables: Tables) -> dict[str, Any]:
    """Return turn and round of each winter, the share of the stack left, what ends the game, and the turns to come."""
    summary = {(row["winter"], row["measure"]): row for row in tables["summary"]}
    shares = {row["winter"]: row["stack_share"] for row in tables["stack_share"]}
    return {
        "players": players,
        "winters": [
            {
                "winter": number,
                "turn": _spread(summary[number, "turn"]),
                "round": _spread(summary[number, "round"]),
                "stack_share": shares[number],
            }
            for number in shares
        ],
        "endings": [{"ending": row["ending"], "share": row["share"]} for row in tables["endings"]],
        "more_turns": [
            {"winter": row["winter"], "turns": row["turns"], "one_player": row["one_player"]}
            for row in tables["more_turns"]
        ],
    }


def _spread(row: Row) -> dict[str, Any]:
    return {"mean": row["mean"], "q5": row["q5"], "q50": row["q50"], "q95": row["q95"]}


# Policies


def policy_findings(players: int, policy: str, matrix: Sequence[Row]) -> dict[str, Any]:
    """Return how the main policy does alone at a table of each other one, and which of them it is shown to beat."""
    rows = [row for row in matrix if row["row"] == policy and row["column"] != policy]
    return {
        "players": players,
        "fair_share": 1 / players,
        "against": [{"policy": row["column"], "win_share": row["win_share"], "p_holm": row["p_holm"]} for row in rows],
        "beaten": [row["column"] for row in rows if _over_fair(row, players) > 0],
        "lost_to": [row["column"] for row in rows if _over_fair(row, players) < 0],
        "open": [row["column"] for row in rows if _over_fair(row, players) == 0],
    }


def _over_fair(row: Row, players: int) -> int:
    if row["p_holm"] is None or row["p_holm"] >= SURE:
        return 0
    return 1 if row["win_share"]["value"] > 1 / players else -1


# The same questions again


def check_findings(found: Findings) -> list[dict[str, Any]]:
    """Return for each check what was asked how often, and every answer that is shown to differ.

    Other policies and decks are held against the main part, other rulings and icons against the policy that plays them.
    """
    study = found.study
    main = main_answers(found)
    own = found.tables["other_policy"]["answers"] if "other_policy" in found.tables else main
    documents = []
    for check in checks(study):
        base = main if check.name in ("other_policy", "other_deck") else own
        rows = compare(base, found.tables[check.name]["answers"])
        documents.append(
            {
                "check": check.name,
                "policy": check.views[0].policy,
                "players": sorted({view.players for view in check.views}),
                "views": len(check.views),
                "games": check.games,
                "answers": len(rows),
                "claims": sum(claim({**row, "answer": row["before"]}) != 0 for row in rows),
                "changed": [row for row in rows if row["verdict"] in ("lost", "reversed", "new")],
                "sizes": [row for row in rows if row["verdict"] == "size"],
                "same": sum(row["verdict"] == "same" for row in rows),
            }
        )
    return documents


def main_answers(found: Findings) -> list[Row]:
    """Return the main part's own answers to the questions of the checks."""
    rows: Iterable[list[Row]] = (
        answers(
            View(size, found.study.policy),
            {kind: found.tables[f"{kind}_{size}p"] for kind in HEADLINE_KINDS},
            found.questions[size],
        )
        for size in found.study.players
    )
    return list(chain.from_iterable(rows))
