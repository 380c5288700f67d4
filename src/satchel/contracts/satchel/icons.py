"""The icons of the server and of its tools, by toolset: small drawings that need no request and no colour scheme."""

from binascii import b2a_base64

_COLOUR = "#5b7fd6"  # readable on light and on dark ground
_DRAWINGS = {
    "": "M5 5V4a3 3 0 0 1 6 0v1h3v9H2V5zm1.5 0h3V4a1.5 1.5 0 0 0-3 0z",  # a bag
    "prompts": "M2 2h12v9H8l-4 3v-3H2z",  # a speech bubble
    "resources": "M3 1h7l3 3v11H3zm2 5v1h6V6zm0 3v1h6V9z",  # a page
    "tasks": "M2 2h12v12H2zm2 6 3 3 5-5-1-1-4 4-2-2z",  # a ticked box
}


def _encode(path: str) -> str:
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="{_COLOUR}" d="{path}"/></svg>'
    return f"data:image/svg+xml;base64,{b2a_base64(drawing.encode(), newline=False).decode()}"


ICONS = {toolset: _encode(path) for toolset, path in _DRAWINGS.items()}
