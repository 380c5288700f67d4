"""The values that a template can reach: its arguments, plain values, and Jinja2's filters, tests and functions.

Jinja2's own sandbox refuses what is known to be dangerous; this one allows only what is known to be harmless. It also
defines names that are not arguments, and prints no internals of the engine or of Python.
"""

import operator
from collections.abc import Callable, Iterator
from functools import wraps
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any, Never

from jinja2 import ChainableUndefined, Template, TemplateNotFound, TemplateRuntimeError, nodes
from jinja2.environment import TemplateModule
from jinja2.runtime import BlockReference, LoopContext, Macro, TemplateReference
from jinja2.sandbox import ImmutableSandboxedEnvironment, safe_range
from jinja2.utils import Cycler, Joiner, Namespace, generate_lorem_ipsum, missing

from satchel.library.parts import Files, resolve

# `self` holds the blocks of a template. In a template without blocks it is an ordinary name, but Jinja2 does not
# support that, so it gets a name there that no argument can have.
MARK = "·"
SELF = f"self{MARK}"
_CONTAINER = f"container{MARK}"  # the filter on the right side of `in`

FUNCTIONS: dict[str | None, Callable[..., Any]] = {
    "range": safe_range,
    "dict": dict,
    "lipsum": generate_lorem_ipsum,
    "cycler": Cycler,
    "joiner": Joiner,
    "namespace": Namespace,
}
_TAKE_UNDEFINED = ("default", "d", "items")  # the filters for which undefined and empty differ
_ENCODE = "encode"  # it makes bytes, and searches the disk for codecs
_TEXT_METHODS = frozenset(name for name in dir(str) if not name.startswith("_") and name != _ENCODE)
_METHODS = (BuiltinMethodType, FunctionType, MethodType)
_PLAIN = (str, int, float, list, tuple, dict, range)
_CALLABLE = (BlockReference, Joiner, LoopContext, Macro)
_ENGINE = (*_CALLABLE, Cycler, Namespace, TemplateModule, TemplateReference)


class NotGiven(ChainableUndefined):
    """A name without a value: undefined when printed or tested, an empty text everywhere else.

    Jinja2's functions are such names too: `range` is undefined, but `range(3)` can be called.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> "NotGiven":
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> "NotGiven":  # type: ignore[override]
        return NotGiven(self._undefined_message, obj=self, name=name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self._undefined_name
        if self._undefined_obj is missing and name in FUNCTIONS:
            args, kwargs = _fill_undefined(args, kwargs)
            return FUNCTIONS[name](*args, **kwargs)
        if isinstance(self._undefined_obj, NotGiven) and name in _TEXT_METHODS:
            return Method(getattr("", str(name)))(*args, **kwargs)
        # The message is never "x is undefined": a missing argument is no error, but this use of it is.
        if self._undefined_obj is missing:
            raise TemplateRuntimeError(f"there is no function {name}")
        if isinstance(self._undefined_obj, NotGiven):
            raise TemplateRuntimeError(f"a text has no method {name}")
        return self._fail_with_undefined_error()

    def __neg__(self) -> Never:
        raise TemplateRuntimeError("a text has no sign")

    __pos__ = __neg__

    def __float__(self) -> Never:
        raise TypeError("a text is not a number")  # Jinja2 would say "x is undefined"

    __int__ = __complex__ = __float__

    def __format__(self, form: str) -> str:
        return format("", form)

    def __repr__(self) -> str:
        return repr("")


NotGiven.__name__ = "undefined"  # for error messages of Python


def _act_as_text(name: str) -> None:
    """Define an operator that treats a `NotGiven` on either side as an empty text."""
    operate = getattr(operator, f"__{name}__")
    setattr(NotGiven, f"__{name}__", lambda _, other: operate("", other))
    setattr(NotGiven, f"__r{name}__", lambda _, other: operate(other, ""))


for _operator in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "le", "gt", "ge"):
    _act_as_text(_operator)


class Container(str):
    """The text on the right side of `in`; any value may be on the left, not only a text as in Python."""

    __slots__ = ()

    def __contains__(self, value: Any) -> bool:
        return super().__contains__(_to_text(value))


class Method:
    """A method of a value, which can be called but not printed."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if isinstance(getattr(self._function, "__self__", None), str):
            args, kwargs = _fill_undefined(args, kwargs)
            # The texts of `join`, for example.
            args = tuple(type(one)(map(_to_text, one)) if type(one) in (list, tuple) else one for one in args)
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return ""


