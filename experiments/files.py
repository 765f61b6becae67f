"""Files that experiments write: whole or not at all, and a manifest that says what a results directory holds."""

import datetime
import errno
import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sim import ENGINE_VERSION, __version__
from sim.errors import DartmoorError

MANIFEST = "manifest.json"
PROGRAM = "dartmoor"
FORMAT = 1  # of the manifest and the files beside it; raised when an older program could no longer read them
REASONS = {
    errno.ENOSPC: "no space left on the device",
    errno.EDQUOT: "disk quota used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
}
_claimed: dict[Path, int] = {}  # results directories of this process, with the descriptors that hold their locks
ABSOLUTE_FOLDER = re.compile(r"(^|[,:=])(?:/|[A-Za-z]:[\\/])[^,:]*[\\/]")


def write_atomic(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then put it in the place of `path` in one step.

    A reader finds the old file or the new one, never half of one, whenever the program or the machine stops.

    Parameters
    ----------
    path
        The file to be there afterwards; its directory must exist.
    write
        Called with the path of the temporary file, which it creates.

    Raises
    ------
    DartmoorError
        The directory is missing, read-only or full, or `path` is a directory. The old file is then untouched.
    """
    _check_target(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        write(temporary)
        _flush(temporary)
        os.replace(temporary, path)
        _flush_directory(path.parent)
    except OSError as error:
        raise DartmoorError(f"{path}: cannot be written: {_reason(error)}") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file of bytes, as `write_atomic` does."""
    write_atomic(path, lambda temporary: temporary.write_bytes(content))


def write_text(path: Path, text: str) -> None:
    """Write a whole text file in UTF-8 with line ends as they stand in `text`, as `write_atomic` does."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, document: object) -> None:
    """Write one JSON document, as `write_atomic` does."""
    write_text(path, json_text(document))


def json_text(document: object) -> str:
    """Return a document as JSON text with a line end; NumPy numbers and arrays become plain ones, NaN is refused."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False, default=_plain) + "\n"


def prepare_directory(path: Path) -> Path:
    """Create a results directory if it is not there and prove that it can be written, before hours of play.

    From then on it is this process's alone, until the process ends: two runs would mix their files.

    Raises
    ------
    DartmoorError
        It cannot be created or written, a file has its name, or another process is writing into it.
    """
    if path.exists() and not path.is_dir():
        raise DartmoorError(f"{path}: is a file, expected a directory")
    probe = path / f".{secrets.token_hex(6)}.tmp"
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
        _claim(path)
    except OSError as error:
        raise DartmoorError(f"{path}: cannot be written: {_reason(error)}") from error
    return path


def _claim(path: Path) -> None:
    if os.name != "posix" or path.resolve() in _claimed:
        return
    import fcntl  # there is none elsewhere

    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise DartmoorError(f"{path}: another run is writing here, name another directory") from None
    _claimed[path.resolve()] = descriptor


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's content in hex.

    Raises
    ------
    DartmoorError
        The file cannot be read.
    """
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise DartmoorError(f"{path}: cannot be read: {_reason(error)}") from error


def manifest(
    *,
    seed: int,
    games: int,
    options: Mapping[str, object],
    deck: Mapping[str, object],
    assumptions: Sequence[object],
    policies: Sequence[Mapping[str, object]],
) -> dict[str, Any]:
    """Return what a results directory says about itself, ready for `write_manifest`.

    Parameters
    ----------
    seed, games
        Of the run.
    options
        The command's options by name; absolute paths in them are cut to the file's name, since they mean nothing on
        another machine.
    deck
        Its `name` and `hash`.
    assumptions
        What the run takes for granted: icons, rulings, caves, the deck's pairing.
    policies
        `name` and `hash` of each seat's policy.
    """
    created = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {
        "program": PROGRAM,
        "format": FORMAT,
        "version": __version__,
        "engine_version": ENGINE_VERSION,
        "seed": seed,
        "games": games,
        "options": _portable(options),
        "deck": _portable(deck),
        "assumptions": _portable(assumptions),
        "policies": _portable(policies),
        "created": created,
    }


def write_manifest(directory: Path, content: Mapping[str, object]) -> None:
    """Write a manifest into a results directory."""
    write_json(directory / MANIFEST, content)


def read_manifest(directory: Path) -> dict[str, Any]:
    """Return the manifest of a results directory.

    Raises
    ------
    DartmoorError
        There is none, it is damaged, another program wrote it, or a newer version of this one did.
    """
    path = directory / MANIFEST
    if not path.is_file():
        raise DartmoorError(f"{directory}: no {MANIFEST} in it, so it is not a results directory")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DartmoorError(f"{path}: cannot be read: {_reason(error)}") from error
    except (ValueError, RecursionError) as error:
        raise DartmoorError(f"{path}: damaged, not a JSON document: {error}") from error
    _check_manifest(path, content)
    return content


def _check_manifest(path: Path, content: object) -> None:
    if not isinstance(content, dict) or content.get("program") != PROGRAM:
        raise DartmoorError(f"{path}: not written by {PROGRAM}")
    written = content.get("format")
    if type(written) is not int or written < 1:
        raise DartmoorError(f"{path}: format {written!r} unknown, expected a number from 1 to {FORMAT}")
    if written > FORMAT:
        raise DartmoorError(
            f"{path}: written by the newer {PROGRAM} {content.get('version')} (format {written}, this one reads up to "
            f"{FORMAT}); update {PROGRAM} to read it"
        )
    missing = [key for key in ("version", "engine_version", "seed", "games", "options", "deck") if key not in content]
    if missing:
        raise DartmoorError(f"{path}: damaged, {missing[0]!r} is missing")


def _portable(value: object) -> object:
    """Return `value` for JSON, with absolute paths cut to the file's name."""
    if isinstance(value, Path):
        return value.name if value.is_absolute() else value.as_posix()
    if isinstance(value, str):
        return ABSOLUTE_FOLDER.sub(r"\1", value)
    if isinstance(value, Mapping):
        return {str(key): _portable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_portable(item) for item in value]
    return value


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _check_target(path: Path) -> None:
    if path.is_dir():
        raise DartmoorError(f"{path}: is a directory, expected a file")
    if not path.parent.is_dir():
        raise DartmoorError(f"{path}: directory {path.parent} does not exist")


def _flush(path: Path) -> None:
    """Force a written file to the disk: renaming alone may survive a crash that the content does not."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush_directory(path: Path) -> None:
    if os.name != "posix":  # elsewhere a directory cannot be opened
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: OSError) -> str:
    return REASONS.get(error.errno or 0, error.strerror or str(error))
