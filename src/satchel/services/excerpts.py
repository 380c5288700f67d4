"""The part of a text that a list shows: its beginning, or the surroundings of a hit, cut at words where it can be."""

from satchel.model import Excerpt

WIDTH = 200
_REACH = 20  # characters that an end is moved by at most, to the next space
_STRIDE = 4096


def beginning(text: str, *, is_whole: bool) -> Excerpt | None:
    """The first words within WIDTH characters, with white-space runs as one space.

    None where the text is only the start of a longer one, and too short to decide.
    """
    plain = _collapsed(text)
    if not is_whole and len(plain) <= WIDTH:
        return None
    last = _end_of_word(plain, WIDTH, least=0)
    return Excerpt(plain[:last], is_cut_before=False, is_cut_behind=len(plain) > WIDTH)


def surroundings(text: str, start: int, end: int, *, has_start: bool, has_end: bool) -> Excerpt | None:
    """The words within WIDTH characters around the hit text[start:end], with white-space runs as one space.

    The text may be a slice without the start or the end of the whole; None where it is too short to decide.
    """
    plain = _collapsed(text)
    left = _collapsed_offset(text, start)
    hit = len(_collapsed(text[start:end]))
    first = left - max(0, WIDTH - hit) // 2
    if first <= 0:
        if not has_start:
            return None
        first = 0
    if first + WIDTH >= len(plain):
        if not has_end:
            return None
        first = len(plain) - WIDTH
        if first <= 0 and not has_start:
            return None
        first = max(0, first)
    last = _end_of_word(plain, first + WIDTH, least=left + hit if hit <= WIDTH else left)
    first = _start_of_word(plain, first, most=left)
    return Excerpt(
        plain[first:last],
        is_cut_before=first > 0 or not has_start,
        is_cut_behind=last < len(plain) or not has_end,
    )


def _end_of_word(plain: str, offset: int, least: int) -> int:
    """Where to cut a text that must be cut at an offset or before it: at the last space, if that is near."""
    if offset >= len(plain) or " " in plain[offset - 1 : offset + 1]:
        return offset
    space = plain.rfind(" ", max(least, offset - _REACH), offset)
    return space if space > 0 else offset


def _start_of_word(plain: str, offset: int, most: int) -> int:
    """Where a text may begin that must begin at an offset or behind it: behind the next space, if that is near."""
    if offset <= 0 or " " in plain[offset - 1 : offset + 1]:
        return offset
    space = plain.find(" ", offset, min(most, offset + _REACH))
    return space + 1 if space > 0 else offset


def unfolded_offset(text: str, folded_offset: int) -> int:
    """The offset in a text of an offset in its folded form, which is longer where ß became ss."""
    start, folded = 0, 0
    while start < len(text):  # in strides: a step for each character would be slow
        stride = len(text[start : start + _STRIDE].casefold())
        if folded + stride > folded_offset:
            break
        start, folded = start + _STRIDE, folded + stride
    for offset in range(start, len(text)):
        folded += len(text[offset].casefold())
        if folded > folded_offset:
            return offset
    return len(text)


def _collapsed(text: str) -> str:
    inner = " ".join(text.split())
    if not inner:
        return " " if text else ""
    return (" " if text[0].isspace() else "") + inner + (" " if text[-1].isspace() else "")


def _collapsed_offset(text: str, offset: int) -> int:
    is_inside_run = 0 < offset < len(text) and text[offset - 1].isspace() and text[offset].isspace()
    return len(_collapsed(text[:offset])) - is_inside_run
