"""An immutable snapshot of all libraries on disk, replaced as a whole when the disk changes."""

import os
import threading
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Raw, Struct

from satchel import files
from satchel.library.contents import Library, PartsOfPrompts, Source, find_contents, list_folders, read_source
from satchel.library.heads import Heads
from satchel.library.manifest import MAX_MANIFEST, NAME, PROMPTS, LibraryPrompt, Manifest, Problem, parse
from satchel.library.render import Renderer
from satchel.library.skills import has_skills
from satchel.log import log
from satchel.model import Argument, StoreChange

_RETRY_AFTER = 25.0  # seconds; less than the 30 between full scans, so that each of them retries
_MAX_LOGGED = 20  # problems of one library; `satchel library validate` shows all


class Catalog(Struct, frozen=True):
    """Every library at one moment, sorted by name."""

    libraries: tuple[Library, ...]
    problems: tuple[Problem, ...]  # of folders that are no usable library
    folders: tuple[str, ...]  # to watch for changes

    @property
    def view(self) -> list[tuple[str, LibraryPrompt]]:
        """The prompts that clients see in lists, each with its full name."""
        return [(f"{library.name}:{prompt.key}", prompt) for library in self.libraries for prompt in library.available]

    def since(self, before: "Catalog") -> list[StoreChange]:
        """The differences from an earlier snapshot: of the list, and of each prompt."""
        was, now = before._prompt_states(), self._prompt_states()
        changes = [StoreChange("libraries")] if _list_entries(was) != _list_entries(now) else []
        both = {**was, **now}
        return changes + [
            StoreChange("template", key=name) for name in both if not _is_same(was.get(name), now.get(name))
        ]

    def _prompt_states(self) -> "dict[str, _State]":
        """By full name: the description and arguments in lists, and the signature of the text."""
        return {
            f"{library.name}:{prompt.key}": (prompt.description, prompt.arguments, signature)
            for library in self.libraries
            for prompt, signature in zip(library.available, library.signatures, strict=True)
        }


