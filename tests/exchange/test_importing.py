"""Imports into the store: what is new, same and clashing; bad files; interrupted runs."""

import itertools
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from satchel.exchange import importing, storing
from satchel.exchange.entries import PromptEntry
from satchel.exchange.importing import FileRead, ImportReport, OnClash, Options
from satchel.model import PromptHeader, Scope, TaskQuery
from satchel.services import documents, projects, prompts, tasks
from satchel.storage.database import Database, Tx
from tests.exchange.corpora import write_files
from tests.support.soak import amount

ADA = "a0000000-0000-4000-8000-000000000001"
HERE = Scope(project="default", user=ADA)

Import = Callable[..., ImportReport]


@pytest.fixture
def bring(database: Database, tmp_path: Path) -> Import:
    """Imports files, which it writes first."""
    projects.require(database, HERE)

    def run(files: dict[str, str | bytes], **options: object) -> ImportReport:
        folder = write_files(tmp_path / "files", files)
        read = importing.read_files(importing.list_files([str(folder)]))
        return importing.run(database, HERE, read, Options(**options))  # type: ignore[arg-type]

    return run


def counts(report: ImportReport, kind: str = "prompt") -> dict[str, int]:
    return {state: number for state, number in report.count(kind).items() if number}  # type: ignore[arg-type]


def csv(*rows: tuple[str, str]) -> str:
    return "act,prompt\n" + "".join(f"{title},{text}\n" for title, text in rows)


def test_a_dry_run_prints_the_same_report_and_changes_nothing(bring: Import, database: Database) -> None:
    rows = [("One", "a"), ("One", "a"), ("One", "b"), ("Two", "c")]
    report = bring({"p.csv": csv(*rows), "todo.txt": "Dig +garden\n"}, is_dry_run=True)
    assert (counts(report), counts(report, "task")) == ({"new": 2, "repeated": 1, "renamed": 1}, {"new": 1})
    assert report.projects == ["garden"]
    with database.read(HERE) as tx:
        assert prompts.list_headers(tx, HERE)[0] == ()
        assert [one.name for one, _ in projects.list_all(tx)] == ["default"]
    done = bring({"p.csv": csv(*rows), "todo.txt": "Dig +garden\n"})
    assert (counts(done), counts(done, "task")) == (counts(report), counts(report, "task"))


def test_a_clash_is_skipped_renamed_or_replaced(bring: Import, database: Database) -> None:
    bring({"p.csv": csv(("One", "old"))})
    assert counts(bring({"p.csv": csv(("One", "new"))})) == {"clashing": 1}
    assert counts(bring({"p.csv": csv(("One", "new"))}, on_clash="rename")) == {"renamed": 1}
    assert counts(bring({"p.csv": csv(("One", "new"))}, on_clash="rename")) == {"same": 1}
    assert counts(bring({"p.csv": csv(("One", "newer"))}, on_clash="replace")) == {"replaced": 1}
    with database.read(HERE) as tx:
        found = {one.name: prompts.get_by_name(tx, HERE, one.name) for one in prompts.list_headers(tx, HERE)[0]}
    assert {name: (one.title, one.content) for name, one in found.items()} == {
        "one": ("One", "newer"),
        "one-2": ("One (2)", "new"),
    }


def test_one_bad_file_never_stops_the_rest(bring: Import) -> None:
    report = bring(
        {
            "a.md": b"caf\xe9",
            "b.csv": "act,prompt\nGood,text\n,no title\nEmpty,\n",
            "c.json": "{broken",
            "d.prompt": "---\nx: y\n---\n\n",
            "e.md": "---\ntitle: Fine\n---\nText\n",
        }
    )
    assert counts(report) == {"new": 2}
    assert [one.what[:24] for one in report.problems] == [
        "it is not a text in UTF-",
        "it has no title",
        "it has no text",
        "it has no text",
    ]
    assert [Path(one).name for one in report.unknown] == ["c.json"]


