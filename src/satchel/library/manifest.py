"""The prompts that a library declares in twig.toml, or in the front matter of each text."""

import os
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, structs

from satchel import files
from satchel.library.render import Renderer, RenderFailed
from satchel.model import MAX_DESCRIPTION, Argument, can_be_argument
from satchel.yaml_reader import WrongYaml, read_front_matter, split_front_matter

MAX_MANIFEST = 256 * 1024
MAX_PROMPTS = 2000
MAX_ARGUMENTS = 100  # in one prompt
MAX_PROBLEMS = 500
# Manifests up to this size are parsed in this process, larger ones in a worker: a hostile key of 10,000 parts takes
# tomllib five seconds.
_MAX_PARSED_HERE = 2 * 1024
_MAX_HEAD = 16 * 1024  # bytes of front matter in one text

NAME = "twig.toml"
PROMPTS = "prompts"  # the folder with the texts
_ENDING = ".md"
_KEY = "[A-Za-z0-9_.-]+"  # the name of a file in the folder of prompts, so it has no slash


class Problem(Struct, frozen=True):
    """A mistake in a library: file or folder, line if known, and description."""

    file: str
    line: int | None
    what: str
    is_warning: bool = False  # it has no effect, but is probably a mistake

    def below(self, folder: str) -> "Problem":
        """Return the problem with `folder` put before the path of its file."""
        return structs.replace(self, file=f"{folder}/{self.file}")

    def within(self, folder: str) -> "Problem":
        """Return the problem with the path of its file made relative to `folder`."""
        return structs.replace(self, file=self.file.removeprefix(f"{folder}/"))

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return files.printable(f"{place}: {'warning: ' if self.is_warning else ''}{self.what}")


class LibraryPrompt(Struct, frozen=True):
    """A prompt as its library declares it."""

    key: str
    description: str | None
    arguments: tuple[Argument, ...]
    declared_in: str = NAME  # the manifest, or the prompt's own text

    @property
    def file(self) -> str:
        """The name of the prompt's file in the folder of prompts."""
        return f"{self.key}{_ENDING}"


class Manifest(Struct, frozen=True):
    """The valid prompts of a library, and the problems of its declarations."""

    prompts: tuple[LibraryPrompt, ...]
    problems: tuple[Problem, ...]
    is_broken: bool = False  # it could not be parsed
    should_retry: bool = False  # parsing ran out of time or memory, perhaps because the machine is busy
    skipped: frozenset[str] = frozenset()  # the keys of prompts that are not valid


# -- twig.toml --------------------------------------------------------------------------------------------------


def parse(content: bytes, renderer: Renderer) -> Manifest:
    """Parse a manifest; the result includes the problems that it has."""
    try:
        text = files.decode(content)
        import tomllib  # takes 2.5 ms of a start, and is needed only for a folder with libraries

        document = tomllib.loads(text) if len(text) <= _MAX_PARSED_HERE else renderer.parse_toml(text)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        return Manifest((), (Problem(NAME, line, "this is not UTF-8"),), is_broken=True)
    except (RenderFailed, ValueError, RecursionError) as error:
        is_exhausted = isinstance(error, RenderFailed) and error.is_exhausted
        problem = _syntax_problem(str(error) or "nested too deep")
        return Manifest((), (problem,), is_broken=True, should_retry=is_exhausted)
    table = document.get("prompts", {})
    reader = _Reader(NAME)
    prompts = reader.read_prompts(table)
    skipped = frozenset(table if isinstance(table, dict) else ()) - {prompt.key for prompt in prompts}
    return Manifest(tuple(prompts), tuple(reader.problems), skipped=skipped)


def _syntax_problem(message: str) -> Problem:
    position = re.search(r" \(at line (\d+), column \d+\)$", message)
    line = int(position.group(1)) if position else 1
    return Problem(NAME, line, message[: position.start()] if position else message)


class _Reader:
    """Reads parsed declarations and collects problems; skips a prompt with a wrong key or argument."""

    def __init__(self, file: str) -> None:
        self.problems: list[Problem] = []
        self._file = file

    def read_prompts(self, table: Any) -> list[LibraryPrompt]:
        if not isinstance(table, dict):
            self._report("prompts must be a table, as in [prompts.NAME]")
            return []
        if len(table) > MAX_PROMPTS:
            self._report(f"a library has at most {MAX_PROMPTS} prompts; those beyond are skipped")
        found = [self.read_prompt(key, entry) for key, entry in list(table.items())[:MAX_PROMPTS]]
        return [prompt for prompt in found if prompt is not None]

    def read_prompt(self, key: str, entry: Any) -> LibraryPrompt | None:
        """Return the prompt that an entry declares; None if the entry has a mistake."""
        if not re.fullmatch(_KEY, key):
            self._report(f"prompt {key!r} is skipped: its key may have A-Z, a-z, 0-9, _, . and - only")
            return None
        if not isinstance(entry, dict):
            self._report(f"prompt {key} is skipped: it must be a table, as in [prompts.{key}]")
            return None
        description = entry.get("description")
        if not _is_description(description):
            self._report(f"prompt {key}: description must be text of at most {MAX_DESCRIPTION} characters")
            description = None
        arguments = self._read_arguments(key, entry.get("arguments", []))
        return None if arguments is None else LibraryPrompt(key, description, arguments, self._file)

    def _read_arguments(self, key: str, entries: Any) -> tuple[Argument, ...] | None:
        """Return the arguments of a prompt; None if one of them is wrong."""
        if not isinstance(entries, list):
            self._report(f"prompt {key} is skipped: arguments must be tables, as in [[prompts.{key}.arguments]]")
            return None
        if len(entries) > MAX_ARGUMENTS:
            self._report(f"prompt {key} is skipped: it has more than {MAX_ARGUMENTS} arguments")
            return None
        found: dict[str, Argument] = {}
        is_wrong = False
        for number, entry in enumerate(entries, 1):
            mistake = _find_mistake(entry, number, found)
            if mistake is not None:
                self._report(f"prompt {key} is skipped: {mistake}")
                is_wrong = True
            else:
                name = entry["name"]
                found[name] = Argument(name, entry.get("description"), entry.get("required", False))
        return None if is_wrong else tuple(found.values())

    def _report(self, what: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(self._file, None, what))
        elif len(self.problems) == MAX_PROBLEMS:
            self.problems.append(Problem(self._file, None, f"more than {MAX_PROBLEMS} problems; correct these first"))


