"""Links between items: found in texts, in step with writes, shown from both sides to who may see them."""

from typing import Any

import pytest

from satchel.model import (
    Document,
    DocumentDraft,
    DocumentPatch,
    Prompt,
    PromptDraft,
    PromptPatch,
    Scope,
    Task,
    TaskDraft,
    TaskPatch,
)
from satchel.services import documents, links, projects, prompts, restoring, tasks
from satchel.storage.database import Database, Tx
from satchel.storage.links import MOST, find_targets

ANN = Scope(user="11111111-1111-4111-8111-111111111111", project="web")
BOB = Scope(user="22222222-2222-4222-8222-222222222222", project="web")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See satchel://task/4.", [("task", "4")]),
        ("satchel://task/04 satchel://task/4", [("task", "4")]),
        ("satchel://task/4x satchel://task/ satchel://task/x", []),
        ("(satchel://prompt/code-review), then *satchel://resource/api.md*!", [("prompt", "code-review"),
                                                                               ("document", "api.md")]),
        ("[guide](satchel://resource/a%20b%2Fc)", [("document", "a b/c")]),
        ("satchel://prompt/lib:name;", [("prompt", "lib:name")]),
        ("satchel://prompt/{{ name }} satchel://prompt/a-{{ b }}", []),
        ("satchel://project/web satchel://other/x https://task/4", []),
        ("satchel://prompt/%00 satchel://prompt/%ff", [("prompt", "\ufffd")]),
        ("satchel://task/" + "9" * 19, []),
        ("satchel://prompt/...", []),
    ],
)  # fmt: skip
def test_uris_in_a_text_are_links(text: str, expected: list[Any]) -> None:
    assert find_targets(text) == expected


def test_the_first_hundred_of_a_text_are_kept() -> None:
    found = find_targets(" ".join(f"satchel://task/{number}" for number in range(1, 200)))
    assert found == [("task", str(number)) for number in range(1, MOST + 1)]


def ends(found: list[links.Link]) -> list[str]:
    return [f"{one.reference} {one.title}".strip() for one in found]


def both(tx: Tx, item: Prompt | Document | Task, scope: Scope = ANN) -> tuple[list[str], list[str]]:
    kind = "prompt" if isinstance(item, Prompt) else "document" if isinstance(item, Document) else "task"
    to, back = links.of(tx, scope, kind, item)  # type: ignore[arg-type]
    return ends(to), ends(back)


@pytest.fixture
def web(database: Database) -> Database:
    with database.write() as tx:
        for name in ("web", "other"):
            projects.add(tx, name)
    return database


def test_links_are_shown_from_both_sides_and_follow_every_write(web: Database) -> None:
    with web.write(ANN) as tx:
        task = tasks.add(tx, ANN, TaskDraft(title="Ship it", project="web", description="By satchel://prompt/release"))
        prompt = prompts.add(tx, ANN, PromptDraft(title="Release", content="Read satchel://resource/guide first"))
        guide = DocumentDraft(
            name="guide", uri="satchel://resource/guide", content=f"Why: satchel://task/{task.number}"
        )
        document = documents.add(tx, ANN, guide)
    shipping = f"#{task.number} Ship it"
    with web.read(ANN) as tx:
        assert both(tx, task) == (["satchel://prompt/release"], ["satchel://resource/guide"])
        assert both(tx, prompt) == (["satchel://resource/guide"], [shipping])
        assert both(tx, document) == ([shipping], ["satchel://prompt/release Release"])
    with web.write(ANN) as tx:
        prompts.update(tx, ANN, prompt.id, PromptPatch(content="Nothing to read"))
        documents.update(tx, ANN, "guide", DocumentPatch(content="satchel://prompt/release, satchel://task/999"))
        tasks.update(tx, ANN, task.number, TaskPatch(title="Ship", description=None))
    with web.read(ANN) as tx:
        assert both(tx, task) == ([], [])
        assert both(tx, prompt) == ([], ["satchel://resource/guide"])
        assert both(tx, document) == (["satchel://prompt/release", "#999"], [])


