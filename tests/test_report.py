"""The report: one page that stands by itself, says everything that the directory holds, and how to make it again."""

import json
import re
import shlex
from html.parser import HTMLParser
from xml.etree import ElementTree

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from experiments import report, report_pictures
from experiments.cli import app as whole_app
from experiments.commands import report as command
from experiments.files import manifest, read_manifest, write_manifest
from experiments.report_pictures import Curve, Dot, curve_plot, dot_plot, heatmap, nice_ticks, tick_text
from experiments.results import tidy
from sim.data_files import DATA
from sim.errors import DartmoorError

VOID = {"meta", "link", "br", "input", "img"}
ASSUMED = ["deck reference: pairing reconstructed", "icon shrew: pawed (default mouse)"]
NASTY = '<script>alert("x")</script>'


def share(value, half=0.02, n=1000):
    return {"value": value, "se": half / 2, "ci": [value - half, value + half], "n": n}


def write_results(directory, frames, command="winrate", listed=True, assumptions=tuple(ASSUMED), players=2, **options):
    directory.mkdir(parents=True, exist_ok=True)
    for name, frame in frames.items():
        frame.to_csv(directory / f"{name}.csv", index=False)
    content = manifest(
        seed=7,
        games=1000,
        options={"command": command, "players": players, **options},
        deck={"name": "reference", "hash": "ab" * 32},
        assumptions=list(assumptions),
        policies=[{"name": "greedy", "hash": "cd" * 32}, {"name": "random", "hash": "ef" * 32}],
    )
    write_manifest(directory, {**content, **({"tables": [f"{name}.csv" for name in frames]} if listed else {})})


def matrix():
    names = ("greedy", "random")
    return tidy(
        {"players": 2, "row": a, "column": b, "win_share": share(0.5 if a == b else 0.9 if a == "greedy" else 0.1)}
        for a in names
        for b in names
    )


class Page(HTMLParser):
    """What a browser would find: tags that close, tables with their rows, links and texts."""

    def __init__(self, text):
        super().__init__()
        self.open, self.links, self.ids, self.rows, self.heads, self.texts = [], [], [], 0, 0, []
        self.tags = []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        found = dict(attributes)
        self.links += [found[name] for name in ("src", "href", "action", "data") if name in found]
        self.ids += [found["id"]] if "id" in found else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data):
        self.texts.append(data)

    def count(self, tag):
        return sum(name == tag for name, _ in self.tags)


@pytest.fixture
def directory(tmp_path):
    species = tidy(
        {"species": f"species_{k}", "iih_turn": share(0.01 * k - 0.1), "q": 0.2 - 0.01 * k} for k in range(30)
    )
    write_results(tmp_path / "run", {"summary": matrix(), "species": species})
    return tmp_path / "run"


def read_page(directory):
    return Page((directory / report.REPORT).read_text(encoding="utf-8"))


def test_page_holds_everything_and_needs_no_network(directory):
    written = report.write_report(directory)
    assert written == {"report": f"{directory.as_posix()}/report.html", "sections": 1, "tables": 2, "pictures": 2}
    page = read_page(directory)
    assert page.count("table") == 2 and page.count("tr") == 2 + 4 + 30 and page.count("svg") == 2
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    text = (directory / report.REPORT).read_text(encoding="utf-8")
    assert text.replace("http://www.w3.org/2000/svg", "").count("http") == 1  # the security policy's http-equiv
    assert "default-src 'none'" in text and "$" not in text.replace("${", "")


def test_page_is_the_same_each_time(directory):
    report.write_report(directory)
    first = (directory / report.REPORT).read_bytes()
    report.write_report(directory)
    assert (directory / report.REPORT).read_bytes() == first


def test_every_column_can_be_sorted_by_value(directory):
    report.write_report(directory)
    page = read_page(directory)
    heads = [found for tag, found in page.tags if tag == "th"]
    assert heads and all(found["aria-sort"] == "none" and found["scope"] == "col" for found in heads)
    assert page.count("button") == len(heads)
    values = [found["data-value"] for tag, found in page.tags if tag == "td" and "data-value" in found]
    assert {float(value) for value in values} >= {0.9, 0.1, 0.5}


def test_estimates_show_interval_and_number(directory):
    report.write_report(directory)
    text = " ".join(read_page(directory).texts)
    assert "0.900" in text and "0.880 to 0.920" in text and "n 1,000" in text
    assert "summary.csv, 4 rows; players 2" in text and "iih turn se" not in text


