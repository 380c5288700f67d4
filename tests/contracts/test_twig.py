"""The twig contract to the letter: whole replies, on libraries on a real disk.

twig.json beside this file has the messages of the document, and changes only with it.
"""

import json
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from satchel.library import catalog
from satchel.library.manifest import Manifest, parse
from satchel.library.render import Renderer
from tests.support.in_process import InProcess
from tests.support.in_process_http import HttpInProcess
from tests.support.stdio import NEWEST, OLDEST, Client, plain

IN_ORDER = partial(json.loads, object_pairs_hook=OrderedDict)  # objects whose order of keys counts in comparisons
PRINTED = IN_ORDER((Path(__file__).parent / "twig.json").read_text())
MANIFEST = """
[prompts.code_review]
description = "Review code for quality and best practices"
[[prompts.code_review.arguments]]
name = "code_snippet"
description = "The code to review"
required = true
[[prompts.code_review.arguments]]
name = "language"
description = "Programming language (optional)"

[prompts.documentation]
description = "Generate documentation from code"
[[prompts.documentation.arguments]]
name = "function_code"
description = "Function source code"
required = true
"""
REVIEW = """Please review the following {{ language|capitalize }} code for quality and best practices:

```{{ language }}
{{ code_snippet }}
```

Focus on:
- Code clarity and readability
- Performance considerations
- Adherence to {{ language|capitalize }} best practices"""


def printed(section: str, label: str) -> Any:
    [message] = [one["message"] for one in PRINTED if section in one["section"] and one["label"] == label]
    return IN_ORDER(json.dumps(message))


def write(root: Path, folder: str, manifest: str, **prompts: str) -> Path:
    """Write a library to disk."""
    library = root / folder
    (library / "prompts").mkdir(parents=True, exist_ok=True)
    (library / "twig.toml").write_text(manifest)
    for key, text in prompts.items():
        (library / "prompts" / f"{key}.md").write_text(text)
    return library


