"""Parses twig.toml: its prompts, and every problem with file and line."""

import re
from typing import Any, Protocol

import msgspec
from msgspec import Struct, structs

from satchel import files
from satchel.library.render import Renderer, RenderFailed
from satchel.model import MAX_DESCRIPTION, Argument, can_be_argument

MAX_MANIFEST = 256 * 1024
MAX_PROMPTS = 2000
MAX_ARGUMENTS = 100  # of one prompt
MAX_PROBLEMS = 500
# A manifest up to this size is parsed in this process, a larger one in a worker: a hostile key of 10,000 parts takes
# tomllib five seconds.
_MAX_PARSED_HERE = 2 * 1024

NAME = "twig.toml"
PROMPTS = "prompts"  # the folder of the texts
_KEY = "[A-Za-z0-9_.-]+"  # names a file in the folder of prompts, so it has no slash


class Problem(Struct, frozen=True):
    """A mistake in a library: file or folder, line (None for a folder) and description."""

    file: str
    line: int | None
    what: str
    is_warning: bool = False  # it has no effect, but was hardly meant so

    def below(self, folder: str) -> "Problem":
        """The same problem, with the file named from further up."""
        return structs.replace(self, file=f"{folder}/{self.file}")

    def within(self, folder: str) -> "Problem":
        """The same problem, with the file named from inside a folder."""
        return structs.replace(self, file=self.file.removeprefix(f"{folder}/"))

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return files.printable(f"{place}: {'warning: ' if self.is_warning else ''}{self.what}")


class LibraryPrompt(Struct, frozen=True):
    """A prompt as its manifest declares it."""

    key: str
    description: str | None
    arguments: tuple[Argument, ...]
    line: int
    argument_lines: tuple[int, ...] = ()
    declared_in: str = NAME  # the file that the lines are of: the manifest, or its own text

    @property
    def file(self) -> str:
        """The name of its file, in the folder of prompts."""
        return f"{self.key}.md"


class Manifest(Struct, frozen=True):
    """The valid prompts of a manifest, and its problems."""

    prompts: tuple[LibraryPrompt, ...]
    problems: tuple[Problem, ...]
    is_broken: bool = False  # it could not be parsed at all
    should_retry: bool = False  # parsing ran out of time or memory, perhaps because the machine is busy
    skipped: frozenset[str] = frozenset()  # the keys of prompts that are not valid


def parse(content: bytes, renderer: Renderer) -> Manifest:
    """Parse a manifest; what is wrong with it is part of the result, not an error."""
    try:
        text = files.decode(content)
        import tomllib  # 2.5 ms of a start, and only a folder with libraries needs it

        document = tomllib.loads(text) if len(text) <= _MAX_PARSED_HERE else renderer.parse_toml(text)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        return Manifest((), (Problem(NAME, line, "this is not UTF-8"),), is_broken=True)
    except (RenderFailed, ValueError, RecursionError) as error:
        is_exhausted = isinstance(error, RenderFailed) and error.is_exhausted
        problem = _syntax_problem(str(error) or "nested too deep")
        return Manifest((), (problem,), is_broken=True, should_retry=is_exhausted)
    reader = Reader(_Lines(text))
    table = document.get("prompts", {})
    prompts = reader.read_prompts(table)
    skipped = frozenset(table if isinstance(table, dict) else ()) - {prompt.key for prompt in prompts}
    return Manifest(tuple(prompts), tuple(reader.problems), skipped=skipped)


def _syntax_problem(message: str) -> Problem:
    position = re.search(r" \(at line (\d+), column \d+\)$", message)
    line = int(position.group(1)) if position else 1
    return Problem(NAME, line, message[: position.start()] if position else message)


class Lines(Protocol):
    """Where prompts and their arguments are declared."""

    def of_prompt(self, key: str) -> int: ...

    def of_argument(self, key: str, position: int) -> int: ...


