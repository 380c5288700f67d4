"""A store with items of every kind, and its whole content for comparisons."""

from typing import Any

from satchel.auth import sessions, tokens
from satchel.model import (
    Argument,
    Author,
    DocumentDraft,
    DocumentPatch,
    Holder,
    Identity,
    PromptDraft,
    PromptPatch,
    Scope,
    TaskDraft,
    TaskPatch,
)
from satchel.services import documents, layers, projects, prompts, retry_keys, tasks, templates
from satchel.storage import tasks as task_rows
from satchel.storage import users
from satchel.storage.database import open_database
from satchel.storage.dump import dump

ADA = "6f0a2f5e-9c1c-4a6e-8a51-0d8f8f3c2b11"
EVE = "0f0a2f5e-9c1c-4a6e-8a51-0d8f8f3c2b12"
SCOPE = Scope(user=ADA, author=Author(user=ADA, client="test", contract="satchel", caller="model"))


def furnish(store: str, *, prompts_count: int = 12) -> None:
    """Add items of every kind to a store, with history and trash."""
    database = open_database(store)
    try:
        projects.require(database, SCOPE)
        with database.write(SCOPE) as tx:
            users.keep_setting(tx, "local_user", ADA)
            projects.add(tx, "old")
            projects.add(tx, "gone")
            for number in range(prompts_count):
                draft = PromptDraft(
                    title=f"Prompt {number} ünï", content=f"Text {number} \x01 \u202e 🎒\r\n" * 9, tags=("a", "b")
                )
                prompts.add(tx, SCOPE, draft)
            review = PromptDraft(
                title="Review", content="{{ code }}", arguments=(Argument("code", None, True),), description="d"
            )
            prompts.add(tx, SCOPE, review)
            prompts.add(tx, Scope(project="gone", user=ADA), PromptDraft(title="In gone", content="x"))
        with database.write(SCOPE) as tx:
            prompts.update(
                tx, SCOPE, layers.find_prompt(tx, SCOPE, "review").id, PromptPatch(content="{{ code }} again")
            )
            prompts.set_label(tx, SCOPE, layers.find_prompt(tx, SCOPE, "review"), "production", 1)
            prompts.delete(tx, SCOPE, layers.find_prompt(tx, SCOPE, "Prompt 3 ünï").id)
            projects.rename(tx, "old", "renamed")
            projects.delete(tx, "gone")
            text = DocumentDraft(
                name="notes", uri="file:///notes.md", content=b"see satchel://task/1", mime_type="text/plain"
            )
            picture = DocumentDraft(name="logo", uri="file:///logo", content=bytes(range(256)), mime_type="image/png")
            documents.add(tx, SCOPE, text)
            documents.add(tx, SCOPE, picture)
        with database.write(SCOPE) as tx:
            documents.update(tx, SCOPE, "notes", DocumentPatch(content=b"satchel://prompt/review"))
            first = tasks.add(tx, SCOPE, TaskDraft(title="First", tags=("x",), due="2030-01-01"))
            second = tasks.add(tx, SCOPE, TaskDraft(title="Second", description="long", blocked_by=[first.number]))
            third = tasks.add(tx, SCOPE, TaskDraft(title="Third"))
            tasks.add(tx, Scope(user=EVE), TaskDraft(title="Another user's"))
            tasks.add_note(tx, SCOPE, second.number, "a note")
            holder = Holder(name="agent", key="k")
            task_rows.put_claim(tx, ADA, first.number, holder, "2030-01-01T00:00:00.000000Z")
            retry_keys.remember(tx, SCOPE, "add_tasks", "key", "digest", b'{"answer": "\xc3\xbc"}')
            templates.remember_values(tx, SCOPE, templates.key_within("default", "review"), {"code": "print(1)"})
        with database.write(SCOPE) as tx:
            tasks.update(tx, SCOPE, second.number, TaskPatch(title="Second, again"))
            tasks.delete(tx, SCOPE, third.number)
        with database.write() as tx:
            tokens.create(tx, user=ADA, is_read_only=True, projects=["default"])
            last = prompts.add(tx, SCOPE, PromptDraft(title="Last", content="its number is never used again"))
            prompts.delete(tx, SCOPE, last.id)
        sessions.BrowserSessions(database).begin(Identity(user=ADA))
    finally:
        database.close()


def everything(store: str) -> list[bytes]:
    """Return the lines of a dump, without the first and the last, which depend on the time of the dump."""
    pieces: list[bytes] = []
    dump(store, pieces.append)
    return b"".join(pieces).splitlines()[1:-1]


def differences(one: list[bytes], other: list[bytes]) -> list[Any]:
    """Return the first few lines that only one of two stores has."""
    return sorted({*one} ^ {*other})[:4]
