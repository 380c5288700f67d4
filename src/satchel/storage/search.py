"""The word index: adding and removing items, finding items by words, and the texts of hits.

An item is indexed in a space, the part of the store to which a search can be limited. Index rows are deleted with the
rows of their items. Words to which mistyped ones are corrected stay until `Tx.clean_words` runs after pruning, except
words of permanently removed items.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from satchel.model import ItemKind, Outdated
from satchel.storage.database import Row, Tx, explain_damage
from satchel.storage.projects import LayeredKind
from satchel.storage.search_words import MAX_INDEXED, MOST_COUNTED, ItemText, list_correctable, make_key, make_words
from satchel.storage.tasks import CONFINED, NOTE_TEXT, Allowed, confine

FoundKind = Literal["prompt", "document", "task"]
KINDS: tuple[FoundKind, ...] = ("prompt", "document", "task")

_BATCH = 200  # items per batch when all items are indexed: during a migration, each batch blocks changes of its items


class Space(Struct, frozen=True):
    """The prompts or the documents of a project, or the tasks of an owner in a project."""

    kind: ItemKind
    project: int | None
    owner: str | None = None  # the owner of tasks


class IndexedItem(Struct, frozen=True):
    """An item as the index stores it."""

    number: int  # its number in the index
    kind: FoundKind
    item: int  # its own number
    name_key: str
    title_key: str
    words: str
    space: int = 0  # 0 for a library's prompt


class FoundText(Struct, frozen=True):
    """The texts of a found item, a line of which is shown in its hit."""

    number: int
    name: str  # empty for a task
    title: str
    description: str | None
    text: str
    expires: str | None = None  # a day
    replaced_by: str | None = None
    project: int | None = None  # its number
    notes: str = ""  # on a task, the last one first


# -- spaces -----------------------------------------------------------------------------------------------------


def list_spaces(tx: Tx, projects: Sequence[int], kinds: Sequence[FoundKind]) -> list[tuple[int, int]]:
    """List the spaces of the given projects for the given kinds (not tasks), each with its project."""
    sql = "select number, project from search_spaces where project in :projects and kind in :kinds order by number"
    return [(number, project) for number, project in tx.all(sql, projects=list(projects), kinds=list(kinds))]


def list_task_spaces(tx: Tx, owner: str, allowed: tuple[str, ...] | None, project: int | None = None) -> list[int]:
    """List the spaces of an owner's tasks in the allowed projects (None: all); with `project`, only in that one."""
    sql = """
        select number from search_spaces
        where owner = :owner and (cast(:project as bigint) is null or within = :project)
            and (not :is_confined or within in (
                select number from projects where name in :allowed and deleted_at is null
            )) order by number
    """
    values = {"project": project, "is_confined": allowed is not None, "allowed": allowed or ()}
    return [number for (number,) in tx.all(sql, owner=owner, **values)]


def count_items(tx: Tx, spaces: Sequence[int]) -> int:
    """Count the items of the given spaces, up to a limit."""
    sql = """
        select count(*) from (select 1 from search_items where space in :spaces limit :most) as counted
    """
    return tx.value(sql, spaces=list(spaces), most=MOST_COUNTED) or 0


def _add_space(tx: Tx, space: Space) -> None:
    """Insert a space, unless another call has inserted it."""
    sql = """
        insert into search_spaces (kind, project, owner, within) values (:kind, :project, :owner, :within)
        on conflict do nothing
    """
    is_task = space.kind == "task"
    project, within = (None, space.project or 0) if is_task else (space.project, None)
    tx.run(sql, kind=space.kind, project=project, owner=space.owner, within=within)


# True is for tasks. They outlive their project, so their space has the column `within`, which is 0 without a project.
_IS_SPACE = {
    False: "project = :project and kind = :kind",
    True: "owner = :owner and within = :project",
}


