"""`satchel prompt`: add, list, show, fill in, edit, label and delete prompts."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import click

from satchel.cli.completion import ANY_PROMPT, PROMPT, TAG
from satchel.cli.examples import Group
from satchel.cli.items import (
    CONTENT_HELP,
    EDIT_TAGS_HELP,
    add_commands,
    age_options,
    expected_version_option,
    read_text,
    tags_option,
)
from satchel.cli.session import Answer, Session, command, page_options

_COLUMNS = ("NAME", "TITLE", "TAGS", "ARGUMENTS", "DESCRIPTION", "FROM")
_DECLARATION = r"([^=:?]+)(\?)?(?:=([^:]*))?(?::(.*))?"


@click.group(cls=Group)
def cli() -> None:
    """Add, list, show, fill in, edit, label and delete prompts.

    REF is a name, a title or an id; a prompt of a library is LIBRARY:NAME. NAME@LABEL is the version with that label.
    """


def argument_options(run: Callable[..., None]) -> Callable[..., None]:
    """Add the options that declare the arguments of a prompt."""
    declare = click.option(
        "--arg",
        "declared",
        multiple=True,
        metavar="NAME[?][=A|B|...][:TEXT]",
        help="An argument, in place of the old ones; ? makes it optional, = lists its values (... allows others), "
        "and TEXT after : describes it. May be repeated.",
    )
    plain = click.option("--plain", is_flag=True, help="Plain text without arguments, even with {{ }} in it.")
    return declare(plain(run))


@cli.command(epilog=CONTENT_HELP)
@click.argument("title")
@click.argument("content", required=False)
@click.option("--name", metavar="NAME", help="Its name.  [default: made from the title]")
@tags_option(TAG, "A tag; may be repeated.")
@click.option("--description", metavar="TEXT", help="A description in one line.")
@argument_options
@command()
def add(
    session: Session,
    title: str,
    content: str | None,
    name: str | None,
    tags: tuple[str, ...],
    description: str | None,
    declared: tuple[str, ...],
    plain: bool,
) -> None:
    """Add a prompt. A text with {{ x }} is a template; its arguments are found in it, or declared with --arg."""
    arguments = read_arguments(declared, is_plain=plain)
    answer = session.call(
        "add_prompt",
        title=title,
        content=read_text(content),
        name=name,
        description=description,
        tags=list(tags) or None,
        arguments=arguments,
    )
    _show_changed(session, "Added prompt '{name}' to project '{project}'.", answer)


@cli.command("list")
@tags_option(TAG, "Only items with this tag; if repeated, with at least one of the tags.")
@click.option("--all-tags", is_flag=True, help="Require all tags given by --tag, not just one.")
@click.option("--search", "query", metavar="TEXT", help="Only with this text in title or content, in any case.")
@click.option("--sort", type=click.Choice(["new", "used"]), help="Last updated or most used first.  [default: new]")
@command(reads=True)
@page_options
def list_(
    session: Session, *, limit: int | None, query: str | None, tags: Sequence[str], all_tags: bool, sort: str | None
) -> None:
    """List prompts, last updated first, then those of libraries; with -p all, those of all projects.

    `satchel search` finds by words.
    """
    filters = {"query": query, "tags": list(tags) or None, "match": "all" if all_tags else None, "sort": sort}
    answer = session.list("list_prompts", "prompts", limit, project=session.everywhere, **filters)
    rows = [
        [
            one["name"],
            one.get("title", "") or ("" if ":" in one["name"] else one["name"]),
            ", ".join(one.get("tags", ())),
            ", ".join(one.get("arguments", ())),
            one.get("description", ""),
            one.get("from") or one.get("project", ""),
            *([str(one.get("uses", 0))] if sort == "used" else []),
        ]
        for one in answer.value["prompts"]
    ]
    project = answer.value["project"]
    empty = f"No prompts match in project '{project}'. Show all with: satchel prompt list -p {project}"
    if not query and not tags:
        empty = (
            f"No prompts in project '{project}' yet. Add one: satchel prompt add 'Code review' 'Review this change.'"
        )
    session.show_list(answer, (*_COLUMNS, *(["USES"] if sort == "used" else [])), rows, empty=empty)


@cli.command()
@command(reads=True)
def tags(session: Session) -> None:
    """List the tags of prompts, and how many prompts have each."""
    answer = session.call("list_tags")
    rows = [(tag["name"], str(tag["prompts"])) for tag in answer.value["tags"]]
    empty = "No prompt has a tag. Tag one with: satchel prompt edit NAME --tag +review"
    session.show_list(answer, ("TAG", "PROMPTS"), rows, empty=empty)


@cli.command()
@click.argument("ref", type=ANY_PROMPT)
@click.option("--lines", metavar="A-B", help="Only these lines, such as 10-40.")
@click.option("--heading", metavar="TEXT", help="Only the section with this heading.")
@command(reads=True)
def show(session: Session, ref: str, lines: str | None, heading: str | None) -> None:
    """Print the content of a prompt, and nothing else; with --json everything about it."""
    is_part = lines is not None or heading is not None
    answer = session.call("get_prompt", prompt=ref, lines=lines, heading=heading, whole=None if is_part else True)
    session.show(answer.value["prompt"]["content"], answer)


@cli.command()
@click.argument("ref", type=ANY_PROMPT)
@click.argument("values", metavar="[NAME=VALUE]...", nargs=-1)
@command(reads=True)
def render(session: Session, ref: str, values: tuple[str, ...]) -> None:
    """Fill in a prompt, stored or of a library, and print it.

    A value is the text itself, @FILE, or - for stdin. Write @@ for a text that starts with @.
    """
    answer = session.call("render_prompt", prompt=ref, arguments=read_values(values))
    session.show(answer.value["text"], answer)


@cli.command(epilog=CONTENT_HELP)
@click.argument("ref", type=PROMPT)
@click.argument("content", required=False)
@click.option("--title", metavar="TEXT", help="The new title; the name stays.")
@click.option("--description", metavar="TEXT", help="The new description; '' removes it.")
@tags_option(TAG, EDIT_TAGS_HELP)
@click.option("--no-tags", is_flag=True, help="Remove all tags.")
@argument_options
@age_options
@expected_version_option
@command()
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
    declared: tuple[str, ...],
    plain: bool,
    expires: str | None,
    replaced_by: str | None,
) -> None:
    """Change the given parts of a prompt, or its content in the editor."""
    patch = {
        "title": title,
        "description": description,
        "tags": list(tags) if tags or no_tags else None,
        "arguments": read_arguments(declared, is_plain=plain),
        "expires": expires,
        "replaced_by": replaced_by,
    }
    if content is not None:
        patch["content"] = read_text(content)
    elif all(value is None for value in patch.values()):
        from satchel.services import layers  # takes 20 ms, which `--help` need not wait for

        with session.read() as tx:  # not by get_prompt, which counts a use
            old = layers.find_prompt(tx, session.scope, ref, to_change=True).content
        patch["content"] = read_text(None, editing=old)
    answer = session.call("update_prompt", prompt=ref, **patch, expected_version=version)
    _show_changed(session, answer.change + " prompt '{name}' in project '{project}'.", answer)


@cli.command()
@click.argument("ref", type=PROMPT)
@click.argument("label")
@click.option("--version", type=click.IntRange(1), metavar="N", help="The version to label.  [default: the newest]")
@click.option("--remove", is_flag=True, help="Remove the label.")
@command()
def label(session: Session, ref: str, label: str, version: int | None, remove: bool) -> None:
    """Give a version of a prompt a label, such as production, or move the label to it.

    `satchel prompt show NAME@LABEL` and `prompt render NAME@LABEL` read the version with the label.
    """
    if remove and version is not None:
        raise click.UsageError("--remove removes the label from any version: leave --version out.")
    if label.startswith("-"):
        raise click.UsageError(
            f"A label cannot begin with -. Remove one with: satchel prompt label {ref} LABEL --remove"
        )
    answer = session.call("update_prompt", prompt=ref, label=f"-{label}" if remove else label, version=version)
    name = answer.value["prompt"]["name"]
    labels = {one["label"]: one["version"] for one in answer.value["prompt"].get("labels", ())}
    where = f"prompt '{name}' in project '{answer.value['project']}'"
    done = (
        f"Removed label '{label}' from {where}."
        if remove
        else f"Label '{label}' is on version {labels[label]} of {where}."
    )
    session.say(done, answer)


def _show_changed(session: Session, sentence: str, answer: Answer) -> None:
    session.say(sentence.format(name=answer.value["prompt"]["name"], project=answer.value["project"]), answer)


# -- arguments --------------------------------------------------------------------------------------------------


def read_arguments(declared: Sequence[str], *, is_plain: bool) -> list[dict[str, Any]] | None:
    """Return the declared arguments in the form that the tools accept; None if neither --arg nor --plain was given."""
    if is_plain and declared:
        raise click.UsageError("--plain is for a prompt without arguments: leave it out, or --arg.")
    if is_plain:
        return []
    return [_read_argument(given) for given in declared] or None


def _read_argument(given: str) -> dict[str, Any]:
    found = re.fullmatch(_DECLARATION, given, re.S)
    if found is None:
        raise click.UsageError(f"'{given}' declares no argument: write NAME, NAME?, NAME=a|b or NAME:DESCRIPTION.")
    name, optional, listed, description = found.groups()
    values = [value.strip() for value in (listed or "").split("|") if value.strip()]
    argument: dict[str, Any] = {"name": name.strip(), "required": not optional}
    if description and description.strip():
        argument["description"] = description.strip()
    if values:
        argument["values"] = [value for value in values if value != "..."]
        argument["open"] = "..." in values
    return argument


def read_values(given: Sequence[str]) -> dict[str, str]:
    """Parse NAME=VALUE into values by name; a value may be @FILE, or - for stdin."""
    values: dict[str, str] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise click.UsageError(f"'{word}' gives no value: write NAME=VALUE or NAME=@FILE.")
        if name in values:
            raise click.UsageError(f"'{name}' is given twice.")
        values[name] = read_text(value)
    return values


add_commands(
    cli,
    "prompt",
    tags_option(TAG, "Delete the prompts with this tag; if repeated, with at least one of the tags."),
)
