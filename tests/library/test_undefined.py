"""An argument that was not given is undefined wherever it stands, and nothing of the engine or of Python shows."""

import subprocess
import sys

from jinja2.filters import FILTERS

from satchel.library.render import Renderer
from tests.library.templates import render, render_by_jinja2
from tests.support.process import ROOT

NAMES = (
    *("items", "values", "keys", "get", "pop", "popitem", "update", "copy", "clear", "setdefault", "fromkeys"),
    *("range", "dict", "lipsum", "cycler", "joiner", "namespace", "debug", "config", "request", "gettext", "_"),
    *("self", "loop", "caller", "super", "varargs", "kwargs", "context", "ctx", "environment", "template", "block"),
    *("resolve", "undefined", "missing", "concat", "cond_expr_undefined", "name", "source", "args", "blocks", "root"),
    *("str", "len", "open", "print", "type", "object", "list", "int", "eval", "exec", "globals", "vars", "dir", "id"),
    *("__class__", "__builtins__", "__import__", "__name__", "__file__", "__init__", "__dict__", "upper", "default"),
    *("Undefined", "NotGiven", "Markup", "escape", "TemplateReference", "Macro", "Namespace", "t_1", "l_0_a", "a"),
)
EVERYWHERE = (
    "[{{ N }}][{{ N|default('d') }}][{% if N %}yes{% else %}no{% endif %}][{{ N is defined }}{{ N is undefined }}]"
    "[{{ N|upper }}][{{ N.split(',') }}][{{ N.a.b['c'][0] }}][{% for x in N %}x{% endfor %}][{{ N ~ 'x' }}]"
    "[{{ N + 'x' }}][{{ N|length }}][{{ N|int }}][{{ N|default('d')|upper }}][{{ N|join(',') }}][{{ N|tojson }}]"
    "[{{ [N] }}][{{ '%s'|format(N) }}][{{ 'y' if N else 'n' }}][{{ N or 'd' }}][{{ not N }}][{{ N.upper }}]"
)
NOT_GIVEN = "[][d][no][FalseTrue][][['']][][][x][x][0][0][D][][\"\"][['']][][n][d][True][]"


def test_a_name_that_was_not_given_is_undefined_everywhere(renderer: Renderer) -> None:
    for name in NAMES:
        assert render(renderer, EVERYWHERE.replace("N", name)) == NOT_GIVEN


ARGUMENTS = {
    **dict.fromkeys(("attr", "groupby", "selectattr", "rejectattr"), "'a'"),
    **dict.fromkeys(("batch", "slice", "center"), "2"),
    "map": "'upper'",
    "replace": "'a', 'b'",
    "indent": "2, true",
}


def test_a_filter_treats_a_name_without_a_value_as_an_empty_text(renderer: Renderer) -> None:
    """Where Jinja2 cannot apply it to an empty text, both fail; a list stands for every iterator."""
    for name in sorted(set(FILTERS) - {"default", "d", "items"}):
        template = f"[{{{{ X|{name}({ARGUMENTS.get(name, '')})|LIST }}}}]"
        is_iterator = "<" in str(render_by_jinja2(template.replace("X", "''").replace("|LIST", "")))
        template = template.replace("LIST", "list" if is_iterator else "string")
        assert render(renderer, template.replace("X", "a")) == render_by_jinja2(template.replace("X", "''"))


METHODS = {
    **dict.fromkeys(("count", "endswith", "find", "index", "rfind", "rindex", "startswith"), "'a'"),
    **dict.fromkeys(("join", "partition", "removeprefix", "removesuffix", "rpartition", "split"), "','"),
    **dict.fromkeys(("center", "ljust", "rjust", "zfill"), "3"),
    **dict.fromkeys(("replace", "maketrans"), "'a', 'b'"),
    "format": "1",
    "format_map": "{}",
    "translate": "{}",
}


