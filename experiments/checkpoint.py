"""A run's progress on disk: exact totals of the games played so far, so that a killed run goes on where it was.

The totals of games 0 .. n-1 are integers, and game n needs nothing but the run's seed and n. So a run that goes on from
a checkpoint ends in the same bytes as one that was never stopped.
"""

import base64
import hashlib
import json
import time
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from experiments.files import PROGRAM, write_json
from experiments.options import Setting
from sim import ENGINE_VERSION
from sim.deck import deck_hash
from sim.errors import DartmoorError
from sim.play import TOTALS

CHECKPOINT = "checkpoint.json"
EVERY_SECONDS = 60.0
WORD = np.dtype(np.int64)  # every number of TOTALS, so that totals are a plain array of words
INDEX = np.dtype("<u4")
VALUE = np.dtype("<i8")
LEFT_OVER = f".{CHECKPOINT}.*.tmp"  # of a process killed while it wrote

assert all(TOTALS[name].base == WORD for name in TOTALS.names or ())


def pack_totals(totals: np.ndarray) -> bytes:
    """Return totals (shape (1,), dtype TOTALS) as few bytes: nearly all of their numbers are 0 and are left out."""
    words = totals.view(WORD)
    places = np.flatnonzero(words)
    steps = np.diff(places, prepend=0).astype(INDEX)
    return zlib.compress(byte_planes(steps) + byte_planes(words[places].astype(VALUE)), 1)


def unpack_totals(packed: bytes) -> np.ndarray:
    """Return the totals that `pack_totals` packed.

    Raises
    ------
    ValueError
        The bytes are no packed totals.
    """
    try:
        content = zlib.decompress(packed)
    except zlib.error as error:
        raise ValueError("not packed totals") from error
    count, rest = divmod(len(content), INDEX.itemsize + VALUE.itemsize)
    split = count * INDEX.itemsize
    places = np.cumsum(from_planes(content[:split], INDEX).astype(WORD))
    totals = np.zeros(1, TOTALS)
    words = totals.view(WORD)
    if rest or (count and places[-1] >= len(words)):
        raise ValueError("not packed totals")
    words[places] = from_planes(content[split:], VALUE)
    return totals


def byte_planes(values: np.ndarray) -> bytes:
    """Return the lowest bytes of all values, then the next, and so on: runs of zeros that compress to nothing."""
    return values.view(np.uint8).reshape(len(values), values.itemsize).T.tobytes()


def from_planes(content: bytes, kind: np.dtype) -> np.ndarray:
    """Return the values of type `kind` from their byte planes."""
    planes = np.frombuffer(content, np.uint8).reshape(kind.itemsize, -1)
    return np.ascontiguousarray(planes.T).view(kind)[:, 0] if planes.size else np.zeros(0, kind)


def layout(kind: np.dtype) -> str:
    """Return a short hash of a record's fields, which tells whether bytes mean the same here and there."""
    return hashlib.sha256(repr(kind).encode()).hexdigest()[:16]


def run_identity(setting: Setting, games_out: bool) -> dict[str, Any]:
    """Return all that decides a run's games and files, by the option that the user would have to change."""
    world = setting.world
    return {
        "engine version": ENGINE_VERSION,
        "--seed": setting.seed,
        "--players": setting.players,
        "--policies": [
            f"{seat.name} {hashlib.sha256(seat.hash.encode() + seat.weights.tobytes()).hexdigest()[:12]}"
            for seat in setting.seats
        ],
        "--caves": setting.caves_text,
        "--deck": f"{world.deck.name} {deck_hash(world.deck)[:12]}",
        "--ruling": {name: str(value) for name, value in asdict(world.rulings).items()},
        "--icon": dict(world.icons),
        "--caves-file": hashlib.sha256(repr(world.caves).encode()).hexdigest()[:12],
        "--games-out": games_out,
        "layout of totals": layout(TOTALS),
    }


@dataclass
class Progress:
    """What is done of a run: totals (shape (1,), dtype TOTALS), seconds of play, and the files with rows of games."""

    totals: np.ndarray = field(default_factory=lambda: np.zeros(1, TOTALS))
    seconds: float = 0.0
    parts: list[str] = field(default_factory=list)

    @property
    def games(self) -> int:
        """Number of games played."""
        return int(self.totals["games"][0])


