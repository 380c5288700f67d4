"""Use cases of prompts.

All functions raise NotFound and Forbidden about the scope's project as `projects.current` does, NotFound if the project
has no such prompt, and WrongArgument if a value breaks a rule.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from msgspec.structs import asdict, replace

from satchel import clock
from satchel.errors import LabelMissing, Taken, VersionConflict, WrongArgument
from satchel.model import (
    UNSET,
    Excerpt,
    Item,
    ListChange,
    Page,
    Prompt,
    PromptDraft,
    PromptHeader,
    PromptPatch,
    PromptPosition,
    PromptQuery,
    PromptSummary,
    Scope,
    State,
    StoreChange,
    TagCount,
)
from satchel.services import history, recording, rules, texts
from satchel.services.projects import check_access, current, enter, find_within, read_batches
from satchel.storage import prompts as rows
from satchel.storage.database import Tx, Violation

_LONGEST_MADE_NAME = 60

# How much content a list reads: enough around a hit for nearly every excerpt and the longest query.
_BEFORE, _SIZE = 600, 2400

MOST_LABELS = 20  # of a prompt
_LABEL = "[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}"

PINNED = "pinned"  # the tag of prompts that people want to find quickly


def add(tx: Tx, scope: Scope, draft: PromptDraft, *, avoiding: str | None = None, renames: bool = False) -> Prompt:
    """Add a prompt; with arguments it is a template. A name made from the title differs from `avoiding`.

    A prompt without a title gets its name as the title, or the next free title made from it. With `renames`, a name or
    title that is taken also becomes the next free one.

    Raises:
        Taken: another prompt of the project has this title, or the given name.
    """
    draft = rules.clean_prompt(draft)
    rules.check_new(tx, "prompt", "title", draft.title)
    id = tx.new_id()
    title = str(draft.name if draft.title is UNSET else draft.title)
    titles = rules.list_free_titles(title, id) if renames or draft.title is UNSET else iter([title])
    if draft.name is None:
        made = make_name(title)
        names = rules.list_free_names(made if made and clock.parse_id(made) is None else f"prompt-{id[:8]}", id)
    else:
        names = rules.list_free_names(draft.name, id) if renames else iter([draft.name])
    prompt = _insert(tx, scope, id, draft, (name for name in names if name != avoiding), titles)
    _announce_list(tx, scope)
    _index(tx, scope, prompt)
    recording.add(tx, prompt)
    return prompt


def get(tx: Tx, scope: Scope, id: str) -> Prompt:
    """Return the whole prompt with an id."""
    return find_within(tx, scope, "prompt", rows.find, "id", id)


def get_by_name(tx: Tx, scope: Scope, name: str) -> Prompt:
    """Return the whole prompt with a name."""
    return find_within(tx, scope, "prompt", rows.find, "name", name)


def list_headers(tx: Tx, scope: Scope, *, limit: int = 2**31, after: int = 0) -> tuple[tuple[PromptHeader, ...], bool]:
    """Return the prompts numbered above `after` as MCP lists them, in order of creation, and whether there are more."""
    found = rows.headers(tx, current(tx, scope).number, after=after, limit=limit + 1)
    return tuple(found[:limit]), len(found) > limit


def iterate_headers(tx: Tx, scope: Scope, *, size: int) -> Iterator[Sequence[PromptHeader]]:
    """Yield batches of the prompts as MCP lists them."""
    number = current(tx, scope).number
    return read_batches(lambda after, limit: rows.headers(tx, number, after=after, limit=limit), size)


def iterate_whole(tx: Tx, scope: Scope, *, size: int) -> Iterator[Prompt]:
    """Yield the whole prompts of the project one by one, in order of creation; they are read in batches."""
    current(tx, scope)
    read = partial(rows.list_whole, tx, scope.project)
    return chain.from_iterable(read_batches(read, size))


def update(
    tx: Tx,
    scope: Scope,
    id: str,
    patch: PromptPatch,
    expected_version: int | None = None,
    *,
    renews_time: bool = False,
) -> Prompt:
    """Change a prompt; its name stays. An update without a difference makes no version, but may renew the time.

    Raises:
        Taken: another prompt of the project has this title.
        VersionConflict: the prompt has another version than expected.
    """
    patch = rules.clean("prompt", patch)
    before = find_within(tx, scope, "prompt", rows.find_to_change, "id", id)
    rules.check_new(tx, "prompt", "title", patch.title, before.title)
    if isinstance(patch.tags, ListChange):
        patch = replace(patch, tags=rules.clean_tags("prompt", rules.apply_changes(before.tags, patch.tags)))
    given = {name: value for name, value in asdict(patch).items() if value is not UNSET}
    given |= {name: tuple(given[name]) for name in ("tags", "arguments") if name in given}
    given["is_constant"] = before.is_constant if patch.arguments is UNSET else patch.is_constant and not patch.arguments
    if expected_version not in (None, before.version):
        raise VersionConflict("prompt", before.name, expected=expected_version or 0, actual=before.version)
    if replace(before, **given) == before and tx.restores is None:  # a restore is always recorded
        if not renews_time:
            return before
        now = clock.after(before.updated_at)
        rows.renew_time(tx, before.number, now)
        return replace(before, updated_at=now)
    try:
        renewed = rows.update(tx, before, patch, expected_version)
    except Violation as violation:
        raise Taken("prompt", "title", str(patch.title), scope) from violation
    if renewed is None:
        raise VersionConflict("prompt", before.name, expected=expected_version or 0, actual=before.version)
    if "tags" in given:
        rows.set_tags(tx, before.project, before.number, given["tags"])
    updated_at, version = renewed
    prompt = replace(before, **given, updated_at=updated_at, version=version)
    if patch.title is not UNSET or patch.description is not UNSET or patch.arguments is not UNSET:
        tx.changed(StoreChange("prompts", scope.project))
    if prompt.is_template and (patch.content is not UNSET or patch.arguments is not UNSET):
        rules.check_template(prompt.content)  # as stored: another call may have changed content or arguments
    _index(tx, scope, prompt)
    recording.update(tx, before, prompt)
    return prompt


def move(tx: Tx, scope: Scope, id: str, to: str, *, wanted: State | None = None, renames: bool = True) -> Prompt:
    """Move a prompt to another project; its versions, labels and uses stay with it.

    With `renames`, a name or title that is taken there becomes the next free one; `wanted` has others than the present.

    Raises:
        Taken: a prompt of that project has this name or title.
    """
    before = find_within(tx, scope, "prompt", rows.find_to_change, "id", id)
    there = enter(scope, to)
    project, name, title = current(tx, there).number, (wanted or before).name, str((wanted or before).title)
    if renames:
        names, titles = rules.list_free_names(name, id), rules.list_free_titles(title, id)
        name = rules.choose_free(names, lambda one: rows.find(tx, to, "name", one) is None)
        title = rules.choose_free(titles, lambda one: rows.find(tx, to, "title", one) is None)
    elif rows.find(tx, to, "name", name) is not None:
        raise Taken("prompt", "name", name, there)
    try:
        prompt = rows.move(tx, before, project, name, title)
    except Violation as violation:
        raise Taken("prompt", "title", title, there) from violation
    tx.changed(StoreChange("prompt", scope.project, key=before.name))
    for one in (scope, there):
        _announce_list(tx, one)
    _index(tx, there, prompt)
    recording.update(tx, before, prompt)
    return prompt


def delete(tx: Tx, scope: Scope, *ids: str, permanently: bool = False) -> None:
    """Delete prompts; they can be restored from the trash, unless they are removed permanently."""
    tx.settle()
    deleted = [find_within(tx, scope, "prompt", rows.mark_deleted, "id", id) for id in ids]
    for prompt in deleted:
        tx.changed(StoreChange("prompt", scope.project, key=prompt.name))
    recording.delete(tx, *deleted, permanently=permanently)
    # This comes after all revisions, because the full-text index flushes its pending rows to the disk before each.
    rows.leave_lists(tx, [prompt.number for prompt in deleted])
    _announce_list(tx, scope)


def restore(tx: Tx, scope: Scope, number: int) -> Prompt:
    """Restore a deleted prompt of the scope's project; a taken name or title becomes the next free one."""
    current(tx, scope)
    was = recording.check_deleted(rows.find_deleted(tx, number), "prompt")
    names, titles = rules.list_free_names(was.name, was.id), rules.list_free_titles(was.title, was.id)
    name = rules.choose_free(names, lambda one: rows.find(tx, scope.project, "name", one) is None)
    title = rules.choose_free(titles, lambda one: rows.find(tx, scope.project, "title", one) is None)
    prompt = recording.check_deleted(rows.restore(tx, was, name, title), "prompt")
    _announce_list(tx, scope)
    _index(tx, scope, prompt)
    recording.restore(tx, was, prompt)
    return prompt


