"""Many clients over HTTP, served by one process or by several that share a socket."""

import re
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from satchel.app import project_discovery, upkeep
from satchel.app.greeting import write_greeting
from satchel.app.startup import CannotStart, end_start, open_store, print_message
from satchel.auth import tokens
from satchel.auth.callers import Callers, is_loopback
from satchel.auth.sessions import BrowserSessions
from satchel.config import Http, Settings
from satchel.contracts import CONTRACTS, load
from satchel.contracts.runner import Runner
from satchel.errors import AuthUnusable, NotFound, StoreError, StoreUnusable
from satchel.library import watch
from satchel.library.catalog import Libraries
from satchel.model import Quota, Scope, StoreChange
from satchel.services import projects, users
from satchel.storage.database import Database, open_database
from satchel.transports.http.app import Guard, allow, build_app
from satchel.transports.http.endpoint import Calls, Endpoint
from satchel.transports.http.health import Health
from satchel.transports.http.limits import Timeouts
from satchel.transports.http.metrics import Metrics
from satchel.transports.http.pages import Pages
from satchel.transports.http.server import run
from satchel.transports.http.streams import Streams
from satchel.transports.http.tasks_api import TasksApi

if TYPE_CHECKING:
    from satchel.auth.code_flow import CodeFlow
    from satchel.auth.oauth import OAuth
    from satchel.page.site import Site

HEARTBEAT = 15.0  # seconds between keep-alive messages on a quiet stream

# A scheme, a host, and perhaps a port.
_ORIGIN = r"[A-Za-z][A-Za-z0-9+.-]*://([^][/?#@:\s]+|\[[^][/?#@\s]+\])(:[0-9]{1,5})?"

NO_AUTH = """\
refusing to serve {host} without authentication: other machines could read and change everything.
  Tokens of our own:  satchel token create, then serve with --auth token
  An OAuth issuer:    --auth oauth --oauth-issuer URL
  This machine only:  --host 127.0.0.1"""

NO_NAME = """\
requests from other machines are refused (status 421) until the name that they use is allowed: --allow-host NAME.
satchel: """


def serve(settings: Settings, http: Http, timeouts: Timeouts | None = None, heartbeat: float = HEARTBEAT) -> int:
    """Serve until a signal comes; return the exit status."""
    wrong = find_wrong_setting(http)
    if wrong is not None:
        raise CannotStart(wrong, 2)
    store = open_store(settings, Scope(project=settings.project), needs_project=True)
    try:
        users.local(store, settings.home)
        project = _find_project(store, settings)
        _make_oauth(http, "")  # only to report a mistake in its settings here, once
    except (AuthUnusable, StoreUnusable) as error:
        raise CannotStart(str(error), 1) from error
    except StoreError as error:
        raise CannotStart(f"cannot use the store: {error}", 1) from error
    finally:
        store.close()  # each serving process opens its own store
    tls = None if http.tls_cert is None or http.tls_key is None else (http.tls_cert, http.tls_key)
    try:
        if tls is not None:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(*tls, password="")  # nosec B106 - it has none
    except (OSError, ValueError) as error:
        why = f"cannot use --tls-cert and --tls-key: {error}. Both are PEM files, the key without password."
        raise CannotStart(why, 1) from error
    host = http.host.strip("[]")  # URLs have IPv6 addresses in brackets
    try:
        family = socket.getaddrinfo(host, http.port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, http.port), family=family, backlog=2048)
    except OSError as error:
        why = f"cannot listen on {http.host}:{http.port}: {error.strerror}. Choose another with --port."
        raise CannotStart(why, 1) from error
    url = (
        http.public_url or f"{'http' if tls is None else 'https'}://{_bracket(http.host)}:{listening.getsockname()[1]}"
    )
    end_start()
    return run(
        partial(make_app, settings, http, url, heartbeat),
        listening,
        workers=http.workers,
        connections=http.connections,
        timeouts=timeouts or Timeouts(),
        tls=tls,
        forwarded_allow_ips=http.forwarded_allow_ips,
        greet=lambda: _greet(settings, http, url, project),
    )


def make_app(settings: Settings, http: Http, url: str, heartbeat: float = HEARTBEAT) -> Guard:
    """Make the ASGI application of one process, with its own store and libraries, and an endpoint for each contract.

    Raises:
        StoreError: the store cannot be used.
        NotFound: there is no such project.
    """
    with ExitStack() as opened:
        database = open_database(settings.database, settings.database_direct, must_exist=settings.is_read_only)
        opened.callback(database.close)
        database.retention = settings.retention
        projects.require(database, Scope(project=settings.project))
        libraries = Libraries(settings.libraries)
        opened.callback(libraries.renderer.close)
        metrics = Metrics()
        streams = Streams(metrics, heartbeat)
        opened.callback(streams.close)
        oauth = _make_oauth(http, url)
        callers = _make_callers(settings, http, database, oauth)
        calls = Calls(callers, http.calls_per_minute)
        watcher = _Watcher(database, libraries, streams.publish)

        contracts = {name: load(name) for name in CONTRACTS}
        contracts["satchel"] = contracts["satchel"].narrow(settings.toolsets, is_read_only=settings.is_read_only)
        by_name: dict[str, Endpoint] = {}
        for name, contract in contracts.items():
            runner = Runner(
                contract,
                database if contract.reads_store else None,
                (lambda: libraries) if contract.reads_libraries else None,
                lambda: callers.default_user,
            )
            by_name[name] = Endpoint(
                contract, runner, calls=calls, streams=streams, metrics=metrics, watch=watcher.start
            )
        endpoints = {"/mcp": by_name[settings.contract], **{f"/mcp/{name}": one for name, one in by_name.items()}}
        pages = None
        if http.has_page:
            pages = Pages(
                partial(_make_site, database, libraries, url, http.auth),
                calls=calls,
                sessions=BrowserSessions(database),
                code_flow=_make_code_flow(oauth, http.oauth_client_id, url) if oauth else None,
                streams=streams,
                watch=watcher.start,
                is_secure=url.startswith("https://"),
                port=urlsplit(url).port or 0,
            )
        opened.callback(watch.start(lambda: libraries, streams.publish).set)
        if not (settings.is_read_only or database.why_read_only):
            opened.callback(upkeep.start(database, libraries.list_names))
        own_names = (http.host if is_loopback(http.host) else "", urlsplit(http.public_url or "").hostname or "")
        return build_app(
            allowed=allow([*http.allow_hosts, *map(_bracket, own_names)], http.allow_origins),
            callers=callers,
            endpoints=endpoints,
            tasks=TasksApi(Runner(contracts["tasks"], database), calls, metrics),
            health=Health(lambda: database.schema),
            metrics=metrics,
            issuer=http.oauth_issuer if http.auth == "oauth" else None,
            url=url,
            end_streams=streams.close,
            close=opened.pop_all().close,
            pages=pages,
        )


