"""The directory of compiled kernels: a new one for every change of a source, old ones dropped, never in the way."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sim import cache

SHOW = "import sim, os; print(os.environ['NUMBA_CACHE_DIR'])"


def start(project, **environment):
    """Import `sim` of a project in a new process; return the directory it names and what it writes to stderr."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "DARTMOOR_CACHE_DIR")}
    done = subprocess.run(
        [sys.executable, "-c", SHOW], cwd=project, env=kept | environment, capture_output=True, text=True, check=True
    )
    return Path(done.stdout.strip()), done.stderr


@pytest.fixture
def project(tmp_path):
    """Return a copy of the sources, to be edited."""
    for package in cache.ALL:
        shutil.copytree(
            cache.PROJECT / package, tmp_path / "project" / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    return tmp_path / "project"


def edit(path):
    path.write_text(path.read_text() + "\n# edited\n")


def test_an_edit_in_any_kernel_source_names_a_new_directory(project):
    names = {cache.source_hash(cache.ALL, project)}
    for edited in (project / "sim" / "rng.py", project / "policies" / "__init__.py"):
        edit(edited)
        names.add(cache.source_hash(cache.ALL, project))
    (project / "sim" / "new.py").write_text("")
    names.add(cache.source_hash(cache.ALL, project))
    assert len(names) == 4


def test_the_engine_is_not_compiled_again_for_a_policy_or_an_experiment(project):
    engine, all_kernels = cache.source_hash(cache.ENGINE, project), cache.source_hash(cache.ALL, project)
    edit(project / "experiments" / "cli.py")
    edit(project / "experiments" / "commands" / "common.py")
    assert cache.source_hash(cache.ALL, project) == all_kernels
    edit(project / "policies" / "greedy.py")
    edit(project / "experiments" / "card_sums.py")
    assert cache.source_hash(cache.ENGINE, project) == engine
    assert cache.source_hash(cache.ALL, project) != all_kernels


def has_kernels(path):
    return re.search(r"^@njit", path.read_text(), re.MULTILINE) is not None


def test_the_engine_declares_all_its_kernels_before_policies_have_a_directory():
    """A kernel of the engine declared later would stand in the other directory, and be compiled for every policy."""
    import sim.kernels

    with_kernels = {path.stem for path in (cache.PROJECT / "sim").glob("*.py") if has_kernels(path)}
    assert with_kernels <= set(sim.kernels.__all__)
    for path in (cache.PROJECT / "experiments").glob("*.py"):
        if has_kernels(path):
            assert re.search(r"^(import policies|from policies)", path.read_text(), re.MULTILINE), path.name


def test_settings_that_change_code_have_their_own_directory(monkeypatch):
    """Kernels compiled without bounds checks must not serve a run that asks for them."""
    plain = cache.source_hash()
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "7")
    assert cache.source_hash() != plain


def test_where_the_directory_is(project, tmp_path):
    ours, stderr = start(project, DARTMOOR_CACHE_DIR=str(tmp_path / "a"), XDG_CACHE_HOME=str(tmp_path / "b"))
    assert ours.parent == tmp_path / "a" / "dartmoor" and ours.is_dir() and stderr == ""
    assert start(project, XDG_CACHE_HOME=str(tmp_path / "b"))[0].parent == tmp_path / "b" / "dartmoor"
    assert start(project, HOME=str(tmp_path), XDG_CACHE_HOME="")[0].parent == tmp_path / ".cache" / "dartmoor"


def test_a_directory_of_the_users_stays(project, tmp_path):
    mine = tmp_path / "mine"
    assert start(project, NUMBA_CACHE_DIR=str(mine), DARTMOOR_CACHE_DIR=str(tmp_path))[0] == mine


def test_a_child_does_not_inherit_the_directory_of_other_sources(project, tmp_path):
    first, _ = start(project, DARTMOOR_CACHE_DIR=str(tmp_path))
    (project / "sim" / "new.py").write_text("")
    second, _ = start(project, DARTMOOR_CACHE_DIR=str(tmp_path), NUMBA_CACHE_DIR=str(first))
    assert second != first


def test_without_a_place_to_write_one_line_warns(project, tmp_path):
    (tmp_path / "file").write_text("")
    directory, stderr = start(project, DARTMOOR_CACHE_DIR=str(tmp_path / "file"))
    assert len(stderr.splitlines()) == 1
    assert "DARTMOOR_CACHE_DIR" in stderr and str(tmp_path / "file") in stderr
    assert not directory.exists()  # it was for that process only


def test_directories_unused_for_a_month_go(tmp_path):
    now = time.time()
    for name, days in (("kernels-old", 40), ("kernels-new", 3), ("kernels-ours", 40), ("something", 400)):
        (tmp_path / name).mkdir()
        marker = tmp_path / name / cache.MARKER
        marker.write_text("")
        os.utime(marker, (now - days * 86400,) * 2)
    cache.drop_unused(tmp_path, keep=tmp_path / "kernels-ours", now=now)
    assert {path.name for path in tmp_path.iterdir()} == {"kernels-new", "kernels-ours", "something"}


def test_many_processes_start_at_once(project, tmp_path):
    stale = tmp_path / "dartmoor" / "kernels-stale"
    stale.mkdir(parents=True)
    os.utime(stale, (0, 0))
    environment = {**os.environ, "DARTMOOR_CACHE_DIR": str(tmp_path), "NUMBA_CACHE_DIR": ""}
    running = [
        subprocess.Popen([sys.executable, "-c", SHOW], cwd=project, env=environment, stdout=-1, stderr=-1)
        for _ in range(4)
    ]
    outputs = [process.communicate() for process in running]
    assert len({out for out, _ in outputs}) == 1
    assert all(err == b"" for _, err in outputs)
    assert [path.name.startswith("kernels-") for path in (tmp_path / "dartmoor").iterdir()] == [True]
    assert not stale.exists()


def test_numba_imported_before_hears_of_it(monkeypatch, tmp_path):
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", numba.config.CACHE_DIR)
    monkeypatch.setenv("DARTMOOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    assert str(cache.use_kernel_cache()) == numba.config.CACHE_DIR == os.environ["NUMBA_CACHE_DIR"]
