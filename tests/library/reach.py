"""A program that looks for whatever a template can reach by attributes, and fails where that is no plain value.

A process of its own, because the sandbox changes what Jinja2 prints.
"""

import sys
from typing import Any

from jinja2.runtime import BlockReference, LoopContext, Macro, TemplateReference
from jinja2.utils import Cycler, Joiner, Namespace

from satchel.library.sandbox import Method, NotGiven, Sandbox

ALLOWED = (
    *(str, int, float, list, tuple, dict, range, type(None), Method, NotGiven),
    *(BlockReference, Cycler, Joiner, LoopContext, Macro, Namespace, TemplateReference),
)
TEMPLATE = """
{% macro m(a) %}{{ see(caller) }}{% endmacro %}{% call m() %}{% endcall %}
{% block b %}{{ see(super) }}{{ see(self) }}{{ see(self.b) }}{% endblock %}
{% for x in [1] recursive %}{{ see(loop) }}{% endfor %}
{% for x in ['a', 1, 1.5, true, none, [1], (1,), {'a': 1}, range(2), 'a'|e, m, missing, missing.a, dict, range,
             cycler('a'), joiner(), namespace(a=1), [[1]]|groupby(0)|first, {'a': 1}.items(), 'a'.upper, lipsum(1),
             {}.get, 'x'.maketrans('a', 'b'), [1].count, [1]|first, []|first, ''.__class__, (5).real, 2 ** 0.5,
             [1]|map('string'), {'a': 1}|items, 'a'.format, ('a'|e).format, (-1) ** 0.5] %}{{ see(x) }}{% endfor %}
"""


def render_nothing() -> None:
    """Stands for a function of Python."""


FOREIGN: tuple[Any, ...] = (
    *(sys, open, Sandbox, Sandbox(), object(), render_nothing, (one for one in ()), sys._getframe(), b"a"),
    *(Sandbox().from_string("a"), {}.items(), str.upper, "a".upper, render_nothing.__code__),
)
PROBES = ("__globals__", "__self__", "__func__", "__wrapped__", "gi_frame", "f_globals", "_function", "_undefined_obj")


def main() -> None:
    """Print how many attributes were read."""
    sandbox = Sandbox()
    waiting: list[Any] = []
    sandbox.from_string(TEMPLATE).render(see=Method(waiting.append))
    assert len(waiting) > 35, waiting
    seen: set[type] = set()
    count = 0
    while waiting:
        value = waiting.pop()
        if type(value) in seen:
            continue
        seen.add(type(value))
        for name in {*dir(type(value)), *PROBES}:
            for attribute in (sandbox.getattr(value, name), sandbox.getitem(value, name)):
                count += 1
                assert isinstance(attribute, ALLOWED), (value, name, attribute)
                assert isinstance(attribute, NotGiven) or not name.startswith("_"), (value, name, attribute)
                waiting.append(attribute)
    for foreign in FOREIGN:
        assert all(isinstance(sandbox.getattr(foreign, name), NotGiven) for name in dir(foreign)), foreign
        assert not callable(foreign) or not sandbox.is_safe_callable(foreign), foreign
    print(count)


if __name__ == "__main__":
    main()
