# Two commands open this project: `make demo` and `make test`. Both set up .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
INSTALLED := $(VENV)/.installed
CODE := $(VENV)/.code
READY := $(VENV)/.ready
# What machine code depends on.
LOOPS := $(wildcard src/rosenblatt/jit.py src/rosenblatt/cli/commands/warmup.py src/rosenblatt/core/*.py \
	src/rosenblatt/core/geometry/*.py src/rosenblatt/rules/*.py src/rosenblatt/proofs/loops/*.py src/rosenblatt/data/scanners/*.py)

# Tests start hundreds of processes: without stored bytecode each would compile 400 modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help ready demo test check bench fuzz torture docs screenshots dist fresh oldest clean

$(INSTALLED): pyproject.toml
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "installing into $(VENV), once: a minute or two, 0.8 GB"
	HATCH_BUILD_NO_HOOKS=true $(PIP) --editable ".[plots]"
	touch $(INSTALLED)

$(CODE): $(INSTALLED) $(LOOPS)
	$(BIN)/python -m rosenblatt.cli.commands.warmup
	touch $(CODE)

$(READY): $(INSTALLED) $(CODE)
	@echo "installing what tests need, once: some minutes, 1 GB more"
	HATCH_BUILD_NO_HOOKS=true $(PIP) --editable ".[dev]"
	$(BIN)/python -m rosenblatt.cli.commands.warmup  # the pages, which the demo did not need
	touch $(READY)

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

ready: $(READY)  ## set up .venv with everything that development needs

demo: $(CODE)  ## fit a small table: how it was read, how good the model is on new rows, whether a line separates it
	@$(BIN)/python docs/demo.py

check: $(READY)  ## format, lint, types, and the layers of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test: check  ## every check, then every test
	$(BIN)/python -m pytest -n 2

$(VENV)/.peers: $(READY)
	for peer in vowpalwabbit river pyspark; do \
		$(PIP) $$peer || \
		echo "$$peer could not be installed: its lines are left out"; \
	done
	touch $(VENV)/.peers

bench: $(VENV)/.peers  ## every question with its peers, side by side in one run
	$(BIN)/python -m benchmarks --write docs

torture: $(READY)  ## kill -9 the service a thousand times under load
	ROSENBLATT_KILLS=1000 $(BIN)/python -m pytest -n 0 tests/service/test_kill.py

$(VENV)/.docs: $(READY)
	HATCH_BUILD_NO_HOOKS=true $(PIP) --editable ".[docs]"
	touch $(VENV)/.docs

docs: $(VENV)/.docs  ## the documentation site into docs/_build/html, warnings as errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "docs/_build/html/index.html"

screenshots: $(READY)  ## pictures of every page of the lab, and of a report
	$(BIN)/python docs/screenshots.py

fuzz: $(READY)  ## mutants of every format, of models, proofs and mail, at full length; and atheris where it is
	$(BIN)/python -m tests.fuzz

fresh:  ## pip install . into an empty environment, and run every block of the README there
	rm -rf build/fresh && mkdir -p build/fresh
	$(PYTHON) -m venv build/fresh/env
	build/fresh/env/bin/python -m pip install --quiet --disable-pip-version-check ".[all]" pytest
	build/fresh/env/bin/python -c "from rosenblatt.jit import CODE, SHIPPED_FOLDER, can_ship; \
		assert not can_ship() or CODE.shipped_folder(SHIPPED_FOLDER).exists(), 'the build packed no machine code'"
	cd build/fresh && PYTHONPATH=../.. env/bin/python -m pytest -c /dev/null --rootdir ../.. --import-mode=importlib ../../tests/docs/test_readme.py

# Old versions warn of what is newer than they are, so warnings are no errors there.
oldest:  ## the core tests with the oldest versions that pyproject.toml allows
	$(PYTHON) -m venv --clear build/oldest
	HATCH_BUILD_NO_HOOKS=true build/oldest/bin/python -m pip install --quiet --disable-pip-version-check . $$($(PYTHON) -m tests.oldest)
	build/oldest/bin/python -m pytest -W default tests/core tests/rules tests/golden tests/data tests/test_storage.py \
		tests/linear/test_perceptron.py tests/proofs/test_decision.py

dist: $(READY)  ## the wheel and the source archive into dist/
	@test -n "$$ROSENBLATT_FILES" || echo "ROSENBLATT_FILES is not set: the README in the package has no links and no pictures"
	rm -rf dist
	$(BIN)/python -m build --outdir dist

clean:  ## remove .venv and what was built
	rm -rf $(VENV) build dist docs/_build docs/generated docs/gallery
