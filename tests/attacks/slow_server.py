"""A server with a contract whose calls take as long as a test wants; run as `python -m tests.attacks.slow_server`.

Only the table of contracts and the deadline of reads differ from what users get.
"""

import os
import sys
import time

from msgspec import Struct

from satchel import work
from satchel.contracts import CONTRACTS
from satchel.contracts.contract import Body, Context, Contract, Tool
from satchel.log import log
from satchel.model import TaskDraft
from satchel.services import tasks

NAME = "slow"
SPINNING = "a read has begun that never ends"  # a line of stderr

_ENDLESS = """
    with recursive counted (number) as (select 1 union all select number + 1 from counted where number < 1000000000000)
    select max(number) from counted
"""


class Nothing(Struct):
    pass


class Note(Struct):
    title: str
    milliseconds: int = 0


def spin(context: Context, _args: Nothing) -> Body:
    sql = _ENDLESS
    log(SPINNING)
    return str(context.tx.one(sql))


def note(context: Context, args: Note) -> Body:
    time.sleep(args.milliseconds / 1000)
    return tasks.add(context.tx, context.scope, TaskDraft(title=args.title)).title


def titles(context: Context, _args: Nothing) -> Body:
    return ",".join(sorted(task.title for task in tasks.list_all(context.tx, context.scope)))


CONTRACT = Contract(
    name=NAME,
    server_name=NAME,
    capabilities={"tools": {"listChanged": False}, "prompts": {"listChanged": False}},
    uses_project=False,
    acts_as_user=True,
    tools=(
        Tool("spin", "Read for ever", Nothing, spin),
        Tool("note", "Add a task, slowly", Note, note, transaction="write"),
        Tool("titles", "The titles of all tasks", Nothing, titles),
    ),
    failures={Exception: lambda error: f"Error: {type(error).__name__}"},
)


def install() -> None:
    """Serve the contract beside the others."""
    CONTRACTS[NAME] = "tests.attacks.slow_server"
    work.READ_SECONDS = float(os.environ.get("READ_SECONDS", "600"))  # type: ignore[misc]


if __name__ == "__main__":
    from satchel.cli import serve

    install()
    sys.exit(serve.run(sys.argv[2:]))
