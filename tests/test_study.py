"""The study: its parts can be resumed, its tables read again, and its page says only what intervals support."""

import json
import math

import pandas as pd
import pytest

from experiments import study as study_module
from experiments.files import MANIFEST, read_manifest
from experiments.findings import card_findings, cave_findings, findings_document, policy_findings, seat_findings
from experiments.findings_page import page, percent, points
from experiments.headlines import CARD, CAVE, FIRST_SEAT, LAST_WINTER, Questions, View, answers, ask, compare
from experiments.report import write_report
from experiments.results import tidy
from experiments.study import Part, checks, contenders, finished_part, main_parts, make_study, run_study
from experiments.study_tables import csv_text, rounded, rows_of
from sim.errors import DartmoorError
from sim.rulings import known_icons, ruling_values

GAMES = 12


def est(value, half, n=1000):
    """Return an estimate whose interval reaches `half` to both sides."""
    return {"value": value, "se": half / 1.96, "ci": [value - half, value + half], "n": n}


# Tables


def test_rounded_tables_are_read_again_as_they_were():
    rows = [
        {"species": "bat", "gain": est(0.0123456, 0.0041234), "q": 0.012345678},
        {"species": "owl", "gain": {"value": None, "se": None, "ci": None, "n": 0}, "q": None},
        {"species": "elk", "gain": est(104.23456, 0.5), "q": 1.0},
    ]
    frame = rounded(tidy(rows))
    back = rows_of(csv_text(frame))
    assert [row["species"] for row in back] == ["bat", "owl", "elk"]
    assert back[0]["gain"]["value"] == pytest.approx(0.0123456, abs=5e-6)
    assert back[0]["gain"]["n"] == 1000 and back[0]["q"] == 0.01235
    assert back[1]["gain"] == {"value": None, "se": None, "ci": None, "n": 0} and back[1]["q"] is None
    assert back[2]["gain"]["ci"] == [pytest.approx(103.735, abs=1e-3), pytest.approx(104.735, abs=1e-3)]
    assert csv_text(rounded(frame)) == csv_text(frame)


def test_exact_estimates_and_empty_tables_survive():
    exact = rounded(tidy([{"share": est(1 / 3, 0.0)}]))
    assert rows_of(csv_text(exact))[0]["share"]["value"] == pytest.approx(1 / 3, abs=1e-4)
    assert rows_of(csv_text(rounded(pd.DataFrame(columns=["group", "cave"])))) == []


# Claims


def seats(first, half, p):
    return [
        {"seat": 0, "win_share": est(first, half), "p_value": p},
        {"seat": 1, "win_share": est(1 - first, half), "p_value": p},
    ]


def test_first_seat_is_claimed_only_with_both_tests():
    assert seat_findings({2: seats(0.54, 0.01, 1e-9)})[0]["first"] == 1
    assert seat_findings({2: seats(0.46, 0.01, 1e-9)})[0]["first"] == -1
    assert seat_findings({2: seats(0.54, 0.05, 0.1)})[0]["first"] == 0
    assert seat_findings({2: seats(0.54, 0.01, 0.9)})[0]["first"] == 0
    assert seat_findings({2: seats(0.54, 0.01, None)})[0]["different"] is False


def test_seat_claim_disappears_with_many_comparisons():
    """An interval that just excludes the fair share does not do so after correction over four tables."""
    alone = seat_findings({2: seats(0.51, 0.0098, 0.045)})
    among = seat_findings({size: seats(1 / 2 + 0.01 * (size == 2), 0.0098, 0.045) for size in (2, 3, 4, 5)})
    assert alone[0]["first"] == 1 and among[0]["first"] == 0


def cave_tables(leads, draft=0.001):
    """Return the tables of three caves; `leads` are those of cave 4 over 1 and 2: (value, half width)."""
    share = {4: 0.6, 1: 0.6 - leads[0][0], 2: 0.6 - leads[1][0]}
    return {
        "summary": [
            {"cave": cave, "effect": f"points {cave}", "win_share": est(share[cave], 0.01), "score": est(100, 1)}
            for cave in (1, 2, 4)
        ],
        "pairs": [
            {"a": 1, "b": 2, "win_share": est(0.0, 0.01), "score": est(0, 1)},
            *(
                {"a": other, "b": 4, "win_share": est(-value, half), "score": est(-1, 1)}
                for other, (value, half) in zip((1, 2), leads, strict=True)
            ),
        ],
        "unless": [],
        "draft": [
            {"caves": "dealt", "pick": 1},
            {"caves": "own draft", "pick": 1, "gain": est(draft, 0.01)},
            {"caves": "own draft", "pick": 2, "gain": est(-draft, 0.01)},
        ],
    }


