"""Places prompts of an import: new, the same as what is there, or clashing."""

from collections.abc import Iterator
from itertools import count

from msgspec.structs import replace

from satchel.exchange import cleaning
from satchel.exchange.entries import PromptEntry
from satchel.exchange.ledger import Ledger, State
from satchel.exchange.snapshot import to_prompt
from satchel.model import PromptDraft, PromptPatch, Scope
from satchel.services import prompts, rules
from satchel.storage.database import Tx


class PromptPlacer:
    """Places prompts, one after the other."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def place(self, tx: Tx, entry: PromptEntry) -> tuple[State, str]:
        """Put a prompt into the store, and tell its state and its name there."""
        scope = self._ledger.enter(tx, entry.project)
        known = self._ledger.look(tx, scope)
        draft = rules.clean_prompt(_draft(entry))
        entry = replace(entry, title=str(draft.title), tags=tuple(draft.tags), description=draft.description)
        there = entry.name if entry.name in known.prompts else known.titles.get(entry.title)
        if there is not None and there != entry.name and _has_made_title(entry) and entry.name not in known.titles:
            # Its source has no titles, and another prompt has the one that was made from its name.
            entry, there = replace(entry, title=str(entry.name)), None
        if there is None:
            return "new", self._add_prompt(tx, scope, entry)
        if _is_same_prompt(self._read_prompt(tx, scope, there), entry):
            return "same", there
        if self._ledger.on_clash == "replace":
            return "replaced", self._replace_prompt(tx, scope, there, entry)
        return (
            self._rename_prompt(tx, scope, entry, there) if self._ledger.on_clash == "rename" else ("clashing", there)
        )

    def _add_prompt(self, tx: Tx, scope: Scope, entry: PromptEntry) -> str:
        known = self._ledger.look(tx, scope)
        name = entry.name or prompts.make_name(entry.title) or entry.title
        if not self._ledger.is_dry_run:
            name = prompts.add(tx, scope, _draft(entry)).name
        self._ledger.set(known.prompts, name, entry)
        self._ledger.set(known.titles, entry.title, name)
        return name

    def _read_prompt(self, tx: Tx, scope: Scope, name: str) -> PromptEntry:
        return self._ledger.look(tx, scope).prompts[name] or to_prompt(prompts.get_by_name(tx, scope, name))

    def _replace_prompt(self, tx: Tx, scope: Scope, name: str, entry: PromptEntry) -> str:
        known = self._ledger.look(tx, scope)
        if not self._ledger.is_dry_run:
            patch = PromptPatch(
                title=entry.title,
                content=entry.content,
                description=entry.description,
                tags=entry.tags,
                arguments=entry.arguments,
            )
            prompts.update(tx, scope, prompts.get_by_name(tx, scope, name).id, patch)
        self._ledger.set(known.prompts, name, entry)
        self._ledger.set(known.titles, entry.title, name)
        return name

    def _rename_prompt(self, tx: Tx, scope: Scope, entry: PromptEntry, there: str) -> tuple[State, str]:
        known = self._ledger.look(tx, scope)
        for name, title in _other_names(entry.name or there, entry.title):
            taken = name if name in known.prompts else known.titles.get(title)
            if taken is None:
                return "renamed", self._add_prompt(tx, scope, replace(entry, name=name, title=title))
            if _is_same_prompt(self._read_prompt(tx, scope, taken), replace(entry, title=title)):
                return "same", taken
        raise AssertionError("there is always another number")


def _draft(entry: PromptEntry) -> PromptDraft:
    return PromptDraft(
        name=entry.name,
        title=entry.title,
        content=entry.content,
        description=entry.description,
        tags=entry.tags,
        arguments=entry.arguments,
    )


def _has_made_title(entry: PromptEntry) -> bool:
    return entry.name is not None and entry.title == cleaning.make_title(entry.name)


def _is_same_prompt(there: PromptEntry, entry: PromptEntry) -> bool:
    if there.title == entry.name and _has_made_title(entry):
        entry = replace(entry, title=there.title)
    return (there.title, there.content, there.description, there.tags, there.arguments) == (
        entry.title,
        entry.content,
        entry.description,
        entry.tags,
        entry.arguments,
    )


def _other_names(name: str, title: str) -> Iterator[tuple[str, str]]:
    for number in count(2):
        yield f"{name[: rules.MAX_NAME - 9]}-{number}", f"{title[: rules.MAX_TITLE - 9]} ({number})"
