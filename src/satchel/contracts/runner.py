"""Carries out calls by the table of a contract: arguments checked, one transaction, the answer in its words."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Raw, Struct

from satchel import __version__
from satchel.contracts.contract import Body, Context, Contract, Reply, Report, Tool
from satchel.contracts.schema import json_schema, parse
from satchel.errors import SatchelError, StoreConflict, StoreError
from satchel.log import log, log_surprise
from satchel.model import Scope
from satchel.protocol import INTERNAL_ERROR, INVALID_PARAMS, Call, Offer, ProtocolError
from satchel.protocol.codec import encode
from satchel.protocol.pages import refuse_cursor
from satchel.storage.database import Database

if TYPE_CHECKING:  # a store needs no libraries, and a cold start none of what they need
    from satchel.library.catalog import Libraries

_TRIES = 5  # of a unit of work that was undone because two writers got in each other's way


class Runner:
    """One contract, served from a store, from libraries, or from both."""

    def __init__(self, contract: Contract, database: Database | None, libraries: "Libraries | None" = None) -> None:
        self._contract = contract
        self._database = database
        self._libraries = libraries
        self._tools = {tool.name: tool for tool in contract.tools}
        self._callable = frozenset(self._tools)
        self._reading = frozenset(tool.name for tool in contract.tools if not tool.writes)
        self._tool_list: list[dict[str, Any]] | None = None

    @property
    def offer(self) -> Offer:
        """What clients are told of this server."""
        methods, instructions = set(self._contract.methods), self._contract.instructions
        if self._tools:
            methods |= {"tools/list", "tools/call"}
        return Offer(
            server={"name": self._contract.server_name, "version": __version__},
            capabilities=self._contract.capabilities,
            methods=frozenset(methods),
            instructions=None if instructions is None else instructions(self._contract.tools),
        )

    def tool(self, call: Call) -> Tool | None:
        """The tool that a call is for, where it is for one."""
        return self._tools.get(call.params["name"]) if call.method == "tools/call" else None

    def tool_named(self, name: str) -> Tool | None:
        """The tool of that name."""
        return self._tools.get(name)

    def answer(self, call: Call, scope: Scope, report: Report) -> dict[str, Any]:
        """The result of a call.

        Raises:
            ProtocolError: for what goes to the client as a JSON-RPC error.
        """
        if call.method == "tools/list":
            refuse_cursor(call.params.get("cursor"))
            return {"tools": self._listed_tools()}
        if call.method == "tools/call":
            body, is_ok = self.run_tool(call.params["name"], call.params["arguments"], scope, report)
            return _tool_result(body, is_error=not is_ok)
        return self._call_method(call, scope)

    def run_tool(self, name: str, arguments: dict[str, Any], scope: Scope, report: Report) -> tuple[Body, bool]:
        """What a tool says, and whether it succeeded.

        Raises:
            ProtocolError: there is no such tool.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise ProtocolError(INVALID_PARAMS, f"Unknown tool: {name}")
        started = time.perf_counter()
        try:
            self._contract.admit(scope, arguments)
            parsed = parse(tool.input, arguments, is_strict=self._contract.is_strict, at_least_one=tool.at_least_one)
            body, outcome = self._run(tool, parsed, self._contract.acting(scope, parsed), report), "ok"
        except SatchelError as error:
            body, outcome = self._contract.failure(tool, error), type(error).__name__
            if isinstance(error, StoreError):
                log(f"{name}: {error}")
        except Exception:
            log_surprise(name)
            body, outcome = self._contract.shaped(tool, self._contract.apology), "surprise"
        log(f"{name} {outcome} {(time.perf_counter() - started) * 1000:.1f} ms")
        return body, outcome == "ok"

    def _listed_tools(self) -> list[dict[str, Any]]:
        if self._tool_list is None:
            self._tool_list = [listed_tool(self._contract, tool) for tool in self._contract.tools]
        return self._tool_list

    def _run(self, tool: Tool, arguments: Struct, scope: Scope, report: Report) -> Body:
        """Run a tool in one transaction, again where two writers got in each other's way."""
        for attempt in range(1, _TRIES + 1):
            try:
                with self._open(scope, writes=tool.writes) as context:
                    extra = (report,) if tool.reports else ()
                    body = tool.run(context, arguments, *extra)
                self._follow_up(context)
                return body
            except StoreConflict:
                if attempt == _TRIES:
                    raise
        raise AssertionError("the last try returns or raises")

    def _call_method(self, call: Call, scope: Scope) -> dict[str, Any]:
        try:
            with self._open(scope) as context:
                result = self._contract.methods[call.method](context, call.params)
            self._follow_up(context)
            return result
        except ProtocolError:
            raise
        except Exception:
            log_surprise(call.method)
            raise ProtocolError(INTERNAL_ERROR, "Internal error") from None

    @contextmanager
    def _open(self, scope: Scope, *, writes: bool = False) -> Iterator[Context]:
        tools = self._reading if scope.is_read_only else self._callable
        if self._database is None:
            yield Context(scope, None, self._libraries, tools)
            return
        with self._database.write(scope) if writes else self._database.read(scope) as tx:
            yield Context(scope, tx, self._libraries, tools, [])

    def _follow_up(self, context: Context) -> None:
        if not context.followups or self._database is None:
            return
        try:
            with self._database.write(context.scope) as tx:
                for act in context.followups:
                    act(tx)
        except SatchelError as error:
            log(f"after the answer: {error}")


def listed_tool(contract: Contract, tool: Tool) -> dict[str, Any]:
    """A tool as `tools/list` shows it."""
    listed: dict[str, Any] = {"name": tool.name}
    if tool.title is not None:
        listed["title"] = tool.title
    listed["description"] = tool.description
    listed["inputSchema"] = {**json_schema(tool.input, is_strict=contract.is_strict), **tool.keywords}
    if tool.output_schema is not None:
        listed["outputSchema"] = tool.output_schema
    if tool.annotations is not None:
        listed["annotations"] = tool.annotations
    return listed


def _tool_result(body: Body, *, is_error: bool) -> dict[str, Any]:
    if isinstance(body, str):
        return {"content": [{"type": "text", "text": body}], "isError": is_error}
    if isinstance(body, Reply):
        result = {"content": body.content, "isError": is_error}
        return result if body.structured is None else {**result, "structuredContent": body.structured}
    raw = encode(body)
    content = [{"type": "text", "text": raw.decode()}]
    return {"content": content, "structuredContent": Raw(raw), "isError": is_error}
