# Two commands on a fresh machine: `make demo` and `make test`. Needs Python 3.11 or later.
PYTHON ?= python3
VENV   ?= .venv
ifeq ($(OS),Windows_NT)
BIN    := $(VENV)/Scripts
EXE    := .exe
else
BIN    := $(VENV)/bin
endif
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check
INSTALL := bin/python -m pip --quiet --disable-pip-version-check install
NEW_PIP := 'pip>=25.1'  # which knows the dependency groups of pyproject.toml

.PHONY: help demo test test-cluster test-integrations test-postgres test-papers test-slow test-web torture coverage check format docs bench results papers audit release-check lock site clean

help:           ## list the recipes
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(VENV)/.installed   ## install the program and walk through it on the sample corpus
	$(BIN)/lpisearch demo

# A worker for each core, and one BLAS thread for each worker: more would wait for each other. The
# browser has a process of its own: the loop that it runs in leaves no room for those of other tests.
# Groups are for the smaller recipes: to keep 8,000 tests in groups costs more than it gains.
TEST   := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest
test: $(VENV)/.installed-dev   ## run the test suite
	$(TEST) -m "browser and not slow" tests/browser
	$(TEST) -n auto -m "not slow and not browser and not postgres and not cluster" \
	    --ignore tests/test_house.py

test-slow: $(VENV)/.installed-dev   ## run the exhaustive tests too
	$(BIN)/python -m pytest -n auto --dist loadgroup -m slow --timeout 1800

# Dense versions written from the papers beside every method, at up to 5,000 documents: some minutes.
test-papers: $(VENV)/.installed-dev   ## compare every method with the papers' equations at every size
	$(BIN)/python -m pytest --timeout 1800 tests/papers

# The server, its API and its pages; in a real browser where there is one (apt-get install chromium).
test-web: $(VENV)/.installed-dev   ## test what `lpisearch serve` serves, in a browser too
	$(TEST) -m "browser and not slow" tests/browser
	$(TEST) -n auto --dist loadgroup -m "not slow and not browser" \
	    tests/unit/web tests/web tests/contracts/test_library.py tests/functional/test_serve.py

test-postgres: $(VENV)/.installed-dev   ## run the tests of a library in PostgreSQL (needs initdb and pg_ctl)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -m postgres -rs \
	    --durations 5 tests/postgres tests/contracts/stores

# In an environment of its own, with the frameworks themselves (400 MB).
test-integrations: $(VENV)-integrations/.installed   ## test PyTerrier, LangChain, LlamaIndex, Haystack, llm and notebooks
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(VENV)-integrations/bin/python -m pytest -rs tests/integrations \
	    tests/unit/model/test_notebooks.py tests/contracts/test_library.py

$(VENV)-integrations/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)-integrations
	$(VENV)-integrations/$(INSTALL) --upgrade $(NEW_PIP)
	$(VENV)-integrations/$(INSTALL) -c constraints.txt -e '.[ir,parquet,web]' --group integrations
	@touch $@

test-cluster: $(VENV)/.installed-dev   ## run the tests of a build on a Dask cluster
	$(TEST) -n 2 -m cluster --durations 5 tests/cluster

# Kills, full disks, damage, fuzzed readers, readers beside a writer: docs/reliability.md has the last
# long run. SEED= makes a run again; PART= is one of the parts that the table names.
# Before them, what Hypothesis draws is drawn anew, where `make test` draws the same each time.
torture: $(VENV)/.installed-dev   ## faults of every kind, in numbers (TRIES=100 MINUTES=10 a part)
	$(if $(PART),,seed=$(or $(SEED),$$($(BIN)/python -c "import secrets; print(secrets.randbelow(1 << 16))")); \
	    echo "seed $$seed"; $(TEST) -n auto -m "hypothesis and not slow and not postgres" \
	    --hypothesis-profile torture --hypothesis-seed $$seed)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.torture --tries $(or $(TRIES),100) \
	    --minutes $(or $(MINUTES),10) $(if $(SEED),--seed $(SEED)) $(if $(PART),--part "$(PART)")

coverage: $(VENV)/.installed-dev   ## run the tests and write the share of lines that they reach into CONTRIBUTING.md
	$(BIN)/python docs/coverage.py

check: $(VENV)/.installed-dev   ## lint, types, import layers, layout, docs in step
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/test_house.py
	$(BIN)/python docs/generate.py --check
	$(BIN)/python docs/dependencies.py --check
	$(BIN)/python docs/site.py --check
	$(BIN)/python docs/coverage.py --check
	@$(BIN)/python -m benchmarks.papers --stale | sed 's/^/Warning: /'

format: $(VENV)/.installed-dev   ## bring the code into the one format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed-dev   ## write the generated pages of docs/ anew
	$(BIN)/python docs/generate.py

site: $(VENV)/.installed-dev   ## build the documentation as a site, in build/site
	$(BIN)/python docs/site.py

bench: $(VENV)/.installed-dev   ## measure speed and memory, side by side with peers
	$(BIN)/python benchmarks/beside.py

results: $(VENV)/.installed-dev   ## write docs/results.md from public collections
	$(BIN)/python benchmarks/results.py

# All of it takes a night; it can be interrupted and goes on where it was.
papers: $(VENV)/.installed-dev   ## measure the tables of the five papers anew (SHORT=1: ten minutes; CHECK=1: from draws)
	$(BIN)/python -m benchmarks.papers $(if $(CHECK),--check,$(if $(SHORT),--short,--full))

# In an environment of its own: what looks for weaknesses is no part of what is looked at.
audit: $(BIN)/python$(EXE)   ## compare the pinned libraries with the public list of weaknesses
	$(PYTHON) -m venv $(VENV)-audit
	$(VENV)-audit/$(INSTALL) pip-audit
	$(VENV)-audit/bin/python docs/audit.py

# In an environment of its own, with the tools of those who install: uv, pipx and pip.
release-check: $(VENV)-release/.installed   ## check that a release can be made from here (EXTRA=web: only with this extra)
	$(VENV)-release/bin/python docs/release.py $(if $(EXTRA),--extra $(EXTRA))

lock: $(VENV)-release/.installed   ## bring constraints.txt in step with pyproject.toml (UPGRADE=1: newest versions)
	$(VENV)-release/bin/uv pip compile --quiet --universal --python-version 3.11 --all-extras --group dev \
	    --group release --no-annotate --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade) \
	    -o constraints.txt pyproject.toml

$(VENV)-release/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)-release
	$(VENV)-release/$(INSTALL) --upgrade $(NEW_PIP)
	$(VENV)-release/$(INSTALL) -c constraints.txt --group release
	@touch $@

clean:          ## remove the environment and all caches
	rm -rf $(VENV) $(VENV)-audit $(VENV)-integrations $(VENV)-release build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python$(EXE):
	$(PYTHON) -m venv $(VENV)

# constraints.txt locks what was tested, for every system; all stamps install by it.
TESTED := cluster,mcp,office,plot,postgres,watch,web
$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python$(EXE)
	$(PIP) install -c constraints.txt -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt | $(BIN)/python$(EXE)
	$(PIP) install --upgrade $(NEW_PIP)
	$(PIP) install -c constraints.txt -e '.[$(TESTED)]' --group dev
	@touch $@ $(VENV)/.installed
