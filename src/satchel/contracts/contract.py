"""The definition of a contract: one literal table of tools, methods and failures. The runner reads it."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from msgspec import UNSET, Struct, UnsetType, structs

from satchel.contracts.content import without_nulls
from satchel.contracts.schema import Schema, answer_schema, json_schema
from satchel.errors import Refused
from satchel.model import Scope, StoreChange
from satchel.protocol import NEWEST, NO_CLIENT, Client, ClientChange, ProtocolError, Question, Revision
from satchel.storage.database import WAIT, Database, Tx
from satchel.work import Work

if TYPE_CHECKING:
    from satchel.library.catalog import Libraries  # takes 8 ms of a start, and most contracts use no libraries


class Reply(Struct, frozen=True):
    """An answer whose content is something other than the JSON of its structured part."""

    content: list[dict[str, Any]]
    structured: Struct | dict[str, Any] | None = None


Body = Struct | dict[str, Any] | str | Reply  # a tool's answer in the form of its contract
Result = dict[str, Any]  # a method's answer as MCP defines it
Row = TypeVar("Row")
Report = Callable[[float, float | None, str | None], None]  # progress, total, message


class NeedsConfirmation(Exception):
    """The user must be asked before a call continues; the runner sends the question and repeats the call."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.message)
        self.question = question


class Transactions:
    """The transactions of one call, one at a time. A call that has committed a write is not repeated."""

    def __init__(self, database: Database, scope: Scope, work: Work) -> None:
        self.has_committed = False  # a write transaction, after which the call must end
        self._database, self._scope, self._work = database, scope, work
        # All tries share a deadline; otherwise, a client could wait very long for a database that fails repeatedly.
        self._deadline = time.monotonic() + WAIT

    @contextmanager
    def open(self, context: "Context", *, writes: bool, lock_timeout: float | None = None) -> Iterator["Context"]:
        """Open a transaction, which commits at the end of the block, and yield its context.

        Raises:
            StoreConflict: another writer caused a rollback, and the call can be repeated.
            Abandoned: the call was cancelled.
        """
        assert not self.has_committed, "a call ends with its write, so that it can be tried again before that"
        self._work.check()
        begin = partial(self._database.write, lock_timeout=lock_timeout) if writes else self._database.read
        with begin(self._scope, self._deadline) as tx:
            self._work.check()  # the wait for this transaction may have been long
            with tx.bounded(self._work):
                yield structs.replace(context, tx=tx)
        self.has_committed = writes

    @property
    def can_write(self) -> bool:
        """Whether this process may write the store."""
        return not self._database.why_read_only


class Context(Struct, frozen=True):
    """The context of a tool or a method: a transaction, the libraries, and the scope of the caller."""

    scope: Scope
    tx: Tx  # set only if the contract reads the store and the tool does not open its own transactions
    find_libraries: "Callable[[], Libraries]"  # set only if the contract reads libraries
    transactions: Transactions | None = None  # the transactions of the call; None without a store
    tools: frozenset[str] = frozenset()  # the names of the tools that the caller may use
    report: Report = lambda *_: None  # reports the progress of the call to the client
    client: Client = NO_CLIENT  # the client's description of itself
    session: str = ""  # distinguishes clients of the same name; empty if the transport cannot
    revision: Revision = NEWEST  # of the request; the protocol adapts results to it, so few tools need it
    ask: Callable[[str], None] = lambda _: None  # see `confirm`
    own_project: str = ""  # the caller's current project, if the scope's project is another one
    work: Work = Work()  # the user to whom the call is charged, and its cancellation

    @property
    def libraries(self) -> "Libraries":
        """The libraries, which are loaded when a call first needs them."""
        return self.find_libraries()

    def read(self) -> AbstractContextManager["Context"]:
        """Open a read transaction, and yield its context."""
        assert self.transactions is not None, "this contract reads no store"
        return self.transactions.open(self, writes=False)

    def write(self, lock_timeout: float | None = None) -> AbstractContextManager["Context"]:
        """Open a write transaction, and yield its context; whatever the call does afterwards must not fail.

        With `lock_timeout`, fail after so many seconds of waiting for other writers.
        """
        assert self.transactions is not None, "this contract reads no store"
        return self.transactions.open(self, writes=True, lock_timeout=lock_timeout)

    @property
    def may_write(self) -> bool:
        """Whether the caller may write, and this process can."""
        return not self.scope.is_read_only and self.transactions is not None and self.transactions.can_write

    def confirm(self, message: str) -> None:
        """Ask the user to confirm what this call is about to do; continue if the client cannot ask.

        The call is rolled back, and repeated when the user has answered. Therefore the message must depend only on the
        arguments and the store, and a call may confirm only once.

        Raises:
            NeedsConfirmation: the user has not been asked yet.
            NotConfirmed: the user said no, or did not answer.
        """
        self.ask(message)

    def within(self, project: str | UnsetType) -> "Context":
        """Return the context for `project`; this context if the call names no project."""
        if project is UNSET or not project:
            return self
        scope = structs.replace(self.scope, project=project, why="the argument project")
        return structs.replace(self, scope=scope, own_project=self.here)

    @property
    def here(self) -> str:
        """The project in which the caller's next call will look for a name, unless that call names another one."""
        return self.own_project or self.scope.project


