"""Makes docs/contracts/ from the tables of the contracts: a page each, and a JSON Schema for each tool.

With --check it only says which of them are stale.
"""

import json
import sys
from pathlib import Path
from typing import Any

from satchel.contracts import CONTRACTS, load
from satchel.contracts.contract import Contract
from satchel.contracts.schema import json_schema

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "contracts"
NOTE = "<!-- Made from the code by `make docs`. Do not edit. -->"


def page(contract: Contract) -> str:
    """The page of one contract."""
    lines = [
        NOTE,
        f"# `{contract.name}`",
        "",
        (sys.modules[CONTRACTS[contract.name]].__doc__ or "").partition("\n\n")[0].strip(),
        "",
    ]
    lines += [f"Serve it with `satchel serve --contract {contract.name}`.", ""]
    for tool in contract.tools:
        schema = json_schema(tool.input, is_strict=contract.is_strict)
        lines += [
            f"## {tool.name}",
            "",
            f"{tool.description.rstrip('.')}. {'Writes.' if tool.writes else 'Only reads.'}",
            "",
        ]
        if schema["properties"]:
            lines += ["| argument | type | must it be given | rules | meaning |", "|---|---|---|---|---|"]
            required = schema.get("required", [])
            lines += [row(name, argument, name in required) for name, argument in schema["properties"].items()]
        else:
            lines += ["No arguments."]
        lines += [""]
    return "\n".join(lines)


def row(name: str, argument: dict[str, Any], is_required: bool) -> str:
    """One argument as a row of a table."""
    kind = argument["type"]
    if isinstance(kind, list):
        kind = " or ".join(kind)
    if kind == "array":
        kind = f"list of {argument['items']['type']}s"
    known = ("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "pattern", "enum", "format")
    rules = {key: argument[key] for key in known if key in argument}
    rules |= {f"each {key}": value for key, value in argument.get("items", {}).items() if key in known}
    told = ", ".join(f"{key} `{value}`" for key, value in rules.items())
    given = "yes" if is_required else f"no; `{argument['default']}`" if "default" in argument else "no"
    return f"| `{name}` | {kind} | {given} | {told} | {argument.get('description', '')} |"


def main() -> int:
    """Write the pages, or name the stale ones."""
    pages = {FOLDER / f"{name}.md": page(load(name)) for name in CONTRACTS}
    for name in CONTRACTS:
        contract = load(name)
        for tool in contract.tools:
            schema = json.dumps(contract.publish_schema(tool), indent=2, ensure_ascii=False)
            pages[FOLDER / name / f"{tool.name}.json"] = schema + "\n"
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    stale += [path for path in FOLDER.rglob("*.*") if path not in pages]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(FOLDER.parents[1])} is stale: run `make docs` and commit it.")
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in stale:
        if path in pages:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(pages[path])
        else:
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
