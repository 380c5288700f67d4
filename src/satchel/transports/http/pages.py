"""The page for people over HTTP: sessions, origins, forms, and the live stream.

The page itself, satchel.page, is imported by the first request for it.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, unquote_to_bytes, urlsplit

from anyio.to_thread import run_sync
from msgspec import structs
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Send
from starlette.types import Scope as ASGIScope

from satchel.auth.callers import AccessDenied, Callers
from satchel.auth.sessions import ISSUED_MINUTES, BrowserSessions
from satchel.errors import Abandoned, AuthUnavailable, StoreError, Unauthorized
from satchel.model import Identity, Scope, StoreChange
from satchel.protocol.codec import MAX_MESSAGE_BYTES, encode
from satchel.transports.http import messages
from satchel.transports.http.endpoint import Calls
from satchel.transports.http.messages import CLOSE, BytesResponse, Refusal
from satchel.transports.http.streams import Listener, Streams

if TYPE_CHECKING:
    from satchel.auth.code_flow import CodeFlow
    from satchel.page.site import Match, PageResponse, Site
    from satchel.page.visit import Upload

NOTHING = "There is nothing at this path. MCP is served at /mcp."

_OWN_PATHS = ("/login", "/login/start", "/login/callback", "/logout", "/events")
_STEP = "satchel-login"  # the cookie of a login that continues at an issuer
_MAX_FIELDS = 500
_MAX_FIELD_BYTES = 16 * 1024 * 1024  # as sent: percent-encoding can triple 4 MiB of text
_MAX_LOGIN_BYTES = 256 * 1024  # of a form that anyone may send
_PIECE = 64 * 1024  # bytes of a field that are decoded at a time: urllib makes objects of 100 bytes for each escape


class Pages:
    """Answers every request that no other route handles."""

    def __init__(
        self,
        make_site: "Callable[[], Site]",
        *,
        calls: Calls,
        sessions: BrowserSessions,
        code_flow: "CodeFlow | None",
        streams: Streams,
        watch: Callable[[], None],
        is_secure: bool,
        port: int,
    ) -> None:
        self._make_site = make_site
        self._site: Site | None = None
        self._callers: Callers = calls.callers
        self._calls = calls
        self._sessions = sessions
        self._code_flow = code_flow  # the login with an OAuth issuer, if there is one
        self._streams = streams
        self._watch = watch
        self._is_secure = is_secure
        # Cookies ignore ports, so servers on several ports of one host need different names.
        self._cookie = "__Host-satchel" if is_secure else f"satchel-{port}"

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        response = await self._handle(Request(scope, receive, send))
        await response(scope, receive, send)

    async def _handle(self, request: Request) -> Response:
        from satchel.page.site import find_static

        site = self._site if self._site is not None else await run_sync(self._open_site)
        path, headers = messages.path_of(request.scope), messages.head_of(request).last
        if path.startswith("/static/"):
            found = find_static(path, takes_gzip="gzip" in headers.get("accept-encoding", ""))
            if found is None or request.method not in ("GET", "HEAD"):
                raise Refusal(404, "path", "There is no such file.")
            return _respond(found)
        match = site.match(path)
        is_page = match is not None or path in _OWN_PATHS
        is_mcp = path == "/mcp" or path.startswith("/mcp/")
        if is_mcp or (not is_page and "text/html" not in headers.get("accept", "")):
            raise Refusal(404, "path", NOTHING)  # the request is from a program, not from a person
        self._check_origin(request)
        if path == "/login":
            return await self._log_in(request, site)
        if path in ("/login/start", "/login/callback"):
            return await self._log_in_elsewhere(request, site)
        try:
            scope, session = await run_sync(self._identify, request, limiter=request.scope["satchel.lookups"])
        except Unauthorized:
            if request.method != "GET" or path == "/events":
                return _respond(site.show_login(message="Your session has ended. Log in again.", status=401))
            return BytesResponse(303, headers=[("location", f"/login?next={quote(_address(request))}")])
        except StoreError:
            raise Refusal(503, "server", "The caller cannot be identified at the moment. Try again.") from None
        if self._callers.identify is not None and scope.user is not None:
            messages.account_of(request).belongs_to(scope.user)
        if path == "/events" and request.method == "GET":
            return await self._listen(request, scope)
        if path == "/logout" and request.method == "POST":
            await run_sync(self._end_session, session, scope)
            return BytesResponse(303, headers=[("location", "/login"), ("set-cookie", self._write_cookie("", 0))])
        return await self._show(request, site, match, scope, session)

    def _open_site(self) -> "Site":
        site = self._make_site()
        self._site = site
        return site

    async def _show(
        self, request: Request, site: "Site", match: "Match | None", scope: Scope, session: str
    ) -> Response:
        from satchel.page.site import SAID, read_said
        from satchel.page.visit import Visit

        visit = Visit(
            server=site.server,
            scope=scope,
            address=_address(request),
            path=match.parts if match else {},
            query=dict(request.query_params),
            session=session,
        )
        if match is None:
            return _respond(await run_sync(site.show_error, visit, 404, "There is no such page."))
        view = match.views.get(request.method)
        if view is None:
            allowed = ", ".join(match.views)
            raise Refusal(405, "method", f"Use {allowed} here.", [("allow", allowed)])
        is_change = request.method == "POST"
        if is_change:
            form, files = await _read_form(request, takes_files=view.takes_files)
            visit = structs.replace(visit, form=form, files=files)
        said = read_said(request.cookies.get(SAID, ""))
        work = self._calls.begin(scope)
        self._calls.rate.count(work.user, 1)
        messages.account_of(request).check()
        try:
            act = partial(site.answer, view, visit, said)
            return _respond(await self._calls.run(request, work, act, writes=is_change))
        except Abandoned:
            raise ClientDisconnect from None

    # -- callers --------------------------------------------------------------------------------------------------

    def _identify(self, request: Request) -> tuple[Scope, str]:
        if self._callers.identify is None:
            return self._callers.fill_in(self._callers.scope), ""
        identity, session = self._sessions.identify(request.cookies.get(self._cookie, ""))
        return self._make_scope(identity), session

    def _make_scope(self, identity: Identity) -> Scope:
        return self._callers.fill_in(self._callers.scope_of(identity))

    def _end_session(self, session: str, scope: Scope) -> None:
        if session:
            self._sessions.end(session, scope.user or "")

    async def _log_in(self, request: Request, site: "Site") -> Response:
        query = request.query_params
        next = _read_next(query.get("next", ""))
        if self._callers.identify is None:
            return BytesResponse(303, headers=[("location", next)])
        if request.method == "GET":
            obstacle = "" if self._code_flow is None else await self._code_flow.find_obstacle()
            return _respond(site.show_login(next=next, code=query.get("code", ""), obstacle=obstacle))
        form, _ = await _read_form(request, most=_MAX_LOGIN_BYTES)
        field = {name: values[-1].strip() for name, values in form.items()}
        next = _read_next(field.get("next", ""))
        try:
            secret = await run_sync(self._open_session, field, limiter=request.scope["satchel.lookups"])
        except Unauthorized as error:
            message = f"That did not work: {error.description}."
            return _respond(site.show_login(message=message, next=next, status=401))
        cookie = self._write_cookie(secret, 7 * 86400)
        return BytesResponse(303, headers=[("location", next), ("set-cookie", cookie)])

    async def _log_in_elsewhere(self, request: Request, site: "Site") -> Response:
        """Log in with an OAuth issuer: redirect to it, or handle its redirect back."""
        flow, query = self._code_flow, dict(request.query_params)
        if flow is None or request.method != "GET":
            raise Refusal(404, "path", NOTHING)
        try:
            if messages.path_of(request.scope) == "/login/start":
                begun = await flow.begin()
                cookie = self._write_step(f"{begun.cookie}.{quote(_read_next(query.get('next', '')), safe='')}", 600)
                return BytesResponse(303, headers=[("location", begun.url), ("set-cookie", cookie)])
            brought, _, next = request.cookies.get(_STEP, "").rpartition(".")
            identity = await flow.finish(query, brought)
            secret = await run_sync(self._sessions.begin, identity, ISSUED_MINUTES)
        except (Unauthorized, AuthUnavailable) as error:
            why = error.description if isinstance(error, Unauthorized) else "the issuer cannot be reached"
            return _respond(site.show_login(message=f"That did not work: {why}.", status=401))
        cookies = [("set-cookie", self._write_step("", 0)), ("set-cookie", self._write_cookie(secret, 12 * 3600))]
        # Not a redirect: the browser sends a strict cookie only when a page of this server leads on.
        return _respond(site.show_entrance(_read_next(unquote(next))), cookies)

    def _write_step(self, value: str, age: int) -> str:
        """Return the cookie of a login with an issuer; it is SameSite=Lax, because the issuer redirects back here."""
        secure = "; Secure" if self._is_secure else ""
        return f"{_STEP}={value}; Path=/login; Max-Age={age}; HttpOnly; SameSite=Lax{secure}"

    def _open_session(self, field: dict[str, str]) -> str:
        if field.get("code"):
            return self._sessions.redeem(field["code"])
        assert self._callers.identify is not None
        return self._sessions.begin(self._callers.identify(field.get("token", "")))

    def _write_cookie(self, secret: str, age: int) -> str:
        secure = "; Secure" if self._is_secure else ""
        return f"{self._cookie}={secret}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"

    # -- from where -------------------------------------------------------------------------------------------------

    def _check_origin(self, request: Request) -> None:
        """Check that a changing request comes from a page of this server, and that no other site embeds the page.

        Browsers also send the cookie from pages on other ports of the host, so the exact origin decides.

        Raises:
            Refusal: 403 for any other origin.
        """
        headers = messages.head_of(request).last
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if request.method == "POST":
            own = f"{'https' if self._is_secure else 'http'}://{headers.get('host', '')}"
            is_own = site == "same-origin" if site is not None else origin == own
            if not is_own or origin not in (own, None):
                raise Refusal(403, "origin", "This form was not sent from a page of this server.", [CLOSE])
        elif site == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
            raise Refusal(403, "origin", "Other sites may link to this page, but not embed it.")

    # -- live ---------------------------------------------------------------------------------------------------------

    async def _listen(self, request: Request, scope: Scope) -> Response:
        """Send changes until the browser leaves, the session ends, or the server shuts down."""
        listener = Listener(
            lambda changes: (one for one in changes if one.what != "access" and one.is_open_to(scope)),
            StoreChange("everything"),
            scope.user,
        )
        has_ended = False

        async def is_allowed() -> bool:
            nonlocal has_ended
            try:
                await run_sync(self._identify, request, limiter=request.scope["satchel.lookups"])
            except (Unauthorized, StoreError, AccessDenied):
                has_ended = True
            return not has_ended

        changes = await self._streams.open(listener, is_allowed, self._watch)

        async def events() -> AsyncIterator[bytes | None]:
            yield encode({"what": "hello"})
            async for found in changes:
                if found:
                    shown = [{"what": one.what, "project": one.project, "key": one.key} for one in found]
                    yield encode({"what": "changed", "changes": shown})
                else:
                    yield None
            if has_ended:
                yield encode({"what": "logout"})

        return messages.event_stream(events())


async def _read_form(
    request: Request, *, takes_files: bool = False, most: int = MAX_MESSAGE_BYTES
) -> "tuple[dict[str, list[str]], dict[str, Upload]]":
    """Return the fields of a form, and its files.

    Raises:
        Refusal: the body is not a form, is too large, or cannot be read.
    """
    from satchel.page.visit import Upload

    kind = messages.head_of(request).last.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        raw = bytearray()
        async for piece in request.stream():
            raw += piece
            if len(raw) > most:
                raise Refusal(413, "body", f"This form has at most {most} bytes.", [CLOSE])
        return await run_sync(_decode_fields, bytes(raw)), {}
    if not takes_files or kind != "multipart/form-data":
        raise Refusal(415, "body", "A form is sent as application/x-www-form-urlencoded.")
    fields: dict[str, list[str]] = {}
    files: dict[str, Upload] = {}
    try:
        async with request.form(max_fields=_MAX_FIELDS, max_part_size=_MAX_FIELD_BYTES) as form:
            for name, value in form.multi_items():
                if not isinstance(value, UploadFile):
                    fields.setdefault(name, []).append(value)
                elif value.filename:  # empty if no file was chosen
                    files[name] = Upload(value.filename, await value.read())
    except HTTPException:
        raise Refusal(400, "body", "The form cannot be read.") from None
    return fields, files


def _decode_fields(raw: bytes) -> dict[str, list[str]]:
    """Decode the fields of a form that has no files.

    Raises:
        Refusal: the form has too many fields.
    """
    if raw.count(b"&") >= _MAX_FIELDS:
        raise Refusal(400, "body", "The form cannot be read.")
    fields: dict[str, list[str]] = {}
    for one in filter(None, raw.split(b"&")):
        name, _, value = one.partition(b"=")
        fields.setdefault(_unquote(name), []).append(_unquote(value))
    return fields


def _unquote(text: bytes) -> str:
    decoded, start = bytearray(), 0
    while start < len(text):
        end = start + _PIECE
        cut = text.rfind(b"%", end - 2, end)  # an escape that the piece would cut in two
        end = end if cut < 0 else cut
        decoded += unquote_to_bytes(text[start:end].replace(b"+", b" "))
        start = end
    return decoded.decode(errors="replace")


def _address(request: Request) -> str:
    query = request.scope["query_string"].decode("latin-1")
    path = messages.path_of(request.scope)
    return f"{path}?{query}" if query else path


def _respond(response: "PageResponse", more: Sequence[tuple[str, str]] = ()) -> Response:
    return BytesResponse(response.status, response.body, (*response.headers, *more))


def _read_next(address: str) -> str:
    """Return the page to show after the login."""
    if not address.startswith("/") or address.startswith(("//", "/\\")) or not address.isprintable():
        return "/"
    parts = urlsplit(address)
    return "/" if parts.netloc or parts.scheme else address