def test_texts_are_escaped(tmp_path):
    frame = tidy([{"policy": NASTY, "win_share": share(0.5)}, {"policy": "b&b", "win_share": share(0.6)}])
    write_results(tmp_path, {"summary": frame}, assumptions=[NASTY])
    report.write_report(tmp_path)
    page = read_page(tmp_path)
    assert page.count("script") == 1 and NASTY in page.texts


def test_assumptions_and_command_are_there(tmp_path):
    options = {"precision": 0.01, "max_games": 5000, "no_causal": True, "ruling": ["swap_to=discard"], "caves": "draft"}
    write_results(tmp_path / "a", {"summary": matrix()}, "cards", policies="greedy,random", **options)
    write_results(tmp_path / "b", {"summary": matrix()}, "winrate", assumptions=ASSUMED[:1], games=500)
    report.write_report(tmp_path)
    text = " ".join(read_page(tmp_path).texts)
    assert all(line in text for line in ASSUMED)
    assert "(only cards · 2 players · a)" in text
    assert text.count("every look of --precision") == 1
    assert (
        "dartmoor cards --seed 7 --icon shrew=pawed --ruling swap_to=discard --players 2 --policies greedy,random "
        "--precision 0.01 --max-games 5000 --no-causal --caves draft --out DIR" in text
    )
    assert "dartmoor winrate --games 500 --seed 7 --players 2 --policies greedy,random --out DIR" in text


@pytest.mark.parametrize(
    "key, value, words",
    [
        ("games", 10, ["--games", "10"]),
        ("max_games", 5, ["--max-games", "5"]),
        ("plot", True, ["--plot"]),
        ("plot", False, []),
        ("out", None, []),
        ("tables", ["a,b", "a,c"], ["--table", "a,b", "--table", "a,c"]),
        ("policies", "my file.py:bot", ["--policies", "'my file.py:bot'"]),
    ],
)
def test_options_become_words(key, value, words):
    assert report.option_words(key, value) == words


COMMANDS = {
    "simulate": "--policies greedy,random",
    "cards": "--no-causal",
    "winrate": "--policies greedy,random",
    "winter": "",
    "caves": "",
    "tournament": "--policies greedy,random",
}
WORLDS = {
    "default": ("", []),
    "changed": (
        "--ruling swap_to=discard --icon shrew=pawed --icon bog_asphodel=tree|shrub",
        ["--ruling swap_to=discard", "--icon shrew=pawed", "--icon 'bog_asphodel=tree|shrub'"],
    ),
}


def options_of_help(name):
    """Return the options that a command's own help names."""
    text = CliRunner().invoke(whole_app, [name, "--help"], env={"COLUMNS": "300"}, catch_exceptions=False).stdout
    return set(re.findall(r"--[a-z][a-z-]*", text))


def played(name, directory, options):
    """Return the command to repeat a short run of a command, and the words of its section."""
    words = [name, "--games", "4", "--threads", "1", "--out", str(directory), *COMMANDS[name].split(), *options]
    run = CliRunner().invoke(whole_app, words, catch_exceptions=False)
    assert run.exit_code == 0, run.output
    report.write_report(directory)
    return report.command_line(read_manifest(directory)), " ".join(read_page(directory).texts)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("world", WORLDS)
def test_repeat_command_has_options_of_its_command_only(name, world, tmp_path):
    given, expected = WORLDS[world]
    line, text = played(name, tmp_path / "run", given.split())
    printed = re.findall(r"--[a-z][a-z-]*", line)
    assert set(printed) <= options_of_help(name) and "{" not in line and line in text
    assert all(words in line for words in expected)
    assert printed.count("--ruling") + printed.count("--icon") == len(expected) and "--caves-file" not in printed
    again = shlex.split(line.replace("--out DIR", f"--out {tmp_path / 'again'}"))[1:]
    assert CliRunner().invoke(whole_app, again, catch_exceptions=False).exit_code == 0
    first, second = (read_manifest(tmp_path / part)["options"] for part in ("run", "again"))
    assert all(first[key] == second[key] for key in ("rulings", "icons", "own_caves", "players"))
    for path in (tmp_path / "run").glob("*.csv"):
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


