"""Changes as the commands on history show them: a line for people, an object with stable keys for programs."""

from typing import Any

from satchel.model import Author, Revision, Scope, TrashedItem
from satchel.services.history import FeedEntry

ACTIONS = {"known": "was there", "add": "added", "update": "changed", "delete": "deleted", "restore": "restored"}


def describe_entry(entry: FeedEntry) -> dict[str, Any]:
    """A change of the feed as an object. docs/history.md lists the keys."""
    one = entry.revision
    item = {"kind": one.kind, "item": entry.key, "title": entry.title or None, "project": entry.project}
    return {**describe_revision(one), **item}


def describe_revision(revision: Revision) -> dict[str, Any]:
    """A change without the item that it changed; what is not known is null."""
    what = {"number": revision.number or None, "at": revision.at, "action": revision.action}
    author = revision.author
    who = {
        "user": author.user,
        "token": author.token,
        "client": author.client,
        "client_version": author.client_version,
        "contract": author.contract,
        "caller": author.caller,
    }
    known = {name: value or None for name, value in who.items()}
    return {**what, "version": revision.version, "undoes": revision.undoes, **known}


def summarize(entry: FeedEntry) -> str:
    """What was done, in a few words."""
    one = entry.revision
    return f"{ACTIONS[one.action]} {name_entry(entry)}, version {one.version}{' (undo)' if one.undoes else ''}"


def name_action(revision: Revision) -> str:
    """What was done to an item."""
    return f"{ACTIONS[revision.action]}{' (undo)' if revision.undoes else ''}"


def name_entry(entry: FeedEntry) -> str:
    """The item of a change."""
    return name_item(entry.revision.kind, entry.key, entry.title)


def name_item(kind: str, key: str, title: str = "") -> str:
    """An item, as messages name it."""
    if kind != "task":
        return f"{kind} '{key}'"
    return f"task {key} '{title}'" if title else f"task {key}"


def key_of(item: TrashedItem) -> str:
    """The name of a deleted item; of a task #NUMBER."""
    return item.name or f"#{item.number}"


def shorten_time(at: str) -> str:
    """A time to the second, in UTC; --since takes it."""
    return f"{at[:19]}Z" if at else ""


def name_user(author: Author, scope: Scope) -> str:
    """Who made a change: you, or the beginning of the user's id, which --by takes."""
    if not author.user:
        return "unknown"
    return "you" if author.user == scope.user else author.user[:8]


def name_program(author: Author) -> str:
    """Through what a change was made: client and contract, and whether a person or a model called."""
    if author.contract == "cli":
        return "command line"
    token = f"token {author.token[:8]}" if author.token else ""
    details = ", ".join(filter(None, [author.contract, author.caller, token]))
    client = f"{author.client} {author.client_version}".strip()
    return f"{client} ({details})" if client and details else client or details
