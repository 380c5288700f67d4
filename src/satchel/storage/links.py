"""Queries about links, in both directions: the `satchel://` URIs in texts, and what templates include."""

import re
from collections.abc import Sequence
from typing import Literal, get_args

from msgspec import Struct

from satchel.model import ItemKind, uri_of
from satchel.storage.database import Tx

MOST = 100  # stored links from one part of an item

# The place of a link in an item: its own text, the notes on a task, or the statements by which a template includes.
Part = Literal["text", "note", "include"]
PARTS: tuple[Part, ...] = ("text", "note", "include")
Kind = Literal["prompt", "document", "task"]
Target = tuple[Kind, str]  # the name in a URI, or the number of a task

SCHEME = "satchel://"
_URI = r"satchel://(?:(task)/([0-9]{1,18})(?![0-9A-Za-z_%])|(prompt|resource|document)/([^\s<>\"'`()\[\]{}|\\^]+))"
_KINDS: dict[str, Kind] = {"prompt": "prompt", "resource": "document", "document": "document"}  # by the word in a URI
_AT_THE_END = ".,;:!?*~"  # belongs to a sentence or an emphasis, not to a name

# Names of items have no other characters. The statement may stand in a comment, which only the engine can tell.
_INCLUDE = r"""\{%[-+]?\s*(?:include|extends|import|from)\b[\s(]*["']([A-Za-z0-9._-]+|satchel://[^\s"']+)["']"""

# By kind of the source; links of a text come before those of notes, as in PARTS.
_REMOVE = {kind: f"delete from links where {kind} = :number and part = :part" for kind in get_args(Kind)}
_OF = {
    kind: f"select to_kind, to_key from links where {kind} = :number and part in :parts order by part desc, number"
    for kind in get_args(Kind)
}
_ADD = """
    insert into links (prompt, document, task, project, owner, part, to_kind, to_key)
    values (:prompt, :document, :task, :project, :owner, :part, :to_kind, :to_key)
"""
_EXISTING = """
    select 'prompt', name from prompts where project = :project and deleted_at is null and name in :names
    union all
    select 'document', name from documents where project = :project and deleted_at is null and name in :names
    union all
    select 'document', substr(uri, 20) from documents where project = :project and deleted_at is null and uri in :uris
"""
# Sources in projects and tasks of an owner are two walks along one index, each limited to rows that the caller may see.
# A source may have several links to a target: with and without its project, as an include, and in the notes of a task.
# Every project may include what the personal one has, unless it has an item of this name itself.
_TO = """
    select 'task', cast(number as text), title, project, 0 from (
        select distinct t.number, t.title, j.name as project from links l join tasks t on t.number = l.task
            left join projects j on j.number = t.project and j.deleted_at is null
        where l.to_kind = :kind and l.to_key in (:key, :long) and l.owner = :owner and t.deleted_at is null
            and (t.project = :project or (l.to_key = :long and (:any_project or t.project in :projects))
                or (:has_loose and t.project is null))
        order by t.number limit :limit
    ) as from_tasks
    union all
    select kind, name, title, project, is_include from (
        select case when l.prompt is null then 'document' else 'prompt' end as kind, coalesce(p.name, r.name) as name,
            coalesce(p.title, '') as title, j.name as project,
            max(case when l.part = 'include' then 1 else 0 end) as is_include
        from links l join projects j on j.number = l.project and j.deleted_at is null
            left join prompts p on p.number = l.prompt left join documents r on r.number = l.document
        where l.to_kind = :kind and l.to_key in (:key, :long) and l.owner is null
            and p.deleted_at is null and r.deleted_at is null and (
                l.project = :project or (:any_project or l.project in :projects) and (
                    l.to_key = :long or l.part = 'include' and :is_included
                    and not exists (
                        select 1 from prompts o where o.project = l.project and o.name = :key and o.deleted_at is null
                    ) and not exists (
                        select 1 from documents o where o.project = l.project and o.name = :key and o.deleted_at is null
                    )
                )
            )
        group by 1, 2, 3, 4, l.project order by 1, 2, l.project limit :limit
    ) as from_texts
"""


