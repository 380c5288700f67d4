"""`satchel token`: secrets are shown once, lists show none, and mistakes are told from each other."""

import json
from typing import Any

from satchel.auth import tokens
from satchel.model import Identity
from satchel.storage.database import open_database
from tests.cli.conftest import Command
from tests.support.command import done, failed, value

ADA = "6f0a2f5e-9c1c-4a6e-8a51-0d8f8f3c2b11"


def identified(store: str, secret: str) -> Identity:
    database = open_database(store)
    try:
        return tokens.identify(database, secret)
    finally:
        database.close()


def listed(satchel: Command) -> list[dict[str, Any]]:
    tokens: list[dict[str, Any]] = value(satchel("token", "list", "--json"))["tokens"]
    return tokens


def test_a_token_is_made_with_json(satchel: Command, store: str) -> None:
    satchel("project", "create", "one")
    satchel("project", "create", "two")
    options = ("--read-only", "--project", "one", "-p", "two", "--expires", "2999-12-31", "--name", "laptop", "--json")
    made = value(satchel("token", "create", "--user", ADA, *options))

    assert made == {
        "token": made["token"],
        "id": made["id"],
        "user": ADA,
        "name": "laptop",
        "read_only": True,
        "projects": ["one", "two"],
        "expires_at": "3000-01-01T00:00:00.000000Z",
    }
    assert identified(store, made["token"]) == Identity(
        user=ADA, projects=("one", "two"), is_read_only=True, token=made["id"]
    )

    plain = value(satchel("token", "create", "--user", ADA, "--json"))
    assert (plain["read_only"], plain["projects"], plain["expires_at"]) == (False, None, None)
    assert identified(store, plain["token"]) == Identity(user=ADA, token=plain["id"])


def test_for_people_the_secret_stands_alone_on_stdout(satchel: Command, store: str) -> None:
    process = satchel("token", "create", "--user", ADA, "--expires", "90d")
    secret = done(process).removesuffix("\n")
    assert identified(store, secret).user == ADA
    said = process.stderr.decode()
    assert "not shown again" in said and "satchel token revoke" in said and secret not in said


def test_lists_show_everything_but_secrets(satchel: Command) -> None:
    satchel("project", "create", "one")
    first = value(satchel("token", "create", "-u", ADA, "--expires", "12h", "-p", "one", "--json"))
    second = value(satchel("token", "create", "-u", ADA, "--read-only", "--json"))
    revoked = value(satchel("token", "revoke", second["id"][:8], "--json"))

    shown = listed(satchel)
    assert shown == [
        revoked,
        {
            "id": first["id"],
            "user": ADA,
            "name": "",
            "read_only": False,
            "projects": ["one"],
            "created_at": shown[1]["created_at"],
            "expires_at": first["expires_at"],
            "revoked_at": None,
            "state": "active",
        },
    ]
    assert (revoked["id"], revoked["state"], revoked["read_only"]) == (second["id"], "revoked", True)
    lines = done(satchel("token", "list"))
    assert lines.splitlines() == [
        "\t".join((second["id"], "", ADA, "read-only", "", revoked["created_at"], "", "revoked")),
        "\t".join((first["id"], "", ADA, "", "one", shown[1]["created_at"], first["expires_at"], "active")),
    ]
    assert "satchel_" not in lines + json.dumps(shown)


def test_whose_token_it_is(satchel: Command) -> None:
    assert value(satchel("token", "create", "--json", SATCHEL_USER=ADA))["user"] == ADA
    local = done(satchel("user")).strip()
    assert value(satchel("token", "create", "--json"))["user"] == local


def test_errors_name_the_next_step(satchel: Command) -> None:
    def fails(*arguments: str, status: int) -> str:
        return failed(satchel("token", *arguments), status)

    assert "`satchel user`" in fails("create", "--user", "ada", status=2)
    assert "`satchel user`" in fails("create", "--user", "", status=2)
    satchel("project", "create", "one")
    assert "Did you mean 'one'?" in fails("create", "--user", ADA, "--project", "on", status=3)
    assert "90d" in fails("create", "--user", ADA, "--expires", "soon", status=2)
    assert "past" in fails("create", "--user", ADA, "--expires", "2020-01-01", status=2)
    assert "satchel token list" in fails("revoke", "12345678", status=3)
    assert "several" not in fails("revoke", "1234567", status=2)
    secret = "satchel_" + "a" * 43
    said = fails("revoke", secret, status=2)
    assert "never by its secret" in said and secret not in said
    error = json.loads(fails("revoke", "12345678", "--json", status=3))
    assert error["error"]["code"] == "not_found"
    assert listed(satchel) == []
