"""What twig.toml says: its prompts, and every problem with it by file and line."""

import re
from typing import Any

from msgspec import Struct

from satchel.library.render import Renderer, RenderFailed
from satchel.model import Argument

MAX_MANIFEST = 256 * 1024
MAX_PROMPTS = 2000
MAX_ARGUMENTS = 100  # of one prompt
MAX_PROBLEMS = 500
# Parsed in our own process up to here. A key of 10,000 parts takes tomllib five seconds; what fits in here takes none.
_SMALL = 2 * 1024

NAME = "twig.toml"
_KEY = "[a-z0-9_]+"


class Problem(Struct, frozen=True):
    """Something wrong in a library: where, and what."""

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
    """What could be understood of a manifest, and what could not; broken when there was nothing to understand."""

    prompts: tuple[LibraryPrompt, ...]
    problems: tuple[Problem, ...]
    is_broken: bool = False
    is_worth_another_try: bool = False  # it was not read to its end, which a busy machine may be to blame for


def parse(content: bytes, renderer: Renderer) -> Manifest:
    """Read a manifest, however bad it is."""
    try:
        text = content.decode()
        told = _toml(text, renderer)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        return Manifest((), (Problem(NAME, line, "this is not UTF-8"),), is_broken=True)
    except (RenderFailed, ValueError, RecursionError) as error:
        is_exhausted = isinstance(error, RenderFailed) and error.is_exhausted
        problem = _syntax_problem(str(error) or "nested too deep")
        return Manifest((), (problem,), is_broken=True, is_worth_another_try=is_exhausted)
    reader = _Reader(text)
    prompts = reader.prompts(told.get("prompts", {}))
    return Manifest(tuple(prompts), tuple(reader.problems))


def _toml(text: str, renderer: Renderer) -> dict[str, Any]:
    if len(text) > _SMALL:
        return renderer.parse_toml(text)
    import tomllib  # not before there is a library

    return tomllib.loads(text)


def _syntax_problem(message: str) -> Problem:
    place = re.search(r" \(at line (\d+), column \d+\)$", message)
    line = int(place.group(1)) if place else 1
    return Problem(NAME, line, message[: place.start()] if place else message)


class _Reader:
    """Goes through a parsed manifest and collects what is wrong with it."""

    def __init__(self, text: str) -> None:
        self.problems: list[Problem] = []
        self._headers = _headers(text)

    def prompts(self, told: Any) -> list[LibraryPrompt]:
        if not isinstance(told, dict):
            self._complain(1, "prompts must be a table, as in [prompts.NAME]")
            return []
        if len(told) > MAX_PROMPTS:
            self._complain(1, f"a library has at most {MAX_PROMPTS} prompts; those beyond are left out")
        found = [self._prompt(key, one) for key, one in list(told.items())[:MAX_PROMPTS]]
        return [prompt for prompt in found if prompt is not None]

    def _prompt(self, key: str, told: Any) -> LibraryPrompt | None:
        line = self._line_of_prompt(key)
        if not re.fullmatch(_KEY, key):
            self._complain(line, f"prompt {key!r}: a name has only a-z, 0-9 and _")
            return None
        if not isinstance(told, dict):
            self._complain(line, f"prompt {key}: must be a table, as in [prompts.{key}]")
            return None
        description = self._text(told.get("description"), line, f"prompt {key}: description")
        arguments = self._arguments(key, told.get("arguments", []), line)
        return LibraryPrompt(key, description, tuple(arguments), line)

    def _arguments(self, key: str, told: Any, line: int) -> list[Argument]:
        if not isinstance(told, list):
            self._complain(line, f"prompt {key}: arguments must be tables, as in [[prompts.{key}.arguments]]")
            return []
        if len(told) > MAX_ARGUMENTS:
            self._complain(line, f"prompt {key}: it has more than {MAX_ARGUMENTS} arguments; those beyond are left out")
        found: dict[str, Argument] = {}
        for position, one in enumerate(told[:MAX_ARGUMENTS]):
            place = self._line_of_argument(key, position, line)
            name = one.get("name") if isinstance(one, dict) else None
            if not isinstance(name, str) or not re.fullmatch(_KEY, name):
                self._complain(place, f"prompt {key}: argument {position + 1} needs a name of a-z, 0-9 and _")
            elif name in found:
                self._complain(place, f"prompt {key}: there are two arguments {name!r}")
            else:
                what = f"prompt {key}: argument {name}"
                is_required = one.get("required", False)
                if not isinstance(is_required, bool):
                    self._complain(place, f"{what}: required must be true or false")
                    is_required = False
                found[name] = Argument(
                    name, self._text(one.get("description"), place, f"{what}: description"), is_required
                )
        return list(found.values())

    def _text(self, told: Any, line: int, what: str) -> str | None:
        if told is None or (isinstance(told, str) and "\0" not in told):
            return told
        self._complain(line, f"{what} must be text")
        return None

    def _complain(self, line: int, what: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(NAME, line, what))
        elif len(self.problems) == MAX_PROBLEMS:
            self.problems.append(Problem(NAME, line, f"more than {MAX_PROBLEMS} problems; mend these first"))

    # TOML readers do not tell where they found a thing, so we look for its header.

    def _line_of_prompt(self, key: str) -> int:
        return self._headers.get((key, False), [1])[0]

    def _line_of_argument(self, key: str, position: int, otherwise: int) -> int:
        places = self._headers.get((key, True), [])
        return places[position] if position < len(places) else otherwise


_LONGEST_HEADER = 200


def _headers(text: str) -> dict[tuple[str, bool], list[int]]:
    """The lines where prompts begin, and where their arguments do: by key, and whether it is an argument."""
    found: dict[tuple[str, bool], list[int]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        header = _header(line.strip())
        if header is not None:
            found.setdefault(header, []).append(number)
    return found


def _header(line: str) -> tuple[str, bool] | None:
    """What `[prompts.KEY]`, `[[prompts.KEY.arguments]]` or `KEY = …` is about; no pattern, which could get lost."""
    if len(line) > _LONGEST_HEADER:
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
