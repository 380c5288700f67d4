"""Changes to the settings files of clients: planned from the content, shown as a diff, then written.

The files contain keys and tokens of other servers. A diff shows names in other lines, but not their values.
"""

import difflib
import json
import os
import re
from contextlib import suppress
from typing import Any

from msgspec import Struct

from satchel.clients import files, jsonc, merging
from satchel.clients.entries import Local, Remote, list_words, make_entry
from satchel.clients.places import Machine, Scope
from satchel.clients.table import Client

SATCHEL = r"(?:.*/)?satchel(?:\[[a-z,]+\])?(?:[=@<>~:].*)?"  # a command, a requirement or an image
_NODE = ("npx", "npm", "pnpm", "bunx", "yarn")
USER_MODE, PROJECT_MODE = 0o600, 0o644  # for a new file: a user's file may get secrets, a project's file is shared
MAX_LINE = 300  # characters of a line in a diff


class Change(Struct, frozen=True, kw_only=True):
    """The text of a file before and after a change."""

    path: str
    before: str | None  # None: there is no such file
    after: str
    diff: str = ""
    note: str = ""  # a warning about the file
    mode: int = USER_MODE
    is_removed_if_empty: bool = False  # remove a file that contained nothing but ours

    @property
    def is_needed(self) -> bool:
        """Whether the file changes."""
        return (self.before or "") != self.after

    def make(self) -> str | None:
        """Write the file, and return the path of the backup.

        Raises:
            UnusableFile: the file cannot be written, or has changed since it was read.
        """
        backup = files.replace(self.path, self.before, self.after, mode=self.mode)
        if self.is_removed_if_empty and not self.after and not os.path.islink(self.path):
            with suppress(OSError):
                os.unlink(self.path)
        return backup


def plan_install(client: Client, path: str, name: str, target: Local | Remote, scope: Scope) -> Change:
    """Plan the change that sets an entry in a client's file.

    Raises:
        UnusableFile: the file cannot be read.
        CannotInstall: the client cannot have such an entry.
    """
    entry = make_entry(client, target, name)
    before = files.read(path)
    after = merging.set_entry(client, path, before, name, entry)
    old = merging.read_servers(client, path, before).get(name)
    return _change(client, path, before, after, [entry, client.defaults, old], scope)


def plan_uninstall(client: Client, path: str, name: str, scope: Scope) -> Change | None:
    """Plan the change that removes an entry from a client's file; None if there is no such entry."""
    before = files.read(path)
    entry = merging.read_servers(client, path, before).get(name)
    if before is None or entry is None:
        return None
    after = merging.remove_entry(client, path, before, name)
    return _change(client, path, before, after, [entry], scope)


def _change(client: Client, path: str, before: str | None, after: str, shown: list[Any], scope: Scope) -> Change:
    note = ""
    if before and client.format == "json" and jsonc.parse(before).has_comments:
        note = f"{client.title} reads plain JSON, and this file has comments or trailing commas, which it may refuse."
    mode = USER_MODE if scope == "user" else PROJECT_MODE
    # YAML texts need no quotes, so they cannot be masked; the surrounding lines are left out.
    diff = make_diff(path, before, after, shown, context=0 if client.format == "yaml" else 2)
    return Change(path=path, before=before, after=after, diff=diff, note=note, mode=mode)


def write_snippet(client: Client, name: str, target: Local | Remote) -> str:
    """Return the text of a client's file that holds only this entry.

    Raises:
        CannotInstall: the client cannot have such an entry.
    """
    entry = make_entry(client, target, name)
    if client.format in ("toml", "yaml"):
        return merging.set_entry(client, "", None, name, entry)
    value: Any = {name: {**entry, **client.defaults}}
    for key in reversed(client.key):
        value = {key: value}
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def find_entries(client: Client, machine: Machine, scope: Scope) -> tuple[str, dict[str, Any]]:
    """Return the path of a client's file, and those of its entries that start Satchel or have the name satchel."""
    path = machine.find_file(client, scope)
    if path is None:
        return "", {}
    servers = merging.read_servers(client, path, files.read(path))
    return path, {name: entry for name, entry in servers.items() if name == "satchel" or _starts_satchel(entry)}


