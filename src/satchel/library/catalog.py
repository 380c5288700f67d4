"""All libraries at one moment: discovered on disk, immutable, swapped whole when the disk changes."""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Raw, Struct

from satchel.library import files
from satchel.library.manifest import MAX_MANIFEST, NAME, LibraryPrompt, Manifest, Problem, parse
from satchel.library.render import MAX_TEMPLATE, Renderer, RenderFailed
from satchel.log import log
from satchel.model import Argument, StoreChange

PROMPTS = "prompts"
_ANOTHER_TRY = 25.0  # seconds, so that the look at everything every half minute finds it due
_LOGGED = 20  # problems of one library; `satchel library validate` shows more


class Library(Struct, frozen=True):
    """One folder with a manifest, as it was understood."""

    name: str
    root: str
    folder: str
    prompts: tuple[LibraryPrompt, ...]
    listed: tuple[LibraryPrompt, ...]  # those whose file is there
    marks: tuple[tuple[int, ...] | None, ...]  # what changes with the text of each of those
    problems: tuple[Problem, ...]
    is_broken: bool  # its manifest cannot be read; what it holds is what it held when that was good


class Catalog(Struct, frozen=True):
    """Every library at one moment, in the order of their names."""

    libraries: tuple[Library, ...]
    problems: tuple[str, ...]  # with the folders themselves
    folders: tuple[str, ...]  # what was looked at, and is worth watching

    @property
    def view(self) -> list[tuple[str, LibraryPrompt]]:
        """What clients see listed: full name and prompt."""
        return [(f"{library.name}:{prompt.key}", prompt) for library in self.libraries for prompt in library.listed]

    def since(self, before: "Catalog") -> list[StoreChange]:
        """What is another than before, for whoever shows it: the list, and each prompt by its own."""
        was, now = before._shown(), self._shown()
        changes = [StoreChange("libraries")] if _listing(was) != _listing(now) else []
        both = {**was, **now}
        return changes + [StoreChange("template", key=name) for name in both if was.get(name) != now.get(name)]

    def _shown(self) -> dict[str, tuple[str | None, tuple[Argument, ...], tuple[int, ...] | None]]:
        """By full name: what the list says, and what changes with the text. Not where it is declared."""
        return {
            f"{library.name}:{prompt.key}": (prompt.description, prompt.arguments, mark)
            for library in self.libraries
            for prompt, mark in zip(library.listed, library.marks, strict=True)
        }


class ContentMissing(Exception):
    """The file of a prompt is not there, or is no regular file of its library."""


