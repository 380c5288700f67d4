"""The time that a worker may take: of the processor, so that a busy machine is not the fault of a template."""

import os
import signal
import time

import pytest

from satchel.library.render import Limit, Renderer, RenderFailed, Worker

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="the system does not tell the time of others")


def test_a_worker_that_was_not_given_the_processor_is_waited_for() -> None:
    worker = Worker()
    try:
        worker.read(Limit(worker, 10))
        os.kill(worker.process.pid, signal.SIGSTOP)
        limit = Limit(worker, 0.2)
        time.sleep(0.4)
        assert 0 < limit.left() <= 0.2
        time.sleep(1.8)
        assert limit.left() <= 0  # but not for ever
    finally:
        worker.end()


def test_a_worker_that_computes_for_too_long_is_ended() -> None:
    renderer = Renderer()
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    try:
        with pytest.raises(RenderFailed, match="it took longer than 500 ms"):
            renderer.render(loop, {})
    finally:
        renderer.close()


def test_workers_give_way_to_calls() -> None:
    worker = Worker()
    try:
        worker.read(Limit(worker, 10))
        assert os.getpriority(os.PRIO_PROCESS, worker.process.pid) > os.getpriority(os.PRIO_PROCESS, 0)
    finally:
        worker.end()
