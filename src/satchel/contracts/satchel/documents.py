"""What the store holds as documents: a task with what it needs, a project at a glance."""

from satchel.contracts.contract import Context
from satchel.contracts.satchel.answers import ELSEWHERE, one_line, task_line, waits_for
from satchel.errors import NotFound
from satchel.model import TaskDetails, TaskQuery
from satchel.protocol.codec import encode
from satchel.services import projects, resources, tasks

_MOST = 20  # documents and tasks that are named
_IN_PROJECT = ("read_resource", "list_resources", "render_prompt", "add_task")  # tools, as they are used with a task


def task_document(context: Context, task: TaskDetails) -> str:
    """A task as a page: all that is known of it, what it waits for, and the documents of its project."""
    facts = [f"Status: {'completed' if task.is_completed else 'ready' if task.is_ready else 'blocked'}"]
    facts.append(f"Priority: {task.priority}")
    if task.due is not None:
        facts.append(f"Due: {task.due}")
    if task.project is not None:
        facts.append(f"Project: {task.project}")
    if task.tags:
        facts.append(f"Tags: {', '.join(task.tags)}")
    page = [f"# Task #{task.number}: {one_line(task.title)}", "\n".join(f"- {fact}" for fact in facts)]
    if task.description is not None:
        page.append(task.description)
    lines = [task_line(one) for number in task.blocked_by[:_MOST] if (one := _other(context, number))]
    if task.waits_elsewhere:
        lines.append(ELSEWHERE)
    if lines:
        page.append("## To be done first\n\n" + "\n".join(f"- {line}" for line in lines))
    documents = _documents(context, task.project)
    if documents:
        page.append(f"## Documents of project {task.project}\n\n" + "\n".join(documents))
    return "\n\n".join(page) + "\n"


def start_document(context: Context, task: TaskDetails, tools: frozenset[str]) -> str:
    """A task as the beginning of a conversation about it, with the tools that there are for it."""
    page = ["Work on this task.", task_document(context, task).rstrip()]
    if waits_for(task):
        page.append(
            f"It waits for {', '.join(waits_for(task))}: see to that first, or tell me why it can begin anyway."
        )
    if "read_resource" in tools:
        page.append("Read the documents that matter with read_resource.")
    elsewhere = ", ".join(tool for tool in _IN_PROJECT if tool in tools)
    if elsewhere and task.project not in (None, context.scope.project):
        page.append(f'Its project is not the current one: pass project: "{task.project}" to {elsewhere}.')
    done = f"call complete_task with task {task.number}" if "complete_task" in tools else "tell me"
    more = "; note what comes up with add_task" if "add_task" in tools else ""
    page.append(f"When it is done, {done}{more}.")
    return "\n\n".join(page) + "\n"


def project_document(context: Context) -> str:
    """A project at a glance, as JSON."""
    held = projects.count_contents(context.tx, context.scope.project)
    open_tasks, has_more = tasks.list_page(
        context.tx, context.scope, TaskQuery(filter="pending", project=context.scope.project), limit=_MOST
    )
    found, _ = resources.list_page(context.tx, context.scope, limit=_MOST)
    value = {
        "name": context.scope.project,
        "prompts": held.prompts,
        "resources": held.resources,
        "documents": [{"name": one.name, "uri": one.uri} for one in found],
        "open_tasks": [task_line(task) for task in open_tasks],
        "has_more_tasks": has_more,
    }
    return encode(value).decode()


def _other(context: Context, number: int) -> TaskDetails | None:
    try:
        return tasks.find(context.tx, context.scope, number)
    except NotFound:
        return None


def _documents(context: Context, project: str | None) -> list[str]:
    if project is None:
        return []
    try:
        found, _ = resources.list_page(context.tx, projects.enter(context.scope, project), limit=_MOST)
    except NotFound:
        return []
    return [f"- {one.name}: {one.uri}" for one in found]
