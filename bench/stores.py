"""Stores with many prompts and tasks, filled through the services."""

import random
from collections.abc import Iterator

from bench import texts
from bench.texts import Sample
from satchel.model import PromptDraft, Scope, TaskDraft
from satchel.services import projects, prompts, tasks
from satchel.storage.database import Database, open_database

USER = "550e8400-e29b-41d4-a716-446655440000"
SCOPE = Scope(user=USER)
BATCH = 500  # to a transaction
TEXT_BYTES = 600  # of a prompt, in the growing stores


def open_new(address: str) -> Database:
    """Open a new store with the default project."""
    database = open_database(address)
    projects.require(database, SCOPE)
    return database


def grow(database: Database, start: int, end: int, scope: Scope = SCOPE) -> None:
    """Add the prompts and the tasks with these numbers."""
    for first in range(start, end, BATCH):
        with database.write(scope) as tx:
            for sample in make_samples(first, min(first + BATCH, end)):
                prompts.add(tx, scope, PromptDraft(title=sample.title, content=sample.content, tags=sample.tags))
                tasks.add(tx, scope, TaskDraft(title=sample.title, description=sample.content[:200], tags=sample.tags))


def make_samples(start: int, end: int) -> Iterator[Sample]:
    """Yield prompts of some 600 bytes; every thousandth has the rare word, every second the common one."""
    for number in range(start, end):
        dice = random.Random(number)
        words = [texts.word(dice.randrange(900)) for _ in range(TEXT_BYTES // 12)]
        words += [texts.RARE_WORD] if number % 1000 == 7 else []
        words += [texts.COMMON_WORD] if number % 2 else []
        dice.shuffle(words)
        tags = (texts.COMMON_TAGS[number % 10], texts.RARE_TAG) if number % 3000 == 11 else ("common",)
        yield Sample(f"{words[0].capitalize()} {number}", " ".join(words), tags)
