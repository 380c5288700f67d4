"""What an import knows about the store: what projects hold, what it has put there, and how to forget that again."""

from collections.abc import Callable
from typing import Literal, TypeVar

from satchel.errors import NotFound
from satchel.exchange.entries import DocumentEntry, Problem, PromptEntry
from satchel.exchange.snapshot import list_tasks
from satchel.model import Scope, TaskDetails
from satchel.services import projects, prompts, resources
from satchel.storage.database import Tx

State = Literal["new", "same", "clashing", "renamed", "replaced"]
Key = TypeVar("Key")
Value = TypeVar("Value")


class Known:
    """What a project holds, those entries too that this import has put there. None: to be read from the store."""

    def __init__(self) -> None:
        self.prompts: dict[str, PromptEntry | None] = {}
        self.titles: dict[str, str] = {}  # the name of the prompt with a title
        self.documents: dict[str, DocumentEntry | None] = {}
        self.uris: dict[str, str] = {}
        self.tasks: dict[str, list[TaskDetails]] = {}  # by title, those that no entry was matched with


class Ledger:
    """The knowledge of one import. It learns of an entry only when that is in the store."""

    def __init__(self, scope: Scope, on_clash: str, *, is_dry_run: bool) -> None:
        self.scope = scope
        self.on_clash = on_clash
        self.is_dry_run = is_dry_run
        self.undo: list[Callable[[], object]] = []
        self.made: list[str] = []  # projects
        self.lost: list[Problem] = []
        self._known: dict[str, Known] = {}

    def begin(self) -> None:
        """From here on, what is learned can be forgotten again."""
        self.undo = []

    def roll_back(self) -> None:
        """Forget what was learned since `begin`, because the transaction was rolled back."""
        while self.undo:
            self.undo.pop()()

    def enter(self, tx: Tx, project: str | None) -> Scope:
        """The scope of the project that an entry goes to, which is made where there is none."""
        if not project or project == self.scope.project:
            return self.scope
        scope = projects.enter(self.scope, project)
        if project in self._known:
            return scope
        try:
            projects.get_existing(tx, self.scope, project)
        except NotFound:
            if project not in self.made:
                if not self.is_dry_run:
                    projects.add(tx, project)
                self.made.append(project)
                self.undo.append(lambda: self.made.remove(project))
            self.set(self._known, project, Known())
        return scope

    def look(self, tx: Tx, scope: Scope) -> Known:
        """What the project of a scope holds."""
        if scope.project not in self._known:
            known = Known()
            for header in prompts.list_headers(tx, scope)[0]:
                known.prompts[header.name] = None
                known.titles[header.title] = header.name
            for one in resources.list_all(tx, scope):
                known.documents[one.name] = None
                known.uris[one.uri] = one.name
            for task in list_tasks(tx, self.scope, scope.project):
                known.tasks.setdefault(task.title, []).append(task)
            self.set(self._known, scope.project, known)
        return self._known[scope.project]

    def look_at_tasks(self, tx: Tx, project: str | None) -> dict[str, list[TaskDetails]]:
        """The tasks of a project, or of none, by title."""
        if project is not None:
            return self.look(tx, projects.enter(self.scope, project)).tasks
        if "" not in self._known:
            known = Known()
            for task in list_tasks(tx, self.scope, None):
                known.tasks.setdefault(task.title, []).append(task)
            self.set(self._known, "", known)
        return self._known[""].tasks

    def set(self, mapping: dict[Key, Value], key: Key, value: Value) -> None:
        """Learn something."""
        had, before = key in mapping, mapping.get(key)

        def undo() -> None:
            if had:
                mapping[key] = before  # type: ignore[assignment]
            else:
                mapping.pop(key, None)

        mapping[key] = value
        self.undo.append(undo)

    def remove(self, pool: list[TaskDetails], task: TaskDetails) -> None:
        """Learn that a task has its entry."""
        pool.remove(task)
        self.undo.append(lambda: pool.insert(0, task))
