"""The caller of an HTTP request: anyone on this machine, the user of a token, or a user of an OAuth issuer."""

from collections.abc import Callable
from ipaddress import ip_address
from urllib.parse import parse_qs

from msgspec import Struct
from msgspec.structs import replace

from satchel.errors import AuthUnavailable, StoreError, Unauthorized
from satchel.model import Author, Identity, Quota, Scope

PROJECT_HEADER = "satchel-project"
SCOPES = ("satchel:read", "satchel:write")

_NEEDED_SCOPE = f'scope="{" ".join(SCOPES)}"'

ReadHeader = Callable[[str], list[str]]  # returns every value of a header, given its name in lower case


class AccessDenied(Exception):
    """A request is refused: an HTTP status, a sentence, and the challenge for a WWW-Authenticate header."""

    def __init__(self, status: int, message: str, challenge: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.challenge = challenge


class Callers(Struct, frozen=True, kw_only=True):
    """How one server identifies its callers."""

    scope: Scope  # applies if there is neither a token nor a named project
    default_user: str  # for contracts that act as a user
    identify: Callable[[str], Identity] | None = None  # None: no token is needed
    is_local: bool = True  # `identify` reads one row of a file, so it needs no thread
    has_scopes: bool = False  # tokens carry OAuth scopes
    quota: Quota | None = None  # for each user with a token
    personal: str = ""  # as in Scope, for contracts that show it

    def find_scope(self, header: ReadHeader, query: str) -> Scope:
        """Return the scope of a request. This reads one row of the store, or may wait until an issuer's keys arrive.

        Raises:
            AccessDenied: 400 for a malformed query, 401 without a valid token, 403 if the token does not open the
                project, 503 if the token cannot be checked.
        """
        project, why = _find_project(header, query)
        if self.identify is None:
            return self.scope if project is None else replace(self.scope, project=project, why=why)
        try:
            identity = self.identify(self._read_token(header))
        except Unauthorized as error:
            raise self._unauthorized(error.description, is_given=True) from error
        except (AuthUnavailable, StoreError) as error:
            raise AccessDenied(503, "The token cannot be checked at the moment. Try again.") from error
        return self.scope_of(identity, project, why)

    def scope_of(self, identity: Identity, project: str | None = None, why: str = "") -> Scope:
        """Return the scope of an identified caller in the requested project.

        Raises:
            AccessDenied: 403 if the token does not open the project.
        """
        allowed = identity.projects
        if allowed == ():  # an issuer may grant no project
            raise self._forbidden("This token opens no project.")
        if project is None:
            project, why = self.scope.project, self.scope.why
            if allowed is not None and project not in allowed:
                project, why = allowed[0], "the token"
        elif allowed is not None and project not in allowed:
            raise self._forbidden("This token does not open that project.")
        return Scope(
            project=project,
            why=why,
            user=identity.user,
            projects=allowed,
            is_read_only=identity.is_read_only or self.scope.is_read_only,
            author=Author(token=identity.token),
            quota=self.quota,
        )

    def fill_in(self, scope: Scope, *, personal: bool = False) -> Scope:
        """Return `scope` with a user (by default the server's) and, if asked for and allowed, the personal project."""
        is_open = personal and (scope.projects is None or self.personal in scope.projects)
        return replace(scope, user=scope.user or self.default_user, personal=self.personal if is_open else "")

    def refuse_write(self) -> AccessDenied:
        """Return the error for a caller who may only read but makes a call that writes."""
        return self._forbidden("Read-only: nothing may be changed.")

    def _read_token(self, header: ReadHeader) -> str:
        given = header("authorization")
        if not given:
            raise self._unauthorized("a bearer token is needed", is_given=False)
        scheme, _, token = given[0].strip().partition(" ")
        if len(given) != 1 or scheme.lower() != "bearer" or not token.strip():
            raise self._unauthorized("the Authorization header must be: Bearer TOKEN", is_given=True)
        return token.strip()

    def _unauthorized(self, description: str, *, is_given: bool) -> AccessDenied:
        # RFC 6750: there is no error code if no token was sent.
        error = ('error="invalid_token"', f'error_description="{description}"') if is_given else ()
        challenge = _challenge(*error, *((_NEEDED_SCOPE,) if self.has_scopes else ()))
        return AccessDenied(401, f"{description[:1].upper()}{description[1:]}.", challenge)

    def _forbidden(self, message: str) -> AccessDenied:
        is_challenged = self.identify is not None  # otherwise a token would not help
        return AccessDenied(
            403, message, _challenge('error="insufficient_scope"', _NEEDED_SCOPE) if is_challenged else None
        )


def _find_project(header: ReadHeader, query: str) -> tuple[str | None, str]:
    """Return the project that a request names, and which part of the request names it; ignore empty names."""
    try:
        given = parse_qs(query, max_num_fields=20).get("project") if query else None
    except ValueError as error:
        raise AccessDenied(400, "The query has more than 20 fields.") from error
    if given:
        return given[-1], "the query ?project="
    named = [name for name in header(PROJECT_HEADER) if name]
    return (named[-1], "the header Satchel-Project") if named else (None, "")


def _challenge(*parts: str) -> str:
    return "Bearer " + ", ".join(('realm="satchel"', *parts))


def is_loopback(host: str) -> bool:
    """Return whether a host, perhaps in brackets, means this machine."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"
