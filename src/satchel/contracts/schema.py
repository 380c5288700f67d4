"""Arguments and answers of tools: Structs, their JSON Schema for clients, and the validation of arguments.

Each rule is stated once, in the annotations of a Struct: `Meta` has what is published, `hidden` the rules that the
published schema lacks. All contracts check in one order: missing arguments, types, bounds, unknown arguments. A Struct
in an argument is an object in a list, such as one of several prompts; services check the bounds of its members.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Annotated, Any, TypeVar

from msgspec import NODEFAULT, UNSET, Meta, Struct, convert, to_builtins
from msgspec import inspect as shapes

from satchel import clock
from satchel.contracts.content import without_nulls
from satchel.errors import WrongArgument
from satchel.services.rules import check_text

Schema = dict[str, Any]
Parsed = TypeVar("Parsed", bound=Struct)

UNSTORABLE = "contains NUL or half a character"  # how every contract describes a text that no store accepts

# Members of answers.
Id = Annotated[str, Meta(extra_json_schema={"format": "uuid"})]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Yes = Annotated[bool, Meta(extra_json_schema={"const": True})]

# The host n8n, not the model, adds these to the arguments of every tool call.
_OF_HOSTS = frozenset(("toolCallId", "sessionId", "chatInput"))
_BESIDE_THEM = frozenset(("action", "tool"))


class Hidden(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Rules that are enforced but not published; bounds are encoded as keywords of JSON Schema."""

    is_trimmed: bool = False  # outer white space is removed before the bounds are checked
    is_blank_refused: bool = False  # white space alone is refused; otherwise the text is kept as it is
    takes_numbers: bool = False  # a whole number is accepted as the text of its digits
    ignores_case: bool = False  # upper case is accepted and converted to lower case
    minimum: int | None = None
    maximum: int | None = None
    max_length: int | None = None
    max_items: int | None = None
    max_bytes: int | None = None


def hidden(**rules: Any) -> dict[str, Any]:
    """Return rules that are enforced but not published, as the `extra` of a `Meta`."""
    return {"hidden": Hidden(**rules)}


class Field(Struct, frozen=True, kw_only=True):
    """One argument of a tool."""

    name: str
    schema: Schema  # the published schema
    types: Schema  # the types of its value and of the members
    hidden: Hidden
    bounds: Schema  # the keywords that limit its value, published and hidden
    is_required: bool


class UnknownArgument(Struct, frozen=True):
    """An unknown name in a call, and the names in the schema."""

    place: str  # the value with the unknown member, such as edits[0]; empty for an argument
    name: str
    known: tuple[str, ...]  # the known names, required ones first
    given: tuple[str, ...]  # the known names in the call

    @property
    def argument(self) -> str:
        """The name of the unknown argument, or of the argument in which an unknown member is."""
        return self.place.partition(".")[0].partition("[")[0] or self.name


def json_schema(model: type[Struct], *, is_strict: bool = False) -> Schema:
    """Return the `inputSchema` of a tool; if strict, it forbids unknown arguments and always includes `required`."""
    fields = fields_of(model)
    schema: Schema = {"type": "object", "properties": {field.name: field.schema for field in fields}}
    required = [field.name for field in fields if field.is_required]
    if required or is_strict:
        schema["required"] = required
    if is_strict:
        schema["additionalProperties"] = False
    return schema


def answer_schema(model: type[Struct] | None) -> Schema:
    """Return the schema of an answer: a text, or a Struct whose members are all required unless it omits defaults."""
    return {"type": "string"} if model is None else _schema_of(shapes.type_info(model))


def strict_object(**members: Schema) -> Schema:
    """Return the schema of an object that has all of these members and no others."""
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


# -- arguments ----------------------------------------------------------------------------------------------------


def parse(
    model: type[Parsed],
    arguments: dict[str, Any],
    *,
    is_strict: bool = False,
    refuses_unknown: bool = False,
    converts_types: bool = False,
    at_least_one: Sequence[str] = (),
) -> Parsed:
    """Parse arguments into an input Struct. Unless strict, null counts as absent, and unknown arguments may be ignored.

    Unknown arguments are refused before all other checks: a wrong name is often why another argument is missing. With
    `converts_types`, a value that can only mean one of the right type is accepted, as `_convert` says.

    Raises:
        WrongArgument: the arguments break a rule; the first one is reported.
    """
    fields = fields_of(model)
    if refuses_unknown:
        ours = arguments
        if not _OF_HOSTS.isdisjoint(arguments):
            ours = {name: value for name, value in arguments.items() if name not in _OF_HOSTS | _BESIDE_THEM}
        if unknown := tuple(_find_unknown(_members_of(model), ours)):
            raise WrongArgument(unknown[0].argument, "additionalProperties", limit=unknown)
    present: list[Field] = []
    for field in fields:
        if field.name in arguments and (is_strict or field.is_required or arguments[field.name] is not None):
            present.append(field)
        elif field.is_required:
            raise WrongArgument(field.name, "required")
    if at_least_one and not any(field.name in at_least_one for field in present):
        raise WrongArgument(at_least_one[0], "anyOf", limit=at_least_one)
    given = {field.name: _clean(field, arguments[field.name], converts=converts_types) for field in present}
    for field in present:
        value = given[field.name]
        if value is not None:
            _check_bounds(field.bounds, value, field.name, field.name)
            if field.hidden.is_blank_refused and not value.strip():
                raise WrongArgument(field.name, "minLength", limit=1)
    if is_strict:
        known = tuple(field.name for field in fields)
        for name in arguments:
            if name not in known:
                raise WrongArgument(name, "additionalProperties", limit=known)
    return convert(given, model) if _has_structs(model) else model(**given)


