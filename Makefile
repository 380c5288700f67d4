# Everything a newcomer needs is `make run` and `make test`; both set up what they need in .venv.
.PHONY: help run test judges check format lint types docs docs-check bench lock clean

PY := .venv/bin/python

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

run: ## serve everything over HTTP on this machine, and tell how to connect (set-up included)
	@tools/setup run
	@.venv/bin/satchel serve --transport http

test: ## the tests, on SQLite and on a PostgreSQL that they start (set-up included; needs no Node)
	@tools/setup dev
	$(PY) -m pytest -m "not npm" -n auto --dist worksteal

judges: ## the official npm clients drive the server (brings its own Node)
	@tools/setup judges
	@tools/judges
	$(PY) -m pytest -m npm -n auto --dist worksteal

check: ## what CI runs: format, lint, types, docs, the budget of tools/list, tests, judges
	@tools/setup dev
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	$(PY) tools/docs.py --check
	$(PY) tools/budget.py
	$(MAKE) test
	$(MAKE) judges

format: ## put the code into shape
	@tools/setup dev
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

docs: ## renew the pages that are made from the code
	@tools/setup dev
	$(PY) tools/docs.py

bench: ## cold start, memory and latency, beside a bare loop in the same run
	@tools/setup dev
	$(PY) bench/cold_start.py
	$(PY) bench/prompts.py
	$(PY) bench/tasks.py
	$(PY) bench/libraries.py
	$(PY) bench/web_calls.py
	$(PY) bench/own.py

lock: ## renew locks/ from pyproject.toml
	tools/lock

clean: ## forget the set-up
	rm -rf .venv tests/oracles/ts/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
