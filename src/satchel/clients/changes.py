"""The change of one file: planned from what the file says, shown, and then made."""

import json
import os
from typing import Any

from msgspec import Struct

from satchel.clients import files, merging, rules
from satchel.clients.diffs import make_diff
from satchel.clients.entries import Local, Remote, list_words, make_entry
from satchel.clients.places import Machine, Scope
from satchel.clients.table import Client

USER_MODE, PROJECT_MODE = 0o600, 0o644  # of a new file: that of a user may get secrets, that of a project is shared


class Change(Struct, frozen=True, kw_only=True):
    """What a file says, and what it is to say."""

    path: str
    before: str | None  # None: there is no such file
    after: str
    diff: str = ""
    note: str = ""  # about the file, for its owner
    mode: int = USER_MODE
    is_rule: bool = False  # a file that has nothing but the rule goes with it

    @property
    def is_needed(self) -> bool:
        """Whether the file changes."""
        return (self.before or "") != self.after

    def make(self) -> str | None:
        """Write the file, and return the path of the backup.

        Raises:
            UnusableFile: it cannot be written, or was changed in between.
        """
        backup = files.replace(self.path, self.before, self.after, mode=self.mode)
        if self.is_rule and not self.after and not os.path.islink(self.path):
            files.remove(self.path)
        return backup


def plan_install(client: Client, path: str, name: str, target: Local | Remote, scope: Scope) -> Change:
    """The change that puts an entry into a client's file.

    Raises:
        UnusableFile: the file cannot be read.
        CannotInstall: the client cannot have such an entry.
    """
    entry = make_entry(client, target)
    before = files.read(path)
    after = merging.set_entry(client, path, before, name, entry)
    old = merging.read_servers(client, path, before).get(name)
    return _change(client, path, before, after, [entry, client.defaults, old], scope)


def plan_uninstall(client: Client, path: str, name: str, scope: Scope) -> Change | None:
    """The change that takes an entry out of a client's file; None where there is none.

    Raises:
        UnusableFile: the file cannot be read.
    """
    before = files.read(path)
    entry = merging.read_servers(client, path, before).get(name)
    if before is None or entry is None:
        return None
    after = merging.remove_entry(client, path, before, name)
    return _change(client, path, before, after, [entry], scope)


def _change(client: Client, path: str, before: str | None, after: str, shown: list[Any], scope: Scope) -> Change:
    note = ""
    if before and merging.find_comments(client, before):
        note = f"{client.title} reads plain JSON, and this file has comments or trailing commas, which it may refuse."
    mode = USER_MODE if scope == "user" else PROJECT_MODE
    diff = make_diff(path, before, after, shown)
    return Change(path=path, before=before, after=after, diff=diff, note=note, mode=mode)


def plan_rule(path: str, *, is_wanted: bool) -> Change | None:
    """The change that adds the rule to a file with instructions for agents, or takes it away; None where it is so.

    Raises:
        UnusableFile: the file cannot be read.
    """
    before = files.read(path)
    after = rules.add_rule(before) if is_wanted else rules.remove_rule(before or "")
    if after == (before or ""):
        return None
    return Change(
        path=path, before=before, after=after, diff=make_diff(path, before, after), mode=PROJECT_MODE, is_rule=True
    )


def write_snippet(client: Client, name: str, target: Local | Remote) -> str:
    """The lines that an entry needs in an empty file of a client.

    Raises:
        CannotInstall: the client cannot have such an entry.
    """
    entry = make_entry(client, target)
    if client.format == "toml":
        return merging.set_entry(client, "", None, name, entry)
    value: Any = {name: {**entry, **client.defaults}}
    for key in reversed(client.key):
        value = {key: value}
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def find_entries(client: Client, machine: Machine, scope: Scope) -> tuple[str, dict[str, Any]]:
    """The file of a client, and its entries that start Satchel or are called so.

    Raises:
        UnusableFile: the file cannot be read.
    """
    path = machine.find_file(client, scope)
    if path is None:
        return "", {}
    servers = merging.read_servers(client, path, files.read(path))
    return path, {name: entry for name, entry in servers.items() if name == "satchel" or _starts_satchel(entry)}


def _starts_satchel(entry: Any) -> bool:
    words = list_words(entry)
    file = words[0].replace("\\", "/").rpartition("/")[2].removesuffix(".exe") if words else ""
    return file == "satchel" or words[1:3] == ["-m", "satchel"]