def _name_space(space: Space) -> dict[str, object]:
    if space.kind == "task":
        return {"owner": space.owner, "project": space.project or 0}
    return {"kind": space.kind, "project": space.project}


# -- items ------------------------------------------------------------------------------------------------------

# Each kind has its own column for numbers, so that deleting an item deletes its words.
_ON_CONFLICT = """
    on conflict ({0}) where {0} is not null do update
    set space = excluded.space, name_key = excluded.name_key, title_key = excluded.title_key, words = excluded.words
"""
_PUT_FIRST = f"""
    insert into search_items (space, {{0}}, name_key, title_key, words)
    select number, :item, :name_key, :title_key, :words from search_spaces where {{1}} {_ON_CONFLICT} returning space
"""
_PUT_MORE = f"""
    insert into search_items (space, {{0}}, name_key, title_key, words)
    values (:space, :item, :name_key, :title_key, :words) {_ON_CONFLICT}
"""
_REMOVE = "delete from search_items where {0} in :items"
_BY_NAME = "select {0} from search_items where space in :spaces and name_key = :key order by number limit 4"
_BY_TITLE = "select {0} from search_items where space in :spaces and title_key = :key order by number limit 4"

_OF_SPACE = {kind: f"select {kind} from search_items where space = :space" for kind in KINDS}


def put(tx: Tx, space: Space, items: Sequence[tuple[int, ItemText]]) -> None:
    """Index added or changed items of one space."""
    rows: list[dict[str, object]] = []
    correctable: set[str] = set()
    for item, text in items:
        words = make_words(text)
        correctable.update(list_correctable(words))
        keys = {"name_key": make_key(text.name), "title_key": make_key(text.title)}
        rows.append({"item": item, "words": words, **keys})
    sql = _PUT_FIRST.format(space.kind, _IS_SPACE[space.kind == "task"])
    while (first := tx.one(sql, **_name_space(space), **rows[0])) is None:
        _add_space(tx, space)
    number = first[0]
    sql = _PUT_MORE.format(space.kind)
    tx.many(sql, [{"space": number, **row} for row in rows[1:]])
    tx.add_words(number, sorted(correctable))


def remove(tx: Tx, kind: ItemKind, items: Sequence[int]) -> None:
    """Remove deleted items from the index."""
    sql = _REMOVE.format(kind)
    tx.run(sql, items=list(items))


def forget_words(tx: Tx, space: Space, words: Iterable[str]) -> None:
    """Delete from a space the words that no item contains any more; for a task, from all spaces of its owner."""
    if space.kind == "task":
        sql = "select number from search_spaces where owner = :owner order by number"
    else:
        sql = f"select number from search_spaces where {_IS_SPACE[False]}"
    for (number,) in tx.all(sql, **_name_space(space)):
        tx.forget_words(number, sorted(words))


def read_items(tx: Tx, spaces: Sequence[int], numbers: Sequence[int]) -> list[IndexedItem]:
    """Return those of the numbered items that are in the given spaces, as the index has them."""
    sql = """
        select number, prompt, document, task, name_key, title_key, words, space from search_items
        where number in :numbers
    """
    found = []
    for number, prompt, document, task, name_key, title_key, words, space in tx.all(sql, numbers=list(numbers)):
        kind: FoundKind = "prompt" if prompt else "document" if document else "task"
        item = prompt or document or task
        if item is None:
            raise explain_damage("a row of the index of words", ValueError("it is of no item"))
        if space in spaces:
            found.append(IndexedItem(number, kind, item, name_key, title_key, words, space))
    return found


def keep_known(tx: Tx, spaces: Sequence[int], words: Sequence[str]) -> list[str]:
    """Return those of the given words that items of the given spaces have, or had since the last purge."""
    sql = "select distinct word from search_words where space in :spaces and word in :words"
    return [word for (word,) in tx.all(sql, spaces=list(spaces), words=list(words))]


