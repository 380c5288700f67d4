"""Arguments and answers of tools: Structs as the JSON Schema that clients see, and the check of arguments against it.

Each rule is stated once, in the annotations of a Struct: `Meta` holds what is published, `hidden` the rules that the
published schema lacks. All contracts check in one order: missing arguments, types, bounds, unknown arguments.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Annotated, Any, TypeVar

from msgspec import NODEFAULT, UNSET, Meta, Struct, to_builtins
from msgspec import inspect as shapes

from satchel import clock
from satchel.contracts.unknown_names import drop_host_arguments, find_unknown
from satchel.errors import WrongArgument
from satchel.services.rules import check_text

Schema = dict[str, Any]
Parsed = TypeVar("Parsed", bound=Struct)

UNSTORABLE = "contains NUL or half a character"  # how every contract describes a text that no store keeps

# Members of answers.
Id = Annotated[str, Meta(extra_json_schema={"format": "uuid"})]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Yes = Annotated[bool, Meta(extra_json_schema={"const": True})]


class Hidden(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Rules that are enforced but not published; the bounds among them are encoded as keywords of JSON Schema."""

    is_trimmed: bool = False  # outer white space is removed before the bounds are checked
    is_blank_refused: bool = False  # white space alone is refused; otherwise the text is kept as it is
    takes_numbers: bool = False  # a whole number is accepted as the text of its digits
    takes_text: bool = False  # a text is accepted as a list of one
    ignores_case: bool = False  # a text is accepted in capital letters, too, and is made small
    minimum: int | None = None
    maximum: int | None = None
    max_length: int | None = None
    max_items: int | None = None
    max_bytes: int | None = None
    enum: tuple[str, ...] | None = None  # where more is accepted than is published


def hidden(**rules: Any) -> dict[str, Any]:
    """Rules for the `extra` of a `Meta`."""
    return {"hidden": Hidden(**rules)}


class Field(Struct, frozen=True, kw_only=True):
    """One argument of a tool."""

    name: str
    schema: Schema
    hidden: Hidden
    bounds: Schema  # the keywords that bound its value, published and hidden
    is_required: bool


def json_schema(model: type[Struct], *, is_strict: bool = False) -> Schema:
    """The `inputSchema` of a tool; a strict one forbids unknown arguments."""
    fields = fields_of(model)
    schema: Schema = {"type": "object", "properties": {field.name: field.schema for field in fields}}
    required = [field.name for field in fields if field.is_required]
    if required:
        schema["required"] = required
    if is_strict:
        schema["additionalProperties"] = False
    return schema


_schema_of_arguments = cache(json_schema)  # for the check of every call


def answer_schema(model: type[Struct] | None) -> Schema:
    """The schema of an answer: of a Struct with all its members and no others, or of a text."""
    return {"type": "string"} if model is None else _schema_of(shapes.type_info(model))


def strict_object(**members: Schema) -> Schema:
    """The schema of an object with all these members, and no others."""
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


def parse(
    model: type[Parsed],
    arguments: dict[str, Any],
    *,
    is_strict: bool = False,
    refuses_unknown: bool = False,
    at_least_one: Sequence[str] = (),
) -> Parsed:
    """Arguments as an input Struct. Unless strict, null counts as absent, and unknown arguments may be ignored.

    Where they are refused, that comes before all other checks: a wrong name is often why another argument is missing.

    Raises:
        WrongArgument: the first rule that they break.
    """
    fields = fields_of(model)
    if refuses_unknown:
        _refuse_unknown(model, arguments)
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
            given[field.name] = _convert_numbers(given[field.name])
        if field.hidden.takes_text and isinstance(given[field.name], str):
            given[field.name] = [given[field.name]]
        given[field.name] = _clean_type(field.schema, given[field.name], field.name, field.name)
        if field.hidden.is_trimmed and given[field.name] is not None:
            given[field.name] = given[field.name].strip()
        if field.hidden.ignores_case and given[field.name] is not None:
            given[field.name] = given[field.name].lower()
    for field in present:
        if given[field.name] is not None:
            _check_bounds(field.bounds, given[field.name], field.name, field.name)
            if field.hidden.is_blank_refused and not given[field.name].strip():
                raise WrongArgument(field.name, "minLength", limit=1)
    if is_strict:
        known = [field.name for field in fields]
        for name in arguments:
            if name not in known:
                raise WrongArgument(name, "additionalProperties", limit=tuple(known))
    return model(**given)


