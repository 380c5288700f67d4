"""What a contract is: one literal table of tools, methods and failures, which the runner reads."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from satchel.errors import SatchelError
from satchel.model import Scope
from satchel.storage.database import Tx

Body = dict[str, Any] | str  # what a tool says, in the contract's own words
Result = dict[str, Any]  # what a method answers, as MCP has it
Report = Callable[[float, float | None, str | None], None]  # progress, total, message


class Tool(Struct, frozen=True, kw_only=True):
    """One tool: what clients see of it, and what it does in one transaction."""

    name: str
    description: str
    input: type[Struct]
    run: Callable[..., Body]  # (tx, scope, arguments), and report where it reports progress
    writes: bool = False
    reports: bool = False


# One MCP method beside the tools: what it answers to the parameters of a request, in one transaction that reads.
# It raises ProtocolError for what this contract says as a JSON-RPC error.
Method = Callable[[Tx, Scope, dict[str, Any]], Result]


class Contract(Struct, frozen=True, kw_only=True):
    """One exact wire surface."""

    name: str
    server_name: str
    capabilities: dict[str, Any]
    tools: tuple[Tool, ...] = ()
    methods: Mapping[str, Method] = {}
    failures: Mapping[type[SatchelError], Callable[[Any], Body]]  # total; the most specific row counts
    apology: Body  # for a surprise in our code
    instructions: str | None = None
    forbids_unknown_arguments: bool = False

    def failure(self, error: SatchelError) -> Body:
        """An error in the words of this contract."""
        for kind in type(error).__mro__:
            if kind in self.failures:
                return self.failures[kind](error)
        raise LookupError(f"{self.name} has no words for {type(error).__name__}")
