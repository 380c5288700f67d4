"""The tool `search`, and the form of a hit in answers."""

from contextlib import suppress

from msgspec.structs import asdict, replace

from satchel.contracts.content import join_lines
from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import answers
from satchel.contracts.satchel.answers import decode_cursor, may_read
from satchel.contracts.satchel.task_answers import MARKS
from satchel.contracts.satchel.tools import Hit, Search
from satchel.errors import Forbidden, NotFound, WrongArgument
from satchel.protocol.cursors import encode_cursor
from satchel.services import projects
from satchel.services.search import LibraryText, Results, SearchQuery, find
from satchel.storage.search import KINDS, FoundKind


def search(context: Context, args: Search) -> Body:
    where = answers.list_everywhere(context, args.project)
    context = context.within(args.project if where is None else "")
    name = "f" if where is None else "e"
    last = decode_cursor(args.cursor, name)
    offset = int(last[1]) if last else 0
    scope = context.scope
    query = SearchQuery(
        text=args.query,
        kinds=_choose_kinds(context, args),
        has_project=bool(args.project) and where is None,
        everywhere=where,
        limit=args.limit,
        offset=offset,
    )
    libraries = [LibraryText(name, prompt.description or "", text) for name, prompt, text in context.libraries.texts()]
    found = find(context.tx, scope, query, libraries)
    rows = [Hit(**asdict(hit)) for hit in found.hits]
    near: list[str] = []
    notes = answers.describe_everywhere(where) if not offset else []
    advice = _describe_words(found) if not offset else ""
    if rows:
        notes += [advice] if advice else []
    elif not offset:
        from satchel.contracts.satchel import guesses  # needed only after such a search

        with suppress(NotFound, Forbidden):  # a search of all projects needs no current one
            near = guesses.suggest_titles(context, args.query, query.kinds)
        advice += f" Nearest titles and tags: {', '.join(near)}." if near else ""
        notes += _describe_elsewhere(context, query) if where is None else []
    return answers.reply_page(
        context,
        "hits",
        [_format_hit(hit) for hit in rows],
        advice=advice.strip(),
        where=scope.project if where is None else None,
        next_cursor=encode_cursor(name, offset + args.limit) if found.has_more else None,
        is_narrowed=True,
        is_continued=offset > 0,
        notes=notes,
        hits=rows,
        **({"near": near} if near else {}),
    )


def _describe_words(found: Results) -> str:
    """Say that no item has all words of a query, and which of them no item has."""
    if not found.is_partial:
        return ""
    if not found.hits:
        return "No item has any of these words."
    absent = f"; none has {' or '.join(map(repr, found.absent))}" if found.absent else ""
    return f"No item has all of these words{absent}. These come nearest."


def _describe_elsewhere(context: Context, query: SearchQuery) -> list[str]:
    """Say how many hits a search of all projects would have."""
    everywhere = projects.list_everywhere(context.tx, context.scope)
    if {*everywhere.values()} <= {context.scope.project, context.scope.personal}:
        return []
    found = find(context.tx, context.scope, replace(query, everywhere=everywhere, has_project=False))
    count = f"more than {len(found.hits)}" if found.has_more else len(found.hits)
    return [f'project: "all" finds {count}.'] if found.hits else []


def _choose_kinds(context: Context, args: Search) -> list[FoundKind]:
    """Return the requested kind, or all kinds whose tools the caller may use."""
    served = [kind for kind in KINDS if may_read(context, kind)]
    if not args.kind:
        return served
    if args.kind not in served:
        raise WrongArgument("kind", "enum", limit=tuple(served), value=args.kind)
    return [args.kind]


def _format_hit(hit: Hit) -> str:
    title = "" if hit.title == hit.reference else f": {join_lines(hit.title)}"
    mark = f" [{MARKS[hit.status]}]" if MARKS[hit.status] else ""
    first = f"- {hit.kind} {hit.reference}{mark}{title}{f' from {hit.layer}' if hit.layer else ''}"
    first += f" @{hit.project}" if hit.project else ""
    age = answers.describe_age(hit)
    first += f" ({', '.join(age)})" if age else ""
    text = join_lines(hit.text)
    if not text:
        return first
    return f"{first}\n  {text}" if hit.line is None else f"{first}\n  line {hit.line}: {text}"
