"""Queries about prompts, their tags and their folded texts."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from satchel.model import Argument, Prompt, PromptDraft, PromptPatch, TagCount
from satchel.storage.database import Row, Tx, explain_damage, patch_values

# Indexing a 4 MiB document takes a second, during which no other process can write. Longer texts are scanned instead.
MAX_INDEXED_CHARACTERS = 256 * 1024

_COLUMNS = "number, id, name, title, description, arguments, created_at, updated_at, version"
_NAMES = _COLUMNS.split(", ")
# The tags are sorted in Python: for `order by`, SQLite would open a temporary table.
_WHOLE = f"{_COLUMNS}, content, (select string_agg(tag, ' ') from prompt_tags where prompt = number), project"
_IN_PROJECT = (
    "project = (select number from projects where name = :project and deleted_at is null) and deleted_at is null"
)
_FIND = f"select {_WHOLE} from prompts where {_IN_PROJECT}"
_BY = {column: f"{_FIND} and {column} = :key" for column in ("id", "name", "title", "number")}
_ARGUMENTS = msgspec.json.Decoder(tuple[Argument, ...])


class PromptSlice(Struct, frozen=True, kw_only=True):
    """A prompt with the part of its content that a list needs."""

    number: int
    columns: dict[str, Any]  # what the summary of a prompt shows, except excerpt and tags
    text: str  # the part of the content
    start: int  # of the part in the content, from 0
    hit: int  # of the search text in the folded content, from 0; -1 where it is not in it
    is_folded_longer: bool  # so that an offset in the folded content is not the same in the content


# Versions go on where a deleted prompt of the same name left off, so that a version names one text.
_LAST = "select max(version) from prompts where project = :project and name = :name and deleted_at is not null"
_INTO = "id, project, name, title, content, description, arguments, created_at, updated_at, version"
_VALUES = ":id, :project, :name, :title, :content, :description, :arguments, :created_at, :now"
_INSERT = f"insert into prompts ({_INTO}) values ({_VALUES}, coalesce(({_LAST}), 0) + 1)"
_ADD = f"{_INSERT} on conflict (project, name) where deleted_at is null do nothing returning number, version"
_ADD_IF_FREE = f"{_INSERT} on conflict do nothing returning number, version"


def add(
    tx: Tx, project: int, id: str, name: str, draft: PromptDraft, *, skips_taken_titles: bool = False
) -> Prompt | None:
    """Insert a prompt with its tags and return it; None, and nothing inserted, where its name is taken.

    Raises:
        Violation: prompts_title, where its title is taken; with `skips_taken_titles` that is None too.
    """
    sql = _ADD_IF_FREE if skips_taken_titles else _ADD
    row = tx.one(sql, **_values(tx, project, id, name, draft), created_at=tx.now)
    if row is None:
        return None
    number, version = row
    add_tags(tx, project, number, draft.tags)
    return Prompt(
        number=number,
        id=id,
        project=project,
        name=name,
        title=str(draft.title),
        content=draft.content,
        tags=tuple(sorted(draft.tags)),
        created_at=tx.now,
        updated_at=tx.now,
        version=version,
        description=draft.description,
        arguments=tuple(draft.arguments),
    )


def _values(tx: Tx, project: int, id: str, name: str, draft: PromptDraft) -> dict[str, Any]:
    arguments = _encode_arguments(draft.arguments)
    return asdict(draft) | {"id": id, "project": project, "name": name, "arguments": arguments, "now": tx.now}


def find(tx: Tx, project: str, column: Literal["id", "name", "title", "number"], key: str) -> Prompt | None:
    """The prompt of a project with a key in one of its columns, whole. The project is given by name."""
    sql = _BY[column]
    return _prompt(tx.one(sql, project=project, key=key))


def decode_arguments(text: str | None) -> tuple[Argument, ...]:
    """The arguments of a prompt, from their column."""
    try:
        return _ARGUMENTS.decode(text) if text else ()
    except msgspec.DecodeError as error:
        raise explain_damage("the arguments of a prompt", error) from error


def list_whole(tx: Tx, project: str, after: int, limit: int) -> list[Prompt]:
    """Return the prompts of a project after a number, whole, in order of creation. The project is given by name."""
    sql = f"{_FIND} and number > :after order by number limit :limit"
    rows = tx.all(sql, project=project, after=after, limit=limit)
    return [prompt for row in rows if (prompt := _prompt(row))]


def find_to_change(tx: Tx, project: str, id: str) -> Prompt | None:
    """The prompt with an id, whole, which is updated or deleted next."""
    return _prompt(tx.one_to_change(_WHOLE, "prompts", f"{_IN_PROJECT} and id = :key", project=project, key=id))


def find_deleted(tx: Tx, number: int) -> Prompt | None:
    """Return a deleted prompt, whole."""
    sql = f"select {_WHOLE} from prompts where number = :number and deleted_at is not null"
    return _prompt(tx.one(sql, number=number))


def update(tx: Tx, seen: Prompt, patch: PromptPatch, version: int | None) -> tuple[str, int] | None:
    """Change a prompt, except its tags; its new time and version, or None where it has not the expected version.

    Raises:
        Violation: prompts_title, where its title is taken.
    """
    changes = """
        title = coalesce(:title, title),
        content = coalesce(:content, content),
        description = case when :has_description then :description else description end,
        arguments = case when :has_arguments then :arguments else arguments end
    """
    values = patch_values(patch) | {"number": seen.number, "project": seen.project}
    values |= {"arguments": _encode_arguments(patch.arguments or ())}
    where = "number = :number and project = :project and deleted_at is null"
    row = tx.renew("prompts", changes, where, columns="updated_at, version", version=version, **values)
    return (row[0], row[1]) if row else None


def delete(tx: Tx, seen: Prompt) -> None:
    """Mark a prompt as deleted, and remove it from the lists by tag and text."""
    where = "number = :number and project = :project and deleted_at is null"
    tx.renew("prompts", "deleted_at = :now", where, columns="number", number=seen.number, project=seen.project)
    tx.run("update prompt_tags set project = null where prompt = :number", number=seen.number)
    tx.run("delete from prompt_texts where prompt = :number", number=seen.number)


def restore(tx: Tx, seen: Prompt, name: str, title: str) -> Prompt | None:
    """Mark a prompt as no longer deleted, under a name and a title; None where it was restored or purged meanwhile.

    Raises:
        Violation: prompts_name or prompts_title, where one is taken.
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
    """Give a prompt that stays at its version a later time."""
    tx.run("update prompts set updated_at = :moment where number = :number", moment=moment, number=number)