def test_tasks_keep_status_notes_project_and_dependencies_in_any_order(bring: Import, database: Database) -> None:
    text = """[
    {"uuid":"a","description":"Last","status":"pending","depends":["b","c"],"project":"Garden",
     "annotations":[{"entry":"20260102T030405Z","description":"Seen"}]},
    {"uuid":"b","description":"First","status":"completed","end":"20260103T000000Z","depends":["c"]},
    {"uuid":"c","description":"Circle","status":"deleted","depends":["a","zz"]}]"""
    report = bring({"t.json": text})
    assert (counts(report, "task"), report.projects) == ({"new": 3}, ["Garden"])
    assert sorted(one.what for one in report.left_alone) == [
        "'Circle' depends on zz, which was not imported",
        "a dependency of 'Circle' is left out, because it is circular",
    ]
    with database.read(HERE) as tx:
        page, _ = tasks.list_page(tx, HERE, TaskQuery(filter="all"), limit=10)
        found = {task.title: task for task in page}
        notes, _ = tasks.list_notes(tx, HERE, found["Last"].number, 5)
    number = {title: task.number for title, task in found.items()}
    assert found["Last"].blocked_by == tuple(sorted((number["First"], number["Circle"])))
    assert (found["First"].blocked_by, found["Circle"].blocked_by) == ((number["Circle"],), ())
    assert (found["Last"].project, found["First"].project) == ("Garden", "default")
    assert (found["First"].status, found["First"].completed_at) == ("completed", "2026-01-03T00:00:00.000000Z")
    assert found["Circle"].status == "cancelled"
    assert [(note.text, note.at) for note in notes] == [("Seen", "2026-01-02T03:04:05.000000Z")]
    assert counts(bring({"t.json": text}), "task") == {"same": 3}


def test_equal_tasks_are_as_many_as_in_the_file(bring: Import) -> None:
    assert counts(bring({"todo.txt": "Water\nWater\n"}), "task") == {"new": 2}
    assert counts(bring({"todo.txt": "Water\nWater\n(A) Water\n"}), "task") == {"same": 2, "new": 1}
    assert counts(bring({"todo.txt": "(C) Water due:2026-01-01\n"}, on_clash="replace"), "task") == {"replaced": 1}


