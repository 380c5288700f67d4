"""Many clients over HTTP, served by one process or by several that share a socket."""

import gc
import ipaddress
import socket
import threading
from collections.abc import Callable
from urllib.parse import urlsplit

from satchel.app import complain, opened
from satchel.auth import tokens
from satchel.config import Http, Settings
from satchel.contracts import CONTRACTS, load
from satchel.contracts.contract import Contract
from satchel.contracts.runner import Runner
from satchel.errors import StoreError, StoreUnusable
from satchel.library import watch
from satchel.library.catalog import Libraries
from satchel.model import Identity, Scope, StoreChange
from satchel.services import users
from satchel.storage.database import Database

NO_AUTH = """\
refusing to serve {host} without authentication: other machines could read and change everything.
  Tokens of our own:  satchel token create, then serve with --auth token
  An OAuth issuer:    --auth oauth --oauth-issuer URL
  This machine only:  --host 127.0.0.1"""

NO_NAME = """\
other machines reach us by a name that we do not know yet, and are refused (status 421): add it with --allow-host NAME.
satchel: """

READY = """\
serving {contract} at {url}/mcp (others at /mcp/NAME: {others})
  Claude Code   claude mcp add --transport http satchel {url}/mcp{claude}
  VS Code       code --add-mcp '{{"name":"satchel","type":"http","url":"{url}/mcp"}}'
  Cursor        "satchel": {{"url": "{url}/mcp"}} in ~/.cursor/mcp.json
  curl          curl {url}/health
Stop with Ctrl-C."""


def serve(settings: Settings, http: Http) -> int:
    """Serve until a signal comes; the exit status."""
    wrong = _wrong(http)
    if wrong is not None:
        return complain(wrong, 2)
    store = opened(settings, Scope(project=settings.project), needs_project=True)
    if isinstance(store, int):
        return store
    try:
        users.local(store, settings.home)
        _identify(http, store, "")  # so that a mistake in its settings is told here, once
    except StoreUnusable as error:
        return complain(str(error), 1)
    except StoreError as error:
        return complain(f"cannot use the store: {error}", 1)
    finally:
        store.close()  # each worker opens its own
    from satchel.transports.http import workers

    with workers.shared_counts(http.workers):
        return _serve(settings, http)


def _serve(settings: Settings, http: Http) -> int:
    from satchel.transports.http import server, workers

    try:
        listening = server.listen(http.host, http.port)
    except OSError as error:
        return complain(f"cannot listen on {http.host}:{http.port}: {error.strerror}. Choose another with --port.", 1)

    def greet() -> None:
        complain(_greeting(settings, http, listening), 0)

    if http.workers == 1:
        _work(settings, http, listening, ready=greet)
        return 0
    processes = workers.Workers(http.workers, listening, lambda parent: _work(settings, http, listening, parent))
    return processes.run(greet)


