"""`satchel library validate`: all that the server would skip, fail to render or render empty, with file and line."""

import json
import os
from pathlib import Path

from tests.cli.test_library import satchel
from tests.contracts.test_twig import write
from tests.support.command import run

MANIFEST = """\
[prompts.fine]
[prompts.'Bad Key']
[prompts.untexted]
description = 5
[prompts.wrong]
[[prompts.wrong.arguments]]
name = "a"
required = "yes"
[[prompts.wrong.arguments]]
name = "a"
[[prompts.wrong.arguments]]
description = "nameless"
[[prompts.wrong.arguments]]
name = "if"
[prompts.lost]
[prompts.broken]
[prompts.linked]
"""


def validate(home: Path, library: Path, *words: str) -> tuple[int, list[str]]:
    """Return the exit status, and the lines on stdout."""
    done = satchel(home, "validate", str(library), *words)
    assert done.stderr == "", done.stderr
    return done.returncode, done.stdout.splitlines()


def test_every_problem_has_its_file_and_line(tmp_path: Path) -> None:
    library = write(tmp_path, "lib", MANIFEST, fine="x", untexted="x", wrong="x", broken="one\n\n{% if %}\n")
    (library / "prompts" / "linked.md").symlink_to("fine.md")
    problems = [
        "twig.toml: prompt 'Bad Key' is skipped: its key may have A-Z, a-z, 0-9, _, . and - only",
        "twig.toml: prompt untexted: description must be text of at most 10000 characters",
        "twig.toml: prompt wrong is skipped: required of argument a must be true or false",
        "twig.toml: prompt wrong is skipped: argument 3 has no name",
        "twig.toml: prompt wrong is skipped: a template cannot name argument 'if': use letters, digits and _, no "
        "digit first, no word of Jinja2",
        "twig.toml: prompt lost is skipped: prompts/lost.md does not exist",
        "twig.toml: prompt linked is skipped: prompts/linked.md is a symbolic link, and links are not followed",
        "prompts/broken.md:3: Expected an expression, got 'end of statement block'",
    ]
    assert validate(tmp_path, library) == (1, problems)
    done = satchel(tmp_path, "validate", str(library), "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["libraries"], answer["prompts"], answer["warnings"]) == (1, 1, 3, [])
    assert [one["line"] for one in answer["problems"]] == [None] * 7 + [3]
    assert [one["what"] for one in answer["problems"]] == [problem.partition(": ")[2] for problem in problems]


def test_a_manifest_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    library = write(tmp_path, "lib", "[prompts.fine]\nx = = 1\n", fine="x")
    manifest = library / "twig.toml"
    assert validate(tmp_path, library) == (1, ["twig.toml:2: Invalid value"])
    manifest.write_bytes(b"[prompts.fine]\n# \xff\n")
    assert validate(tmp_path, library) == (1, ["twig.toml:2: this is not UTF-8"])
    manifest.write_text("#" * (256 * 1024 + 1))
    assert validate(tmp_path, library) == (1, ["twig.toml:1: is larger than 262144 bytes"])
    manifest.rename(tmp_path / "twig.toml")
    assert validate(tmp_path, library) == (1, ["twig.toml: does not exist"])
    manifest.symlink_to(tmp_path / "twig.toml")
    assert validate(tmp_path, library) == (1, ["twig.toml:1: is a symbolic link, and links are not followed"])
    assert satchel(tmp_path, "validate", str(tmp_path / "nowhere")).returncode == 2


def test_a_folder_that_the_server_skips_is_a_problem(tmp_path: Path) -> None:
    for folder, why in (
        (".hidden", "skipped, because its name begins with a dot"),
        ("---", "skipped, because its name has no letter or digit"),
    ):
        write(tmp_path, folder, "[prompts.p]\n", p="x")
        assert validate(tmp_path, tmp_path / folder) == (1, [f"{folder}: {why}"])


def test_the_library_may_be_the_working_directory(tmp_path: Path) -> None:
    library = write(tmp_path, "lib", "[prompts.p]\n", p="x")
    done = run("library", "validate", ".", cwd=library)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"ok: 1 library, 1 prompt\n", b"")


# -- templates --------------------------------------------------------------------------------------------------


