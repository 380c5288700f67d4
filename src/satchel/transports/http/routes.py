"""The ASGI application: which path is answered by what, behind the one guard."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from anyio.to_thread import run_sync

from satchel.auth.allowed_names import AllowedNames
from satchel.auth.callers import SCOPES, Callers
from satchel.protocol import INVALID_REQUEST
from satchel.transports.http import tasks_api
from satchel.transports.http.endpoint import Endpoint
from satchel.transports.http.guard import Guard, enter, run_alone
from satchel.transports.http.health import Health
from satchel.transports.http.messages import App, Receive, Refusal, Request, Response, Scope, Send, json_response
from satchel.transports.http.metrics import Metrics
from satchel.transports.http.pages import NOTHING, Pages
from satchel.transports.http.tasks_api import TasksApi

METADATA = "/.well-known/oauth-protected-resource"

_PREFLIGHT = (
    (
        "access-control-allow-headers",
        "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name, last-event-id, mcp-session-id, "
        "satchel-project",
    ),
    ("access-control-max-age", "600"),
)


class Handler:
    """A path as an ASGI application: checks the method, then lets a function answer the request."""

    def __init__(self, handle: Callable[[Request], Awaitable[Response | None]], methods: str, allow: str = "") -> None:
        self._handle = handle
        self._methods = methods
        self._allow = allow or methods  # what a refused client is told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        response: Response | None
        if request.method in self._methods.split(", "):
            response = await self._handle(request)
        elif request.method == "OPTIONS" and scope.get("satchel.is_shared"):
            response = Response(204, headers=(("access-control-allow-methods", self._methods), *_PREFLIGHT))
        else:
            raise Refusal(405, "method", f"Use {self._allow} here.", [("allow", self._allow)])
        if response is not None:
            await request.respond(response)


class Router:
    """An ASGI application that finds another one by the path: the whole path first, then what it begins with."""

    def __init__(
        self,
        paths: Mapping[str, App],
        prefixes: Mapping[str, App],
        *,
        default: App,
        lifespan: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        self._paths = paths
        self._prefixes = prefixes
        self._default = default
        self._lifespan = lifespan

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        await self.find(_find_path(scope))(scope, receive, send)

    def find(self, path: str) -> App:
        """The application that answers a path."""
        found = self._paths.get(path)
        if found is not None:
            return found
        return next((app for prefix, app in self._prefixes.items() if path.startswith(prefix)), self._default)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Answer the messages of the server about its start and its end."""
        has_started = False
        await receive()
        try:
            async with self._lifespan():
                await send({"type": "lifespan.startup.complete"})
                has_started = True
                await receive()
        except BaseException as error:
            what = "shutdown" if has_started else "startup"
            await send({"type": f"lifespan.{what}.failed", "message": f"{type(error).__name__}: {error}"})
            raise
        await send({"type": "lifespan.shutdown.complete"})


def _find_path(scope: Scope) -> str:
    """The path below where we are mounted: servers leave the mount point in the path, and name it as the root path."""
    path: str = scope["path"]
    root: str = scope.get("root_path") or ""
    return path[len(root) :] if root and (path == root or path.startswith(f"{root}/")) else path


def build_app(
    *,
    allowed: AllowedNames,
    callers: Callers,
    endpoints: Mapping[str, Endpoint],
    tasks: TasksApi,
    health: Health,
    metrics: Metrics,
    issuer: str | None,
    url: str,
    close: Callable[[], None],
    pages: Pages | None = None,
) -> Guard:
    """Every route of a server; `endpoints` by path, `url` as clients reach it, `issuer` of its OAuth tokens."""

    async def show_metrics(request: Request) -> Response:
        await enter(request, callers)
        shown = await run_alone(request, metrics.show)
        if shown is None:
            raise Refusal(501, "path", "Metrics need an extra: pip install 'satchel[metrics]', then start again.")
        page, kind = shown
        return Response(200, page, (("content-type", kind),))

    async def describe_resource(request: Request) -> Response:
        """What a client of a path has to know to ask for a token (RFC 9728)."""
        metadata = {
            "resource": url + (request.path.removeprefix(METADATA) or "/mcp"),
            "authorization_servers": [issuer],
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": "Satchel",
        }
        return json_response(200, metadata)

    def refuse(path: str, refusal: Refusal) -> Response:
        metrics.refused(refusal.status)
        if issuer is not None:
            described = f"{url}{METADATA}{path if path in endpoints else '/mcp'}"
            refusal.headers = tuple(
                (name, f'{value}, resource_metadata="{described}"' if name == "www-authenticate" else value)
                for name, value in refusal.headers
            )
        return _refuse(path, refusal)

    paths = {
        path: Handler(endpoint.handle, "GET, POST", "" if endpoint.has_stream else "POST")
        for path, endpoint in endpoints.items()
    }
    paths["/health"] = Handler(health.handle, "GET")
    paths["/metrics"] = Handler(show_metrics, "GET")
    if issuer is not None:
        paths |= {METADATA + path: Handler(describe_resource, "GET") for path in ("", *endpoints)}

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        guard.on_start()
        yield
        await run_sync(close)
        guard.on_end()

    async def find_page(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        if pages is None or request.path == "/mcp" or request.path.startswith("/mcp/"):
            raise Refusal(404, "path", NOTHING)
        response = await pages.handle(request)
        if response is not None:
            await request.respond(response)

    prefixes = {tasks_api.PREFIX: Handler(tasks.handle, "POST")}
    router = Router(paths, prefixes, default=find_page, lifespan=lifespan)
    guard = Guard(router, allowed, refuse=refuse, close=close)
    return guard


def _refuse(path: str, refusal: Refusal) -> Response:
    """A refusal in the form that clients of a path expect."""
    if path.startswith(tasks_api.PREFIX):
        return tasks_api.refuse(refusal)
    if path == "/mcp" or path.startswith("/mcp/"):
        known = {} if refusal.id is None else {"id": refusal.id}
        body = {"jsonrpc": "2.0", **known, "error": {"code": INVALID_REQUEST, "message": refusal.message}}
    else:
        body = {"error": refusal.message}
    return json_response(refusal.status, body, refusal.headers)
