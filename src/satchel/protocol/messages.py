"""JSON-RPC messages: their form, the parameters that MCP defines, errors and error codes."""

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import Struct

from satchel.protocol.codec import has_surrogates

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
    """A JSON-RPC error to send to the client."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def body(self) -> Json:
        """Return the `error` member of the response."""
        body: Json = {"code": self.code, "message": self.message}
        if self.data is not None:
            body["data"] = self.data
        return body

    def with_reason(self) -> "ProtocolError":
        """Return this error with its details also in the message, because many hosts show models only the message."""
        details = self.data.get("details") if isinstance(self.data, dict) else None
        if not isinstance(details, str):
            return self
        return ProtocolError(self.code, f"{self.message}: {details}", self.data)


def invalid_params(details: str) -> ProtocolError:
    """Return the error for a request with wrong parameters."""
    return ProtocolError(INVALID_PARAMS, "Invalid params", {"details": details})


def invalid_request(details: str) -> ProtocolError:
    """Return the error for a message that is not a JSON-RPC 2.0 request."""
    return ProtocolError(INVALID_REQUEST, "Invalid request", {"details": details})


class Client(Struct, frozen=True):
    """The name and version of a client; empty strings if it gives none."""

    name: str = ""
    version: str = ""


NO_CLIENT = Client()
_MAX_CLIENT = 100  # characters of a name or version


def read_client(info: object) -> Client:
    """Return the client named in a `clientInfo`, shortened and without control characters; nothing verifies it."""
    if not isinstance(info, dict):
        return NO_CLIENT
    return Client(*(_clean(info.get(member)) for member in ("name", "version")))


def _clean(text: object) -> str:
    return "".join(one for one in text[:_MAX_CLIENT] if one.isprintable()) if isinstance(text, str) else ""


class Message(Struct, frozen=True):
    """A well-formed message: a request has an id, a notification has none, a response has no method."""

    id: Id | None
    method: str | None
    params: Json


_LARGEST_ID = 10**400  # the codec replaces numbers with thousands of digits by others


def readable_id(value: object) -> Id | None:
    """Return the id of a message that may be malformed elsewhere; None if the id is not valid."""
    found = value.get("id") if isinstance(value, dict) else None
    if isinstance(found, int) and not isinstance(found, bool):
        return found if abs(found) < _LARGEST_ID else None
    return found if isinstance(found, str) and not has_surrogates(found) else None


def parse_message(value: object) -> Message:
    """Check the form of one decoded message.

    Raises:
        ProtocolError: the value is not a JSON-RPC 2.0 message.
    """
    if not isinstance(value, dict):
        raise invalid_request("a message is a JSON object")
    if value.get("jsonrpc") != "2.0":
        raise invalid_request('jsonrpc must be "2.0"')
    identity = readable_id(value)
    if "method" not in value and ("result" in value) != ("error" in value):
        return Message(identity, None, {})  # with any id: answering a response with an error could start a loop
    if "id" in value and identity is None:
        raise invalid_request("id must be a string or an integer of at most 400 digits")
    method = value.get("method")
    if not isinstance(method, str):
        raise invalid_request("method must be a string")
    params = {} if value.get("params") is None else value["params"]
    if not isinstance(params, dict):
        raise invalid_request("params must be an object")
    return Message(identity, method, params)


def check_params(method: str, params: Json) -> None:
    """Check the parameters that MCP defines for a method; null `arguments` become `{}`.

    A null argument of a prompt is omitted.

    Raises:
        ProtocolError: a parameter is missing or has the wrong type.
    """
    check = _CHECKS.get(method)
    if check is not None:
        check(params)


def _check_name_and_arguments(params: Json) -> None:
    _check_text(params, "name")
    arguments = params.get("arguments")
    if arguments is None:
        params["arguments"] = {}
    elif not isinstance(arguments, dict):
        raise invalid_params("arguments must be an object")


def _check_prompt(params: Json) -> None:
    _check_name_and_arguments(params)
    params["arguments"] = {name: value for name, value in params["arguments"].items() if value is not None}
    for name, value in params["arguments"].items():
        _check_storable(name, "The name of an argument")
        if not isinstance(value, str):
            raise invalid_params(f"Argument '{name}' must be a string")
        _check_storable(value, f"Argument '{name}'")


def _check_cursor(params: Json) -> None:
    if not isinstance(params.get("cursor"), str | None):
        raise invalid_params("cursor must be a string")


def _check_completion(params: Json) -> None:
    reference, argument = params.get("ref"), params.get("argument")
    if not isinstance(reference, dict) or reference.get("type") not in ("ref/prompt", "ref/resource"):
        raise invalid_params("ref must be a ref/prompt or a ref/resource")
    _check_text(reference, "name" if reference["type"] == "ref/prompt" else "uri")
    if not isinstance(argument, dict):
        raise invalid_params("argument must be an object")
    _check_text(argument, "name")
    _check_text(argument, "value")


def _check_text(params: Json, name: str) -> None:
    if name not in params:
        raise invalid_params(f"Missing required parameter: {name}")
    if not isinstance(params[name], str):
        raise invalid_params(f"{name} must be a string")
    _check_storable(params[name], name)


def _check_storable(text: str, what: str) -> None:
    # No store accepts NUL or a lone surrogate, so no item has such a name.
    if "\0" in text or has_surrogates(text):
        raise invalid_params(f"{what} contains NUL or half a character")


_CHECKS: dict[str, Callable[[Json], None]] = {
    "tools/list": _check_cursor,
    "tools/call": _check_name_and_arguments,
    "prompts/list": _check_cursor,
    "prompts/get": _check_prompt,
    "resources/list": _check_cursor,
    "resources/templates/list": _check_cursor,
    "resources/read": partial(_check_text, name="uri"),
    "resources/subscribe": partial(_check_text, name="uri"),
    "resources/unsubscribe": partial(_check_text, name="uri"),
    "completion/complete": _check_completion,
    "skills/list": _check_cursor,
    "skills/get": partial(_check_text, name="uri"),
}
