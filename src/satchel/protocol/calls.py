"""What a server offers to its clients, and one request that its application answers."""

from msgspec import Struct, structs

from satchel.protocol.messages import NO_CLIENT, Client, Id, Json, ProtocolError
from satchel.protocol.revisions import Revision


class Offer(Struct, frozen=True, kw_only=True):
    """What a server is and can do, for every client."""

    server: Json  # name, version, perhaps icons
    capabilities: Json
    methods: frozenset[str]  # that the application answers; PROTOCOL_METHODS are answered here
    instructions: str | None = None
    tells_reasons: bool = False  # in the message of an error; else only in its data

    def without_subscriptions(self) -> "Offer":
        """The same offer for a transport that keeps no subscriptions of a client."""
        resources = self.capabilities.get("resources", {})
        if "subscribe" not in resources:
            return self
        kept = {name: value for name, value in resources.items() if name != "subscribe"}
        return structs.replace(self, capabilities={**self.capabilities, "resources": kept})

    def explain(self, error: ProtocolError) -> ProtocolError:
        """An error as clients of this server are told it."""
        return error.with_reason() if self.tells_reasons else error

    def describe(self) -> Json:
        """The members that the results of `initialize` and `server/discover` share."""
        shared: Json = {"capabilities": self.capabilities}
        if self.instructions is not None:
            shared["instructions"] = self.instructions
        return shared


class Call(Struct, kw_only=True, eq=False):
    """One request for the application to answer; the parameters that MCP defines are checked."""

    id: Id
    method: str
    params: Json
    revision: Revision
    progress_token: Id | None = None
    client: Client = NO_CLIENT
    session: str = ""  # tells clients of the same name apart; empty where the transport cannot
    can_ask: bool = False  # the client asks its user, if the result is a question
    answers: dict[str, str] = {}  # of the user, by the key of the question
    is_cancelled: bool = False
