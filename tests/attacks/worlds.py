"""The stores of attacks on isolation: on SQLite and as a role of PostgreSQL, with a user and what is foreign to her."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest

from satchel.auth import tokens
from satchel.model import DocumentDraft, PromptDraft, Scope, TaskDraft
from satchel.services import documents, projects, prompts, tasks
from satchel.storage.database import Database, Tx, open_database
from tests.support.postgres import PostgresServer
from tests.support.roles import two_roles

Value = TypeVar("Value")

ENGINES = ("sqlite", "role")  # the second one: PostgreSQL as a role under row-level security


def find_addresses(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """Return the address of an empty store for its owner, and for the server; `request.param` is one of ENGINES."""
    if request.param == "sqlite":
        return (str(tmp_path / "satchel.db"),) * 2
    server: PostgresServer = request.getfixturevalue("postgres")
    return two_roles(server)


class World:
    """A store with what a test puts into it."""

    def __init__(self, owner: str, server: str) -> None:
        self.address = server
        self.database: Database = open_database(server)
        self._owner = owner

    def write(self, scope: Scope, act: Callable[[Tx], Value]) -> Value:
        """Run an action in a write transaction of a scope; return its result."""
        with self.database.write(scope) as tx:
            return act(tx)

    def read(self, scope: Scope, act: Callable[[Tx], Value]) -> Value:
        """Run a lookup in a read transaction of a scope; return its result."""
        with self.database.read(scope) as tx:
            return act(tx)

    @contextmanager
    def open_as_owner(self) -> Iterator[Database]:
        """Yield the store as its owner has it."""
        owner = open_database(self._owner)
        yield owner
        owner.close()

    def make_token(
        self,
        user: str,
        projects: Sequence[str] | None = None,
        *,
        is_read_only: bool = False,
        ended: Literal["revoked_at", "expires_at"] | None = None,
    ) -> str:
        """Return a new token, made by the owner of the store; `ended` is how it has ended since."""
        with self.open_as_owner() as owner, owner.write() as tx:
            token, secret = tokens.create(tx, user=user, projects=projects, is_read_only=is_read_only)
            if ended is not None:
                tx.run(f"update tokens set {ended} = created_at where id = :id", id=token.id)
        return secret

    def close(self) -> None:
        """Close the store."""
        self.database.close()


# -- what is foreign ------------------------------------------------------------------------------------------------

ANN, BOB = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
CANARY = "xyzzy"  # in every title, name and text that is foreign
OTHER_CANARY = "plugh"  # in titles that are foreign to a limited token only: they are like no title of Bob
FIRST_FOREIGN = 700_000  # numbers of foreign tasks come after this, so that they are no part of other numbers
ABSENT_TASK, ABSENT_ID = 800_001, "9f9a9b9c-9d9e-4f9a-8b9c-9d9e9f9a9b9c"


class Thing:
    """Something foreign, or its absent twin, which looks like it."""

    def __init__(self, kind: str, *, number: int = 0, id: str = "", name: str = "", title: str = "") -> None:
        self.kind, self.number, self.id, self.name, self.title = kind, number, id, name, title

    @property
    def keys(self) -> list[str]:
        """What an answer may repeat of the question, the longest first."""
        keys = [self.title, self.name, self.id, str(self.number) if self.number else ""]
        return [text for key in keys if key for text in (key, key.upper())]

    def twin(self) -> "Thing":
        """Return a text without existing words: they get other letters, so that they resemble no others."""
        number = ABSENT_TASK if self.number else 0
        id = ABSENT_ID if self.id else ""
        return Thing(self.kind, number=number, id=id, name=_shift(self.name), title=_shift(self.title))


def _shift(text: str) -> str:
    return "".join(chr((ord(one) - 96) % 26 + 97) if one.isascii() and one.islower() else one for one in text)


Spelling = Callable[[Thing], object]

_OF_IDS: dict[str, Spelling] = {
    "id": lambda one: one.id,
    "upper id": lambda one: one.id.upper(),
    "braced id": lambda one: f"{{{one.id}}}",
    "padded id": lambda one: f" {one.id} ",
    "id without hyphens": lambda one: one.id.replace("-", ""),
    "urn": lambda one: f"urn:uuid:{one.id}",
}
_OF_WORDS: dict[str, Spelling] = {
    "name": lambda one: one.name,
    "padded name": lambda one: f" {one.name} ",
    "upper name": lambda one: one.name.upper(),
    "name with a slash": lambda one: f"{one.name}/",
}
SPELLINGS: dict[str, dict[str, Spelling]] = {
    "task": {
        "number": lambda one: one.number,
        "text": lambda one: str(one.number),
        "hash": lambda one: f"#{one.number}",
        "float": lambda one: float(one.number),
        "padded": lambda one: f" {one.number} ",
        "zero": lambda one: f"0{one.number}",
        "uri": lambda one: f"satchel://task/{one.number}",
        "upper uri": lambda one: f"SATCHEL://TASK/{one.number}",
        "uri of id": lambda one: f"satchel://task/{one.id}",
        "title": lambda one: one.title,
        **_OF_IDS,
    },
    "prompt": {
        **_OF_WORDS,
        "title": lambda one: one.title,
        "uri": lambda one: f"satchel://prompt/{one.name}",
        "quoted uri": lambda one: f"satchel://prompt/{'%'.join(['', *(f'{ord(x):02x}' for x in one.name)])}",
        "uri of id": lambda one: f"satchel://prompt/{one.id}",
        **_OF_IDS,
    },
    "document": {
        **_OF_WORDS,
        "own uri": lambda one: f"satchel://resource/{one.name}",
        "uri": lambda one: f"doc:{one.name}",
        **_OF_IDS,
    },
    "project": {**_OF_WORDS, "uri": lambda one: f"satchel://project/{one.name}", "id": lambda one: one.id},
    "user": {**_OF_IDS},
}


class Cast(World):
    """Ann, who asks, and what is foreign to her: all tasks of Bob, and for a limited token another project."""

    def __init__(self, owner: str, server: str) -> None:
        super().__init__(owner, server)
        ann, bob = Scope(user=ANN, project="pub"), Scope(user=BOB, project="pub")
        in_priv = Scope(user=ANN, project="priv")
        for name in ("default", "pub", f"priv-{CANARY}"):
            self.write(ann, partial(projects.add, name=name))
        in_priv = Scope(user=ANN, project=f"priv-{CANARY}")
        self.own_task = self._add_task(ann, "Seen", "pub")
        self.own = self.write(ann, lambda tx: prompts.add(tx, ann, PromptDraft(title="Mine", content="plain")))
        self.write(ann, lambda tx: documents.add(tx, ann, DocumentDraft(name="mine.md", uri="doc:mine", content="x")))
        self._skip_numbers()
        secret = f"{CANARY} secret"
        self.of_bob = [self._add_task(bob, f"{secret} one", "pub"), self._add_task(bob, f"{secret} two", None)]
        gone = self._add_task(bob, f"{secret} three", None)
        self.write(bob, lambda tx: tasks.delete(tx, bob, gone.number))
        self.of_bob.append(gone)
        self.hidden = [
            *self.of_bob,
            self._add_task(ann, f"{OTHER_CANARY} four", in_priv.project),
            self._add_task(ann, f"{OTHER_CANARY} five", None),
            *self._add_texts(in_priv),
            Thing("project", name=in_priv.project, id=self._project_id(in_priv)),
        ]
        self.bob = Thing("user", id=BOB)
        self.write(ann, partial(projects.add, name="gone"))
        self.of_deleted_project = self.make_token(ANN, ["gone"])
        self.write(ann, lambda tx: projects.delete(tx, "gone"))

    def _add_task(self, scope: Scope, title: str, project: str | None) -> Thing:
        task = self.write(scope, lambda tx: tasks.add(tx, scope, TaskDraft(title=title, project=project)))
        self.write(scope, lambda tx: tasks.add_note(tx, scope, task.number, f"about {title}"))
        return Thing("task", number=task.number, id=task.id, title=title)

    def _add_texts(self, scope: Scope) -> Iterator[Thing]:
        for number in ("one", "two"):
            draft = PromptDraft(title=f"{CANARY} prompt {number}", content=f"{CANARY} text", tags=[CANARY])
            prompt = self.write(scope, lambda tx, draft=draft: prompts.add(tx, scope, draft))  # type: ignore[misc]
            yield Thing("prompt", id=prompt.id, name=prompt.name, title=prompt.title)
            name = f"{CANARY}-doc-{number}"
            given = DocumentDraft(name=name, uri=f"doc:{name}", content=CANARY)
            found = self.write(scope, lambda tx, given=given: documents.add(tx, scope, given))  # type: ignore[misc]
            yield Thing("document", id=found.id, name=found.name)
        self.write(scope, lambda tx: prompts.delete(tx, scope, prompt.id))  # the last of each is in the trash
        self.write(scope, lambda tx: documents.delete(tx, scope, name))

    def _project_id(self, scope: Scope) -> str:
        return self.read(scope, lambda tx: projects.current(tx, scope).id)

    def _skip_numbers(self) -> None:
        with self.open_as_owner() as owner, owner.write() as tx:
            if owner.is_shared:
                for table in ("tasks", "revisions"):
                    tx.run(f"select setval(pg_get_serial_sequence('{table}', 'number'), {FIRST_FOREIGN})")
            else:
                tx.run(f"update sqlite_sequence set seq = {FIRST_FOREIGN} where name in ('tasks', 'revisions')")

    def dump(self) -> list[Any]:
        """Return all foreign rows, and the number of their changes."""
        looks = (
            "select number, owner, title, version, completed_at, deleted_at from tasks order by number",
            "select number, name, title, content, version, deleted_at from prompts order by number",
            "select number, name, uri, version, deleted_at from documents order by number",
            "select number, name, version from projects order by number",
            "select count(*) from revisions",
            "select count(*) from task_notes",
            "select count(*) from task_claims",
        )
        return [row for scope in (Scope(user=ANN), Scope(user=BOB)) for row in self.read(scope, partial(_ask, looks))]


def _ask(looks: Sequence[str], tx: Tx) -> list[Any]:
    return [tx.all(sql) for sql in looks]
