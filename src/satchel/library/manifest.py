"""Parses twig.toml: its prompts, and every problem with file and line."""

import re
from typing import Any

from msgspec import Struct

from satchel.library.render import Renderer, RenderFailed
from satchel.model import Argument

MAX_MANIFEST = 256 * 1024
MAX_PROMPTS = 2000
MAX_ARGUMENTS = 100  # of one prompt
MAX_PROBLEMS = 500
# A manifest up to this size is parsed in this process, a larger one in a worker: a hostile key of 10,000 parts takes
# tomllib five seconds.
_MAX_PARSED_HERE = 2 * 1024

NAME = "twig.toml"
_KEY = "[a-z0-9_]+"


class Problem(Struct, frozen=True):
    """A mistake in a library: file, line and description."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


class LibraryPrompt(Struct, frozen=True):
    """A prompt as its manifest declares it."""

    key: str
    description: str | None
    arguments: tuple[Argument, ...]
    line: int


class Manifest(Struct, frozen=True):
    """The valid prompts of a manifest, and its problems."""

    prompts: tuple[LibraryPrompt, ...]
    problems: tuple[Problem, ...]
    is_broken: bool = False  # it could not be parsed at all
    should_retry: bool = False  # parsing ran out of time or memory, perhaps because the machine is busy


def parse(content: bytes, renderer: Renderer) -> Manifest:
    """Parse a manifest; what is wrong with it is part of the result, not an error."""
    try:
        text = content.decode()
        import tomllib  # 2.5 ms of a start, and only a folder with libraries needs it

        document = tomllib.loads(text) if len(text) <= _MAX_PARSED_HERE else renderer.parse_toml(text)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        return Manifest((), (Problem(NAME, line, "this is not UTF-8"),), is_broken=True)
    except (RenderFailed, ValueError, RecursionError) as error:
        is_exhausted = isinstance(error, RenderFailed) and error.is_exhausted
        problem = _syntax_problem(str(error) or "nested too deep")
        return Manifest((), (problem,), is_broken=True, should_retry=is_exhausted)
    reader = _Reader(text)
    prompts = reader.read_prompts(document.get("prompts", {}))
    return Manifest(tuple(prompts), tuple(reader.problems))


def _syntax_problem(message: str) -> Problem:
    position = re.search(r" \(at line (\d+), column \d+\)$", message)
    line = int(position.group(1)) if position else 1
    return Problem(NAME, line, message[: position.start()] if position else message)


class _Reader:
    """Reads a parsed manifest and collects its problems."""

    def __init__(self, text: str) -> None:
        self.problems: list[Problem] = []
        self._headers = _find_headers(text)  # for line numbers, which tomllib does not report

    def read_prompts(self, table: Any) -> list[LibraryPrompt]:
        if not isinstance(table, dict):
            self._report(1, "prompts must be a table, as in [prompts.NAME]")
            return []
        if len(table) > MAX_PROMPTS:
            self._report(1, f"a library has at most {MAX_PROMPTS} prompts; those beyond are left out")
        found = [self._read_prompt(key, entry) for key, entry in list(table.items())[:MAX_PROMPTS]]
        return [prompt for prompt in found if prompt is not None]

    def _read_prompt(self, key: str, entry: Any) -> LibraryPrompt | None:
        line = self._headers.get((key, False), [1])[0]
        if not re.fullmatch(_KEY, key):
            self._report(line, f"prompt {key!r}: a name has only a-z, 0-9 and _")
            return None
        if not isinstance(entry, dict):
            self._report(line, f"prompt {key}: must be a table, as in [prompts.{key}]")
            return None
        description = self._read_text(entry.get("description"), line, f"prompt {key}: description")
        arguments = self._read_arguments(key, entry.get("arguments", []), line)
        return LibraryPrompt(key, description, tuple(arguments), line)

    def _read_arguments(self, key: str, entries: Any, line: int) -> list[Argument]:
        if not isinstance(entries, list):
            self._report(line, f"prompt {key}: arguments must be tables, as in [[prompts.{key}.arguments]]")
            return []
        if len(entries) > MAX_ARGUMENTS:
            self._report(line, f"prompt {key}: it has more than {MAX_ARGUMENTS} arguments; those beyond are left out")
        found: dict[str, Argument] = {}
        for position, entry in enumerate(entries[:MAX_ARGUMENTS]):
            argument_line = self._line_of_argument(key, position, line)
            name = entry.get("name") if isinstance(entry, dict) else None
            if not isinstance(name, str) or not re.fullmatch(_KEY, name):
                self._report(argument_line, f"prompt {key}: argument {position + 1} needs a name of a-z, 0-9 and _")
            elif name in found:
                self._report(argument_line, f"prompt {key}: there are two arguments {name!r}")
            else:
                what = f"prompt {key}: argument {name}"
                is_required = entry.get("required", False)
                if not isinstance(is_required, bool):
                    self._report(argument_line, f"{what}: required must be true or false")
                    is_required = False
                description = self._read_text(entry.get("description"), argument_line, f"{what}: description")
                found[name] = Argument(name, description, is_required)
        return list(found.values())

    def _read_text(self, value: Any, line: int, what: str) -> str | None:
        if value is None or (isinstance(value, str) and "\0" not in value):
            return value
        self._report(line, f"{what} must be text")
        return None

    def _report(self, line: int, what: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(NAME, line, what))
        elif len(self.problems) == MAX_PROBLEMS:
            self.problems.append(Problem(NAME, line, f"more than {MAX_PROBLEMS} problems; mend these first"))

    def _line_of_argument(self, key: str, position: int, default: int) -> int:
        lines = self._headers.get((key, True), [])
        return lines[position] if position < len(lines) else default


_MAX_HEADER = 200


def _find_headers(text: str) -> dict[tuple[str, bool], list[int]]:
    """The lines where prompts and their arguments begin, by key and whether it is an argument."""
    found: dict[tuple[str, bool], list[int]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        header = _parse_header(line.strip())
        if header is not None:
            found.setdefault(header, []).append(number)
    return found


def _parse_header(line: str) -> tuple[str, bool] | None:
    """The key in `[prompts.KEY]`, `[[prompts.KEY.arguments]]` or `KEY = …`, and whether it begins an argument.

    Uses no regular expression, which a hostile line could make slow.
    """
    if len(line) > _MAX_HEADER:
        return None
    if line.startswith("["):
        inside = line.lstrip("[").partition("]")[0]
    else:
        inside, is_pair, _ = line.partition("=")
        if not is_pair:
            return None
    parts = [part.strip().strip("\"'") for part in inside.split(".")]
    if parts[0] == "prompts":
        parts = parts[1:]
    return (parts[0], line.startswith("[[") and parts[1:] == ["arguments"]) if parts else None
