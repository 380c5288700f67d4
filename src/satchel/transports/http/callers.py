"""Who is calling, and what they may do: anyone on this machine, a bearer token, or the JWT of an OAuth issuer."""

from collections.abc import Callable
from urllib.parse import parse_qs

import msgspec
from anyio.to_thread import run_sync
from msgspec import Struct

from satchel.errors import AuthUnavailable, StoreError, Unauthorized
from satchel.model import Identity, Scope
from satchel.protocol.streamable_http import Headers
from satchel.transports.http.messages import Refusal, Request

PROJECT_HEADER = "satchel-project"
SCOPES = ("satchel:read", "satchel:write")

_NEEDED = f'scope="{" ".join(SCOPES)}"'


class Callers(Struct, frozen=True, kw_only=True):
    """How this server identifies its callers."""

    scope: Scope  # of a caller that names neither user nor project
    default_user: str | None = None  # for contracts that act as one
    identify: Callable[[str], Identity] | None = None  # None: no token is asked for
    is_lookup: bool = True  # `identify` reads one row of an embedded store, so it may run in the event loop
    has_scopes: bool = False  # tokens carry OAuth scopes

    async def enter(self, request: Request) -> Scope:
        """The scope of a request.

        Raises:
            Refusal: 400 for a query that has no meaning, 401 without a valid token, 403 for a project that the token
                does not open, 503 when the token cannot be checked.
        """
        if self.is_lookup:
            return self.find_scope(request.headers, request.query)
        return await run_sync(self.find_scope, request.headers, request.query, abandon_on_cancel=True)

    def find_scope(self, headers: Headers, query: str) -> Scope:
        """The same, in the calling thread; may ask the database, or wait for an issuer's keys."""
        project, why = self._project(headers, query)
        if self.identify is None:
            return self.scope if project is None else msgspec.structs.replace(self.scope, project=project, why=why)
        try:
            identity = self.identify(self._token(headers))
        except Unauthorized as error:
            raise self._unauthorized(error.description, is_given=True) from error
        except (AuthUnavailable, StoreError) as error:
            raise Refusal(503, "authorization", "Who is calling cannot be told at the moment. Try again.") from error
        allowed = identity.projects
        if allowed == ():  # an issuer may grant none
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
        )

    def refuse_write(self, id: str | int | None = None) -> Refusal:
        """The refusal of a write by a caller, or on a server, that may only read."""
        return self._forbidden("Read-only: nothing may be changed.", id)

    def as_user(self, scope: Scope) -> Scope:
        """A scope that acts as the default user where it names none itself."""
        if scope.user is not None or self.default_user is None:
            return scope
        return msgspec.structs.replace(scope, user=self.default_user)

    def _forbidden(self, message: str, id: str | int | None = None) -> Refusal:
        if self.identify is None:
            return Refusal(403, "authorization", message, id=id)  # no token would help
        challenge = _challenge('error="insufficient_scope"', _NEEDED)
        return Refusal(403, "authorization", message, [("www-authenticate", challenge)], id)

    def _project(self, headers: Headers, query: str) -> tuple[str | None, str]:
        """The project that a request names, and where; an empty name counts as none."""
        try:
            given = parse_qs(query, max_num_fields=20).get("project") if query else None
        except ValueError as error:
            raise Refusal(400, "query", "The query has more fields than there is a use for.") from error
        if given:
            return given[-1], "the query ?project="
        named = [name for name in headers.all(PROJECT_HEADER) if name]
        return (named[-1], "the header Satchel-Project") if named else (None, "")

    def _token(self, headers: Headers) -> str:
        given = headers.all("authorization")
        if not given:
            raise self._unauthorized("a bearer token is needed", is_given=False)
        scheme, _, token = given[0].strip().partition(" ")
        if len(given) != 1 or scheme.lower() != "bearer" or not token.strip():
            raise self._unauthorized("the Authorization header must be: Bearer TOKEN", is_given=True)
        return token.strip()

    def _unauthorized(self, description: str, *, is_given: bool) -> Refusal:
        # RFC 6750: no error code where no token was sent.
        wrong = ('error="invalid_token"', f'error_description="{description}"') if is_given else ()
        challenge = _challenge(*wrong, *((_NEEDED,) if self.has_scopes else ()))
        message = f"{description[:1].upper()}{description[1:]}."
        return Refusal(401, "authorization", message, [("www-authenticate", challenge)])


def _challenge(*parts: str) -> str:
    return "Bearer " + ", ".join(('realm="satchel"', *parts))
