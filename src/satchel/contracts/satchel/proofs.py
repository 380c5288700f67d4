"""Templates proved when they are saved: their syntax, and the variables that they use beside those declared.

The worker process does it before the transaction of the call is open. Where another call changed the content meanwhile,
there is no proof of it, and the call is tried again.
"""

from collections.abc import Iterable, Mapping, Sequence

from satchel.contracts.contract import Context
from satchel.errors import StoreConflict, WrongArgument
from satchel.library.render import RenderFailed, TemplateNames
from satchel.model import Argument, can_be_argument
from satchel.services.rules import MAX_ARGUMENTS, MAX_TEMPLATE_BYTES

Proofs = Mapping[str, TemplateNames | RenderFailed]  # by content

_MARKS = ("{{", "{%")
_PLAIN = TemplateNames({}, {}, {})
_MOST = 10  # names that a note lists
_MAKE_PLAIN = "Saved with no arguments, it is plain text."
_MAKE_TEMPLATE = "If it is a template, declare its arguments."


def is_template_like(content: str) -> bool:
    """Whether a content has what begins an expression or a statement of a template."""
    return any(mark in content for mark in _MARKS)


def prove(context: Context, contents: Iterable[str]) -> Proofs:
    """What the worker says about each content that may be a template."""
    proofs: dict[str, TemplateNames | RenderFailed] = {}
    for content in contents:
        if content in proofs or not _needs_worker(content):
            continue
        try:
            proofs[content] = context.libraries.renderer.check(content, context.work)
        except RenderFailed as failure:
            proofs[content] = failure
    return proofs


def settle(
    proofs: Proofs, content: str, declared: Sequence[Argument] | None, *, is_plain: bool = False
) -> tuple[tuple[Argument, ...], list[str]]:
    """The arguments that a prompt gets, and notes about its template.

    `declared` is None where none were declared: then they are taken from the template, unless the prompt `is_plain`.

    Raises:
        WrongArgument: it has arguments, and its content is no template.
        StoreConflict: the content has not been proved.
    """
    if declared:
        return tuple(declared), _compare(_find(proofs, content), declared)
    if declared is not None or is_plain or not is_template_like(content):
        return (), []
    if not _needs_worker(content):
        return (), [f"Kept as plain text: a template has at most {MAX_TEMPLATE_BYTES} bytes."]
    return _declare(_find(proofs, content))


def _needs_worker(content: str) -> bool:
    # What is longer is no template; the rule of the store says so.
    return (is_template_like(content) or "{#" in content) and len(content.encode()) <= MAX_TEMPLATE_BYTES


def _find(proofs: Proofs, content: str) -> TemplateNames | RenderFailed:
    if not _needs_worker(content):
        return _PLAIN
    if content not in proofs:
        raise StoreConflict("the content was changed while its template was checked")
    return proofs[content]


def _compare(proof: TemplateNames | RenderFailed, declared: Sequence[Argument]) -> list[str]:
    if isinstance(proof, RenderFailed):
        if not proof.is_exhausted:
            raise WrongArgument("content", "template", value=_describe(proof), kind="prompt")
        return [f"The template could not be checked: {proof.what}."]
    names = [one.name for one in declared]
    missing = {name: line for name, line in proof.empty.items() if name not in names}
    unused = [name for name in names if name not in proof.variables]
    notes = []
    if missing:
        notes.append(f"Not declared, so always empty: {_list_lines(missing)}. Declare them as arguments.")
    if proof.functions:
        notes.append(f"Functions that do not exist: {_list_lines(proof.functions)}.")
    if unused:
        notes.append(f"Declared, but not used by the template: {_list(unused)}.")
    return notes


def _declare(proof: TemplateNames | RenderFailed) -> tuple[tuple[Argument, ...], list[str]]:
    """The variables of a template as arguments."""
    if isinstance(proof, RenderFailed):
        return (), [f"Kept as plain text, because it is no template: {_describe(proof)}."]
    found = [name for name in proof.variables if name in proof.empty or name in proof.optional]
    names = [name for name in found if can_be_argument(name)]
    if not names or len(names) > MAX_ARGUMENTS:
        why = f"more than {MAX_ARGUMENTS} variables" if names else "no variables"
        return (), [f"Kept as plain text, because it has {why}."]
    if proof.unusual:
        return (), [f"Kept as plain text, because it has {_list_lines(proof.unusual)}. {_MAKE_TEMPLATE}"]
    arguments = tuple(Argument(name, None, name not in proof.optional) for name in names)
    listed = _list([one.name if one.is_required else f"{one.name}?" for one in arguments])
    note = f"Arguments were declared from the template: {listed}. {_MAKE_PLAIN}"
    return arguments, [note, *_compare(proof, arguments)]


def _describe(failure: RenderFailed) -> str:
    return failure.what if failure.line is None else f"line {failure.line}: {failure.what}"


def _list_lines(names: Mapping[str, int]) -> str:
    return _list([f"{name} (line {line})" for name, line in names.items()])


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
