# make demo      install, fit the built-in corpus and show its most different words
# make test      install what tests need and run them
# make check     what the pre-commit hook runs
# make pictures  draw the pictures of the documentation anew (needs chromium)

PYTHON ?= python3
BIN := .venv/bin

demo: .venv/installed
	$(BIN)/laplex demo

test: check
	$(BIN)/pytest -q

check: .venv/developing
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

pictures: .venv/developing
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

.PHONY: demo test check pictures clean
