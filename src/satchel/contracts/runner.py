"""Runs calls by the table of a contract: checks arguments, opens one transaction, and shapes the answer."""

import time
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Raw, Struct, to_builtins
from msgspec.structs import replace

from satchel import __version__
from satchel.contracts import content
from satchel.contracts.contract import (
    Body,
    Context,
    Contract,
    NeedsConfirmation,
    Reply,
    Report,
    Result,
    Tool,
    Transaction,
    Transactions,
    find_row,
)
from satchel.contracts.schema import fields_of, parse
from satchel.errors import (
    Abandoned,
    AnswerTooLarge,
    EntryRefused,
    NotConfirmed,
    NotFound,
    Refused,
    SatchelError,
    StoreConflict,
    StoreError,
)
from satchel.log import log, log_call, log_surprise
from satchel.model import Author, Scope
from satchel.protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    NEWEST,
    Call,
    Client,
    Offer,
    ProtocolError,
    Revision,
    fit_result,
    make_question,
)
from satchel.protocol.codec import encode
from satchel.protocol.cursors import refuse_cursor
from satchel.services import rules
from satchel.storage.database import Database, Tx
from satchel.work import Work

if TYPE_CHECKING:
    from satchel.library.catalog import Libraries  # takes 8 ms of a start, and most contracts use no libraries

Value = TypeVar("Value")

_TRIES = 10  # attempts at a transaction that other writers roll back


