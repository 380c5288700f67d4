"""Changes to one table of a TOML document with tomlkit, which keeps comments, order and spacing of the rest.

The caller reads the result with `tomllib` and compares it with the expected value.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AbstractTable, InlineTable, Item

from satchel.clients.jsonc import WrongSyntax

Path = tuple[str, ...]


def set_keys(text: str, path: Path, values: Mapping[str, Any], removed: Sequence[str] = ()) -> str:
    """Set the given keys of a table, remove others, and return the new text; a new table goes to the end."""
    mark, body = _split_mark(text)
    document = _parse(body)
    if not any(_find(document.body, path)):
        section: Any = {key: _to_item(value) for key, value in values.items()}
        for key in reversed(path):
            section = {key: section}
        before = body.rstrip()
        gap = "\n\n" if before else body
        return mark + _unify_lines(body, before + gap + tomlkit.dumps(section))
    table: Any = document
    try:
        for key in path:
            table = table[key]
        for key in removed:
            table.pop(key, None)
        for key, value in values.items():
            _set(table, key, value)
        return mark + _unify_lines(body, tomlkit.dumps(document))
    except (TOMLKitError, TypeError, ValueError, AttributeError) as error:
        raise WrongSyntax(text, 0, f"{'.'.join(path)} cannot be changed: {error}") from error


def _set(table: Any, key: str, value: Any) -> None:
    old = table.get(key)
    if not (isinstance(value, dict) and isinstance(old, AbstractTable)):
        table[key] = _to_item(value)
        return
    for name in [one for one in old if one not in value]:  # key by key, so that comments stay
        old.pop(name)
    for name, one in value.items():
        _set(old, name, one)


def remove_table(text: str, path: Path) -> str:
    """Return the text without a table; comments after it stay, because they belong to the next part."""
    mark, body = _split_mark(text)
    document = _parse(body)
    for items, index in list(_find(document.body, path)):
        kept = _list_comments_after(items[index][1]).lstrip("\r\n")
        items[index] = (None, tomlkit.ws(kept))
    after = _unify_lines(body, tomlkit.dumps(document)).rstrip()
    return mark + (after + ("\r\n" if "\r\n" in body else "\n") if after else "")


def _parse(body: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(body)
    except (TOMLKitError, RecursionError) as error:
        raise WrongSyntax(body, 0, str(error)) from error


_Items = list[tuple[Any, Item]]


def _find(items: _Items, path: Path) -> Iterator[tuple[_Items, int]]:
    """Yield the places of a table, which may be several: keys may have dots, and headers may be out of order."""
    for index, (key, item) in enumerate(items):
        if key is None or key.key != path[0]:
            continue
        if len(path) == 1:
            yield items, index
        elif isinstance(item, InlineTable):
            raise WrongSyntax("", 0, f"{path[0]} should be a section in brackets, not a value in one line")
        elif isinstance(item, AbstractTable):
            yield from _find(item.value.body, path[1:])


def _list_comments_after(item: Item) -> str:
    """Return the comments and blank lines after the last key of a table."""
    if not isinstance(item, AbstractTable) or isinstance(item, InlineTable):
        return ""
    after = ""
    for key, one in reversed(item.value.body):
        if key is not None:
            return _list_comments_after(one) + after
        after = one.as_string() + after
    return after


def _to_item(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    table = tomlkit.inline_table()
    table.update({key: _to_item(one) for key, one in value.items()})
    return table


def _split_mark(text: str) -> tuple[str, str]:
    body = text.removeprefix("\ufeff")
    return text[: len(text) - len(body)], body


def _unify_lines(before: str, after: str) -> str:
    return re.sub(r"(?<!\r)\n", "\r\n", after) if "\r\n" in before else after
