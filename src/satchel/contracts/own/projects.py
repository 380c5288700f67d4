"""The tool about projects: which there are, and which one this is."""

from satchel.contracts.contract import Body, Sources
from satchel.contracts.own import inputs
from satchel.contracts.own.answers import said
from satchel.model import Scope
from satchel.services import projects


def list_projects(sources: Sources, scope: Scope, _args: inputs.ListProjects) -> Body:
    found = projects.listed(sources.tx, scope)
    entries = [{"name": project.name, "prompts": held.prompts, "resources": held.resources} for project, held in found]
    lines = [f"- {one['name']}: {one['prompts']} prompts, {one['resources']} resources" for one in entries]
    text = f"The current project is '{scope.project}' ({scope.why}).\n" + "\n".join(lines)
    return said(text, {"project": scope.project, "why": scope.why, "projects": entries})