def set_label(tx: Tx, scope: Scope, prompt: Prompt, label: str, version: int | None = None) -> int | None:
    """Give a version of a prompt a label, by default the newest version; return the version that had the label.

    Labels do not make a version, and the prompt keeps them while it is deleted.

    Raises:
        VersionMissing: history does not have this version.
        WrongArgument: the label has characters that are not allowed, or the prompt has too many labels.
    """
    known = _check_label(tx, prompt, label)
    if label not in known and len(known) >= MOST_LABELS:
        raise WrongArgument("label", "maxItems", limit=MOST_LABELS, value=label, kind="prompt")
    wanted = history.read_version_of(tx, scope, recording.of(prompt), version or prompt.version).version
    if known.get(label) != wanted:
        rows.set_label(tx, prompt.number, label, wanted)
        tx.changed(StoreChange("prompt", scope.project, key=prompt.name))
    return known.get(label)


def remove_label(tx: Tx, scope: Scope, prompt: Prompt, label: str) -> int:
    """Remove a label; return the version that had it.

    Raises:
        LabelMissing: the prompt has no such label.
        WrongArgument: the label has characters that are not allowed.
    """
    version = _find_label(prompt, label, _check_label(tx, prompt, label))
    rows.remove_label(tx, prompt.number, label)
    tx.changed(StoreChange("prompt", scope.project, key=prompt.name))
    return version


