"""Arguments of tools: an input Struct as the JSON Schema that clients see, and as the check that we make.

Struct annotations say it once. `Meta` holds what is published; `hidden` holds rules that the printed schema lacks.
The order of complaint is settled for all contracts: all that is missing, then all types, then all bounds.
"""

import re
from functools import lru_cache
from typing import Any

from msgspec import NODEFAULT, UNSET, Struct
from msgspec import inspect as shapes

from satchel.errors import WrongArgument

_TYPES: tuple[tuple[type[shapes.Type], str], ...] = (
    (shapes.StrType, "string"),
    (shapes.BoolType, "boolean"),
    (shapes.IntType, "integer"),
    (shapes.ListType, "array"),
)


class Hidden(Struct, frozen=True, kw_only=True):
    """Rules that hold but are not printed."""

    is_trimmed: bool = False  # outer white space goes before the lengths are looked at
    is_blank_refused: bool = False  # there must be something beside white space, which stays all the same
    max_length: int | None = None
    max_items: int | None = None
    max_bytes: int | None = None


def hidden(**rules: Any) -> dict[str, Any]:
    """Rules for the `extra` of a `Meta`."""
    return {"hidden": Hidden(**rules)}


class Field(Struct, frozen=True, kw_only=True):
    """One argument, or one item of a list."""

    name: str
    kind: str
    is_required: bool
    default: Any  # UNSET where there is none to print
    published: dict[str, Any]
    hidden: Hidden
    item: "Field | None" = None


@lru_cache(maxsize=256)
def fields_of(model: type[Struct]) -> tuple[Field, ...]:
    """The arguments that an input Struct declares, in order."""
    info = shapes.type_info(model)
    assert isinstance(info, shapes.StructType)
    return tuple(_field(field.name, field.type, field) for field in info.fields)


def json_schema(model: type[Struct], *, forbids_unknown: bool = False) -> dict[str, Any]:
    """The `inputSchema` of a tool."""
    fields = fields_of(model)
    schema: dict[str, Any] = {"type": "object", "properties": {field.name: _published(field) for field in fields}}
    required = [field.name for field in fields if field.is_required]
    if required:
        schema["required"] = required
    if forbids_unknown:
        schema["additionalProperties"] = False
    return schema


def parse(model: type[Struct], arguments: dict[str, Any], *, forbids_unknown: bool = False) -> Struct:
    """Arguments as an input Struct.

    Raises:
        WrongArgument: the first thing that is wrong with them.
    """
    fields = fields_of(model)
    for field in fields:
        if field.is_required and field.name not in arguments:
            raise WrongArgument(field.name, "required")
    given = [
        (field, arguments[field.name])
        for field in fields
        if field.name in arguments and (field.is_required or arguments[field.name] is not None)
    ]
    for field, value in given:
        _check_type(field, value, field.name)
    values = {field.name: value.strip() if field.hidden.is_trimmed else value for field, value in given}
    for field, _ in given:
        _check_bounds(field, values[field.name], field.name)
    if forbids_unknown:
        known = {field.name for field in fields}
        for name in arguments:
            if name not in known:
                raise WrongArgument(name, "additionalProperties")
    return model(**values)


def _field(name: str, shape: shapes.Type, declared: shapes.Field | None = None) -> Field:
    published: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    if isinstance(shape, shapes.Metadata):
        published.update(shape.extra_json_schema or {})
        extra = shape.extra or {}
        shape = shape.type
    kind = next(kind for type_, kind in _TYPES if isinstance(shape, type_))
    keywords = {
        "string": {"minLength": "min_length", "maxLength": "max_length", "pattern": "pattern"},
        "integer": {"minimum": "ge", "maximum": "le"},
        "array": {"minItems": "min_length", "maxItems": "max_length"},
    }.get(kind, {})
    limits = {keyword: getattr(shape, attribute) for keyword, attribute in keywords.items()}
    published.update((keyword, limit) for keyword, limit in limits.items() if limit is not None)
    return Field(
        name=name,
        kind=kind,
        is_required=declared is not None and declared.required,
        default=_default(declared),
        published=published,
        hidden=extra.get("hidden", Hidden()),
        item=_field(name, shape.item_type) if isinstance(shape, shapes.ListType) else None,
    )


def _default(declared: shapes.Field | None) -> Any:
    if declared is None:
        return UNSET
    if declared.default_factory is not NODEFAULT:
        return declared.default_factory()
    return UNSET if declared.default is NODEFAULT else declared.default


def _published(field: Field) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": field.kind}
    if field.item is not None:
        schema["items"] = _published(field.item)
    schema.update(field.published)
    if field.default is not UNSET:
        schema["default"] = field.default
    return schema


def _check_type(field: Field, value: Any, name: str) -> None:
    if field.kind == "string":
        is_right = isinstance(value, str) and _is_storable(value)
    elif field.kind == "integer":
        is_right = isinstance(value, int) and not isinstance(value, bool)
    elif field.kind == "boolean":
        is_right = isinstance(value, bool)
    else:
        is_right = isinstance(value, list)
    if not is_right:
        raise WrongArgument(name, "type", limit=field.kind)
    if field.item is not None:
        for item in value:
            _check_type(field.item, item, name)


def _is_storable(text: str) -> bool:
    # PostgreSQL refuses NUL, SQLite stops reading at it, and half a character fits into no UTF-8.
    if "\0" in text:
        return False
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _check_bounds(field: Field, value: Any, name: str) -> None:
    rules = {**field.published, **_hidden_keywords(field.hidden)}
    for keyword, limit in rules.items():
        if keyword in _BOUNDS and not _BOUNDS[keyword](value, limit):
            raise WrongArgument(name, keyword, limit=limit, value=value)
    if field.hidden.is_blank_refused and not value.strip():
        raise WrongArgument(name, "minLength", limit=1, value=value)
    if field.item is not None:
        for item in value:
            _check_bounds(field.item, item, name)


def _hidden_keywords(rules: Hidden) -> dict[str, int]:
    named = {"maxLength": rules.max_length, "maxItems": rules.max_items, "maxBytes": rules.max_bytes}
    return {keyword: limit for keyword, limit in named.items() if limit is not None}


def _fits(text: str, limit: int) -> bool:
    return len(text) * 4 <= limit or len(text.encode()) <= limit


_BOUNDS = {
    "minLength": lambda value, limit: len(value) >= limit,
    "maxLength": lambda value, limit: len(value) <= limit,
    # The whole of it: `$` alone would let a newline pass.
    "pattern": lambda value, limit: re.fullmatch(limit, value) is not None,
    "minimum": lambda value, limit: value >= limit,
    "maximum": lambda value, limit: value <= limit,
    "minItems": lambda value, limit: len(value) >= limit,
    "maxItems": lambda value, limit: len(value) <= limit,
    "maxBytes": _fits,
}