def test_best_cave_is_claimed_only_over_those_it_beats():
    sure = cave_findings({2: cave_tables([(0.05, 0.01), (0.04, 0.01)], draft=0.05)})[0]
    assert sure["best"] == 4 and sure["sure"] and len(sure["worth_drafting"]) == 2
    assert sure["lead"][0]["win_share"]["value"] == pytest.approx(0.05)
    assert sure["lead"][0]["win_share"]["ci"] == [pytest.approx(0.04), pytest.approx(0.06)]
    open_one = cave_findings({2: cave_tables([(0.05, 0.01), (0.005, 0.01)])})[0]
    assert not open_one["sure"] and open_one["not_beaten"] == [2] and not open_one["worth_drafting"]


def card(species, value, half, q):
    return {
        "species": species,
        "iih_turn": est(value, half),
        "iih_turn_q": q,
        "played": est(0.5, 0.01),
        "points_per_card": est(2, 0.1),
    }


CARDS = [card("beaver", 0.1, 0.01, 0.001), card("buzzard", 0.2, 0.3, 0.4), card("shrew", -0.1, 0.02, 0.01)]


def test_cards_are_claimed_by_their_q_value():
    found = card_findings(2, {"summary": CARDS})
    assert [row["species"] for row in found["helping"]] == ["beaver"]
    assert [row["species"] for row in found["hindering"]] == ["shrew"]
    assert found["causal"] is None
    causal = [
        {"species": "beaver", "change": "opening_copy", "q": 0.01, "win_share": est(0.05, 0.01)},
        {"species": "shrew", "change": "opening_copy", "q": 0.5, "win_share": est(0.09, 0.2)},
        {"species": "shrew", "change": "points_off", "q": None, "win_share": est(0.0, 0.0)},
    ]
    found = card_findings(2, {"summary": CARDS, "causal": causal})["causal"]
    assert [row["species"] for row in found["opening_copy"]["more"]] == ["beaver"]
    assert found["points_off"] == {"more": [], "less": []}


def test_policies_are_sorted_by_what_is_shown():
    matrix = [
        {"row": "a", "column": "a", "win_share": est(0.5, 0.01), "p_holm": None},
        {"row": "a", "column": "b", "win_share": est(0.9, 0.01), "p_holm": 0.0},
        {"row": "a", "column": "c", "win_share": est(0.3, 0.01), "p_holm": 0.0},
        {"row": "a", "column": "d", "win_share": est(0.6, 0.2), "p_holm": 0.6},
        {"row": "b", "column": "a", "win_share": est(0.1, 0.01), "p_holm": 0.0},
    ]
    found = policy_findings(2, "a", matrix)
    assert (found["beaten"], found["lost_to"], found["open"]) == (["b"], ["c"], ["d"])


# The same questions again


def answer(question, one, policy="greedy", world="", players=2):
    return {"players": players, "policy": policy, "world": world, "question": question, "answer": one}


@pytest.mark.parametrize(
    ("before", "here", "verdict"),
    [
        (est(0.10, 0.01), est(0.10, 0.01), "same"),
        (est(0.10, 0.01), est(0.05, 0.01), "size"),
        (est(0.10, 0.01), est(0.00, 0.01), "lost"),
        (est(0.10, 0.01), est(-0.10, 0.01), "reversed"),
        (est(0.00, 0.01), est(0.10, 0.01), "new"),
        (est(0.02, 0.019), est(0.018, 0.019), "same"),  # one interval holds 0 and the other not: no difference
        (est(0.10, 0.01), {"value": None, "se": None, "ci": None, "n": 0}, "same"),
    ],
)
def test_verdicts(before, here, verdict):
    base, other = answer(f"{CARD} beaver", before), answer(f"{CARD} beaver", here, "random")
    assert compare([base], [other])[0]["verdict"] == verdict


def test_first_seat_is_held_against_its_fair_share_and_winter_against_nothing():
    seat = compare([answer(FIRST_SEAT, est(0.5, 0.01))], [answer(FIRST_SEAT, est(0.6, 0.01))])
    winter = compare([answer(LAST_WINTER, est(90, 1))], [answer(LAST_WINTER, est(120, 1))])
    assert seat[0]["verdict"] == "new" and winter[0]["verdict"] == "size"
    assert compare([], [answer(FIRST_SEAT, est(0.5, 0.01))]) == []


