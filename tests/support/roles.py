"""A store on PostgreSQL with two roles: its owner, and an application role that owns nothing."""

from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from psycopg import errors

from satchel.cli.database import cli
from tests.support.postgres import PostgresServer


def let_in(owner: str, role: str) -> str:
    """Migrate as the owner and grant a role access, by the command for operators; return its output."""
    done = CliRunner().invoke(cli, ["migrate", "--database", owner, "--role", role])
    assert done.exit_code == 0, done.output
    return done.output


def role_of(address: str) -> str:
    """Return the role in an address."""
    return str(psycopg.conninfo.conninfo_to_dict(address)["user"])


def two_roles(postgres: PostgresServer) -> tuple[str, str]:
    """Return two addresses of a new store: for its owner, and for an application role with access."""
    owner, app = postgres.fresh_for_two()
    let_in(owner, role_of(app))
    return owner, app


def become(connection: psycopg.Connection[Any], user: str, projects: str = "*") -> None:
    """Act for a user until the transaction ends, in all projects or in those that `projects` lists."""
    sql = "select set_config('satchel.user', %s, true), set_config('satchel.projects', %s, true)"
    connection.execute(sql, [user, projects])


def refuse(connection: psycopg.Connection[Any], sql: str, user: str, projects: str = "*") -> None:
    """Check that row-level security refuses a statement of a user."""
    become(connection, user, projects)
    with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
        connection.execute(sql.encode())
    connection.rollback()
