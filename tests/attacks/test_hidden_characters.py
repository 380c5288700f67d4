"""Characters that do not show are refused in titles of the contract satchel; real writing of every script is not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from satchel.services.rules import find_hidden
from tests.support.command import run
from tests.support.satchel import ok, refusal
from tests.support.stdio import NEWEST, Server

ANN = "11111111-1111-4111-8111-111111111111"
SEEN = [
    "Plan the café", "Straße", "日本語の計画", "계획", "Пла́н", "תוכנית", "خطة",  # plain letters and combining marks
    "می‌خواهم", "نمی‌شود", "کتاب‌ها",  # Persian: a zero-width non-joiner inside of words
    "क्‍ष", "क्‌ष", "ශ්‍රී ලංකා", "മലയാളം ന്‍", "বাংলা র‍্য",  # Indic: joiners after a virama
    "👩‍💻 code", "👨‍👩‍👧‍👦", "🏳️‍🌈 pride", "❤️‍🔥", "👩🏽‍⚕️", "🧑🏿‍🤝‍🧑🏻", "🏃🏻‍♀️‍➡️",  # emoji with joiners
    "1️⃣ first", "©️ 2026", "☎︎ call", "🏴󠁧󠁢󠁳󠁣󠁴󠁿 Scotland", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "葛󠄀城",  # selectors, tags of flags
    "§ 1 – “quotes” … №", "a\u00a0b", "٪٣ ؀", "\u0600١٢",  # signs, spaces that show, Arabic numbers
]  # fmt: skip
HIDDEN = {
    "\x00": "", "\x07": "", "\x1b": "an escape", "\t": "", "\n": "", "\r": "", "\x7f": "", "\x85": "", "\x9b": "",
    "\u200b": "a zero-width space", "\u200c": "a non-joiner", "\u200d": "a joiner", "\u2060": "", "\ufeff": "",
    "\u200e": "", "\u200f": "", "\u061c": "marks of direction", "\u202a": "", "\u202b": "", "\u202c": "",
    "\u202d": "", "\u202e": "an override", "\u2066": "", "\u2067": "", "\u2068": "", "\u2069": "isolates",
    "\u00ad": "a soft hyphen", "\u034f": "", "\u115f": "", "\u1160": "", "\u3164": "", "\uffa0": "fillers",
    "\u2028": "", "\u2029": "", "\u2800": "blanks", "\u180e": "", "\u206a": "", "\u2061": "", "\ufff9": "",
    "\u2065": "", "\ufdd0": "", "\ufff0": "", "\ufffc": "", "\uffff": "", "\U000e0fff": "", "\U0010ffff": "reserved",
    "\U000e0041": "a tag", "\U000e007f": "", "\U000e0001": "", "\U0001d173": "a musical mark",
}  # fmt: skip


def test_visible_characters_are_accepted() -> None:
    assert [title for title in SEEN if find_hidden(title) is not None] == []


def test_invisible_characters_are_found_between_latin_letters() -> None:
    for hidden in HIDDEN:
        for title in (f"Pay{hidden}ment", f"{hidden}Payment", f"Größe{hidden}"):
            assert find_hidden(title) == hidden, f"U+{ord(hidden):04X}"


def test_joiners_selectors_and_tags_are_accepted_only_in_scripts_that_use_them() -> None:
    for title in (
        "می‌‌خواهم",  # two joiners in a row
        "\u200dक्ष",  # one before anything that it could join
        "👩\u200d",  # one behind which nothing is
        "👩\u200dx",
        "x\ufe0f\ufe0f",  # selectors that carry something else than a form
        "\ufe0fx",
        "x\U000e0100\U000e0101",
        "🏴\U000e0067\U000e0062",  # tags without an end
        "😀\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",  # tags of what is no flag
    ):
        assert find_hidden(title) is not None, ascii(title)


def test_our_own_contract_refuses_them_in_every_title_and_changes_nothing(
    store: str, serve: Callable[..., Server]
) -> None:
    client = serve("satchel", store, NEWEST)
    ok(client, "add_prompts", prompts=[{"title": "Mine", "content": "x"}])
    ok(client, "add_tasks", lines=["Mine"])
    bad = "Pay\u202ement"
    calls: list[tuple[str, dict[str, Any]]] = [
        ("add_prompt", {"title": bad, "content": "x"}),
        ("add_prompts", {"prompts": [{"title": "Good", "content": "x"}, {"title": bad, "content": "x"}]}),
        ("update_prompt", {"prompt": "mine", "title": bad}),
        ("add_task", {"title": bad}),
        ("add_tasks", {"lines": ["Good", bad]}),
        ("update_task", {"task": "#1", "title": bad}),
        ("add_resources", {"resources": [{"name": "a", "content": "x", "uri": "doc:\u200b1"}]}),
    ]
    for tool, arguments in calls:
        error = refusal(client, tool, arguments)
        assert error["code"] == "invalid_argument"
        assert "has an invisible character: U+20" in error["message"], error
    assert [one["title"] for one in ok(client, "list_prompts")["prompts"]] == ["Mine"]
    assert [one["title"] for one in ok(client, "list_tasks", status="all")["tasks"]] == ["Mine"]
    for title in ("می‌خواهم", "👩‍💻 code"):
        assert ok(client, "add_task", title=title)["task"]["title"] == title


def test_the_other_contracts_take_and_give_titles_as_their_documents_say(
    store: str, serve: Callable[..., Server]
) -> None:
    title = "Pay\u202ement\u200b"
    prompt = serve("prompt-store", store, NEWEST).call("add_prompt", {"title": title, "content": "x"})
    assert prompt["structuredContent"]["title"] == title
    task = serve("tasks", store, NEWEST).call("add_task", {"title": title})
    assert task["structuredContent"]["data"]["title"] == title


# -- the other doors --------------------------------------------------------------------------------------------


def test_an_import_drops_the_character_and_reports_it(store: str, tmp_path: Path) -> None:
    home = {"SATCHEL_DATABASE": store}
    row = {"kind": "task", "title": "Pay\u202ement\u200b now"}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(row) + "\n")
    done = run("import", str(tmp_path / "tasks.jsonl"), "--json", environment=home)
    assert done.returncode == 0, done
    assert b"Invisible characters were removed from the title." in done.stdout
    listed = json.loads(run("task", "list", "--json", environment=home).stdout)
    assert [one["title"] for one in listed["tasks"]] == ["Payment now"]


def test_a_sync_refuses_a_file_with_the_character_and_accepts_the_others(store: str, tmp_path: Path) -> None:
    home = {"SATCHEL_DATABASE": store}
    run("project", "create", "p", environment=home)
    folder = tmp_path / "folder"
    run("sync", str(folder), "-p", "p", "--yes", environment=home)
    for name, title in (("bad", "Pay\u202ement"), ("good", "Payment")):
        (folder / "prompts" / f"{name}.md").parent.mkdir(parents=True, exist_ok=True)
        (folder / "prompts" / f"{name}.md").write_text(f"---\ntitle: {title}\n---\ntext\n")
    done = run("sync", str(folder), "-p", "p", "--yes", environment=home)
    assert "invisible character: U+202E" in (done.stdout + done.stderr).decode(), done
    listed = run("prompt", "list", "-p", "p", environment=home).stdout.decode()
    assert "Payment" in listed and "bad" not in listed
