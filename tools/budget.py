"""What `tools/list` of the contract satchel costs a model before its first question; exits 1 where that is too much."""

import sys
from typing import Any

import msgspec
from rs_bpe.bpe import openai

from satchel.contracts import load

HIDDEN = ("outputSchema", "annotations", "icons", "_meta")  # which no model is shown
MOST_TOKENS = 2_400  # of o200k, in compact JSON without these
MOST_BYTES = 20 * 1024  # of all of it but the icons, which older clients are not sent


def definitions() -> list[dict[str, Any]]:
    """The tools as `tools/list` shows them."""
    contract = load("satchel")
    return [contract.describe_tool(tool) for tool in contract.tools if tool.is_listed]


def cost(tools: list[dict[str, Any]]) -> tuple[int, int]:
    """Tokens that a model pays for tools, and bytes that a client is sent."""
    shown = [{key: tool[key] for key in tool if key not in HIDDEN} for tool in tools]
    text = msgspec.json.encode({"tools": shown}).decode()
    sent = [{key: tool[key] for key in tool if key != "icons"} for tool in tools]
    return len(openai.o200k_base().encode(text)), len(msgspec.json.encode({"tools": sent}))


def main() -> int:
    """Print the cost; the exit status says whether it is within the budget."""
    tokens, size = cost(definitions())
    print(f"tools/list of satchel: {tokens} tokens of {MOST_TOKENS}, {size} bytes of {MOST_BYTES}")
    return 0 if tokens <= MOST_TOKENS and size <= MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
