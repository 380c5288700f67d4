"""Projects: the tool that adds one, and the one that lists them and says which is current."""

from satchel.contracts.content import format_count
from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel.answers import reply
from satchel.contracts.satchel.tools import AddProject, ListProjects
from satchel.model import Scope
from satchel.services import projects


def add_project(context: Context, args: AddProject) -> Body:
    projects.check_access(projects.enter(context.scope, args.name))
    project = projects.add(context.tx, args.name)
    is_current = project.name == context.scope.project
    text = f"Added project '{project.name}'." if is_current else f"Added project '{project.name}': name it in project."
    return reply(text, {"project": project.name, "added": True})


def list_projects(context: Context, _args: ListProjects) -> Body:
    found = projects.list_all(context.tx, context.scope)
    entries = [{"name": project.name, "prompts": held.prompts, "documents": held.documents} for project, held in found]
    lines = [
        f"- {project.name}: {format_count(held.prompts, 'prompt')}, {format_count(held.documents, 'document')}"
        for project, held in found
    ]
    exists = any(project.name == context.scope.project for project, _ in found)
    why = describe_why(context.scope, exists=exists)
    current = "The current project is" if exists or context.scope.makes else "There is no project"
    text = "\n".join([f"{current} '{context.scope.project}' ({why}).", *lines])
    return reply(text, {"project": context.scope.project, "why": why, "projects": entries})


def describe_why(scope: Scope, *, exists: bool) -> str:
    """Why a project is the current one, and whether it exists."""
    if exists:
        return scope.why
    absent = "made by the first write" if scope.project == scope.makes else "which names no project"
    return f"{scope.why}, {absent}"
