# A newcomer needs `make run`, `make quick` and `make test`; each sets up what it needs in .venv.
.PHONY: help run quick test soak judges browser screenshots check format lint types docs site bench bench-smoke dist bundle lock clean

PY := .venv/bin/python
PYTEST := $(PY) -m pytest -n auto --dist loadscope --no-loadscope-reorder

# Tests start many interpreters, and each would compile our code again.
unexport PYTHONDONTWRITEBYTECODE

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

run: ## serve everything over HTTP on this machine, at PORT=8000, and tell how to connect (set-up included)
	@tools/setup run
	@.venv/bin/satchel serve --transport http $(if $(PORT),--port $(PORT))

quick: ## in half a minute: protocol, rules, contracts in process on SQLite, house rules (set-up included)
	@tools/setup dev
	$(PYTEST) -m "not npm and not browser and not postgres and not process" tests/protocol tests/services tests/contracts tests/test_house.py

test: ## everything but the npm judges: SQLite files, a PostgreSQL that the tests start, real processes
	@tools/setup dev
	@tools/nginx
	$(PYTEST) -m "not npm and not browser and not soak"

soak: ## the same with the hostile, slow and fault programmes in full; takes its time
	@tools/setup dev
	@tools/pgbouncer
	@tools/nginx
	SATCHEL_SOAK=1 $(PYTEST) -m "not npm and not browser" --timeout 600

judges: ## the official npm clients drive the server (brings its own Node)
	@tools/setup judges
	@tools/judges
	$(PYTEST) -m npm

browser: ## a day's work on the page in a real Chromium (installs Debian's where it can, and says so when it cannot)
	@tools/setup browser
	@tools/setup judges
	@tools/judges ts
	@if chromium=$$(tools/browser); then SATCHEL_CHROMIUM=$$chromium $(PY) -m pytest -m browser -n 0 tests/browser; fi

screenshots: ## the pictures in docs/screenshots, from example data
	@tools/setup browser
	SATCHEL_CHROMIUM=$$(tools/browser) $(PY) tools/screenshots.py

check: ## what CI runs: format, lint, types, bandit, docs, site, the budget of tools/list, walks, weight, bench-smoke, tests, judges, browser
	@tools/setup dev
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/bandit --quiet --configfile pyproject.toml --recursive src
	$(PY) tools/docs.py --check
	$(MAKE) site
	$(PY) tools/budget.py
	$(PY) tools/walks.py
	$(PY) tools/weight.py
	$(MAKE) bench-smoke
	$(MAKE) test
	$(MAKE) judges
	$(MAKE) browser

format: ## put the code into shape
	@tools/setup dev
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

docs: ## renew the pages that are made from the code
	@tools/setup dev
	$(PY) tools/docs.py

site: ## the documentation as a website in site/, with its links checked (FLAGS=serve shows it while you edit)
	@tools/setup site
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs $(or $(FLAGS),build --quiet)

bench: ## Satchel beside its rivals, and docs/dev/benchmarks.md; some parts: make bench PARTS="start calls"
	@tools/setup judges
	$(PY) -m bench $(PARTS) $(FLAGS)

bench-smoke: ## in half a minute: has a figure become much worse? (bench/smoke.json; FLAGS=--renew keeps the new ones)
	@tools/setup dev
	$(PY) -m bench smoke $(FLAGS)

dist: ## build the wheel and the source distribution into dist/
	@tools/setup dev
	$(PY) -m hatchling build

bundle: ## pack dist/satchel-VERSION.mcpb, which Claude Desktop installs by a double click
	@tools/setup dev
	$(PY) tools/bundle

lock: ## renew locks/ from pyproject.toml
	tools/lock

clean: ## forget the set-up
	rm -rf .venv site tests/oracles/*/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis .bench
