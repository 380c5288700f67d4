"""Names in a library: keys are used as written, arguments must be names in a template, and the rest is skipped."""

import os
from pathlib import Path
from typing import Any

import pytest

from satchel.model import JINJA2_WORDS
from tests.contracts.test_twig import Start, get, start, text, write
from tests.support.in_process import InProcess
from tests.support.process import eventually
from tests.support.satchel import ok
from tests.support.stdio import NEWEST, Client

__all__ = ["start"]  # a fixture

KEYS = ["Key.One", "UPPER", "kebab-case", "1", "_", "-", ".", "..", "...", ".hidden", "a.md", "a", "A"]
PARTS = "\n".join(f'[prompts."{key}"]' for key in KEYS)


def names(server: Client) -> list[str]:
    return [prompt["name"] for prompt in server.request("prompts/list")["result"]["prompts"]]


def skipped(server: Client, name: str) -> None:
    """Check that a prompt does not exist."""
    error = {"code": -32601, "message": "Method not found", "data": {"details": f"Prompt not found: {name}"}}
    assert get(server, name)["error"] == error


# -- keys -------------------------------------------------------------------------------------------------------


def test_keys_are_listed_as_they_are_written(tmp_path: Path, start: Start) -> None:
    write(tmp_path, "lib", PARTS, **{key: f"text of {key}" for key in KEYS})
    server = start(tmp_path)
    assert names(server) == [f"lib:{key}" for key in KEYS]
    for key in KEYS:
        assert text(server, f"lib:{key}") == f"text of {key}"
    skipped(server, "lib:key.one")


def test_a_key_finds_its_file_in_the_case_in_which_it_is_written_and_nowhere_else(tmp_path: Path, start: Start) -> None:
    (tmp_path / "outside.md").write_text("secret")
    (tmp_path / ".md").write_text("secret")
    library = write(tmp_path / "root", "lib", '[prompts."."]\n[prompts.".."]\n[prompts.Upper]\n', upper="x")
    (library / ".md").write_text("secret")
    (library.parent / ".md").write_text("secret")
    server = start(tmp_path / "root")
    assert names(server) == []
    for key in (".", "..", "Upper"):
        details = f"Prompt content file not found: {library}/prompts/{key}.md"
        assert get(server, f"lib:{key}")["error"]["data"] == {"details": details}


@pytest.mark.parametrize("key", ["a b", "a/b", "../x", "a:b", "é", "a\\\\b", "", "a\\n", "a%2fb", "a\\u0000", "ａ"])
def test_a_prompt_with_another_key_is_reported_and_skipped(tmp_path: Path, start: Start, key: str) -> None:
    write(tmp_path, "lib", f'# one\n\n[prompts."{key}"]\n[prompts.good]\n', good="x")
    (tmp_path / "lib" / "prompts" / "a b.md").write_text("x")
    server = start(tmp_path)
    assert names(server) == ["lib:good"]
    server.close()
    assert "library lib/twig.toml: prompt '" in server.stderr
    assert "' is skipped: its key may have A-Z, a-z, 0-9, _, . and - only\n" in server.stderr


def test_the_satchel_contract_knows_such_keys_too(tmp_path: Path, store: str, serve: Any) -> None:
    shown = [key for key in KEYS if key not in (".", "..", "...")]
    manifest = "\n".join(f'[prompts."{key}"]\n[[prompts."{key}".arguments]]\nname = "What"' for key in shown)
    write(tmp_path, "lib", manifest, **{key: f"{key}: {{{{ What }}}}" for key in shown})
    client: Client = serve("satchel", store, NEWEST, "--libraries", str(tmp_path))
    full = [f"lib:{key}" for key in shown]
    assert [name for name in names(client) if name != "start-task"] == full
    assert [prompt["name"] for prompt in ok(client, "list_prompts")["prompts"]] == sorted(full)
    for name in full:
        assert ok(client, "render_prompt", prompt=name, arguments={"What": "x"})["text"] == f"{name[4:]}: x"
        read = client.request("resources/read", {"uri": f"satchel://prompt/{name}"})["result"]["contents"]
        assert [one["text"] for one in read] == [f"{name[4:]}: {{{{ What }}}}"]


# -- arguments --------------------------------------------------------------------------------------------------


