"""The tool about projects: which there are, and which one this is."""

from satchel.contracts.contract import Body, Sources
from satchel.contracts.own import inputs
from satchel.contracts.own.answers import counted, said
from satchel.model import Scope
from satchel.services import projects


def list_projects(sources: Sources, scope: Scope, _args: inputs.ListProjects) -> Body:
    found = projects.listed(sources.tx, scope)
    entries = [{"name": project.name, "prompts": held.prompts, "resources": held.resources} for project, held in found]
    lines = [
        f"- {project.name}: {counted(held.prompts, 'prompt')}, {counted(held.resources, 'resource')}"
        for project, held in found
    ]
    is_there = any(project.name == scope.project for project, _ in found)
    why = scope.why if is_there else f"{scope.why}, which names no project"
    current = f"The current project is '{scope.project}'" if is_there else f"There is no project '{scope.project}'"
    text = "\n".join([f"{current} ({why}).", *lines])
    return said(text, {"project": scope.project, "why": why, "projects": entries})