def find_alike(tx: Tx, spaces: Sequence[int], kind: FoundKind, reference: str) -> list[int]:
    """Return the first items whose name, or else title, has the `make_key` key of a reference."""
    key = make_key(reference)
    if not key or not spaces:
        return []
    by_name, by_title = _BY_NAME.format(kind), _BY_TITLE.format(kind)
    named = tx.all(by_name, spaces=list(spaces), key=key) if kind != "task" else []
    found = named or tx.all(by_title, spaces=list(spaces), key=key)
    return [number for (number,) in found if number is not None]


def find_anywhere(
    tx: Tx, kind: FoundKind, reference: str, projects: Sequence[int], limit: int
) -> list[tuple[str, str]]:
    """Return project and name of the first prompts or documents of some projects that a reference may mean."""
    found = find_alike(tx, [space for space, _ in list_spaces(tx, projects, [kind])], kind, reference)
    sql = f"""
        select j.name, one.name from {kind}s one join projects j on j.number = one.project
        where one.number in :numbers and one.deleted_at is null and j.deleted_at is null order by j.name limit :limit
    """
    return [(project, name) for project, name in tx.all(sql, numbers=found, limit=limit)]


def list_beside(tx: Tx, space: int, kind: FoundKind, key: str, limit: int) -> list[int]:
    """Return the items of a space nearest to a `make_key` key, in the order of names and in the order of titles."""
    sql = _OF_SPACE[kind]
    found = tx.all_beside(sql, "title_key", key, limit, space=space)
    if kind != "task":  # tasks have no names
        found += tx.all_beside(sql, "name_key", key, limit, space=space)
    return list(dict.fromkeys(number for (number,) in found))


# -- all items, to index them again -----------------------------------------------------------------------------

# The columns of each kind: number, project, owner, title, name, tags, description, text.
_ITEMS = {
    "prompt": """
        select number, project, null, title, name,
            (select string_agg(tag, ' ') from prompt_tags where prompt = number), description,
            substr(content, 1, :longest)
        from prompts where number > :after and number <= :last and deleted_at is null order by number limit :batch
    """,
    "document": """
        select number, project, null, name, name, null, description, substr(content, 1, :longest)
        from documents where number > :after and number <= :last and deleted_at is null order by number limit :batch
    """,
    "task": f"""
        select number, project, owner, title, '', (select string_agg(tag, ' ') from task_tags where task = number),
            null, coalesce(substr(description, 1, :longest), '') || coalesce('\n' || {NOTE_TEXT}, '')
        from tasks where number > :after and number <= :last and deleted_at is null order by number limit :batch
    """,
}


def index_all(tx: Tx) -> None:
    """Index every item; needed after a load, which bypasses the services."""
    for kind in KINDS:
        after = 0
        while batch := list(read_batch(tx, kind, after)):
            by_space: dict[Space, list[tuple[int, ItemText]]] = {}
            for number, space, text in batch:
                by_space.setdefault(space, []).append((number, text))
            for space, items in by_space.items():
                put(tx, space, items)
            after = batch[-1][0]


def read_batch(
    tx: Tx, kind: FoundKind, after: int, last: int = 2**63 - 1, batch: int = _BATCH
) -> Iterator[tuple[int, Space, ItemText]]:
    """Yield number, space and text of each item of one kind in a batch between two numbers."""
    sql = _ITEMS[kind]
    found: list[Row] = tx.all(sql, after=after, last=last, batch=batch, longest=MAX_INDEXED)
    for number, project, owner, title, name, tags, description, text in found:
        item = ItemText(
            title=title, name=name, tags=(tags or "").split(), description=description or "", text=text or ""
        )
        yield number, Space(kind, project, owner), item


# -- texts of hits ----------------------------------------------------------------------------------------------