def test_a_variable_that_no_argument_declares_is_a_problem(tmp_path: Path) -> None:
    manifest = "[prompts.p]\n[[prompts.p.arguments]]\nname = 'language'\n[prompts.q]\n"
    p = "# {{ language }}\n\n{# {{ no }} #}{{ langauge.x }}\n{% if level == 'high' %}\n{{ langauge }}{% endif %}\n"
    library = write(tmp_path, "lib", manifest, p=p, q="{% for x in things %}{{ x }}{% endfor %}\n{{ x }}{{ range }}")
    assert validate(tmp_path, library) == (
        1,
        [
            "prompts/p.md:3: langauge is always empty: prompt p has no argument of this name",
            "prompts/p.md:4: level is always empty: prompt p has no argument of this name",
            "prompts/q.md:1: things is always empty: prompt q has no argument of this name",
            "prompts/q.md:2: x is always empty: prompt q has no argument of this name",
            "prompts/q.md:2: range is always empty: prompt q has no argument of this name",
        ],
    )


def test_a_template_that_fails_when_it_is_rendered_is_a_problem(tmp_path: Path) -> None:
    manifest = (
        "[prompts.filter]\n[prompts.function]\n[prompts.optional]\narguments = [{ name = 'a' }]\n[prompts.large]\n"
    )
    library = write(
        tmp_path,
        "lib",
        manifest + "[prompts.bytes]\n[prompts.empty]\n",
        filter="one\n{{ 'x'|nofilter }}",
        function="one\n\n{{ nofunction() }}",
        optional="{% if a %}\n{{ a|nofilter }}{% endif %}",
        large="x" * (64 * 1024 + 1),
        empty="{# nothing but a comment #}\n",
    )
    (library / "prompts" / "bytes.md").write_bytes(b"\xff")
    status, problems = validate(tmp_path, library)
    assert status == 1 and [problem.partition(": ")[0] for problem in problems] == [
        "prompts/filter.md:2",
        "prompts/function.md:3",
        "prompts/optional.md:2",
        "prompts/large.md:1",
        "prompts/bytes.md:1",
        "prompts/empty.md",
    ]
    assert problems[1:2] + problems[3:] == [
        "prompts/function.md:3: there is no function nofunction",
        "prompts/large.md:1: it is larger than 65536 bytes",
        "prompts/bytes.md:1: it is not UTF-8",
        "prompts/empty.md: prompt empty renders to an empty text",
    ]


def test_a_declaration_without_effect_is_a_warning(tmp_path: Path) -> None:
    manifest = """\
[prompts.p]
[[prompts.p.arguments]]
name = "used"
[[prompts.p.arguments]]
name = "unused"
[prompts.skipped]
arguments = [{ name = "1" }]
"""
    library = write(tmp_path, "lib", manifest, p="{{ used }} unused", skipped="x", stray="x")
    (library / "prompts" / ".gitkeep").touch()
    (library / "prompts" / "P.md").write_text("x")
    warnings = [
        "twig.toml: warning: the text of prompt p does not use argument unused",
        "prompts/P.md: warning: twig.toml names no such prompt",
        "prompts/stray.md: warning: twig.toml names no such prompt",
    ]
    problem = (
        "twig.toml: prompt skipped is skipped: a template cannot name argument '1': use letters, digits and _, no "
        "digit first, no word of Jinja2"
    )
    assert validate(tmp_path, library) == (1, [problem, *warnings])
    (library / "twig.toml").write_text(manifest.replace('"1"', '"a"'))
    (library / "prompts" / "skipped.md").write_text("{{ a }}")
    assert validate(tmp_path, library) == (0, [*warnings, "ok: 1 library, 2 prompts, 3 warnings"])
    answer = json.loads(satchel(tmp_path, "validate", str(library), "--json").stdout)
    assert answer == {
        "libraries": 1,
        "prompts": 2,
        "problems": [],
        "warnings": [
            {"file": "twig.toml", "line": None, "what": "the text of prompt p does not use argument unused"},
            {"file": "prompts/P.md", "line": None, "what": "twig.toml names no such prompt"},
            {"file": "prompts/stray.md", "line": None, "what": "twig.toml names no such prompt"},
        ],
    }


# -- all libraries ----------------------------------------------------------------------------------------------


