"""Templates are those of Jinja2: a corpus with the results written down, compared with Jinja2 itself."""

from pathlib import Path

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


# -- what a worker keeps ----------------------------------------------------------------------------------------


def test_a_compiled_template_is_rendered_again_with_other_arguments(renderer: Renderer) -> None:
    template = "{% set ns = namespace(n=0) %}{% set ns.n = ns.n + 1 %}{{ ns.n }}{{ a }}{{ b|default('-') }}"
    assert render(renderer, template, {"a": "x", "b": "y"}) == "1xy"
    assert render(renderer, template, {"a": "z"}) == "1z-"
    assert render(renderer, template) == "1-"


def test_more_templates_than_are_kept_are_rendered(renderer: Renderer) -> None:
    for _ in range(2):
        for number in range(300):
            assert render(renderer, f"{number}{{{{ a }}}}", {"a": "x"}) == f"{number}x"
        for number in range(20):
            assert render(renderer, " " * 60_000 + f"{number}{{{{ a }}}}", {"a": "x"}) == " " * 60_000 + f"{number}x"


def test_a_worker_can_open_no_file_and_start_no_process(renderer: Renderer) -> None:
    assert render(renderer, "{{ a }}", {"a": "1"}) == "1"
    limits = Path(f"/proc/{renderer._idle[-1].process.pid}/limits").read_text()
    found = {line[:26].strip(): line[26:].split()[:2] for line in limits.splitlines()}
    for limit in ("Max open files", "Max processes", "Max file size", "Max core file size"):
        assert found[limit] == ["0", "0"], limits
