"""Documents that people might have written: JSON with comments, trailing commas and odd spacing, and TOML."""

import json
from typing import Any

from hypothesis import strategies as st

KEYS = st.sampled_from(["mcpServers", "servers", "mcp", "satchel", "a", "b b", 'q"t', "ü", "//", ""])
SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.sampled_from(["", "x", "// no comment", "/* nor this */", '"', "\\", "{", "},", "é\n", "[mcp]"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=8,
)
GAPS = st.sampled_from(
    ["", " ", "\n", "\n  ", "\t", " // remark, with a comma\n", "/* a { brace */", "\n  // {\n\n  ", "\r\n", " /**/ "]
)


@st.composite
def json_texts(draw: st.DrawFn, value: Any) -> str:
    """Return a value as JSON with white space, comments and trailing commas drawn between its tokens."""

    def write(one: Any) -> str:
        if isinstance(one, dict):
            members = [f"{gap()}{json.dumps(key)}{gap()}:{gap()}{write(inner)}{gap()}" for key, inner in one.items()]
            return "{" + join(members) + "}"
        if isinstance(one, list):
            return "[" + join([f"{gap()}{write(inner)}{gap()}" for inner in one]) + "]"
        return json.dumps(one, ensure_ascii=draw(st.booleans()))

    def join(parts: list[str]) -> str:
        if not parts:
            return gap()
        return ",".join(parts) + ("," + gap() if draw(st.booleans()) else "")

    def gap() -> str:
        return draw(GAPS)

    return gap() + write(value) + gap()


TOML_VALUES = st.sampled_from(
    [
        '"x"',
        "'y'",
        "1",
        "true",
        '"""\n[mcp_servers.satchel]\n"""',
        "'''\n# no comment'''",
        "[1, # one\n  2,\n]",
        '{ a = "}", b = [1] }',
        "2026-01-01T00:00:00Z",
        '"a # b"',
        '""',
        "[['[x]']]",
        '""""quoted""""',
    ]
)
TOML_LINES = st.sampled_from(["", "# a remark", "   # [mcp_servers.satchel]"])


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    """Return a document with some tables, in which every key is there once."""
    lines: list[str] = []
    sections = [(), ("model",), ("mcp_servers", "other"), ("mcp_servers", "other", "env"), ("mcp_servers", '"a b"')]
    end = draw(st.sampled_from(["\n", "\r\n"]))
    for section in sections:
        if section and not draw(st.booleans()):
            continue
        if section:
            header = draw(st.sampled_from([".", " . "])).join(section)
            lines.append(f"{draw(st.sampled_from(['', '  ']))}[{header}]{draw(st.sampled_from(['', ' # here']))}")
        for number in range(draw(st.integers(0, 3))):
            lines += draw(st.lists(TOML_LINES, max_size=2))
            lines.append(f"key{number} = {draw(TOML_VALUES)}{draw(st.sampled_from(['', ' # why']))}")
        lines += draw(st.lists(TOML_LINES, max_size=2))
    return end.join("\n".join(lines).split("\n")) + draw(st.sampled_from(["", end]))
