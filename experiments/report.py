"""One self-contained HTML page of a results directory: tables that sort, pictures, assumptions, and how to repeat it.

A directory with a manifest is one section; a directory of such directories has one for each, however deep.
"""

import base64
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import pandas as pd

from experiments.estimates import proportion_estimate
from experiments.files import MANIFEST, PROGRAM, read_manifest, write_text
from experiments.report_pictures import Curve, card_plots, curve_plot, dot_plot, dots_of, heatmap, ranked
from experiments.results import MAIN_TABLE
from sim.deck import REFERENCE
from sim.errors import DartmoorError

REPORT = "report.html"
TEMPLATE = Path(__file__).with_name("report_template.html")
OPEN_ROWS = 100  # longer tables are folded away
SEARCH_ROWS = 20  # longer tables have a search box
MOST_ROWS = 2000  # of one table; the rest is in its file
MOST_DOTS = 80  # of one picture
DIGITS = 4  # significant, of a number without an interval
NUMBER = ' class="number"'
CAVES_FILE = "FILE"  # in a command, where a manifest does not name the user's file of caves
SUFFIXES = ("_se", "_low", "_high", "_n")
PICTURE_TYPES = {".png": "image/png", ".svg": "image/svg+xml"}
NUMBERED = {"players", "seat", "cave", "pick", "winter", "a", "b"}  # columns whose numbers are names
CHANCES = re.compile(r"(^|_)(q|p|p_holm|p_value)$")  # columns of p- and q-values
LEAST_CHANCE = 0.001
ICON = re.compile(r"icon (\w+): (\S+) \(default (?!,)\S+\)$")
RULING = re.compile(r"ruling (\w+): (\S+) \(default")

READING = {  # how to read a command's tables
    "cards": "Win rates are mean shares of the win of players with the card: <b>oh</b> in the opening hand, <b>gd</b> "
    "came later, <b>gih</b> ever in hand, <b>gns</b> never in hand, <b>played</b> in the final forest; <b>iih</b> is "
    "gih minus gns, <b>iih turn</b> is gih minus the rate of all cards first held in the same turns. <b>points when "
    "played</b> are those of one copy, <b>points per card</b> count the cards paid for it too. <b>playable left</b> is "
    "the share of games in which a player could play it in some turn and never did, <b>left when playable</b> that of "
    "the games in which it could be played. All these are correlations. What a species causes is in the table "
    "<b>causal</b>: the same deals played again with its points off, its effects off, or one more copy in the opening "
    "hand, for one player alone. <b>q</b> is the rate of false findings (Benjamini and Hochberg) among all species if "
    "this one and all clearer ones are called different from 0.",
}


@dataclass(frozen=True)
class Section:
    """One results directory: where it is below the report's, its manifest, tables by name, and picture files."""

    name: str
    manifest: dict[str, Any]
    tables: dict[str, pd.DataFrame]
    files: list[Path]

    @property
    def command(self) -> str:
        """The name of the command that wrote it."""
        return str(self.manifest["options"].get("command", "results"))

    @property
    def title(self) -> str:
        """A heading: what was run, with how many players, and the directory's name."""
        players = self.manifest["options"].get("players")
        parts = [self.command, f"{players} players" if players else "", self.name]
        return " · ".join(part for part in parts if part)


def write_report(directory: Path) -> dict[str, Any]:
    """Write `report.html` into a results directory and return what it holds: `{report, sections, tables, pictures}`.

    Raises
    ------
    DartmoorError
        There is no manifest in the directory or below it, or a file is damaged or cannot be written.
    """
    sections = read_sections(directory)
    pictures = [draw(section) for section in sections]
    path = directory / REPORT
    write_text(path, page(directory.resolve().name, sections, pictures))
    return {
        "report": path.as_posix(),
        "sections": len(sections),
        "tables": sum(len(section.tables) for section in sections),
        "pictures": sum(map(len, pictures)),
    }


# Reading


def read_sections(directory: Path) -> list[Section]:
    """Return the sections of a directory, its own first."""
    if not directory.is_dir():
        raise DartmoorError(f"{directory}: is no directory, expected a results directory such as --out wrote")
    found = sorted(path.parent for path in directory.rglob(MANIFEST))
    if not found:
        raise DartmoorError(f"{directory}: no {MANIFEST} in it or below it, so it is not a results directory")
    return [read_section(directory, path) for path in found]


