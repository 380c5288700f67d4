"""What the cross-user matrix asks for: things that are foreign to a caller, their absent twins, and their spellings."""

from collections.abc import Callable

ANN, BOB = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
CANARY = "xyzzy"  # in every title, name and text that is foreign
OTHER_CANARY = "plugh"  # in titles that are foreign to a limited token only: they are like no title of Bob
FIRST_FOREIGN = 700_000  # numbers of foreign tasks come after this, so that they are no part of other numbers
ABSENT_TASK, ABSENT_ID = 800_001, "9f9a9b9c-9d9e-4f9a-8b9c-9d9e9f9a9b9c"


class Thing:
    """Something foreign, or its absent twin, which looks like it."""

    def __init__(self, kind: str, *, number: int = 0, id: str = "", name: str = "", title: str = "") -> None:
        self.kind, self.number, self.id, self.name, self.title = kind, number, id, name, title

    @property
    def keys(self) -> list[str]:
        """What an answer may repeat of the question, the longest first."""
        keys = [self.title, self.name, self.id, str(self.number) if self.number else ""]
        return [text for key in keys if key for text in (key, key.upper())]

    def twin(self) -> "Thing":
        """The same with nothing of it that exists: words get other letters, so that they are like no others."""
        number = ABSENT_TASK if self.number else 0
        id = ABSENT_ID if self.id else ""
        return Thing(self.kind, number=number, id=id, name=_shift(self.name), title=_shift(self.title))


def _shift(text: str) -> str:
    return "".join(chr((ord(one) - 96) % 26 + 97) if one.isascii() and one.islower() else one for one in text)


Spelling = Callable[[Thing], object]

_OF_IDS: dict[str, Spelling] = {
    "id": lambda one: one.id,
    "upper id": lambda one: one.id.upper(),
    "braced id": lambda one: f"{{{one.id}}}",
    "padded id": lambda one: f" {one.id} ",
    "id without hyphens": lambda one: one.id.replace("-", ""),
    "urn": lambda one: f"urn:uuid:{one.id}",
}
_OF_WORDS: dict[str, Spelling] = {
    "name": lambda one: one.name,
    "padded name": lambda one: f" {one.name} ",
    "upper name": lambda one: one.name.upper(),
    "name with a slash": lambda one: f"{one.name}/",
}
SPELLINGS: dict[str, dict[str, Spelling]] = {
    "task": {
        "number": lambda one: one.number,
        "text": lambda one: str(one.number),
        "hash": lambda one: f"#{one.number}",
        "float": lambda one: float(one.number),
        "padded": lambda one: f" {one.number} ",
        "zero": lambda one: f"0{one.number}",
        "uri": lambda one: f"satchel://task/{one.number}",
        "upper uri": lambda one: f"SATCHEL://TASK/{one.number}",
        "uri of id": lambda one: f"satchel://task/{one.id}",
        "title": lambda one: one.title,
        **_OF_IDS,
    },
    "prompt": {
        **_OF_WORDS,
        "title": lambda one: one.title,
        "uri": lambda one: f"satchel://prompt/{one.name}",
        "quoted uri": lambda one: f"satchel://prompt/{'%'.join(['', *(f'{ord(x):02x}' for x in one.name)])}",
        "uri of id": lambda one: f"satchel://prompt/{one.id}",
        **_OF_IDS,
    },
    "resource": {
        **_OF_WORDS,
        "own uri": lambda one: f"satchel://resource/{one.name}",
        "uri": lambda one: f"doc:{one.name}",
        **_OF_IDS,
    },
    "project": {**_OF_WORDS, "uri": lambda one: f"satchel://project/{one.name}", "id": lambda one: one.id},
    "user": {**_OF_IDS},
}