class Reader:
    """Reads parsed declarations and collects their problems. A prompt with a wrong key or argument is skipped."""

    def __init__(self, lines: Lines, file: str = NAME) -> None:
        self.problems: list[Problem] = []
        self._lines = lines
        self._file = file

    def read_prompts(self, table: Any) -> list[LibraryPrompt]:
        if not isinstance(table, dict):
            self._report(1, "prompts must be a table, as in [prompts.NAME]")
            return []
        if len(table) > MAX_PROMPTS:
            self._report(1, f"a library has at most {MAX_PROMPTS} prompts; those beyond are skipped")
        found = [self.read_prompt(key, entry) for key, entry in list(table.items())[:MAX_PROMPTS]]
        return [prompt for prompt in found if prompt is not None]

    def read_prompt(self, key: str, entry: Any) -> LibraryPrompt | None:
        """The prompt that an entry declares; None where it is wrong."""
        line = self._lines.of_prompt(key)
        if not re.fullmatch(_KEY, key):
            self._report(line, f"prompt {key!r} is skipped: its key may have A-Z, a-z, 0-9, _, . and - only")
            return None
        if not isinstance(entry, dict):
            self._report(line, f"prompt {key} is skipped: it must be a table, as in [prompts.{key}]")
            return None
        description = entry.get("description")
        if not _is_description(description):
            self._report(line, f"prompt {key}: description must be text of at most {MAX_DESCRIPTION} characters")
            description = None
        arguments = self._read_arguments(key, entry.get("arguments", []), line)
        if arguments is None:
            return None
        lines = tuple(self._lines.of_argument(key, position) for position in range(len(arguments)))
        return LibraryPrompt(key, description, arguments, line, lines, self._file)

    def _read_arguments(self, key: str, entries: Any, line: int) -> tuple[Argument, ...] | None:
        """The arguments of a prompt; None if one of them is wrong."""
        if not isinstance(entries, list):
            what = f"prompt {key} is skipped: arguments must be tables, as in [[prompts.{key}.arguments]]"
            self._report(line, what)
            return None
        if len(entries) > MAX_ARGUMENTS:
            self._report(line, f"prompt {key} is skipped: it has more than {MAX_ARGUMENTS} arguments")
            return None
        found: dict[str, Argument] = {}
        is_wrong = False
        for position, entry in enumerate(entries):
            wrong = _find_mistake(entry, position + 1, found)
            if wrong is not None:
                self._report(self._lines.of_argument(key, position), f"prompt {key} is skipped: {wrong}")
                is_wrong = True
            else:
                name = entry["name"]
                found[name] = Argument(name, entry.get("description"), entry.get("required", False))
        return None if is_wrong else tuple(found.values())

    def _report(self, line: int, what: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(self._file, line, what))
        elif len(self.problems) == MAX_PROBLEMS:
            self.problems.append(Problem(self._file, line, f"more than {MAX_PROBLEMS} problems; mend these first"))


def _find_mistake(entry: Any, number: int, before: dict[str, Argument]) -> str | None:
    """What is wrong with an argument; None if nothing is."""
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


# -- lines, which tomllib does not report -------------------------------------------------------------------------

_MAX_LINE = 1000  # characters of a line that are looked at; bounds the work that a hostile line can cause
_MAX_PARTS = 4  # of a key: one more than the longest of interest, prompts.KEY.arguments
_KEY_PART = r"""[ \t]*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)[ \t]*"""
_Path = tuple[str, ...]


class _Lines:
    """The lines of a manifest where prompts and their arguments begin, found without parsing all of TOML."""

    def __init__(self, text: str) -> None:
        self._prompts: dict[str, int] = {}
        self._arguments: dict[str, list[int]] = {}
        self._table: _Path = ()
        self._array: str | None = None  # the prompt whose arguments are being listed in `arguments = [...]`
        closing = ""  # the quotes that end a text of several lines
        for number, raw in enumerate(text.split("\n"), 1):
            line = raw.strip()
            if closing:
                closing = "" if closing in line else closing
            elif line.startswith(("[", "{")) or ("=" in line and not line.startswith("#")):
                closing = next((quotes for quotes in ('"""', "'''") if line.count(quotes) % 2), "")
                self._read(number, line[:_MAX_LINE])

    def of_prompt(self, key: str) -> int:
        return self._prompts.get(key, 1)

    def of_argument(self, key: str, position: int) -> int:
        lines = self._arguments.get(key)
        return lines[min(position, len(lines) - 1)] if lines else self.of_prompt(key)

    def _read(self, number: int, line: str) -> None:
        if self._array is not None and line.startswith("{"):
            self._arguments[self._array].append(number)
            return
        path, rest = _parse_key(line.lstrip("["))
        is_long = len(path) == _MAX_PARTS
        is_header = line.startswith("[") and rest.startswith("]") and rest.lstrip("] \t")[:1] in ("", "#")
        if is_header or (line.startswith("[") and is_long):
            self._table = path
        elif rest.startswith("=") or is_long:
            path = self._table + path
        else:
            return
        self._array = None
        if path[:1] != ("prompts",) or len(path) < 2:
            return
        key = path[1]
        self._prompts.setdefault(key, number)
        if path[2:] != ("arguments",):
            return
        if is_header:
            self._arguments.setdefault(key, []).append(number)
        else:
            self._array = key
            self._arguments[key] = [number] if rest.lstrip("= \t[").startswith("{") else []


def _parse_key(line: str) -> tuple[_Path, str]:
    """The first parts of the dotted key at the start of a line, and what follows them."""
    parts: list[str] = []
    while len(parts) < _MAX_PARTS and (part := re.match(_KEY_PART, line)):
        parts.append(_unquote(part.group(1)))
        line = line[part.end() :]
        if not line.startswith("."):
            break
        line = line[1:]
    return tuple(parts), line


def _unquote(part: str) -> str:
    if part.startswith('"'):
        try:
            return msgspec.json.decode(part, type=str)  # nearly the escapes of TOML
        except msgspec.DecodeError:
            return part[1:-1]
    return part.strip("'")
