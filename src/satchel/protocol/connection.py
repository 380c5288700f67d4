"""One client's conversation: the handshake or per-request metadata, batches, cancellation, subscriptions.

Not thread-safe by itself: whoever writes holds one lock around `Exchange.output` or `announce` and the writing,
so that messages leave in the order in which they were made.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct, structs

from satchel.protocol.codec import MAX_MESSAGE_BYTES, BadJson, decode, encode
from satchel.protocol.messages import (
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Call,
    Id,
    Json,
    Message,
    ProtocolError,
    check_params,
    invalid_params,
    invalid_request,
    parse,
    readable_id,
)
from satchel.protocol.metadata import VERSION_KEY, revision_of
from satchel.protocol.revisions import NEWEST_HANDSHAKE, PER_REQUEST_DATES, REVISIONS, Revision, complete
from satchel.protocol.subscriptions import SUBSCRIPTION_KEY, ClientChange, Subscription, announces, subscribe


class Offer(Struct, frozen=True, kw_only=True):
    """What a server is and can do, told to every client."""

    server: Json  # name, version, perhaps title
    capabilities: Json
    methods: frozenset[str]  # those that the application answers; the rest of the protocol is answered here
    instructions: str | None = None

    def without_subscriptions(self) -> "Offer":
        """The same where nobody remembers which resources a client subscribed to."""
        resources = self.capabilities.get("resources", {})
        if "subscribe" not in resources:
            return self
        kept = {name: value for name, value in resources.items() if name != "subscribe"}
        return structs.replace(self, capabilities={**self.capabilities, "resources": kept})

    def introduction(self) -> Json:
        """What `initialize` and `server/discover` both tell."""
        told: Json = {"capabilities": self.capabilities}
        if self.instructions is not None:
            told["instructions"] = self.instructions
        return told


class Exchange:
    """What one incoming line asks for: calls to settle, then the output to write."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self._replies: list[Json | Call | Subscription] = []
        self._settled: dict[Call, Json] = {}
        self._is_batch = False
        self.is_listening = False  # it opened a subscription, so that its stream stays open

    @property
    def calls(self) -> list[Call]:
        """The requests that the application has to answer, in order."""
        return [reply for reply in self._replies if isinstance(reply, Call) and not reply.is_cancelled]

    @property
    def is_answered(self) -> bool:
        """Whether there is anything to send back: notifications and responses get no answer."""
        return bool(self._replies)

    def error_code(self) -> int | None:
        """The code of the answer, where that is one error."""
        if self._is_batch or len(self._replies) != 1 or isinstance(self._replies[0], Subscription):
            return None
        reply = self._replies[0]
        answer = self._settled.get(reply, {}) if isinstance(reply, Call) else reply
        code: int | None = answer.get("error", {}).get("code")
        return code

    def settle(self, call: Call, outcome: Json | ProtocolError) -> None:
        """Give the answer to one of the calls."""
        self._connection._waiting.pop(call.id, None)
        if isinstance(outcome, ProtocolError):
            self._settled[call] = _failure(outcome, call.id)
        else:
            self._settled[call] = self._connection._success(call.id, call.method, call.revision, outcome)

    def output(self) -> list[bytes]:
        """The messages to write now: one, several for a new subscription, or none."""
        messages: list[Json] = []
        for reply in self._replies:
            if isinstance(reply, Subscription):
                if self._connection._open(reply):
                    messages.append(reply.acknowledgement)
            elif not isinstance(reply, Call):
                messages.append(reply)
            elif not reply.is_cancelled:
                messages.append(self._settled[reply])
        if self._is_batch:
            return [encode(messages)] if messages else []
        return [encode(message) for message in messages]


