"""Finds the names that a template uses without setting them first. Only the worker imports this module."""

from collections.abc import Iterator, Sequence

from jinja2 import meta, nodes

from satchel.library.parts import Part
from satchel.library.sandbox import FUNCTIONS, MARK, Sandbox

Names = dict[str, dict[str, int]]

_FALLBACKS = ("default", "d")
_QUESTIONS = ("defined", "undefined", "none")
_HIDDEN = {"comment_begin": "{# #}", "raw_begin": "{% raw %}"}  # by name of the token

# A `set` inside one of these has no effect after it.
_SCOPES = (nodes.For, nodes.With, nodes.Macro, nodes.CallBlock, nodes.FilterBlock, nodes.Block)


def find_names(sandbox: Sandbox, source: str) -> Names:
    """Return the names that a template uses without setting them first, each with its line.

    The result has `variables` and unknown `functions`. Variables in `empty` are never set, not even in a condition;
    those in `optional` are read only where the template tests for a value. `unusual` is syntax that texts for other
    programs have, too.
    """
    tree = sandbox.parse(source)
    return {**_find_in(tree), "unusual": {**_find_parts(tree, _list_reads(tree)), **_find_hidden(sandbox, source)}}


def add_names_of_parts(
    sandbox: Sandbox, source: str, names: Names, texts: Sequence[tuple[Part, str]]
) -> dict[str, str]:
    """Add the names that a template's included files use; return, for each name, the file that uses it.

    A name counts as set if any of the files sets it, because an included file sees the variables of surrounding loops.
    """
    trees = [sandbox.parse(source), *(sandbox.parse(text) for _, text in texts)]
    known = {name for tree in trees for name in _find_stored(tree)}
    blocks = _list_blocks(trees[0])
    files: dict[str, str] = {}
    for (part, _), tree in zip(texts, trees[1:], strict=True):
        if part.is_parent:
            _empty_blocks(tree, blocks)
            blocks |= _list_blocks(tree)
        if not part.sees_values:
            continue
        for kind, found in _find_in(tree).items():
            for name, line in found.items():
                is_first = name not in names["variables"] and name not in names["functions"] and name not in known
                if is_first or files.get(name) == part.path:
                    files[name] = part.path
                    names[kind].setdefault(name, line)
                elif kind == "variables" and name not in found:
                    names["optional"].pop(name, None)
    return files


def _find_in(tree: nodes.Template) -> Names:
    called = {id(call.node) for call in tree.find_all(nodes.Call)}
    free, assigned = meta.find_undeclared_variables(tree), set(_find_assigned(tree))
    guarded, renewed = set(_find_guarded(tree)), set(_find_renewed(tree))
    variables: dict[str, int] = {}
    functions: dict[str, int] = {}
    needed: set[str] = set()
    for one in _find_reads(tree, frozenset()):
        if one.name in free:
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
    }


def _list_reads(tree: nodes.Template) -> set[int]:
    free = meta.find_undeclared_variables(tree)
    return {id(one) for one in _find_reads(tree, frozenset()) if one.name in free}


def _find_hidden(sandbox: Sandbox, source: str) -> dict[str, int]:
    """Return the comments and raw blocks of a template, each with its first line."""
    found: dict[str, int] = {}
    for line, kind, _ in sandbox.lex(source):
        if kind in _HIDDEN:
            found.setdefault(_HIDDEN[kind], line)
    return found


def _find_stored(tree: nodes.Template) -> Iterator[str]:
    """Yield every name that a template sets in any scope."""
    for one in tree.find_all(nodes.Name):
        if one.ctx != "load":
            yield one.name
    for macro in tree.find_all(nodes.Macro):
        yield macro.name
    for whole in tree.find_all(nodes.Import):
        yield whole.target
    for some in tree.find_all(nodes.FromImport):
        yield from (one[-1] if isinstance(one, tuple) else one for one in some.names)


def _list_blocks(tree: nodes.Template) -> set[str]:
    """Return the names of the blocks with which a template replaces those of its parent."""
    return {
        block.name
        for block in tree.find_all(nodes.Block)
        if not any(
            isinstance(call.node, nodes.Name) and call.node.name == "super" for call in block.find_all(nodes.Call)
        )
    }


def _empty_blocks(tree: nodes.Template, replaced: set[str]) -> None:
    for block in tree.find_all(nodes.Block):
        if block.name in replaced:
            block.body = []


def _find_reads(node: nodes.Node, bound: frozenset[str]) -> Iterator[nodes.Name]:
    """Yield the names that a node reads, except names that a surrounding loop, macro or the like binds."""
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
    """Return the attributes, items and calls of names that the template reads, each with its first line."""
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
    """Yield the names that a `set` outside of loops and blocks assigns, even under a condition."""
    for child in node.iter_child_nodes():
        if isinstance(child, nodes.Assign | nodes.AssignBlock):
            yield from _names_of(child.target)
        elif not isinstance(child, _SCOPES):
            yield from _find_assigned(child)


def _find_renewed(tree: nodes.Template) -> Iterator[str]:
    """Yield the names that a `set` computes from their own value, as in `set tone = tone or "warm"`."""
    for one in tree.find_all(nodes.Assign):
        yield from _names_of(one.target) & _names_of(one.node)


def _names_of(target: nodes.Node) -> set[str]:
    """Return the names in an expression, or in the target of an assignment, which may be a tuple."""
    return {one.name for one in (target, *target.find_all(nodes.Name)) if isinstance(one, nodes.Name)}


def _find_guarded(node: nodes.Node, asked: frozenset[str] = frozenset()) -> Iterator[int]:
    """Yield the ids of name nodes with a fallback, in a condition, or below a condition on the same name."""
    if isinstance(node, nodes.Name) and node.name in asked:
        yield id(node)
    is_question = (isinstance(node, nodes.Filter) and node.name in _FALLBACKS) or (
        isinstance(node, nodes.Test) and node.name in _QUESTIONS
    )
    if is_question and isinstance(node, nodes.Filter | nodes.Test):
        yield from map(id, _names_in(node.node))
    condition = _condition_of(node)
    if condition is not None:
        names = list(_names_in(condition))
        yield from map(id, names)
        asked = asked | {one.name for one in names}
    for child in node.iter_child_nodes():
        yield from _find_guarded(child, asked)


def _condition_of(node: nodes.Node) -> nodes.Node | None:
    if isinstance(node, nodes.If | nodes.CondExpr):
        return node.test
    return node.left if isinstance(node, nodes.Or | nodes.And) else None


def _names_in(node: nodes.Node | None) -> Iterator[nodes.Name]:
    if isinstance(node, nodes.Name):
        yield node
    elif node is not None:
        yield from node.find_all(nodes.Name)
