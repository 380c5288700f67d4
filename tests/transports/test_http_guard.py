"""Who may knock: Host and Origin on every route and method, types and sizes of bodies, and who may read the answers."""

import itertools
import json
import random
import re
from collections.abc import Iterator

import pytest

from satchel.transports.http import tasks_api
from satchel.transports.http.app import allow
from satchel.transports.http.messages import Refusal
from tests.support.in_process_http import WebInProcess
from tests.support.soak import amount
from tests.support.web import HANDSHAKE, JSON, Answer, WebClient, call, refusal, request, rpc

ALLOWED_HOSTS = ("Api.Example.com", "exact.example.com:8443")
ALLOWED_ORIGINS = ("https://app.example.com", "http://dev.example.com:3000")
MAX_BODY = 32 * 1024 * 1024

# As bytes on the wire; latin-1 here, so that any byte can be said.
HOSTS = [
    *("127.0.0.1", "localhost", "[::1]", "LOCALHOST", "LocalHost:80", "127.0.0.1:1", "[::1]:65535", " localhost\t"),
    *("api.example.com", "API.example.com:9", "exact.example.com:8443", "EXACT.example.com:8443"),
    *("exact.example.com", "exact.example.com:443", "exact.example.com:84430", "", ":80", ":", "localhost:"),
    *("localhost:0", "localhost:65536", "localhost:-1", "localhost:+80", "localhost:8 0", "localhost:\xb2"),
    *("localhost:0x50", "evil.com", "localhost.evil.com", "evil.com:localhost", "evil-localhost", "notlocalhost"),
    *("localhost.", "127.0.0.1.", "user@localhost", "localhost@evil.com", "localhost/", "http://localhost"),
    *("localhost, evil.com", "localhost evil.com", "::1", "[::1", "::1]", "[::1]]", "[0:0:0:0:0:0:0:1]"),
    *("[::ffff:127.0.0.1]", "[::1%25lo]", "[]", "127.0.0.2", "127.1", "2130706433", "0x7f000001", "0177.0.0.1"),
    *("0.0.0.0", "l\xf6calhost", "l\xd0\xbecalhost", "\xef\xbc\x91", "*", "null", "api.example.com."),
    *("x.api.example.com", "api.example.com.evil.com", "api.example.com:x", "apixexample.com"),
]
ORIGINS: list[str | None] = [
    *(None, "http://localhost", "https://localhost", "http://127.0.0.1:8000", "https://[::1]", "http://[::1]:5173"),
    *("http://LOCALHOST", "http://LocalHost:65535", "https://app.example.com", "http://dev.example.com:3000", ""),
    *("null", "NULL", "*", "localhost", "//localhost", "http:/localhost", "http:localhost", "http://", "https://"),
    *("http://localhost/", "http://localhost:", "http://localhost:0", "http://localhost:65536"),
    *("http://localhost:8 0", "http://localhost.", "http://localhost.evil.com", "http://evil.com/localhost"),
    *("http://evil.com#localhost", "http://user@localhost", "http://localhost@evil.com"),
    *("http://localhost:80@evil.com", "http://evil.com:80", "ftp://localhost", "file://", "file://localhost"),
    *("HTTP://localhost", "ws://localhost", "chrome-extension://abc", "http://::1", "http://[::1"),
    *("http://[0:0:0:0:0:0:0:1]", "http://127.1", "http://2130706433", "http://0x7f.1", "http://0.0.0.0"),
    *("http://l\xf6calhost", "http://l\xd0\xbecalhost", "http://localhost http://evil.com"),
    *("http://localhost, http://evil.com", "http://app.example.com", "https://app.example.com:443"),
    *("https://APP.example.com", "https://app.example.com/", "https://app.example.com.evil.com"),
    *("https://app.example.com.", "https://x.app.example.com", "https://app.example.com:8443"),
    *("http://dev.example.com", "https://dev.example.com:3000"),
]

HERE = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::(\d{1,5}))?", re.ASCII | re.IGNORECASE)


def is_this_machine(host: str) -> bool:
    found = HERE.fullmatch(host)
    return found is not None and (found[1] is None or 1 <= int(found[1]) <= 65535)


def host_passes(host: str) -> bool:
    """Return the rule: this machine on any port, a listed name on any port, a listed name and port as they are."""
    host = host.strip(" \t").lower()
    return is_this_machine(host) or host in ("api.example.com", "api.example.com:9", "exact.example.com:8443")


