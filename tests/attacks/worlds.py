"""Stores on SQLite, on PostgreSQL as its owner, and as a role under row-level security, for attacks on isolation."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeVar

import pytest

from satchel.auth import tokens
from satchel.model import Scope
from satchel.storage.database import Database, Tx, open_database
from tests.support.postgres import PostgresServer, ReusedDatabase
from tests.support.roles import two_roles

Value = TypeVar("Value")

ENGINES = ("sqlite", "postgres", "role")


def find_addresses(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """The address of an empty store for its owner, and for the server; `request.param` is one of ENGINES."""
    if request.param == "sqlite":
        return (str(tmp_path / "satchel.db"),) * 2
    if request.param == "postgres":
        reused: ReusedDatabase = request.getfixturevalue("reused_database")
        return (reused.emptied(),) * 2
    server: PostgresServer = request.getfixturevalue("postgres")
    return two_roles(server)


class World:
    """A store with what a test puts into it."""

    def __init__(self, owner: str, server: str) -> None:
        self.address = server
        self.database: Database = open_database(server)
        self._owner = owner

    def write(self, scope: Scope, act: Callable[[Tx], Value]) -> Value:
        """What an act in a transaction of a scope gives."""
        with self.database.write(scope) as tx:
            return act(tx)

    def read(self, scope: Scope, act: Callable[[Tx], Value]) -> Value:
        """What a look in a transaction of a scope gives."""
        with self.database.read(scope) as tx:
            return act(tx)

    @contextmanager
    def open_as_owner(self) -> Iterator[Database]:
        """The store as its owner has it."""
        owner = open_database(self._owner)
        yield owner
        owner.close()

    def make_token(
        self,
        user: str,
        projects: Sequence[str] | None = None,
        *,
        is_read_only: bool = False,
        ended: Literal["revoked_at", "expires_at"] | None = None,
    ) -> str:
        """A new token, made by the owner of the store; `ended` is how it has ended since."""
        with self.open_as_owner() as owner, owner.write() as tx:
            token, secret = tokens.create(tx, user=user, projects=projects, is_read_only=is_read_only)
            if ended is not None:
                tx.run(f"update tokens set {ended} = created_at where id = :id", id=token.id)
        return secret

    def close(self) -> None:
        """Close the store."""
        self.database.close()