class Libraries:
    """The libraries below some roots, and the means to read and fill in their prompts."""

    def __init__(self, roots: Sequence[str], *, is_quiet: bool = False) -> None:
        self._is_quiet = is_quiet  # problems are shown by whoever asks, not logged
        self.roots = tuple(os.path.abspath(root) for root in roots)
        self.renderer = Renderer()
        self._scanning = threading.RLock()
        self._catalog: Catalog | None = None
        # By root and folder: what the file was like, what it said, and when to read it again in spite of that.
        self._parsed: dict[tuple[str, str], tuple[tuple[int, ...], Manifest, float]] = {}
        self._good: dict[tuple[str, str], Manifest] = {}
        self._told: frozenset[str] = frozenset()
        self._entries: tuple[Catalog, list[Raw]] | None = None

    @property
    def is_read(self) -> bool:
        """Whether the disk was looked at, so that nobody has to wait for it."""
        return self._catalog is not None

    @property
    def catalog(self) -> Catalog:
        """The libraries as they were when the disk was last looked at."""
        if self._catalog is None:
            with self._scanning:
                if self._catalog is None:  # else another thread looked meanwhile; to look again would hide a change
                    self.rescan()
        assert self._catalog is not None
        return self._catalog

    def rescan(self) -> list[StoreChange]:
        """Look at the disk again; says what is another than before."""
        with self._scanning:
            before = self._catalog
            after = self._scan()
            self._catalog = after
            self._tell(after)
            return after.since(before) if before is not None else []

    def entries(self, shaped: Callable[[str, LibraryPrompt], Raw]) -> list[Raw]:
        """What clients see listed, in the form they see it; made once for each state of the disk."""
        catalog = self.catalog
        if self._entries is None or self._entries[0] is not catalog:
            self._entries = (catalog, [shaped(name, prompt) for name, prompt in catalog.view])
        return self._entries[1]

    def find(self, name: str) -> tuple[Library, LibraryPrompt] | None:
        """The prompt of a full name, `library:prompt`."""
        library_name, _, key = name.partition(":")
        for library in self.catalog.libraries:
            if library.name == library_name:
                return next(((library, prompt) for prompt in library.prompts if prompt.key == key), None)
        return None

    def template(self, library: Library, prompt: LibraryPrompt) -> str:
        """The text of a prompt, read now.

        Raises:
            ContentMissing: there is no such file.
            RenderFailed: it is too large, or no text.
        """
        try:
            with files.opened(library.root, library.folder, PROMPTS) as folder:
                return files.read(folder, f"{prompt.key}.md", MAX_TEMPLATE).decode()
        except OSError:
            raise ContentMissing from None
        except files.TooLarge:
            raise RenderFailed(f"it is larger than {MAX_TEMPLATE} bytes") from None
        except UnicodeDecodeError:
            raise RenderFailed("it is not UTF-8") from None

    def one(self, root: str, folder: str) -> Library | None:
        """A single library, whatever else is beside it."""
        return self._load(root, folder, [])

    def _scan(self) -> Catalog:
        found: dict[str, Library] = {}
        problems: list[str] = []
        folders: list[str] = []
        for root in self.roots:
            try:
                with files.opened(root) as opened:
                    names = files.folders_in(opened)
            except OSError as error:
                # Watching finds it when that changes.
                is_absent = isinstance(error, FileNotFoundError)
                why = "not there yet; served once it is" if is_absent else error.strerror
                problems.append(f"folder {root}: {why}")
                continue
            folders.append(root)
            for folder in names:
                library = self._load(root, folder, folders)
                if library is None:
                    continue
                if library.is_broken and not library.prompts:
                    problems += [f"{folder}/{problem}" for problem in library.problems]  # nothing to take a name for
                elif not library.name:
                    problems.append(f"{folder}: this name has no letter or digit to call the library by")
                elif library.name in found:
                    first = found[library.name].folder
                    problems.append(f"{folder}: its name {library.name!r} is that of the folder {first!r} already")
                else:
                    found[library.name] = library
        # What has left the disk is forgotten; a folder that comes back under its name is another library.
        seen = set(folders)
        self._parsed = {key: known for key, known in self._parsed.items() if os.path.join(*key) in seen}
        self._good = {key: known for key, known in self._good.items() if key in self._parsed}
        ordered = tuple(found[name] for name in sorted(found))
        return Catalog(ordered, tuple(problems), tuple(folders))

    def _load(self, root: str, folder: str, folders: list[str]) -> Library | None:
        try:
            with files.opened(root, folder) as opened:
                folders.append(os.path.join(root, folder))
                manifest = self._manifest(root, folder, opened)
            if manifest is None:
                return None
        except OSError:
            return None  # gone while we looked
        present: frozenset[str] = frozenset()
        listed: tuple[LibraryPrompt, ...] = ()
        marks: tuple[tuple[int, ...] | None, ...] = ()
        try:
            with files.opened(root, folder, PROMPTS) as opened:
                present = files.files_in(opened)
                folders.append(os.path.join(root, folder, PROMPTS))
                listed = tuple(prompt for prompt in manifest.prompts if f"{prompt.key}.md" in present)
                marks = tuple(files.signature(opened, f"{prompt.key}.md") for prompt in listed)
        except OSError:
            pass  # then none of its prompts has a file
        missing = [
            Problem(NAME, prompt.line, f"prompt {prompt.key}: there is no file {PROMPTS}/{prompt.key}.md")
            for prompt in manifest.prompts
            if f"{prompt.key}.md" not in present
        ]
        problems = (*manifest.problems, *missing)
        name = library_name(folder)
        return Library(name, root, folder, manifest.prompts, listed, marks, problems, manifest.is_broken)

    def _manifest(self, root: str, folder: str, opened: int) -> Manifest | None:
        """What the manifest of a library says, or said when it was last good."""
        key = (root, folder)
        signature = files.signature(opened, NAME)
        if signature is None:
            self._good.pop(key, None)
            return None
        known = self._parsed.get(key)
        if known is None or known[0] != signature or time.monotonic() > known[2]:
            try:
                manifest = parse(files.read(opened, NAME, MAX_MANIFEST), self.renderer)
            except files.TooLarge:
                problem = Problem(NAME, 1, f"it is larger than {MAX_MANIFEST} bytes")
                manifest = Manifest((), (problem,), is_broken=True)
            again = time.monotonic() + _ANOTHER_TRY if manifest.is_worth_another_try else float("inf")
            self._parsed[key] = known = (signature, manifest, again)
            if not manifest.is_broken:
                self._good[key] = manifest
        manifest = known[1]
        if manifest.is_broken:
            good = self._good.get(key)
            return Manifest(good.prompts if good else (), manifest.problems, is_broken=True)
        return manifest

    def _tell(self, catalog: Catalog) -> None:
        """Log each problem once, not again at every look."""
        lines = [*catalog.problems]
        for library in catalog.libraries:
            lines += [f"{library.folder}/{problem}" for problem in library.problems[:_LOGGED]]
            if len(library.problems) > _LOGGED:
                lines.append(f"{library.folder}: {len(library.problems)} problems in all")
        for line in lines:
            if line not in self._told and not self._is_quiet:
                log("library " + "".join(one if one.isprintable() else "?" for one in line))
        self._told = frozenset(lines)


def _listing(shown: Mapping[str, tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(name, description, arguments) for name, (description, arguments, _) in shown.items()]


def library_name(folder: str) -> str:
    """The name of a library: its folder's in lower case, with `_` for all but letters and digits."""
    import unicodedata  # only where there is a library

    plain = unicodedata.normalize("NFC", folder).lower()
    return "".join(
        character if character == "_" or character.isalpha() or character.isdigit() else "_" for character in plain
    ).strip("_")