def test_a_method_treats_a_name_without_a_value_as_an_empty_text(renderer: Renderer) -> None:
    for name in [name for name in dir(str) if not name.startswith("_") and name != "encode"]:
        call = f"[{{{{ X.{name}({METHODS.get(name, '')}) }}}}]"
        assert render(renderer, call.replace("X", "a")) == render_by_jinja2(call.replace("X", "''"))
        assert render(renderer, call.replace("X", "a.b['c']")) == render_by_jinja2(call.replace("X", "''"))


def test_an_operator_treats_a_name_without_a_value_as_an_empty_text(renderer: Renderer) -> None:
    for expression in [
        *("X + 'x'", "'x' + X", "X * 3", "3 * X", "X + X", "'%s' % X", "X < 'a'", "'a' < X", "X >= ''", "X <= X"),
        *("X - 1", "X / 2", "X // 2", "X ** 2", "X % 2", "X > 1", "1 + X", "-X", "X is odd", "X is gt 'a'"),
        *("'abc'.replace('a', X)", "'abc'.strip(X)", "'abc'|trim(X)", "'abc'|indent(X)", "'abc'|replace('b', X)"),
        *("{'a': X}|tojson", "'{:>3}|{}'.format(X, X)", "['b', X, 'a']|sort", "[X, 'a']|max", "['a', X]|join('-')"),
        *("{'a': 1}.get(X)", "{'a': 1}[X]", "[1][X]", "range(X)", "X[1:]", "dict(a=X).a", "X|int + 1", "[X]"),
        *("X in 'abc'", "X not in 'abc'", "X is in 'abc'", "X is not in 'abc'", "'a' < X in 'abc'"),
        *("X in ['b']", "'a' in X", "['a', X]|select('in', 'abc')|list", "'b' in 'abc' ~ X", "1 in 'abc'"),
        *("'-'.join(['a', X])", "'-'.join((X, X))", "'abc'.startswith(('b', X))", "'%d' % X", "'%f' % X"),
    ]:
        template = "[{{ " + expression + " }}]"
        assert render(renderer, template.replace("X", "a")) == render_by_jinja2(template.replace("X", "''"))


def test_a_name_without_a_value_cannot_be_called(renderer: Renderer) -> None:
    for call in ["update({'x': 'hacked'})", "items()", "a()", "a.b()", "a.update(x=1)", "super()"]:
        assert render(renderer, "\n{{ x }}{{ " + call + " }}{{ x }}", {"x": "kept"}) == 2
        assert render(renderer, "{{ x }}{% if false %}{{ " + call + " }}{% endif %}", {"x": "kept"}) == "kept"


def test_nothing_is_printed_of_functions_methods_and_the_engine(renderer: Renderer) -> None:
    for value in [
        *("who.upper", "[].count", "{}.items", "{}.get", "(1).bit_length", "'{}'.format", "who|attr('upper')"),
        *("(who|e).unescape", "range", "cycler", "cycler('a')", "joiner", "joiner()", "namespace", "namespace(a=1)"),
        *("macro", "loop", "loop.cycle", "loop.changed", "self", "self.block", "caller", "lipsum", "dict"),
        "who.upper.x",
    ]:
        forms = "{{ V }}{{ '' ~ V }}{{ '%s'|format(V) }}{{ '{}'.format(V) }}{{ V|string }}{{ [V]|join }}"
        shown = forms.replace("V", value)
        template = (
            "{% macro macro() %}{{ caller is defined }}SHOWN{% endmacro %}{% block block %}{% endblock %}"
            "{% for one in [1] %}{% call macro() %}{% endcall %}{% endfor %}"
        )
        assert render(renderer, template.replace("SHOWN", shown.replace("loop", "nothing")), {"who": "w"}) == "True"
        assert render(renderer, "{% for one in [1] %}" + shown + "{% endfor %}", {"who": "w"}) == ""
        inside = str(render(renderer, "{% for one in [1] %}{{ [" + value + "] }}{% endfor %}", {"who": "w"}))
        assert inside in ("[]", "['']")


def test_whatever_a_template_can_reach_is_a_plain_value() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.library.reach"], capture_output=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()
    assert int(done.stdout) > 500
