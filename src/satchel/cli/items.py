"""Commands that prompts, documents and tasks share (delete, history, copy, move), and contents from files or stdin."""

import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal

import click
from msgspec import to_builtins

from satchel.cli.completion import DOCUMENT, PROJECT, PROMPT, TASK, Name
from satchel.cli.output import count, print_table, show_notes
from satchel.cli.session import VERSION, Answer, Option, Session, command, confirm
from satchel.errors import Refused, Taken, TaskHeld
from satchel.model import Document, Prompt, Scope, Task, describe_change, uri_of
from satchel.storage.database import Tx

Kind = Literal["prompt", "document", "task"]

CONTENT_HELP = (
    "CONTENT is the text itself, @FILE, or - for stdin; without it your $EDITOR opens. "
    "Write @@ for a text that starts with @."
)
EDIT_TAGS_HELP = "The new tags, in place of the old ones; +TAG adds one and -TAG removes one."
REFERENCES: dict[Kind, Name] = {"prompt": PROMPT, "document": DOCUMENT, "task": TASK}
_REFERENCES_HELP = {"prompt": "a name, a title or an id", "document": "a name or a URI", "task": "a number or a UUID"}


def tags_option(type: Name, help: str) -> Option:
    """Return the option for tags."""
    return click.option("--tag", "-t", "tags", type=type, multiple=True, metavar="TAG", help=help)


held_option = click.option("--yes", is_flag=True, help="Do it without asking, even if an agent holds the task.")
expected_version_option = click.option(
    "--version", "version", type=VERSION, metavar="N", help="Only if it still has this version."
)


