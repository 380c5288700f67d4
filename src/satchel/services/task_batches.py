"""Several tasks at once: all are added, or none."""

from collections.abc import Callable, Sequence

from satchel.errors import EntryRefused, Refused, WrongArgument
from satchel.model import Scope, TaskDetails, TaskDraft, TaskPatch
from satchel.services import projects, tasks
from satchel.services.task_lines import TaskLine, place_of
from satchel.storage.database import Tx


def add_all(
    tx: Tx, scope: Scope, lines: Sequence[TaskLine], project: str | None, report: Callable[[int], None]
) -> list[TaskDetails]:
    """Add a task for each line, in the project that it names, or else in `project`; `report` learns how many there are.

    Raises:
        EntryRefused: one cannot be added; the cause is as `tasks.add` raises it, or tasks would wait for each other.
        NotFound, Forbidden: as `projects.get`, about `project`.
    """
    if project is not None and not all(line.project for line in lines):
        projects.get(tx, scope, project)
    labels = _number_labels(lines)
    waits = [_list_earlier(line, labels, len(lines)) for line in lines]
    added: dict[int, TaskDetails] = {}
    for index in _sort(lines, waits):
        line = lines[index]
        here = [added[one].number for one in waits[index]]
        others = [int(one[1:]) for one in line.after if one[0] == "#" and int(one[1:]) not in labels]
        try:
            added[index] = _add(tx, scope, line, line.project or project, [*here, *others])
        except Refused as refused:
            raise EntryRefused(place_of(line.place), refused) from refused
        report(len(added))
    return [added[index] for index in range(len(lines))]


def _add(tx: Tx, scope: Scope, line: TaskLine, project: str | None, blocked_by: Sequence[int]) -> TaskDetails:
    if line.mark == "~":
        raise WrongArgument("lines", "claims", value="[~]")
    draft = TaskDraft(
        title=line.title,
        description=line.description,
        project=project,
        tags=line.tags,
        priority=line.priority,
        due=line.due,
        blocked_by=blocked_by,
    )
    task = tasks.add(tx, scope, draft)
    if line.mark == "":
        return task
    return tasks.update(tx, scope, task.number, TaskPatch(status="completed" if line.mark == "x" else "cancelled"))


def _number_labels(lines: Sequence[TaskLine]) -> dict[int, int]:
    """The index of the line that has a label, by the label."""
    labels: dict[int, int] = {}
    for index, line in enumerate(lines):
        if line.label is None:
            continue
        if line.label in labels:
            raise EntryRefused(place_of(line.place), WrongArgument("lines", "uniqueItems", value=f"#{line.label}"))
        labels[line.label] = index
    return labels


def _list_earlier(line: TaskLine, labels: dict[int, int], count: int) -> list[int]:
    """The indexes of the lines that a line waits for."""
    found = []
    for reference in line.after:
        if reference[0] == "#":
            if int(reference[1:]) in labels:
                found.append(labels[int(reference[1:])])
        elif 0 < int(reference) <= count:
            found.append(int(reference) - 1)
        else:
            raise EntryRefused(place_of(line.place), WrongArgument("after", "maximum", limit=count, value=reference))
    return found


def _sort(lines: Sequence[TaskLine], waits: Sequence[Sequence[int]]) -> list[int]:
    """The indexes of lines in an order in which each comes after those that it waits for, and else as they are."""
    order: dict[int, None] = {}
    left = list(range(len(waits)))
    while left:
        ready = next((index for index in left if all(one in order for one in waits[index])), None)
        if ready is None:
            raise EntryRefused(place_of(lines[left[0]].place), WrongArgument("after", "acyclic", kind="task"))
        order[ready] = None
        left.remove(ready)
    return list(order)
