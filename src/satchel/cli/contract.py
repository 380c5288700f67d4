"""`satchel contract`: the contracts and the JSON Schemas of their tools."""

import os

import click

from satchel.cli.errors import end
from satchel.cli.examples import Group
from satchel.cli.output import to_json
from satchel.cli.session import json_option
from satchel.contracts import CONTRACTS, load
from satchel.files import write_file
from satchel.services.texts import closest_name


@click.group(cls=Group)
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
@click.argument("name", type=click.Choice(list(CONTRACTS)), metavar="NAME")
@click.argument("tool", required=False)
@click.option("--json", is_flag=True, expose_value=False, help="Print JSON (the default).")
@click.option("--output", "folder", metavar="DIR", help="Write one file per tool into this folder.")
def show(name: str, tool: str | None, folder: str | None) -> None:
    """Print the JSON Schema of a tool, its input and output, or of all tools."""
    contract = load(name)
    schemas = {one.name: contract.publish_schema(one) for one in contract.tools}
    if tool is not None and tool not in schemas:
        near = closest_name(tool, list(schemas))
        hint = f"Did you mean '{near}'? " if near else ""
        end(f"there is no tool '{tool}'. {hint}There are: {', '.join(schemas)}.", "not_found")
    shown = schemas if tool is None else {tool: schemas[tool]}
    if folder is None:
        click.echo(to_json(list(schemas.values()) if tool is None else schemas[tool]))
        return
    try:
        os.makedirs(folder, exist_ok=True)
        for one, schema in shown.items():
            write_file(os.path.join(folder, f"{one}.json"), f"{to_json(schema)}\n".encode(), mode=0o644)
    except OSError as error:
        end(f"cannot write into {folder}: {error.strerror}.", "failed")
