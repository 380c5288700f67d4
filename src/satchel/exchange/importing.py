"""Reads files of any format, and puts their entries into the store.

New entries are added, entries that the store already has are skipped, and clashes are resolved as the caller says. A
thousand entries are one transaction with a savepoint for each. An interrupted import keeps its committed batches; the
next run finds their entries unchanged, and continues.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from satchel import clock
from satchel.errors import NotFound, Refused
from satchel.exchange import cleaning, sources, storing
from satchel.exchange.entries import DocumentEntry, Entry, Found, Kind, Problem, PromptEntry, TaskEntry, Unreadable
from satchel.exchange.formats import recognise
from satchel.exchange.formats.shared import Format
from satchel.exchange.formats.skills import is_part
from satchel.exchange.sources import SourceFile
from satchel.exchange.storing import BATCH, TaskLinks
from satchel.model import Scope
from satchel.services import documents, projects, prompts, rules
from satchel.storage.database import Database, Tx

OnClash = Literal["skip", "rename", "replace"]
State = Literal["new", "same", "repeated", "clashing", "renamed", "replaced"]
STATES: tuple[State, ...] = ("new", "same", "repeated", "clashing", "renamed", "replaced")

# The extensions of files that no format reads, unless they belong to a skill; those in the first row never do.
_COMPILED = {"pyc", "so", "exe", "db", "wal"}
_FOREIGN = _COMPILED | {
    *("png", "jpg", "jpeg", "gif", "webp", "svg", "ico", "pdf", "zip", "gz", "tar", "mp3", "mp4", "woff", "woff2"),
    *("py", "js", "ts", "go", "rs", "sh", "css", "html", "lock", "toml", "bin"),
}


# -- reading ----------------------------------------------------------------------------------------------------


class FileRead(Struct, frozen=True):
    """The entries and problems of a file; `format` is empty if the file was not recognised."""

    where: str
    format: str
    found: tuple[Found, ...]


def list_files(paths: Sequence[str], stdin: bytes | None = None) -> list[SourceFile | Problem]:
    """Return the files at the given paths; `-` stands for stdin.

    Raises:
        FileNotFoundError: a path does not exist.
    """
    found: list[SourceFile | Problem] = []
    for path in paths:
        if path == "-" and stdin is not None:
            found.append(SourceFile("stdin", shown="stdin", data=stdin, is_trusted=True))
        else:
            found += sources.find([path])
    return found


def read_files(files: Sequence[SourceFile | Problem], format: Format | None = None) -> Iterator[FileRead]:
    """Yield the entries of each file, read in the given format or else in the one that is recognised."""
    for file in files:
        if isinstance(file, Problem):
            yield FileRead(file.where, "", (file,))
        elif format is None or file.is_given or file.extension in ("", *(format.extensions or (file.extension,))):
            yield _read_file(file, format)
            file.release()
        else:
            yield FileRead(file.shown, "", ())


def _read_file(file: SourceFile, format: Format | None) -> FileRead:
    """Return the entries of a file; a part that is broken becomes a Problem."""
    found: list[Found] = []
    try:
        is_foreign = file.extension in _FOREIGN and (file.extension in _COMPILED or not is_part(file))
        if format is None and not is_foreign:
            format = recognise(file)
        if format is not None:
            for one in format.module.read(file):
                found.append(_finish(one, format, file))
    except Unreadable as wrong:
        found.append(Problem(file.shown, str(wrong)))
    except RecursionError:
        found.append(Problem(file.shown, "it is nested too deep"))
    except OSError as error:
        found.append(Problem(file.shown, f"it cannot be read: {error.strerror}"))
    return FileRead(file.shown, format.name if format else "", tuple(found))


def _finish(found: Found, format: Format, file: SourceFile) -> Found:
    """Return an entry that the store accepts; its task keys are unique per file, or per format of several files."""
    if isinstance(found, Problem):
        return found
    if isinstance(found, TaskEntry):
        space = file.path if format.file or format.name == "satchel" else format.name
        key, parent = (f"{space}\0{one}" if one else "" for one in (found.key, found.parent))
        found = replace(found, key=key, after=tuple(f"{space}\0{one}" for one in found.after), parent=parent)
    try:
        return cleaning.clean_entry(cleaning.drop_hidden_characters(found))
    except Unreadable as wrong:
        return Problem(found.where or found.label, str(wrong))


# -- importing --------------------------------------------------------------------------------------------------


class Line(Struct, frozen=True):
    """The state of one entry after an import."""

    kind: Kind
    label: str
    state: State
    where: str
    notes: tuple[str, ...] = ()


class ImportReport(Struct, kw_only=True):
    """The result of an import, or of a dry run."""

    is_dry_run: bool = False
    is_interrupted: bool = False
    lines: list[Line] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    left_alone: list[Problem] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)  # files of no known format
    formats: dict[str, int] = field(default_factory=dict)  # number of files by format
    projects: list[str] = field(default_factory=list)  # created projects

    def count(self, kind: Kind) -> dict[State, int]:
        """Return how many entries of a kind are in each state."""
        counts: dict[State, int] = dict.fromkeys(STATES, 0)
        for line in self.lines:
            if line.kind == kind:
                counts[line.state] += 1
        return counts


class Options(Struct, frozen=True, kw_only=True):
    """The options of an import."""

    on_clash: OnClash = "skip"
    is_dry_run: bool = False
    report: Callable[[int, int], None] = lambda _done, _total: None  # entries done, and entries known so far


def run(database: Database, scope: Scope, files: Iterable[FileRead], options: Options) -> ImportReport:
    """Import files in batches, each of which is one transaction; a single undo reverses all of them."""
    scope = replace(scope, began=clock.now())
    report = ImportReport(is_dry_run=options.is_dry_run)
    placer = Placer(scope, options.on_clash, is_dry_run=options.is_dry_run)
    waiting: list[Entry] = []
    try:
        for file in files:
            entries = _sort_out(report, file)
            placer.expect(entries)
            waiting += entries
            while len(waiting) >= BATCH:
                _commit(database, scope, placer, report, waiting[:BATCH], options)
                del waiting[:BATCH]
        _commit(database, scope, placer, report, waiting, options)
    except KeyboardInterrupt:
        report.is_interrupted = True
    else:
        report.left_alone += [*placer.links.lost, *placer.links.list_missing()]
    return report


def _sort_out(report: ImportReport, file: FileRead) -> list[Entry]:
    """Report the problems of a file, and return its entries."""
    entries: list[Entry] = []
    for found in file.found:
        if isinstance(found, Problem):
            (report.left_alone if found.is_harmless else report.problems).append(found)
        else:
            entries.append(found)
    if file.format:
        report.formats[file.format] = report.formats.get(file.format, 0) + 1
    elif not file.found:
        report.unknown.append(file.where)
    return entries


def _commit(
    database: Database, scope: Scope, placer: "Placer", report: ImportReport, entries: Sequence[Entry], options: Options
) -> None:
    """Place entries in one transaction, and report the results after the commit."""
    lines: list[Line] = []
    refused: list[Problem] = []
    placer.begin()
    with (database.read if options.is_dry_run else database.write)(scope) as tx, tx.gathering():
        for place, entry in enumerate(entries, 1):
            try:
                state, label = placer.place(tx, entry)
                lines.append(Line(entry.kind, label, state, entry.where, entry.notes))
            except Refused as error:
                refused.append(Problem(entry.where or entry.label, cleaning.explain(error)))
            options.report(placer.count, placer.count + len(entries) - place)
    report.projects = [*placer.made]
    report.lines += lines
    report.problems += refused


# -- placing ----------------------------------------------------------------------------------------------------


class _Item(Struct):
    """An item in the store, or one that a dry run would add."""

    id: tuple[Kind, str | None, object]  # its kind, project, and name or number
    entry: Entry | None = None  # None: not read yet

    @property
    def key(self) -> object:
        """The name of a prompt or document; the number of a task."""
        return self.id[2]


class _Known:
    """The items of a project, including those that this import added."""

    def __init__(self, scope: Scope, project: str | None) -> None:
        self._scope = scope
        self._project = project
        self._read: set[Kind] = set()
        self.is_new = False  # in a dry run: the project would be created
        self.items: dict[tuple[Kind, str], list[_Item]] = {}  # by name; tasks by title
        self.others: dict[tuple[Kind, str], _Item] = {}  # prompts by title, documents by URI

    def put(self, kind: Kind, key: object, entry: Entry | None, name: str, other: str = "") -> _Item:
        """Record a new item."""
        item = _Item((kind, self._project, key), entry)
        self.items.setdefault((kind, name), []).append(item)
        if other:
            self.others[kind, other] = item
        return item

    def find(self, tx: Tx, entry: Entry) -> list[_Item]:
        """Return the items that may match an entry: tasks by title, others by name, and by title or URI."""
        self._look(tx, entry.kind)
        name = entry.title if isinstance(entry, TaskEntry) else entry.name or ""
        found = self.items.get((entry.kind, name), [])
        if isinstance(entry, TaskEntry):
            return found
        other = self.others.get((entry.kind, entry.title if isinstance(entry, PromptEntry) else entry.uri))
        return found if other is None or other in found else [*found, other]

    def _look(self, tx: Tx, kind: Kind) -> None:
        if kind in self._read or self.is_new:
            return
        self._read.add(kind)
        if kind == "prompt":
            for header in prompts.list_headers(tx, self._scope)[0]:
                self.put(kind, header.name, None, header.name, header.title)
        elif kind == "document":
            for one in documents.list_all(tx, self._scope):
                self.put(kind, one.name, None, one.name, one.uri)
        else:
            for task in storing.list_tasks(tx, self._scope, self._project):
                self.put(kind, task.number, storing.to_task(task, set()), task.title)

    def read(self, tx: Tx, item: _Item) -> Entry:
        """Return an item with its content."""
        if item.entry is None:
            name = str(item.key)
            if item.id[0] == "prompt":
                item.entry = storing.to_prompt(prompts.get_by_name(tx, self._scope, name))
            else:
                item.entry = storing.to_document(documents.get_by_name(tx, self._scope, name))
        return item.entry

    def retitle(self, item: _Item, entry: Entry) -> None:
        """Record that an item now matches an entry."""
        if isinstance(entry, PromptEntry) and isinstance(item.entry, PromptEntry):
            self.others.pop(("prompt", item.entry.title), None)
            self.others["prompt", entry.title] = item
        item.entry = entry


class Placer:
    """Puts entries into the store one by one; each stored item matches at most one of them."""

    def __init__(self, scope: Scope, on_clash: OnClash, *, is_dry_run: bool = False) -> None:
        self._scope = scope
        self._on_clash = on_clash
        self._is_dry_run = is_dry_run
        self._known: dict[str | None, _Known] = {}
        self._wanted: Counter[object] = Counter()  # entries still to come
        self._named: dict[tuple[str | None, object], str] = {}  # titles of prompts in the files, by project and name
        self._matched: set[object] = set()  # items with a matching entry
        self.count = 0  # the number of entries so far
        self.made: list[str] = []  # created projects
        self.links = TaskLinks(scope)

    def begin(self) -> None:
        """Prepare for a new transaction, because others may have written since the last one."""
        if not self._is_dry_run:
            self._known = {}

    def expect(self, entries: Sequence[Entry]) -> None:
        """Announce later entries, so that earlier entries neither match the same items nor take the same titles."""
        self._wanted.update(map(_identify, entries))
        named = [one for one in entries if isinstance(one, PromptEntry) and one.name]
        self._named |= {(one.project, one.name): one.title for one in named}

    def place(self, tx: Tx, entry: Entry) -> tuple[State, str]:
        """Put an entry into the store, and return its state and its stored name.

        Raises:
            Refused: the store does not accept it.
        """
        self.count += 1
        identity = _identify(entry)
        self._wanted[identity] -= 1
        if self._wanted[identity] <= 0:
            del self._wanted[identity]
        known = self._enter(tx, entry)
        entry = _avoid_title(tx, known, entry)
        state, entry, item = self._choose(tx, known, entry)
        scope = self._scope if not entry.project else projects.enter(self._scope, entry.project)
        linked: list[int] | None = None
        if item is None and isinstance(entry, TaskEntry):
            linked = self.links.find_blockers(entry)
        if state in ("new", "renamed", "replaced"):
            was = known.read(tx, item) if item else None
            with tx.savepoint():
                if isinstance(entry, PromptEntry):
                    self._free_title(tx, known, scope, entry, item)
                key = self._write(tx, scope, entry, item, was, linked)
            if item is None:
                item = _learn(known, key, entry)
            else:
                known.retitle(item, entry)
        assert item is not None, "an entry is added, or has an item"
        self._matched.add(item.id)
        if isinstance(entry, TaskEntry):
            if not self._is_dry_run:
                self.links.learn(tx, int(str(item.key)), entry, linked)
            return state, entry.title
        return state, str(item.key)

    def _enter(self, tx: Tx, entry: Entry) -> _Known:
        """Return the items of an entry's project; create the project if it does not exist."""
        if isinstance(entry, TaskEntry) and entry.project == "":
            return self._known.setdefault(None, _Known(self._scope, None))
        project = entry.project or self._scope.project
        if project not in self._known:
            known = _Known(projects.enter(self._scope, project), project)
            if project != self._scope.project:
                try:
                    projects.get_existing(tx, self._scope, project)
                except NotFound:
                    if self._is_dry_run:
                        rules.clean_new_name("project", project)
                        known.is_new = True
                    else:
                        projects.add(tx, project)
                    self.made.append(project)
            self._known[project] = known
        return self._known[project]

    def _choose(self, tx: Tx, known: _Known, entry: Entry) -> tuple[State, Entry, _Item | None]:
        """Choose the state of an entry, its name and title in the store, and the item that it matches or replaces."""
        is_task = isinstance(entry, TaskEntry)
        clashing: tuple[Entry, _Item] | None = None
        free = entry
        for number in count(1):
            free = entry if number == 1 else storing.renumber(entry, number)
            there = known.find(tx, free)
            for item in there:
                if not (is_task and item.id in self._matched) and _is_same(known.read(tx, item), free):
                    return ("repeated" if item.id in self._matched else "same"), free, item
            there = [one for one in there if not self._will_be_renamed(one, free)]
            if not there:
                break
            for item in there:
                is_matched = item.id in self._matched
                has_own_entry = item.key != getattr(free, "name", None) and (entry.project, item.key) in self._named
                is_open = not is_matched and (number == 1 if is_task else not has_own_entry)
                # An item that equals a later entry with this one's name or title is left for that entry.
                if clashing is None and is_open:
                    wanted = self._wanted[(*_identify(entry)[:3], storing.facts(known.read(tx, item)))]
                    clashing = None if wanted > 0 else (free, item)
        if clashing is None:
            # Several tasks may have the same title.
            return ("new", entry, None) if is_task or number == 1 else ("renamed", free, None)
        if self._on_clash == "rename":
            return "renamed", free, None
        return ("replaced" if self._on_clash == "replace" else "clashing"), *clashing

    def _will_be_renamed(self, item: _Item, entry: Entry) -> bool:
        """Return whether a later entry will rename the prompt that now has an entry's title."""
        if self._on_clash != "replace" or not isinstance(entry, PromptEntry) or item.id in self._matched:
            return False
        title = self._named.get((entry.project, item.key), entry.title)
        return item.key != entry.name and title != entry.title

    def _free_title(self, tx: Tx, known: _Known, scope: Scope, entry: PromptEntry, item: _Item | None) -> None:
        """Free the title that an entry needs, by giving an interim title to the prompt that will be renamed."""
        holder = known.others.get(("prompt", entry.title))
        if holder is None or holder is item or not self._will_be_renamed(holder, entry):
            return
        was = known.read(tx, holder)
        assert isinstance(was, PromptEntry), "only prompts have titles that are unique"
        aside = "" if self._is_dry_run else storing.set_title_aside(tx, scope, str(holder.key), was.title)[0]
        known.retitle(holder, replace(was, title=aside))

    def _write(
        self, tx: Tx, scope: Scope, entry: Entry, item: _Item | None, was: Entry | None, linked: list[int] | None
    ) -> object:
        """Add or change an item, and return its name or number."""
        if self._is_dry_run:
            return -1 - len(self._matched)  # no stored task has this number
        if not isinstance(entry, TaskEntry):
            if item is None:
                return storing.add(tx, scope, entry).name
            return storing.change(tx, scope, str(item.key), entry).name
        if item is None:
            project = None if entry.project == "" else scope.project
            return storing.add_task(tx, self._scope, project, entry, linked or []).number
        assert isinstance(was, TaskEntry)
        storing.change_task(tx, self._scope, int(str(item.key)), entry, was.status)
        return item.key


