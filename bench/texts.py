"""Prompts for a benchmark: as long as real ones, from pieces of real ones where there are any, always the same."""

import csv
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.surroundings import ROOT

REAL = ROOT.parent / "shared" / "data" / "prompts.csv"

COMMON_TAGS = ("coding", "writing", "review", "research", "teaching", "travel", "music", "law", "health", "games")
RARE_TAG = "seldom"
TITLE_ONLY = "Xylographer"  # a word that no content has

# Real prompts: half are below 0.9 KB, the mean is 2.5 KB.
_MEDIAN, _SPREAD, _LONGEST = 918, 1.43, 60_000

_SYLLABLES = re.findall(
    "[a-z]+", "the in er and ent ion or at ma ri lo tan vel ous pre com dis sub al it on is re act ing qui fo ge hu ka"
)


@dataclass(frozen=True)
class Sample:
    """One prompt to store."""

    title: str
    content: str
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Queries:
    """What to search for in some samples."""

    common: str  # a word in about half of them
    rare: str  # a word in a handful
    three: str  # three letters in most of them
    two: str
    one: str
    absent_two: str
    absent_one: str
    nowhere: str


def word(number: int) -> str:
    """A word that few items have, always the same for the same number."""
    dice = random.Random(number % 997)
    return "".join(dice.choices(_SYLLABLES, k=4))


def sentence(number: int) -> str:
    """Some 200 characters, always the same for the same number."""
    dice = random.Random(number)
    return f"About {word(number)}: " + " ".join("".join(dice.choices(_SYLLABLES, k=2)) for _ in range(30))


def samples(count: int, path: Path | None, seed: int = 1) -> list[Sample]:
    """So many prompts, from the pieces in a CSV file with a column `prompt`, or from invented words."""
    dice = random.Random(seed)
    pieces = _real_pieces(path) if path is not None else _invented_pieces(dice)
    return [_sample(dice, pieces, number) for number in range(count)]


def queries(stored: list[Sample]) -> Queries:
    """Words and letters that are in some, in most and in none of the samples."""
    texts = [f"{sample.title}\n{sample.content}".casefold() for sample in stored]
    words = Counter(word for text in texts for word in set(re.findall(r"\b[a-z]{5,12}\b", text)))

    def hits(piece: str) -> int:
        return sum(piece in text for text in texts)

    likely = sorted(words, key=lambda word: (abs(words[word] - len(texts) // 2), word))[:20]
    various = [word for word in words if len(set(word)) > 5]  # no "aaaaaa"
    unlikely = sorted(various, key=lambda word: (abs(words[word] - 5), word))[:50]
    letters = "abcdefghijklmnopqrstuvwxyz"
    absent_pairs = (one + two for one in "zqxj" for two in letters if not hits(one + two))
    return Queries(
        common=min(likely, key=lambda word: abs(hits(word) - len(texts) // 2)),
        rare=min(unlikely, key=lambda word: (abs(hits(word) - 5), word)),
        three=max(("the", "ing", "and", "ent", "ion"), key=hits),
        two=max(("th", "in", "er"), key=hits),
        one="e",
        absent_two=next(absent_pairs, "ꙮꙮ"),
        absent_one=next(letter for letter in "ꙮ⍟ቀ" if not hits(letter)),
        nowhere="qzxjvkwq",
    )


def _sample(dice: random.Random, pieces: list[str], number: int) -> Sample:
    size = min(_LONGEST, max(80, int(_MEDIAN * dice.lognormvariate(0, _SPREAD))))
    chosen: list[str] = []
    length = 0
    while length < size:
        piece = dice.choice(pieces)[: size - length + 40]
        chosen.append(piece)
        length += len(piece) + 2
    words = dice.choice(pieces).split()[:6]
    mark = f"{TITLE_ONLY} " if number % 2000 == 7 else ""
    tags = {tag for place, tag in enumerate(COMMON_TAGS) if dice.random() < 0.5 / (place + 1)}
    tags |= {f"topic-{dice.randrange(200)}"} if dice.random() < 0.5 else set()
    tags |= {RARE_TAG} if number % 3000 == 11 else set()
    return Sample(f"{mark}{' '.join(words)[:150]} {number}", "\n\n".join(chosen), tuple(sorted(tags)))


def _real_pieces(path: Path) -> list[str]:
    csv.field_size_limit(1 << 30)
    with path.open(encoding="utf-8", newline="") as file:
        whole = [row["prompt"] for row in csv.DictReader(file)]
    return [piece for text in whole for piece in _split(text)]


def _split(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text.replace("\0", "")):
        for start in range(0, len(paragraph), 600):
            piece = paragraph[start : start + 600].strip()
            if len(piece) > 20:
                yield piece


def _invented_pieces(dice: random.Random) -> list[str]:
    words = ["".join(dice.choices(_SYLLABLES, k=dice.choice((1, 2, 2, 3)))) for _ in range(6000)]
    weights = [1 / (place + 5) for place in range(len(words))]  # few words are frequent, most are rare
    return [" ".join(dice.choices(words, weights, k=dice.randrange(8, 90))).capitalize() + "." for _ in range(5000)]
