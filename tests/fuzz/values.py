"""Arguments made from the JSON Schema of a tool: good ones, and ones that are a step away from that."""

import random
from typing import Any

Schema = dict[str, Any]

# Texts that trip programs: quotes, operators of SQL and FTS5, other scripts, white space, control characters.
TEXTS = (
    *("Tea", "a", "plain-words", "plan.md", "default", "web", "x" * 300, "needle", "#1", "1", "{prompt}", "{task}"),
    *("' or 1=1 --", '"', "AND OR NOT *", "%", "_", "\\", "{{ x }}", "{% for", "satchel://task/1", "2026-12-01", "3d"),
    *("Straße", "茶", "👩‍💻", "e\u0301", "\u202etxt", "a\nb\r\nc", "  spaced  ", "\t"),
    *("\u2028", "\x1b[31m", "+a", "-a"),
)
ODD_TEXTS = ("", " ", "\0", "a\0b", "\ud800", "x" * 11_000, "\ufeff", "\x7f", "../../etc/passwd", "null")
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 5.0, 10**30, -(10**18), 2**63, 1e300, "1", "true", [], [[]], {}, {"a": {"b": []}}),
    *([None], ["a", 1], "\ud800", "a\0b"),
)


def make_valid(schema: Schema, dice: random.Random) -> Any:
    """Return a value that a schema allows, or nearly: hidden bounds are not in it."""
    if "enum" in schema:
        return dice.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return make_valid(dice.choice(schema[several]), dice)
    kind = schema.get("type", "string")
    if isinstance(kind, list):
        kind = dice.choice(kind)
    return _MAKERS[kind](schema, dice)


def make_near(schema: Schema, dice: random.Random) -> dict[str, Any]:
    """Arguments of which one thing is wrong."""
    value: dict[str, Any] = make_valid(schema, dice)
    names = list(schema.get("properties", {}))
    way = dice.choice(("drop", "odd", "odd", "text", "bound", "more", "wrapped"))
    name = dice.choice(names) if names else "x"
    if way == "drop":
        value.pop(dice.choice(schema.get("required") or names or ["x"]), None)
    elif way == "odd":
        value[name] = dice.choice(ODD_VALUES)
    elif way == "text":
        value[name] = dice.choice(ODD_TEXTS)
    elif way == "bound":
        value[name] = _break_bound(schema.get("properties", {}).get(name, {}), dice)
    elif way == "more":
        value[dice.choice(("", "title ", "__proto__", "user_id", "limit", "\0", "nmae", "x" * 500))] = "x"
    else:
        value[name] = [value.get(name)]
    return value


def _break_bound(schema: Schema, dice: random.Random) -> Any:
    broken: list[Any] = ["x" * (schema.get("maxLength", 10_000) + 1), "x" * schema.get("maxLength", 100)]
    broken += [schema.get("maximum", 2**53) + 1, schema.get("minimum", 0) - 1, ["a"] * 201, [""], ["\0"]]
    return dice.choice(broken)


def _make_string(schema: Schema, dice: random.Random) -> str:
    if schema.get("format") == "uuid":
        return dice.choice(("{task}", "{prompt}", "550e8400-e29b-41d4-a716-446655440000", "{task}"))
    if "pattern" in schema:
        return dice.choice(("a", "b", "tag-1", "x_Y"))
    text = dice.choice(TEXTS)
    text = text[: schema.get("maxLength", 2_000)]
    return text if len(text) >= schema.get("minLength", 0) else "x" * schema["minLength"]


def _make_integer(schema: Schema, dice: random.Random) -> int:
    low, high = schema.get("minimum", 0), schema.get("maximum", 60)
    return int(dice.choice((low, high, dice.randint(low, max(low, min(high, low + 10))), 1)))


def _make_array(schema: Schema, dice: random.Random) -> list[Any]:
    size = max(schema.get("minItems", 0), dice.choice((0, 1, 1, 2, 3)))
    return [make_valid(schema.get("items", {}), dice) for _ in range(size)]


def _make_object(schema: Schema, dice: random.Random) -> dict[str, Any]:
    needed = set(schema.get("required", ()))
    chosen = {name for name in schema.get("properties", {}) if name in needed or dice.random() < 0.4}
    found = {name: make_valid(schema["properties"][name], dice) for name in sorted(chosen)}
    if isinstance(schema.get("additionalProperties"), dict) and dice.random() < 0.5:
        found["language"] = make_valid(schema["additionalProperties"], dice)
    return found


_MAKERS = {
    "string": _make_string,
    "integer": _make_integer,
    "number": _make_integer,
    "boolean": lambda _, dice: dice.random() < 0.5,
    "array": _make_array,
    "object": _make_object,
    "null": lambda *_: None,
}