def test_questions_and_answers():
    tables = {
        "caves": cave_tables([(0.05, 0.01), (0.04, 0.01)]),
        "cards": {"summary": CARDS},
        "seats": {"seats": seats(0.54, 0.01, 0.001)},
        "winter": {"summary": [{"winter": 3, "measure": "turn", "mean": est(90, 1)}]},
    }
    questions = ask(tables["caves"], tables["cards"])
    assert questions == Questions(4, ("beaver",))
    rows = {row["question"]: row["answer"]["value"] for row in answers(View(2, "greedy"), tables, questions)}
    assert rows == {
        FIRST_SEAT: 0.54,
        LAST_WINTER: 90,
        f"{CAVE} 4 over 1": pytest.approx(0.05),
        f"{CAVE} 4 over 2": pytest.approx(0.04),
        f"{CARD} beaver": 0.1,
    }


def test_first_seat_is_not_asked_where_the_lot_decides_who_begins():
    tables = {
        "caves": {"pairs": []},
        "cards": {"summary": []},
        "seats": {"seats": seats(0.5, 0.01, 0.5)},
        "winter": {"summary": [{"winter": 3, "measure": "turn", "mean": est(90, 1)}]},
    }
    rows = answers(View(2, "greedy", ruling="first_player=random"), tables, Questions(4, ()))
    assert [row["question"] for row in rows] == [LAST_WINTER]


def test_worlds_have_names():
    assert View(2, "greedy").world == ""
    assert View(2, "greedy", deck="seed:1", icon="shrew=pawed").world == "deck seed:1, icon shrew=pawed"


def test_checks_ask_every_ruling_and_icon_once():
    asked = {check.name: check.views for check in checks(make_study(100, "3,4", "greedy", "random", 0))}
    assert len(asked["other_rulings"]) == sum(len(values) - 1 for values in ruling_values().values())
    assert len(asked["other_icons"]) == sum(len(icon.candidates) - 1 for icon in known_icons().values())
    assert {view.players for view in asked["other_icons"]} == {3} and len({*asked["other_icons"]}) > 20
    assert [view.players for view in asked["other_deck"]] == [3, 4]


# The run


