"""Tells a caller more about a name that a project has not: what is similar, or where it is, or who deleted it when."""

from satchel.contracts.contract import Context
from satchel.contracts.satchel.errors import AmbiguousTitle, DeletedItem, UnknownName
from satchel.errors import EntryRefused, NotFound, Refused
from satchel.services import projects, references
from satchel.services.suggestions import closest_names


def explain_missing(context: Context, error: Refused) -> Refused:
    """Return an error that suggests similar names, or tells who deleted what a call named."""
    cause = error.cause if isinstance(error, EntryRefused) else error
    if not isinstance(cause, NotFound):
        return error
    if isinstance(cause, UnknownName) and cause.look is not None:
        cause = cause.look(context, cause)
    cause = suggest_projects(context, cause)
    cause = _find_personal(context, cause) or _find_deleted(context, cause) or cause
    return EntryRefused(error.place, cause) if isinstance(error, EntryRefused) else cause


def _find_personal(context: Context, missing: NotFound) -> UnknownName | None:
    """Where to change an item that the project only reads from the personal one; nothing changes there unasked."""
    if references.find_personal(context.tx, missing) is None:
        return None
    there, here = missing.scope.personal, missing.scope.project
    hint = f"It is in project '{there}', for every project: pass project: \"{there}\" to work on it there"
    if "update_items" in context.tools:
        hint += f', or first copy it here with update_items (project: "{there}", to: "{here}", copy: true)'
    return UnknownName(missing, hint=f"{hint}.")


def _find_deleted(context: Context, missing: NotFound) -> DeletedItem | None:
    from satchel.contracts.satchel.history import may_read, name_author, write_time  # only after a miss

    if missing.kind == "project" or isinstance(missing, AmbiguousTitle):
        return None
    kind = next((one for one in references.NAMED if one == missing.kind), None)
    found = references.find_deleted(context.tx, missing.scope, kind, missing.key)
    if found is None or found.kind == "project" or not may_read(context, found.kind):
        return None
    deletion = references.find_deletion(context.tx, found)
    return DeletedItem(
        NotFound(found.kind, found.key, missing.scope),
        at=write_time(deletion) if deletion else "",
        by=name_author(deletion.author, context.scope) if deletion else "",
        can_restore="restore" in context.tools,
    )


_LISTS = {"prompt": "list_prompts", "document": "list_resources", "task": "list_tasks"}


def suggest_projects(context: Context, missing: NotFound) -> NotFound:
    """An error with projects of similar names, which refers only to tools that the caller may use."""
    if isinstance(missing, AmbiguousTitle) or (
        isinstance(missing, UnknownName) and (missing.suggestions or missing.hint)
    ):
        return missing
    if missing.kind != "project":
        if _LISTS.get(missing.kind) in context.tools:
            return missing
        return UnknownName(missing, hint="Look at what was named once more.")
    known = [project.name for project, _ in projects.list_all(context.tx, context.scope)]
    hint = _list_projects(known, may_add="add_project" in context.tools)
    return UnknownName(missing, closest_names(missing.key, known), hint=hint)


def _list_projects(names: list[str], *, may_add: bool) -> str:
    """Which projects there are, in a call that named none of them, and how one is made."""
    more = f" and {len(names) - _MOST_PROJECTS} more" if len(names) > _MOST_PROJECTS else ""
    listed = f"{', '.join(names[:_MOST_PROJECTS])}{more}" or "none"
    return f"There {'are' if names[1:] else 'is'} {listed}{'; add_project makes one' if may_add else ''}."


_MOST_PROJECTS = 10  # that a hint names
