"""Suggestions for a name that does not exist: of an item, a project, a tag or an argument.

This module is imported only after such a mistake.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress

from satchel.contracts.content import format_minute
from satchel.contracts.contract import Context
from satchel.contracts.satchel.answers import may_read
from satchel.contracts.schema import UnknownArgument
from satchel.errors import EntryRefused, NotFound, Reason, Refused, VersionConflict
from satchel.model import uri_of
from satchel.services import diffs, history, layers, lookup, projects, tasks
from satchel.services.history import find_renamed, name_author
from satchel.services.texts import closest_name, closest_names
from satchel.storage.search import FoundKind

_MOST_NEAR = 3
_MOST_PROJECTS = 10  # projects in a hint
_MOST_TAGS = 20  # tags in a note
_MOST_UNKNOWN = 5  # unknown arguments in an error
_LONGEST_SHOWN = 60  # characters of a name that a caller made up
_MOST_WORDS = 3  # words to look up one by one after a search without hits
_SHORTEST_WORD = 4  # letters
_LONGEST_READ = 100  # characters of a name to look at
_LIKENESS = 0.75  # the minimum similarity, out of 1, of two spellings


def explain_missing(context: Context, error: Refused) -> Refused:
    """Return an error that suggests similar names, or tells what happened to the item."""
    missing = error.cause if isinstance(error, EntryRefused) else error
    if not isinstance(missing, NotFound):
        return error
    if missing.kind == "project":
        explained = _explain_project(context, missing)
    else:
        explained = (
            _find_personal(context, missing)
            or _find_moved(context, missing)
            or _find_deleted(context, missing)
            or _find_renamed(context, missing)
            or _find_elsewhere(context, missing)
            or _suggest(context, missing)
        )
    return EntryRefused(error.place, explained) if isinstance(error, EntryRefused) else explained


def explain_conflict(context: Context, clash: VersionConflict) -> VersionConflict:
    """Return the error with the authors, the time and the fields of the changes since the expected version."""
    if clash.expected > clash.actual:
        why = f"There is no version {clash.expected} yet."
    else:
        try:
            item, found, _ = history.list_versions(context.tx, context.scope, uri_of(clash.kind, clash.key))
        except NotFound:
            return clash
        newer = [one for one in found if one.version > clash.expected and not one.note]
        changed = diffs.list_changed_fields(context.tx, item, newer)
        fields = dict.fromkeys(field for one in newer for field in changed.get(one.number, ()))
        authors = dict.fromkeys(name_author(one.author, context.scope) for one in newer)
        if not newer:
            return clash
        why = f"Changed by {' and '.join(authors)} at {format_minute(newer[0].at)}: {', '.join(fields) or 'all of it'}."
    return VersionConflict(clash.kind, clash.key, expected=clash.expected, actual=clash.actual, why=why)


def _explain_project(context: Context, missing: NotFound) -> NotFound:
    """Return the error with the names of similar projects, or of all projects if none is similar."""
    if context.scope.projects is None and projects.find_deleted(context.tx, missing.key) is not None:
        uri = uri_of("project", missing.key)
        tool, command = f"Use restore with item {uri}", f"A person can use satchel restore {uri}"
        hint = f"{tool if 'restore' in context.tools else command} to bring it back."
        return NotFound("project", missing.key, missing.scope, why=Reason("is in the trash", hint))
    names = projects.list_names(context.tx, context.scope)
    more = f" and {len(names) - _MOST_PROJECTS} more" if len(names) > _MOST_PROJECTS else ""
    listed = f"{', '.join(names[:_MOST_PROJECTS])}{more}" or "none"
    advice = "; add_project makes a new one" if "add_project" in context.tools else ""
    hint = f"Existing projects: {listed}{advice}."
    near = dict.fromkeys(closest_names(missing.key, names), "")
    return NotFound("project", missing.key, missing.scope, near=near, why=Reason(hint=hint))


def _find_personal(context: Context, missing: NotFound) -> NotFound | None:
    """Return the error with a hint where to change an item that the project reads from the personal one."""
    if layers.find_missing(context.tx, missing) is None:
        return None
    there, here = missing.scope.personal, missing.scope.project
    hint = f"It is in project '{there}', which every project reads: pass project: \"{there}\" to work on it there"
    if "update_items" in context.tools:
        hint += f', or first copy it here with update_items (project: "{there}", to: "{here}", copy: true)'
    return NotFound(missing.kind, missing.key, missing.scope, why=Reason(hint=f"{hint}."))


def _find_moved(context: Context, missing: NotFound) -> NotFound | None:
    """Return the error with who moved a prompt or document, where to, and when."""
    kinds = [one for one in lookup.NAMED[:2] if missing.kind in (one, "item") and may_read(context, one)]
    found = history.find_moved(context.tx, missing.scope, kinds, missing.key)
    if found is None:
        return None
    item, there, change = found
    key = lookup.without_scheme(item.kind, missing.key).strip()
    link, renamed = uri_of(item.kind, item.name, there), "" if item.name == key else f" as {item.name}"
    by = f"{format_minute(change.at)} by {name_author(change.author, context.scope)}"
    why = Reason(f"was moved to project '{there}'{renamed} {by}", f'Pass project: "{there}", or use {link}.')
    return NotFound(item.kind, key, missing.scope, near={link: ""}, why=why)


def _find_deleted(context: Context, missing: NotFound) -> NotFound | None:
    """Return the error with who deleted an item, and when."""
    kind = next((one for one in lookup.NAMED if one == missing.kind), None)
    found = lookup.find_deleted(context.tx, missing.scope, kind, missing.key)
    if found is None or found.kind == "project" or not may_read(context, found.kind):
        return None
    deletion = lookup.find_deletion(context.tx, found)
    when = f" {format_minute(deletion.at)} by {name_author(deletion.author, context.scope)}" if deletion else ""
    can_restore = "restore" in context.tools
    hint = "Use restore to bring it back." if can_restore else "It is in the trash; history shows what it was."
    return NotFound(found.kind, found.key, missing.scope, why=Reason(f"was deleted{when}", hint, is_deleted=True))


def _find_renamed(context: Context, missing: NotFound) -> NotFound | None:
    """Return the error with the name that a document has now."""
    if missing.kind not in ("document", "item") or not may_read(context, "document"):
        return None
    name = lookup.without_scheme("document", missing.key).strip()
    found = find_renamed(context.tx, missing.scope, name)
    if found is None:
        return None
    item, change = found
    by = f"{format_minute(change.at)} by {name_author(change.author, context.scope)}"
    why = Reason(f"was renamed to {item.name} {by}", f"Use {item.name}.")
    return NotFound("document", name, missing.scope, near={item.name: ""}, why=why)


def _find_elsewhere(context: Context, missing: NotFound) -> NotFound | None:
    """Return the error with the other projects that have an item of this name."""
    kinds = [one for one in lookup.NAMED if missing.kind in (one, "item") and may_read(context, one)]
    found = lookup.find_elsewhere(context.tx, missing.scope, kinds, missing.key)
    if not found:
        return None
    places = list(dict.fromkeys(f"project '{project}'" if project else "no project" for _, project in found))
    have = f"{' and '.join(places)} {'have' if places[1:] else 'has'} one"
    references = [reference for reference, _ in found]
    first = next((f'Pass project: "{project}", or use ' for _, project in found if project), "Use ")
    what = f"does not exist in project '{missing.scope.project}', but {have}"
    why = Reason(what, f"{first}{' or '.join(references)}.")
    return NotFound(missing.kind, missing.key, missing.scope, near=dict.fromkeys(references, ""), why=why)


def _suggest(context: Context, missing: NotFound) -> NotFound:
    """Return the error with the names of items that a mistyped reference may mean."""
    tx, scope, key = context.tx, missing.scope, missing.key
    kinds = [one for one in lookup.NAMED if missing.kind in (one, "item") and may_read(context, one)]
    near: dict[str, str] = {}
    home = lookup.split_project(key)[0]
    with suppress(NotFound):  # the project may have been deleted meanwhile
        for kind in layers.KINDS:
            if kind in kinds:
                names = [name for name, _ in layers.suggest(tx, scope, kind, key)]
                # A name like a number would be read as a task's number.
                near |= {uri_of(kind, name, home) if home or name == key.strip() else name: "" for name in names}
        if missing.kind == "prompt":
            near |= dict.fromkeys(closest_names(key, (name for name, _ in context.libraries.catalog.view)), "")
        if "task" in kinds and scope.user is not None:
            near |= {f"#{number}": title for number, _, title in lookup.suggest(tx, scope, "task", key)}
        if missing.kind == "item":
            deleted = lookup.suggest_deleted(tx, scope, kinds, key)
            near = dict.fromkeys(deleted[:2], "") | near | dict.fromkeys(deleted, "")
    can_list = missing.kind == "item" or may_read(context, missing.kind)
    why = missing.why if near or can_list else Reason(hint="Check the name.")
    return NotFound(missing.kind, key, scope, near=dict(list(near.items())[:_MOST_NEAR]), why=why)


def suggest_titles(context: Context, query: str, kinds: Sequence[FoundKind]) -> list[str]:
    """Return the titles and tags nearest to the words of a search without hits; `#4` and `+` mark tasks and tags."""
    text = query.strip('" ')
    words = sorted((word for word in text.split() if len(word) >= _SHORTEST_WORD), key=len, reverse=True)
    sought = list(dict.fromkeys([text, *words[:_MOST_WORDS]]))
    titles = next(filter(None, (_find_titles(context, one, kinds) for one in sought)), [])
    tags: list[str] = []
    if "prompt" in kinds:
        tags += (tag.name for tag in layers.list_tags(context.tx, context.scope))
    if "task" in kinds and context.scope.user is not None:
        tags += tasks.list_tags(context.tx, context.scope, None)
    near = dict.fromkeys(tag for one in sought for tag in closest_names(one.lstrip("#+"), dict.fromkeys(tags)))
    return [*titles[:_MOST_NEAR], *(f"+{tag}" for tag in list(near)[:_MOST_NEAR])]


def _find_titles(context: Context, text: str, kinds: Sequence[FoundKind]) -> list[str]:
    """Return the titles of items whose name or title is spelled like a text. Their words were already looked up."""
    tx, scope = context.tx, context.scope
    found: list[str] = []
    for kind in kinds:
        if kind != "task":
            found += (title for _, title in layers.suggest(tx, scope, kind, text, by_words=False))
        elif scope.user is not None:
            near = lookup.suggest(tx, scope, "task", text, by_words=False)
            found += (f"#{number} {' '.join(title.split())}" for number, _, title in near)
    if "prompt" in kinds:
        found += closest_names(text, (name for name, _ in context.libraries.catalog.view))
    return list(dict.fromkeys(found))


def describe_tags(missing: Sequence[str], what: str, known: Iterable[str]) -> list[str]:
    """Return a note on each tag that no item has, with similar tags, or if none is similar, the tags in use."""
    known = list(known)
    notes = []
    for tag in missing:
        near = closest_names(tag, known)
        meant = f" Did you mean {' or '.join(near)}?" if near else ""
        notes.append(f"No {what} has the tag '{shorten_name(tag)}'.{meant}")
    if missing and known and not any(note.endswith("?") for note in notes):
        notes.append(_list_tags(known))
    return notes


def explain_tags(missing: Sequence[str], what: str, known: Iterable[str]) -> tuple[str, str, list[str]]:
    """Return an error about tags that no item has, a hint at similar tags or the tags in use, and the similar tags."""
    known = list(known)
    named = " or ".join(f"'{shorten_name(tag)}'" for tag in missing[:_MOST_UNKNOWN])
    near = list(dict.fromkeys(name for tag in missing for name in closest_names(tag, known)))[:_MOST_NEAR]
    hint = f"Did you mean {' or '.join(near)}?" if near else _list_tags(known)
    return f"No {what} has the tag {named}.", hint, near


def _list_tags(known: Sequence[str]) -> str:
    more = f" and {len(known) - _MOST_TAGS} more" if len(known) > _MOST_TAGS else ""
    return f"Tags in use: {', '.join(known[:_MOST_TAGS])}{more}." if known else "No tag is in use there."


def describe_unknown(unknown: object) -> tuple[str, str, list[str]]:
    """Describe the unknown names in a call and suggest known ones; also return the suggestions."""
    assert isinstance(unknown, tuple)
    told: list[UnknownArgument] = list(unknown[:_MOST_UNKNOWN])
    names = [f"{one.place}.{shorten_name(one.name)}".removeprefix(".") for one in told]
    rest = f" and {len(unknown) - _MOST_UNKNOWN} more" if len(unknown) > _MOST_UNKNOWN else ""
    message = f"Unknown argument{'s' if len(unknown) > 1 else ''}: {', '.join(names)}{rest}. Nothing was done."
    found = [(one, find_argument(one.name, one.known, one.given)) for one in told]
    near = {one.name: meant for one, meant in found if meant is not None}
    hints = [f"{meant} instead of {shorten_name(name)}" for name, meant in near.items()]
    hint = f"Use {', '.join(hints)}." if hints else ""
    if advice := next((_KEEPS_NAME for one, _ in found if _would_rename(one)), ""):
        return message, advice, []
    strangers = {one.place: one for one, meant in found if meant is None}
    words = {word for one, meant in found if meant is None for word in split_words(one.name)}
    hint += "".join(f" {said}" for names, said in _EXPECTED if words & names)
    for place, one in strangers.items():
        hint += f" {f'{place} has' if place else 'The tool takes'} {', '.join(one.known)}."
    return message, hint.strip()[:1].upper() + hint.strip()[1:], list(dict.fromkeys(near.values()))


def _would_rename(unknown: UnknownArgument) -> bool:
    """Return whether a call of update_prompt gives a new name."""
    is_of_prompt = unknown.place == "" and {"prompt", "title"} <= set(unknown.known)
    return is_of_prompt and "name" in split_words(unknown.name)


_KEEPS_NAME = (
    "A prompt keeps its name, because calls and links use it. Change its title, or save it under the new name with "
    "add_prompts and delete the old one."
)


# Arguments that other systems have, and what to do here.
_EXPECTED: tuple[tuple[set[str], str], ...] = (
    ({"assignee", "assign", "assigned"}, "Tasks have no assignee; claim_task says who works on one."),
    ({"every", "recurrence", "recurring", "recur", "repeat"}, "Tasks do not repeat; add the next one with add_tasks."),
    ({"permanent", "permanently", "purge", "force"}, "Deleted items stay in the trash until a person purges them."),
    ({"deleted", "trash", "trashed"}, "To see what was deleted, use history."),
    (
        {"reminder", "reminders", "remind", "alarm"},
        "Tasks have no reminder; catch_up lists tasks due today or overdue.",
    ),
    ({"estimate", "estimated", "effort", "points", "duration"}, "Tasks have no estimate; write it in the description."),
    ({"sort", "order", "orderby", "sorted"}, "Lists have a fixed order: open tasks by priority, then by due day."),
)


def shorten_name(name: str) -> str:
    """Shorten a name that a caller invented, and drop unprintable characters."""
    plain = "".join(one if one.isprintable() else "?" for one in name[: _LONGEST_SHOWN + 1])
    return plain if len(plain) <= _LONGEST_SHOWN else f"{plain[:_LONGEST_SHOWN]}..."


def find_argument(name: str, known: Sequence[str], given: Iterable[str] = ()) -> str | None:
    """Return the argument that was probably meant, if any; prefer arguments that the call does not give."""
    unused = [one for one in known if one not in set(given)]
    return _find_argument(name, unused) or _find_argument(name, known)


def _find_argument(name: str, known: Sequence[str]) -> str | None:
    words = set(split_words(name))
    for one in known:  # matches task_id, prompt_name, new_title
        parts = set(one.split("_"))
        if parts <= words or (words and words <= parts):
            return one
    spelling = "_".join(split_words(name))
    near = closest_name(spelling, known)  # the spelling must be very similar: `tags` does not mean `status`
    return near if near and difflib.SequenceMatcher(None, spelling, near).ratio() >= _LIKENESS else None


def split_words(name: str) -> list[str]:
    """Split a name into words; dueDate, due-date and DUE_DATE give the same words."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name[:_LONGEST_READ])
    return re.findall(r"[a-z0-9]+", spaced.lower())