def _clean(field: Field, value: Any, *, converts: bool) -> Any:
    if field.hidden.takes_numbers:
        value = _convert_numbers(value)
    value = _clean_type(field.types, value, field.name, field.name, converts=converts)
    if value is not None and field.hidden.is_trimmed:
        value = value.strip()
    if value is not None and field.hidden.ignores_case:
        value = value.lower()
    return value


@lru_cache(maxsize=256)
def _members_of(model: type[Struct]) -> Schema:
    """Return the schema of an input Struct's arguments, and of the members of Structs in them."""
    return _schema_of(shapes.type_info(model), of_arguments=True, is_published=False)


def _find_unknown(schema: Schema, value: Any, place: str = "") -> Iterator[UnknownArgument]:
    """Yield every unknown name in a value, outer ones first; types are checked elsewhere."""
    if "items" in schema:
        for index, item in enumerate(value if isinstance(value, list) else [value]):
            yield from _find_unknown(schema["items"], item, f"{place}[{index}]")
    elif isinstance(value, list) and len(value) == 1:
        [value] = value
    if not isinstance(value, dict) or "properties" not in schema:
        return
    members: Schema = schema["properties"]
    given = tuple(name for name in value if name in members)
    if len(given) < len(value):
        required = schema.get("required", ())
        known = tuple(sorted(members, key=lambda name: name not in required))
        yield from (UnknownArgument(place, name, known, given) for name in value if name not in members)
    for name in given:
        yield from _find_unknown(members[name], value[name], f"{place}.{name}" if place else name)


@lru_cache(maxsize=256)
def fields_of(model: type[Struct]) -> tuple[Field, ...]:
    """Return the arguments that an input Struct declares, in order."""
    return tuple(map(_read_field, _struct_fields(model)))


@lru_cache(maxsize=256)
def _has_structs(model: type[Struct]) -> bool:
    """Return whether an argument is a Struct, or a list of Structs."""
    types = [getattr(field.type, "type", field.type) for field in _struct_fields(model)]
    return any(isinstance(getattr(one, "item_type", one), shapes.StructType) for one in types)


def _struct_fields(model: type[Struct]) -> tuple[shapes.Field, ...]:
    info = shapes.type_info(model)
    assert isinstance(info, shapes.StructType)
    return info.fields


def _read_field(field: shapes.Field) -> Field:
    schema: Schema = {**_schema_of(field.type, of_arguments=True), **_default_of(field)}
    types = _schema_of(field.type, of_arguments=True, is_published=False)
    rules: Hidden = _extra_of(field.type).get("hidden", Hidden())
    return Field(
        name=field.name,
        schema=schema,
        types=types,
        hidden=rules,
        bounds=_bounds_of({**types, **schema, **to_builtins(rules)}),  # choices may be omitted from what is published
        is_required=field.required,
    )


# -- from Structs to JSON Schema ----------------------------------------------------------------------------------


def _schema_of(shape: shapes.Type, *, of_arguments: bool = False, is_published: bool = True) -> Schema:
    """Return the schema of a type; unless it is published, hidden keywords replace the published ones.

    A None in `extra_json_schema` omits a keyword from what is published.
    """

    def inner(shape: shapes.Type) -> Schema:
        return _schema_of(shape, of_arguments=of_arguments, is_published=is_published)

    if isinstance(shape, shapes.Metadata):
        return without_nulls({**inner(shape.type), **((is_published and shape.extra_json_schema) or {})})
    if isinstance(shape, shapes.UnionType):
        [one] = [type_ for type_ in shape.types if not isinstance(type_, shapes.NoneType)]
        described = inner(one)
        return {**described, "type": [described["type"], "null"]}
    if isinstance(shape, shapes.StructType):
        omits_defaults = shape.cls.__struct_config__.omit_defaults and not of_arguments
        members = {
            field.encode_name: {**inner(field.type), **(_default_of(field) if omits_defaults else {})}
            for field in shape.fields
        }
        if not of_arguments and not omits_defaults:
            return strict_object(**members)
        required = [field.encode_name for field in shape.fields if field.required]
        return {"type": "object", "properties": members, "required": required}
    if isinstance(shape, shapes.ListType | shapes.VarTupleType):
        limits = {"minItems": shape.min_length, "maxItems": shape.max_length}
        return {"type": "array", "items": inner(shape.item_type), **without_nulls(limits)}
    if isinstance(shape, shapes.StrType):
        limits = {"minLength": shape.min_length, "maxLength": shape.max_length}
        return {"type": "string", **without_nulls({**limits, "pattern": shape.pattern})}
    if isinstance(shape, shapes.IntType):
        return {"type": "integer", **without_nulls({"minimum": shape.ge, "maximum": shape.le})}
    if isinstance(shape, shapes.DictType):
        return {"type": "object", "additionalProperties": inner(shape.value_type)}
    if isinstance(shape, shapes.AnyType):
        return {}
    if isinstance(shape, shapes.LiteralType):
        return {"type": "string", "enum": list(shape.values)}
    assert isinstance(shape, shapes.BoolType), shape
    return {"type": "boolean"}


