"""The findings of a study as one page of Markdown in plain words; it says only what the document claims."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.files import PROGRAM
from experiments.headlines import CARD, CAVE, FIRST_SEAT, LAST_WINTER
from experiments.study_tables import MORE_TURNS
from sim.deck import REFERENCE
from sim.species import box_species

MOST_CHANGES = 8  # of one check on the page; all are in its table
PAGE_CARDS = 5  # of a list on the page
PAGE_CAVES = 3  # exceptions to the best cave, of one table size
LEAST_WIDTH = 0.1  # of a printed interval; narrower ones get another digit
NEXT_TURNS = tuple(k for k in MORE_TURNS if k <= 5)
DRAFTS = {
    "own draft": "When all draft by their own judgement",
    "rule draft": "When all draft by the rule learned from these deals",
}
ORDINALS = ("first", "second", "third", "fourth", "fifth")
VERDICTS = {
    "lost": ": no longer shown",
    "reversed": ": the other way round",
    "new": ": shown here only",
    "size": "",
}
CHECK_TITLES = {
    "other_policy": "another policy",
    "other_deck": "another reconstruction of the deck",
    "other_rulings": "each other reading of the open rules",
    "other_icons": "each other value of the unknown icons",
}


def page(document: Mapping[str, Any]) -> str:
    """Return the page of a document of `experiments.findings.findings_document`."""
    sections = [
        _head(document),
        _short(document),
        _seats(document),
        _caves(document),
        _cards(document),
        _winter(document),
        _policies(document),
        _checks(document),
        _assumed(document),
        _again(document),
    ]
    return "\n".join(line for section in sections for line in [*section, ""]).rstrip("\n") + "\n"


# Numbers in words


def percent(one: Mapping[str, Any], unit: str = "games") -> str:
    """Return a share as `27.3 % (26.9 to 27.7; 40,000 games)`; without a unit the number of them is left out."""
    ends = one["ci"] and [min(max(end, 0.0), 1.0) for end in one["ci"]]
    return _with_ends({**one, "ci": ends}, 100, " %", "", unit)


def points(one: Mapping[str, Any], unit: str = "games") -> str:
    """Return a difference of shares as `+3.2 pp (+2.8 to +3.6; 40,000 games)`."""
    return _with_ends(one, 100, " pp", "+", unit)


def number(one: Mapping[str, Any], unit: str = "games") -> str:
    """Return a number as `61.3 (61.2 to 61.4; 40,000 games)`."""
    return _with_ends(one, 1, "", "", unit)


def _with_ends(one: Mapping[str, Any], scale: float, suffix: str, sign: str, unit: str) -> str:
    base = f"{one['n']:,} {unit}" if unit else ""
    if one["value"] is None:
        return "unknown"
    if one["ci"] is None:
        return f"{one['value'] * scale:{sign},.1f}{suffix} (no interval{f'; {base}' if base else ''})"
    low, high = (end * scale for end in one["ci"])
    digits = 1 if high - low >= LEAST_WIDTH else 2
    ends = f"{low:{sign},.{digits}f} to {high:{sign},.{digits}f}"
    return f"{one['value'] * scale:{sign},.{digits}f}{suffix} ({ends}{f'; {base}' if base else ''})"


def name_of(key: str) -> str:
    """Return the name of a species."""
    return next((one.name for one in box_species() if one.key == key), key)


def listed(items: Sequence[object]) -> str:
    """Return `a`, `a and b`, or `a, b and c`."""
    words = [str(item) for item in items]
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table in Markdown."""
    return [_line(head), _line(["---"] * len(head)), *(_line(row) for row in rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


# Sections


def _head(document: Mapping[str, Any]) -> list[str]:
    return [
        "# What the study found",
        "",
        f"Written by `{command(document)}` (version {document['version']}, engine {document['engine_version']}); "
        f"do not edit. All seats play `{document['policy']}` unless said otherwise. A win share is the mean share of "
        "the win, ties divided; pp are percentage points of it. Brackets hold the 95 % interval and the number of "
        "games, or of deals where one deal is played several times. Something is claimed only if it also holds after "
        "correction for the number of comparisons (5 % level). All of it is about play by these policies, not people.",
    ]


def command(document: Mapping[str, Any]) -> str:
    """Return the command that makes the study again."""
    words = [f"--{name} {value}" for name, value in document["options"].items()]
    return " ".join([PROGRAM, "study", *words])


def _short(document: Mapping[str, Any]) -> list[str]:
    answers = {
        "Is the first seat fair?": [*map(_seat_words, document["seats"]), *_otherwise(document, FIRST_SEAT)],
        "Which cave?": [*map(_cave_words, document["caves"]), *_otherwise(document, CAVE)],
        "Which cards carry a win?": [*map(_card_words, document["cards"]), *_otherwise(document, CARD)],
        "When does winter come?": [*map(_winter_words, document["winter"])],
        "What does it depend on?": [*map(_check_words, document["checks"])],
    }
    return ["## In short", "", *(f"- **{question}** {' '.join(words)}" for question, words in answers.items())]


def _otherwise(document: Mapping[str, Any], kind: str) -> list[str]:
    """Return a sentence for each check in which an answer of this kind is another, so that no claim stands alone."""
    sentences = []
    for one in document["checks"]:
        sizes = sorted({row["players"] for row in one["changed"] if row["question"].startswith(kind)})
        if sizes:
            title = CHECK_TITLES[one["check"]]
            sentences.append(
                f"With {title} (`{one['policy']}`) the answer is another for {listed(sizes)} players; see below."
            )
    return sentences


def _seat_words(one: Mapping[str, Any]) -> str:
    start = f"{one['players']} players: "
    share = percent(one["seats"][0]["win_share"])
    if one["first"]:
        word = "more" if one["first"] > 0 else "less"
        return f"{start}no, it wins {word} than its fair {100 / one['players']:.1f} %: {share}."
    if one["different"]:
        return f"{start}the seats differ, but not the first is shown to: {share}."
    return f"{start}no difference between the seats is shown; the first wins {share}."


def _seats(document: Mapping[str, Any]) -> list[str]:
    most = max(document["players"])
    rows = []
    for one in document["seats"]:
        cells = [percent(seat["win_share"], "") for seat in one["seats"]]
        cells += [""] * (most - len(cells))
        p = "differ" if one["different"] else "not shown to differ"
        games = one["seats"][0]["win_share"]["n"]
        rows.append([str(one["players"]), *cells, f"{p} (p {_chance(one['p_holm'])})", f"{games:,}"])
    heads = ["players", *(f"{ORDINALS[seat]} seat" for seat in range(most)), "seats", "games"]
    note = (
        "The first seat begins; the last one chooses its cave first, as in the rules. p: test of all seats together, "
        "corrected over the table sizes (Holm)."
    )
    return ["## Is the first seat fair?", "", *table(heads, rows), "", note]


def _chance(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _cave_words(one: Mapping[str, Any]) -> str:
    best = one["ranking"][0]
    start, named = f"{one['players']} players: ", f"cave {best['cave']} ({effect_words(best['effect'])})"
    if one["sure"]:
        least = min(one["lead"], key=lambda row: row["win_share"]["value"])
        return f"{start}{named}, ahead of the next one, cave {least['over']}, by {points(least['win_share'], 'deals')}."
    beaten = [row["over"] for row in one["lead"] if row["over"] not in one["not_beaten"]]
    better = f"; it is shown to be better than {_caves_listed(beaten)}" if beaten else ""
    return (
        f"{start}none is shown to be best; {named} came out highest, but not surely "
        f"better than {_caves_listed(one['not_beaten'])}{better}."
    )


def effect_words(effect: str) -> str:
    """Return a cave's effect with blanks for the underscores of the data."""
    return effect.replace("_", " ")


def _caves_listed(numbers: Sequence[int]) -> str:
    return f"cave{'s' if len(numbers) > 1 else ''} {listed(sorted(numbers))}"


def _caves(document: Mapping[str, Any]) -> list[str]:
    rows = []
    for one in document["caves"]:
        cells = {row["cave"]: percent(row["win_share"], "") for row in one["ranking"]}
        deals = one["ranking"][0]["win_share"]["n"]
        rows.append([str(one["players"]), *(cells[cave] for cave in sorted(cells)), f"{deals:,}"])
    effects = {row["cave"]: row["effect"] for row in document["caves"][0]["ranking"]}
    heads = ["players", *(f"cave {cave}: {effect_words(effects[cave])}" for cave in sorted(effects)), "deals"]
    guesses = "; ".join(line for line in document["assumptions"] if line.startswith(f"{CAVE} "))
    intro = "Each deal is played with every cave in the same seat."
    if guesses:
        intro += f" Of the caves these effects are not published, and what follows rests on them: {guesses}."
    lines = ["## Which cave?", "", intro, "", *table(heads, rows), ""]
    for one in document["caves"]:
        lines.append(f"- {_cave_words(one)} {_unless_words(one)}{_draft_words(one)}")
    return lines


def _unless_words(one: Mapping[str, Any]) -> str:
    exceptions = sorted(one["unless"], key=lambda row: -row["win_share"]["value"])
    words = [
        f"{_group(row)} cave {row['cave']}, {points(row['win_share'], 'deals')}" for row in exceptions[:PAGE_CAVES]
    ]
    rest = f"; {len(exceptions) - PAGE_CAVES} more in the tables" if len(exceptions) > PAGE_CAVES else ""
    return f"But {'; '.join(words)}{rest}. " if words else "No opening hand or seat is shown to call for another one. "


def _group(row: Mapping[str, Any]) -> str:
    kind, _, what = str(row["group"]).partition(" ")
    if kind == "seat":
        return f"in the {ORDINALS[int(what)]} seat"
    return f"with {'a' if kind == 'has' else 'no'} {what} in the opening hand"


def _draft_words(one: Mapping[str, Any]) -> str:
    return " ".join(_one_draft(one, way, how) for way, how in DRAFTS.items())


def _one_draft(one: Mapping[str, Any], way: str, how: str) -> str:
    shown = [
        f"choosing {ORDINALS[row['pick'] - 1]} is worth {points(row['gain'], 'deals')}"
        for row in one["worth_drafting"]
        if row["caves"] == way
    ]
    if shown:
        return f"{how}, {listed(shown)} against caves as dealt."
    first = next((row["gain"] for row in one["draft"] if (row["caves"], row["pick"]) == (way, 1)), None)
    measured = f" (choosing first: {points(first, 'deals')})" if first else ""
    return f"{how}, no place in the draft is shown to be worth anything{measured}."


def _card_words(one: Mapping[str, Any]) -> str:
    shown = one["helping"][:PAGE_CARDS]
    if not shown:
        return f"{one['players']} players: none is shown to."
    words = [f"{name_of(row['species'])} {points(row['iih_turn'])}" for row in shown[:3]]
    return (
        f"{one['players']} players: of {one['helping_n']} whose holders are shown to win more, {listed(words)} first."
        f"{_cause_words(one)}"
    )


def _cause_words(one: Mapping[str, Any]) -> str:
    best = one["causal"]["opening_copy"]["more"][:1] if one["causal"] else []
    words = [f"{name_of(row['species'])}, {points(row['win_share'], 'deals')}" for row in best]
    return f" One more copy in the opening hand is surest to win more for {words[0]}." if words else ""


def _cards(document: Mapping[str, Any]) -> list[str]:
    rows = []
    for one in document["cards"]:
        for word, key in (("more", "helping"), ("less", "hindering")):
            words = [f"{name_of(row['species'])} {points(row['iih_turn'], '')}" for row in one[key][:PAGE_CARDS]]
            shown = f"{one[f'{key}_n']} of {one['species_n']}"
            rows.append([str(one["players"]), word, shown, "; ".join(words) or "none", _games_of(one[key])])
    note = (
        "Win share of players who held the species, minus that of all cards that came into a hand in the same turns "
        "(corrected for false discovery over the species). This goes with winning; it need not be the cause. What a "
        "species causes comes from the same deals played again with one thing changed:"
    )
    heads = ["players", "holders win", "shown for", "clearest", "games with it"]
    return ["## Which cards carry a win?", "", *table(heads, rows), "", note, "", *_causal_lines(document)]


def _games_of(rows: Sequence[Mapping[str, Any]]) -> str:
    counts = [row["iih_turn"]["n"] for row in rows[:PAGE_CARDS]]
    return f"{min(counts):,} to {max(counts):,}" if counts else ""


def _causal_lines(document: Mapping[str, Any]) -> list[str]:
    titles = {
        ("opening_copy", "more"): "one more copy in the opening hand wins more",
        ("opening_copy", "less"): "one more copy in the opening hand wins less",
        ("points_off", "less"): "without its points its player wins less",
        ("effect_off", "less"): "without its effects its player wins less",
        ("effect_off", "more"): "without its effects its player wins more",
    }
    lines = []
    for one in document["cards"]:
        for (change, way), title in titles.items() if one["causal"] else ():
            rows = one["causal"][change][way][:PAGE_CARDS]
            words = "; ".join(f"{name_of(row['species'])} {points(row['win_share'], 'deals')}" for row in rows)
            lines.append(f"- {one['players']} players, {title}: {words or 'shown for no species'}.")
    return lines or ["- not played for these numbers of players."]


def _winter_words(one: Mapping[str, Any]) -> str:
    last = one["winters"][-1]
    return (
        f"{one['players']} players: the last one, which ends the game, in turn {number(last['turn']['mean'])} of all "
        f"players together, round {number(last['round']['mean'], '')}."
    )


def _winter(document: Mapping[str, Any]) -> list[str]:
    rows = []
    for one in document["winter"]:
        for winter in one["winters"]:
            turn, rounds = winter["turn"], winter["round"]
            rows.append(
                [
                    str(one["players"]),
                    str(winter["winter"]),
                    number(turn["mean"], ""),
                    f"{turn['q5']} to {turn['q95']}",
                    number(rounds["mean"], ""),
                    f"{rounds['q5']} to {rounds['q95']}",
                    percent(winter["stack_share"], ""),
                    f"{turn['mean']['n']:,}",
                ]
            )
    heads = ["players", "winter", "turn", "90 % of games", "round", "90 % of games", "stack left", "games"]
    lines = ["## When does winter come?", "", *table(heads, rows), ""]
    for one in document["winter"]:
        ends = ", ".join(f"{row['ending']} {percent(row['share'], '')}" for row in one["endings"])
        lines.append(f"- {one['players']} players: {_next_words(one)}What turned up the last winter: {ends}.")
    return lines


def _next_words(one: Mapping[str, Any]) -> str:
    """Return the chances of a player to have more turns once the second winter is out."""
    chances = {row["turns"]: row["one_player"] for row in one["more_turns"] if row["winter"] == 2}
    words = [f"{k} more: {percent(chances[k], '')}" for k in NEXT_TURNS if k in chances]
    return f"after the second winter a player has at least {'; '.join(words)}. " if words else ""


def _policies(document: Mapping[str, Any]) -> list[str]:
    policy = document["policy"]
    lines = ["## How strong is the policy?", ""]
    for one in document["policies"]:
        closest = sorted(one["against"], key=lambda row: row["win_share"]["value"])[:PAGE_CARDS]
        words = "; ".join(f"`{row['policy']}` {percent(row['win_share'], 'deals')}" for row in closest)
        lines.append(
            f"- {one['players']} players, one `{policy}` at a table of another (fair: {100 * one['fair_share']:.1f} "
            f"%): shown to win more against {len(one['beaten'])} of {len(one['against'])}, less against "
            f"{_policies_listed(one['lost_to'])}, open against {_policies_listed(one['open'])}. "
            f"Strongest opponents: {words}."
        )
    return lines


def _policies_listed(names: Sequence[str]) -> str:
    return listed([f"`{name}`" for name in names]) or "none"


def _check_words(one: Mapping[str, Any]) -> str:
    who = f"`{one['policy']}`, {listed(one['players'])} players"
    changed = f"{len(one['changed'])} of {one['answers']} answers are shown to lead to another conclusion"
    return f"With {CHECK_TITLES[one['check']]} ({who}) {changed}."


def _checks(document: Mapping[str, Any]) -> list[str]:
    lines = [
        "## What does it depend on?",
        "",
        f"The same questions again: the {FIRST_SEAT}'s win share, the turn of {LAST_WINTER}, the best cave against "
        "each other one, and the win share of those who hold the cards that help most. An answer counts as another "
        "conclusion if it is shown to differ (Holm over all answers of the check) and its interval no longer supports "
        "the same claim.",
        "",
    ]
    for one in document["checks"]:
        lines += _check_lines(one)
    return lines


def _check_lines(one: Mapping[str, Any]) -> list[str]:
    sizes, variants = listed(one["players"]), f"{one['views']} variant{'s' if one['views'] > 1 else ''}"
    head = (
        f"- **{CHECK_TITLES[one['check']].capitalize()}** (`{one['policy']}`, {sizes} players, {variants}, "
        f"{one['games']:,} games each): of {one['answers']} answers, {one['same']} are not shown to differ, "
        f"{len(one['sizes'])} differ in size only, {len(one['changed'])} lead to another conclusion."
    )
    winters = [row for row in one["sizes"] if row["question"] == LAST_WINTER]
    return [
        head,
        *_answer_lines(one, sorted(one["changed"], key=lambda row: row["p_holm"])),
        *_answer_lines(one, sorted(winters, key=lambda row: -abs(row["difference"]["value"]))),
    ]


def _answer_lines(one: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = [f"  - {_where(row)}: {question_words(row['question'])} {_answer(row)}" for row in rows[:MOST_CHANGES]]
    rest = len(rows) - MOST_CHANGES
    return [*lines, *([f"  - and {rest} more: `study/{one['check']}/answers.csv`"] if rest > 0 else [])]


def _where(row: Mapping[str, Any]) -> str:
    world = f", {row['world']}" if row["world"] else ""
    return f"{row['players']} players{world}"


def question_words(question: str) -> str:
    """Return what was asked, for the page."""
    if question.startswith(f"{CARD} "):
        return f"holding {name_of(question.removeprefix(f'{CARD} '))}"
    if question == LAST_WINTER:
        return f"turn of {LAST_WINTER}"
    return question if question.startswith(f"{CAVE} ") else f"the {question}'s win share"


def _answer(row: Mapping[str, Any]) -> str:
    told = {FIRST_SEAT: percent, LAST_WINTER: number}.get(row["question"], points)
    unit = "deals" if row["question"].startswith(f"{CAVE} ") else "games"
    return f"{told(row['answer'], unit)} instead of {told(row['before'], unit)}{VERDICTS[row['verdict']]}"


def _assumed(document: Mapping[str, Any]) -> list[str]:
    deck = f"the deck is `{document['deck']}`" if document["deck"] == REFERENCE else f"deck {document['deck']}"
    lines = "; ".join(document["assumptions"])
    return ["## What is assumed", "", f"All this takes for granted (docs/assumptions.md): {deck}; {lines}."]


def _again(document: Mapping[str, Any]) -> list[str]:
    minutes = document["seconds"] / 60
    return [
        "## Again",
        "",
        f"`make study` plays the study of the default options, `{command(document)}` this one. It took "
        f"{minutes:.1f} minutes of play on {document['threads']} threads. Parts in `study/` that fit are read, not "
        f"played again; delete `study/` to play all. Every number is in the tables there, with the command in each "
        f"`manifest.json`; `{PROGRAM} report results/study` makes one page of pictures of them.",
    ]
