"""Long runs: killed at any moment and gone on with, they end in the same bytes; what does not fit is refused."""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from experiments import games_file
from experiments.checkpoint import CHECKPOINT, Checkpoint, Progress, pack_totals, unpack_totals
from experiments.options import make_setting, make_world
from experiments.simulate import simulate
from sim.batch import Pace, in_order, play
from sim.errors import DartmoorError
from sim.play import TOTALS

COMMAND = (sys.executable, "-c", "from experiments.cli import main; main()")
GAMES = 900
TIMES = ("seconds", "games_per_second", "created")


@pytest.fixture(scope="module")
def setting():
    """Return a setting with three different policies."""
    return make_setting(make_world(), 3, "random,greedy,plain", seed=11)


@pytest.fixture(scope="module")
def whole(setting):
    """Return the totals of an unbroken run."""
    return play(setting.match(), GAMES).tobytes()


class Stop(Exception):
    """The process dies here."""


def dying(after):
    """Return a callback that dies once `after` games are done."""
    done = []

    def on_games(count):
        done.append(count)
        if sum(done) >= after:
            raise Stop

    return on_games


def run(setting, out, games=GAMES, **options):
    """Play with a checkpoint after every chunk."""
    keeper = Checkpoint(out, setting, options.get("games_out", False), every=1e-9)
    return simulate(setting, games, options.pop("threads", 1), out=out, checkpoint=keeper, **options)


def test_totals_survive_packing(setting):
    for totals in (np.zeros(1, TOTALS), play(setting.match(), 50)):
        assert unpack_totals(pack_totals(totals)).tobytes() == totals.tobytes()
    extreme = np.zeros(1, TOTALS)
    extreme["score_sq"][0, -1], extreme["cave_score_sq"][0, -1] = 2**63 - 1, -1
    assert unpack_totals(pack_totals(extreme)).tobytes() == extreme.tobytes()
    for bad in (b"", b"abc", pack_totals(extreme)[:-1]):
        with pytest.raises(ValueError, match="not packed totals"):
            unpack_totals(bad)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("games_out", [False, True])
def test_a_run_that_dies_again_and_again_ends_in_the_same_bytes(setting, whole, tmp_path, threads, games_out):
    if games_out:
        pytest.importorskip("pyarrow")
        simulate(setting, GAMES, 1, out=tmp_path / "unbroken", games_out=True)
    out = tmp_path / "broken"
    for after in (1, 300, 500):
        with pytest.raises(Stop):
            run(setting, out, threads=threads, games_out=games_out, resume=after > 1, on_games=dying(after))
        assert not (out / "games.parquet").exists()
    result = run(setting, out, threads=threads, games_out=games_out, resume=True)
    assert result.totals.tobytes() == whole
    if games_out:
        assert (out / "games.parquet").read_bytes() == (tmp_path / "unbroken" / "games.parquet").read_bytes()
    assert sorted(path.name for path in out.iterdir()) == [CHECKPOINT, *["games.parquet"] * games_out]


