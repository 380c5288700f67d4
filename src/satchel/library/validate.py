"""Checks libraries for their authors: what the server skips, cannot render or renders empty, and what has no effect."""

import os
from collections.abc import Iterator, Sequence

from msgspec import Struct

from satchel.library import files
from satchel.library.catalog import PROMPTS, ContentMissing, Libraries, Library
from satchel.library.manifest import NAME, LibraryPrompt, Problem
from satchel.library.render import Renderer, RenderFailed

_SAMPLE = "1"  # a value that is a word and a number


class Report(Struct, frozen=True):
    """What is wrong with libraries, and how much of them is served."""

    problems: tuple[Problem, ...]
    libraries: int
    prompts: int


def check_library(path: str) -> Report:
    """Check the library in a folder; its files are named from there."""
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
        problems.append(Problem(NAME, 1, "does not exist"))
    return _report(problems, found.libraries)


def check_all(roots: Sequence[str]) -> Report:
    """Check all libraries below some root folders; their files are named from the root folders."""
    libraries = Libraries(roots, is_quiet=True)
    try:
        found = libraries.catalog
        problems = [*found.problems, *_find_other_folders(libraries)]
        for library in found.libraries:
            problems += [problem.below(library.folder) for problem in _check(libraries, library)]
    finally:
        libraries.renderer.close()
    return _report(problems, found.libraries)


def _report(problems: list[Problem], libraries: Sequence[Library]) -> Report:
    return Report(tuple(problems), len(libraries), sum(len(library.available) for library in libraries))


def _check(libraries: Libraries, library: Library) -> Iterator[Problem]:
    yield from library.problems
    for prompt in library.available:
        file = f"{PROMPTS}/{prompt.file}"
        try:
            yield from _check_template(libraries.renderer, prompt, libraries.template(library, prompt), file)
        except RenderFailed as failure:
            yield Problem(file, failure.line or 1, failure.what)
        except ContentMissing:
            yield Problem(file, 1, "cannot be read")
    yield from _find_other_files(library)


def _check_template(renderer: Renderer, prompt: LibraryPrompt, template: str, file: str) -> Iterator[Problem]:
    """The problems of a template that can be parsed.

    Raises:
        RenderFailed: it cannot be parsed, or fails when it is tried out.
    """
    variables, functions = renderer.check(template)
    declared = [argument.name for argument in prompt.arguments]
    wrong = [
        Problem(file, line, f"{name} is always empty: prompt {prompt.key} has no argument of this name")
        for name, line in variables.items()
        if name not in declared
    ]
    wrong += [Problem(file, line, f"there is no function {name}") for name, line in functions.items()]
    yield from wrong
    for name, line in zip(declared, prompt.argument_lines, strict=True):
        if name not in variables:
            what = f"the text of prompt {prompt.key} does not use argument {name}"
            yield Problem(NAME, line, what, is_warning=True)
    if not wrong:
        # Only rendering shows a filter that cannot take its value.
        required = [argument.name for argument in prompt.arguments if argument.is_required]
        for given in (declared, required):
            renderer.render(template, dict.fromkeys(given, _SAMPLE))


def _find_other_files(library: Library) -> Iterator[Problem]:
    """Files in the folder of prompts that the manifest does not name."""
    named = {prompt.file for prompt in library.prompts} | {f"{key}.md" for key in library.skipped}
    try:
        with files.open_folder(library.root, library.folder, PROMPTS) as opened:
            others = sorted(files.files_in(opened) - named)
    except OSError:
        return  # reported with each prompt
    for file in others:
        if not file.startswith("."):
            yield Problem(f"{PROMPTS}/{file}", None, f"{NAME} names no such prompt", is_warning=True)


def _find_other_folders(libraries: Libraries) -> Iterator[Problem]:
    """Folders beside libraries that have no manifest."""
    for folder in libraries.catalog.folders:
        root, name = os.path.split(folder)
        if root in libraries.roots and not os.path.lexists(os.path.join(folder, NAME)):
            yield Problem(name, None, f"there is no {NAME} in it, so it is no library", is_warning=True)
