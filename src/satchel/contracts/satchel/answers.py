"""What the tools of several nouns share: the form of an answer, pages of lists, calls of many entries, retries."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

from msgspec import UNSET, Struct, UnsetType

from satchel import clock
from satchel.contracts.contract import Body, Context, Reply
from satchel.errors import WrongArgument
from satchel.model import DEFAULT_PROJECT, Item, ProjectCounts, Scope
from satchel.protocol import ProtocolError
from satchel.protocol.codec import decode, encode
from satchel.protocol.cursors import NUMBER
from satchel.protocol.cursors import decode_cursor as decode_key
from satchel.services import projects, retry_keys
from satchel.services.rules import check_shown
from satchel.storage.database import Tx

Answer = TypeVar("Answer", bound=Struct)

_SHORT = 200  # characters of a description that a list shows


def check_title(kind: str, title: str) -> None:
    """Check what titles have to be in this contract only: they are read by people, and are references.

    Raises:
        WrongArgument: a character does not show, or the title is an id.
    """
    check_shown(kind, "title", title.strip())
    if clock.parse_id(title.strip()) is not None:
        raise WrongArgument("title", "reserved", value=title.strip(), kind=kind)


def none_if_empty(text: str | UnsetType) -> str | UnsetType | None:
    """Return the text of an update, or None, which clears the field, if it is empty."""
    return text if isinstance(text, UnsetType) else text or None


def reply(text: str, structured: dict[str, Any], facts: str = "", *, notes: Sequence[str] = ()) -> Reply:
    """Make an answer of a text for people and a value for programs.

    Some clients show a model only the texts, so `facts` repeats in a second text what the next call needs. `notes` are
    sentences about what the caller may not expect.
    """
    if notes:
        text, structured = "\n".join([text, *notes]), {**structured, "notes": list(notes)}
    return Reply([{"type": "text", "text": one} for one in (text, facts) if one or one is text], structured)


def copy_members(value: Struct, answer: type[Answer], **others: Any) -> Answer:
    """Make an answer from the members that a value has under the same names, and others."""
    names = [name for name in answer.__struct_fields__ if name not in others and hasattr(value, name)]
    return answer(**{name: getattr(value, name) for name in names}, **others)


def reply_page(
    what: str,
    project: str | None,
    lines: list[str],
    structured: dict[str, Any],
    *,
    next_cursor: str | None,
    is_narrowed: bool,
    is_continued: bool,
    notes: Sequence[str] = (),
) -> Reply:
    """Return one page of a list; an empty one says whether there are none, none match, or no more."""
    if next_cursor is not None:
        structured["next_cursor"] = next_cursor
        lines.append(f"More with cursor {next_cursor}")
    if not lines and is_continued:
        lines = [f"No more {what}."]
    elif not lines:
        where = f" in project '{project}'" if project else ""
        lines = [f"No {what}{where}{' match' if is_narrowed else ''}."]
    return reply("\n".join(lines), structured, notes=notes)


def shorten(text: str) -> str:
    """Shorten a text to its beginning, in one line."""
    plain = " ".join(text[: 2 * _SHORT].split())
    return plain if len(plain) <= _SHORT and len(text) <= 2 * _SHORT else f"{plain[:_SHORT]}..."


def mark_layer(description: str | None, layer: str) -> str | None:
    """Return the description that MCP lists, marked if the item is from the personal project."""
    return f"{description} ({layer})" if description and layer else description or layer or None


# -- cursors: which list one belongs to, and the sort key of the last entry of its page ----------------------------

# prompts, personal ones, those of libraries; documents, personal ones; open, completed and all tasks; changes,
# versions, the newest change; hits
List = Literal["p", "q", "l", "r", "y", "o", "d", "a", "h", "v", "s", "f"]

_MOMENT = "([0-9TZ:.-]{1,40})"
_TASK = f"{_MOMENT} {NUMBER} ([0-4]) ([0-9-]*)"
_FORMS: dict[List, str] = {
    "p": f"(p) {_MOMENT} {NUMBER}",
    "q": f"(q) {_MOMENT} {NUMBER}",
    "l": r"(l) ([\w:.-]+)",
    "r": f"(r) {NUMBER}",
    "y": f"(y) {NUMBER}",
    "o": f"(o) {_TASK}",
    "d": f"(d) {_TASK}",
    "a": f"(a) {_TASK}",
    "h": f"(h) {NUMBER}",
    "v": f"(v) {NUMBER}",
    "s": f"(s) {NUMBER}",
    "f": f"(f) {NUMBER}",  # how many came before: the order of hits is not that of a key
}


def decode_cursor(cursor: str | UnsetType, *lists: List) -> tuple[str, ...] | None:
    """Decode a cursor into its list, one of some, and its key; None if there is no cursor.

    Raises:
        WrongArgument: this server never issued such a cursor for these lists.
    """
    if isinstance(cursor, UnsetType) or not cursor:
        return None
    try:
        return decode_key(cursor, "|".join(_FORMS[one] for one in lists))
    except ProtocolError:
        raise WrongArgument("cursor", "format", value=cursor) from None


# -- calls of many entries -----------------------------------------------------------------------------------------

_STEP = 50  # entries between two reports


def check_number(field: str, entries: Sequence[Any]) -> None:
    """Check that a call adds something."""
    if not entries:
        raise WrongArgument(field, "minItems", limit=1)


def report_progress(context: Context, done: int, total: int) -> None:
    """Report the progress of a long call to the client, now and then."""
    if done % _STEP == 0 and done < total:
        context.report(done, total, f"{done} of {total}")


# -- calls with a retry key ----------------------------------------------------------------------------------------


def answer_once(
    context: Context, tool: str, key: str | UnsetType, input: dict[str, Any], act: Callable[[], Reply]
) -> Reply:
    """Run `act` for the first call with a key; answer a repetition with the same and a note.

    `input` is everything that the answer depends on, as the caller gave it.

    Raises:
        WrongArgument, KeyReused: as `retry_keys.recall`.
    """
    if key is UNSET or not key:
        return act()
    digest = retry_keys.digest(context.scope, encode(input))
    kept = retry_keys.recall(context.tx, context.scope, tool, key, digest)
    if kept is not None:
        value = decode(kept)
        return _repeat(value["content"], value["structured"], key)
    reply = act()
    answer = encode({"content": reply.content, "structured": reply.structured})
    retry_keys.remember(context.tx, context.scope, tool, key, digest, answer)
    return reply


def _repeat(content: list[dict[str, Any]], structured: dict[str, Any], key: str) -> Reply:
    note = f"The call with the key '{key}' was made before; nothing was added now."
    first = {**content[0], "text": f"{content[0]['text']}\n{note}"}
    return Reply([first, *content[1:]], {**structured, "notes": [*structured.get("notes", ()), note]})


# -- the project of a call -----------------------------------------------------------------------------------------


def with_place(context: Context, body: Body) -> Body:
    """Return an answer that tells about the project of the call, if it did not exist before."""
    notes = describe_place(context)
    return add_notes(body, notes) if notes else body


def describe_place(context: Context) -> list[str]:
    """Return what a caller should know about the project of its transaction, if that did not exist before."""
    if not context.scope.makes and not context.scope.personal:
        return []
    tx = context.tx
    if DEFAULT_PROJECT in (tx.made_project, tx.absent_project):
        return []  # which everybody expects to be there
    personal = tx.scope.personal
    if personal and tx.made_project == personal:
        return [f"Project '{personal}' was made: its prompts and documents are read in every project."]
    if tx.made_project:
        return [f"Project '{tx.made_project}' was made for {tx.scope.why}."]
    if not tx.absent_project:
        return []
    if tx.absent_project == personal:
        return [f"Project '{personal}' is empty. What is saved in it is read in every project."]
    makes = "nothing made it yet" if tx.scope.is_read_only else "the first write makes it"
    note = f"Project '{tx.absent_project}' is empty; {makes} for {tx.scope.why}."
    held = _count_default(tx)
    return [note, *([f"Project '{DEFAULT_PROJECT}' holds {held}: name that project to read it."] if held else [])]


def add_notes(body: Body, notes: Sequence[str]) -> Body:
    """Add notes to an answer."""
    if not isinstance(body, Reply) or not isinstance(body.structured, dict):
        return body
    content = [*body.content, {"type": "text", "text": "\n".join(notes)}]
    if body.content and body.content[0]["type"] == "text" and len(body.content) == 1:
        content = [{**body.content[0], "text": "\n".join([body.content[0]["text"], *notes])}]
    known = body.structured.get("notes", ())
    return Reply(content, {**body.structured, "notes": [*known, *notes]})


def _count_default(tx: Tx) -> str:
    """Describe what the default project holds; return an empty text if it is empty."""
    found = projects.list_all(tx, Scope(projects=(DEFAULT_PROJECT,)))
    return _format_contents(found[0][1]) if found else ""


def _format_contents(held: ProjectCounts) -> str:
    counts = ((held.prompts, "prompt"), (held.documents, "document"))
    return " and ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts if count)


def read_tags(given: Sequence[str] | UnsetType) -> list[str]:
    """Return the tags of a filter; a `+` in front, as lists print it, is not a part of one."""
    return [] if given is UNSET else [tag.strip().removeprefix("+") for tag in given]


def format_item(item: Item) -> str:
    """Return an item in a few words."""
    return f"#{item.number} {' '.join(item.title.split())}" if item.kind == "task" else f"{item.kind} {item.name}"