def test_deleted_items_have_no_links_until_they_are_restored(web: Database) -> None:
    with web.write(ANN) as tx:
        prompt = prompts.add(tx, ANN, PromptDraft(title="Release", content="x"))
        task = tasks.add(tx, ANN, TaskDraft(title="Ship", project="web", description="satchel://prompt/release"))
        tasks.delete(tx, ANN, task.number)
        assert both(tx, prompt) == ([], [])
        restoring.restore(tx, ANN, f"#{task.number}")
        assert both(tx, prompt) == ([], [f"#{task.number} Ship"])
        projects.delete(tx, "web")
    with web.write(ANN) as tx:
        restoring.restore(tx, ANN, "satchel://project/web")
        assert both(tx, prompt) == ([], [f"#{task.number} Ship"])


def test_a_name_in_a_uri_is_one_of_the_project_of_the_text(web: Database) -> None:
    other = projects.enter(ANN, "other")
    with web.write(ANN) as tx:
        here = prompts.add(tx, ANN, PromptDraft(title="Release", content="x"))
        there = prompts.add(tx, other, PromptDraft(title="Release", content="y"))
        documents.add(tx, other, DocumentDraft(name="guide", uri="x:guide", content="satchel://prompt/release"))
        task = tasks.add(tx, ANN, TaskDraft(title="Anywhere", description="satchel://prompt/release"))
        anywhere = f"#{task.number} Anywhere"
        assert both(tx, here) == ([], [anywhere])
        assert both(tx, there, other) == ([], [anywhere, "satchel://resource/guide"])
        tasks.update(tx, ANN, task.number, TaskPatch(project="web"))
        assert (both(tx, here)[1], both(tx, there, other)[1]) == ([anywhere], ["satchel://resource/guide"])


def test_a_caller_who_may_not_see_an_item_does_not_see_its_links(web: Database) -> None:
    confined = Scope(user=ANN.user, project="web", projects=("web",))
    with web.write(ANN) as tx:
        task = tasks.add(tx, ANN, TaskDraft(title="Ship", project="web"))
        hers = tasks.add(tx, ANN, TaskDraft(title="Hidden", project="other", description="satchel://prompt/release"))
        uri = f"satchel://task/{task.number}"
        prompts.add(tx, projects.enter(ANN, "other"), PromptDraft(title="Far", content=uri))
        prompt = prompts.add(tx, ANN, PromptDraft(title="Release", content=f"{uri} satchel://task/{hers.number}"))
    with web.write(BOB) as tx:
        tasks.add(tx, BOB, TaskDraft(title="His", project="web", description=f"{uri} satchel://prompt/release"))
    near, far = "satchel://prompt/release Release", "satchel://prompt/other/far Far"
    with web.read(ANN) as tx:
        assert both(tx, task) == ([], [far, near])
        assert both(tx, prompt) == ([f"#{task.number} Ship", f"#{hers.number} Hidden"], [])
    with web.read(confined) as tx:
        assert both(tx, task, confined) == ([], [near])
        assert both(tx, prompt, confined) == ([f"#{task.number} Ship", f"#{hers.number}"], [])


def test_links_of_notes_are_beside_those_of_the_text(web: Database) -> None:
    with web.write(ANN) as tx:
        task = tasks.add(tx, ANN, TaskDraft(title="Ship", project="web", description="satchel://prompt/a"))
        for note in ("satchel://prompt/b satchel://prompt/a", "Nothing", "satchel://task/7 satchel://prompt/b"):
            tasks.add_note(tx, ANN, task.number, note)
        assert both(tx, task)[0] == ["satchel://prompt/a", "satchel://prompt/b", "#7"]
        tasks.update(tx, ANN, task.number, TaskPatch(description="Nothing"))
        assert both(tx, task)[0] == ["satchel://prompt/b", "satchel://prompt/a", "#7"]
        tasks.delete(tx, ANN, task.number)
        restoring.restore(tx, ANN, f"#{task.number}")
        assert both(tx, task)[0] == ["satchel://prompt/b", "satchel://prompt/a", "#7"]
