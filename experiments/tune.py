"""Tuning: better weights for the `weights` policy by CMA-ES, in play against a pool of opponents.

One generation plays all its candidates on the same deals (common random numbers), seats rotated, one candidate at a
table of each opponent in turn; the next generation takes the next deals. A candidate's fitness is the mean over
opponents of its mean *soft share*: the logistic function of its lead over the best other score. It grows with the win
share, and a narrow loss counts for more than a rout, so that few games say more. Every so often the present mean of the
search joins the pool as a champion (self-play), in the place of an older one. What is returned is not the last mean but
the best of the means that were tried on held-out deals against the pool as named.

N. Hansen, The CMA evolution strategy: a tutorial (2016), arXiv:1604.00772; package cmaes.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from experiments.estimates import Estimate, estimate
from experiments.files import prepare_directory, write_atomic, write_json, write_text
from experiments.options import Setting, World, check_players, check_seed, parse_caves
from policies.registry import LoadedPolicy, load_policy
from policies.weights_file import NAMES, write_weights
from sim.batch import play_chunk
from sim.errors import DartmoorError
from sim.rules import SHARES

CHECKPOINT = "checkpoint.json"
FORMAT = 1
LEAD_SCALE = 30.0  # points: a lead of that many is worth a share of 0.73
MIN_SCALE = 1.0  # points: what one unit of the search moves a weight that starts near 0
MIN_POPULATION = 4
CHAMPION_EVERY = 10  # generations
CHAMPIONS = 2  # in the pool at most
CHECK_EVERY = 5  # generations between two looks at held-out deals
CHECK_GAMES = 4  # times the games of a candidate
HELD_OUT = 2**40  # first deal of those that no generation plays
SEAT_HOLDER = "weights"  # the candidate's name in messages


@dataclass(frozen=True)
class TuneSettings:
    """Everything that decides a search: the same settings find the same weights, whatever the threads or restarts."""

    players: int
    start: str
    pool: tuple[str, ...]
    games: int  # of a candidate in one generation, over all opponents
    generations: int
    population: int
    sigma: float
    seed: int


@dataclass
class Progress:
    """What a search has found out so far: enough to continue it, in plain numbers."""

    fitness: list[list[float]] = field(default_factory=list)  # by generation, in the order of candidates
    asked: list[str] = field(default_factory=list)  # by generation: a hash of the candidates
    checks: list[dict[str, Any]] = field(default_factory=list)  # of means on held-out deals
    best: list[float] = field(default_factory=list)  # weights of the best mean


class Arena:
    """Where candidates play: the pool's opponents at the tables of one number of players."""

    def __init__(self, world: World, settings: TuneSettings) -> None:
        """Load the opponents.

        Raises
        ------
        DartmoorError
            An opponent is unknown or its weights are not for this number of players.
        """
        self.world, self.players, self.seed = world, settings.players, settings.seed
        self.named = [load_policy(name, settings.players) for name in settings.pool]
        self.champions: list[LoadedPolicy] = []
        self.start = load_policy(settings.start)  # weights for another number of players will do to start from

    def play(
        self, weights: np.ndarray, opponent: LoadedPolicy, first: int, blocks: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return soft shares and win shares (60ths), (blocks, rotations), of a candidate at a table of `opponent`."""
        soft, share = np.zeros((2, blocks, self.players))
        candidate = LoadedPolicy(SEAT_HOLDER, self.start.function, weights, "")
        mode, numbers = parse_caves("draft", self.players, self.world.caves)
        for seat in range(self.players):
            seats = [candidate if other == seat else opponent for other in range(self.players)]
            match = Setting(self.world, self.players, seats, self.seed, mode, numbers).match()
            _, outcomes = play_chunk(match, first, blocks, keep_outcomes=True)
            score = outcomes["score"][:, : self.players].astype(float)
            lead = score[:, seat] - np.delete(score, seat, axis=1).max(1)
            soft[:, seat] = 1 / (1 + np.exp(-lead / LEAD_SCALE))
            share[:, seat] = outcomes["share"][:, seat]
        return soft, share

    def fitness(self, weights: np.ndarray, first: int, games: int) -> float:
        """Return a candidate's mean soft share over the whole pool on deals from `first` on."""
        opponents = [*self.named, *self.champions]
        blocks = blocks_for(games, len(opponents), self.players)
        return float(np.mean([self.play(weights, opponent, first, blocks)[0].mean() for opponent in opponents]))

    def check(self, weights: np.ndarray, games: int) -> dict[str, Any]:
        """Return soft share and win share of weights on held-out deals, against the pool as named."""
        blocks = blocks_for(games, len(self.named), self.players)
        played = [self.play(weights, opponent, HELD_OUT, blocks) for opponent in self.named]
        wins = np.mean([share.mean(1) for _, share in played], axis=0) * (len(self.named) * self.players)
        total, squares = round(wins.sum()), round((wins**2).sum())
        share: Estimate = estimate(total, squares, blocks, SHARES * len(self.named) * self.players)
        return {"soft_share": float(np.mean([soft.mean() for soft, _ in played])), "win_share": share}


def blocks_for(games: int, opponents: int, players: int) -> int:
    """Return the blocks against each opponent that make at least `games` games in all."""
    return max(1, -(-games // (opponents * players)))


def check_settings(settings: TuneSettings) -> None:
    """Refuse settings that are no search.

    Raises
    ------
    DartmoorError
        One of them is wrong; the message names the valid range.
    """
    check_players(settings.players)
    check_seed(settings.seed)
    if not settings.pool:
        raise DartmoorError("--pool: no opponent, expected a,b,..")
    for option, value, least in (
        ("--games", settings.games, 1),
        ("--generations", settings.generations, 1),
        ("--population", settings.population, MIN_POPULATION),
    ):
        if value < least:
            raise DartmoorError(f"{option}: {value}, expected at least {least}")
    if not 0 < settings.sigma <= 10:
        raise DartmoorError(f"--sigma: {settings.sigma:g}, expected above 0 and at most 10")


def tune(
    world: World,
    settings: TuneSettings,
    out: Path,
    threads: int = 1,
    resume: bool = False,
    on_generation: Callable[[int, float], object] = lambda generation, best: None,
) -> Progress:
    """Search for weights; writes `out`/checkpoint.json after every generation. Ctrl-C ends it early; it can be resumed.

    Raises
    ------
    DartmoorError
        A setting is wrong, `out` cannot be written, holds another search or one that was not to be resumed, or the
        package cmaes is not installed.
    """
    check_settings(settings)
    arena = Arena(world, settings)
    start = arena.start.weights
    if len(start) != len(NAMES):
        raise DartmoorError(f"--start: {settings.start!r} has no weights, expected an archetype or weights:FILE.toml")
    scale = np.maximum(np.abs(start), MIN_SCALE)
    optimizer = make_optimizer(settings)
    found = read_checkpoint(prepare_directory(out) / CHECKPOINT, settings, resume)
    done = found.asked[:]
    try:
        with ThreadPoolExecutor(threads) as pool:
            for generation in range(settings.generations):
                _one_generation(arena, settings, optimizer, pool, found, start, scale, generation)
                if generation >= len(done):
                    write_checkpoint(out / CHECKPOINT, settings, found)
                    on_generation(generation, max(found.fitness[generation]))
                elif found.asked[generation] != done[generation]:
                    raise DartmoorError(f"{out / CHECKPOINT}: other candidates than this program asks for; start anew")
    except KeyboardInterrupt:
        pass
    if not found.best:
        raise DartmoorError("interrupted before a first check on held-out deals; resume with --resume")
    return found


def make_optimizer(settings: TuneSettings) -> Any:
    """Return the CMA-ES optimizer, in units of the search: 0 is the start.

    Raises
    ------
    DartmoorError
        The package cmaes is not installed.
    """
    try:
        from cmaes import CMA
    except ImportError:
        raise DartmoorError("tune: needs the package cmaes: pip install '.[tune]' in the project's folder") from None
    return CMA(
        mean=np.zeros(len(NAMES)),
        sigma=settings.sigma,
        seed=settings.seed % 2**32,
        population_size=settings.population,
    )


def _one_generation(
    arena: Arena,
    settings: TuneSettings,
    optimizer: Any,
    pool: ThreadPoolExecutor,
    found: Progress,
    start: np.ndarray,
    scale: np.ndarray,
    generation: int,
) -> None:
    """Ask for candidates, play them (or take what a checkpoint knows of them), tell, and check the mean at times."""
    asked = [optimizer.ask() for _ in range(settings.population)]
    digest = hashlib.sha256(np.array(asked).tobytes()).hexdigest()
    if generation < len(found.fitness):
        found.asked[generation] = digest
    else:
        blocks = blocks_for(settings.games, 1, settings.players)
        first = generation * blocks
        jobs = [pool.submit(arena.fitness, start + scale * x, first, settings.games) for x in asked]
        try:
            results = [job.result() for job in jobs]
        except BaseException:
            for job in jobs:
                job.cancel()
            raise
        found.fitness.append(results)
        found.asked.append(digest)
    optimizer.tell([(x, -value) for x, value in zip(asked, found.fitness[generation], strict=True)])
    mean = start + scale * np.asarray(optimizer.mean)
    if (generation + 1) % CHAMPION_EVERY == 0:
        champion = LoadedPolicy(f"champion {generation + 1}", arena.start.function, mean, "")
        arena.champions = [*arena.champions, champion][-CHAMPIONS:]
    last = generation + 1 == settings.generations
    if ((generation + 1) % CHECK_EVERY == 0 or last) and _not_checked(found, generation):
        check = {"generation": generation + 1, **arena.check(mean, CHECK_GAMES * settings.games)}
        if all(check["soft_share"] > other["soft_share"] for other in found.checks):
            found.best = mean.tolist()
        found.checks.append(check)


def _not_checked(found: Progress, generation: int) -> bool:
    return all(check["generation"] != generation + 1 for check in found.checks)


def write_checkpoint(path: Path, settings: TuneSettings, found: Progress) -> None:
    """Write a search as JSON; numbers come back as they were."""
    write_json(path, {"format": FORMAT, "settings": asdict(settings), "progress": asdict(found)})


def read_checkpoint(path: Path, settings: TuneSettings, resume: bool) -> Progress:
    """Return the search to continue: that of a checkpoint with `resume`, otherwise a new one.

    Raises
    ------
    DartmoorError
        There is a checkpoint and it was not to be resumed, or none where one was; it is damaged or of other settings.
    """
    if not path.exists():
        if resume:
            raise DartmoorError(f"{path}: not there, nothing to resume")
        return Progress()
    if not resume:
        raise DartmoorError(f"{path}: a search is there already; continue it with --resume or choose another --out")
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        known, progress = document["settings"], Progress(**document["progress"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DartmoorError(f"{path}: damaged, cannot be resumed: {error}") from error
    for name, value in asdict(settings).items():
        other = known.get(name)
        if name != "generations" and other != (list(value) if isinstance(value, tuple) else value):
            raise DartmoorError(f"{path}: of a search with {name} {other!r}, not {value!r}")
    return progress


def write_tuned(out: Path, settings: TuneSettings, found: Progress, command: str) -> Path:
    """Write the best weights as a weights file with the command and the evidence as comments; return its path."""
    name = f"tuned_{settings.players}p"
    path = out / f"{name}.toml"
    best = max(found.checks, key=lambda check: check["soft_share"])
    share = best["win_share"]
    low, high = share["ci"]
    summary = f"found by CMA-ES for {settings.players} players, from {settings.start}"

    def write(temporary: Path) -> None:
        write_weights(temporary, name, summary, found.best, [settings.players])

    write_atomic(path, write)
    generations = min(len(found.fitness), settings.generations)
    comments = [
        f"# {command}",
        f"# Mean of generation {best['generation']} of {generations}, the best of {len(found.checks)} tried "
        "on held-out deals.",
        f"# There, alone at a table of each of the pool: win share {share['value']:.3f} [{low:.3f}, {high:.3f}], "
        f"{share['n']} blocks each (the best of several looks, so a little flattering).",
    ]
    write_text(path, "\n".join(comments) + "\n" + path.read_text(encoding="utf-8"))
    return path


def tune_document(world: World, settings: TuneSettings, found: Progress, command: str) -> dict[str, Any]:
    """Return the document of `tune --json`."""
    return {
        "command": command,
        "settings": asdict(settings),
        "deck": world.deck.name,
        "assumptions": world.assumptions,
        "complete": len(found.fitness) >= settings.generations,
        "generations": len(found.fitness),
        "games": games_played(settings, found),
        "fitness": [{"generation": i + 1, "best": max(row)} for i, row in enumerate(found.fitness)],
        "checks": found.checks,
        "weights": dict(zip(NAMES, found.best, strict=True)),
    }


def games_played(settings: TuneSettings, found: Progress) -> int:
    """Return the games that the candidates of a search played, checks not counted."""
    total = 0
    for generation, row in enumerate(found.fitness):
        opponents = len(settings.pool) + min(CHAMPIONS, generation // CHAMPION_EVERY)
        total += len(row) * opponents * settings.players * blocks_for(settings.games, opponents, settings.players)
    return total


def command_line(settings: TuneSettings, out: str) -> str:
    """Return the command of a search."""
    parts: Sequence[tuple[str, object]] = (
        ("players", settings.players),
        ("start", settings.start),
        ("pool", ",".join(settings.pool)),
        ("games", settings.games),
        ("generations", settings.generations),
        ("population", settings.population),
        ("sigma", settings.sigma),
        ("seed", settings.seed),
        ("out", out),
    )
    return "dartmoor tune " + " ".join(f"--{name} {value}" for name, value in parts)
