"""Pruning works in small steps during other work, and both engines take the same steps."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel import clock
from satchel.model import Prompt, PromptDraft, PromptPatch, Retention, Scope, TaskDraft
from satchel.services import history, projects, prompts, restoring, tasks
from satchel.storage import postgres
from satchel.storage import pruning as rows
from satchel.storage.database import Database, open_database
from tests.history.store import ADA, Calendar, add_projects, add_prompt, edit_prompt
from tests.support.postgres import ReusedDatabase
from tests.support.soak import amount


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> int:
    """Make steps ten times smaller, so that a small store needs many; return their size."""
    monkeypatch.setattr(rows, "MOST", 20)
    monkeypatch.setattr(postgres, "MOST", 20)
    return 20


def fill(database: Database, calendar: Calendar, days: int) -> None:
    """Add, edit, delete and restore prompts, documents and tasks in three projects, over some days."""
    dice = random.Random(3)
    projects.require(database, ADA)
    for number in range(days):
        calendar.day += 1
        place = dice.choice(("default", "p", "q"))
        scope = Scope(user=ADA.user, project=place)
        with database.write(scope) as tx:
            if not any(one.name == place for one, _ in projects.list_all(tx)):
                projects.add(tx, place)
            names = [one.name for one in prompts.list_headers(tx, scope)[0]]
            prompt = prompts.add(tx, scope, PromptDraft(title=f"T{number}", content="Text 1."))
            for version in range(2, dice.choice((2, 3, 30))):
                prompts.update(tx, scope, prompt.id, PromptPatch(content=f"Text {version}."))
            if names and dice.random() < 0.6:
                prompts.delete(tx, scope, prompts.get_by_name(tx, scope, dice.choice(names)).id)
            tasks.add(tx, scope, TaskDraft(title=f"T{number}", project=place))
            deleted = [one for one in history.list_trash(tx, scope) if one.kind == "prompt"]
            if deleted and dice.random() < 0.4:
                restoring.restore(tx, scope, dice.choice(deleted).id)
            if place != "default" and dice.random() < 0.1:
                projects.delete(tx, place)


_TRASH = " union all ".join(
    f"select '{kind}', number, {project}, version, deleted_at from {kind}s where deleted_at is not null"
    for kind, project in (("document", "project"), ("project", "number"), ("prompt", "project"), ("task", "project"))
)


def read_tables(database: Database) -> dict[str, list[Any]]:
    queries = {
        "revisions": "select number, kind, item, version, action, at from revisions order by number",
        "states": "select revision from revision_states order by revision",
        "trash": f"{_TRASH} order by 1, 2",
        "projects": "select number, deleted_at from projects order by number",
        "prompts": "select number, project from prompts order by number",
        "tasks": "select number, project from tasks order by number",
    }
    with database.read(ADA) as tx:
        return {name: tx.all(sql) for name, sql in queries.items()}


def run_steps(database: Database, check: Callable[[], None] = lambda: None) -> list[int]:
    """Prune step by step; return the number of rows that each step removed."""
    sizes: list[int] = []
    counts = [sum(map(len, read_tables(database).values()))]

    def pause() -> None:
        counts.append(sum(map(len, read_tables(database).values())))
        if counts[-2] > counts[-1]:
            sizes.append(counts[-2] - counts[-1])
        check()

    history.prune(database, pause=pause)
    return sizes


@pytest.mark.usefixtures("small_steps")
def test_both_engines_take_the_same_steps_to_the_same_end(
    calendar: Calendar, tmp_path: Path, reused_database: ReusedDatabase
) -> None:
    results = []
    for store in (str(tmp_path / "s.db"), reused_database.emptied()):
        calendar.reset()
        database = open_database(store)
        fill(database, calendar, amount(50, 200))
        before = read_tables(database)
        database.retention = Retention(history_days=30, history_versions=3, trash_days=20)
        results.append((before, run_steps(database), read_tables(database)))
        database.close()
    (before, steps, after), other = results
    assert other == (before, steps, after)
    assert len(steps) > 20 and after["revisions"] != before["revisions"] and after["trash"] != before["trash"]
    check_rules(before, after, calendar)


def check_rules(before: dict[str, list[Any]], after: dict[str, list[Any]], calendar: Calendar) -> None:
    """Check that pruning kept the right rows, by applying the retention of the test above to the former tables."""
    young, fresh = (clock.days_before(calendar(), days)[:10] for days in (30, 20))
    gone = {(kind, item) for kind, item, _, _, at in before["trash"] if at[:10] < fresh}
    lost = {item for kind, item in gone if kind == "project"}
    gone |= {("prompt", number) for number, project in before["prompts"] if project in lost}
    gone |= {(kind, item) for kind, item, project, *_ in before["trash"] if project in lost and kind != "task"}
    expected = []
    for row in before["revisions"]:
        _, kind, item, version, _, at = row
        newer = [
            one for one in before["revisions"] if one[1:3] == (kind, item) and one[3] > version and one[4] != "delete"
        ]
        if (kind, item) not in gone and (at[:10] >= young or len(newer) < 3):
            expected.append(row)
    assert after["revisions"] == expected
    assert after["trash"] == [row for row in before["trash"] if (row[0], row[1]) not in gone]
    assert after["prompts"] == [row for row in before["prompts"] if ("prompt", row[0]) not in gone]
    assert after["tasks"] == [
        (number, None if project in lost else project)
        for number, project in before["tasks"]
        if ("task", number) not in gone
    ]
    kept_numbers = {row[0] for row in after["revisions"]}
    assert after["states"] == [row for row in before["states"] if row[0] in kept_numbers]


@pytest.mark.parametrize("engine", ["sqlite"])
def test_every_step_is_small(database: Database, calendar: Calendar, small_steps: int) -> None:
    fill(database, calendar, 40)
    add_projects(database, "big")
    inside = Scope(user=ADA.user, project="big")
    with database.write(inside) as tx:
        for number in range(30):
            prompt = prompts.add(tx, inside, PromptDraft(title=f"P{number}", content="Text"))
            for _ in range(60 if number == 3 else 1):  # one prompt has more versions than fit into a step
                prompts.update(tx, inside, prompt.id, PromptPatch(content="Text"))
            tasks.add(tx, inside, TaskDraft(title=f"T{number}", project="big"))
        projects.delete(tx, "big")
    calendar.day += 400
    sizes = run_steps(database)
    # A revision is removed with its state; a step removes a tenth as many items, with their rows in the trash.
    assert max(sizes) <= 2 * small_steps + small_steps // 10 and sum(sizes) > 300
    assert read_tables(database)["trash"] == []


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.usefixtures("small_steps")
def test_writers_go_on_between_the_steps(store: str, database: Database, calendar: Calendar) -> None:
    fill(database, calendar, 40)
    calendar.day += 400
    other = open_database(store)
    written: list[Prompt] = []

    def write_beside() -> None:
        written.append(add_prompt(other, ADA, f"Beside {len(written)}"))
        if len(written) > 1:
            edit_prompt(other, ADA, written[-2], "Another text")

    run_steps(database, write_beside)
    other.close()
    assert len(written) > 10
    with database.read(ADA) as tx:
        contents = [prompts.get(tx, ADA, prompt.id).content for prompt in written]
    assert contents == ["Another text"] * (len(written) - 1) + ["one two three"]


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.usefixtures("small_steps")
def test_a_prune_that_is_stopped_goes_on_another_time(database: Database, calendar: Calendar) -> None:
    fill(database, calendar, 40)
    calendar.day += 400
    steps = iter([False] * 4)
    assert history.prune(database, pause=lambda: next(steps, True)) > 0
    assert read_tables(database)["trash"] != []
    assert history.prune(database) > 0 and history.prune(database) == 0
    assert read_tables(database)["trash"] == []
