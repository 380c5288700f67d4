"""The URIs of our own, and names in them. What urllib.parse would do, without the time that it takes to load."""

import re

PROMPT, TASK, PROJECT = "satchel://prompt/", "satchel://task/", "satchel://project/"

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:")


def prompt_uri(name: str) -> str:
    """The URI of a prompt."""
    return PROMPT + "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in name.encode())


def name_in(uri: str, kind: str) -> str:
    """The name in a URI of a kind; what is no UTF-8 in it becomes a character that no name has."""
    name = uri[len(kind) :].encode()
    return re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), name).decode("utf-8", "replace")
