"""Skills in libraries: folders `skills/NAME/` with a SKILL.md, read as safely as templates."""

import os
import re
from collections.abc import Iterator

from msgspec import Struct

from satchel import files
from satchel.library.contents import Library
from satchel.library.manifest import Problem

SKILL = "SKILL.md"

_FOLDER = "skills"
_NAME = re.compile(r"(?!-)(?!.*--)[a-z0-9-]{1,64}(?<!-)")
_MOST_FILES = 512  # of a skill, as the extension bounds it
_MOST_BYTES = 16 * 1024 * 1024
_MOST_DEPTH = 8  # folders below that of a skill
_MOST_SKILLS = 200  # of a library
_KNOWN = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_SCALAR = re.compile(r"""([A-Za-z][A-Za-z-]*):(?:[ \t]+(.*))?""")


class SkillRefused(Exception):
    """A folder is no skill that can be served; the message says why. `line` is of SKILL.md, where it is known."""

    def __init__(self, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.line = line


class SkillFile(Struct, frozen=True):
    """One file of a skill, by its path in the folder of the skill."""

    path: str
    content: bytes


class Skill(Struct, frozen=True):
    """A skill: the head of its SKILL.md, and all its files, SKILL.md first."""

    frontmatter: dict[str, str | dict[str, str]]
    files: tuple[SkillFile, ...]


def is_skill_name(name: str) -> bool:
    """Whether a skill can be called so."""
    return _NAME.fullmatch(name) is not None


def has_skills(root: str, folder: str) -> bool:
    """Whether a folder has skills in it, which make it a library even without prompts."""
    try:
        with files.open_folder(root, folder, _FOLDER) as opened:
            names, _ = files.list_folders(opened)
        return any(is_skill_name(name) and _has_main(root, folder, name) for name in names[:_MOST_SKILLS])
    except OSError:
        return False


def _has_main(root: str, folder: str, name: str) -> bool:
    with files.open_folder(root, folder, _FOLDER, name) as opened:
        return files.sign(opened, SKILL) is not None


def list_names(library: Library) -> list[str]:
    """The names of the folders of a library's skills, sorted."""
    try:
        with files.open_folder(library.root, library.folder, _FOLDER) as opened:
            names, _ = files.list_folders(opened)
    except OSError:
        return []
    return [name for name in names if is_skill_name(name)][:_MOST_SKILLS]


def find_problems(library: Library) -> tuple[int, list[Problem]]:
    """How many skills of a library are served, and why the others are not."""
    try:
        with files.open_folder(library.root, library.folder, _FOLDER) as opened:
            names, links = files.list_folders(opened)
    except OSError:
        return 0, []
    problems = [Problem(f"{_FOLDER}/{link}", None, "skipped, because it is a symbolic link") for link in links]
    usable = [name for name in names if is_skill_name(name)]
    for name in names:
        if name not in usable:
            what = "skipped, because the name of a skill has 1 to 64 of a-z, 0-9 and single hyphens"
            problems.append(Problem(f"{_FOLDER}/{name}", None, what))
    for name in usable[_MOST_SKILLS:]:
        problems.append(Problem(f"{_FOLDER}/{name}", None, f"skipped, because a library has {_MOST_SKILLS} skills"))
    count = 0
    for name in usable[:_MOST_SKILLS]:
        try:
            read_skill(library, name)
            count += 1
        except SkillRefused as refused:
            what = f"skill {name} is skipped: {refused}"
            problems.append(Problem(f"{_FOLDER}/{name}/{SKILL}", refused.line or 1, what))
    return count, problems


def read_skill(library: Library, name: str) -> Skill:
    """A skill with all its files.

    Raises:
        SkillRefused: there is none, or it breaks a rule of Agent Skills.
    """
    if not is_skill_name(name):
        raise SkillRefused(f"{name!r} is no name of a skill")
    try:
        found = tuple(_read_all(library, name))
    except OSError as error:
        raise SkillRefused(error.strerror or "it cannot be read") from None
    except files.TooLarge:
        raise SkillRefused(f"it has more than {_MOST_BYTES} bytes") from None
    main = next((file for file in found if file.path == SKILL), None)
    if main is None:
        raise SkillRefused(f"it has no {SKILL}")
    frontmatter = parse_head(main.content)
    if frontmatter["name"] != name:
        raise SkillRefused(f"its name in {SKILL} is not that of its folder")
    return Skill(frontmatter, (main, *(file for file in found if file is not main)))


def parse_head(content: bytes) -> dict[str, str | dict[str, str]]:
    """The head of a SKILL.md: the known keys with plain or quoted values, and one flat map.

    Other YAML is refused, so that what we say about a skill cannot differ from what a host reads in it.

    Raises:
        SkillRefused: it has no head, a key or value that is not understood, or breaks a rule.
    """
    try:
        lines = content.decode().split("\n")
    except UnicodeDecodeError:
        raise SkillRefused(f"{SKILL} is not UTF-8") from None
    lines = [line.removesuffix("\r") for line in lines]
    if not lines or lines[0] != "---" or "---" not in lines[1:]:
        raise SkillRefused(f"{SKILL} must begin with a head between two lines of ---")
    head: dict[str, str | dict[str, str]] = {}
    inner: dict[str, str] | None = None
    for number, line in enumerate(lines[1 : lines.index("---", 1)], 2):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        is_inner = line[0] in " \t"
        matched = _SCALAR.fullmatch(line.strip() if is_inner else line)
        if matched is None or (is_inner and inner is None):
            raise SkillRefused(f"line {number} of {SKILL} is not understood", number)
        key, value = matched[1], (matched[2] or "").strip()
        if is_inner and inner is not None:
            inner[key] = _read_scalar(value, number)
            continue
        if key not in _KNOWN or key in head:
            raise SkillRefused(f"line {number} of {SKILL}: {key} is not a key of a skill, or is there twice", number)
        inner = {} if key == "metadata" else None
        head[key] = inner if inner is not None else _read_scalar(value, number)
    _check(head)
    return head


def _read_scalar(value: str, number: int) -> str:
    for quote in ('"', "'"):
        if value.startswith(quote):
            body = value[1:-1]
            if len(value) < 2 or not value.endswith(quote) or quote in body or "\\" in body:
                raise SkillRefused(f"line {number} of {SKILL}: write the value without escapes", number)
            return body
    if not value or value[0] in "[]{}>|&*!%@`#,?:-" or ": " in value or " #" in value:
        raise SkillRefused(f"line {number} of {SKILL}: put the value in quotes", number)
    if value.lower() in ("true", "false", "null", "yes", "no", "on", "off", "~") or re.fullmatch(
        r"[-+.0-9eExX_:]+", value
    ):
        raise SkillRefused(f"line {number} of {SKILL}: put the value in quotes, so that it is a text", number)
    return value


def _check(head: dict[str, str | dict[str, str]]) -> None:
    name, about = head.get("name"), head.get("description")
    if not isinstance(name, str) or not is_skill_name(name):
        raise SkillRefused(f"the name in {SKILL} must have 1 to 64 of a-z, 0-9 and single hyphens")
    if not isinstance(about, str) or not 1 <= len(about) <= 1024:
        raise SkillRefused(f"the description in {SKILL} must have 1 to 1,024 characters")
    if len(str(head.get("compatibility", ""))) > 500:
        raise SkillRefused(f"compatibility in {SKILL} has at most 500 characters")


def _read_all(library: Library, name: str) -> Iterator[SkillFile]:
    """Every regular file below the folder of a skill, sorted by path; links are not followed."""
    left, count = _MOST_BYTES, 0
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        folder = waiting.pop(0)
        with files.open_folder(library.root, library.folder, _FOLDER, name, *folder) as opened:
            folders, _ = files.list_folders(opened)
            if len(folder) < _MOST_DEPTH:
                waiting += [(*folder, one) for one in folders]
            for file in sorted(files.list_files(opened)):
                count += 1
                if count > _MOST_FILES:
                    raise SkillRefused(f"it has more than {_MOST_FILES} files")
                content = files.read_file(file, left, folder=opened, is_single=True)
                left -= len(content)
                yield SkillFile(os.path.join(*folder, file) if folder else file, content)
