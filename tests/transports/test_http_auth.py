"""Who is let in, and how far: every kind of token on every route, in one process and in two."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
import pytest

from satchel.auth import tokens
from satchel.cli import serve
from satchel.contracts import CONTRACTS
from satchel.services import projects
from satchel.storage.database import open_database
from tests.auth.issuer import KEY, OTHER, jwk
from tests.support.in_process_http import WebInProcess
from tests.support.web import HANDSHAKE, JSON, Answer, WebClient, WebServer, call, refusal, request, rpc

ADA, BOB = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
LONG_AGO = "2020-01-01T00:00:00.000000Z"

ROUTES = [
    *(("POST", route) for route in ("/mcp", *(f"/mcp/{name}" for name in CONTRACTS))),
    *(("GET", route) for route in ("/mcp", *(f"/mcp/{name}" for name in CONTRACTS))),
    *(("POST", f"/mcp/tool/{tool}") for tool in ("add_task", "list_tasks", "nothing")),
    ("GET", "/metrics"),
]


@dataclass(frozen=True)
class Secrets:
    """The tokens of a store."""

    good: str
    bob: str
    read_only: str
    only_a: str
    a_and_b: str
    expired: str
    revoked: str


def prepared(where: str) -> Secrets:
    """Return a store with two projects, and a token of every kind."""
    database = open_database(where)
    with database.write() as tx:
        for name in ("a", "b"):
            projects.add(tx, name)

        def made(user: str = ADA, **more: Any) -> str:
            return tokens.create(tx, user=user, **more)[1]

        old, expired = tokens.create(tx, user=ADA, expires_at="2999-01-01T00:00:00.000000Z")
        tx.run("update tokens set expires_at = :then where id = :id", then=LONG_AGO, id=old.id)
        lost, revoked = tokens.create(tx, user=ADA)
        tokens.revoke(tx, lost.id)
        secrets = Secrets(
            good=made(),
            bob=made(BOB),
            read_only=made(is_read_only=True),
            only_a=made(projects=["a"]),
            a_and_b=made(projects=["a", "b"]),
            expired=expired,
            revoked=revoked,
        )
    database.close()
    return secrets


NO_TOKEN = ('Bearer realm="satchel"', "A bearer token is needed.")


def wrong(description: str) -> tuple[str, str]:
    challenge = f'Bearer realm="satchel", error="invalid_token", error_description="{description}"'
    return challenge, f"{description[:1].upper()}{description[1:]}."


NO_BEARER = wrong("the Authorization header must be: Bearer TOKEN")
UNKNOWN = wrong("the token is unknown")

# What is in the Authorization headers → the challenge and the words of a 401; None: let in.
Case = tuple[str, Callable[[Secrets], list[str]], tuple[str, str] | None]
CASES: list[Case] = [
    ("no token", lambda s: [], NO_TOKEN),
    ("other scheme", lambda s: [f"Basic {s.good}"], NO_BEARER),
    ("no scheme", lambda s: [s.good], NO_BEARER),
    ("empty header", lambda s: [""], NO_BEARER),
    ("empty token", lambda s: ["Bearer"], NO_BEARER),
    ("blank token", lambda s: ["Bearer   "], NO_BEARER),
    ("wrong token", lambda s: ["Bearer satchel_" + "A" * 43], UNKNOWN),
    ("one letter off", lambda s: ["Bearer " + s.good[:-1] + ("A" if s.good[-1] != "A" else "B")], UNKNOWN),
    ("other case", lambda s: ["Bearer " + s.good.swapcase()], UNKNOWN),
    ("cut off", lambda s: ["Bearer " + s.good[:-1]], UNKNOWN),
    ("too long", lambda s: ["Bearer " + s.good + "A"], UNKNOWN),
    ("twice in one", lambda s: [f"Bearer {s.good} {s.good}"], UNKNOWN),
    ("with a comma", lambda s: [f"Bearer {s.good}, Bearer {s.good}"], UNKNOWN),
    ("quoted", lambda s: [f'Bearer "{s.good}"'], UNKNOWN),
    ("odd letters", lambda s: ["Bearer \xe9\xff"], UNKNOWN),
    ("SQL", lambda s: ["Bearer ' or 1=1 --"], UNKNOWN),
    ("enormous", lambda s: ["Bearer " + "A" * 60_000], UNKNOWN),
    ("two headers, both good", lambda s: [f"Bearer {s.good}", f"Bearer {s.good}"], NO_BEARER),
    ("two headers, a good one first", lambda s: [f"Bearer {s.good}", "Bearer x"], NO_BEARER),
    ("two headers, a good one last", lambda s: ["Basic x", f"Bearer {s.good}"], NO_BEARER),
    ("expired", lambda s: [f"Bearer {s.expired}"], wrong("the token has expired")),
    ("revoked", lambda s: [f"Bearer {s.revoked}"], wrong("the token was revoked")),
    ("good", lambda s: [f"Bearer {s.good}"], None),
    ("good, other spelling", lambda s: [f"bEARER   {s.good}  "], None),
]

# What those get who are let in.
LET_IN = {
    ("POST", "/mcp/tool/nothing"): 404,
    ("GET", "/mcp/twig"): 406,
    ("GET", "/mcp/satchel"): 406,
    **{("GET", route): 405 for route in ("/mcp", "/mcp/prompt-store", "/mcp/mcpkg", "/mcp/todo", "/mcp/tasks")},
}


@pytest.fixture(
    scope="module", params=[1, pytest.param(2, marks=pytest.mark.soak)], ids=lambda count: f"{count} workers"
)
def served(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[tuple[WebInProcess | WebServer, Secrets]]:
    """A server of a store with tokens; in `make soak` also one of two workers."""
    store = str(tmp_path_factory.mktemp("auth") / "s.db")
    secrets = prepared(store)
    kind, more = (WebInProcess, ()) if request.param == 1 else (WebServer, ("--workers", "2"))
    with kind("-c", "prompt-store", "-d", store, "--auth", "token", *more) as server:
        yield server, secrets
        for secret in vars(secrets).values():
            assert secret not in server.stderr


def bearer(secret: str) -> tuple[str, str]:
    return ("Authorization", f"Bearer {secret}")


def body_of(method: str, route: str) -> bytes | None:
    if method == "GET":
        return None
    if "/tool/" in route:
        return b"{}"
    return rpc("prompts/list" if route == "/mcp/twig" else "tools/list", revision=HANDSHAKE)[1]


@pytest.mark.parametrize("case", CASES, ids=[name for name, _, _ in CASES])
def test_every_kind_of_token_on_every_route(served: tuple[WebClient, Secrets], case: Case) -> None:
    server, secrets = served
    _, headers, refused = case
    given = [("Authorization", value) for value in headers(secrets)]
    before = server.count([bearer(secrets.good)])
    for method, route in ROUTES:
        answer = server.ask(method, route, [*given, JSON], body_of(method, route))
        if refused is None:
            status = LET_IN.get((method, route), 400 if route == "/mcp/tool/add_task" else 200)
            assert (answer.status, answer.all("www-authenticate")) == (status, []), (route, answer)
        else:
            challenge, words = refused
            assert (answer.status, answer.all("www-authenticate")) == (401, [challenge]), (route, answer)
            assert answer.json == refusal(route, 401, "authorization", words)
    for route, status in (("/health", 200), ("/nothing", 404), ("/.well-known/oauth-protected-resource", 404)):
        assert server.ask("GET", route, given).status == status  # which need no token, and take any
    reached = 0 if refused is not None else sum(m == "POST" for m, _ in ROUTES) - 1
    assert server.count([bearer(secrets.good)]) - before == reached


def test_a_token_is_looked_at_before_the_body_and_after_the_host(served: tuple[WebClient, Secrets]) -> None:
    server, _ = served
    for route in ("/mcp", "/mcp/tool/add_task"):
        assert server.ask("POST", route, [("Content-Type", "text/plain")], b"x").status == 401
        assert server.ask("POST", route, [JSON, ("Content-Length", str(1 << 30))]).status == 401
        assert server.ask("POST", route, [("Host", "evil.com"), JSON], b"{}").status == 421
        assert server.ask("POST", route, [("Origin", "http://evil.com"), JSON], b"{}").status == 403
        assert server.ask("PUT", route, [JSON], b"{}").status == 405


# -- read-only ------------------------------------------------------------------------------------------------------

FORBIDDEN = 'Bearer realm="satchel", error="insufficient_scope", scope="satchel:read satchel:write"'
READ_ONLY = "Read-only: nothing may be changed."


def assert_forbidden(answer: Answer, route: str, words: str, id: int | None = None) -> None:
    assert (answer.status, answer.all("www-authenticate")) == (403, [FORBIDDEN]), answer
    assert answer.json == refusal(route, 403, "authorization", words, id)


def test_a_batch_with_one_write_in_it_is_refused_whole(served: tuple[WebClient, Secrets]) -> None:
    server, secrets = served
    before = server.count([bearer(secrets.good)])
    batch = [
        json.loads(call("list_prompts", id=1, revision=HANDSHAKE)[1]),
        json.loads(call("add_prompt", {"title": "in a batch", "content": "x"}, id=2, revision=HANDSHAKE)[1]),
    ]
    headers = [JSON, ("MCP-Protocol-Version", "2025-03-26"), bearer(secrets.read_only)]
    assert_forbidden(server.ask("POST", "/mcp", headers, json.dumps(batch).encode()), "/mcp", READ_ONLY)
    assert server.ask("POST", "/mcp", headers, json.dumps(batch[:1]).encode()).status == 200
    assert server.count([bearer(secrets.good)]) - before == 1


# -- projects -------------------------------------------------------------------------------------------------------


def titles(server: WebClient, query: str, secret: str) -> set[str]:
    headers, body = call("list_prompts", {"limit": 100})
    answer = server.ask("POST", f"/mcp{query}", [*headers, bearer(secret)], body)
    assert answer.status == 200, answer
    return {prompt["title"] for prompt in answer.tool["prompts"]}


def test_a_token_of_some_projects_opens_no_other(served: tuple[WebClient, Secrets]) -> None:
    server, secrets = served
    mark = f"mark {time.time_ns()}"

    def add(query: str, secret: str, title: str) -> Answer:
        headers, body = call("add_prompt", {"title": title, "content": "x"})
        return server.ask("POST", f"/mcp{query}", [*headers, bearer(secret)], body)

    not_that = "This token does not open that project."
    assert add("", secrets.only_a, f"{mark} none").status == 200
    assert add("?project=a", secrets.only_a, f"{mark} a").status == 200
    assert add("?project=", secrets.only_a, f"{mark} empty").status == 200
    assert add("?project=b", secrets.good, f"{mark} b").status == 200
    for query in ("b", "default", "A", "a%20", "a,b", "%00", "nothing"):
        assert_forbidden(add(f"?project={query}", secrets.only_a, f"{mark} {query}"), "/mcp", not_that)
    headers, body = call("list_prompts")
    for name in ("b", "nothing"):
        given = [*headers, bearer(secrets.only_a), ("Satchel-Project", name)]
        assert_forbidden(server.ask("POST", "/mcp", given, body), "/mcp", not_that)
    assert_forbidden(add("?project=a&project=b", secrets.only_a, f"{mark} x"), "/mcp", not_that)
    for route in ("/mcp/todo", "/mcp/tool/list_tasks", "/mcp/twig", "/metrics"):
        method = "GET" if route == "/metrics" else "POST"
        answer = server.ask(method, f"{route}?project=b", [JSON, bearer(secrets.only_a)], body_of(method, route))
        assert_forbidden(answer, route, not_that)

    def marked(query: str, secret: str) -> set[str]:
        return {title for title in titles(server, query, secret) if title.startswith(mark)}

    of_a, of_b = {f"{mark} none", f"{mark} a", f"{mark} empty"}, {f"{mark} b"}
    for secret in (secrets.good, secrets.a_and_b):
        assert marked("?project=a", secret) == of_a and marked("?project=b", secret) == of_b
    assert marked("", secrets.only_a) == marked("?project=b&project=a", secrets.only_a) == of_a
    assert marked("", secrets.a_and_b) == of_a  # the first of its projects
    assert marked("", secrets.good) == set()


# -- users ----------------------------------------------------------------------------------------------------------


def test_a_token_that_is_revoked_while_we_serve_is_refused_at_once(store: str) -> None:
    with closing(open_database(store)) as database:
        with database.write() as tx:
            token, secret = tokens.create(tx, user=ADA)
        headers = [JSON, bearer(secret)]
        with WebServer("-c", "tasks", "-d", store, "--auth", "token", "--workers", "2") as server:
            with server.connect() as wire:
                assert wire.ask("POST", "/mcp/tool/list_tasks", headers, b"{}").status == 200
                with database.write() as tx:
                    tokens.revoke(tx, token.id)
                for _ in range(3):
                    answer = wire.ask("POST", "/mcp/tool/list_tasks", headers, b"{}")
                    assert (answer.status, answer.json["error"]) == (401, "The token was revoked.")
            assert server.ask("POST", "/mcp/tool/list_tasks", headers, b"{}").status == 401


def test_a_stream_ends_soon_after_its_token_is_revoked(tmp_path: Path) -> None:
    where = str(tmp_path / "s.db")
    prepared(where)
    database = open_database(where)
    with database.write() as tx:
        token, secret = tokens.create(tx, user=ADA)
    with WebInProcess("-d", where, "--auth", "token", is_hurried=True) as server, server.connect() as wire:
        headers, body = rpc("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        wire.send(request("POST", "/mcp", [*headers, bearer(secret)], body))
        assert wire.read_head()[0] == 200
        assert b"acknowledged" in wire.read_chunk()
        assert b"still here" in wire.read_chunk()
        with database.write() as tx:
            tokens.revoke(tx, token.id)
        database.close()
        chunks = list(iter(wire.read_chunk, b""))
        assert b'"result"' in chunks[-1]  # as any stream that ends in order


# -- without authentication, on this machine only -------------------------------------------------------------------


def refuse(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int | None, str]:
    """Run a server that cannot start; its exit status and what it says."""
    status = serve.run(("-t", "http", "--port", "0", "-c", "tasks", *arguments))
    said = capfd.readouterr()
    assert said.out == ""
    return status, said.err


def test_nothing_but_this_machine_is_served_without_authentication(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for host in ("0.0.0.0", "::", "[::]", "0", "192.168.1.5", "server.local", "127.1", "::ffff:1.2.3.4"):
        assert refuse(capfd, "-d", str(tmp_path / "s.db"), "--host", host) == (
            2,
            f"satchel: refusing to serve {host} without authentication: other machines could read and change"
            " everything.\n"
            "  Tokens of our own:  satchel token create, then serve with --auth token\n"
            "  An OAuth issuer:    --auth oauth --oauth-issuer URL\n"
            "  This machine only:  --host 127.0.0.1\n",
        )
    assert not (tmp_path / "s.db").exists()


def test_with_authentication_other_addresses_are_served(tmp_path: Path) -> None:
    store = str(tmp_path / "s.db")
    with WebServer("-c", "tasks", "-d", store, "--auth", "token", "--host", "0.0.0.0") as server:
        assert server.ask("POST", "/mcp/tool/list_tasks", [JSON], b"{}").status == 401
        assert server.ask("GET", "/health").status == 200


def test_a_read_only_server_asks_nobody_for_a_better_token(tmp_path: Path) -> None:
    open_database(str(tmp_path / "s.db")).close()  # a server that changes nothing makes no store
    with WebInProcess("-c", "todo", "-d", str(tmp_path / "s.db"), "--read-only") as server:
        answer = server.ask("POST", "/mcp", *call("add_task", id=5))
        assert (answer.status, answer.all("www-authenticate")) == (403, [])
        assert answer.json == refusal("/mcp", 403, "authorization", READ_ONLY, id=5)
        answer = server.ask("POST", "/mcp/tool/add_task", [JSON], b"{}")
        assert (answer.status, answer.all("www-authenticate")) == (403, [])


@pytest.mark.parametrize("host", ["127.0.0.2", "localhost", "[::1]"])
def test_every_address_of_this_machine_is_reached_by_its_name(tmp_path: Path, host: str) -> None:
    with WebServer("-d", str(tmp_path / "s.db"), "--host", host) as server:
        address = (host.strip("[]"), server.port)
        with socket.create_connection(address, 20) as client:
            client.sendall(f"GET /health HTTP/1.1\r\nHost: {host}:{server.port}\r\nConnection: close\r\n\r\n".encode())
            assert client.recv(100).startswith(b"HTTP/1.1 200")


def test_a_malformed_address_is_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    origins = ("app.example", "*", "null", "https://a.example/x", "https://", "http://a:b")
    urls = ("satchel.example", "https://", "https://a.example/?x", "https://u@a.example")
    for flag, value in (*(("--allow-origin", one) for one in origins), *(("--public-url", one) for one in urls)):
        status, said = refuse(capfd, "-d", str(tmp_path / "s.db"), flag, value)
        assert status == 2 and said.startswith(f"satchel: {flag} "), (flag, value, said)


# -- OAuth ----------------------------------------------------------------------------------------------------------

ISSUER, AUDIENCE = "https://issuer.example", "https://satchel.example/mcp"


def claims(**more: Any) -> dict[str, Any]:
    now = int(time.time())
    said = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "iat": now, "exp": now + 600, "scope": "satchel:write"}
    return {name: value for name, value in {**said, **more}.items() if value is not None}


def signed(key: Any = KEY, algorithm: str = "RS256", kid: str | None = "one", **more: Any) -> str:
    return jwt.encode(claims(**more), key, algorithm, {"kid": kid} if kid else {})


# What is wrong with a token is tested in tests/auth/test_oauth.py.
OAUTH: list[tuple[Callable[[], str], str | None]] = [
    (signed, None),
    (lambda: signed(iss="https://evil.example"), "the token is from another issuer"),
    (lambda: signed(OTHER), "the signature of the token is wrong"),
    (lambda: signed(exp=time.time() - 100), "the token has expired"),
    (lambda: "satchel_" + "A" * 43, "the token is malformed"),
]


@pytest.fixture(scope="module")
def with_oauth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebInProcess]:
    folder = tmp_path_factory.mktemp("oauth")
    (folder / "keys.json").write_text(json.dumps({"keys": [jwk(KEY, "one")]}))
    oauth = ("--auth", "oauth", "--oauth-issuer", ISSUER, "--oauth-audience", AUDIENCE)
    keys = ("--oauth-keys", str(folder / "keys.json"))
    with WebInProcess("-c", "tasks", "-d", str(folder / "s.db"), *oauth, *keys) as server:
        yield server


NEEDED = 'scope="satchel:read satchel:write"'


def where(server: WebClient, route: str = "/mcp") -> str:
    path = route if route.startswith("/mcp") and "/tool/" not in route else "/mcp"
    return f'resource_metadata="http://127.0.0.1:{server.port}/.well-known/oauth-protected-resource{path}"'


def test_only_tokens_of_the_issuer_for_us_are_let_in(with_oauth: WebClient) -> None:
    server = with_oauth
    for make, description in OAUTH:
        given = bearer(make())
        before = server.count([bearer(signed())])
        for method, route in ROUTES:
            answer = server.ask(method, route, [given, JSON], body_of(method, route))
            if description is None:
                assert answer.status not in (401, 403, 500), (route, answer)
                continue
            challenge, words = wrong(description)
            told = [f"{challenge}, {NEEDED}, {where(server, route)}"]
            assert (answer.status, answer.all("www-authenticate")) == (401, told), (route, answer)
            assert answer.json == refusal(route, 401, "authorization", words)
        reached = 0 if description is not None else sum(m == "POST" for m, _ in ROUTES) - 1
        assert server.count([bearer(signed())]) - before == reached


def test_a_refusal_without_a_token_names_where_to_get_one(with_oauth: WebClient) -> None:
    answer = with_oauth.ask("POST", "/mcp", [JSON], b"{}")
    assert answer.status == 401
    assert answer.all("www-authenticate") == [f'Bearer realm="satchel", {NEEDED}, {where(with_oauth)}']
    for part in ("", "/mcp", *(f"/mcp/{name}" for name in CONTRACTS)):
        path = f"/.well-known/oauth-protected-resource{part}"
        answer = with_oauth.ask("GET", path)
        assert (answer.status, answer.json) == (
            200,
            {
                "resource": f"http://127.0.0.1:{with_oauth.port}{part or '/mcp'}",
                "authorization_servers": [ISSUER],
                "scopes_supported": ["satchel:read", "satchel:write"],
                "bearer_methods_supported": ["header"],
                "resource_name": "Satchel",
            },
        )
        assert with_oauth.ask("POST", path).header("allow") == "GET, HEAD"
        assert with_oauth.ask("GET", path, [("Host", "evil.com")]).status == 421
    for part in ("/", "/mcp/", "/mcp/nothing", "/mcp/tool/add_task", "x"):
        assert with_oauth.ask("GET", f"/.well-known/oauth-protected-resource{part}").status == 404


def test_a_token_may_be_for_any_of_our_addresses_unless_an_audience_is_named(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [jwk(KEY, "one")]}))
    oauth = ("--auth", "oauth", "--oauth-issuer", ISSUER, "--oauth-keys", str(tmp_path / "keys.json"))
    with WebInProcess("-d", str(tmp_path / "s.db"), *oauth) as server:
        ours = f"http://127.0.0.1:{server.port}"
        for path, status in (
            *(("/mcp", 200), ("/mcp/todo", 200), ("/mcp/satchel", 200)),
            *(("/", 401), ("", 401), ("/mcp/", 401), ("/mcp/tool/add_task", 401), ("/mcp/nothing", 401)),
        ):
            headers = [JSON, bearer(signed(aud=f"{ours}{path}"))]
            assert server.ask("POST", "/mcp/tool/list_tasks", headers, b"{}").status == status, path
        for aud in ("https://other.example/mcp", ours.replace("http:", "https:") + "/mcp", None, []):
            assert server.ask("POST", "/mcp/tool/list_tasks", [JSON, bearer(signed(aud=aud))], b"{}").status == 401


def test_scopes_projects_and_subjects_of_an_issuer_apply(with_oauth: WebClient) -> None:
    server, add = with_oauth, "/mcp/tool/add_task"

    def ask(route: str, body: bytes, **more: Any) -> Answer:
        return server.ask("POST", route, [JSON, bearer(signed(**more))], body)

    answer = ask(add, b'{"title": "x"}', scope="satchel:read")
    assert (answer.status, answer.all("www-authenticate")) == (403, [f"{FORBIDDEN}, {where(server)}"])
    assert answer.json == refusal(add, 403, "authorization", READ_ONLY)
    assert ask("/mcp/tool/list_tasks", b"{}", scope="openid satchel:read").status == 200
    for number in range(2):
        assert ask(add, json.dumps({"title": str(number)}).encode(), sub=f"s{number}").status == 200
        [task] = ask("/mcp/tool/list_tasks", b"{}", sub=f"s{number}").json["data"]
        assert task["title"] == str(number)
    assert ask(f"{add}?project=b", b"{}", satchel_projects=["a"]).status == 403
    answer = ask(add, b'{"title": "x"}', satchel_projects=[])
    assert (answer.status, answer.json) == (403, refusal(add, 403, "authorization", "This token opens no project."))


def test_settings_that_cannot_work_are_reported_in_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    issuer = ("--oauth-issuer", ISSUER)
    for more in (
        ("--oauth-algorithm", "none", *issuer),
        ("--oauth-algorithm", "HS256", *issuer),
        ("--oauth-keys", "/nowhere/keys.json", *issuer),
        (),
    ):
        status, said = refuse(capfd, "-d", str(tmp_path / "s.db"), "--auth", "oauth", *more)
        assert status in (1, 2) and said.startswith("satchel: ") and said.count("\n") == 1, said
