# The first python3.11 or newer that really runs; override with `make PYTHON=...`.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: run test bench scale-check study clean

run: .venv/installed-run
	$(BIN)/dartmoor simulate --players 3 --games 200000 --policies greedy,greedy,random --seed 1 --out results/run

test: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2

bench: .venv/installed-bench
	$(BIN)/dartmoor bench --out results/bench

scale-check: .venv/installed-dev
	$(BIN)/dartmoor bench --only scale

study: .venv/installed-dev
	$(BIN)/dartmoor study

clean:
	rm -rf .venv build *.egg-info

.venv/created:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer not found; name one with make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/installed-run: .venv/created pyproject.toml
	$(PIP) install -e .
	@touch $@

# Without OpenSpiel the benchmark still runs, and says that it is missing.
.venv/installed-bench: .venv/installed-dev
	-$(PIP) install -e '.[bench]'
	@touch $@

.venv/installed-dev: .venv/created pyproject.toml
	$(PIP) install -e '.[dev]'
	@touch $@ .venv/installed-run
