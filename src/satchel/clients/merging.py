"""How an entry in a client's file becomes the one that is wanted.

Members of an entry that Satchel does not know, such as a list of approved tools, stay. The result is parsed again and
compared with what it must be, before anything is written.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from satchel.clients import json_edits, jsonc, toml
from satchel.clients.files import UnusableFile
from satchel.clients.jsonc import WrongSyntax
from satchel.clients.table import Client, Shape

# What decides how the server is reached: a member of an entry that the wanted one lacks goes away.
_REACHING = ("type", "source", "command", "args", "url", "httpUrl", "serverUrl", "headers", "bearer_token_env_var")
_VARIABLES = ("env", "environment")
_CARRIED = ("SATCHEL_HOME", "SATCHEL_DATABASE", "SATCHEL_LIBRARIES")


def read_servers(client: Client, path: str, text: str | None) -> dict[str, Any]:
    """The entries of a client's file.

    Raises:
        UnusableFile: it cannot be read; the message names line and column.
    """
    found: Any = _load(client, path, text or "")
    for key in client.key:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def find_comments(client: Client, text: str) -> bool:
    """Whether a file has comments or trailing commas, and the client reads plain JSON only."""
    return client.format == "json" and jsonc.parse(text).has_comments


def set_entry(client: Client, path: str, text: str | None, name: str, wanted: Shape) -> str:
    """The text of a client's file with an entry as it is wanted; the same text where it is so already.

    Raises:
        UnusableFile: the file cannot be read or changed.
    """
    before = text or ""
    old = read_servers(client, path, before).get(name)
    where = (*client.key, name)
    known: Shape = old if isinstance(old, dict) else {}
    new = _merge(known, wanted) if known else {**wanted, **client.defaults}
    changed = {key: value for key, value in new.items() if key not in known or known[key] != value}
    gone = [key for key in known if key not in new]
    if known and not changed and not gone:
        return before
    try:
        after = before
        if client.format == "toml":
            after = toml.set_keys(before, where, changed, gone)
        elif not known:
            after = json_edits.set_member(before, where, new)
        else:
            for key in gone:
                after = json_edits.remove_member(after, (*where, key))
            for key, value in changed.items():
                after = json_edits.set_member(after, (*where, key), value)
    except WrongSyntax as error:
        raise UnusableFile(_explain(path, error)) from error
    _check(client, path, before, after, name, new)
    return after


def remove_entry(client: Client, path: str, text: str, name: str) -> str:
    """The text of a client's file without an entry; the same text where there is none.

    Raises:
        UnusableFile: the file cannot be read or changed.
    """
    if name not in read_servers(client, path, text):
        return text
    where = (*client.key, name)
    try:
        after = toml.remove_table(text, where) if client.format == "toml" else json_edits.remove_member(text, where)
    except WrongSyntax as error:
        raise UnusableFile(_explain(path, error)) from error
    _check(client, path, text, after, name, None)
    return after


def _merge(old: Mapping[str, Any], wanted: Shape) -> Shape:
    """An entry with the members that are wanted, and those of the old one that do not decide how it is reached."""
    merged = {key: value for key, value in old.items() if key in wanted or key not in (*_REACHING, *_VARIABLES)}
    merged.update(wanted)
    for key in _VARIABLES:
        theirs = old.get(key)
        if isinstance(theirs, dict) and "command" in wanted:
            kept = {name: value for name, value in theirs.items() if name not in _CARRIED}
            kept.update(wanted.get(key, {}))
            if kept or not theirs:
                merged[key] = kept
    return merged


def _load(client: Client, path: str, text: str) -> dict[str, Any]:
    try:
        value = toml.load(text) if client.format == "toml" else jsonc.load(text)
        if not isinstance(value, dict):
            raise WrongSyntax(text, 0, "the document should be an object")
    except WrongSyntax as error:
        raise UnusableFile(_explain(path, error)) from error
    return value


def _explain(path: str, error: WrongSyntax) -> str:
    return f"{path}: {error}. Nothing was changed; correct the file, and try again."


def _check(client: Client, path: str, before: str, after: str, name: str, entry: Shape | None) -> None:
    """Make sure that a change does what it should and nothing else."""
    expected = deepcopy(_load(client, path, before))
    inside = expected
    for key in client.key:
        inside = inside.setdefault(key, {})
    if entry is None:
        inside.pop(name, None)
    else:
        inside[name] = entry
    found = _load(client, path, after)
    if client.format == "toml" and entry is None and not inside:
        # A table of TOML without keys and without a header of its own is not there.
        _prune(expected, client.key)
        _prune(found, client.key)
    if found != expected:
        raise UnusableFile(
            f"{path} is written in a way that Satchel cannot change safely. Nothing was changed; see --print for the "
            "lines to add by hand."
        )


def _prune(value: dict[str, Any], key: tuple[str, ...]) -> None:
    if key and value.get(key[0]) == {}:
        del value[key[0]]
