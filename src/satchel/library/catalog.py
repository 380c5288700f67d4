"""All libraries on disk: an immutable snapshot, replaced as a whole when the disk changes, and their texts."""

import os
import threading
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from msgspec import Raw, Struct

from satchel import files
from satchel.library.manifest import (
    MAX_MANIFEST,
    NAME,
    PROMPTS,
    DeclaredPrompts,
    LibraryPrompt,
    Manifest,
    Problem,
    parse,
)
from satchel.library.render import MAX_TEMPLATE, NeedsParts, Parts, Renderer, RenderFailed, TemplateNames
from satchel.library.roles import Message
from satchel.library.skills import FOLDER, has_skills
from satchel.log import log
from satchel.model import Argument, StoreChange
from satchel.work import Work
from satchel.yaml_reader import split_front_matter

_RETRY_AFTER = 25.0  # seconds; less than the 30 between full scans, so that each scan retries
_MAX_LOGGED = 20  # problems to log for one library; `satchel library validate` shows all
_MOST_TEXTS = 1000  # prompts whose texts are cached for search
_MAX_WATCHED = 32  # watched folders in a library, in addition to its own
_MAX_DEPTH = 4  # levels of watched folders
_MAX_PARTS = 64  # files that one prompt may include
_MAX_PART_BYTES = 512 * 1024  # bytes of all included files

Result = TypeVar("Result")
_Signature = tuple[int, ...]
_State = tuple[str | None, tuple[Argument, ...], _Signature | None]


class ContentMissing(Exception):
    """The file of a prompt does not exist, or is not a regular file in its library."""


class Unreadable(RenderFailed):
    """The file of a prompt is too large, or not UTF-8."""


class Source(Struct, frozen=True):
    """The template of a prompt."""

    text: str
    offset: int = 0  # lines of the file before the template


class Library(Struct, frozen=True):
    """One folder with a manifest, or with front matter in its texts."""

    name: str
    root: str
    folder: str
    prompts: tuple[LibraryPrompt, ...]
    available: tuple[LibraryPrompt, ...]  # the prompts whose file exists
    signatures: tuple[_Signature | None, ...]  # of the files of available prompts
    problems: tuple[Problem, ...]
    is_broken: bool  # its manifest cannot be parsed; the prompts are from its last valid version
    skipped: frozenset[str] = frozenset()  # the keys of prompts with mistakes in their declarations
    has_manifest: bool = True  # otherwise each text has front matter

    @property
    def path(self) -> str:
        """The library's folder, which may be a link; files must be inside the folder to which it leads."""
        return os.path.join(self.root, self.folder)


class Catalog(Struct, frozen=True):
    """Every library at one moment, sorted by name."""

    libraries: tuple[Library, ...]
    problems: tuple[Problem, ...]  # of folders that are not usable libraries
    folders: tuple[str, ...]  # to watch for changes

    @property
    def view(self) -> list[tuple[str, LibraryPrompt]]:
        """The prompts that clients list, each with its full name."""
        return [(f"{library.name}:{prompt.key}", prompt) for library in self.libraries for prompt in library.available]

    def since(self, before: "Catalog") -> list[StoreChange]:
        """Return what changed since an earlier snapshot: the list, and each changed prompt."""
        was, now = before._prompt_states(), self._prompt_states()
        changes = [StoreChange("libraries")] if _list_entries(was) != _list_entries(now) else []
        both = {**was, **now}
        return changes + [
            StoreChange("template", key=name) for name in both if not _is_same(was.get(name), now.get(name))
        ]

    def _prompt_states(self) -> dict[str, _State]:
        """Return the description, arguments and signature of each prompt, by its full name."""
        return {
            f"{library.name}:{prompt.key}": (prompt.description, prompt.arguments, signature)
            for library in self.libraries
            for prompt, signature in zip(library.available, library.signatures, strict=True)
        }


def _is_same(was: _State | None, now: _State | None) -> bool:
    """Return whether a prompt is unchanged, apart from included files that a render has only now found."""
    if was is None or now is None or was[:2] != now[:2] or was[2] is None or now[2] is None:
        return was == now
    return all(before == after for before, after in zip(was[2], now[2], strict=False))


def _list_entries(states: Mapping[str, _State]) -> list[tuple[Any, ...]]:
    return [(name, description, arguments) for name, (description, arguments, _) in states.items()]


