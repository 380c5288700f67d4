"""Prompts that declare themselves: front matter at the head of a text, in libraries without twig.toml."""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from satchel import files
from satchel.library.manifest import MAX_MANIFEST, MAX_PROMPTS, PROMPTS, LibraryPrompt, Manifest, Problem, Reader
from satchel.yaml_reader import WrongYaml, read_yaml

_MAX_HEAD = 16 * 1024  # bytes of one text
_HEAD = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_ENDING = ".md"


class Head(Struct, frozen=True):
    """The front matter of a text: its lines of YAML, and where the rest begins."""

    yaml: str
    end: int  # in characters
    lines: int  # how many there are, those of `---` included


def find_head(text: str) -> Head | None:
    """The front matter of a text; None where it has none."""
    found = _HEAD.match(text)
    return None if found is None else Head(found[1], found.end(), found[0].count("\n"))


class _Known(Struct, frozen=True):
    """What one file declares: nothing, a prompt, or one that is wrong."""

    signature: tuple[int, ...]
    size: int = 0  # of its head, in characters
    prompt: LibraryPrompt | None = None
    problems: tuple[Problem, ...] = ()


class Heads:
    """Reads the front matter of all texts of a library, and again that of each text that has changed."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], dict[str, _Known]] = {}  # by root and folder, then by file

    def read(self, root: str, folder: str) -> Manifest | None:
        """The prompts of a library without manifest; None where no text has front matter.

        A prompt whose front matter becomes wrong is kept as it was.
        """
        before = self._known.get((root, folder), {})
        try:
            with files.open_folder(root, folder, PROMPTS) as opened:
                names = sorted(one for one in files.list_files(opened) if one.endswith(_ENDING))
                found = {name: _read_one(opened, name, before.get(name)) for name in names[:MAX_PROMPTS]}
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
        """Forget libraries that were deleted."""
        self._known = {key: known for key, known in self._known.items() if key in keep}


def _read_one(opened: int, name: str, before: _Known | None) -> _Known:
    signature = files.sign(opened, name)
    if signature is None:
        return _Known(())  # deleted meanwhile
    if before is not None and before.signature == signature:
        return before
    file = f"{PROMPTS}/{name}"
    try:
        start = files.read_start(name, _MAX_HEAD, folder=opened)
    except OSError as error:
        return _Known(signature, 0, None, (Problem(file, 1, f"cannot be read: {error.strerror}"),))
    text = start.decode(errors="ignore").removeprefix("\ufeff")
    head = find_head(text)
    if head is None:
        is_open = re.match(r"---[ \t]*\r?\n", text) is not None and len(start) == _MAX_HEAD
        what = f"its front matter does not end within {_MAX_HEAD} bytes"
        return _Known(signature, 0, None, (Problem(file, 1, what),) if is_open else ())
    prompt, problems = _declare(name.removesuffix(_ENDING), file, head.yaml)
    if prompt is None and before is not None:
        prompt = before.prompt
    return _Known(signature, max(1, len(head.yaml)), prompt, problems)


def _declare(key: str, file: str, yaml: str) -> tuple[LibraryPrompt | None, tuple[Problem, ...]]:
    try:
        fields = read_yaml(yaml)
    except WrongYaml as wrong:
        what = re.sub(r" in line \d+", "", str(wrong))
        return None, (Problem(file, (wrong.line or 0) + 1, f"prompt {key} is skipped: {what}"),)
    if fields is not None and not isinstance(fields, Mapping):
        return None, (Problem(file, 1, f"prompt {key} is skipped: front matter must be fields, as in description: …"),)
    reader = Reader(_Lines(yaml), file)
    prompt = reader.read_prompt(key, _normalise(fields or {}))
    return prompt, tuple(reader.problems)


def _normalise(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as a manifest has them; front matter may also list names, or have a description for each name."""
    arguments = fields.get("arguments")
    if isinstance(arguments, Mapping):
        arguments = [
            {**about, "name": name} if isinstance(about, Mapping) else {"name": name, "description": about}
            for name, about in arguments.items()
        ]
    elif isinstance(arguments, list):
        arguments = [{"name": one} if isinstance(one, str) else one for one in arguments]
    return {**fields, "arguments": [] if arguments is None else arguments}


class _Lines:
    """The lines of a file where its arguments are declared."""

    def __init__(self, yaml: str) -> None:
        self._arguments: list[int] = []
        self._first = 1
        is_inside, depth = False, None
        for number, line in enumerate(yaml.split("\n"), 2):
            indent = len(line) - len(line.lstrip())
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            if is_inside and (indent or line.startswith("-")):
                depth = indent if depth is None else depth
                self._arguments += [number] if indent == depth else []
            else:
                is_inside, depth = line.startswith("arguments:"), None
                self._first = number if is_inside else self._first

    def of_prompt(self, _key: str) -> int:
        return 1

    def of_argument(self, _key: str, position: int) -> int:
        return self._arguments[position] if position < len(self._arguments) else self._first
