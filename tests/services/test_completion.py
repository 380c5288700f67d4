"""Completions of half-typed names."""

import pytest

from satchel.model import DocumentDraft, PromptDraft, Scope, TaskDraft
from satchel.services import completion, documents, projects, prompts, tasks
from satchel.services.completion import Completion
from satchel.storage.database import Database

ADA = Scope(user="00000000-0000-4000-8000-00000000000a")
BOB = Scope(user="00000000-0000-4000-8000-00000000000b")


@pytest.fixture
def filled(database: Database) -> Database:
    """Return a store with names of all kinds."""
    projects.require(database, ADA)
    with database.write() as tx:
        for name in ("web", "Website", "old-web", "tools"):
            projects.add(tx, name)
        for title, tags in (("Code review", ["rust", "trust"]), ("Review", ["rust"]), ("Re", []), ("Other", ["go"])):
            prompts.add(tx, ADA, PromptDraft(title=title, content="x", tags=tags))
        prompts.add(tx, Scope(project="web"), PromptDraft(title="Review elsewhere", content="x", tags=["rustic"]))
        documents.add(tx, ADA, DocumentDraft(name="a", uri="file:///b/README", content="x"))
        documents.add(tx, ADA, DocumentDraft(name="b", uri="readme:x", content="x"))
    return database


def test_names_that_start_come_before_names_that_contain(filled: Database) -> None:
    with filled.read() as tx:
        assert completion.projects(tx, ADA, "web").values == ("web", "Website", "old-web")
        assert completion.projects(tx, ADA, "") == Completion(("Website", "default", "old-web", "tools", "web"), False)
        assert completion.prompt_names(tx, ADA, "re").values == ("re", "review", "code-review")
        assert completion.prompt_names(tx, ADA, "REV").values == ("code-review", "review")
        assert completion.prompt_tags(tx, ADA, "RUST").values == ("rust", "trust")
        assert completion.prompt_tags(tx, ADA, "").values == ("go", "rust", "trust")
        assert completion.prompt_names(tx, ADA, "%") == Completion((), False)


def test_a_confined_scope_completes_its_own_projects(filled: Database) -> None:
    confined = Scope(projects=("web", "tools", "gone"))
    with filled.read() as tx:
        assert completion.projects(tx, confined, "").values == ("tools", "web")
        assert completion.projects(tx, confined, "WEB").values == ("web",)


def test_open_tasks_complete_to_their_numbers(database: Database) -> None:
    with database.write() as tx:
        numbers = [tasks.add(tx, ADA, TaskDraft(title="T")).number for _ in range(21)]
        tasks.complete(tx, ADA, numbers[1])
        tasks.add(tx, BOB, TaskDraft(title="T"))
        wanted = [str(number) for number in reversed(numbers) if number != numbers[1]]
        starting = [number for number in wanted if number.startswith("2")]
        containing = [number for number in wanted if "2" in number and number not in starting]
        assert completion.open_tasks(tx, ADA, "#2").values == (*starting, *containing)
        assert completion.open_tasks(tx, ADA, "").values == tuple(wanted)


def test_open_tasks_complete_to_their_titles_too(database: Database) -> None:
    with database.write() as tx:
        for title in ("Write notes", "Ask about notes", "Write to Bob"):
            tasks.add(tx, ADA, TaskDraft(title=title))
        tasks.complete(tx, ADA, 3)
        assert completion.task_references(tx, ADA, "write").values == ("Write notes",)
        assert completion.task_references(tx, ADA, "notes").values == ("Write notes", "Ask about notes")
        assert completion.task_references(tx, ADA, "").values == ("2", "1", "Write notes", "Ask about notes")


def test_a_hundred_names_are_returned_with_a_sign_for_more(database: Database) -> None:
    projects.require(database, ADA)
    with database.write() as tx:
        for number in range(101):
            prompts.add(tx, ADA, PromptDraft(title=f"p{number:03}", content="x", tags=[f"t{number:03}"]))
        for look in (completion.prompt_names, completion.prompt_tags):
            found = look(tx, ADA, "")
            assert (len(found.values), found.has_more) == (100, True)
            found = look(tx, ADA, found.values[0][:2])
            assert (len(found.values), found.has_more) == (100, False)
            assert look(tx, ADA, "10").values[-1][1:] == "100"
