"""Queries about prompts, their tags and folded texts, and pages of their list."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from satchel.model import (
    Argument,
    Item,
    Prompt,
    PromptDraft,
    PromptHeader,
    PromptPatch,
    PromptPosition,
    PromptQuery,
    TagCount,
)
from satchel.storage.database import NEWEST, Row, Tx, explain_damage, patch_values

# Indexing a 4 MiB document blocks other writers for a second, so longer texts are scanned instead.
MAX_INDEXED_CHARACTERS = 256 * 1024

_COLUMNS = (
    "number, id, name, title, description, arguments, created_at, updated_at, version, "
    "uses, last_used, expires, replaced_by"
)
_NAMES = _COLUMNS.split(", ")
# The tags are sorted in Python, because SQLite would open a temporary table for `order by`.
_WHOLE = f"{_COLUMNS}, content, (select string_agg(tag, ' ') from prompt_tags where prompt = number), project"
_IN_PROJECT = (
    "project = (select number from projects where name = :project and deleted_at is null) and deleted_at is null"
)
_FIND = f"select {_WHOLE} from prompts where {_IN_PROJECT}"
_BY = {column: f"{_FIND} and {column} = :key" for column in ("id", "name", "title", "number")}
_ARGUMENTS = msgspec.json.Decoder(tuple[Argument, ...])


class PromptSlice(Struct, frozen=True, kw_only=True):
    """A prompt with only the part of its content that a list needs."""

    number: int
    columns: dict[str, Any]  # the columns of a prompt's summary, except excerpt and tags
    text: str  # the part of the content
    start: int  # the part's offset in the content
    hit: int  # the offset of the search text in the folded content; -1 if it is missing
    has_same_length: bool  # the folded content is as long as the content; otherwise, offsets differ


# Versions continue after a deleted prompt of the same name, so that a version identifies one text.
_ADD = """
    insert into prompts (
        id, project, name, title, content, description, arguments, expires, replaced_by, created_at, updated_at, version
    )
    select :id, number, :name, :title, :content, :description, :arguments, :expires, :replaced_by, :now, :now,
    coalesce((
        select max(p.version) from prompts p
        where p.project = projects.number and p.name = :name and p.deleted_at is not null
    ), 0) + 1 from projects where projects.name = :project and projects.deleted_at is null
    on conflict do nothing returning number, project, version
