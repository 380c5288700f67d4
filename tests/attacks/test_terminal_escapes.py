"""What is stored reaches a terminal only as text: no escape sequence, no reversed direction, nothing invisible."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from satchel.log import escape, escape_line
from satchel.model import DocumentDraft, PromptDraft, Scope, TaskDraft
from satchel.services import documents, projects, prompts, tasks
from satchel.storage.database import open_database
from tests.support.command import run
from tests.support.process import ROOT
from tests.support.terminal import on_terminal

ADA = "6f0a2f5e-9c1c-4a6e-8a51-0d8f8f3c2b11"
# A title of the window, a link, a colour, a C1 sequence, a bell, the cursor moved, bidi, zero width, tags, DEL, Hangul.
HOSTILE = (
    "\x1b]0;owned\x07\x1b[31mred\x9b2J\x08\x0d\u202eevil\u2066\u200b\u200d\ufeff\xad\x7f\U000e0041\u2028\x85\u3164."
)
FORBIDDEN = {*HOSTILE} - {*"]0;owned[31mred2Jevil."}


def assert_harmless(text: str) -> None:
    """Assert that no escape is left, except the sequences with which rich draws a table."""
    for sequence in ("\x1b[1m", "\x1b[0m", "\x1b[?25l", "\x1b[?25h"):
        text = text.replace(sequence, "")
    assert not FORBIDDEN & {*text}, ascii(text)
    assert "owned" in text, ascii(text)


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """A store with hostile texts everywhere."""
    store = str(tmp_path / "satchel.db")
    database = open_database(store)
    scope = Scope(user=ADA)
    projects.require(database, scope)
    with database.write(scope) as tx:
        # Past the rules, as another contract or an older version may have stored it.
        prompts.add(tx, scope, PromptDraft(title="Plain", content=HOSTILE + "\nsecond\tline\r\n", description=HOSTILE))
        draft = DocumentDraft(name="doc", uri="x:doc", content=HOSTILE.encode(), mime_type="text/plain")
        documents.add(tx, scope, draft)
        tasks.add(tx, scope, TaskDraft(title="Plain", description=HOSTILE))
        tx.run("update prompts set title = :title", title=HOSTILE)
        tx.run("update tasks set title = :title", title=HOSTILE)
    with database.write(scope) as tx:
        tasks.delete(tx, scope, tasks.add(tx, scope, TaskDraft(title="Gone")).number)
        tx.run("update tasks set title = :title where deleted_at is not null", title=HOSTILE)
    database.close()
    return {"SATCHEL_HOME": str(tmp_path), "SATCHEL_USER": ADA}


COMMANDS = [
    ("prompt", "list"),
    ("prompt", "show", "plain"),
    ("prompt", "show", "plain", "--json"),
    ("prompt", "list", "--json"),
    ("document", "show", "doc"),
    ("task", "list"),
    ("task", "show", "1"),
    ("task", "show", "1", "--json"),
    ("task", "done", "1"),
    ("trash", "list"),
    ("log",),
    ("log", "--all", "--format", "jsonl"),
    ("prompt", "show", HOSTILE.replace("\x0d", "") + "?"),
    ("prompt", "show", HOSTILE.replace("\x0d", "") + "?", "--json"),
    ("project", "delete", HOSTILE.replace("\x0d", "")),
]


def test_a_terminal_gets_nothing_that_it_would_act_on(home: dict[str, str]) -> None:
    for command in COMMANDS:
        _, shown = on_terminal(*command, columns=300, environment=home | {"NO_COLOR": "1"})
        assert_harmless(shown)
        piped = run(*command, environment=home)
        if command[1:2] != ("show",) or "--json" in command:
            assert not FORBIDDEN & {*(piped.stdout + piped.stderr).decode()}, piped


def test_the_brief_catch_up_has_one_harmless_line_for_each_task(home: dict[str, str]) -> None:
    database = open_database(f"{home['SATCHEL_HOME']}/satchel.db")
    scope = Scope(user=ADA)
    with database.write(scope) as tx:
        tasks.add(tx, scope, TaskDraft(title="Plain", project="default"))
        tx.run("update tasks set title = :title", title=f"{HOSTILE}\nforged")
    database.close()
    told = run("catch-up", "--brief", environment=home).stdout.decode()
    assert not FORBIDDEN & {*told} and "owned" in told and "\nforged" not in told, ascii(told)


def test_other_programs_get_a_content_byte_for_byte(home: dict[str, str]) -> None:
    whole = HOSTILE + "\nsecond\tline\r\n"
    assert run("prompt", "show", "plain", environment=home).stdout == whole.encode()
    assert run("document", "show", "doc", environment=home).stdout == HOSTILE.encode()
    value = json.loads(run("prompt", "show", "plain", "--json", environment=home).stdout)["prompt"]
    assert (value["content"], value["title"], value["description"]) == (whole, HOSTILE, HOSTILE)


def test_names_in_libraries_are_harmless_too(tmp_path: Path) -> None:
    folder = tmp_path / "libraries" / "lib"
    (folder / "prompts").mkdir(parents=True)
    text = json.dumps(HOSTILE.replace("\x7f", "").replace("\U000e0041", ""))
    (folder / "twig.toml").write_text(f"[prompts.a]\ndescription = {text}\n[prompts.b]\n", encoding="utf-8")
    (folder / "prompts" / "a.md").write_text(HOSTILE, encoding="utf-8")
    for command in (("library", "show", "lib"), ("library", "render", "lib:a"), ("library", "show", "lib", "--json")):
        status, shown = on_terminal(*command, columns=300, environment={"NO_COLOR": "1", "SATCHEL_HOME": str(tmp_path)})
        assert status == 0
        assert_harmless(shown)


def test_lines_of_the_log_are_one_line_each(tmp_path: Path) -> None:
    code = f"from satchel.log import log, log_surprise\nlog({HOSTILE + chr(10) + 'forged'!r})\n"
    code += f"try: raise ValueError({HOSTILE!r})\nexcept ValueError: log_surprise('x')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT)
    lines = done.stderr.decode().splitlines()
    assert all(line[:2] == "20" for line in lines) and "\\x0aforged" in lines[0]
    assert not FORBIDDEN & {*done.stderr.decode()}


def test_the_message_of_a_server_that_cannot_start_is_harmless(tmp_path: Path) -> None:
    name = HOSTILE.replace("\x0d", "")
    command = [sys.executable, "-m", "satchel", "serve", "-d", str(tmp_path / "s.db"), "-c", "mcpkg", "-p", name]
    done = subprocess.run(command, capture_output=True, check=False, input=b"")
    assert done.returncode == 3 and not FORBIDDEN & {*done.stderr.decode()}
    assert_harmless(done.stderr.decode())


def test_escapes_are_readable() -> None:
    for text, shown in (
        ("plain ünï 🎒 → \n\t\r\n", "plain ünï 🎒 → \n\t\r\n"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\x9b31m", "\\x9b31m"),
        ("a\rb", "a\\x0db"),
        ("\u202e\u2066\u200f", "\\u202e\\u2066\\u200f"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("\x00", "\\x00"),
    ):
        assert escape(text) == shown
        assert "\n" not in escape_line(text) and "\t" not in escape_line(text)


def test_every_control_character_of_unicode_is_escaped() -> None:
    import unicodedata

    for code in range(0x110000):
        character = chr(code)
        if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(character) in (
            *("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"),
        ):
            assert escape_line(character) != character, hex(code)


def test_a_usage_error_escapes_the_arguments_that_it_quotes(tmp_path: Path) -> None:
    for arguments in (
        (HOSTILE,),
        ("prompt", HOSTILE),
        ("prompt", "list", f"--{HOSTILE}"),
        ("prompt", "list", HOSTILE),
        ("import", "--on-clash", HOSTILE, "x"),
        ("import", HOSTILE),
        ("serve", "--transport", HOSTILE),
        ("serve", f"--{HOSTILE}"),
        ("serve", HOSTILE),
    ):
        database = str(tmp_path / "satchel.db")
        status, shown = on_terminal(
            *arguments, columns=300, environment={"NO_COLOR": "1", "SATCHEL_DATABASE": database}
        )
        assert status != 0
        assert_harmless(shown)
