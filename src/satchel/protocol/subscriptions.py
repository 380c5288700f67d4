"""Subscriptions of a client, and notifications of changes."""

from collections.abc import Collection
from typing import Any, Literal

from msgspec import Struct

from satchel.protocol.messages import Id, Json, invalid_params

SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"

MAX_URIS = 1000  # in one subscription, or subscribed to by one client of the handshake generation
MAX_URI_BYTES = 256 * 1024  # of all these URIs

LIST_FILTERS = {what: f"{what}ListChanged" for what in ("tools", "prompts", "resources")}


class ClientChange(Struct, frozen=True):
    """A change of a list or resource, in the form for clients."""

    what: Literal["tools", "prompts", "resources", "resource", "everything"]
    uri: str | None = None  # if `what` is "resource"

    @property
    def notification(self) -> Json:
        """The notification of this change, without a subscription id."""
        if self.what == "resource":
            return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": self.uri}}
        return {"jsonrpc": "2.0", "method": f"notifications/{self.what}/list_changed"}


_LIST_CHANGES = (ClientChange("tools"), ClientChange("prompts"), ClientChange("resources"))


class Subscription(Struct, eq=False):
    """One `subscriptions/listen`: its id, and the requested notifications that this server supports."""

    id: Id
    lists: frozenset[str]
    uris: dict[str, None] | None  # an ordered set; None if updates of resources were not requested or not supported
    is_open: bool = False  # acknowledged; no change is announced before

    def select(self, change: ClientChange) -> list[ClientChange]:
        """Return the changes to announce to the client after a change on the server.

        "Everything" becomes the lists to which the client subscribed. A change of the list of resources stands for
        every resource; without a subscription to that list, the client gets a change of each resource that it named.
        """
        if change.what == "everything":
            named = () if "resources" in self.lists else (self.uris or ())
            lists = [one for one in _LIST_CHANGES if one.what in self.lists]
            return [*lists, *(ClientChange("resource", uri) for uri in named)]
        if change.what == "resource":
            return [change] if self.uris is not None and change.uri in self.uris else []
        return [change] if change.what in self.lists else []

    def tag(self, notification: Json) -> Json:
        """Return a notification with the id of this subscription in it."""
        params: Json = {**notification.get("params", {}), "_meta": {SUBSCRIPTION_KEY: self.id}}
        return {**notification, "params": params}

    @property
    def acknowledgement(self) -> Json:
        """The first message of the stream, which lists the notifications that the client will get."""
        honoured: Json = {name: True for what, name in LIST_FILTERS.items() if what in self.lists}
        if self.uris is not None:
            honoured["resourceSubscriptions"] = list(self.uris)
        method = "notifications/subscriptions/acknowledged"
        return self.tag({"jsonrpc": "2.0", "method": method, "params": {"notifications": honoured}})


def announces(capabilities: Json, what: str) -> bool:
    """Return whether a server with these capabilities announces changes of a list, or of a "resource"."""
    if what == "resource":
        return bool(capabilities.get("resources", {}).get("subscribe"))
    return bool(capabilities.get(what, {}).get("listChanged"))


def find_announced(capabilities: Json) -> frozenset[str]:
    """Return the lists whose changes a server with these capabilities announces to its clients."""
    return frozenset(what for what in LIST_FILTERS if announces(capabilities, what))


def check_uris(uris: Collection[str]) -> None:
    """Check the number and the size of the URIs that the server keeps while a client listens.

    Raises:
        ProtocolError: the URIs are too many or too long.
    """
    if len(uris) > MAX_URIS or sum(len(uri.encode("utf-8", "replace")) for uri in uris) > MAX_URI_BYTES:
        raise invalid_params(
            f"at most {MAX_URIS} resources are subscribed to, with URIs of {MAX_URI_BYTES} bytes in all"
        )


def parse_subscription(request_id: Id, params: Json, capabilities: Json) -> Subscription:
    """Parse a `subscriptions/listen` request, and keep the notifications that this server supports.

    Raises:
        ProtocolError: the filter is missing or malformed.
    """
    filters: Any = params.get("notifications")
    if not isinstance(filters, dict):
        raise invalid_params("notifications must be an object")
    for name in LIST_FILTERS.values():
        if not isinstance(filters.get(name), bool | None):
            raise invalid_params(f"{name} must be a boolean")
    uris = filters.get("resourceSubscriptions")
    if uris is not None and not (isinstance(uris, list) and all(isinstance(uri, str) for uri in uris)):
        raise invalid_params("resourceSubscriptions must be a list of strings")
    check_uris(uris or ())
    served = dict.fromkeys(uris) if uris is not None and announces(capabilities, "resource") else None
    lists = frozenset(what for what in find_announced(capabilities) if filters.get(LIST_FILTERS[what]))
    return Subscription(request_id, lists, served)