def origin_passes(origin: str | None) -> bool:
    """Return the rule: none, a page of this machine, or one that is listed, to the letter."""
    if origin is None or origin in ALLOWED_ORIGINS:
        return True
    scheme, separator, host = origin.partition("://")
    return scheme in ("http", "https") and separator == "://" and is_this_machine(host)


HOST_WORDS = "This host name is not served here. Add it with --allow-host."
ORIGIN_WORDS = "This origin is not allowed. Add it with --allow-origin."

CONTRACTS = ("satchel", "prompt-store", "mcpkg", "twig", "todo", "tasks")
MCP = ("/mcp", *(f"/mcp/{name}" for name in CONTRACTS))
DOOR = ("/mcp/tool/add_task", "/mcp/tool/nothing")
NOTHING = (
    *("/nothing", "/mcp/", "/mcp/nothing", "/mcp/tool", "/health/"),
    "/.well-known/oauth-protected-resource",  # there is none without OAuth
    "/.well-known/oauth-protected-resource/mcp",
)
ROUTES = (*MCP, *DOOR, "/health", "/metrics", *NOTHING)
METHODS = ("GET", "POST", "PUT", "DELETE", "OPTIONS")
STREAMS = ("satchel", "twig")  # what a GET would open a stream on, if it accepted one


def expected_status(route: str, method: str, origin: str | None) -> int:
    """Return the status of a request that the guard admits."""
    if method == "OPTIONS" and origin in ALLOWED_ORIGINS:
        return 204
    if route in NOTHING:
        return 404
    if method == "OPTIONS":
        return 405
    if route in ("/health", "/metrics"):
        return 200 if method == "GET" else 405
    if method == "POST":
        return 404 if route == "/mcp/tool/nothing" else 200
    if method == "GET" and route in MCP:
        return 406 if route.rpartition("/")[2] in STREAMS else 405
    return 405


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebInProcess]:
    store = tmp_path_factory.mktemp("guard") / "s.db"
    allowed = [word for host in ALLOWED_HOSTS for word in ("--allow-host", host)]
    allowed += [word for origin in ALLOWED_ORIGINS for word in ("--allow-origin", origin)]
    with WebInProcess("-c", "prompt-store", "-d", str(store), *allowed) as server:
        yield server


def body_for(route: str, mark: str) -> bytes:
    """Return a call that leaves a trace if it runs."""
    if route in ("/mcp", "/mcp/prompt-store"):
        return call("add_prompt", {"title": mark, "content": "x"}, revision=HANDSHAKE)[1]
    if route.startswith("/mcp/tool/"):
        return json.dumps({"title": mark}).encode()
    return rpc("prompts/list" if route == "/mcp/twig" else "tools/list", revision=HANDSHAKE)[1]


def test_every_route_and_method_asks_for_the_host_and_then_the_origin(server: WebClient) -> None:
    before, reached = server.count(), 0
    for route, method in itertools.product(ROUTES, METHODS):
        for host, origin in (
            *(("localhost", origin) for origin in (None, "http://localhost", *ALLOWED_ORIGINS)),
            *(("localhost", origin) for origin in ("http://evil.com", "null", "https://app.example.com.evil.com")),
            *((host, ALLOWED_ORIGINS[0]) for host in ("evil.com", "localhost.evil.com", "exact.example.com:443", "")),
            ("evil.com", "http://evil.com"),
        ):
            headers = [("Host", host), JSON, *([] if origin is None else [("Origin", origin)])]
            body = body_for(route, f"cell {reached}") if method == "POST" else None
            answer = server.ask(method, route, headers, body)
            asked = (route, method, host, origin)
            shared = {name: value for name, value in answer.headers if name.startswith("access-control-")}
            assert shared.get("access-control-allow-origin") == (origin if origin in ALLOWED_ORIGINS else None), asked
            if not host_passes(host):
                assert (answer.status, answer.json) == (421, refusal(route, 421, "host", HOST_WORDS)), asked
            elif not origin_passes(origin):
                assert (answer.status, answer.json) == (403, refusal(route, 403, "origin", ORIGIN_WORDS)), asked
            else:
                assert answer.status == expected_status(route, method, origin), (asked, answer)
                assert (answer.header("allow") is not None) == (answer.status == 405), asked
                reached += method == "POST" and answer.status == 200
    assert server.count() - before == reached


