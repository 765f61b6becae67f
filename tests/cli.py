"""Running the command line inside the test's process, as a shell would see it."""

import json
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from experiments.cli import main


@dataclass(frozen=True)
class Result:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document on stdout."""
        return json.loads(self.out)


class Shell:
    """Runs `dartmoor` with arguments and captures what it prints."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.capsys, self.monkeypatch = capsys, monkeypatch

    def __call__(self, *arguments: object) -> Result:
        """Run a command line to its end."""
        self.monkeypatch.setattr(sys, "argv", ["dartmoor", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        captured = self.capsys.readouterr()
        return Result(code, captured.out, captured.err)
