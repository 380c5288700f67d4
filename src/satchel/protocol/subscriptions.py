"""What a client listens to, and the notifications that follow from a change."""

from typing import Any, Literal

from msgspec import Struct

from satchel.protocol.messages import Id, Json, invalid_params

SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"

LIST_FILTERS = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}


class ClientChange(Struct, frozen=True):
    """Something that clients may have listed or read is no longer what it was."""

    what: Literal["tools", "prompts", "resources", "resource", "everything"]
    uri: str | None = None  # of the one resource, where what == "resource"

    @property
    def notification(self) -> Json:
        """The message that tells a client, not yet addressed to a subscription."""
        if self.what == "resource":
            return {
                "jsonrpc": "2.0",
                "method": "notifications/resources/updated",
                "params": {"uri": self.uri},
            }
        return {"jsonrpc": "2.0", "method": f"notifications/{self.what}/list_changed"}


class Subscription(Struct, frozen=True):
    """One open `subscriptions/listen`: its id and the part of the wish that we serve."""

    id: Id
    lists: frozenset[str]
    uris: tuple[str, ...] | None  # None where resource updates were not asked for or are not served

    def wants(self, change: ClientChange) -> bool:
        """Whether this client asked to hear of such a change."""
        if change.what == "resource":
            return self.uris is not None and change.uri in self.uris
        return change.what in self.lists

    def tagged(self, notification: Json) -> Json:
        """A notification addressed to this subscription."""
        params: Json = {**notification.get("params", {}), "_meta": {SUBSCRIPTION_KEY: self.id}}
        return {**notification, "params": params}

    @property
    def acknowledgement(self) -> Json:
        """The first message of the stream, which says what is honoured."""
        honoured: Json = {name: True for what, name in LIST_FILTERS.items() if what in self.lists}
        if self.uris is not None:
            honoured["resourceSubscriptions"] = list(self.uris)
        method = "notifications/subscriptions/acknowledged"
        return self.tagged({"jsonrpc": "2.0", "method": method, "params": {"notifications": honoured}})


def announces(capabilities: Json, what: str) -> bool:
    """Whether a server with these capabilities tells when a list (or, for "resource", a resource) changes."""
    if what == "resource":
        return bool(capabilities.get("resources", {}).get("subscribe"))
    return bool(capabilities.get(what, {}).get("listChanged"))


def subscribe(identity: Id, params: Json, capabilities: Json) -> Subscription:
    """Read the wish of a `subscriptions/listen` and keep of it what this server announces.

    Raises:
        ProtocolError: the filter is missing or malformed.
    """
    wish: Any = params.get("notifications")
    if not isinstance(wish, dict):
        raise invalid_params("notifications must be an object")
    lists = set()
    for what, name in LIST_FILTERS.items():
        wanted = wish.get(name)
        if not isinstance(wanted, bool | None):
            raise invalid_params(f"{name} must be a boolean")
        if wanted and announces(capabilities, what):
            lists.add(what)
    uris = wish.get("resourceSubscriptions")
    if uris is not None and not (isinstance(uris, list) and all(isinstance(uri, str) for uri in uris)):
        raise invalid_params("resourceSubscriptions must be a list of strings")
    heard = tuple(uris) if uris is not None and announces(capabilities, "resource") else None
    return Subscription(identity, frozenset(lists), heard)