def test_the_guard_agrees_with_the_rule_however_nearly_right_hosts_and_origins_are() -> None:
    guard = allow(ALLOWED_HOSTS, ALLOWED_ORIGINS)
    assert [host for host in HOSTS if guard.has_host(host.strip(" \t")) != host_passes(host)] == []
    origins = [one for one in ORIGINS if one is not None]
    assert [origin for origin in origins if guard.has_origin(origin) != origin_passes(origin)] == []
    dice = random.Random(5)
    letters = "abclost.:[]/@0123456789%- \t\\#?_A\xe9\u212a\x00~"
    hosts = ["localhost", "127.0.0.1:80", "[::1]:8080", "exact.example.com:8443"]
    for _ in range(amount(5_000, 20_000)):
        host = dice.choice(hosts)
        for _ in range(dice.randrange(1, 3)):
            place = dice.randrange(len(host) + 1)
            host = host[:place] + dice.choice(letters) + host[place + dice.randrange(2) :]
        if host.strip(" \t") == host and not re.search("[^\x00-\xff]", host):
            assert guard.has_host(host) == host_passes(host), host
            origin = f"http://{host}"
            assert guard.has_origin(origin) == origin_passes(origin), origin


def test_a_comma_too_many_allows_nobody() -> None:
    guard = allow(["a.example.com", ""], ["", "https://a.example.com"])
    assert not guard.has_host("") and not guard.has_host(":80") and not guard.has_origin("")
    nobody = allow((), ())
    assert not nobody.has_host("a.example.com") and not nobody.has_origin("https://a.example.com")


TWICE = [
    ([("Host", "localhost"), ("Host", "localhost")], 421),
    ([("Host", "localhost"), ("Host", "evil.com")], 421),
    ([("Host", "evil.com"), ("Host", "localhost")], 421),
    ([("Host", "localhost"), ("Origin", "http://localhost"), ("Origin", "http://localhost")], 403),
    ([("Host", "localhost"), ("Origin", "http://evil.com"), ("Origin", ALLOWED_ORIGINS[0])], 403),
    ([("Host", "localhost"), ("Origin", ALLOWED_ORIGINS[0]), ("Origin", "http://evil.com")], 403),
    ([("Host", "evil.com"), ("Origin", "http://evil.com")], 421),  # Host is judged first
]


@pytest.mark.parametrize("route", [*MCP, *DOOR, "/health", "/metrics", "/nothing"])
def test_two_hosts_or_two_origins_are_refused_whatever_they_say(server: WebClient, route: str) -> None:
    with server.connect() as wire:
        for headers, status in TWICE:
            words = ("host", HOST_WORDS) if status == 421 else ("origin", ORIGIN_WORDS)
            for method in METHODS:
                answer = wire.ask(method, route, [*headers, JSON], b"{}" if method == "POST" else None)
                assert (answer.status, answer.json) == (status, refusal(route, status, *words)), (headers, method)
                assert not [name for name, _ in answer.headers if name.startswith("access-control")]


def test_a_request_without_a_host_is_refused(server: WebClient) -> None:
    for raw in (b"GET /health HTTP/1.1\r\n\r\n", b"GET /health HTTP/1.0\r\n\r\n"):
        with server.connect() as wire:
            wire.send(raw)
            assert wire.read().status == 421


def test_the_host_header_counts_even_with_an_absolute_address(server: WebClient) -> None:
    for address, host, status in (
        ("http://localhost/health", "evil.com", 421),
        ("http://evil.com/health", "localhost", 200),
        ("http://evil.com?/health", "localhost", 400),
        ("http:///health", "localhost", 400),
    ):
        answer = server.ask("GET", address, [("Host", host)])
        assert answer.status == status, (address, answer)


def test_what_follows_a_body_is_no_header(server: WebClient) -> None:
    before = server.count()
    body = body_for("/mcp", "trailing")
    head = "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
    chunks = b"%x\r\n%s\r\n0\r\n" % (len(body), body)
    for more, trailer, status in (
        ("", "Host: localhost\r\n", 421),
        ("Host: evil.com\r\n", "Host: localhost\r\n", 421),
        ("Host: localhost\r\nOrigin: http://evil.com\r\n", "Origin: http://localhost\r\n", 403),
        ("Host: localhost\r\n", "Host: evil.com\r\nOrigin: http://evil.com\r\n", 200),
    ):
        with server.connect() as wire:
            wire.send((head + more).encode() + b"\r\n" + chunks + trailer.encode() + b"\r\n")
            assert wire.read().status == status, (more, trailer)
            assert wire.ask("GET", "/health").status == 200
    assert server.count() == before + 1