@pytest.mark.parametrize("name, file", [("simulate", "FILE"), ("winter", "own.csv")])
def test_repeat_command_with_own_caves_asks_for_their_file(name, file, tmp_path):
    path = tmp_path / "own.csv"
    path.write_text((DATA / "caves.csv").read_text(encoding="utf-8").replace("draw 1,", "draw 2,", 1), encoding="utf-8")
    line, text = played(name, tmp_path / "run", ["--caves-file", str(path)])
    assert f"--caves-file {file} " in line and "own" not in line.replace(file, "")
    assert "The caves were the user's own" in text


def test_tables_without_a_list_in_the_manifest_are_found(tmp_path):
    write_results(tmp_path, {"ratings": matrix(), "summary": matrix()}, listed=False)
    assert list(report.read_section(tmp_path, tmp_path).tables) == ["summary", "ratings"]


def test_long_tables_are_folded_and_cut(tmp_path):
    rows = report.MOST_ROWS + 5
    write_results(tmp_path, {"summary": pd.DataFrame({"name": [f"n{k}" for k in range(rows)], "x": range(rows)})})
    report.write_report(tmp_path)
    page = read_page(tmp_path)
    assert page.count("details") == 1 and page.count("tr") == 1 + report.MOST_ROWS
    assert any(f"{rows:,} rows, the first {report.MOST_ROWS:,} here" in text for text in page.texts)


def test_gaps_are_shown_as_gaps(tmp_path):
    frame = pd.DataFrame({"name": ["a", "b", None], "x": [1.5, None, 2.0], "x_q": [0.00001, 0.04, None]})
    write_results(tmp_path, {"summary": frame})
    report.write_report(tmp_path)
    texts = [text for text in read_page(tmp_path).texts if text.strip()]
    assert texts.count("–") == 3 and "< 0.001" in texts and "0.040" in texts


def test_picture_files_serve_where_nothing_is_drawn(tmp_path):
    write_results(tmp_path, {"summary": pd.DataFrame({"name": ["a"], "x": [1]})})
    (tmp_path / "curves.png").write_bytes(b"\x89PNG")
    content = json.loads((tmp_path / "manifest.json").read_text())
    write_manifest(tmp_path, {**content, "pictures": ["curves.png"]})
    assert report.write_report(tmp_path)["pictures"] == 1
    assert "data:image/png;base64,iVBORw==" in read_page(tmp_path).links
    (tmp_path / "curves.png").unlink()
    with pytest.raises(DartmoorError, match="curves.png: is missing"):
        report.write_report(tmp_path)


def test_refusals_name_the_place(tmp_path):
    with pytest.raises(DartmoorError, match="nowhere: is no directory"):
        report.write_report(tmp_path / "nowhere")
    with pytest.raises(DartmoorError, match="no manifest.json in it or below it"):
        report.write_report(tmp_path)
    write_results(tmp_path, {"summary": matrix()})
    (tmp_path / "summary.csv").write_text('a,b\n"1,2\n')
    with pytest.raises(DartmoorError, match="summary.csv: cannot be read"):
        report.write_report(tmp_path)
    (tmp_path / "summary.csv").unlink()
    with pytest.raises(DartmoorError, match="summary.csv: cannot be read"):
        report.write_report(tmp_path)


# Pictures


def parse(svg):
    return ElementTree.fromstring(svg)


def find(svg, tag):
    return parse(svg).findall(f".//{{http://www.w3.org/2000/svg}}{tag}")


def test_dot_plot_draws_every_dot_in_its_interval():
    dots = [Dot("a & b", 0.2, 0.1, 0.4), Dot("c" * 80, -0.1, -0.3, 0.0, solid=False)]
    svg = dot_plot("A long title " * 8, dots, "difference", 0.0)
    circles, lines = find(svg, "circle"), find(svg, "line")
    intervals = [line for line in lines if line.get("class") == "interval"]
    assert [circle.get("class") for circle in circles] == ["dot", "dot hollow"]
    for circle, line in zip(circles, intervals, strict=True):
        assert 0 < float(line.get("x1")) < float(circle.get("cx")) < float(line.get("x2")) <= report_pictures.WIDTH
    assert "…" in "".join(parse(svg).itertext())


def test_dot_plot_of_equal_values_has_an_axis():
    assert find(dot_plot("t", [Dot("a", 1.0, 1.0, 1.0)], "x"), "circle")