def read_section(root: Path, directory: Path) -> Section:
    """Return one results directory: the tables and pictures that its manifest lists, or else all that are there."""
    content = read_manifest(directory)
    names = content.get("tables") or sorted(
        (path.name for path in directory.glob("*.csv")), key=lambda name: (name != f"{MAIN_TABLE}.csv", name)
    )
    tables = {name.removesuffix(".csv"): read_table(directory / name) for name in names}
    listed = content.get("pictures") or []
    files = [directory / name for name in listed if Path(name).suffix in PICTURE_TYPES]
    missing = next((path for path in files if not path.is_file()), None)
    if missing:
        raise DartmoorError(f"{missing}: is missing, though {MANIFEST} lists it")
    name = "" if directory == root else directory.relative_to(root).as_posix()
    return Section(name, content, tables, files)


def read_table(path: Path) -> pd.DataFrame:
    """Return a CSV of results."""
    try:
        return pd.read_csv(path, keep_default_na=False, na_values=[""])
    except (OSError, ValueError) as error:
        raise DartmoorError(f"{path}: cannot be read: {error}") from error


# Pictures


def draw(section: Section) -> list[str]:
    """Return the pictures of a section as HTML: drawn from its tables, or else those that are files."""
    summary = section.tables.get(MAIN_TABLE)
    if summary is not None and {"policy", "species", "iih_turn"} <= set(summary.columns):
        return list(card_plots(section.tables).values())
    players = section.manifest["options"].get("players")
    tables = {
        name: table if players is None else with_players(table, players) for name, table in section.tables.items()
    }
    drawn = [picture for name, table in tables.items() for picture in draw_table(name, table)]
    return drawn or [embed(path) for path in section.files]


def with_players(table: pd.DataFrame, players: int) -> pd.DataFrame:
    """Return a table that says for how many players it is; a table of several says so already."""
    return table if "players" in table.columns or len(table) == 0 else table.assign(players=players)


def draw_table(name: str, table: pd.DataFrame) -> list[str]:
    """Return the pictures that a table's columns allow: a heatmap, curves, or dots with their intervals."""
    title = name.replace("_", " ")
    if {"row", "column", "win_share", "win_share_low"} <= set(table.columns):
        return draw_matrix(title, table)
    if {"depth", "exact", "simulated"} <= set(table.columns):
        return draw_law(title, table)
    if {"measure", "number", "value", "games"} <= set(table.columns):
        return draw_arrivals(table)
    if {"winter", "turns", "one_player", "one_player_low"} <= set(table.columns):
        return draw_more_turns(table)
    if {"kind", "a", "b", "win_share"} <= set(table.columns):
        return draw_pairs(title, table)
    return draw_dots(title, table)


def draw_matrix(title: str, table: pd.DataFrame) -> list[str]:
    """Return heatmaps of a matrix of policies, one for each number of players."""
    known = table[table[["win_share", "win_share_low", "win_share_high"]].notna().all(axis=1)]
    counts = known["players"].unique() if "players" in known.columns else [None]
    pictures = []
    for players in counts:
        part = known if players is None else known[known["players"] == players]
        keys = list(zip(part["row"].astype(str), part["column"].astype(str), strict=True))
        cells = dict(zip(keys, dots_of(part, "win_share", ["row", "column"]), strict=True))
        rows, columns = (list(dict.fromkeys(names)) for names in zip(*keys, strict=True))
        heading = f"{title}: win share of the row in %" + ("" if players is None else f", {players} players")
        pictures.append(heatmap(heading, rows, columns, cells, 0.5 if players is None else 1 / int(players)))
    return pictures


def draw_dots(title: str, table: pd.DataFrame) -> list[str]:
    """Return dot plots of the first estimate of a table, one for each measure, if its rows are few enough to read."""
    names = estimates_in(table)
    if not names:
        return []
    if "measure" in table.columns and table["measure"].nunique() > 1:
        parts = table.groupby("measure", sort=False)
        return [plot for measure, part in parts for plot in draw_dots(f"{title}, {measure}", part)]
    same = constant_columns(table)
    labels = shortest_labels(table, [column for column in loose_columns(table) if column not in same])
    if not labels or not 2 <= len(table) <= MOST_DOTS:
        return []
    named = table.assign(
        **{column: column + " " + table[column].astype(str) for column in labels if column in NUMBERED}
    )
    dots = dots_of(named, names[0], labels)
    if not dots:
        return []
    signed = any(dot.low < 0 for dot in dots)
    heading = f"{title}: {names[0].replace('_', ' ')}"
    return [dot_plot(heading, ranked(dots), "95 % intervals", 0.0 if signed else None)]