class Libraries:
    """The libraries below some root folders, and their renderer."""

    def __init__(self, roots: Sequence[str], *, is_quiet: bool = False) -> None:
        self._is_quiet = is_quiet  # do not log problems, because the caller shows them
        self.roots = tuple(os.path.abspath(root) for root in roots)
        self.renderer = Renderer()
        self._scanning = threading.RLock()
        self._catalog: Catalog | None = None
        # By root and folder: the signature of the manifest, its content, and when to parse it again even if unchanged.
        self._parsed: dict[tuple[str, str], tuple[tuple[int, ...], Manifest, float]] = {}
        self._last_good: dict[tuple[str, str], Manifest] = {}
        self._logged: frozenset[str] = frozenset()
        self._entries: tuple[Catalog, list[Raw]] | None = None
        self._heads = Heads()
        self.parts = PartsOfPrompts()

    @property
    def catalog(self) -> Catalog:
        """The libraries as of the last scan."""
        if self._catalog is None:
            with self._scanning:
                # Another thread may have scanned meanwhile; a second scan would hide a change from the watcher.
                if self._catalog is None:
                    self.rescan()
        assert self._catalog is not None
        return self._catalog

    def list_names(self) -> list[str] | None:
        """The full names of all prompts that manifests declare; None where a folder of libraries cannot be read."""
        catalog = self.catalog
        if any(root not in catalog.folders for root in self.roots):
            return None
        return [f"{library.name}:{prompt.key}" for library in catalog.libraries for prompt in library.prompts]

    def rescan(self) -> list[StoreChange]:
        """Scan the disk again; the differences from the last scan."""
        with self._scanning:
            before = self._catalog
            after = self._scan()
            self._catalog = after
            self._log_problems(after)
            return after.since(before) if before is not None else []

    def entries(self, make_entry: Callable[[str, LibraryPrompt], Raw]) -> list[Raw]:
        """The entries of the prompt list, made once for each snapshot."""
        catalog = self.catalog
        if self._entries is None or self._entries[0] is not catalog:
            self._entries = (catalog, [make_entry(name, prompt) for name, prompt in catalog.view])
        return self._entries[1]

    def find(self, name: str) -> tuple[Library, LibraryPrompt] | None:
        """The prompt of a full name, `library:prompt`."""
        library_name, _, key = name.partition(":")
        for library in self.catalog.libraries:
            if library.name == library_name:
                return next(((library, prompt) for prompt in library.prompts if prompt.key == key), None)
        return None

    def read(self, library: Library, prompt: LibraryPrompt) -> Source:
        """Read the text of a prompt from disk.

        Raises:
            ContentMissing: there is no such file.
            RenderFailed: the file is too large, or not UTF-8.
        """
        return read_source(library, prompt)

    def template(self, library: Library, prompt: LibraryPrompt) -> str:
        """The text of a prompt, as `read` gives it."""
        return read_source(library, prompt).text

    def read_one(self, folder: str) -> Catalog:
        """Read a single library of the first root folder, without the others."""
        return self._scan(folder)

    def reads(self, folder: str) -> bool:
        """Whether a folder of the first root is a library, whatever its name is."""
        with files.open_folder(self.roots[0], folder) as opened:
            return self._read_manifest(self.roots[0], folder, opened) is not None

    def _scan(self, only: str | None = None) -> Catalog:
        found: dict[str, Library] = {}
        problems: list[Problem] = []
        folders: list[str] = []
        for root in self.roots:
            try:
                with files.open_folder(root) as opened:
                    names, links = files.list_folders(opened)
            except OSError as error:
                is_absent = isinstance(error, FileNotFoundError)
                why = "not there yet; served once it is" if is_absent else error.strerror or str(error)
                problems.append(Problem(f"folder {root}", None, why))  # the next scan tries again
                continue
            folders.append(root)
            problems += [
                Problem(link, None, "skipped, because it is a symbolic link") for link in links if only in (None, link)
            ]
            for folder in names:
                library = self._load(root, folder, folders, problems) if only in (None, folder) else None
                if library is None:
                    continue
                first = found.setdefault(library.name, library)
                if first is not library:
                    why = f"its name {library.name!r} is that of the folder {first.folder!r} already"
                    problems.append(Problem(folder, None, f"skipped, because {why}"))
        # Forget libraries that were deleted: a folder that appears again under that name is a new library.
        seen = set(folders)
        self._parsed = {key: known for key, known in self._parsed.items() if os.path.join(*key) in seen}
        self._last_good = {key: known for key, known in self._last_good.items() if key in self._parsed}
        self._heads.forget({(root, folder) for root, folder in map(os.path.split, folders)})
        ordered = tuple(found[name] for name in sorted(found))
        return Catalog(ordered, tuple(problems), tuple(folders))

    def _load(self, root: str, folder: str, folders: list[str], problems: list[Problem]) -> Library | None:
        """Read a library; None where a folder is not one, or cannot be served."""
        try:
            with files.open_folder(root, folder) as opened:
                folders.append(os.path.join(root, folder))
                manifest = self._read_manifest(root, folder, opened)
                has_manifest = files.sign(opened, NAME) is not None
        except FileNotFoundError:
            return None  # deleted during the scan
        except OSError as error:
            problems.append(Problem(folder, None, f"skipped, because it cannot be read: {error.strerror}"))
            return None
        if manifest is None:
            folders += list_folders(root, folder, only=PROMPTS)  # a text with front matter makes it a library
            return None
        name = library_name(folder)
        if manifest.is_broken and not manifest.prompts:
            problems += [problem.below(folder) for problem in manifest.problems]
            return None
        if not name:
            problems.append(Problem(folder, None, "skipped, because its name has no letter or digit"))
            return None
        available, signatures, missing = find_contents(root, folder, manifest.prompts, self.parts)
        folders += list_folders(root, folder)
        return Library(
            name=name,
            root=root,
            folder=folder,
            prompts=manifest.prompts,
            available=available,
            signatures=signatures,
            problems=(*manifest.problems, *missing),
            is_broken=manifest.is_broken,
            skipped=manifest.skipped,
            has_manifest=has_manifest or manifest.is_broken,
        )

    def _read_manifest(self, root: str, folder: str, opened: int) -> Manifest | None:
        """The manifest of a library; where it is broken, the prompts of its last good version."""
        key = (root, folder)
        signature = files.sign(opened, NAME)
        if signature is None:
            obstacle = files.find_obstacle(opened, NAME)
            if obstacle is None:
                self._last_good.pop(key, None)
                found = self._heads.read(root, folder)
                return Manifest((), ()) if found is None and has_skills(root, folder) else found
            manifest = _broken(obstacle)
        else:
            known = self._parsed.get(key)
            if known is None or known[0] != signature or time.monotonic() > known[2]:
                manifest = self._parse_manifest(opened)
                retry_at = time.monotonic() + _RETRY_AFTER if manifest.should_retry else float("inf")
                self._parsed[key] = known = (signature, manifest, retry_at)
                if not manifest.is_broken:
                    self._last_good[key] = manifest
            manifest = known[1]
        good = self._last_good.get(key)
        if manifest.is_broken and good is not None:
            return Manifest(good.prompts, manifest.problems, is_broken=True)
        return manifest

    def _parse_manifest(self, opened: int) -> Manifest:
        try:
            return parse(files.read_file(NAME, MAX_MANIFEST, folder=opened, is_single=True), self.renderer)
        except files.TooLarge:
            return _broken(f"is larger than {MAX_MANIFEST} bytes")
        except PermissionError as error:
            return _broken(f"cannot be read: {error.strerror}")

    def _log_problems(self, catalog: Catalog) -> None:
        """Log each problem once, not again at every scan."""
        lines = [str(problem) for problem in catalog.problems]
        for library in catalog.libraries:
            lines += [str(problem.below(library.folder)) for problem in library.problems[:_MAX_LOGGED]]
            if len(library.problems) > _MAX_LOGGED:
                lines.append(str(Problem(library.folder, None, f"{len(library.problems)} problems in all")))
        for line in lines:
            if line not in self._logged and not self._is_quiet:
                log(f"library {line}")
        self._logged = frozenset(lines)


_State = tuple[str | None, tuple[Argument, ...], tuple[int, ...] | None]


def _is_same(was: _State | None, now: _State | None) -> bool:
    """Whether a prompt has not changed. That a render found files which it includes is no change."""
    if was is None or now is None or was[:2] != now[:2] or was[2] is None or now[2] is None:
        return was == now
    return all(before == after for before, after in zip(was[2], now[2], strict=False))


def _list_entries(states: Mapping[str, tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(name, description, arguments) for name, (description, arguments, _) in states.items()]


def _broken(what: str) -> Manifest:
    return Manifest((), (Problem(NAME, 1, what),), is_broken=True)


def library_name(folder: str) -> str:
    """The name of a library: that of its folder in lower case, with `_` for all but letters and digits."""
    plain = unicodedata.normalize("NFC", folder).lower()
    return "".join(
        character if character == "_" or character.isalpha() or character.isdigit() else "_" for character in plain
    ).strip("_")