# -- other names for CORS -------------------------------------------------------------------------------------------


def test_only_pages_of_named_origins_may_ask_what_they_may(server: WebClient) -> None:
    asks = [("Access-Control-Request-Method", "POST"), ("Access-Control-Request-Headers", "authorization")]
    for origin in ("http://localhost", "http://127.0.0.1:3000"):
        answer = server.ask("OPTIONS", "/mcp", [("Origin", origin), *asks])
        assert answer.status == 405 and answer.header("allow") == "POST"
        assert not [name for name, _ in answer.headers if name.startswith("access-control")]
    for origin in ALLOWED_ORIGINS:
        answer = server.ask("OPTIONS", "/mcp", [("Origin", origin), *asks])
        assert (answer.status, answer.body) == (204, b"")
        assert {name: value for name, value in answer.headers if name.startswith(("access-control", "vary"))} == {
            "access-control-allow-origin": origin,
            "access-control-allow-methods": "GET, POST",
            "access-control-allow-headers": "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name, "
            "last-event-id, mcp-session-id, satchel-project",
            "access-control-expose-headers": "www-authenticate, mcp-session-id",
            "access-control-max-age": "600",
            "vary": "origin",
        }


# -- types, sizes, methods, paths -----------------------------------------------------------------------------------

TYPES = [
    *(("application/json", 200), ("APPLICATION/JSON", 200), ("application/json;charset=utf-8", 200)),
    *(("application/json; charset=UTF-8", 200), ('application/json ; charset="utf-8"', 200)),
    *(("application/json;", 200), ("application/json; charset=latin-1", 200), (None, 415), ("", 415)),
    *(("text/plain", 415), ("text/json", 415), ("application/json-patch", 415), ("application/json5", 415)),
    *(("application/jsonp", 415), ("application/x-www-form-urlencoded", 415)),
    *(("multipart/form-data; boundary=x", 415), ("text/plain; application/json", 415), ("json", 415), ("*/*", 415)),
    *(("application/json, text/plain", 415), ("text/plain, application/json", 415), ("application /json", 415)),
    *(("application/vnd.api+json", 415), ("text/plain;application/json", 415), ("\xa0application/json", 415)),
]
NOT_JSON = "The body must be application/json."
COMPRESSED = "The body must not be compressed."


@pytest.mark.parametrize("route", ["/mcp", "/mcp/tool/add_task"])
def test_only_plain_json_is_taken(server: WebClient, route: str) -> None:
    def post(*headers: tuple[str, str]) -> Answer:
        return wire.ask("POST", route, headers, body_for(route, f"typed {next(numbers)} {route}"))

    numbers = itertools.count()
    before = server.count()
    with server.connect() as wire:
        for kind, status in TYPES:
            answer = post(*([] if kind is None else [("Content-Type", kind)]))
            assert answer.status == status, (kind, answer)
            if status == 415:
                assert answer.json == refusal(route, 415, "body", NOT_JSON), kind
        for pair in (("application/json", "text/plain"), ("text/plain", "application/json")):
            assert post(*(("Content-Type", kind) for kind in pair)).json == refusal(route, 415, "body", NOT_JSON)
        for coding in ("gzip", "deflate", "br", "zstd", "identity, gzip", "gzip, identity", "GZIP", "x", ""):
            answer = post(JSON, ("Content-Encoding", coding))
            assert (answer.status, answer.json) == (415, refusal(route, 415, "body", COMPRESSED)), coding
        assert post(JSON, ("Content-Encoding", "Identity")).status == 200
        assert post(JSON, ("Content-Encoding", "gzip"), ("Content-Encoding", "identity")).status == 415
    assert server.count() - before == sum(status == 200 for _, status in TYPES) + 1


def test_no_body_at_all_is_an_empty_object_for_a_tool_of_tasks(server: WebClient) -> None:
    with server.connect() as wire:
        for kind in ([], [JSON], [("Content-Type", "text/plain")]):
            answer = wire.ask("POST", "/mcp/tool/list_tasks", kind, b"")
            assert (answer.status, answer.json["success"]) == (200, True), kind
            assert wire.ask("POST", "/mcp/tool/add_task", kind, b"").json["details"]["constraint"] == "required"
            wire.send(request("POST", "/mcp/tool/list_tasks", [*kind, ("Transfer-Encoding", "chunked")]))
            wire.send(b"0\r\n\r\n")
            assert wire.read().status == 200, kind


