"""Speed of this machine: everything side by side in rounds, so that a ratio is taken within a round.

A slow spell of the machine meets all contestants of a round alike; the spread of a ratio over the rounds says how far
to trust it. Counters of what a game is made of are exact, and tell two versions apart where a clock cannot.
"""

import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import numba
import numpy as np

from experiments.bench_contestants import BASE, POLICIES, Contestant, Work, contestants
from experiments.bench_kernels import COUNTERS, count_games
from experiments.bench_process import growth, instructions_a_game, scale_check, start_up
from experiments.files import PROGRAM
from experiments.options import World, check_threads, make_setting
from sim import ENGINE_VERSION, __version__
from sim.batch import Match, play
from sim.codes import EffectOp, Phase
from sim.errors import DartmoorError
from sim.rules import MAX_PLAYERS, MIN_PLAYERS
from sim.state import new_games

SECTIONS = ("engines", "threads", "start", "growth", "counters", "scale")
LINEAR_FROM = 10_000  # games from which the fixed costs of a run no longer bend the line


@dataclass(frozen=True)
class Size:
    """How much to measure."""

    rounds: int
    slice_seconds: float  # of one contestant in one round
    thread_seconds: float
    growth: tuple[int, ...]
    counted: int  # games
    scale: int  # games


FULL = Size(7, 0.3, 1.5, tuple(10**k for k in range(3, 8)), 1000, 1_000_000)
QUICK = Size(3, 0.05, 0.3, tuple(10**k for k in range(3, 6)), 100, 20_000)

Report = Callable[[str], object]


def bench(
    world: World, seed: int, size: Size, only: Sequence[str] = SECTIONS, told: Report = lambda what: None
) -> dict[str, Any]:
    """Measure the sections named in `only` and return the document of `bench --json`."""
    threads = check_threads(None)
    work: dict[str, Callable[[], Any]] = {
        "engines": lambda: engines(world, seed, size, told),
        "threads": lambda: thread_scaling(world, seed, size, threads),
        "start": lambda: start_up(size.rounds),
        "growth": lambda: growth_with_games(size.growth, threads, seed),
        "counters": lambda: counters(world, seed, size.counted),
        "scale": lambda: scale_check(size.scale, seed, threads),
    }
    document: dict[str, Any] = {
        "program": PROGRAM,
        "version": __version__,
        "engine_version": ENGINE_VERSION,
        "seed": seed,
        "rounds": size.rounds,
        "deck": world.deck.name,
        "assumptions": world.assumptions,
        "machine": machine(threads),
    }
    for name in only:
        told(name)
        document[name] = work[name]()
    return document


def check_sections(text: str | None) -> tuple[str, ...]:
    """Return the sections of the option --only, in the order of SECTIONS."""
    chosen = [part.strip() for part in text.split(",")] if text else list(SECTIONS)
    for name in chosen:
        if name not in SECTIONS:
            raise DartmoorError(f"--only: {name!r} unknown, expected a list from {', '.join(SECTIONS)}")
    return tuple(name for name in SECTIONS if name in chosen)


