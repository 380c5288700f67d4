"""Turns values into HTML: templates, static files, Markdown, differences between texts, times and authors."""

import difflib
import gzip
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import nh3
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from msgspec import Struct

from satchel import __version__
from satchel.model import Author
from satchel.page.visit import MOST_COUNTED, link
from satchel.services.diffs import find_differing
from satchel.services.rules import is_expired

_FOLDER = Path(__file__).parent
_KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "txt": "text/plain"}
_MOST_MARKDOWN = 256 * 1024  # bytes; a longer text is shown as plain text
_MOST_MARKED = 200_000  # the limit of characters in lines to compare word by word
_LONGEST_MARKED = 2_000  # the limit for one line
_CONTEXT = 3  # unchanged lines around a change
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_TAGS = {
    *("a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre"),
    *("s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}


class DiffLine(Struct, frozen=True):
    """One line of a difference; its text is HTML, with the changed words marked."""

    kind: Literal["same", "removed", "added", "gap"]
    text: Markup
    old: int | None = None  # the line's number in the old text
    new: int | None = None


class StaticFile(Struct, frozen=True):
    """A static file; its address changes with its content."""

    mime_type: str
    content: bytes
    compressed: bytes


def render(template: str, values: Mapping[str, Any]) -> bytes:
    """Render a template as a whole HTML document."""
    return _environment().get_template(template).render(values).encode()


@cache
def static_files() -> dict[str, "StaticFile"]:
    """Return every static file by its path below /static/."""
    contents = {file.name: file.read_bytes() for file in sorted((_FOLDER / "static").iterdir())}
    contents["page.css"] = contents.pop("tokens.css") + contents.pop("layout.css")
    return {
        f"{sha256(content).hexdigest()[:12]}/{name}": StaticFile(
            _KINDS[name.rpartition(".")[2]], content, gzip.compress(content, mtime=0)
        )
        for name, content in contents.items()
    }


def static_link(name: str) -> str:
    """Return the address of a static file, which changes with its content."""
    return "/static/" + next(path for path in static_files() if path.endswith(f"/{name}"))


def to_html(text: str) -> Markup:
    """Render Markdown as HTML without scripts, loaded content or automatic redirects."""
    if len(text.encode()) > _MOST_MARKDOWN:
        return Markup("<pre>{}</pre>").format(text)
    html = _markdown().render(text)
    clean = nh3.clean(html, tags=_TAGS, attributes={"a": {"href"}}, url_schemes={"http", "https", "mailto"})
    return Markup(clean)  # noqa: S704 - cleaned above  # nosec B704


def compare(old: str, new: str) -> list[DiffLine]:
    """Return the lines in which two texts differ, with a few lines around them."""
    differing = find_differing(old, new, _CONTEXT)
    if differing.is_large:  # all lines are shown as changed, so context would be wrong
        differing = find_differing(old, new, 0)
    before, after, skipped = differing.old, differing.new, differing.before
    has_words = sum(map(len, before)) + sum(map(len, after)) <= _MOST_MARKED
    lines: list[DiffLine] = []
    if differing.is_large:
        groups = [[("replace", 0, len(before), 0, len(after))]]
    else:
        groups = list(difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(_CONTEXT))
    for group in groups:
        if lines or skipped or group[0][1] or group[0][3]:
            lines.append(DiffLine("gap", Markup("")))
        for what, start, end, new_start, new_end in group:
            old_line, new_line = skipped + start + 1, skipped + new_start + 1
            if what == "equal":
                lines += [
                    DiffLine("same", Markup.escape(before[start + place]), old_line + place, new_line + place)
                    for place in range(end - start)
                ]
            else:
                lines += _changed_lines(before[start:end], after[new_start:new_end], old_line, new_line, has_words)
    more = differing.more_old + differing.more_new
    return [*lines, DiffLine("gap", Markup("{} more lines differ").format(more))] if more else lines


def _changed_lines(
    old: Sequence[str], new: Sequence[str], old_line: int, new_line: int, has_words: bool
) -> Iterator[DiffLine]:
    pairs = dict(enumerate(zip(old, new, strict=False))) if has_words else {}
    marked = {place: _mark_words(*pair) for place, pair in pairs.items() if max(map(len, pair)) <= _LONGEST_MARKED}
    for place, line in enumerate(old):
        text = marked[place][0] if place in marked else Markup.escape(line)
        yield DiffLine("removed", text, old=old_line + place)
    for place, line in enumerate(new):
        text = marked[place][1] if place in marked else Markup.escape(line)
        yield DiffLine("added", text, new=new_line + place)


def _mark_words(old: str, new: str) -> tuple[Markup, Markup]:
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    left, right = Markup(""), Markup("")
    for what, start, end, new_start, new_end in difflib.SequenceMatcher(None, before, after).get_opcodes():
        one, other = "".join(before[start:end]), "".join(after[new_start:new_end])
        if what == "equal":
            left, right = left + one, right + other
        else:
            left += Markup("<mark>{}</mark>").format(one) if one else ""
            right += Markup("<mark>{}</mark>").format(other) if other else ""
    return left, right


def describe_time(moment: str) -> Markup:
    """Write a timestamp in words, with the exact time in its title."""
    at = datetime.fromisoformat(moment)
    seconds = (datetime.now(UTC) - at).total_seconds()
    for size, one, few in (
        (60, "just now", ""),
        (3600, "min", "min"),
        (86400, "hour", "hours"),
        (604800, "day", "days"),
    ):
        if seconds < size:
            count = int(seconds // {3600: 60, 86400: 3600, 604800: 86400}.get(size, 1))
            said = one if size == 60 else f"{max(count, 1)} {one if count <= 1 else few} ago"
            break
    else:
        said = f"{at:%-d %b %Y}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(moment, f"{at:%Y-%m-%d %H:%M:%S} UTC", said)


def describe_count(count: int) -> str:
    """Format a count; a plus sign follows the number at which counting stopped."""
    return f"{MOST_COUNTED:,}+" if count > MOST_COUNTED else f"{count:,}"


def describe_author(author: Author, own_user: str | None) -> str:
    """Return who made a change: a person, a program, or Satchel itself."""
    if author.caller == "person" or author.contract == "cli":
        who = (
            "you" if own_user and author.user == own_user else f"user {author.user[:8]}" if author.user else "a person"
        )
        through = {"page": "on this page", "cli": "on the command line"}.get(author.contract, "")
        return f"{who} {through}".strip()
    if author.client:
        return author.client
    return f"an agent through {author.contract}" if author.contract else "Satchel itself"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {"link": link, "static": static_link, "version": __version__, "compare": compare}
    environment.filters |= {
        "when": describe_time,
        "markdown": to_html,
        "counted": describe_count,
        "expired": is_expired,
    }
    return environment


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
