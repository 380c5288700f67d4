"""Every version of a text or of bytes comes back byte for byte; `tests/storage/test_deltas.py` tries any difference."""

import random
from collections.abc import Sequence

from satchel.model import DocumentPatch, PromptPatch, TaskPatch
from satchel.services import documents, history, prompts, tasks
from satchel.storage.database import Database
from tests.history.store import ADA, add_prompt, add_resource, add_task, read

# A little longer than the window of zlib, so that some edits are farther apart than the window.
LONG = "".join(random.Random(1).choices("abcdefghij \n", k=40_000))
TEXTS = (
    *("Straße 日本茶 \U0001f375 e\u0301", "a\r\nb\n\nc\r\n", '\t{{ x }}\u2028\ufffd"\\', LONG, LONG[:-1], f"x{LONG}"),
    *(LONG[:9] + "tea" + LONG[12:39_000], LONG[20_000:] + LONG[:20_000], "... (rest unchanged)", LONG[:3000]),
)
BYTES = (b"\0\xff" * 20, b"", bytes(range(256)) * 300, b"\r\n" + bytes(range(256)) * 299, LONG.encode()[::-1])


def test_every_version_comes_back_byte_for_byte(database: Database) -> None:
    prompt, task = add_prompt(database, ADA, "p", "first"), add_task(database, ADA, "T")
    add_resource(database, ADA, "text", "first")
    add_resource(database, ADA, "bytes", b"first")
    short = [text[:10_000] for text in TEXTS if text != LONG[:-1]]
    of_items: dict[str, Sequence[str | bytes]] = {"p": TEXTS, f"#{task.number}": short, "text": ("", *TEXTS)}
    for reference, contents in {**of_items, "bytes": BYTES}.items():
        for content in contents:
            with database.write(ADA) as tx:
                if isinstance(content, str) and reference == "p":
                    prompts.update(tx, ADA, prompt.id, PromptPatch(content=content))
                elif isinstance(content, str) and reference != "text":
                    tasks.update(tx, ADA, task.number, TaskPatch(description=content))
                else:
                    documents.update(tx, ADA, reference, DocumentPatch(content=content))
        for version, content in enumerate(contents, 2):
            found = read(database, ADA, lambda tx: history.read_version(tx, ADA, reference, version)).content  # noqa: B023
            assert found == content, (reference, version)
