"""Keys of one table of a TOML document are set or removed; comments, order and spacing of the rest stay."""

import tomllib

import pytest
from hypothesis import assume, given

from satchel.clients.jsonc import WrongSyntax
from satchel.clients.toml import remove_table, set_keys
from tests.clients.documents import toml_texts

PATH = ("mcp_servers", "satchel")
ENTRY = {"command": "/opt/satchel", "args": ["serve", "--project", 'a "b"'], "env": {"SATCHEL_HOME": "/h", "x y": "ü"}}


@given(toml_texts())
def test_an_entry_is_added_and_every_line_of_the_others_stays(text: str) -> None:
    before = tomllib.loads(text)
    after = set_keys(text, PATH, ENTRY)
    expected = {**before, "mcp_servers": {**before.get("mcp_servers", {}), "satchel": ENTRY}}
    assert tomllib.loads(after) == expected
    assert after.startswith(text.rstrip())
    assert remove_table(after, PATH).rstrip() == text.rstrip()


@given(toml_texts(), toml_texts())
def test_an_entry_between_others_is_changed_in_its_place(first: str, second: str) -> None:
    entry = '\n[mcp_servers.satchel] # mine\ncommand = "/old" # where\nurl = "x"\nstartup_timeout_sec = 20\n'
    text = first.rstrip("\r\n") + entry + "\n[tail]\n" + second
    assume(is_toml(text))  # both halves may have the same table
    before = tomllib.loads(text)
    after = set_keys(text, PATH, {"command": "/new", "args": ["serve"]}, ["url"])
    before["mcp_servers"]["satchel"] = {"command": "/new", "startup_timeout_sec": 20, "args": ["serve"]}
    assert tomllib.loads(after) == before
    new = '\n[mcp_servers.satchel] # mine\ncommand = "/new" # where\nstartup_timeout_sec = 20\nargs = ["serve"]\n'
    assert new in after.replace("\r\n", "\n")


def is_toml(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return False


def test_an_entry_is_changed_however_it_is_written() -> None:
    for text in [
        '[mcp_servers]\nsatchel = { command = "/old" }\nother = { command = "x" }\n',
        'mcp_servers.satchel.command = "/old"\nmcp_servers.other.command = "x"\n',
        '[mcp_servers]\nsatchel.command = "/old"\nother.command = "x"\n',
        '[mcp_servers."satchel"]\ncommand = "/old"\n[mcp_servers.satchel.env]\nA = "1"\n'
        '[mcp_servers.other]\ncommand = "x"\n',
        '[mcp_servers.satchel.env]\nA = "1"\n[mcp_servers.other]\ncommand = "x"\n',
    ]:
        old = tomllib.loads(text)["mcp_servers"]["satchel"]
        after = tomllib.loads(set_keys(text, PATH, ENTRY))
        assert after == {"mcp_servers": {"satchel": {**old, **ENTRY}, "other": {"command": "x"}}}
        assert tomllib.loads(remove_table(text, PATH)) == {"mcp_servers": {"other": {"command": "x"}}}


def test_a_document_whose_entries_are_not_sections_is_refused() -> None:
    for text in [
        'mcp_servers = { satchel = { command = "x" } }\n',
        '[[mcp_servers.satchel]]\na = "x"\n',
    ]:
        with pytest.raises(WrongSyntax):
            set_keys(text, PATH, ENTRY)


def test_comments_after_a_removed_or_changed_table_stay() -> None:
    text = '[mcp_servers.satchel]\ncommand = "x" # where\n[mcp_servers.satchel.env]\nB = "1"\n\n# tail\n[x]\na = 1\n'
    changed = set_keys(text, PATH, {"command": "y", "env": {"A": "2"}})
    assert '"y" # where\n' in changed and "# tail\n" in changed
    assert remove_table(text, PATH) == "# tail\n[x]\na = 1\n"


def test_a_byte_order_mark_and_line_ends_are_kept() -> None:
    text = '\ufeffmodel = "x"\r\n'
    after = set_keys(text, PATH, {"command": "y"})
    assert after == '\ufeffmodel = "x"\r\n\r\n[mcp_servers.satchel]\r\ncommand = "y"\r\n'
    assert remove_table(after, PATH) == text
