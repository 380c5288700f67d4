"""The tool about projects: which there are, and which one this is."""

from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import inputs
from satchel.contracts.satchel.answers import counted, said
from satchel.services import projects


def list_projects(context: Context, _args: inputs.ListProjects) -> Body:
    found = projects.list_all(context.tx, context.scope)
    entries = [{"name": project.name, "prompts": held.prompts, "resources": held.resources} for project, held in found]
    lines = [
        f"- {project.name}: {counted(held.prompts, 'prompt')}, {counted(held.resources, 'resource')}"
        for project, held in found
    ]
    is_there = any(project.name == context.scope.project for project, _ in found)
    why = context.scope.why if is_there else f"{context.scope.why}, which names no project"
    current = (
        f"The current project is '{context.scope.project}'"
        if is_there
        else f"There is no project '{context.scope.project}'"
    )
    text = "\n".join([f"{current} ({why}).", *lines])
    return said(text, {"project": context.scope.project, "why": why, "projects": entries})
