"""Shrink a PNG to a palette of its 256 most frequent colours, enough for screens with text."""

import struct
import zlib
from collections import Counter

_COLOURS = 256
_TRUE_COLOUR = {2: 3, 6: 4}  # colour type → bytes of a pixel


def shrink(png: bytes) -> bytes:
    """Return the picture with a palette, or unchanged if it is of a kind that browsers do not write."""
    chunks = _read_chunks(png)
    width, height, depth, kind, *_ = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    if depth != 8 or kind not in _TRUE_COLOUR:
        return png
    size = _TRUE_COLOUR[kind]
    rows = _unfilter(zlib.decompress(chunks[b"IDAT"]), width * size, size)
    pixels = [[row[at : at + 3] for at in range(0, width * size, size)] for row in rows]
    counts = Counter(pixel for row in pixels for pixel in row)
    palette = [colour for colour, _ in counts.most_common(_COLOURS)]
    places = {colour: _find_nearest(colour, palette) for colour in counts}
    places |= {colour: place for place, colour in enumerate(palette)}
    raw = b"".join(b"\0" + bytes(places[pixel] for pixel in row) for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = (b"IHDR", head), (b"PLTE", b"".join(palette)), (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b"")
    return png[:8] + b"".join(_write_chunk(name, data) for name, data in parts)


def _read_chunks(png: bytes) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    at = 8
    while at < len(png):
        [length] = struct.unpack(">I", png[at : at + 4])
        name = png[at + 4 : at + 8]
        found[name] = found.get(name, b"") + png[at + 8 : at + 8 + length]
        at += 12 + length
    return found


def _write_chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _unfilter(data: bytes, length: int, size: int) -> list[bytes]:
    """Return the rows of a picture without the filters of PNG."""
    rows: list[bytes] = []
    above = bytearray(length)
    for start in range(0, len(data), length + 1):
        kind, row = data[start], bytearray(data[start + 1 : start + 1 + length])
        for at in range(length) if kind else ():
            left = row[at - size] if at >= size else 0
            corner = above[at - size] if at >= size else 0
            row[at] = (row[at] + _predict(kind, left, above[at], corner)) & 255
        rows.append(bytes(row))
        above = row
    return rows


def _predict(kind: int, left: int, above: int, corner: int) -> int:
    if kind < 3:
        return left if kind == 1 else above
    if kind == 3:
        return (left + above) // 2
    guess = left + above - corner  # Paeth
    return min((left, above, corner), key=lambda one: abs(guess - one))


def _find_nearest(colour: bytes, palette: list[bytes]) -> int:
    return min(
        range(len(palette)), key=lambda place: sum((a - b) ** 2 for a, b in zip(colour, palette[place], strict=True))
    )
