# make demo   sets up and runs the whole circle on this machine        make demo ARGS="--hours 0.5"
# make test   sets up, lints, checks types and runs the fast tests      make test-all also the slow ones
# Needs python3 (with venv) and make; everything else is installed into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Where CPU builds of torch come from when the package index would send a CUDA build of several GB.
# TORCH_INDEX=https://download.pytorch.org/whl/cpu make test
TORCH_INDEX ?=
TORCH := torch==2.13.0
# Where the environment forbids bytecode, each of some hundred programs that tests start would compile our sources anew.
export PYTHONDONTWRITEBYTECODE :=
# The tests of a file share what they set up, so they stay together; tests/conftest.py puts the longest files first.
# Three for two cores, since the tests of whole systems mostly wait. `make test PARALLEL=` runs one test after the other.
PARALLEL ?= --numprocesses 3 --dist loadfile --no-loadscope-reorder
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile --constraint requirements.lock

.PHONY: demo test test-all checks lint types kernels bench setup setup-dev clean

demo: setup
	@$(BIN)/python -m deploy.demo $(ARGS)

test: checks
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow" $(ARGS)

test-all: checks
	$(BIN)/python -m pytest $(PARALLEL) $(ARGS)

# At once, since each keeps one core busy; what only lint and types need is installed meanwhile.
checks: setup
	@$(MAKE) --no-print-directory --jobs 2 lint types kernels

lint: setup-dev
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

types: setup-dev
	$(BIN)/python -m mypy .

# Once for all processes of the tests, which otherwise would each compile the same.
kernels: setup
	$(BIN)/python -m client.contribute.warmup

bench: setup-dev
	$(BIN)/python -m tests.benchmarks $(ARGS)

setup: $(VENV)/installed
setup-dev: $(VENV)/installed-dev

$(VENV)/bin/python:
	@$(PYTHON) -m venv $(VENV) || { echo; \
	  echo "Python's venv module is missing. On Debian or Ubuntu: apt-get install python3-venv"; exit 1; }

$(VENV)/installed: requirements.txt client/requirements.txt requirements.lock | $(VENV)/bin/python
	$(PIP) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) $(TORCH)
	$(PIP) -r requirements.txt
	@touch $@

$(VENV)/installed-dev: requirements-dev.txt $(VENV)/installed
	$(PIP) -r requirements-dev.txt
	@touch $@

clean:
	rm -rf $(VENV) data
