"""Projects: the tool that lists them and says which one is current."""

from msgspec import Struct

from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel.shared import COUNTED, STRING, answer_with, array_of, format_count, make_tool, reply
from satchel.services import projects

PROJECT_LIST = answer_with(why=STRING, projects=array_of(COUNTED))


class ListProjects(Struct):
    pass


def list_projects(context: Context, _args: ListProjects) -> Body:
    found = projects.list_all(context.tx, context.scope)
    entries = [{"name": project.name, "prompts": held.prompts, "resources": held.resources} for project, held in found]
    lines = [
        f"- {project.name}: {format_count(held.prompts, 'prompt')}, {format_count(held.resources, 'resource')}"
        for project, held in found
    ]
    exists = any(project.name == context.scope.project for project, _ in found)
    why = context.scope.why if exists else f"{context.scope.why}, which names no project"
    current = "The current project is" if exists else "There is no project"
    text = "\n".join([f"{current} '{context.scope.project}' ({why}).", *lines])
    return reply(text, {"project": context.scope.project, "why": why, "projects": entries})


TOOLS = (make_tool("", list_projects, "Projects, and which is current", ListProjects, PROJECT_LIST),)
