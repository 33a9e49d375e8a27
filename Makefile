# make demo      install, fit the built-in corpus and show words whose use has changed
# make test      install what tests need and run them
# make quick     style, types and the quick tests, before a commit
# make check     what the pre-commit hook runs
# make r         run laplex.R and the page on R with a real R (needs R and reticulate)
# make pictures  draw the pictures of the README and the documentation anew (needs chromium)

PYTHON ?= python3
BIN := .venv/bin
# a worker for each core; tests of a file share their fits, so they stay together
PARALLEL := --numprocesses auto --dist loadfile

demo: .venv/installed
	$(BIN)/laplex demo

# with a worker for each core, threads of the linear algebra would only get in each other's way
test quick: export OPENBLAS_NUM_THREADS := 1

test: check
	$(BIN)/pytest -q $(PARALLEL)

quick: check
	$(BIN)/pytest -q $(PARALLEL) -m "not slow"

check: .venv/developing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

r: .venv/developing
	LAPLEX_R=required $(BIN)/pytest -q tests/test_r.py

pictures: .venv/developing
	$(BIN)/python docs/readme.py
	$(BIN)/python docs/pictures.py

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	touch $@

.venv/developing: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

.PHONY: demo test quick check r pictures clean