@pytest.fixture(scope="module")
def few_worlds():
    """Leave one ruling and one icon to the checks: each value is another world to play in."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study_module, "ruling_values", lambda: dict(list(ruling_values().items())[-1:]))
        patch.setattr(study_module, "known_icons", lambda: dict(list(known_icons().items())[-1:]))
        yield


@pytest.fixture(scope="module")
def small(tmp_path_factory, few_worlds):
    """Return a finished study of a few games, its directory, and what it played."""
    out, played = tmp_path_factory.mktemp("study"), {}
    study = make_study(GAMES, "2,3", "greedy", "random", 5)
    return run_study(study, out, 2, played.__setitem__), out, played


def test_every_part_is_a_results_directory(small):
    found, out, played = small
    names = [part.name for part in [*main_parts(found.study), *checks(found.study)]]
    assert sorted(path.name for path in out.iterdir()) == sorted(names) == sorted(played)
    assert all(seconds is not None for seconds in played.values())
    assert read_manifest(out / "cards_2p")["options"]["causal_games"] == 2
    assert write_report(out)["sections"] == len(names)


def test_finished_parts_are_not_played_again(small, monkeypatch):
    found, out, _ = small

    def refuse(*arguments):
        raise AssertionError("played again")

    monkeypatch.setattr(study_module, "play_part", refuse)
    again = {}
    same = run_study(found.study, out, 1, again.__setitem__)
    assert set(again.values()) == {None}
    assert findings_document(same) | {"threads": 2} == findings_document(found)


def test_parts_of_another_run_are_played_again(small, tmp_path):
    _, out, _ = small
    digest = read_manifest(out / "seats_2p")["study_part"]
    assert finished_part(out / "seats_2p", digest) is not None
    assert finished_part(out / "seats_2p", "other") is None
    assert finished_part(tmp_path, digest) is None


def test_same_tables_whatever_the_threads(small, tmp_path):
    found, out, _ = small
    part = next(main_parts(found.study))
    frames = study_module.play_part(part, study_module.make_world(), 5, 1).frames
    assert csv_text(frames["seats"]) == (out / part.name / "seats.csv").read_text()


def test_page_of_a_few_games_claims_nothing(small):
    found, _, _ = small
    document = findings_document(found)
    json.dumps(document, allow_nan=False)
    text = page(document)
    assert "no difference between the seats is shown" in text
    assert "none is shown to be best" in text
    assert "--games 12 --players 2,3 --policy greedy --check random --seed 5" in text
    for assumed in document["assumptions"]:
        assert assumed in text
    assert "nan" not in text and "None" not in text


def test_page_says_what_is_shown(small):
    found, _, _ = small
    document = findings_document(found)
    document["seats"] = seat_findings({2: seats(0.54, 0.01, 1e-9)})
    document["caves"] = cave_findings({2: cave_tables([(0.05, 0.01), (0.04, 0.01)], draft=0.05)})
    document["cards"] = [card_findings(2, {"summary": CARDS})]
    changed = compare([answer(f"{CARD} beaver", est(0.1, 0.01))], [answer(f"{CARD} beaver", est(-0.1, 0.01), "random")])
    document["checks"] = [{**document["checks"][0], "changed": changed}]
    text = page(document)
    assert "no, it wins more than its fair 50.0 %: 54.0 % (53.0 to 55.0; 1,000 games)" in text
    assert "cave 4 (points 4), ahead of the next one, cave 2, by +4.0 pp (+3.0 to +5.0; 1,000 deals)" in text
    assert "choosing first is worth +5.0 pp (+4.0 to +6.0; 1,000 deals)" in text
    assert "Beaver +10.0 pp (+9.0 to +11.0)" in text
    assert "-10.0 pp (-11.0 to -9.0; 1,000 games) instead of +10.0 pp (+9.0 to +11.0; 1,000 games)" in text
    assert "the other way round" in text
    assert "With another policy (`random`) the answer is another for 2 players; see below." in text


def test_numbers_in_words():
    assert percent(est(0.999, 0.01)) == "99.9 % (98.9 to 100.0; 1,000 games)"
    assert points(est(-0.0321, 0.0002), "deals") == "-3.21 pp (-3.23 to -3.19; 1,000 deals)"
    assert percent({"value": None, "se": None, "ci": None, "n": 0}) == "unknown"
    assert percent({"value": 0.5, "se": None, "ci": None, "n": 1}, "") == "50.0 % (no interval)"


# Options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((0, "2", "greedy", "random", 0), "--games: 0"),
        ((10, "2,x", "greedy", "random", 0), "--players: 'x', expected a list"),
        ((10, "2,6", "greedy", "random", 0), "--players: 6, expected 2 to 5"),
        ((10, "2", "nobody", "random", 0), "policy 'nobody' unknown"),
        ((10, "2", "greedy", "random", -1), "--seed: -1"),
    ],
)
def test_wrong_options_are_told(options, message):
    with pytest.raises(DartmoorError, match=message):
        make_study(*options)


def test_quick_takes_a_share_and_check_needs_another_policy():
    study = make_study(20_000, "3,2,3", "greedy", "greedy", 0, quick=True)
    assert study.games == 1000 and study.players == (2, 3)
    assert "other_policy" not in {check.name for check in checks(study)}
    assert Part("caves", 3, "greedy", 250) in list(main_parts(study))
    assert math.isclose(len(contenders(study, 2)), len(set(contenders(study, 2))))


# The command


def test_command_interrupted_and_resumed(few_worlds, dartmoor, monkeypatch, tmp_path):
    """Ctrl-C keeps the finished parts and writes no page; the same command goes on and writes it."""
    options = ("study", "--games", 6, "--players", 2, "--policy", "greedy", "--check", "random", "--out", tmp_path)
    real = study_module.play_part

    def stopped(part, *arguments):
        if part.kind == "caves":
            raise KeyboardInterrupt
        return real(part, *arguments)

    monkeypatch.setattr(study_module, "play_part", stopped)
    halted = dartmoor(*options)
    assert halted.code == 1 and "2 of 9 parts are in" in " ".join(halted.err.split())
    assert not (tmp_path / "README.md").exists() and (tmp_path / "winter_2p" / MANIFEST).is_file()
    monkeypatch.setattr(study_module, "play_part", real)
    done = dartmoor(*options, "--json")
    assert done.code == 0 and done.err.count("there already") == 2
    assert done.document["policy"] == "greedy" and done.document["seats"][0]["seats"][0]["win_share"]["n"] == 6
    assert (tmp_path / "README.md").read_text().startswith("# What the study found")


def test_command_refuses_in_one_line(dartmoor, tmp_path):
    told = dartmoor("study", "--players", "7", "--out", tmp_path)
    assert told.code == 2 and "--players: 7, expected 2 to 5" in told.err
