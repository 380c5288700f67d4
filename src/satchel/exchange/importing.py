"""Brings entries into the store: what is new is added, what is the same is left, what clashes is as the caller says.

A thousand entries are one transaction. What was committed stays where the import is interrupted; the next run finds it
to be the same, and goes on.
"""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from satchel.errors import Refused, StoreConflict
from satchel.exchange.entries import DocumentEntry, Entry, Kind, Problem
from satchel.exchange.ledger import State
from satchel.exchange.placing import Placer
from satchel.exchange.prompt_file import explain
from satchel.exchange.reading import FileRead
from satchel.model import Scope
from satchel.services.hidden_characters import drop_hidden, find_hidden
from satchel.storage.database import Database, Tx

BATCH = 1000  # entries of one transaction
_TRIES = 5  # of the transaction of one entry
OnClash = Literal["skip", "rename", "replace"]
STATES: tuple[State, ...] = ("new", "same", "clashing", "renamed", "replaced")


class Line(Struct, frozen=True):
    """What became of one entry."""

    kind: Kind
    label: str
    state: State
    where: str
    notes: tuple[str, ...] = ()


class ImportReport(Struct, kw_only=True):
    """What an import did, or would do."""

    is_dry_run: bool = False
    is_interrupted: bool = False
    lines: list[Line] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    left_alone: list[Problem] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)  # files of no known format
    formats: dict[str, int] = field(default_factory=dict)  # files of each
    projects: list[str] = field(default_factory=list)  # that were made

    def count(self, kind: Kind) -> dict[State, int]:
        """How many entries of a kind are in each state."""
        counts: dict[State, int] = dict.fromkeys(STATES, 0)
        for line in self.lines:
            if line.kind == kind:
                counts[line.state] += 1
        return counts


class Options(Struct, frozen=True, kw_only=True):
    """How to import."""

    on_clash: OnClash = "skip"
    is_dry_run: bool = False
    report: Callable[[int, int], None] = lambda _done, _total: None  # entries done, and known so far


def run(database: Database, scope: Scope, files: Iterable[FileRead], options: Options) -> ImportReport:
    """Import what some files hold."""
    result = ImportReport(is_dry_run=options.is_dry_run)
    importer = _Importer(database, scope, options, result)
    waiting: list[Entry] = []
    try:
        with _note_interrupts() as importer.check_interrupts:
            for file in files:
                waiting += _sort_out(result, file)
                while len(waiting) >= BATCH:
                    importer.commit(waiting[:BATCH])
                    del waiting[:BATCH]
            importer.commit(waiting)
    except KeyboardInterrupt:
        result.is_interrupted = True
    result.projects = importer.placer.made
    result.left_alone += importer.placer.list_lost()
    return result


@contextmanager
def _note_interrupts() -> Iterator[Callable[[], None]]:
    """Have the first Ctrl-C act only where the function that this gives is called: never between commit and count."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler or not _is_main_thread():
        yield lambda: None
        return
    noted: list[int] = []

    def note(number: int, _: object) -> None:
        if noted:
            raise KeyboardInterrupt
        noted.append(number)

    def check() -> None:
        if noted:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _sort_out(result: ImportReport, file: FileRead) -> list[Entry]:
    """The entries of a file; what is wrong with it is reported."""
    entries: list[Entry] = []
    for found in file.found:
        if isinstance(found, Problem):
            (result.left_alone if found.is_harmless else result.problems).append(found)
        else:
            entries.append(found)
    if file.format:
        result.formats[file.format] = result.formats.get(file.format, 0) + 1
    elif not file.found:
        result.unknown.append(file.where)
    return entries


class _Importer:
    def __init__(self, database: Database, scope: Scope, options: Options, result: ImportReport) -> None:
        self._database = database
        self._scope = scope
        self._options = options
        self._result = result
        self._done = 0
        self.check_interrupts: Callable[[], None] = lambda: None
        self.placer = Placer(scope, options.on_clash, is_dry_run=options.is_dry_run)

    def commit(self, entries: Sequence[Entry]) -> None:
        """One transaction; where an entry is refused in it, each entry gets one of its own."""
        if not entries:
            return
        total = self._done + len(entries)
        self.placer.begin()
        try:
            self._result.lines += self._place_all(entries, total)
        except (Refused, StoreConflict):
            self.placer.roll_back()
            self._place_each(entries, total)
        except KeyboardInterrupt:
            self.placer.roll_back()
            raise
        self._done = total

    def _place_all(self, entries: Sequence[Entry], total: int) -> list[Line]:
        lines = []
        with self._begin() as tx, tx.gathering():
            for place, entry in enumerate(entries, 1):
                self.check_interrupts()
                lines.append(_place(self.placer, tx, entry))
                self._options.report(self._done + place, total)
        return lines

    def _place_each(self, entries: Sequence[Entry], total: int) -> None:
        for place, entry in enumerate(entries, 1):
            self.check_interrupts()
            try:
                self._result.lines.append(self._place_alone(entry))
            except Refused as refused:
                self._result.problems.append(Problem(entry.where or entry.label, explain(refused)))
            self._options.report(self._done + place, total)

    def _place_alone(self, entry: Entry) -> Line:
        """One entry in a transaction of its own, again where that lost against another one."""
        for attempt in range(_TRIES):
            self.placer.begin()
            try:
                with self._begin() as tx:
                    return _place(self.placer, tx, entry)
            except StoreConflict:
                self.placer.roll_back()
                if attempt == _TRIES - 1:
                    raise
            except BaseException:
                self.placer.roll_back()
                raise
        raise AssertionError("the last try returns or raises")

    def _begin(self) -> AbstractContextManager[Tx]:
        return self._database.read(self._scope) if self._options.is_dry_run else self._database.write(self._scope)


def _place(placer: Placer, tx: Tx, entry: Entry) -> Line:
    entry = _show_title(entry)
    state, label = placer.place(tx, entry)
    return Line(entry.kind, label, state, entry.where, entry.notes)


def _show_title(entry: Entry) -> Entry:
    """An entry without the characters of its title that do not show."""
    if isinstance(entry, DocumentEntry) or find_hidden(entry.title.strip()) is None:
        return entry
    note = "The title had characters that do not show, which are left out."
    return replace(entry, title=drop_hidden(entry.title.strip()), notes=(*entry.notes, note))
