"""What a JSON-RPC message may look like: requests told from notifications and responses, calls, errors, codes."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from satchel.protocol.codec import has_surrogates
from satchel.protocol.revisions import Revision

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
UNSUPPORTED_PROTOCOL_VERSION = -32022

Id = str | int
Json = dict[str, Any]


class ProtocolError(Exception):
    """A JSON-RPC error, as it goes to the client."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def body(self) -> Json:
        """The `error` member of the answer."""
        body: Json = {"code": self.code, "message": self.message}
        if self.data is not None:
            body["data"] = self.data
        return body


def invalid_params(details: str) -> ProtocolError:
    """The refusal of a request whose parameters are wrong, saying which and why."""
    return ProtocolError(INVALID_PARAMS, "Invalid params", {"details": details})


def invalid_request(details: str) -> ProtocolError:
    """The refusal of something that is no JSON-RPC 2.0 request."""
    return ProtocolError(INVALID_REQUEST, "Invalid request", {"details": details})


class Call(Struct, kw_only=True, eq=False):
    """One request that the application has to answer; its parameters have the shape that MCP gives them."""

    id: Id
    method: str
    params: Json
    revision: Revision
    progress_token: Id | None = None
    is_cancelled: bool = False


class Message(Struct, frozen=True):
    """A message of good form: a request with an id, a notification without; a response has no method."""

    id: Id | None
    method: str | None
    params: Json


def readable_id(value: object) -> Id | None:
    """The id of a message, however broken the rest of it is; None where there is none to echo."""
    found = value.get("id") if isinstance(value, dict) else None
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    return found if isinstance(found, str) and not has_surrogates(found) else None


def parse(value: object) -> Message:
    """Check the form of one decoded message.

    Raises:
        ProtocolError: it is no JSON-RPC 2.0 message.
    """
    if not isinstance(value, dict):
        raise invalid_request("a message is a JSON object")
    if value.get("jsonrpc") != "2.0":
        raise invalid_request('jsonrpc must be "2.0"')
    identity = readable_id(value)
    if "method" not in value and ("result" in value) != ("error" in value):
        return Message(identity, None, {})  # an answer, whatever its id: answering answers could go on for ever
    if "id" in value and identity is None:
        raise invalid_request("id must be a string or an integer")
    method = value.get("method")
    if not isinstance(method, str):
        raise invalid_request("method must be a string")
    params = value.get("params")
    if params is None:
        params = {}
    if not isinstance(params, dict):
        raise invalid_request("params must be an object")
    return Message(identity, method, params)


def check_params(method: str, params: Json) -> None:
    """Check the parameters that MCP itself gives a method; `arguments` of null become `{}`.

    Raises:
        ProtocolError: one is missing or of the wrong type.
    """
    check = _CHECKS.get(method)
    if check is not None:
        check(params)


def _named_with_arguments(params: Json) -> None:
    _text(params, "name")
    arguments = params.get("arguments")
    if arguments is None:
        params["arguments"] = {}
    elif not isinstance(arguments, dict):
        raise invalid_params("arguments must be an object")


def _prompt(params: Json) -> None:
    _named_with_arguments(params)
    for name, value in params["arguments"].items():
        if not isinstance(value, str) or not _is_clean(value) or not _is_clean(name):
            raise invalid_params(f"Argument '{name}' must be a string")


def _resource(params: Json) -> None:
    _text(params, "uri")


def _page(params: Json) -> None:
    if not isinstance(params.get("cursor"), str | None):
        raise invalid_params("cursor must be a string")


def _completion(params: Json) -> None:
    reference, argument = params.get("ref"), params.get("argument")
    if not isinstance(reference, dict) or reference.get("type") not in ("ref/prompt", "ref/resource"):
        raise invalid_params("ref must be a ref/prompt or a ref/resource")
    _text(reference, "name" if reference["type"] == "ref/prompt" else "uri")
    if not isinstance(argument, dict):
        raise invalid_params("argument must be an object")
    _text(argument, "name")
    _text(argument, "value")


def _text(params: Json, name: str) -> None:
    if name not in params:
        raise invalid_params(f"Missing required parameter: {name}")
    if not isinstance(params[name], str) or not _is_clean(params[name]):
        raise invalid_params(f"{name} must be a string")


def _is_clean(text: str) -> bool:
    # NUL and half characters can be stored nowhere, so nothing is called by them.
    return "\0" not in text and not has_surrogates(text)


_CHECKS: dict[str, Callable[[Json], None]] = {
    "tools/list": _page,
    "tools/call": _named_with_arguments,
    "prompts/list": _page,
    "prompts/get": _prompt,
    "resources/list": _page,
    "resources/templates/list": _page,
    "resources/read": _resource,
    "resources/subscribe": _resource,
    "resources/unsubscribe": _resource,
    "completion/complete": _completion,
}
