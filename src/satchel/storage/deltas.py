"""Old states as compressed differences from the next state, without the common prefix and suffix.

zlib uses the replaced part of the next state as its dictionary, so that two distant edits cost little.
Its window is 32 KiB; text outside of it is compressed without the dictionary.
"""

import zlib
from typing import AnyStr

from satchel.storage.database import explain_damage

_WINDOW = 32 * 1024
_WORTH_COMPRESSING = 48  # bytes; below this, the header of zlib costs more than compression saves


def make_delta(old: bytes, new: bytes) -> bytes:
    """Return the difference from which `apply_delta` rebuilds `old`, given `new`; if `new` is empty, all of `old`."""
    start = common_prefix(old, new)
    end = common_prefix(old[start:][::-1], new[start:][::-1])
    middle = old[start : len(old) - end]
    replaced = new[start : len(new) - end]
    head = _write_number(start) + _write_number(end)
    if len(middle) < _WORTH_COMPRESSING:
        return head + b"\0" + middle
    compressor = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS, zdict=replaced[-_WINDOW:])
    packed = compressor.compress(middle) + compressor.flush()
    return head + b"\1" + packed if len(packed) < len(middle) else head + b"\0" + middle


def apply_delta(delta: bytes, new: bytes) -> bytes:
    """Rebuild the old state from its difference and the next state.

    Raises:
        StoreFailed: the difference is damaged.
    """
    try:
        start, position = _read_number(delta, 0)
        end, position = _read_number(delta, position)
        is_packed, middle = delta[position], delta[position + 1 :]
        if is_packed:
            replaced = new[start : len(new) - end]
            middle = zlib.decompressobj(-zlib.MAX_WBITS, zdict=replaced[-_WINDOW:]).decompress(middle)
    except (IndexError, zlib.error) as error:
        raise explain_damage("an old version", error) from error
    return new[:start] + middle + new[len(new) - end :]


def common_prefix(one: AnyStr, other: AnyStr) -> int:
    """Return the length of the common prefix of two texts, by bisection, because comparing slices beats a loop."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _write_number(number: int) -> bytes:
    """Encode a number in as many bytes as it needs, seven bits in each."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _read_number(data: bytes, position: int) -> tuple[int, int]:
    """Decode a number; return it and the position after it."""
    number = shift = 0
    while True:
        byte = data[position]
        number |= (byte & 0x7F) << shift
        position, shift = position + 1, shift + 7
        if byte < 0x80:
            return number, position
