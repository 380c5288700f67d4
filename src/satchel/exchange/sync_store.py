"""The changes that a sync makes to the store, one step at a time, in the transaction of the caller."""

from itertools import count

from msgspec.structs import replace

from satchel.errors import NotFound, Taken, VersionConflict
from satchel.exchange.entries import DocumentEntry, Entry, Kind, PromptEntry, TaskEntry
from satchel.exchange.snapshot import Snapshot, to_document, to_prompt, to_task
from satchel.exchange.sync_plan import Step, is_new
from satchel.model import (
    BlockerChange,
    PromptDraft,
    PromptPatch,
    ResourceDraft,
    ResourcePatch,
    Scope,
    TaskDraft,
    TaskPatch,
)
from satchel.services import prompts, resources, rules, task_notes, tasks
from satchel.storage.database import Tx

Results = dict[tuple[Kind, str], Entry | None]  # what both sides have then; None: neither has it


class StoreSide:
    """The store as a sync found it, and as it changes it."""

    def __init__(self, scope: Scope, here: Snapshot, moving: dict[str, str]) -> None:
        self._scope = scope
        self._here = here
        self._versions = dict(here.versions)
        self._titles = {entry.title: name for name, entry in here.prompts.items()}
        self._names = {*here.prompts}
        self._documents = {*here.documents}
        self._numbers = {key: int(key) for key in here.tasks}
        self._waiting: dict[str, list[int]] = {}
        self._moving = moving  # the titles that the folder gives to prompts which are updated

    def begin(self) -> None:
        """From here on, what is done can be forgotten again."""
        kept = (
            dict(self._versions),
            dict(self._titles),
            set(self._names),
            set(self._documents),
            dict(self._numbers),
            {key: list(value) for key, value in self._waiting.items()},
        )
        self._kept = kept

    def roll_back(self) -> None:
        """Forget what was done since `begin`, because the transaction was rolled back."""
        self._versions, self._titles, self._names, self._documents, self._numbers, self._waiting = self._kept

    def carry_out(self, tx: Tx, step: Step) -> Results:
        """Do a step to the store, and say what both sides have then.

        Raises:
            VersionConflict, NotFound: it was changed meanwhile.
            Refused: it breaks a rule.
        """
        run = {
            "prompt": self._change_prompt,
            "document": self._change_document,
            "task": self._change_task,
        }[step.kind]
        return run(tx, step)

    # -- prompts --------------------------------------------------------------------------------------------------

    def _change_prompt(self, tx: Tx, step: Step) -> Results:
        entry = step.theirs
        if step.action == "delete":
            prompt = prompts.get_by_name(tx, self._scope, step.key)
            self._check_version("prompt", step.key, prompt.version)
            prompts.delete(tx, self._scope, prompt.id)
            self._titles.pop(prompt.title, None)
            self._names.discard(step.key)
            return {("prompt", step.key): None}
        assert isinstance(entry, PromptEntry), "only a deletion has no entry in the folder"
        if step.action == "update":
            return {("prompt", step.key): self._update_prompt(tx, step.key, entry)}
        if step.action == "add":
            return {("prompt", step.key): self._add_prompt(tx, entry)}
        copy = self._copy_prompt(tx, entry)
        return {("prompt", step.key): step.ours, ("prompt", str(copy.name)): copy}

    def _update_prompt(self, tx: Tx, name: str, entry: PromptEntry) -> PromptEntry:
        holder = self._titles.get(entry.title, name)
        if holder != name:
            self._free_title(tx, holder, entry.title)
        prompt = prompts.get_by_name(tx, self._scope, name)
        self._check_version("prompt", name, prompt.version)
        patch = PromptPatch(
            title=entry.title,
            content=entry.content,
            description=entry.description,
            tags=entry.tags,
            arguments=entry.arguments,
        )
        changed = prompts.update(tx, self._scope, prompt.id, patch)
        if self._titles.get(prompt.title) == name:
            del self._titles[prompt.title]
        self._titles[changed.title] = name
        self._versions["prompt", name] = changed.version
        return to_prompt(changed)

    def _free_title(self, tx: Tx, holder: str, title: str) -> None:
        """Give the prompt that still has a title another one, where the folder gives it another one too.

        Raises:
            Taken: the folder leaves it its title.
        """
        self._check_moving(holder, title)
        prompt = prompts.get_by_name(tx, self._scope, holder)
        self._check_version("prompt", holder, prompt.version)
        aside = f"{title[: rules.MAX_TITLE - 40]} {prompt.id}"
        changed = prompts.update(tx, self._scope, prompt.id, PromptPatch(title=aside))
        self._versions["prompt", holder] = changed.version
        del self._titles[title]
        self._titles[aside] = holder

    def _check_moving(self, holder: str, title: str) -> None:
        if self._moving.get(holder, title) == title:
            raise Taken("prompt", "title", title, self._scope, holder=holder)

    def _add_prompt(self, tx: Tx, entry: PromptEntry) -> PromptEntry:
        holder = self._titles.get(entry.title)
        if holder is not None:
            self._free_title(tx, holder, entry.title)
        draft = PromptDraft(
            name=entry.name,
            title=entry.title,
            content=entry.content,
            description=entry.description,
            tags=entry.tags,
            arguments=entry.arguments,
        )
        added = prompts.add(tx, self._scope, draft)
        self._titles[added.title] = added.name
        self._names.add(added.name)
        self._versions["prompt", added.name] = added.version
        return to_prompt(added)

    def _copy_prompt(self, tx: Tx, entry: PromptEntry) -> PromptEntry:
        """The folder's side of a clash, as a prompt of its own; one that an interrupted sync made is used again."""
        for number in count(2):
            name = f"{str(entry.name)[: rules.MAX_NAME - 9]}-{number}"
            if name in self._names:
                there = to_prompt(prompts.get_by_name(tx, self._scope, name))
                if (there.content, there.tags, there.arguments) == (entry.content, entry.tags, entry.arguments):
                    return there
                continue
            title = self._find_title(entry.title)
            return self._add_prompt(tx, replace(entry, name=name, title=title))
        raise AssertionError("there is always another number")

    def _find_title(self, title: str) -> str:
        if title not in self._titles:
            return title
        titles = (f"{title[: rules.MAX_TITLE - 9]} ({number})" for number in count(2))
        return next(one for one in titles if one not in self._titles)

    # -- documents ------------------------------------------------------------------------------------------------

    def _change_document(self, tx: Tx, step: Step) -> Results:
        entry = step.theirs
        if step.action == "delete":
            self._delete_document(tx, step.key)
            return {("document", step.key): None}
        assert isinstance(entry, DocumentEntry), "only a deletion has no entry in the folder"
        if step.action == "update":
            return {("document", step.key): self._update_document(tx, entry, step.ours)}
        if step.action == "add":
            return {("document", step.key): self._add_document(tx, entry)}
        copy = self._copy_document(tx, entry)
        return {("document", step.key): step.ours, ("document", copy.name): copy}

    def _delete_document(self, tx: Tx, name: str) -> None:
        self._check_version("document", name, resources.get_by_name(tx, self._scope, name).version)
        resources.delete(tx, self._scope, name)
        self._documents.discard(name)

    def _update_document(self, tx: Tx, entry: DocumentEntry, ours: Entry | None) -> DocumentEntry:
        if isinstance(ours, DocumentEntry) and ours.uri != entry.uri:  # which cannot be changed
            self._delete_document(tx, entry.name)
            return self._add_document(tx, entry)
        patch = ResourcePatch(content=entry.content, mime_type=entry.mime_type, description=entry.description)
        version = self._versions["document", entry.name]
        changed = resources.update(tx, self._scope, entry.name, patch, expected_version=version)
        self._versions["document", entry.name] = changed.version
        return to_document(changed)

    def _add_document(self, tx: Tx, entry: DocumentEntry) -> DocumentEntry:
        draft = ResourceDraft(
            name=entry.name,
            uri=entry.uri,
            content=entry.content,
            mime_type=entry.mime_type,
            description=entry.description,
        )
        added = resources.add(tx, self._scope, draft)
        self._documents.add(added.name)
        self._versions["document", added.name] = added.version
        return to_document(added)

    def _copy_document(self, tx: Tx, entry: DocumentEntry) -> DocumentEntry:
        stem, dot, extension = entry.name.rpartition(".")
        for number in count(2):
            name = f"{stem}-{number}{dot}{extension}" if stem else f"{entry.name}-{number}"
            if name in self._documents:
                there = to_document(resources.get_by_name(tx, self._scope, name))
                if there.content == entry.content and there.mime_type == entry.mime_type:
                    return there
                continue
            return self._add_document(tx, replace(entry, name=name, uri=f"satchel://resource/{name}"))
        raise AssertionError("there is always another number")

    # -- tasks ----------------------------------------------------------------------------------------------------

    def _change_task(self, tx: Tx, step: Step) -> Results:
        entry = step.theirs
        if step.action == "delete":
            number = int(step.key)
            tasks.check_unchanged(tx, self._scope, number, self._versions["task", step.key])
            for other in tasks.list_blocked(tx, self._scope, number):
                self._versions.pop(("task", str(other.number)), None)  # they get a new version by it
            tasks.delete(tx, self._scope, number)
            return {("task", step.key): None}
        assert isinstance(entry, TaskEntry), "only a deletion has no entry in the folder"
        if step.action == "update":
            self._update_task(tx, int(step.key), entry)
            return {("task", step.key): self._read_task(tx, int(step.key))}
        if step.action == "clash":
            entry = replace(entry, title=f"{entry.title[: rules.MAX_TASK_TITLE - 20]} (from the folder)", key="")
        number = self._add_task(tx, entry)
        results: Results = {("task", str(number)): self._read_task(tx, number)}
        if step.action == "clash":
            results["task", step.key] = step.ours
        elif not is_new(step.key):
            results["task", step.key] = None  # the store had deleted it; it has a new number now
        return results

    def _read_task(self, tx: Tx, number: int) -> TaskEntry:
        [task] = tasks.list_some(tx, self._scope, [number])
        return to_task(tx, self._scope, task, {*self._numbers.values()})

    def _add_task(self, tx: Tx, entry: TaskEntry) -> int:
        draft = TaskDraft(
            title=entry.title,
            description=entry.description,
            project=self._scope.project,
            tags=entry.tags,
            priority=entry.priority,
            due=entry.due,
            blocked_by=sorted({self._numbers[key] for key in entry.after if key in self._numbers}),
        )
        task = tasks.add(tx, self._scope, draft)
        for note in entry.comments:
            task_notes.add(tx, self._scope, task.number, note.text, at=note.at or None)
        if entry.status != "pending":
            tasks.update(tx, self._scope, task.number, _close(entry))
        if entry.key:
            self._numbers[entry.key] = task.number
            for number in self._waiting.pop(entry.key, []):
                patch = TaskPatch(blocked_by=BlockerChange(added=(task.number,)))
                tasks.update(tx, self._scope, number, patch)
                self._versions.pop(("task", str(number)), None)
        self._numbers[str(task.number)] = task.number
        for key in entry.after:
            if key not in self._numbers:
                self._waiting.setdefault(key, []).append(task.number)
        return task.number

    def _update_task(self, tx: Tx, number: int, entry: TaskEntry) -> None:
        key = str(number)
        before = self._here.tasks[key]
        wanted = {self._numbers[one] for one in entry.after if one in self._numbers}
        known = {int(one) for one in before.after}
        for one in entry.after:
            if one not in self._numbers:
                self._waiting.setdefault(one, []).append(number)
        patch = TaskPatch(
            title=entry.title,
            description=entry.description,
            tags=entry.tags,
            priority=entry.priority,
            due=entry.due,
            blocked_by=BlockerChange(added=tuple(sorted(wanted - known)), removed=tuple(sorted(known - wanted))),
        )
        if entry.status != before.status:
            patch = replace(patch, status=entry.status)
        tasks.update(tx, self._scope, number, patch, expected_version=self._versions.get(("task", key)))
        self._versions.pop(("task", key), None)
        texts = {note.text for note in before.comments}
        for note in entry.comments:
            if note.text not in texts:
                task_notes.add(tx, self._scope, number, note.text, at=note.at or None)

    def _check_version(self, kind: Kind, key: str, version: int) -> None:
        expected = self._versions.get((kind, key))
        if expected is None:
            raise NotFound(kind, key, self._scope)
        if expected != version:
            raise VersionConflict(kind, key, expected=expected, actual=version)


def _close(entry: TaskEntry) -> TaskPatch:
    if entry.completed_at:
        return TaskPatch(completed_at=entry.completed_at, is_cancelled=entry.status == "cancelled")
    return TaskPatch(status=entry.status)