def test_the_file_of_games_has_the_same_bytes_over_row_groups(setting, tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(games_file, "ROW_GROUP", 128)
    simulate(setting, GAMES, 2, out=tmp_path / "unbroken", games_out=True)
    with pytest.raises(Stop):
        run(setting, tmp_path / "broken", games_out=True, on_games=dying(333))
    run(setting, tmp_path / "broken", games_out=True, resume=True)
    files = [tmp_path / name / "games.parquet" for name in ("unbroken", "broken")]
    assert files[0].read_bytes() == files[1].read_bytes()
    table = parquet.read_table(files[0])
    assert table["game"].to_pylist() == list(range(GAMES))
    assert parquet.ParquetFile(files[0]).metadata.num_row_groups == -(-GAMES // 128)


def test_a_finished_run_can_be_made_longer(setting, whole, tmp_path):
    pytest.importorskip("pyarrow")
    run(setting, tmp_path, games=400, games_out=True)
    assert run(setting, tmp_path, games_out=True, resume=True).totals.tobytes() == whole
    simulate(setting, GAMES, 1, out=tmp_path / "unbroken", games_out=True)
    assert (tmp_path / "games.parquet").read_bytes() == (tmp_path / "unbroken" / "games.parquet").read_bytes()
    with pytest.raises(DartmoorError, match=f"--games: 400, but .*{CHECKPOINT} holds {GAMES} games already"):
        run(setting, tmp_path, games=400, games_out=True, resume=True)


def test_an_unfinished_run_is_not_overwritten_unasked(setting, tmp_path):
    with pytest.raises(Stop):
        run(setting, tmp_path, on_games=dying(100))
    with pytest.raises(DartmoorError, match="games of an unfinished run; go on with --resume, or delete it"):
        run(setting, tmp_path)
    run(setting, tmp_path, resume=True)
    run(setting, tmp_path)  # a finished one may be played again


@pytest.mark.parametrize(
    "change, message",
    [
        ({"seed": 12}, "--seed was 11 and is 12 now"),
        ({"players": 2, "policies": "random"}, "--players was 3 and is 2 now"),
        ({"policies": "random,greedy,random"}, "--policies was random .*, plain .* and is random .*, random"),
        ({"caves": "1,2,3"}, "--caves was draft and is 1,2,3 now"),
        ({"deck": "seed:3"}, "--deck was reference .* and is seed:3"),
        ({"rulings": ["second_draw=forced"]}, "--ruling was second_draw=optional and is second_draw=forced now"),
        ({"games_out": True}, "--games-out was False and is True now"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(setting, tmp_path, change, message):
    Checkpoint(tmp_path, setting, False).save(Progress())
    world = make_world(change.get("deck", "reference"), change.get("rulings", ()))
    other = make_setting(
        world,
        change.get("players", 3),
        change.get("policies", "random,greedy,plain"),
        change.get("caves", "draft"),
        change.get("seed", 11),
    )
    with pytest.raises(DartmoorError, match=message):
        Checkpoint(tmp_path, other, change.get("games_out", False)).begin(resume=True, games=10)


def test_another_engine_version_is_refused(setting, tmp_path):
    keeper = Checkpoint(tmp_path, setting, False)
    keeper.identity["engine version"] = 0
    keeper.save(Progress())
    with pytest.raises(DartmoorError, match="engine version was 0 and is 1 now; a run goes on unchanged"):
        Checkpoint(tmp_path, setting, False).begin(resume=True, games=10)


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda text: text[:-9], "damaged, not a JSON document"),
        (lambda text: "[]", "not a checkpoint, 'program' is missing"),
        (lambda text: text.replace('"games": 0', '"games": 7'), "not those that were written"),
        (lambda text: text.replace('"totals": "', '"totals": "!'), "its totals cannot be read"),
    ],
)
def test_a_damaged_checkpoint_is_refused(setting, tmp_path, damage, message):
    keeper = Checkpoint(tmp_path, setting, False)
    keeper.save(Progress())
    keeper.path.write_text(damage(keeper.path.read_text()))
    with pytest.raises(DartmoorError, match=message):
        keeper.begin(resume=True, games=10)


def test_what_a_killed_write_left_goes(setting, tmp_path):
    (tmp_path / f".{CHECKPOINT}.abc.tmp").write_text("half")
    Checkpoint(tmp_path, setting, False).begin(resume=False, games=10)
    assert list(tmp_path.iterdir()) == []


def test_lost_rows_are_told(setting, tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(Stop):
        run(setting, tmp_path, games_out=True, on_games=dying(200))
    for part in (tmp_path / games_file.PARTS).glob("until_*"):
        part.unlink()
    with pytest.raises(DartmoorError, match="gone, and with it rows of the games so far"):
        run(setting, tmp_path, games_out=True, resume=True)


def test_a_disk_that_fills_up_keeps_the_checkpoint_before(setting, whole, tmp_path, monkeypatch):
    """The system refuses to write; what is there stays whole, and the run goes on when there is room again."""
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        real, calls = os.fsync, []

        def full(descriptor):
            calls.append(descriptor)
            if len(calls) > 6:
                raise OSError(errno.ENOSPC, "No space left on device")
            real(descriptor)

        patch.setattr(os, "fsync", full)
        with pytest.raises(DartmoorError, match=f"{CHECKPOINT}: cannot be written: no space left on the device"):
            run(setting, out)
    assert [path.name for path in out.iterdir()] == [CHECKPOINT]
    assert run(setting, out, resume=True).totals.tobytes() == whole


def test_ctrl_c_waits_until_a_result_is_used():
    used = []
    with pytest.raises(KeyboardInterrupt):
        for count, result in in_order(lambda first, count: first, 0, 50, threads=2, chunk=10):
            if result == 10:
                signal.raise_signal(signal.SIGINT)
            used.append((count, result))
    assert used == [(10, 0), (10, 10)]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_does_not_wait():
    used = []
    with pytest.raises(KeyboardInterrupt):
        for count, _ in in_order(lambda first, count: first, 0, 50, threads=2, chunk=10):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            used.append(count)
    assert used == []


def test_chunks_follow_the_speed_of_play():
    pace = Pace(seconds=0.1, workers=2)
    for _ in range(6):
        pace.note(pace(10**9), pace.size * 1e-4)
    assert pace(10**9) == 1000
    pace.note(1000, 50.0)  # a slow policy
    assert pace(10**9) == 2
    assert pace(1) == 1


# Processes


def arguments(out, games, *more):
    """Return a command line that keeps a checkpoint often."""
    common = ("simulate", "--games", games, "--policies", "random", "--seed", 4, "--threads", 2, "--out", out)
    return [*COMMAND, *map(str, common), *map(str, more), "--checkpoint-every", "0.05"]


def wait_for(process, condition):
    """Wait until a condition holds, or fail with what the process said when it ended before."""
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def same_but_for_times(one, other):
    """Check that two results directories hold the same files with the same content, but for times."""
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in other.iterdir())
    for name in names:
        first, second = (one / name).read_bytes(), (other / name).read_bytes()
        if name.endswith(".json"):
            first, second = (
                {key: value for key, value in json.loads(text).items() if key not in TIMES} for text in (first, second)
            )
        assert first == second, name


@pytest.mark.parametrize("more", [(), ("--games-out",)])
def test_kill_9_at_any_moment(tmp_path, more):
    if more:
        pytest.importorskip("pyarrow")
    games = 15_000
    subprocess.run(arguments(tmp_path / "unbroken", games, "--checkpoint", *more), check=True, capture_output=True)
    out = tmp_path / "broken"
    for delay in (0.0, 0.11, 0.37):
        process = subprocess.Popen(
            arguments(out, games, "--resume", *more), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(process, (out / CHECKPOINT).exists)
        time.sleep(delay)
        process.kill()
        process.wait()
    done = subprocess.run(arguments(out, games, "--resume", *more), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    same_but_for_times(tmp_path / "unbroken", out)


def test_ctrl_c_leaves_a_partial_result_that_says_so_and_goes_on(tmp_path):
    process = subprocess.Popen(
        arguments(tmp_path, 10**7, "--checkpoint", "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    kept = tmp_path / CHECKPOINT
    wait_for(process, lambda: kept.exists() and json.loads(kept.read_text())["games"] > 0)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    games = json.loads(stdout)["games"]
    assert process.returncode == 1 and f"interrupted after {games:,} of 10,000,000 games" in stderr
    assert json.loads((tmp_path / "manifest.json").read_text())["games"] == games > 0
    setting = make_setting(make_world(), 2, "random", seed=4)
    progress = Checkpoint(tmp_path, setting, False).begin(resume=True, games=10**7)
    assert progress.totals.tobytes() == play(setting.match(), games, threads=2).tobytes()


def limit_files():
    """Let this process write no file beyond 1000 bytes: a disk that is full, for every user."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def test_a_full_disk_is_one_line(tmp_path):
    subprocess.run(arguments(tmp_path, 50, "--checkpoint"), check=True, capture_output=True)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = subprocess.run(arguments(tmp_path, 5000, "--resume"), capture_output=True, text=True, preexec_fn=limit_files)
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1].startswith(f"error: {tmp_path / CHECKPOINT}: cannot be written: ")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_vanished_directory_is_one_line(tmp_path):
    out = tmp_path / "run"
    process = subprocess.Popen(
        arguments(out, 10**7, "--checkpoint"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for(process, (out / CHECKPOINT).exists)
    out.rename(tmp_path / "elsewhere")
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 2
    assert stderr.strip().splitlines()[-1] == f"error: {out / CHECKPOINT}: directory {out} does not exist"


@pytest.mark.parametrize("option", ["--checkpoint", "--resume", "--games-out"])
def test_files_need_a_directory(dartmoor, option):
    result = dartmoor("simulate", "--games", 10, option)
    assert result.code == 2 and f"{option}: needs --out DIR" in result.err


def test_time_between_checkpoints_is_positive(dartmoor, tmp_path):
    result = dartmoor("simulate", "--games", 10, "--checkpoint-every", 0, "--out", tmp_path)
    assert result.code == 2 and "--checkpoint-every: 0.0, expected more than 0 seconds" in result.err
