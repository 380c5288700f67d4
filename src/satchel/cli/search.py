"""`satchel search`: finds prompts, documents and tasks by words, the best first."""

import click

from satchel.cli.lists import show_list
from satchel.cli.store import Session, command

_MOST = 50  # hits that the tool gives at once
KINDS = ("prompt", "document", "task")


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--kind", "-k", type=click.Choice(KINDS), help="Only items of this kind.")
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, _MOST), help="How many at most.")
@click.option("--cursor", metavar="CURSOR", help="Go on behind a page: its next_cursor.")
@click.option("--project", "-p", "wanted", metavar="NAME", help="Only in this project.")
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
    show_list(session, answer, ("REFERENCE", "KIND", "TITLE", "TEXT", "FROM"), rows, empty=empty)
