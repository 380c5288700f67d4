"""A call does not read more rows as the store grows; if its plan changes, its answer stays the same."""

import random
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from satchel.model import PRIORITIES, ChangeQuery, PromptDraft, PromptQuery, Scope, TaskDraft, TaskFilter, TaskQuery
from satchel.services import history, links, lookup, projects, prompts, tasks
from satchel.storage import prompts as prompt_rows
from satchel.storage import tasks as task_rows
from satchel.storage.database import Database, Row, Tx, open_database
from tests.attacks.test_search_timing import count_rows, count_steps
from tests.support.postgres import PostgresServer
from tests.support.roles import two_roles

USER, OTHER = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
EVERYWHERE = Scope(user=USER)
PUB = Scope(user=USER, project="pub", projects=("pub", "second"))

FILTERS: tuple[TaskFilter, ...] = ("ready", "pending")

Look = Callable[[Tx], object]


def measure(database: Database, scope: Scope, look: Look) -> int:
    """Return the cost of a read: the rows that PostgreSQL reads, or the steps of SQLite in tens."""
    with database.read(scope) as tx:
        look(tx)  # prepares statements and fills caches
        if database.is_shared:
            return sum(count for _, count in count_rows(tx, lambda tx, _: look(tx), ""))
        return count_steps(tx, lambda tx, _: look(tx), "")