def _default_of(field: shapes.Field) -> Schema:
    if field.default_factory is not NODEFAULT:
        return {"default": field.default_factory()}
    if field.default in (NODEFAULT, UNSET, None):
        return {}
    return {"default": list(field.default) if isinstance(field.default, tuple) else field.default}


def _extra_of(shape: shapes.Type) -> dict[str, Any]:
    if isinstance(shape, shapes.UnionType):
        return next((_extra_of(inner) for inner in shape.types if _extra_of(inner)), {})
    return (shape.extra or {}) if isinstance(shape, shapes.Metadata) else {}


# -- checking against JSON Schema ---------------------------------------------------------------------------------

_PYTHON_TYPES: dict[str, type[Any]] = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}


def _clean_type(schema: Schema, value: Any, name: str, place: str, *, converts: bool = False) -> Any:
    """Convert a value to the type that a schema states; whole numbers in any notation become integers."""
    kind = schema["type"]
    if isinstance(kind, list):
        if value is None:
            return None
        kind = kind[0]
    if converts:
        value = _convert(schema, kind, value)
    if kind == "integer":
        value = _to_integer(value)
    if not isinstance(value, _PYTHON_TYPES[kind]) or (kind == "integer" and isinstance(value, bool)):
        raise WrongArgument(name, "type", limit=kind, value=value, place=place)
    if kind == "string":
        check_text(name, value, place)
    elif kind == "array":
        inner = schema["items"]
        return [
            _clean_type(inner, item, name, f"{place}[{index}]", converts=converts) for index, item in enumerate(value)
        ]
    elif kind == "object":
        return _clean_members(schema, value, name, place, converts=converts)
    return value


def _convert(schema: Schema, kind: str, value: Any) -> Any:
    """Convert a value that can only mean one of the right type; return any other value unchanged.

    One value is a list of it, an empty text is an empty list, and a list of one value is that value. A text may be a
    number, true or false, or the only required member of an object.
    """
    if kind == "array" and value == "":
        return []
    if kind == "array":
        return [value] if isinstance(value, str | dict | int) and not isinstance(value, bool) else value
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    if not isinstance(value, str):
        return value
    if kind == "integer" and re.fullmatch(r"-?[0-9]{1,400}", value.strip(), re.ASCII):
        return int(value)
    if kind == "boolean":
        return {"true": True, "false": False}.get(value.strip().lower(), value)
    if kind == "object" and len(required := schema.get("required", ())) == 1:
        return {required[0]: value}
    return value


def _clean_members(
    schema: Schema, value: dict[str, Any], name: str, place: str, *, converts: bool = False
) -> dict[str, Any]:
    value = {member: content for member, content in value.items() if content is not None}  # null means absent
    for member in schema.get("required", ()):
        if member not in value:
            raise WrongArgument(name, "type", limit=f"object with {member}", value=value, place=place)
    cleaned = {}
    for member, content in value.items():
        check_text(name, member, f"a name in {place}")
        expected = schema.get("properties", {}).get(member) or schema.get("additionalProperties")
        if expected and converts and member not in schema.get("properties", {}):
            content = _to_text(content)
        if expected:
            content = _clean_type(expected, content, name, f"{place}.{member}", converts=converts)
            if "enum" in expected and content not in expected["enum"]:
                raise WrongArgument(name, "enum", limit=expected["enum"], value=content, place=f"{place}.{member}")
        cleaned[member] = content
    return cleaned


def _to_integer(value: Any) -> Any:
    """Return a number without a fraction as an integer, as JSON Schema does: 5.0 is 5."""
    if not isinstance(value, float):
        return value
    if abs(value) == float("inf"):  # 1e999 is decoded to this
        return _LARGEST if value > 0 else -_LARGEST
    return int(value) if value.is_integer() else value


def _convert_numbers(value: Any) -> Any:
    """Convert whole numbers, alone or in a list, to texts."""
    if isinstance(value, list):
        return [_convert_numbers(item) for item in value]
    value = _to_integer(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return value
    return str(max(-_LARGEST, min(value, _LARGEST)))


def _to_text(value: Any) -> Any:
    """Convert a number, true or false to the text that JSON has for it; return any other value unchanged."""
    if isinstance(value, bool):
        return "true" if value else "false"
    value = _convert_numbers(value)
    return repr(value) if isinstance(value, float) else value


_LARGEST = 10**400  # stands for larger numbers, which may have thousands of digits and match nothing either


def _bounds_of(schema: Schema) -> Schema:
    """Return the keywords of a schema that limit a value, and those that limit its items."""
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