def _find_label(prompt: Prompt, label: str, known: Mapping[str, int]) -> int:
    if label not in known:
        raise LabelMissing(prompt.name, label, tuple(known))
    return known[label]


def _check_label(tx: Tx, prompt: Prompt, label: str) -> dict[str, int]:
    if re.fullmatch(_LABEL, label) is None:
        raise WrongArgument("label", "pattern", value=label, kind="prompt")
    return list_labels(tx, prompt)


def list_labels(tx: Tx, prompt: Prompt | Item) -> dict[str, int]:
    """Return the labels of a prompt with their versions; a prompt in the trash keeps its labels."""
    return rows.labels(tx, prompt.number)


def list_all_labels(tx: Tx, scope: Scope) -> dict[int, dict[str, int]]:
    """Return the labels of the prompts of the project with their versions, by the numbers of the prompts."""
    current(tx, scope)
    return rows.labels_in(tx, scope.project)


def read_labelled(tx: Tx, scope: Scope, prompt: Prompt, label: str) -> Prompt:
    """Return the version of a prompt that has a label, under the prompt's present name.

    Raises:
        LabelMissing: the prompt has no such label.
    """
    version = _find_label(prompt, label, list_labels(tx, prompt))
    old = history.read_version_of(tx, scope, recording.of(prompt), version)
    fields = {name: getattr(old.state, name) for name in ("title", "description", "tags", "arguments", "is_constant")}
    return replace(prompt, **fields, content=str(old.content), version=version, updated_at=old.updated_at, label=label)


def count_use(tx: Tx, prompt: Prompt) -> None:
    """Count a use of a prompt; this is no change, so it makes no version and notifies nobody."""
    rows.count_use(tx, prompt.project, prompt.number)


def list_counted(tx: Tx, scope: Scope, query: PromptQuery, *, limit: int, offset: int) -> Page:
    """Return the prompts that match a query, last updated first, beginning at an offset, and their total."""
    wanted = rules.clean_query("prompt", query)
    project = current(tx, scope).number
    numbers, total = rows.numbers_and_total(tx, project, wanted, limit=limit, offset=offset)
    return Page(_summarize(tx, numbers, wanted.text), total)


def list_page(
    tx: Tx, scope: Scope, query: PromptQuery, *, limit: int, after: PromptPosition | None = None
) -> tuple[tuple[PromptSummary, ...], bool]:
    """Return the prompts after a position that match a query, and whether there are more."""
    wanted = rules.clean_query("prompt", query)
    project = current(tx, scope).number
    numbers = rows.numbers(tx, project, wanted, limit + 1, after)
    return _summarize(tx, numbers[:limit], wanted.text), len(numbers) > limit


def list_everywhere(
    tx: Tx, where: Mapping[int, str], query: PromptQuery, *, limit: int, after: PromptPosition | None = None
) -> tuple[tuple[PromptSummary, ...], bool]:
    """Return what `list_page` returns for several projects, given by number with their names, in one order."""
    wanted = rules.clean_query("prompt", query)
    found = [number for project in where for number in rows.numbers(tx, project, wanted, limit + 1, after)]
    homes = dict(rows.sort_newest(tx, found, limit + 1, by_use=query.by_use))
    summaries = _summarize(tx, [*homes][:limit], wanted.text)
    return tuple(replace(one, project=where[homes[one.number]]) for one in summaries), len(homes) > limit


def list_tags_everywhere(tx: Tx, where: Mapping[int, str]) -> list[str]:
    """Return the tags of the prompts of several projects."""
    return rows.tags_of_projects(tx, [*where])


