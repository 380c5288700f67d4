"""Reads, sets and removes one entry in the text of a client's file.

Members of an entry that Satchel does not know, such as a list of approved tools, are kept. The result is parsed and
compared with the expected value before anything is written.
"""

import tomllib
from collections.abc import Mapping
from typing import Any

from satchel.clients import jsonc, yaml
from satchel.clients.entries import URL_KEYS, VARIABLE_KEYS
from satchel.clients.files import UnusableFile
from satchel.clients.jsonc import WrongSyntax
from satchel.clients.table import Client, Shape
from satchel.yaml_reader import WrongYaml, read_yaml

# Members that tell how to reach the server; those that the new entry lacks are removed.
_REACHING = ("type", "source", "command", "cmd", "args", *URL_KEYS, "headers", "bearer_token_env_var")
_CARRIED = ("SATCHEL_HOME", "SATCHEL_DATABASE", "SATCHEL_LIBRARIES")


def read_servers(client: Client, path: str, text: str | None) -> dict[str, Any]:
    """Return the entries of a client's file by name.

    Raises:
        UnusableFile: the file cannot be parsed; the message names line and column.
    """
    found: Any = _load(client, path, text or "")
    for key in client.key:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def set_entry(client: Client, path: str, text: str | None, name: str, wanted: Shape) -> str:
    """Return the text of a client's file with the wanted entry; unchanged if the entry is already there."""
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
            from satchel.clients import toml  # tomlkit takes 20 ms to import

            after = toml.set_keys(before, where, changed, gone)
        elif client.format == "yaml":
            after = yaml.set_entry(before, where, new)
        elif not known:
            after = jsonc.set_member(before, where, new)
        else:
            for key in gone:
                after = jsonc.remove_member(after, (*where, key))
            for key, value in changed.items():
                after = jsonc.set_member(after, (*where, key), value)
    except WrongSyntax as error:
        raise UnusableFile(explain(path, error)) from error
    _check(client, path, before, after, name, new)
    return after


def remove_entry(client: Client, path: str, text: str, name: str) -> str:
    """Return the text of a client's file without an entry; unchanged if there is no such entry."""
    if name not in read_servers(client, path, text):
        return text
    where = (*client.key, name)
    try:
        if client.format == "toml":
            from satchel.clients import toml  # tomlkit takes 20 ms to import

            after = toml.remove_table(text, where)
        elif client.format == "yaml":
            after = yaml.remove_entry(text, where)
        else:
            after = jsonc.remove_member(text, where)
    except WrongSyntax as error:
        raise UnusableFile(explain(path, error)) from error
    _check(client, path, text, after, name, None)
    return after


def _merge(old: Mapping[str, Any], wanted: Shape) -> Shape:
    """Add to the new entry the old one's members, except those that tell how to reach the server."""
    merged = {key: value for key, value in old.items() if key in wanted or key not in (*_REACHING, *VARIABLE_KEYS)}
    merged.update(wanted)
    for key in VARIABLE_KEYS:
        theirs = old.get(key)
        if isinstance(theirs, dict) and ("command" in wanted or "cmd" in wanted):
            kept = {name: value for name, value in theirs.items() if name not in _CARRIED}
            kept.update(wanted.get(key, {}))
            if kept or not theirs:
                merged[key] = kept
    return merged


def _load(client: Client, path: str, text: str) -> dict[str, Any]:
    try:
        if client.format == "toml":
            return tomllib.loads(text.removeprefix("\ufeff"))
        value = (read_yaml(text) or {}) if client.format == "yaml" else jsonc.load(text)
        if not isinstance(value, dict):
            raise WrongSyntax(text, 0, "the document should be an object")
    except (WrongSyntax, WrongYaml, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UnusableFile(explain(path, error)) from error
    return value


def explain(path: str, error: Exception) -> str:
    return f"{path}: {str(error) or 'it is nested too deep'}. Nothing was changed; correct the file, and try again."


def _check(client: Client, path: str, before: str, after: str, name: str, entry: Shape | None) -> None:
    """Check that a change has the intended effect and no other."""
    expected, found = _load(client, path, before), _load(client, path, after)
    inside = expected
    for key in client.key:
        inside = inside.setdefault(key, {})
    if entry is None:
        inside.pop(name, None)
    else:
        inside[name] = entry
    if client.format == "toml" and not inside:
        for one in (expected, found):  # TOML has no table without a key or a header
            if one.get(client.key[0]) == {}:
                del one[client.key[0]]
    if found != expected:
        raise UnusableFile(
            f"{path} is written in a way that Satchel cannot change safely. Nothing was changed; see --print for the "
            "lines to add by hand."
        )
