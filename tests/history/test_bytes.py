"""Every version of a text or of bytes comes back byte for byte, however it was edited."""

import random

import pytest

from satchel.model import DocumentPatch, PromptPatch, TaskPatch
from satchel.services import documents, history, prompts, tasks
from satchel.storage.database import Database
from tests.history.store import ADA, add_prompt, add_resource, add_task, read
from tests.support.soak import amount

SEQUENCES = amount(16, 1000)
EDITS = 12
WORDS = (
    *("tea", "Straße", "日本茶", "\U0001f375", "e\u0301", "\r\n", "\n\n", "\t", "{{ x }}"),
    *("\u2028", "\ufffd", '"', "\\", " "),
)
# A little longer than the window of zlib, so that some edits are farther apart than the window.
LONG = "".join(random.Random(1).choices("abcdefghij \n", k=40_000))


def edit_text(dice: random.Random, text: str) -> str:
    """Edit a text as people and models do: cut, insert, replace, repeat, move, shorten or rewrite it."""
    start = dice.randrange(len(text) + 1)
    end = min(len(text), start + dice.choice((0, 1, 5, 200, 30_000)))
    inserted = "".join(dice.choices(WORDS, k=dice.choice((0, 1, 3, 40))))
    return dice.choice(
        (
            text[:start] + inserted + text[end:],
            text[:start] + text[start:end] * 2 + text[end:],
            text[end:] + text[:start],
            text[:start] + inserted + text[start:end][::-1] + text[end:] + inserted,
            "... (rest unchanged)",
            inserted + LONG[: dice.choice((10, 3000, 40_000))],
            text,
        )
    )


def edit_bytes(dice: random.Random, data: bytes) -> bytes:
    start = dice.randrange(len(data) + 1)
    end = min(len(data), start + dice.choice((0, 1, 100, 40_000)))
    inserted = dice.randbytes(dice.choice((0, 1, 300, 50_000)))
    return dice.choice((data[:start] + inserted + data[end:], data[end:] + data[:start], inserted, data * 2))[:100_000]


def edit(dice: random.Random, kind: str, content: str | bytes) -> str | bytes:
    if isinstance(content, bytes):
        return edit_bytes(dice, content)
    text = edit_text(dice, content)
    return {"prompt": f"x{text}", "task": f"x{text}"[:10_000]}.get(kind, text)  # a prompt is not blank


def add(database: Database, kind: str, number: int) -> tuple[str, str | bytes]:
    """Add an item; return its reference and its content."""
    if kind == "prompt":
        prompt = add_prompt(database, ADA, f"p{number}", f"Text {number}\n" + LONG[:2500])
        return prompt.name, prompt.content
    if kind == "task":
        task = add_task(database, ADA, f"T {number}")
        return f"#{task.number}", task.description or ""
    content = "" if kind == "text" else b"\0\xff" * 20
    return add_resource(database, ADA, f"r{number}", content).name, content


def change(database: Database, kind: str, reference: str, content: str | bytes) -> None:
    with database.write(ADA) as tx:
        if isinstance(content, str) and kind == "prompt":
            prompts.update(tx, ADA, prompts.get_by_name(tx, ADA, reference).id, PromptPatch(content=content))
        elif isinstance(content, str) and kind == "task":
            tasks.update(tx, ADA, int(reference[1:]), TaskPatch(description=content))
        else:
            documents.update(tx, ADA, reference, DocumentPatch(content=content))


def read_version(database: Database, kind: str, reference: str, version: int) -> str | bytes | None:
    return read(database, ADA, lambda tx: history.read_version(tx, ADA, reference, version)).content


@pytest.mark.parametrize("kind", ["prompt", "text", "bytes", "task"])
def test_every_version_comes_back_byte_for_byte(database: Database, kind: str) -> None:
    dice = random.Random(kind)
    for number in range(SEQUENCES // 4):
        reference, content = add(database, kind, number)
        known = [content]
        for _ in range(dice.randrange(1, EDITS)):
            content = edit(dice, kind, known[-1])
            change(database, kind, reference, content)
            if content != known[-1]:  # otherwise, there is no new version
                known.append(content)
        for version, content in enumerate(known, 1):
            assert read_version(database, kind, reference, version) == content, (number, version)
