"""What is exported is read back unchanged, and exported again it is the same byte for byte."""

import shutil
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from satchel.exchange import exporting, importing, storing
from satchel.exchange.entries import DocumentEntry, Entry, PromptEntry, TaskEntry
from satchel.exchange.formats import BY_NAME
from satchel.exchange.importing import FileRead, Options
from satchel.exchange.storing import Snapshot
from satchel.model import Scope
from satchel.services import projects
from satchel.storage.database import Database
from tests.exchange import strategies
from tests.support.soak import amount

ADA = "a0000000-0000-4000-8000-000000000001"
_numbers = count()


def enter(database: Database) -> Scope:
    """Return a new project."""
    scope = Scope(project=f"project-{next(_numbers)}", user=ADA)
    with database.write(scope) as tx:
        projects.add(tx, scope.project)
    return scope


def fill(database: Database, scope: Scope, entries: list[Entry]) -> None:
    report = importing.run(database, scope, [FileRead("x", "jsonl", tuple(entries))], Options())
    assert report.problems == [] and all(line.state == "new" for line in report.lines), report


def take(database: Database, scope: Scope) -> Snapshot:
    with database.read(scope) as tx:
        return storing.take_snapshot(tx, scope)


def compare(taken: Snapshot) -> list[object]:
    """What a project holds, without the numbers of its tasks."""
    places = {key: place for place, key in enumerate(taken.tasks)}
    tasks = [
        (replace(one, key="", after=(), parent=""), sorted(places[key] for key in one.after), places.get(one.parent))
        for one in taken.tasks.values()
    ]
    return [taken.prompts, taken.documents, tasks]


def export(database: Database, scope: Scope, format: str, target: Path) -> dict[str, bytes]:
    made = exporting.make(database, scope, BY_NAME[format])
    if BY_NAME[format].file:
        target.mkdir(parents=True)
        (target / BY_NAME[format].file).write_bytes(made.files[BY_NAME[format].file])
    else:
        exporting.write_folder(made, str(target), BY_NAME[format])
    return {
        str(file.relative_to(target)): file.read_bytes().replace(scope.project.encode(), b"")
        for file in target.rglob("*")
        if file.is_file()
    }


@pytest.mark.parametrize("format", ["satchel", "jsonl"])
@settings(max_examples=amount(12, 300))
@given(prompts=strategies.prompt_lists, documents=strategies.document_lists, tasks=strategies.task_lists())
def test_an_export_is_read_back_unchanged(
    database: Database,
    tmp_path: Path,
    format: str,
    prompts: list[PromptEntry],
    documents: list[DocumentEntry],
    tasks: list[TaskEntry],
) -> None:
    one, two = enter(database), enter(database)
    fill(database, one, [*prompts, *documents, *tasks])
    before = take(database, one)
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    first = export(database, one, format, tmp_path / "out" / "1")
    files = importing.list_files([str(tmp_path / "out" / "1")])
    report = importing.run(database, two, importing.read_files(files), Options())
    assert report.problems == [] and report.left_alone == []
    assert compare(take(database, two)) == compare(before)
    assert export(database, two, format, tmp_path / "out" / "2") == first


def test_a_store_is_exported_with_all_its_projects(database: Database, tmp_path: Path) -> None:
    one = Scope(project="one", user=ADA)
    with database.write(one) as tx:
        projects.add(tx, "one")
    fill(database, one, [PromptEntry(name="a", title="A", content="x", project="one")])
    fill(database, one, [TaskEntry(title="Loose", project=""), TaskEntry(title="Of two", project="two")])
    made = exporting.make(database, one, BY_NAME["satchel"], is_whole=True)
    assert sorted(made.files) == [
        "one/prompts/a.md",
        "one/satchel.json",
        "satchel.json",
        "tasks.md",
        "two/satchel.json",
        "two/tasks.md",
    ]
    assert made.files["tasks.md"] == b"# Tasks\n\n- [ ] Loose\n"
    exporting.write_folder(made, str(tmp_path / "out"), BY_NAME["satchel"])
    files = importing.list_files([str(tmp_path / "out")])
    report = importing.run(database, one, importing.read_files(files), Options())
    assert {line.state for line in report.lines} == {"same"} and report.problems == []


PLAIN = [
    PromptEntry(name="greet", title="Greet", content='Hello {{ name }}, be {{ tone | default("warm", true) }}.'),
    PromptEntry(name="plain", title="Plain", content="Costs $5, {{ not a variable }}."),
]
TASKS = [
    TaskEntry(title="First", key="1", status="completed", completed_at="2026-01-02T00:00:00.000000Z", priority="high"),
    TaskEntry(title="Second", key="2", after=("1",), due="2026-03-04", tags=("web",), description="Do\n\nit."),
    TaskEntry(title="Third", key="3", status="cancelled", priority="low"),
]
OTHERS = [name for name, one in BY_NAME.items() if one.write is not None and name not in ("satchel", "jsonl")]


@pytest.mark.parametrize("format", OTHERS)
def test_a_format_reads_back_what_it_can_hold(tmp_path: Path, format: str) -> None:
    from satchel.model import Argument
    from tests.exchange.corpora import read, write_files

    greet = PromptEntry(
        name="greet",
        title="Greet",
        content=PLAIN[0].content,
        description="Says hello.\n\nmodel: opus",
        arguments=(Argument("name", None, True), Argument("tone", None, False)),
    )
    used = BY_NAME[format]
    assert used.write is not None
    is_task = used.kinds == ("task",)
    written = used.write(TASKS if is_task else [greet, PLAIN[1]])
    entries, problems = read(write_files(tmp_path, written.files), format)
    assert problems == []
    if is_task:
        found = {one.title: one for one in entries if isinstance(one, TaskEntry)}
        assert list(found) == [task.title for task in TASKS] or format == "backlog"
        assert found["First"].status == "completed" and found["First"].priority == "high"
        assert (found["Second"].due, found["Second"].tags) == ("2026-03-04", ("web",))
        waits = found["Second"].after == (found["First"].key,)
        assert waits
        return
    found_prompts = {(one.name or one.title).title(): one for one in entries if isinstance(one, PromptEntry)}
    plain = found_prompts["Plain"]
    assert (plain.content, plain.arguments) == (PLAIN[1].content, ())
    if format == "cursor-rules":
        assert written.notes == ("Left out, because a rule of Cursor has no arguments: 1 prompts.",)
        return
    again = found_prompts["Greet"]
    assert [one.name for one in again.arguments] == ["name", "tone"] or format in ("claude-agents",)
    assert "Hello" in again.content


@pytest.mark.parametrize(
    "format", [name for name, one in BY_NAME.items() if one.write and not one.file and "prompt" in one.kinds]
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, format: str) -> None:
    used = BY_NAME[format]
    assert used.write is not None
    names = ["..", ".", "...", "CON", "a", "A", "n" * 255]
    made = used.write([PromptEntry(name=name, title=f"T {place}", content="x") for place, name in enumerate(names)])
    assert len({path.casefold() for path in made.files}) >= len(names)
    for path in made.files:
        assert not {"..", ".", ""} & {*path.split("/")} and all(len(part) < 220 for part in path.split("/"))
    exporting.write_folder(exporting.Export(made.files, {}, ()), str(tmp_path / "out"), used)
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
