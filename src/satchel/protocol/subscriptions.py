"""Subscriptions of a client, and the notifications of a change."""

from typing import Any, Literal

from msgspec import Struct

from satchel.protocol.messages import Id, Json, invalid_params

SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"

LIST_FILTERS = {what: f"{what}ListChanged" for what in ("tools", "prompts", "resources")}


class ClientChange(Struct, frozen=True):
    """A list or a resource that clients may have read has changed."""

    what: Literal["tools", "prompts", "resources", "resource", "everything"]
    uri: str | None = None  # of the one resource, where what == "resource"

    @property
    def notification(self) -> Json:
        """The notification, without the id of a subscription."""
        if self.what == "resource":
            return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": self.uri}}
        return {"jsonrpc": "2.0", "method": f"notifications/{self.what}/list_changed"}


class Subscription(Struct, frozen=True):
    """One open `subscriptions/listen`: its id, and the requested notifications that this server sends."""

    id: Id
    lists: frozenset[str]
    uris: tuple[str, ...] | None  # None where resource updates were not requested, or are not sent

    def wants(self, change: ClientChange) -> bool:
        """Whether the client subscribed to such a change."""
        if change.what == "resource":
            return self.uris is not None and change.uri in self.uris
        return change.what in self.lists

    def tag(self, notification: Json) -> Json:
        """A notification with the id of this subscription."""
        params: Json = {**notification.get("params", {}), "_meta": {SUBSCRIPTION_KEY: self.id}}
        return {**notification, "params": params}

    @property
    def acknowledgement(self) -> Json:
        """The first message of the stream: the notifications that the client will get."""
        honoured: Json = {name: True for what, name in LIST_FILTERS.items() if what in self.lists}
        if self.uris is not None:
            honoured["resourceSubscriptions"] = list(self.uris)
        method = "notifications/subscriptions/acknowledged"
        return self.tag({"jsonrpc": "2.0", "method": method, "params": {"notifications": honoured}})


def announces(capabilities: Json, what: str) -> bool:
    """Whether a server with these capabilities announces changes of a list (or, for "resource", of a resource)."""
    if what == "resource":
        return bool(capabilities.get("resources", {}).get("subscribe"))
    return bool(capabilities.get(what, {}).get("listChanged"))


def parse_subscription(request_id: Id, params: Json, capabilities: Json) -> Subscription:
    """Parse a `subscriptions/listen` request, and keep the notifications that this server sends.

    Raises:
        ProtocolError: the filter is missing or malformed.
    """
    filters: Any = params.get("notifications")
    if not isinstance(filters, dict):
        raise invalid_params("notifications must be an object")
    lists = set()
    for what, name in LIST_FILTERS.items():
        wanted = filters.get(name)
        if not isinstance(wanted, bool | None):
            raise invalid_params(f"{name} must be a boolean")
        if wanted and announces(capabilities, what):
            lists.add(what)
    uris = filters.get("resourceSubscriptions")
    if uris is not None and not (isinstance(uris, list) and all(isinstance(uri, str) for uri in uris)):
        raise invalid_params("resourceSubscriptions must be a list of strings")
    served = tuple(uris) if uris is not None and announces(capabilities, "resource") else None
    return Subscription(request_id, frozenset(lists), served)