def shortest_labels(table: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    """Return as many of the columns, from the first on, as tell the rows apart."""
    for count in range(1, len(columns)):
        if not table.duplicated(list(columns[:count])).any():
            return list(columns[:count])
    return list(columns)


def draw_law(title: str, table: pd.DataFrame) -> list[str]:
    """Return the exact law of the stack's depth beside the simulated one, for each winter that it is given for."""
    winters = table["winter"].unique() if "winter" in table.columns else [None]
    plots = []
    for winter in winters:
        part = table if winter is None else table[table["winter"] == winter]
        ends = [part[name].tolist() for name in ("simulated_low", "simulated_high") if name in part.columns]
        depth = part["depth"].tolist()
        curves = [
            Curve("simulated", depth, part["simulated"].tolist(), *ends),
            Curve("exact", depth, part["exact"].tolist()),
        ]
        heading = title if winter is None else f"{title}, winter {winter}"
        plots.append(curve_plot(heading, curves, "depth", "probability"))
    return plots


def draw_arrivals(table: pd.DataFrame) -> list[str]:
    """Return the chance that each winter has come by a turn, with pointwise intervals."""
    turns = table[table["measure"] == "turn"]
    curves = []
    for winter in sorted(turns["number"].dropna().unique()):
        steps = turns[turns["number"] == winter].sort_values("value")
        n = int(steps["games"].sum())
        shares = [proportion_estimate(int(count), n) for count in steps["games"].cumsum()]
        ends = ([share["ci"][end] for share in shares] for end in (0, 1))
        curves.append(Curve(f"winter {winter:g}", steps["value"].tolist(), [one["value"] for one in shares], *ends))
    title = "When the winters come: chance that it has come by a turn"
    return [curve_plot(title, curves, "turn, all players together", "chance")] if curves else []


def draw_more_turns(table: pd.DataFrame) -> list[str]:
    """Return the chance that a player has at least so many more turns after a winter."""
    curves = []
    for winter in table["winter"].unique():
        part = table[(table["winter"] == winter) & table["one_player_low"].notna()]
        names = ("one_player", "one_player_low", "one_player_high")
        curves.append(Curve(f"after winter {winter}", part["turns"].tolist(), *(part[name].tolist() for name in names)))
    title = "Turns that a player still has: chance of at least so many"
    return [curve_plot(title, curves, "own turns to come", "chance")]


def draw_pairs(title: str, table: pd.DataFrame) -> list[str]:
    """Return the forest plot of caves in pairs, in all deals, the better cave first."""
    part = table[(table["kind"] == "all") & table["win_share"].notna()]
    better = part["win_share"] >= 0
    first, second = part["a"].where(better, part["b"]), part["b"].where(better, part["a"])
    turned = part.assign(
        pair="cave " + first.astype(str) + " over " + second.astype(str),
        win_share=part["win_share"].abs(),
        win_share_low=part["win_share_low"].where(better, -part["win_share_high"]),
        win_share_high=part["win_share_high"].where(better, -part["win_share_low"]),
    )
    dots = ranked(dots_of(turned, "win_share", ["pair"]))
    return (
        [dot_plot(f"{title}: difference of the win share", dots, "paired by deal; solid: clear", 0.0)] if dots else []
    )


def is_label(table: pd.DataFrame, column: str) -> bool:
    """Return whether a column says what a row is about: words, or the number of a seat or the like."""
    if not pd.api.types.is_numeric_dtype(table[column]):
        return True
    return column in NUMBERED


def embed(path: Path) -> str:
    """Return a picture file as HTML without a link to it."""
    try:
        content = base64.b64encode(path.read_bytes()).decode()
    except OSError as error:
        raise DartmoorError(f"{path}: cannot be read: {error.strerror}") from error
    return f'<img alt="{escape(path.stem)}" src="data:{PICTURE_TYPES[path.suffix]};base64,{content}">'


# The page


def page(name: str, sections: Sequence[Section], pictures: Sequence[Sequence[str]]) -> str:
    """Return the whole page."""
    anchors = [f"section-{number}" for number in range(len(sections))]
    contents = [
        f'<li><a href="#{anchor}">{escape(section.title)}</a></li>'
        for anchor, section in zip(anchors, sections, strict=True)
    ]
    contents.append('<li><a href="#assumptions">assumptions</a></li>')
    versions = sorted({f"{one.manifest['version']}, engine {one.manifest['engine_version']}" for one in sections})
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=escape(f"Forest Shuffle: Dartmoor, simulated: {name}"),
        subtitle=escape(f"{PROGRAM} {'; '.join(versions)}"),
        contents="".join(contents),
        sections="\n".join(
            section_html(anchor, section, drawn)
            for anchor, section, drawn in zip(anchors, sections, pictures, strict=True)
        ),
        assumptions=assumptions_html(sections),
    )