def _starts_satchel(entry: Any) -> bool:
    """Return whether an entry starts Satchel, either directly or by a shell, Python, uvx, pipx or docker."""
    words = [part for word in list_words(entry) for part in word.split()]
    if words and words[0].rpartition("/")[2] in _NODE:
        return False  # npm has another package of that name
    places = [place for place, word in enumerate(words) if re.fullmatch(SATCHEL, word)]
    return any(place == 0 or "/" not in words[place] or words[place + 1 : place + 2] == ["serve"] for place in places)


# -- the rule for agents ----------------------------------------------------------------------------------------

RULE_BEGIN, RULE_END = "<!-- satchel -->", "<!-- /satchel -->"
RULE_LINES = (
    "At the start of a session call `catch_up` of the MCP server `satchel`; before you write a prompt, a document or a "
    "plan, `search` there: it may exist.",
    "Keep prompts, documents and tasks that outlive the session in Satchel (`add_prompts`, `add_resources`, "
    "`add_tasks`); claim a task before you work on it, and complete it when it is done.",
)
_RULE = re.compile(rf"(?:\r?\n)*{re.escape(RULE_BEGIN)}.*?{re.escape(RULE_END)}(?:\r?\n)?", re.S)


def plan_rule(path: str, *, is_wanted: bool) -> Change | None:
    """Plan the change that adds the rule to AGENTS.md or the like, or removes it; None if nothing changes."""
    before = files.read(path)
    after = add_rule(before or "") if is_wanted else remove_rule(before or "")
    if after == (before or ""):
        return None
    diff = make_diff(path, before, after)
    return Change(path=path, before=before, after=after, diff=diff, mode=PROJECT_MODE, is_removed_if_empty=True)


def add_rule(text: str) -> str:
    """Add the rule at the end of a text, or put it in place of an older version."""
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join((RULE_BEGIN, *RULE_LINES, RULE_END)) + newline
    found = _RULE.search(text)
    if found is not None:
        start = text.index(RULE_BEGIN, found.start())
        return text[:start] + block + text[found.end() :]
    rest = text.rstrip("\r\n")
    return rest + newline * 2 + block if rest.strip("\ufeff \t") else text + block


def remove_rule(text: str) -> str:
    """Remove the rule from a text."""
    found = _RULE.search(text)
    if found is None:
        return text
    before, after = text[: found.start()], text[found.end() :]
    newline = "\r\n" if "\r\n" in text else "\n"
    return before + (newline if before.strip("\ufeff") else "") + after


# -- diffs ------------------------------------------------------------------------------------------------------

# A quoted text in JSON or TOML; the second group is the colon or equals sign after a name.
_TEXT = re.compile(
    r'("""(?:[^\\]|\\.)*?"""|"(?:[^"\\\n]|\\.)*"|'
    r"'''.*?'''|(?<!\w)'[^'\n]*')(\s*[:=])?",
    re.S,
)


def make_diff(path: str, before: str | None, after: str, entries: list[Any] | None = None, *, context: int = 2) -> str:
    """Return a unified diff; if `entries` are given, show "…" for texts that occur in none of them."""
    old, new = before or "", after
    if entries is not None:
        shown = {json.dumps(text, ensure_ascii=False) for entry in entries for text in _list_texts(entry)}
        old, new = _mask(old, shown), _mask(new, shown)
    names = ("/dev/null" if before is None else path, path)
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), *names, n=context, lineterm="")
    return "\n".join(_shorten(line) for line in lines)


def _list_texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [text for one in inside for text in _list_texts(one)]


def _mask(text: str, shown: set[str]) -> str:
    def mask(found: re.Match[str]) -> str:
        is_shown = found.group(2) is not None or found.group(1) in shown
        return found.group() if is_shown else '"…"'

    return _TEXT.sub(mask, text)


def _shorten(line: str) -> str:
    line = "".join(character if character.isprintable() or character == "\t" else "?" for character in line)
    return line if len(line) <= MAX_LINE else line[:MAX_LINE] + "…"