# The transaction of a tool or a method, which is committed when the answer is encoded. With None, a tool opens its own
# transactions by `context.read()` and `context.write()`, and does slow work outside of them; its answers must be small,
# because they are encoded after the commit.
Transaction = Literal["read", "write"] | None


class Tool(Struct, frozen=True):
    """One tool: its description for clients, and its function."""

    name: str
    description: str
    input: type[Struct]
    run: Callable[[Context, Any], Body]
    output: type[Struct] | None = None  # a successful answer; None: a text, or as output_schema describes
    transaction: Transaction = "read"
    at_least_one: tuple[str, ...] = ()  # at least one of these arguments is required
    annotations: dict[str, Any] | None = None
    size_argument: str | None = None  # the argument by which a caller asks for a shorter answer
    toolset: str = ""  # a server may be limited to some toolsets; a tool without one is always served
    output_schema: Schema | None = None  # published in tools/list; covers failures too
    make_meta: Callable[[], dict[str, Any]] | None = None  # the tool's `_meta` in tools/list, for extensions of MCP
    is_listed: bool = True  # False: callers that know the tool can call it, but tools/list omits it

    @property
    def writes(self) -> bool:
        """Whether the tool changes the store; a tool that opens its own transactions says so in its annotations."""
        if self.transaction is None:
            return not (self.annotations or {}).get("readOnlyHint", False)
        return self.transaction == "write"


class Method(Struct, frozen=True):
    """An MCP method that is not a tool: it returns the result for its parameters, or raises ProtocolError."""

    run: Callable[[Context, dict[str, Any]], Result]
    transaction: Literal["read"] | None = "read"


def find_row(failures: Mapping[type[Exception], Row], error: Exception) -> Row | None:
    """Return the row of `failures` for the most specific type of `error`; None if there is none."""
    return next((failures[kind] for kind in type(error).__mro__ if kind in failures), None)


