"""`satchel project`: create, list, rename, set and delete projects."""

import os
import shlex
from typing import Any

import click

from satchel.cli.completion import PROJECT
from satchel.cli.examples import Group
from satchel.cli.output import count
from satchel.cli.session import Answer, Session, command, confirm
from satchel.model import Scope
from satchel.services import projects, rules
from satchel.storage.database import Tx


@click.group(cls=Group)
def cli() -> None:
    """Create, list, rename, set and delete projects."""


@cli.command()
@click.argument("name")
@command(in_project=False)
def create(session: Session, name: str) -> None:
    """Create a project."""
    rules.clean_new_name("project", name)  # checked here, because the tool removes spaces around the name
    answer = session.call("add_project", name=name)
    session.say(f"Created project '{answer.value['project']}'.", answer)


@cli.command("list")
@command(in_project=False, reads=True)
def list_(session: Session) -> None:
    """List the projects, and how much is in each."""
    answer = session.call("list_projects")
    counts = ("prompts", "documents", "open_tasks")
    rows = [(one["name"], *(str(one[what]) for what in counts)) for one in answer.value["projects"]]
    empty = "There are no projects yet. Create one with: satchel project create NAME"
    session.show_list(answer, ("NAME", "PROMPTS", "DOCUMENTS", "OPEN TASKS"), rows, empty=empty)


@cli.command()
@command(needs_project=True, reads=True)
def current(session: Session) -> None:
    """Show the project that commands and servers use in this folder, and why.

    It comes from a flag or setting, else the nearest .satchel file, else the repository; otherwise it is default.
    """
    from satchel.services import layers

    scope = session.scope
    with session.read() as tx:
        project = projects.current(tx, scope)
        personal = layers.find_personal(tx, scope)
    exists = project.number > 0
    value = {"project": scope.project, "why": projects.describe_why(scope, exists=exists), "exists": exists}
    text = f"{scope.project} ({value['why']})"
    if personal is not None:
        value["personal"] = personal.project
        text += f", with the items of project '{personal.project}'"
    session.say(text, value)


@cli.command()
@click.argument("name", type=PROJECT)
@click.argument("new_name")
@command(in_project=False)
def rename(session: Session, name: str, new_name: str) -> None:
    """Rename a project. If this folder still uses the old name, the command says so and changes no file."""
    with session.write() as tx:
        project = projects.rename(tx, name, new_name)
    value: dict[str, Any] = {"id": project.id, "name": project.name, "created_at": project.created_at}
    if session.scope.project == name:
        value["notes"] = [_explain_old_name(session.scope, new_name)]
    session.say(f"Renamed project '{name}' to '{new_name}'.", Answer(value, []))


@cli.command("set")
@click.argument("name", type=PROJECT)
@click.option(
    "--review",
    type=click.Choice(["people", "none"]),
    required=True,
    help="Who must accept the tasks that agents complete.",
)
@command(in_project=False)
def set_(session: Session, name: str, review: str) -> None:
    """Set who must accept the tasks that agents complete in a project.

    With people, such a task waits for review until somebody runs `satchel task accept` or `satchel task return`.
    """
    with session.write() as tx:
        project = projects.set_review(tx, name, "people" if review == "people" else None)
    said = "People review the tasks that agents complete" if project.review else "Agents complete tasks without review"
    session.say(f"{said} in project '{name}'.", {"name": project.name, "review": project.review})


def _explain_old_name(scope: Scope, new_name: str) -> str:
    """Say that the current folder still names a project by its old name, and how to change that to the new name."""
    from satchel.app import project_discovery  # 20 ms, which `--help` need not wait for

    named = next((one for one in project_discovery.find_names() if one.why == scope.why), None)
    said = f"{scope.why} still names project '{scope.project}'"
    if named is None:
        return f"{said}: write '{new_name}' there."
    file = shlex.quote(os.path.join(named.folder, project_discovery.FILE))
    return f"{said}. To work in '{new_name}' here: echo {new_name} > {file}"


@cli.command()
@click.argument("name", type=PROJECT)
@click.option("--yes", is_flag=True, help="Delete its contents without asking.")
@command(in_project=False, as_user=True)
def delete(session: Session, name: str, yes: bool) -> None:
    """Delete a project with its contents; its tasks stay, in no project. `satchel restore` brings it back whole."""
    with session.read() as tx:
        inside = _count_contents(tx, name)
    if any(inside.values()):
        held = ", ".join(count(number, noun) for noun, number in inside.items())
        confirm(f"Project '{name}' holds {held}. Its tasks stay, in no project. Delete it?", is_yes=yes)
    with session.write() as tx:
        if not yes and _count_contents(tx, name) != inside:
            raise click.ClickException(f"project '{name}' changed meanwhile; nothing was deleted.")
        projects.delete(tx, name)
    session.say_deleted(f"Deleted project '{name}'.", "project", [name], {"deleted": True, "name": name})


def _count_contents(tx: Tx, name: str) -> dict[str, int]:
    held = projects.count_current(tx, Scope(project=name))
    return {"prompt": held.prompts, "document": held.documents, "task": projects.count_tasks(tx, name)}
