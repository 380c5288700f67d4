"""The protocol state of one client: handshake or per-request metadata, batches, cancellation, subscriptions.

This is not thread-safe. A transport with several threads must hold one lock while it calls `Exchange.output` or
`announce` and sends the result, so that messages are sent in the order in which they are made.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

from msgspec import Raw, Struct
from msgspec.structs import replace

from satchel.protocol.codec import MAX_MESSAGE_BYTES, BadJson, Bytes, TooManyElements, decode, encode
from satchel.protocol.messages import (
    METHOD_NOT_FOUND,
    NO_CLIENT,
    PARSE_ERROR,
    Client,
    Id,
    Json,
    ProtocolError,
    check_params,
    invalid_params,
    invalid_request,
    parse_message,
    read_client,
    readable_id,
)
from satchel.protocol.questions import INPUT_REQUIRED, Questions, can_ask, read_answers
from satchel.protocol.revisions import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    NEWEST,
    NEWEST_HANDSHAKE,
    PER_REQUEST_DATES,
    REVISIONS,
    Revision,
    complete_result,
    find_revision,
    without_icons,
)
from satchel.protocol.subscriptions import (
    SUBSCRIPTION_KEY,
    ClientChange,
    Subscription,
    announces,
    check_uris,
    find_announced,
    parse_subscription,
)

MAX_BATCH = 100  # messages
MAX_BATCH_ANSWER_BYTES = 64 * 1024 * 1024  # of all answers to a batch
MAX_SUBSCRIPTIONS = 100  # open subscriptions of one connection

_TOO_LARGE_BATCH = f"the answers to a batch have at most {MAX_BATCH_ANSWER_BYTES} bytes together"


class Offer(Struct, frozen=True, kw_only=True):
    """The description, capabilities and methods that the server offers to its clients."""

    server: Json  # name, version, and icons if there are any
    capabilities: Json
    methods: frozenset[str]  # the methods that the application answers; `Connection` answers PROTOCOL_METHODS
    instructions: str | None = None
    tells_reasons: bool = False  # error messages include the details, which are otherwise only in the error's data

    def without_subscriptions(self) -> "Offer":
        """Return this offer for a transport without subscriptions."""
        resources = self.capabilities.get("resources", {})
        if "subscribe" not in resources:
            return self
        kept = {name: value for name, value in resources.items() if name != "subscribe"}
        return replace(self, capabilities={**self.capabilities, "resources": kept})

    def explain(self, error: ProtocolError) -> ProtocolError:
        """Return an error in the words of this server."""
        return error.with_reason() if self.tells_reasons else error

    def describe(self) -> Json:
        """Return the members that `initialize` and `server/discover` share."""
        shared: Json = {"capabilities": self.capabilities}
        if self.instructions is not None:
            shared["instructions"] = self.instructions
        return shared


class Call(Struct, kw_only=True, eq=False):
    """One request for the application; the parameters that MCP defines are already checked."""

    id: Id
    method: str
    params: Json
    revision: Revision
    progress_token: Id | None = None
    client: Client = NO_CLIENT
    session: str = ""  # distinguishes clients of the same name; empty if the transport cannot
    can_ask: bool = False  # the client asks its user if the result is a question
    answers: dict[str, str] = {}  # the user's answers by the key of the question
    is_cancelled: bool = False


class Exchange:
    """One incoming message or batch: the application settles its calls, and the transport sends its output."""

    def __init__(self, connection: "Connection", *, is_batch: bool = False) -> None:
        self._connection = connection
        self._replies: list[Json | Call | Subscription] = []
        self._settled: dict[Call, Json | Raw] = {}
        self._is_batch = is_batch
        self._batch_bytes = 0  # bytes of the answers in a batch so far
        self._is_full = False  # the remaining calls of the batch are refused
        self.is_listening = False  # it opens a subscription, so the response is a stream
        self.is_subscribing = False  # send the output only after starting to watch, otherwise a change may be missed
        self.cancelled_ids: list[Id] = []  # ids of requests that the client cancels
        self.refused_tools: list[str] = []  # tools of calls that failed here, as the client wrote them

    @property
    def calls(self) -> list[Call]:
        """The requests for the application to answer, in order, without those that were cancelled."""
        return [reply for reply in self._replies if isinstance(reply, Call) and not reply.is_cancelled]

    @property
    def is_answered(self) -> bool:
        """Whether the message gets a response, as notifications and responses do not."""
        return bool(self._replies)

    def error_code(self) -> int | None:
        """Return the error code of the response; None unless the response is a single error."""
        if self._is_batch or len(self._replies) != 1 or isinstance(self._replies[0], Subscription):
            return None
        reply = self._replies[0]
        answer = self._settled.get(reply, {}) if isinstance(reply, Call) else reply
        code: int | None = answer.get("error", {}).get("code") if isinstance(answer, dict) else None
        return code

    def check_room(self) -> None:
        """Check that another call of the batch may be run.

        Raises:
            ProtocolError: the answers are too large; settle the call with this error.
        """
        if self._is_full:
            raise invalid_request(f"{_TOO_LARGE_BATCH}; this request was not carried out, send it again")

    def settle(self, call: Call, outcome: Json | ProtocolError) -> None:
        """Set the outcome of one of the calls."""
        connection = self._connection
        if isinstance(outcome, dict) and outcome.get("resultType") == INPUT_REQUIRED and call.revision.is_handshake:
            try:
                self._settled[call] = connection.questions.ask(self, call, outcome)
                return
            except ProtocolError as error:
                outcome = error
        connection._waiting.pop(call.id, None)
        if isinstance(outcome, ProtocolError):
            reply = connection._make_error(outcome, call.id)
        else:
            reply = connection._make_success(call.id, call.method, call.revision, outcome)
        self._settled[call] = self._fit(call, reply) if self._is_batch else reply

    def _fit(self, call: Call, reply: Json) -> Raw:
        """Encode a reply of a batch, so that memory holds it once; if it does not fit, encode an error instead."""
        raw = encode(reply)
        if "result" in reply and self._batch_bytes + len(raw) > MAX_BATCH_ANSWER_BYTES:
            self._is_full = True
            error = invalid_request(f"{_TOO_LARGE_BATCH}; this request was carried out, ask for its answer alone")
            raw = encode(self._connection._make_error(error, call.id))
        self._batch_bytes += len(raw)
        return Raw(raw)

    def send_first(self, message: Json) -> None:
        """Put a message before all others in the output."""
        self._replies.insert(0, message)

    def output(self) -> Sequence[Bytes]:
        """Return the messages to send: one for a request or batch, one for a new subscription, or none."""
        messages: list[Json | Raw] = []
        for reply in self._replies:
            if isinstance(reply, Subscription):
                if self._connection._subscriptions.get(reply.id) is reply:  # otherwise, its client has cancelled it
                    reply.is_open = True
                    messages.append(reply.acknowledgement)
            elif not isinstance(reply, Call):
                messages.append(reply)
            elif not reply.is_cancelled:
                messages.append(self._settled.pop(reply) if self._is_batch else self._settled[reply])
        if self._is_batch:
            return [_join(messages)] if messages else []
        return [encode(message) for message in messages]


def _join(messages: list[Json | Raw]) -> bytearray:
    """Join the messages of a batch into one list; free each as soon as it is copied, because all may be large."""
    joined = bytearray(b"[")
    messages.reverse()
    while messages:
        message = messages.pop()
        joined += message if isinstance(message, Raw) else encode(message)
        joined += b"," if messages else b"]"
    return joined


def explain_bad_json(bad: BadJson) -> ProtocolError:
    """Return the error for bytes that cannot be decoded."""
    return invalid_request(str(bad)) if isinstance(bad, TooManyElements) else ProtocolError(PARSE_ERROR, "Parse error")


class Connection:
    """The state of one client, which may use the handshake generation, the per-request generation, or both."""

    def __init__(self, offer: Offer, revision: Revision | None = None, session: str = "") -> None:
        self.offer = offer
        self.session = session
        self.revision = revision  # from the handshake; None before it
        self.client = NO_CLIENT  # from the handshake
        self._can_ask = False  # from the handshake
        self._waiting: dict[Id, Call] = {}
        self._subscriptions: dict[Id, Subscription] = {}
        self._watched_uris: dict[str, None] = {}  # from resources/subscribe

    @cached_property
    def questions(self) -> Questions:
        """The calls that wait for an answer from the user."""
        return Questions()

    @cached_property
    def _watched(self) -> Subscription:
        """The subscription of a client of the handshake generation: every announced list, and the client's URIs."""
        return Subscription("", find_announced(self.offer.capabilities), self._watched_uris)

    def receive(self, raw: bytes) -> Exchange:
        """Receive one message or batch."""
        try:
            return self.receive_value(decode(raw))
        except BadJson as bad:
            return self.reject(explain_bad_json(bad), readable_id(bad.value))

    def receive_value(self, value: object) -> Exchange:
        """Receive one decoded message or batch; for the answer to a question, return the exchange that asked it."""
        if isinstance(value, dict) and "method" not in value:
            waiting = self.questions.take_answer(value)
            if waiting is not None:
                return waiting
        is_batch = isinstance(value, list)
        if is_batch and (self.revision is None or not self.revision.has_batches):
            return self.reject(invalid_request("batches are not part of this revision"), None)
        messages = value if isinstance(value, list) else [value]
        if not messages:
            return self.reject(invalid_request("an empty batch"), None)
        if len(messages) > MAX_BATCH:
            return self.reject(invalid_request(f"a batch has at most {MAX_BATCH} messages"), None)
        exchange = Exchange(self, is_batch=is_batch)
        for message in messages:
            self._receive_one(exchange, message)
        return exchange

    def reject(self, error: ProtocolError, request_id: Id | None) -> Exchange:
        """Answer a message with an error without processing it."""
        exchange = Exchange(self)
        exchange._replies.append(self._make_error(error, request_id))
        return exchange

    def reject_oversized(self) -> Exchange:
        """Answer a message that is longer than MAX_MESSAGE_BYTES."""
        return self.reject(invalid_request(f"a message has at most {MAX_MESSAGE_BYTES} bytes"), None)

    def announce(self, change: ClientChange) -> list[bytes]:
        """Return the notifications of a change for this client: none, one, or one for each subscription."""
        messages = [] if self.revision is None else [part.notification for part in self._watched.select(change)]
        for subscription in self._subscriptions.values():
            if subscription.is_open:
                messages += [subscription.tag(part.notification) for part in subscription.select(change)]
        return [encode(message) for message in messages]

    def wants(self, change: ClientChange) -> bool:
        """Return whether `announce` has notifications of a change for this client."""
        return bool(self.announce(change))

    def report_progress(
        self, call: Call, progress: float, total: float | None = None, message: str | None = None
    ) -> list[bytes]:
        """Return the progress notification of a call; none if the client did not request any."""
        if call.progress_token is None or call.is_cancelled:
            return []
        given = {"progressToken": call.progress_token, "progress": progress, "total": total, "message": message}
        params = {name: value for name, value in given.items() if value is not None}
        return [encode({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})]

    def close(self) -> list[bytes]:
        """End all subscriptions; return their final responses."""
        ended = [one.id for one in self._subscriptions.values() if one.is_open]
        self._subscriptions.clear()
        results = [(id, {"_meta": {SUBSCRIPTION_KEY: id}}) for id in ended]
        return [encode(self._make_success(id, "subscriptions/listen", NEWEST, result)) for id, result in results]

    # Receiving

    def _receive_one(self, exchange: Exchange, value: object) -> None:
        try:
            message = parse_message(value)
        except ProtocolError as error:
            exchange._replies.append(self._make_error(error, readable_id(value)))
            return
        if message.method is None:
            return  # a response that answers no question of this server
        if message.id is None:
            exchange._replies += self._handle_notification(exchange, message.method, message.params)
            return
        try:
            reply = self._answer(message.id, message.method, message.params, is_batched=exchange._is_batch)
        except ProtocolError as error:
            reply = self._make_error(error, message.id)
            if message.method == "tools/call":
                name = message.params.get("name")
                exchange.refused_tools.append(name if isinstance(name, str) else message.method)
        exchange._replies.append(reply)
        if isinstance(reply, Subscription):
            exchange.is_listening = True
        if message.method in ("subscriptions/listen", "resources/subscribe"):
            exchange.is_subscribing = True

    def _answer(self, request_id: Id, method: str, params: Json, *, is_batched: bool) -> Json | Call | Subscription:
        revision = find_revision(method, params, self.revision)
        if is_batched and (method == "initialize" or not revision.is_handshake):
            raise invalid_request("this request cannot be part of a batch")
        answer = (_HANDSHAKE_METHODS if revision.is_handshake else _PER_REQUEST_METHODS).get(method)
        watches = method in ("resources/subscribe", "resources/unsubscribe")
        is_served = not watches or announces(self.offer.capabilities, "resource")
        if not (method in self.offer.methods if answer is None else is_served):
            raise ProtocolError(METHOD_NOT_FOUND, "Method not found")
        check_params(method, params)
        if answer is not None:
            reply = answer(self, request_id, params)
            if isinstance(reply, Subscription):
                return reply
            return self._make_success(request_id, method, revision, reply)
        meta = params.get("_meta") or {}
        token = meta.get("progressToken")
        if not isinstance(token, str | int) or isinstance(token, bool):
            token = None
        call = Call(
            id=request_id,
            method=method,
            params=params,
            revision=revision,
            progress_token=token,
            client=self.client,
            session=self.session,
            can_ask=self._can_ask,
        )
        if not revision.is_handshake:
            call.client = read_client(meta.get(CLIENT_KEY))
            call.can_ask, call.answers = can_ask(revision, meta.get(CAPABILITIES_KEY)), read_answers(params)
        self._waiting[request_id] = call
        return call

    def _handle_notification(self, exchange: Exchange, method: str, params: Json) -> list[Json]:
        """Handle a notification; return the messages to send."""
        if method != "notifications/cancelled":
            return []
        request_id = params.get("requestId")
        if not isinstance(request_id, str | int) or isinstance(request_id, bool):
            return []
        exchange.cancelled_ids.append(request_id)
        self._subscriptions.pop(request_id, None)
        call = self._waiting.pop(request_id, None)
        if call is None:
            return []
        call.is_cancelled = True
        return self.questions.withdraw(call)

    # Methods that the protocol answers itself

    def _initialize(self, request_id: Id, params: Json) -> Json:
        requested = params.get("protocolVersion")
        if not isinstance(requested, str):
            raise invalid_params("protocolVersion must be a string")
        for name in ("capabilities", "clientInfo"):
            if not isinstance(params.get(name), dict | None):
                raise invalid_params(f"{name} must be an object")
        self.client = read_client(params.get("clientInfo"))
        revision = REVISIONS.get(requested, NEWEST_HANDSHAKE)
        self.revision = revision if revision.is_handshake else NEWEST_HANDSHAKE
        self._can_ask = can_ask(self.revision, params.get("capabilities"))
        server = self.offer.server if self.revision.has_icons else without_icons(self.offer.server)
        return {"protocolVersion": self.revision.date, **self.offer.describe(), "serverInfo": server}

    def _discover(self, request_id: Id, params: Json) -> Json:
        return {"supportedVersions": PER_REQUEST_DATES, **self.offer.describe()}

    def _ping(self, request_id: Id, params: Json) -> Json:
        return {}

    def _listen(self, request_id: Id, params: Json) -> Subscription:
        if request_id in self._subscriptions:
            raise invalid_request("a subscription with this id is open")
        if len(self._subscriptions) >= MAX_SUBSCRIPTIONS:
            raise invalid_request(f"at most {MAX_SUBSCRIPTIONS} subscriptions are open at once; cancel one first")
        subscription = parse_subscription(request_id, params, self.offer.capabilities)
        self._subscriptions[request_id] = subscription
        return subscription

    def _watch_resource(self, request_id: Id, params: Json) -> Json:
        check_uris({*self._watched_uris, params["uri"]})
        self._watched_uris[params["uri"]] = None
        return {}

    def _unwatch_resource(self, request_id: Id, params: Json) -> Json:
        self._watched_uris.pop(params["uri"], None)
        return {}

    # Responses

    def _make_success(self, request_id: Id, method: str, revision: Revision, result: Json) -> Json:
        completed = complete_result(revision, method, result, self.offer.server)
        return {"jsonrpc": "2.0", "id": request_id, "result": completed}

    def _make_error(self, error: ProtocolError, request_id: Id | None) -> Json:
        has_id = request_id is not None or (self.revision is not None and self.revision.has_null_ids)
        head: Json = {"jsonrpc": "2.0", "id": request_id} if has_id else {"jsonrpc": "2.0"}
        return {**head, "error": self.offer.explain(error).body()}


_Method = Callable[[Connection, Id, Json], Json | Subscription]  # returns a result, or opens a subscription

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
