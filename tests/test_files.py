"""Files are written whole or not at all, and a manifest is read only by who understands it."""

import errno
import json

import numpy as np
import pandas as pd
import pytest

from experiments import files
from sim import ENGINE_VERSION, __version__
from sim.errors import DartmoorError


def make_manifest(**options):
    return files.manifest(
        seed=7,
        games=1000,
        options=options,
        deck={"name": "reference", "hash": "ab" * 32},
        assumptions=["icon shrew: mouse (low confidence)"],
        policies=[{"name": "greedy", "hash": "cd" * 32}],
    )


def test_text_bytes_and_json(tmp_path):
    files.write_text(tmp_path / "a.txt", "Rhôs\n")
    files.write_bytes(tmp_path / "a.bin", b"\0\1")
    files.write_json(tmp_path / "a.json", {"n": np.int64(3), "x": np.float64(0.5), "list": np.arange(2)})
    assert (tmp_path / "a.txt").read_bytes() == "Rhôs\n".encode()
    assert (tmp_path / "a.bin").read_bytes() == b"\0\1"
    assert json.loads((tmp_path / "a.json").read_text()) == {"n": 3, "x": 0.5, "list": [0, 1]}
    assert len(list(tmp_path.iterdir())) == 3


def test_json_refuses_what_is_no_number():
    with pytest.raises(ValueError):
        files.json_text({"value": float("nan")})
    with pytest.raises(TypeError, match="set has no JSON form"):
        files.json_text({"value": {1}})


def test_parquet_by_callback(tmp_path):
    frame = pd.DataFrame({"seed_index": [0, 1], "turns": [90, 110]})
    files.write_atomic(tmp_path / "games.parquet", frame.to_parquet)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "games.parquet"), frame)


@pytest.mark.parametrize(
    "number, reason", [(errno.ENOSPC, "no space left"), (errno.EROFS, "read-only"), (errno.EACCES, "permission denied")]
)
def test_a_failed_write_leaves_the_old_file(tmp_path, number, reason):
    path = tmp_path / "summary.csv"
    path.write_text("old")

    def fail(temporary):
        temporary.write_text("half of the n")
        raise OSError(number, "as the system says it")

    with pytest.raises(DartmoorError, match=f"summary.csv: cannot be written: .*{reason}"):
        files.write_atomic(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupted_write_leaves_nothing(tmp_path):
    def interrupt(temporary):
        temporary.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        files.write_atomic(tmp_path / "a.txt", interrupt)
    assert list(tmp_path.iterdir()) == []


def test_a_full_device_is_named(tmp_path, monkeypatch):
    def fail(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(DartmoorError, match="no space left on the device"):
        files.write_text(tmp_path / "a.txt", "text")
    assert list(tmp_path.iterdir()) == []


def test_refusals_name_the_path(tmp_path):
    with pytest.raises(DartmoorError, match="directory .*missing does not exist"):
        files.write_text(tmp_path / "missing" / "a.txt", "")
    with pytest.raises(DartmoorError, match="is a directory, expected a file"):
        files.write_text(tmp_path, "")


def test_prepare_directory(tmp_path, monkeypatch):
    made = files.prepare_directory(tmp_path / "deep" / "run")
    assert made.is_dir() and list(made.iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(DartmoorError, match="is a file, expected a directory"):
        files.prepare_directory(tmp_path / "file")
    with pytest.raises(DartmoorError, match="cannot be written"):
        files.prepare_directory(tmp_path / "file" / "run")

    def refuse(path):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("pathlib.Path.touch", refuse)
    with pytest.raises(DartmoorError, match="run: cannot be written: the file system is read-only"):
        files.prepare_directory(made)


def test_file_hash(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    assert files.file_hash(tmp_path / "empty").startswith("e3b0c44298fc1c14")
    with pytest.raises(DartmoorError, match="none: cannot be read"):
        files.file_hash(tmp_path / "none")


def test_manifest_round_trip(tmp_path):
    content = make_manifest(players=3, policies="greedy,greedy,random")
    files.write_manifest(tmp_path, content)
    read = files.read_manifest(tmp_path)
    assert read == content
    assert read["version"] == __version__
    assert read["engine_version"] == ENGINE_VERSION
    assert read["seed"] == 7 and read["games"] == 1000
    assert read["options"] == {"players": 3, "policies": "greedy,greedy,random"}


def test_manifest_keeps_no_folder_of_this_machine(tmp_path):
    folder = str(tmp_path)
    content = make_manifest(
        deck=tmp_path / "mine.csv",
        policies=f"greedy,{folder}/mine.py:policy,weights:{folder}/tuned.toml",
        windows="C:\\decks\\mine.csv",
        relative="decks/mine.csv",
        files=(tmp_path / "a.json",),
        forced_caves=[1, 4],
    )
    assert folder not in json.dumps(content)
    assert content["options"] == {
        "deck": "mine.csv",
        "policies": "greedy,mine.py:policy,weights:tuned.toml",
        "windows": "mine.csv",
        "relative": "decks/mine.csv",
        "files": ["a.json"],
        "forced_caves": [1, 4],
    }


def test_no_manifest(tmp_path):
    with pytest.raises(DartmoorError, match="no manifest.json in it, so it is not a results directory"):
        files.read_manifest(tmp_path)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"program": "other"}, "not written by dartmoor"),
        ({"format": files.FORMAT + 1, "version": "9.0"}, "written by the newer dartmoor 9.0"),
        ({"format": "1"}, "format '1' unknown"),
        ({"seed": None}, "damaged, 'seed' is missing"),
    ],
)
def test_foreign_and_newer_manifests_are_refused(tmp_path, change, message):
    content = make_manifest() | change
    files.write_json(tmp_path / files.MANIFEST, {key: value for key, value in content.items() if value is not None})
    with pytest.raises(DartmoorError, match=message):
        files.read_manifest(tmp_path)


@pytest.mark.parametrize("text, message", [("{", "damaged, not a JSON document"), ("[]", "not written by dartmoor")])
def test_damaged_manifests_are_refused(tmp_path, text, message):
    (tmp_path / files.MANIFEST).write_text(text)
    with pytest.raises(DartmoorError, match=message):
        files.read_manifest(tmp_path)
