"""Who is calling, and what they may do: anybody on this machine, a bearer token, or the JWT of an OAuth issuer."""

from collections.abc import Callable
from urllib.parse import parse_qs

import msgspec
from msgspec import Struct

from satchel.errors import AuthUnavailable, StoreError, Unauthorized
from satchel.model import Identity, Scope
from satchel.transports.http.guard import Refusal
from satchel.transports.http.heads import Head

PROJECT_HEADER = "satchel-project"
SCOPES = ("satchel:read", "satchel:write")

_NEEDED = f'scope="{" ".join(SCOPES)}"'


class Auth(Struct, frozen=True, kw_only=True):
    """How this server knows its callers."""

    scope: Scope  # of a caller who says nothing else
    identify: Callable[[str], Identity] | None = None  # None: on this machine, whoever asks
    is_at_hand: bool = True  # it takes no more than a look into an embedded store
    has_scopes: bool = False  # its tokens

    def enter(self, headers: Head, query: str) -> Scope:
        """The scope of a request; may ask the database, or wait for an issuer's keys.

        Raises:
            Refusal: 400 for a query that nobody means, 401 without a good token, 403 for a project that it does not
                open, 503 when nobody can tell.
        """
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
        if allowed == ():  # as an issuer may have it
            raise self.forbidden("This token opens no project.")
        if project is None:
            project, why = self.scope.project, self.scope.why
            if allowed is not None and project not in allowed:
                project, why = allowed[0], "the token"
        elif allowed is not None and project not in allowed:
            raise self.forbidden("This token does not open that project.")
        return Scope(
            project=project,
            why=why,
            user=identity.user,
            projects=allowed,
            is_read_only=identity.is_read_only or self.scope.is_read_only,
        )

    def forbidden(self, message: str, id: str | int | None = None) -> Refusal:
        """The refusal of something that a token does not allow, or that this server allows nobody."""
        if self.identify is None:
            return Refusal(403, "authorization", message, id=id)  # there is no token that would help
        challenge = _challenge('error="insufficient_scope"', _NEEDED)
        return Refusal(403, "authorization", message, [("www-authenticate", challenge)], id)

    def _project(self, headers: Head, query: str) -> tuple[str | None, str]:
        """The project that a request names, and where it does; an empty name is none."""
        try:
            given = parse_qs(query, max_num_fields=20).get("project") if query else None
        except ValueError as error:
            raise Refusal(400, "query", "The query has more fields than there is a use for.") from error
        if given:
            return given[-1], "the query ?project="
        named = [name for name in headers.all(PROJECT_HEADER) if name]
        return (named[-1], "the header Satchel-Project") if named else (None, "")

    def _token(self, headers: Head) -> str:
        given = headers.all("authorization")
        if not given:
            raise self._unauthorized("a bearer token is needed", is_given=False)
        scheme, _, token = given[0].strip().partition(" ")
        if len(given) != 1 or scheme.lower() != "bearer" or not token.strip():
            raise self._unauthorized("the Authorization header must be: Bearer TOKEN", is_given=True)
        return token.strip()

    def _unauthorized(self, description: str, *, is_given: bool) -> Refusal:
        # Who sends no token is told where to get one, and not that there was an error.
        wrong = ('error="invalid_token"', f'error_description="{description}"') if is_given else ()
        challenge = _challenge(*wrong, *((_NEEDED,) if self.has_scopes else ()))
        message = f"{description[:1].upper()}{description[1:]}."
        return Refusal(401, "authorization", message, [("www-authenticate", challenge)])


def _challenge(*parts: str) -> str:
    return "Bearer " + ", ".join(('realm="satchel"', *parts))


def for_user(scope: Scope, user: str | None) -> Scope:
    """A scope that acts as this user where it names none itself."""
    return scope if scope.user is not None or user is None else msgspec.structs.replace(scope, user=user)
