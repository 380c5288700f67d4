"""The names that a template uses and does not set, with lines, for messages to its author."""

from hypothesis import given
from hypothesis import strategies as st
from jinja2 import Environment, meta

from satchel.library.render import Renderer, RenderFailed, TemplateNames

# Names that begin with z are read and never assigned.
LEAVES = (
    *("{{ a }}", "{{- z1 -}}", "{{ a.z[z2] }}", "{{ f(a, z=z3) }}", "{{ {'z': {'z': a}} }}", "{{ '}} z' }}"),
    *('{{ "{% z" }}', "{% set a = z4 %}", "{% set a, b = c %}", "{% set n.a = 1 %}", "{{ z5 is not none }}"),
    *("{{ a|f('\\'')|z }}", "\n", "x", "'", '"', "{", "}", "%}", "{% raw %}{{ z }}'{% for{% endraw %}"),
    *("{# {{ z ' #}", "{{ z7 ~ 'z' }}"),
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
        names = renderer.check(template)
    except RenderFailed:
        return
    for line in (*names.variables.values(), *names.functions.values()):
        assert 1 <= line <= template.count("\n") + 1
    assert "z" not in {*names.variables, *names.functions}
    read = meta.find_undeclared_variables(Environment().parse(template))
    assert {name for name in names.variables if name[0] == "z"} == {name for name in read if name[0] == "z"}


def test_a_name_has_the_line_where_it_is_read_first_outside_of_scopes_that_bind_it(renderer: Renderer) -> None:
    template = """\
{# a #}{% raw %}{{ a }}{% endraw %}
{% for a in b %}{{ a }}{{ c }}{% endfor %}
{% with a = d %}{{ a }}{% endwith %}{{ x.a }}{{ x|upper }}{{ x is string }}{{ f(a=1) }}{{ range(2) }}
{% macro m(a) %}{{ a }}{% endmacro %}{% call(a) m(1) %}{{ a }}{% endcall %}
{{ a }}{% set g = 1 %}{{ g }}
"""
    read = {"b": 2, "c": 2, "d": 3, "x": 3, "a": 5}
    unusual = {"x.a": 3, "f()": 3, "{# #}": 1, "{% raw %}": 1}
    assert renderer.check(template) == TemplateNames(read, read, {"f": 3}, unusual=unusual)


def test_a_name_that_is_set_under_a_condition_is_read_and_may_have_a_value(renderer: Renderer) -> None:
    template = "{% if a %}{% set b = 1 %}{% endif %}{{ b }}{% for c in a %}{% set d = 1 %}{% endfor %}{{ d }}"
    names = renderer.check(template)
    assert (names.variables, names.empty) == ({"a": 1, "b": 1, "d": 1}, {"a": 1, "d": 1})


def test_a_long_template_without_names_has_none(renderer: Renderer) -> None:
    for template in ["{% raw %}" + "{{" * 30_000 + "{% endraw %}", "{# " + "'" * 60_000 + " #}"]:
        unusual = {"{# #}" if template[1] == "#" else "{% raw %}": 1}
        assert renderer.check(template) == TemplateNames({}, {}, {}, unusual=unusual)
