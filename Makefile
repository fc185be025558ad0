# Every target runs in .venv, which is created and filled when it is missing or out of date.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable
REQUIREMENTS := pyproject.toml constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo serve test test-slow test-gpu docs bench load clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: $(VENV)/.installed ## run the demonstration
	$(BIN)/headstart demo

serve: $(VENV)/.installed-web ## open the dashboard on http://127.0.0.1:8000
	$(BIN)/headstart serve

test: $(VENV)/.installed-dev ## check format, style, types and layers, then run the tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n auto --dist worksteal

test-slow: $(VENV)/.installed-dev ## run the slow tests
	$(BIN)/python -m pytest -m "slow and not gpu"

test-gpu: $(VENV)/.installed-dev ## run the tests that need a CUDA device
	$(BIN)/python -m pytest -m gpu

docs: $(VENV)/.installed ## write the pages that are generated
	$(BIN)/python docs/make_cli_page.py

bench: $(VENV)/.installed ## time the package
	$(BIN)/python -m benchmarks

load: $(VENV)/.installed-dev ## put the dashboard under load, five minutes on SQLite and on PostgreSQL
	$(BIN)/python -m benchmarks.load --store sqlite
	$(BIN)/python -m benchmarks.load --store postgresql

clean: ## delete .venv and everything else that can be made again
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(REQUIREMENTS) | $(BIN)/python
	$(INSTALL) .
	touch $@

$(VENV)/.installed-web: $(REQUIREMENTS) | $(BIN)/python
	$(INSTALL) ".[web]"
	touch $@ $(VENV)/.installed

$(VENV)/.installed-dev: $(REQUIREMENTS) | $(BIN)/python
	$(INSTALL) ".[dev]"
	touch $@ $(VENV)/.installed $(VENV)/.installed-web
