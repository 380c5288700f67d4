"""The MCP App that hosts show for the tool `show`: one HTML file, served as a resource."""

import os
from binascii import crc32
from functools import cache
from typing import Any

import satchel

MIME_TYPE = "text/html;profile=mcp-app"
URI = "ui://satchel/show"

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(satchel.__file__)), "page")
_ABOUT = {"ui": {"prefersBorder": True, "permissions": {"clipboardWrite": {}}}}


@cache
def read_app() -> str:
    """The app: one HTML file, with the design tokens of the page in it."""
    with open(os.path.join(_FOLDER, "chat", "show.html"), encoding="utf-8") as file:
        app = file.read()
    with open(os.path.join(_FOLDER, "static", "tokens.css"), encoding="utf-8") as file:
        return app.replace("/*tokens*/", file.read())


@cache
def app_uri() -> str:
    """The URI of the app. Hosts keep what it names for good, so that it changes with the content."""
    return f"{URI}@{crc32(read_app().encode()):08x}"


def read_app_resource(uri: str) -> dict[str, Any] | None:
    """The content of the app in `resources/read`, for its URI of any version; None for another URI."""
    if uri != URI and not uri.startswith(f"{URI}@"):
        return None
    return {"uri": uri, "mimeType": MIME_TYPE, "text": read_app(), "_meta": _ABOUT}


def describe_ui() -> dict[str, Any]:
    """What tells a host that the tool has an app; some hosts know only the older flat key."""
    return {"ui": {"resourceUri": app_uri()}, "ui/resourceUri": app_uri()}
