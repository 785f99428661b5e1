# The first commands do all the set-up: a virtual environment in .venv, from hash-locked requirements.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: integrations demo test lint format golden picture schemas lock bench clean

demo: $(VENV)/.runtime  ## The gate on the Orbit demo, offline
	@$(BIN)/python -m gate run --config gate.toml --details

test: $(VENV)/.dev  ## Every test
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/.dev  ## Types, style and layers
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/python -m pytest tests/contract -q

format: $(VENV)/.dev
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

golden: $(VENV)/.dev  ## Write the golden files anew; review the diff
	GATE_GOLDEN=write $(BIN)/python -m pytest tests/golden -q

picture: $(VENV)/.dev  ## Draw the comment of the README anew (needs chromium, and npm ci --prefix tests/browser)
	PYTHONPATH=tests $(BIN)/python tests/browser/comment_page.py

schemas: $(VENV)/.runtime  ## Write docs/schemas anew
	$(BIN)/python -m gate schema report > docs/schemas/report-1.json
	$(BIN)/python -m gate schema baseline > docs/schemas/baseline-1.json

bench: $(VENV)/.bench  ## Speed, side by side with named peers
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/keyword_arm.py
	$(BIN)/python benchmarks/report_page.py
	$(BIN)/python benchmarks/dense.py
	$(BIN)/python benchmarks/judged_collections.py

lock:  ## Resolve requirements/*.txt again, with hashes (needs uv)
	requirements/lock

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: requirements/run.txt $(VENV)/bin/python
	$(PIP) install --require-hashes --no-deps --only-binary :all: -r requirements/run.txt
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml $(VENV)/bin/python
	$(PIP) install --require-hashes --no-deps --only-binary :all: -r requirements/dev.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@ $(VENV)/.runtime

$(VENV)/.bench: requirements/bench.txt $(VENV)/.dev
	$(PIP) install --require-hashes --no-deps --only-binary :all: -r requirements/bench.txt
	@touch $@

$(VENV)-integrations/.done: requirements/integrations.txt
	$(PYTHON) -m venv $(VENV)-integrations
	$(VENV)-integrations/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes --no-deps --only-binary :all: -r requirements/integrations.txt
	@touch $@

integrations: $(VENV)-integrations/.done  ## The environment in which the recipes are tried

clean:
	rm -rf $(VENV) $(VENV)-integrations .mypy_cache .ruff_cache .hypothesis dist
