"""Hostile templates in a live server: each is answered within a second, tells nothing, and leaves no mark."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.library.hostile import SECRET, Live, in_soak, write_good, write_library

LIMIT = 64 * 1024
MIB = 1024 * 1024
GROWTH = 5 * 1024  # kB


class Case(NamedTuple):
    """A template and what must come of it: a line in the error, an exact text, an error of some kind, or either."""

    name: str
    template: str | bytes
    line: int | None = None
    text: str | None = None
    fails: bool = False


def chain(name: str, before: str, link: str, after: str) -> list[Case]:
    """Return an operator chained until it kills the engine, in several sizes of the whole."""
    cases = []
    for size in (2_000, 20_000, 40_000, LIMIT):
        links = (size - len(before) - len(after)) // len(link)
        template = before + link * links + after
        cases.append(Case(f"{name}-{size}", template + " " * (size - len(template))))
    return cases


CHAINS = [
    *chain("plus", "{{ 1", "+1", " }}"),
    *chain("power", "{{ 1", "**1", " }}"),
    *chain("minus", "{{ ", "-", "1 }}"),
    *chain("not", "{{ ", "not ", "1 }}"),
    *chain("attribute", "{{ a", ".b", " }}"),
    *chain("elif", "{% if 0 %}", "{% elif 0 %}", "{% endif %}"),
    *chain("and", "{{ 1", " and 1", " }}"),
    *chain("comparison", "{{ 1", "<1", " }}"),
]

NESTING = [
    Case("brackets-30000", "{{ " + "[" * 30_000 + "]" * 30_000 + " }}", fails=True),
    Case("parentheses-30000", "{{ " + "(" * 30_000 + "1" + ")" * 30_000 + " }}", fails=True),
    Case("open-brackets-65000", "{{ " + "[" * 65_000, fails=True),
    Case("nested-if-3000", "{% if 1 %}" * 3_000 + "{% endif %}" * 3_000, fails=True),
    Case("nested-for-2000", "{% for a in [1] %}" * 2_000 + "{% endfor %}" * 1_900, fails=True),
    Case("nested-blocks", "".join(f"{{% block b{n} %}}" for n in range(2_000)) + "{% endblock %}" * 2_000, fails=True),
]

DOUBLING = "{% set ns = namespace(s='aaaaaaaaaa') %}{% for i in range(60) %}{% set ns.s = STEP %}{% endfor %}{{ ns.s }}"
MEMORY = [
    Case("format-width", "{{ '%1000000000d'|format(1) }}", fails=True),
    Case("format-precision", "{{ '%.1000000000f'|format(1.5) }}", fails=True),
    Case("format-method", "{{ '{:1000000000}'.format(1) }}"),
    Case("indent-power", "{{ 'x\ny'|indent(10**9) }}", fails=True),
    Case("slice", "{{ range(10)|slice(1000000000)|list|length }}", fails=True),
    Case("doubling-plus", DOUBLING.replace("STEP", "ns.s + ns.s"), fails=True),
    Case("doubling-join", DOUBLING.replace("STEP", "[ns.s, ns.s]|join"), fails=True),
    Case("doubling-replace", DOUBLING.replace("STEP", "ns.s|replace('a', 'aa')"), fails=True),
    Case("replace-each", "{{ ('a' * 60000)|replace('a', 'b' * 60000)|length }}", fails=True),
    Case("join-long", "{{ range(9999)|join('a' * 1000000)|length }}", fails=True),
    Case("repeated-string", "{{ 'a' * 1000000000 }}", fails=True),
    Case("repeated-list", "{{ [0] * 1000000000 }}", fails=True),
    Case("power-tower", "{{ 9**(9**(9**9)) }}", fails=True),
    Case("raw-text-in-a-loop", "{% for i in range(90000) %}" + "a" * 60_000 + "{% endfor %}", fails=True),
    Case("long-lists-joined", "{{ [range(9999)|list, range(9999)|list] * 9999 }}", fails=True),
]

LOOPS = [
    Case("nested-loops", "{% for a in range(9999) %}" * 3 + "{% endfor %}" * 3, fails=True),
    Case("range-1e9", "{% for i in range(1000000000) %}{% endfor %}", line=1),
    Case("range-100000", "a\nb\n{% for i in range(100000) %}\n{% endfor %}", text="a\nb\n" + "\n" * 100000),
    Case("range-100001", "a\nb\n{% for i in range(100001) %}\n{% endfor %}", line=3),
    Case("recursive-macro", "a\n{% macro m() %}{{ m() }}{% endmacro %}\n{{ m() }}", fails=True),
    Case("recursive-loop", "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}", line=1),
    Case("self-outside", "\n\n{{ self.a() }}", line=3),
    Case("super-outside", "\n{{ super() }}", line=2),
    Case(
        "group-many", "{% for a in range(50000)|batch(1) %}{% for b in range(50000)|batch(1) %}{% endfor %}{% endfor %}"
    ),
]

ESCAPES = [
    Case("mro", "{{ ''.__class__.__mro__[1].__subclasses__() }}", fails=True),
    Case("class", "{{ ''.__class__ }}", text=""),
    Case("class-of-argument", "{{ who.__class__.__base__ }}", text=""),
    Case("class-by-attr", "{{ who|attr('__class__')|attr('__mro__') }}", text=""),
    Case("class-by-map-attr", "{{ [who]|map('attr', '__class__')|list }}"),
    Case("class-by-format", "{{ '{0.__class__.__init__.__globals__}'.format(who) }}"),
    Case("cve-2024-56326-format", "{{ ['{0.__class__}']|map('format', who)|list }}"),
    Case("cve-2024-56326-reference", "{% set f = '{0.__class__.__base__}'.format %}{{ f(who) }}"),
    Case("cve-2025-27516-attr-format", "{{ ('{0.__class__.__mro__}'|attr('format'))(who) }}", text=""),
    Case(
        "cve-2024-56201-filename", "{% include '{{ 7*7 }}' ignore missing %}{% include \"'\\\"; import os\" %}", line=1
    ),
    Case("cve-2019-10906-format-map", "{{ '{x.__class__}'.format_map({'x': who}) }}"),
    Case("cve-2026-5760-chat-template", "{{ cycler.__init__.__globals__.os.popen('id').read() }}", fails=True),
    Case("cycler", "{{ cycler.__init__.__globals__ }}", text=""),
    Case("lipsum", "{{ lipsum.__globals__['os'].environ }}", text=""),
    Case("namespace", "{{ namespace.__init__.__globals__.__builtins__ }}", text=""),
    Case("dict", "{{ dict.__base__.__subclasses__() }}", fails=True),
    Case("config", "{{ config }}{{ config.items() }}", fails=True),
    Case("globals", "{{ __globals__ }}{{ __builtins__ }}{{ __import__ }}{{ __name__ }}{{ __file__ }}", text=""),
    Case("import", "{{ __import__('os').environ }}", line=1),
    Case("open", "{{ open('/etc/passwd').read() }}", line=1),
    Case("get-flashed-messages", "{{ get_flashed_messages.__globals__ }}{{ url_for.__globals__ }}", text=""),
    Case("self-class", "{{ self.__class__ }}{{ self.__init__.__globals__ }}"),
    Case("loop-class", "{% for a in [1] %}{{ loop.__class__ }}{{ loop.__init__ }}{% endfor %}", text=""),
    Case("namespace-overwritten", "{% set n = namespace() %}{% set n.__class__ = 1 %}{{ n.__class__ }}"),
    Case("dunder-of-filters", "{{ (who|upper).__class__ }}{{ (who|list).__class__ }}", text=""),
    Case("debug", "{{ debug() }}", line=1),
    Case("debug-statement", "\n{% debug %}", line=2),
    Case("context", "{{ context }}{{ ctx }}{{ varnames }}{{ get_all() }}", line=1),
    Case("do", "{% do who.__class__ %}"),
]

FILES = [
    Case("include-passwd", "a\n{% include '/etc/passwd' %}", line=2),
    Case("include-absolute-secret", "{% include 'SECRET' %}", line=1),
    Case("include-own-name", "{% include '<string>' %}", line=1),
    Case("include-missing", "{% include '/etc/passwd' ignore missing %}", text=""),
    Case("import-passwd", "\n\n{% import '/etc/passwd' as x %}{{ x }}", line=3),
    Case("extends-passwd", "{% extends '/etc/passwd' %}", line=1),
]

BROKEN = [
    Case("syntax-line-1000", "\n" * 999 + "{{ a b }}", line=1000),
    Case("syntax-crlf", "a\r\nb\r\n{{ a b }}", line=3),
    Case("long-integer-printed", "{{ 10 ** 5000 }}", fails=True),
    Case("long-integer", "{{ " + "9" * 60_000 + " }}", fails=True),
    Case("exponent", "{{ 1e" + "9" * 1_000 + " }}"),
    Case("long-name-of-a-filter", "{{ who|" + "a" * 60_000 + " }}", line=1),
    Case("not-utf-8", b"a\n\xff\xfe", fails=True),
    Case("surrogate-in-utf-8", b"\xed\xa0\x80", fails=True),
    Case("nul", "a\0b", text="a\0b"),
    Case("byte-order-mark", "\ufeff{{ who }}", text="w"),
    Case("comments", "{# " * 20_000 + "#}", text=""),
]

SIZES = [
    Case("template-65536", "a" * LIMIT, text="a" * LIMIT),
    Case("template-65537", "a" * (LIMIT + 1), fails=True),
    Case("template-65536-of-two-bytes", "é" * (LIMIT // 2), text="é" * (LIMIT // 2)),
    Case("output-1-mib", "{{ 'a' * 1048576 }}", text="a" * MIB),
    Case("output-1-mib-and-a-byte", "{{ 'a' * 1048577 }}", fails=True),
    Case("output-of-two-bytes", "{{ 'é' * 524289 }}", fails=True),
    Case("output-in-a-loop", "{% for i in range(9000) %}" + "a" * 200 + "{% endfor %}", fails=True),
    Case("many-variables", "{{ who }}" * 2_000, text="w" * 2_000),  # 7,000 would take most of the deadline to compile
    Case("many-newlines", "\n" * LIMIT, text="\n" * LIMIT),
]

CASES = [*CHAINS, *NESTING, *MEMORY, *LOOPS, *ESCAPES, *FILES, *BROKEN, *SIZES]
QUICK = [case for case in CASES if case not in CHAINS or case.name.endswith("-20000")]
KEYS = {case.name: f"c{number}" for number, case in enumerate(CASES)}
MANY = [f"v{number}" for number in range(8)]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """One server for all cases, on one library with a prompt for each."""
    folder = tmp_path_factory.mktemp("hostile")
    root = folder / "libraries"
    secret = folder / "secret.md"
    secret.write_text(SECRET)
    write_good(root)
    assert len(KEYS) == len(CASES)
    manifest = "".join(f"prompts.{key}.arguments = [{{name = 'who'}}]\n" for key in KEYS.values())
    contents = {KEYS[case.name]: case.template for case in CASES}
    contents[KEYS["include-absolute-secret"]] = f"{{% include '{secret}' %}}"
    write_library(root / "hostile", manifest, **contents)
    (root / "hostile" / "secret.md").write_text(SECRET)
    arguments = ", ".join(f"{{name = '{name}'}}" for name in ["a", "b", *MANY])
    write_library(root / "values", f"prompts.echo.arguments = [{arguments}]\n"
                  f"prompts.lengths.arguments = [{arguments}]\n",
                  echo="{{ a }}{{ b }}", lengths="".join(f"{{{{ {name}|length }}}}," for name in MANY))  # fmt: skip
    large = [f"hostile:{KEYS[name]}" for name in ("output-1-mib", "output-of-two-bytes", "nested-loops")]
    with Live(root) as live:
        live.warm_up(*large)
        yield live


@pytest.mark.parametrize("case", in_soak(CASES, QUICK))
def test_a_hostile_template_is_answered_in_time_and_tells_nothing(live: Live, case: Case) -> None:
    is_quick = case.text is not None or case.line is not None
    answer = live.get(f"hostile:{KEYS[case.name]}", {"who": "w"}, is_quick=is_quick)
    if case.text is not None:
        assert "result" in answer, answer
        assert answer["result"]["messages"] == [{"role": "user", "content": {"type": "text", "text": case.text}}]
    if case.fails or case.line is not None:
        assert "error" in answer, str(answer)[:500]
    if "error" in answer:
        assert_render_error(answer["error"], case.line)
    live.render_good()
    live.assert_unharmed(GROWTH)


def assert_render_error(error: dict[str, Any], line: int | None) -> None:
    assert (error["code"], error["message"], set(error["data"])) == (-32602, "Invalid params", {"details"}), error
    details = error["data"]["details"]
    found = re.fullmatch(r"Error rendering prompt template(?: at line (\d+))?: \S.*", details, re.DOTALL)
    assert found, details
    assert line is None or found.group(1) == str(line), details
    assert len(details) < LIMIT + 1000


# -- arguments --------------------------------------------------------------------------------------------------


def test_a_value_is_never_a_template(live: Live) -> None:
    for value in ("{{7*7}}", "{% raw %}", "{{ b }}", "{# a #}", "{% include '/etc/passwd' %}", "<&>'\"", "\x01\n"):
        assert live.text("values:echo", {"a": value, "b": "b"}) == value + "b"


def test_an_undeclared_argument_is_ignored_whatever_its_name(live: Live) -> None:
    for name in ("{{7*7}}", "a }}{{ 7*7", "__class__", "self", "range", "c", "", "A", "a.b", "a\n"):
        assert live.text("values:echo", {"a": "1", name: "{{7*7}}"}) == "1"


def test_a_value_of_a_megabyte_comes_out_as_it_is(live: Live) -> None:
    value = "é{{7*7}}" * (1_000_000 // 9)
    assert live.text("values:echo", {"a": value}) == value
    live.assert_unharmed(2 * GROWTH)


def test_a_value_may_fill_the_output_and_no_more(live: Live) -> None:
    assert live.text("values:echo", {"a": "x" * MIB}) == "x" * MIB
    assert_render_error(live.get("values:echo", {"a": "x" * MIB, "b": "x"})["error"], None)
    live.render_good()


def test_undeclared_megabytes_are_ignored(live: Live) -> None:
    assert live.text("values:echo", {"a": "1", "unknown": "x" * 8_000_000}) == "1"


def test_an_output_full_of_escapes_takes_its_room_once(tmp_path: Path) -> None:
    write_good(tmp_path)
    write_library(tmp_path / "escapes", "[prompts.a]\n", a="{{ '\x01' * 1048576 }}")  # six mebibytes in JSON
    with Live(tmp_path) as other:
        other.warm_up("escapes:a")
        answers = [other.get("escapes:a", is_quick=True) for _ in range(10)]
        other.assert_unharmed(3 * GROWTH)
    texts = [answer["result"]["messages"][0]["content"]["text"] for answer in answers if "result" in answer]
    assert set(texts) == {"\x01" * MIB}  # a busy machine may have no time for one or another of them
