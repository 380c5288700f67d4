"""`satchel prompt copy|move`, and the same for resources and tasks: from one project to another."""

from collections.abc import Callable
from typing import Any, Literal

import click
from msgspec import to_builtins

from satchel.cli.store import Session, command
from satchel.errors import Taken
from satchel.model import Scope
from satchel.storage.database import Tx

Kind = Literal["prompt", "resource", "task"]

_REFERENCES = {"prompt": "a name, a title or an id", "resource": "a name or a URI", "task": "a number or a UUID"}
_WORDS = {"prompt": "prompts", "resource": "documents", "task": "tasks"}


def add_commands(group: click.Group, kind: Kind) -> None:
    """Add `copy` and `move` to the commands about a kind of items."""
    for verb, past in (("copy", "copied"), ("move", "moved")):
        group.add_command(_make_command(kind, verb, past))


def _make_command(kind: Kind, verb: str, past: str) -> click.Command:
    def run(session: Session, refs: tuple[str, ...], to: str, is_renamed: bool = False) -> None:
        from satchel.services import copying, projects  # with the services 20 ms, which `--help` need not wait for

        if verb == "move" and kind != "task" and to == session.scope.project:
            raise click.UsageError(f"Project '{to}' is where they are. Name another one with --to.")
        act: Callable[..., copying.Copied | copying.CopiedTask] = getattr(copying, f"{verb}_{kind}")
        options = {} if kind == "task" else {"renames": is_renamed}

        def change(tx: Tx) -> list[copying.Copied | copying.CopiedTask]:
            projects.get(tx, session.scope, to)  # before the first item, which is not to blame
            found = [_find(tx, session.scope, kind, verb, ref) for ref in refs]
            items = {one.number: one for one in found}  # each once
            return [act(tx, session.scope, one, to, **options) for one in items.values()]

        try:
            changed = session.transact(change)
        except Taken as clash:
            advice = (
                f"Nothing was {past}. Say --rename to use the next free name there, or rename or delete that one first."
            )
            raise Taken(clash.kind, clash.field, clash.key, clash.scope, holder=clash.holder, advice=advice) from clash
        _show(session, changed, f"{past.capitalize()} to project '{to}':", to)

    wrapped = command(in_project=kind != "task", as_user=True)(run)
    if kind != "task":
        help = "Where the name is taken there, use the next free one."
        wrapped = click.option("--rename", "is_renamed", is_flag=True, help=help)(wrapped)
    wrapped = click.option("--to", required=True, metavar="PROJECT", help="The project to go to.")(wrapped)
    wrapped = click.argument("refs", metavar="REF...", nargs=-1, required=True)(wrapped)
    more = " Their history stays in the trash of the old project." if verb == "move" and kind != "task" else ""
    more = " A copy is open, and has no notes." if (kind, verb) == ("task", "copy") else more
    text = f"{verb.capitalize()} {_WORDS[kind]} to another project, all or none.{more} REF is {_REFERENCES[kind]}."
    return click.command(verb, help=text)(wrapped)


def _find(tx: Tx, scope: Scope, kind: Kind, verb: str, reference: str) -> Any:
    """The item that is copied or moved; only a copy may be of one that the project reads from the personal one."""
    from satchel.services import layers, prompts, resources, tasks

    if kind == "task":
        return tasks.find(tx, scope, reference)
    if kind == "prompt":
        return (layers.find_prompt if verb == "copy" else prompts.find)(tx, scope, reference)
    return (layers.find_resource if verb == "copy" else resources.find)(tx, scope, reference)


def _show(session: Session, changed: list[Any], heading: str, there: str) -> None:
    """Print what is in the other project now; as JSON it is what the tool `update_items` answers."""
    from satchel.contracts.satchel import prompt_answers, resource_answers, task_answers
    from satchel.model import Prompt, Resource

    here = session.scope.project
    rows: list[dict[str, Any]] = []
    lines, notes = [heading], [note for one in changed for note in one.notes]
    for one in (copied.item for copied in changed):
        if isinstance(one, Prompt | Resource):
            kind = "prompt" if isinstance(one, Prompt) else "resource"
            row = prompt_answers.echo_prompt(one) if isinstance(one, Prompt) else resource_answers.echo_resource(one)
            rows.append({"kind": kind, **to_builtins(row), "project": there})
            lines.append(f"  {one.name}")
        else:
            rows.append(to_builtins(task_answers.make_row(one, here, is_echo=True)))
            lines.append(f"  #{one.number} {one.title}")
    value = {"project": here, "items": rows, **({"notes": notes} if notes else {})}
    session.say("\n".join([*lines, *notes]), value)
