"""A visit, which is the argument of every view, and the possible results: a page, a redirect or a file."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from msgspec import Struct
from msgspec.structs import replace

from satchel.errors import Forbidden
from satchel.library.catalog import Libraries
from satchel.model import Author, Scope
from satchel.services import projects
from satchel.storage.database import Database, Tx

Result = TypeVar("Result")

MOST_COUNTED = 1000  # larger counts are shown as "1,000+", because counting takes time


class Server(Struct, frozen=True, kw_only=True):
    """The state that all visits to a server share."""

    database: Database
    libraries: Libraries
    url: str  # the address for clients, without a slash at the end
    auth: str  # none, token or oauth
    contracts: Sequence[str]


class Upload(Struct, frozen=True):
    """A file that came with a form."""

    name: str
    content: bytes


class Visit(Struct, frozen=True, kw_only=True):
    """One request for a page, by an authenticated caller."""

    server: Server
    scope: Scope
    address: str  # the path and query to return to
    path: Mapping[str, str]  # the named parts of the path
    query: Mapping[str, str]
    form: Mapping[str, Sequence[str]] = {}
    files: Mapping[str, Upload] = {}
    session: str = ""  # the id of the session in which a person is logged in

    @property
    def is_read_only(self) -> bool:
        """Whether the caller may only read."""
        return self.scope.is_read_only

    def within(self, project: str) -> "Visit":
        """Return the same visit in another project."""
        return replace(self, scope=projects.enter(self.scope, project))

    def field(self, name: str, default: str = "") -> str:
        """Return a field of the form, with LF instead of the CRLF that browsers send."""
        values = self.form.get(name)
        return values[-1].replace("\r\n", "\n") if values else default

    @property
    def back(self) -> str:
        """The address to which the form wants to return; empty if there is none."""
        address = self.field("back")
        return address if address.startswith("/") and not address.startswith(("//", "/\\")) else ""

    def number(self, name: str) -> int:
        """Return a number in the form or the query; 0 if there is none."""
        text = self.field(name) or self.query.get(name, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0

    def read(self) -> AbstractContextManager[Tx]:
        """Open a transaction that reads."""
        return self.server.database.read(self.scope)

    def check_writes(self) -> None:
        """Check that the caller may write.

        Raises:
            Forbidden: the caller may only read.
        """
        if self.is_read_only:
            raise Forbidden("change", "read-only", self.scope)

    def write(self, act: Callable[[Tx], Result]) -> Result:
        """Run an action in one transaction; retry if it conflicts with another one.

        Raises:
            Forbidden: the caller may only read.
        """
        self.check_writes()
        author = Author(
            user=self.scope.user or "", token=self.scope.author.token, client="page", contract="page", caller="person"
        )
        scope = replace(self.scope, author=author, refuses_hidden=True)
        return self.server.database.transact(scope, act)


class Shown(Struct, frozen=True):
    """A page: its template, the template's values, and the status."""

    template: str
    values: Mapping[str, Any]
    status: int = 200


class Redirect(Struct, frozen=True):
    """A redirect to another address of the page, with a message to show there."""

    to: str
    said: str = ""
    can_undo: bool = False  # show a button that undoes the change


class File(Struct, frozen=True):
    """The bytes of a document, which the browser must not treat as a page of this server."""

    name: str
    mime_type: str
    content: bytes
    is_inline: bool = False  # shown inside a page; only for pictures


Answer = Shown | Redirect | File


def link(*parts: str, **query: str | None) -> str:
    """Return the address of a page; encode its parts, and omit query fields without a value."""
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    fields = {name: value for name, value in query.items() if value}
    return f"{path}?{urlencode(fields)}" if fields else path
