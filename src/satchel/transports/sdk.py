"""A contract behind the official SDK's low-level server: answers to requests, and announcements on streams.

The SDK moves the messages and checks their form; the contract answers them. Changes are announced on
`subscriptions/listen` only: for older revisions the SDK has no public way to reach all connections.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import msgspec
from anyio import from_thread
from anyio.to_thread import run_sync
from mcp.server import Server, ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import Icon, RequestParams, SubscriptionsListenRequestParams, SubscriptionsListenResult

from satchel.contracts.contract import Report, Result
from satchel.protocol import NEWEST, REVISIONS, Call, Client, ClientChange, Offer, ProtocolError
from satchel.protocol.codec import encode
from satchel.protocol.messages import Json, check_params, read_client
from satchel.protocol.questions import INPUT_REQUIRED, can_ask, read_answers
from satchel.protocol.revisions import CAPABILITIES_KEY, CLIENT_KEY, complete_result
from satchel.protocol.subscriptions import announces

Answer = Callable[[Call, Report], Result]

_LIST_EVENTS: dict[str, ServerEvent] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}


class SdkSession:
    """An open contract in one event loop, from the start of a server's lifespan to its end."""

    def __init__(self, answer: Answer, watch: Callable[[], None]) -> None:
        self.answer = answer
        self._watch = watch  # starts the watchers, unless they run
        self._bus = InMemorySubscriptionBus()
        self._handle_stream = ListenHandler(self._bus)
        self._loop = asyncio.get_running_loop()
        self._uris: Counter[str] = Counter()  # resources, with the number of streams that watch each

    async def listen(
        self, context: "ServerRequestContext[SdkSession]", params: SubscriptionsListenRequestParams
    ) -> SubscriptionsListenResult:
        """Serve one stream of changes until its client leaves."""
        await run_sync(self._watch)  # before the acknowledgement, so that no later change is missed
        uris = Counter(params.notifications.resource_subscriptions)
        self._uris += uris
        try:
            return await self._handle_stream(context, params)
        finally:
            self._uris -= uris

    def announce(self, change: ClientChange) -> None:
        """Send a change to the streams, from any thread."""
        if not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(self._announce(change), self._loop)

    async def _announce(self, change: ClientChange) -> None:
        for event in self._make_events(change):
            await self._bus.publish(event)

    def _make_events(self, change: ClientChange) -> list[ServerEvent]:
        if change.what == "everything":
            return [*_LIST_EVENTS.values(), *map(ResourceUpdated, self._uris)]
        return [ResourceUpdated(change.uri or "") if change.what == "resource" else _LIST_EVENTS[change.what]]


def make_server(
    offer: Offer, lifespan: Callable[[Server[SdkSession]], AbstractAsyncContextManager[SdkSession]]
) -> Server[SdkSession]:
    """Return a server of the official SDK for this offer."""
    server = Server(
        offer.server["name"],
        version=offer.server["version"],
        icons=[Icon(**icon) for icon in offer.server.get("icons", ())] or None,
        instructions=offer.instructions,
        lifespan=lifespan,
    )
    for method in offer.methods:
        server.add_request_handler(method, RequestParams, partial(_answer, offer))
    if any(announces(offer.capabilities, what) for what in (*_LIST_EVENTS, "resource")):
        server.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, _listen)
    return server


async def _answer(offer: Offer, context: ServerRequestContext[SdkSession], _: RequestParams) -> Json:
    """Answer a request in a worker thread, from its raw parameters, because the SDK's models drop unknown members."""
    client, capabilities = _find_client(context)
    call = Call(
        id=context.request_id or 0,
        method=context.method,
        params=dict(context.params or {}),
        revision=REVISIONS.get(context.protocol_version, NEWEST),
        client=client,
        session=f"{id(context.session):x}",
    )
    try:
        check_params(call.method, call.params)
        call.can_ask = can_ask(call.revision, capabilities)
        call.answers = {} if call.revision.is_handshake else read_answers(call.params)
        result = await run_sync(context.lifespan_context.answer, call, partial(_report, context))
        if result.get("resultType") == INPUT_REQUIRED and call.revision.is_handshake:
            await _ask(context, call, result)
            result = await run_sync(context.lifespan_context.answer, call, partial(_report, context))
    except ProtocolError as error:
        told = offer.explain(error)
        raise MCPError(told.code, told.message, told.data) from None
    completed = complete_result(call.revision, call.method, result, offer.server)
    plain: Json = msgspec.json.decode(encode(completed))  # results may contain Structs and encoded JSON
    return plain


async def _ask(context: ServerRequestContext[SdkSession], call: Call, result: Result) -> None:
    """Ask the user through the client, and store the answer in the call."""
    [(key, request)] = result["inputRequests"].items()
    params = request["params"]
    try:
        answer = await context.session.elicit_form(params["message"], params["requestedSchema"], context.request_id)
        call.answers = {key: answer.action}
    except NoBackChannelError:
        call.can_ask = False  # a transport without sessions cannot ask
    except MCPError:
        call.answers = {key: "cancel"}


def _find_client(context: ServerRequestContext[SdkSession]) -> tuple[Client, object]:
    """Return the client and the client's capabilities, from the handshake or from this request."""
    known = context.session.client_params
    if known is None:
        meta = (context.params or {}).get("_meta") or {}
        return read_client(meta.get(CLIENT_KEY)), meta.get(CAPABILITIES_KEY)
    capabilities = known.capabilities.model_dump(mode="json", by_alias=True, exclude_none=True)
    return read_client({"name": known.client_info.name, "version": known.client_info.version}), capabilities


def _report(
    context: ServerRequestContext[SdkSession], progress: float, total: float | None, message: str | None
) -> None:
    from_thread.run(context.session.report_progress, progress, total, message)


async def _listen(
    context: ServerRequestContext[SdkSession], params: SubscriptionsListenRequestParams
) -> SubscriptionsListenResult:
    return await context.lifespan_context.listen(context, params)