class Checkpoint:
    """The file `checkpoint.json` of a results directory."""

    def __init__(self, directory: Path, setting: Setting, games_out: bool, every: float = EVERY_SECONDS) -> None:
        """Keep the progress of a run of `setting` in `directory`, every `every` seconds."""
        self.path = directory / CHECKPOINT
        self.every = every
        self.identity = run_identity(setting, games_out)
        self.saved = time.monotonic()

    def begin(self, resume: bool, games: int) -> Progress:
        """Return the progress to go on from: what is saved with `resume`, otherwise none.

        Raises
        ------
        DartmoorError
            What is saved is damaged or of another run; or it is unfinished and would be lost without `resume`.
        """
        for left_over in self.path.parent.glob(LEFT_OVER):
            left_over.unlink(missing_ok=True)
        if not self.path.exists():
            return Progress()
        if not resume:
            self._check_finished()
            return Progress()
        document = self._read()
        self._check_identity(document["run"])
        progress = self._progress(document)
        if progress.games > games:
            raise DartmoorError(f"--games: {games}, but {self.path} holds {progress.games} games already")
        return progress

    def due(self) -> bool:
        """Return whether the time for the next `save` has come."""
        return time.monotonic() - self.saved >= self.every

    def save(self, progress: Progress, finished: bool = False) -> None:
        """Write the progress, in the place of the one before.

        Raises
        ------
        DartmoorError
            It cannot be written; the one before is still there.
        """
        packed = pack_totals(progress.totals)
        document = {
            "program": PROGRAM,
            "run": self.identity,
            "games": progress.games,
            "finished": finished,
            "seconds": progress.seconds,
            "parts": progress.parts,
            "totals": base64.b64encode(packed).decode(),
            "sha256": hashlib.sha256(packed).hexdigest(),
        }
        write_json(self.path, document)
        self.saved = time.monotonic()

    def _check_finished(self) -> None:
        document = self._read()
        if not document["finished"]:
            raise DartmoorError(
                f"{self.path}: holds {document['games']} games of an unfinished run; go on with --resume, or delete it"
            )

    def _read(self) -> dict[str, Any]:
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
        except OSError as error:
            raise DartmoorError(f"{self.path}: cannot be read: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise DartmoorError(f"{self.path}: damaged, not a JSON document: {error}") from error
        keys = ("program", "run", "games", "finished", "seconds", "parts", "totals", "sha256")
        missing = [key for key in keys if not isinstance(document, dict) or key not in document]
        if missing or not isinstance(document["run"], dict):
            raise DartmoorError(f"{self.path}: not a checkpoint, {(missing or ['run'])[0]!r} is missing")
        return document

    def _check_identity(self, saved: Mapping[str, Any]) -> None:
        for name, now in self.identity.items():
            if saved.get(name) != now:
                before, here = difference(saved.get(name), now)
                raise DartmoorError(f"{self.path}: {name} was {before} and is {here} now; a run goes on unchanged")

    def _progress(self, document: Mapping[str, Any]) -> Progress:
        try:
            packed = base64.b64decode(document["totals"], validate=True)
            totals = unpack_totals(packed)
        except (TypeError, ValueError) as error:
            raise DartmoorError(f"{self.path}: damaged, its totals cannot be read") from error
        if hashlib.sha256(packed).hexdigest() != document["sha256"] or totals["games"][0] != document["games"]:
            raise DartmoorError(f"{self.path}: damaged, its totals are not those that were written")
        return Progress(totals, float(document["seconds"]), list(document["parts"]))


def difference(before: Any, now: Any) -> tuple[str, str]:
    """Return two values in words, of mappings only the first entry that differs."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in {**before, **now}:
            if before.get(key) != now.get(key):
                return f"{key}={before.get(key)}", f"{key}={now.get(key)}"
    if isinstance(before, list) and isinstance(now, list):
        return ", ".join(map(str, before)), ", ".join(map(str, now))
    return str(before), str(now)