def position_of(prompt: PromptSummary) -> PromptPosition:
    """Return the position of a prompt in a list; the next page starts after it."""
    return PromptPosition(prompt.updated_at, prompt.number, prompt.uses)


def list_tags(tx: Tx, scope: Scope, limit: int = 2**31) -> list[TagCount]:
    """List the tags in use in the project by name; if there are too many, only the most frequent ones."""
    counts = rows.tag_counts(tx, current(tx, scope).number)
    frequent = sorted(counts, key=lambda tag: -tag.prompts)[:limit] if len(counts) > limit else counts
    return sorted(frequent, key=lambda tag: tag.name)


def list_matched_tags(tx: Tx, scope: Scope, tags: Sequence[str]) -> list[str]:
    """Return those of the given tags that prompts of the project have, in the given order and without repeats."""
    folded = dict.fromkeys(rules.fold_tag(tag) for tag in tags if rules.is_storable(tag))
    known = rows.tags_in_use(tx, current(tx, scope).number, list(folded))
    return [tag for tag in folded if tag in known]


def list_pinned(tx: Tx, scope: Scope, limit: int) -> list[tuple[str, str, str]]:
    """Return project, name and title of the pinned prompts in all projects that a scope may enter."""
    return rows.tagged_anywhere(tx, PINNED, scope.projects, limit)


def make_name(title: str) -> str:
    """Return a title as lower-case ASCII letters, digits and hyphens; empty if it has none of these."""
    return re.sub("[^A-Za-z0-9]+", "-", rules.drop_accents(title.casefold())).strip("-")[:_LONGEST_MADE_NAME]


def _insert(tx: Tx, scope: Scope, id: str, draft: PromptDraft, names: Iterator[str], titles: Iterator[str]) -> Prompt:
    """Insert a prompt with the first free one of some names, and the first free one of some titles."""
    check_access(scope)
    if not rules.is_storable(scope.project):
        current(tx, scope)  # the project is missing
    name, title = next(names), next(titles)
    while (prompt := rows.add(tx, scope.project, id, name, replace(draft, title=title))) is None:
        current(tx, scope)  # raises, or creates the missing project
        if rows.find(tx, scope.project, "name", name) is not None:
            name = _next(names, scope, "name", name)
        elif rows.find(tx, scope.project, "title", title) is not None:
            title = _next(titles, scope, "title", title)
    return prompt


def _next(candidates: Iterator[str], scope: Scope, field: str, taken: str) -> str:
    following = next(candidates, None)
    if following is None:
        raise Taken("prompt", field, taken, scope)
    return following


def _index(tx: Tx, scope: Scope, prompt: Prompt) -> None:
    rows.set_text(tx, prompt.number, title=rules.fold(prompt.title), content=rules.fold(prompt.content))
    tx.changed(StoreChange("prompt", scope.project, key=prompt.name))


def _announce_list(tx: Tx, scope: Scope) -> None:
    tx.changed(StoreChange("prompts", scope.project))
    tx.changed(StoreChange("project", scope.project))


def _summarize(tx: Tx, numbers: Sequence[int], folded: str = "") -> tuple[PromptSummary, ...]:
    if not numbers:
        return ()
    tags = rows.tags_of(tx, numbers)
    return tuple(
        PromptSummary(**found.columns, excerpt=_excerpt(tx, found, folded), tags=tags.get(found.number, ()))
        for found in rows.slices(tx, numbers, folded, before=_BEFORE, size=_SIZE)
    )


def _excerpt(tx: Tx, found: rows.PromptSlice, folded: str) -> Excerpt:
    has_end, start = len(found.text) < _SIZE, found.hit - found.start
    if not folded or found.hit < 0:
        excerpt = texts.excerpt_beginning(found.text, is_whole=has_end)
    elif not found.has_same_length or rules.fold(found.text[start : start + len(folded)]) != folded:
        excerpt = None  # the hit is elsewhere than in the folded content
    else:
        excerpt = texts.excerpt_around(
            found.text, start, start + len(folded), has_start=found.start == 0, has_end=has_end
        )
    return excerpt or _excerpt_of_whole(rows.content(tx, found.number), found.hit, folded)


def _excerpt_of_whole(content: str, hit: int, folded: str) -> Excerpt:
    if not folded or hit < 0:
        excerpt = texts.excerpt_beginning(content, is_whole=True)
    else:
        start, _ = texts.unfold_offset(content, hit)
        _, end = texts.unfold_offset(content, hit + len(folded) - 1)
        excerpt = texts.excerpt_around(content, start, end, has_start=True, has_end=True)
    assert excerpt is not None, "the whole of a text is always enough"
    return excerpt
