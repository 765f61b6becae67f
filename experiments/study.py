"""The reference study: seats, caves, cards, winter and policies for two to five players, in parts that can be resumed.

Each part is a results directory of small tables. A part that is there already, of the same version, engine, seed,
policies, world and length, is read and not played again. What the tables say in plain words is `experiments.findings`.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.cards import card_values
from experiments.caves import caves
from experiments.files import MANIFEST, manifest, prepare_directory, read_manifest
from experiments.headlines import Questions, View, answers, ask
from experiments.options import World, check_games, check_players, check_seed, make_setting, make_world
from experiments.precision import Stop, make_plan
from experiments.results import Result, tidy, write_results
from experiments.study_tables import Row, Tables, csv_text, kept_frames, rounded, rows_of
from experiments.winrate import make_field, winrate
from experiments.winter import winter
from policies.registry import load_policy
from policies.weights_file import archetype_names
from sim import ENGINE_VERSION, __version__
from sim.deck import deck_hash
from sim.errors import DartmoorError
from sim.rules import MIN_PLAYERS
from sim.rulings import known_icons, ruling_values

HEADLINE_KINDS = ("seats", "winter", "caves", "cards")
# One deal of these for so many games: a deal takes many games there.
CAVE_SHARE, CAUSAL_SHARE, MATRIX_SHARE = 4, 20, 40
VIEW_SHARE = 2  # other decks, rulings and icons are played that much shorter
QUICK_SHARE = 20
CONTENDERS = ("balanced", "greedy", "plain", "random")  # of the matrix, beside main and check policy
OTHER_DECK = "seed:1"


@dataclass(frozen=True)
class Study:
    """What is studied: games (the longest parts; others take a share), table sizes, policies and seed."""

    games: int
    players: tuple[int, ...]
    policy: str
    check: str
    seed: int

    @property
    def options(self) -> dict[str, object]:
        """The options of the command, by name."""
        sizes = ",".join(map(str, self.players))
        return {"games": self.games, "players": sizes, "policy": self.policy, "check": self.check, "seed": self.seed}


@dataclass(frozen=True)
class Part:
    """One experiment of the study; `games` are deals for caves and matrix, `causal` are deals."""

    kind: str
    players: int
    policies: str
    games: int
    causal: int = 0

    @property
    def name(self) -> str:
        """The part's directory."""
        return f"{self.kind}_{self.players}p"


@dataclass(frozen=True)
class Check:
    """The headlines of the study asked again, of other policies or worlds."""

    name: str
    views: tuple[View, ...]
    games: int


@dataclass(frozen=True)
class Findings:
    """All tables of a study by the name of the part, the questions by table size, and how long the parts took."""

    study: Study
    tables: Mapping[str, Tables]
    questions: Mapping[int, Questions]
    assumptions: Sequence[str]
    seconds: float
    threads: int


