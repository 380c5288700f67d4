"""Prompts: list, read, add, edit with the difference before saving, delete."""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from satchel.errors import SatchelError, VersionConflict, WrongArgument
from satchel.library.render import RenderFailed
from satchel.model import Argument, Prompt, PromptDraft, PromptPatch, PromptPosition, PromptQuery
from satchel.page import words
from satchel.page.versions import Conflict, find_conflict
from satchel.page.visit import Answer, Redirect, Shown, Visit, link
from satchel.services import history, layers, links, prompts, templates
from satchel.services.links import Link
from satchel.storage.database import Tx

_PAGE = 50
_TAGS = 40  # the limit of tags to filter by


class TemplateCheck(Struct, frozen=True):
    """The arguments that a template declares, or the problem that makes it invalid."""

    arguments: tuple[Argument, ...] = ()
    problem: str = ""


def show_list(visit: Visit) -> Answer:
    """Show the prompts of a project, filtered by text and tags, last changed first."""
    tags = [tag for tag in visit.query.get("tag", "").split(",") if tag]
    query = PromptQuery(text=visit.query.get("q", ""), tags=tags, needs_all_tags=True)
    with visit.read() as tx:
        after = _read_position(visit.query.get("after", ""))
        found, has_more = prompts.list_page(tx, visit.scope, query, limit=_PAGE, after=after)
        counts = prompts.list_tags(tx, visit.scope, _TAGS)
    last = f"{found[-1].updated_at},{found[-1].number}" if found and has_more else ""
    values = {"found": found, "counts": counts, "tags": tags, "text": query.text, "next": last}
    return Shown("prompts.html", values)


def show(visit: Visit) -> Answer:
    """Show one prompt."""
    with visit.read() as tx:
        prompt = prompts.get_by_name(tx, visit.scope, visit.path["name"])
        to, back = links.of(tx, visit.scope, "prompt", prompt)
        labels = prompts.list_labels(tx, prompt)
        _, revisions, _ = history.list_versions(tx, visit.scope, f"satchel://prompt/{prompt.name}", limit=1)
    values = {
        "prompt": prompt,
        "is_pinned": prompts.PINNED in prompt.tags,
        "labels": labels,
        "links": to,
        "referrers": back,
        "revision": revisions[0] if revisions else None,
    }
    return Shown("prompt.html", values)


def show_new(visit: Visit) -> Answer:
    """Show the form for a new prompt."""
    visit.check_writes()
    return _show_form(visit, None)


def show_edit(visit: Visit) -> Answer:
    """Show the form for an existing prompt."""
    visit.check_writes()
    prompt = _find(visit)
    version = visit.number("version")  # where an open form started; it asks whether this is still the newest
    newer = _find_conflict(visit, prompt, version) if version not in (0, prompt.version) else None
    return _show_form(visit, prompt, newer=newer)


def add(visit: Visit) -> Answer:
    """Add a prompt."""
    content = visit.field("content")
    if visit.field("do") == "check":
        return _show_form(visit, None)
    try:
        draft = PromptDraft(
            title=visit.field("title"),
            content=content,
            description=visit.field("description").strip() or None,
            tags=_read_tags(visit),
            **_settle(visit, content, None),
        )
        prompt = visit.write(lambda tx: prompts.add(tx, visit.scope, draft))
    except (SatchelError, RenderFailed) as error:
        return _show_form(visit, None, error=words.explain(error))
    return Redirect(_link(visit, prompt), f"Added “{prompt.title}”.", can_undo=True)


def save(visit: Visit) -> Answer:
    """Save a prompt, or first show the difference; if others changed it meanwhile, show the old and both new texts."""
    prompt = _find(visit)
    content, version = visit.field("content"), visit.number("version")
    if visit.field("do") == "check":
        return _show_form(visit, prompt)
    if visit.field("do") == "compare":
        return _show_form(visit, prompt, compared=(prompt.content, content))
    try:
        patch = PromptPatch(
            title=visit.field("title"),
            content=content,
            description=visit.field("description").strip() or None,
            tags=_read_tags(visit),
            expires=visit.field("expires").strip() or None,
            **_settle(visit, content, prompt),
        )

        def change(tx: Tx) -> Prompt:
            name = layers.find_replacement(tx, visit.scope, prompt, visit.field("replaced_by").strip() or None)
            return prompts.update(tx, visit.scope, prompt.id, replace(patch, replaced_by=name), version)

        saved = visit.write(change)
    except VersionConflict:
        return _show_form(visit, prompt, conflict=_find_conflict(visit, prompt, version))
    except (SatchelError, RenderFailed) as error:
        return _show_form(visit, prompt, error=words.explain(error))
    return Redirect(_link(visit, saved), f"Saved “{saved.title}”.", can_undo=True)


def delete(visit: Visit) -> Answer:
    """Move a prompt to the trash."""
    prompt = _find(visit)

    def run(tx: Tx) -> list[Link]:
        referrers = links.referrers(tx, visit.scope, "prompt", prompt)
        prompts.delete(tx, visit.scope, prompt.id)
        return referrers

    said = words.describe_deleted(prompt.title, visit.write(run))
    return Redirect(link("p", visit.scope.project, "prompts"), said, can_undo=True)


