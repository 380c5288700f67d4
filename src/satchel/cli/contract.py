"""`satchel contract`: which contracts there are, and the JSON Schemas that they publish."""

import click

from satchel.cli.printing import to_json
from satchel.cli.store import end, json_option
from satchel.contracts import CONTRACTS, load
from satchel.services.suggestions import closest_name


@click.group()
def cli() -> None:
    """List and show the contracts that can be served."""


@cli.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the contracts and their tools."""
    tools = {name: [tool.name for tool in load(name).tools] for name in CONTRACTS}
    if as_json:
        click.echo(to_json({"contracts": [{"name": name, "tools": tools[name]} for name in tools]}))
    else:
        for name, names in tools.items():
            click.echo(f"{name}\t{', '.join(names)}")


@cli.command()
@click.argument("name")
@click.argument("tool", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as without it.")
def show(name: str, tool: str | None, as_json: bool) -> None:
    """Print the JSON Schema of a tool: its input, and its output as success or error. Without TOOL, of all tools."""
    del as_json  # schemas are JSON anyhow
    contract = load(_known("contract", name, list(CONTRACTS)))
    tools = {one.name: one for one in contract.tools}
    if tool is not None:
        click.echo(to_json(contract.publish_schema(tools[_known("tool", tool, list(tools))])))
    else:
        click.echo(to_json([contract.publish_schema(one) for one in contract.tools]))


def _known(kind: str, name: str, names: list[str]) -> str:
    if name not in names:
        closest = closest_name(name, names)
        hint = f"Did you mean '{closest}'? " if closest else ""
        end(f"there is no {kind} '{name}'. {hint}There are: {', '.join(names)}.", "not_found")
    return name
