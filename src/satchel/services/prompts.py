"""Rules and use cases of prompts."""

from collections.abc import Sequence
from typing import Literal

from satchel import clock
from satchel.errors import NotFound, Taken, VersionConflict
from satchel.model import (
    UNSET,
    Argument,
    Excerpt,
    Page,
    Prompt,
    PromptHeader,
    PromptSummary,
    Scope,
    StoreChange,
    TagCount,
    UnsetType,
)
from satchel.services import excerpts, rules, slugs
from satchel.services.projects import check_open, current
from satchel.services.suggestions import closest_names
from satchel.storage import prompt_pages as pages
from satchel.storage import prompts as rows
from satchel.storage.database import NEWEST, Place, PromptQuery, Tx, Violation

# What a list reads of a content: enough around a hit for nearly every excerpt, and the longest query.
_BEFORE, _SIZE = 600, 2400

_NEIGHBOURS = 25  # on either side of a mistyped name


def add(
    tx: Tx,
    scope: Scope,
    *,
    title: str,
    content: str,
    tags: Sequence[str] = (),
    description: str | None = None,
    arguments: Sequence[Argument] = (),
    name: str | None = None,
    avoiding: str | None = None,
) -> Prompt:
    """Keep a new prompt; its name is made from the title where none is given. With arguments it is a template.

    The name that is made is not the one to avoid.

    Raises:
        WrongArgument: name, tags or arguments cannot be such, or the content is too long for a template.
        Taken: another prompt of the project has this title, or the name that was given.
    """
    if name is not None:
        rules.check_name("prompt", name)
    rules.check_tags(tags)
    if arguments:
        rules.check_arguments(arguments)
        rules.check_template(content)
    project = current(tx, scope).number
    id = tx.new_id()
    number = None
    names = slugs.candidates(title, id) if name is None else iter([name])
    try:
        while number is None:
            chosen = next((one for one in names if one != avoiding), None)
            if chosen is None:
                raise Taken("prompt", "name", str(name), scope)
            number = rows.add(
                tx,
                project,
                id=id,
                name=chosen,
                title=title,
                content=content,
                description=description,
                arguments=arguments,
            )
    except Violation as violation:
        raise _refusal(violation, scope, title) from violation
    rows.set_tags(tx, project, number, rules.fold_tags(tags))
    _tell_list(tx, scope)
    return _indexed(tx, scope, project, id)


def add_named(tx: Tx, scope: Scope, *, name: str, content: str, description: str | None = None) -> Prompt:
    """Keep a new prompt under a name that the caller chose; it is its title too.

    Raises:
        WrongArgument: the name cannot be a name, or the content is empty or too long.
        Taken: another prompt of the project has this name, or this for a title.
    """
    rules.check_name("prompt", name)
    rules.check_prompt_content(content)
    project = current(tx, scope).number
    id = tx.new_id()
    try:
        number = rows.add(tx, project, id=id, name=name, title=name, content=content, description=description or None)
    except Violation as violation:
        raise _refusal(violation, scope, name) from violation
    if number is None:
        raise Taken("prompt", "name", name, scope)
    _tell_list(tx, scope)
    return _indexed(tx, scope, project, id)


def get(tx: Tx, scope: Scope, id: str) -> Prompt:
    """One prompt, whole.

    Raises:
        NotFound: the project has no such prompt.
    """
    check_open(scope)
    prompt = rows.by_id_in(tx, scope.project, id) if "\0" not in scope.project else None
    if prompt is None:
        current(tx, scope)  # the project may be what is missing
        raise NotFound("prompt", id, scope)
    return prompt


def named(tx: Tx, scope: Scope, name: str) -> Prompt:
    """The prompt of that name, whole.

    Raises:
        NotFound: the project has no such prompt.
    """
    prompt = rows.by_name(tx, current(tx, scope).number, name)
    if prompt is None:
        raise NotFound("prompt", name, scope)
    return prompt


def find(tx: Tx, scope: Scope, reference: str) -> Prompt:
    """The prompt that a person means: by name, else by title, else by id.

    Raises:
        NotFound: the project has no such prompt.
    """
    project = current(tx, scope).number
    text = reference.strip()
    id = clock.parse_id(text)
    prompt = (
        rows.by_name(tx, project, text)
        or rows.by_title(tx, project, text)
        or (rows.by_id(tx, project, id) if id else None)
    )
    if prompt is None:
        raise NotFound("prompt", reference, scope)
    return prompt