def _refuse_unknown(model: type[Struct], arguments: dict[str, Any]) -> None:
    schema = _schema_of_arguments(model)
    unknown = tuple(find_unknown(schema, drop_host_arguments(arguments)))
    if unknown:
        raise WrongArgument(unknown[0].argument, "additionalProperties", limit=unknown)


def check_member(schema: Schema, value: Any, name: str) -> Any:
    """An argument checked by a schema that says more than the one that is published.

    Raises:
        WrongArgument: the first rule that it breaks.
    """
    unknown = tuple(find_unknown({"properties": {name: schema}}, {name: value}))
    if unknown:
        raise WrongArgument(name, "additionalProperties", limit=unknown)
    return _clean_type(schema, value, name, name)


@lru_cache(maxsize=256)
def fields_of(model: type[Struct]) -> tuple[Field, ...]:
    """The arguments that an input Struct declares, in order."""
    info = shapes.type_info(model)
    assert isinstance(info, shapes.StructType)
    return tuple(_read_field(field) for field in info.fields)


def _read_field(field: shapes.Field) -> Field:
    schema: Schema = {**_schema_of(field.type), **_default_of(field)}
    rules: Hidden = _extra_of(field.type).get("hidden", Hidden())
    return Field(
        name=field.name,
        schema=schema,
        hidden=rules,
        bounds=_bounds_of({**schema, **to_builtins(rules)}),
        is_required=field.required,
    )


# -- from Structs to JSON Schema ----------------------------------------------------------------------------------


def _schema_of(shape: shapes.Type) -> Schema:
    if isinstance(shape, shapes.Metadata):
        return {**_schema_of(shape.type), **(shape.extra_json_schema or {})}
    if isinstance(shape, shapes.UnionType):
        [inner] = [type_ for type_ in shape.types if not isinstance(type_, shapes.NoneType)]
        described = _schema_of(inner)
        return {**described, "type": [described["type"], "null"]}
    if isinstance(shape, shapes.StructType):
        return strict_object(**{field.name: _schema_of(field.type) for field in shape.fields})
    if isinstance(shape, shapes.ListType | shapes.VarTupleType):
        limits = {"minItems": shape.min_length, "maxItems": shape.max_length}
        return {"type": "array", "items": _schema_of(shape.item_type), **_drop_none(limits)}
    if isinstance(shape, shapes.StrType):
        limits = {"minLength": shape.min_length, "maxLength": shape.max_length}
        return {"type": "string", **_drop_none({**limits, "pattern": shape.pattern})}
    if isinstance(shape, shapes.IntType):
        return {"type": "integer", **_drop_none({"minimum": shape.ge, "maximum": shape.le})}
    if isinstance(shape, shapes.DictType):
        return {"type": "object", "additionalProperties": _schema_of(shape.value_type)}
    if isinstance(shape, shapes.AnyType):
        return {}
    if isinstance(shape, shapes.LiteralType):
        return {"type": "string", "enum": list(shape.values)}
    assert isinstance(shape, shapes.BoolType), shape
    return {"type": "boolean"}


def _default_of(field: shapes.Field) -> Schema:
    if field.default_factory is not NODEFAULT:
        return {"default": field.default_factory()}
    return {} if field.default in (NODEFAULT, UNSET, None) else {"default": field.default}


def _extra_of(shape: shapes.Type) -> dict[str, Any]:
    if isinstance(shape, shapes.UnionType):
        return next((_extra_of(inner) for inner in shape.types if _extra_of(inner)), {})
    return (shape.extra or {}) if isinstance(shape, shapes.Metadata) else {}


