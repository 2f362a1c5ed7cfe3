# make run    set up, start the exax server if none answers, run the main pipeline
# make test   set up, run all tests but the slow ones, or those that TESTS names
# make docs   set up, build the pages of docs/ in docs/_build; warnings are errors
# make dist   set up, build wheel and sdist in dist/
# make soak   kill processes, break clusters, edit pipelines, panels and units, damage recordings at random, for long,
#              and compute random studies and panels in another way
#              (KILLS, CLUSTERS, EDITS, MUTANTS, STUDIES, PANELS, SEED)
# make bench  measure how fast it is on this machine (PARTICIPANTS, RUNS, PARTS, QUICK=1);
#              PARTS=loop AGAINST=COMMIT compares the loop with that of a commit (CASES: groups of cases)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := uv==0.13.9
READY := $(VENV)/.ready
SCRIPT ?= build_pipeline
PARTICIPANTS ?= 18
RUNS ?= 3
KILLS ?= 200
CLUSTERS ?= 200
EDITS ?= 500
MUTANTS ?= 60000
STUDIES ?= 40
PANELS ?= 13
# They come first, as they have most kernels compiled, which the others use too; of these, those first that take
# longest, and that compile other kernels than the one beside them.
FIRST := tests/test_stages.py tests/panel/test_panel_iterated.py tests/panel/test_panel_quantile.py \
	tests/panel/test_panel_huber.py tests/eeg
ifdef TESTS
FIRST :=
endif
# Bytecode of all tests: each of the processes that come next would make all of it, at the same time.
COLLECT := $(BIN)/python -m pytest --collect-only --quiet --quiet >/dev/null
# Tests wait for processes and disks for much of their time: two more than processors left these idle for a quarter.
TESTERS ?= $(shell expr $$(nproc) + 4)
SEED ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')

.PHONY: setup run test test-slow docs dist soak check bench clean

setup: $(READY)

$(READY): requirements.txt setup.py pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	@# uv is faster than pip, which knows mirrors that nobody has told uv of.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(UV) && \
		$(BIN)/uv pip install --quiet --python $(BIN)/python --requirement requirements.txt || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --requirement requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

run: $(READY)
	@$(BIN)/shortloop run $(SCRIPT)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	unset PYTHONDONTWRITEBYTECODE; first=0; \
	{ $(BIN)/mypy; types=$$?; $(if $(FIRST),$(COLLECT);) exit $$types; } & types=$$!; \
	$(if $(FIRST),$(BIN)/python -m pytest --numprocesses=2 --dist=loadfile --no-loadscope-reorder $(FIRST); first=$$?;) \
	$(BIN)/python -m pytest --numprocesses=$(TESTERS) --dist=loadfile --no-loadscope-reorder \
		$(TESTS) $(FIRST:%=--ignore=%); \
	others=$$?; wait $$types || { echo "mypy: see above"; exit 1; }; [ $$first = 0 ] && [ $$others = 0 ]

test-slow: $(READY)
	$(BIN)/python -m pytest -m slow

docs: $(READY)
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --conf-dir docs . docs/_build

dist: $(READY)
	rm -rf dist build
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(UV)
	$(BIN)/uv build --quiet --out-dir dist

soak: SEED := $(SEED)
soak: $(READY)
	@echo "SEED=$(SEED)"
	env -u PYTHONDONTWRITEBYTECODE KILLS=$(KILLS) CLUSTERS=$(CLUSTERS) EDITS=$(EDITS) MUTANTS=$(MUTANTS) \
		STUDIES=$(STUDIES) PANELS=$(PANELS) SEED=$(SEED) \
		$(BIN)/python -m pytest --capture=no --timeout=0 --hypothesis-seed=$(SEED) \
		tests/live/test_live_faults_random.py tests/live/test_live_engines_random.py \
		tests/live/test_live_cluster_faults.py tests/live/test_live_property.py \
		tests/live/test_live_property_eeg.py tests/live/test_live_property_panel.py \
		tests/live/test_live_property_units.py \
		tests/eeg tests/panel

bench: $(READY)
	$(BIN)/python -m benchmarks $(PARTS) --participants $(PARTICIPANTS) --runs $(RUNS) $(if $(QUICK),--quick) \
		$(if $(AGAINST),--against $(AGAINST)) $(if $(CASES),--cases $(CASES)) $(if $(DOCS),--docs)

clean:
	rm -rf $(VENV) dist build docs/_build docs/jupyter_execute *.egg-info .pytest_cache .mypy_cache .ruff_cache