class Connection:
    """A conversation with one client, of either generation, or of both at once."""

    def __init__(self, offer: Offer, revision: Revision | None = None) -> None:
        self.offer = offer
        self.revision = revision  # what the handshake agreed on; None until then
        self._waiting: dict[Id, Call] = {}
        self._opening: set[Id] = set()  # subscriptions not yet acknowledged, so not yet served
        self._subscriptions: dict[Id, Subscription] = {}
        self._watched_uris: set[str] = set()  # resources/subscribe of the handshake generation

    def receive(self, raw: bytes) -> Exchange:
        """Take in one message, or one batch."""
        try:
            return self.take(decode(raw))
        except BadJson as bad:
            return self.refuse(ProtocolError(PARSE_ERROR, "Parse error"), readable_id(bad.value))

    def receive_oversized(self) -> Exchange:
        """Answer a message that was longer than we read."""
        return self.refuse(invalid_request(f"a message has at most {MAX_MESSAGE_BYTES} bytes"), None)

    def take(self, value: object) -> Exchange:
        """Take in a message, or a batch, that is decoded already."""
        exchange = Exchange(self)
        if isinstance(value, list):
            self._receive_batch(exchange, value)
        else:
            self._receive_one(exchange, value)
        return exchange

    def take_request(self, request: Message) -> Exchange:
        """Take in a request of which the form was looked at already."""
        exchange = Exchange(self)
        self._receive(exchange, request)
        return exchange

    def refuse(self, error: ProtocolError, identity: Id | None) -> Exchange:
        """Answer something that is not taken in at all."""
        exchange = Exchange(self)
        exchange._replies.append(self._refusal(error, identity))
        return exchange

    def announce(self, change: ClientChange) -> list[bytes]:
        """The notifications by which this client hears of a change: none, one, or one a subscription."""
        if change.what == "everything":
            return [message for part in self._everything() for message in self.announce(part)]
        told: list[Json] = []
        if self.revision is not None and self._hears_by_handshake(change):
            told.append(change.notification)
        listeners = [heard for heard in self._subscriptions.values() if heard.wants(change)]
        told += [heard.tagged(change.notification) for heard in listeners]
        return [encode(message) for message in told]

    def report_progress(
        self, call: Call, progress: float, total: float | None = None, message: str | None = None
    ) -> list[bytes]:
        """Tell how far a call has come, if its client wants to know."""
        if call.progress_token is None or call.is_cancelled:
            return []
        params: Json = {"progressToken": call.progress_token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        return [encode({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})]

    def close(self) -> list[bytes]:
        """End every subscription with the answer it has been waiting for."""
        ended = list(self._subscriptions)
        self._subscriptions.clear()
        return [encode(self._listened(identity)) for identity in ended]

    # -- taking in ------------------------------------------------------------------------------------------

    def _receive_batch(self, exchange: Exchange, values: list[Any]) -> None:
        if self.revision is None or not self.revision.has_batches:
            exchange._replies.append(self._refusal(invalid_request("batches are not part of this revision"), None))
        elif not values:
            exchange._replies.append(self._refusal(invalid_request("an empty batch"), None))
        else:
            exchange._is_batch = True
            for value in values:
                self._receive_one(exchange, value)

    def _receive_one(self, exchange: Exchange, value: object) -> None:
        try:
            message = parse(value)
        except ProtocolError as error:
            exchange._replies.append(self._refusal(error, readable_id(value)))
            return
        self._receive(exchange, message)

    def _receive(self, exchange: Exchange, message: Message) -> None:
        if message.method is None:
            return  # a response, and we never ask
        if message.id is None:
            self._notice(message.method, message.params)
            return
        try:
            reply = self._answer(message.id, message.method, message, is_batched=exchange._is_batch)
        except ProtocolError as error:
            reply = _failure(error, message.id)
        exchange._replies.append(reply)
        if isinstance(reply, Subscription):
            exchange.is_listening = True

    def _answer(self, identity: Id, method: str, message: Message, *, is_batched: bool) -> Json | Call | Subscription:
        params = message.params
        revision = revision_of(method, params, self.revision)
        if is_batched and (method == "initialize" or not revision.is_handshake):
            raise invalid_request("this request cannot be part of a batch")
        ours = (_HANDSHAKE_METHODS if revision.is_handshake else _PER_REQUEST_METHODS).get(method)
        if not (method in self.offer.methods if ours is None else self._has(method)):
            raise ProtocolError(METHOD_NOT_FOUND, "Method not found")
        check_params(method, params)
        if ours is not None:
            return ours(self, identity, params)
        token = (params.get("_meta") or {}).get("progressToken")
        if not isinstance(token, str | int) or isinstance(token, bool):
            token = None
        call = Call(id=identity, method=method, params=params, revision=revision, progress_token=token)
        self._waiting[identity] = call
        return call

    def _notice(self, method: str, params: Json) -> None:
        if method != "notifications/cancelled":
            return
        identity = params.get("requestId")
        if not isinstance(identity, str | int) or isinstance(identity, bool):
            return
        self._opening.discard(identity)
        self._subscriptions.pop(identity, None)
        call = self._waiting.pop(identity, None)
        if call is not None:
            call.is_cancelled = True

    # -- the methods that are the protocol's own ----------------------------------------------------------------

    def _initialize(self, identity: Id, params: Json) -> Json:
        wanted = params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise invalid_params("protocolVersion must be a string")
        for name in ("capabilities", "clientInfo"):
            if not isinstance(params.get(name), dict | None):
                raise invalid_params(f"{name} must be an object")
        revision = REVISIONS.get(wanted, NEWEST_HANDSHAKE)
        self.revision = revision if revision.is_handshake else NEWEST_HANDSHAKE
        result = {
            "protocolVersion": self.revision.date,
            **self.offer.introduction(),
            "serverInfo": self.offer.server,
        }
        return _result(identity, result)

    def _discover(self, identity: Id, params: Json) -> Json:
        result = {"supportedVersions": PER_REQUEST_DATES, **self.offer.introduction()}
        return self._success(identity, "server/discover", _version_in(params), result)

    def _ping(self, identity: Id, params: Json) -> Json:
        return _result(identity, {})

    def _listen(self, identity: Id, params: Json) -> Subscription:
        if identity in self._subscriptions or identity in self._opening:
            raise invalid_request("a subscription with this id is open")
        subscription = subscribe(identity, params, self.offer.capabilities)
        self._opening.add(identity)
        return subscription

    def _open(self, subscription: Subscription) -> bool:
        """Start to announce changes to a subscription, unless its client cancelled it meanwhile."""
        if subscription.id not in self._opening:
            return False
        self._opening.remove(subscription.id)
        self._subscriptions[subscription.id] = subscription
        return True

    def _watch_resource(self, identity: Id, params: Json) -> Json:
        self._watched_uris.add(params["uri"])
        return _result(identity, {})

    def _unwatch_resource(self, identity: Id, params: Json) -> Json:
        self._watched_uris.discard(params["uri"])
        return _result(identity, {})

    def _has(self, method: str) -> bool:
        """Whether one of the protocol's own methods is to be had here."""
        is_of_watching = method in ("resources/subscribe", "resources/unsubscribe")
        return not is_of_watching or announces(self.offer.capabilities, "resource")

    # -- answers ------------------------------------------------------------------------------------------------

    def _success(self, identity: Id, method: str, revision: Revision, result: Json) -> Json:
        return _result(identity, complete(revision, method, result, self.offer.server))

    def _listened(self, identity: Id) -> Json:
        revision = REVISIONS[PER_REQUEST_DATES[-1]]
        return self._success(identity, "subscriptions/listen", revision, {"_meta": {SUBSCRIPTION_KEY: identity}})

    def _refusal(self, error: ProtocolError, identity: Id | None) -> Json:
        if identity is not None:
            return _failure(error, identity)
        has_null_id = self.revision is not None and self.revision.has_null_ids
        refusal: Json = {"jsonrpc": "2.0", "id": None} if has_null_id else {"jsonrpc": "2.0"}
        return {**refusal, "error": error.body()}

    def _everything(self) -> list[ClientChange]:
        """All that this client may have listed or watched."""
        uris = {*self._watched_uris, *(uri for heard in self._subscriptions.values() for uri in heard.uris or ())}
        return [
            ClientChange("tools"),
            ClientChange("prompts"),
            ClientChange("resources"),
            *(ClientChange("resource", uri) for uri in uris),
        ]

    def _hears_by_handshake(self, change: ClientChange) -> bool:
        if change.what == "resource":
            return change.uri in self._watched_uris
        return announces(self.offer.capabilities, change.what)


def _version_in(params: Json) -> Revision:
    return REVISIONS[params["_meta"][VERSION_KEY]]


def _result(identity: Id, result: Json) -> Json:
    return {"jsonrpc": "2.0", "id": identity, "result": result}


def _failure(error: ProtocolError, identity: Id) -> Json:
    return {"jsonrpc": "2.0", "id": identity, "error": error.body()}


_Method = Callable[[Connection, Id, Json], Json | Subscription]

_HANDSHAKE_METHODS: dict[str, _Method] = {
    "initialize": Connection._initialize,
    "ping": Connection._ping,
    "resources/subscribe": Connection._watch_resource,
    "resources/unsubscribe": Connection._unwatch_resource,
}
_PER_REQUEST_METHODS: dict[str, _Method] = {
    "server/discover": Connection._discover,
    "subscriptions/listen": Connection._listen,
}
PROTOCOL_METHODS = frozenset({*_HANDSHAKE_METHODS, *_PER_REQUEST_METHODS})
