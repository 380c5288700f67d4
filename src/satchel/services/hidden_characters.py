"""Characters that do not show, or that change how their neighbours show, where a title is to be read as it is.

A control character, a bidirectional override or a zero-width space makes two titles look alike, or hides an instruction
from a person that a model reads. Some writing needs characters of these kinds: joiners in Persian, Indic and other
scripts, and joiners, variation selectors and tags in emoji. They are accepted where such writing has them only.
"""

import re

from satchel.errors import WrongArgument

_CONTROLS = r"[\x00-\x1f\x7f-\x9f]"
# Blank letters and marks, which are none of the format characters.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2028\u2029\u2800\u3164\uffa0\ufffc")
# Places that Unicode keeps for further characters that do not show, and those that never will be characters.
_RESERVED = ((0x2060, 0x206F), (0xFDD0, 0xFDEF), (0xFFF0, 0xFFF8), (0xE0000, 0xE0FFF))
# Format characters that show: signs that enclose or span numbers in Arabic, Syriac and Kaithi.
_SHOWN = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
_JOINERS = "\u200c\u200d"
# Scripts in which joiners choose between forms of letters: Arabic, Syriac, N'Ko, Mandaic, those of India and of
# South-East Asia, and Mongolian.
_JOINING = (
    (0x0600, 0x08FF), (0x0900, 0x0DFF), (0x0F00, 0x109F), (0x1700, 0x18AF), (0x1900, 0x1CFF), (0xA800, 0xABFF),
    (0xFB50, 0xFDFF), (0xFE70, 0xFEFC), (0x10A00, 0x10A5F), (0x11000, 0x11FFF),
)  # fmt: skip
_BLACK_FLAG, _END_OF_TAGS = "\U0001f3f4", "\U000e007f"
_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"  # of a region, such as Scotland


def check_shown(field: str, text: str, kind: str | None = None) -> None:
    """Check that every character of a title shows.

    Raises:
        WrongArgument: one does not; the value names it.
    """
    hidden = find_hidden(text)
    if hidden is not None:
        raise WrongArgument(field, "hidden", value=f"U+{ord(hidden):04X}", kind=kind)


def drop_hidden(text: str) -> str:
    """A text without the characters that do not show; line breaks and tabs become spaces."""
    text = re.sub(r"[\t\n\r\x0b\x0c\x85\u2028\u2029]+", " ", text)
    while (hidden := find_hidden(text)) is not None:
        text = text.replace(hidden, "")
    return text


def find_hidden(text: str) -> str | None:
    """The first character of a text that does not show, or changes how others do, without need; None: there is none."""
    if text.isascii():
        found = re.search(_CONTROLS, text)
        return found[0] if found else None
    text = re.sub(_FLAG, _BLACK_FLAG, text)
    return next((one for place, one in enumerate(text) if _is_hidden(text, place)), None)


def _is_hidden(text: str, place: int) -> bool:
    import unicodedata  # few titles need it, and a start none

    one = text[place]
    before, after = text[place - 1 : place] if place else "", text[place + 1 : place + 2]
    if one in _JOINERS:
        return not (_joins_letters(before, after) or (one == "\u200d" and _joins_emoji(before, after)))
    if _is_selector(one):
        return not before or _is_selector(before) or before.isspace() or unicodedata.category(before)[0] == "C"
    if one in _BLANK or _is_reserved(one):
        return True
    return unicodedata.category(one) in ("Cc", "Cf", "Cs") and one not in _SHOWN


def _is_reserved(one: str) -> bool:
    code = ord(one)
    return code & 0xFFFE == 0xFFFE or any(first <= code <= last for first, last in _RESERVED)


def _joins_letters(before: str, after: str) -> bool:
    """Whether a joiner is behind a letter of a script that has joiners, and before no other joiner."""
    return _is_joining(before) and after not in (*_JOINERS, " ") and (not after or _is_joining(after))


def _is_joining(one: str) -> bool:
    import unicodedata

    is_letter = bool(one) and unicodedata.category(one)[0] in "LM"
    return is_letter and any(first <= ord(one) <= last for first, last in _JOINING)


def _joins_emoji(before: str, after: str) -> bool:
    """Whether a joiner is between two emoji: the first may end in a variation selector or a skin tone."""
    import unicodedata

    is_ended = before == "\ufe0f" or (bool(before) and unicodedata.category(before) in ("So", "Sk"))
    return is_ended and bool(after) and unicodedata.category(after) in ("So", "Sm")


def _is_selector(one: str) -> bool:
    """Whether this is one of the variation selectors, which choose between forms of the character before them."""
    return "\ufe00" <= one <= "\ufe0f" or "\U000e0100" <= one <= "\U000e01ef"
