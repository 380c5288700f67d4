"""Templates: find prompts in the store and in libraries, fill them in with values, check them before saving."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from msgspec import UNSET, Struct, UnsetType

from satchel.contracts.contract import Context
from satchel.contracts.satchel.answers import describe_age, describe_place, may_read, shorten
from satchel.contracts.satchel.errors import MissingValue, TemplateFailed, WrongValue
from satchel.errors import NotFound, Reason, SatchelError, WrongArgument
from satchel.library.catalog import ContentMissing, Library, Unreadable
from satchel.library.manifest import LibraryPrompt
from satchel.library.render import NO_PARTS, Parts, RenderFailed
from satchel.library.roles import Message, split_text
from satchel.log import log, log_surprise
from satchel.model import Argument, Prompt, Scope
from satchel.services import layers, lookup, prompts, templates
from satchel.services.rules import MAX_ARGUMENTS, MAX_TEMPLATE_BYTES
from satchel.services.templates import Settled, describe_failure
from satchel.services.texts import closest_names
from satchel.storage.search_words import make_key

_CORRECT_FILE = "Ask the user to correct the file in the library."

_MOST_VALUES = 10  # values in the structured error
_MOST_NAMES = 10  # names in a note
_LOCK_TIMEOUT = 1.0  # seconds that the record of a use waits for other writers

START_TASK = "start-task"  # a prompt that this contract adds to the user's own


class LibraryTemplate(Struct, frozen=True):
    """A prompt of a library, with its full name."""

    name: str
    library: Library
    prompt: LibraryPrompt

    @property
    def description(self) -> str | None:
        return self.prompt.description

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return self.prompt.arguments


FoundPrompt = Prompt | LibraryTemplate
Filled = TypeVar("Filled")  # a text, or messages


def find_prompt(context: Context, reference: str) -> FoundPrompt:
    """Return a library's prompt by its full name, or a stored or personal prompt by name, title or id."""
    in_library = find_in_libraries(context, reference)
    if in_library is not None:
        return in_library
    try:
        return layers.find_prompt(context.tx, context.scope, reference)
    except NotFound as missing:
        if lookup.without_scheme("prompt", reference) != START_TASK or not may_read(context, "task"):
            raise
        why = Reason("is offered by prompts/get only", "Call get_task, which returns a task with what belongs to it.")
        raise NotFound("prompt", missing.key, missing.scope, why=why) from missing


def find_stored(context: Context, reference: str) -> Prompt:
    """Return the stored prompt with a name, title or id.

    Raises:
        WrongArgument: the reference names a library's prompt, which cannot be changed here.
        NotFound: there is no such prompt.
    """
    in_library = find_in_libraries(context, reference)
    try:
        prompt = layers.find_prompt(context.tx, context.scope, reference, to_change=True)
    except NotFound as missing:
        if missing.kind != "prompt" or in_library is None:
            raise
        raise WrongArgument("prompt", "readOnly", value=in_library.name) from None
    if in_library is not None:  # an update must find the same prompt as a read, which returns the library's
        raise WrongArgument("prompt", "readOnly", value=in_library.name, limit=prompt.name)
    return prompt


def find_in_libraries(context: Context, reference: str) -> LibraryTemplate | None:
    """Return a library's prompt by its full name, even if a stored prompt has that name as its title.

    If none has exactly this name, return the only one that differs in case and separators.
    """
    name = lookup.without_scheme("prompt", reference)
    found = context.libraries.find(name)
    if found is None and ":" in name:
        key = make_key(name)
        same = [known for known, _ in context.libraries.catalog.view if make_key(known) == key]
        name = same[0] if len(same) == 1 else name
        found = context.libraries.find(name)
    return None if found is None else LibraryTemplate(name, *found)


def history_key(found: FoundPrompt, scope: Scope) -> str:
    """Return the key under which values for a prompt's arguments are stored.

    All projects share the values of a personal prompt. They share those of a library's prompt if the scope may enter
    all projects.
    """
    if isinstance(found, LibraryTemplate):
        return found.name if scope.projects is None else templates.key_within(scope.project, found.name)
    return templates.key_within(found.layer or scope.project, found.name)


