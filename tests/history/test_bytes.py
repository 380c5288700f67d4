"""Every version of a text or of bytes comes back byte for byte, however it was edited."""

import random
from collections.abc import Callable

import pytest

from satchel.model import PromptPatch, ResourcePatch, TaskPatch
from satchel.services import history, prompts, resources, tasks
from satchel.storage.database import Database, Tx
from tests.history.store import ADA, add_prompt, add_resource, add_task, delete_prompt, read, write
from tests.support.soak import amount

SEQUENCES = amount(40, 1000)
EDITS = 12
WORDS = ("tea", "Straße", "日本茶", "\U0001f375", "e\u0301", "\r\n", "\n\n", "\t", "{{ x }}", "\u2028", "\ufffd", '"', "\\", " ")
# A little longer than the window of zlib, so that some edits are farther apart than it.
LONG = "".join(random.Random(1).choices("abcdefghij \n", k=40_000))


def edit_text(dice: random.Random, text: str) -> str:
    """A text as people and models edit it: cut, insert, replace, repeat, move, elide, begin anew."""
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


@pytest.mark.parametrize("kind", ["prompt", "text", "bytes", "task"])
def test_every_version_comes_back_byte_for_byte(database: Database, kind: str) -> None:
    dice = random.Random(kind)
    for number in range(SEQUENCES // 4):
        reference, change, first = begin(database, kind, number)
        known = [first]
        for _ in range(dice.randrange(1, EDITS)):
            last = known[-1]
            new = edit_bytes(dice, last) if isinstance(last, bytes) else edit_text(dice, last)
            if kind == "task":
                new = new[:10_000]
            if kind == "prompt":
                new = f"x{new}"  # a prompt is not blank
            write(database, ADA, lambda tx, new=new: change(tx, new))
            known.append(new)
        versions = read(database, ADA, lambda tx: read_all(tx, kind, reference, len(known)))
        assert versions == [one or None if kind == "task" else one for one in known], (kind, number)


def begin(database: Database, kind: str, number: int) -> tuple[str, Callable[[Tx, str | bytes], object], str | bytes]:
    """A new item: its reference, how its content is changed, and the content it has."""
    if kind == "prompt":
        prompt = add_prompt(database, ADA, f"p{number}", f"xText {number}\n" + LONG[:2500])
        change = lambda tx, new: prompts.update(tx, ADA, prompt.id, PromptPatch(content=new))  # noqa: E731
        return prompt.name, change, prompt.content
    if kind == "task":
        task = add_task(database, ADA, f"T {number}")
        change = lambda tx, new: tasks.update(tx, ADA, task.number, TaskPatch(description=new))  # noqa: E731
        return f"#{task.number}", change, task.description or ""
    content = "" if kind == "text" else b"\0\xff" * 20
    resource = add_resource(database, ADA, f"r{number}", content)
    change = lambda tx, new: resources.update(tx, ADA, resource.name, ResourcePatch(content=new))  # noqa: E731
    return resource.name, change, content


def read_all(tx: Tx, kind: str, reference: str, count: int) -> list[str | bytes | None]:
    states = [history.read_version(tx, ADA, reference, version).state for version in range(1, count + 1)]
    return [state.description if kind == "task" else state.content for state in states]


def test_versions_survive_a_deletion_and_a_new_item_of_the_name(database: Database) -> None:
    dice = random.Random(2)
    known: dict[int, str] = {}
    for _ in range(amount(3, 20)):
        prompt = add_prompt(database, ADA, "Tee", LONG[: dice.randrange(1, 40_000)])
        for _ in range(dice.randrange(4)):
            known[prompt.version] = prompt.content
            patch = PromptPatch(content="x" + edit_text(dice, prompt.content))
            prompt = write(database, ADA, lambda tx, id=prompt.id, patch=patch: prompts.update(tx, ADA, id, patch))
        known[prompt.version] = prompt.content
        delete_prompt(database, ADA, prompt)
    found = read(
        database,
        ADA,
        lambda tx: {version: history.read_version(tx, ADA, "tee", version).state.text for version in known},
    )
    assert found == known