def machine(threads: int) -> dict[str, Any]:
    """Return what matters of this machine, without its name."""
    return {
        "processor": processor(),
        "cores": threads,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def processor() -> str:
    """Return the kind of processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()


# Side by side


def engines(world: World, seed: int, size: Size, told: Report) -> dict[str, Any]:
    """Time all contestants in rounds; ratios are decisions a second (or games, where there are none) to BASE."""
    fields, missing = contestants(world, seed)
    counts = {one.name: games_for(one, size.slice_seconds) for one in fields}
    rounds: list[dict[str, Work]] = []
    for number in range(size.rounds):
        told(f"engines, round {number + 1} of {size.rounds}")
        rounds.append({one.name: one.run(number * counts[one.name], counts[one.name]) for one in fields})
    return {
        "base": BASE,
        "contestants": [contestant_result(one, rounds) for one in fields],
        "missing": missing,
    }


def games_for(one: Contestant, seconds: float) -> int:
    """Return how many games of a contestant take about `seconds`."""
    one.run(0, 1)  # the first call may compile
    games = 1
    while True:
        work = one.run(0, games)
        if work.seconds >= seconds / 8:
            return max(1, round(games * seconds / work.seconds))
        games *= 2


def contestant_result(one: Contestant, rounds: Sequence[Mapping[str, Work]]) -> dict[str, Any]:
    """Return a contestant's rates and its ratio to BASE, each as median, lowest and highest round."""
    works = [results[one.name] for results in rounds]
    bases = [results[BASE] for results in rounds]
    decisions = None if works[0].decisions is None else [(work.decisions or 0) / work.seconds for work in works]
    base_rates = [rate(base, decisions is not None) for base in bases]
    return {
        "name": one.name,
        "games": sum(work.games for work in works),
        "games_per_second": spread([work.games / work.seconds for work in works]),
        "decisions_per_second": None if decisions is None else spread(decisions),
        "decisions_per_game": (
            None if decisions is None else sum(work.decisions or 0 for work in works) / sum(w.games for w in works)
        ),
        "microseconds_per_game": spread([work.seconds / work.games * 1e6 for work in works]),
        "base_to_this": spread(
            [base / rate(work, decisions is not None) for base, work in zip(base_rates, works, strict=True)]
        ),
        "ratio_of": "games" if decisions is None else "decisions",
        "state_bytes": one.bytes,
    }


def rate(work: Work, decisions: bool) -> float:
    """Return decisions or games a second."""
    return ((work.decisions or 0) if decisions else work.games) / work.seconds


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Return the median of the rounds with the lowest and the highest."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values), "rounds": len(values)}


# Threads, games, counters


def thread_scaling(world: World, seed: int, size: Size, threads: int) -> list[dict[str, Any]]:
    """Return the speed on 1, 2, 4, .. threads, and its ratio to one thread in the same round, by policy.

    `speedup` is of the wall clock. `speedup_without_others` is of processor time, which other programs do not take
    away: what is lost to sharing caches and memory, but not to waiting.
    """
    doubling = list(takewhile(lambda count: count < threads, (2**k for k in range(threads))))
    results = []
    for policy in POLICIES:
        match = make_setting(world, MIN_PLAYERS, policy, seed=seed).match()
        games = games_for(Contestant(policy, partial(timed_play, match)), size.thread_seconds)
        rounds = [
            {count: play_on_threads(match, games, count) for count in [*doubling, threads]} for _ in range(size.rounds)
        ]
        for count in rounds[0]:
            walls, processors = zip(*(one[count] for one in rounds), strict=True)
            results.append(
                {
                    "policy": policy,
                    "threads": count,
                    "games_per_second": spread([games / wall for wall in walls]),
                    "speedup": spread([one[1][0] / wall for one, wall in zip(rounds, walls, strict=True)]),
                    "speedup_without_others": spread(
                        [count * one[1][1] / used for one, used in zip(rounds, processors, strict=True)]
                    ),
                }
            )
    return results


def timed_play(match: Match, first: int, games: int) -> Work:
    """Play on one thread and return the work."""
    return Work(games, None, play_on_threads(match, games, 1, first)[0])


def play_on_threads(match: Match, games: int, threads: int, first: int = 0) -> tuple[float, float]:
    """Play and return seconds on the wall clock and seconds of processor time of all threads."""
    begun, used = time.perf_counter(), time.process_time()
    play(match, games, threads, first)
    return time.perf_counter() - begun, time.process_time() - used


def growth_with_games(sizes: Sequence[int], threads: int, seed: int) -> dict[str, Any]:
    """Return time and peak memory by number of games, and the exponent of time: 1 is linear."""
    runs = growth(sizes, threads, seed)
    long = [one for one in runs if one["games"] >= LINEAR_FROM]
    first, last = long[0], long[-1]
    exponent = math.log(last["seconds"] / first["seconds"]) / math.log(last["games"] / first["games"])
    return {
        "threads": threads,
        "runs": runs,
        "time_exponent": exponent,
        "more_memory_bytes": runs[-1]["peak_bytes"] - runs[0]["peak_bytes"],
    }


def counters(world: World, seed: int, games: int) -> dict[str, Any]:
    """Return exact counts of what a game is made of, by policy and players, and instructions where perf can count."""
    counted = {
        f"{policy} {players}p": count(world, policy, players, seed, games)
        for policy in POLICIES
        for players in range(MIN_PLAYERS, MAX_PLAYERS + 1)
    }
    return {"games": games, "counted": counted, "instructions_per_game": instructions_a_game(seed)}


def count(world: World, policy: str, players: int, seed: int, games: int) -> dict[str, int]:
    """Return the sums over games 0 .. games-1 of a seed, by name."""
    match = make_setting(world, players, policy, seed=seed).match()
    sums = np.zeros(1, COUNTERS)
    count_games(
        new_games(),
        match.tables,
        match.kernel_policies,
        match.kernel_weights,
        players,
        np.uint64(seed),
        games,
        sums,
    )
    row = sums[0]
    named = {name: int(row[name]) for name in ("turns", "cards_in_forests")}
    named["decisions"] = int(row["asked"].sum())
    for name, codes in (("asked", Phase), ("forced", Phase), ("listed", Phase), ("steps", EffectOp)):
        named.update({f"{name}_{code.name.lower()}": int(row[name][code]) for code in codes if row[name][code]})
    return named
