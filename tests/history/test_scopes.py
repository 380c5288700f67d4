"""Reads and restores by a token for one project, of tasks that were in another or wait for a task there.

`tests/attacks/test_matrix.py` asks every tool for items that a caller may not see.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from satchel.errors import VersionMissing
from satchel.model import DocumentDraft, PromptDraft, Scope, TaskPatch
from satchel.services import copying, diffs, documents, history, prompts, restoring, tasks
from satchel.storage.database import Database, open_database
from tests.attacks.worlds import ENGINES, find_addresses
from tests.history.store import ADA, add_projects, add_task, delete_task, read, write

OPEN = Scope(user=ADA.user, project="open", projects=("open",))  # a token of Ada's for one project


class World:
    """A store with tasks in `open` and `secret`."""

    def __init__(self, database: Database) -> None:
        self.database = database
        add_projects(database, "open", "secret")
        self.hidden = add_task(database, ADA, "Hidden", project="secret").number
        self.waiting = add_task(database, ADA, "Waiting", self.hidden, project="open").number
        self.moved = add_task(database, ADA, "Moved", project="secret").number
        write(database, ADA, lambda tx: tasks.update(tx, ADA, self.moved, TaskPatch(title="Here", project="open")))


@pytest.fixture(params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Yield the same store on SQLite, and on PostgreSQL for a role that owns nothing."""
    database = open_database(find_addresses(request, tmp_path)[1])
    yield World(database)
    database.close()


def test_a_token_sees_the_versions_of_a_task_from_where_it_may_look(world: World) -> None:
    item = f"#{world.moved}"
    _, found, _ = read(world.database, OPEN, lambda tx: history.list_versions(tx, OPEN, item))
    assert [one.version for one in found] == [2]
    for act in (history.read_version, diffs.diff, restoring.restore):
        with pytest.raises(VersionMissing) as missing, world.database.write(OPEN) as tx:
            act(tx, OPEN, item, 1)
        assert missing.value.kept == (2,)
    assert read(world.database, ADA, lambda tx: history.read_version(tx, ADA, item, 1)).state.title == "Moved"


def test_a_moved_prompt_or_document_hides_what_it_was_elsewhere_and_an_undo_moves_it_back(world: World) -> None:
    both, secret = replace(OPEN, projects=("open", "secret")), replace(ADA, project="secret")
    prompt = PromptDraft(title="Tone", content="Kind words in satchel://prompt/x", tags=["style"])
    document = DocumentDraft(name="d.md", uri="satchel://resource/d.md", content="See satchel://prompt/x")
    write(world.database, secret, lambda tx: prompts.add(tx, secret, prompt))
    write(world.database, secret, lambda tx: documents.add(tx, secret, document))
    there = replace(both, project="secret")
    with world.database.write(there) as tx:
        for one in (prompts.get_by_name(tx, there, "tone"), documents.get_by_name(tx, there, "d.md")):
            copying.move(tx, there, one, "open")
    for item, text in (("satchel://prompt/tone", prompt.content), ("satchel://resource/d.md", document.content)):
        with world.database.write(OPEN) as tx:
            found, versions, _ = history.list_versions(tx, OPEN, item)
            assert ([(one.version, one.action) for one in versions], found.content) == ([(2, "move")], text)
            assert prompts.list_tags(tx, OPEN)[0].name == "style"
            with pytest.raises(VersionMissing):
                history.read_version(tx, OPEN, item, 1)
        with world.database.read(both) as tx:
            assert history.read_version(tx, both, item, 1).version == 1
    with world.database.write(both) as tx:
        restoring.undo(tx, both)
    with world.database.read(there) as tx:
        back = prompts.get_by_name(tx, there, "tone"), documents.get_by_name(tx, there, "d.md")
        assert [(one.version, one.content) for one in back] == [(3, prompt.content), (3, document.content)]
    alone = read(world.database, OPEN, lambda tx: history.list_changes(tx, OPEN)[0])
    assert {one.key for one in alone if one.revision.kind in ("prompt", "document")} == {"?"}


def test_a_token_reads_and_restores_around_blockers_that_it_may_not_see(world: World) -> None:
    database, item = world.database, f"#{world.waiting}"
    write(database, ADA, lambda tx: tasks.update(tx, ADA, world.waiting, TaskPatch(description="Another text of it")))
    with database.read(OPEN) as tx:
        for version, text in ((1, "About Waiting"), (2, "Another text of it")):
            old = history.read_version(tx, OPEN, item, version)
            assert (old.content, old.state.blocked_by) == (text, ())
    assert write(database, OPEN, lambda tx: restoring.restore(tx, OPEN, item)).notes == ()
    delete_task(database, OPEN, world.waiting)
    done = write(database, OPEN, lambda tx: restoring.restore(tx, OPEN, item, 2))
    assert (done.notes, done.item.version) == ((), 6)
    found = read(database, ADA, lambda tx: tasks.find(tx, ADA, world.waiting))
    assert (found.description, found.blocked_by) == ("Another text of it", (world.hidden,))


def test_a_hidden_blocker_in_the_trash_is_not_revealed(world: World) -> None:
    delete_task(world.database, ADA, world.waiting)
    delete_task(world.database, ADA, world.hidden)
    done = write(world.database, OPEN, lambda tx: restoring.restore(tx, OPEN, f"#{world.waiting}"))
    assert (done.notes, done.item.version) == ((), 3)