class Link(Struct, frozen=True, kw_only=True):
    """One end of a link."""

    kind: ItemKind
    key: str  # a name, or the number of a task
    title: str = ""  # if the caller may see it, and it differs from the key
    project: str = ""  # if it is not the caller's own
    is_missing: bool = False  # the item does not exist, or the scope may not see it
    is_include: bool = False  # the source is a template, and cannot be filled in without the target

    @property
    def reference(self) -> str:
        """Return the reference by which a call names the item."""
        return f"#{self.key}" if self.kind == "task" else uri_of(self.kind, self.key, self.project)


def split_key(key: str) -> tuple[str, str]:
    """Split the name in a URI into a project, empty if the URI has none, and the name in that project."""
    project, _, name = key.partition("/")
    is_long = project and name and "/" not in name and ":" not in project  # a library's prompt is LIBRARY:PROMPT
    return (project, name) if is_long else ("", key)


def find_targets(text: str) -> list[Target]:
    """Find the targets of the URIs in a text, each once, in order, up to a hundred."""
    found: dict[Target, None] = {}
    if SCHEME not in text:
        return []
    for match in re.finditer(_URI, text):
        is_template = text[match.end() : match.end() + 1] == "{"  # the rest of the name is filled in later
        target: Target = ("task", str(int(match[2]))) if match[1] else (_KINDS[match[3]], _read_name(match[4]))
        if target[1] and not is_template and "\0" not in target[1]:
            found[target] = None
        if len(found) == MOST:
            break
    return list(found)


def find_included(text: str) -> list[str]:
    """Find the names and URIs of the documents and prompts that a template includes, each once, in order."""
    return list(dict.fromkeys(re.findall(_INCLUDE, text))) if "{%" in text else []


def add(
    tx: Tx, kind: ItemKind, number: int, project: int | None, owner: str | None, part: Part, targets: Sequence[Target]
) -> None:
    """Add links from one part of an item. A task needs an owner but no project, because its project may change."""
    ends = {one: number if one == kind else None for one in get_args(Kind)}
    values: dict[str, object] = {**ends, "project": project, "owner": owner, "part": part}
    tx.many(_ADD, [{**values, "to_kind": to_kind, "to_key": key} for to_kind, key in targets])


def remove(tx: Tx, kind: ItemKind, number: int, part: Part) -> None:
    """Remove the links from one part of an item."""
    sql = _REMOVE[kind]
    tx.run(sql, number=number, part=part)


def of(tx: Tx, kind: str, number: int, parts: Sequence[Part] = PARTS) -> list[Target]:
    """List the targets to which some parts of an item link, first the text's, then the notes'."""
    sql = _OF[kind]
    return [(to_kind, to_key) for to_kind, to_key in tx.all(sql, number=number, parts=parts)]


def existing(tx: Tx, project: int, targets: Sequence[Target]) -> set[Target]:
    """Return the targets that are prompts or documents of a project."""
    names = [key for _, key in targets]
    found = tx.all(_EXISTING, project=project, names=names, uris=[uri_of("document", name) for name in names])
    return {(kind, name) for kind, name in found}


def to(
    tx: Tx,
    target: Target,
    long: str,
    owner: str | None,
    project: int,
    projects: Sequence[int] | None,
    limit: int,
    *,
    has_loose: bool,
    is_included: bool = False,
) -> list[Link]:
    """List an owner's tasks, then the prompts and documents, that link to a target, each up to a limit.

    An item of `project` may name the target by its key alone; an item of `projects` (None: of any project) names it by
    `long`, the key with the target's project. `has_loose` adds tasks of no project, and `is_included` adds templates of
    `projects` that include the target.
    """
    values: dict[str, object] = {"kind": target[0], "key": target[1], "long": long, "project": project}
    values |= {"owner": owner, "limit": limit, "has_loose": has_loose, "is_included": is_included}
    rows = tx.all(_TO, **values, any_project=projects is None, projects=list(projects or ()))
    return [
        Link(kind=kind, key=key, title=title, project=name or "", is_include=bool(is_include))
        for kind, key, title, name, is_include in rows
    ]


def _read_name(text: str) -> str:
    """Decode the name in a URI; invalid UTF-8 becomes U+FFFD, which no name has."""
    name = text.rstrip(_AT_THE_END)
    if "%" not in name:
        return name
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), name.encode())
    return raw.decode("utf-8", "replace")
