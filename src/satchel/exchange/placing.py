"""Finds the place of an entry in the store: new, the same as what is there, or clashing; and puts it there."""

from satchel.exchange.entries import Entry, Problem, PromptEntry, TaskEntry
from satchel.exchange.ledger import Ledger, State
from satchel.exchange.placing_documents import DocumentPlacer
from satchel.exchange.placing_prompts import PromptPlacer
from satchel.exchange.placing_tasks import TaskPlacer
from satchel.model import Scope
from satchel.storage.database import Tx


class Placer:
    """Places the entries of one import, one after the other."""

    def __init__(self, scope: Scope, on_clash: str, *, is_dry_run: bool = False) -> None:
        self._ledger = Ledger(scope, on_clash, is_dry_run=is_dry_run)
        self._prompts = PromptPlacer(self._ledger)
        self._documents = DocumentPlacer(self._ledger)
        self._tasks = TaskPlacer(self._ledger)

    @property
    def made(self) -> list[str]:
        """The projects that were made."""
        return self._ledger.made

    def begin(self) -> None:
        """From here on, what is learned can be forgotten again."""
        self._ledger.begin()

    def roll_back(self) -> None:
        """Forget what was learned since `begin`, because the transaction was rolled back."""
        self._ledger.roll_back()

    def list_lost(self) -> list[Problem]:
        """The dependencies that could not be kept; a dry run does not know."""
        return [] if self._ledger.is_dry_run else [*self._ledger.lost, *self._tasks.list_missing()]

    def place(self, tx: Tx, entry: Entry) -> tuple[State, str]:
        """Put an entry into the store, and tell its state and its name there."""
        if isinstance(entry, PromptEntry):
            return self._prompts.place(tx, entry)
        if isinstance(entry, TaskEntry):
            return self._tasks.place(tx, entry)
        return self._documents.place(tx, entry)
