"""Several tasks in one call: their order, their blockers, and that all or none are added."""

import pytest

from satchel.errors import EntryRefused, NotFound, WrongArgument
from satchel.model import Scope, Task, TaskDraft, TaskQuery
from satchel.services import history, projects, tasks
from satchel.services.task_lines import add_all, read
from satchel.storage.database import Database, Tx

ADA = Scope(user="00000000-0000-4000-8000-00000000000a")


def add(tx: Tx, *lines: str, project: str | None = None) -> list[Task]:
    return add_all(tx, ADA, read(lines), project, lambda _count: None)


def titles(tx: Tx) -> list[str]:
    return [task.title for task in tasks.list_page(tx, ADA, TaskQuery(filter="all"), limit=500)[0]]


def test_a_task_has_what_its_line_says(database: Database) -> None:
    with database.write(ADA) as tx:
        projects.add(tx, "web")
        projects.add(tx, "default")
        old = tasks.add(tx, ADA, TaskDraft(title="Old")).number
        one, two, three = add(
            tx,
            f"Write docs !high due:2026-12-01 +b +A @web after:#{old}\n  About it",
            "#7 [x] Done",
            "- [-] Cancelled after:1,#7",
            project="default",
        )
        assert (one.title, one.priority, one.due, one.tags, one.project, one.description, one.blocked_by) == (
            *("Write docs", "high", "2026-12-01", ("a", "b"), "web", "About it"),
            (old,),
        )
        assert (two.status, two.project, three.status) == ("completed", "default", "cancelled")
        assert three.blocked_by == (one.number, two.number)
        assert tasks.find(tx, ADA, one.number) == one


def test_a_bare_number_counts_tasks_and_not_lines(database: Database) -> None:
    with database.write(ADA) as tx:
        one, two = add(tx, "One", "  about", "  it", "Two after:1")
        assert (one.description, two.blocked_by) == ("about\nit", (one.number,))


def test_lines_may_wait_for_later_ones(database: Database) -> None:
    with database.write(ADA) as tx:
        ship, test, write = add(tx, "Ship after:2 in:3", "Test after:#9", "#9 Write")
        assert (ship.blocked_by, test.blocked_by, write.blocked_by) == ((test.number,), (write.number,), ())
        assert {task.version for task in (ship, test, write)} == {1} and ship.parent == write.number
        assert (ship.number, test.number, write.number) == (1, 2, 3)  # in the order of the lines
        late, _, done = add(tx, "[x] Late +a after:3", "Between", "[x] Early")
        assert (late.status, late.blocked_by, late.version) == ("completed", (done.number,), 2)
        first = history.read_version(tx, ADA, f"#{late.number}", 1).state
        assert first.blocked_by == (done.number,) and not first.completed_at
        reported: list[int] = []
        many = add_all(tx, ADA, read(["x"] * 200), None, reported.append)
        assert [task.number for task in many] == sorted(task.number for task in many)
        assert reported == list(range(1, 201))


@pytest.mark.parametrize(
    ("lines", "place", "field", "rule"),
    [
        (["A", "B due:2026-02-30"], "lines[1]", "due", "format"),
        (["A", "B", "!high"], "lines[2]", "title", "minLength"),
        (["A", "x" * 501], "lines[1]", "title", "maxLength"),
        (["A", "B after:3"], "lines[1]", "after", "maximum"),
        (["A", "B after:0"], "lines[1]", "after", "maximum"),
        (["A", "B after:2"], "lines[1]", "after", "acyclic"),
        (["A", "B after:3", "C after:2"], "lines[1]", "after", "acyclic"),
        (["#4 A", "#4 B"], "lines[1]", "lines", "uniqueItems"),
        (["A", "[~] B"], "lines[1]", "lines", "claims"),
        (["A", "  about", "B after:3"], "lines[2]", "after", "maximum"),
        (["A\n  about\nB @nowhere after:2"], "lines[2]", "after", "acyclic"),
    ],
)
def test_if_one_line_is_wrong_nothing_is_added(
    database: Database, lines: list[str], place: str, field: str, rule: str
) -> None:
    with pytest.raises(EntryRefused) as refused, database.write(ADA) as tx:
        add(tx, *lines)
    cause = refused.value.cause
    assert isinstance(cause, WrongArgument)
    assert (refused.value.place, cause.field, cause.rule) == (place, field, rule)
    with database.read(ADA) as tx:
        assert titles(tx) == []


def test_an_error_about_the_project_of_all_lines_names_no_line(database: Database) -> None:
    with database.write(ADA) as tx:
        projects.add(tx, "web")
        with pytest.raises(NotFound):
            add(tx, "A", project="nowhere")
        assert add(tx, "A @web", project="nowhere")[0].project == "web"


@pytest.mark.parametrize(("line", "kind"), [("B after:#99", "task"), ("B @nowhere", "project")])
def test_every_item_that_a_line_names_must_exist(database: Database, line: str, kind: str) -> None:
    with pytest.raises(EntryRefused) as refused, database.write(ADA) as tx:
        add(tx, "A", line)
    cause = refused.value.cause
    assert isinstance(cause, NotFound)
    assert (refused.value.place, cause.kind) == ("lines[1]", kind)
    with database.read(ADA) as tx:
        assert titles(tx) == []
