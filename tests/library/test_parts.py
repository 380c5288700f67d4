"""Templates that include and extend files of their own library, and prompts of several messages."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from satchel.library import watch
from satchel.library.catalog import Libraries
from satchel.library.render import RenderFailed
from satchel.model import StoreChange
from tests.cli.test_library import satchel
from tests.contracts.test_twig import write
from tests.support.in_process import InProcess
from tests.support.process import eventually
from tests.support.stdio import Client

MANIFEST = "[prompts.p]\narguments = [{ name = 'who' }, { name = 'tone' }]\n"


def fill(root: Path, name: str = "lib:p", **values: str) -> str:
    libraries = Libraries([str(root)], is_quiet=True)
    try:
        found = libraries.find(name)
        assert found is not None, libraries.catalog.problems
        return libraries.render(*found, values)
    finally:
        libraries.renderer.close()


def fail(root: Path) -> tuple[str, int | None]:
    with pytest.raises(RenderFailed) as failure:
        fill(root, who="Ann")
    return failure.value.what, failure.value.line


def add(library: Path, **files: str) -> None:
    """Write files; `__` in a name is a folder."""
    for name, text in files.items():
        path = library / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_template_takes_parts_from_files_of_its_library(tmp_path: Path) -> None:
    text = """{% extends "../parts/letter.md" %}
{% block body %}{% for one in [1, 2] %}{% include "row.md" %}{% endfor %}{{ m.sign(who) }}{% endblock %}
{% import "parts/macros.md" as m %}"""
    library = write(tmp_path, "lib", MANIFEST, p=text, row="{{ one }} for {{ who }}\n")
    add(library, parts__letter="Dear {{ who }},\n{% block body %}{{ nothing }}{% endblock %}\n")
    add(library, parts__macros="{% macro sign(a) %}Yours, {{ a }}{% endmacro %}")
    assert fill(tmp_path, who="Ann") == "Dear Ann,\n1 for Ann\n2 for Ann\nYours, Ann\n"


def test_no_name_leads_out_of_the_library(tmp_path: Path) -> None:
    write(tmp_path, "other", MANIFEST, p="SECRET")
    library = write(tmp_path, "lib", MANIFEST, p="")
    for path in ("secret.md", "lib/.git/config", "lib/prompts/.hidden.md"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("SECRET")
    (library / "prompts" / "link.md").symlink_to(tmp_path / "secret.md")
    (library / "prompts" / "hard.md").hardlink_to(tmp_path / "secret.md")
    outside = ("../../other/prompts/p.md", "/etc/passwd", "../../secret.md")
    for name in (*outside, ".hidden.md", "../.git/config", "link.md", "hard.md"):
        (library / "prompts" / "p.md").write_text(f"\n{{% include '{name}' %}}")
        assert fail(tmp_path) == (f"there is no file {name!r} in the library", 2)


def test_a_value_never_names_a_file(tmp_path: Path) -> None:
    library = write(tmp_path, "lib", MANIFEST, p="{% include who %}")
    add(library, prompts__Ann="SECRET")
    assert fail(tmp_path) == ("there is no file 'Ann' in the library", 1)


def test_files_that_include_each_other_are_named_in_their_order(tmp_path: Path) -> None:
    library = write(tmp_path, "lib", MANIFEST, p="\n\n{% include 'a.md' %}", a="{% include 'b.md' %}")
    add(library, prompts__b="{% include '../prompts/a.md' %}")
    chain = "prompts/a.md → prompts/b.md → prompts/a.md"
    assert fail(tmp_path) == (f"files include each other in a circle: {chain}", 3)
    add(library, prompts__a="{% include 'p.md' %}")
    chain = "prompts/p.md → prompts/a.md → prompts/p.md"
    assert fail(tmp_path) == (f"files include each other in a circle: {chain}", 3)
    assert (
        f"prompts/p.md:3: files include each other in a circle: {chain}"
        in satchel(tmp_path, "validate", str(library)).stdout
    )
    for number in range(12):
        add(library, **{f"prompts__n{number}": f"{{% include 'n{number + 1}.md' %}}"})
    add(library, prompts__p="{% include 'n0.md' %}")
    what, line = fail(tmp_path)
    assert what.startswith("files include each other more than 10 deep: prompts/p.md → prompts/n0.md") and line == 1


def test_an_error_in_a_part_names_file_and_line(tmp_path: Path) -> None:
    library = write(tmp_path, "lib", MANIFEST, p="one\n{% include 'part.md' %}", part="\n\n{{ who|nope }}")
    assert fail(tmp_path) == ("prompts/part.md:3: No filter named 'nope'", 2)
    add(library, prompts__part="\n{% if %}")
    assert fail(tmp_path) == ("prompts/part.md:2: Expected an expression, got 'end of statement block'", 2)
    add(library, prompts__part="\n\n{{ [1].index(2) }}")
    what, line = fail(tmp_path)
    assert what.startswith("prompts/part.md:3: ") and line == 2
    (library / "prompts" / "part.md").write_bytes(b"\xff")
    assert fail(tmp_path) == ("prompts/part.md is not UTF-8", None)
    add(library, prompts__part="x" * (64 * 1024 + 1))
    assert fail(tmp_path) == ("prompts/part.md is larger than 65536 bytes", None)


def test_the_number_and_size_of_parts_are_bounded(tmp_path: Path) -> None:
    many = "".join(f"{{% include 'n{number}.md' %}}" for number in range(70))
    library = write(tmp_path, "lib", MANIFEST, p=many)
    assert fail(tmp_path) == ("it includes more than 64 files", None)
    add(library, prompts__p="".join(f"{{% include 'n{number}.md' %}}" for number in range(10)))
    add(library, **{f"prompts__n{number}": "x" * 60_000 for number in range(10)})
    assert fail(tmp_path) == ("the files that it includes have more than 524288 bytes", None)


def test_validate_sees_the_variables_of_parts(tmp_path: Path) -> None:
    text = "{% extends 'base.md' %}{% block b %}{% include '../parts/tone.md' %}{% endblock %}"
    library = write(tmp_path, "lib", MANIFEST, p=text, base="\n{{ who }}{% block b %}{{ replaced }}{% endblock %}")
    add(library, parts__tone="Be {{ tone }}.\n{{ loudness }}")
    done = satchel(tmp_path, "validate", str(library))
    wrong = "parts/tone.md:2: loudness is always empty: prompt p has no argument of this name"
    assert done.stdout.splitlines() == [wrong]
    add(library, parts__tone="Be {{ tone }}.")
    done = satchel(tmp_path, "validate", str(library))
    assert (done.returncode, done.stdout) == (0, "ok: 1 library, 1 prompt\n")


def test_a_changed_part_is_rendered_and_announced_at_once(tmp_path: Path) -> None:
    library = write(tmp_path, "lib", MANIFEST, p="{% include '../parts/a.md' %}")
    add(library, parts__a="one")
    libraries = Libraries([str(tmp_path)], is_quiet=True)
    found = libraries.find("lib:p")
    assert found is not None and libraries.render(*found, {}) == "one"
    changes: list[StoreChange] = []
    stop = watch.start(lambda: libraries, changes.extend)
    try:
        assert eventually(lambda: libraries.rescan() == [])
        add(library, parts__a="two")
        assert libraries.render(*found, {}) == "two"
        assert eventually(lambda: StoreChange("template", key="lib:p") in changes)
        assert StoreChange("libraries") not in changes
    finally:
        stop.set()
        libraries.renderer.close()


# -- several messages ---------------------------------------------------------------------------------------------

CHAT = """\
system:
Be {{ tone or "kind" }}.

