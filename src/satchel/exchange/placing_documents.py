"""Places documents of an import: new, the same as what is there, or clashing."""

from itertools import count

from msgspec.structs import replace

from satchel.exchange.entries import DocumentEntry
from satchel.exchange.ledger import Ledger, State
from satchel.exchange.snapshot import to_document
from satchel.model import ResourceDraft, ResourcePatch, Scope
from satchel.services import resources, rules
from satchel.storage.database import Tx

URI = "satchel://resource/"


class DocumentPlacer:
    """Places documents, one after the other."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def place(self, tx: Tx, entry: DocumentEntry) -> tuple[State, str]:
        """Put a document into the store, and tell its state and its name there."""
        scope = self._ledger.enter(tx, entry.project)
        known = self._ledger.look(tx, scope)
        uri = rules.clean_uri("resource", entry.uri or URI + rules.clean_name("resource", entry.name))
        content = rules.clean_content(rules.clean_mime_type("resource", entry.mime_type), entry.content)
        entry = replace(entry, uri=uri, content=content)
        there = entry.name if entry.name in known.documents else known.uris.get(entry.uri)
        if there is None:
            return "new", self._add_document(tx, scope, entry)
        if _is_same_document(self._read_document(tx, scope, there), entry):
            return "same", there
        if self._ledger.on_clash == "replace":
            return "replaced", self._replace_document(tx, scope, there, entry)
        return self._rename_document(tx, scope, entry) if self._ledger.on_clash == "rename" else ("clashing", there)

    def _add_document(self, tx: Tx, scope: Scope, entry: DocumentEntry) -> str:
        known = self._ledger.look(tx, scope)
        if not self._ledger.is_dry_run:
            draft = ResourceDraft(
                name=entry.name,
                uri=entry.uri,
                content=entry.content,
                mime_type=entry.mime_type,
                description=entry.description,
            )
            resources.add(tx, scope, draft)
        self._ledger.set(known.documents, entry.name, entry)
        self._ledger.set(known.uris, entry.uri, entry.name)
        return entry.name

    def _read_document(self, tx: Tx, scope: Scope, name: str) -> DocumentEntry:
        return self._ledger.look(tx, scope).documents[name] or to_document(resources.get_by_name(tx, scope, name))

    def _replace_document(self, tx: Tx, scope: Scope, name: str, entry: DocumentEntry) -> str:
        if not self._ledger.is_dry_run:
            patch = ResourcePatch(content=entry.content, mime_type=entry.mime_type, description=entry.description)
            resources.update(tx, scope, name, patch)
        self._ledger.set(self._ledger.look(tx, scope).documents, name, entry)
        return name

    def _rename_document(self, tx: Tx, scope: Scope, entry: DocumentEntry) -> tuple[State, str]:
        known = self._ledger.look(tx, scope)
        stem, dot, extension = entry.name.rpartition(".")
        for number in count(2):
            name = f"{stem}-{number}{dot}{extension}" if stem else f"{entry.name}-{number}"
            uri = URI + name if entry.uri == URI + entry.name else f"{entry.uri}-{number}"
            taken = name if name in known.documents else known.uris.get(uri)
            renamed = replace(entry, name=name, uri=uri)
            if taken is None:
                return "renamed", self._add_document(tx, scope, renamed)
            if _is_same_document(self._read_document(tx, scope, taken), renamed):
                return "same", taken
        raise AssertionError("there is always another number")


def _is_same_document(there: DocumentEntry, entry: DocumentEntry) -> bool:
    return (there.name, there.uri, there.content, there.mime_type, there.description) == (
        entry.name,
        entry.uri,
        entry.content,
        entry.mime_type,
        entry.description,
    )
