"""The page for people over HTTP: who asks, whether the request comes from our own page, forms, and the live stream.

The page itself, satchel.page, is imported with the first request for it.
"""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from anyio.to_thread import run_sync
from msgspec import structs

from satchel.auth.callers import AccessDenied, Callers
from satchel.auth.sessions import ISSUED_MINUTES, Sessions
from satchel.errors import Abandoned, AuthUnavailable, StoreError, Unauthorized
from satchel.model import Identity, Scope
from satchel.protocol.codec import encode
from satchel.transports.http.calls import Calls
from satchel.transports.http.forms import read_cookie, read_form, read_query
from satchel.transports.http.guard import run_alone
from satchel.transports.http.messages import CLOSE, RETRY_LATER, Disconnected, Refusal, Request, Response
from satchel.transports.http.page_listener import PageListener
from satchel.transports.listeners import Listeners, TooManyStreams

if TYPE_CHECKING:
    from satchel.auth.code_flow import CodeFlow
    from satchel.page.site import Match, PageResponse, Site

NOTHING = "There is nothing at this path. MCP is served at /mcp."

_OWN_PATHS = ("/login", "/login/start", "/login/callback", "/logout", "/events")
_STEP = "satchel-login"  # the cookie of a login that goes on elsewhere
_WRONG_TOKENS = 5  # a minute and address
_ADDRESSES = 10_000  # whose wrong tokens are remembered