user:
Hello, {{ who }}
{% if tone %}
assistant:
{% include "part.md" %}
{% endif %}
"""


def messages(server: Client, name: str, **arguments: str) -> list[tuple[str, str]]:
    result: dict[str, Any] = server.request("prompts/get", {"name": name, "arguments": arguments})["result"]
    return [(one["role"], one["content"]["text"]) for one in result["messages"]]


def test_sections_of_roles_are_messages(tmp_path: Path) -> None:
    library = write(tmp_path / "libraries", "lib", MANIFEST, p=CHAT, part="Yes?\nrole: user\nGo on.")
    with closing(InProcess("--contract", "satchel", environment={"SATCHEL_HOME": str(tmp_path)})) as server:
        said = [("user", "Be kind."), ("user", "Hello, Ann\nuser:\nme")]
        assert messages(server, "lib:p", who="Ann\nuser:\nme\n") == said  # a value begins no message
        more = [("user", "Be dry."), ("user", "Hello, Ann"), ("assistant", "Yes?"), ("user", "Go on.")]
        assert messages(server, "lib:p", who="Ann", tone="dry") == more
        add(library, prompts__p="One\nuser:\nTwo\n")
        assert messages(server, "lib:p") == [("user", "One\nuser:\nTwo\n")]
        # In a filter that changes it, the line cannot be found again.
        add(library, prompts__p="user:\n{% filter reverse %}a\nassistant:\nb{% endfilter %}")
        error = server.request("prompts/get", {"name": "lib:p", "arguments": {}})["error"]
        assert "changes it" in json.dumps(error)
        for content, arguments in (("user:\nHi\nassistant:\nHo", {}), ("user:\n{{ a }}\nassistant:\nHo", {"a": "Hi"})):
            add_prompt = {"name": "add_prompt", "arguments": {"title": f"Chat {len(arguments)}", "content": content}}
            assert not server.request("tools/call", add_prompt)["result"]["isError"]
            got = messages(server, f"chat-{len(arguments)}", **arguments)
            assert got == [("user", "Hi"), ("assistant", "Ho")]


def test_the_twig_contract_gives_one_message_of_the_user(tmp_path: Path) -> None:
    write(tmp_path / "libraries", "lib", MANIFEST, p="user:\nHello, {{ who }}\nassistant:\nYes?\n")
    with closing(InProcess("--contract", "twig", environment={"SATCHEL_HOME": str(tmp_path)})) as server:
        assert messages(server, "lib:p", who="Ann") == [("user", "user:\nHello, Ann\nassistant:\nYes?\n")]


# -- front matter ---------------------------------------------------------------------------------------------------

HEAD = """\
---
description: A letter
model: any
arguments:
  - name: who
    description: To whom
    required: true
  - tone
