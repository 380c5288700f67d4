"""`satchel prompt`: add, list, show, fill in, edit, delete and search prompts."""

from collections.abc import Sequence
from typing import Any

import click

from satchel.cli import content as contents
from satchel.cli import items, moving, prompt_arguments
from satchel.cli.lists import page_options, show_list, show_notes
from satchel.cli.printing import show_content, to_json
from satchel.cli.prompt_arguments import argument_options
from satchel.cli.store import Session, command

_COLUMNS = ("NAME", "TITLE", "TAGS", "ARGUMENTS", "DESCRIPTION", "FROM")
_TOOL_WORDS = {  # in notes of tools, and how commands say it
    "update_prompt with empty arguments makes": "`satchel prompt edit NAME --plain` makes",
    "give its arguments (update_prompt).": "declare its arguments with --arg.",
    "Declare with arguments.": "Declare them with --arg.",
}


@click.group()
def cli() -> None:
    """Add, list, show, fill in, edit, delete and search prompts.

    REF is a name, a title or an id; a prompt of a library is LIBRARY:NAME.
    """


@cli.command(epilog=contents.HELP)
@click.argument("title")
@click.argument("content", required=False)
@click.option("--name", metavar="NAME", help="Its name; else made from the title.")
@click.option("--tag", "-t", "tags", multiple=True, metavar="TAG", help="A tag; may be repeated.")
@click.option("--description", metavar="TEXT", help="What it is for, in a line.")
@argument_options
@command(needs_project=False)
def add(
    session: Session,
    title: str,
    content: str | None,
    name: str | None,
    tags: tuple[str, ...],
    description: str | None,
    **declared: Any,
) -> None:
    """Add a prompt. One with {{ x }} in it is a template, whose arguments are found or declared with --arg."""
    arguments = prompt_arguments.read(**declared)
    text = contents.decode(contents.read(content))
    answer = session.call(
        "add_prompt",
        title=title,
        content=text,
        name=name,
        description=description,
        tags=list(tags) or None,
        arguments=arguments,
    )
    _show_changed(session, "Added prompt '{name}' to project '{project}'.", answer)


@cli.command("list")
@click.option("--tag", "-t", "tags", multiple=True, metavar="TAG", help="Only with this tag, or one of several.")
@click.option("--all-tags", is_flag=True, help="Only with all of the tags, not one of them.")
@click.option("--search", "query", metavar="TEXT", help="Only with this text in title or content.")
@command(needs_project=False, reads=True)
@page_options
def list_(session: Session, **filters: Any) -> None:
    """List prompts, the last updated first, then those of libraries."""
    _show_page(session, **filters)


@cli.command()
@click.argument("query", metavar="TEXT")
@command(needs_project=False, reads=True)
@page_options
def search(session: Session, query: str, page: Any) -> None:
    """List prompts with a text in title or content, in any case. `satchel search` finds by words."""
    _show_page(session, query=query, page=page)


@cli.command()
@command(needs_project=False, reads=True)
def tags(session: Session) -> None:
    """List the tags of prompts, and how many prompts have each."""
    answer = session.call("list_tags")
    rows = [(tag["name"], str(tag["prompts"])) for tag in answer.value["tags"]]
    empty = "No prompt has a tag. Tag one with: satchel prompt edit NAME --tag +review"
    show_list(session, answer, ("TAG", "PROMPTS"), rows, empty=empty)


@cli.command()
@click.argument("ref")
@click.option("--lines", metavar="A-B", help="Only these lines, as 10-40.")
@click.option("--heading", metavar="TEXT", help="Only the section with this heading.")
@command(needs_project=False, reads=True)
def show(session: Session, ref: str, lines: str | None, heading: str | None) -> None:
    """Print the content of a prompt, and nothing else; with --json everything about it."""
    is_part = lines is not None or heading is not None
    answer = session.call("get_prompt", prompt=ref, lines=lines, heading=heading, whole=None if is_part else True)
    if session.as_json:
        click.echo(to_json(answer.value))
    else:
        show_content(answer.value["prompt"]["content"])


