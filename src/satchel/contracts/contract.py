"""What a contract is: one literal table of tools, methods and failures, which the runner reads."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs

from satchel.errors import SatchelError
from satchel.model import Changed, Scope
from satchel.protocol import Change
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


class Sources(Struct, frozen=True):
    """What a contract of store and libraries works on."""

    tx: Tx
    libraries: "Libraries"
    later: list[Callable[[Tx], None]] = []  # to be done in a transaction of its own once there is an answer
    tools: frozenset[str] = frozenset()  # that whoever asks may call


class Tool(Struct, frozen=True, kw_only=True):
    """One tool: what clients see of it, and what it does in one transaction."""

    name: str
    description: str
    input: type[Struct]
    output: type[Struct] | None  # what it answers when all goes well; None for a text
    run: Callable[..., Body]  # (tx or sources, scope, arguments), and report where it reports progress
    writes: bool = False
    reports: bool = False
    is_look_up: bool = False  # looks one thing up by its key, in one statement
    at_least_one: tuple[str, ...] = ()  # of these arguments
    keywords: Schema = {}  # of the printed inputSchema, besides what the arguments say
    title: str | None = None
    annotations: dict[str, bool] | None = None
    toolset: str = ""  # by which a server may be narrowed; without one it is always there
    output_schema: Schema | None = None  # where it is told to clients: every answer satisfies it, failures too


# One MCP method beside the tools: what it answers to the parameters of a request. It is given a transaction that reads,
# the libraries, or both as Sources, as its contract says, and raises ProtocolError for what that says as a JSON-RPC
# error.
Method = Callable[[Any, Scope, dict[str, Any]], Result]


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
    renders: frozenset[str] = frozenset()  # tools and methods that fill in templates, and may take half a second for it
    finds_project: bool = False  # by the working directory, where nobody names one
    uses_project: bool = True  # so that its project must be there before it serves
    acts_as_user: bool = False  # as the local one, unless another is named
    is_strict: bool = False  # unknown arguments are refused, and null is a value
    admit: Callable[[Scope, dict[str, Any]], None] = lambda _scope, _arguments: None  # before arguments are checked
    changes: Callable[[Changed, Scope], Iterable[Change]] = lambda _changed, _scope: ()  # as clients see them
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