TOO_LARGE = f"A body has at most {MAX_BODY} bytes."


@pytest.mark.parametrize("route", ["/mcp", "/mcp/tool/add_task"])
def test_a_body_that_says_it_is_too_large_is_not_read(server: WebClient, route: str) -> None:
    before = server.count()
    for size in (MAX_BODY + 1, 2**31, 2**63):
        with server.connect() as wire:
            wire.send(request("POST", route, [JSON, ("Content-Length", str(size))]))
            answer = wire.read()
            assert (answer.status, answer.json) == (413, refusal(route, 413, "body", TOO_LARGE)), size
            assert answer.header("connection") == "close" and wire.is_closed()
    for written in ("99999999999999999999999", "-1", "+5", "0x10", "1e3", "5 5", "5,5", ""):
        answer = server.ask("POST", route, [JSON, ("Content-Length", written)], b"{}")
        assert answer.status == 400, written
    assert server.count() == before


@pytest.mark.parametrize("route", ["/mcp", "/mcp/tool/add_task"])
def test_a_body_that_says_nothing_of_its_size_is_counted_while_it_is_read(server: WebClient, route: str) -> None:
    before = server.count()
    with server.connect() as wire:
        wire.send(request("POST", route, [JSON, ("Transfer-Encoding", "chunked")]))
        chunk, sent = b"%x\r\n%s\r\n" % (1 << 20, b" " * (1 << 20)), 0
        try:
            while sent < 200 << 20:
                wire.send(chunk)
                sent += 1 << 20
        except (ConnectionResetError, BrokenPipeError):
            pass
        assert sent <= 64 << 20, "what the buffers hold beyond 32 MiB is little"
        answer = wire.read()
        assert (answer.status, answer.json) == (413, refusal(route, 413, "body", TOO_LARGE))
    assert server.count() == before


@pytest.mark.parametrize(("route", "is_chunked"), [("/mcp", True), ("/mcp/tool/add_task", False)])
def test_32_mib_are_taken_and_not_one_byte_more(server: WebClient, route: str, is_chunked: bool) -> None:
    small = body_for(route, f"large {route} {is_chunked}")
    for size, status in ((MAX_BODY, 200), (MAX_BODY + 1, 413)):
        body = small + b" " * (size - len(small))
        with server.connect() as wire:
            if is_chunked:
                head = request("POST", route, [JSON, ("Transfer-Encoding", "chunked")])
                wire.send(head + b"%x\r\n%s\r\n" % (size - 5, body[:-5]) + b"5\r\n     \r\n")
                if status == 200:
                    wire.send(b"0\r\n\r\n")
            else:
                try:
                    wire.send(request("POST", route, [JSON], body))
                except (ConnectionResetError, BrokenPipeError):
                    assert status == 413
            assert wire.read().status == status


def test_other_methods_get_the_list_of_allowed_ones(server: WebClient) -> None:
    with server.connect() as wire:
        for route, allow in (
            *((route, "GET, POST" if route in ("/mcp/twig", "/mcp/satchel") else "POST") for route in MCP),
            *(("/mcp/tool/add_task", "POST"), ("/mcp/tool/nothing", "POST"), ("/health", "GET, HEAD")),
            ("/metrics", "GET, HEAD"),
        ):
            for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"):
                answer = wire.ask(method, route)
                assert (answer.status, answer.header("allow")) == (405, allow), (method, route)
                assert answer.json == refusal(route, 405, "method", f"Use {allow} here.")
        for method in ("GET", "HEAD"):
            answer = wire.ask(method, "/mcp/tool/add_task")
            assert (answer.status, answer.header("allow")) == (405, "POST")


def test_paths_that_are_none(server: WebClient) -> None:
    words = "There is nothing at this path. MCP is served at /mcp."
    with server.connect() as wire:
        odd = ("/MCP", "//mcp", "/mcp//", "/mcp/../health", "/mcp%00", "/metrics/x", "/mcp/prompt-store/")
        for path in (*NOTHING, *odd, "/mcp%2Ftool%2Fadd_task", "/mcp%2ftodo"):
            for method in METHODS:
                answer = wire.ask(method, path)
                assert (answer.status, answer.json) == (404, refusal(path, 404, "path", words)), (method, path)
        for tool in ("nothing", "", "add_task/", "ADD_TASK", "list_prompts", "%00", "%F0%9F%98%80", "a" * 5000):
            answer = wire.ask("POST", f"/mcp/tool/{tool}", [JSON], b"{}")
            name = {"%00": "\x00", "%F0%9F%98%80": "😀"}.get(tool, tool)
            assert (answer.status, answer.json) == (404, refusal("/mcp/tool/", 404, "", f"Unknown tool: {name}"))
        assert wire.ask("GET", "/%68ealth").status == 200


