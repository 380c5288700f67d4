"""Templates of others as ours: what is rendered is the text that their own tool would make."""

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.exchange.templates import (
    NotTemplate,
    Text,
    Variable,
    convert,
    read_braces,
    read_dollar_braces,
    read_handlebars,
    read_jinja,
    read_string_template,
    write_ours,
)

ENGINE = jinja2.Environment(keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
pieces = st.lists(
    st.one_of(
        st.text("{}%#$-'\"\\ \nab:|", max_size=8).map(Text),
        st.builds(
            Variable, st.sampled_from(["x", "y"]), default=st.one_of(st.none(), st.text("{}%#'\"\\\n a", min_size=1))
        ),
    ),
    max_size=6,
)


@given(pieces)
def test_every_text_around_variables_is_rendered_as_it_is(given: list[Text | Variable]) -> None:
    values = {"x": "X{{ y }}", "y": ""}
    made = write_ours(given)
    expected = "".join(one.text if isinstance(one, Text) else values[one.name] or (one.default or "") for one in given)
    assert ENGINE.from_string(made).render(values) == expected


@given(pieces)
def test_a_written_template_is_split_into_the_same_pieces(given: list[Text | Variable]) -> None:
    made = write_ours(given)
    if any(isinstance(one, Variable) for one in given):
        assert write_ours(read_jinja(made)) == made


def test_a_template_renders_as_in_its_own_tool() -> None:
    for text, read, expected in [
        ("a {{ x }} {", read_braces, "a V {"),
        ("{${x}}", read_dollar_braces, "{V}"),
        ("{{{x}}} {{x}}", read_handlebars, "V V"),
        ("\\{{x}} {{x}} {{! note }}.", read_handlebars, "{{x}} V ."),
        ("$$x $x ${x}y {% raw %}", read_string_template, "$x V Vy {% raw %}"),
        ("{{#unless x}}no{{else}}yes{{/unless}} {{x}}", read_handlebars, "yes V"),
    ]:
        made = convert(text, read)
        assert [one.name for one in made.arguments] == ["x"]
        assert ENGINE.from_string(made.content).render(x="V") == expected


def test_syntax_that_we_do_not_write_is_not_split() -> None:
    for text in [
        "{{ x | upper }}",
        "{% for a in b %}{% endfor %}",
        "{{ x.y }}",
        "{{- x }}",
        "{# c #}{{ x }}",
        "{% if x %}",
        "{{ x",
    ]:
        with pytest.raises(NotTemplate):
            read_jinja(text)
