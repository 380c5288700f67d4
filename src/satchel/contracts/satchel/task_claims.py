"""The tool that claims a task for some minutes, renews the claim, and gives it back."""

from msgspec import UNSET, structs

from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import answers
from satchel.contracts.satchel.task_answers import (
    describe_holder,
    describe_whole,
    find_holder,
    format_whole,
    look_around,
    make_row,
    write_minute,
)
from satchel.contracts.satchel.task_lookups import find_task
from satchel.contracts.satchel.tools import ClaimTask
from satchel.errors import WrongArgument
from satchel.services import claims


def claim_task(context: Context, args: ClaimTask) -> Body:
    holder = find_holder(context)
    if args.release:
        return _release(context, args)
    if args.task is not UNSET:
        number = find_task(context, args.task).number
        claim = claims.take(context.tx, context.scope, number, holder, args.minutes)
    else:
        wanted = args.project or context.scope.project
        number, claim = claims.take_next(context.tx, context.scope, wanted, holder, args.minutes)
    task = find_task(context, str(number))
    around, here = look_around(context, task), task.project or context.scope.project
    structured = {
        "project": here,
        "task": describe_whole(task, around, here, with_claim=False),
        "holder": claim.holder,
        "until": write_minute(claim.until),
        "fence": claim.fence,
    }
    blocked = f"It is still blocked by {', '.join(f'#{one}' for one in task.open_blockers)}."
    head = f"Claimed until {write_minute(claim.until)} as {claim.holder}, fence {claim.fence}:"
    notes = [blocked] if task.open_blockers else []
    return answers.reply(f"{head}\n{format_whole(task, around)}", structured, notes=notes)


def _release(context: Context, args: ClaimTask) -> Body:
    if args.task is UNSET:
        raise WrongArgument("task", "required")
    task = find_task(context, args.task)
    ended = claims.release(context.tx, context.scope, task.number)
    notes = describe_holder(context, structs.replace(task, claim=ended))
    task = find_task(context, str(task.number))
    here = task.project or context.scope.project
    text = f"Gave back #{task.number}" if ended else f"#{task.number} was not claimed"
    structured = {"project": here, "task": make_row(task, here, is_echo=True), "released": ended is not None}
    return answers.reply(f"{text}, version {task.version}", structured, notes=notes)
