"""Hooks of clients: commands that a client runs when a session begins, or is compacted, whose output its model reads.

A hook of ours runs `satchel catch-up --brief --hook CLIENT`; other hooks of a file stay as they are.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from satchel.clients import files, jsonc, merging
from satchel.clients.changes import PROJECT_MODE, SATCHEL, USER_MODE, Change, make_diff
from satchel.clients.entries import CannotInstall
from satchel.clients.files import UnusableFile
from satchel.clients.jsonc import WrongSyntax
from satchel.clients.places import Machine, Scope
from satchel.clients.table import COMMAND, Client, Hook

Path = tuple[str | int, ...]  # the position of a value in a document


def write_command(client: Client, command: Sequence[str], variables: Mapping[str, str], project: str | None) -> str:
    """Return the command of a hook as a line for a shell."""
    set_variables = ["env", *(f"{name}={value}" for name, value in variables.items())] if variables else []
    more = ["--project", project] if project is not None else []
    line = shlex.join([*set_variables, *command, "catch-up", "--brief", "--hook", client.name, *more])
    folder = find_hook(client).folder
    return f'cd "${folder}" && {line}' if folder else line


def find_program(command: str) -> str:
    """Return the program that one of our commands starts."""
    words = shlex.split(command)
    words = words[words.index("&&") + 1 :] if "&&" in words else words
    return next((word for word in words if word != "env" and "=" not in word), "")


def plan_install(client: Client, path: str, command: str, scope: Scope) -> Change | None:
    """Plan the change that sets our hooks in a client's file; None if it is already there.

    Raises:
        UnusableFile: the file cannot be read, or cannot be changed safely.
    """
    hook = find_hook(client)
    wanted = _fill(hook.events, command)
    before = files.read(path)
    value = _load(path, before)
    ours = _find_ours(value)
    if len(ours) == len(wanted) and {place[1]: _get(value, place[:3]) for place in ours} == wanted:
        return None
    text, expected = _remove_ours(path, before or "", value)
    for key, one in hook.frame.items():
        if key not in expected:
            text, expected = jsonc.set_member(text, [key], one), {**expected, key: one}
    for event, entry in wanted.items():
        with _explaining(path):
            text = jsonc.append_item(text, ["hooks", event], entry)
        expected.setdefault("hooks", {}).setdefault(event, []).append(entry)
    return _change(path, before, text, expected, wanted, scope)


def plan_uninstall(client: Client, path: str, scope: Scope) -> Change | None:
    """Plan the change that removes our hooks from a client's file; None if it has none."""
    hook, before = find_hook(client), files.read(path)
    value = _load(path, before)
    if before is None or not _find_ours(value):
        return None
    after, expected = _remove_ours(path, before, value)
    if after == json.dumps(hook.frame, indent=2) + "\n":
        after, expected = "", {}  # nothing else is in the file
    return _change(path, before, after, expected, dict(hook.events), scope)


def find_hook(client: Client) -> Hook:
    """Return the form of a client's hooks.

    Raises:
        CannotInstall: the client documents no hook whose output its model reads.
    """
    if client.hook is None:
        raise CannotInstall(
            f"{client.title} documents no hook that could begin a session with catch_up. Leave out --hooks; --rule "
            "tells its agents to call catch_up themselves."
        )
    return client.hook


def list_commands(client: Client, machine: Machine, scope: Scope) -> tuple[str, list[str]]:
    """Return the path of a client's file with hooks, and the commands of our hooks in it."""
    path = machine.find_hooks(client, scope)
    if path is None:
        return "", []
    value = _load(path, files.read(path))
    return path, [_get(value, place)[key] for place in _find_ours(value) for key in _KEYS if key in _get(value, place)]


def write_snippet(client: Client, command: str) -> str:
    """Return the text of a file that has only our hooks."""
    hook = find_hook(client)
    value = {**hook.frame, "hooks": {event: [_fill(entry, command)] for event, entry in hook.events.items()}}
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write_answer(client: Client, text: str) -> str:
    """Return the output of our hook: a text for the client's model, in the form that the client reads."""
    hook = find_hook(client)
    if not hook.answer:
        return text
    value: Any = text
    for key in reversed(hook.answer if text else ()):
        value = {key: value}
    if "hookSpecificOutput" in value:
        value["hookSpecificOutput"]["hookEventName"] = next(iter(hook.events))
    return json.dumps(value or {}, ensure_ascii=False) + "\n"


# -- our hooks in a document --------------------------------------------------------------------------------------

_KEYS = ("command", "bash")  # the members that can hold the command of a hook


def _is_ours(entry: Any) -> bool:
    line = next((entry[key] for key in _KEYS if isinstance(entry.get(key), str)), "") if isinstance(entry, dict) else ""
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    if not {"catch-up", "--brief", "--hook"} <= {*words}:
        return False
    return any(re.fullmatch(SATCHEL, word) for word in words[: words.index("catch-up")])


def _find_ours(value: dict[str, Any]) -> list[Path]:
    """Return the positions of our hooks; some clients have them in groups with a matcher."""
    found: list[Path] = []
    events = value.get("hooks")
    for event, entries in events.items() if isinstance(events, dict) else ():
        for place, entry in enumerate(entries if isinstance(entries, list) else ()):
            inside = entry.get("hooks") if isinstance(entry, dict) else None
            if _is_ours(entry):
                found.append(("hooks", event, place))
            elif isinstance(inside, list):
                found += [("hooks", event, place, "hooks", inner) for inner, one in enumerate(inside) if _is_ours(one)]
    return found


def _remove_ours(path: str, text: str, value: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Remove our hooks, and the groups, lists and objects that become empty; return the text and its value."""
    value = deepcopy(value)
    while ours := _find_ours(value):
        place = ours[-1]
        while (len(place) > 1 and len(_get(value, place[:-1])) == 1) or place[3:] == ("hooks",):
            place = place[:-1]
        with _explaining(path):
            text = jsonc.remove_member(text, place)
        del _get(value, place[:-1])[place[-1]]
    return text, value


def _get(value: Any, place: Path) -> Any:
    for key in place:
        value = value[key]
    return value


def _fill(shape: Any, command: str) -> Any:
    if isinstance(shape, dict):
        return {key: _fill(one, command) for key, one in shape.items()}
    if isinstance(shape, list):
        return [_fill(one, command) for one in shape]
    return command if shape == COMMAND else shape


# -- files --------------------------------------------------------------------------------------------------------


@contextmanager
def _explaining(path: str) -> Iterator[None]:
    """Name the file in an error about its syntax."""
    try:
        yield
    except (WrongSyntax, RecursionError) as error:
        raise UnusableFile(merging.explain(path, error)) from error


def _load(path: str, text: str | None) -> dict[str, Any]:
    with _explaining(path):
        value = jsonc.load(text or "")
        if not isinstance(value, dict):
            raise WrongSyntax(text or "", 0, "the document should be an object")
    return value


def _change(
    path: str, before: str | None, after: str, expected: dict[str, Any], shown: dict[str, Any], scope: Scope
) -> Change:
    """Return the change of a file, if its effect is the intended one and no other."""
    if _load(path, after) != expected:
        raise UnusableFile(
            f"{path} is written in a way that Satchel cannot change safely. Nothing was changed; see --print for the "
            "lines to add by hand."
        )
    mode = USER_MODE if scope == "user" else PROJECT_MODE
    diff = make_diff(path, before, after, [shown])
    return Change(path=path, before=before, after=after, diff=diff, mode=mode, is_removed_if_empty=True)