def find_undeclared(prompt: LibraryPrompt, names: TemplateNames) -> list[Problem]:
    """Return the variables of a template that no argument declares."""
    declared, file = {argument.name for argument in prompt.arguments}, f"{PROMPTS}/{prompt.file}"
    what = f"is always empty: prompt {prompt.key} has no argument of this name"
    return [
        Problem(names.files.get(name, file), line, f"{name} {what}")
        for name, line in names.empty.items()
        if name not in declared
    ]


def library_name(folder: str) -> str:
    """Return the name of a library: its folder in lower case, with `_` for all but letters and digits."""
    plain = unicodedata.normalize("NFC", folder).lower()
    return "".join(
        character if character == "_" or character.isalpha() or character.isdigit() else "_" for character in plain
    ).strip("_")


class Libraries:
    """The libraries below the root folders, and their renderer."""

    def __init__(self, roots: Sequence[str], *, is_quiet: bool = False, shows_roots: bool = False) -> None:
        self._is_quiet = is_quiet  # do not log problems; the caller shows them
        self._shows_roots = shows_roots  # show their paths to clients, who own this process
        self.roots = tuple(os.path.abspath(root) for root in roots)
        self.renderer = Renderer()
        self._scanning = threading.RLock()
        self._catalog: Catalog | None = None
        # By root and folder: the manifest's signature, its content, and the time to parse it again even if unchanged.
        self._parsed: dict[tuple[str, str], tuple[_Signature, Manifest, float]] = {}
        self._last_good: dict[tuple[str, str], Manifest] = {}
        self._logged: frozenset[str] = frozenset()
        self._entries: tuple[Catalog, list[Raw]] | None = None
        self._texts: tuple[Catalog, list[tuple[str, LibraryPrompt, str]]] | None = None
        self._declared = DeclaredPrompts()
        self._parts: dict[tuple[str, str, str], tuple[str, ...]] = {}  # included files by root, folder and file
        self._checked: dict[tuple[str, str], int] = {}  # the states of prompts with checked variables

    # -- the snapshot -------------------------------------------------------------------------------------------

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

    def rescan(self) -> list[StoreChange]:
        """Scan the disk again, and return the changes since the last scan."""
        with self._scanning:
            before = self._catalog
            after = self._scan()
            self._catalog = after
            self._log_problems(after)
            return after.since(before) if before is not None else []

    def list_names(self) -> list[str] | None:
        """List the full names of all declared prompts; None if no root folder can be read."""
        catalog = self.catalog
        if not any(root in catalog.folders for root in self.roots):
            return None
        return [f"{library.name}:{prompt.key}" for library in catalog.libraries for prompt in library.prompts]

    def entries(self, make_entry: Callable[[str, LibraryPrompt], Raw]) -> list[Raw]:
        """Return the entries of the prompt list, which `make_entry` makes once per snapshot."""
        catalog = self.catalog
        if self._entries is None or self._entries[0] is not catalog:
            self._entries = (catalog, [make_entry(name, prompt) for name, prompt in catalog.view])
        return self._entries[1]

    def texts(self) -> list[tuple[str, LibraryPrompt, str]]:
        """Return the first prompts of the list with full name and text, which are read once per snapshot."""
        catalog = self.catalog
        if self._texts is None or self._texts[0] is not catalog:
            listed = [(library, prompt) for library in catalog.libraries for prompt in library.available]
            self._texts = (catalog, [self._read_text(*one) for one in listed[:_MOST_TEXTS]])
        return self._texts[1]

    def _read_text(self, library: Library, prompt: LibraryPrompt) -> tuple[str, LibraryPrompt, str]:
        try:
            text = self.read(library, prompt).text
        except (ContentMissing, RenderFailed):
            text = ""
        return f"{library.name}:{prompt.key}", prompt, text

    def find(self, name: str) -> tuple[Library, LibraryPrompt] | None:
        """Find a prompt by its full name, `library:prompt`. Before the first scan, read only that library."""
        wanted, _, key = name.partition(":")
        if self._catalog is None:
            library = self._read_library(wanted)
        else:
            library = next((one for one in self._catalog.libraries if one.name == wanted), None)
        prompts = () if library is None else library.prompts
        return next(((library, prompt) for prompt in prompts if library and prompt.key == key), None)

    def _read_library(self, name: str) -> Library | None:
        """Read one library, without a scan: the first with this name that a scan would find."""
        for root in self.roots:
            with suppress(OSError):
                for folder in _list_libraries(root)[0]:
                    library = self._load(root, folder, [], []) if library_name(folder) == name else None
                    if library is not None:
                        return library
        return None

    def describe_file(self, library: Library, prompt: LibraryPrompt) -> str:
        """Return the path of a prompt's file for error messages: in the library or, on the command line, on disk."""
        path = os.path.join(library.folder, PROMPTS, prompt.file)
        if not self._shows_roots:
            return path
        home, path = os.path.expanduser("~"), os.path.join(library.root, path)
        return os.path.join("~", os.path.relpath(path, home)) if path.startswith(os.path.join(home, "")) else path

    def read_one(self, folder: str) -> Catalog:
        """Read a single library of the first root folder."""
        return self._scan(folder)

    def is_library(self, folder: str) -> bool:
        """Return whether a folder in the first root is a library, whatever its name."""
        with files.open_folder(os.path.join(self.roots[0], folder)) as opened:
            return self._read_manifest(self.roots[0], folder, opened) is not None

    def _scan(self, only: str | None = None) -> Catalog:
        found: dict[str, Library] = {}
        problems: list[Problem] = []
        folders: list[str] = []
        for root in self.roots:
            try:
                names, links = _list_libraries(root)
            except FileNotFoundError:
                continue  # a root need not exist, and the next scan looks again
            except OSError as error:
                problems.append(Problem(f"folder {root}", None, f"cannot be read: {error.strerror}"))
                continue
            folders.append(root)
            problems += [
                Problem(link, None, "skipped, because this symbolic link leads to no folder")
                for link in links
                if only in (None, link)
            ]
            for folder in names:
                library = self._load(root, folder, folders, problems) if only in (None, folder) else None
                if library is None:
                    continue
                first = found.setdefault(library.name, library)
                if first is not library:
                    other = first.folder if first.root == root else first.path
                    why = f"folder {other!r} already has the library name {library.name!r}"
                    problems.append(Problem(folder, None, f"skipped, because {why}"))
        # Forget deleted libraries, because a folder that reappears under such a name is a new library.
        seen = set(folders)
        self._parsed = {key: known for key, known in self._parsed.items() if os.path.join(*key) in seen}
        self._last_good = {key: known for key, known in self._last_good.items() if key in self._parsed}
        self._declared.forget({(root, folder) for root, folder in map(os.path.split, folders)})
        ordered = tuple(found[name] for name in sorted(found))
        return Catalog(ordered, tuple(problems), tuple(folders))

    def _load(self, root: str, folder: str, folders: list[str], problems: list[Problem]) -> Library | None:
        """Read a library; None if the folder is not a library, or cannot be served."""
        path = os.path.join(root, folder)
        try:
            with files.open_folder(path) as opened:
                manifest = self._read_manifest(root, folder, opened)
                has_manifest = files.sign(opened, NAME) is not None
        except FileNotFoundError:
            return None  # deleted during the scan
        except OSError as error:
            problems.append(Problem(folder, None, f"skipped, because it cannot be read: {error.strerror}"))
            return None
        if manifest is None and os.path.islink(path):
            return None  # not watched, because it may be any folder on the disk
        folders.append(path)
        if manifest is None:
            folders += _list_watched(root, folder, only=PROMPTS)  # a text with front matter would make it a library
            return None
        name = library_name(folder)
        if manifest.is_broken and not manifest.prompts:
            problems += [problem.below(folder) for problem in manifest.problems]
            return None
        if not name:
            problems.append(Problem(folder, None, "skipped, because its name has no letter or digit"))
            return None
        signatures, missing = self._find_texts(root, folder, manifest.prompts)
        folders += _list_watched(root, folder)
        return Library(
            name=name,
            root=root,
            folder=folder,
            prompts=manifest.prompts,
            available=tuple(prompt for prompt in manifest.prompts if prompt.key in signatures),
            signatures=tuple(signatures.values()),
            problems=(*manifest.problems, *missing),
            is_broken=manifest.is_broken,
            skipped=manifest.skipped,
            has_manifest=has_manifest or manifest.is_broken,
        )

    def _read_manifest(self, root: str, folder: str, opened: int) -> Manifest | None:
        """Return the manifest of a library; for a broken one, return its problems and the last valid prompts."""
        key = (root, folder)
        signature = files.sign(opened, NAME)
        if signature is None:
            obstacle = files.find_obstacle(opened, NAME)
            if obstacle is None:
                self._last_good.pop(key, None)
                found = self._declared.read(root, folder)
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

    def _find_texts(
        self, root: str, folder: str, prompts: tuple[LibraryPrompt, ...]
    ) -> tuple[dict[str, _Signature | None], list[Problem]]:
        """Return the signature of each prompt's text by key, and the problems of prompts without a text."""

        def skip(prompt: LibraryPrompt, why: str) -> Problem:
            what = f"prompt {prompt.key} is skipped: {PROMPTS}/{prompt.file} {why}"
            return Problem(prompt.declared_in, None, what)

        try:
            with files.open_folder(os.path.join(root, folder), PROMPTS) as opened:
                present = files.list_files(opened)
                signatures = {
                    one.key: _sign_all(root, folder, opened, one.file, self._parts.get((root, folder, one.file), ()))
                    for one in prompts
                    if one.file in present
                }
                return signatures, [
                    skip(one, files.find_obstacle(opened, one.file) or "does not exist")
                    for one in prompts
                    if one.file not in present
                ]
        except FileNotFoundError:
            why = "does not exist"
        except NotADirectoryError:
            why = f"is not read, because {PROMPTS} is a symbolic link or not a folder"
        except OSError as error:
            why = f"is not read, because {PROMPTS} cannot be opened: {error.strerror}"
        return {}, [skip(prompt, why) for prompt in prompts]

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

    # -- texts --------------------------------------------------------------------------------------------------

    def read(self, library: Library, prompt: LibraryPrompt) -> Source:
        """Read the text of a prompt from disk, without its front matter.

        Raises:
            ContentMissing: there is no such file.
            Unreadable: the file is too large, or not UTF-8.
        """
        try:
            with files.open_folder(library.path, PROMPTS) as folder:
                text = files.decode(files.read_file(prompt.file, MAX_TEMPLATE, folder=folder, is_single=True))
        except OSError:
            raise ContentMissing from None
        except files.TooLarge:
            raise Unreadable(f"it is larger than {MAX_TEMPLATE} bytes") from None
        except UnicodeDecodeError:
            raise Unreadable("it is not UTF-8") from None
        return Source(text) if prompt.declared_in == NAME else _drop_front_matter(text)

    def render(self, library: Library, prompt: LibraryPrompt, values: dict[str, str], work: Work | None = None) -> str:
        """Fill in a prompt, and return it as one text.

        Raises:
            ContentMissing: the prompt's file does not exist.
            RenderFailed: the template is wrong, or exceeds a limit.
            Abandoned: the work was cancelled.
        """
        text = self._ask(library, prompt, lambda text, parts: self.renderer.render(text, values, work, parts))
        self._log_undeclared(library, prompt)
        return text

    def render_messages(
        self, library: Library, prompt: LibraryPrompt, values: dict[str, str], work: Work | None = None
    ) -> list[Message]:
        """Fill in a prompt, and return its sections as messages. Raises what `render` raises."""
        found = self._ask(library, prompt, lambda text, parts: self.renderer.render_messages(text, values, work, parts))
        self._log_undeclared(library, prompt)
        return found

    def _log_undeclared(self, library: Library, prompt: LibraryPrompt) -> None:
        """Log the variables that no argument declares, once after each change of a prompt, at its first use."""
        place = (library.path, prompt.key)
        try:
            parts = self._parts.get((library.root, library.folder, prompt.file), ())
            state = hash((prompt, self.read(library, prompt).text, *(_read_part(library, one) for one in parts)))
            if self._is_quiet or self._checked.get(place) == state:
                return
            self._checked[place] = state
            for problem in find_undeclared(prompt, self.check(library, prompt)):
                log(f"library {problem.below(library.folder)}")
        except (ContentMissing, RenderFailed):
            pass  # it was changed meanwhile, and will be checked at its next use

    def check(self, library: Library, prompt: LibraryPrompt) -> TemplateNames:
        """Return the names that a prompt and its included files use without setting them first.

        Raises:
            ContentMissing: the prompt's file does not exist.
            RenderFailed: the template is wrong, or exceeds a limit.
        """
        offset = self.read(library, prompt).offset
        names = self._ask(library, prompt, lambda text, parts: self.renderer.check(text, None, parts))
        return names.shift(offset) if offset else names

    def list_included(self, library: Library) -> frozenset[str]:
        """List the files of a library that its prompts are known to include, from renders so far."""
        place = (library.root, library.folder)
        return frozenset(path for key, paths in self._parts.items() if key[:2] == place for path in paths)

    def _ask(self, library: Library, prompt: LibraryPrompt, job: Callable[[str, Parts], Result]) -> Result:
        """Send a job to a worker; send it again, with the missing files, when the worker asks for them."""
        source = self.read(library, prompt)
        path, place = f"{PROMPTS}/{prompt.file}", (library.root, library.folder, prompt.file)
        found = {one: _read_part(library, one) for one in self._parts.get(place, ())}
        try:
            while True:
                try:
                    return job(source.text, Parts(path, found))
                except NeedsParts as more:
                    fresh = [one for one in more.paths if one not in found]
                    if not fresh:
                        raise RenderFailed("the files that it names cannot be found") from None
                    found |= {one: _read_part(library, one) for one in fresh}
                    _check_bounds(found)
        except RenderFailed as failure:
            line = None if failure.line is None else failure.line + source.offset
            raise RenderFailed(failure.what, line, is_exhausted=failure.is_exhausted) from None
        finally:
            if found:
                self._parts[place] = tuple(found)
            else:
                self._parts.pop(place, None)


