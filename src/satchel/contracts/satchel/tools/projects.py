"""What clients see of the tools for projects."""

from typing import Annotated

from msgspec import Meta, Struct

from satchel.contracts.satchel.tools.shared import (
    ADDS,
    BOOLEAN,
    COUNTED,
    NAME,
    STRING,
    answer_with,
    array_of,
    make_tool,
)

PROJECT_LIST = answer_with(why=STRING, projects=array_of(COUNTED))


class AddProject(Struct):
    name: Annotated[str, Meta(extra=NAME)]


class ListProjects(Struct):
    pass


TOOLS = (
    make_tool("", "projects:add_project", "Make a project", AddProject, answer_with(added=BOOLEAN), ADDS),
    make_tool(
        "", "projects:list_projects", "Projects, and which is current", ListProjects, PROJECT_LIST, is_listed=False
    ),
)