"""


def add(tx: Tx, project: str, id: str, name: str, draft: PromptDraft) -> Prompt | None:
    """Insert a prompt with its tags and return it; None if its name or title is taken, or there is no such project.

    The project is given by name.
    """
    values = asdict(draft) | {"id": id, "project": project, "name": name, "now": tx.now}
    is_constant = draft.is_constant and not draft.arguments
    row = tx.one(_ADD, **values | {"arguments": _encode_arguments(draft.arguments, is_constant=is_constant)})
    if row is None:
        return None
    number, project_number, version = row
    add_tags(tx, project_number, number, draft.tags)
    return Prompt(
        number=number,
        id=id,
        project=project_number,
        name=name,
        title=str(draft.title),
        content=draft.content,
        tags=tuple(sorted(draft.tags)),
        created_at=tx.now,
        updated_at=tx.now,
        version=version,
        description=draft.description,
        arguments=tuple(draft.arguments),
        expires=draft.expires,
        replaced_by=draft.replaced_by,
        is_constant=is_constant,
    )


def find(tx: Tx, project: str, column: Literal["id", "name", "title", "number"], key: str) -> Prompt | None:
    """Return the whole prompt whose `column` has the value `key`, in the project with the name `project`."""
    sql = _BY[column]
    return _prompt(tx.one(sql, project=project, key=key))


def decode_arguments(text: str | None) -> tuple[Argument, ...]:
    """Decode the arguments of a prompt from their column."""
    try:
        return _ARGUMENTS.decode(text) if text else ()
    except msgspec.DecodeError as error:
        raise explain_damage("the arguments of a prompt", error) from error


def list_whole(tx: Tx, project: str, after: int, limit: int) -> list[Prompt]:
    """Return whole prompts numbered above `after`, in order of creation, in the project with the name `project`."""
    sql = f"{_FIND} and number > :after order by number limit :limit"
    rows = tx.all(sql, project=project, after=after, limit=limit)
    return [prompt for row in rows if (prompt := _prompt(row))]


def find_to_change(tx: Tx, project: str, _column: Literal["id"], key: str) -> Prompt | None:
    """Return the whole prompt with this id, in order to update or delete it."""
    return _prompt(tx.one_to_change(_WHOLE, "prompts", f"{_IN_PROJECT} and id = :key", project=project, key=key))


def find_deleted(tx: Tx, number: int) -> Prompt | None:
    """Return a deleted prompt with its content."""
    sql = f"select {_WHOLE} from prompts where number = :number and deleted_at is not null"
    return _prompt(tx.one(sql, number=number))


def update(tx: Tx, seen: Prompt, patch: PromptPatch, version: int | None) -> tuple[str, int] | None:
    """Update a prompt, except its tags; return its new time and version, or None if it no longer has this version.

    Raises:
        Violation: prompts_title, if the title is taken.
    """
    changes = """
        title = coalesce(:title, title),
        content = coalesce(:content, content),
        description = case when :has_description then :description else description end,
        arguments = case when :has_arguments then :arguments else arguments end,
        expires = case when :has_expires then :expires else expires end,
        replaced_by = case when :has_replaced_by then :replaced_by else replaced_by end
    """
    values = patch_values(patch) | {"number": seen.number, "project": seen.project}
    values |= {"arguments": _encode_arguments(patch.arguments or (), is_constant=patch.is_constant)}
    where = "number = :number and project = :project and deleted_at is null"
    row = tx.renew("prompts", changes, where, columns="updated_at, version", version=version, **values)
    return (row[0], row[1]) if row else None


def move(tx: Tx, seen: Prompt, project: int, name: str, title: str) -> Prompt:
    """Move a prompt that is locked, with its tags and links, to a project in which it gets this name and title.

    Raises:
        Violation: prompts_name or prompts_title, if name or title is taken.
    """
    where = "number = :number and project = :old and deleted_at is null"
    values: dict[str, Any] = {
        "number": seen.number,
        "old": seen.project,
        "project": project,
        "name": name,
        "title": title,
    }
    changes = "project = :project, name = :name, title = :title"
    row = tx.renew("prompts", changes, where, columns="updated_at, version", **values)
    assert row is not None, "it is locked"
    tx.run("update prompt_tags set project = :project where prompt = :number", project=project, number=seen.number)
    tx.run("update links set project = :project where prompt = :number", project=project, number=seen.number)
    return replace(seen, project=project, name=name, title=title, updated_at=row[0], version=row[1])


def mark_deleted(tx: Tx, project: str, _column: Literal["id"], key: str) -> Item | None:
    """Mark the prompt with this id as deleted; return it without its content. Call `leave_lists` afterwards."""
    columns = "'prompt', number, id, version - 1, updated_at, name, title, project"  # as in Item
    row = tx.renew(
        "prompts", "deleted_at = :now", f"{_IN_PROJECT} and id = :key", columns=columns, project=project, key=key
    )
    return Item(*row) if row else None


def leave_lists(tx: Tx, numbers: Sequence[int]) -> None:
    """Remove prompts that are marked as deleted from the lists by tag and by text."""
    tx.run("update prompt_tags set project = null where prompt in :numbers", numbers=list(numbers))
    tx.run("delete from prompt_texts where prompt in :numbers", numbers=list(numbers))


def restore(tx: Tx, seen: Prompt, name: str, title: str) -> Prompt | None:
    """Mark a prompt as not deleted, with this name and title; return None if it was restored or purged meanwhile.

    Raises:
        Violation: prompts_name or prompts_title, if name or title is taken.
    """
    changes = "deleted_at = null, name = :name, title = :title"
    where = "number = :number and project = :project and deleted_at is not null"
    values = {"number": seen.number, "project": seen.project, "name": name, "title": title}
    row = tx.renew("prompts", changes, where, columns="updated_at, version", version=seen.version, **values)
    if row is None:
        return None
    tx.run("update prompt_tags set project = :project where prompt = :number", project=seen.project, number=seen.number)
    return replace(seen, name=name, title=title, updated_at=row[0], version=row[1])


def set_tags(tx: Tx, project: int, number: int, tags: Sequence[str]) -> None:
    """Replace the tags of a prompt."""
    tx.run("delete from prompt_tags where prompt = :prompt", prompt=number)
    add_tags(tx, project, number, tags)


def renew_time(tx: Tx, number: int, moment: str) -> None:
    """Set the time of a prompt to a later one without making a version."""
    tx.run("update prompts set updated_at = :moment where number = :number", moment=moment, number=number)


def count_use(tx: Tx, project: int, number: int) -> None:
    """Count a use of a prompt; this makes no version and keeps its time."""
    tx.run(
        """
        update prompts set uses = uses + 1, last_used = :now
        where number = :number and project = :project and deleted_at is null
        """,
        number=number,
        project=project,
        now=tx.now,
    )


def add_tags(tx: Tx, project: int, number: int, tags: Sequence[str]) -> None:
    """Insert the tags of a prompt that has none."""
    sql = "insert into prompt_tags (prompt, project, tag) values (:prompt, :project, :tag)"
    tx.many(sql, [{"prompt": number, "project": project, "tag": tag} for tag in tags])


def labels(tx: Tx, number: int) -> dict[str, int]:
    """Return the labels of a prompt, sorted, with their versions."""
    rows = tx.all("select label, version from prompt_labels where prompt = :number", number=number)
    return dict(sorted((label, version) for label, version in rows))


def labels_in(tx: Tx, project: str) -> dict[int, dict[str, int]]:
    """Return the labels of the prompts of a project, by the numbers of the prompts."""
    sql = f"""
        select prompt, label, version from prompt_labels
        where prompt in (select number from prompts where {_IN_PROJECT}) order by prompt, label
    """
    found: dict[int, dict[str, int]] = {}
    for prompt, label, version in tx.all(sql, project=project):
        found.setdefault(prompt, {})[label] = version
    return found


def set_label(tx: Tx, number: int, label: str, version: int) -> None:
    """Add a label to a prompt, or move it to another version."""
    sql = """
        insert into prompt_labels (prompt, label, version) values (:prompt, :label, :version)
        on conflict (prompt, label) do update set version = excluded.version
    """
    tx.run(sql, prompt=number, label=label, version=version)


def remove_label(tx: Tx, number: int, label: str) -> None:
    """Remove a label from a prompt."""
    tx.run("delete from prompt_labels where prompt = :number and label = :label", number=number, label=label)


def set_text(tx: Tx, number: int, *, title: str, content: str) -> None:
    """Replace the folded text of a prompt, which searches read."""
    is_indexed = int(len(content) <= MAX_INDEXED_CHARACTERS)
    tx.gather(_put_texts, None, {"prompt": number, "title": title, "content": content, "is_indexed": is_indexed})


def _put_texts(tx: Tx, _: None, texts: Sequence[dict[str, object]]) -> None:
    sql = """
        insert into prompt_texts (prompt, title, content, is_indexed)
        values (:prompt, :title, :content, :is_indexed)
        on conflict (prompt) do update
        set title = excluded.title, content = excluded.content, is_indexed = excluded.is_indexed
        where prompt_texts.title <> excluded.title or prompt_texts.content <> excluded.content
    """
    tx.many(sql, texts)


def tags_of(tx: Tx, numbers: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """Return the tags of the given prompts, sorted."""
    sql = "select prompt, tag from prompt_tags where prompt in :numbers order by prompt, tag"
    tags: dict[int, tuple[str, ...]] = {}
    for prompt, tag in tx.all(sql, numbers=list(numbers)):
        tags[prompt] = (*tags.get(prompt, ()), tag)
    return tags


def tag_counts(tx: Tx, project: int) -> list[TagCount]:
    """Return every tag in use with the number of its prompts, by name."""
    sql = "select tag, count(*) from prompt_tags where project = :project group by tag order by tag"
    return [TagCount(tag, prompts) for tag, prompts in tx.all(sql, project=project)]


def tags_of_projects(tx: Tx, projects: Sequence[int]) -> list[str]:
    """Return every tag in use in some projects, by name."""
    sql = "select distinct tag from prompt_tags where project in :projects order by tag"
    return [tag for (tag,) in tx.all(sql, projects=list(projects))]


def tags_in_use(tx: Tx, project: int, tags: Sequence[str]) -> set[str]:
    """Return those of the given tags that any prompt of the project has."""
    sql = "select distinct tag from prompt_tags where project = :project and tag in :tags"
    return {tag for (tag,) in tx.all(sql, project=project, tags=list(tags))}


def slices(tx: Tx, numbers: Sequence[int], folded: str, *, before: int, size: int) -> list[PromptSlice]:
    """Return prompts in the given order, each with `size` characters of content around the first hit."""
    sql = f"""
        with hits as materialized (
            select prompt, instr(content, :folded) as hit, length(content) as folded_length
            from prompt_texts where prompt in :numbers
        )
        select {_COLUMNS},
            substr(content, case when hit > :before then hit - :before else 1 end, :size),
            case when hit > :before then hit - :before else 1 end, hit, folded_length - length(content)
        from hits join prompts on number = prompt
    """
    if not folded:
        sql = f"select {_COLUMNS}, substr(content, 1, :size), 1, 0, 0 from prompts where number in :numbers"
    rows = tx.all(sql, numbers=list(numbers), folded=folded, before=before, size=size)
    found = {row[0]: _slice(row) for row in rows}
    return [found[number] for number in numbers if number in found]


def content(tx: Tx, number: int) -> str:
    """Return the whole content of one prompt."""
    return tx.value("select content from prompts where number = :number", number=number) or ""


def _encode_arguments(arguments: Sequence[Argument], *, is_constant: bool) -> str | None:
    """Encode the arguments of a template, which may have none; None stands for plain text."""
    return msgspec.json.encode(arguments).decode() if arguments or is_constant else None


def _columns(row: Row) -> dict[str, Any]:
    columns = dict(zip(_NAMES, row, strict=False))
    columns["arguments"] = decode_arguments(columns["arguments"])
    return columns


def _prompt(row: Row | None) -> Prompt | None:
    if row is None:
        return None
    content, tags, project = row[-3:]
    columns = _columns(row)
    is_constant = row[_NAMES.index("arguments")] is not None and not columns["arguments"]
    return Prompt(
        **columns,
        project=project,
        content=content,
        tags=tuple(sorted(tags.split(" "))) if tags else (),
        is_constant=is_constant,
    )


def _slice(row: Row) -> PromptSlice:
    text, start, hit, growth = row[-4:]
    return PromptSlice(
        number=row[0], columns=_columns(row), text=text, start=start - 1, hit=hit - 1, has_same_length=growth == 0
    )


# -- pages of the list ------------------------------------------------------------------------------------------------

_FEW = 300  # up to this many prompts, sorting is faster than walking the index
_NEWEST = 200  # how many of the newest prompts to scan for a text or tags before using an index
_MOST = 3000  # prompts in a second scan, which runs if the first predicts that it fills the page

_AFTER = "(updated_at, number) < (:moment, :last)"
_ORDER = "order by updated_at desc, number desc"
_TAGGED = "(select count(*) from prompt_tags g where g.prompt = number and g.tag in :tags) >= :needed"
_WITH_ONE_TAG = "select prompt from prompt_tags where project = :project and tag in :tags"
_WITH_ALL_TAGS = f"{_WITH_ONE_TAG} group by prompt having count(*) = :needed"  # slower, even for a single tag
_COUNT_TAGGED = "select count(distinct prompt) from ({}) as tagged"
# The times come from a scalar sub-select, so that both engines begin with the tags; otherwise, a plan would read all
# prompts to join or order them.
_COLLECT_TAGGED = """
    with tagged as materialized (
        select prompt, (select updated_at from prompts where number = prompt and project = :project) as updated_at
        from (select distinct prompt from ({}) as found) as once
    )
    select prompt from tagged where (updated_at, prompt) < (:moment, :last)
    order by updated_at desc, prompt desc limit :limit