Method.__name__ = "method"


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja2 for templates that may come from anyone.

    `files` are the texts that a template may include; `compile_file` makes templates of them.
    """

    def __init__(self, compile_file: Callable[[str, str], Template] | None = None) -> None:
        super().__init__(undefined=NotGiven, keep_trailing_newline=True)
        self.files: Files = {}
        self._compile_file = compile_file
        self.globals.clear()  # calls still find the functions
        self.filters = {
            name: _adapt(function, takes_undefined=name in _TAKE_UNDEFINED) for name, function in self.filters.items()
        }
        self.filters[_CONTAINER] = _make_container
        self.tests["in"] = lambda value, container: value in _make_container(container)
        self.policies["json.dumps_kwargs"] = {"sort_keys": True, "default": _encode}
        for kind in _ENGINE:
            kind.__repr__ = lambda _: ""  # type: ignore[method-assign]

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        is_known = isinstance(obj, (*_PLAIN, *_ENGINE, NotGiven)) and attr != _ENCODE
        return is_known and super().is_safe_attribute(obj, attr, value)

    def is_safe_callable(self, obj: Any) -> bool:
        return isinstance(obj, (*_CALLABLE, NotGiven, Method)) or not callable(obj)

    def getattr(self, obj: Any, attribute: str) -> Any:
        return _hide_method(super().getattr(obj, attribute))

    def getitem(self, obj: Any, argument: Any) -> Any:
        return _hide_method(super().getitem(obj, argument))

    def join_path(self, template: str, parent: str) -> str:
        return resolve(parent, template, self.files) or template

    def _load_template(self, name: str, globals: Any) -> Template:
        text = self.files.get(name) if isinstance(name, str) else None
        if text is None or self._compile_file is None:
            raise TemplateNotFound(name)
        return self._compile_file(text, name)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for operand in tree.find_all(nodes.Operand):
            if operand.op in ("in", "notin"):
                operand.expr = nodes.Filter(operand.expr, _CONTAINER, [], [], None, None, lineno=operand.expr.lineno)
        if "self" in source and tree.find(nodes.Block) is None:
            for one in tree.find_all(nodes.Name):
                if one.name == "self":
                    one.name = SELF
        return tree


def _adapt(function: Callable[..., Any], *, takes_undefined: bool) -> Callable[..., Any]:
    """Make a filter treat a name without a value as an empty text, and return a list instead of an iterator."""

    @wraps(function)
    def adapted(*args: Any, **kwargs: Any) -> Any:
        if not takes_undefined:
            args, kwargs = _fill_undefined(args, kwargs)
        result = function(*args, **kwargs)
        return list(result) if isinstance(result, Iterator) else result

    return adapted


def _make_container(value: Any) -> Any:
    return Container(value) if isinstance(value, str) else value


def _to_text(value: Any) -> Any:
    return "" if isinstance(value, NotGiven) else value


def _fill_undefined(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call, with an empty text for each argument without a value."""
    return (
        tuple(map(_to_text, args)),
        {name: _to_text(one) for name, one in kwargs.items()},
    )


def _hide_method(value: Any) -> Any:
    return Method(value) if isinstance(value, _METHODS) else value


def _encode(value: object) -> str:
    """Encode a value that JSON does not know, for `tojson`."""
    if isinstance(value, NotGiven):
        return ""
    raise TypeError(f"{type(value).__name__} is not JSON serializable")