def _learn(known: _Known, key: object, entry: Entry) -> _Item:
    if isinstance(entry, TaskEntry):
        return known.put("task", key, entry, entry.title)
    if isinstance(entry, DocumentEntry):
        return known.put("document", entry.name, entry, entry.name, entry.uri)
    name = key if isinstance(key, str) else entry.name or prompts.make_name(entry.title) or entry.title
    return known.put("prompt", name, entry, name, entry.title)


def _identify(entry: Entry) -> tuple[object, ...]:
    name = entry.title if isinstance(entry, TaskEntry) else entry.name or entry.label
    return entry.kind, entry.project, name, storing.facts(entry)


def _is_same(there: Entry, entry: Entry) -> bool:
    if isinstance(there, PromptEntry) and isinstance(entry, PromptEntry) and there.title != entry.title:
        is_made = there.title == entry.name and entry.title == cleaning.make_title(entry.name)
        return is_made and storing.facts(there) == storing.facts(entry)
    return storing.facts(there) == storing.facts(entry)


def _avoid_title(tx: Tx, known: _Known, entry: Entry) -> Entry:
    """Give a prompt its name as its title if another prompt has the title made from the name."""
    if not isinstance(entry, PromptEntry) or not entry.name or entry.title != cleaning.make_title(entry.name):
        return entry
    there = known.find(tx, entry)
    is_free = ("prompt", entry.name) not in known.others
    return replace(entry, title=entry.name) if there and there[0].key != entry.name and is_free else entry
