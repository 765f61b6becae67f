"""What the published rules leave open: rulings, icons and caves that are assumed, each with a default.

Data: `rulings.csv` (options and their values) and `icons.csv` (icons that the published text lost).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path

from sim.caves import Cave, read_caves
from sim.data_files import DATA, check_distinct, read_rows
from sim.errors import DartmoorError
from sim.grammar import parse_types


@dataclass(frozen=True)
class Rulings:
    """One value for every open point of the rules; the defaults are the first values of `rulings.csv`.

    Raises
    ------
    DartmoorError
        A value that `rulings.csv` does not list.
    """

    cuckoo_per_habitat: str = "one"
    wheatear_trigger: str = "effect"
    free_cost_bonus: str = "always"
    winter_pile: str = "floor"
    swap_to: str = "clearing"
    first_player: str = "seat0"
    free_play_optional: str = "yes"
    second_draw: str = "optional"
    new_permanents: str = "at_once"
    moor_from_hand_optional: str = "yes"
    extra_turn_again: str = "yes"
    cuckoo_bird: str = "top"
    late_water_soldiers: str = "stay"

    def __post_init__(self) -> None:
        for option, value in asdict(self).items():
            self.index(option, value)

    def index(self, option: str, value: str | None = None) -> int:
        """Return the place of the value in force (or of `value`) in the option's list of values, 0 the default."""
        value = getattr(self, option) if value is None else value
        choices = ruling_values()[option]
        if value not in choices:
            raise DartmoorError(f"ruling {option}: {value!r} unknown, expected one of {', '.join(choices)}")
        return choices.index(value)


@dataclass(frozen=True)
class Icon:
    """An icon that the published text lost: the candidates are types, or two joined by `|`."""

    name: str
    where: str
    default: str
    candidates: tuple[str, ...]
    confidence: str
    note: str


@cache
def ruling_values() -> dict[str, tuple[str, ...]]:
    """Return the values of every option, its default first, from `rulings.csv`."""
    rows = read_rows(DATA / "rulings.csv", ("option", "values", "note"))
    check_distinct(rows, "option")
    return {row["option"]: tuple(row["values"].split(";")) for row in rows}


def parse_rulings(texts: Iterable[str]) -> Rulings:
    """Return the defaults changed by texts of the form `option=value`."""
    changes: dict[str, str] = {}
    for text in texts:
        option, value = _split(text, "ruling")
        if option not in ruling_values():
            raise DartmoorError(f"ruling {option!r} unknown, expected one of {', '.join(ruling_values())}")
        if option in changes:
            raise DartmoorError(f"ruling {option}: given twice")
        changes[option] = value
    return Rulings(**changes)


def _split(text: str, what: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise DartmoorError(f"{what} {text!r} is not of the form name=value")
    return name.strip(), value.strip()


def read_icons(path: Path | None = None) -> dict[str, Icon]:
    """Return the icons of `icons.csv` by name.

    Raises
    ------
    DartmoorError
        A candidate that is no type, or a default that is no candidate.
    """
    rows = read_rows(path or DATA / "icons.csv", ("icon", "where", "default", "candidates", "confidence", "note"))
    check_distinct(rows, "icon")
    icons: dict[str, Icon] = {}
    for row in rows:
        candidates = tuple(row["candidates"].split(";"))
        with row.blame("candidates"):
            for candidate in candidates:
                parse_types(candidate)
        default, confidence = row.choice("default", candidates), row.choice("confidence", ("high", "medium", "low"))
        icons[row["icon"]] = Icon(row["icon"], row["where"], default, candidates, confidence, row["note"])
    return icons


@cache
def known_icons() -> Mapping[str, Icon]:
    """Return the project's icons by name, read once."""
    return read_icons()


def default_icons() -> dict[str, str]:
    """Return the default candidate of every icon."""
    return {name: icon.default for name, icon in known_icons().items()}


def parse_icons(texts: Iterable[str]) -> dict[str, str]:
    """Return the candidate in force of every icon: the defaults changed by texts of the form `icon=candidate`.

    The word `default` is a candidate too, and the two types of a candidate may stand in either order.
    """
    icons = default_icons()
    given: set[str] = set()
    for text in texts:
        name, value = _split(text, "icon")
        if name not in icons:
            raise DartmoorError(f"icon {name!r} unknown, expected one of {', '.join(icons)}")
        if name in given:
            raise DartmoorError(f"icon {name}: given twice")
        given.add(name)
        icons[name] = _candidate(known_icons()[name], value)
    return icons


def _candidate(icon: Icon, value: str) -> str:
    if value == "default":
        return icon.default
    same = [text for text in icon.candidates if set(text.split("|")) == set(value.split("|"))]
    if not same:
        raise DartmoorError(f"icon {icon.name}: {value!r} unknown, expected one of {', '.join(icon.candidates)}")
    return same[0]


def complete_icons(icons: Mapping[str, str] | None) -> dict[str, str]:
    """Return the defaults changed by a mapping from icon to candidate, checked as in `parse_icons`."""
    return parse_icons(f"{name}={value}" for name, value in (icons or {}).items())


def describe(
    rulings: Rulings, icons: Mapping[str, str] | None = None, caves: Sequence[Cave] | None = None
) -> list[str]:
    """Return one line for everything that is assumed: icons, rulings other than the default, unpublished caves."""
    lines = [
        f"icon {name}: {value} ({_certainty(known_icons()[name], value)})"
        for name, value in complete_icons(icons).items()
    ]
    for option in fields(rulings):
        value = getattr(rulings, option.name)
        if value != option.default:
            lines.append(f"ruling {option.name}: {value} (default {option.default})")
    assumed = [cave for cave in caves or read_caves() if cave.status != "published"]
    return lines + [f"cave {cave.number}: {cave.effect} ({cave.status})" for cave in assumed]


def _certainty(icon: Icon, value: str) -> str:
    return f"default, confidence {icon.confidence}" if value == icon.default else f"default {icon.default}"