"""
_COLLECT_WITH_ONE_TAG = _COLLECT_TAGGED.format(_WITH_ONE_TAG)
_COLLECT_WITH_ALL_TAGS = _COLLECT_TAGGED.format(_WITH_ALL_TAGS)
_CONTAINING = "(instr(t.title, :text) > 0 or instr(t.content, :text) > 0)"
# A list by use walks its index until the page is full.
_BY_USE = "order by uses desc, updated_at desc, number desc limit :limit"
_USED = f"""
    select number from prompts where project = :project and deleted_at is null
    and (uses, updated_at, number) < (:uses, :moment, :last) and (:needed = 0 or {_TAGGED}) {_BY_USE}
"""
_USED_CONTAINING = f"""
    select number from prompts join prompt_texts t on t.prompt = number where project = :project and deleted_at is null
    and (uses, updated_at, number) < (:uses, :moment, :last) and (:needed = 0 or {_TAGGED}) and {_CONTAINING} {_BY_USE}
"""
_RECENT = f"""
    select number, updated_at from prompts
    where project = :project and deleted_at is null and {_AFTER} {_ORDER} limit :newest
"""
_TAGGED_AMONG_NEWEST = f"select number from ({_RECENT}) as newest where {_TAGGED} {_ORDER} limit :limit"
_CONTAINING_AMONG_NEWEST = f"""
    select number from ({_RECENT}) as newest join prompt_texts t on t.prompt = number
    where {_CONTAINING} and {_TAGGED} {_ORDER} limit :limit
