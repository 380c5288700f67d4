"""`satchel prompt`: add, list, show, edit, delete and search prompts."""

import sys
from typing import Any

import click
from msgspec.structs import replace

from satchel.cli import content as contents
from satchel.cli import moving
from satchel.cli.printing import show_content, to_json
from satchel.cli.store import Session, command, fields, given, say_deleted
from satchel.model import UNSET, Page, Prompt, PromptDraft, PromptPatch, PromptQuery
from satchel.services import prompts

limit = click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000), help="How many at most.")
offset = click.option("--offset", default=0, show_default=True, type=click.IntRange(0), help="How many to skip.")


@click.group()
def cli() -> None:
    """Add, list, show, edit, delete and search prompts. REF is a name, a title or an id."""


@cli.command(epilog=contents.HELP)
@click.argument("title")
@click.argument("content", required=False)
@click.option("--tag", "-t", "tags", multiple=True, help="A tag; may be repeated.")
@click.option("--description", help="What it is for, in a line.")
@command()
def add(session: Session, title: str, content: str | None, tags: tuple[str, ...], description: str | None) -> None:
    """Add a prompt; its name is made from its title."""
    text = contents.decode(contents.read(content))
    draft = PromptDraft(title=title, content=text, tags=tags, description=description)
    with session.write() as tx:
        prompt = prompts.add(tx, session.scope, draft)
    session.say(f"Added prompt '{prompt.name}' to project '{session.scope.project}'.", describe(session, prompt))


@cli.command("list")
@click.option("--tag", "-t", "tags", multiple=True, help="Only prompts with this tag, or one of several.")
@limit
@offset
@command(reads=True)
def list_(session: Session, tags: tuple[str, ...], limit: int, offset: int) -> None:
    """List prompts, the last updated first."""
    with session.read() as tx:
        page = prompts.list_counted(tx, session.scope, PromptQuery(tags=tags), limit=limit, offset=offset)
    show_page(session, page)


@cli.command()
@click.argument("query")
@limit
@offset
@command(reads=True)
def search(session: Session, query: str, limit: int, offset: int) -> None:
    """List prompts with a text in title or content, in any case."""
    with session.read() as tx:
        page = prompts.list_counted(tx, session.scope, PromptQuery(text=query), limit=limit, offset=offset)
    show_page(session, page)


@cli.command()
@click.argument("ref")
@command(reads=True)
def show(session: Session, ref: str) -> None:
    """Print the content of a prompt, and nothing else; with --json everything about it."""
    with session.read() as tx:
        prompt = prompts.find(tx, session.scope, ref)
    if session.as_json:
        click.echo(to_json(describe(session, prompt)))
    else:
        show_content(prompt.content)


@cli.command(epilog=contents.HELP)
@click.argument("ref")
@click.argument("content", required=False)
@click.option("--title", help="Another title; the name stays.")
@click.option("--description", help="Another description; '' takes it away.")
@click.option("--tag", "-t", "tags", multiple=True, help="The new tags, in place of the old ones.")
@click.option("--no-tags", is_flag=True, help="Take all tags away.")
@command()
def edit(
    session: Session,
    ref: str,
    content: str | None,
    title: str | None,
    description: str | None,
    tags: tuple[str, ...],
    no_tags: bool,
) -> None:
    """Change a prompt: what is given of it, or its content in the editor."""
    with session.read() as tx:
        found = prompts.find(tx, session.scope, ref)
    new_tags = tags if tags or no_tags else UNSET
    patch = PromptPatch(title=given(title), description=given(description), tags=new_tags)
    if content is not None or patch == PromptPatch():
        patch = replace(patch, content=contents.decode(contents.read(content, editing=found.content)))
    with session.write() as tx:
        prompt = prompts.update(tx, session.scope, found.id, patch)
    session.say(f"Changed prompt '{prompt.name}' in project '{session.scope.project}'.", describe(session, prompt))


@cli.command()
@click.argument("refs", metavar="REF...", nargs=-1, required=True)
@command()
def delete(session: Session, refs: tuple[str, ...]) -> None:
    """Delete prompts: all that are named, or none. `satchel restore` brings them back."""
    with session.write() as tx:
        gone = [prompts.find(tx, session.scope, ref) for ref in refs]
        for id in dict.fromkeys(prompt.id for prompt in gone):
            prompts.delete(tx, session.scope, id)
    names = list(dict.fromkeys(prompt.name for prompt in gone))
    quoted = ", ".join(f"'{name}'" for name in names)
    text = f"Deleted prompt {quoted} from project '{session.scope.project}'."
    say_deleted(session, text, "prompt", names, {"deleted": names})


def describe(session: Session, prompt: Prompt) -> dict[str, Any]:
    """Everything about a prompt."""
    more = {"arguments": prompt.arguments} if prompt.arguments else {}
    return {"project": session.scope.project, **fields(prompt, "arguments"), **more}


def show_page(session: Session, page: Page) -> None:
    """Print a page of a list."""
    rows = [(item.name, item.title, ", ".join(item.tags), item.updated_at[:10]) for item in page.items]
    value = [{**fields(item, "excerpt", "description", "version"), "excerpt": item.excerpt.text} for item in page.items]
    session.table(("NAME", "TITLE", "TAGS", "UPDATED"), rows, {"prompts": value, "total": page.total})
    shown = len(page.items)
    if shown < page.total and sys.stdout.isatty() and not session.as_json:
        click.echo(f"{shown} of {page.total}; more with --limit and --offset.", err=True)


moving.add_commands(cli, "prompt")
