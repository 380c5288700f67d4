"""Workers: the time that they may take, what one template leaves to the next, and their end."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from satchel.library.render import Renderer, RenderFailed, Worker
from tests.library.templates import render
from tests.support.process import eventually
from tests.support.soak import amount

ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


def test_a_worker_that_was_not_given_the_processor_is_waited_for(renderer: Renderer) -> None:
    renderer.render("x", {})
    worker = renderer._idle[-1].process.pid
    os.kill(worker, signal.SIGSTOP)
    threading.Timer(1.0, os.kill, (worker, signal.SIGCONT)).start()
    assert renderer.render("Dear {{ x }}", {"x": "Ada"}) == "Dear Ada"


def test_a_worker_that_computes_for_too_long_is_ended(renderer: Renderer) -> None:
    with pytest.raises(RenderFailed, match="it took longer than 500 ms"):
        renderer.render(ENDLESS, {})


def test_a_worker_that_does_nothing_for_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satchel.library.render._CLOCK_FACTOR", 0.1)
    with closing(Renderer()) as renderer:
        renderer.warm_up()
        worker = renderer._idle[-1]
        worker.read(time.monotonic() + 60)
        worker.is_ready = True
        os.kill(worker.process.pid, signal.SIGSTOP)
        with pytest.raises(RenderFailed, match="it took longer than 500 ms"):
            renderer.render("x", {})


def test_workers_give_way_to_calls() -> None:
    worker = Worker()
    try:
        worker.read(time.monotonic() + 60)
        assert os.getpriority(os.PRIO_PROCESS, worker.process.pid) > os.getpriority(os.PRIO_PROCESS, 0)
    finally:
        worker.end()


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
