"""The MCP App of the tool `show`, one HTML file, and the icons of the server and its tools."""

import os
from binascii import b2a_base64, crc32
from functools import cache
from typing import Any

import satchel

MIME_TYPE = "text/html;profile=mcp-app"
URI = "ui://satchel/show"

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(satchel.__file__)), "page")
_ABOUT = {"ui": {"prefersBorder": True, "permissions": {"clipboardWrite": {}}}}


@cache
def read_app() -> str:
    """Read the app: one HTML file, into which the page's design tokens are inserted."""
    with open(os.path.join(_FOLDER, "chat", "show.html"), encoding="utf-8") as file:
        app = file.read()
    with open(os.path.join(_FOLDER, "static", "tokens.css"), encoding="utf-8") as file:
        return app.replace("/*tokens*/", file.read())


@cache
def app_uri() -> str:
    """Return the URI of the app, which changes with the app's content, because hosts cache the app for good."""
    return f"{URI}@{crc32(read_app().encode()):08x}"


def read_app_resource(uri: str) -> dict[str, Any] | None:
    """Return the app for `resources/read`, whichever version its URI names; None if the URI is not the app's."""
    if uri != URI and not uri.startswith(f"{URI}@"):
        return None
    return {"uri": uri, "mimeType": MIME_TYPE, "text": read_app(), "_meta": _ABOUT}


def describe_ui() -> dict[str, Any]:
    """Return the metadata that links the tool to its app; some hosts know only the older flat key."""
    return {"ui": {"resourceUri": app_uri()}, "ui/resourceUri": app_uri()}


# -- icons: small drawings that need no request and no colour scheme -----------------------------------------------

_COLOUR = "#5b7fd6"  # readable on light and on dark ground
_DRAWINGS = {
    "": "M5 5V4a3 3 0 0 1 6 0v1h3v9H2V5zm1.5 0h3V4a1.5 1.5 0 0 0-3 0z",  # a bag
    "prompts": "M2 2h12v9H8l-4 3v-3H2z",  # a speech bubble
    "documents": "M3 1h7l3 3v11H3zm2 5v1h6V6zm0 3v1h6V9z",  # a page
    "tasks": "M2 2h12v12H2zm2 6 3 3 5-5-1-1-4 4-2-2z",  # a ticked box
}


def _encode(path: str) -> str:
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="{_COLOUR}" d="{path}"/></svg>'
    return f"data:image/svg+xml;base64,{b2a_base64(drawing.encode(), newline=False).decode()}"


ICONS = {toolset: _encode(path) for toolset, path in _DRAWINGS.items()}
