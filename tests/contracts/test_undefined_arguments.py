"""A missing argument is undefined in every contract that fills in templates."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.satchel import answered, make_library, ok, refusal
from tests.support.stdio import NEWEST, Client, plain

NAMES = ["items", "values", "update", "range", "dict", "namespace", "self", "loop", "who"]
EACH = (
    "N=[{{ N }}]{{ N|default('-') }}{{ N|upper }}{{ N.split(',') }}{{ N.a.b }}{% if N %}yes{% else %}no{% endif %}"
    "{{ N is defined }}{{ N + '!' }}{{ N|int }}{% for x in N %}{{ x }}{% endfor %}\n"
)
TEMPLATE = "".join(EACH.replace("N", name) for name in NAMES)
NONE_GIVEN = "".join(f"{name}=[]-['']noFalse!0\n" for name in NAMES)
ALL_GIVEN = "".join(f"{name}=[7]77['7']yesTrue7!77\n" for name in NAMES)
GIVEN = dict.fromkeys(NAMES, "7")
CALLS = "{% set n = namespace(k=5) %}{{ range(3)|list }}{{ dict(a=1) }}{{ n.k }}[{{ range }}{{ dict }}{{ namespace }}]"
CALLED = "[0, 1, 2]{'a': 1}5[]"
HACK = "{{ who }}\n{{ update({'who': 'hacked'}) }}{{ who }}"


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    root = tmp_path / "libraries"
    prompts = {"all": (TEMPLATE, NAMES), "calls": (CALLS, NAMES), "hack": (HACK, ["who", "update"])}
    make_library(root, "lib", prompts)
    return root


def get_text(client: Client, prompt: str, arguments: dict[str, str] | None = None) -> str:
    answer = answered(client, "prompts/get", {"name": prompt, "arguments": arguments or {}})
    [message] = plain(answer["result"])["messages"]
    return str(message["content"]["text"])


def check_twig(client: Client) -> None:
    assert get_text(client, "lib:all") == NONE_GIVEN
    assert get_text(client, "lib:all", GIVEN) == ALL_GIVEN
    assert get_text(client, "lib:calls") == CALLED
    assert answered(client, "prompts/get", {"name": "lib:hack", "arguments": {"who": "kept"}})["error"] == {
        "code": -32602,
        "message": "Invalid params",
        "data": {"details": "Error rendering prompt template at line 2: there is no function update"},
    }


def test_in_twig(store: str, shelf: Path, serve: Callable[..., Client]) -> None:
    check_twig(serve("twig", store, NEWEST, "--libraries", str(shelf)))


def test_in_satchel(store: str, shelf: Path, serve: Callable[..., Client]) -> None:
    client = serve("satchel", store, NEWEST, "--libraries", str(shelf))
    for title, content in (("all", TEMPLATE), ("calls", CALLS), ("hack", HACK)):
        ok(client, "add_prompt", title=title, content=content, arguments=[{"name": name} for name in NAMES])
    for place in ("", "lib:"):
        for arguments, expected in (({}, NONE_GIVEN), (GIVEN, ALL_GIVEN)):
            assert ok(client, "render_prompt", prompt=f"{place}all", arguments=arguments)["text"] == expected
            assert get_text(client, f"{place}all", arguments) == expected
        assert ok(client, "render_prompt", prompt=f"{place}calls")["text"] == CALLED
        assert get_text(client, f"{place}calls") == CALLED
        error = refusal(client, "render_prompt", prompt=f"{place}hack", arguments={"who": "kept"})
        assert error["message"] == f"Prompt '{place}hack' cannot be filled in at line 2: there is no function update."
