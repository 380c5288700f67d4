"""What is counted for Prometheus, and what a server without the extra says."""

import sys
from pathlib import Path

from satchel.extras import install_command
from tests.support.web import WebServer


def test_a_server_without_its_extras_serves_and_answers_metrics_with_advice(tmp_path: Path) -> None:
    """As a plain installation has it: without prometheus_client and uvloop."""
    missing = "sys.modules.update(dict.fromkeys(['prometheus_client', 'uvloop']))"
    code = f"import sys; {missing}\nfrom satchel.__main__ import main\nsys.exit(main())"
    with WebServer("--database", str(tmp_path / "s.db"), command=(sys.executable, "-c", code, "serve")) as server:
        answer = server.ask("GET", "/metrics")
        advice = f"Metrics need an extra. Install it with: {install_command('metrics')}. Then start the server again."
        assert (answer.status, answer.json) == (501, {"error": advice})
        assert server.ask("GET", "/health").status == 200