DOOR_ANSWERS = [
    (b'{"title": "Milk"', 400, "The body is not JSON", {"field": "body", "constraint": "format"}),
    (b"\xff\xfe{}", 400, "The body is not JSON", {"field": "body", "constraint": "format"}),
    (b"NaN", 400, "The body is not JSON", {"field": "body", "constraint": "format"}),
    (b"[" * 100 + b"]" * 100, 400, "The body is not JSON", {"field": "body", "constraint": "format"}),
    (b"[]", 400, "Invalid body: must be of type object", {"field": "body", "constraint": "type"}),
    (b"null", 400, "Invalid body: must be of type object", {"field": "body", "constraint": "type"}),
    (b'"x"', 400, "Invalid body: must be of type object", {"field": "body", "constraint": "type"}),
    (b"{}", 400, "Missing required field: title", {"field": "title", "constraint": "required"}),
    (b'{"title": 5}', 400, "Invalid title: must be of type string", {"field": "title", "constraint": "type"}),
    (b'{"title": "a", "x": 1}', 400, "Unknown field: x", {"field": "x", "constraint": "additionalProperties"}),
]


def test_tasks_over_http_reports_errors_in_its_envelope(server: WebClient) -> None:
    with server.connect() as wire:
        for body, status, message, details in DOOR_ANSWERS:
            answer = wire.ask("POST", "/mcp/tool/add_task", [JSON], body)
            expected = {"success": False, "error": message, "code": "VALIDATION_ERROR", "details": details}
            assert (answer.status, answer.json) == (status, expected), body
        answer = wire.ask("POST", "/mcp/tool/complete_task", [JSON], b'{"task_id": 987654321}')
        missing = {"success": False, "error": "Task not found", "code": "NOT_FOUND", "details": {"task_id": 987654321}}
        assert (answer.status, answer.json) == (404, missing)
        query = "&".join(f"a{number}=1" for number in range(21))
        answer = wire.ask("POST", f"/mcp/tool/add_task?{query}", [JSON], b'{"title": "a"}')
        words = "The query has more than 20 fields."
        assert (answer.status, answer.json) == (400, refusal("/mcp/tool/add_task", 400, "query", words))


def test_the_door_blames_the_database_only_for_its_own_failures() -> None:
    unable = "Unable to complete request. Please try again."
    for field, code in (("authorization", "DATABASE_ERROR"), ("body", "INTERNAL_ERROR"), ("server", "INTERNAL_ERROR")):
        answer = tasks_api.refuse(Refusal(503, field, unable))
        assert answer.status_code == 500
        assert json.loads(answer.content) == {"success": False, "error": unable, "code": code}


def test_bytes_that_are_not_http_get_an_error_and_the_connection_closes(server: WebClient) -> None:
    smuggled = request("POST", "/mcp", [JSON, ("Content-Length", "5"), ("Transfer-Encoding", "chunked")], b"0\r\n\r\n")
    for raw in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"hello\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT evil.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost:\r\n localhost\r\n\r\n",
        b"GET /health HTTP/1.1\nHost: localhost\n\n",
        b"GET /health HTTP/1.1\r\nHost: local\x00host\r\n\r\n",
        b"GET /h\xe9alth HTTP/1.1\r\nHost: localhost\r\n\r\n",
        smuggled,
        request("POST", "/mcp", [JSON, ("Content-Length", "2"), ("Content-Length", "2")], b"{}"),
        request("POST", "/mcp", [JSON, ("Transfer-Encoding", "chunked")], b"xyz\r\n"),
        request("POST", "/mcp", [JSON, ("Transfer-Encoding", "gzip, chunked, gzip")], b"0\r\n\r\n"),
    ):
        with server.connect() as wire:
            wire.send(raw)
            answer = wire.read()
            assert (answer.status, answer.header("connection")) == (400, "close"), raw
            assert wire.is_closed()
