"""A store on PostgreSQL as two roles have it: its owner, and one that owns nothing."""

from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from psycopg import errors

from satchel.cli.database import cli
from tests.support.postgres import PostgresServer


def let_in(owner: str, role: str) -> str:
    """Migrate as the owner and let a role in, by the command that operators use; what that says."""
    done = CliRunner().invoke(cli, ["migrate", "--database", owner, "--role", role])
    assert done.exit_code == 0, done.output
    return done.output


def role_of(address: str) -> str:
    """Return the role in an address."""
    return str(psycopg.conninfo.conninfo_to_dict(address)["user"])


def two_roles(postgres: PostgresServer) -> tuple[str, str]:
    """Return a new store: the addresses for its owner, and for a role that was let in."""
    owner, app = postgres.fresh_for_two()
    let_in(owner, role_of(app))
    return owner, app


def become(connection: psycopg.Connection[Any], user: str, projects: str = "*") -> None:
    """Act for a user, in all projects or in those that a text lists, until the transaction ends."""
    sql = "select set_config('satchel.user', %s, true), set_config('satchel.projects', %s, true)"
    connection.execute(sql, [user, projects])


def refuse(connection: psycopg.Connection[Any], sql: str, user: str, projects: str = "*") -> None:
    """Check that row-level security keeps a user from doing something."""
    become(connection, user, projects)
    with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
        connection.execute(sql.encode())
    connection.rollback()