def make_study(games: int, players: str, policy: str, check: str, seed: int, quick: bool = False) -> Study:
    """Return the study of the command's options.

    Raises
    ------
    DartmoorError
        Any of them is wrong; the message names the valid choices.
    """
    check_games(games)
    check_seed(seed)
    sizes = []
    for text in players.split(","):
        if not text.strip().isdecimal():
            raise DartmoorError(f"--players: {text.strip()!r}, expected a list of numbers such as 2,3,4,5")
        check_players(int(text))
        sizes.append(int(text))
    for size in sizes:
        for name in (policy, check):
            load_policy(name, size)
    return Study(max(1, games // QUICK_SHARE) if quick else games, tuple(sorted(set(sizes))), policy, check, seed)


def share_of(games: int, divisor: int) -> int:
    """Return a share of the games, at least two so that an error can be estimated."""
    return max(2, games // divisor)


def main_parts(study: Study) -> Iterator[Part]:
    """Yield the parts about the main policy, and the matrices."""
    for players in study.players:
        for kind in HEADLINE_KINDS:
            games = share_of(study.games, CAVE_SHARE) if kind == "caves" else study.games
            causal = share_of(study.games, CAUSAL_SHARE) if (kind, players) == ("cards", MIN_PLAYERS) else 0
            yield Part(kind, players, study.policy, games, causal)
    for players in study.players:
        games = share_of(study.games, MATRIX_SHARE)
        yield Part("matrix", players, ",".join(contenders(study, players)), games)


def contenders(study: Study, players: int) -> list[str]:
    """Return the policies of the matrix: a few, and for two players the archetypes too."""
    archetypes = archetype_names() if players == MIN_PLAYERS else []
    return list(dict.fromkeys([study.policy, study.check, *CONTENDERS, *archetypes]))


def checks(study: Study) -> Iterator[Check]:
    """Yield what is asked again: the other policy, another deck, each other value of every ruling and icon."""
    short = share_of(study.games, VIEW_SHARE)
    if study.check != study.policy:
        yield Check("other_policy", tuple(View(players, study.check) for players in study.players), study.games)
    decks = tuple(View(players, study.policy, deck=OTHER_DECK) for players in study.players)
    yield Check("other_deck", decks, short)
    least = study.players[0]
    rulings = [f"{option}={value}" for option, values in ruling_values().items() for value in values[1:]]
    yield Check("other_rulings", tuple(View(least, study.check, ruling=text) for text in rulings), short)
    icons = [
        f"{name}={value}" for name, icon in known_icons().items() for value in icon.candidates if value != icon.default
    ]
    yield Check("other_icons", tuple(View(least, study.check, icon=text) for text in icons), short)


def part_count(study: Study) -> int:
    """Return the number of parts of a study."""
    return len([*main_parts(study), *checks(study)])


def run_study(
    study: Study,
    out: Path,
    threads: int,
    on_part: Callable[[str, float | None], object] = lambda name, seconds: None,
) -> Findings:
    """Play the parts of a study that are not in `out` yet, write them there, and return all tables.

    on_part is called after each part with its name and the seconds it took, None if it was there already.

    Raises
    ------
    DartmoorError
        `out` cannot be written, or a policy misbehaved.
    KeyboardInterrupt
        Interrupted; the finished parts are in `out`.
    """
    prepare_directory(out)
    run = _Run(study, out, threads, on_part, make_world())
    for part in main_parts(study):
        run.main_part(part)
    questions = {size: ask(run.tables[f"caves_{size}p"], run.tables[f"cards_{size}p"]) for size in study.players}
    for check in checks(study):
        run.check(check, questions)
    return Findings(study, run.tables, questions, run.world.assumptions, run.seconds, threads)


@dataclass
class _Run:
    """A study under way: what it knows so far."""

    study: Study
    out: Path
    threads: int
    on_part: Callable[[str, float | None], object]
    world: World

    def __post_init__(self) -> None:
        self.tables: dict[str, Tables] = {}
        self.seconds = 0.0

    def main_part(self, part: Part) -> None:
        """Read or play one part about the main policy."""
        parts = [load_policy(name, part.players) for name in part.policies.split(",")]
        identity = {**asdict(part), "policies": {one.name: one.hash for one in parts}, **_world_identity(self.world)}

        def play() -> Result:
            return play_part(part, self.world, self.study.seed, self.threads)

        self._obtain(part.name, identity, play)

    def check(self, check: Check, questions: Mapping[int, Questions]) -> None:
        """Read or play the headlines of other policies or worlds."""
        asked = {str(size): asdict(one) for size, one in questions.items()}
        hashes = {f"{one.policy} {one.players}": load_policy(one.policy, one.players).hash for one in check.views}
        identity = {**asdict(check), "questions": asked, "hashes": hashes, **_world_identity(self.world)}

        def play() -> Result:
            rows = [row for view in check.views for row in self._answers(view, check.games, questions[view.players])]
            frame = rounded(tidy(rows, ("players", "policy", "world", "question", "answer")))
            return Result({}, {"answers": frame}, Stop(check.games, "complete"), self._check_manifest(check, hashes))

        self._obtain(check.name, identity, play)

    def _answers(self, view: View, games: int, questions: Questions) -> list[Row]:
        world = world_of_view(view)
        tables = {}
        for kind in HEADLINE_KINDS:
            length = share_of(games, CAVE_SHARE) if kind == "caves" else games
            part = Part(kind, view.players, view.policy, length)
            frames = play_part(part, world, self.study.seed, self.threads).frames
            tables[kind] = {name: rows_of(csv_text(frame)) for name, frame in frames.items()}
        return answers(view, tables, questions)

    def _check_manifest(self, check: Check, hashes: Mapping[str, str]) -> dict[str, Any]:
        about = manifest(
            seed=self.study.seed,
            games=check.games,
            options={"command": "study", **self.study.options},
            deck={"name": self.world.deck.name, "hash": deck_hash(self.world.deck)},
            assumptions=self.world.assumptions,
            policies=[],
        )
        return {**about, "check_policies": dict(hashes)}

    def _obtain(self, name: str, identity: Mapping[str, Any], play: Callable[[], Result]) -> None:
        """Read a part's tables from its directory, or play it and write them; also add the seconds that it took."""
        directory, digest = self.out / name, identity_digest({**identity, "seed": self.study.seed})
        about, seconds = finished_part(directory, digest), None
        if about is None:
            begun = time.monotonic()
            result = play()
            seconds = time.monotonic() - begun
            result.manifest.update(study_part=digest, seconds=round(seconds, 1), threads=self.threads)
            prepare_directory(directory)
            (directory / MANIFEST).unlink(missing_ok=True)  # while tables are replaced the part is not finished
            write_results(directory, result)
            about = read_manifest(directory)
        self.tables[name] = read_tables(directory, about)
        self.seconds += float(about["seconds"])
        self.on_part(name, seconds)


def world_of_view(view: View) -> World:
    """Return the world that a view assumes."""
    return make_world(view.deck, [view.ruling] if view.ruling else [], [view.icon] if view.icon else [])


def play_part(part: Part, world: World, seed: int, threads: int) -> Result:
    """Play one part and return its result with the kept, rounded tables.

    Raises
    ------
    KeyboardInterrupt
        The part was interrupted: half a part is none.
    """
    result = _play(part, world, seed, threads)
    if result.stop.reason == "interrupted":
        raise KeyboardInterrupt
    frames: dict[str, pd.DataFrame] = kept_frames(part.kind, result)
    return Result(result.document, frames, result.stop, result.manifest)


def _play(part: Part, world: World, seed: int, threads: int) -> Result:
    plan = make_plan(part.games)
    if part.kind in ("seats", "matrix"):
        tables = "pairs" if part.kind == "matrix" else "all"
        return winrate(make_field(world, part.players, part.policies, seed=seed, tables=tables), plan, threads)
    setting = make_setting(world, part.players, part.policies, seed=seed)
    if part.kind == "caves":
        return caves(setting, plan, threads)
    if part.kind == "winter":
        return winter(setting, plan, threads)
    return card_values(setting, plan, part.causal, threads)


def _world_identity(world: World) -> dict[str, Any]:
    return {
        "version": __version__,
        "engine_version": ENGINE_VERSION,
        "deck": deck_hash(world.deck),
        "assumptions": world.assumptions,
    }


def identity_digest(identity: Mapping[str, Any]) -> str:
    """Return a short hash of all that decides a part's numbers."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]


def finished_part(directory: Path, digest: str) -> dict[str, Any] | None:
    """Return the manifest of a finished part with this digest, or None if there is none."""
    if not (directory / MANIFEST).is_file():
        return None
    about = read_manifest(directory)
    listed = about.get("tables") or []
    complete = about.get("study_part") == digest and all((directory / name).is_file() for name in listed)
    return about if complete else None


def read_tables(directory: Path, about: Mapping[str, Any]) -> Tables:
    """Return the tables of a part by name."""
    names = [str(name) for name in about["tables"]]
    return {name.removesuffix(".csv"): rows_of((directory / name).read_text(encoding="utf-8")) for name in names}
