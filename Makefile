# Set-up and checks; `make help` lists the commands. One virtualenv, .venv, serves them all.

PYTHON ?= python3
ATLAS_PORT ?= 8501

VENV := .venv
BIN := $(VENV)/bin
LOCK := .lock
INSTALL := $(BIN)/python -m pip install --constraint constraints.txt
PYTEST := $(BIN)/python -m pytest -q
RULES := tests/unit/test_docstrings.py tests/unit/test_layout.py tests/unit/views/test_views_are_pure.py
# One process of tests more than processors, because tests also wait: for other processes, for clocks and for disks.
WORKERS := $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 4 ? n + 1 : 4)))
# Where the stores of tests are written without waiting for a disk: if programs may run there and 4 GB are free.
SHARED_MEMORY := $(shell grep ' /dev/shm ' /proc/mounts 2>/dev/null | grep -qv noexec && df -Pk /dev/shm \
	| awk 'NR == 2 && $$4 > 4000000 { print "/dev/shm" }')

define REFUSE_OLD_PYTHON
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "ATLAS needs Python 3.11 or newer, but $(PYTHON) is: $$($(PYTHON) --version 2>&1)."; \
	echo "Name another one, for example: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
endef

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test unit-tests browser-tests test-slow check format docs bench screenshots lock clean browser

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(VENV)/.run ## set up if needed, then serve the dashboard on 127.0.0.1:8501 (ATLAS_PORT changes the port)
	@echo "==> opening the store"
	@$(BIN)/atlas init --sample || true  # what is wrong with a store, the dashboard says too
	@echo "==> serving on http://127.0.0.1:$(ATLAS_PORT) (Ctrl-C stops it)"
	@$(BIN)/atlas dashboard --port $(ATLAS_PORT)

test test-slow: export HF_HUB_OFFLINE = 1
test test-slow: export TMPDIR := $(or $(SHARED_MEMORY),$(TMPDIR),/tmp)
test: $(VENV)/.dev browser ## set up if needed, then all tests: unit, contract, integration, ui, browser
	@$(MAKE) --no-print-directory --keep-going unit-tests browser-tests

# One stage after the other, since both need every core. A failed test has a second try, because a busy machine may starve
# a thread or lose a click. Each such test is listed.
unit-tests:
	@echo "==> unit, contract, integration and page tests"
	@$(PYTEST) -n $(WORKERS) --dist worksteal -m "not slow" --reruns 1 --ignore tests/e2e tests

browser-tests: # each process has a dashboard and a browser of its own
	@echo "==> browser tests"
	@$(PYTEST) -n $(WORKERS) --dist loadfile -m "not slow" --reruns 1 tests/e2e

test-slow: $(VENV)/.dev browser ## set up if needed, then the tests that count in full, which `make test` leaves out
	@$(PYTEST) -m slow tests

check: $(VENV)/.dev ## format, lint, types, import rules, docstrings, layout
	@failed=0; \
	echo "==> ruff"; $(BIN)/ruff format --check . || failed=1; $(BIN)/ruff check . || failed=1; \
	echo "==> mypy"; $(BIN)/mypy || failed=1; \
	echo "==> import-linter"; $(BIN)/lint-imports --no-cache --no-logo || failed=1; \
	echo "==> docstrings and layout"; $(PYTEST) $(RULES) || failed=1; \
	exit $$failed

format: $(VENV)/.dev ## format, and mend what the linter can mend
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

docs: $(VENV)/.dev ## build the site of the docs into build/site, strictly
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "==> build/site/index.html"

bench: $(VENV)/.dev ## measure speed and recall (takes hours; by hand, not in CI)
	@$(BIN)/python -m benchmarks

screenshots: $(VENV)/.dev browser ## take the pictures of README and docs again, of the sample data
	@HF_HUB_OFFLINE=1 $(BIN)/python -m tests.support.browser.screenshots

lock: ## renew constraints.txt from the ranges in pyproject.toml; torch stays
	$(REFUSE_OLD_PYTHON)
	@echo "==> resolving into $(LOCK)"
	@$(PYTHON) -m venv --clear $(LOCK)
	@$(LOCK)/bin/python -m pip install "$$(grep '^torch==' constraints.txt)" --editable '.[all,dev]'
	@grep '^#' constraints.txt > $(LOCK)/constraints.txt
	@$(LOCK)/bin/python -m pip list --format=freeze --exclude pip --exclude wheel --exclude atlas-agent-memory \
		| awk -F== '{ name = tolower($$1); gsub(/[-_.]+/, "-", name); sub(/\+.*/, "", $$2); print name "==" $$2 }' \
		| LC_ALL=C sort -t= -k1,1 >> $(LOCK)/constraints.txt
	@mv $(LOCK)/constraints.txt constraints.txt
	@rm -rf $(LOCK)
	@echo "==> constraints.txt renewed; run make check and make test before committing it"

clean: ## remove the virtualenv, builds and caches; never a store
	rm -rf $(VENV) $(LOCK) build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	$(REFUSE_OLD_PYTHON)
	@echo "==> creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# The build backend is installed first and used without isolation, so that it is locked like all the rest.
$(VENV)/.run: pyproject.toml constraints.txt | $(VENV)/.created
	@echo "==> installing ATLAS and its locked dependencies (a few minutes the first time)"
	@$(INSTALL) hatchling hatch-fancy-pypi-readme
	@$(INSTALL) --no-build-isolation --editable '.[all]'
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo "==> installing the tools for development"
	@$(INSTALL) --no-build-isolation --editable '.[all,dev]'
	@$(BIN)/python -c 'import umap'  # its first import compiles for 15 seconds, in each test program that is first
	@touch $@

browser:
	@for name in chromium-headless-shell chromium; do if command -v $$name >/dev/null; then exit 0; fi; done; \
	if [ "$$(id -u)" = 0 ]; then as_root=; else as_root="sudo -n"; fi; \
	if command -v apt-get >/dev/null && $$as_root true 2>/dev/null; then \
		echo "==> installing chromium for the browser tests"; \
		$$as_root apt-get update -qq; \
		$$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium-headless-shell >/dev/null \
			&& exit 0; \
	fi; \
	echo "The browser tests need Chromium, which could not be installed from here. On Debian: sudo apt-get install chromium-headless-shell"; \
	[ -z "$$CI" ]
