"""Checks libraries for their authors: finds prompts that are skipped, fail or are rendered empty, and unused files."""

import os
from collections.abc import Iterator, Sequence

from msgspec import Struct

from satchel import files
from satchel.library.catalog import ContentMissing, Libraries, Library, find_undeclared
from satchel.library.manifest import NAME, PROMPTS, LibraryPrompt, Problem
from satchel.library.render import RenderFailed
from satchel.library.skills import find_problems

_SAMPLE = "1"  # a value that is both a word and a number


class Report(Struct, frozen=True):
    """The problems of libraries, and the number of valid prompts."""

    problems: tuple[Problem, ...]
    libraries: int
    prompts: int
    skills: int = 0


def check_library(path: str) -> Report:
    """Check the library in a folder; file paths are relative to it."""
    root, folder = os.path.split(os.path.abspath(path))
    libraries = Libraries([root], is_quiet=True)
    try:
        found = libraries.read_one(folder)
        problems = [problem.within(folder) for problem in found.problems]
        for library in found.libraries:
            problems += _check(libraries, library)
    finally:
        libraries.renderer.close()
    if folder.startswith("."):
        problems.append(Problem(folder, None, "skipped, because its name begins with a dot"))
    elif not found.libraries and not problems:
        problems.append(Problem(NAME, None, "does not exist"))
    return _report(problems, found.libraries, is_below=False)


def check_all(roots: Sequence[str]) -> Report:
    """Check all libraries below the root folders; file paths are relative to the root folders."""
    libraries = Libraries(roots, is_quiet=True)
    try:
        found = libraries.catalog
        problems = [*found.problems, *_find_other_folders(libraries)]
        for library in found.libraries:
            problems += [problem.below(library.folder) for problem in _check(libraries, library)]
    finally:
        libraries.renderer.close()
    return _report(problems, found.libraries, is_below=True)


def _report(problems: list[Problem], libraries: Sequence[Library], *, is_below: bool) -> Report:
    prompts, skills = sum(len(library.available) for library in libraries), 0
    for library in libraries:
        count, wrong = find_problems(library)
        skills += count
        problems += [one.below(library.folder) for one in wrong] if is_below else wrong
    return Report(tuple(problems), len(libraries), prompts, skills)


def _check(libraries: Libraries, library: Library) -> Iterator[Problem]:
    yield from library.problems
    for prompt in library.available:
        file = f"{PROMPTS}/{prompt.file}"
        try:
            yield from _check_template(libraries, library, prompt)
        except RenderFailed as failure:
            yield Problem(file, failure.line or 1, failure.what)
        except ContentMissing:
            yield Problem(file, None, "cannot be read")
    yield from _find_other_files(library, libraries.list_included(library))


def _check_template(libraries: Libraries, library: Library, prompt: LibraryPrompt) -> Iterator[Problem]:
    """Yield the problems of a template that can be parsed.

    Raises:
        RenderFailed: the template cannot be parsed, or fails when rendered with sample values.
    """
    names, file = libraries.check(library, prompt), f"{PROMPTS}/{prompt.file}"
    declared = [argument.name for argument in prompt.arguments]
    wrong = [
        *find_undeclared(prompt, names),
        *(
            Problem(names.files.get(name, file), line, f"there is no function {name}")
            for name, line in names.functions.items()
        ),
    ]
    yield from wrong
    for name in declared:
        if name not in names.variables:
            what = f"the text of prompt {prompt.key} does not use argument {name}"
            yield Problem(prompt.declared_in, None, what, is_warning=True)
    if not wrong:
        # Only rendering reveals a filter that cannot handle its value.
        required = [argument.name for argument in prompt.arguments if argument.is_required]
        libraries.render_messages(library, prompt, dict.fromkeys(required, _SAMPLE))
        if not libraries.render(library, prompt, dict.fromkeys(declared, _SAMPLE)).strip():
            yield Problem(file, None, f"prompt {prompt.key} renders to an empty text")


def _find_other_files(library: Library, included: frozenset[str]) -> Iterator[Problem]:
    """Yield files in the folder of prompts that no prompt declares or includes."""
    named = {prompt.file for prompt in library.prompts} | {f"{key}.md" for key in library.skipped}
    try:
        with files.open_folder(library.path, PROMPTS) as opened:
            others = sorted(files.list_files(opened) - named)
    except OSError:
        return  # reported with each prompt
    what = f"{NAME} names no such prompt" if library.has_manifest else "it has no front matter, so it is not a prompt"
    for file in others:
        if not file.startswith(".") and f"{PROMPTS}/{file}" not in included:
            yield Problem(f"{PROMPTS}/{file}", None, what, is_warning=True)


def _find_other_folders(libraries: Libraries) -> Iterator[Problem]:
    """Warn about folders next to libraries that have no manifest."""
    known = {os.path.join(one.root, one.folder) for one in libraries.catalog.libraries}
    for folder in libraries.catalog.folders:
        root, name = os.path.split(folder)
        if root in libraries.roots and folder not in known and not os.path.lexists(os.path.join(folder, NAME)):
            yield Problem(name, None, f"there is no {NAME} in it, so it is not a library", is_warning=True)
