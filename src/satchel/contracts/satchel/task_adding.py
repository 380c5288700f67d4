"""The tool that adds many tasks at once, from lines."""

from satchel.contracts.contract import Body, Context, Reply
from satchel.contracts.satchel import answers
from satchel.contracts.satchel.answers import answer_once
from satchel.contracts.satchel.task_answers import format_task, make_row
from satchel.contracts.satchel.tools import AddTasks
from satchel.errors import EntryRefused, WrongArgument
from satchel.model import TaskDetails
from satchel.services import task_batches, task_lines
from satchel.services.task_lines import TaskLine

_STEP = 50  # tasks between two reports of progress


def add_tasks(context: Context, args: AddTasks) -> Body:
    input = {"lines": args.lines, "project": args.project or ""}
    return answer_once(context, "add_tasks", args.key, input, lambda: _add(context, args, _read_lines(args)))


def _read_lines(args: AddTasks) -> list[TaskLine]:
    found = task_lines.read(args.lines)
    for line in found:
        try:
            answers.check_title("task", line.title)
        except WrongArgument as wrong:
            raise EntryRefused(task_lines.place_of(line.place), wrong) from wrong
    return found


def _add(context: Context, args: AddTasks, lines: list[TaskLine]) -> Reply:
    here = args.project or context.scope.project

    def report(count: int) -> None:
        if count % _STEP == 0:
            context.report(count, len(lines), f"{count} of {len(lines)} tasks")

    added = task_batches.add_all(context.tx, context.scope, lines, here, report)
    text = "\n".join(["Added:", *(format_task(task, here) for task in added)])
    notes = [note for task in added for note in _describe_doubts(task)]
    return answers.reply(text, {"project": here, "tasks": [make_row(task, here) for task in added]}, notes=notes)


def _describe_doubts(task: TaskDetails) -> list[str]:
    """A note where the end of a title was perhaps meant as something else."""
    doubts = task_lines.find_doubts(task.title)
    return [f"#{task.number}: '{doubts[0]}' is in the title; {', '.join(doubts[1])}."] if doubts else []
