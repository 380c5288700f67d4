"""Values that complete a half-typed argument of a prompt or of a resource template."""

from collections.abc import Iterable
from typing import Any

from satchel.contracts.contract import Context, Result
from satchel.contracts.satchel.pages import PROJECT_URI, PROMPT_URI, TASK_URI
from satchel.contracts.satchel.prompt_methods import offers_start_task
from satchel.contracts.satchel.rendering import START_TASK, find_prompt, history_key
from satchel.protocol import invalid_params
from satchel.services import argument_history, completion
from satchel.services.completion import Completion

_MOST = 100


def answer_completion(context: Context, params: dict[str, Any]) -> Result:
    """Answer completion/complete."""
    reference, argument, text = params["ref"], params["argument"]["name"], params["argument"]["value"]
    if reference["type"] == "ref/resource":
        found = _complete_template(context, reference["uri"], argument, text)
    else:
        found = _complete_prompt(context, reference["name"], argument, text)
    return {"completion": {"values": list(found.values), "hasMore": found.has_more}}


def _complete_template(context: Context, uri: str, argument: str, text: str) -> Completion:
    if (uri, argument) == (f"{PROMPT_URI}{{name}}", "name"):
        stored = completion.prompt_names(context.tx, context.scope, text)
        from_libraries = _match((name for name, _ in context.libraries.catalog.view), text)
        return _merge(stored, Completion(from_libraries, False))
    if (uri, argument) == (f"{TASK_URI}{{number}}", "number"):
        return completion.open_tasks(context.tx, context.scope, text)
    if (uri, argument) == (f"{PROJECT_URI}{{name}}", "name"):
        return completion.projects(context.tx, context.scope, text)
    raise invalid_params(f"There is no resource template {uri} with an argument {argument}")


def _complete_prompt(context: Context, name: str, argument: str, text: str) -> Completion:
    """The values that were declared for an argument, then those given before, then those that its name implies."""
    if name == START_TASK and offers_start_task(context):
        if argument != "task":
            raise invalid_params(f"Prompt '{name}' has no argument {argument}")
        return completion.open_tasks(context.tx, context.scope, text)
    found = find_prompt(context, name)
    declared = next((one for one in found.arguments if one.name == argument), None)
    if declared is None:
        raise invalid_params(f"Prompt '{name}' has no argument {argument}")
    used = argument_history.recall(context.tx, context.scope, history_key(found, context.scope), argument, text)
    if argument == "project" and context.scope.projects is not None:
        used = tuple(name for name in used if name in context.scope.projects)
    known = Completion((*_match(declared.values, text), *used), False)
    if argument == "project":
        return _merge(known, completion.projects(context.tx, context.scope, text))
    if argument in ("tag", "tags"):
        return _merge(known, completion.prompt_tags(context.tx, context.scope, text))
    return _merge(known, Completion((), False))


def _match(names: Iterable[str], text: str) -> tuple[str, ...]:
    """The names that start with a text, then those that contain it, ignoring case."""
    folded = text.casefold()
    hits = [name for name in names if folded in name.casefold()]
    return tuple(sorted(hits, key=lambda name: not name.casefold().startswith(folded)))


def _merge(first: Completion, second: Completion) -> Completion:
    """Both without repeats, cut off at the number that MCP allows."""
    both = tuple(dict.fromkeys((*first.values, *second.values)))
    return Completion(both[:_MOST], first.has_more or second.has_more or len(both) > _MOST)