class Runner:
    """One contract, served from a store, from libraries, or from both."""

    def __init__(
        self,
        contract: Contract,
        database: Database | None,
        find_libraries: "Callable[[], Libraries] | None" = None,
        local_user: Callable[[], str] = lambda: "",
    ) -> None:
        self._contract = contract
        self._database = database
        self._find_libraries = find_libraries
        self._local_user = local_user  # the author of changes if the scope names no user
        self.tools = {tool.name: tool for tool in contract.tools}
        self._names = frozenset(self.tools)
        self._reading_names = frozenset(tool.name for tool in contract.tools if not tool.writes)
        self._list_tools = cache(self._describe_tools)
        self.offer_to = lru_cache(maxsize=256)(self._make_offer)

    @property
    def offer(self) -> Offer:
        """The server's description for clients that act for no particular user."""
        return self.offer_to(None)

    def _make_offer(self, user: str | None) -> Offer:
        """Return the description of the server for clients that act for a user."""
        methods = set(self._contract.methods)
        if "tools" in self._contract.capabilities:  # even if `narrow` left no tool
            methods |= {"tools/list", "tools/call"}
        server = {"name": self._contract.server_name, "version": __version__, "icons": self._contract.list_icons("")}
        return Offer(
            server=content.without_nulls(server),
            capabilities=self._contract.capabilities,
            methods=frozenset(methods),
            instructions=self._contract.instructions(self._contract.tools, user),
            tells_reasons=self._contract.explains_mistakes,
        )

    @property
    def header_arguments(self) -> dict[str, dict[str, str]]:
        """The arguments that clients must repeat in a header, with the header's name, for each tool."""
        return {
            tool.name: {
                field.name: f"Mcp-Param-{field.schema['x-mcp-header']}"
                for field in fields_of(tool.input)
                if "x-mcp-header" in field.schema
            }
            for tool in self._contract.tools
        }

    def tool(self, call: Call) -> Tool | None:
        """Return the tool that a call runs; None if the call is of another method."""
        return self.tools.get(call.params["name"]) if call.method == "tools/call" else None

    def answer(self, call: Call, scope: Scope, report: Report, work: Work | None = None) -> Result:
        """Return the result of a call; its members are encoded, so that the size is known.

        Raises:
            ProtocolError: the client gets a JSON-RPC error.
            Abandoned: the work was cancelled; nothing of it remains.
        """
        work = work or Work()
        if call.method in self._contract.methods:
            return self._run_method(call, scope, report, work)
        if call.method == "tools/list":
            refuse_cursor(call.params.get("cursor"))
            return {"tools": self._list_tools(call.revision, is_read_only=scope.is_read_only)}
        return self.run_tool(call.params["name"], call.params["arguments"], scope, report, call, work)

    def run_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        scope: Scope,
        report: Report,
        call: Call | None = None,
        work: Work | None = None,
    ) -> Result:
        """Run a tool and return its result, success or failure; `call` is None for a request without MCP.

        Raises:
            ProtocolError: there is no such tool.
            Abandoned: the work was cancelled; nothing of it remains.
        """
        started, tool = time.perf_counter(), self.tools.get(name)
        if tool is None:
            log_call(name, "UnknownTool", started)
            raise ProtocolError(INVALID_PARAMS, f"Unknown tool: {name}{self._name_tools(scope)}")
        try:
            result = self._try_tool(tool, arguments, scope, report, call, work or Work(), _tool_result)
            outcome = "ok"
        except Abandoned:
            log_call(name, "Abandoned", started)
            raise
        except NeedsConfirmation as needed:
            result = needed.question.result
            outcome = "asked"
        except Exception as error:
            if not isinstance(error, SatchelError):
                log_surprise(name)
            elif isinstance(error, StoreError):
                log(f"{name}: {error}")
            result = self._explain(tool, error, call.revision if call else NEWEST)
            outcome = type(error).__name__ if isinstance(error, SatchelError) else "surprise"
        log_call(name, outcome, started)
        return result

    def perform(
        self, name: str, arguments: dict[str, Any], scope: Scope
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Run a tool for a caller in this process; return the structured part and the content of the answer.

        Raises:
            SatchelError: the tool failed; nothing of it remains.
        """
        return self._try_tool(self.tools[name], arguments, scope, lambda *_: None, None, Work(), _take_values)

    def describe_failure(self, name: str, error: SatchelError) -> dict[str, Any]:
        """Return an error in the words that the tool uses in its answers."""
        body = self._contract.explain_failure(self.tools[name], error)
        assert isinstance(body, Reply) and isinstance(body.structured, dict), "the failures of this contract are so"
        return body.structured

    def _try_tool(
        self,
        tool: Tool,
        arguments: dict[str, Any],
        scope: Scope,
        report: Report,
        call: Call | None,
        work: Work,
        take: Callable[[Tool, Body, Revision], Value],
    ) -> Value:
        """Run a tool, apply `take` to its answer, and return the result; all of this happens before the commit."""
        contract = self._contract
        if contract.resolve_scope is not None:
            scope = contract.resolve_scope(scope, arguments)
        if tool.writes:
            scope = self._sign(scope, call)
        checked = parse(
            tool.input,
            arguments,
            is_strict=contract.is_strict,
            refuses_unknown=contract.explains_mistakes,
            converts_types=contract.converts_types,
            at_least_one=tool.at_least_one,
        )
        start = self._start(scope, report, call, work)
        return self._carry_out(start, tool.transaction, lambda to: take(tool, tool.run(to, checked), to.revision))

    def _run_method(self, call: Call, scope: Scope, report: Report, work: Work) -> Result:
        method = self._contract.methods[call.method]
        try:
            return self._carry_out(
                self._start(scope, report, call, work),
                method.transaction,
                lambda context: _encode(call.method, None, call.revision, method.run(context, call.params)),
            )
        except (ProtocolError, Abandoned):
            raise
        except Exception as error:
            explain = find_row(self._contract.method_failures, error)
            if isinstance(error, StoreError):
                log(f"{call.method}: {error}")
            elif explain is None:
                log_surprise(call.method)
            raise ProtocolError(INTERNAL_ERROR, "Internal error") if explain is None else explain(error) from None

    def _start(self, scope: Scope, report: Report, call: Call | None, work: Work) -> Context:
        """Return the context of a call without an open transaction."""
        return Context(
            scope,
            cast("Tx", None),
            cast("Callable[[], Libraries]", self._find_libraries),
            None if self._database is None else Transactions(self._database, scope, work),
            tools=self._reading_names if scope.is_read_only else self._names,
            report=report,
            client=call.client if call else Client(scope.author.client, scope.author.client_version),
            session=call.session if call else "",
            revision=call.revision if call else NEWEST,
            ask=partial(_check_confirmed, call),
            work=work,
        )

    def _sign(self, scope: Scope, call: Call | None) -> Scope:
        """Add the user and the client, which history records, to a scope; the command line has already set its own."""
        if call is None and scope.author.contract:
            return scope
        session = ""
        if call and call.session:
            session = rules.shorten_session(rules.make_session_key(call.client.name, call.session))
        author = Author(
            user=scope.user or self._local_user(),
            token=scope.author.token,
            client=call.client.name if call else "",
            client_version=call.client.version if call else "",
            contract=self._contract.name,
            caller="model" if call else "",
            session=session,
        )
        return replace(scope, author=author)

    def _carry_out(self, start: Context, transaction: Transaction, run: Callable[[Context], Value]) -> Value:
        """Run a call in one transaction, or let it open its own; retry it if another writer caused a rollback.

        The answer is complete before the commit: if it is refused, the call changes nothing.
        """
        for attempt in range(1, _TRIES + 1):
            try:
                if start.transactions is None or transaction is None:
                    start.work.check()
                    return run(start)
                with start.write() if transaction == "write" else start.read() as context:
                    return run(context)
            except StoreConflict:
                if attempt == _TRIES or (start.transactions and start.transactions.has_committed):
                    raise
            except (NotFound, EntryRefused) as error:
                raise self._explain_missing(start, error) from error
        raise AssertionError("the last try returns or raises")

    def _explain_missing(self, start: Context, error: Refused) -> Refused:
        """Return the contract's own error for a missing item."""
        if self._contract.explain_missing is None:
            return error
        with start.read() as context:
            return self._contract.explain_missing(context, error)

    def _explain(self, tool: Tool, error: Exception, revision: Revision) -> Result:
        """Turn an error of a tool into the result that reports it."""
        try:
            return _tool_result(tool, self._contract.explain_failure(tool, error), revision, is_error=True)
        except AnswerTooLarge as larger:  # the error itself may be too long, because it quotes the client's message
            return _tool_result(tool, self._contract.explain_failure(tool, larger), revision, is_error=True)

    def _name_tools(self, scope: Scope) -> str:
        """List the caller's tools for the end of an error message, if the contract explains mistakes."""
        if not self._contract.explains_mistakes:
            return ""
        tools = self._contract.narrow((), is_read_only=scope.is_read_only).tools
        return f". There are {', '.join(tool.name for tool in tools if tool.is_listed)}."

    def _describe_tools(self, revision: Revision, *, is_read_only: bool) -> Raw:
        contract = self._contract.narrow((), is_read_only=is_read_only)
        tools = [contract.describe_tool(tool) for tool in contract.tools if tool.is_listed]
        return Raw(encode(fit_result(revision, {"tools": tools})["tools"]))


def _check_confirmed(call: Call | None, message: str) -> None:
    """Raise an error unless the user agreed or cannot be asked."""
    if call is None or not call.can_ask:
        return
    question = make_question(call.params, message)
    action = call.answers.get(question.key)
    if action is None:
        raise NeedsConfirmation(question)
    if action != "accept":
        raise NotConfirmed(action)


def _take_values(_tool: Tool, body: Body, _revision: Revision) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the structured part and the content of an answer."""
    assert isinstance(body, Reply), "the tools of this contract answer so"
    return to_builtins(body.structured), to_builtins(body.content)


def _tool_result(tool: Tool, body: Body, revision: Revision, *, is_error: bool = False) -> Result:
    result: Result = {}
    if isinstance(body, str):
        result["content"] = [{"type": "text", "text": body}]
    elif isinstance(body, Reply):
        result["content"] = body.content
        if body.structured is not None:
            result["structuredContent"] = body.structured
    else:
        raw = encode(body)
        result["content"] = [{"type": "text", "text": raw.decode()}]
        result["structuredContent"] = Raw(raw)
    result["isError"] = is_error
    return _encode(tool.name, tool.size_argument, revision, result)


def _encode(what: str, argument: str | None, revision: Revision, result: Result) -> Result:
    """Return a result in the form of a revision, its lists and objects encoded; the protocol later extends `_meta`.

    Raises:
        AnswerTooLarge: the members together are too large; the error suggests `argument` for a smaller answer.
    """
    encoded, size = fit_result(revision, result), 0
    for name, value in encoded.items():
        if isinstance(value, list | dict | Struct) and name != "_meta":
            encoded[name] = value = Raw(encode(value))
        size += len(value) if isinstance(value, Raw) else 0
    if size > content.MAX_ANSWER_BYTES:
        raise AnswerTooLarge(what, content.MAX_ANSWER_BYTES, argument)
    return encoded
