"""What is counted for Prometheus, and what a server without the extra says."""

import sys
from pathlib import Path

import pytest

from satchel.transports.http import metrics
from tests.support.web import WebServer


def test_without_its_extra_nothing_is_counted_and_the_page_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metrics, "IS_COUNTING", False)
    counters = metrics.Metrics()
    counters.called("satchel", "tools/call", "search", is_error=True)
    counters.refused(401)
    counters.stream_opened()
    assert counters.show() is None


def test_a_server_without_its_extras_serves_and_answers_metrics_with_advice(tmp_path: Path) -> None:
    """As a plain installation has it: without prometheus_client and uvloop."""
    missing = "sys.modules.update(dict.fromkeys(['prometheus_client', 'uvloop']))"
    code = f"import sys; {missing}\nfrom satchel.__main__ import main\nsys.exit(main())"
    with WebServer("--database", str(tmp_path / "s.db"), command=(sys.executable, "-c", code)) as server:
        answer = server.ask("GET", "/metrics")
        advice = "Metrics need an extra: pip install 'satchel[metrics]', then start again."
        assert (answer.status, answer.json) == (501, {"error": advice})
        assert server.ask("GET", "/health").status == 200
