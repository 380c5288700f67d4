"""`satchel database`: migrate a store, grant a role access to it, show its status."""

import os
from typing import Any

import click

from satchel import config
from satchel.cli.examples import Group
from satchel.cli.session import address_command
from satchel.errors import StoreUnusable
from satchel.storage import schema
from satchel.storage.database import is_postgres, open_database
from satchel.storage.status import read_status


@click.group(cls=Group)
def cli() -> None:
    """Migrate the store, and show its status."""


@cli.command()
@click.option("--role", metavar="NAME", help="A PostgreSQL role that owns nothing, to grant access to.")
@address_command
def migrate(where: str, role: str | None) -> tuple[str, Any]:
    """Migrate the store to the newest schema, or create it; on PostgreSQL, run this as the owner.

    With --role, grant a role that owns nothing the rights to serve the store, and no others. Repeat it after each
    migration.
    """
    if role is not None and not is_postgres(where):
        raise StoreUnusable("a SQLite file has no roles: its mode decides who may read it. Leave out --role.")
    is_new = not is_postgres(where) and not (os.path.exists(where) and os.path.getsize(where))
    newest = schema.newest()
    before = 0 if is_new else read_status(where).schema
    open_database(where, config.load({}).database_direct).close()
    notes = []
    if role is not None:
        from satchel.storage import postgres_schema
        from satchel.storage.postgres import operators_connection

        with operators_connection(where) as (connection, name):
            notes = postgres_schema.grant(connection, role, name)
    done = f"Migrated the store from schema {before} to {newest}." if before else f"Made a store of schema {newest}."
    lines = [done if before < newest else f"The store has schema {before}, the newest."]
    lines += [f"Role '{role}' may use the store."] if role is not None else []
    value = {"from": before, "schema": newest, "role": role, "notes": notes}
    return "\n".join([*lines, *(f"Note: {note}." for note in notes)]), value


@cli.command()
@address_command
def status(where: str) -> tuple[str, Any]:
    """Show where the store is, its schema, and how much is in it; change nothing."""
    found = read_status(where)
    lines = [
        f"engine     {found.engine}",
        f"store      {found.store}",
        f"schema     {found.schema} (this Satchel knows up to {found.newest})",
        *(f"{name:<10} {'not visible' if count is None else count}" for name, count in found.counts.items()),
    ]
    if found.row_security:
        lines.append("Row-level security applies to this role: it sees the tasks of one user at a time.")
    if why := schema.explain_number(found.schema):
        lines.append(f"The store {why}.")
    elif found.schema < found.newest:
        lines.append("Migrate it with: satchel database migrate")
    return "\n".join(lines), found