def section_html(anchor: str, section: Section, pictures: Sequence[str]) -> str:
    """Return one section: what was run and how to repeat it, pictures, tables."""
    content = section.manifest
    policies = ", ".join(dict.fromkeys(str(one.get("name")) for one in content.get("policies", [])))
    facts = [f"{content['games']:,} games or deals", f"seed {content['seed']}"]
    facts += [f"deck {content['deck'].get('name')} ({str(content['deck'].get('hash'))[:12]})"]
    facts += [f"policies {policies}"] if policies else []
    facts += [f"made {content['created']}"] if "created" in content else []
    if "precision" in content["options"]:
        facts.append("intervals wider than 95 %, so that they hold at every look of --precision")
    parts = [f'<section id="{anchor}"><h2>{escape(section.title)}</h2>']
    parts.append(f'<p class="soft">{escape("; ".join(facts))}</p>')
    parts.append(f"<p>Repeat every number of this section with</p><pre>{escape(command_line(content))}</pre>")
    if content["options"].get("own_caves"):
        parts.append("<p>The caves were the user's own: <b>--caves-file</b> must name that file (CSV).</p>")
    if section.command in READING:
        parts.append(f"<p>{READING[section.command]}</p>")
    if pictures:
        figures = "".join(f"<figure>{picture}</figure>" for picture in pictures)
        parts.append(f'<div class="pictures">{figures}</div>')
    for number, (name, table) in enumerate(section.tables.items()):
        parts.append(table_html(f"{anchor}-table-{number}", name, table))
    return "".join(parts) + "</section>"


def command_line(content: dict[str, Any]) -> str:
    """Return the command that makes a results directory again, from its manifest."""
    options = dict(content["options"])
    words = [PROGRAM, str(options.get("command", ""))]
    names = [str(one.get("name")) for one in content.get("policies", [])]
    if names and not {"policies", "tables"} & set(options):
        options["policies"] = ",".join(names)
    found = {
        "games": None if "precision" in options else content["games"],
        "seed": content["seed"],
        "deck": None if content["deck"].get("name") == REFERENCE else content["deck"].get("name"),
        "icon": _assumed(content, ICON),
        "ruling": _assumed(content, RULING),
    }
    for key in ("icon", "ruling"):
        if f"{key}s" in options:
            options[key] = [f"{name}={value}" for name, value in options.pop(f"{key}s").items()]
    if options.pop("own_caves", None):
        options.setdefault("caves_file", CAVES_FILE)
    for key, value in {**found, **options}.items():
        if key != "command":
            words += option_words(key, value)
    return " ".join([*words, "--out", "DIR"])


def _assumed(content: dict[str, Any], pattern: re.Pattern[str]) -> list[str]:
    """Return `name=value` for each assumption that differs from the default."""
    found = (pattern.match(str(line)) for line in content.get("assumptions", []))
    return [f"{match[1]}={match[2]}" for match in found if match]


def option_words(key: str, value: object) -> list[str]:
    """Return an option of a manifest as words of a command line; a list is the option given several times."""
    if value is None or value is False:
        return []
    if isinstance(value, list):
        return [word for one in value for word in option_words(key.removesuffix("s"), one)]
    name = f"--{key.replace('_', '-')}"
    if value is True:
        return [name]
    return [name, shlex.quote(str(value))]


def assumptions_html(sections: Iterable[Section]) -> str:
    """Return the assumptions of all sections; those that not all share name their sections."""
    sections = list(sections)
    holders: dict[str, list[str]] = {}
    for section in sections:
        for line in section.manifest.get("assumptions", []):
            holders.setdefault(str(line), []).append(section.title)
    if not holders:
        return "<p>Nothing: all of it is published.</p>"
    items = []
    for line, titles in holders.items():
        only = "" if len(titles) == len(sections) else f' <span class="soft">(only {"; ".join(titles)})</span>'
        items.append(f"<li>{escape(line)}{only}</li>")
    return "<ul>" + "".join(items) + "</ul>"


# Tables


def estimates_in(table: pd.DataFrame) -> list[str]:
    """Return the names of the estimates of a tidy frame: columns with their standard error and ends beside them."""
    columns = set(table.columns)
    return [name for name in table.columns if all(f"{name}{suffix}" in columns for suffix in SUFFIXES)]


