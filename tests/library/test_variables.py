"""Names in templates, found for messages with lines: whatever the engine can parse is read without an error."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.library.render import Renderer, RenderFailed
from satchel.library.variables import find_names


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    renderer = Renderer()
    yield renderer
    renderer.close()


# Names that begin with z are read and never assigned.
LEAVES = (
    *(
        "{{ a }}",
        "{{- z1 -}}",
        "{{ a.z[z2] }}",
        "{{ f(a, z=z3) }}",
        "{{ {'z': {'z': a}} }}",
        "{{ '}} z' }}",
        '{{ "{% z" }}',
    ),
    *(
        "{% set a = z4 %}",
        "{% set a, b = c %}",
        "{% set n.a = 1 %}",
        "{{ z5 is not none }}",
        "{{ a|f('\\'')|z }}",
        "\n",
        "x",
    ),
    *(
        "'",
        '"',
        "{",
        "}",
        "%}",
        "{% raw %}{{ z }}'{% for{% endraw %}",
        "{# {{ z ' #}",
        "{% do f(z6) %}",
        "{{ z7 ~ 'z' }}",
    ),
)
BLOCKS = (
    *(("{% if z8 %}", "{%- elif b %}{% else %}{% endif %}"), ("{% for a in z9 %}", "{% endfor %}")),
    *(("{% for a, (b, c) in d if z10 %}", "{% else %}{{ a }}{% endfor %}"), ("{% set a %}", "{% endset %}")),
    *(("{% with a = z11, d = a %}", "{% endwith %}"), ("{% macro m(a, b=z12) %}", "{% endmacro %}{{ m(z13) }}")),
    *(("{% call m(z14) %}", "{% endcall %}"), ("{% call(x) m(z15) %}", "{% endcall %}{{ x }}")),
    *(("{% filter upper %}", "{% endfilter %}"), ("{% block a %}", "{% endblock %}")),
)
TEMPLATES = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5).map("".join),
        st.tuples(st.sampled_from(BLOCKS), inner).map(lambda both: both[0][0] + both[1] + both[0][1]),
    ),
    max_leaves=12,
)


@given(TEMPLATES)
def test_names_are_found_in_whatever_the_engine_can_parse(renderer: Renderer, template: str) -> None:
    try:
        variables = renderer.check(template)
    except RenderFailed:
        return
    names = find_names(template)
    for line in (*names.read.values(), *names.called.values()):
        assert 1 <= line <= template.count("\n") + 1
    assert {name for name in variables if name[0] == "z"} == {name for name in names.read if name[0] == "z"}
    assert "z" not in names.called


def test_a_name_has_the_line_where_it_is_read_first_outside_of_scopes_that_assign_it() -> None:
    template = """\
{# a #}{% raw %}{{ a }}{% endraw %}
{% for a in b %}{{ a }}{{ c }}{% endfor %}
{% with a = d %}{{ a }}{% endwith %}{{ x.a }}{{ x|a }}{{ x is a }}{{ x is not a }}{{ f(a=1) }}
{{ "a" }}
{{ a }}{% set g = 1 %}{{ g }}
"""
    names = find_names(template)
    lines = {"b": 2, "c": 2, "d": 3, "x": 3, "a": 5, "g": 5}
    assert {name: names.read[name] for name in lines} == lines
    assert names.called == {"f": 3} and names.assigned == {"g"}


@pytest.mark.parametrize(
    "template", ["{% raw %}" + "{{" * 30_000 + "{% endraw %}", "{# " + "'" * 60_000 + " #}", "{{ a }}" * 9_000]
)
def test_a_long_template_is_read_in_time(template: str) -> None:
    assert find_names(template).assigned == frozenset()
