# Everything runs in a virtual environment of its own; nothing but Python 3.11+ and make is needed.
PYTHON ?= python3
VENV ?= .venv
PORT ?= 8000
# What every article is measured on, in place of what it says itself; `make site ARGS=--chat` and
# the like give any option that `python -m report site --help` lists.
# STUDY: the name of one article, to build a site of it alone; MODELS: its models, if it compares
# several, in the order of its own ("a b c").
MODEL ?=
MODELS ?=
STUDY ?=
PASSAGE ?=
LAYERS ?=
DTYPE ?=
DEVICE ?=
ARGS ?=
# On Linux the registry's torch brings CUDA, several GB. For the CPU build alone:
# make site TORCH_INDEX=https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=
BIN := $(VENV)/bin
READY := $(VENV)/.ready
INDEX := $(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)")
OPTIONS := $(if $(STUDY),--study "$(STUDY)") $(foreach model,$(MODELS),--models "$(model)") \
  $(if $(MODEL),--model "$(MODEL)") $(if $(PASSAGE),--passage "$(PASSAGE)") \
  $(if $(LAYERS),--layers "$(LAYERS)") $(if $(DTYPE),--dtype "$(DTYPE)") \
  $(if $(DEVICE),--device "$(DEVICE)") $(ARGS)

.DEFAULT_GOAL := help
.PHONY: help setup site serve check publish test lint format clean browser

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Create the virtual environment and install everything

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt $(INDEX) torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[measure,dev]"
	@touch $@

site: $(READY) ## Measure what changed and build the site into site/ (STUDY=, MODEL=, MODELS=, PASSAGE=, LAYERS=, DTYPE=, DEVICE=)
	$(BIN)/python -m report site $(OPTIONS)

serve: export SITE_URL ?= http://127.0.0.1:$(PORT)/
serve: site ## Build the site and show it on http://127.0.0.1:8000/ (PORT=)
	$(BIN)/python -m report serve --port $(PORT)

check: $(READY) ## Verify the built site: links, figures, datasets, no other host
	$(BIN)/python -m report check

# REMOTE: name of a git remote, an address, or a path; DOMAIN: a domain of your own, if any;
# FRESH=1 leaves one commit on the branch, without those before it.
REMOTE ?= origin
BRANCH ?= gh-pages
DOMAIN ?=
FRESH ?=

publish: site ## Build the site and push it to a branch (SITE_URL=, REMOTE=, BRANCH=, DOMAIN=, FRESH=1)
	$(BIN)/python -m report publish --remote "$(REMOTE)" --branch "$(BRANCH)" \
	  $(if $(DOMAIN),--domain "$(DOMAIN)") $(if $(FRESH),--fresh)

test: $(READY) browser lint ## Run all tests, in a real browser too
	$(BIN)/python -m pytest

lint: $(READY) ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY) ## Mend style and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

browser: ## Install Debian's Chromium if no browser is there
	@if ! command -v chromium >/dev/null; then \
	  echo "Installing Chromium for the browser tests"; \
	  if [ "$$(id -u)" = 0 ]; then SUDO=; else SUDO=sudo; fi; \
	  $$SUDO apt-get update -qq && \
	  $$SUDO env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; \
	fi

clean: ## Remove everything that was made: the site, data, caches (not the virtual environment)
	rm -rf site site-zensical .site*.tmp .cache .pytest_cache .ruff_cache .hypothesis
	rm -rf site_src/articles site_src/datasets site_src/figures site_src/schemas site_src/assets
	rm -f site_src/index.md site_src/archive.md site_src/tags.md site_src/models.md site_src/feed.xml
	find . -name __pycache__ -not -path "./$(VENV)/*" -prune -exec rm -rf {} +
