"""Templates: the check before saving, and the values that users gave to arguments.

The worker process checks a template before the transaction of the call opens. If another call changes the content
meanwhile, the new content has not been checked, and the call is retried.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from satchel import clock
from satchel.errors import StoreConflict, WrongArgument
from satchel.library.render import RenderFailed, TemplateNames
from satchel.model import Argument, Scope, can_be_argument
from satchel.services import rules
from satchel.storage import completion as rows
from satchel.storage.database import Tx

Checked = Mapping[str, TemplateNames | RenderFailed]  # by content

_MARKS = ("{{", "{%")
_NOTHING = TemplateNames({}, {}, {})


class Settled(Struct, frozen=True, kw_only=True):
    """The arguments that a prompt is saved with, and notes about its template."""

    arguments: tuple[Argument, ...] = ()
    is_from_template: bool = False  # the arguments come from the template, not from the call
    # Why content that looks like a template is kept as plain text.
    plain: Literal["", "large", "broken", "constant", "many", "unusual"] = ""
    failure: RenderFailed | None = None
    undeclared: Mapping[str, int] = {}  # variables without an argument, with their lines
    functions: Mapping[str, int] = {}  # unknown functions, with their lines
    unusual: Mapping[str, int] = {}  # syntax that is also used by other programs, with its lines
    unused: Sequence[str] = ()  # arguments that the template does not use


def looks_like_template(content: str) -> bool:
    """Return whether a text contains the opening mark of an expression or a statement."""
    return any(mark in content for mark in _MARKS)


def check(check: Callable[[str], TemplateNames], contents: Iterable[str]) -> Checked:
    """Check, with the renderer, each content that may be a template."""
    checked: dict[str, TemplateNames | RenderFailed] = {}
    for content in contents:
        if content not in checked and _can_be_checked(content):
            try:
                checked[content] = check(content)
            except RenderFailed as failure:
                checked[content] = failure
    return checked


def settle(checked: Checked, content: str, declared: Sequence[Argument] | None, *, is_plain: bool = False) -> Settled:
    """Choose the arguments of a prompt.

    If none were declared (None), they are taken from the template, unless the prompt `is_plain`.

    Raises:
        WrongArgument: the prompt has arguments, and its content is not a template.
        StoreConflict: the content has not been checked.
    """
    if not declared and (declared is not None or is_plain or not looks_like_template(content)):
        return Settled()
    if not declared and not _can_be_checked(content):
        return Settled(plain="large")
    if not _can_be_checked(content):
        return _compare(_NOTHING, tuple(declared or ()))
    if content not in checked:
        raise StoreConflict("the content was changed while its template was checked")
    return _compare(checked[content], tuple(declared)) if declared else _declare(checked[content])


def _can_be_checked(content: str) -> bool:
    # A longer text is never a template; this is a rule of the store.
    return (looks_like_template(content) or "{#" in content) and rules.fits(content, rules.MAX_TEMPLATE_BYTES)


def _compare(found: TemplateNames | RenderFailed, declared: tuple[Argument, ...]) -> Settled:
    """Compare the declared arguments with the names in the template."""
    if isinstance(found, RenderFailed):
        if not found.is_exhausted:
            raise WrongArgument("content", "template", value=describe_failure(found), kind="prompt")
        return Settled(arguments=declared, failure=found)
    names = [one.name for one in declared]
    return Settled(
        arguments=declared,
        undeclared={name: line for name, line in found.empty.items() if name not in names},
        functions=found.functions,
        unused=[name for name in names if name not in found.variables],
    )


def _declare(found: TemplateNames | RenderFailed) -> Settled:
    """Declare an argument for each variable of a template."""
    if isinstance(found, RenderFailed):
        return Settled(plain="broken", failure=found)
    names = [name for name in found.variables if name in found.empty or name in found.optional]
    names = [name for name in names if can_be_argument(name)]
    if not names or len(names) > rules.MAX_ARGUMENTS:
        return Settled(plain="many" if names else "constant")
    if found.unusual:
        return Settled(plain="unusual", unusual=found.unusual)
    arguments = tuple(Argument(name, None, name not in found.optional) for name in names)
    return replace(_compare(found, arguments), is_from_template=True)


def describe_failure(failure: RenderFailed) -> str:
    """Describe the fault of a template, with its line."""
    return failure.what if failure.line is None else f"line {failure.line}: {failure.what}"


# -- earlier values -----------------------------------------------------------------------------------------------
# The values are for completion. Each user sees only their own.


def key_within(project: str, prompt: str) -> str:
    """Return the key under which the values that users gave to a project's prompt are stored."""
    return f"{project}/{prompt}"


def has_new_values(tx: Tx, scope: Scope, key: str, values: Mapping[str, str]) -> bool:
    """Return whether any of the values is new, that is, was not stored within the last day."""
    kept = _list_storable(values)
    used = rows.used_values(tx, scope.owner, key) if kept else {}
    day_ago = clock.days_before(tx.now)
    return any(used.get(pair, "") < day_ago for pair in kept.items())


def remember_values(tx: Tx, scope: Scope, key: str, values: Mapping[str, str]) -> None:
    """Store the values that the user gave to the arguments of a prompt, unless all were stored within the last day.

    Values that are empty, too long or cannot be stored are left out.
    """
    if has_new_values(tx, scope, key, values):
        rows.put_values(tx, scope.owner, key, _list_storable(values))


def recall_values(tx: Tx, scope: Scope, key: str, argument: str, text: str = "") -> tuple[str, ...]:
    """Return earlier values of the user for an argument: those that start with a text, then those that contain it.

    Case does not matter. In both groups the newest come first.
    """
    folded = text.casefold()
    known = [value for name, value in rows.used_values(tx, scope.owner, key) if name == argument]
    hits = [value for value in known if folded in value.casefold()]
    return tuple(sorted(hits, key=lambda value: not value.casefold().startswith(folded)))


def _list_storable(values: Mapping[str, str]) -> dict[str, str]:
    return {
        argument: value
        for argument, value in values.items()
        if 0 < len(value) <= rules.MAX_VALUE and rules.is_storable(value)
    }
