"""Settings and fixtures that several tests share."""

import numpy as np
import pytest
from hypothesis import settings

import sim  # before anything imports numba: names the directory of compiled kernels
from tests.cli import Shell

# The same examples on every machine, and no time limit: a kernel's first call compiles it.
settings.register_profile(sim.__name__, deadline=None, derandomize=True)
settings.load_profile(sim.__name__)


@pytest.fixture(scope="session")
def tables() -> np.ndarray:
    """Return the tables of the reference deck, shape (1,), read-only."""
    from sim.deck import load_deck
    from sim.tables import build_tables

    return build_tables(load_deck())


@pytest.fixture
def dartmoor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Return a function that runs the command line with the given arguments."""
    return Shell(capsys, monkeypatch)