def record_statements(tx: Tx, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that receives the later statements of a transaction."""
    sent: list[str] = []
    execute = tx.execute

    def record(sql: str, values: dict[str, object]) -> list[Row]:
        sent.append(sql)
        return execute(sql, values)

    monkeypatch.setattr(tx, "execute", record)
    return sent


def gather_statistics(database: Database) -> None:
    """Analyse the tables, as autovacuum does soon after such a load."""
    if database.is_shared:
        with database.write() as tx:
            tx.run("analyze")


def add_prompts(database: Database, scope: Scope, start: int, end: int, tags: tuple[str, ...]) -> None:
    with database.write(scope) as tx, tx.gathering():
        for number in range(start, end):
            prompts.add(tx, scope, PromptDraft(title=f"Prompt {number}", content="words", tags=tags))


def test_the_links_of_a_task_are_two_statements_however_many_projects_there_are(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        scope = Scope(user=USER, project=f"project-{number}")
        with database.write(scope) as tx:
            projects.add(tx, scope.project)
            content = "See satchel://task/1." if number % 7 == 3 else "words"
            prompts.add(tx, scope, PromptDraft(title="Steps", content=content))
    scope = Scope(user=USER, project="project-3")
    with database.write(scope) as tx:
        task = tasks.find(tx, scope, tasks.add(tx, scope, TaskDraft(title="Linked")).number)
        assert task.number == 1
        projects.delete(tx, "project-10")
    with database.read(scope) as tx:
        sent = record_statements(tx, monkeypatch)
        to, back = links.of(tx, scope, "task", task)
    assert (to, [(one.reference, one.project) for one in back], len(sent)) == (
        [],
        [("satchel://prompt/steps", ""), ("satchel://prompt/project-17/steps", "project-17")],
        2,
    )


def test_finding_an_exact_name_takes_the_same_steps_however_many_prompts_there_are(tmp_path: Path) -> None:
    def look(tx: Tx) -> object:
        return lookup.find_all(tx, EVERYWHERE, ["prompt-1", "Prompt 2", "none-such"])

    with closing(open_database(str(tmp_path / "satchel.db"))) as database:  # PostgreSQL reads a small table whole
        projects.require(database, EVERYWHERE)
        work = []
        for start, end in pairwise((0, 50, 500)):
            add_prompts(database, EVERYWHERE, start, end, ())
            work.append(measure(database, EVERYWHERE, look))
    assert work[1] <= work[0] + 10


def test_finding_a_rare_tag_takes_the_same_steps_however_many_prompts_lack_it(database: Database) -> None:
    default = Scope(user=USER, project="default")
    projects.require(database, default)
    add_prompts(database, default, 0, 12, ("rare", "common"))
    query = PromptQuery(tags=["rare"])
    looks: list[Look] = [
        lambda tx: prompts.list_counted(tx, default, query, limit=5, offset=2),
        lambda tx: prompts.list_page(tx, default, query, limit=5),
    ]
    work = []
    for start, end in ((12, 400), (400, 1200)):
        add_prompts(database, default, start, end, ("common",))
        gather_statistics(database)
        work.append([measure(database, default, look) for look in looks])
    for before, after in pairwise(work):
        assert all(more <= 1.5 * less + 40 for less, more in zip(before, after, strict=True)), work


def test_a_page_of_tagged_prompts_is_the_same_on_every_way_to_it(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = Scope(user=USER, project="default")
    projects.require(database, default)
    dice = random.Random(5)
    names = ("every", "half", "some", "few", "none")
    with database.write(default) as tx:
        for number in range(60):
            tags = [tag for tag, share in zip(names, (1, 0.5, 0.2, 0.05, 0), strict=True) if dice.random() < share]
            prompts.add(tx, default, PromptDraft(title=f"Prompt {number}", content="words", tags=tags))
    with database.read(default) as tx:
        everything = prompts.list_counted(tx, default, PromptQuery(), limit=100, offset=0).items
    for few, newest, most in ((300, 200, 3000), (3, 5, 12), (0, 5, 60), (0, 5, 4)):
        for name, value in (("_FEW", few), ("_NEWEST", newest), ("_MOST", most)):
            monkeypatch.setattr(prompt_rows, name, value)
        for tags in (["every"], ["half"], ["some"], ["few"], ["none"], ["half", "some"], ["few", "none"]):
            for needs_all in (True, False):
                query = PromptQuery(tags=tags, needs_all_tags=needs_all)
                fits = all if needs_all else any
                wanted = [one.number for one in everything if fits(tag in one.tags for tag in tags)]
                with database.read(default) as tx:
                    counted = [
                        prompts.list_counted(tx, default, query, limit=4, offset=offset) for offset in range(0, 68, 4)
                    ]
                    assert {page.total for page in counted} == {len(wanted)}
                    assert [one.number for page in counted for one in page.items] == wanted
                    assert list_all(tx, default, query) == wanted


def list_all(tx: Tx, scope: Scope, query: PromptQuery) -> list[int]:
    """Return the numbers of all prompts of a query, read page by page after a position."""
    found, has_more, after = [], True, None
    while has_more:
        page, has_more = prompts.list_page(tx, scope, query, limit=4, after=after)
        found += [one.number for one in page]
        after = prompts.position_of(page[-1]) if page else None
    return found


def fill(database: Database) -> None:
    with database.write(EVERYWHERE) as tx:
        for name in ("pub", "second", "priv"):
            projects.add(tx, name)
        for number in range(12):
            prompts.add(tx, PUB, PromptDraft(title=f"Open {number}", content="words"))
            tasks.add(tx, EVERYWHERE, TaskDraft(title=f"Mine {number}", project=("pub", "second")[number % 2]))


def add_hidden(database: Database, count: int) -> None:
    """Add newer changes that a token for two projects may not see: others' tasks there, and another project."""
    other, priv = Scope(user=OTHER), Scope(user=USER, project="priv")
    with database.write(other) as tx:
        for number in range(count):
            tasks.add(tx, other, TaskDraft(title=f"Theirs {number}", project="pub"))
    with database.write(priv) as tx, tx.gathering():
        for number in range(count):
            prompts.add(tx, priv, PromptDraft(title=f"Hidden {number}", content="words"))
            tasks.add(tx, priv, TaskDraft(title=f"Hidden {number}", project="priv"))


LOOKS: dict[str, Look] = {
    "history": lambda tx: history.list_changes(tx, PUB, limit=10),
    "history after a change": lambda tx: history.list_changes(tx, PUB, ChangeQuery(after=3), limit=10),
    "history of an author": lambda tx: history.list_changes(tx, PUB, ChangeQuery(by=USER), limit=10),
    "activity": lambda tx: history.list_visible_changes(tx, PUB, limit=10),
    "the last visit": lambda tx: history.find_last_visit(tx, PUB, "client"),
    "ready tasks": lambda tx: tasks.list_page(tx, PUB, TaskQuery(), limit=5),
    "pending tasks": lambda tx: tasks.list_page(tx, PUB, TaskQuery(filter="pending"), limit=5),
}


def check_hidden_changes(database: Database, owner: Database) -> None:
    fill(database)
    work, told = [], []
    for hidden in (0, 300):
        add_hidden(database, hidden)
        gather_statistics(owner)
        work.append({name: measure(database, PUB, look) for name, look in LOOKS.items()})
        with database.read(PUB) as tx:
            told.append([look(tx) for name, look in LOOKS.items() if name != "the last visit"])
    assert told[0] == told[1]
    for name in LOOKS:
        assert work[1][name] <= 1.2 * work[0][name] + 10, (name, work)


def test_newer_changes_that_a_caller_may_not_see_are_not_read(database: Database) -> None:
    check_hidden_changes(database, database)


def test_newer_changes_that_row_level_security_hides_are_not_read(postgres: PostgresServer) -> None:
    owner, role = map(open_database, two_roles(postgres))
    with closing(owner), closing(role):
        check_hidden_changes(role, owner)


def test_tasks_of_some_projects_are_listed_in_the_order_of_all(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(database)
    dice = random.Random(3)
    with database.write(EVERYWHERE) as tx:
        for number in range(60):
            draft = TaskDraft(
                title=f"Task {number}",
                project=dice.choice(("pub", "second", "priv", None)),
                priority=dice.choice(PRIORITIES),
                due=dice.choice((None, "2026-12-01", "2026-12-02")),
            )
            task = tasks.add(tx, EVERYWHERE, draft)
            if number % 9 == 4:
                tasks.complete(tx, EVERYWHERE, task.id)
    for most_walks in (16, 1):  # one walk per project, then one walk over all
        monkeypatch.setattr(task_rows, "_MOST_WALKS", most_walks)
        for filter in FILTERS:
            with database.read(EVERYWHERE) as tx:
                every, _ = tasks.list_page(tx, EVERYWHERE, TaskQuery(filter=filter), limit=100)
            with database.read(PUB) as tx:
                found, has_more, after = [], True, None
                while has_more:
                    page, has_more = tasks.list_page(tx, PUB, TaskQuery(filter=filter), limit=7, after=after)
                    found += page
                    after = tasks.position_of(filter, page[-1])
            assert [one.number for one in found] == [one.number for one in every if one.project in ("pub", "second")], (
                filter
            )
