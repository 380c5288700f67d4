"""Templates: the check before saving, the texts that they include, and the values that users gave to arguments.

The worker process checks a template before the transaction of the call opens. If another call changes the content
meanwhile, the new content has not been checked, and the call is retried.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from satchel import clock
from satchel.errors import StoreConflict, WrongArgument
from satchel.library.render import NO_PARTS, Parts, RenderFailed, TemplateNames
from satchel.model import Argument, Document, Item, Prompt, Scope, can_be_argument
from satchel.services import layers, lookup, rules
from satchel.services.links import list_included
from satchel.storage import completion as rows
from satchel.storage import documents as document_rows
from satchel.storage import prompts as prompt_rows
from satchel.storage.database import Tx
from satchel.storage.links import find_included

Checked = Mapping[str, TemplateNames | RenderFailed]  # by content
Included = Mapping[str, Parts | RenderFailed]  # by content, the texts that it includes

_MARKS = ("{{", "{%")
_NOTHING = TemplateNames({}, {}, {})

_MAX_INCLUDED = 1024 * 1024  # bytes that a template has together with all texts that it includes
MOST_INCLUDED = 100  # texts
_MOST_NAMED = 10  # names in a note
_LEVELS = 6  # one more than the worker allows, which explains the error


class Settled(Struct, frozen=True, kw_only=True):
    """The arguments that a prompt is saved with, and notes about its template."""

    arguments: tuple[Argument, ...] = ()
    is_constant: bool = False  # a template without arguments, which includes other texts
    is_from_template: bool = False  # the arguments come from the template, not from the call
    # Why content that looks like a template is kept as plain text.
    plain: Literal["", "chosen", "large", "broken", "constant", "many", "unusual"] = ""
    failure: RenderFailed | None = None
    undeclared: Mapping[str, int] = {}  # variables without an argument, with their lines
    functions: Mapping[str, int] = {}  # unknown functions, with their lines
    unusual: Mapping[str, int] = {}  # syntax that is also used by other programs, with its lines
    unused: Sequence[str] = ()  # arguments that the template does not use


def looks_like_template(content: str) -> bool:
    """Return whether a text contains the opening mark of an expression or a statement."""
    return any(mark in content for mark in _MARKS)


def includes(content: str) -> bool:
    """Return whether a text has a statement that includes another text."""
    return bool(find_included(content))


def check(check: Callable[[str, Parts], TemplateNames], contents: Iterable[str], included: Included) -> Checked:
    """Check, with the renderer, each content that may be a template, together with what it includes."""
    checked: dict[str, TemplateNames | RenderFailed] = {}
    for content in contents:
        if content not in checked and can_be_template(content):
            try:
                parts = included.get(content, NO_PARTS)
                if isinstance(parts, RenderFailed):
                    raise parts
                checked[content] = check(content, parts)
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
    if not declared and (declared is not None or not looks_like_template(content)):
        return Settled()
    if not declared and is_plain:
        return Settled(plain="chosen")
    if not declared and not can_be_template(content):
        return Settled(plain="large")
    if not can_be_template(content):
        return _compare(_NOTHING, tuple(declared or ()))
    if content not in checked:
        raise StoreConflict("the content was changed while its template was checked")
    return _compare(checked[content], tuple(declared)) if declared else _declare(checked[content])


def is_plain_by_choice(checked: Checked, prompt: Prompt) -> bool:
    """Return whether a prompt was saved as plain text although its content is a template.

    Raises:
        StoreConflict: the content has not been checked.
    """
    content = prompt.content
    if prompt.is_template or not looks_like_template(content) or not can_be_template(content):
        return False
    if content not in checked:
        raise StoreConflict("the content was changed while its template was checked")
    found = checked[content]
    return found.is_include or found.is_exhausted if isinstance(found, RenderFailed) else not _declare(found).plain


def can_be_template(content: str) -> bool:
    """Return whether a text may be a template; a longer one never is, which is a rule of the store."""
    return (looks_like_template(content) or "{#" in content) and rules.fits(content, rules.MAX_TEMPLATE_BYTES)


def _compare(found: TemplateNames | RenderFailed, declared: tuple[Argument, ...]) -> Settled:
    """Compare the declared arguments with the names in the template."""
    if isinstance(found, RenderFailed):
        if not found.is_exhausted:
            raise _explain_failure(found)
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
        if found.is_include:
            raise _explain_failure(found)
        return Settled(plain="broken", failure=found)
    names = [name for name in found.variables if name in found.empty or name in found.optional]
    names = [name for name in names if can_be_argument(name)]
    if not names and found.includes:
        return replace(_compare(found, ()), is_constant=True)
    if not names or len(names) > rules.MAX_ARGUMENTS:
        return Settled(plain="many" if names else "constant")
    if found.unusual:
        return Settled(plain="unusual", unusual=found.unusual)
    arguments = tuple(Argument(name, None, name not in found.optional) for name in names)
    return replace(_compare(found, arguments), is_from_template=True)


def _explain_failure(failure: RenderFailed) -> WrongArgument:
    rule = "include" if failure.is_include else "template"
    return WrongArgument("content", rule, value=describe_failure(failure), kind="prompt")


def describe_failure(failure: RenderFailed) -> str:
    """Describe the fault of a template, with its line."""
    return failure.what if failure.line is None else f"line {failure.line}: {failure.what}"


# -- what templates include ---------------------------------------------------------------------------------------
# A name means a document or, if there is none, a prompt: first of the template's project, then of the personal one. A
# URI means an item of its kind, and may name one of these two projects.


def collect_all(tx: Tx, scope: Scope, named: Sequence[tuple[str, str]], *, are_new: bool = False) -> Included:
    """Collect the texts that some contents include; these are about to be saved, and may include each other.

    `named` has the name and the content of each prompt. If the name of a new prompt is taken, the prompt gets another.
    """
    free = [
        name if not are_new or prompt_rows.find(tx, scope.project, "name", name) is None else "" for name, _ in named
    ]
    beside = {name: content for name, (_, content) in zip(free, named, strict=True) if name}
    found: dict[str, Parts | RenderFailed] = {}
    for name, (_, content) in zip(free, named, strict=True):
        if includes(content):
            try:
                found[content] = _collect(tx, scope, name, content, beside)
            except RenderFailed as failure:
                found[content] = failure
    return found


def collect_for(tx: Tx, scope: Scope, prompt: Prompt) -> Parts:
    """Collect the texts that a stored prompt includes; names mean what they mean in the prompt's own project.

    Raises:
        RenderFailed: a text is binary, or they are too many or too large.
    """
    if not prompt.is_template or not includes(prompt.content):
        return NO_PARTS
    return _collect(tx, layers.enter_layer(scope, prompt), prompt.name, prompt.content, {})


def list_outdated(tx: Tx, scope: Scope, prompt: Prompt, parts: Parts) -> list[Prompt | Document]:
    """Return the expired or replaced items among a stored prompt and the texts that it includes."""
    place = layers.enter_layer(scope, prompt)
    found = [prompt, *(_find(tx, place, name) for name in parts.files)]
    items = [one for one in found if isinstance(one, Prompt | Document)]
    return [one for one in items if one.replaced_by or (one.expires and rules.is_expired(one.expires))]


def describe_missing(tx: Tx, scope: Scope, prompt: Prompt | Item) -> list[str]:
    """Return a note about names in a template's includes that do not exist."""
    names = [name for name in list_included(prompt) if _find(tx, scope, name) is None]
    return [f"It includes {', '.join(names[:_MOST_NAMED])}, which project {scope.project} lacks."] if names else []


