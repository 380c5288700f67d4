"""YAML and front matter, read and written by PyYAML within bounds: for libraries, skills, import, export and sync.

Files may come from anyone, so the parser's events are counted before a value is built, and aliases are refused:
ten lines of them can expand to a billion values. Only `true`, `false`, `null` and whole numbers are not texts:
a date or a version stays as written, and a title `On` is not a boolean. Tags like `!include` are ignored.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

MAX_DEPTH = 40  # levels of lists and mappings
MAX_NODES = 50_000  # values in one document
MAX_FRONT_MATTER = 256 * 1024  # characters

Fields = dict[str, Any]

_START = re.compile(r"\s*---[ \t]*\r?\n")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.M)
_KEY = re.compile(r"([A-Za-z_$][\w.$-]*(?: +[\w.$-]+)*)[ \t]*:(?:[ \t]+|$)")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})")
_TEXT_TAG = "tag:yaml.org,2002:str"
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class WrongYaml(Exception):
    """A text that is not YAML, or exceeds a bound; `line` is None if it is unknown."""

    def __init__(self, what: str, line: int | None = None, *, is_excessive: bool = False) -> None:
        super().__init__(what)
        self.line = line
        self.is_excessive = is_excessive  # possibly an attack: do not try to read it in another way


def read_yaml(text: str) -> Any:
    """Return the value of a YAML text, or of its first document.

    Raises:
        WrongYaml: the text is not YAML, repeats a key, has an alias, or exceeds a bound.
    """
    import yaml  # 13 ms of a start

    loader_class = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_bounds(text, yaml, loader_class)
        loader = loader_class(text)
        try:
            return _build(loader.get_node(), yaml) if loader.check_node() else None
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        number = mark.line + 1 if mark is not None else None
        place = f" in line {number}" if number is not None else ""
        what = getattr(error, "problem", None) or "it has characters that YAML does not allow"
        raise WrongYaml(f"the YAML cannot be read{place}: {what}", number) from None
    except RecursionError:
        raise WrongYaml("the YAML is nested too deep", is_excessive=True) from None


def _check_bounds(text: str, yaml: Any, loader: Any) -> None:
    """Count the events of the first document, and stop at the first that exceeds a bound."""
    depth = nodes = 0
    anchors: set[str] = set()
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.DocumentEndEvent):
            return
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        nodes += isinstance(event, yaml.NodeEvent)
        if depth > MAX_DEPTH:
            raise WrongYaml(f"the YAML is nested deeper than {MAX_DEPTH} levels", is_excessive=True)
        if nodes > MAX_NODES:
            raise WrongYaml(f"the YAML has more than {MAX_NODES} values", is_excessive=True)
        if isinstance(event, yaml.AliasEvent):
            line = event.start_mark.line + 1
            what = f"the YAML has the alias *{event.anchor} in line {line}; write the value itself there"
            # An alias without an anchor is probably a text without quotes, as in `pattern: *draft`.
            raise WrongYaml(what, line, is_excessive=event.anchor in anchors)
        if isinstance(event, yaml.NodeEvent) and event.anchor:
            anchors.add(event.anchor)


def _build(node: Any, yaml: Any) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return [_build(one, yaml) for one in node.value]
    if isinstance(node, yaml.MappingNode):
        return _build_mapping(node, yaml)
    is_plain = not node.style and node.tag != _TEXT_TAG and node.tag.startswith("tag:yaml.org,2002:")
    return _resolve(node.value) if is_plain else node.value


def _build_mapping(node: Any, yaml: Any) -> Fields:
    found: Fields = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            raise WrongYaml(f"the YAML has a key in line {line} that is a list or a mapping", line)
        if key.value in found:
            raise WrongYaml(f"the YAML has the key {key.value} twice, again in line {line}", line)
        found[key.value] = _build(value, yaml)
    return found


def _resolve(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    return int(text) if _INTEGER.fullmatch(text) else text


# -- front matter -----------------------------------------------------------------------------------------------


def split_front_matter(text: str) -> tuple[str, str] | None:
    """Split a text into the YAML of its front matter and the body; None if it has no front matter.

    The YAML starts with an empty line in place of `---`, so that line numbers in it are those of the text.
    """
    start = _START.match(text)
    end = _END.search(text, start.end()) if start else None
    if start is None or end is None:
        return None
    lines_before = "\n" * text.count("\n", 0, start.end())
    return lines_before + text[start.end() : end.start()].replace("\r\n", "\n"), text[end.end() :]


def read_front_matter(text: str, *, is_lenient: bool = False) -> tuple[Fields | None, str]:
    """Return the fields and the body of a text; without front matter, None and the whole text.

    Much front matter written by hand is almost YAML, like `argument-hint: [file] [mode]`. If `is_lenient`,
    a field that is not valid YAML is the text after its colon.

    Raises:
        WrongYaml: the front matter cannot be read, or is too large.
    """
    parts = split_front_matter(text)
    if parts is None:
        return None, text
    raw, body = parts
    if len(raw) > MAX_FRONT_MATTER:
        raise WrongYaml(f"the front matter has more than {MAX_FRONT_MATTER} characters", is_excessive=True)
    try:
        fields = read_yaml(raw)
    except WrongYaml as wrong:
        if wrong.is_excessive or not is_lenient:
            raise
        fields = _read_lines(raw)
    if fields is None:
        return {}, body
    return (fields, body) if isinstance(fields, dict) else (None, text)


def find_fault(text: str) -> str | None:
    """Explain which `---` line of front matter is missing; None if both lines are there, or neither is."""
    start = _START.match(text)
    if start is None:
        return None
    end = _END.search(text, start.end())
    if end is None:
        return "its front matter does not end. Add a line --- after it"
    for line in text[start.end() : end.start()].splitlines():
        if line.strip() and line[0] not in " \t-#\"'" and not _KEY.match(line):
            return f"its front matter has a line that is not a field: {line[:60]!r}. Is a line --- missing before it?"
    return None


def _read_lines(raw: str) -> Any:
    """Read each field separately; a value that is not valid YAML becomes the text after the colon."""
    blocks: list[list[str]] = []
    for line in raw.split("\n"):
        if line[:1] not in (" ", "\t", "-", "#", "") and _KEY.match(line):
            blocks.append([line])
        elif blocks:
            blocks[-1].append(line)
    found: Fields = {}
    for block in blocks:
        key = _KEY.match(block[0])
        assert key is not None, "a block begins with a key"
        try:
            value = read_yaml("\n".join(block))
            found |= value if isinstance(value, dict) else {}
        except WrongYaml:
            rest = [block[0][key.end() :], *(line.strip() for line in block[1:])]
            found[key[1]] = "\n".join(rest).strip().strip("\"'")
    return found or "no fields"


def write_front_matter(fields: Mapping[str, Any], body: str = "") -> str:
    """Write fields and a body as a text with front matter; omit fields that are None or empty lists."""
    kept = {key: value for key, value in fields.items() if value is not None and value not in ([], (), {})}
    return f"---\n{write_yaml(kept) if kept else ''}---\n{body}"


def write_yaml(fields: Mapping[str, Any]) -> str:
    """Write fields as people do: one line each, texts of several lines as blocks."""
    import yaml  # 13 ms of a start

    style = {"allow_unicode": True, "sort_keys": False, "width": 1_000_000, "default_flow_style": False}
    text: str = yaml.dump(dict(fields), Dumper=_make_dumper(), **style)
    return text


@cache
def _make_dumper() -> Any:
    import yaml

    class Dumper(yaml.SafeDumper):  # type: ignore[misc]
        """A YAML writer: texts of several lines become blocks, lists of plain values stay on one line; no aliases."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def write_text(dumper: Any, text: str) -> Any:
        is_printable = all(line.isprintable() for line in text.split("\n"))
        style = '"' if not is_printable else "|" if "\n" in text else None
        return dumper.represent_scalar(_TEXT_TAG, text, style=style)

    def write_list(dumper: Any, values: Sequence[Any]) -> Any:
        is_plain = not any(isinstance(one, dict | list | tuple) for one in values)
        return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=is_plain)

    Dumper.add_representer(str, write_text)
    Dumper.add_representer(list, write_list)
    Dumper.add_representer(tuple, write_list)
    return Dumper