def fill_in(
    context: Context,
    reference: str,
    given: dict[str, str],
    fill: Callable[[Context, FoundPrompt, dict[str, str], Parts], Filled],
) -> tuple[FoundPrompt, Filled, list[str]]:
    """Find a prompt, fill it in outside of transactions, and store the values; also return notes.

    The notes are about the project, about texts that are out of date, and about arguments that were left out.

    Raises:
        NotFound: there is no such prompt.
        WrongValue: a required argument is missing, one is unknown, or a value is not allowed.
        TemplateFailed: the template is broken.
    """
    with context.read() as opened:
        found = find_prompt(opened, reference)
        _check_values(found, given)
        key, scope = history_key(found, context.scope), context.scope
        is_new = bool(given) and context.may_write and templates.has_new_values(opened.tx, scope, key, given)
        notes = describe_place(opened)
        with _explaining(context, found):
            parts = NO_PARTS if isinstance(found, LibraryTemplate) else templates.collect_for(opened.tx, scope, found)
        if isinstance(found, Prompt):
            outdated = templates.list_outdated(opened.tx, scope, found, parts)
            notes += [f"{one.name}: {', '.join(describe_age(one))}." for one in outdated]
    filled = fill(context, found, given, parts)
    notes += _describe_empty(context, found, given, parts)
    record_use(context, found, key, given if is_new else {})
    return found, filled, notes


def record_use(context: Context, found: FoundPrompt, key: str = "", given: Mapping[str, str] | None = None) -> None:
    """Count a use of a stored prompt, and store the new values that filled it.

    The call has succeeded already: a caller who may only read changes nothing, and a failure is only logged.
    """
    if not context.may_write or context.work.is_cancelled or not (given or isinstance(found, Prompt)):
        return
    try:
        with context.write(lock_timeout=_LOCK_TIMEOUT) as opened:
            if given:
                templates.remember_values(opened.tx, context.scope, key, given)
            if isinstance(found, Prompt):
                prompts.count_use(opened.tx, found)
    except SatchelError as error:
        log(f"after the answer: {error}")
    except Exception:
        log_surprise("after the answer")


def _describe_empty(context: Context, found: FoundPrompt, given: Mapping[str, str], parts: Parts) -> list[str]:
    """Return a note about optional arguments that have no value, and no default in a stored template."""
    left = [one.name for one in found.arguments if one.name not in given]
    if not left or isinstance(found, LibraryTemplate):
        return []
    try:
        names = context.libraries.renderer.check(found.content, context.work, parts)
    except RenderFailed:  # a timeout: the prompt is already filled in
        return []
    empty = [name for name in left if name in names.variables and name not in names.optional]
    return [f"Left empty: {_list(empty)}."] if empty else []


def _check_values(found: FoundPrompt, given: dict[str, str]) -> None:
    declared = {one.name: one for one in found.arguments}
    missing = [one for one in found.arguments if one.is_required and one.name not in given]
    for name in given:
        if name not in declared:
            near = closest_names(name, [one for one in declared if one not in given])
            near = near or tuple(one.name for one in missing)
            takes = ", ".join(one.name if one.is_required else f"{one.name}?" for one in found.arguments)
            hint = f"Did you mean {' or '.join(near)}? " if near else ""
            hint += f"It takes {takes}." if takes else "It takes none."
            raise WrongValue(f"Prompt '{found.name}' has no argument '{name}'.", hint, name, near)
    if missing:
        *most, last = [_describe_argument(one) for one in missing]
        listed = f"{', '.join(most)} and {last}" if most else last
        message = f"The prompt needs a value for {listed}."
        raise MissingValue(message, "Give each value by its name in arguments.", missing[0].name)
    for name, value in given.items():
        one = declared[name]
        # Clients send an empty text for an empty field.
        if one.values and not one.is_open and value not in one.values and (value or one.is_required):
            message = f"{name} must be one of {', '.join(one.values)}."
            raise WrongValue(message, "Choose one of them.", name, one.values[:_MOST_VALUES])


def _describe_argument(one: Argument) -> str:
    """Return the name of an argument with its description and its values."""
    listed = [*one.values[:_MOST_VALUES], *(["another value"] if one.is_open or one.values[_MOST_VALUES:] else [])]
    values = f"{', '.join(listed[:-1])} or {listed[-1]}" if listed[1:] else ""
    about = "; ".join(filter(None, [shorten(one.description or ""), values]))
    return f"{one.name} ({about})" if about else one.name


def read_template(context: Context, found: FoundPrompt) -> str:
    """Return the content of a prompt without filling it in.

    Raises:
        TemplateFailed: the file of the prompt is missing from its library, too large, or not a text.
    """
    if isinstance(found, Prompt):
        return found.content
    with _explaining(context, found):
        return context.libraries.read(found.library, found.prompt).text


def fill_text(context: Context, found: FoundPrompt, values: dict[str, str], parts: Parts) -> str:
    """Fill in a prompt, and return it as one text; `parts` are what a stored one includes."""
    with _explaining(context, found):
        if isinstance(found, LibraryTemplate):
            return context.libraries.render(found.library, found.prompt, values, context.work)
        if not found.is_template:
            return found.content
        return context.libraries.renderer.render(found.content, values, context.work, parts)