BAD_NAME = "a template cannot name argument {}: use letters, digits and _, no digit first, no word of Jinja2"
WRONG = {
    **{f"{{ name = '{name}' }}": BAD_NAME.format(repr(name)) for name in ("", "1", "a-b", "a.b", "a b", "é", "ａ")},
    **{f"{{ name = '{word}' }}": BAD_NAME.format(repr(word)) for word in JINJA2_WORDS},
    '{ name = "a\\n" }': BAD_NAME.format("'a\\n'"),
    "{}": "argument 2 has no name",
    "{ description = 'nameless' }": "argument 2 has no name",
    "{ name = 5 }": "argument 2 has no name",
    "5": "argument 2 has no name",
    "'name'": "argument 2 has no name",
    "{ name = 'good' }": "there are two arguments 'good'",
    "{ name = 'a', required = 'yes' }": "required of argument a must be true or false",
    "{ name = 'a', required = 1 }": "required of argument a must be true or false",
    "{ name = 'a', description = 5 }": "description of argument a must be text of at most 10000 characters",
    '{ name = "a", description = "\\u0000" }': "description of argument a must be text of at most 10000 characters",
}


def test_a_prompt_with_a_wrong_argument_is_reported_and_skipped_whole(tmp_path: Path, start: Start) -> None:
    for number, argument in enumerate(WRONG):
        manifest = f"""
[prompts.before]

[prompts.wrong]
description = "Wrong"
arguments = [
    {{ name = "good" }},
    {argument},
    {{ name = "if" }},
]
[prompts.behind]
"""
        write(tmp_path, f"lib{number:02}", manifest, before="x", wrong="{{ good }}", behind="x")
    server = start(tmp_path)
    libraries = [f"lib{number:02}" for number in range(len(WRONG))]
    assert names(server) == [f"{library}:{key}" for library in libraries for key in ("before", "behind")]
    for library in libraries:
        skipped(server, f"{library}:wrong")
    server.close()
    for library, why in zip(libraries, WRONG.values(), strict=True):
        for one in (why, BAD_NAME.format("'if'")):  # every wrong argument is reported
            assert f"library {library}/twig.toml: prompt wrong is skipped: {one}\n" in server.stderr, server.stderr


@pytest.mark.parametrize("count", [100, 101])
def test_a_prompt_with_too_many_arguments_is_skipped(tmp_path: Path, start: Start, count: int) -> None:
    arguments = "".join(f"[[prompts.p.arguments]]\nname = 'a{number}'\n" for number in range(count))
    write(tmp_path, "lib", f"[prompts.p]\n{arguments}", p="{{ a0 }}")
    server = start(tmp_path)
    assert names(server) == (["lib:p"] if count == 100 else [])
    server.close()
    report = "library lib/twig.toml: prompt p is skipped: it has more than 100 arguments\n"
    assert (report in server.stderr) == (count > 100)


# -- files and folders ------------------------------------------------------------------------------------------


def test_a_content_file_that_is_no_regular_file_is_reported_and_skipped(tmp_path: Path, start: Start) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("secret")
    root = tmp_path / "root"
    keys = ("fine", "outside", "inside", "dangling", "folder", "fifo", "missing")
    prompts = write(root, "lib", "\n".join(f"[prompts.{key}]" for key in keys), fine="x") / "prompts"
    (prompts / "outside.md").symlink_to(outside)
    (prompts / "inside.md").symlink_to("fine.md")
    (prompts / "dangling.md").symlink_to("nowhere.md")
    (prompts / "folder.md").mkdir()
    os.mkfifo(prompts / "fifo.md")
    linked = write(root, "linked", "[prompts.p]\n", p="x")
    (linked / "prompts").rename(tmp_path / "prompts")
    (linked / "prompts").symlink_to(tmp_path / "prompts")
    manifest = write(root, "manifest", "[prompts.p]\n", p="x") / "twig.toml"
    manifest.rename(tmp_path / "twig.toml")
    manifest.symlink_to(tmp_path / "twig.toml")
    server = start(root)
    assert names(server) == ["lib:fine"]
    server.close()
    link = "is a symbolic link, and links are not followed"
    for key, why in (
        ("outside", link),
        ("inside", link),
        ("dangling", link),
        ("folder", "is not a regular file"),
        ("fifo", "is not a regular file"),
        ("missing", "does not exist"),
    ):
        said = f"library lib/twig.toml: prompt {key} is skipped: prompts/{key}.md {why}\n"
        assert said in server.stderr, server.stderr
    read = "prompts/p.md is not read, because prompts is a symbolic link or not a folder"
    assert f"library linked/twig.toml: prompt p is skipped: {read}\n" in server.stderr
    assert f"library manifest/twig.toml:1: {link}\n" in server.stderr