def _find_mistake(entry: Any, number: int, before: dict[str, Argument]) -> str | None:
    """Return the mistake in an argument, in words; None if there is none."""
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str):
        return f"argument {number} has no name"
    if not can_be_argument(name):
        return f"a template cannot name argument {name!r}: use letters, digits and _, no digit first, no word of Jinja2"
    if name in before:
        return f"there are two arguments {name!r}"
    if not isinstance(entry.get("required", False), bool):
        return f"required of argument {name} must be true or false"
    if not _is_description(entry.get("description")):
        return f"description of argument {name} must be text of at most {MAX_DESCRIPTION} characters"
    return None


def _is_description(value: Any) -> bool:
    return value is None or (isinstance(value, str) and "\0" not in value and len(value) <= MAX_DESCRIPTION)


# -- front matter, in libraries without twig.toml ---------------------------------------------------------------


class _Declared(Struct, frozen=True):
    """The result of reading one file: no declaration, a prompt, or problems."""

    signature: tuple[int, ...]
    size: int = 0  # characters of its front matter; 0 if it has none
    prompt: LibraryPrompt | None = None
    problems: tuple[Problem, ...] = ()


class DeclaredPrompts:
    """The front matter of all texts of a library; changed texts are read again."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], dict[str, _Declared]] = {}  # by root and folder, then by file

    def read(self, root: str, folder: str) -> Manifest | None:
        """Return the prompts of a library without a manifest; None if no text has front matter.

        A prompt whose front matter becomes invalid keeps its last valid state.
        """
        before = self._known.get((root, folder), {})
        try:
            with files.open_folder(os.path.join(root, folder), PROMPTS) as opened:
                names = sorted(one for one in files.list_files(opened) if one.endswith(_ENDING))
                found = {name: _read_declared(opened, name, before.get(name)) for name in names[:MAX_PROMPTS]}
        except OSError:
            found = {}
        self._known[root, folder] = found
        if not any(one.size for one in found.values()):
            return None
        problems = [problem for one in found.values() for problem in one.problems]
        if len(names) > MAX_PROMPTS:
            problems.append(Problem(PROMPTS, None, f"a library has at most {MAX_PROMPTS} prompts; others are skipped"))
        prompts, size = [], 0
        for one in found.values():
            size += one.size
            if one.prompt is not None and size <= MAX_MANIFEST:
                prompts.append(one.prompt)
        if size > MAX_MANIFEST:
            what = f"front matter beyond {MAX_MANIFEST} characters of a library is skipped"
            problems.append(Problem(PROMPTS, None, what))
        declared = {name.removesuffix(_ENDING) for name, one in found.items() if one.size}
        skipped = frozenset(declared - {one.key for one in prompts})
        return Manifest(tuple(prompts), tuple(problems), skipped=skipped)

    def forget(self, keep: set[tuple[str, str]]) -> None:
        """Drop libraries that were deleted."""
        self._known = {key: known for key, known in self._known.items() if key in keep}


def _read_declared(opened: int, name: str, before: _Declared | None) -> _Declared:
    signature = files.sign(opened, name)
    if signature is None:
        return _Declared(())  # deleted meanwhile
    if before is not None and before.signature == signature:
        return before
    file = f"{PROMPTS}/{name}"
    try:
        start = files.read_start(name, _MAX_HEAD, folder=opened)
    except OSError as error:
        return _Declared(signature, problems=(Problem(file, 1, f"cannot be read: {error.strerror}"),))
    text = start.decode(errors="ignore").removeprefix("\ufeff")
    parts = split_front_matter(text)
    if parts is None:
        is_open = text.startswith("---") and len(start) == _MAX_HEAD
        what = f"its front matter does not end within {_MAX_HEAD} bytes"
        return _Declared(signature, problems=(Problem(file, 1, what),) if is_open else ())
    prompt, problems = _declare(name.removesuffix(_ENDING), file, text)
    if prompt is None and before is not None:
        prompt = before.prompt
    return _Declared(signature, len(parts[0]), prompt, problems)


def _declare(key: str, file: str, text: str) -> tuple[LibraryPrompt | None, tuple[Problem, ...]]:
    try:
        fields, _ = read_front_matter(text)
    except WrongYaml as wrong:
        return None, (Problem(file, wrong.line or 1, f"prompt {key} is skipped: {wrong}"),)
    if fields is None:
        return None, (Problem(file, 1, f"prompt {key} is skipped: front matter must be fields, as in description: …"),)
    reader = _Reader(file)
    prompt = reader.read_prompt(key, _normalise(fields))
    return prompt, tuple(reader.problems)


def _normalise(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as a manifest declares them; front matter may also list names, or map names to descriptions."""
    arguments = fields.get("arguments")
    if isinstance(arguments, Mapping):
        arguments = [
            {**about, "name": name} if isinstance(about, Mapping) else {"name": name, "description": about}
            for name, about in arguments.items()
        ]
    elif isinstance(arguments, list):
        arguments = [{"name": one} if isinstance(one, str) else one for one in arguments]
    return {**fields, "arguments": [] if arguments is None else arguments}
