"""Chunks of games on a dask cluster: the same chunks as on threads, so the same bytes from any number of machines.

What travels: once to every worker the match (tables, weights, and policies by name, a user's as its source); for each
chunk two numbers out, and packed totals (a few kilobytes) back. Chunks take longer the more workers there are, so that
the scheduler has a bounded number of tasks a second to deal with.
"""

import hashlib
import importlib
import pickle
import tempfile
import threading
import time
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from experiments.checkpoint import pack_totals, unpack_totals
from experiments.files import write_bytes
from experiments.options import Setting
from policies.user_file import load_function
from sim import ENGINE_VERSION, __version__
from sim.batch import Match, Pace, chunks, play_chunk, results_in_order
from sim.cache import PROJECT
from sim.codes import CaveMode
from sim.errors import DartmoorError
from sim.play import OUTCOME
from sim.tables import TABLES

try:
    from distributed import Client, KilledWorker, WorkerPlugin
except ImportError as error:
    raise DartmoorError(
        "--scheduler: needs dask.distributed, install it with: pip install '.[cluster]' in the project's folder"
    ) from error

if TYPE_CHECKING:
    from experiments.simulate import Part, Parts

SHORTEST_CHUNK = 1.0  # seconds of play
LONGEST_CHUNK = 60.0
TASKS_A_SECOND = 200  # that a dask scheduler serves without strain, a fifth of what it can
IN_FLIGHT = 4  # chunks a core, so that no core waits for the next
LOOK_AGAIN = 5.0  # seconds after which the cores are counted again: workers come and go
CONNECT_SECONDS = 10
WORKERS_SECONDS = 60  # how long a cluster may take to have its first worker
OWN_POLICIES = "policies"  # package whose modules every worker has
SOURCES = ("sim", OWN_POLICIES)


@dataclass(frozen=True)
class Seat:
    """A seat's policy on its way to a worker: module and function by name, or a user's function with its source."""

    name: str
    module: str
    function: str
    source: bytes | None  # None for the policies that every worker has
    weights: np.ndarray


@dataclass(frozen=True)
class Job:
    """A match on its way to a worker. `key` is a hash of all the rest."""

    key: str
    sources: str  # hash of the kernels' sources, so that a worker with others refuses to play
    tables: bytes  # compressed
    players: int
    seats: tuple[Seat, ...]
    seed: int
    cave_mode: int
    caves: tuple[int, ...]


