"""Rules and use cases of prompts."""

from collections.abc import Sequence

from satchel import clock
from satchel.errors import NotFound, Taken
from satchel.model import UNSET, Changed, Excerpt, Listed, Page, Prompt, Scope, TagCount, UnsetType
from satchel.services import excerpts, rules, slugs
from satchel.services.projects import current
from satchel.storage import prompts as rows
from satchel.storage.database import Tx, Violation

# What a list reads of a content: enough around a hit for nearly every excerpt, and the longest query.
_BEFORE, _SIZE = 600, 2400


def add(
    tx: Tx, scope: Scope, *, title: str, content: str, tags: Sequence[str] = (), description: str | None = None
) -> Prompt:
    """Keep a new prompt; its name is made from the title.

    Raises:
        Taken: another prompt of the project has this title.
    """
    project = current(tx, scope).number
    id = tx.new_id()
    number = None
    names = slugs.candidates(title, id)
    try:
        while number is None:
            name = next(names)
            number = rows.add(tx, project, id=id, name=name, title=title, content=content, description=description)
    except Violation as violation:
        raise _refusal(violation, scope, title) from violation
    rows.set_tags(tx, project, number, _fold_tags(tags))
    tx.changed(Changed("prompts", project))
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
    tx.changed(Changed("prompts", project))
    return _indexed(tx, scope, project, id)


def get(tx: Tx, scope: Scope, id: str) -> Prompt:
    """One prompt, whole.

    Raises:
        NotFound: the project has no such prompt.
    """
    return _get(tx, scope, current(tx, scope).number, id)


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
    id = clock.parse_id(reference)
    prompt = (
        rows.by_name(tx, project, reference)
        or rows.by_title(tx, project, reference.strip())
        or (rows.by_id(tx, project, id) if id else None)
    )
    if prompt is None:
        raise NotFound("prompt", reference, scope)
    return prompt


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
) -> Prompt:
    """Change what is given of a prompt, and renew its time. Its name stays.

    Raises:
        NotFound: the project has no such prompt.
        Taken: another prompt of the project has this title.
    """
    project = current(tx, scope).number
    try:
        number = rows.update(tx, project, id, title=title, content=content, description=description)
    except Violation as violation:
        raise _refusal(violation, scope, str(title)) from violation
    if number is None:
        current(tx, scope)  # the project may be what is gone
        raise NotFound("prompt", id, scope)
    if tags is not UNSET:
        rows.set_tags(tx, project, number, _fold_tags(tags))
    if title is not UNSET or description is not UNSET:
        tx.changed(Changed("prompts", project))
    return _indexed(tx, scope, project, id)


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
    tx.changed(Changed("prompts", project))
    tx.changed(Changed("prompt", project, key=name))


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
    numbers, total = tx.prompts_containing(folded, current(tx, scope).number, limit, offset)
    return Page(_glimpsed(tx, numbers, folded), total)


def tagged(tx: Tx, scope: Scope, tags: Sequence[str], *, limit: int, offset: int) -> Page:
    """The prompts that carry at least one of some tags, whatever their case."""
    # Tags are ASCII; without a look at that, the Kelvin sign would be folded into a k.
    possible = [tag.lower() for tag in tags if tag.isascii()]
    numbers, total = rows.tagged(tx, current(tx, scope).number, possible, limit, offset)
    return Page(_glimpsed(tx, numbers), total)


def tags(tx: Tx, scope: Scope) -> list[TagCount]:
    """The tags in use in the project."""
    return rows.tag_counts(tx, current(tx, scope).number)


def _fold_tags(tags: Sequence[str]) -> list[str]:
    return sorted({tag.lower() for tag in tags})


def _indexed(tx: Tx, scope: Scope, project: int, id: str) -> Prompt:
    """A prompt just written, after making it findable by what it says now."""
    prompt = _get(tx, scope, project, id)
    rows.set_text(tx, prompt.number, title=prompt.title.casefold(), content=prompt.content.casefold())
    tx.changed(Changed("prompt", project, key=prompt.name))
    return prompt


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


def _glimpsed(tx: Tx, numbers: Sequence[int], folded: str = "") -> tuple[Listed, ...]:
    if not numbers:
        return ()
    tags = rows.tags_of(tx, numbers)
    return tuple(
        Listed(
            number=glimpse.number,
            id=glimpse.id,
            name=glimpse.name,
            title=glimpse.title,
            excerpt=_excerpt(tx, glimpse, folded),
            tags=tags.get(glimpse.number, ()),
            created_at=glimpse.created_at,
            updated_at=glimpse.updated_at,
        )
        for glimpse in rows.glimpses(tx, numbers, folded=folded, before=_BEFORE, size=_SIZE)
    )


def _excerpt(tx: Tx, glimpse: rows.Glimpse, folded: str) -> Excerpt:
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
