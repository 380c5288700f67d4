"""Measure the tokens of `tools/list` of the contract satchel; exit with status 1 if they exceed the budget."""

import sys
from typing import Any

import msgspec
from rs_bpe.bpe import openai

from satchel.contracts import load

HIDDEN = ("outputSchema", "annotations", "icons", "_meta")  # which no model is shown
MOST_TOKENS = 2_400  # of o200k, in compact JSON without these
MOST_BYTES = 20 * 1024  # of all of it but the icons, which older clients are not sent


def definitions() -> list[dict[str, Any]]:
    """Return the tools as `tools/list` shows them."""
    contract = load("satchel")
    return [contract.describe_tool(tool) for tool in contract.tools if tool.is_listed]


def cost(tools: list[dict[str, Any]]) -> tuple[int, int]:
    """Return the tokens that models see of tools, and the bytes that clients receive."""
    shown = [{key: tool[key] for key in tool if key not in HIDDEN} for tool in tools]
    text = msgspec.json.encode({"tools": shown}).decode()
    sent = [{key: tool[key] for key in tool if key != "icons"} for tool in tools]
    return len(openai.o200k_base().encode(text)), len(msgspec.json.encode({"tools": sent}))


def main() -> int:
    """Print the cost; return 1 if it exceeds the budget."""
    tokens, size = cost(definitions())
    print(f"tools/list of satchel: {tokens} tokens of {MOST_TOKENS}, {size} bytes of {MOST_BYTES}")
    return 0 if tokens <= MOST_TOKENS and size <= MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