def test_an_interrupted_import_keeps_whole_batches_and_goes_on(
    bring: Import, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH", 10)
    files: dict[str, str | bytes] = {"p.csv": csv(*((f"Prompt {number}", f"text {number}") for number in range(35)))}

    def interrupt(done: int, _total: int) -> None:
        if done == 24:
            raise KeyboardInterrupt

    report = bring(files, report=interrupt)
    assert (report.is_interrupted, counts(report)) == (True, {"new": 20})
    with database.read(HERE) as tx:
        assert len(prompts.list_headers(tx, HERE)[0]) == 20
    assert counts(bring(files)) == {"same": 20, "new": 15}


def test_refused_entries_are_reported_and_the_rest_of_the_batch_is_kept(
    bring: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = '{"kind":"prompt","name":"a","title":"A","content":"x"}\n'
    rows += '{"kind":"prompt","name":"b","title":"A","content":"y"}\n'
    rows += '{"kind":"document","name":"d","uri":"file:///d","content":"x"}\n'
    rows += '{"kind":"document","name":"e","uri":"not a uri","content":"x"}\n'
    rows += '{"kind":"task","title":"t","status":"maybe"}\n{"kind":"task","title":"u","due":"2026-13-01"}\n[]\n'
    report = bring({"x.jsonl": rows}, on_clash="replace")
    assert (counts(report), counts(report, "document"), counts(report, "task")) == (
        {"new": 1, "renamed": 1},
        {"new": 1},
        {},
    )
    assert [one.what for one in report.problems] == [
        "the uri of a document must begin with a scheme, such as file:, and have no spaces",
        "the status of a task cannot be 'maybe'",
        "'2026-13-01' is not a day: write 2026-12-31, tomorrow, friday or 3d",
        "it has no kind: prompt, document or task",
    ]


def test_another_writer_between_look_and_write_spoils_one_entry_only(bring: Import, database: Database) -> None:
    bring({"p.csv": csv(("One", "theirs"))})
    calls = []

    def forget(tx: Tx, scope: Scope) -> tuple[tuple[PromptHeader, ...], bool]:
        """As if the other prompt were added a moment after the first look."""
        calls.append(scope)
        return ((), False) if len(calls) == 1 else prompts.list_headers(tx, scope)

    with mock.patch("satchel.exchange.importing.prompts", wraps=prompts) as patched:
        patched.list_headers = forget
        report = bring({"p.csv": csv(("Zero", "0"), ("One", "ours"), ("Two", "2"))})
    assert counts(report) == {"new": 2} and [one.where.rpartition(", ")[2] for one in report.problems] == ["row 3"]


def titles(database: Database) -> dict[str, str]:
    """Return the contents of the prompts by title."""
    with database.read(HERE) as tx:
        return {one.title: one.content for one in prompts.iterate_whole(tx, HERE, size=100)}


@pytest.mark.parametrize("on_clash", ["skip", "rename", "replace"])
def test_rows_of_one_title_are_all_kept_and_a_second_run_changes_nothing(
    bring: Import, database: Database, on_clash: str
) -> None:
    files: dict[str, str | bytes] = {"p.csv": csv(("One", "a"), ("One", "b"), ("One", "c"), ("One", "a"))}
    assert counts(bring(files, on_clash=on_clash)) == {"new": 1, "repeated": 1, "renamed": 2}
    assert titles(database) == {"One": "a", "One (2)": "b", "One (3)": "c"}
    for again in ("skip", "rename", "replace"):
        assert counts(bring(files, on_clash=again)) == {"same": 3, "repeated": 1}
    with database.read(HERE) as tx:
        assert {one.version for one in prompts.iterate_whole(tx, HERE, size=2)} == {1}


def test_rows_that_change_places_keep_their_prompts(bring: Import, database: Database) -> None:
    bring({"p.csv": csv(("One", "a"), ("One", "b"))})
    swapped = bring({"p.csv": csv(("One", "new"), ("One", "b"), ("One", "a"))}, on_clash="replace")
    assert counts(swapped) == {"same": 2, "renamed": 1}
    assert titles(database) == {"One": "a", "One (2)": "b", "One (3)": "new"}
    changed = bring({"p.csv": csv(("One", "x"), ("One", "y"))}, on_clash="replace")
    assert counts(changed) == {"replaced": 2}
    assert titles(database) == {"One": "x", "One (2)": "y", "One (3)": "new"}


def test_replaced_prompts_take_the_titles_of_their_file(bring: Import, database: Database) -> None:
    row = '{"kind":"prompt","name":"%s","title":"%%s","content":"%s"}\n'
    rows = row % ("a", "x") + row % ("b", "y")
    bring({"p.jsonl": rows % ("First", "Second")})
    more = row % ("c", "z") % "Second"
    files: dict[str, str | bytes] = {"p.jsonl": rows % ("Newer", "First") + more}
    assert counts(bring(files, on_clash="replace")) == {"new": 1, "replaced": 2}
    assert titles(database) == {"Newer": "x", "First": "y", "Second": "z"}
    assert counts(bring(files, on_clash="replace")) == {"same": 3}
    swapped: dict[str, str | bytes] = {"p.jsonl": more + rows % ("First", "Newer")}
    for options in ({"is_dry_run": True}, {}):
        assert counts(bring(swapped, on_clash="replace", **options)) == {"same": 1, "replaced": 2}
    assert titles(database) == {"First": "x", "Newer": "y", "Second": "z"}
    moved: dict[str, str | bytes] = {"p.jsonl": row % ("d", "w") % "First" + rows % ("Third", "Newer")}
    assert counts(bring(moved, on_clash="replace")) == {"new": 1, "same": 1, "replaced": 1}
    assert counts(bring(moved, on_clash="replace")) == {"same": 3}
    assert titles(database) == {"Third": "x", "Newer": "y", "Second": "z", "First": "w"}


def test_tasks_of_one_title_keep_their_lines(bring: Import, database: Database) -> None:
    def lines() -> list[tuple[int, str, str | None]]:
        with database.read(HERE) as tx:
            return [(one.number, one.priority, one.due) for one in storing.list_tasks(tx, HERE, "default")]

    bring({"todo.txt": "(A) Water\n(D) Water\n"})
    first = lines()
    report = bring({"todo.txt": "(B) Water\n(D) Water\n"}, on_clash="replace")
    assert counts(report, "task") == {"same": 1, "replaced": 1}
    assert lines() == [(first[0][0], "high", None), first[1]], "the second line is still the second task"
    for on_clash in ("skip", "rename", "replace"):
        again = bring({"todo.txt": "(B) Water\n(D) Water\n"}, on_clash=on_clash)
        assert counts(again, "task") == {"same": 2}


def test_documents_that_share_a_uri_are_replaced_once(bring: Import, database: Database) -> None:
    row = '{"kind":"document","name":"%s","uri":"file:///d","content":"%s"}\n'
    bring({"d.jsonl": row % ("one.md", "old")})
    files: dict[str, str | bytes] = {"d.jsonl": row % ("two.md", "new")}
    assert counts(bring(files, on_clash="replace"), "document") == {"replaced": 1}
    assert counts(bring(files, on_clash="replace"), "document") == {"same": 1}


def test_an_entry_that_is_refused_leaves_nothing_of_it_behind(bring: Import, database: Database) -> None:
    notes = "".join('{"text":"%s"},' % ("x" * size) for size in (5, 20_000))[:-1]
    rows = '{"kind":"task","title":"Good"}\n{"kind":"task","title":"Bad","notes":[' + notes + "]}\n"
    report = bring({"t.jsonl": rows + '{"kind":"prompt","name":"p","content":"x"}\n'})
    assert (counts(report, "task"), counts(report)) == ({"new": 1}, {"new": 1})
    assert [one.what for one in report.problems] == ["the note of a task can have at most 10000 characters"]
    with database.read(HERE) as tx:
        assert [one.title for one in storing.list_tasks(tx, HERE, "default")] == ["Good"]


def test_names_that_make_the_same_title_do_not_clash(bring: Import, database: Database) -> None:
    files: dict[str, str | bytes] = {".claude/commands/a-b.md": "one", ".claude/commands/a_b.md": "two"}
    assert counts(bring(files)) == {"new": 2}
    assert counts(bring(files)) == {"same": 2}
    with database.read(HERE) as tx:
        titles = {one.name: one.title for one in prompts.list_headers(tx, HERE)[0]}
    assert titles == {"a-b": "A b", "a_b": "a_b"}


def test_documents_are_compared_by_content_type_and_description(bring: Import, database: Database) -> None:
    note = "---\ntitle: T\npermalink: a/b\n---\nbody {}\n"
    assert counts(bring({"n.md": note.format(1)}), "document") == {"new": 1}
    assert counts(bring({"n.md": note.format(1)}), "document") == {"same": 1}
    assert counts(bring({"n.md": note.format(2)}), "document") == {"clashing": 1}
    assert counts(bring({"n.md": note.format(2)}, on_clash="rename"), "document") == {"renamed": 1}
    assert counts(bring({"n.md": note.format(3)}, on_clash="replace"), "document") == {"replaced": 1}
    with database.read(HERE) as tx:
        found = {one.name: documents.get_by_name(tx, HERE, one.name).content for one in documents.list_all(tx, HERE)}
    assert found == {"a-b.md": note.format(3), "a-b-2.md": note.format(2)}


_rows = st.lists(
    st.builds(
        PromptEntry,
        name=st.sampled_from([None, "a", "b", "one", "one-2"]),
        title=st.sampled_from(["One", "Two", "One (2)", "a"]),
        content=st.sampled_from(["x", "y", "z"]),
    ),
    max_size=5,
)
_numbers = itertools.count()


@settings(max_examples=amount(40, 1000))
@given(before=_rows, rows=_rows, on_clash=st.sampled_from(["skip", "rename", "replace"]))
def test_no_row_is_lost_and_a_second_run_changes_nothing(
    database: Database, before: list[PromptEntry], rows: list[PromptEntry], on_clash: OnClash
) -> None:
    scope = Scope(project=f"rows-{next(_numbers)}", user=ADA)
    with database.write(scope) as tx:
        projects.add(tx, scope.project)

    def bring_rows(entries: list[PromptEntry]) -> ImportReport:
        placed = tuple(replace(one, where=str(place)) for place, one in enumerate(entries))
        return importing.run(database, scope, [FileRead("x", "jsonl", placed)], Options(on_clash=on_clash))

    def take() -> dict[str, tuple[str, str, int]]:
        with database.read(scope) as tx:
            return {
                one.name: (one.title, one.content, one.version) for one in prompts.iterate_whole(tx, scope, size=10)
            }

    rows = [replace(one, where=str(place)) for place, one in enumerate(rows)]
    bring_rows(before)
    first = bring_rows(rows)
    after = take()
    kept = {content for _, content, _ in after.values()}
    refused = {one.where for one in first.problems}
    assert {line.where for line in first.lines} | refused == {row.where for row in rows}
    assert {
        row.content for row in rows for line in first.lines if line.where == row.where and line.state != "clashing"
    } <= kept
    again = bring_rows(rows)
    assert {line.state for line in again.lines} <= {"same", "repeated", "clashing"}
    assert take() == after