def pin(visit: Visit) -> Answer:
    """Pin a prompt to the first page, or unpin it; a pin is a tag, which agents can set, too."""
    prompt = _find(visit)
    tags = [tag for tag in prompt.tags if tag != prompts.PINNED]
    is_pinned = len(tags) < len(prompt.tags)
    patch = PromptPatch(tags=tags if is_pinned else [*tags, prompts.PINNED])
    visit.write(lambda tx: prompts.update(tx, visit.scope, prompt.id, patch, prompt.version))
    said = "no longer on the first page" if is_pinned else "on the first page"
    return Redirect(_link(visit, prompt), f"“{prompt.title}” is {said}.", can_undo=True)


def label(visit: Visit) -> Answer:
    """Give a version of a prompt a label, or remove a label."""
    prompt = _find(visit)
    name, version = visit.field("label").strip(), visit.number("version")
    if visit.field("do") == "remove":
        visit.write(lambda tx: prompts.remove_label(tx, visit.scope, prompt, name))
        return Redirect(_link(visit, prompt), f"Removed label {name}.")
    visit.write(lambda tx: prompts.set_label(tx, visit.scope, prompt, name, version))
    return Redirect(_link(visit, prompt), f"Label {name} is on version {version or prompt.version} now.")


def _find(visit: Visit) -> Prompt:
    with visit.read() as tx:
        return prompts.get_by_name(tx, visit.scope, visit.path["name"])


def _show_form(visit: Visit, prompt: Prompt | None, **more: Any) -> Shown:
    """Show the form; the caller's input takes precedence over the stored values."""
    stored = {
        "title": prompt.title if prompt else visit.query.get("title", ""),
        "content": prompt.content if prompt else "",
        "description": (prompt.description or "") if prompt else "",
        "tags": " ".join(prompt.tags) if prompt else "",
        "expires": (prompt.expires or "") if prompt else "",
        "replaced_by": (prompt.replaced_by or "") if prompt else "",
        "version": str(prompt.version) if prompt else "",
    }
    fields = {name: visit.field(name, value) for name, value in stored.items()}
    if prompt is not None and "conflict" in more:
        fields["version"] = str(prompt.version)  # saving again replaces the other version, which is shown
    check = _check(visit, fields["content"], prompt)
    values = {"prompt": prompt, "fields": fields, "check": check, "error": ""}
    return Shown("prompt_form.html", values | {"compared": None, "conflict": None, "newer": None} | more)


def _check(visit: Visit, content: str, prompt: Prompt | None) -> TemplateCheck:
    """Return the arguments that `content` would have after saving, or the problem that makes it invalid."""
    try:
        return TemplateCheck(_settle(visit, content, prompt)["arguments"])
    except (WrongArgument, RenderFailed) as failure:
        return TemplateCheck(problem=words.explain(failure))


def _settle(visit: Visit, content: str, prompt: Prompt | None) -> dict[str, Any]:
    """Return the fields of a draft or patch for the arguments, from the form or the stored prompt; none for plain text.

    Raises:
        RenderFailed: the template cannot be parsed.
        WrongArgument: what it includes does not exist or cannot be included.
    """
    included: templates.Included = {}
    if templates.includes(content):
        name = prompt.name if prompt else prompts.make_name(visit.field("title"))
        with visit.read() as tx:
            included = templates.collect_all(tx, visit.scope, [(name, content)], are_new=prompt is None)
    check = visit.server.libraries.renderer.check
    checked = templates.check(lambda text, parts: check(text, None, parts), [content], included)
    is_plain = prompt is not None and not prompt.is_template and templates.includes(prompt.content)
    settled = templates.settle(checked, content, None, is_plain=is_plain)
    if settled.failure is not None:
        raise settled.failure
    before = {one.name: one for one in prompt.arguments} if prompt else {}
    arguments = tuple(_read_argument(visit, before.get(one.name, one)) for one in settled.arguments)
    return {"arguments": arguments, "is_constant": settled.is_constant}


def _read_argument(visit: Visit, argument: Argument) -> Argument:
    """Return an argument with the changes that the form makes; unchanged if the form does not have it."""
    field = f"argument.{argument.name}"
    if f"{field}.description" not in visit.form:
        return argument
    values = [value.strip() for value in visit.field(f"{field}.values").split(",")]
    return Argument(
        argument.name,
        visit.field(f"{field}.description").strip() or None,
        bool(visit.field(f"{field}.required")),
        tuple(value for value in values if value),
        bool(visit.field(f"{field}.open")),
    )


def _find_conflict(visit: Visit, prompt: Prompt, version: int) -> Conflict:
    return find_conflict(visit, f"satchel://prompt/{prompt.name}", prompt.content, version)


def _read_tags(visit: Visit) -> list[str]:
    return [tag for tag in visit.field("tags").replace(",", " ").split() if tag]


def _read_position(text: str) -> PromptPosition | None:
    moment, _, number = text.partition(",")
    if not text:
        return None
    if not number.isdigit():
        raise WrongArgument("after", "format", value=text)
    return PromptPosition(moment, int(number[:18]))


def _link(visit: Visit, prompt: Prompt) -> str:
    return link("p", visit.scope.project, "prompts", prompt.name)