def estimate_columns(table: pd.DataFrame) -> set[str]:
    """Return all columns that belong to estimates."""
    return {f"{name}{suffix}" for name in estimates_in(table) for suffix in ("", *SUFFIXES)}


def table_html(anchor: str, name: str, table: pd.DataFrame) -> str:
    """Return one table with its heading; long ones are folded away."""
    shown = table.head(MOST_ROWS)
    estimates = set(estimates_in(table))
    hidden = estimate_columns(table) - estimates
    same = constant_columns(table)
    columns = [column for column in table.columns if column not in hidden and column not in same]
    numeric = {column for column in columns if pd.api.types.is_numeric_dtype(table[column])}
    head = "".join(head_html(column, column in numeric) for column in columns)
    rows = shown.to_dict("records")
    body = "".join(
        "<tr>" + "".join(cell_html(row, column, column in estimates, column in numeric) for column in columns) + "</tr>"
        for row in rows
    )
    note = f"{len(table):,} rows" + (f", the first {MOST_ROWS:,} here" if len(table) > MOST_ROWS else "")
    note += "".join(f"; {column.replace('_', ' ')} {value}" for column, value in same.items())
    search = (
        f'<input type="search" placeholder="search" aria-label="search {escape(name)}" data-table="{anchor}"><br>'
        if len(shown) > SEARCH_ROWS
        else ""
    )
    content = (
        f'{search}<div class="scroll" tabindex="0" role="region" aria-label="table {escape(name)}">'
        f'<table id="{anchor}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )
    heading = f'<h3>{escape(name.replace("_", " "))} <span class="soft">{escape(name)}.csv, {note}</span></h3>'
    if len(table) > OPEN_ROWS:
        return f"{heading}<details><summary>show the table</summary>{content}</details>"
    return heading + content


def loose_columns(table: pd.DataFrame) -> list[str]:
    """Return the columns that say what a row is about."""
    return [column for column in table.columns if column not in estimate_columns(table) and is_label(table, column)]


def constant_columns(table: pd.DataFrame) -> dict[str, Any]:
    """Return the columns that say the same in every row, such as the number of players, and what; none of one row."""
    if len(table) < 2:
        return {}
    loose = loose_columns(table)
    return {column: table[column].iloc[0] for column in loose if table[column].nunique(dropna=False) == 1}


def head_html(column: str, is_number: bool) -> str:
    """Return the head of a column, a button that sorts."""
    button = f'<button type="button">{escape(column.replace("_", " "))}</button>'
    return f'<th scope="col" aria-sort="none"{NUMBER if is_number else ""}>{button}</th>'


def cell_html(row: Mapping[Any, Any], column: str, is_estimate: bool, is_number: bool) -> str:
    """Return one cell; an estimate carries its interval and number of observations."""
    value = row[column]
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return f"<td{NUMBER if is_number else ''}>–</td>"
    if not is_number:
        return f"<td>{escape(str(value))}</td>"
    if is_estimate:
        text = estimate_text(row, column)
    else:
        text = chance_text(value) if CHANCES.search(column) else number_text(value)
    return f'<td class="number" data-value="{value!r}">{text}</td>'


def estimate_text(row: Mapping[Any, Any], column: str) -> str:
    """Return an estimate with its interval and number of observations as HTML, to as many digits as it deserves."""
    value, low, high, n = (row[f"{column}{part}"] for part in ("", "_low", "_high", "_n"))
    count = f"n {int(n):,}" if pd.notna(n) else ""
    if pd.isna(low) or pd.isna(high):
        return f'{number_text(value)}<span class="interval">{count}</span>'
    digits = digits_for((high - low) / 2)
    ends = f"{low:,.{digits}f} to {high:,.{digits}f}"
    return f'{value:,.{digits}f}<span class="interval">{ends}<br>{count}</span>'


def digits_for(half: float) -> int:
    """Return the decimals that show two digits of an interval's half width."""
    return max(0, min(8, 1 - math.floor(math.log10(half)))) if half > 0 else DIGITS


def chance_text(value: float) -> str:
    """Return a p- or q-value; more digits than these say nothing."""
    return f"{value:.3f}" if value >= LEAST_CHANCE else f"&lt; {LEAST_CHANCE}"


def number_text(value: float) -> str:
    """Return a number: whole ones in full, others to `DIGITS` significant digits."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{DIGITS}g}"
