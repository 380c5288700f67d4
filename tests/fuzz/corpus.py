"""Messages that are wrong in one way or another, made in code by families, and mutations of good ones."""

import json
import random
from collections.abc import Iterator
from typing import Any

from tests.support.stdio import modern_meta

META = modern_meta()
UNREADABLE = object()


def good_messages() -> list[dict[str, Any]]:
    """Requests of every kind that `satchel` answers, which mutations start from."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("ping", {}),
        ("tools/list", {}),
        ("prompts/list", {}),
        ("prompts/get", {"name": "code-review", "arguments": {"language": "Go"}}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": "satchel://task/1"}),
        ("server/discover", {}),
        ("tools/call", {"name": "list_tasks", "arguments": {"status": "all", "limit": 3}}),
        ("tools/call", {"name": "add_task", "arguments": {"title": "Tea 茶", "tags": ["a"]}}),
        ("tools/call", {"name": "search", "arguments": {"query": "needle"}}),
        ("tools/call", {"name": "edit_text", "arguments": {"item": "plan.md", "append": "x"}}),
        ("tools/call", {"name": "history", "arguments": {}}),
    ]
    return [{"jsonrpc": "2.0", "method": name, "params": {**params, "_meta": META}} for name, params in calls]


def corpus() -> dict[str, bytes]:
    """Malformed messages by a name that says what is wrong; none has a line end."""
    found: dict[str, bytes] = {}
    for family in (_framing, _json, _json_rpc, _ids, _params, _unicode, _numbers, _depth, _duplicates, _huge, _types):
        for name, raw in family():
            found[f"{family.__name__[1:]} {name}"] = raw.replace(b"\n", b" ")
    return found


def _message(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"_meta": META}, **members}


def _raw(value: Any) -> bytes:
    return json.dumps(value).encode()


def _framing() -> Iterator[tuple[str, bytes]]:
    whole = _raw(_message())
    for index, raw in enumerate(
        (b"{", b"}", b"[", b"]", b"x", b'"', b"null", b"true", b"0", b'"text"', b"[]", b"[[]]", b"[1,2]", b"{}", b"{]")
    ):
        yield f"bare {index}", raw
    for cut in range(1, len(whole), max(1, len(whole) // 25)):
        yield f"cut at {cut}", whole[:cut]
    for index, raw in enumerate((whole + b"x", whole + whole, b"\xef\xbb\xbf" + whole, whole + b"\0", b"\0" + whole)):
        yield f"around {index}", raw
    for header in (b"Content-Length: 5", b"GET / HTTP/1.1", b"data: {}", b"--boundary", b"<xml/>", b"%PDF-1.7"):
        yield f"other protocol {header!r}", header


def _json() -> Iterator[tuple[str, bytes]]:
    for index, text in enumerate(
        (
            *('{"jsonrpc":"2.0","id":7,}', "{'id':7}", '{"id" 7}', '{"id":7 "method":"ping"}', '{id:7,method:"ping"}'),
            *('{"id":07}', '{"id":+7}', '{"id":.5}', '{"id":5.}', '{"id":0x7}', '{"id":1e}', '{"id":--1}'),
            '{"id":tru}',
            *('{"id":NaN}', '{"id":Infinity}', '{"id":-Infinity}', '{"id":undefined}', '{"a":"\t"}', '{"a":"\\x41"}'),
            *('{"a":"\\u12"}', '{"a":"\\"}', '{"a":"unfinished}', '{"a":1}//c', '/*c*/{"a":1}', "{,}", "[,]", "[1,]"),
        )
    ):
        yield str(index), text.encode()


def _json_rpc() -> Iterator[tuple[str, bytes]]:
    for value in (None, 2.0, 2, "1.0", "2", "", "2.0 ", [], {}, True):
        yield f"version {value!r}", _raw(_message(jsonrpc=value))
    for name in ("jsonrpc", "method", "params", "id"):
        yield f"without {name}", _raw({key: value for key, value in _message().items() if key != name})
    for method in (None, 1, True, [], {}, "", " ", "rpc.x", "PING", "ping ", "tools", "tools/", "/", "x" * 5000, "\0"):
        yield f"method {str(method)[:20]!r}", _raw(_message(method=method))
    for more in ("result", "error"):
        yield f"request with {more}", _raw(_message(**{more: {}}))
        yield f"{more} to nothing", _raw({"jsonrpc": "2.0", "id": 7, more: {"code": 1, "message": "x"}})
        yield f"{more} null", _raw({"jsonrpc": "2.0", "id": 7, more: None})


def _ids() -> Iterator[tuple[str, bytes]]:
    for value in (None, True, 1.5, -1, 0, "", "x" * 10_000, [], {}, [1], {"a": 1}, 2**53, 2**64, -(2**70), 1e300, "\0"):
        yield repr(value)[:30], _raw(_message(id=value))


def _params() -> Iterator[tuple[str, bytes]]:
    odd: tuple[Any, ...] = (None, 1, "x", True, [], [1], {"_meta": None}, {"_meta": []}, {"_meta": {}}, {"_meta": 1})
    for method in ("ping", "tools/list", "tools/call", "prompts/get", "resources/read", "initialize"):
        for value in odd:
            yield f"{method} {value!r}", _raw(_message(method=method, params=value))
    for version in (None, 1, "", "2020-01-01", "9999-99-99", [], {}, "2026-07-28 "):
        meta = {**META, "io.modelcontextprotocol/protocolVersion": version}
        yield f"revision {version!r}", _raw(_message(params={"_meta": meta}))
    for name in (None, 1, [], {}, "", "no such tool", "add_task\0", "x" * 5000, "../add_task"):
        yield f"tool {str(name)[:20]!r}", _raw(_message(method="tools/call", params={"name": name, "_meta": META}))
    for given in (None, 1, "x", [], [["title", "x"]], True):
        params = {"name": "add_task", "arguments": given, "_meta": META}
        yield f"arguments {given!r}", _raw(_message(method="tools/call", params=params))


def _unicode() -> Iterator[tuple[str, bytes]]:
    whole = _raw(_message(method="tools/call", params={"name": "search", "arguments": {"query": "Q"}, "_meta": META}))
    for raw in (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\xc0\xaf", b"\x80", b"\xf4\x90\x80\x80"):
        yield f"bytes {raw!r}", whole.replace(b'"Q"', b'"' + raw + b'"')
    for text in (b"\\ud800", b"\\udc00", b"\\ud800\\ud800", b"\\u0000", b"\\ufffe", b"\\u202e", b"\\u2028", b"\\u0085"):
        yield f"escape {text!r}", whole.replace(b"Q", text)
        yield f"key {text!r}", whole.replace(b'"query"', b'"' + text + b'"')
    yield "utf-16", whole.decode().encode("utf-16")
    yield "utf-32", whole.decode().encode("utf-32")
    yield "latin-1", whole.replace(b"Q", b"\xe4")


def _numbers() -> Iterator[tuple[str, bytes]]:
    whole = _raw(
        _message(method="tools/call", params={"name": "list_tasks", "arguments": {"limit": 77}, "_meta": META})
    )
    for text in ("-0", "0.0", "1e999", "-1e999", "1e-999", "9" * 25, "9" * 5000, "1.0", "1.5", "2e2", "1E400", "-1"):
        yield text[:20], whole.replace(b"77", text.encode())


def _depth() -> Iterator[tuple[str, bytes]]:
    for depth in (63, 64, 65, 66, 500, 1_100, 20_000):
        for begin, end in ((b"[", b"]"), (b'{"a":', b"}")):
            inner = begin * depth + b"1" + end * depth
            yield f"{depth} {begin!r}", b'{"jsonrpc":"2.0","id":7,"method":"ping","params":' + inner + b"}"
            yield f"{depth} {begin!r} bare", inner
        yield f"{depth} unfinished", b"[" * depth


def _duplicates() -> Iterator[tuple[str, bytes]]:
    whole = _raw(_message())[:-1]
    for more in (b'"id":8', b'"method":"tools/list"', b'"jsonrpc":"1.0"', b'"params":null', b'"id":null', b'"":""'):
        yield repr(more), whole + b"," + more + b"}"
    yield (
        "arguments",
        (
            b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search","name":"add_task",'
            b'"arguments":{"query":"a","query":"b"}}}'
        ),
    )


def _huge() -> Iterator[tuple[str, bytes]]:
    yield "text", _raw(_message(method="tools/call", params={"name": "search", "arguments": {"query": "x" * 10**6}}))
    yield "key", _raw(_message(**{"k" * 10**6: 1}))
    yield "keys", _raw(_message(params={str(number): number for number in range(20_000)}))
    yield "elements", _raw(_message(params={"a": [0] * 100_000}))
    yield "white space", b" " * 10**6 + _raw(_message())


def _types() -> Iterator[tuple[str, bytes]]:
    odd: tuple[Any, ...] = (None, True, 1, 1.5, "x", [], {})
    for tool, argument in (("add_task", "title"), ("list_tasks", "tags"), ("get_task", "task"), ("edit_text", "edits")):
        for value in odd:
            params = {"name": tool, "arguments": {argument: value}, "_meta": META}
            yield f"{tool} {argument} {value!r}", _raw(_message(method="tools/call", params=params))


def mutate(raw: bytes, others: list[bytes], dice: random.Random) -> bytes:
    """Return a message with some bits, bytes or parts that are not its own."""
    changed = bytearray(raw)
    for _ in range(dice.choice((1, 1, 2, 5))):
        way, place = dice.randrange(6), dice.randrange(len(changed) or 1)
        if way == 0 and changed:
            changed[place] ^= 1 << dice.randrange(8)
        elif way == 1:
            del changed[place:]
        elif way == 2:
            del changed[place : place + dice.randrange(1, 9)]
        elif way == 3:
            other = dice.choice(others)
            begin = dice.randrange(len(other))
            changed[place:place] = other[begin : begin + dice.randrange(1, 60)]
        elif way == 4:
            changed[place : place + 1] = bytes([dice.randrange(256)])
        else:
            changed[place:place] = dice.choice((b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\u0000", b"null", b"-1e9"))
    return bytes(changed).replace(b"\n", b" ").replace(b"\r", b" ")


def readable_id(raw: bytes) -> Any:
    """Return the id of a message that is plainly a request with an id, or UNREADABLE."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        value = json.loads(raw.decode(), parse_constant=refuse)
    except (ValueError, RecursionError):
        return UNREADABLE
    if not isinstance(value, dict) or not isinstance(value.get("method"), str) or "result" in value or "error" in value:
        return UNREADABLE
    id = value.get("id")
    is_plain = isinstance(id, str) or (isinstance(id, int) and not isinstance(id, bool) and abs(id) < 2**53)
    return id if is_plain else UNREADABLE