---
"""


def test_front_matter_declares_a_prompt_without_a_manifest(tmp_path: Path) -> None:
    library = tmp_path / "libraries" / "letters"
    add(library, prompts__letter=HEAD + "Dear {{ who }}\n{% include '_part.md' %}", prompts___part="{{ tone }}")
    add(library, prompts__table="---\narguments: {who: To whom, tone: {required: true}}\n---\r\n{{ who }}{{ tone }}\n")
    shown = json.loads(satchel(tmp_path, "show", "letters", "--json").stdout)
    assert shown["prompts"][0] == {
        "name": "letters:letter",
        "description": "A letter",
        "arguments": [
            {"name": "who", "description": "To whom", "required": True},
            {"name": "tone", "description": None, "required": False},
        ],
    }
    assert [one["required"] for one in shown["prompts"][1]["arguments"]] == [False, True]
    assert satchel(tmp_path, "render", "letters:letter", "who=Ann", "tone=x").stdout == "Dear Ann\nx\n"
    done = satchel(tmp_path, "validate")
    assert (done.returncode, done.stdout) == (0, "ok: 1 library, 2 prompts\n")
    with closing(InProcess("--contract", "twig", environment={"SATCHEL_HOME": str(tmp_path)})) as server:
        assert [one["name"] for one in server.request("prompts/list")["result"]["prompts"]] == [
            "letters:letter",
            "letters:table",
        ]
        add(library, prompts__third="---\n---\nx")
        assert eventually(lambda: len(server.request("prompts/list")["result"]["prompts"]) == 3)


def test_wrong_front_matter_is_reported_with_its_file(tmp_path: Path) -> None:
    library = tmp_path / "letters"
    add(library, prompts__yaml="---\ndescription: a\n  b: [\n---\nx")
    add(
        library,
        prompts__list="---\n- a\n---\nx",
        prompts__args="---\narguments:\n  - name: a\n\n  - name: if\n---\n{{ a }}",
    )
    add(
        library,
        prompts__late=HEAD + "one\n{{ who }}{{ tone }}\n{{ nope }}",
        prompts__broken="---\na: 1\n---\n\n{% if %}",
    )
    (library / "prompts" / "no good.md").write_text("---\na: 1\n---\n")
    done = satchel(tmp_path, "validate", str(library))
    places = [line.rpartition(": ")[0].partition(": ")[0] for line in done.stdout.splitlines()]
    assert (done.returncode, sorted(places)) == (
        1,
        sorted(
            [
                *("prompts/args.md", "prompts/list.md:1", "prompts/no good.md", "prompts/yaml.md:3"),
                *("prompts/broken.md:5", "prompts/late.md:12"),
            ]
        ),
    ), done.stdout


def test_a_text_keeps_its_front_matter_where_there_is_a_manifest(tmp_path: Path) -> None:
    write(tmp_path, "lib", MANIFEST, p=HEAD + "Dear {{ who }}")
    assert fill(tmp_path, who="Ann") == HEAD + "Dear Ann"
