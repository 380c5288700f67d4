"""Compiles and renders templates with Jinja2, in the sandbox. Only the worker process imports this."""

import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import NoReturn

import jinja2.lexer
from jinja2 import Template, TemplateRuntimeError, TemplateSyntaxError, meta, nodes

from satchel.library.conditions import find_guarded
from satchel.library.sandbox import FUNCTIONS, MARK, SELF, Sandbox

MAX_OUTPUT = 1024 * 1024  # bytes
# Compiled templates are kept up to this many characters, at some 30 bytes of memory each; a short one counts more.
_MAX_CACHE = 1024 * 1024
_MIN_WEIGHT = 4096
# Jinja2 and Python import these when a template first needs them, and by then the worker can open no file.
_LATE_IMPORTS = (
    *("encodings.unicode_escape", "unicodedata", "html", "pprint", "textwrap"),
    *("jinja2.constants", "jinja2.debug"),
)


_HIDDEN = {"comment_begin": "{# #}", "raw_begin": "{% raw %}"}  # by the name of the token

# A `set` inside of these has no effect behind them.
_SCOPES = (nodes.For, nodes.With, nodes.Macro, nodes.CallBlock, nodes.FilterBlock, nodes.Block)


class TemplateFailed(Exception):
    """A template is wrong, or its result too large; the line is None where it is unknown."""

    def __init__(self, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.line = line


class Templates:
    """Renders templates, and keeps them compiled."""

    def __init__(self) -> None:
        jinja2.lexer.newline_re = re.compile("(\n)")  # Jinja2 would turn every other line end into this one
        for module in _LATE_IMPORTS:
            import_module(module)
        self._sandbox = Sandbox()
        self._compiled: dict[str, Template] = {}

    def render(self, source: str, values: dict[str, str]) -> str:
        """Render a template.

        Raises:
            TemplateFailed: the template is wrong, or its result too large.
        """
        template = self.compile(source)
        if "self" in values:
            values = {**values, SELF: values["self"]}
        try:
            return _collect(template.root_render_func(template.new_context(values)))
        except (MemoryError, TemplateFailed):
            raise
        except Exception as error:
            _fail(error)

    def compile(self, source: str) -> Template:
        """Compile a template.

        Raises:
            TemplateFailed: the template is wrong.
        """
        if source not in self._compiled:
            if sum(max(len(one), _MIN_WEIGHT) for one in (*self._compiled, source)) > _MAX_CACHE:
                self._compiled.clear()
            try:
                self._compiled[source] = self._sandbox.from_string(source)
            except MemoryError:
                raise
            except Exception as error:
                _fail(error)
        return self._compiled[source]

    def find_names(self, source: str) -> dict[str, dict[str, int]]:
        """The names that a template uses without setting them first, each with its line: variables, unknown functions.

        Of the variables, `empty` are those that are not even set under a condition, and `optional` those that are only
        read where the template asks whether they have a value. `unusual` is what texts for other programs have, too.

        Raises:
            TemplateFailed: the template is wrong.
        """
        self.compile(source)
        tree = self._sandbox.parse(source)
        called = {id(call.node) for call in tree.find_all(nodes.Call)}
        free, assigned = meta.find_undeclared_variables(tree), set(_find_assigned(tree))
        guarded, renewed = set(find_guarded(tree)), set(_find_renewed(tree))
        variables: dict[str, int] = {}
        functions: dict[str, int] = {}
        needed: set[str] = set()
        reads: set[int] = set()
        for one in _find_reads(tree, frozenset()):
            if one.name in free:
                reads.add(id(one))
                if id(one) not in guarded:
                    needed.add(one.name.removesuffix(MARK))
                found = functions if id(one) in called else variables
                name = one.name.removesuffix(MARK)
                found[name] = min(one.lineno, found.get(name, one.lineno))
        return {
            "variables": variables,
            "empty": {name: line for name, line in variables.items() if name not in assigned},
            "functions": {name: line for name, line in functions.items() if name not in FUNCTIONS},
            "optional": {name: line for name, line in variables.items() if name not in needed or name in renewed},
            "unusual": {**_find_parts(tree, reads), **self._find_hidden(source)},
        }

    def _find_hidden(self, source: str) -> dict[str, int]:
        """What a render leaves out or does not read, with its first line."""
        found: dict[str, int] = {}
        for line, kind, _ in self._sandbox.lex(source):
            if kind in _HIDDEN:
                found.setdefault(_HIDDEN[kind], line)
        return found


def _find_reads(node: nodes.Node, bound: frozenset[str]) -> Iterator[nodes.Name]:
    """The names that a node reads, except those that a loop, a macro or the like around them has bound."""
    if isinstance(node, nodes.Name) and node.ctx == "load" and node.name not in bound:
        yield node
    outside: Sequence[nodes.Node] = ()
    if isinstance(node, nodes.For):
        outside, bound_inside = [node.iter], bound | _names_of(node.target) | {"loop"}
    elif isinstance(node, nodes.With):
        outside, bound_inside = node.values, bound | {one.name for one in node.targets if isinstance(one, nodes.Name)}
    elif isinstance(node, nodes.Macro | nodes.CallBlock):
        outside = [node.call] if isinstance(node, nodes.CallBlock) else ()
        bound_inside = bound | {one.name for one in node.args}
    else:
        bound_inside = bound
    for child in node.iter_child_nodes():
        yield from _find_reads(child, bound if any(child is one for one in outside) else bound_inside)


def _find_parts(tree: nodes.Template, reads: set[int]) -> dict[str, int]:
    """The attributes, entries and calls of names that are read, each with its first line."""
    found: dict[str, int] = {}
    for one in tree.find_all(nodes.Expr):
        inner = one.node if isinstance(one, nodes.Getattr | nodes.Getitem | nodes.Call) else None
        if not isinstance(inner, nodes.Name) or id(inner) not in reads:
            continue
        name = inner.name.removesuffix(MARK)
        if isinstance(one, nodes.Call) and name in FUNCTIONS:
            continue
        end = f".{one.attr}" if isinstance(one, nodes.Getattr) else "[]" if isinstance(one, nodes.Getitem) else "()"
        found.setdefault(f"{name}{end}", one.lineno)
    return found


def _find_assigned(node: nodes.Node) -> Iterator[str]:
    """The names that a `set` assigns to the end of the template, perhaps only under a condition."""
    for child in node.iter_child_nodes():
        if isinstance(child, nodes.Assign | nodes.AssignBlock):
            yield from _names_of(child.target)
        elif not isinstance(child, _SCOPES):
            yield from _find_assigned(child)


def _find_renewed(tree: nodes.Template) -> Iterator[str]:
    """The names that a `set` assigns from their own value, as in `set tone = tone or "warm"`."""
    for one in tree.find_all(nodes.Assign):
        yield from _names_of(one.target) & _names_of(one.node)


def _names_of(target: nodes.Node) -> set[str]:
    """The names in an expression, or in a target of an assignment, which may be a tuple."""
    return {one.name for one in (target, *target.find_all(nodes.Name)) if isinstance(one, nodes.Name)}


def _collect(pieces: Iterator[str]) -> str:
    """The whole text; the rest of one that is too large is not rendered."""
    found, size = [], 0
    for piece in pieces:
        found.append(piece)
        size += len(piece)
        if size > MAX_OUTPUT:
            break
    text = "".join(found)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise TemplateFailed("the result contains half a character") from None
    if size > MAX_OUTPUT:
        raise TemplateFailed(f"the result is larger than {MAX_OUTPUT} bytes")
    return text


def _fail(error: Exception) -> NoReturn:
    """Raise what an error of the engine says about the template, with the line where it happened."""
    line = error.lineno if isinstance(error, TemplateSyntaxError) else _find_line(error)
    if isinstance(error, TemplateSyntaxError | TemplateRuntimeError):
        what = error.message or "it is wrong"
    elif isinstance(error, RecursionError):
        what = "it is nested too deep, or calls itself without end"
    elif isinstance(error, SyntaxError):  # of the Python that Jinja2 makes of a template, with its names of variables
        what = re.sub(r"\bl_[0-9]+_", "", error.msg)
    else:
        what = f"{type(error).__name__}: {error}"
    raise TemplateFailed(what.removesuffix("."), line) from None


def _find_line(error: Exception) -> int | None:
    """The line of the innermost piece of a template that an error passed through.

    Jinja2 makes a function `t_1` at the beginning of the code for a filter that does not exist; its line means nothing.
    """
    line, step = None, error.__traceback__
    while step is not None:
        template = step.tb_frame.f_globals.get("__jinja_template__")
        if template is not None and not step.tb_frame.f_code.co_name.startswith("t_"):
            line = template.get_corresponding_lineno(step.tb_lineno)
        step = step.tb_next
    return line
