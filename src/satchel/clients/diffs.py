"""A change of a file as a diff that is safe to show.

The files of clients have keys and tokens of other servers in them. Of the lines around a change, and of lines that
belong to others as well, a diff shows the names but no text, unless the text is in the entry itself.
"""

import difflib
import re
from json import dumps
from typing import Any

MAX_LINE = 300  # characters of a line that are shown

# A text in quotes, of JSON or TOML; the second group is what follows a name.
_TEXT = re.compile(
    r'("""(?:[^\\]|\\.)*?"""|"(?:[^"\\\n]|\\.)*"|'
    r"'''.*?'''|(?<!\w)'[^'\n]*')(\s*[:=])?",
    re.S,
)


def make_diff(path: str, before: str | None, after: str, entries: list[Any] | None = None) -> str:
    """A unified diff; with `entries`, texts that none of them has are shown as "…"."""
    old, new = before or "", after
    if entries is not None:
        shown = {text for entry in entries for text in _find_texts(entry)}
        old, new = _mask(old, shown), _mask(new, shown)
    names = ("/dev/null" if before is None else path, path)
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), *names, n=2, lineterm="")
    return "\n".join(_shorten(line) for line in lines)


def _find_texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [text for one in inside for text in _find_texts(one)]


def _mask(text: str, shown: set[str]) -> str:
    allowed = {dumps(one, ensure_ascii=False) for one in shown}

    def mask(found: re.Match[str]) -> str:
        is_shown = found.group(2) is not None or found.group(1) in allowed
        return found.group() if is_shown else '"…"'

    return _TEXT.sub(mask, text)


def _shorten(line: str) -> str:
    line = "".join(character if character.isprintable() or character == "\t" else "?" for character in line)
    return line if len(line) <= MAX_LINE else line[:MAX_LINE] + "…"
