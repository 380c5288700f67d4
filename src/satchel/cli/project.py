"""`satchel project`: make, list, rename and delete projects."""

from typing import Any

import click

from satchel.cli.lists import show_list
from satchel.cli.store import Session, command, confirm, fields, say_deleted
from satchel.model import Project, ProjectCounts
from satchel.services import projects, rules


@click.group()
def cli() -> None:
    """Make, list, rename and delete projects."""


@cli.command()
@click.argument("name")
@command(in_project=False)
def create(session: Session, name: str) -> None:
    """Make a project."""
    rules.clean_new_name("project", name)  # the tool would leave out spaces around it
    answer = session.call("add_project", name=name)
    session.say(f"Created project '{answer.value['project']}'.", answer.value)


@cli.command("list")
@command(in_project=False, reads=True)
def list_(session: Session) -> None:
    """List the projects, and how much is in each."""
    answer = session.call("list_projects")
    rows = [(one["name"], str(one["prompts"]), str(one["resources"])) for one in answer.value["projects"]]
    empty = "There are no projects yet. Make one with: satchel project create NAME"
    show_list(session, answer, ("NAME", "PROMPTS", "RESOURCES"), rows, empty=empty)


@cli.command()
@command(reads=True)
def current(session: Session) -> None:
    """Show which project commands and servers work in here, and why.

    A flag or a setting names it, else the nearest .satchel file, else the repository; without any it is default.
    """
    from satchel.contracts.satchel.projects import describe_why  # which the other commands need not wait for
    from satchel.services import layers

    scope = session.scope
    with session.read() as tx:
        project = projects.current(tx, scope)
        personal = layers.find_personal(tx, scope)
    exists = project.number > 0
    value = {"project": scope.project, "why": describe_why(scope, exists=exists), "exists": exists}
    text = f"{scope.project} ({value['why']})"
    if personal is not None:
        value["personal"] = personal.project
        text += f", and what project '{personal.project}' holds"
    session.say(text, value)


@cli.command()
@click.argument("name")
@click.argument("new_name")
@command(in_project=False)
def rename(session: Session, name: str, new_name: str) -> None:
    """Give a project another name."""
    with session.write() as tx:
        project = projects.rename(tx, name, new_name)
    session.say(f"Renamed project '{name}' to '{new_name}'.", describe(project))


@cli.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Delete what is in it without asking.")
@command(in_project=False)
def delete(session: Session, name: str, yes: bool) -> None:
    """Delete a project with all that is in it. `satchel restore` brings it back whole."""
    with session.read() as tx:
        inside = projects.count_contents(tx, name)
    if inside != ProjectCounts(0, 0):
        loss = f"{_counted(inside.prompts, 'prompt')} and {_counted(inside.resources, 'resource')}"
        confirm(f"Project '{name}' holds {loss}, which go with it. Delete it?", is_yes=yes)
    with session.write() as tx:
        if not yes and projects.count_contents(tx, name) != inside:
            raise click.ClickException(f"project '{name}' changed while you were asked; nothing was deleted.")
        projects.delete(tx, name)
    say_deleted(session, f"Deleted project '{name}'.", "project", [name], {"deleted": True, "name": name})


def describe(project: Project) -> dict[str, Any]:
    """What the commands show of a project."""
    return fields(project, "updated_at", "version")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
