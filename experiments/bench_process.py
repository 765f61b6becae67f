"""Measurements that need a process of their own: start-up, peak memory, instructions, runs that are killed."""

import hashlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.checkpoint import CHECKPOINT
from sim.errors import DartmoorError

MAIN = "from experiments.cli import main; main()"
GROWTH = "import sys; from experiments.bench_process import play_and_tell; play_and_tell(*map(int, sys.argv[1:]))"
TIMES = ("seconds", "games_per_second")
WARM_UP = 200  # games before the clock starts
PERF_GAMES = 2000
POLL = 0.02  # seconds


def command_line(*arguments: object) -> list[str]:
    """Return a `dartmoor` command of this Python, whether or not its script is installed."""
    return [sys.executable, "-c", MAIN, *map(str, arguments)]


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> tuple[str, float]:
    """Run a command; return what it prints and its wall time in seconds.

    Raises
    ------
    DartmoorError
        It fails; the message is its last line on stderr.
    """
    begun = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - begun
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise DartmoorError(f"bench: {' '.join(command[3:])}: {lines[-1]}")
    return done.stdout, seconds


def start_up(rounds: int, games: int = 1000) -> dict[str, Any]:
    """Return wall times in seconds of `--help`, of numba's import, and of `simulate` from empty and filled caches."""
    simulate = command_line("simulate", "--games", games, "--policies", "random", "--json")
    with tempfile.TemporaryDirectory(prefix="dartmoor-bench-") as directory:
        environment = {**os.environ, "DARTMOOR_CACHE_DIR": directory, "NUMBA_CACHE_DIR": ""}
        cold = run(simulate, environment)[1]
        return {
            "help": [run(command_line("--help"), environment)[1] for _ in range(rounds)],
            "import_numba": [run([sys.executable, "-c", "import numba"], environment)[1] for _ in range(rounds)],
            f"simulate_{games}_games_warm": [run(simulate, environment)[1] for _ in range(rounds)],
            f"simulate_{games}_games_cold": [cold],
        }


def growth(sizes: Sequence[int], threads: int, seed: int) -> list[dict[str, Any]]:
    """Return seconds and peak memory (bytes) of runs of several sizes, each in a fresh process."""
    return [json.loads(run([sys.executable, "-c", GROWTH, str(games), str(threads), str(seed)])[0]) for games in sizes]


def play_and_tell(games: int, threads: int, seed: int) -> None:
    """Play random 2-player games in this process and print seconds and peak memory as JSON."""
    import resource

    from experiments.options import make_setting, make_world
    from sim.batch import play

    match = make_setting(make_world(), 2, "random", seed=seed).match()
    play(match, WARM_UP, threads)
    begun = time.perf_counter()
    play(match, games, threads)
    seconds = time.perf_counter() - begun
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    print(json.dumps({"games": games, "seconds": seconds, "peak_bytes": peak}))


def instructions_a_game(seed: int) -> float | None:
    """Return machine instructions a random 2-player game as `perf stat` counts them; None where it cannot."""
    if shutil.which("perf") is None:
        return None
    few = _instructions(PERF_GAMES, seed)
    many = None if few is None else _instructions(2 * PERF_GAMES, seed)
    return None if few is None or many is None else (many - few) / PERF_GAMES


def _instructions(games: int, seed: int) -> float | None:
    child = [sys.executable, "-c", GROWTH, str(games), "1", str(seed)]
    done = subprocess.run(["perf", "stat", "-x", ",", "-e", "instructions:u", *child], capture_output=True, text=True)
    for line in done.stderr.splitlines():
        count, _, rest = line.partition(",")
        if "instructions" in rest and count.isdecimal():
            return float(count)
    return None  # no such counter, as in most virtual machines


def scale_check(games: int, seed: int, threads: int) -> dict[str, Any]:
    """Return the hash of a summary from one thread, from all, killed and resumed, and from two dask workers."""
    with tempfile.TemporaryDirectory(prefix="dartmoor-scale-") as directory:
        common = ("simulate", "--games", games, "--policies", "random", "--seed", seed, "--json")
        hashes: dict[str, Any] = {
            "1 thread": summary_hash(run(command_line(*common, "--threads", 1))[0]),
            f"{threads} threads": summary_hash(run(command_line(*common, "--threads", threads))[0]),
            "killed and resumed": killed_and_resumed(common, Path(directory)),
            "2 dask workers": on_two_workers(common),
        }
    found = {value for value in hashes.values() if value is not None}
    return {"games": games, "hashes": hashes, "same": len(found) == 1}


def summary_hash(text: str) -> str:
    """Return a hash of a summary as JSON, but for its times."""
    content = {key: value for key, value in json.loads(text).items() if key not in TIMES}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def killed_and_resumed(common: Sequence[object], out: Path) -> str:
    """Kill a run (signal 9) after its first checkpoint with games, go on, and return the hash."""
    keep = (*common, "--out", out, "--resume", "--checkpoint-every", 0.2)
    process = subprocess.Popen(command_line(*keep), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and _games_kept(out / CHECKPOINT) == 0:
        time.sleep(POLL)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return summary_hash(run(command_line(*keep))[0])


def _games_kept(path: Path) -> int:
    return json.loads(path.read_text(encoding="utf-8"))["games"] if path.exists() else 0


def on_two_workers(common: Sequence[object]) -> str | None:
    """Run on a local cluster of two worker processes; None without dask.distributed."""
    try:
        from distributed import LocalCluster
    except ImportError:
        return None
    quiet = logging.CRITICAL
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=quiet
    ) as cluster:
        return summary_hash(run(command_line(*common, "--scheduler", cluster.scheduler_address))[0])
