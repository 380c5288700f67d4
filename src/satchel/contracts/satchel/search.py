"""What the tool `search` does: which kinds are searched, prompts of libraries, and how answers show a hit."""

from msgspec import Struct, field

from satchel.contracts.content import join_lines
from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import answers
from satchel.contracts.satchel.answers import decode_cursor
from satchel.contracts.satchel.task_answers import MARKS
from satchel.contracts.satchel.tools import Search
from satchel.errors import WrongArgument
from satchel.library.catalog import Catalog, ContentMissing, Libraries
from satchel.library.render import RenderFailed
from satchel.protocol.cursors import encode_cursor
from satchel.services.search import Hit, LibraryText, SearchQuery
from satchel.services.search import search as find
from satchel.storage.search import FoundKind

_TOOLS: dict[FoundKind, str] = {"prompt": "list_prompts", "document": "list_resources", "task": "list_tasks"}
_MOST_TEMPLATES = 1000  # of libraries whose texts are read


class HitAnswer(Struct, omit_defaults=True):
    """A hit in an answer; empty members are left out."""

    kind: str
    reference: str
    title: str
    status: str = "pending"  # of a task
    line: int | None = None
    text: str = ""
    layer: str = field(default="", name="from")  # the personal project


def search(context: Context, args: Search) -> Body:
    context = context.within(args.project)
    last = decode_cursor(args.cursor, "f")
    offset = int(last[1]) if last else 0
    scope = context.scope
    query = SearchQuery(
        text=args.query,
        kinds=_choose_kinds(context, args),
        has_project=bool(args.project),
        limit=args.limit,
        offset=offset,
    )
    hits, has_more = find(context.tx, scope, query, _read_libraries(context.libraries))
    return answers.reply_page(
        "hits",
        scope.project,
        [_format_hit(hit) for hit in hits],
        {"project": scope.project, "hits": [_describe_hit(hit) for hit in hits]},
        next_cursor=encode_cursor("f", offset + args.limit) if has_more else None,
        is_narrowed=True,
        is_continued=offset > 0,
    )


def _choose_kinds(context: Context, args: Search) -> list[FoundKind]:
    """The kind that was asked for, or all whose tools the caller may use."""
    served = [kind for kind, tool in _TOOLS.items() if tool in context.tools]
    if not args.kind:
        return served
    if args.kind not in served:
        raise WrongArgument("kind", "enum", limit=tuple(served), value=args.kind)
    return [args.kind]


def _describe_hit(hit: Hit) -> HitAnswer:
    return HitAnswer(hit.kind, hit.reference, hit.title, hit.status, hit.line, hit.text, hit.layer)


def _format_hit(hit: Hit) -> str:
    title = "" if hit.title == hit.reference else f": {join_lines(hit.title)}"
    mark = f" [{MARKS[hit.status]}]" if MARKS[hit.status] else ""
    first = f"- {hit.kind} {hit.reference}{mark}{title}{f' from {hit.layer}' if hit.layer else ''}"
    text = join_lines(hit.text)
    if not text:
        return first
    return f"{first}\n  {text}" if hit.line is None else f"{first}\n  line {hit.line}: {text}"


# -- libraries --------------------------------------------------------------------------------------------------

_texts: tuple[Catalog, list[LibraryText]] | None = None  # of the last catalog that was searched


def _read_libraries(libraries: Libraries) -> list[LibraryText]:
    """The prompts of libraries, read once for each snapshot of the disk."""
    global _texts
    catalog = libraries.catalog
    if _texts is None or _texts[0] is not catalog:
        _texts = (catalog, [_read_one(libraries, name) for name, _ in catalog.view[:_MOST_TEMPLATES]])
    return _texts[1]


def _read_one(libraries: Libraries, name: str) -> LibraryText:
    found = libraries.find(name)
    if found is None:
        return LibraryText(name, "", "")
    library, prompt = found
    try:
        text = libraries.template(library, prompt)
    except (ContentMissing, RenderFailed):
        text = ""
    return LibraryText(name, prompt.description or "", text)
