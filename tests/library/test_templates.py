"""Templates are those of Jinja2: a corpus with the results written down, compared with Jinja2 itself."""

import pytest

from satchel.library.render import Renderer, RenderFailed
from tests.library.templates import CORPUS, render, render_by_jinja2


def test_a_template_gives_what_jinja2_gives(renderer: Renderer) -> None:
    for template, arguments, expected in CORPUS:
        assert render_by_jinja2(template, arguments) == expected, template
        assert render(renderer, template, arguments) == expected, template


# -- what differs from Jinja2, and why --------------------------------------------------------------------------


def test_line_ends_stay_as_they_are_in_the_file(renderer: Renderer) -> None:
    for template in ("a\r\n{{ b }}\r\n", "a\r{{ b }}\n\r\n", "{% if b %}\r\nx\r\n{% endif %}\r\n", "\r"):
        expected = template.replace("{{ b }}", "1").replace("{% if b %}", "").replace("{% endif %}", "")
        assert render(renderer, template, {"b": "1"}) == expected


def test_a_line_is_counted_once_however_it_ends(renderer: Renderer) -> None:
    assert render(renderer, "a\r\nb\r\n{{ 1 / 0 }}\r\n") == 3
    assert render(renderer, "a\nb\n{{ 1 / 0 }}\n") == 3


def test_half_a_character_is_an_error_and_not_a_text(renderer: Renderer) -> None:
    for template in ("{{ '\\ud800' }}", "{{ '%c'|format(55296) }}", "{% set a = '\\udfff' %}{{ a }}"):
        with pytest.raises(RenderFailed, match="the result contains half a character"):
            renderer.render(template, {})


def test_a_filter_gives_a_list_where_jinja2_prints_an_iterator(renderer: Renderer) -> None:
    for template, expected in (
        ("{{ [1, 2]|map('string') }}", "['1', '2']"),
        ("{{ [3, 4]|reverse }} {{ [1, 1]|unique }} {{ [0, 1]|select }} {{ [0, 1]|reject }}", "[4, 3] [1] [1] [0]"),
        ("{{ [1, 2, 3]|batch(2) }} {{ [1, 2, 3]|slice(2) }}", "[[1, 2], [3]] [[1, 2], [3]]"),
        ("{{ {'a': 1}|items }} {{ [{}]|selectattr('a') }}{{ [{}]|rejectattr('a') }}", "[('a', 1)] [][{}]"),
        ("{{ 'x' ~ ([1]|map('string')) }}", "x['1']"),
    ):
        assert render(renderer, template) == expected
