"""Reads YAML of others with bounds: no deep nesting, no explosion of aliases, no types but texts, numbers and lists.

Imports read whole files with it, libraries the front matter of their templates.

Only `true`, `false`, `null` and whole numbers are more than texts, as in YAML 1.2: a date stays as it is written, and a
title `On` is no truth value. Tags like `!include` are ignored.
"""

import re
from collections.abc import Iterator
from typing import Any

MAX_DEPTH = 40  # levels of lists and mappings
MAX_NODES = 50_000  # values, those of aliases counted as often as they are used

_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class WrongYaml(Exception):
    """A text is no YAML, or exceeds a bound; the line is None where it is unknown."""

    def __init__(self, what: str, line: int | None = None, *, is_excessive: bool = False) -> None:
        super().__init__(what)
        self.line = line
        self.is_excessive = is_excessive  # nested too deep, or too many values: not worth a second look


def read_yaml(text: str) -> Any:
    """The value of a YAML text.

    Raises:
        WrongYaml: it is no YAML, nested too deep, or too large.
    """
    import yaml  # only where a file has YAML

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Builder(yaml).build(yaml.parse(text, Loader=loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        number = mark.line + 1 if mark is not None else None
        line = f" in line {number}" if number is not None else ""
        what = getattr(error, "problem", None) or "it has characters that YAML does not allow"
        raise WrongYaml(f"the YAML cannot be read{line}: {what}", number) from None
    except RecursionError:
        raise WrongYaml("the YAML is nested too deep", is_excessive=True) from None


class _Open:
    """A list or mapping whose end has not been read."""

    def __init__(self, anchor: str | None, *, is_mapping: bool) -> None:
        self.anchor = anchor
        self.is_mapping = is_mapping
        self.items: list[Any] = []  # of a mapping: key, value, key, value, …
        self.size = 1


class _Builder:
    """Makes a value of the events of a parser, without recursion."""

    def __init__(self, yaml: Any) -> None:
        self._yaml = yaml
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._nodes = 0
        self._root: list[Any] = []

    def build(self, events: Iterator[Any]) -> Any:
        documents = 0
        for event in events:
            documents += isinstance(event, self._yaml.DocumentStartEvent)
            if documents > 1:
                break  # of several documents, the first one counts
            self._add(event)
        return self._root[0] if self._root else None

    def _add(self, event: Any) -> None:
        yaml = self._yaml
        if isinstance(event, yaml.ScalarEvent):
            value = _resolve(event.value) if event.implicit[0] else event.value
            self._put(value, 1, event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise WrongYaml(f"the YAML refers to *{event.anchor}, which is not defined before it")
            value, size = self._anchors[event.anchor]
            self._put(value, size, None)
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            if len(self._open) >= MAX_DEPTH:
                raise WrongYaml(f"the YAML is nested deeper than {MAX_DEPTH} levels", is_excessive=True)
            self._open.append(_Open(event.anchor, is_mapping=isinstance(event, yaml.MappingStartEvent)))
        elif isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            done = self._open.pop()
            self._put(_make_mapping(done.items) if done.is_mapping else done.items, done.size, done.anchor)

    def _put(self, value: Any, size: int, anchor: str | None) -> None:
        self._nodes += size
        if self._nodes > MAX_NODES:
            raise WrongYaml(f"the YAML has more than {MAX_NODES} values", is_excessive=True)
        if anchor is not None:
            self._anchors[anchor] = value, size
        if self._open:
            self._open[-1].items.append(value)
            self._open[-1].size += size
        else:
            self._root.append(value)


def _make_mapping(items: list[Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    merged: dict[str, Any] = {}
    for key, value in zip(items[::2], items[1::2], strict=True):
        if key == "<<":
            for one in value if isinstance(value, list) else [value]:
                merged = {**(one if isinstance(one, dict) else {}), **merged}
        elif isinstance(key, dict | list):
            raise WrongYaml("the YAML has a key that is a list or a mapping")
        else:
            made[_write_key(key)] = value
    return {**merged, **made}


def _write_key(key: Any) -> str:
    if isinstance(key, bool):
        return str(key).lower()
    return "" if key is None else str(key)


def _resolve(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if re.fullmatch(r"[-+]?(?:0|[1-9][0-9]{0,17})", text):
        return int(text)
    return text
