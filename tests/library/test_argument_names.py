"""Which names of arguments a template can use, asked of Jinja2 itself and of our engine."""

import keyword

import jinja2

from satchel.library.render import Renderer
from satchel.model import JINJA2_WORDS, can_be_argument

STATEMENTS = (
    *("block", "endblock", "extends", "print", "macro", "endmacro", "include", "import", "from", "call", "endcall"),
    *("filter", "endfilter", "set", "endset", "with", "endwith", "autoescape", "endautoescape", "raw", "endraw", "do"),
    *("context", "without", "ignore", "missing", "recursive", "scoped", "required", "break", "continue", "trans"),
)
GLOBALS = ("range", "dict", "lipsum", "cycler", "joiner", "namespace", "debug", "self", "super", "loop", "caller")
PYTHON = ("items", "values", "keys", "update", "get", "name", "source", "__class__", "_", "__", "A", "camelCase", "x1")
WORDS = sorted({*JINJA2_WORDS, *STATEMENTS, *GLOBALS, *PYTHON, *keyword.kwlist, *keyword.softkwlist})
# A name stands wherever Jinja2 takes an expression; `eq` takes one without parentheses.
TEMPLATE = (
    "{{ W }},{{ W ~ '' }},{{ '' or W }},{{ W if W else '' }},{{ [W, W]|join }},{{ 'value' is eq W }},"
    "{% if not W %}{% elif W %}yes{% endif %},{% set x = W %}{{ x }},{% for c in W if W %}{{ c }}{% endfor %}"
)
EXPECTED = "value,value,value,value,valuevalue,True,yes,value,value"


def test_a_template_can_use_every_argument_that_may_be_declared(renderer: Renderer) -> None:
    for word in [word for word in WORDS if can_be_argument(word)]:
        template = TEMPLATE.replace("W", word)
        if word != "self":  # which in Jinja2 is the template
            assert jinja2.Template(template).render({word: "value"}) == EXPECTED
        assert renderer.render(template, {word: "value"}).replace("true", "True") == EXPECTED


def test_other_names_may_not_be_declared() -> None:
    for name in ["", "1", "1a", "a-b", "a.b", "a b", "a\n", " a", "é", "ａ", "a\0", "日本", *JINJA2_WORDS]:
        assert not can_be_argument(name)
