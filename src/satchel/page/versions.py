"""The versions of an item, the difference between any two, restore, and conflicts with an open form."""

from msgspec import Struct

from satchel.errors import NotFound, VersionMissing
from satchel.model import ItemKind, Version, describe_change, uri_of
from satchel.page.visit import Answer, Redirect, Shown, Visit, link
from satchel.services import diffs, history, restoring

_KINDS: dict[str, ItemKind] = {"prompts": "prompt", "documents": "document"}
_SHOWN = 100


def show(visit: Visit) -> Answer:
    """Show the versions of an item; ?old= and ?new= are compared."""
    reference, address = _locate(visit)
    with visit.read() as tx:
        item, revisions, has_more = history.list_versions(tx, visit.scope, reference, limit=_SHOWN)
        fields = diffs.list_changed_fields(tx, item, revisions)
        versions = [one.version for one in revisions if one.action != "delete"]
        new = visit.number("new") or (versions[0] if versions else 0)
        old = visit.number("old") or next((one for one in versions if one < new), new)
        texts = []
        for version in (old, new):
            try:
                texts.append(diffs.render(history.read_version(tx, visit.scope, item, version)))
            except VersionMissing:
                texts.append("")
    values = {"item": item, "revisions": revisions, "has_more": has_more, "old": old, "new": new, "texts": texts}
    return Shown("versions.html", values | {"item_address": address, "fields": fields, "describe": describe_change})


def restore(visit: Visit) -> Answer:
    """Restore a version of an item, as its newest version."""
    reference, address = _locate(visit)
    version = visit.number("version")
    restored = visit.write(lambda tx: restoring.restore(tx, visit.scope, reference, version or None))
    said = f"Version {version} is the newest again." if restored.is_changed else "It has this content already."
    return Redirect(address, " ".join([said, *restored.notes]), can_undo=restored.is_changed)


def _locate(visit: Visit) -> tuple[str, str]:
    """Return the URI and the address of the item that the path names."""
    if number := visit.path.get("number"):
        return uri_of("task", number), link("tasks", number)
    plural, name = visit.path["kind"], visit.path["name"]
    if plural not in _KINDS:
        raise NotFound("page", plural, visit.scope)
    return uri_of(_KINDS[plural], name), link("p", visit.scope.project, plural, name)


# -- conflicts ----------------------------------------------------------------------------------------------------


class Conflict(Struct, frozen=True):
    """A text that has changed since a form showed it."""

    base: str  # the text in the form; empty if history no longer has it
    theirs: str
    revision: Version | None  # the last change; None if unknown


def find_conflict(visit: Visit, reference: str, theirs: str, version: int) -> Conflict:
    """Return the conflict of a form with later changes: the text that the form showed, and `theirs`, the new one."""
    with visit.read() as tx:
        item, revisions, _ = history.list_versions(tx, visit.scope, reference, limit=1)
        try:
            base = str(history.read_version(tx, visit.scope, item, version).content)
        except VersionMissing:
            base = ""
    return Conflict(base, theirs, revisions[0] if revisions and revisions[0].number else None)
