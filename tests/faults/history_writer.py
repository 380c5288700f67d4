"""A process that adds, edits, deletes and restores until it is killed, and says what was committed.

    python -m tests.faults.history_writer STORE SEED

Every line is one acknowledged version: kind, number, version, action, and the token that its content has.
"""

import random
import sys

from satchel.errors import Refused
from satchel.model import DocumentDraft, DocumentPatch, Item, PromptDraft, PromptPatch, Scope, TaskDraft, TaskPatch
from satchel.services import documents, prompts, recording, restoring, tasks
from satchel.storage.database import Tx, open_database

SCOPE = Scope(user="550e8400-e29b-41d4-a716-446655440000")
FILLER = "some text of a few words " * 60
ITEMS = 12  # of each kind, so that the processes meet

Change = tuple[str, int, int, str, str]


def main(store: str, seed: str) -> None:
    """Change one thing after the other."""
    dice = random.Random(seed)
    database = open_database(store)
    print("ready", flush=True)
    for number in range(1_000_000):
        kind = dice.choice(("prompt", "document", "task"))
        name = f"{kind}-{dice.randrange(ITEMS)}"
        try:
            with database.write(SCOPE) as tx:
                change = act(tx, dice, kind, name, f"token-{seed}-{number}-")
        except Refused:
            continue
        if change is not None:
            print(*change, flush=True)


def act(tx: Tx, dice: random.Random, kind: str, name: str, token: str) -> Change | None:
    """Add an item where it is not there, or else edit, delete or restore it; None where nothing changed."""
    text = f"{token}\n{FILLER[dice.randrange(400) :]}"
    live = find(tx, kind, name)
    if live is None and dice.random() < 0.5:
        return done(add(tx, kind, name, text), "add", token)
    if live is None or dice.random() < 0.2:
        reference = refer(tx, live, name) if kind == "task" else name
        version = dice.randrange(1, live.version + 1) if live else None
        restored = restoring.restore(tx, SCOPE, reference, version)
        return done(restored.item, "restore", token_of(restored.item)) if restored.is_changed else None
    if dice.random() < 0.25:
        restoring.delete(tx, SCOPE, live)
        return kind, live.number, live.version + 1, "delete", "-"
    return done(edit(tx, live, text), "update", token)


def find(tx: Tx, kind: str, name: str) -> Item | None:
    try:
        if kind == "prompt":
            return recording.of_prompt(prompts.get_by_name(tx, SCOPE, name))
        if kind == "document":
            return recording.of_document(documents.get_by_name(tx, SCOPE, name))
        return recording.of_task(tasks.find(tx, SCOPE, name))
    except Refused:
        return None


def refer(tx: Tx, live: Item | None, title: str) -> str:
    """The reference of a task, or of the last deleted one of its title."""
    row = tx.one("select max(number) from tasks where deleted_at is not null and title = :title", title=title)
    return f"#{live.number}" if live else f"#{row[0] or 0}" if row else title


def add(tx: Tx, kind: str, name: str, text: str) -> Item:
    if kind == "prompt":
        return recording.of_prompt(prompts.add(tx, SCOPE, PromptDraft(name=name, content=text, tags=["a", "b"])))
    if kind == "document":
        draft = DocumentDraft(name=name, uri=f"x:{name}", content=text.encode(), mime_type="image/png")
        return recording.of_document(documents.add(tx, SCOPE, draft))
    return recording.of_task(tasks.add(tx, SCOPE, TaskDraft(title=name, description=text, tags=["a"])))


def edit(tx: Tx, live: Item, text: str) -> Item:
    if live.kind == "prompt":
        return recording.of_prompt(prompts.update(tx, SCOPE, live.id, PromptPatch(content=text)))
    if live.kind == "document":
        return recording.of_document(documents.update(tx, SCOPE, live.name, DocumentPatch(content=text.encode())))
    return recording.of_task(tasks.update(tx, SCOPE, live.number, TaskPatch(description=text)))


def done(item: Item, action: str, token: str) -> Change:
    return item.kind, item.number, item.version, action, token


def token_of(item: Item) -> str:
    content = item.content if isinstance(item.content, str) else item.content.decode()
    return content.partition("\n")[0]


if __name__ == "__main__":
    main(*sys.argv[1:])
