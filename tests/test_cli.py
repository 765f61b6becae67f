"""The commands as a user meets them: documents, tables, files, and one line for every mistake."""

import json
from pathlib import Path

import numpy as np
import pytest

from sim import ENGINE_VERSION

EXAMPLES = Path(__file__).parent / "data" / "examples.json"
ESTIMATE = {"value", "se", "ci", "n"}


def timeless(document: dict) -> dict:
    """Drop what may differ between two runs of the same games."""
    return {key: value for key, value in document.items() if key not in ("seconds", "games_per_second")}


def test_simulate_json_has_the_promised_keys(dartmoor) -> None:
    result = dartmoor("simulate", "--games", 300, "--policies", "greedy,random", "--seed", 1, "--json")
    document = result.document
    assert result.code == 0
    assert (document["games"], document["players"], document["seed"]) == (300, 2, 1)
    assert (document["engine_version"], document["deck"]) == (ENGINE_VERSION, "reference")
    greedy, random = document["seats"]
    assert set(greedy["win_share"]) == ESTIMATE and greedy["policy"] == "greedy" and greedy["cave"] == "draft"
    assert greedy["win_share"]["value"] + random["win_share"]["value"] == pytest.approx(1)
    assert {"sd", "quantiles"} <= set(greedy["score"])
    assert set(document["length"]) == {"turns", "rounds", "stack_left"}
    assert [winter["winter"] for winter in document["winter"]] == [1, 2, 3]
    assert document["winter"][0]["stack_left"]["quantiles"] == {"5": 44, "25": 44, "50": 44, "75": 44, "95": 44}
    assert sum(document["endings"].values()) == 300
    assert len(document["species"]) == 66 and {"played", "in_final_forest", "points"} <= set(
        document["species"]["gnat"]
    )
    assert "assumed" in result.err and "reconstructed" in result.err


def test_species_points_and_caves_add_up_to_the_scores(dartmoor) -> None:
    document = dartmoor("simulate", "--games", 200, "--policies", "plain", "--caves", "1,3", "--json").document
    species = sum(part["points"]["value"] for part in document["species"].values())
    scores = sum(seat["score"]["value"] for seat in document["seats"])
    assert 0 < scores - species < 40  # what is left are the caves' cards
    assert [cave["cave"] for cave in document["caves"]] == [1, 3]


def test_threads_change_nothing(dartmoor) -> None:
    arguments = ("simulate", "--games", 3000, "--policies", "random", "--players", 3, "--seed", 9, "--json")
    one, two = (dartmoor(*arguments, "--threads", threads).document for threads in (1, 2))
    assert timeless(one) == timeless(two)