def _make_callers(settings: Settings, http: Http, database: Database, oauth: "OAuth | None") -> Callers:
    why = settings.why_project or "the default"
    return Callers(
        scope=Scope(project=settings.project, why=why, user=settings.user, is_read_only=settings.is_read_only),
        default_user=settings.user or users.local(database, settings.home),
        personal=settings.personal,
        identify=oauth.identify if oauth else partial(tokens.identify, database) if http.auth == "token" else None,
        is_local=http.auth == "none" or (http.auth == "token" and not database.is_shared),
        has_scopes=http.auth == "oauth",
        quota=Quota(items=http.user_items, bytes=http.user_megabytes * 1024 * 1024),
    )


def _make_site(database: Database, libraries: Libraries, url: str, auth: str) -> "Site":
    from satchel.page.site import Site  # imports templates and Markdown, for pages only
    from satchel.page.visit import Server

    return Site(Server(database=database, libraries=libraries, url=url, auth=auth, contracts=tuple(CONTRACTS)))


class _Watcher:
    """Watch the store as soon as the first stream is open."""

    def __init__(self, database: Database, libraries: Libraries, publish: Callable[[list[StoreChange]], None]) -> None:
        self._database = database
        self._libraries = libraries
        self._publish = publish
        self._is_watching = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start watching, unless it has started already."""
        with self._lock:
            if not self._is_watching:
                _ = self._libraries.catalog  # loads it before the first check, which would otherwise miss changes
                self._database.watch(self._publish)
                self._is_watching = True


def find_wrong_setting(http: Http, *, is_mounted: bool = False) -> str | None:
    """Return the reason why a server cannot run with these settings; None if it can run."""
    if http.auth == "none" and not is_mounted and not is_loopback(http.host):
        return NO_AUTH.format(host=http.host)
    if http.auth == "oauth" and http.oauth_issuer is None:
        return "--auth oauth needs --oauth-issuer URL, the issuer whose tokens are accepted."
    for origin in http.allow_origins:
        if not re.fullmatch(_ORIGIN, origin):
            return f"--allow-origin {origin}: an origin is a scheme and a host, like https://app.example.com."
    if http.public_url is not None and not re.fullmatch(f"{_ORIGIN}(/[^?#]*)?", http.public_url):
        return f"--public-url {http.public_url}: give the whole address, like https://satchel.example.com."
    return None


def _make_oauth(http: Http, url: str) -> "OAuth | None":
    if http.auth != "oauth":
        return None
    from satchel.auth.oauth import OAuth

    assert http.oauth_issuer is not None
    ours = [f"{url}/mcp", *(f"{url}/mcp/{name}" for name in CONTRACTS)]
    audiences = ours if http.oauth_audience is None else [http.oauth_audience]
    keys, is_any_scope_enough = http.oauth_keys, http.oauth_any_scope
    return OAuth(http.oauth_issuer, audiences, http.oauth_algorithm, keys, is_any_scope_enough=is_any_scope_enough)


def _make_code_flow(oauth: "OAuth", client_id: str | None, url: str) -> "CodeFlow":
    from satchel.auth.code_flow import CodeFlow

    return CodeFlow(oauth, client_id, url)


def _bracket(host: str) -> str:
    """Return `host` as a URL needs it: an IPv6 address gets brackets."""
    return f"[{host.strip('[]')}]" if ":" in host else host


def _find_project(store: Database, settings: Settings) -> str | None:
    """Return the project of the working directory, for the greeting; None if this is also the server's default.

    A repository's project is created, because clients name it in their URL.
    """
    if settings.why_project is not None:
        return None
    found = project_discovery.find_current(Scope(project=settings.project), partial(projects.exists, store))
    if found.project == settings.project:
        return None
    with suppress(NotFound):  # it is in the trash, or a .satchel file names none
        if found.makes and not settings.is_read_only:
            with store.write(found) as tx:
                projects.current(tx, found)
        return found.project if projects.exists(store, found.project) else None
    return None


def _greet(settings: Settings, http: Http, url: str, project: str | None) -> None:
    is_named = http.allow_hosts or http.public_url or is_loopback(http.host)
    greeting = write_greeting(
        contract=settings.contract,
        others=[name for name in CONTRACTS if name != settings.contract],
        url=url,
        project=project,
        has_page=http.has_page,
        needs_token=http.auth == "token",
    )
    print_message(greeting if is_named else NO_NAME + greeting)
