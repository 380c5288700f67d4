"""Reviews: tasks that agents complete in some projects wait until a person accepts them."""

from time import process_time

import pytest

from satchel.errors import TaskClosed
from satchel.model import Author, Scope, TaskDraft, TaskPatch, TaskQuery
from satchel.services import history, projects, restoring, tasks
from satchel.services.texts import find_boxes
from satchel.storage.database import Database, Tx
from tests.support.variants import both_engines

USER = "00000000-0000-4000-8000-00000000000a"
AGENT = Scope(user=USER, author=Author(user=USER, contract="satchel", caller="model"))
PERSON = Scope(user=USER, author=Author(user=USER, contract="cli", caller="person"))


def numbers(tx: Tx, **query: object) -> list[int]:
    return [task.number for task in tasks.list_page(tx, AGENT, TaskQuery(**query), limit=10)[0]]  # type: ignore[arg-type]


@both_engines
def test_a_task_in_review_is_open_but_not_ready_and_blocks_others(database: Database) -> None:
    with database.write(PERSON) as tx:
        projects.add(tx, "web")
        assert projects.set_review(tx, "web", "people") == projects.set_review(tx, "web", "people")
        task = tasks.add(tx, PERSON, TaskDraft(title="Task", project="web"))
        later = tasks.add(tx, PERSON, TaskDraft(title="Later", project="web", blocked_by=[task.number])).number
        assert tasks.choose_status(tx, task, "completed") == "completed"
    with database.write(AGENT) as tx:
        holder = tasks.make_holder("agent", "one", AGENT)
        claimed, _ = tasks.claim(tx, AGENT, task.number, holder, 10)
        assert [tasks.choose_status(tx, claimed, one) for one in ("completed", "cancelled")] == ["review", "cancelled"]
        reviewed = tasks.update(tx, AGENT, task.number, TaskPatch(status="review"))
        assert (reviewed.status, reviewed.claim, reviewed.is_completed, reviewed.is_ready) == (
            "review",
            None,
            False,
            False,
        )
        assert tasks.update(tx, AGENT, task.number, TaskPatch(status="review")) == reviewed
        found = {name: numbers(tx, filter=name) for name in ("ready", "in_progress", "review", "completed")}
        assert found == {"ready": [], "in_progress": [], "review": [task.number], "completed": []}
        assert sorted(numbers(tx, filter="pending")) == [task.number, later]
        assert [one.title for one in tasks.list_all(tx, AGENT, "pending")] == ["Later", "Task"]
        with pytest.raises(TaskClosed):
            tasks.claim(tx, AGENT, task.number, holder, 10)
    with database.write(PERSON) as tx:
        tasks.update(tx, PERSON, task.number, TaskPatch(status="pending"))
        assert numbers(tx) == [task.number]
    with database.write(PERSON) as tx:
        restoring.undo(tx, PERSON)
        assert tasks.find(tx, PERSON, task.number).review_at == reviewed.review_at
        done, _ = tasks.complete(tx, PERSON, task.number)
        assert (done.status, done.review_at, numbers(tx)) == ("completed", None, [later])
        _, versions, _ = history.list_versions(tx, PERSON, f"#{task.number}", limit=10)
        assert [one.action for one in versions] == ["complete", "restore", "reopen", "review", "add"]


@both_engines
def test_who_reviews_a_project_is_in_its_history_and_can_be_undone(database: Database) -> None:
    with database.write(PERSON) as tx:
        projects.add(tx, "web")
    with database.write(PERSON) as tx:
        assert projects.set_review(tx, "web", "people").version == 2
    with database.write(PERSON) as tx:
        assert projects.rename(tx, "web", "site").review == "people"
        restoring.restore(tx, PERSON, "satchel://project/site", 1)
        assert projects.get(tx, PERSON, "web").review is None
    with database.write(PERSON) as tx:
        restoring.restore(tx, PERSON, "satchel://project/web", 2)
    with database.write(PERSON) as tx:
        restoring.undo(tx, PERSON)
        assert projects.get(tx, PERSON, "web").review is None


def test_boxes_are_found_at_the_beginning_of_lines_outside_code() -> None:
    text = "- [ ] one\n- [x] two\nsee - [ ] three\n```\n- [ ] four\n```\n  - [ ] five\n- [ ]\n~~~\n- [ ] six"
    assert find_boxes(text) == ["one", "five"]


def test_a_box_before_much_white_space_takes_little_time() -> None:
    start = process_time()
    assert find_boxes(f"- [ ]{' ' * 30_000}\n- [ ]{' ' * 30_000}x \t") == ["x"]
    assert process_time() - start < 0.3
