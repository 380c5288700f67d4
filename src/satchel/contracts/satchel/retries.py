"""Calls with a key: the first one acts, and a repetition of it gets the same answer and does nothing."""

from collections.abc import Callable
from typing import Any

from msgspec import UNSET, UnsetType

from satchel.contracts.contract import Context, Reply
from satchel.protocol.codec import decode, encode
from satchel.services import retry_keys


def answer_once(
    context: Context, tool: str, key: str | UnsetType, input: dict[str, Any], act: Callable[[], Reply]
) -> Reply:
    """The answer of a call: of the first with its key what `act` gives, of a repetition the same and a note.

    `input` is everything that the answer depends on, as the caller gave it.

    Raises:
        WrongArgument, KeyReused: as `retry_keys.recall`.
    """
    if key is UNSET or not key:
        return act()
    digest = retry_keys.digest(context.scope, encode(input))
    kept = retry_keys.recall(context.tx, context.scope, tool, key, digest)
    if kept is not None:
        value = decode(kept)
        return _repeat(value["content"], value["structured"], key)
    reply = act()
    answer = encode({"content": reply.content, "structured": reply.structured})
    retry_keys.remember(context.tx, context.scope, tool, key, digest, answer)
    return reply


def _repeat(content: list[dict[str, Any]], structured: dict[str, Any], key: str) -> Reply:
    note = f"The call with the key '{key}' was made before; nothing was added now."
    first = {**content[0], "text": f"{content[0]['text']}\n{note}"}
    return Reply([first, *content[1:]], {**structured, "notes": [*structured.get("notes", ()), note]})
