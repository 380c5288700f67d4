"""Tokens: what they say of whom, for how long, and what the store keeps of them; on both engines."""

import re
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from satchel import clock
from satchel.auth import tokens
from satchel.errors import NotFound, Unauthorized, WrongArgument
from satchel.model import Identity, Token
from satchel.services import projects
from satchel.storage.database import Database, Tx, open_database

ADA = "6f0a2f5e-9c1c-4a6e-8a51-0d8f8f3c2b11"


def later(**span: float) -> str:
    return clock.write(datetime.now(UTC) + timedelta(**span))


def made(database: Database, **more: Any) -> tuple[Token, str]:
    with database.write() as tx:
        return tokens.create(tx, **({"user": ADA} | more))


def refusal(database: Database, secret: str) -> str:
    with pytest.raises(Unauthorized) as refused:
        tokens.identify(database, secret)
    return refused.value.description


def test_a_token_identifies_its_user_projects_and_rights(database: Database) -> None:
    with database.write() as tx:
        for name in ("one", "two"):
            projects.add(tx, name)
    all_rights, everything = made(database, user=ADA.upper())
    token, little = made(database, is_read_only=True, projects=["two", "one", "two"], expires_at=later(hours=1))

    assert tokens.identify(database, everything) == Identity(
        user=ADA, projects=None, is_read_only=False, token=all_rights.id
    )
    assert tokens.identify(database, little) == Identity(
        user=ADA, projects=("two", "one"), is_read_only=True, token=token.id
    )
    assert (token.owner, token.projects, token.is_read_only) == (ADA, ("two", "one"), True)


def test_a_secret_is_long_random_and_kept_only_as_a_hash(database: Database) -> None:
    token, secret = made(database)
    _, another = made(database)

    assert re.fullmatch(r"satchel_[A-Za-z0-9_-]{43}", secret) and secret != another
    with database.read() as tx:
        [row] = tx.all("select * from tokens where id = :id", id=token.id)
    assert sha256(secret.encode()).hexdigest() in row
    assert not any(secret.removeprefix("satchel_") in str(cell) for cell in row)
    assert "hash" not in Token.__struct_fields__


def test_a_revoked_token_is_rejected_and_keeps_its_time_of_revocation(database: Database) -> None:
    token, secret = made(database)
    _, other = made(database)
    with database.write() as tx:
        revoked = tokens.revoke(tx, token.id)
    with database.write() as tx:
        again = tokens.revoke(tx, token.id.upper())

    assert again == revoked and revoked.revoked_at is not None
    assert refusal(database, secret) == "the token was revoked"
    assert tokens.identify(database, other).user == ADA


def test_a_token_expires(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    token, secret = made(database, expires_at=later(minutes=5))
    assert token.expires_at is not None
    assert tokens.identify(database, secret).user == ADA

    monkeypatch.setattr(clock, "now", lambda: token.expires_at)
    assert refusal(database, secret) == "the token has expired"
    with database.write() as tx:
        tokens.revoke(tx, token.id)
    assert refusal(database, secret) == "the token was revoked"


def test_a_token_that_was_never_created_is_unknown(database: Database) -> None:
    _, secret = made(database)
    last = "A" if secret[-1] != "A" else "E"
    assert refusal(database, secret[:-1] + last) == "the token is unknown"
    assert refusal(database, secret.swapcase().replace("SATCHEL_", "satchel_")) == "the token is unknown"


class Untouchable(Database):
    def read(self, *_: object, **__: object) -> AbstractContextManager[Tx]:
        raise AssertionError("touched")


def test_a_malformed_secret_is_rejected_without_the_database() -> None:
    for secret in (
        "",
        "satchel_",
        "satchel_" + "a" * 42,
        "satchel_" + "a" * 44,
        "satchel_" + "a" * 43 + "\n",
        "satchel_" + "é" * 43,
        "satchel_" + "\0" * 43,
        "satchel_" + "\udc80" * 43,
        "SATCHEL_" + "a" * 43,
        "satchel_" + "a" * 10_000_000,
    ):
        assert refusal(Untouchable(), secret) == "the token is unknown", ascii(secret[:12])


def test_a_token_needs_a_user_existing_projects_and_a_future_expiry(database: Database) -> None:
    for user in ("", "ada", "{" + ADA + "}", ADA.replace("-", "")):
        with pytest.raises(WrongArgument) as wrong:
            made(database, user=user)
        assert (wrong.value.field, wrong.value.rule) == ("user", "format")
    for name in ("nowhere", "", "*", "a,b", "\0"):
        with pytest.raises(NotFound) as missing:
            made(database, projects=[name])
        assert (missing.value.kind, missing.value.key) == ("project", name)
    with pytest.raises(WrongArgument) as wrong:
        made(database, projects=[])
    assert (wrong.value.field, wrong.value.rule) == ("projects", "minItems")
    for past in (clock.now(), later(days=-1), clock.write(datetime(999, 1, 1, tzinfo=UTC))):
        with pytest.raises(WrongArgument) as wrong:
            made(database, expires_at=past)
        assert (wrong.value.field, wrong.value.rule) == ("expires_at", "minimum")
    with database.read() as tx:
        assert tokens.listed(tx) == []


def test_tokens_are_listed_the_newest_first_with_their_state(database: Database) -> None:
    first, _ = made(database)
    second, _ = made(database, expires_at=later(hours=1))
    third, _ = made(database)
    with database.write() as tx:
        third = tokens.revoke(tx, third.id)
    with database.read() as tx:
        assert tokens.listed(tx) == [third, second, first]
    assert [token.state(later(hours=2)) for token in (first, second, third)] == ["active", "expired", "revoked"]
    assert second.state(clock.now()) == "active"


def test_a_token_is_revoked_by_the_beginning_of_its_id(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = iter(["aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002"])
    monkeypatch.setattr(Tx, "new_id", staticmethod(lambda: next(ids)))
    (first, secret), (second, other) = made(database), made(database)

    with database.write() as tx:
        for wrong in ("aaaaaaa", "", "%" * 8, "_" * 8, "satchel_" + "a" * 43, first.id + "0", "aaaaaaa~"):
            with pytest.raises(WrongArgument, match="pattern"):
                tokens.revoke(tx, wrong)
        with pytest.raises(WrongArgument, match="oneOf"):
            tokens.revoke(tx, "aaaaaaaa-0000")
        with pytest.raises(NotFound):
            tokens.revoke(tx, "bbbbbbbb")
        assert [token.revoked_at for token in tokens.listed(tx)] == [None, None]
        assert tokens.revoke(tx, second.id[:36]).id == second.id

    assert tokens.identify(database, secret).user == ADA
    assert refusal(database, other) == "the token was revoked"
    with database.write() as tx, pytest.raises(WrongArgument, match="oneOf"):
        tokens.revoke(tx, "AAAAAAAA")


def test_a_token_is_found_through_an_index(tmp_path: Path) -> None:
    database = open_database(str(tmp_path / "s.db"))  # PostgreSQL scans a table that fits in a page
    with database.read() as tx:
        for where in ("hash = 'x'", "id >= 'aaaaaaaa' and id < 'aaaaaaaa~'"):
            [plan] = tx.all(f"explain query plan select id from tokens where {where}")
            assert "USING" in plan[-1] and "INDEX" in plan[-1], plan
    database.close()