def _collect(tx: Tx, scope: Scope, name: str, content: str, beside: Mapping[str, str]) -> Parts:
    """Collect the texts that a template includes, directly or through others."""
    texts: dict[str, str | None] = {}
    size, last = len(content.encode()), [content]
    for _ in range(_LEVELS):
        names = [one for text in last for one in find_included(text) if one not in texts]
        last = []
        for one in dict.fromkeys(names):
            texts[one] = found = _find_text(tx, scope, one, beside)
            last += [] if found is None else [found]
            size += len((found or "").encode())
            if len(texts) > MOST_INCLUDED:
                raise RenderFailed(f"it includes more than {MOST_INCLUDED} texts", is_include=True)
            if size > _MAX_INCLUDED:
                raise RenderFailed(
                    f"it has more than {_MAX_INCLUDED} bytes with the texts that it includes", is_include=True
                )
    is_own = name in texts and document_rows.find(tx, scope.project, "name", name) is None
    return Parts(name if is_own else "", texts, is_stored=True)


def _find_text(tx: Tx, scope: Scope, name: str, beside: Mapping[str, str]) -> str | None:
    """Return the text that a name means; `beside` has prompts of the scope's project that are about to be saved."""
    found = _find(tx, scope, name, beside)
    if found is None and (project := lookup.split_project(name)[0]) not in ("", scope.project, scope.personal):
        what = f"{name} is in project {project}. An include takes names of its own project or of personal"
        raise RenderFailed(what, is_include=True)
    content = found.content if isinstance(found, Document | Prompt) else found
    if isinstance(content, bytes):
        raise RenderFailed(f"document {name!r} is binary and cannot be included", is_include=True)
    return content


def _find(tx: Tx, scope: Scope, name: str, beside: Mapping[str, str] | None = None) -> Document | Prompt | str | None:
    """Return the item that a name or a URI means, or its text if it is in `beside`."""
    project, reference = lookup.split_project(name)
    lower = layers.enter_personal(scope)
    keys = {kind: lookup.without_scheme(kind, reference) for kind in layers.KINDS}
    kinds = [kind for kind, key in keys.items() if key != reference] or layers.KINDS
    for place in [scope] if lower is None else [scope, lower]:
        if project and place.project != project:
            continue
        found: Document | Prompt | str | None = None
        if "document" in kinds:
            found = document_rows.find(tx, place.project, "name", keys["document"])
        if found is None and "prompt" in kinds:
            key = keys["prompt"]
            found = beside[key] if beside and place is scope and key in beside else None
            found = found or prompt_rows.find(tx, place.project, "name", key)
        if found is not None:
            return found
    return None


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