"""
# `project + 0` keeps SQLite from using the project's index, which it would scan whole to find these few numbers.
_AMONG_FEW = f"project + 0 = :project and deleted_at is null and number in :few and {_AFTER} and {_TAGGED}"


def numbers(tx: Tx, project: int, query: PromptQuery, limit: int, after: PromptPosition | None) -> list[int]:
    """Return the numbers of the prompts that match a query (text and tags folded), in the order that it asks for."""
    after = after or NEWEST
    values = {
        "project": project,
        "text": query.text,
        "tags": list(query.tags),
        "needed": query.needed_tags,
        "moment": after.moment,
        "last": after.number,
        "uses": after.uses,
        "limit": limit,
    }
    if query.by_use:
        return [number for (number,) in tx.all(_USED_CONTAINING if query.text else _USED, **values)]
    few = _few(tx, project, query) if query.tags else None
    if query.text and few is None:
        found = _scan_newest(tx, _CONTAINING_AMONG_NEWEST, values, limit)
        return found or tx.prompts_containing(project, query, limit, after=after)[0]
    if query.tags and few is None:
        return _scan_newest(tx, _TAGGED_AMONG_NEWEST, values, limit) or _collect_tagged(tx, query, values)
    sql = (
        f"select number from prompts where project = :project and deleted_at is null and {_AFTER} {_ORDER} limit :limit"
    )
    if query.text:
        sql = f"""
            select number from prompts join prompt_texts t on t.prompt = number
            where {_AMONG_FEW} and {_CONTAINING} {_ORDER} limit :limit
        """
    elif few is not None:
        sql = f"select number from prompts where {_AMONG_FEW} {_ORDER} limit :limit"
    return [number for (number,) in tx.all(sql, **values, few=few or [])]


def sort_newest(tx: Tx, numbers: Sequence[int], limit: int, *, by_use: bool) -> list[tuple[int, int]]:
    """Return the first of some prompts in the order of a list, each with the number of its project."""
    order = _BY_USE if by_use else f"{_ORDER} limit :limit"
    sql = f"select number, project from prompts where number in :numbers {order}"
    return [(number, project) for number, project in tx.all(sql, numbers=list(numbers), limit=limit)]


def numbers_and_total(tx: Tx, project: int, query: PromptQuery, *, limit: int, offset: int) -> tuple[list[int], int]:
    """Return a page of what `numbers` returns, beginning at an offset, and the total."""
    if query.text:
        return tx.prompts_containing(project, query, limit, offset=offset)
    count = "select count(*) from prompts where project = :project and deleted_at is null"
    if query.tags:
        count = _COUNT_TAGGED.format(_WITH_ALL_TAGS if query.needs_all_tags else _WITH_ONE_TAG)
    [total] = tx.one(count, project=project, tags=list(query.tags), needed=query.needed_tags) or (0,)
    return numbers(tx, project, query, offset + limit, None)[offset:] if offset < total else [], total


def _scan_newest(tx: Tx, sql: str, values: dict[str, object], wanted: int) -> list[int] | None:
    """Find the first prompts of a list by scanning only the newest prompts; return None if these are not enough.

    A common word or tag occurs in many of the newest prompts, so these often fill the page. The number of hits in the
    first scan predicts how many prompts the second must read.
    """
    newest = _NEWEST
    while newest <= _MOST:
        found = [number for (number,) in tx.all(sql, **values | {"limit": wanted, "newest": newest})]
        if len(found) == wanted:
            return found
        if newest > _NEWEST or not found:
            break
        newest = max(_NEWEST + 1, _NEWEST * wanted * 3 // (2 * len(found)))
    return None


def _collect_tagged(tx: Tx, query: PromptQuery, values: dict[str, object]) -> list[int]:
    """Return a page of the prompts that have the tags, by reading and sorting all of them."""
    sql = _COLLECT_WITH_ALL_TAGS if query.needs_all_tags else _COLLECT_WITH_ONE_TAG
    return [number for (number,) in tx.all(sql, **values)]


def _few(tx: Tx, project: int, query: PromptQuery) -> list[int] | None:
    """Return the prompts with any of the tags or, if all are required, with the first rare tag; None for too many."""
    sql = "select prompt from prompt_tags where project = :project and tag in :tags limit :limit"
    for tags in [[tag] for tag in query.tags] if query.needs_all_tags else [list(query.tags)]:
        rows = tx.all(sql, project=project, tags=tags, limit=_FEW + 1)
        if len(rows) <= _FEW:
            return [prompt for (prompt,) in rows]
    return None


def headers(tx: Tx, project: int, *, after: int, limit: int) -> list[PromptHeader]:
    """Return the prompts numbered above `after` in the form of MCP's list, in order of creation."""
    sql = """
        select number, name, title, description, arguments from prompts
        where project = :project and deleted_at is null and number > :after order by number limit :limit
    """
    return [
        PromptHeader(
            number=number, name=name, title=title, description=description, arguments=decode_arguments(arguments)
        )
        for number, name, title, description, arguments in tx.all(sql, project=project, after=after, limit=limit)
    ]


def tagged_anywhere(tx: Tx, tag: str, allowed: tuple[str, ...] | None, limit: int) -> list[tuple[str, str, str]]:
    """Return project, name and title of the prompts with a tag, in all projects or in the allowed ones."""
    # `cross join` makes SQLite begin with the projects; otherwise, it would scan all tags.
    sql = """
        select j.name, p.name, p.title from projects j cross join prompt_tags g cross join prompts p
        where g.project = j.number and g.tag = :tag and p.number = g.prompt and j.deleted_at is null
            and (not :is_confined or j.name in :allowed)
        order by p.title, p.number limit :limit
    """
    values = {"is_confined": allowed is not None, "allowed": allowed or ()}
    return [(project, name, title) for project, name, title in tx.all(sql, tag=tag, limit=limit, **values)]