@cache
def sources_hash() -> str:
    """Return a hash of all that makes the same seed play the same games: engine, policies, numba."""
    digest = hashlib.sha256(f"{ENGINE_VERSION} {numba.__version__}".encode())
    for package in SOURCES:
        for path in sorted((PROJECT / package).rglob("*.py")):
            digest.update(path.relative_to(PROJECT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def make_job(setting: Setting) -> Job:
    """Return the job of a setting."""
    match = setting.match()
    seats = tuple(
        seat_of(name, function, weights)
        for name, function, weights in zip(match.names, match.policies, match.weights, strict=True)
    )
    tables = zlib.compress(match.tables.tobytes())
    caves = tuple(int(cave) for cave in match.caves)
    job = Job("", sources_hash(), tables, match.players, seats, match.seed, int(match.cave_mode), caves)
    return replace(job, key=hashlib.sha256(pickle.dumps(job)).hexdigest()[:16])


def seat_of(name: str, function: Any, weights: np.ndarray) -> Seat:
    """Return a compiled policy as something that can travel."""
    plain = function.py_func
    if plain.__module__.partition(".")[0] == OWN_POLICIES:
        return Seat(name, plain.__module__, plain.__name__, None, weights)
    path, _, attribute = name.rpartition(":")
    return Seat(name, "", attribute, Path(path).read_bytes(), weights)


# On the worker

JOBS: dict[str, Job] = {}
MATCHES: dict[str, Match] = {}
LOCK = threading.Lock()  # one thread compiles, the others wait


class JobPlugin(WorkerPlugin):
    """Brings a job to every worker of the cluster, those that join later too."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def setup(self, worker: object) -> None:
        """Keep the job; called by dask when the worker hears of it."""
        JOBS[self.job.key] = self.job

    def teardown(self, worker: object) -> None:
        """Forget the job; called by dask when the run is over."""
        JOBS.pop(self.job.key, None)
        MATCHES.pop(self.job.key, None)


def play_part(key: str, first: int, count: int) -> tuple[bytes, float]:
    """Play a chunk of a job on this worker; return packed totals and the seconds it took.

    Raises
    ------
    DartmoorError
        The worker has another version of dartmoor or numba, or a policy misbehaved.
    """
    match = match_of(key)
    begun = time.perf_counter()
    totals, _ = play_chunk(match, first, count)
    return pack_totals(totals), time.perf_counter() - begun


def match_of(key: str) -> Match:
    """Return the match of a job that the plugin brought."""
    with LOCK:
        if key not in MATCHES:
            MATCHES[key] = build_match(JOBS[key])
        return MATCHES[key]


def build_match(job: Job) -> Match:
    """Make a match of a job, if this worker plays the same games as the sender."""
    if job.sources != sources_hash():
        raise DartmoorError(
            f"--scheduler: a worker has another version of dartmoor ({__version__}, engine {ENGINE_VERSION}) or of "
            f"numba ({numba.__version__}); install the same everywhere"
        )
    tables = np.frombuffer(zlib.decompress(job.tables), TABLES)
    return Match(
        tables=tables,
        players=job.players,
        policies=[load_seat(seat) for seat in job.seats],
        weights=[seat.weights for seat in job.seats],
        seed=job.seed,
        cave_mode=CaveMode(job.cave_mode),
        caves=job.caves,
        names=[seat.name for seat in job.seats],
    )


def load_seat(seat: Seat) -> Any:
    """Return the compiled policy of a seat; a user's source becomes a file of this machine."""
    if seat.source is None:
        return getattr(importlib.import_module(seat.module), seat.function)
    # A fixed place, so that the next worker process here finds the compiled policy in the kernel cache.
    digest = hashlib.sha256(seat.source).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"dartmoor-policy-{digest}" / "policy.py"
    path.parent.mkdir(exist_ok=True)
    if not path.exists() or path.read_bytes() != seat.source:
        write_bytes(path, seat.source)
    return load_function(path, seat.function)


# On the machine that asks


class Cores:
    """How many cores the cluster has, counted again every few seconds."""

    def __init__(self, client: Any) -> None:
        self.client, self.counted, self.count = client, -LOOK_AGAIN, 1

    def __call__(self) -> int:
        """Return the number of cores, at least 1."""
        if time.monotonic() - self.counted > LOOK_AGAIN:
            self.count = max(1, sum(self.client.nthreads().values()))
            self.counted = time.monotonic()
        return self.count


class ClusterPace(Pace):
    """Chunks of seconds, the longer the more cores."""

    def __init__(self, cores: Cores) -> None:
        super().__init__(SHORTEST_CHUNK, cores())
        self.cores = cores

    def __call__(self, left: int) -> int:
        """Return the size of the next chunk with `left` games to go."""
        self.workers = self.cores()
        self.seconds = min(LONGEST_CHUNK, max(SHORTEST_CHUNK, self.workers / TASKS_A_SECOND))
        return super().__call__(left)


@contextmanager
def cluster_parts(address: str, setting: Setting) -> "Iterator[Parts]":
    """Yield what plays a setting on the cluster behind a scheduler's address.

    A chunk whose worker died is played again by another.

    Raises
    ------
    DartmoorError
        Nobody answers, there are no workers, or a worker has another version.
    """
    client = connect(address)
    job = make_job(setting)
    try:
        client.register_plugin(JobPlugin(job), name=job.key)
        yield lambda first, count: play_on(client, job.key, first, count)
    finally:
        with quiet_shutdown():
            client.unregister_worker_plugin(job.key)
            client.close()


def connect(address: str) -> Any:
    """Return a dask client with at least one worker."""
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DartmoorError(f"--scheduler: no dask scheduler at {address}: {reason}") from error
    try:
        client.wait_for_workers(1, timeout=WORKERS_SECONDS)
    except OSError as error:
        client.close()
        raise DartmoorError(f"--scheduler: {address} has no workers after {WORKERS_SECONDS} s") from error
    return client


@contextmanager
def quiet_shutdown() -> Iterator[None]:
    """Let nothing that goes wrong while leaving the cluster hide the result or the error before."""
    try:
        yield
    except (OSError, RuntimeError, ValueError):
        return


def play_on(client: Any, key: str, start: int, games: int) -> "Generator[Part, None, None]":
    """Yield (number of games, totals and outcomes) in the order of games; there are no outcomes."""
    cores = Cores(client)
    pace = ClusterPace(cores)
    in_flight: dict[int, Any] = {}

    def submit(first: int, count: int) -> Any:
        future = client.submit(play_part, key, first, count, key=f"dartmoor-{key}-{first}-{count}")
        in_flight[first] = future
        return future

    first = start
    try:
        for count, (packed, seconds) in results_in_order(
            submit, chunks(start, games, pace), lambda: IN_FLIGHT * cores()
        ):
            del in_flight[first]
            first += count
            pace.note(count, seconds)
            yield count, (unpack_totals(packed), np.zeros(0, OUTCOME))
    except KilledWorker as error:
        raise DartmoorError(f"--scheduler: the chunk from game {first} on killed several workers: {error}") from error
    finally:
        with quiet_shutdown():
            client.cancel(list(in_flight.values()))
