"""What the commands on prompts, resources and tasks share: several references at once, deletions, history."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import click

from satchel.cli.changes import ACTIONS
from satchel.cli.lists import show_notes
from satchel.cli.printing import print_table
from satchel.cli.store import VERSION, Session, command, say_deleted
from satchel.model import ItemKind

if TYPE_CHECKING:
    from satchel.cli.calls import Answer


def add_commands(group: click.Group, kind: Literal["prompt", "resource"]) -> None:
    """Add `delete` and `history` to the commands about a kind of items."""

    @group.command(help=f"Delete {kind}s: all that are named, or none. `satchel restore` brings them back.")
    @click.argument("refs", metavar="REF...", nargs=-1, required=True)
    @command(needs_project=False)
    def delete(session: Session, refs: tuple[str, ...]) -> None:
        if len(refs) == 1:
            answer = session.call(f"delete_{kind}", **{kind: refs[0]})
            names = [answer.value["deleted"]]
        else:
            answer = session.call("delete", items=name_several(session, kind, refs))
            names = [one["item"] for one in answer.value["deleted"]]
        show_deleted(session, kind, names, answer)

    @group.command(help=f"Show the versions of a {kind}, one of them, or what changed between two.")
    @click.argument("ref")
    @history_options
    @command(needs_project=False, reads=True)
    def history(session: Session, ref: str, **options: Any) -> None:
        call_history(session, kind, ref, **options)


def name_several(session: Session, kind: ItemKind, refs: Sequence[str]) -> list[str]:
    """What names items of a kind, and nothing else, in a call that takes items of any kind.

    Raises:
        NotFound: one of them does not exist.
    """
    from satchel.services import prompts, resources, tasks  # which `--help` need not wait for

    with session.read() as tx:
        if kind == "task":
            return [f"#{tasks.find(tx, session.scope, ref).number}" for ref in refs]
        find = prompts.find if kind == "prompt" else resources.find
        return [f"satchel://{kind}/{find(tx, session.scope, ref).name}" for ref in refs]


def show_deleted(session: Session, kind: str, keys: Sequence[str], answer: "Answer") -> None:
    """Print that items were deleted, what referred to them, and how they are brought back."""
    if kind == "task":
        text = f"Deleted task {', '.join(keys)}."
    else:
        quoted = ", ".join(f"'{key}'" for key in keys)
        text = f"Deleted {kind} {quoted} from project '{session.scope.project}'."
    say_deleted(session, text, kind, keys, answer.value)
    if not session.as_json:
        referred = [
            f"{one['item']} was referred to by {', '.join(one['by'])}." for one in answer.value.get("referred", ())
        ]
        show_notes([*referred, *answer.notes])


def history_options(run: Callable[..., None]) -> Callable[..., None]:
    """Add the options of the commands that show the history of an item."""
    for option in (
        click.option("--version", type=VERSION, metavar="N", help="Show this version."),
        click.option("--against", type=VERSION, metavar="N", help="Show what changed from this version on."),
        click.option("--cursor", metavar="CURSOR", help="Go on behind a page: its next_cursor."),
    ):
        run = option(run)
    return run


def call_history(session: Session, kind: str, ref: str, **options: Any) -> None:
    """Print the versions of an item, one of them, or a difference."""
    item = ref if "://" in ref else f"satchel://{kind}/{ref.removeprefix('#') if kind == 'task' else ref}"
    answer = session.call("history", item=item, **options)
    versions = answer.value.get("versions")
    if session.as_json or versions is None:
        session.say(answer.text, answer.value)
        return
    print_table(("VERSION", "TIME", "WHAT", "WHO"), [_row(one) for one in versions])
    if cursor := answer.value.get("next_cursor"):
        show_notes([f"There is more: the same with --cursor {cursor}"])


def _row(version: dict[str, Any]) -> list[str]:
    did = version.get("did") or ACTIONS[version["action"]]
    return [str(version["version"]), version["at"], did, version["by"]]
