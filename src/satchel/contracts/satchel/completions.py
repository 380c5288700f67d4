"""What a half-typed argument may become."""

from collections.abc import Iterable
from typing import Any

from satchel.contracts.contract import Context, Result
from satchel.contracts.satchel.methods import starts_tasks, unavailable
from satchel.contracts.satchel.rendering import START_TASK, arguments_of, memory_of, stored_or_library
from satchel.contracts.satchel.uris import PROJECT_URI, PROMPT_URI, TASK_URI
from satchel.errors import Forbidden, NotFound
from satchel.protocol import invalid_params
from satchel.services import argument_history, completion

_MOST = 100


def complete(context: Context, params: dict[str, Any]) -> Result:
    reference, argument, text = params["ref"], params["argument"]["name"], params["argument"]["value"]
    try:
        if reference["type"] == "ref/resource":
            found = of_template(context, reference["uri"], argument, text)
        else:
            found = of_prompt(context, reference["name"], argument, text)
    except (NotFound, Forbidden) as missing:
        unavailable(missing)
    return {"completion": {"values": list(found.values), "hasMore": found.has_more}}


def of_template(context: Context, uri: str, argument: str, text: str) -> completion.Completion:
    """The names that a resource template can be filled in with."""
    if (uri, argument) == (f"{PROMPT_URI}{{name}}", "name"):
        stored = completion.prompt_names(context.tx, context.scope, text)
        shelf = matching((name for name, _ in context.libraries.catalog.view), text)
        return joined(stored, shelf)
    if (uri, argument) == (f"{TASK_URI}{{number}}", "number"):
        return completion.open_tasks(context.tx, context.scope, text)
    if (uri, argument) == (f"{PROJECT_URI}{{name}}", "name"):
        return completion.projects(context.tx, context.scope, text)
    raise invalid_params(f"There is no resource template {uri} with an argument {argument}")


def of_prompt(context: Context, name: str, argument: str, text: str) -> completion.Completion:
    """The values that were declared for an argument, then those it had before, then what its name says it is."""
    if name == START_TASK and starts_tasks(context):
        if argument != "task":
            raise invalid_params(f"Prompt '{name}' has no argument {argument}")
        return completion.open_tasks(context.tx, context.scope, text)
    found = stored_or_library(context, name)
    declared = next((one for one in arguments_of(found) if one.name == argument), None)
    if declared is None:
        raise invalid_params(f"Prompt '{name}' has no argument {argument}")
    used = argument_history.recall(context.tx, context.scope, memory_of(found, context.scope), argument, text)
    if argument == "project" and context.scope.projects is not None:
        used = tuple(name for name in used if name in context.scope.projects)
    known = completion.Completion((*matching(declared.values, text), *used), False)
    if argument == "project":
        return joined(known, completion.projects(context.tx, context.scope, text))
    if argument in ("tag", "tags"):
        return joined(known, completion.prompt_tags(context.tx, context.scope, text))
    return joined(known, ())


def matching(names: Iterable[str], text: str) -> tuple[str, ...]:
    """The names that start with a text, then those that contain it, whatever their case."""
    folded = text.casefold()
    hits = [name for name in names if folded in name.casefold()]
    return tuple(sorted(hits, key=lambda name: not name.casefold().startswith(folded)))


def joined(first: completion.Completion, second: completion.Completion | tuple[str, ...]) -> completion.Completion:
    """Both, without repeats, as far as there is room."""
    more = second if isinstance(second, tuple) else second.values
    both = tuple(dict.fromkeys((*first.values, *more)))
    has_more = first.has_more or (not isinstance(second, tuple) and second.has_more) or len(both) > _MOST
    return completion.Completion(both[:_MOST], has_more)
