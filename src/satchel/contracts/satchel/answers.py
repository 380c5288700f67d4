"""The parts of answers that several tools share: their form, pages of lists, calls with many entries, and retries."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import UNSET, UnsetType

from satchel import clock
from satchel.contracts.content import count_fitting, format_count
from satchel.contracts.contract import Body, Context, Reply
from satchel.contracts.satchel.errors import name_place
from satchel.contracts.satchel.tools import DocumentAnswer, Hit, PromptAnswer
from satchel.errors import WrongArgument
from satchel.model import ALL_PROJECTS, DEFAULT_PROJECT, Document, Holder, Item, Outdated, Prompt, Scope, uri_of
from satchel.protocol import ProtocolError
from satchel.protocol.codec import decode, encode
from satchel.protocol.cursors import NUMBER
from satchel.protocol.cursors import decode_cursor as decode_key
from satchel.services import lookup, projects, retry_keys, tasks
from satchel.services.rules import check_shown, is_expired

Entry = TypeVar("Entry")
Row = TypeVar("Row")
Found = TypeVar("Found")

_SHORT = 200  # characters of a description in a list


def check_title(kind: str, title: str) -> None:
    """Check a title by the rules of this contract, where people read titles and use them as references.

    Raises:
        WrongArgument: a character is invisible, or the title has the form of an id.
    """
    check_shown(kind, "title", title.strip())
    if clock.parse_id(title.strip()) is not None:
        raise WrongArgument("title", "reserved", value=title.strip(), kind=kind)


def find_holder(context: Context) -> Holder:
    """Return the caller as the holder of a claim."""
    return tasks.make_holder(context.client.name, context.session, context.scope)


def find_protector(context: Context) -> Holder | None:
    """Return the caller as a holder, so that claims of others protect their tasks; None for people, who were asked."""
    return None if context.scope.is_person else find_holder(context)


def none_if_empty(text: str | UnsetType) -> str | UnsetType | None:
    """Return `text`, or None if it is empty, which clears the field in an update."""
    return text if isinstance(text, UnsetType) else text or None


def reply(context: Context, text: str, facts: str = "", /, *, notes: Sequence[str] = (), **members: Any) -> Reply:
    """Make an answer about the project of a transaction: a text for models and people, and members for programs.

    Some clients show a model only the texts, so `facts` repeats what the next call needs in a second text. `notes` are
    sentences about what the caller may not expect, such as that the project is new.
    """
    return make_reply(context, text, facts, notes=[*notes, *describe_place(context)], **members)


def make_reply(context: Context, text: str, facts: str = "", /, *, notes: Sequence[str] = (), **members: Any) -> Reply:
    """Make an answer as `reply` does, but without a transaction."""
    texts = ["\n".join([text, *notes])]
    if facts:
        texts = [text, "\n".join([facts, *notes])]
    structured = {"project": context.scope.project, **members, **({"notes": list(notes)} if notes else {})}
    return Reply([{"type": "text", "text": one} for one in texts], structured)


def add_notes(reply: Body, notes: Sequence[str]) -> Reply:
    """Add notes to an answer of a tool."""
    assert isinstance(reply, Reply) and isinstance(reply.structured, dict), (
        "every tool of this contract returns such an answer"
    )
    if not notes:
        return reply
    first = {**reply.content[0], "text": "\n".join([reply.content[0]["text"], *notes])}
    structured = {**reply.structured, "notes": [*reply.structured.get("notes", ()), *notes]}
    return Reply([first, *reply.content[1:]], structured)


def reply_echo(context: Context, done: str, line: str, notes: Sequence[str] = (), **members: Any) -> Reply:
    """Answer a change of one item with a line about it; `done` names the change, such as `Added to`."""
    return reply(context, f"{done} project '{context.scope.project}':\n{line}", notes=notes, **members)


def fit_page(rows: list[Row], found: tuple[Found, ...], *, has_more: bool) -> tuple[list[Row], tuple[Found, ...], bool]:
    """Return as many rows as fit on a page, the same number of items in `found`, and whether there are more."""
    fitting = count_fitting(rows)
    return rows[:fitting], found[:fitting], has_more or fitting < len(found)


def reply_page(
    context: Context,
    what: str,
    lines: list[str],
    *,
    next_cursor: str | None,
    is_narrowed: bool = False,
    is_continued: bool,
    where: str | None = None,
    advice: str = "",
    notes: Sequence[str] = (),
    **members: Any,
) -> Reply:
    """Return one page of a list; the text of an empty one says whether there are none, none match, or no more.

    `advice` is added to the text of an empty list.
    """
    if next_cursor is not None:
        members["next_cursor"] = next_cursor
        lines.append(f"More with cursor {next_cursor}")
    if not lines and is_continued:
        lines = [f"No more {what}."]
    elif not lines:
        in_project = f" in project '{where}'" if where else ""
        lines = [f"No {what}{in_project}{' match' if is_narrowed else ''}. {advice}".rstrip()]
    return reply(context, "\n".join(lines), notes=notes, **members)


# For each kind, a tool that reads its items. A server with a limited set of tools serves all that read a kind, or none.
_READING: dict[str, str] = {"prompt": "get_prompt", "document": "read_resource", "task": "get_task"}


def may_read(context: Context, kind: str) -> bool:
    """Return whether the caller may use the tools that read items of a kind."""
    return _READING.get(kind, "list_projects") in context.tools


def shorten(text: str) -> str:
    """Shorten a text to its beginning, in one line."""
    plain = " ".join(text[: 2 * _SHORT].split())
    return plain if len(plain) <= _SHORT and len(text) <= 2 * _SHORT else f"{plain[:_SHORT]}..."


def describe_age(
    one: PromptAnswer | DocumentAnswer | Hit | Prompt | Document | Outdated, *, tells_future: bool = False
) -> list[str]:
    """Say that an item is expired or replaced; with `tells_future`, also when it will expire."""
    said = []
    if one.expires:
        is_past = is_expired(one.expires)
        said = [f"{'expired' if is_past else 'expires'} on {one.expires}"] if is_past or tells_future else []
    return [*said, *([f"replaced by {one.replaced_by}"] if one.replaced_by else [])]


def mark_layer(description: str | None, layer: str) -> str | None:
    """Return the description that MCP lists, with a mark if the item is from the personal project."""
    return f"{description} ({layer})" if description and layer else description or layer or None


# -- cursors: which list one belongs to, and the sort key of the last entry of its page ----------------------------

_MOMENT = "([0-9TZ:.-]{1,40})"
_TASK = f"{_MOMENT} {NUMBER} ([0-4]) ([0-9-]*)"
_FORMS = {
    "p": f"(p) {_MOMENT} {NUMBER}",  # prompts of a project, of the personal one, of libraries
    "q": f"(q) {_MOMENT} {NUMBER}",
    "u": f"(u) {_MOMENT} {NUMBER} ([0-9]{{1,15}})",  # the same by use, most used first
    "w": f"(w) {_MOMENT} {NUMBER} ([0-9]{{1,15}})",
    "g": f"(g) {_MOMENT} {NUMBER}",  # prompts of all projects, by time and by use
    "x": f"(x) {_MOMENT} {NUMBER} ([0-9]{{1,15}})",
    "l": r"(l) ([\w:.-]+)",
    "r": f"(r) {NUMBER}",  # documents of a project, of the personal one
    "y": f"(y) {NUMBER}",
    "b": f"(b) {NUMBER}",  # documents of all projects
    "o": f"(o) {_TASK}",  # open tasks, closed ones, all
    "d": f"(d) {_TASK}",
    "a": f"(a) {_TASK}",
    "h": f"(h) {NUMBER}",  # changes, versions of an item, the newest change
    "v": f"(v) {NUMBER} {NUMBER}",
    "s": f"(s) {NUMBER}",
    "f": f"(f) {NUMBER}",  # hits, by the number of hits before, because their order has no key; hits in all projects
    "e": f"(e) {NUMBER}",
}


def decode_cursor(cursor: str | UnsetType, *lists: str) -> tuple[str, ...] | None:
    """Decode a cursor into the name of a list and a key in that list; None if there is no cursor.

    Raises:
        WrongArgument: this server never issued the cursor for one of these lists.
    """
    if isinstance(cursor, UnsetType) or not cursor:
        return None
    try:
        return decode_key(cursor, "|".join(_FORMS[one] for one in lists))
    except ProtocolError:
        raise WrongArgument("cursor", "format", value=cursor) from None


# -- calls of many entries -----------------------------------------------------------------------------------------

_STEP = 50  # entries between two progress reports


def check_number(field: str, entries: Sequence[Any]) -> None:
    """Check that a list of entries is not empty."""
    if not entries:
        raise WrongArgument(field, "minItems", limit=1)


def report_progress(context: Context, done: int, total: int, what: str = "") -> None:
    """Report the progress of a long call to the client, now and then."""
    if done % _STEP == 0 and done < total:
        context.report(done, total, f"{done} of {total} {what}".rstrip())


def add_all(
    context: Context,
    field: str,
    entries: Sequence[Entry],
    key: str | UnsetType,
    add: Callable[[Entry], tuple[Any, str, list[str]]],
) -> Reply:
    """Answer a call that adds all entries or none; `add` adds one, and returns its row, a line of text, and notes."""

    def act() -> Reply:
        check_number(field, entries)
        projects.current(context.tx, context.scope)  # outside the loop, so that the error names no entry
        rows, lines, notes = [], [f"Added to project '{context.scope.project}':"], []
        for index, entry in enumerate(entries):
            with name_place(f"{field}[{index}]"):
                row, line, about = add(entry)
            rows.append(row)
            lines.append(line)
            notes += about
            report_progress(context, index + 1, len(entries))
        return reply(context, "\n".join(lines), notes=notes, **{field: rows})

    return answer_once(context, f"add_{field}", key, {field: entries}, act)


# -- calls with a retry key ----------------------------------------------------------------------------------------


def answer_once(
    context: Context, tool: str, key: str | UnsetType, input: dict[str, Any], act: Callable[[], Reply]
) -> Reply:
    """Run `act` for the first call with a key; answer a repeated call with the same, and add a note.

    `input` is everything that determines the answer, as the caller gave it. Errors are those of `retry_keys.recall`.
    """
    if key is UNSET or not key:
        return act()
    digest = retry_keys.digest(context.scope, encode(input))
    kept = retry_keys.recall(context.tx, context.scope, tool, key, digest)
    if kept is not None:
        value = decode(kept)
        note = f"The call with the key '{key}' was made before; nothing was added now."
        return add_notes(Reply(value["content"], value["structured"]), [note])
    reply = act()
    answer = encode({"content": reply.content, "structured": reply.structured})
    retry_keys.remember(context.tx, context.scope, tool, key, digest, answer)
    return reply


# -- the project of a call -----------------------------------------------------------------------------------------


Everywhere = Mapping[int, str] | None  # the names of all projects by number, or None for one project


def list_everywhere(context: Context, project: str | UnsetType) -> Everywhere:
    """Return all projects that the caller may enter, if a call asks for all of them."""
    return projects.list_everywhere(context.tx, context.scope) if project == ALL_PROJECTS else None


def describe_everywhere(where: Everywhere) -> list[str]:
    """Return a note if there may be more projects than a list of all of them covers."""
    most = projects.MOST_EVERYWHERE
    return [f"Only the {most} newest projects are included: name another one."] if len(where or ()) == most else []


def follow(context: Context, reference: str) -> tuple[Context, str]:
    """Return the context of the project that a link names, and the reference in that project."""
    project, reference = lookup.split_project(reference)
    return context.within(project), reference


def name_item(context: Context, item: Item, home: str) -> str:
    """Return the key of an item of the project `home`; for a prompt or document of another project, its link."""
    is_here = item.kind in ("task", "project") or home == context.scope.project
    return item.key if is_here else uri_of(item.kind, item.name, home)


def describe_place(context: Context) -> list[str]:
    """Return notes on the transaction's project if the call makes it, or if it does not exist yet."""
    if not context.scope.makes and not context.scope.personal:
        return []
    tx = context.tx
    if DEFAULT_PROJECT in (tx.made_project, tx.absent_project):
        return []  # it is expected to exist
    personal = tx.scope.personal
    if personal and tx.made_project == personal:
        return [f"Project '{personal}' was made: its prompts and documents are read in every project."]
    if tx.made_project:
        return [f"Project '{tx.made_project}' was made for {tx.scope.why}."]
    if not tx.absent_project:
        return []
    if tx.absent_project == personal:
        return [f"Project '{personal}' is empty. Every project reads what is saved in it."]
    if tx.scope.projects is None and projects.find_deleted(tx, tx.absent_project) is not None:
        uri = uri_of("project", tx.absent_project)
        return [f"Project '{tx.absent_project}' is in the trash: restore {uri} brings it back."]
    makes = "no write has made it yet" if tx.scope.is_read_only else "the first write makes it"
    note = f"Project '{tx.absent_project}' is empty; {makes} for {tx.scope.why}."
    found = projects.list_all(tx, Scope(projects=(DEFAULT_PROJECT,)))
    counts = [(held.prompts, "prompt") for _, held in found] + [(held.documents, "document") for _, held in found]
    held = " and ".join(format_count(count, what) for count, what in counts if count)
    return [note, *([f"Project '{DEFAULT_PROJECT}' holds {held}: name that project to read it."] if held else [])]


def read_tags(given: Sequence[str] | UnsetType) -> list[str]:
    """Return the tags of a filter, without the leading `+` that lists print."""
    return [] if given is UNSET else [tag.strip().removeprefix("+") for tag in given]


def format_item(item: Item) -> str:
    """Return an item in a few words."""
    return f"#{item.number} {' '.join(item.title.split())}" if item.kind == "task" else f"{item.kind} {item.name}"