class Contract(Struct, frozen=True, kw_only=True):
    """One exact wire surface."""

    name: str
    server_name: str
    capabilities: dict[str, Any]
    tools: tuple[Tool, ...] = ()
    methods: Mapping[str, Method] = {}
    failures: Mapping[type[Exception], Callable[[Any], Body]] = {}  # errors of tools; the most specific type applies
    method_failures: Mapping[type[Exception], Callable[[Any], ProtocolError]] = {}  # others are internal errors
    shape_failure: Callable[[Tool, Body], Body] | None = None  # shapes a failure whose form depends on the tool
    failure_schema: Callable[[Tool], Schema] = lambda _tool: {}  # the schema of a failed tool's answer
    lists_output_schemas: bool = False  # tools/list has the schemas of all answers, not only given ones
    # Instructions for a client that may call these tools; the second argument is the connection's user, if any.
    instructions: Callable[[Sequence[Tool], str | None], str | None] = lambda _tools, _user: None
    reads_store: bool = True
    reads_libraries: bool = False
    finds_project: bool = False  # the working directory names the project if no setting does
    uses_project: bool = True  # its project must exist before it is served
    reads_personal: bool = False  # every project can read the personal project
    acts_as_user: bool = False  # its calls act as the local user, unless another user is configured
    is_strict: bool = False  # unknown arguments are refused, and null is a value
    # A value that can only mean one of the right type is accepted: "5" for 5, one entry for a list of it.
    converts_types: bool = False
    # Unknown arguments are refused although the schemas allow them; the error for an unknown tool lists the known ones;
    # and the message of a JSON-RPC error includes the reason, not only the `data`.
    explains_mistakes: bool = False
    # The icon of each toolset, as the URI of a scalable image; the key "" is for the server and other tools.
    icons: Mapping[str, str] = {}
    # Improves the error for something that a tool did not find, in a read transaction after that of the tool.
    explain_missing: Callable[[Context, Refused], Refused] | None = None
    # Returns the scope of a call before its arguments are validated; raises Forbidden if they name another user.
    resolve_scope: Callable[[Scope, dict[str, Any]], Scope] | None = None
    translate_change: Callable[[StoreChange, Scope], Iterable[ClientChange]] | None = None

    def explain_failure(self, tool: Tool, error: Exception) -> Body:
        """Return an error in the words of this contract."""
        explain = find_row(self.failures, error)
        assert explain is not None, f"{self.name} has no words for {type(error).__name__}"
        body: Body = explain(error)
        return body if self.shape_failure is None else self.shape_failure(tool, body)

    def client_changes(self, changes: Iterable[StoreChange], scope: Scope) -> list[ClientChange]:
        """Translate changes for a client of a scope; drop those of other users, and those in projects closed to it."""
        found: dict[ClientChange, None] = {}
        for change in changes:
            if not change.is_open_to(scope):
                continue
            if change.what == "everything" and self.reads_store:
                return [ClientChange("everything")]
            if self.translate_change is not None:
                found.update(dict.fromkeys(self.translate_change(change, scope)))
        return list(found)

    def narrow(self, toolsets: Sequence[str], *, is_read_only: bool) -> "Contract":
        """Return the contract with only the tools of the given toolsets, or only those that do not write."""
        kept = tuple(
            tool
            for tool in self.tools
            if (not toolsets or not tool.toolset or tool.toolset in toolsets) and not (is_read_only and tool.writes)
        )
        return structs.replace(self, tools=kept)

    def describe_tool(self, tool: Tool) -> dict[str, Any]:
        """Return the entry of a tool in `tools/list`."""
        entry: dict[str, Any] = {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": json_schema(tool.input, is_strict=self.is_strict),
            "outputSchema": self.output_schema(tool) if self.lists_output_schemas else tool.output_schema,
            "annotations": tool.annotations,
            "icons": self.list_icons(tool.toolset),
            "_meta": None if tool.make_meta is None else tool.make_meta(),
        }
        return without_nulls(entry)

    def list_icons(self, toolset: str) -> list[dict[str, Any]] | None:
        """Return the icons of a toolset, or of the server, in MCP's form; None if there are none."""
        icon = self.icons.get(toolset)
        return None if icon is None else [{"src": icon}]

    def output_schema(self, tool: Tool) -> Schema:
        """Return the JSON Schema of a tool's answers, including failures."""
        if tool.output_schema is not None:
            return tool.output_schema
        success, failure = answer_schema(tool.output), self.failure_schema(tool)
        if tool.output is None:
            return {"oneOf": [{**success, "not": {"pattern": "^Error: "}}, failure]}
        return {"type": "object", "oneOf": [success, failure]}  # MCP requires this type at the top level

    def publish_schema(self, tool: Tool) -> Schema:
        """Return the JSON Schema of a tool's input and output, in the format of the tasks document."""
        return {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": tool.name,
            "description": tool.description,
            "type": "object",
            "properties": {
                "input": json_schema(tool.input, is_strict=self.is_strict),
                "output": self.output_schema(tool),
            },
        }
