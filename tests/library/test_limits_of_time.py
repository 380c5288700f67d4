"""The time that a worker may take: of the processor, so that a busy machine is not the fault of a template."""

import os
import signal
import threading
import time
from contextlib import closing

import pytest

from satchel.library.render import Renderer, RenderFailed, Worker

LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


def test_a_worker_that_was_not_given_the_processor_is_waited_for(renderer: Renderer) -> None:
    renderer.render("x", {})
    worker = renderer._idle[-1].process.pid
    os.kill(worker, signal.SIGSTOP)
    threading.Timer(1.0, os.kill, (worker, signal.SIGCONT)).start()
    assert renderer.render("Dear {{ x }}", {"x": "Ada"}) == "Dear Ada"


def test_a_worker_that_computes_for_too_long_is_ended(renderer: Renderer) -> None:
    with pytest.raises(RenderFailed, match="it took longer than 500 ms"):
        renderer.render(LOOP, {})


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