def test_a_library_may_be_a_link_and_its_files_must_be_inside_its_own_folder(tmp_path: Path, start: Start) -> None:
    elsewhere = write(tmp_path / "elsewhere", "real", "[prompts.p]\n[prompts.out]\n[prompts.later]", p="x", later="y")
    (elsewhere / "prompts" / "out.md").symlink_to(tmp_path / "secret.md")
    (tmp_path / "secret.md").write_text("secret")
    root = tmp_path / "root"
    write(root, "zebra", "[prompts.p]\n", p="x")
    (root / "a-link").symlink_to("../elsewhere/real")
    server = start(root)
    assert names(server) == ["a_link:p", "a_link:later", "zebra:p"]
    assert text(server, "a_link:p") == "x"
    missing = f"Prompt content file not found: {root}/a-link/prompts/out.md"
    assert get(server, "a_link:out")["error"]["data"] == {"details": missing}
    (elsewhere / "prompts" / "later.md").unlink()  # the link's target is watched
    assert eventually(lambda: names(server) == ["a_link:p", "zebra:p"])
    other = write(tmp_path / "elsewhere", "other", "[prompts.q]\n", q="z")
    (root / "new").symlink_to(other)
    (root / "new").rename(root / "a-link")
    assert eventually(lambda: names(server) == ["a_link:q", "zebra:p"])


def test_a_link_to_no_folder_is_reported_and_names_with_a_dot_are_not_looked_at(tmp_path: Path, start: Start) -> None:
    elsewhere = write(tmp_path / "elsewhere", "real", "[prompts.p]\n", p="x")
    root = tmp_path / "root"
    write(root, "lib", "[prompts.p]\n", p="x")
    write(root, ".git", "[prompts.p\n", p="x")
    write(root, "..data", "[prompts.p]\n", p="x")
    (root / "link").symlink_to(elsewhere / "twig.toml")
    (root / "dangling").symlink_to(tmp_path / "nothing")
    (root / "disk").symlink_to("/")
    (root / ".link").symlink_to(elsewhere)
    server = start(root)
    assert names(server) == ["lib:p"]
    server.close()
    said = [line.partition(" library ")[2] for line in server.stderr.splitlines() if " library " in line]
    why = "skipped, because this symbolic link leads to no folder"
    assert said == [f"dangling: {why}", f"link: {why}"]


def test_a_root_may_itself_be_a_link_or_begin_with_a_dot(tmp_path: Path, start: Start) -> None:
    write(tmp_path / ".libraries", "lib", "[prompts.p]\n", p="x")
    (tmp_path / "link").symlink_to(tmp_path / ".libraries")
    for root in (".libraries", "link"):
        assert names(start(tmp_path / root)) == ["lib:p"]


def test_a_byte_order_mark_is_no_part_of_a_text(tmp_path: Path, start: Start) -> None:
    mark = b"\xef\xbb\xbf"
    library = write(tmp_path, "lib", "")
    (library / "twig.toml").write_bytes(mark + b"[prompts.p]\n[prompts.twice]\n[prompts.'bad key']\n")
    (library / "prompts" / "p.md").write_bytes(mark + "é{{ 1 }}".encode())
    (library / "prompts" / "twice.md").write_bytes(mark + mark + b"x")
    server = start(tmp_path)
    assert names(server) == ["lib:p", "lib:twice"]
    assert text(server, "lib:p") == "é1"
    assert text(server, "lib:twice") == "\ufeffx"  # the second mark is a character of the text
    server.close()
    assert "lib/twig.toml: prompt 'bad key' is skipped" in server.stderr


# -- processes --------------------------------------------------------------------------------------------------


def test_the_home_folder_may_be_written_as_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "mine", "lib", "[prompts.p]\n", p="x")
    write(tmp_path / "more", "other", "[prompts.p]\n", p="y")
    monkeypatch.setenv("HOME", str(tmp_path))
    home = {"SATCHEL_HOME": str(tmp_path / "data")}
    with InProcess("-c", "twig", "--libraries", "~/mine", "-l", "~/more", environment=home) as server:
        assert names(server) == ["lib:p", "other:p"]
    with InProcess("-c", "twig", environment={**home, "SATCHEL_LIBRARIES": "~/mine:~/more:"}) as server:
        assert names(server) == ["lib:p", "other:p"]
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data" / "satchel.toml").write_text('libraries = ["~/more"]\n')
    with InProcess("-c", "twig", environment=home) as server:
        assert names(server) == ["other:p"]
