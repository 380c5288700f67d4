"""A folder and a project kept the same, three-way."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.exchange import storing, sync_plan, syncing
from satchel.exchange.entries import KINDS, Kind, TaskEntry, Unreadable
from satchel.exchange.formats import json_lines
from satchel.exchange.sync_plan import SyncState, digest
from satchel.exchange.syncing import SyncOptions, SyncReport
from satchel.model import DocumentDraft, DocumentPatch, PromptDraft, PromptPatch, Scope, TaskDraft, TaskPatch
from satchel.services import documents, history, projects, prompts, tasks
from satchel.storage.database import Database, Row
from tests.support.soak import amount

ADA = "a0000000-0000-4000-8000-000000000001"
HERE = Scope(project="default", user=ADA)
NOTHING = storing.Snapshot({}, {}, {}, {})
Sync = Callable[..., SyncReport]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def sync(database: Database, folder: Path) -> Sync:
    projects.require(database, HERE)

    def run(**options: bool) -> SyncReport:
        return syncing.run(database, HERE, str(folder), SyncOptions(**options))  # type: ignore[arg-type]

    return run


def add_prompt(database: Database, name: str, content: str) -> str:
    with database.write(HERE) as tx:
        return prompts.add(tx, HERE, PromptDraft(name=name, title=name.title(), content=content)).id


def edit_prompt(database: Database, name: str, content: str) -> None:
    with database.write(HERE) as tx:
        prompts.update(tx, HERE, prompts.get_by_name(tx, HERE, name).id, PromptPatch(content=content))


def contents(database: Database, scope: Scope = HERE) -> dict[str, str]:
    with database.read(scope) as tx:
        return {name: one.content for name, one in storing.take_snapshot(tx, scope).prompts.items()}


def files(folder: Path) -> dict[str, str]:
    return {
        file.stem: file.read_text().rpartition("---\n")[2][:-1] for file in sorted((folder / "prompts").glob("*.md"))
    }


def test_edits_on_both_sides_are_merged_by_item(database: Database, folder: Path, sync: Sync) -> None:
    for name in ("a", "b", "c", "d"):
        add_prompt(database, name, f"old {name}")
    assert len(sync().lines) == 4 and sync().is_same
    edit_prompt(database, "a", "new a")
    (folder / "prompts" / "b.md").write_text("---\ntitle: Better\ntags: [x]\n---\nnew b\n")
    (folder / "prompts" / "c.md").unlink()
    (folder / "prompts" / "e.md").write_text("only text\n")
    with database.write(HERE) as tx:
        prompts.delete(tx, HERE, prompts.get_by_name(tx, HERE, "d").id)
    report = sync(is_check=True)
    assert (report.is_same, len(report.lines)) == (False, 5)
    assert contents(database)["b"] == "old b", "a check changes nothing"
    report = sync()
    assert report.problems == []
    assert report.lines == [
        "store → folder: changed prompt 'a'",
        "store → folder: deleted prompt 'd'",
        "folder → store: deleted prompt 'c'",
        "folder → store: changed prompt 'b'",
        "folder → store: new prompt 'e'",
    ]
    assert contents(database) == files(folder) == {"a": "new a", "b": "new b", "e": "only text"}
    assert (folder / "prompts" / "b.md").read_text().startswith("---\ntitle: Better\ntags: [x]\n"), "as it was written"
    with database.read(HERE) as tx:
        assert prompts.get_by_name(tx, HERE, "b").tags == ("x",)
        assert [one.name for one in history.list_trash(tx, HERE)] == ["c", "d"]
    assert sync().is_same and sync(is_check=True).is_same


def test_a_clash_keeps_both_versions_and_is_reported(database: Database, folder: Path, sync: Sync) -> None:
    add_prompt(database, "a", "old")
    with database.write(HERE) as tx:
        uri = "satchel://resource/d.md"
        documents.add(tx, HERE, DocumentDraft(name="d.md", uri=uri, content="old", mime_type="text/markdown"))
        tasks.add(tx, HERE, TaskDraft(title="Old", project="default"))
    sync()
    edit_prompt(database, "a", "store")
    with database.write(HERE) as tx:
        documents.update(tx, HERE, "d.md", DocumentPatch(content="store"))
        tasks.update(tx, HERE, tasks.find(tx, HERE, "Old").number, TaskPatch(title="Store"))
    (folder / "prompts" / "a.md").write_text("---\ntitle: A\n---\nfolder\n")
    (folder / "documents" / "d.md").write_text("folder")
    text = (folder / "tasks.md").read_text()
    (folder / "tasks.md").write_text(text.replace("Old", "Folder"))
    report = sync()
    number = int(text.split("#")[2].split()[0])
    assert sorted(report.clashes) == [
        "Both sides changed document 'd.md': the store's version stays, the folder's is now document 'd-2.md'.",
        "Both sides changed prompt 'a': the store's version stays, the folder's is now prompt 'a-2'.",
        f"Both sides changed task #{number} 'Folder': the store's version stays, "
        f"the folder's is now task #{number + 1} 'Folder (from the folder)'.",
    ]
    assert report.exit_status == 1
    assert contents(database) == files(folder) == {"a": "store", "a-2": "folder"}
    with database.read(HERE) as tx:
        taken = storing.take_snapshot(tx, HERE)
    assert {name: one.content for name, one in taken.documents.items()} == {"d.md": "store", "d-2.md": "folder"}
    assert [one.title for one in taken.tasks.values()] == ["Store", "Folder (from the folder)"]
    assert sync().is_same


def test_an_item_deleted_on_one_side_and_changed_on_the_other_is_kept(
    database: Database, folder: Path, sync: Sync
) -> None:
    add_prompt(database, "a", "old")
    add_prompt(database, "b", "old")
    sync()
    (folder / "prompts" / "a.md").unlink()
    edit_prompt(database, "a", "changed")
    with database.write(HERE) as tx:
        prompts.delete(tx, HERE, prompts.get_by_name(tx, HERE, "b").id)
    (folder / "prompts" / "b.md").write_text("---\ntitle: B\n---\nchanged\n")
    assert all("one side had deleted it" in line for line in sync().lines)
    assert contents(database) == files(folder) == {"a": "changed", "b": "changed"}
    assert sync().is_same


def test_tasks_are_edited_in_their_file(database: Database, folder: Path, sync: Sync) -> None:
    with database.write(HERE) as tx:
        first = tasks.add(tx, HERE, TaskDraft(title="First", project="default")).number
        outside = tasks.add(tx, HERE, TaskDraft(title="Elsewhere")).number
        second = tasks.add(tx, HERE, TaskDraft(title="Second", project="default", blocked_by=[first, outside])).number
    sync()
    file = folder / "tasks.md"
    assert file.read_text() == f"# Tasks\n\n- [ ] #{first} First\n- [ ] #{second} Second after:#{first}\n"
    file.write_text(
        f"# Tasks\n\n- [x] #{first} First\n  Told here.\n  > 2026-01-02T03:04:05Z A note\n"
        f"- [ ] New one !high after:#{first}\n"
        f"- [ ] #{second} Second\n"
    )
    assert sync().problems == []
    with database.read(HERE) as tx:
        page = {task.title: task for task in storing.list_tasks(tx, HERE, "default")}
    assert (page["First"].status, page["First"].description) == ("completed", "Told here.")
    assert (page["New one"].blocked_by, page["New one"].priority) == ((first,), "high")
    assert page["Second"].blocked_by == (outside,), "a blocker in another project is not the folder's to remove"
    assert f"#{page['New one'].number} New one" in file.read_text()
    assert "> 2026-01-02T03:04:05.000000Z A note" in file.read_text()
    assert sync().is_same
    lines = file.read_text().split("\n")
    file.write_text(
        "\n".join(
            [
                *lines[:2],
                f"- [?] New two in:#{first}",
                lines[2].replace(" First", " First in:#9"),
                *lines[3:],
                "- [ ] #9 Later",
            ]
        )
    )
    assert sync().problems == []
    with database.read(HERE) as tx:
        page = {task.title: task for task in storing.list_tasks(tx, HERE, "default")}
    assert (page["New two"].status, page["New two"].parent) == ("review", first)
    assert page["First"].parent == page["Later"].number
    assert sync().is_same
    file.write_text(file.read_text().replace(f" in:#{page['Later'].number}", ""))
    assert sync().problems == []
    with database.read(HERE) as tx:
        assert tasks.find(tx, HERE, first).parent is None
    assert sync().is_same
    file.write_text("\n".join(line for line in file.read_text().split("\n") if "New one" not in line))
    assert sync().lines == [f"folder → store: deleted task #{page['New one'].number} 'New one'"]
    assert sync().is_same


def of_documents(database: Database) -> dict[str, object]:
    with database.read(HERE) as tx:
        return {name: one.content for name, one in storing.take_snapshot(tx, HERE).documents.items()}


def test_nothing_is_deleted_because_a_file_became_unreadable(database: Database, folder: Path, sync: Sync) -> None:
    names = (".env", "A.md", "a.md", "plain.md", "gone.md")
    with database.write(HERE) as tx:
        for name in names:
            documents.add(tx, HERE, DocumentDraft(name=name, uri=f"file:///{name}", content=f"old {name}"))
    sync()
    paths = {file.name: file for file in (folder / "documents").iterdir()}
    assert len(paths) == 5 and "a.md" not in paths and ".env" not in paths, "their files have other names"
    unreadable = [file for name, file in paths.items() if name not in ("plain.md", "gone.md")]
    for file in unreadable:
        file.unlink()
        file.symlink_to(folder / "nowhere")
    (folder / "documents" / "gone.md").unlink()
    (folder / "documents" / "plain.md").write_text("new")
    report = sync()
    assert sorted(one.where for one in report.problems) == sorted(str(file) for file in unreadable)
    assert {one.what for one in report.problems} == {"it is a symbolic link, and links are not followed"}
    assert sorted(report.lines) == [
        "folder → store: changed document 'plain.md'",
        "folder → store: deleted document 'gone.md'",
    ]
    assert of_documents(database) == {name: f"old {name}" for name in (".env", "A.md", "a.md")} | {"plain.md": "new"}
    for file in unreadable:
        file.unlink()
        file.write_text("corrected")
    assert sorted(sync().lines) == [f"folder → store: changed document '{name}'" for name in (".env", "A.md", "a.md")]
    assert of_documents(database) == dict.fromkeys((".env", "A.md", "a.md"), "corrected") | {"plain.md": "new"}
    assert sync().is_same


def test_an_unreadable_prompt_does_not_block_other_prompts(database: Database, folder: Path, sync: Sync) -> None:
    for name in (".x", "a", "b", "c"):
        add_prompt(database, name, "old")
    sync()
    part = folder / "prompts"
    [odd] = [file for file in part.iterdir() if "~" in file.name]
    odd.write_bytes(b"\xff")
    (part / "a.md").write_text("---\ntitle: A\n---\nnew\n")
    (part / "c.md").unlink()
    edit_prompt(database, "b", "new")
    report = sync()
    assert [one.where for one in report.problems] == [str(odd)]
    assert contents(database) == {".x": "old", "a": "new", "b": "new"}
    assert odd.read_bytes() == b"\xff"
    assert "new" in (part / "b.md").read_text()


def test_a_broken_file_that_may_be_any_item_keeps_all_that_are_missing(
    database: Database, folder: Path, sync: Sync
) -> None:
    for name in ("a", "b"):
        add_prompt(database, name, "old")
    sync()
    part = folder / "prompts"
    (part / "a.md").rename(part / "renamed.md")
    (part / "renamed.md").write_bytes(b"\xff")
    (part / "b.md").write_text("---\ntitle: B\n---\nnew\n")
    report = sync()
    assert (report.lines, len(report.problems)) == (["folder → store: changed prompt 'b'"], 1)
    assert contents(database) == {"a": "old", "b": "new"}
    assert not (part / "a.md").exists()
    (part / "renamed.md").write_text("---\nname: a\ntitle: A\n---\ncorrected\n")
    assert sync().lines == ["folder → store: changed prompt 'a'"]
    (part / "b.md").write_text("---\nname: a\ntitle: A\n---\na copy\n")
    assert len(sync().problems) == 1
    assert contents(database) == {"a": "corrected", "b": "new"}, "a file that names another item is not a deletion"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("---\ntitle: A\n---\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> main\n", "conflict markers of git"),
        ("---\n<<<<<<< HEAD\ntitle: A\n=======\ntitle: B\n>>>>>>> main\n---\ntext\n", "conflict markers of git"),
        ("---\ntitle: A\ntags: [x]\n\nThe text.\n", "its front matter does not end. Add a line ---"),
        ("---\ntitle: A\n\nThe text.\n\n---\n\nMore.\n", "has a line that is not a field: 'The text.'"),
    ],
)
def test_a_prompt_file_that_a_merge_or_an_edit_broke_is_refused(
    database: Database, folder: Path, sync: Sync, text: str, what: str
) -> None:
    add_prompt(database, "a", "old")
    sync()
    (folder / "prompts" / "a.md").write_text(text)
    report = sync()
    assert [(one.where[-4:], what in one.what) for one in report.problems] == [("a.md", True)]
    assert (report.exit_status, contents(database)) == (1, {"a": "old"})
    assert (folder / "prompts" / "a.md").read_text() == text


def test_a_file_of_tasks_that_a_merge_broke_is_left_alone(database: Database, folder: Path, sync: Sync) -> None:
    with database.write(HERE) as tx:
        number = tasks.add(tx, HERE, TaskDraft(title="Old", project="default")).number
    sync()
    file = folder / "tasks.md"
    ours, theirs = f"- [ ] #{number} Ours\n", f"- [ ] #{number} Theirs\n"
    for text, what in (
        (f"# Tasks\n\n<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> main\n", "conflict markers of git"),
        (f"# Tasks\n\n{ours}{theirs}", f"another task of the folder is also called '{number}'"),
    ):
        file.write_text(text)
        report = sync()
        assert ([what in one.what for one in report.problems], report.lines) == ([True], [])
        assert file.read_text() == text
    with database.read(HERE) as tx:
        assert [one.title for one in storing.list_tasks(tx, HERE, "default")] == ["Old"]


def test_a_document_with_new_conflict_markers_is_left_alone_until_the_merge_is_resolved(
    database: Database, folder: Path, sync: Sync
) -> None:
    merge = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> main\n"
    with database.write(HERE) as tx:
        for name, content in (("d.md", "ours\n"), ("merging.md", f"Resolve this:\n{merge}")):
            documents.add(tx, HERE, DocumentDraft(name=name, uri=f"satchel://resource/{name}", content=content))
    assert sync().problems == [] and sync().is_same
    part = folder / "documents"
    (part / "d.md").write_text(merge)
    (part / "new.md").write_text(merge)
    (part / "merging.md").write_text(f"Resolve that:\n{merge}")
    report = sync()
    assert [(one.where, one.what) for one in report.problems] == [
        (str(part / name), "it contains conflict markers of git. Resolve the conflict, and remove the markers")
        for name in ("d.md", "new.md")
    ]
    assert report.lines == ["folder → store: changed document 'merging.md'"]
    assert ((part / "d.md").read_text(), (part / "new.md").read_text()) == (merge, merge)
    (part / "d.md").write_text("both\n")
    (part / "new.md").unlink()
    report = sync()
    assert (report.lines, report.problems) == (["folder → store: changed document 'd.md'"], [])
    assert sorted(file.name for file in part.iterdir()) == ["d.md", "merging.md"]


def test_a_folder_is_not_mixed_with_another_project_unasked(database: Database, folder: Path, sync: Sync) -> None:
    add_prompt(database, "a", "old")
    sync()
    other = Scope(project="other", user=ADA)
    with database.write(other) as tx:
        projects.add(tx, "other")
    with pytest.raises(Unreadable, match=r"is the folder of project 'default'\. Use -p default, or add --yes"):
        syncing.run(database, other, str(folder), SyncOptions())
    assert contents(database, other) == {}
    syncing.run(database, other, str(folder), SyncOptions(is_sure=True))
    assert contents(database, other) == {"a": "old"}
    assert syncing.run(database, other, str(folder), SyncOptions()).is_same


def test_a_prompt_about_conflict_markers_is_read_back(database: Database, folder: Path, sync: Sync) -> None:
    text = "Resolve this:\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> main"
    add_prompt(database, "a", text)
    assert sync().problems == [] and sync().is_same
    (folder / ".satchel-sync.json").unlink()
    assert sync().is_same and contents(database) == {"a": text}


def test_a_template_without_arguments_stays_one(database: Database, folder: Path, sync: Sync) -> None:
    with database.write(HERE) as tx:
        draft = PromptDraft(name="letter", title="Letter", content='{% include "tone.md" %}', is_constant=True)
        prompts.set_label(tx, HERE, prompts.add(tx, HERE, draft), "production")
    assert sync().problems == [] and sync().is_same
    file = folder / "prompts" / "letter.md"
    assert file.read_text() == '---\ntitle: Letter\ntemplate: true\n---\n{% include "tone.md" %}\n'
    file.write_text(file.read_text().replace("tone.md", "voice.md"))
    sync()
    with database.read(HERE) as tx:
        found = prompts.get_by_name(tx, HERE, "letter")
        [entry] = storing.take_snapshot(tx, HERE).prompts.values()
    assert (found.version, found.is_constant, found.content) == (2, True, '{% include "voice.md" %}')
    row = json.loads(json_lines.write([entry]).files[json_lines.FILE])
    assert (row["template"], row["labels"]) == (True, {"production": 1})


def test_an_item_that_both_sides_deleted_can_be_added_again(database: Database, folder: Path, sync: Sync) -> None:
    add_prompt(database, "a", "old")
    sync()
    file = folder / "prompts" / "a.md"
    text = file.read_text()
    file.unlink()
    with database.write(HERE) as tx:
        prompts.delete(tx, HERE, prompts.get_by_name(tx, HERE, "a").id)
    assert sync().is_same
    file.write_text(text)
    assert sync().lines == ["folder → store: new prompt 'a'"]


def count_statements(seen: list[str], execute: Callable[..., list[Row]], sql: str, values: object) -> list[Row]:
    seen.append(sql)
    return execute(sql, values)


def test_a_project_is_read_in_few_statements(database: Database, sync: Sync, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    for size in (3, 30):
        with database.write(HERE) as tx:
            for number in range(size):
                name = f"n{size}-{number}"
                prompts.add(tx, HERE, PromptDraft(name=name, title=name, content="x"))
                documents.add(tx, HERE, DocumentDraft(name=name, uri=f"file:///{name}", content="x"))
                task = tasks.add(tx, HERE, TaskDraft(title=name, project="default"))
                tasks.add_note(tx, HERE, task.number, "note")
        with database.read(HERE) as tx, monkeypatch.context() as patched:
            seen: list[str] = []
            patched.setattr(tx, "execute", partial(count_statements, seen, tx.execute))
            assert len(storing.take_snapshot(tx, HERE).entries) in (9, 99)
            counts.append(len(seen))
    assert counts[0] == counts[1] < 20


def test_titles_can_be_swapped(database: Database, folder: Path, sync: Sync) -> None:
    add_prompt(database, "a", "x")
    add_prompt(database, "b", "y")
    sync()
    (folder / "prompts" / "a.md").write_text("---\ntitle: B\n---\nx\n")
    (folder / "prompts" / "b.md").write_text("---\ntitle: A\n---\ny\n")
    assert sync().problems == []
    with database.read(HERE) as tx:
        assert [prompts.get_by_name(tx, HERE, name).title for name in "ab"] == ["B", "A"]
    (folder / "prompts" / "c.md").write_text("---\ntitle: A\n---\nz\n")
    assert len(sync().problems) == 1
    assert (folder / "prompts" / "c.md").exists() and sorted(contents(database)) == ["a", "b"]


def test_an_emptied_folder_deletes_nothing_unasked(database: Database, folder: Path, sync: Sync) -> None:
    for number in range(12):
        add_prompt(database, f"p{number}", "x")
    sync()
    shutil.rmtree(folder / "prompts")
    assert sync().refused.startswith("12 of 12 items are gone from the folder")
    assert len(contents(database)) == 12
    shutil.rmtree(folder)
    assert len(sync().lines) == 12, "without its state, a folder is a new one"
    shutil.rmtree(folder / "prompts")
    assert sync(is_sure=True).refused == "" and contents(database) == {}


def test_a_folder_of_another_project_or_of_no_use_is_refused(database: Database, folder: Path, sync: Sync) -> None:
    folder.mkdir()
    (folder / ".satchel-sync.json").write_text("{")
    with pytest.raises(Unreadable, match="is broken"):
        sync()
    (folder / ".satchel-sync.json").unlink()
    (folder / "satchel.json").write_text('{"satchel": "store", "version": 1}')
    with pytest.raises(Unreadable, match="all projects"):
        sync()
    (folder / "satchel.json").unlink()
    (folder / "prompts").symlink_to("/etc")
    with pytest.raises(Unreadable, match="holds other files"):
        sync()
    report = sync(is_sure=True)
    assert [one.what for one in report.problems] == ["it is a symbolic link, and links are not followed"]


def test_a_crash_between_store_and_files_is_repaired(
    database: Database, folder: Path, sync: Sync, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_prompt(database, "a", "old")
    sync()
    edit_prompt(database, "a", "store")
    (folder / "prompts" / "a.md").write_text("---\ntitle: A\n---\nfolder\n")
    (folder / "tasks.md").write_text("- [ ] New\n")
    with monkeypatch.context() as patched:
        patched.setattr(syncing._Sync, "_write_files", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            sync()
    sync()
    assert contents(database) == files(folder) == {"a": "store", "a-2": "folder"}
    with database.read(HERE) as tx:
        assert len(list(storing.list_tasks(tx, HERE, "default"))) == 1
    assert sync().is_same


# -- a property -----------------------------------------------------------------------------------------------

_numbers = count()
_edits = st.lists(
    st.tuples(
        st.sampled_from(["store", "folder"]),
        st.sampled_from(["put", "delete"]),
        st.sampled_from(KINDS),
        st.sampled_from(["a", "b", "B"]),
        st.sampled_from(["1", "2", "3 \n---\nx"]),
    ),
    max_size=8,
)


@settings(max_examples=amount(12, 300))
@given(rounds=st.lists(_edits, min_size=1, max_size=3))
def test_after_every_sync_both_sides_are_the_same_and_no_edit_is_lost(
    database: Database, tmp_path: Path, rounds: list[list[tuple[str, str, Kind, str, str]]]
) -> None:
    scope = Scope(project=f"p{next(_numbers)}", user=ADA)
    root = tmp_path / scope.project
    with database.write(scope) as tx:
        projects.add(tx, scope.project)
    syncing.run(database, scope, str(root), SyncOptions(is_sure=True))
    for edits in rounds:
        last: dict[tuple[str, str, str], str | None] = {}
        for side, action, kind, name, text in edits:
            new = f"{text}{next(_numbers)}" if action == "put" else None
            if side == "store":
                _change_store(database, scope, kind, name, new)
            else:
                _change_folder(root, kind, name, new)
            last[side, kind, name] = new
        report = syncing.run(database, scope, str(root), SyncOptions(is_sure=True))
        assert report.problems == []
        with database.read(scope) as tx:
            taken = storing.take_snapshot(tx, scope)
        side_now = sync_plan.read_folder(str(root), "", SyncState(project="", user=""), NOTHING)
        assert side_now.problems == []
        in_store = {(one.kind, digest(one)) for one in taken.entries}
        assert in_store == {(one.kind, digest(one)) for one in side_now.entries.values()}
        assert len(side_now.entries) == len(taken.entries)
        texts = {(one.kind, getattr(one, "content", getattr(one, "description", ""))) for one in taken.entries}
        for (_, one_kind, _), kept in last.items():
            assert kept is None or (one_kind, kept) in texts
        assert syncing.run(database, scope, str(root), SyncOptions()).is_same


def _change_store(database: Database, scope: Scope, kind: Kind, name: str, text: str | None) -> None:
    with database.write(scope) as tx:
        taken = storing.take_snapshot(tx, scope)
        if kind == "prompt":
            if name in taken.prompts:
                prompts.delete(tx, scope, prompts.get_by_name(tx, scope, name).id)
            if text is not None:
                prompts.add(tx, scope, PromptDraft(name=name, title=f"Title {name}", content=text))
        elif kind == "document":
            if name in taken.documents:
                documents.delete(tx, scope, name)
            if text is not None:
                draft = DocumentDraft(name=name, uri=f"satchel://resource/{name}", content=text)
                documents.add(tx, scope, draft)
        else:
            number = next((int(key) for key, one in taken.tasks.items() if one.title == name), None)
            if number is not None and text is None:
                tasks.delete(tx, scope, number)
            elif number is not None:
                tasks.update(tx, scope, number, TaskPatch(description=text))
            elif text is not None:
                tasks.add(tx, scope, TaskDraft(title=name, description=text, project=scope.project))


def _change_folder(root: Path, kind: Kind, name: str, text: str | None) -> None:
    if kind == "task":
        _change_task_file(root / "tasks.md", name, text)
        return
    side = sync_plan.read_folder(str(root), "", SyncState(project="", user=""), NOTHING)
    known = side.files.get((kind, name))
    part = root / ("prompts" if kind == "prompt" else "documents")
    ending = ".md" if kind == "prompt" else ""
    file = root / known.path if known else part / f"{name}{'~x' if kind == 'prompt' else ''}{ending}"
    part.mkdir(exist_ok=True)
    if text is None:
        file.unlink(missing_ok=True)
    elif kind == "prompt":
        file.write_text(f"---\nname: {name}\ntitle: Title {name}\n---\n{text}\n")
    else:
        file.write_text(text)


def _change_task_file(file: Path, name: str, text: str | None) -> None:
    from satchel.exchange import task_file

    found = [one for one in task_file.read(file.read_text() if file.exists() else "", "") if isinstance(one, TaskEntry)]
    kept = [one for one in found if one.title != name]
    mine = next((one for one in found if one.title == name), TaskEntry(title=name))
    if text is not None:
        kept.append(TaskEntry(title=name, description=text, key=mine.key))
    labels = {one.key: int(one.key) for one in kept if one.key}
    file.write_text(task_file.write(kept, labels))
