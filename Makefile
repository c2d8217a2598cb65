# Two commands open this project: `make demo` and `make test`. Both set up .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: ready demo test check bench torture clean

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $(READY)

ready: $(READY)

demo: $(READY)
	$(BIN)/rosenblatt fit sample:breast-cancer

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

test: check
	$(BIN)/python -m pytest -n 2

bench: $(READY)
	$(BIN)/python -m benchmarks

torture: $(READY)  ## kill -9 the service a thousand times under load
	ROSENBLATT_KILLS=1000 $(BIN)/python -m pytest -n 0 tests/service/test_kill.py

clean:
	rm -rf $(VENV) build dist