def age_options(run: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how long an item is valid, and what replaces it."""
    help = "The last day on which it is valid, YYYY-MM-DD; '' removes it."
    expires = click.option("--expires", metavar="DAY", help=help)
    replaced = click.option("--replaced-by", metavar="REF", help="What to use instead; '' removes it.")
    return expires(replaced(run))


def add_commands(group: click.Group, kind: Kind, *narrowing: Option) -> None:
    """Add the commands `delete`, `history`, `copy` and `move` to a group of commands for items of one kind.

    `narrowing` are options that select items to delete, beside --search.
    """
    noun, reference = kind, REFERENCES[kind]

    def delete(session: Session, refs: tuple[str, ...], *, is_dry_run: bool, yes: bool = True, **options: Any) -> None:
        project, tags = options.pop("wanted", None), [*options.pop("tags", ())]
        where = {name: value for name, value in {**options, "tags": tags}.items() if value}
        where |= {"match": "any"} if tags else {}
        if bool(refs) == bool(where):
            raise click.UsageError(f"Give the {noun}s as REF, or select them with options such as --search, not both.")
        given = (
            {"items": name_several(session, kind, refs)} if refs else {"where": {"kind": kind, "match": "any", **where}}
        )
        if not yes and not is_dry_run:
            going = refs or [
                one["item"] for one in session.call("delete", **given, project=project, dry_run=True).value["deleted"]
            ]
            ask_about_held(session, going, is_yes=yes, question="Delete")
        answer = session.call("delete", **given, project=project, dry_run=is_dry_run or None)
        _show_deleted(session, kind, [one["item"].removeprefix("#") for one in answer.value["deleted"]], answer)

    wrapped = command(in_project=kind != "task", as_user=kind == "task")(delete)
    added: list[Option] = [
        click.option("--dry-run", "is_dry_run", is_flag=True, help="Only show what would be deleted."),
        *reversed(narrowing),
        click.option("--search", "query", metavar="TEXT", help=f"Delete the {noun}s with this text."),
        click.argument("refs", type=reference, metavar="[REF]...", nargs=-1),
    ]
    if kind == "task":
        added.insert(0, held_option)
    for option in added:
        wrapped = option(wrapped)
    group.command(
        "delete", help=f"Delete the given or selected {noun}s, all or none. `satchel restore` brings them back."
    )(wrapped)

    @group.command(help=f"Show the versions of a {noun}, one of them, or what changed between two.")
    @click.argument("ref", type=reference)
    @click.option("--version", type=VERSION, metavar="N", help="Show this version.")
    @click.option("--against", type=VERSION, metavar="N", help="Show what changed since this version.")
    @command(in_project=kind != "task", as_user=kind == "task", reads=True)
    def history(session: Session, ref: str, **options: Any) -> None:
        item = ref if "://" in ref else uri_of(kind, ref)
        answer = session.call("history", item=item, **options)
        versions = answer.value.get("versions")
        if session.as_json or versions is None:
            session.say(answer.text, answer.value)
            return
        rows = [_list_cells(one) for one in versions]
        print_table(("VERSION", "TIME", "WHAT", "WHO"), rows)
        if "next_cursor" in answer.value:
            show_notes([f"There is more: satchel log {shlex.quote(item)} --limit NUMBER"])

    for verb, past in (("copy", "copied"), ("move", "moved")):
        _add_transfer(group, kind, verb, past)


def ask_about_held(session: Session, refs: Sequence[str], *, is_yes: bool, question: str = "Change") -> None:
    """Ask before a command changes tasks that agents hold.

    Raises:
        TaskHeld: there is no terminal to ask on.
    """
    from satchel.services import tasks  # takes 20 ms, which `--help` need not wait for

    if is_yes:
        return
    own, found = tasks.make_holder(session.scope.author.client, "", session.scope), list[Task]()
    with session.read() as tx:
        for reference in refs:
            with suppress(Refused):  # the command itself will explain it
                found.append(tasks.find(tx, session.scope, reference))
    held = [(one.number, one.claim) for one in found if one.claim is not None and one.claim.holder_key != own.key]
    if held and not sys.stdin.isatty():
        raise TaskHeld(*held[0])
    if held:
        who = " ".join(f"#{number} is held by {claim.holder} until {claim.until[11:16]}." for number, claim in held)
        confirm(f"{who} {question} {'them' if held[1:] else 'it'} anyway?", is_yes=False)


def _list_cells(one: dict[str, Any]) -> tuple[str, str, str, str]:
    """Return the cells of a version, or of a note, which has no version."""
    if one["action"] == "note":
        return "", one["at"], f"note: {one['text']}", one["by"]
    return str(one["version"]), one["at"], describe_change(one["action"], one.get("fields", ())), one["by"]


def name_several(session: Session, kind: Kind, refs: Sequence[str]) -> list[str]:
    """Check that references name items of one kind, and return them in the form for a tool that takes any kind.

    Raises:
        NotFound: one of the items does not exist.
    """
    with session.read() as tx:
        found = [_find(tx, session.scope, kind, "delete", reference) for reference in refs]
    return [f"#{one.number}" if kind == "task" else uri_of(kind, one.name) for one in found]


def _show_deleted(session: Session, kind: Kind, keys: Sequence[str], answer: Answer) -> None:
    """Print that items were deleted, what referred to them, and how to restore them."""
    if not keys:
        session.say(answer.text, answer.value)
        return
    if kind == "task":
        text = f"Deleted task {', '.join(keys)}."
    else:
        quoted = ", ".join(f"'{key}'" for key in keys)
        text = f"Deleted {kind} {quoted} from project '{session.scope.project}'."
    ready = [f"Ready now: task {one['number']}: {one['title']}" for one in answer.value.get("ready", ())]
    if answer.value.get("dry_run"):
        session.say(f"Would have d{text[1:]}", answer.value)
    else:
        session.say_deleted("\n".join([text, *ready]), kind, keys, answer.value)
    if not session.as_json:
        referred = answer.value.get("referred", ())
        show_notes([f"{one['item']} was referred to by {', '.join(one['by'])}." for one in referred] + answer.notes)


# -- from one project to another --------------------------------------------------------------------------------


def _add_transfer(group: click.Group, kind: Kind, verb: str, past: str) -> None:
    help = f"{verb.capitalize()} {kind}s to another project, all or none."
    if kind == "task":
        help += " A copy is open, and has no notes." if verb == "copy" else ""

    def transfer(
        session: Session, refs: tuple[str, ...], to: str, is_renamed: bool = False, *, yes: bool = True
    ) -> None:
        from satchel.services import copying, projects, templates  # takes 20 ms, which `--help` need not wait for

        if verb == "move" and kind != "task" and to == session.scope.project:
            raise click.UsageError(f"They are already in project '{to}'. Name another project with --to.")
        ask_about_held(session, refs, is_yes=yes)
        transfer_one = copying.copy if verb == "copy" else copying.move

        def change(tx: Tx) -> list[tuple[Prompt | Document | Task, tuple[str, ...]]]:
            projects.get(tx, session.scope, to)  # checked first, because this error is not about an item
            found = [_find(tx, session.scope, kind, verb, ref) for ref in refs]
            items = {one.number: one for one in found}  # each item once
            done = [transfer_one(tx, session.scope, one, to, renames=is_renamed) for one in items.values()]
            there = projects.enter(session.scope, to)
            return [
                (one, (*notes, *templates.describe_missing(tx, there, one)) if isinstance(one, Prompt) else notes)
                for one, notes in done
            ]

        try:
            changed = session.transact(change)
        except Taken as clash:
            advice = (
                f"Nothing was {past}. Add --rename to use the next free name, or first rename or delete the other one."
            )
            raise Taken(clash.kind, clash.field, clash.key, clash.scope, holder=clash.holder, advice=advice) from clash
        _show_transferred(session, changed, f"{past.capitalize()} {count(len(changed), noun)} to project '{to}':", to)

    noun = kind
    wrapped = command(in_project=kind != "task", needs_project=kind != "task", as_user=True)(transfer)
    if kind != "task":
        option = click.option(
            "--rename", "is_renamed", is_flag=True, help="If the name is taken, use the next free one."
        )
        wrapped = option(wrapped)
    if kind == "task" and verb == "move":
        wrapped = held_option(wrapped)
    wrapped = click.option("--to", type=PROJECT, required=True, metavar="PROJECT", help="The target project.")(wrapped)
    wrapped = click.argument("refs", type=REFERENCES[kind], metavar="REF...", nargs=-1, required=True)(wrapped)
    group.command(verb, help=f"{help} REF is {_REFERENCES_HELP[kind]}.")(wrapped)


def _find(tx: Tx, scope: Scope, kind: Kind, verb: str, reference: str) -> Any:
    """Return the item that a command names; a personal item may only be copied."""
    from satchel.services import layers, tasks  # takes 20 ms, which `--help` need not wait for

    if kind == "task":
        return tasks.find(tx, scope, reference)
    find = layers.find_prompt if kind == "prompt" else layers.find_document
    return find(tx, scope, reference, to_change=verb != "copy")


def _show_transferred(session: Session, changed: list[Any], heading: str, there: str) -> None:
    """Print the copied or moved items; as JSON, the answer of the tool `update_items`."""
    from satchel.contracts.satchel import documents as document_tools
    from satchel.contracts.satchel import prompts as prompt_tools
    from satchel.contracts.satchel import task_answers

    here = session.scope.project
    rows: list[dict[str, Any]] = []
    lines, notes = [heading], [note for _, about in changed for note in about]
    for one, _ in changed:
        if isinstance(one, Prompt):
            rows.append({"kind": "prompt", **to_builtins(prompt_tools.make_row(one, is_echo=True)), "project": there})
            lines.append(f"  {one.name}")
        elif isinstance(one, Document):
            rows.append(
                {"kind": "document", **to_builtins(document_tools.make_row(one, is_echo=True)), "project": there}
            )
            lines.append(f"  {one.name}")
        else:
            rows.append(to_builtins(task_answers.make_row(one, here, is_echo=True)))
            lines.append(f"  #{one.number} {one.title}")
    value = {"project": here, "items": rows, **({"notes": notes} if notes else {})}
    session.say("\n".join([*lines, *notes]), value)


# -- contents ---------------------------------------------------------------------------------------------------


def read_content(given: str | None, *, editing: str | None = None) -> bytes:
    """Return the content that CONTENT gives; without CONTENT, open the editor, with the text `editing` in it."""
    if given is None:
        return _open_editor(editing or "")
    if given == "-":
        return sys.stdin.buffer.read()
    if given.startswith("@@"):
        given = given[1:]
    elif given.startswith("@"):
        try:
            with open(given[1:], "rb") as file:
                return file.read()
        except OSError as error:
            raise click.ClickException(f"cannot read {given[1:]}: {error.strerror}.") from error
    return given.encode(errors="surrogateescape")


def read_text(given: str | None, *, editing: str | None = None) -> str:
    """Return content as text. Bytes that are not UTF-8 become lone surrogates, which the services refuse."""
    return read_content(given, editing=editing).decode(errors="surrogateescape")


def _open_editor(start: str) -> bytes:
    if not sys.stdin.isatty():
        raise click.UsageError(
            "There is no terminal for an editor. Give CONTENT as an argument, @FILE, or - for stdin."
        )
    # Pass bytes, because click changes the line endings of a text.
    written = click.edit(start.encode(), extension=".md", require_save=True)
    if written is None:
        raise click.ClickException("the editor was left without saving; nothing was changed.")
    return bytes(written)