def write_documents_library(root: Path) -> Path:
    """Write the library of the document to disk."""
    return write(root, "my_coding_lib", MANIFEST, code_review=REVIEW, documentation="Document {{ function_code }}")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with the library of the document."""
    return write_documents_library(tmp_path / "libraries").parent


Start = Callable[..., Client]


@pytest.fixture
def start(store: str, serve: Callable[..., Client]) -> Start:
    return lambda root, revision=NEWEST: serve("twig", store, revision, "--libraries", str(root))


def get(server: Client, name: str, **arguments: str | None) -> Any:
    return server.request("prompts/get", {"name": name, "arguments": arguments})


def text(server: Client, name: str, **arguments: str | None) -> str:
    said: str = get(server, name, **arguments)["result"]["messages"][0]["content"]["text"]
    return said


def details(server: Client, name: str, **arguments: str) -> str:
    error = get(server, name, **arguments)["error"]
    assert (error["code"], error["message"], list(error["data"])) == (-32602, "Invalid params", ["details"])
    said: str = error["data"]["details"]
    return said


def send(server: Client, message: dict[str, Any]) -> Any:
    server.methods[message["id"]] = (message["method"], OLDEST)
    server.send(message)
    while "id" not in (answer := server.read()):
        assert answer["method"] == "notifications/prompts/list_changed"
    return IN_ORDER(json.dumps(answer))


# -- the document -----------------------------------------------------------------------------------------------


def test_only_prompts_are_declared(root: Path, start: Start) -> None:
    server = start(root)
    answer = server.initialize(OLDEST)["result"]
    assert answer["capabilities"] == {"prompts": {"listChanged": True}}
    assert answer["serverInfo"]["name"] == "twig"
    for method in ("tools/list", "resources/list", "completion/complete"):
        assert server.request(method)["error"] == {"code": -32601, "message": "Method not found"}


def test_the_printed_list(root: Path, start: Start) -> None:
    reply = printed("prompts/list", "Response (Success)")
    # The server omits nextCursor, where the document prints null, and adds the arguments in MCP's form.
    del reply["result"]["nextCursor"]
    for entry in reply["result"]["prompts"]:
        required = entry["inputSchema"]["required"]
        entry["arguments"] = [
            {"name": name, "description": property["description"], "required": name in required}
            for name, property in entry["inputSchema"]["properties"].items()
        ]
    assert send(start(root, OLDEST), printed("prompts/list", "Request")) == reply


def test_the_printed_empty_lists(tmp_path: Path, start: Start) -> None:
    labels = ("No prompts installed", "Data directory not accessible (logged, but list still returns empty)")
    (tmp_path / "empty").mkdir()
    for label, folder in zip(labels, (tmp_path / "empty", tmp_path / "missing"), strict=True):
        reply = printed("prompts/list", label)
        del reply["result"]["nextCursor"]
        assert send(start(folder, OLDEST), printed("prompts/list", "Request")) == reply


def test_the_printed_prompt(root: Path, start: Start) -> None:
    reply = printed("prompts/get", "Response (Success)")
    reply["result"]["description"] = "Review code for quality and best practices"
    assert send(start(root, OLDEST), printed("prompts/get", "Request")) == reply


def test_the_printed_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The document prints these errors for the default folder of libraries."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME")
    request = printed("prompts/get", "Request")
    with InProcess("-c", "twig", environment={"SATCHEL_HOME": str(tmp_path / "ours")}) as server:
        server.initialize(OLDEST)
        assert send(server, request) == printed("prompts/get", "Prompt not found")
        library = write_documents_library(tmp_path / ".local/share/twig/prompts")
        assert server.read()["method"] == "notifications/prompts/list_changed"  # the server watched for the folder
        without = {**request, "params": {"name": request["params"]["name"]}}
        assert send(server, without) == printed("prompts/get", "Missing required argument")
        (library / "prompts" / "code_review.md").unlink()
        assert send(server, request) == printed("prompts/get", "Content file missing")


def test_our_folder_of_libraries_comes_before_that_of_the_document(tmp_path: Path) -> None:
    write(tmp_path / "ours" / "libraries", "both", "[prompts.p]\n", p="ours")
    for folder in ("both", "theirs"):
        write(tmp_path / "data" / "twig" / "prompts", folder, "[prompts.p]\n", p="theirs")
    home = {"SATCHEL_HOME": str(tmp_path / "ours"), "XDG_DATA_HOME": str(tmp_path / "data")}
    with InProcess("-c", "twig", environment=home) as server:
        assert (text(server, "both:p"), text(server, "theirs:p")) == ("ours", "theirs")
    with InProcess("-c", "twig", "--libraries", str(tmp_path / "ours" / "libraries"), environment=home) as server:
        assert get(server, "theirs:p")["error"]["code"] == -32601  # the default folders are not read


def test_a_missing_file_is_named_with_its_root_only_to_the_owner_of_the_server(root: Path, start: Start) -> None:
    (root / "my_coding_lib" / "prompts" / "documentation.md").unlink()
    arguments = {"function_code": "x"}
    file = "my_coding_lib/prompts/documentation.md"
    said = details(start(root), "my_coding_lib:documentation", **arguments)
    assert said == f"Prompt content file not found: {root}/{file}"
    params = {"name": "my_coding_lib:documentation", "arguments": arguments}
    with HttpInProcess("--libraries", str(root)) as server:
        error = server.ask("prompts/get", params, path="/mcp/twig").json["error"]
    assert error["data"] == {"details": f"Prompt content file not found: {file}"}


def test_the_first_prompt_does_not_wait_for_other_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("a", "B lib", "b-lib", "c"):
        write(tmp_path, folder, "[prompts.p]\n", p=f"of {folder}")
    write(tmp_path, "b_lib", "[prompts.p\n", p="broken")
    read: list[bytes] = []

    def note(content: bytes, renderer: Renderer) -> Manifest:
        read.append(content)
        return parse(content, renderer)

    monkeypatch.setattr(catalog, "parse", note)
    libraries = catalog.Libraries([str(tmp_path / "none"), str(tmp_path)])
    assert libraries.find("nothing:p") is None and not read
    found = libraries.find("b_lib:p")
    assert found is not None and found[0].folder == "B lib" and len(read) == 1
    again = next(one for one in libraries.catalog.libraries if one.name == "b_lib")
    assert again == found[0]  # a scan finds the same prompt


def test_variables_that_no_argument_declares_are_logged_once_a_change(root: Path, start: Start) -> None:
    file = root / "my_coding_lib" / "prompts" / "documentation.md"
    server = start(root)

    def said(name: str) -> int:
        assert text(server, "my_coding_lib:documentation", function_code="x")
        what = f"{name} is always empty: prompt documentation has no argument of this name\n"
        return server.stderr.count(f"library my_coding_lib/prompts/documentation.md:2: {what}")

    assert said("langage") == 0
    file.write_text("{{ function_code }}\n{{ langage }}")
    assert [said("langage") for _ in range(3)] == [1, 1, 1]
    file.write_text("{{ function_code }}\n{{ language }}")
    assert (said("language"), said("langage")) == (1, 1)


def test_variables_of_an_included_file_are_logged_once_a_change_of_that_file(root: Path, start: Start) -> None:
    prompts = root / "my_coding_lib" / "prompts"
    (prompts / "documentation.md").write_text("{% include 'prompts/part.md' %}")
    server = start(root)

    def said(content: str, name: str) -> list[int]:
        (prompts / "part.md").write_text(content)
        found = []
        for _ in range(2):
            text(server, "my_coding_lib:documentation", function_code="x")
            what = f"{name} is always empty: prompt documentation has no argument of this name\n"
            found.append(server.stderr.count(f"library my_coding_lib/prompts/part.md:1: {what}"))
        return found

    assert said("{{ one }}", "one") == [1, 1]
    assert said("{{ two }}", "two") == [1, 1]


def test_a_broken_template_is_reported_with_its_line_and_stays_listed(root: Path, start: Start) -> None:
    file = root / "my_coding_lib" / "prompts" / "documentation.md"
    file.write_text("one\ntwo\nthree\nfour\n{{ function_code|nofilter }}\n")
    server = start(root)
    said = details(server, "my_coding_lib:documentation", function_code="x")
    form = printed("prompts/get", "Template rendering error")["error"]["data"]["details"]
    assert said.startswith(form.split(":")[0] + ": ") and "at line 5: " in said
    assert len(server.request("prompts/list")["result"]["prompts"]) == 2


def test_the_examples_of_argument_handling(tmp_path: Path, start: Start) -> None:
    manifest = """