def add_tags(tx: Tx, project: int, number: int, tags: Sequence[str]) -> None:
    """Insert the tags of a prompt that has none."""
    sql = "insert into prompt_tags (prompt, project, tag) values (:prompt, :project, :tag)"
    tx.many(sql, [{"prompt": number, "project": project, "tag": tag} for tag in tags])


def set_text(tx: Tx, number: int, *, title: str, content: str) -> None:
    """Replace the folded text by which a prompt is found."""
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
    """The tags of some prompts, sorted."""
    sql = "select prompt, tag from prompt_tags where prompt in :numbers order by prompt, tag"
    tags: dict[int, tuple[str, ...]] = {}
    for prompt, tag in tx.all(sql, numbers=list(numbers)):
        tags[prompt] = (*tags.get(prompt, ()), tag)
    return tags


def tag_counts(tx: Tx, project: int) -> list[TagCount]:
    """Every tag in use with the number of its prompts, by name."""
    sql = "select tag, count(*) from prompt_tags where project = :project group by tag order by tag"
    return [TagCount(tag, prompts) for tag, prompts in tx.all(sql, project=project)]


def first_tags(tx: Tx, project: int, *, limit: int, most: int) -> list[TagCount]:
    """The first tags by name, each with the number of its prompts, counted up to a bound."""
    # From tag to tag along the index, so that it does not matter how many prompts have each.
    sql = """
        with recursive known (tag) as (
            select min(tag) from prompt_tags where project = :project
            union all
            select (select min(g.tag) from prompt_tags g where g.project = :project and g.tag > known.tag)
            from known where known.tag is not null
        )
        select tag, (
            select count(*) from (
                select 1 from prompt_tags c where c.project = :project and c.tag = known.tag limit :most
            ) as counted
        ) from known where tag is not null limit :limit
    """
    return [TagCount(tag, prompts) for tag, prompts in tx.all(sql, project=project, limit=limit, most=most)]


def tags_of_newest(tx: Tx, project: int, *, newest: int, limit: int, most: int) -> list[TagCount]:
    """The tags that the last updated prompts have most often, by name, counted up to a bound."""
    sql = """
        select tag, (
            select count(*) from (
                select 1 from prompt_tags c where c.project = :project and c.tag = frequent.tag limit :most
            ) as counted
        ) from (
            select g.tag from (
                select number from prompts where project = :project and deleted_at is null
                order by updated_at desc, number desc limit :newest
            ) as recent join prompt_tags g on g.prompt = recent.number
            group by g.tag order by count(*) desc, g.tag limit :limit
        ) as frequent order by tag
    """
    found = tx.all(sql, project=project, newest=newest, limit=limit, most=most)
    return [TagCount(tag, prompts) for tag, prompts in found]


def slices(tx: Tx, numbers: Sequence[int], folded: str, *, before: int, size: int) -> list[PromptSlice]:
    """Some prompts in the order given, each with `size` characters of content, from `before` the first hit on."""
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
    """The whole content of one prompt."""
    row = tx.one("select content from prompts where number = :number", number=number)
    return row[0] if row else ""


def _encode_arguments(arguments: Sequence[Argument]) -> str | None:
    return msgspec.json.encode(arguments).decode() if arguments else None


def _columns(row: Row) -> dict[str, Any]:
    columns = dict(zip(_NAMES, row, strict=False))
    columns["arguments"] = decode_arguments(columns["arguments"])
    return columns


def _prompt(row: Row | None) -> Prompt | None:
    if row is None:
        return None
    content, tags, project = row[-3:]
    return Prompt(
        **_columns(row), project=project, content=content, tags=tuple(sorted(tags.split(" "))) if tags else ()
    )


def _slice(row: Row) -> PromptSlice:
    text, start, hit, growth = row[-4:]
    return PromptSlice(
        number=row[0], columns=_columns(row), text=text, start=start - 1, hit=hit - 1, is_folded_longer=growth != 0
    )
