"""`satchel contract`: the contracts and the JSON Schemas of their tools."""

import os

import click

from satchel.cli.completion import CONTRACT
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
@click.argument("name", type=CONTRACT)
@click.argument("tool", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON (the default).")
@click.option("--output", "folder", metavar="DIR", help="Write one file per tool into this folder.")
def show(name: str, tool: str | None, as_json: bool, folder: str | None) -> None:
    """Print the JSON Schema of a tool, its input and output, or of all tools."""
    del as_json  # schemas are JSON
    contract = load(_known("contract", name, list(CONTRACTS)))
    tools = {one.name: one for one in contract.tools}
    shown = list(tools) if tool is None else [_known("tool", tool, list(tools))]
    schemas = {one: contract.publish_schema(tools[one]) for one in shown}
    if folder is not None:
        try:
            os.makedirs(folder, exist_ok=True)
            for one, schema in schemas.items():
                write_file(os.path.join(folder, f"{one}.json"), f"{to_json(schema)}\n".encode(), mode=0o644)
        except OSError as error:
            end(f"cannot write into {folder}: {error.strerror}.", "failed")
    else:
        click.echo(to_json(list(schemas.values()) if tool is None else schemas[tool]))


def _known(kind: str, name: str, names: list[str]) -> str:
    if name not in names:
        closest = closest_name(name, names)
        hint = f"Did you mean '{closest}'? " if closest else ""
        end(f"there is no {kind} '{name}'. {hint}There are: {', '.join(names)}.", "not_found")
    return name