@cli.command()
@click.argument("ref")
@click.argument("values", metavar="[NAME=VALUE]...", nargs=-1)
@command(needs_project=False, reads=True)
def render(session: Session, ref: str, values: tuple[str, ...]) -> None:
    """Fill a prompt in, stored or of a library, and print it.

    A value is the text itself, @FILE, or - for stdin; begin with @@ for a text that starts with @.
    """
    given = prompt_arguments.read_values(values)
    answer = session.call("render_prompt", prompt=ref, arguments=given)
    if session.as_json:
        click.echo(to_json(answer.value))
    else:
        show_content(answer.value["text"])


@cli.command(epilog=contents.HELP)
@click.argument("ref")
@click.argument("content", required=False)
@click.option("--title", metavar="TEXT", help="Another title; the name stays.")
@click.option("--description", metavar="TEXT", help="Another description; '' takes it away.")
@click.option(
    "--tag",
    "-t",
    "tags",
    multiple=True,
    metavar="TAG",
    help="The new tags, in place of the old ones; +TAG adds one and -TAG takes one away.",
)
@click.option("--no-tags", is_flag=True, help="Take all tags away.")
@argument_options
@click.option("--version", "version", type=click.IntRange(1), metavar="N", help="Only if this is still its version.")
@command(needs_project=False)
def edit(
    session: Session,
    ref: str,
    content: str | None,
    *,
    title: str | None,
    description: str | None,
    tags: tuple[str, ...],
    no_tags: bool,
    version: int | None,
    **declared: Any,
) -> None:
    """Change a prompt: what is given of it, or its content in the editor."""
    patch = {
        "title": title,
        "description": description,
        "tags": list(tags) if tags or no_tags else None,
        "arguments": prompt_arguments.read(**declared),
    }
    if content is not None or all(value is None for value in patch.values()):
        editing = None if content is not None else _read_content(session, ref)
        patch["content"] = contents.decode(contents.read(content, editing=editing))
    answer = session.call("update_prompt", prompt=ref, **patch, expected_version=version)
    _show_changed(session, "Changed prompt '{name}' in project '{project}'.", answer)


def _read_content(session: Session, ref: str) -> str:
    return str(session.call("get_prompt", prompt=ref, whole=True).value["prompt"]["content"])


def _show_changed(session: Session, sentence: str, answer: Any) -> None:
    session.say(sentence.format(name=answer.value["prompt"]["name"], project=answer.value["project"]), answer.value)
    if not session.as_json:
        show_notes([_translate(note) for note in answer.notes])


def _translate(note: str) -> str:
    for words, ours in _TOOL_WORDS.items():
        note = note.replace(words, ours)
    return note


def _show_page(
    session: Session, *, page: Any, query: str | None = None, tags: Sequence[str] = (), all_tags: bool = False
) -> None:
    match = "all" if all_tags else None
    answer = session.list("list_prompts", "prompts", page, query=query, tags=list(tags) or None, match=match)
    rows = [
        [
            one["name"],
            one.get("title", "") or ("" if ":" in one["name"] else one["name"]),
            ", ".join(one.get("tags", ())),
            ", ".join(one.get("arguments", ())),
            one.get("description", ""),
            one.get("from", ""),
        ]
        for one in answer.value["prompts"]
    ]
    project = answer.value["project"]
    empty = f"No prompts match in project '{project}'. Show all with: satchel prompt list -p {project}"
    if not query and not tags:
        empty = (
            f"No prompts in project '{project}' yet. Add one: satchel prompt add 'Code review' 'Review this change.'"
        )
    show_list(session, answer, _COLUMNS, rows, empty=empty)


items.add_commands(cli, "prompt")
moving.add_commands(cli, "prompt")
