"""Carries out calls by the table of a contract: arguments checked, one transaction, the answer in its words."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Raw
from msgspec.structs import replace

from satchel import __version__
from satchel.contracts.contract import Body, Context, Contract, Reply, Report, Result, Tool, find_row
from satchel.contracts.schema import fields_of, parse
from satchel.errors import SatchelError, StoreConflict, StoreError
from satchel.log import log, log_surprise
from satchel.model import Author, Scope
from satchel.protocol import INTERNAL_ERROR, INVALID_PARAMS, Call, Client, Offer, ProtocolError
from satchel.protocol.codec import encode
from satchel.protocol.cursors import refuse_cursor
from satchel.storage.database import Database, Tx

if TYPE_CHECKING:
    from satchel.library.catalog import Libraries  # 8 ms of a start, and most contracts read no libraries

Value = TypeVar("Value")

_TRIES = 5  # of a transaction that was rolled back because of another writer


class Runner:
    """One contract, served from a store, from libraries, or from both."""

    def __init__(
        self,
        contract: Contract,
        database: Database | None,
        libraries: "Libraries | None" = None,
        local_user: Callable[[], str] = lambda: "",
    ) -> None:
        self._contract = contract
        self._database = database
        self._libraries = libraries
        self._local_user = local_user  # who changes something where the scope names no user
        self.tools = {tool.name: tool for tool in contract.tools}
        self._names = frozenset(self.tools)
        self._reading_names = frozenset(tool.name for tool in contract.tools if not tool.writes)
        self._entries: list[dict[str, Any]] | None = None

    @property
    def offer(self) -> Offer:
        """What this server offers to clients."""
        methods, instructions = set(self._contract.methods), self._contract.instructions
        if self.tools:
            methods |= {"tools/list", "tools/call"}
        return Offer(
            server={"name": self._contract.server_name, "version": __version__},
            capabilities=self._contract.capabilities,
            methods=frozenset(methods),
            instructions=None if instructions is None else instructions(self._contract.tools),
        )

    @property
    def header_arguments(self) -> dict[str, dict[str, str]]:
        """By tool: the arguments that its schema has clients repeat in a header, and the name of the header."""
        return {
            tool.name: {
                field.name: f"Mcp-Param-{field.schema['x-mcp-header']}"
                for field in fields_of(tool.input)
                if "x-mcp-header" in field.schema
            }
            for tool in self._contract.tools
        }

    def tool(self, call: Call) -> Tool | None:
        """The tool that a call is for; None for a call of another method."""
        return self.tools.get(call.params["name"]) if call.method == "tools/call" else None

    def answer(self, call: Call, scope: Scope, report: Report) -> Result:
        """The result of a call.

        Raises:
            ProtocolError: for what goes to the client as a JSON-RPC error.
        """
        if call.method in self._contract.methods:
            return self._run_method(call, scope, report)
        if call.method == "tools/list":
            refuse_cursor(call.params.get("cursor"))
            return {"tools": self._list_tools()}
        body, is_ok = self.run_tool(call.params["name"], call.params["arguments"], scope, report, call.client)
        return _tool_result(body, is_error=not is_ok)

    def run_tool(
        self, name: str, arguments: dict[str, Any], scope: Scope, report: Report, client: Client | None = None
    ) -> tuple[Body, bool]:
        """What a tool answers, and whether it succeeded; `client` is None for a call without MCP.

        Raises:
            ProtocolError: there is no such tool.
        """
        tool = self.tools.get(name)
        if tool is None:
            raise ProtocolError(INVALID_PARAMS, f"Unknown tool: {name}")
        contract, run, started, outcome = self._contract, tool.run, time.perf_counter(), "ok"
        try:
            if contract.resolve_scope is not None:
                scope = contract.resolve_scope(scope, arguments)
            if tool.writes:
                scope = self._sign(scope, client)
            checked = parse(tool.input, arguments, is_strict=contract.is_strict, at_least_one=tool.at_least_one)
            body = self._transact(scope, report, lambda context: run(context, checked), writes=tool.writes)
        except SatchelError as error:
            body, outcome = contract.explain_failure(tool, error), type(error).__name__
            if isinstance(error, StoreError):
                log(f"{name}: {error}")
        except Exception as error:
            log_surprise(name)
            body, outcome = contract.explain_failure(tool, error), "surprise"
        log(f"{name} {outcome} {(time.perf_counter() - started) * 1000:.1f} ms")
        return body, outcome == "ok"

    def _sign(self, scope: Scope, client: Client | None) -> Scope:
        """A scope whose changes history attributes to its user and client."""
        author = Author(
            user=scope.user or self._local_user(),
            token=scope.author.token,
            client=client.name if client else "",
            client_version=client.version if client else "",
            contract=self._contract.name,
            caller="model" if client else "",
        )
        return replace(scope, author=author)

    def _run_method(self, call: Call, scope: Scope, report: Report) -> Result:
        method = self._contract.methods[call.method]
        try:
            return self._transact(scope, report, lambda context: method(context, call.params), writes=False)
        except ProtocolError:
            raise
        except Exception as error:
            explain = find_row(self._contract.method_failures, error)
            if explain is not None:
                raise explain(error) from None
            log_surprise(call.method)
            raise ProtocolError(INTERNAL_ERROR, "Internal error") from None

    def _transact(self, scope: Scope, report: Report, run: Callable[[Context], Value], *, writes: bool) -> Value:
        """Run something in one transaction and commit it; try again if another writer caused a rollback."""
        for attempt in range(1, _TRIES + 1):
            try:
                with self._open(scope, report, writes=writes) as context:
                    value = run(context)
                self._follow_up(context)
                return value
            except StoreConflict:
                if attempt == _TRIES:
                    raise
        raise AssertionError("the last try returns or raises")

    @contextmanager
    def _open(self, scope: Scope, report: Report, *, writes: bool) -> Iterator[Context]:
        tools = self._reading_names if scope.is_read_only else self._names
        libraries = cast("Libraries", self._libraries)
        if self._database is None:
            yield Context(scope, cast("Tx", None), libraries, tools, report)
            return
        with self._database.write(scope) if writes else self._database.read(scope) as tx:
            yield Context(scope, tx, libraries, tools, report)

    def _follow_up(self, context: Context) -> None:
        if not context.followups or self._database is None:
            return
        try:
            with self._database.write(context.scope) as tx:
                for act in context.followups:
                    act(tx)
        except SatchelError as error:
            log(f"after the answer: {error}")
        except Exception:
            log_surprise("after the answer")  # the call itself has succeeded

    def _list_tools(self) -> list[dict[str, Any]]:
        if self._entries is None:
            self._entries = [self._contract.describe_tool(tool) for tool in self._contract.tools]
        return self._entries


def _tool_result(body: Body, *, is_error: bool) -> Result:
    if isinstance(body, str):
        return {"content": [{"type": "text", "text": body}], "isError": is_error}
    if isinstance(body, Reply):
        result = {"content": body.content, "isError": is_error}
        return result if body.structured is None else {**result, "structuredContent": body.structured}
    raw = encode(body)
    content = [{"type": "text", "text": raw.decode()}]
    return {"content": content, "structuredContent": Raw(raw), "isError": is_error}
