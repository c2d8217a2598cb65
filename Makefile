# Two commands open this project: `make demo` and `make test`. Both set up .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help ready demo test check bench fuzz torture docs screenshots dist clean

$(READY): pyproject.toml
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "installing into $(VENV), once: some minutes, 1.7 GB"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $(READY)

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

ready: $(READY)  ## set up .venv with everything that development needs

demo: $(READY)  ## fit a small table: how it was read, how well it does on new rows
	$(BIN)/rosenblatt fit examples/data/loans.csv

check: $(READY)  ## format, lint, types, and the layers of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test: check  ## every check, then every test
	$(BIN)/python -m pytest -n 2

$(VENV)/.peers: $(READY)
	for peer in vowpalwabbit river pyspark; do \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check $$peer || \
		echo "$$peer could not be installed: its lines are left out"; \
	done
	touch $(VENV)/.peers

bench: $(VENV)/.peers  ## every question with its peers, side by side in one run
	$(BIN)/python -m benchmarks --write docs

torture: $(READY)  ## kill -9 the service a thousand times under load
	ROSENBLATT_KILLS=1000 $(BIN)/python -m pytest -n 0 tests/service/test_kill.py

$(VENV)/.docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	touch $(VENV)/.docs

docs: $(VENV)/.docs  ## the documentation site into docs/_build/html, warnings as errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

screenshots: $(READY)  ## pictures of every page of the lab, and of a report
	$(BIN)/python docs/screenshots.py

fuzz: $(READY)  ## mutants of every format, of models, proofs and mail, at full length; and atheris where it is
	$(BIN)/python -m tests.fuzz

dist: $(READY)  ## the wheel and the source archive into dist/
	rm -rf dist
	$(BIN)/python -m build --outdir dist

clean:  ## remove .venv and what was built
	rm -rf $(VENV) build dist docs/_build docs/generated docs/gallery
