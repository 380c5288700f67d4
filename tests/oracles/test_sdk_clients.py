"""The official clients, of Python over HTTP and of npm also over stdio, in all revisions, with and without a token.

Each goes through the same steps on all five contracts. What it hands its caller has to be what our raw client got, of
which every byte was judged; generated values are compared by form.
"""

import asyncio
import json
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import PromptReference

from tests.oracles import node
from tests.support.conversations import EXAMPLES, STEPS, USER, Step, fill_in, last_task
from tests.support.in_process_http import HttpInProcess
from tests.support.stdio import NEWEST, REVISIONS
from tests.support.web import eventually

PYTHON = {"legacy": "2025-11-25", "auto": NEWEST, NEWEST: NEWEST}
NPM = {"1": "2025-11-25", "2": "2025-11-25", "auto": NEWEST}
OLDER = {date: date for date in REVISIONS[:-2]}  # a client of 2.x that speaks only this one


@pytest.fixture(params=["nobody", "token"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HttpInProcess]:
    """A new server, for everybody on this machine or for whoever has its token."""
    with served(tmp_path, request.param) as server:
        yield server


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What our raw client gets, by the date of the revision."""
    told = {}
    for revision in REVISIONS:
        with served(tmp_path_factory.mktemp("raw"), "nobody") as server:
            told[revision] = [raw(server, contract, revision) for contract in STEPS]
    return told


def served(folder: Path, auth: str) -> HttpInProcess:
    shutil.copytree(EXAMPLES, folder / "libraries")
    store = str(folder / "satchel.db")
    options = ["--database", store, "--libraries", str(folder / "libraries"), "--user", USER]
    if auth == "nobody":
        return HttpInProcess(*options)
    command = [sys.executable, "-m", "satchel", "token", "create", "--user", USER, "--json", "--database", store]
    secret = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["token"]
    server = HttpInProcess(*options[:-2], "--auth", "token")
    server.token = secret
    return server


def raw(server: HttpInProcess, contract: str, revision: str) -> list[Any]:
    """Return what our raw client gets from a contract, step by step."""
    told, last = [], ""
    for (method, params), _ in STEPS[contract]:
        params = fill_in(params, last)
        answer = server.ask(method, params, revision=revision, path=f"/mcp/{contract}").json
        told.append(comparable(answer.get("result"), answer.get("error")))
        last = last_task(answer.get("result")) or last
    return told


def comparable(result: dict[str, Any] | None, error: dict[str, Any] | None) -> Any:
    """Return an outcome without what a revision adds for the client itself, and with generated values by their form."""
    if error is not None:
        told = {key: error[key] for key in ("code", "message", "data") if error.get(key) is not None}
        return {**told, "message": told["message"].removeprefix(f"MCP error {told['code']}: ")}
    assert result is not None
    kept = {name: value for name, value in result.items() if name not in ("_meta", "resultType", "ttlMs", "cacheScope")}
    for prompt in kept.get("prompts", ()):
        prompt.pop("inputSchema", None)  # twig's own, which some clients drop
    text = json.dumps(kept, sort_keys=True)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", text)
    return json.loads(re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z", "TIME", text))


def ending(outcome: dict[str, Any]) -> str | int:
    return outcome.get("code") or ("failed" if outcome.get("isError") else "ok")


def test_the_raw_client_is_answered_as_the_contracts_have_it(expected: dict[str, list[Any]]) -> None:
    endings = [[end for _, end in steps] for steps in STEPS.values()]

    found = {date: [[ending(one) for one in outcomes] for outcomes in told] for date, told in expected.items()}
    assert found == dict.fromkeys(REVISIONS, endings)


# -- Python -----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def connected(server: HttpInProcess, contract: str, mode: str, **more: Any) -> AsyncIterator[Client]:
    """Yield the official client, connected."""
    headers = {} if server.token is None else {"Authorization": f"Bearer {server.token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http_client:
        transport = streamable_http_client(f"{server.url}/mcp/{contract}", http_client=http_client)
        async with Client(transport, mode=mode, **more) as client:
            yield client


async def steps_by_python(client: Client, contract: str) -> list[Any]:
    """Return what the official client gets from a contract, step by step."""
    told, last = [], ""
    for (method, params), _ in STEPS[contract]:
        try:
            result = await step_by_python(client, method, fill_in(params, last))
            dumped = result.model_dump(by_alias=True, exclude_unset=True, mode="json")
            told.append(comparable(dumped, None))
            last = last_task(dumped) or last
        except MCPError as error:
            told.append(comparable(None, error.error.model_dump()))
    return told


async def step_by_python(client: Client, method: str, params: dict[str, Any]) -> Any:
    typed: dict[str, Callable[[], Any]] = {
        "tools/list": client.list_tools,
        "tools/call": lambda: client.call_tool(params["name"], params["arguments"]),
        "prompts/list": client.list_prompts,
        "prompts/get": lambda: client.get_prompt(params["name"], params.get("arguments")),
        "resources/list": client.list_resources,
        "resources/read": lambda: client.read_resource(params["uri"]),
        "completion/complete": lambda: client.complete(
            PromptReference(type="ref/prompt", name=params["ref"]["name"]), params["argument"]
        ),
    }
    return await typed[method]()


@pytest.mark.parametrize("mode", PYTHON)
def test_python_hands_over_what_was_sent(server: HttpInProcess, expected: dict[str, list[Any]], mode: str) -> None:
    async def conversation() -> list[Any]:
        told = []
        for contract in STEPS:
            async with connected(server, contract, mode) as client:
                assert client.protocol_version == PYTHON[mode]
                told.append(await steps_by_python(client, contract))
        return told

    assert asyncio.run(conversation()) == expected[PYTHON[mode]]


@pytest.mark.parametrize("mode", ["auto", NEWEST])
def test_python_hears_of_a_change(tmp_path: Path, mode: str) -> None:
    async def conversation(server: HttpInProcess) -> None:
        async with asyncio.timeout(40), connected(server, "twig", mode) as client:
            await client.list_prompts()  # who has not listed them misses nothing when they change
            async with client.listen(prompts_list_changed=True) as events:
                (tmp_path / "libraries" / "everyday" / "twig.toml").write_text("[prompts.only]\n")
                event = await anext(aiter(events))
                assert "prompt" in type(event).__name__.lower()
                left = [one.name for one in (await client.list_prompts()).prompts if one.name.startswith("everyday:")]
                assert left == []

    with served(tmp_path, "token") as server:
        asyncio.run(conversation(server))


def test_python_of_the_handshake_generation_hears_of_a_change(tmp_path: Path) -> None:
    """By GET, which it opens only where it is given a session id; ours means nothing."""

    async def conversation(server: HttpInProcess) -> None:
        heard: asyncio.Queue[str] = asyncio.Queue()

        async def hear(message: Any) -> None:
            heard.put_nowait(type(message).__name__)

        async with asyncio.timeout(40), connected(server, "twig", "legacy", message_handler=hear) as client:
            await client.list_prompts()
            # Its stream is opened behind its back.
            assert await asyncio.to_thread(eventually, lambda: server.metric("satchel_streams") == 1)
            (tmp_path / "libraries" / "everyday" / "twig.toml").write_text("[prompts.only]\n")
            assert await heard.get() == "PromptListChangedNotification"

    with served(tmp_path, "token") as server:
        asyncio.run(conversation(server))


# -- npm --------------------------------------------------------------------------------------------------------


@pytest.mark.npm
@pytest.mark.parametrize("client", NPM)
def test_typescript_hands_over_what_was_sent(
    server: HttpInProcess, expected: dict[str, list[Any]], client: str, tmp_path: Path
) -> None:
    plan = [(f"{server.url}/mcp/{contract}", steps_of(contract)) for contract in STEPS]
    problems = go_through(plan, client, NPM[client], expected, tmp_path, *([server.token] if server.token else []))
    not_found = [sum(end == -32601 for _, end in steps) if client == "auto" else 0 for steps in STEPS.values()]
    assert [len(each) for each in problems] == not_found, problems


@pytest.mark.npm
@pytest.mark.parametrize("client", [*NPM, *OLDER])
def test_typescript_hands_over_what_was_sent_on_stdio(
    expected: dict[str, list[Any]], client: str, tmp_path: Path
) -> None:
    options = ["--libraries", str(EXAMPLES), "--user", USER]
    # `todo` and `tasks` list output schemas in every revision. A client that knows these refuses answers without
    # structured content, which the two oldest revisions do not have.
    contracts = [one for one in STEPS if one not in ("todo", "tasks") or client not in REVISIONS[:2]]
    plan = [([*node.satchel(one, tmp_path / "satchel.db"), *options], steps_of(one)) for one in contracts]
    problems = go_through(plan, client, {**NPM, **OLDER}[client], expected, tmp_path)
    assert problems == [[]] * len(contracts)


def steps_of(contract: str) -> list[Step]:
    return [step for step, _ in STEPS[contract]]


def go_through(
    plan: list[tuple[Any, list[Step]]],
    client: str,
    revision: str,
    expected: dict[str, list[Any]],
    home: Path,
    *token: str,
) -> list[Any]:
    """Check what an npm client gets from each server; return what it complained of."""
    done = node.run("steps.mjs", client, json.dumps(plan), *token, home=home)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [one["version"] for one in told] == [revision] * len(plan)
    outcomes = [
        [comparable(one.get("result"), unwrapped(one.get("error"))) for one in each["outcomes"]] for each in told
    ]
    assert outcomes == expected[revision][: len(plan)]
    return [each["problems"] for each in told]


def unwrapped(error: dict[str, Any] | None) -> dict[str, Any] | None:
    """An error as it was sent: of the newest generation this client reads only status 400, though 404 has its own."""
    if error is None or error["kind"] != "SdkHttpError":
        return error
    assert error["data"]["status"] == 404
    sent: dict[str, Any] = json.loads(error["data"]["text"])["error"]
    return sent


@pytest.mark.npm
@pytest.mark.parametrize("client", NPM)
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_typescript_hears_of_a_change(tmp_path: Path, client: str, transport: str) -> None:
    with served(tmp_path, "token") as server:
        assert server.token is not None
        target = [f"{server.url}/mcp/twig", server.token]
        if transport == "stdio":
            target = [*node.satchel("twig", tmp_path / "unused.db"), "--libraries", str(tmp_path / "libraries")]
        manifest = tmp_path / "libraries" / "everyday" / "twig.toml"
        done = node.run("twig.mjs", client, str(manifest), *target, home=tmp_path)
    assert (done.returncode, done.stdout) == (0, "told\n"), done.stderr


@pytest.mark.npm
@pytest.mark.parametrize("client", NPM)
def test_typescript_without_a_token_is_not_let_in(tmp_path: Path, client: str) -> None:
    with served(tmp_path, "token") as server:
        done = node.run("steps.mjs", client, json.dumps([[f"{server.url}/mcp", []]]), home=tmp_path)

    assert done.returncode == 1
    assert re.search(r"UNAUTHORIZED|Unauthorized|401|bearer token", done.stderr), done.stderr


@pytest.mark.npm
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_and_lints_every_contract(tmp_path: Path, era: str) -> None:
    with served(tmp_path, "nobody") as server:
        for contract in STEPS:
            what, *strict = ["prompts"] if contract == "twig" else ["tools", "--strict"]
            target = ["--cli", f"{server.url}/mcp/{contract}", "--transport", "http"]
            options = ["--method", f"{what}/list", *strict, "--protocol-era", era, "--format", "json", "--quiet"]
            done = node.run("node_modules/.bin/mcp-inspector", *target, *options, home=tmp_path)
            issues = re.findall(r"Issue: (`type` is an array)?", done.stderr)
            # The documents of these two print such types, so they stay; there is nothing else to warn of.
            known = {"`type` is an array"} if contract in ("tasks", "todo") else set()
            assert (done.returncode, set(issues)) == (0, known)
            assert bool(done.stderr) == bool(issues), done.stderr
            listed = server.ask(f"{what}/list", path=f"/mcp/{contract}").result[what]
            named = [one["name"] for one in json.loads(done.stdout)["result"][what]]
            assert named == [one["name"] for one in listed] != []