def test_results_directory_holds_manifest_tables_and_games(dartmoor, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    arguments = ("--policies", "greedy,random", "--seed", 1)
    assert dartmoor("simulate", "--games", 80, *arguments, "--out", tmp_path, "--games-out").code == 0
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["games"] == 80 and manifest["seed"] == 1 and manifest["engine_version"] == ENGINE_VERSION
    assert [policy["name"] for policy in manifest["policies"]] == ["greedy", "random"]
    assert manifest["deck"]["name"] == "reference" and manifest["assumptions"]
    assert (tmp_path / "summary.csv").read_text().count("\n") == 3
    row = parquet.read_table(tmp_path / "games.parquet").to_pylist()[77]
    replay = dartmoor("replay", *arguments, "--game", 77, "--json").document[0]
    assert [row["seat_0_score"], row["seat_1_score"]] == replay["scores"]
    assert [row[f"winter_{k}_turn"] for k in (1, 2, 3)] == replay["winter_turns"]
    assert (row["game"], row["turns"], row["ending"]) == (77, replay["turns"], replay["ending"])
    played = sum(value for key, value in row.items() if key.startswith("played_"))
    forests = [habitat for forest in replay["forests"]["players"] for habitat in forest["habitats"]]
    moors = sum(habitat["card"] == "universal_moor" for habitat in forests)
    guests = sum(len(value) for habitat in forests for value in habitat.values() if isinstance(value, list))
    assert played == len(forests) - moors + guests
    assert not list(tmp_path.glob(".*"))


def test_replay_in_words_is_the_same_twice_and_ends_with_the_sheet(dartmoor) -> None:
    arguments = ("replay", "--policies", "greedy,random", "--seed", 1, "--game", 7)
    first, second = dartmoor(*arguments), dartmoor(*arguments)
    assert first.out == second.out and first.code == 0
    document = dartmoor(*arguments, "--json").document[0]
    running = [line for line in first.out.splitlines() if line.startswith("  score:")]
    assert running[-1] == f"  score: seat 0 (greedy) {document['scores'][0]}, seat 1 (random) {document['scores'][1]}"
    assert "Final scoring" in first.out and "winter 3" in first.out
    assert first.out.count("\nTurn ") == document["turns"]


def test_replay_of_a_deal_is_the_game_of_its_seed(dartmoor, tmp_path: Path) -> None:
    deals = []
    for game in (0, 1):
        path = tmp_path / f"deal{game}.json"
        path.write_text(dartmoor("deal", "--players", 3, "--seed", 5, "--game", game).out)
        deals.append(path)
    replayed = dartmoor("replay", "--policies", "plain", "--json", "--deal", deals[0], deals[1]).document
    for game, document in enumerate(replayed):
        arguments = ("--players", 3, "--seed", 5, "--game", game, "--policies", "plain", "--json")
        assert dartmoor("replay", *arguments).document == [document]


def test_score_agrees_with_every_worked_example(dartmoor, tmp_path: Path) -> None:
    examples = json.loads(EXAMPLES.read_text())
    paths = []
    for example in examples:
        paths.append(tmp_path / f"{example['id']}.json")
        paths[-1].write_text(json.dumps(example["doc"]))
    for example, score in zip(examples, dartmoor("score", *paths, "--json").document, strict=True):
        player = score["players"][0]
        points = {line["species"]: line["points"] for line in player["lines"]}
        dragonflies = sum(points.get(key, 0) for key in points if key.endswith(("damselfly", "demoiselle", "skimmer")))
        for key, expected in example["expected"].items():
            found = {"dragonflies": dragonflies, "cave": player["cave"]}.get(key, points.get(key))
            assert found == expected, (example["id"], key)
        if "expected_total" in example:
            assert player["total"] == example["expected_total"]


def test_final_forests_score_what_the_game_says(dartmoor, tmp_path: Path) -> None:
    document = dartmoor("replay", "--policies", "random", "--players", 4, "--seed", 3, "--json").document[0]
    path = tmp_path / "table.json"
    path.write_text(json.dumps(document["forests"]))
    score = dartmoor("score", path, "--json").document
    assert [player["total"] for player in score["players"]] == document["scores"]


def test_deck_commands(dartmoor, tmp_path: Path) -> None:
    csv = dartmoor("deck", "show", "--csv").out
    assert csv.count("\n") == 173 and csv == dartmoor("deck", "build").out
    path = tmp_path / "deck.csv"
    assert dartmoor("deck", "build", "--seed", 7, "--out", path).code == 0
    assert dartmoor("deck", "check", path).code == 0
    assert dartmoor("simulate", "--games", 20, "--policies", "random", "--deck", path, "--json").document[
        "deck"
    ] == str(path)
    assert dartmoor("deck", "check", path, "--json").document["warnings"] == []
    assert dartmoor("deck", "template").out.startswith("id,kind,")


def test_rulings_and_icons_change_games(dartmoor) -> None:
    arguments = ("simulate", "--games", 200, "--policies", "random", "--seed", 2, "--json")
    default = dartmoor(*arguments).document
    for option in (("--ruling", "second_draw=forced"), ("--icon", "shrew=pawed")):
        assert dartmoor(*arguments, *option).document["seats"] != default["seats"]


def error_lines(result) -> list[str]:
    """Return what a command wrote to stderr, but for the notice of a first compilation."""
    return [line for line in result.err.splitlines() if "compiling" not in line]


def broken_deck(tmp_path: Path, dartmoor, change) -> Path:
    """Write the reference deck with its lines changed."""
    lines = dartmoor("deck", "show", "--csv").out.splitlines()
    path = tmp_path / "broken.csv"
    path.write_text("\n".join(change(lines)) + "\n")
    return path


def with_line(lines: list[str], number: int, old: str, new: str) -> list[str]:
    """Replace text in one line."""
    assert old in lines[number]
    return [line.replace(old, new) if i == number else line for i, line in enumerate(lines)]


def swap_halves(lines: list[str], number: int) -> list[str]:
    """Exchange the first and the second half of one card."""
    cells = lines[number].split(",")
    cells[2:4], cells[4:6] = cells[4:6], cells[2:4]
    return [*lines[:number], ",".join(cells), *lines[number + 1 :]]


MISTAKES = [
    (("simulate", "--policies", "clever"), "greedy"),
    (("simulate", "--policies", "greedy,random,random"), "3 names for 2 players"),
    (("simulate", "--players", "1"), "expected 2 to 5"),
    (("simulate", "--players", "6"), "expected 2 to 5"),
    (("simulate", "--games", "0"), "--games: 0"),
    (("simulate", "--seed", "-1"), "--seed: -1"),
    (("simulate", "--threads", "0"), "--threads: 0"),
    (("simulate", "--caves", "7,1"), "expected draft, random or a list from 1, 2, 3, 4, 5"),
    (("simulate", "--caves", "1,1"), "named twice"),
    (("simulate", "--caves", "1"), "1 caves for 2 players"),
    (("simulate", "--ruling", "cuckoo=many"), "cuckoo_per_habitat"),
    (("simulate", "--ruling", "cuckoo_per_habitat=three"), "one, many"),
    (("simulate", "--ruling", "cuckoo_per_habitat"), "name=value"),
    (("simulate", "--icon", "shrew=plant"), "mouse, pawed, insect"),
    (("simulate", "--deck", "nowhere.csv"), "path of a deck file"),
    (("simulate", "--games-out"), "--out"),
    (("replay", "--game", "-1"), "--game: -1"),
    (("replay", "--deal", "nowhere.json"), "cannot be read"),
    (("deal", "--players", "6"), "expected 2 to 5"),
    (("score", "nowhere.json"), "nowhere.json"),
]


@pytest.mark.parametrize(("arguments", "hint"), MISTAKES, ids=[" ".join(arguments) for arguments, _ in MISTAKES])
def test_a_mistake_is_one_line_and_code_2(dartmoor, arguments, hint) -> None:
    result = dartmoor(*arguments)
    assert result.code == 2 and result.out == ""
    (line,) = error_lines(result)
    assert line.startswith("error: ") and hint in line


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        (lambda lines: lines[:-1], "171"),
        (lambda lines: with_line(lines, 172, "wet_woodland", "warrens"), "copies of"),
        (lambda lines: swap_halves(lines, 95), "bog_asphodel"),
        (lambda lines: with_line(lines, 95, "small_red_damselfly", "dragon"), "dragon"),
    ],
    ids=["171 cards", "one copy too many", "halves of the wrong kind", "unknown species"],
)
def test_a_broken_deck_is_refused_and_nothing_written(dartmoor, tmp_path: Path, change, hint) -> None:
    path = broken_deck(tmp_path, dartmoor, change)
    result = dartmoor("simulate", "--games", 10, "--deck", path, "--out", tmp_path / "out")
    assert result.code == 2 and hint in result.err and result.out == ""
    assert not (tmp_path / "out").exists()
    assert dartmoor("deck", "check", path).code == 2


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{", "JSON"),
        ('{"players": [{"name": "A", "habitats": [{"card": "oak"}]}]}', "sessile_oak"),
        ('{"players": [{"name": "A", "habitats": [{"card": "tor", "left": ["gnat"]}]}]}', "left"),
        ('{"players": []}', "players"),
    ],
)
def test_a_broken_forest_file_is_refused(dartmoor, tmp_path: Path, text: str, hint: str) -> None:
    path = tmp_path / "table.json"
    path.write_text(text)
    result = dartmoor("score", path)
    (line,) = error_lines(result)
    assert result.code == 2 and hint in line and "table.json" in line


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        (lambda deal: deal["stack"].pop(), "card"),
        (lambda deal: deal["stack"].__setitem__(0, "D999"), "D999"),
        (lambda deal: deal["caves"].__setitem__(0, 9), "caves[0]"),
        (lambda deal: deal.__setitem__("first", 2), "first"),
        (lambda deal: deal.pop("box"), "'box' is missing"),
    ],
)
def test_a_broken_deal_is_refused(dartmoor, tmp_path: Path, change, hint: str) -> None:
    deal = dartmoor("deal", "--seed", 1).document
    change(deal)
    path = tmp_path / "deal.json"
    path.write_text(json.dumps(deal))
    result = dartmoor("replay", "--deal", path, "--policies", "plain")
    assert result.code == 2 and hint in result.err and "deal.json" in result.err


def test_every_command_has_help_with_an_example(dartmoor) -> None:
    names = [
        line.split()[1] for line in dartmoor("--help").out.splitlines() if line.startswith("│ ") and line[2:3].isalpha()
    ]
    assert {"simulate", "replay", "score", "deal", "deck"} <= set(names)
    for name in names:
        text = dartmoor(name, "--help").out
        if "Commands" not in text:
            assert "Example: dartmoor" in text, name
            assert "--json" in text, name
            assert "--seed" in text or name == "report", name


def test_quantiles_and_means_are_of_the_same_games(dartmoor, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    result = dartmoor("simulate", "--games", 150, "--policies", "random", "--out", tmp_path, "--games-out", "--json")
    rows = pandas.read_parquet(tmp_path / "games.parquet")
    seat = result.document["seats"][0]
    assert seat["score"]["value"] == pytest.approx(rows.seat_0_score.mean())
    assert seat["score"]["sd"] == pytest.approx(rows.seat_0_score.std())
    assert seat["score"]["quantiles"]["50"] == int(np.quantile(rows.seat_0_score, 0.5, method="inverted_cdf"))