def test_heatmap_has_a_cell_for_each_pair():
    svg = report.draw_matrix("matrix", matrix())[0]
    assert len(find(svg, "rect")) == 4
    assert "90.0" in "".join(parse(svg).itertext())
    assert len(find(heatmap("t", ["a", "b"], ["a", "b"], {("a", "b"): Dot("a b", 0.5, 0.4, 0.6)}), "rect")) == 1


def test_heatmap_of_one_number_of_players_knows_it_from_the_manifest(tmp_path):
    write_results(tmp_path, {"summary": matrix().drop(columns="players")}, players=4)
    (picture,) = report.draw(report.read_section(tmp_path, tmp_path))
    assert "4 players" in picture and report_pictures.shade_colour(report_pictures.shade(0.5, 0.25)) in picture


def test_labels_are_as_short_as_tells_rows_apart():
    table = pd.DataFrame({"cave": [1, 2], "effect": ["draw 1", "points 5"], "seat": [0, 0]})
    assert report.shortest_labels(table, ["cave", "effect"]) == ["cave"]
    assert report.shortest_labels(table, ["seat", "cave"]) == ["seat", "cave"]


def test_curves_of_the_exact_law():
    law = pd.DataFrame({"depth": range(5), "exact": [0.1, 0.2, 0.4, 0.2, 0.1], "simulated": [0.1, 0.2, 0.4, 0.2, 0.1]})
    (svg,) = report.draw_table("law", law)
    assert len(find(svg, "polyline")) == 2
    flat = curve_plot("flat", [Curve("a", [1, 2], [0, 0])], "x", "y")
    assert len(find(flat, "polyline")) == 1


def test_winter_curves_have_bands():
    counts = [{"measure": "turn", "number": w, "value": 10 * w + k, "games": 5} for w in (1, 2, 3) for k in range(4)]
    (svg,) = report.draw_table("distributions", pd.DataFrame(counts))
    assert len(find(svg, "polyline")) == len(find(svg, "polygon")) == 3
    more = tidy({"winter": w, "turns": k, "one_player": share(0.9 - k / 5)} for w in (1, 2) for k in range(4))
    (svg,) = report.draw_table("more_turns", more)
    assert len(find(svg, "polygon")) == 2


def test_cave_pairs_have_the_better_one_first():
    rows = [{"kind": "all", "a": 1, "b": 2, "win_share": share(-0.2), "p_holm": 0.001}]
    rows += [{"kind": "hand", "a": 1, "b": 2, "win_share": share(0.1), "p_holm": 1.0}]
    (svg,) = report.draw_table("pairs", tidy(rows))
    assert "cave 2 over 1" in "".join(parse(svg).itertext()) and len(find(svg, "circle")) == 1
    assert float(find(svg, "circle")[0].get("cx")) > report_pictures.WIDTH / 2


def test_colours_stand_for_the_distance_from_the_fair_share():
    shades = [report_pictures.shade(share, 0.25) for share in (0, 0.25, 1)]
    assert shades == [-1, 0, 1]
    assert report_pictures.shade_colour(0) == "#f4f4f0"
    assert len({report_pictures.shade_colour(shade) for shade in shades}) == 3


def test_measures_are_drawn_apart():
    rows = [{"winter": k, "measure": m, "mean": share(50 + k)} for k in (1, 2, 3) for m in ("turn", "round")]
    plots = report.draw_table("winters", tidy(rows))
    assert len(plots) == 2 and "winter 1" in "".join(parse(plots[0]).itertext())


@pytest.mark.parametrize("low, high", [(0, 1), (-0.031, 0.052), (3, 3), (0, 1e6), (0.5, 0.5001)])
def test_ticks_are_round_and_span_the_range(low, high):
    ticks = nice_ticks(low, high)
    assert 2 <= len(ticks) <= 12
    texts = [tick_text(tick, ticks) for tick in ticks]
    assert len(set(texts)) == len(texts)


# The command


@pytest.fixture
def app():
    found = typer.Typer()
    found.callback()(lambda: None)
    command.register(found)
    return found


def test_command_says_what_it_wrote(app, directory):
    run = CliRunner().invoke(app, ["report", str(directory), "--json"], catch_exceptions=False)
    assert json.loads(run.stdout)["pictures"] == 2
    run = CliRunner().invoke(app, ["report", str(directory)], catch_exceptions=False)
    assert "report.html: 1 sections, 2 tables, 2 pictures" in run.stdout
    assert "Example: dartmoor report" in " ".join(CliRunner().invoke(app, ["report", "--help"]).stdout.split())
