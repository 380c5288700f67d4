"""Texts that a template loads by `include`, `extends` or `import`. Only the worker imports this.

A template of a library loads files. The worker opens no file: it reports the files that a template names, and the
caller resends the job with their texts. A stored prompt loads documents and prompts by their names, and the caller
sends the texts of all names with the job.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from jinja2 import TemplateSyntaxError, nodes

_MAX_DEPTH = 10  # levels of files that include each other
_MAX_STORED_DEPTH = 5  # the same for texts of the store
_STATEMENTS = ("include", "extends", "import")
_STATEMENT = re.compile(rf"\b(?:{'|'.join(_STATEMENTS)})\b")
NAMING = (nodes.Include, nodes.Extends, nodes.Import, nodes.FromImport)

Files = Mapping[str, str | None]  # texts by path in the library; None if there is no such file
Parse = Callable[[str, str], nodes.Template]  # a text and its path


class Source(NamedTuple):
    """A template, and the texts that it includes.

    `path` is its path in a library, or with `is_stored` the name of a stored prompt, empty if it has none; the files
    of a stored prompt are texts of the store by name.
    """

    text: str
    path: str
    files: Files
    is_stored: bool


class NeedsFiles(Exception):
    """A template names files that the worker has not received."""

    def __init__(self, paths: list[str]) -> None:
        super().__init__()
        self.paths = paths


class WrongParts(Exception):
    """An included text is missing or wrong, or includes are circular or too deep; `line` refers to the first text."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.what = what
        self.line = line


class Part(NamedTuple):
    """A file that a template includes."""

    path: str
    line: int  # the line of the requested template
    sees_values: bool  # it can read the template's values
    is_parent: bool  # used by `extends`


def has_parts(source: str) -> bool:
    """Return whether a template may name other files; this quick test avoids parsing most templates."""
    # Searching for each word takes 1 µs per kilobyte, matching the pattern 40 µs.
    return any(word in source for word in _STATEMENTS) and _STATEMENT.search(source) is not None


def find_candidates(path: str, name: str) -> tuple[str, ...]:
    """Return the paths to try for a name in the file `path`, in order.

    A name is relative to that file; a name with a folder is then tried from the library's own folder.
    """
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    paths = (beside, posixpath.normpath(name)) if "/" in name else (beside,)
    return tuple(one for one in dict.fromkeys(paths) if is_inside(one))


def is_inside(path: str) -> bool:
    """Return whether a path stays inside the library and has no hidden part."""
    parts = path.split("/")
    is_plain = all(part and not part.startswith(".") and part.isprintable() for part in parts)
    return is_plain and "\\" not in path


def resolve(path: str, name: str, files: Files) -> str | None:
    """Return the path of the file that `name` means in the file `path`; None if there is none."""
    return next((one for one in find_candidates(path, name) if files.get(one) is not None), None)


def gather(source: Source, parse: Parse) -> list[Part]:
    """Return every text that a template includes, directly or through others.

    Raises:
        NeedsFiles: some of the files of a library were not given.
        WrongParts: the includes are circular, or too deep; in the store, a text is missing or a name computed.
    """
    gathering = _Gathering(source, parse)
    gathering.add_parts_of(source.text, (source.path,), None)
    if gathering.needed:
        raise NeedsFiles(list(gathering.needed))
    return list(gathering.found.values())


class _Gathering:
    """Follows included names from file to file."""

    def __init__(self, source: Source, parse: Parse) -> None:
        self.found: dict[tuple[str, bool, bool], Part] = {}
        self.needed: dict[str, None] = {}
        self._files = source.files
        self._parse = parse
        self._is_stored = source.is_stored

    def add_parts_of(self, source: str, chain: tuple[str, ...], outer: Part | None) -> None:
        if not has_parts(source):
            return
        try:
            tree = self._parse(source, chain[-1])
        except TemplateSyntaxError as error:
            if outer is None:
                raise
            raise WrongParts(f"{chain[-1]}:{error.lineno}: {error.message}", outer.line) from None
        for node, path in self._find_stored(tree, outer) if self._is_stored else self._find_files(tree, chain[-1]):
            line = node.lineno if outer is None else outer.line
            self._check_chain((*chain, path), line)
            sees_values = (outer is None or outer.sees_values) and getattr(node, "with_context", True)
            part = Part(path, line, sees_values, isinstance(node, nodes.Extends))
            key = (part.path, part.sees_values, part.is_parent)
            if key not in self.found:
                self.found[key] = part
                self.add_parts_of(self._files[path] or "", (*chain, path), part)

    def _check_chain(self, chain: tuple[str, ...], line: int) -> None:
        path, what = chain[-1], "texts" if self._is_stored else "files"
        if path in chain[:-1]:
            circle = " → ".join(chain[chain.index(path) :])
            raise WrongParts(f"{what} include each other in a circle: {circle}", line)
        most, depth = (_MAX_STORED_DEPTH, len(chain) - 1) if self._is_stored else (_MAX_DEPTH, len(chain))
        if depth > most:
            names = " → ".join(filter(None, chain))  # a new prompt has no name yet
            raise WrongParts(f"{what} include each other more than {most} deep: {names}", line)

    def _find_files(self, tree: nodes.Template, path: str) -> Iterator[tuple[nodes.Node, str]]:
        """Yield each statement that names a known file, with the file's path; note the unknown files."""
        for node, name in _find_names(tree):
            unknown = (one for one in find_candidates(path, name) if one not in self._files)
            self.needed.update(dict.fromkeys(unknown))
            found = resolve(path, name, self._files)
            if found is not None:  # otherwise rendering fails, unless the file is optional or one of several
                yield node, found

    def _find_stored(self, tree: nodes.Template, outer: Part | None) -> Iterator[tuple[nodes.Node, str]]:
        """Yield each statement that names a text of the store, with the name."""
        for node in tree.find_all(NAMING):
            where = "" if outer is None else f"{outer.path}:{node.lineno}: "
            line = node.lineno if outer is None else outer.line
            name = getattr(getattr(node, "template"), "value", None)  # noqa: B009
            if not isinstance(name, str):
                raise WrongParts(f'{where}write one name in quotes, such as {{% include "tone.md" %}}', line)
            if self._files.get(name) is not None:
                yield node, name
            elif not getattr(node, "ignore_missing", False):
                raise WrongParts(f"{where}there is no document or prompt {name!r} to include", line)


def _find_names(tree: nodes.Template) -> Iterator[tuple[nodes.Node, str]]:
    """Yield each statement that names a file, with the name; computed names are unknown before rendering."""
    for node in tree.find_all(NAMING):
        template: nodes.Expr = getattr(node, "template")  # noqa: B009  # mypy only knows that it is a statement
        items = template.items if isinstance(template, nodes.Tuple | nodes.List) else [template]
        for item in items:
            if isinstance(item, nodes.Const) and isinstance(item.value, str):
                yield node, item.value
            if isinstance(item, nodes.Const) and isinstance(item.value, tuple | list):
                yield from ((node, name) for name in item.value if isinstance(name, str))
