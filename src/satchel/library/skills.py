"""Skills in libraries: folders `skills/NAME/` with a SKILL.md, read as safely as templates."""

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from satchel import files
from satchel.library.manifest import Problem
from satchel.yaml_reader import WrongYaml, read_front_matter

if TYPE_CHECKING:
    from satchel.library.catalog import Library  # imports this module, too

SKILL = "SKILL.md"
FOLDER = "skills"  # in a library

_NAME = re.compile(r"(?!-)(?!.*--)[a-z0-9-]{1,64}(?<!-)")
_MOST_FILES = 512  # in a skill; the limit of the extension
_MOST_BYTES = 16 * 1024 * 1024
_MOST_DEPTH = 8  # levels of folders in a skill
_MOST_SKILLS = 200  # in a library


class SkillRefused(Exception):
    """A folder cannot be served as a skill; the message explains why. `line` is the line in SKILL.md, if known."""

    def __init__(self, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.line = line


class SkillFile(Struct, frozen=True):
    """One file of a skill, by its path in the folder of the skill."""

    path: str
    content: bytes


class Skill(Struct, frozen=True):
    """A skill: the front matter of its SKILL.md and all its files, SKILL.md first."""

    frontmatter: dict[str, Any]
    files: tuple[SkillFile, ...]


def is_skill_name(name: str) -> bool:
    """Return whether a name is allowed for a skill."""
    return _NAME.fullmatch(name) is not None


def has_skills(root: str, folder: str) -> bool:
    """Return whether a folder contains skills, which make it a library even without prompts."""
    try:
        names, _ = _list_folders(root, folder)
        return any(is_skill_name(name) and _has_main(root, folder, name) for name in names[:_MOST_SKILLS])
    except OSError:
        return False


def _list_folders(root: str, folder: str) -> tuple[list[str], list[str]]:
    with files.open_folder(os.path.join(root, folder), FOLDER) as opened:
        return files.list_folders(opened)


def _has_main(root: str, folder: str, name: str) -> bool:
    with files.open_folder(os.path.join(root, folder), FOLDER, name) as opened:
        return files.sign(opened, SKILL) is not None


def list_names(library: "Library") -> list[str]:
    """List the sorted folder names of a library's skills."""
    try:
        names, _ = _list_folders(library.root, library.folder)
    except OSError:
        return []
    return [name for name in names if is_skill_name(name)][:_MOST_SKILLS]


def find_problems(library: "Library") -> tuple[int, list[Problem]]:
    """Count the valid skills of a library, and list the problems of the others."""
    try:
        names, links = _list_folders(library.root, library.folder)
    except OSError:
        return 0, []
    problems = [Problem(f"{FOLDER}/{link}", None, "skipped, because it is a symbolic link") for link in links]
    usable = [name for name in names if is_skill_name(name)]
    for name in names:
        if name not in usable:
            what = "skipped, because the name of a skill has 1 to 64 of a-z, 0-9 and single hyphens"
            problems.append(Problem(f"{FOLDER}/{name}", None, what))
    for name in usable[_MOST_SKILLS:]:
        problems.append(Problem(f"{FOLDER}/{name}", None, f"skipped, because a library has {_MOST_SKILLS} skills"))
    count = 0
    for name in usable[:_MOST_SKILLS]:
        try:
            read_skill(library, name)
            count += 1
        except SkillRefused as refused:
            what = f"skill {name} is skipped: {refused}"
            problems.append(Problem(f"{FOLDER}/{name}/{SKILL}", refused.line or 1, what))
    return count, problems


def read_skill(library: "Library", name: str) -> Skill:
    """Read a skill with all its files.

    Raises:
        SkillRefused: there is none, or it breaks a rule of Agent Skills.
    """
    if not is_skill_name(name):
        raise SkillRefused(f"{name!r} is not the name of a skill")
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
        raise SkillRefused(f"the name in {SKILL} must be the name of the folder")
    return Skill(frontmatter, (main, *(file for file in found if file is not main)))


def parse_head(content: bytes) -> dict[str, Any]:
    """Return the front matter of a SKILL.md.

    Raises:
        SkillRefused: there is no front matter, or it breaks a rule of Agent Skills.
    """
    try:
        fields, _ = read_front_matter(content.decode())
    except UnicodeDecodeError:
        raise SkillRefused(f"{SKILL} is not UTF-8") from None
    except WrongYaml as wrong:
        raise SkillRefused(str(wrong), wrong.line) from None
    if fields is None:
        raise SkillRefused(f"{SKILL} must begin with front matter between two lines of ---")
    name, about = fields.get("name"), fields.get("description")
    if not isinstance(name, str) or not is_skill_name(name):
        raise SkillRefused(f"the name in {SKILL} must have 1 to 64 of a-z, 0-9 and single hyphens")
    if not isinstance(about, str) or not 1 <= len(about) <= 1024:
        raise SkillRefused(f"the description in {SKILL} must be a text of 1 to 1,024 characters")
    if len(str(fields.get("compatibility") or "")) > 500:
        raise SkillRefused(f"compatibility in {SKILL} has at most 500 characters")
    if not isinstance(fields.get("metadata", {}), dict):
        raise SkillRefused(f"metadata in {SKILL} must be fields, as in author: Ann")
    return fields


def _read_all(library: "Library", name: str) -> Iterator[SkillFile]:
    """Yield every regular file in the folder of a skill, sorted by path; links are not followed."""
    left, count = _MOST_BYTES, 0
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        folder = waiting.pop(0)
        with files.open_folder(library.path, FOLDER, name, *folder) as opened:
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
