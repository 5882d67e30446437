# `make demo` and `make test` start from nothing; everything else builds on the same `.venv`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
# One BLAS thread a process: the suite already runs one process per core.
export OMP_NUM_THREADS := 1

.PHONY: setup demo test lint bench tables long redteam evidence schema clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "assay needs Python 3.11 or newer; set PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup
	$(BIN)/python -m assay demo

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest -n 2 -m 'not long'

long: setup
	$(BIN)/python -m pytest -n 2 -m long --ignore=tests/redteam

# Alone on the machine: beside other work its timed trials end disturbed.
redteam: setup
	$(BIN)/python -m assay redteam
	$(BIN)/python -m pytest -m long tests/redteam

# The same faults with their outcome on record; `repeats` takes an hour on two cores.
evidence: setup
	$(BIN)/python -m benchmarks.faults
	$(BIN)/python -m benchmarks.admission
	$(BIN)/python -m benchmarks.repeats

bench: setup
	$(BIN)/python -m benchmarks.rules
	$(BIN)/python -m benchmarks.precision
	$(BIN)/python -m benchmarks.ledger

tables: setup
	$(BIN)/python -m benchmarks.tables

schema: setup
	$(BIN)/python -m assay schema docs/schema

clean:
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