_TEXTS: dict[FoundKind, str] = {
    "prompt": """
        select number, name, title, description, substr(content, 1, :longest), expires, replaced_by, project
        from prompts where number in :numbers
    """,
    "document": """
        select number, name, name, description, coalesce(substr(content, 1, :longest), ''), expires, replaced_by,
            project
        from documents where number in :numbers
    """,
    "task": f"""
        select number, '', title, null, coalesce(description, ''), null, null, project, coalesce({NOTE_TEXT}, '')
        from tasks
        where owner || '' = :owner and number in :numbers and {CONFINED}
    """,
}
_OUTDATED = """
    select 'prompt', number from prompts
    where number in :prompts and (replaced_by is not null or expires < :today)
    union all select 'document', number from documents
    where number in :documents and (replaced_by is not null or expires < :today)
"""
_LAST_OUTDATED = """
    select found.*, count(*) over () from (
        select 'prompt', name, case when expires < :today then expires else substr(updated_at, 1, 10) end as day,
            case when expires < :today then expires end, replaced_by
        from prompts where 'prompt' in :kinds and project = :project and deleted_at is null
            and (expires is not null or replaced_by is not null) and (expires < :today or replaced_by is not null)
        union all
        select 'document', name, case when expires < :today then expires else substr(updated_at, 1, 10) end as day,
            case when expires < :today then expires end, replaced_by
        from documents where 'document' in :kinds and project = :project and deleted_at is null
            and (expires is not null or replaced_by is not null) and (expires < :today or replaced_by is not null)
    ) found order by day desc, 1 desc, 2 limit :limit
"""
_DOCUMENTS = """
    select number, name, name, description, coalesce(content, ''), expires, replaced_by, project from documents
    where project = :project and deleted_at is null and number < :before order by number desc limit :batch
"""


def read_texts(tx: Tx, kind: FoundKind, numbers: Sequence[int], owner: str, allowed: Allowed) -> list[FoundText]:
    """Return the texts of some items of a kind; for tasks, only those of the owner in the allowed projects."""
    sql = _TEXTS[kind]
    found = tx.all(sql, numbers=list(numbers), longest=MAX_INDEXED, owner=owner, **confine(tx, allowed))
    return [FoundText(*row) for row in found]


def keep_closed(tx: Tx, numbers: Sequence[int]) -> set[int]:
    """Return those of the given tasks that are completed or cancelled."""
    sql = "select number from tasks where number in :numbers and completed_at is not null"
    return {number for (number,) in tx.all(sql, numbers=list(numbers))}


def keep_outdated(tx: Tx, items: Sequence[tuple[FoundKind, int]]) -> set[tuple[FoundKind, int]]:
    """Return the given items that are expired or replaced; tasks never are."""
    prompts, documents = ([number for kind, number in items if kind == wanted] for wanted in ("prompt", "document"))
    if not prompts and not documents:
        return set()
    return {
        (kind, number) for kind, number in tx.all(_OUTDATED, prompts=prompts, documents=documents, today=tx.now[:10])
    }


def list_outdated(tx: Tx, project: int, kinds: Sequence[LayeredKind], limit: int) -> list[Outdated]:
    """Return the expired or replaced items, latest first."""
    values = {"project": project, "kinds": list(kinds), "today": tx.now[:10], "limit": limit}
    return [Outdated(*row) for row in tx.all(_LAST_OUTDATED, **values)]


def read_documents(tx: Tx, project: int, before: int, batch: int) -> list[FoundText]:
    """Return the documents of a project with numbers below `before`, newest first."""
    found = tx.all(_DOCUMENTS, project=project, before=before, batch=batch)
    return [FoundText(*row) for row in found]


def find_shared_names(tx: Tx, projects: Sequence[int], names: Sequence[str]) -> set[str]:
    """Return those of the given names that both a prompt and a document of the projects have."""
    sql = """
        select p.name from prompts p join documents r on r.name = p.name
        where p.project in :projects and r.project in :projects and p.name in :names
            and p.deleted_at is null and r.deleted_at is null
    """
    return {name for (name,) in tx.all(sql, projects=list(projects), names=list(names))} if names else set()
