# make demo   solves the two-dimensional hydrogen atom, from nothing but Python
# make test   everything CI runs: lint, types, tests
# make check  lint, types and the tests of what has changed since the last commit, in about a minute
# make test-oldest, make test-newest   README and all examples with the oldest and the newest dependencies that are
#             allowed; needs uv and the network
# make bench  a training step as modes grow, and error against seconds for every method; a quarter of an hour

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check test-slow test-oldest test-newest bench lint requirements clean

demo: .venv/installed
	$(BIN)/eigenax run hydrogen

test: lint
	$(BIN)/pytest -n 2 --dist worksteal --durations=8

check: lint
	$(BIN)/python tests/touched.py | xargs --no-run-if-empty $(BIN)/pytest -n 2 --dist worksteal

test-slow: .venv/installed-all
	$(BIN)/pytest -m slow

RESOLUTION_oldest := lowest-direct
RESOLUTION_newest := highest
PYTHON_oldest := 3.11
PYTHON_newest := $(PYTHON)

test-oldest test-newest: test-%:
	uv venv --quiet --clear --python $(PYTHON_$*) .venv-$*
	uv pip install --quiet --python .venv-$* --resolution $(RESOLUTION_$*) '.[test]'
	.venv-$*/bin/pytest tests/test_docs.py tests/test_docstrings.py
	.venv-$*/bin/eigenax run oscillator --preset quick --out .venv-$*/run

bench: .venv/installed
	$(BIN)/python benchmarks/step_time.py
	$(BIN)/python benchmarks/error_against_seconds.py

lint: .venv/installed-all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

.venv/installed: requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "eigenax needs Python 3.11 or newer; say which with make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

.venv/installed-all: .venv/installed requirements-test.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-test.txt
	touch $@

# Names, versions and hashes only. Needs uv.
requirements:
	uv pip compile pyproject.toml requirements-build.in --python-version 3.11 --universal --generate-hashes \
	  --no-header --no-annotate --quiet --upgrade -o requirements.txt
	uv pip compile pyproject.toml requirements-build.in --extra test --python-version 3.11 --universal \
	  --generate-hashes --no-header --no-annotate --quiet -c requirements.txt -o requirements-test.txt

clean:
	rm -rf .venv .venv-oldest .venv-newest dist runs
