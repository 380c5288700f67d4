"""Items whose name or title is like a reference that names none exactly: but for its spelling, or by its words."""

from collections.abc import Sequence
from itertools import chain

from satchel.model import Scope, uri_of
from satchel.services import rules
from satchel.services.search_ranking import mend
from satchel.storage import projects
from satchel.storage import search as rows
from satchel.storage.database import Tx, WordList
from satchel.storage.search import FoundKind
from satchel.storage.search_words import split

_TITLE_LEVELS = "abc"  # of words in titles
_MOST_WORDS = 4
_MOST_LISTED = 10  # items of each word


def without_scheme(kind: FoundKind, reference: str) -> str:
    """The name or number that a `satchel://` URI of a kind of items holds; any other reference as it is."""
    text = reference.strip()
    start = uri_of(kind, "")
    if not text.startswith(start):
        return text
    from urllib.parse import unquote  # 3 ms of a start, and few references are URIs

    return unquote(text.removeprefix(start))


def find_alike(tx: Tx, scope: Scope, kind: FoundKind, reference: str) -> list[int]:
    """The numbers of the first items whose name, or else title, is a reference but for case, accents and separators."""
    if not rules.is_storable(reference):
        return []
    return rows.find_alike(tx, _spaces(tx, scope, kind), kind, reference)


def find_by_words(tx: Tx, scope: Scope, kind: FoundKind, reference: str) -> list[int]:
    """The numbers of items whose titles have most of the words of a reference, a mistyped one too.

    Only the beginnings of a few lists are read, because a wrong reference must not cost more than a good one.
    """
    spaces = _spaces(tx, scope, kind)
    words = [word for word in dict.fromkeys(split(reference[:200])) if len(word) > 2][:_MOST_WORDS]
    if not spaces or not words or not rules.is_storable(reference):
        return []
    found = _read(tx, spaces, words)
    missed = [word for word, numbers in zip(words, found, strict=True) if not numbers]
    if missed:
        mended = rows.keep_known(tx, spaces, list(chain.from_iterable(mend(word) for word in missed)))[:_MOST_WORDS]
        found += _read(tx, spaces, mended)
    counts: dict[int, int] = {}
    for number in chain.from_iterable(found):
        counts[number] = counts.get(number, 0) + 1
    best = sorted(counts, key=lambda number: (-counts[number], -number))[:3]
    items = {one.number: one.item for one in rows.read_items(tx, spaces, best)}
    return [items[number] for number in best if number in items]


def _read(tx: Tx, spaces: Sequence[int], words: Sequence[str]) -> list[list[int]]:
    """For each word, items that have it in their title, or a longer one that begins so."""
    lists: list[WordList] = [(level, word, True) for word in words for level in _TITLE_LEVELS]
    found = [numbers for numbers, _ in tx.find_words(spaces, lists, _MOST_LISTED)] if lists else []
    size = len(_TITLE_LEVELS)
    return [list(chain.from_iterable(found[place : place + size])) for place in range(0, len(found), size)]


def _spaces(tx: Tx, scope: Scope, kind: FoundKind) -> list[int]:
    """The spaces in which a scope refers to items of a kind."""
    if kind == "task":
        return rows.list_task_spaces(tx, scope.user, scope.projects) if scope.user is not None else []
    is_open = scope.projects is None or scope.project in scope.projects
    project = projects.by_name(tx, scope.project) if is_open and rules.is_storable(scope.project) else None
    return [] if project is None else [space for space, _ in rows.list_spaces(tx, [project.number], [kind])]
