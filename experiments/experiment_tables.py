"""The experiments' findings as tables for people (rich)."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from experiments.tables import ENDINGS, interval, number, spread

SHOWN_TURNS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)  # of the chances of more turns
DISAGREES = 0.001  # p-value below which a simulation is said to differ from theory


def p_text(value: float | None) -> str:
    """Return a p-value for a table."""
    if value is None:
        return "-"
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def about(document: Mapping[str, Any]) -> str:
    """Return the line below a table: what its intervals are of."""
    level = f"{100 * document['level']:.2f}".rstrip("0").rstrip(".")
    joint = "" if document["level"] == 0.95 else ", 95 % for all looks of --precision together"
    return (
        f"{level} % intervals{joint}; {document['deals']:,} deals, {document['games']:,} games, seed {document['seed']}"
    )


def winrate_tables(document: Mapping[str, Any]) -> list[Table]:
    """Return the matrix, the tables of more than two policies, and the seats."""
    tables = [_matrix(document)]
    if document["players"] > 2:
        tables.append(_compositions(document))
    return [*tables, _seats(document)]


def _matrix(document: Mapping[str, Any]) -> Table:
    fair = 100 * document["fair_share"]
    title = f"Win share in % of one player (row) where all others play the column; fair is {fair:.1f}"
    table = Table(title=title, caption=about(document))
    table.add_column("")
    for name in document["policies"]:
        table.add_column(name, justify="right")
    for name in document["policies"]:
        cells = [cell for cell in document["matrix"] if cell["row"] == name]
        table.add_row(name, *(_matrix_cell(cell) for cell in cells))
    return table


def _matrix_cell(cell: Mapping[str, Any]) -> str:
    if cell["row"] == cell["column"]:
        return number(100 * cell["win_share"]["value"], 1)
    return (
        f"{interval(cell['win_share'], 2, 100)}\nmargin {interval(cell['margin'], 1)}\np, Holm {p_text(cell['p_holm'])}"
    )


def _compositions(document: Mapping[str, Any]) -> Table:
    table = Table(title="Win share of one player in % at every table", caption=about(document))
    for heading in ("table", "policy"):
        table.add_column(heading)
    for heading in ("win share %", "score", "margin", "shared wins %"):
        table.add_column(heading, justify="right")
    for row in document["tables"]:
        table.add_row(
            " ".join(row["table"]),
            row["policy"],
            interval(row["win_share"], 2, 100),
            interval(row["score"], 1),
            interval(row["margin"], 1),
            interval(row["ties"], 2, 100),
        )
    return table


def _seats(document: Mapping[str, Any]) -> Table:
    verdict = p_text(document["seat_test"]["p_value"])
    caption = "seat 0 begins; p: all seats equal, that row alone; p, Holm: corrected for the number of policies"
    table = Table(title="Win share by seat in %", caption=caption)
    table.add_column("who")
    for seat in range(document["players"]):
        table.add_column(f"seat {seat}", justify="right")
    for heading in ("p", "p, Holm"):
        table.add_column(heading, justify="right")
    table.add_row("all tables", *(interval(row["win_share"], 2, 100) for row in document["seats"]), verdict, "")
    for name in document["policies"]:
        rows = [row for row in document["seats_by_policy"] if row["policy"] == name]
        shares = [interval(row["win_share"], 2, 100) for row in rows]
        table.add_row(f"only {name}", *shares, p_text(rows[0]["p_value"]), p_text(rows[0]["p_holm"]))
    return table


def winter_tables(document: Mapping[str, Any]) -> list[Table]:
    """Return the winters, the turns still to come, and the endings."""
    table = Table(title=f"Winters, {document['players']} players: {', '.join(document['policies'])}")
    for heading in ("winter", "turn", "5/50/95 %", "round", "stack left", "5/50/95 %", "stack %"):
        table.add_column(heading, justify="right")
    for row in document["winters"]:
        table.add_row(
            str(row["winter"]),
            interval(row["turn"]["mean"], 2),
            spread(row["turn"]["quantiles"]),
            interval(row["round"]["mean"], 2),
            interval(row["stack_left"]["mean"], 2),
            spread(row["stack_left"]["quantiles"]),
            interval(row["stack_share"], 1, 100),
        )
    return [table, _turns_to_come(document), _endings(document)]


def _turns_to_come(document: Mapping[str, Any]) -> Table:
    table = Table(title="Chance in % that a player has at least so many own turns after a winter")
    for heading in ("turns", "after winter 1", "after winter 2"):
        table.add_column(heading, justify="right")
    chances = {(row["winter"], row["turns"]): row["one_player"] for row in document["more_turns"]}
    for turns in SHOWN_TURNS:
        cells = [chances.get((winter, turns)) for winter in (1, 2)]
        table.add_row(str(turns), *(interval(cell, 2, 100) if cell else "-" for cell in cells))
    return table


def _endings(document: Mapping[str, Any]) -> Table:
    check = _law_check(document["law_test"])
    title = "What turned up the third winter and ended the game"
    table = Table(title=title, caption=f"{check}\n{about(document)}", min_width=len(check))
    table.add_column("ended by")
    for heading in ("games", "%"):
        table.add_column(heading, justify="right")
    for name, games in document["endings"].items():
        table.add_row(ENDINGS[name], f"{games:,}", interval(document["ending_shares"][name], 2, 100))
    return table


def _law_check(test: Mapping[str, Any]) -> str:
    """Return in words whether the third winter lay as deep as theory says."""
    what, p = "check: the depth of the third winter", test["p_value"]
    if test["outside"]:
        return f"{what} does NOT agree with theory (impossible in {test['outside']:,} games)"
    if p is None:
        return f"{what} cannot be compared with theory, too few games"
    if p < DISAGREES:
        return f"{what} does NOT agree with theory (p < {DISAGREES:g})"
    return f"{what} agrees with theory (p = {p:.{2 if p >= 0.01 else 3}f})"


def odds_table(odds: Mapping[str, Any]) -> Table:
    """Return the odds at the table."""
    title = f"{odds['players']} players, {odds['stack_left']} in the stack, {odds['winters_seen']} winters seen"
    table = Table(title=title, caption=f"pace {odds['pace']:g} cards from the stack a turn")
    table.add_column("the game ends")
    table.add_column("chance", justify="right")
    for key, label in (("draw", "with the next card"), ("turn", "within a turn"), ("round", "within a round")):
        table.add_row(label, f"{100 * odds[f'within_{key}']:.2f} %")
    for level, cards in odds["cards_to"].items():
        table.add_row(f"within {cards} cards", f"{level} %")
    return table


def cave_tables(document: Mapping[str, Any]) -> list[Table]:
    """Return the caves, their pairs, the exceptions, what choosing gains, and the draft."""
    tables = [_caves(document), _pairs(document), _exceptions(document)]
    if document["tests"]:
        tables += [_gains(document), _draft(document)]
    return tables


def _caves(document: Mapping[str, Any]) -> Table:
    best = document["best"]
    beaten = [row["cave"] for row in document["caves"] if row["cave"] not in (best["cave"], *best["not_worse"])]
    than = "every other" if best["sure"] else ", ".join(map(str, beaten)) or "none of the others"
    title = (
        f"Caves on the same deals, {document['players']} players\n"
        f"highest win share: cave {best['cave']}; shown to be better than: {than}"
    )
    table = Table(title=title, caption=about(document))
    table.add_column("cave", justify="right")
    table.add_column("effect")
    for heading in ("win share %", "score"):
        table.add_column(heading, justify="right")
    for row in document["caves"]:
        table.add_row(str(row["cave"]), row["effect"], interval(row["win_share"], 2, 100), interval(row["score"], 2))
    return table


def _pairs(document: Mapping[str, Any]) -> Table:
    table = Table(title="Cave a minus cave b", caption="p, Holm: corrected for the number of pairs")
    for heading in ("a", "b", "win share, points of 100", "score", "p, Holm"):
        table.add_column(heading, justify="right")
    for row in document["pairs"]:
        table.add_row(
            str(row["a"]),
            str(row["b"]),
            interval(row["win_share"], 2, 100),
            interval(row["score"], 2),
            p_text(row["p_holm"]),
        )
    return table


def _exceptions(document: Mapping[str, Any]) -> Table:
    best = document["best"]["cave"]
    if not document["unless"]:
        line = Table.grid()
        line.add_row(f"No seat and no opening hand is shown to make another cave better than cave {best}.")
        return line
    title = f"Where another cave is shown to be better than cave {best}"
    table = Table(title=title, caption="seats and opening hands; n: deals; p, Holm: corrected for all of them")
    table.add_column("where")
    for heading in ("cave", "n", "win share, points of 100", "score", "p, Holm"):
        table.add_column(heading, justify="right")
    for row in document["unless"]:
        table.add_row(
            row["group"],
            str(row["cave"]),
            f"{row['win_share']['n']:,}",
            interval(row["win_share"], 2, 100),
            interval(row["score"], 2),
            p_text(row["p_holm"]),
        )
    return table


def _gains(document: Mapping[str, Any]) -> Table:
    table = Table(title="What choosing gains, on other deals than those it was learned from", caption="n: deals")
    table.add_column("choice")
    for heading in ("n", "win share, points of 100"):
        table.add_column(heading, justify="right")
    best = f"cave {document['best']['cave']}"
    choices = {
        "best_mean": f"{best}, over the mean of all caves",
        "rule_mean": "the cave by the rule, over the mean of all caves",
        "rule_best": f"the cave by the rule, over {best}",
    }
    for row in document["tests"]:
        table.add_row(choices[row["gain"]], f"{row['win_share']['n']:,}", interval(row["win_share"], 2, 100))
    return table


def _draft(document: Mapping[str, Any]) -> Table:
    caption = "pick 1 chooses first and plays last; n: deals; gain: against the same deals with the caves as dealt"
    table = Table(title="The draft, by who picks first", caption=caption)
    table.add_column("caves")
    for heading in ("pick", "n", "win share %", "gain, points of 100", "gain in score"):
        table.add_column(heading, justify="right")
    for row in document["draft"]:
        gains = [interval(row["gain"], 2, 100), interval(row["score_gain"], 2)] if "gain" in row else ["-", "-"]
        share = row["win_share"]
        table.add_row(row["caves"], str(row["pick"]), f"{share['n']:,}", interval(share, 2, 100), *gains)
    return table
