"""Arguments and answers of tools: Structs as the JSON Schema that clients see, and the check that we make of it.

Struct annotations say it once. `Meta` holds what is published; `hidden` holds rules that the printed schema lacks.
The order of complaint is settled for all contracts: all that is missing, then all types, then all bounds, then what
nobody knows.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from msgspec import NODEFAULT, UNSET, Struct
from msgspec import inspect as shapes

from satchel.errors import WrongArgument

Schema = dict[str, Any]


class Hidden(Struct, frozen=True, kw_only=True):
    """Rules that hold but are not printed."""

    is_trimmed: bool = False  # outer white space goes before the lengths are looked at
    is_blank_refused: bool = False  # there must be something beside white space, which stays all the same
    takes_numbers: bool = False  # a whole number is taken for the text of its digits
    minimum: int | None = None
    maximum: int | None = None
    max_length: int | None = None
    max_items: int | None = None
    max_bytes: int | None = None


def hidden(**rules: Any) -> dict[str, Any]:
    """Rules for the `extra` of a `Meta`."""
    return {"hidden": Hidden(**rules)}


class Field(Struct, frozen=True, kw_only=True):
    """One argument."""

    name: str
    schema: Schema
    hidden: Hidden
    bounds: Schema  # of it, printed and hidden ones; the others of the schema are none
    is_required: bool


def json_schema(model: type[Struct], *, is_strict: bool = False) -> Schema:
    """The `inputSchema` of a tool; a strict one forbids arguments that it does not know."""
    fields = fields_of(model)
    schema: Schema = {"type": "object", "properties": {field.name: field.schema for field in fields}}
    required = [field.name for field in fields if field.is_required]
    if required:
        schema["required"] = required
    if is_strict:
        schema["additionalProperties"] = False
    return schema


def mirrored(model: type[Struct]) -> dict[str, str]:
    """The arguments that a schema has clients mirror in a header, and the name of that."""
    fields = [field for field in fields_of(model) if "x-mcp-header" in field.schema]
    return {field.name: f"Mcp-Param-{field.schema['x-mcp-header']}" for field in fields}


def answer_schema(model: type[Struct] | None) -> Schema:
    """The schema of an answer: of a Struct with all its members and no others, or of a text."""
    return {"type": "string"} if model is None else _described(shapes.type_info(model))


def parse(
    model: type[Struct], arguments: dict[str, Any], *, is_strict: bool = False, at_least_one: Sequence[str] = ()
) -> Struct:
    """Arguments as an input Struct. Where it is not strict, null counts as absent and unknown ones are ignored.

    Raises:
        WrongArgument: the first thing that is wrong with them.
    """
    fields = fields_of(model)
    given = {
        field.name: arguments[field.name]
        for field in fields
        if field.name in arguments and (is_strict or field.is_required or arguments[field.name] is not None)
    }
    for field in fields:
        if field.is_required and field.name not in given:
            raise WrongArgument(field.name, "required")
    if at_least_one and not given.keys() & set(at_least_one):
        raise WrongArgument(at_least_one[0], "anyOf", limit=at_least_one)
    present = [field for field in fields if field.name in given]
    for field in present:
        if field.hidden.takes_numbers:
            given[field.name] = _as_texts(given[field.name])
        _check_type(field.schema, given[field.name], field.name)
        if field.hidden.is_trimmed and given[field.name] is not None:
            given[field.name] = given[field.name].strip()
    for field in present:
        if given[field.name] is not None:
            _check_bounds(field.bounds, given[field.name], field.name)
            if field.hidden.is_blank_refused and not given[field.name].strip():
                raise WrongArgument(field.name, "minLength", limit=1)
    if is_strict:
        known = {field.name for field in fields}
        for name in arguments:
            if name not in known:
                raise WrongArgument(name, "additionalProperties")
    return model(**given)


@lru_cache(maxsize=256)
def fields_of(model: type[Struct]) -> tuple[Field, ...]:
    """The arguments that an input Struct declares, in order."""
    info = shapes.type_info(model)
    assert isinstance(info, shapes.StructType)
    return tuple(_field(field) for field in info.fields)


def _field(field: shapes.Field) -> Field:
    schema: Schema = {**_described(field.type), **_default(field)}
    rules: Hidden = _extra(field.type).get("hidden", Hidden())
    return Field(
        name=field.name,
        schema=schema,
        hidden=rules,
        bounds=_bounds_in({**schema, **_keywords(rules)}),
        is_required=field.required,
    )


# -- from Structs to JSON Schema ----------------------------------------------------------------------------------


def _described(shape: shapes.Type) -> Schema:
    if isinstance(shape, shapes.Metadata):
        return {**_described(shape.type), **(shape.extra_json_schema or {})}
    if isinstance(shape, shapes.UnionType):
        [inner] = [type_ for type_ in shape.types if not isinstance(type_, shapes.NoneType)]
        described = _described(inner)
        return {**described, "type": [described["type"], "null"]}
    if isinstance(shape, shapes.StructType):
        return {
            "type": "object",
            "properties": {field.name: _described(field.type) for field in shape.fields},
            "required": [field.name for field in shape.fields if field.required],
            "additionalProperties": False,
        }
    if isinstance(shape, shapes.ListType | shapes.VarTupleType):
        limits = {"minItems": shape.min_length, "maxItems": shape.max_length}
        return {"type": "array", "items": _described(shape.item_type), **_without_none(limits)}
    if isinstance(shape, shapes.StrType):
        limits = {"minLength": shape.min_length, "maxLength": shape.max_length}
        return {"type": "string", **_without_none({**limits, "pattern": shape.pattern})}
    if isinstance(shape, shapes.IntType):
        return {"type": "integer", **_without_none({"minimum": shape.ge, "maximum": shape.le})}
    if isinstance(shape, shapes.DictType):
        return {"type": "object", "additionalProperties": _described(shape.value_type)}
    if isinstance(shape, shapes.AnyType):
        return {}
    if isinstance(shape, shapes.LiteralType):
        return {"type": "string", "enum": list(shape.values)}
    assert isinstance(shape, shapes.BoolType), shape
    return {"type": "boolean"}


def _default(field: shapes.Field) -> Schema:
    if field.default_factory is not NODEFAULT:
        return {"default": field.default_factory()}
    return {} if field.default in (NODEFAULT, UNSET, None) else {"default": field.default}


def _extra(shape: shapes.Type) -> dict[str, Any]:
    if isinstance(shape, shapes.UnionType):
        return next((_extra(inner) for inner in shape.types if _extra(inner)), {})
    return (shape.extra or {}) if isinstance(shape, shapes.Metadata) else {}


def _without_none(limits: dict[str, Any]) -> Schema:
    return {keyword: limit for keyword, limit in limits.items() if limit is not None}


# -- from JSON Schema to complaints -------------------------------------------------------------------------------

_PYTHON_TYPES: dict[str, type] = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}


def _check_type(schema: Schema, value: Any, name: str, place: str | None = None) -> None:
    place = place or name
    kind = schema["type"]
    if isinstance(kind, list):
        if value is None:
            return
        kind = kind[0]
    is_right = isinstance(value, _PYTHON_TYPES[kind])
    if kind == "integer":
        is_right = is_right and not isinstance(value, bool)
    if not is_right or (kind == "string" and not _is_storable(value)):
        raise WrongArgument(name, "type", limit=kind, value=value, place=place)
    for index, item in enumerate(value) if kind == "array" else ():
        _check_type(schema["items"], item, name, f"{place}[{index}]")
    if kind == "object":
        _check_members(schema, value, name, place)


def _check_members(schema: Schema, value: dict[str, Any], name: str, place: str) -> None:
    for member in schema.get("required", ()):
        if member not in value:
            raise WrongArgument(name, "type", limit=f"object with {member}", value=value, place=place)
    for member, content in value.items():
        expected = schema.get("properties", {}).get(member) or schema.get("additionalProperties")
        if not _is_storable(member):
            raise WrongArgument(name, "type", limit="object", value=value, place=place)
        if expected and content is not None:
            _check_type(expected, content, name, f"{place}.{member}")


def _as_texts(value: Any) -> Any:
    """Whole numbers, alone or in a list, as texts."""
    if isinstance(value, list):
        return [_as_texts(item) for item in value]
    return str(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**19 else value


def _is_storable(text: str) -> bool:
    # PostgreSQL refuses NUL, SQLite stops reading at it, and half a character fits into no UTF-8.
    if "\0" in text:
        return False
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _bounds_in(schema: Schema) -> Schema:
    """What of a schema bounds a value, and those of its items."""
    items = {"items": _bounds_in(schema["items"])} if "items" in schema else {}
    return {keyword: limit for keyword, limit in schema.items() if keyword in _BOUNDS} | items


def _check_bounds(bounds: Schema, value: Any, name: str) -> None:
    for keyword, limit in bounds.items():
        if keyword != "items" and not _BOUNDS[keyword](value, limit):
            raise WrongArgument(name, keyword, limit=limit, value=value)
    for item in value if isinstance(value, list) else ():
        _check_bounds(bounds["items"], item, name)


def _keywords(rules: Hidden) -> Schema:
    bounds = {"minimum": rules.minimum, "maximum": rules.maximum, "maxLength": rules.max_length}
    return _without_none({**bounds, "maxItems": rules.max_items, "maxBytes": rules.max_bytes})


def _is_uuid(text: str) -> bool:
    return re.fullmatch("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text) is not None


_BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "minLength": lambda value, limit: len(value) >= limit,
    "maxLength": lambda value, limit: len(value) <= limit,
    # The whole of it: `$` alone would let a newline pass.
    "pattern": lambda value, limit: re.fullmatch(limit, value) is not None,
    "format": lambda value, limit: limit != "uuid" or _is_uuid(value),
    "enum": lambda value, limit: value in limit,
    "minimum": lambda value, limit: value >= limit,
    "maximum": lambda value, limit: value <= limit,
    "minItems": lambda value, limit: len(value) >= limit,
    "maxItems": lambda value, limit: len(value) <= limit,
    "maxBytes": lambda value, limit: len(value) * 4 <= limit or len(value.encode()) <= limit,
}
