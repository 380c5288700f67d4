"""Carries out calls by the table of a contract: arguments checked, one transaction, the answer in its words."""

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Raw, Struct

from satchel import __version__
from satchel.contracts.contract import Body, Contract, Report, Tool
from satchel.contracts.schema import json_schema, parse
from satchel.errors import SatchelError, StoreConflict, StoreError
from satchel.log import log, log_surprise
from satchel.model import Scope
from satchel.protocol import INTERNAL_ERROR, INVALID_PARAMS, Call, Offer, ProtocolError
from satchel.protocol.pages import refuse_cursor
from satchel.protocol.wire import encode
from satchel.storage.database import Database

if TYPE_CHECKING:  # a store needs no libraries, and a cold start none of what they need
    from satchel.library.catalog import Libraries

_TRIES = 5  # of a unit of work that was undone because two writers got in each other's way


class Runner:
    """One contract, served from one store, or from libraries, for one scope."""

    def __init__(
        self, contract: Contract, database: Database | None, scope: Scope, libraries: "Libraries | None" = None
    ) -> None:
        self._contract = contract
        self._database = database
        self._libraries = libraries
        self._scope = scope
        self._tools = {tool.name: tool for tool in contract.tools}
        self._tool_list: list[dict[str, Any]] | None = None

    @property
    def offer(self) -> Offer:
        """What clients are told of this server."""
        methods = set(self._contract.methods)
        if self._tools:
            methods |= {"tools/list", "tools/call"}
        return Offer(
            server={"name": self._contract.server_name, "version": __version__},
            capabilities=self._contract.capabilities,
            methods=frozenset(methods),
            instructions=self._contract.instructions,
        )

    def answer(self, call: Call, report: Report) -> dict[str, Any]:
        """The result of a call.

        Raises:
            ProtocolError: for what goes to the client as a JSON-RPC error.
        """
        if call.method == "tools/list":
            refuse_cursor(call.params.get("cursor"))
            return {"tools": self._listed_tools()}
        if call.method == "tools/call":
            return self._call_tool(call.params["name"], call.params["arguments"], report)
        return self._call_method(call)

    def _listed_tools(self) -> list[dict[str, Any]]:
        if self._tool_list is None:
            self._tool_list = [
                {"name": tool.name, "description": tool.description, "inputSchema": self._input_schema(tool)}
                for tool in self._contract.tools
            ]
        return self._tool_list

    def _input_schema(self, tool: Tool) -> dict[str, Any]:
        return json_schema(tool.input, is_strict=self._contract.is_strict)

    def _call_tool(self, name: str, arguments: dict[str, Any], report: Report) -> dict[str, Any]:
        tool = self._tools.get(name)
        if tool is None:
            raise ProtocolError(INVALID_PARAMS, f"Unknown tool: {name}")
        started = time.perf_counter()
        try:
            self._contract.admit(self._scope, arguments)
            parsed = parse(tool.input, arguments, is_strict=self._contract.is_strict, at_least_one=tool.at_least_one)
            body, outcome = self._run(tool, parsed, report), "ok"
        except SatchelError as error:
            body, outcome = self._contract.failure(tool, error), type(error).__name__
            if isinstance(error, StoreError):
                log(f"{name}: {error}")
        except Exception:
            log_surprise(name)
            body, outcome = self._contract.shaped(tool, self._contract.apology), "surprise"
        log(f"{name} {outcome} {(time.perf_counter() - started) * 1000:.1f} ms")
        return _tool_result(body, is_error=outcome != "ok")

    def _run(self, tool: Tool, arguments: Struct, report: Report) -> Body:
        for _ in range(_TRIES - 1):
            with suppress(StoreConflict):
                return self._try(tool, arguments, report)
        return self._try(tool, arguments, report)

    def _try(self, tool: Tool, arguments: Struct, report: Report) -> Body:
        assert self._database is not None
        scope = self._contract.acting(self._scope, arguments)
        with self._database.write(scope) if tool.writes else self._database.read(scope) as tx:
            if tool.reports:
                return tool.run(tx, self._scope, arguments, report)
            return tool.run(tx, self._scope, arguments)

    def _call_method(self, call: Call) -> dict[str, Any]:
        method = self._contract.methods[call.method]
        try:
            if self._database is None:
                return method(self._libraries, self._scope, call.params)
            with self._database.read(self._scope) as tx:
                return method(tx, self._scope, call.params)
        except ProtocolError:
            raise
        except Exception:
            log_surprise(call.method)
            raise ProtocolError(INTERNAL_ERROR, "Internal error") from None


def _tool_result(body: Body, *, is_error: bool) -> dict[str, Any]:
    if isinstance(body, str):
        return {"content": [{"type": "text", "text": body}], "isError": is_error}
    raw = encode(body)
    content = [{"type": "text", "text": raw.decode()}]
    return {"content": content, "structuredContent": Raw(raw), "isError": is_error}
