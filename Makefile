# Two commands for a newcomer: `make demo` and `make test`. `make help` lists the rest.
# Every target that needs Python makes .venv first: when it is missing, or when the lock has changed.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
PORT ?= 8000
# How many tests run side by side, and what else pytest is to know: make test JOBS=4 ARGS="-x tests/dlq"
JOBS ?= 3
ARGS ?=
# No interpreter of ours may pick up settings of the shell that started make. Images often forbid bytecode: then each of
# the tests' hundreds of processes would compile the project anew, and pytest rewrite every test file.
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z.-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

# --- the virtual environment ---------------------------------------------------------------------------------------

# PYTHON=… if given, else the first of these that is 3.11 or later and can make virtual environments.
PYTHONS := $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11)
define find_python
for python in $(PYTHONS); do \
  if $$python -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then break; fi; \
  python=; \
done; \
if [ -z "$$python" ]; then \
  echo "jobops needs Python 3.11 or later with its venv module (tried: $(PYTHONS)); install it, or name one: make PYTHON=/path/to/python3" >&2; \
  exit 1; \
fi
endef

# Remade from nothing: a half-made or outdated environment cannot be told from a good one.
$(STAMP): requirements.lock
	@$(find_python); rm -rf $(VENV); \
	echo "making $(VENV) with $$($$python --version); this takes about a minute, once"; \
	$$python -m venv $(VENV)
	@$(PIP) --require-hashes --requirement requirements.lock
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

.PHONY: .venv
.venv: $(STAMP) ## make the virtual environment

COMPILE = $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-annotate --no-header --quiet

.PHONY: lock
lock: $(STAMP) ## write the locks anew from pyproject.toml (UPGRADE=1: with the newest releases)
	@$(COMPILE) --extra dev $(if $(UPGRADE),--upgrade) --output-file requirements.lock
	@$(COMPILE) --extra image --constraint requirements.lock --output-file requirements-image.lock

# --- running it ----------------------------------------------------------------------------------------------------

.PHONY: demo
demo: $(STAMP) ## start everything with living traffic on http://127.0.0.1:8000/ (PORT=…)
	@exec $(BIN)/python manage.py demo --port $(PORT) $(ARGS)

.PHONY: dev
dev: $(STAMP) ## start web server, worker, scheduler and Redis for developing; reloads changed code
	@exec $(BIN)/python manage.py dev --port $(PORT) $(ARGS)

# --- keeping it good -----------------------------------------------------------------------------------------------

.PHONY: test
test: $(STAMP) ## all tests; those of the database again on PostgreSQL where it is installed
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)
	@$(BIN)/python -m tests.postgres $(BIN)/python -m pytest -n $(JOBS) --dist worksteal \
		-m "django_db and not sqlite_only and not look and not rights" $(ARGS)

.PHONY: check
check: $(STAMP) ## lint, types, import layers, templates, Lua, migrations, Django's own checks
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/djlint --quiet --lint templates
	@$(BIN)/python -m tests.lint_lua
	@DEBUG=1 JOBOPS_DEMO=1 $(BIN)/python manage.py makemigrations --check --dry-run
	@DEBUG=1 JOBOPS_DEMO=1 $(BIN)/python manage.py check --fail-level WARNING

.PHONY: bench
bench: $(STAMP) ## measure throughput and fairness, beside RQ's own
	@for file in $(filter-out bench/peers.py,$(wildcard bench/*.py)); do \
		echo "== $$file"; $(BIN)/python "$$file" $(ARGS) || exit 1; done

.PHONY: bench-peers
bench-peers: $(STAMP) ## the same beside Celery, taskiq, dramatiq and Huey, installed under var/
	@$(BIN)/python bench/peers.py $(ARGS)

.PHONY: clean
clean: ## remove what was made here: .venv, var, caches
	rm -rf $(VENV) var build *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
