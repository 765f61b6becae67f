"""The texts of species.csv and caves.csv, turned into the codes of `sim.codes`.

A text is a short formula of words (`type:plant*1`, `draw 1 per mouse in forest`); each form is one line of a table
below. Words in brackets are remarks, but for `(ruling NAME)`, which names the ruling that decides on the text.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sim.codes import CardType, EffectOp, ScoreOp, Share, Symbol
from sim.data_files import pick, whole_number
from sim.errors import DartmoorError
from sim.rules import MAX_STEPS, TYPES

MAX_NUMBER = 255  # the tables hold numbers as bytes
MAX_TERMS = 2  # scoring terms of one species
TYPE_NAMES = {card_type.name.lower(): card_type for card_type in CardType}
SYMBOL_NAMES = {symbol.name.lower(): symbol for symbol in Symbol if symbol != Symbol.NONE}
PLURALS = {name + "s": card_type for name, card_type in TYPE_NAMES.items()} | {
    "dragonflies": CardType.DRAGONFLY,
    "mice": CardType.MOUSE,
    "pawed animals": CardType.PAWED,
    "hoofed animals": CardType.HOOFED,
}
STEP_OPS = frozenset(
    {ScoreOp.MOST_MOORS, ScoreOp.TYPE_STEPS, ScoreOp.SPECIES_STEPS, ScoreOp.COPIES_STEPS, ScoreOp.SETS}
)

Steps = tuple[int, ...]  # points by count 0..15


@dataclass(frozen=True)
class Term:
    """One scoring term: n points, counted by `op` over `arg`; `steps` for the ops of STEP_OPS."""

    op: ScoreOp
    n: int = 0
    arg: int = 0
    steps: Steps = ()


@dataclass(frozen=True)
class Scoring:
    """Column `scoring`: its terms, and the mask of types whose points it doubles in its bottom slots."""

    terms: tuple[Term, ...]
    doubles: int = 0

    @property
    def steps(self) -> Steps:
        """Points by count of the one step term; zeros without one."""
        return next((term.steps for term in self.terms if term.steps), (0,) * MAX_STEPS)


@dataclass(frozen=True)
class Effect:
    """An effect, a bonus or one step of a cave; `types` is a mask, `ruling` the option that decides on it."""

    op: EffectOp = EffectOp.NONE
    types: int = 0
    n: int = 0
    ruling: str = ""


@dataclass(frozen=True)
class Permanent:
    """Column `permanent`, as masks of types."""

    trigger_types: int = 0
    share: Share = Share.NONE
    share_types: int = 0


@dataclass(frozen=True)
class CaveEffect:
    """What a cave does: opening steps, points at the end, and points for each card of a type at the end."""

    steps: tuple[Effect, ...] = ()
    points: int = 0
    type_points: tuple[int, ...] = field(default=(0,) * TYPES)

    @property
    def when(self) -> str:
        """The word of column `when` that this effect asks for."""
        return "end" if not self.steps else "both" if self.points or any(self.type_points) else "opening"


def mask_of(*types: CardType) -> int:
    """Return the mask with the bits of `types`."""
    return sum(1 << card_type for card_type in set(types))


def parse_type(text: str) -> CardType:
    """Return the type of that name."""
    return TYPE_NAMES[pick(text, TYPE_NAMES)]


def parse_types(text: str, separator: str = "|") -> int:
    """Return the mask of one or more type names."""
    return mask_of(*(parse_type(name.strip()) for name in text.split(separator)))


def _plural(text: str) -> CardType:
    return PLURALS[pick(text, PLURALS)]


def _number(text: str | None) -> int:
    return 1 if text is None else whole_number(text, 0, MAX_NUMBER)


def _split_remarks(text: str) -> tuple[str, str]:
    """Return the text without its remarks in brackets, and the ruling that one of them names."""
    rulings = re.findall(r"\(ruling (\w+)\)", text)
    return " ".join(re.sub(r"\([^()]*\)", " ", text).split()).replace(" :", ":"), rulings[0] if rulings else ""


# Scoring


def _steps(points: Mapping[int, int]) -> Steps:
    """Return the points by count 0..15, where `points` gives them from a count on."""
    if max(points) >= MAX_STEPS or list(points) != sorted(points):
        raise DartmoorError(f"counts must rise and stay below {MAX_STEPS}: {', '.join(map(str, points))}")
    return tuple(points[max(start for start in points if start <= count)] for count in range(MAX_STEPS))


def _at_least(op: ScoreOp, count: str, type_name: str, reached: str, missed: str) -> Term:
    least = whole_number(count, 1, MAX_STEPS - 1)
    return Term(op, arg=parse_type(type_name), steps=_steps({0: _number(missed), least: _number(reached)}))


def _by_species(type_name: str, pairs: str) -> Term:
    points = {whole_number(c, 1, MAX_STEPS - 1): _number(p) for c, p in (pair.split(":") for pair in pairs.split())}
    return Term(ScoreOp.SPECIES_STEPS, arg=parse_type(type_name), steps=_steps({0: 0, **points}))


def _copies(points: str, copies: str) -> Term:
    values = [_number(text) for text in points.split("/")]
    counts = [whole_number(text, 1, MAX_STEPS - 1) for text in copies.split("/")]
    if len(values) != len(counts):
        raise DartmoorError(f"{len(values)} points for {len(counts)} numbers of copies")
    return Term(ScoreOp.COPIES_STEPS, steps=_steps({0: 0, **dict(zip(counts, values, strict=True))}))


def _sets(points: str) -> Term:
    by_size = {size: _number(text) for size, text in enumerate(points.split("/"), start=1)}
    if list(by_size.values()) != sorted(by_size.values()):
        raise DartmoorError("the points of larger sets may not fall, or largest sets first would not be the best split")
    return Term(ScoreOp.SETS, steps=_steps({0: 0, **by_size}))


def _most_moors(most: str, otherwise: str) -> Term:
    return Term(ScoreOp.MOST_MOORS, steps=_steps({0: _number(otherwise), 1: _number(most)}))


def _per_symbol(symbol: str, n: str) -> Term:
    return Term(ScoreOp.PER_SYMBOL, _number(n), SYMBOL_NAMES[pick(symbol, SYMBOL_NAMES)])


ScoringForm = tuple[str, str, Callable[..., Term]]  # how users write it, its pattern, the term of the pattern's groups
SCORING_FORMS: tuple[ScoringForm, ...] = (
    ("fixed N", r"fixed (\d+)", lambda n: Term(ScoreOp.FIXED, _number(n))),
    ("type:TYPE*N", r"type:(\w+)\*(\d+)", lambda t, n: Term(ScoreOp.PER_TYPE, _number(n), parse_type(t))),
    (
        "each scores the number of TYPES",
        r"each scores the number of ([a-z ]+)",
        lambda t: Term(ScoreOp.PER_TYPE, 1, _plural(t)),
    ),
    ("symbol:SYMBOL*N", r"symbol:(\w+)\*(\d+)", _per_symbol),
    ("own symbol*N", r"own symbol\*(\d+)", lambda n: Term(ScoreOp.PER_OWN_SYMBOL, _number(n))),
    ("host_full N", r"host_full (\d+)", lambda n: Term(ScoreOp.HOST_FULL, _number(n))),
    ("in_moor N", r"in_moor (\d+)", lambda n: Term(ScoreOp.IN_MOOR, _number(n))),
    ("most_moors N else N", r"most_moors (\d+) else (\d+)", _most_moors),
    (
        "at_least N TYPE: N else N",
        r"at_least (\d+) (\w+): (\d+) else (\d+)",
        lambda *groups: _at_least(ScoreOp.TYPE_STEPS, *groups),
    ),
    (
        "at_least N different TYPE species: N else N",
        r"at_least (\d+) different (\w+) species: (\d+) else (\d+)",
        lambda *groups: _at_least(ScoreOp.SPECIES_STEPS, *groups),
    ),
    ("by different TYPE species N:N ..", r"by different (\w+) species (\d+:\d+(?: \d+:\d+)*)", _by_species),
    (
        "different TYPE species*N",
        r"different (\w+) species\*(\d+)",
        lambda t, n: Term(ScoreOp.PER_SPECIES, _number(n), parse_type(t)),
    ),
    ("all copies together N/N for N/N", r"all copies together ([\d/]+) for ([\d/]+)", _copies),
    ("dragonfly_sets N/N/..", r"dragonfly_sets (\d+(?:/\d+)*)", _sets),
    ("cave_cards*N", r"cave_cards\*(\d+)", lambda n: Term(ScoreOp.PER_CAVE_CARD, _number(n))),
    (
        "cards placed below any habitat*N",
        r"cards placed below any habitat\*(\d+)",
        lambda n: Term(ScoreOp.PER_CARD_BELOW, _number(n)),
    ),
)


def _parse_term(text: str) -> Term:
    for _, pattern, make in SCORING_FORMS:
        if match := re.fullmatch(pattern, text):
            return make(*match.groups())
    raise DartmoorError(f"scoring {text!r} unknown, expected one of {'; '.join(name for name, _, _ in SCORING_FORMS)}")


def parse_scoring(text: str) -> Scoring:
    """Return the codes of a `scoring` text.

    Raises
    ------
    DartmoorError
        An unknown form, type or symbol, more than two terms, or two terms that both need the species' step table.
    """
    points, _, doubling = _split_remarks(text)[0].partition(";")
    terms = tuple(_parse_term(part.strip()) for part in points.split(" + "))
    if len(terms) > MAX_TERMS:
        raise DartmoorError(f"{len(terms)} scoring terms, at most {MAX_TERMS}")
    if sum(term.op in STEP_OPS for term in terms) > 1:
        raise DartmoorError("at most one scoring term may have steps")
    if not doubling:
        return Scoring(terms)
    match = re.fullmatch(r"doubles the points of ([a-z ]+) below it", doubling.strip())
    if not match:
        raise DartmoorError(f"{doubling.strip()!r} unknown, expected 'doubles the points of TYPES below it'")
    return Scoring(terms, mask_of(_plural(match[1])))


# Effects, bonuses and permanent effects

WANTED = r"([a-z|]+)"  # the types of a card to place
PER = r"per (\w+) in forest"


def _per_type(op: EffectOp) -> Callable[[str, str], Effect]:
    return lambda n, t: Effect(op, mask_of(parse_type(t)), _number(n))


def _placing(op: EffectOp) -> Callable[[str], Effect]:
    return lambda types: Effect(op, parse_types(types), 1)


def _counted(op: EffectOp) -> Callable[[str], Effect]:
    return lambda n: Effect(op, 0, _number(n))


EffectForm = tuple[str, str, Callable[..., Effect]]  # as above
EFFECT_FORMS: tuple[EffectForm, ...] = (
    ("draw N", r"draw (\d+)", _counted(EffectOp.DRAW)),
    ("draw N per TYPE in forest", rf"draw (\d+) {PER}", _per_type(EffectOp.DRAW_PER_TYPE)),
    ("clearing_to_hand N", r"clearing_to_hand (\d+)", _counted(EffectOp.CLEARING_TO_HAND)),
    ("play_free TYPE|TYPE", rf"play_free {WANTED}", _placing(EffectOp.PLAY_FREE)),
    ("play_free TYPE any number", rf"play_free {WANTED} any number", _placing(EffectOp.PLAY_FREE_ANY_NUMBER)),
    (
        "play_free TYPE and use its effect",
        rf"play_free {WANTED} and use its effect",
        _placing(EffectOp.PLAY_FREE_WITH_EFFECT),
    ),
    ("clearing_to_forest TYPE", rf"clearing_to_forest {WANTED}", _placing(EffectOp.CLEARING_TO_FOREST)),
    ("clearing_to_cave N", r"clearing_to_cave (\d+)", _counted(EffectOp.CLEARING_TO_CAVE)),
    (
        "clearing_TYPES_to_cave all",
        r"clearing_([a-z ]+)_to_cave all",
        lambda t: Effect(EffectOp.CLEARING_TYPE_TO_CAVE, mask_of(_plural(t)), 1),
    ),
    ("stack_to_cave N", r"stack_to_cave (\d+)", _counted(EffectOp.STACK_TO_CAVE)),
    ("stack_to_cave N per TYPE in forest", rf"stack_to_cave (\d+) {PER}", _per_type(EffectOp.STACK_TO_CAVE_PER_TYPE)),
    ("moor_from_hand", r"moor_from_hand(?: (\d+))?", _counted(EffectOp.MOOR_FROM_HAND)),
    ("extra_turn", r"extra_turn", lambda: Effect(EffectOp.EXTRA_TURN, 0, 1)),
    (
        "extra_turn if at least N TYPE in forest",
        r"extra_turn if at least (\d+) (\w+) in forest",
        _per_type(EffectOp.EXTRA_TURN_IF_TYPE),
    ),
)
CAVE_FORMS: tuple[EffectForm, ...] = (
    ("discard N", r"discard (\d+)(?: hand cards face up into the clearing)?", _counted(EffectOp.HAND_TO_CLEARING)),
    ("hand_to_cave N", r"hand_to_cave (\d+)", _counted(EffectOp.HAND_TO_CAVE)),
)
EXTRA_TURNS = frozenset({EffectOp.EXTRA_TURN, EffectOp.EXTRA_TURN_IF_TYPE})


def _parse_words(text: str, forms: tuple[EffectForm, ...], others: tuple[str, ...] = ()) -> Effect:
    for _, pattern, make in forms:
        if match := re.fullmatch(pattern, text):
            return make(*match.groups())
    names = [name for name, _, _ in forms] + list(others)
    raise DartmoorError(f"effect {text!r} unknown, expected one of {'; '.join(names)}")


def parse_effect(text: str, icons: Mapping[str, str]) -> Effect:
    """Return the codes of an `effect` or `bonus` text; `?name` in it stands for the type or types `icons[name]`.

    Raises
    ------
    DartmoorError
        An unknown form, type or icon.
    """
    words, ruling = _split_remarks(text)
    if not words:
        return Effect()
    words = re.sub(r"\?(\w+)", lambda match: icons[pick(match[1], icons)], words)
    effect = _parse_words(words, EFFECT_FORMS)
    return Effect(effect.op, effect.types, effect.n, ruling)


def parse_permanent(text: str) -> Permanent:
    """Return the codes of a `permanent` text."""
    words = _split_remarks(text)[0]
    if not words:
        return Permanent()
    if match := re.fullmatch(r"on_play (?:another )?(\w+): draw 1", words):
        return Permanent(trigger_types=mask_of(parse_type(match[1])))
    if match := re.fullmatch(r"any number of ([a-z ]+) share one top slot of this habitat", words):
        return Permanent(share=Share.TOP, share_types=mask_of(_plural(match[1])))
    sides = "may enter the left and right slots of this tree or shrub even if occupied"
    if match := re.fullmatch(rf"any number of ([a-z ]+) {sides}", words):
        return Permanent(share=Share.SIDES, share_types=mask_of(_plural(match[1])))
    raise DartmoorError(
        f"permanent effect {text!r} unknown, expected one of on_play TYPE: draw 1; any number of TYPES share one top "
        f"slot of this habitat; any number of TYPES {sides}"
    )


# Caves


def parse_cave(text: str) -> CaveEffect:
    """Return the codes of a cave's `effect` text: parts joined by ` then ` or ` + `.

    Opening parts are effect words, `discard N` and `hand_to_cave N`; parts for the end are `points N` and
    `points N per TYPE`. Extra turns are refused: an opening effect is no turn.
    """
    steps: list[Effect] = []
    points, type_points = 0, [0] * TYPES
    for part in re.split(r" then | \+ ", _split_remarks(text)[0]):
        if match := re.fullmatch(r"points (\d+)(?: per (\w+))?", part):
            if match[2]:
                type_points[parse_type(match[2])] += _number(match[1])
            else:
                points += _number(match[1])
            continue
        step = _parse_words(part, CAVE_FORMS + EFFECT_FORMS, ("points N", "points N per TYPE"))
        if step.op in EXTRA_TURNS:
            raise DartmoorError("a cave cannot give an extra turn: its opening effect is no turn")
        steps.append(step)
    if max(points, *type_points) > MAX_NUMBER:
        raise DartmoorError(f"more than {MAX_NUMBER} points")
    return CaveEffect(tuple(steps), points, tuple(type_points))
