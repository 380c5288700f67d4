"""The store of the cross-user matrix: Ann, who asks, and what is foreign to her."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from satchel.model import PromptDraft, ResourceDraft, Scope, TaskDraft
from satchel.services import projects, prompts, resources, task_notes, tasks
from satchel.storage.database import Tx
from tests.attacks.things import ANN, BOB, CANARY, FIRST_FOREIGN, OTHER_CANARY, Thing
from tests.attacks.worlds import World


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
        self.write(ann, lambda tx: resources.add(tx, ann, ResourceDraft(name="mine.md", uri="doc:mine", content="x")))
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
        self.write(scope, lambda tx: task_notes.add(tx, scope, task.number, f"about {title}"))
        return Thing("task", number=task.number, id=task.id, title=title)

    def _add_texts(self, scope: Scope) -> Iterator[Thing]:
        for number in ("one", "two"):
            draft = PromptDraft(title=f"{CANARY} prompt {number}", content=f"{CANARY} text", tags=[CANARY])
            prompt = self.write(scope, lambda tx, draft=draft: prompts.add(tx, scope, draft))  # type: ignore[misc]
            yield Thing("prompt", id=prompt.id, name=prompt.name, title=prompt.title)
            name = f"{CANARY}-doc-{number}"
            given = ResourceDraft(name=name, uri=f"doc:{name}", content=CANARY)
            found = self.write(scope, lambda tx, given=given: resources.add(tx, scope, given))  # type: ignore[misc]
            yield Thing("resource", id=found.id, name=found.name)
        self.write(scope, lambda tx: prompts.delete(tx, scope, prompt.id))  # the last of each is in the trash
        self.write(scope, lambda tx: resources.delete(tx, scope, name))

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
        """Everything foreign, and how much has ever been changed of it."""
        looks = (
            "select number, owner, title, version, completed_at from tasks order by number",
            "select number, name, title, content, version from prompts order by number",
            "select number, name, uri, version from resources order by number",
            "select number, name, version from projects order by number",
            "select count(*) from revisions",
            "select count(*) from trash",
            "select count(*) from task_notes",
            "select count(*) from task_claims",
        )
        return [row for scope in (Scope(user=ANN), Scope(user=BOB)) for row in self.read(scope, partial(_ask, looks))]


def _ask(looks: Sequence[str], tx: Tx) -> list[Any]:
    return [tx.all(sql) for sql in looks]