def test_without_a_path_everything_that_would_be_served_is_checked(tmp_path: Path) -> None:
    root = tmp_path / "libraries"
    write(root, "a-b", "[prompts.p]\n", p="{{ x }}")
    write(root, "a_b", "[prompts.p]\n", p="x")
    write(root, "broken", "[prompts.p\n", p="x")
    write(root, "good", "[prompts.p]\n", p="x")
    write(root, ".git", "[prompts.p\n", p="x")
    (root / "assets").mkdir()
    (root / "linked").symlink_to(root / "nothing")
    done = satchel(tmp_path, "validate", "--libraries", str(root))
    assert (done.returncode, done.stdout.splitlines()) == (
        1,
        [
            "linked: skipped, because this symbolic link leads to no folder",
            "a_b: skipped, because folder 'a-b' already has the library name 'a_b'",
            "broken/twig.toml:1: Expected ']' at the end of a table declaration",
            "a-b/prompts/p.md:1: x is always empty: prompt p has no argument of this name",
            "assets: warning: there is no twig.toml in it, so it is not a library",
        ],
    )
    for folder in ("a-b", "broken"):
        (root / folder / "twig.toml").rename(root / f"{folder}.toml")
    (root / "linked").unlink()
    done = satchel(tmp_path, "validate")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "ok: 2 libraries, 2 prompts, 3 warnings")
    both = satchel(tmp_path, "validate", str(root / "good"), "--libraries", str(root))
    assert (both.returncode, both.stderr) == (2, "satchel: give PATH or --libraries, not both.\n")


def test_a_folder_of_libraries_need_not_exist_unless_it_is_named(tmp_path: Path) -> None:
    done = satchel(tmp_path, "validate")
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok: 0 libraries, 0 prompts\n", "")
    listed = satchel(tmp_path, "list")
    assert (listed.returncode, listed.stdout, "problem" in listed.stderr) == (0, "", False)
    nowhere = tmp_path / "nowhere"
    done = satchel(tmp_path, "validate", "--libraries", str(nowhere))
    assert (done.returncode, done.stderr) == (2, f"satchel: there is no folder {nowhere}.\n")


def test_names_of_folders_that_are_not_utf_8_are_printed(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path / "libraries") + b"/y\xff"
    os.makedirs(folder)
    with open(folder + b"/twig.toml", "w") as file:
        file.write("[prompts.p]\n")
    for words in (("validate",), ("validate", "--json"), ("list",), ("list", "--json"), ("show", "y", "--json")):
        done = satchel(tmp_path, *words)
        assert done.returncode == (words[0] == "validate") and "Traceback" not in done.stderr, done.stderr
    assert satchel(tmp_path, "validate").stdout == ("y?/twig.toml: prompt p is skipped: prompts/p.md does not exist\n")


# -- skills -----------------------------------------------------------------------------------------------------


ORDINARY = """---
name: good
description: >
  Use it when the user asks for a "release";
  not for hotfixes.
allowed-tools: [Bash, "Read"]
disable-model-invocation: true
metadata:
  version: 1.10
  tags:
    - release
---
Do.
"""


def test_skills_that_would_be_skipped_are_problems(tmp_path: Path) -> None:
    library = tmp_path / "lib"
    for name, text in {
        "good": ORDINARY,
        "other": "---\nname: another\ndescription: Fine\n---\n",
        "keys": "---\nname: keys\ndescription: Fine\nname: other\n---\n",
        "Bad_Name": "---\nname: x\ndescription: y\n---\n",
    }.items():
        (library / "skills" / name).mkdir(parents=True)
        (library / "skills" / name / "SKILL.md").write_text(text)
    (library / "skills" / "empty").mkdir()
    (library / "skills" / "link").symlink_to(library / "skills" / "good")
    assert validate(tmp_path, library) == (
        1,
        [
            "skills/link: skipped, because it is a symbolic link",
            "skills/Bad_Name: skipped, because the name of a skill has 1 to 64 of a-z, 0-9 and single hyphens",
            "skills/empty/SKILL.md:1: skill empty is skipped: it has no SKILL.md",
            "skills/keys/SKILL.md:4: skill keys is skipped: the YAML has the key name twice, again in line 4",
            "skills/other/SKILL.md:1: skill other is skipped: the name in SKILL.md must be the name of the folder",
        ],
    )
    for name in ("other", "keys", "Bad_Name", "empty", "link"):
        (library / "skills" / name).rename(tmp_path / name)
    assert validate(tmp_path, library) == (0, ["ok: 1 library, 0 prompts, 1 skill"])
    answer = json.loads(satchel(tmp_path, "validate", str(library), "--json").stdout)
    assert answer == {"libraries": 1, "prompts": 0, "skills": 1, "problems": [], "warnings": []}