def fill_messages(context: Context, found: FoundPrompt, values: dict[str, str], parts: Parts) -> list[Message]:
    """Fill in a prompt, and return its sections as messages; `parts` are what a stored one includes."""
    with _explaining(context, found):
        if isinstance(found, LibraryTemplate):
            return context.libraries.render_messages(found.library, found.prompt, values, context.work)
        if not found.is_template:
            return split_text(found.content)
        return context.libraries.renderer.render_messages(found.content, values, context.work, parts)


@contextmanager
def _explaining(context: Context, found: FoundPrompt) -> Iterator[None]:
    """Translate the errors of a template into the words of this contract."""
    try:
        yield
    except ContentMissing:
        raise TemplateFailed(
            f"The file of prompt '{found.name}' is missing.", _CORRECT_FILE, is_of_library=True
        ) from None
    except Unreadable as failure:
        message = f"The file of prompt '{found.name}' cannot be read: {failure.what}."
        raise TemplateFailed(message, _CORRECT_FILE, is_of_library=True) from None
    except RenderFailed as failure:
        line = "" if failure.line is None else f" at line {failure.line}"
        is_of_library = isinstance(found, LibraryTemplate)
        if is_of_library:
            hint = _CORRECT_FILE
        elif "update_prompt" in context.tools:
            hint = "Correct its content with update_prompt."
            hint = f"Add or restore what it includes, or c{hint[1:]}" if failure.is_include else hint
        else:
            hint = "Ask the user to correct its content."
        message = f"Prompt '{found.name}' cannot be filled in{line}: {failure.what}."
        raise TemplateFailed(message, hint, is_of_library=is_of_library) from None


# -- notes about templates that are saved -------------------------------------------------------------------------


def check_templates(context: Context, named: Sequence[tuple[str, str]], *, are_new: bool = False) -> templates.Checked:
    """Check, outside of transactions, those contents that may be templates; `named` has their names, too."""
    included: templates.Included = {}
    if any(templates.includes(content) for _, content in named):
        with context.read() as opened:
            included = templates.collect_all(opened.tx, opened.scope, named, are_new=are_new)
    check = context.libraries.renderer.check
    contents = [content for _, content in named]
    return templates.check(lambda content, parts: check(content, context.work, parts), contents, included)


def settle_update(
    checked: templates.Checked, seen: Prompt, content: str | UnsetType, declared: Sequence[Argument] | None
) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a patch for a prompt's arguments, and notes about its template; see `templates.settle`.

    With new content and no declared arguments, the old content of plain text must have been checked, too.
    """
    if content is UNSET and declared is None:
        return {}, []
    if content is UNSET:
        content = seen.content
    kept = declared if declared is not None else seen.arguments or None
    is_plain = not kept and declared is None and templates.is_plain_by_choice(checked, seen)
    settled = templates.settle(checked, content, kept, is_plain=is_plain)
    is_same = (settled.arguments, settled.is_constant) == (seen.arguments, seen.is_constant)
    fields = {"arguments": settled.arguments, "is_constant": settled.is_constant}
    return {} if declared is None and is_same else fields, describe_settled(settled)


def describe_settled(settled: Settled) -> list[str]:
    """Return notes about the template of a saved prompt."""
    if settled.plain:
        return [_explain_plain(settled)]
    notes = []
    if settled.is_constant:
        notes.append("Saved as a template, because it includes other texts. Saved with no arguments, it is plain text.")
    if settled.is_from_template:
        listed = _list([one.name if one.is_required else f"{one.name}?" for one in settled.arguments])
        notes.append(f"Arguments were declared from the template: {listed}. Saved with no arguments, it is plain text.")
    if settled.failure is not None:
        notes.append(f"The template could not be checked: {settled.failure.what}.")
    if settled.undeclared:
        names = _list_lines(settled.undeclared)
        notes.append(f"Not declared, so always empty: {names}. Declare them as arguments.")
    if settled.functions:
        notes.append(f"Functions that do not exist: {_list_lines(settled.functions)}.")
    if settled.unused:
        notes.append(f"Declared, but not used by the template: {_list(settled.unused)}.")
    return notes


def _explain_plain(settled: Settled) -> str:
    if settled.plain == "chosen":
        return "Kept as plain text, as it was. To make it a template, declare its arguments."
    if settled.plain == "large":
        return f"Kept as plain text: a template has at most {MAX_TEMPLATE_BYTES} bytes."
    if settled.failure is not None:
        return f"Kept as plain text, because it is not a valid template: {describe_failure(settled.failure)}."
    if settled.plain == "unusual":
        what = _list_lines(settled.unusual)
        return f"Kept as plain text, because it has {what}. If it is a template, declare its arguments."
    why = f"more than {MAX_ARGUMENTS} variables" if settled.plain == "many" else "no variables"
    return f"Kept as plain text, because it has {why}."


def _list_lines(names: Mapping[str, int]) -> str:
    return _list([f"{name} (line {line})" for name, line in names.items()])


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
