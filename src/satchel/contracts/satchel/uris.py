"""The URIs of what is no resource of a project: prompts, tasks and projects themselves."""

import re

PROMPT_URI, TASK_URI, PROJECT_URI = "satchel://prompt/", "satchel://task/", "satchel://project/"

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:")


# What urllib.parse would do, without the time that it takes to load.


def prompt_uri(name: str) -> str:
    """The URI of a prompt."""
    return PROMPT_URI + "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in name.encode())


def named_by(uri: str, start: str) -> str:
    """What a URI names behind its start; what is no UTF-8 in it becomes a character that no name has."""
    name = uri[len(start) :].encode()
    return re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), name).decode("utf-8", "replace")
