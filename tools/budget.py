"""Measure the tokens of `tools/list` of the contract satchel; exit with status 1 if they exceed the budget."""

import sys
from typing import Any

import msgspec
from rs_bpe.bpe import openai

from satchel.contracts import load

HIDDEN = ("outputSchema", "annotations", "icons", "_meta")  # which no model is shown
MOST_TOKENS = 2_700  # of o200k, in compact JSON without these


def definitions() -> list[dict[str, Any]]:
    """Return the tools as `tools/list` shows them."""
    contract = load("satchel")
    return [contract.describe_tool(tool) for tool in contract.tools if tool.is_listed]


def cost(tools: list[dict[str, Any]]) -> int:
    """Return the tokens of tools that a model is shown."""
    shown = [{key: tool[key] for key in tool if key not in HIDDEN} for tool in tools]
    text = msgspec.json.encode({"tools": shown}).decode()
    return len(openai.o200k_base().encode(text))


def main() -> int:
    """Print the cost; return 1 if it exceeds the budget."""
    tokens = cost(definitions())
    print(f"tools/list of satchel: {tokens} tokens of {MOST_TOKENS}")
    return 0 if tokens <= MOST_TOKENS else 1


if __name__ == "__main__":
    sys.exit(main())