def _drop_none(limits: dict[str, Any]) -> Schema:
    return {keyword: limit for keyword, limit in limits.items() if limit is not None}


# -- checking against JSON Schema --------------------------------------------------------------------------------

_PYTHON_TYPES: dict[str, type[Any]] = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}


def _clean_type(schema: Schema, value: Any, name: str, place: str) -> Any:
    """A value of the type that a schema names; whole numbers, however they were written, as integers."""
    kind = schema["type"]
    if isinstance(kind, list):
        if value is None:
            return None
        kind = kind[0]
    if kind == "integer":
        value = _to_integer(value)
    if not isinstance(value, _PYTHON_TYPES[kind]) or (kind == "integer" and isinstance(value, bool)):
        raise WrongArgument(name, "type", limit=kind, value=value, place=place)
    if kind == "string":
        check_text(name, value, place)
    elif kind == "array":
        return [_clean_type(schema["items"], item, name, f"{place}[{index}]") for index, item in enumerate(value)]
    elif kind == "object":
        return _clean_members(schema, value, name, place)
    return value


def _clean_members(schema: Schema, value: dict[str, Any], name: str, place: str) -> dict[str, Any]:
    for member in schema.get("required", ()):
        if value.get(member) is None:
            raise WrongArgument(name, "type", limit=f"object with {member}", value=value, place=place)
    cleaned = {}
    for member, content in value.items():
        check_text(name, member, f"a name in {place}")
        expected = schema.get("properties", {}).get(member) or schema.get("additionalProperties")
        if expected and content is not None:
            content = _clean_type(expected, content, name, f"{place}.{member}")
        cleaned[member] = content
    return cleaned


def _to_integer(value: Any) -> Any:
    """A number without a fraction as an integer, as JSON Schema sees it: 5.0 is 5."""
    if not isinstance(value, float):
        return value
    if abs(value) == float("inf"):  # how 1e999 is decoded
        return _LARGEST if value > 0 else -_LARGEST
    return int(value) if value.is_integer() else value


def _convert_numbers(value: Any) -> Any:
    """Whole numbers, alone or in a list, converted to texts."""
    if isinstance(value, list):
        return [_convert_numbers(item) for item in value]
    value = _to_integer(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    return str(max(-_LARGEST, min(value, _LARGEST)))


_LARGEST = 10**400  # a larger number, with thousands of digits perhaps, finds as little as this one


def _bounds_of(schema: Schema) -> Schema:
    """The keywords of a schema that bound a value, and those of its items."""
    items = {"items": _bounds_of(schema["items"])} if "items" in schema else {}
    return {keyword: limit for keyword, limit in schema.items() if keyword in _BOUNDS} | items


def _check_bounds(bounds: Schema, value: Any, name: str, place: str) -> None:
    for keyword, limit in bounds.items():
        if keyword != "items" and not _BOUNDS[keyword](value, limit):
            raise WrongArgument(name, keyword, limit=limit, value=value, place=place)
    for index, item in enumerate(value) if isinstance(value, list) else ():
        _check_bounds(bounds["items"], item, name, f"{place}[{index}]")


_BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "minLength": lambda value, limit: len(value) >= limit,
    "maxLength": lambda value, limit: len(value) <= limit,
    # fullmatch, because `$` accepts a trailing newline.
    "pattern": lambda value, limit: re.fullmatch(limit, value) is not None,
    "format": lambda value, limit: limit != "uuid" or clock.parse_id(value) is not None,
    "enum": lambda value, limit: value in limit,
    "minimum": lambda value, limit: value >= limit,
    "maximum": lambda value, limit: value <= limit,
    "minItems": lambda value, limit: len(value) >= limit,
    "maxItems": lambda value, limit: len(value) <= limit,
    "maxBytes": lambda value, limit: len(value) * 4 <= limit or len(value.encode()) <= limit,
}
