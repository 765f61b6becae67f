"""A dask cluster of two worker processes plays the same bytes as this process, even when a worker is killed."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest

from experiments.checkpoint import pack_totals
from experiments.options import make_setting, make_world
from sim.batch import merge_totals, play
from sim.errors import DartmoorError
from sim.play import TOTALS

distributed = pytest.importorskip("distributed")
cluster = pytest.importorskip("experiments.cluster")

pytestmark = pytest.mark.cluster

USER_POLICY = """
from sim.policy import policy

@policy
def last(state, tables, actions, n, weights):
    return n - 1
"""


@pytest.fixture(scope="module")
def world():
    """Return the default world."""
    return make_world()


@pytest.fixture(scope="module")
def scheduler():
    """Return a local cluster of two worker processes with one thread each."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as local:
        yield local


def play_there(scheduler, setting, games, after=lambda done: None):
    """Play on the cluster; return totals and the number of games of each chunk."""
    totals, counts = np.zeros(1, TOTALS), []
    with cluster.cluster_parts(scheduler.scheduler_address, setting) as parts:
        for count, (part, outcomes) in parts(0, games):
            merge_totals(totals, part)
            counts.append(count)
            assert len(outcomes) == 0
            after(sum(counts))
    return totals, counts


def test_two_workers_play_the_same_bytes(scheduler, world):
    setting = make_setting(world, 3, "greedy,random,plain", "1,4,2", seed=5)
    totals, counts = play_there(scheduler, setting, 3000)
    assert len(counts) > 4
    assert totals.tobytes() == play(setting.match(), 3000).tobytes()


def test_a_killed_worker_changes_nothing(scheduler, world):
    setting = make_setting(world, 2, "random", seed=6)
    killed = []

    def kill(done):
        if done > 1000 and not killed:
            killed.append(next(worker.pid for worker in scheduler.workers.values()))
            os.kill(killed[0], signal.SIGKILL)

    totals, _ = play_there(scheduler, setting, 25_000, kill)
    assert killed
    assert totals.tobytes() == play(setting.match(), 25_000, threads=2).tobytes()


def test_a_users_policy_travels_as_source(scheduler, world, tmp_path):
    (tmp_path / "mine.py").write_text(USER_POLICY)
    setting = make_setting(world, 2, f"random,{tmp_path}/mine.py:last", seed=7)
    expected = play(setting.match(), 400).tobytes()
    (tmp_path / "mine.py").unlink()  # a worker elsewhere does not see the file
    with pytest.raises(OSError):
        cluster.make_job(setting)
    (tmp_path / "mine.py").write_text(USER_POLICY)
    job = cluster.make_job(setting)
    (tmp_path / "mine.py").unlink()
    assert job.seats[1].source == USER_POLICY.encode() and job.seats[0].source is None
    match = cluster.build_match(job)
    assert play(match, 400).tobytes() == expected


def test_only_aggregates_travel(world):
    match = make_setting(world, 5, "random", seed=8).match()
    totals = play(match, 2000)
    assert len(pack_totals(totals)) < TOTALS.itemsize / 50
    job = cluster.make_job(make_setting(world, 5, "random", seed=8))
    assert sum(map(len, (job.tables, *(seat.source or b"" for seat in job.seats)))) < 20_000


def test_a_worker_with_another_version_is_refused(world):
    job = cluster.make_job(make_setting(world, 2, "greedy"))
    with pytest.raises(DartmoorError, match="a worker has another version of dartmoor .* install the same everywhere"):
        cluster.build_match(replace(job, sources="0" * 64))


def test_different_runs_have_different_keys(world):
    runs = [(2, "greedy", 1), (2, "greedy", 2), (3, "greedy", 1), (2, "plain", 1), (2, "birds", 1), (2, "bats", 1)]
    jobs = [cluster.make_job(make_setting(world, players, policy, seed=seed)) for players, policy, seed in runs]
    assert len({job.key for job in jobs}) == len(runs)
    assert jobs[0].key == cluster.make_job(make_setting(world, 2, "greedy", seed=1)).key


def test_chunks_grow_with_the_cluster():
    class Client:
        def __init__(self, workers):
            self.workers = workers

        def nthreads(self):
            return {worker: 1 for worker in range(self.workers)}

    for workers, seconds in ((2, 1.0), (1000, 5.0)):
        pace = cluster.ClusterPace(cluster.Cores(Client(workers)))
        for _ in range(8):
            pace.note(pace(10**9), pace.size * 1e-4)
        assert pace(10**9) == pytest.approx(seconds / 1e-4, rel=0.01)


def test_nobody_there(dartmoor, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    result = dartmoor("simulate", "--games", 10, "--scheduler", "tcp://127.0.0.1:9")
    assert result.code == 2 and "error: --scheduler: no dask scheduler at tcp://127.0.0.1:9" in result.err


@pytest.mark.parametrize("option", [("--threads", 2), ("--games-out", "--out", "run")])
def test_what_does_not_go_with_a_cluster(dartmoor, option):
    result = dartmoor("simulate", "--games", 10, "--scheduler", "tcp://127.0.0.1:9", *option)
    assert result.code == 2 and f"{option[0]}: not with --scheduler" in result.err


def test_the_command_on_the_cluster_ends_as_on_threads(dartmoor, scheduler, tmp_path):
    arguments = ("simulate", "--games", 2000, "--policies", "plain", "--seed", 3)
    here = dartmoor(*arguments, "--out", tmp_path / "here")
    there = dartmoor(
        *arguments, "--out", tmp_path / "there", "--checkpoint", "--scheduler", scheduler.scheduler_address
    )
    assert here.code == there.code == 0
    for table in ("summary", "species", "caves", "winters", "endings"):
        assert (tmp_path / "here" / f"{table}.csv").read_bytes() == (tmp_path / "there" / f"{table}.csv").read_bytes()
