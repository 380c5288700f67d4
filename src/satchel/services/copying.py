"""Copies prompts and resources to other projects, with everything that they have."""

from collections.abc import Callable, Iterator
from itertools import chain, count

from msgspec import Struct

from satchel.model import Prompt, PromptDraft, Resource, ResourceDraft, Scope
from satchel.services import projects, prompts, resources, rules
from satchel.storage import prompts as prompt_rows
from satchel.storage import resources as resource_rows
from satchel.storage.database import Tx


class Copied(Struct, frozen=True):
    """A copy, and what is different there, in sentences."""

    item: Prompt | Resource
    notes: tuple[str, ...] = ()


def copy_prompt(tx: Tx, scope: Scope, prompt: Prompt, to: str) -> Copied:
    """Copy a prompt to a project, under the next free name and title where its own are taken.

    Raises:
        NotFound, Forbidden: as `projects.current`, about the project.
    """
    there = projects.enter(scope, to)
    projects.current(tx, there)
    name = _find_free(_names(prompt.name), lambda one: prompt_rows.find(tx, to, "name", one) is None)
    title = _find_free(_titles(prompt.title), lambda one: prompt_rows.find(tx, to, "title", one) is None)
    draft = PromptDraft(
        name=name,
        title=title,
        content=prompt.content,
        description=prompt.description,
        tags=prompt.tags,
        arguments=prompt.arguments,
    )
    notes = _tell("name", prompt.name, name), _tell("title", prompt.title, title)
    return Copied(prompts.add(tx, there, draft), tuple(filter(None, notes)))


def copy_resource(tx: Tx, scope: Scope, resource: Resource, to: str) -> Copied:
    """Copy a resource to a project, under the next free name and URI where its own are taken.

    Raises:
        NotFound, Forbidden: as `copy_prompt`.
    """
    there = projects.enter(scope, to)
    projects.current(tx, there)
    assert resource.content is not None, "a resource without its content cannot be copied"
    name = _find_free(_names(resource.name), lambda one: resource_rows.find(tx, to, "name", one) is None)
    wanted = rules.make_own_uri(name) if rules.is_own_uri(resource.uri) else resource.uri
    uri = _find_free(_names(wanted, rules.MAX_URI_BYTES), lambda one: resource_rows.find(tx, to, "uri", one) is None)
    draft = ResourceDraft(
        name=name,
        uri=uri,
        content=resource.content,
        mime_type=resource.mime_type,
        description=resource.description,
    )
    notes = _tell("name", resource.name, name), _tell("URI", wanted, uri)
    return Copied(resources.add(tx, there, draft), tuple(filter(None, notes)))


def _names(name: str, longest: int = rules.MAX_NAME) -> Iterator[str]:
    return chain([name], (f"{name[: longest - 7]}-{number}" for number in count(2)))


def _titles(title: str) -> Iterator[str]:
    return chain([title], (f"{title[: rules.MAX_TITLE - 9]} ({number})" for number in count(2)))


def _find_free(candidates: Iterator[str], is_free: Callable[[str], bool]) -> str:
    return next(filter(is_free, candidates))


def _tell(what: str, wanted: str, got: str) -> str:
    return "" if wanted == got else f"The {what} {wanted} is taken there; the copy has {got}."