def _list_libraries(root: str) -> tuple[list[str], list[str]]:
    """List a root's folders, including links to folders, and the links in it that lead to no folder."""
    with files.open_folder(root) as opened:
        names, links = files.list_folders(opened)
    followed = [link for link in links if os.path.isdir(os.path.join(root, link))]
    return sorted(names + followed), [link for link in links if link not in followed]


def _broken(what: str) -> Manifest:
    return Manifest((), (Problem(NAME, 1, what),), is_broken=True)


def _drop_front_matter(text: str) -> Source:
    parts = split_front_matter(text)
    return Source(text) if parts is None else Source(parts[1], text.count("\n") - parts[1].count("\n"))


def _read_part(library: Library, path: str) -> str | None:
    """Read the file of a library that a template names by its path; None if there is no such file.

    The worker checks paths too, but it is not trusted, because it runs templates.

    Raises:
        RenderFailed: the file is too large, or not UTF-8.
    """
    *folders, name = path.split("/")
    if any(not one or one.startswith(".") or "\0" in one for one in (*folders, name)):
        return None
    try:
        with files.open_folder(library.path, *folders) as opened:
            text = files.decode(files.read_file(name, MAX_TEMPLATE, folder=opened, is_single=True))
    except OSError:
        return None
    except UnicodeDecodeError:
        raise RenderFailed(f"{path} is not UTF-8") from None
    except files.TooLarge:
        raise RenderFailed(f"{path} is larger than {MAX_TEMPLATE} bytes") from None
    return text if library.has_manifest else _drop_front_matter(text).text


