"""What changed while a form was open: the text that it started from, the one that is stored now, and who changed it."""

from msgspec import Struct

from satchel.errors import VersionMissing
from satchel.model import Version
from satchel.page.visit import Visit
from satchel.services import history


class Conflict(Struct, frozen=True):
    """A text that was changed since a form showed it."""

    base: str  # what the form showed; empty where history no longer has it
    theirs: str
    revision: Version | None  # the last change; None where it is not known


def find_conflict(visit: Visit, reference: str, theirs: str, version: int) -> Conflict:
    """What was changed since a version."""
    with visit.read() as tx:
        _, revisions, _ = history.list_versions(tx, visit.scope, reference, limit=1)
        try:
            base = history.read_version(tx, visit.scope, reference, version).state.text
        except VersionMissing:
            base = ""
    return Conflict(base, theirs, revisions[0] if revisions and revisions[0].number else None)
