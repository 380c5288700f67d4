"""What one template leaves behind in a worker does not fail the next, and no worker outlives its caller for long."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest

from satchel.library.render import Renderer, RenderFailed
from tests.support.process import eventually
from tests.support.soak import amount

ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


@pytest.fixture
def renderer() -> Iterator[Renderer]:
    renderer = Renderer()
    yield renderer
    renderer.close()


def use(renderer: Renderer, template: str) -> None:
    with suppress(RenderFailed):
        renderer.render(template, {"x": "a"})


def test_constants_that_a_compiled_template_holds_do_not_add_up(renderer: Renderer) -> None:
    for size in range(15_000_000, 15_000_000 + amount(20, 30)):
        use(renderer, f"{{% if y %}}{{{{ 'a' * {size} }}}}{{% endif %}}")
    assert renderer.render("Dear {{ x }}", {"x": "Ada"}) == "Dear Ada"


def test_a_worker_that_keeps_little_is_used_again(renderer: Renderer) -> None:
    renderer.render("{{ x * 900000 }}", {"x": "a"})
    worker = renderer._idle[-1]
    renderer.render("{{ x }}", {"x": "a"})
    assert renderer._idle[-1] is worker


def test_an_error_quotes_a_value_only_so_far(renderer: Renderer) -> None:
    with pytest.raises(RenderFailed) as failed:
        renderer.render("{{ [1].index(x * 1000000) }}", {"x": "a"})
    assert len(failed.value.what) == 1000


def test_a_worker_ends_by_itself_when_its_caller_was_killed() -> None:
    code = f"""
from satchel.library import render
renderer = render.Renderer()
renderer.render("x", {{}})
print(renderer._idle[-1].process.pid, flush=True)
renderer.render({ENDLESS!r}, {{}})
"""
    caller = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert caller.stdout is not None
    worker = int(caller.stdout.readline())
    caller.send_signal(signal.SIGKILL)
    caller.wait()
    caller.stdout.close()
    assert eventually(lambda: not os.path.exists(f"/proc/{worker}"))
