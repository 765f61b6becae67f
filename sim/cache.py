"""Where numba keeps compiled kernels: one directory per version of the sources that they come from.

numba's on-disk cache looks only at the file a function stands in. An edit in a helper of another file would leave the
old machine code in use, and stale kernels play stale rules. So the directory is named after everything that goes into
the code: the Python sources, numba, Python, and numba's settings that change code. The engine has a directory named
after its own sources alone, so that a new policy or experiment never compiles it again; importing `policies` names
another one for everything above the engine.
"""

import hashlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
ENGINE = ("sim",)
ALL = ("sim", "policies", "experiments")  # packages with kernels
CODE_SETTINGS = ("NUMBA_BOUNDSCHECK", "NUMBA_OPT", "NUMBA_DEBUGINFO", "NUMBA_LOOP_VECTORIZE", "NUMBA_SLP_VECTORIZE")
PREFIX = "kernels-"  # of the directories that are ours to delete
MARKER = "last_used"  # its modification time is the last start that used the directory
KEEP_SECONDS = 30 * 24 * 3600


def use_kernel_cache(packages: Sequence[str] = ENGINE) -> Path:
    """Name the cache directory of these packages' kernels to numba, drop old ones, and return it.

    numba reads the name when a kernel is declared: call this before the first kernel of the packages.

    A `NUMBA_CACHE_DIR` of the user's stays. Safe with several processes at once. Where the directory cannot be
    written, a temporary one serves for this process and those it starts, and one line on stderr says so.
    """
    root = cache_root()
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    # A directory under our own root was named by a parent process, maybe from other sources than those here.
    if chosen and Path(chosen).parent != root:
        return Path(chosen)
    directory = root / (PREFIX + source_hash(packages))
    try:
        _mark_used(directory)
    except OSError as error:
        directory = _temporary_directory(directory, error)
    else:
        drop_unused(root, keep=directory)
    _tell_numba(directory)
    return directory


def cache_root() -> Path:
    """Return the directory of all versions: `dartmoor` in `$DARTMOOR_CACHE_DIR`, `$XDG_CACHE_HOME` or `~/.cache`."""
    base = os.environ.get("DARTMOOR_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    return Path(os.path.abspath(base) if base else os.path.expanduser("~/.cache")) / "dartmoor"


def source_hash(packages: Sequence[str] = ENGINE, project: Path = PROJECT) -> str:
    """Return 16 hex digits that change with every source of the packages, numba, Python, and numba's code settings.

    Of the experiments only files with kernels count: most of that package is tables and text.
    """
    digest = hashlib.blake2b(digest_size=8)
    settings = [f"{name}={os.environ.get(name, '')}".encode() for name in CODE_SETTINGS]
    for part in (_numba_version(), sys.version.encode(), *settings):
        digest.update(part + b"\0")
    for path in _sources(project, packages):
        content = path.read_bytes()
        if "experiments" in path.relative_to(project).parts and b"@njit" not in content:
            continue
        digest.update(f"{path.relative_to(project).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def drop_unused(root: Path, keep: Path, now: float | None = None) -> None:
    """Delete our cache directories below `root` that no start has used for 30 days, except `keep`.

    A directory is renamed before it is deleted: of several processes only one succeeds, and none reads half a cache.
    """
    oldest = (time.time() if now is None else now) - KEEP_SECONDS
    for directory in root.glob(PREFIX + "*"):
        if directory == keep or _last_used(directory) >= oldest:
            continue
        doomed = directory.with_name(f"{directory.name}.{os.getpid()}.old")
        try:
            directory.rename(doomed)
        except OSError:
            continue  # another process was faster
        import shutil  # rarely needed, and slow to import

        shutil.rmtree(doomed, ignore_errors=True)


def _sources(project: Path, packages: Sequence[str]) -> Iterator[Path]:
    for package in packages:
        yield from sorted((project / package).rglob("*.py"))


def _numba_version() -> bytes:
    """Return what identifies the installed numba, without importing it.

    Its version file is read as it stands: asking `importlib.metadata` would triple the time this module takes.
    """
    spec = find_spec("numba")
    if spec is None or spec.origin is None:
        return b"none"  # codes, rules and errors work without numba
    try:
        return Path(spec.origin).with_name("_version.py").read_bytes()
    except OSError:
        from importlib.metadata import version

        return version("numba").encode()


def _last_used(directory: Path) -> float:
    for path in (directory / MARKER, directory):
        try:
            return path.stat().st_mtime
        except OSError:
            continue
    return time.time()  # gone, or not ours to look at: nothing to delete


def _mark_used(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / MARKER).write_text("numba cache of dartmoor; the time of this file is that of its last use\n")


def _temporary_directory(directory: Path, error: OSError) -> Path:
    import atexit
    import shutil
    import tempfile

    temporary = Path(tempfile.mkdtemp(prefix="dartmoor-"))
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    reason = error.strerror or str(error)
    sys.stderr.write(
        f"dartmoor: kernel cache {directory}: {reason}; compiling into a temporary directory instead "
        "(set DARTMOOR_CACHE_DIR to a directory that can be written)\n"
    )
    return temporary


def _tell_numba(directory: Path) -> None:
    os.environ["NUMBA_CACHE_DIR"] = str(directory)
    if "numba" in sys.modules:  # it has read its environment already
        sys.modules["numba"].config.CACHE_DIR = str(directory)
