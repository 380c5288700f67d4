"""What a contract is: one literal table of tools, methods and failures, which the runner reads."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct, UnsetType, structs

from satchel.errors import SatchelError
from satchel.model import Scope, StoreChange
from satchel.protocol import ClientChange
from satchel.storage.database import Tx

if TYPE_CHECKING:  # a store needs no libraries, and a cold start none of what they need
    from satchel.library.catalog import Libraries


class Reply(Struct, frozen=True):
    """What a tool says where the text for people is not the JSON for machines, or is no text at all."""

    content: list[dict[str, Any]]
    structured: Struct | dict[str, Any] | None = None


Body = Struct | dict[str, Any] | str | Reply  # what a tool says, in the contract's own words
Schema = dict[str, Any]
Result = dict[str, Any]  # what a method answers, as MCP has it
Report = Callable[[float, float | None, str | None], None]  # progress, total, message


class Context(Struct, frozen=True):
    """What a tool or a method works with: one transaction, the libraries, and on whose behalf it acts."""

    scope: Scope
    store: Tx | None = None  # None: the contract reads libraries only
    shelf: "Libraries | None" = None  # None: the contract reads the store only
    tools: frozenset[str] = frozenset()  # the names of the tools that the caller may use
    followups: list[Callable[[Tx], None]] = []

    @property
    def tx(self) -> Tx:
        """The transaction of this call."""
        assert self.store is not None, "the contract says reads_store=False"
        return self.store

    @property
    def libraries(self) -> "Libraries":
        """The libraries that this server reads."""
        assert self.shelf is not None, "the contract says reads_libraries=False"
        return self.shelf

    def after_commit(self, act: Callable[[Tx], None]) -> None:
        """Run something in a transaction of its own once this call has succeeded; a failure there is only logged."""
        self.followups.append(act)

    def within(self, project: str | UnsetType) -> "Context":
        """The context of a call that may name another project."""
        if project is UNSET or not project:
            return self
        scope = structs.replace(self.scope, project=project, why="the argument project")
        return structs.replace(self, scope=scope)


class Tool(Struct, frozen=True, kw_only=True):
    """One tool: what clients see of it, and what it does in one transaction."""

    name: str
    description: str
    input: type[Struct]
    output: type[Struct] | None  # what it answers when all goes well; None for a text
    run: Callable[..., Body]  # (context, arguments), and report where it reports progress
    writes: bool = False
    reports: bool = False
    is_lookup: bool = False  # reads one row by its key, so an embedded store may answer it in the event loop
    at_least_one: tuple[str, ...] = ()  # of these arguments
    keywords: Schema = {}  # of the printed inputSchema, besides what the arguments say
    title: str | None = None
    annotations: dict[str, bool] | None = None
    toolset: str = ""  # by which a server may be narrowed; without one it is always there
    output_schema: Schema | None = None  # where it is told to clients: every answer satisfies it, failures too


# One MCP method beside the tools: answers the parameters of a request, or raises ProtocolError.
Method = Callable[[Context, dict[str, Any]], Result]


class Contract(Struct, frozen=True, kw_only=True):
    """One exact wire surface."""

    name: str
    server_name: str
    capabilities: dict[str, Any]
    tools: tuple[Tool, ...] = ()
    methods: Mapping[str, Method] = {}
    failures: Mapping[type[SatchelError], Callable[[Any], Body]] = {}  # of tools; total; the most specific row counts
    apology: Body = ""  # for a surprise in the code of a tool
    refusal: Callable[[Tool], Schema] = lambda _tool: {}  # what a failure of a tool looks like
    instructions: Callable[[tuple[Tool, ...]], str] | None = None  # for those who may call these tools
    reads_store: bool = True
    reads_libraries: bool = False
    finds_project: bool = False  # by the working directory, where nobody names one
    uses_project: bool = True  # so that its project must be there before it serves
    acts_as_user: bool = False  # as the local one, unless another is named
    is_strict: bool = False  # unknown arguments are refused, and null is a value
    admit: Callable[[Scope, dict[str, Any]], None] = lambda _scope, _arguments: None  # before arguments are checked
    changes: Callable[[StoreChange, Scope], Iterable[ClientChange]] = lambda _changed, _scope: ()  # as clients see them
    acting: Callable[[Scope, Any], Scope] = lambda scope, _arguments: scope  # for whom, where the arguments say it
    shaped: Callable[[Tool, Body], Body] = lambda _tool, body: body  # a failure in the form of its tool

    def failure(self, tool: Tool, error: SatchelError) -> Body:
        """An error in the words of this contract."""
        for kind in type(error).__mro__:
            if kind in self.failures:
                return self.shaped(tool, self.failures[kind](error))
        raise LookupError(f"{self.name} has no words for {type(error).__name__}")


def narrowed(contract: Contract, toolsets: tuple[str, ...], *, is_read_only: bool) -> Contract:
    """The contract with the tools of some sets only, or only those that read."""
    kept = tuple(
        tool
        for tool in contract.tools
        if (not toolsets or not tool.toolset or tool.toolset in toolsets) and not (is_read_only and tool.writes)
    )
    return structs.replace(contract, tools=kept)
