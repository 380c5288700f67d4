"""Renders the prompts of libraries, with the files of the library that they take something from."""

from collections.abc import Callable
from typing import TypeVar

from satchel.library.catalog import Libraries
from satchel.library.contents import Library, read_part
from satchel.library.manifest import PROMPTS, LibraryPrompt
from satchel.library.render import NeedsParts, Parts, RenderFailed, TemplateNames
from satchel.library.roles import Message
from satchel.work import Work

_MAX_FILES = 64  # that one prompt takes something from
_MAX_BYTES = 512 * 1024  # of all of them

Result = TypeVar("Result")


def render(
    libraries: Libraries, library: Library, prompt: LibraryPrompt, values: dict[str, str], work: Work | None = None
) -> str:
    """A prompt, filled in, as one text.

    Raises:
        ContentMissing: its file is not there.
        RenderFailed: the template is wrong, or exceeds a limit.
        Abandoned: the work was cancelled.
    """
    renderer = libraries.renderer
    return _ask(libraries, library, prompt, lambda text, parts: renderer.render(text, values, work, parts))


def render_messages(
    libraries: Libraries, library: Library, prompt: LibraryPrompt, values: dict[str, str], work: Work | None = None
) -> list[Message]:
    """A prompt, filled in, as the messages that its sections are.

    Raises:
        ContentMissing: its file is not there.
        RenderFailed: the template is wrong, or exceeds a limit.
        Abandoned: the work was cancelled.
    """
    renderer = libraries.renderer
    return _ask(libraries, library, prompt, lambda text, parts: renderer.render_messages(text, values, work, parts))


def check(libraries: Libraries, library: Library, prompt: LibraryPrompt) -> TemplateNames:
    """The names that a prompt, and the files that it takes something from, use without setting them first.

    Raises:
        ContentMissing: its file is not there.
        RenderFailed: the template is wrong, or exceeds a limit.
    """
    offset = libraries.read(library, prompt).offset
    names = _ask(libraries, library, prompt, lambda text, parts: libraries.renderer.check(text, None, parts))
    return names.shift(offset) if offset else names


def _ask(libraries: Libraries, library: Library, prompt: LibraryPrompt, job: Callable[[str, Parts], Result]) -> Result:
    """The result of a job; it is sent again with each file that the template turns out to need."""
    source = libraries.read(library, prompt)
    path = f"{PROMPTS}/{prompt.file}"
    found = {one: read_part(library, one) for one in libraries.parts.list(library.root, library.folder, prompt.file)}
    try:
        while True:
            try:
                result = job(source.text, Parts(path, found))
                break
            except NeedsParts as more:
                fresh = [one for one in more.paths if one not in found]
                if not fresh:
                    raise RenderFailed("the files that it names cannot be found") from None
                found |= {one: read_part(library, one) for one in fresh}
                _check_bounds(found)
    except RenderFailed as failure:
        line = None if failure.line is None else failure.line + source.offset
        raise RenderFailed(failure.what, line, is_exhausted=failure.is_exhausted) from None
    finally:
        libraries.parts.remember(library.root, library.folder, prompt.file, tuple(found))
    return result


def _check_bounds(found: dict[str, str | None]) -> None:
    if len(found) > _MAX_FILES:
        raise RenderFailed(f"it takes something from more than {_MAX_FILES} files")
    if sum(len(text.encode()) for text in found.values() if text) > _MAX_BYTES:
        raise RenderFailed(f"the files that it takes something from have more than {_MAX_BYTES} bytes")
