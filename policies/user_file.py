"""Policies from a user's Python file. The file is the user's code and runs as such, with the user's rights.

Whatever is wrong with the file becomes one line. The policy is compiled with checked array indices, so that a wrong
index raises instead of reading foreign memory.
"""

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from policies.helpers import policy
from sim.errors import DartmoorError
from sim.policy import SIGNATURE

PARAMETERS = ("state", "tables", "actions", "n", "weights")
CALL = f"({', '.join(PARAMETERS)})"
MODULE_PREFIX = "dartmoor_user_"


def load_function(path: Path, name: str) -> Dispatcher:
    """Return the policy `name` of a Python file, compiled to the signature of all policies.

    Raises
    ------
    DartmoorError
        The file cannot be read or imported, has no such function, or the function has other parameters or does not
        compile.
    """
    module = _import_file(path)
    if not hasattr(module, name):
        there = ", ".join(_functions(module)) or "none"
        raise DartmoorError(f"{path}: no {name!r} in it, functions there: {there}")
    found = getattr(module, name)
    function = found.py_func if isinstance(found, Dispatcher) else found
    if not inspect.isfunction(function):
        raise DartmoorError(f"{path}: {name} is no function but {type(found).__name__}, expected {name}{CALL}")
    if len(_parameters(function)) != len(PARAMETERS):
        raise DartmoorError(f"{path}: {name}{inspect.signature(function)} has the wrong parameters, expected {CALL}")
    if isinstance(found, Dispatcher) and _is_checked(found):
        return found
    try:
        return policy(function)
    except Exception as error:
        raise DartmoorError(f"{path}: {name} does not compile: {one_line(error)}") from error


def one_line(error: BaseException) -> str:
    """Return the kind and the telling part of an exception in one line; numba's say most in the last of many."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if isinstance(error, NumbaError):
        skipped = (
            "Failed in nopython",
            "During",
            "File ",
            "def ",
            "<source",
            "^",
            "- Resolution",
            "- argument",
            "raised",
        )
        telling = [line for line in lines if not line.startswith(skipped)]
        place = [line for line in lines if line.startswith("File ")]
        lines = telling[:2] + place[-1:]
    text = " ".join(lines).rstrip(":")
    if isinstance(error, KeyError):  # what numba says of an attribute that a record does not have
        text = f"no field {text} in what it reads"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _is_checked(found: Dispatcher) -> bool:
    return found.nopython_signatures == [SIGNATURE] and found.targetoptions.get("boundscheck", False)


def _parameters(function: Any) -> list[inspect.Parameter]:
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [one for one in inspect.signature(function).parameters.values() if one.kind in by_place]


def _functions(module: ModuleType) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if (inspect.isfunction(value) or isinstance(value, Dispatcher)) and value.__module__ == module.__name__
    ]


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise DartmoorError(f"{path}: no such file")
    name = MODULE_PREFIX + path.stem
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise DartmoorError(f"{path}: not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module  # as an import would, for classes and numba that look themselves up
    try:
        with _beside(path), redirect_stdout(sys.stderr):  # stdout is for data
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise DartmoorError(f"{path}: cannot be imported: {one_line(error)}") from error
    return module


@contextmanager
def _beside(path: Path) -> Iterator[None]:
    """Let the file import modules that lie beside it."""
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
