"""Texts for a benchmark: invented words, always the same for the same number."""

import random
import re
from dataclasses import dataclass

COMMON_TAGS = ("coding", "writing", "review", "research", "teaching", "travel", "music", "law", "health", "games")
RARE_TAG = "seldom"
COMMON_WORD, RARE_WORD = "document", "xylographer"
ABSENT_WORD = "qzxjvkwq"

_SYLLABLES = re.findall(
    "[a-z]+", "the in er and ent ion or at ma ri lo tan vel ous pre com dis sub al it on is re act ing qui fo ge hu ka"
)


@dataclass(frozen=True)
class Sample:
    """One prompt to store."""

    title: str
    content: str
    tags: tuple[str, ...]


def word(number: int) -> str:
    """Return a word that few items have, the same for the same number."""
    dice = random.Random(number % 997)
    return "".join(dice.choices(_SYLLABLES, k=4))


def sentence(number: int) -> str:
    """Return some 200 characters, the same for the same number."""
    dice = random.Random(number)
    return f"About {word(number)}: " + " ".join("".join(dice.choices(_SYLLABLES, k=2)) for _ in range(30))
