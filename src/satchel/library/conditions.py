"""Finds where a template asks whether a variable has a value before it uses it. Only the worker imports this."""

from collections.abc import Iterator

from jinja2 import nodes

_FALLBACKS = ("default", "d")
_QUESTIONS = ("defined", "undefined", "none")


def find_guarded(node: nodes.Node, asked: frozenset[str] = frozenset()) -> Iterator[int]:
    """The ids of the names in a node that are read with a fallback, in a condition, or under one that asks for them."""
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
        yield from find_guarded(child, asked)


def _condition_of(node: nodes.Node) -> nodes.Node | None:
    if isinstance(node, nodes.If | nodes.CondExpr):
        return node.test
    return node.left if isinstance(node, nodes.Or | nodes.And) else None


def _names_in(node: nodes.Node | None) -> Iterator[nodes.Name]:
    if isinstance(node, nodes.Name):
        yield node
    elif node is not None:
        yield from node.find_all(nodes.Name)