def near(tx: Tx, scope: Scope, reference: str) -> tuple[str, ...]:
    """The names of up to three prompts that somebody may have meant."""
    project = current(tx, scope).number
    text = reference.strip()
    known = pages.newest(tx, project, 2 * _NEIGHBOURS)
    title = text[:1].upper() + text[1:]
    known += pages.beside(tx, project, name=slugs.slug(text), title=title, limit=_NEIGHBOURS)
    called = {title: name for name, title in known} | {name: name for name, _ in known}
    return tuple(dict.fromkeys(called[one] for one in closest_names(text, called, 6)))[:3]


def offered(tx: Tx, scope: Scope, *, limit: int, after: int = 0) -> tuple[tuple[PromptHeader, ...], bool]:
    """What MCP lists of the prompts behind a number, in order of creation, and whether there are more."""
    found = pages.offered(tx, current(tx, scope).number, after=after, limit=limit + 1)
    return tuple(found[:limit]), len(found) > limit


def names(tx: Tx, scope: Scope) -> list[tuple[str, str | None]]:
    """The name and description of every prompt of the project, in order of creation."""
    return rows.named(tx, current(tx, scope).number)


def update(
    tx: Tx,
    scope: Scope,
    id: str,
    *,
    title: str | UnsetType = UNSET,
    content: str | UnsetType = UNSET,
    description: str | UnsetType | None = UNSET,
    tags: Sequence[str] | UnsetType = UNSET,
    arguments: Sequence[Argument] | UnsetType = UNSET,
    expected_version: int | None = None,
) -> Prompt:
    """Change what is given of a prompt, and renew its time. Its name stays.

    Raises:
        WrongArgument: tags or arguments cannot be such, or the content is too long for a template.
        NotFound: the project has no such prompt.
        Taken: another prompt of the project has this title.
        VersionConflict: the prompt has not the version that is expected.
    """
    rules.check_tags(tags or ())
    rules.check_arguments(arguments or ())
    project = current(tx, scope).number
    try:
        number = rows.update(
            tx,
            project,
            id,
            title=title,
            content=content,
            description=description,
            arguments=arguments,
            version=expected_version,
        )
    except Violation as violation:
        raise _refusal(violation, scope, str(title)) from violation
    if number is None:
        current(tx, scope)  # the project may be what is gone
        actual = _get(tx, scope, project, id).version
        raise VersionConflict("prompt", id, expected=expected_version or 0, actual=actual)
    if tags is not UNSET:
        rows.set_tags(tx, project, number, rules.fold_tags(tags))
    if title is not UNSET or description is not UNSET or arguments is not UNSET:
        tx.changed(StoreChange("prompts", scope.project))
    prompt = _indexed(tx, scope, project, id)
    if prompt.arguments and (content is not UNSET or arguments is not UNSET):
        rules.check_template(prompt.content)  # as it is now, whoever else changed the other half of it
    return prompt


def delete(tx: Tx, scope: Scope, id: str) -> None:
    """Remove a prompt for good.

    Raises:
        NotFound: the project has no such prompt.
    """
    project = current(tx, scope).number
    name = rows.delete(tx, project, id)
    if name is None:
        current(tx, scope)  # the project may be what is gone
        raise NotFound("prompt", id, scope)
    _tell_list(tx, scope)
    tx.changed(StoreChange("prompt", scope.project, key=name))


def listed(tx: Tx, scope: Scope, *, limit: int, offset: int) -> Page:
    """The prompts of the project, the last updated first."""
    project = current(tx, scope).number
    total = rows.count(tx, project)
    numbers = rows.recent(tx, project, limit, offset) if offset < total else []
    return Page(_glimpsed(tx, numbers), total)


def search(tx: Tx, scope: Scope, query: str, *, limit: int, offset: int) -> Page:
    """The prompts with a text in title or content, whatever its case. An empty text is in every prompt."""
    folded = query.casefold()
    if not folded:
        return listed(tx, scope, limit=limit, offset=offset)
    sought = PromptQuery(project=current(tx, scope).number, text=folded)
    numbers, total = tx.prompts_containing(sought, limit, offset)
    return Page(_glimpsed(tx, numbers, folded), total)


def tagged(tx: Tx, scope: Scope, tags: Sequence[str], *, limit: int, offset: int) -> Page:
    """The prompts that carry at least one of some tags, whatever their case."""
    numbers, total = rows.tagged(tx, current(tx, scope).number, rules.possible_tags(tags), limit, offset)
    return Page(_glimpsed(tx, numbers), total)