def _check_bounds(found: dict[str, str | None]) -> None:
    if len(found) > _MAX_PARTS:
        raise RenderFailed(f"it includes more than {_MAX_PARTS} files")
    if sum(len(text.encode()) for text in found.values() if text) > _MAX_PART_BYTES:
        raise RenderFailed(f"the files that it includes have more than {_MAX_PART_BYTES} bytes")


def _sign_all(root: str, folder: str, opened: int, file: str, paths: tuple[str, ...]) -> _Signature | None:
    """Return the signature of a text and its included files; a change of any of them changes the prompt."""
    found = files.sign(opened, file)
    for path in paths:
        *folders, name = path.split("/")
        try:
            with files.open_folder(os.path.join(root, folder), *folders) as beside:
                part = files.sign(beside, name)
        except OSError:
            part = None
        found = None if found is None else (*found, *(part or (0,)))
    return found


def _list_watched(root: str, folder: str, only: str | None = None) -> list[str]:
    """List the folders in a library that may hold texts, or just the folder `only`. Skills are read on request."""
    found: list[tuple[str, ...]] = []
    waiting: list[tuple[str, ...]] = [()]
    while waiting and len(found) < _MAX_WATCHED:
        path = waiting.pop(0)
        try:
            with files.open_folder(os.path.join(root, folder), *path) as opened:
                names, _ = files.list_folders(opened)
        except OSError:
            continue
        if path:
            found.append(path)
        if len(path) < _MAX_DEPTH:
            waiting += [(*path, name) for name in names if path or (name == only if only else name != FOLDER)]
    return [os.path.join(root, folder, *path) for path in found]
