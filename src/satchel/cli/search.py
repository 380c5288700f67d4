"""`satchel search` and `satchel catch-up`: find items by words, and see recent work."""

import click

from satchel.cli.completion import PROJECT
from satchel.cli.examples import Command
from satchel.cli.session import Session, command

_MOST = 50  # hits that the tool answers at once
_KINDS = ("prompt", "document", "task")


@click.command(cls=Command)
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", "-k", type=click.Choice(_KINDS), help="Only items of this kind.")
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, _MOST), help="How many at most.")
@click.option("--cursor", metavar="CURSOR", help="Continue after a page: its next_cursor.")
@click.option("--project", "-p", "wanted", type=PROJECT, metavar="NAME", help="Only in this project.")
@command(in_project=False, as_user=True, reads=True)
def cli(
    session: Session, words: tuple[str, ...], kind: str | None, limit: int, cursor: str | None, wanted: str | None
) -> None:
    """Find prompts, documents and tasks by WORDS, the best first. Words in "quotes" are found literally."""
    query = " ".join(words)
    answer = session.call("search", query=query, kind=kind, limit=limit, cursor=cursor, project=wanted)
    rows = [
        [
            hit["reference"],
            hit["kind"],
            hit["title"],
            hit.get("text", "") if hit.get("line") is None else f"line {hit['line']}: {hit.get('text', '')}",
            hit.get("from", ""),
        ]
        for hit in answer.value["hits"]
    ]
    empty = f"Nothing is found in project '{answer.value['project']}'. Try fewer words, or another project with -p."
    session.show_list(answer, ("REFERENCE", "KIND", "TITLE", "TEXT", "FROM"), rows, empty=empty)


@click.command(cls=Command)
@click.option("--since", metavar="TIME", help="Changes since 2h, 3d, yesterday, monday, a day or a UTC time.")
@command(as_user=True, reads=True)
def catch_up(session: Session, since: str | None) -> None:
    """Show recent changes, claimed tasks and tasks ready to start in the project."""
    answer = session.call("catch_up", since=since)
    session.say(answer.text, answer.value)