def page(
    tx: Tx,
    scope: Scope,
    *,
    query: str | None = None,
    tags: Sequence[str] = (),
    tags_mode: Literal["any", "all"] = "any",
    limit: int,
    behind: Place = NEWEST,
) -> tuple[tuple[PromptSummary, ...], bool]:
    """Some of the project's prompts behind a place, the last updated first, and whether there are more.

    The query is literal text in title or content, whatever its case.
    """
    project = current(tx, scope).number
    folded = query.casefold() if query else ""
    needs_all = tags_mode == "all"
    possible = rules.possible_tags(tags)
    if tags and (not possible or (needs_all and not all(tag.isascii() for tag in tags))):
        return (), False
    if folded:
        numbers = pages.containing(tx, project, folded, possible, needs_all=needs_all, limit=limit + 1, behind=behind)
    elif possible:
        numbers = pages.tagged(tx, project, possible, needs_all=needs_all, limit=limit + 1, behind=behind)
    else:
        numbers = pages.recent(tx, project, limit=limit + 1, behind=behind)
    return _glimpsed(tx, numbers[:limit], folded), len(numbers) > limit


def place(prompt: PromptSummary) -> Place:
    """Where a prompt of a page stands, for the page behind it."""
    return prompt.updated_at, prompt.number


def tags(tx: Tx, scope: Scope) -> list[TagCount]:
    """The tags in use in the project."""
    return rows.tag_counts(tx, current(tx, scope).number)


def _indexed(tx: Tx, scope: Scope, project: int, id: str) -> Prompt:
    """A prompt just written, after making it findable by what it says now."""
    prompt = _get(tx, scope, project, id)
    rows.set_text(tx, prompt.number, title=prompt.title.casefold(), content=prompt.content.casefold())
    tx.changed(StoreChange("prompt", scope.project, key=prompt.name))
    return prompt


def _tell_list(tx: Tx, scope: Scope) -> None:
    """Tell that the project has a prompt more, or less."""
    tx.changed(StoreChange("prompts", scope.project))
    tx.changed(StoreChange("project", scope.project))


def _get(tx: Tx, scope: Scope, project: int, id: str) -> Prompt:
    prompt = rows.by_id(tx, project, id)
    if prompt is None:
        raise NotFound("prompt", id, scope)
    return prompt


def _refusal(violation: Violation, scope: Scope, title: str) -> Exception:
    if violation.constraint == "prompts_title":
        return Taken("prompt", "title", title, scope)
    if violation.constraint == "foreign key":
        # The project was deleted between our looking and our writing.
        return NotFound("project", scope.project, scope)
    return violation


def _glimpsed(tx: Tx, numbers: Sequence[int], folded: str = "") -> tuple[PromptSummary, ...]:
    if not numbers:
        return ()
    tags = rows.tags_of(tx, numbers)
    return tuple(
        PromptSummary(
            number=glimpse.number,
            id=glimpse.id,
            name=glimpse.name,
            title=glimpse.title,
            description=glimpse.description,
            excerpt=_excerpt(tx, glimpse, folded),
            tags=tags.get(glimpse.number, ()),
            arguments=glimpse.arguments,
            created_at=glimpse.created_at,
            updated_at=glimpse.updated_at,
            version=glimpse.version,
        )
        for glimpse in rows.glimpses(tx, numbers, folded=folded, before=_BEFORE, size=_SIZE)
    )


def _excerpt(tx: Tx, glimpse: rows.PromptSlice, folded: str) -> Excerpt:
    has_end = len(glimpse.slice) < _SIZE
    if not folded or glimpse.hit < 0:
        excerpt = excerpts.beginning(glimpse.slice, is_whole=has_end)
    elif glimpse.is_folded_longer:
        excerpt = None
    else:
        start = glimpse.hit - glimpse.start
        excerpt = excerpts.surroundings(
            glimpse.slice, start, start + len(folded), has_start=glimpse.start == 0, has_end=has_end
        )
    return excerpt or _excerpt_of_whole(rows.content(tx, glimpse.number), glimpse.hit, folded)


def _excerpt_of_whole(content: str, hit: int, folded: str) -> Excerpt:
    if not folded or hit < 0:
        excerpt = excerpts.beginning(content, is_whole=True)
    else:
        start = excerpts.unfolded_offset(content, hit)
        end = excerpts.unfolded_offset(content, hit + len(folded) - 1) + 1
        excerpt = excerpts.surroundings(content, start, end, has_start=True, has_end=True)
    assert excerpt is not None, "the whole of a text is always enough"
    return excerpt