[prompts.code_review]
description = "Review code"
[[prompts.code_review.arguments]]
name = "code_snippet"
description = "Code to review"
required = true
[[prompts.code_review.arguments]]
name = "language"
description = "Programming language"
[[prompts.code_review.arguments]]
name = "max_issues"
description = "Maximum number of issues to report"
[prompts.optional]
[[prompts.optional.arguments]]
name = "language"
"""
    template = (
        "# Code Review\n\nPlease review the following {{ language }} code:\n\n{{ code_snippet }}\n\n"
        "Report up to {{ max_issues }} issues.\n"
    )
    write(
        tmp_path,
        "my_coding_lib",
        manifest,
        code_review=template,
        optional="{% if language %}Language: {{ language }}{% endif %}",
    )
    server = start(tmp_path)
    said = text(server, "my_coding_lib:code_review", code_snippet="print('hello')", language="python", max_issues="5")
    assert said == (
        "# Code Review\n\nPlease review the following python code:\n\nprint('hello')\n\nReport up to 5 issues.\n"
    )
    assert text(server, "my_coding_lib:optional") == text(server, "my_coding_lib:optional", language=None) == ""
    assert get(server, "my_coding_lib:code_review", code_snippet=None)["error"]["data"] == {
        "details": "Missing required argument: code_snippet"
    }
    assert text(server, "my_coding_lib:optional", language="c") == "Language: c"


# -- beyond the document ----------------------------------------------------------------------------------------


def test_unknown_prompts_libraries_and_malformed_names_are_not_found(root: Path, start: Start) -> None:
    server = start(root)
    for name in (
        "my_coding_lib:nope",
        "nope:code_review",
        "code_review",
        "",
        ":",
        "my_coding_lib:",
        "My_Coding_Lib:code_review",
        "a:b:c",
        "../x",
    ):
        assert get(server, name)["error"] == {
            "code": -32601,
            "message": "Method not found",
            "data": {"details": f"Prompt not found: {name}"},
        }


def test_a_prompt_without_arguments_has_an_empty_schema(tmp_path: Path, start: Start) -> None:
    write(tmp_path, "lib", "[prompts.bare]\n[prompts.lost]\n", bare="x")
    server = start(tmp_path)
    assert plain(server.request("prompts/list")["result"]) == {
        "prompts": [{"name": "lib:bare", "inputSchema": {"type": "object", "properties": {}}}]
    }
    assert plain(get(server, "lib:bare")["result"]) == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "x"}}]
    }
    assert details(server, "lib:lost") == f"Prompt content file not found: {tmp_path}/lib/prompts/lost.md"


def test_names_of_libraries_are_made_from_their_folders(tmp_path: Path, start: Start) -> None:
    for folder in ("My Lib!", "É-cole", "a_b", "a-b", "---", "_x_", "日本", "v1.2", "not a library"):
        write(tmp_path, folder, "[prompts.p]\n", p="x")
    (tmp_path / "not a library" / "twig.toml").unlink()
    server = start(tmp_path)
    names = [prompt["name"] for prompt in server.request("prompts/list")["result"]["prompts"]]
    assert names == sorted(["my_lib:p", "é_cole:p", "a_b:p", "x:p", "日本:p", "v1_2:p"])
    server.close()
    assert "a_b: skipped, because folder 'a-b' already has the library name 'a_b'" in server.stderr
    assert "---: skipped, because its name has no letter or digit" in server.stderr


def test_order_is_by_library_and_then_as_the_manifest_has_it_in_pages_of_500(tmp_path: Path, start: Start) -> None:
    keys = [f"k{(number * 7) % 600}" for number in range(600)]
    write(tmp_path, "zeta", "[prompts.only]\n", only="x")
    write(tmp_path, "alpha", "\n".join(f"[prompts.{key}]" for key in keys), **dict.fromkeys(keys, "x"))
    server = start(tmp_path)
    first = server.request("prompts/list", {"cursor": None})["result"]
    second = server.request("prompts/list", {"cursor": first["nextCursor"]})["result"]
    names = [prompt["name"] for prompt in first["prompts"] + second["prompts"]]
    assert len(first["prompts"]) == 500 and "nextCursor" not in second
    assert names == [*(f"alpha:{key}" for key in keys), "zeta:only"]
    assert server.request("prompts/list", {"cursor": "nope"})["error"]["code"] == -32602


def test_several_roots_are_one_catalogue(tmp_path: Path) -> None:
    write(tmp_path / "one", "a", "[prompts.p]\n", p="of one")
    write(tmp_path / "two", "a", "[prompts.p]\n", p="of two")
    write(tmp_path / "two", "b", "[prompts.p]\n", p="b")
    with InProcess("-c", "twig", "-l", str(tmp_path / "one"), "--libraries", str(tmp_path / "two")) as server:
        names = [prompt["name"] for prompt in server.request("prompts/list")["result"]["prompts"]]
        assert names == ["a:p", "b:p"] and text(server, "a:p") == "of one"
        first = tmp_path / "one" / "a"
        assert f"a: skipped, because folder '{first}' already has the library name 'a'" in server.stderr
    write(tmp_path / "with:colon", "c", "[prompts.p]\n", p="c")
    with InProcess("-c", "twig", "--libraries", str(tmp_path / "with:colon")) as server:
        assert text(server, "c:p") == "c"
    both = f"{tmp_path / 'two'}:{tmp_path / 'one'}"
    with InProcess("-c", "twig", environment={"SATCHEL_LIBRARIES": both}) as server:
        assert text(server, "a:p") == "of two"


def test_mistakes_in_a_library_are_reported_and_the_rest_is_served(tmp_path: Path, start: Start) -> None:
    write(tmp_path, "broken", "[prompts.p\n", p="x")
    write(tmp_path, "odd", "prompts = 5\n")
    write(
        tmp_path, "half", "[prompts.good]\n[prompts.'Bad Key']\n[prompts.worse]\narguments = 3\n", good="x", worse="y"
    )
    server = start(tmp_path)
    names = [prompt["name"] for prompt in server.request("prompts/list")["result"]["prompts"]]
    assert names == ["half:good"]
    server.close()
    for said in (
        "broken/twig.toml:1: ",
        "odd/twig.toml: prompts must be a table",
        "half/twig.toml: prompt 'Bad Key' is skipped: ",
        "half/twig.toml: prompt worse is skipped: arguments must be tables",
    ):
        assert said in server.stderr, server.stderr
