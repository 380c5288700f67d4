"""Three users call every tool of every contract in three projects, on both engines, and the model agrees.

Each answer is checked at once. Every version of every item, the trash and the feed are checked at the end of a run.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from satchel import work
from satchel.contracts import load
from tests.faults.judging import forbid_surprises
from tests.model.engines import Engines
from tests.model.item_rules import Rules
from tests.support.postgres import PostgresServer
from tests.support.runners import ADA, STORED
from tests.support.soak import amount

# Shrinking is off, because it would take minutes; a failure prints its steps unchanged.
SIZE = settings(
    max_examples=amount(25, 5_000), stateful_step_count=amount(30, 60), phases=(Phase.explicit, Phase.generate)
)


@pytest.fixture
def engines(
    sqlite_template: Path, tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Engines]:
    forbid_surprises(monkeypatch)
    monkeypatch.setattr(work, "READ_SECONDS", 600.0)  # because a busy machine may pause for longer than the limit
    both = Engines(sqlite_template, tmp_path, postgres, monkeypatch)
    yield both
    both.close()


@pytest.fixture
def machine(engines: Engines) -> type[Rules]:
    """Return the rules for these engines."""

    class OnThese(Rules):
        pass

    OnThese.engines, OnThese.called = engines, Counter()
    return OnThese


@pytest.mark.timeout(7200)
def test_the_dictionary_agrees_with_both_engines(machine: type[Rules]) -> None:
    run_state_machine_as_test(machine, settings=SIZE)


def test_every_tool_and_method_has_a_rule(machine: type[Rules]) -> None:
    walked = machine()
    for rule in walked.rules:  # with each of its parameters
        way = rule.arguments.get("way")
        ways = [] if way is None else getattr(way, "wrapped_strategy", way).elements
        for given in [{"way": one} for one in ways] or [{}]:
            others = {name: USUAL[name] for name in rule.arguments if name != "way"}
            walked.begin()
            rule.function(walked, **others, **given)
    every = {(one, tool.name) for one in STORED for tool in load(one).tools}
    every |= {(one, method) for one in STORED for method in load(one).methods}
    assert machine.called.keys() == every


USUAL: dict[str, Any] = {
    "user": ADA,
    "place": "default",
    "kind": "prompt",
    "pick": 0,
    "other": 0,
    "name": "x.y",
    "title": "New",
    "text": "needle",
    "line": "needle",
    "old": "needle",
    "tags": ["a"],
    "tag": "+new",
    "query": "needle",
    "match": "any",
    "status": "all",
    "limit": 10,
    "offset": 0,
    "back": 0,
    "stale": False,
    "is_open": False,
}
