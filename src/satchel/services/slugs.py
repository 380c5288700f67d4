"""Names of prompts, made from their titles."""

import re
from collections.abc import Iterator

MAX_LENGTH = 60


def slug(title: str) -> str:
    """A title as lower-case ASCII letters, digits and hyphens; empty where it has none."""
    import unicodedata  # only a new prompt needs it

    spelled = unicodedata.normalize("NFKD", title.casefold())
    plain = "".join(character for character in spelled if not unicodedata.category(character).startswith("M"))
    return re.sub("[^A-Za-z0-9]+", "-", plain).strip("-")[:MAX_LENGTH]


def candidates(title: str, id: str) -> Iterator[str]:
    """The names that a prompt may get, the best first; the last is free because ids are unique."""
    suffix = id.replace("-", "")[:8]
    base = slug(title) or f"prompt-{suffix}"
    yield base
    yield from (f"{base}-{count}" for count in range(2, 10))
    yield f"{base}-{suffix}"
    yield f"{base}-{id}"