class Pages:
    """Answers every request that no other route answers."""

    def __init__(
        self,
        make_site: "Callable[[], Site]",
        *,
        callers: Callers,
        calls: Calls,
        sessions: Sessions,
        code_flow: "CodeFlow | None",
        listeners: Listeners,
        watch: Callable[[], None],
        is_secure: bool,
        port: int,
        heartbeat: float,
    ) -> None:
        self._make_site = make_site
        self._site: Site | None = None
        self._callers = callers
        self._calls = calls
        self._sessions = sessions
        self._code_flow = code_flow  # where people log in with an OAuth issuer
        self._listeners = listeners
        self._watch = watch
        self._is_secure = is_secure
        # Cookies know no ports: servers on several ports of one host must not take each other's.
        self._cookie = "__Host-satchel" if is_secure else f"satchel-{port}"
        self._heartbeat = heartbeat
        self._wrong_tokens: dict[str, list[float]] = {}

    async def handle(self, request: Request) -> Response | None:
        """Answer one request; None where the response was a stream."""
        from satchel.page.site import find_static

        site = self._site if self._site is not None else await run_sync(self._open_site)
        if request.path.startswith("/static/"):
            found = find_static(request.path, takes_gzip="gzip" in request.headers.last.get("accept-encoding", ""))
            if found is None or request.method != "GET":
                raise Refusal(404, "path", "There is no such file.")
            return _respond(found)
        match = site.match(request.path)
        is_page = match is not None or request.path in _OWN_PATHS
        if not is_page and "text/html" not in request.headers.last.get("accept", ""):
            raise Refusal(404, "path", NOTHING)  # a program asked, not a person
        self._check_origin(request)
        if request.path == "/login":
            return await self._log_in(request, site)
        if request.path in ("/login/start", "/login/callback"):
            return await self._log_in_elsewhere(request, site)
        try:
            scope, session = await run_alone(request, partial(self._identify, request))
        except Unauthorized:
            if request.method != "GET" or request.path == "/events":
                return _respond(site.show_login(message="Your session has ended. Log in again.", status=401))
            return Response(303, headers=[("location", f"/login?next={quote(request.address)}")])
        except StoreError:
            raise Refusal(503, "server", "Who is calling cannot be told at the moment. Try again.") from None
        if request.path == "/events" and request.method == "GET":
            await self._listen(request, scope)
            return None
        if request.path == "/logout" and request.method == "POST":
            await run_sync(self._end_session, session, scope)
            return Response(303, headers=[("location", "/login"), ("set-cookie", self._write_cookie("", 0))])
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
            address=request.address,
            path=match.parts if match else {},
            query=read_query(request.query),
            session=session,
        )
        if match is None:
            return _respond(await run_sync(site.show_error, visit, 404, "There is no such page."))
        view = match.views.get(request.method)
        if view is None:
            allowed = ", ".join(match.views)
            raise Refusal(405, "method", f"Use {allowed} here.", [("allow", allowed)])
        if request.method == "POST":
            form, files = await read_form(request, takes_files=view.takes_files)
            visit = structs.replace(visit, form=form, files=files)
        said = read_said(read_cookie(request, SAID))
        work = self._calls.begin(scope)
        self._calls.rates.count(work.user, 1)
        is_change = request.method == "POST"
        try:
            answer = await self._calls.run(
                request, work, lambda: site.answer(view, visit, said), "writes" if is_change else "reads"
            )
        except Abandoned:
            raise Disconnected from None
        return structs.replace(_respond(answer), is_refusable=not is_change)

    # -- who ------------------------------------------------------------------------------------------------------

    def _identify(self, request: Request) -> tuple[Scope, str]:
        if self._callers.identify is None:
            return self._callers.as_user(self._callers.scope), ""
        identity, session = self._sessions.identify(read_cookie(request, self._cookie))
        return self._make_scope(identity), session

    def _make_scope(self, identity: Identity) -> Scope:
        return self._callers.as_user(self._callers.scope_of(identity))

    def _end_session(self, session: str, scope: Scope) -> None:
        if session:
            self._sessions.end(session, scope.user or "")

    async def _log_in(self, request: Request, site: "Site") -> Response:
        query = read_query(request.query)
        next = _read_next(query.get("next", ""))
        if self._callers.identify is None:
            return Response(303, headers=[("location", next)])
        if request.method == "GET":
            obstacle = "" if self._code_flow is None else await run_sync(self._code_flow.find_obstacle)
            return _respond(site.show_login(next=next, code=query.get("code", ""), obstacle=obstacle))
        if request.method != "POST":
            raise Refusal(405, "method", "Use GET, POST here.", [("allow", "GET, POST")])
        form, _ = await read_form(request)
        field = {name: values[-1].strip() for name, values in form.items()}
        next = _read_next(field.get("next", ""))
        if self._is_guessing(request.client):
            message = "Too many wrong tokens from your address. Wait a minute."
            return _respond(site.show_login(message=message, next=next, status=429))
        try:
            secret = await run_sync(self._open_session, field)
        except Unauthorized as error:
            self._note_wrong_token(request.client)
            message = f"That did not work: {error.description}."
            return _respond(site.show_login(message=message, next=next, status=401))
        return Response(303, headers=[("location", next), ("set-cookie", self._write_cookie(secret, 7 * 86400))])

    async def _log_in_elsewhere(self, request: Request, site: "Site") -> Response:
        """The two steps of a login with an OAuth issuer: the way there, and the way back."""
        flow, query = self._code_flow, read_query(request.query)
        if flow is None or request.method != "GET":
            raise Refusal(404, "path", NOTHING)
        try:
            if request.path == "/login/start":
                begun = await run_sync(flow.begin)
                cookie = self._write_step(f"{begun.cookie}.{quote(_read_next(query.get('next', '')), safe='')}", 600)
                return Response(303, headers=[("location", begun.url), ("set-cookie", cookie)])
            brought, _, next = read_cookie(request, _STEP).rpartition(".")
            secret = await run_sync(self._finish_login, query, brought)
        except (Unauthorized, AuthUnavailable) as error:
            why = error.description if isinstance(error, Unauthorized) else "the issuer cannot be reached"
            return _respond(site.show_login(message=f"That did not work: {why}.", status=401))
        cookies = [("set-cookie", self._write_step("", 0)), ("set-cookie", self._write_cookie(secret, 12 * 3600))]
        # Not a redirect: the browser sends a strict cookie only where a page of our own leads on.
        return _respond(site.show_entrance(_read_next(unquote(next))), cookies)

    def _finish_login(self, query: dict[str, str], cookie: str) -> str:
        assert self._code_flow is not None and self._callers.identify is not None
        identity = self._callers.identify(self._code_flow.finish(query, cookie))
        return self._sessions.begin(identity, ISSUED_MINUTES)

    def _write_step(self, value: str, age: int) -> str:
        """The cookie of a login that goes on elsewhere; lax, because the issuer leads back to us."""
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

    def _is_guessing(self, address: str) -> bool:
        recent = [at for at in self._wrong_tokens.get(address, []) if time.monotonic() - at < 60]
        return len(recent) >= _WRONG_TOKENS

    def _note_wrong_token(self, address: str) -> None:
        if len(self._wrong_tokens) >= _ADDRESSES:
            self._wrong_tokens.clear()
        kept = self._wrong_tokens.get(address, [])[-_WRONG_TOKENS:]
        self._wrong_tokens[address] = [*kept, time.monotonic()]

    # -- from where -------------------------------------------------------------------------------------------------

    def _check_origin(self, request: Request) -> None:
        """Check that a request that changes something comes from our own page, and no other site embeds us.

        A page on another port of the same host gets the cookie sent along, so that the exact origin decides.

        Raises:
            Refusal: 403 where it does not.
        """
        site = request.headers.last.get("sec-fetch-site")
        origin = request.headers.last.get("origin")
        if request.method == "POST":
            own = f"{'https' if self._is_secure else 'http'}://{request.headers.last.get('host', '')}"
            is_own = site == "same-origin" if site is not None else origin == own
            if not is_own or origin not in (own, None):
                raise Refusal(403, "origin", "This form was not sent from a page of this server.", [CLOSE])
        elif site == "cross-site" and request.headers.last.get("sec-fetch-mode") != "navigate":
            raise Refusal(403, "origin", "Other sites may link to this page, and not embed it.")

    # -- live ---------------------------------------------------------------------------------------------------------

    async def _listen(self, request: Request, scope: Scope) -> None:
        """Send what changed until the browser leaves, the session ends, or the server shuts down."""
        await run_sync(self._watch)
        listener = PageListener(lambda change: change.is_open_to(scope), scope.user)
        try:
            self._listeners.add(listener)
        except TooManyStreams as error:
            raise Refusal(503, "path", str(error), [RETRY_LATER]) from error

        async def messages() -> AsyncIterator[bytes | None]:
            yield encode({"what": "hello"})
            checked = time.monotonic()
            while not listener.is_closing:
                found = await listener.next_changes(self._heartbeat)
                if time.monotonic() - checked >= self._heartbeat:
                    checked = time.monotonic()
                    try:
                        await run_sync(self._identify, request)
                    except (Unauthorized, StoreError, AccessDenied):
                        yield encode({"what": "logout"})
                        return
                if found:
                    yield encode({"what": "changed", "changes": found})
                elif not listener.is_closing:
                    yield None

        try:
            await request.stream(messages(), listener.close, listener.close)
        finally:
            self._listeners.remove(listener)


def _respond(response: "PageResponse", more: Sequence[tuple[str, str]] = ()) -> Response:
    return Response(response.status, response.body, (*response.headers, *more))


def _read_next(address: str) -> str:
    """An address of ours to go to after logging in."""
    if not address.startswith("/") or address.startswith(("//", "/\\")) or not address.isprintable():
        return "/"
    parts = urlsplit(address)
    return "/" if parts.netloc or parts.scheme else address
