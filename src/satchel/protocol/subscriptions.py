"""Subscriptions of a client, and the notifications of a change."""

from collections.abc import Collection
from typing import Any, Literal

from msgspec import Struct

from satchel.protocol.messages import Id, Json, invalid_params

SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"

MAX_URIS = 1000  # resources that one subscription names, or that a client of the handshake generation subscribes to
MAX_URI_BYTES = 256 * 1024  # of all of them together

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


LIST_CHANGES = (ClientChange("tools"), ClientChange("prompts"), ClientChange("resources"))


class Subscription(Struct, frozen=True):
    """One open `subscriptions/listen`: its id, and the requested notifications that this server sends."""

    id: Id
    lists: frozenset[str]
    # In the order of the request, and looked up as a set; None where updates were not requested, or are not sent.
    uris: dict[str, None] | None

    def select(self, change: ClientChange) -> list[ClientChange]:
        """What the client is told of a change.

        Of "everything" it is told by one message for each list that it subscribed to. That of the resources stands for
        every resource; a client that did not subscribe to it may not get it, and is told of each resource it named.
        """
        if change.what == "everything":
            named = () if "resources" in self.lists else (self.uris or ())
            lists = [one for one in LIST_CHANGES if one.what in self.lists]
            return [*lists, *(ClientChange("resource", uri) for uri in named)]
        if change.what == "resource":
            return [change] if self.uris is not None and change.uri in self.uris else []
        return [change] if change.what in self.lists else []

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


def check_uris(uris: Collection[str]) -> None:
    """Check how many URIs are kept while a client listens, and their size.

    Raises:
        ProtocolError: there are too many, or they are too long.
    """
    if len(uris) > MAX_URIS or sum(len(uri.encode("utf-8", "replace")) for uri in uris) > MAX_URI_BYTES:
        raise invalid_params(
            f"at most {MAX_URIS} resources are subscribed to, with URIs of {MAX_URI_BYTES} bytes in all"
        )


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
    check_uris(uris or ())
    served = dict.fromkeys(uris) if uris is not None and announces(capabilities, "resource") else None
    return Subscription(request_id, frozenset(lists), served)
