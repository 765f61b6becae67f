"""The layout: who may import what, no hidden randomness, no fast-math, nothing that leads out of the repository."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
MAY_IMPORT = {"sim": {"sim"}, "policies": {"policies", "sim"}, "experiments": {"experiments", "policies", "sim"}}
OWN = {*MAY_IMPORT, "tests"}
KERNEL_LIBRARIES = {"numba", "numpy"}  # all that the engine and the policies need
REPORTING = {"pandas", "typer", "rich"}  # only in experiments
RANDOM_OBJECTS = {"default_rng", "Generator", "Random", "SeedSequence"}  # seeded, unlike the modules' functions
WITHOUT_NUMBA = ("sim.codes", "sim.rules", "sim.errors")
MODULES = sorted(path for package in MAY_IMPORT for path in (PROJECT / package).rglob("*.py"))
KERNEL_MODULES = [path for path in MODULES if path.relative_to(PROJECT).parts[0] != "experiments"]
TEXT_SUFFIXES = {".py", ".md", ".toml", ".csv", ".json", ".cfg", ".yml", ""}
NOT_OURS = {".git", ".venv", "results", "build", "dist"}


def name_of(path):
    return path.relative_to(PROJECT).as_posix()


def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"), name_of(path))


def imported_packages(tree):
    """Return the top-level packages that a module imports, wherever in it."""
    packages = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            packages.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            packages.add(node.module.partition(".")[0])
    return packages


def is_kernel(function):
    """Return whether a function is compiled: decorated with njit or the policies' decorator."""
    names = {ast.unparse(getattr(decorator, "func", decorator)) for decorator in function.decorator_list}
    return bool(names & {"njit", "numba.njit", "policy"})


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_one_way(path):
    package = path.relative_to(PROJECT).parts[0]
    packages = imported_packages(parse(path))
    assert packages & OWN <= MAY_IMPORT[package]
    if package != "experiments":
        assert packages <= sys.stdlib_module_names | KERNEL_LIBRARIES | MAY_IMPORT[package]
        assert not packages & REPORTING


@pytest.mark.parametrize("module", WITHOUT_NUMBA)
def test_codes_load_without_numba(module):
    """Reading codes, rules or errors must not cost numba's start-up."""
    code = f"import sys, {module}; sys.exit(any(name in sys.modules for name in ('numba', 'numpy', 'pandas')))"
    assert subprocess.run([sys.executable, "-c", code], cwd=PROJECT).returncode == 0


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_fast_math(path):
    """Fast-math would let results depend on the processor."""
    keywords = {node.arg for node in ast.walk(parse(path)) if isinstance(node, ast.keyword)}
    assert "fastmath" not in keywords


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_global_random_numbers(path):
    """Every random number comes from a seed that somebody passed."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.ImportFrom) and node.module in ("random", "numpy.random"):
            assert {alias.name for alias in node.names} <= RANDOM_OBJECTS, f"line {node.lineno}"
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("random", "np.random", "numpy.random"):
            assert node.attr in RANDOM_OBJECTS, f"line {node.lineno}"


@pytest.mark.parametrize("path", KERNEL_MODULES, ids=name_of)
def test_kernels_draw_from_the_game_record(path):
    """A kernel knows no generator but the streams of the record."""
    for function in ast.walk(parse(path)):
        if isinstance(function, ast.FunctionDef) and is_kernel(function):
            used = {ast.unparse(node) for node in ast.walk(function) if isinstance(node, ast.Name | ast.Attribute)}
            assert not used & {"random", "np.random", "Random", "default_rng"}, function.name


@pytest.mark.parametrize("path", KERNEL_MODULES, ids=name_of)
def test_kernels_are_cached_and_release_the_lock(path):
    tree = parse(path)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "njit"]
    mentions = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "njit"]
    assert len(calls) == len(mentions), "njit without arguments"
    for call in calls:
        on = {keyword.arg for keyword in call.keywords if ast.unparse(keyword.value) == "True"}
        assert {"cache", "nogil"} <= on, f"line {call.lineno}"


def test_nothing_leads_out_of_the_repository():
    outside = re.compile(r"(\.\./|/work/)shared")
    for path in PROJECT.rglob("*"):
        parts = path.relative_to(PROJECT).parts
        if path.is_file() and path.suffix in TEXT_SUFFIXES and not NOT_OURS & set(parts) and "__pycache__" not in parts:
            assert not outside.search(path.read_text(encoding="utf-8", errors="replace")), name_of(path)