def _work(
    settings: Settings,
    http: Http,
    listening: socket.socket,
    parent: int | None = None,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """One process: its own store, its own libraries, the shared socket."""
    from satchel.transports.http import server
    from satchel.transports.http.app import App
    from satchel.transports.http.auth import Auth
    from satchel.transports.http.endpoint import Endpoint
    from satchel.transports.http.guard import make_guard
    from satchel.transports.http.listeners import Listeners
    from satchel.transports.http.metrics import Metrics
    from satchel.transports.http.tasks_api import TasksApi
    from satchel.transports.http.threads import Threads

    database = opened(settings, Scope(project=settings.project), needs_project=True)
    if isinstance(database, int):
        raise SystemExit(database)
    libraries = Libraries(settings.libraries)
    local = settings.user or users.local(database, settings.home)
    url = _url(http, listening)
    threads, listeners, metrics = Threads(), Listeners(), Metrics()
    watched = _Watch(database, listeners.tell)
    why = settings.why_project or "the default"
    auth = Auth(
        scope=Scope(project=settings.project, why=why, user=settings.user, is_read_only=settings.is_read_only),
        identify=_identify(http, database, url),
        is_at_hand=http.auth == "none" or (http.auth == "token" and not database.is_shared),
        has_scopes=http.auth == "oauth",
    )

    def endpoint(contract: Contract) -> Endpoint:
        store, shelf = contract.reads_store, contract.reads_libraries

        def watch_all() -> None:
            if shelf:
                _ = libraries.catalog  # or a change before the first look at the disk would be none
            if store:
                watched.begin()

        return Endpoint(
            contract,
            Runner(contract, database if store else None, libraries if shelf else None),
            threads=threads,
            listeners=listeners,
            metrics=metrics,
            auth=auth,
            watch=watch_all,
            user=local if contract.acts_as_user else None,
            is_embedded=contract.reads_store and not database.is_shared,
            is_ready=lambda: not shelf or libraries.is_read,
        )

    contracts = {name: load(name) for name in CONTRACTS}
    own = contracts["satchel"]
    contracts["satchel"] = own.narrow(settings.toolsets, is_read_only=settings.is_read_only)
    endpoints = {f"/mcp/{name}": endpoint(contract) for name, contract in contracts.items()}
    endpoints["/mcp"] = endpoints[f"/mcp/{settings.contract}"]
    app = App(
        guard=make_guard([*http.allow_hosts, *_own_names(http)], http.allow_origins),
        auth=auth,
        schema=lambda: database.schema,
        endpoints=endpoints,
        door=TasksApi(Runner(contracts["tasks"], database), threads=threads, metrics=metrics, auth=auth, user=local),
        threads=threads,
        listeners=listeners,
        metrics=metrics,
        issuer=http.oauth_issuer if http.auth == "oauth" else None,
        url=url,
    )
    gc.collect()
    gc.freeze()  # what is there by now stays; it need not be looked through again and again
    gc.set_threshold(20_000, 20, 20)  # a request leaves hardly any circles behind
    watch.start(libraries, listeners.tell)
    server.run(app, listening, connections=http.connections, parent=parent, ready=ready)
    threads.close()
    libraries.renderer.close()
    database.close()
    server.leave()


class _Watch:
    """Watches the store from the moment that somebody wants to be told."""

    def __init__(self, database: Database, tell: Callable[[list[StoreChange]], None]) -> None:
        self._database = database
        self._tell = tell
        self._is_watching = False
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Watch, unless we do already."""
        with self._lock:
            if not self._is_watching:
                self._database.watch(self._tell)
                self._is_watching = True


def _wrong(http: Http) -> str | None:
    """Why these settings cannot be served."""
    if http.auth == "none" and not _is_loopback(http.host):
        return NO_AUTH.format(host=http.host)
    if http.auth == "oauth" and http.oauth_issuer is None:
        return "--auth oauth needs --oauth-issuer URL, the issuer whose tokens are taken."
    for origin in http.allow_origins:
        if not _is_origin(origin):
            return f"--allow-origin {origin}: an origin is a scheme and a host, like https://app.example.com."
    if http.public_url is not None and not _is_origin(http.public_url, has_path=True):
        return f"--public-url {http.public_url}: give the whole address, like https://satchel.example.com."
    return None


def _is_origin(url: str, *, has_path: bool = False) -> bool:
    """Whether this is what a browser says of where a page is from: a scheme and a host, perhaps with a port."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises where it is none
    except ValueError:
        return False
    bare = parts._replace(path="") if has_path else parts
    return (
        bool(parts.scheme)
        and bool(parts.hostname)
        and "@" not in url
        and bare.geturl() == f"{parts.scheme}://{parts.netloc}"
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _identify(http: Http, database: Database, url: str) -> Callable[[str], Identity] | None:
    if http.auth == "token":
        return lambda secret: tokens.identify(database, secret)
    if http.auth == "oauth":
        from satchel.auth.oauth import OAuth

        assert http.oauth_issuer is not None
        ours = [f"{url}/mcp", *(f"{url}/mcp/{name}" for name in CONTRACTS)]
        audiences = ours if http.oauth_audience is None else [http.oauth_audience]
        return OAuth(http.oauth_issuer, audiences, http.oauth_algorithm, http.oauth_keys).identify
    return None


def _own_names(http: Http) -> list[str]:
    """The names under which we are reached besides the usual ones of this machine."""
    listening = [_written(http.host)] if _is_loopback(http.host) else []
    return listening if http.public_url is None else [*listening, urlsplit(http.public_url).netloc]


def _url(http: Http, listening: socket.socket) -> str:
    if http.public_url is not None:
        return http.public_url
    return f"http://{_written(http.host)}:{listening.getsockname()[1]}"


def _written(host: str) -> str:
    """A host as it stands in a URL."""
    return f"[{host.strip('[]')}]" if ":" in host else host


def _greeting(settings: Settings, http: Http, listening: socket.socket) -> str:
    others = ", ".join(name for name in CONTRACTS if name != settings.contract)
    claude = "" if http.auth != "token" else ' --header "Authorization: Bearer TOKEN"'
    named = http.allow_hosts or http.public_url
    hint = "" if named or _is_loopback(http.host) else NO_NAME
    return hint + READY.format(contract=settings.contract, url=_url(http, listening), others=others, claude=claude)
