"""The official conformance suite runs what each revision requires, against the real HTTP stack and fixtures of its own.

What it asks for and we do not have is listed here with the reason, and has to fail: the list cannot rot.
"""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.oracles import node
from tests.support import conformance_server
from tests.support.http import HttpServer

pytestmark = pytest.mark.npm

ASKS = "asks for data of the user, or for the model or roots; Satchel only has the user say yes or no"
LOGS = "log messages go to the operator's stderr, and logging is not declared"
TASKS = "the tasks extension is not declared"
STATELESS = "nothing is remembered from one POST to the next: no sessions, and no subscribing outside of a stream"
NEEDS_NOTHING = "no tool of ours needs a capability of the client, so none can miss it"
FIXED = "the tools of a contract never change, and listChanged is not declared for them"

# By revision: a scenario, or one check of a scenario, that does not apply.
NOT_APPLICABLE = {
    "2025-11-25": {
        "elicitation-sep1034-defaults": ASKS,
        "elicitation-sep1330-enums": ASKS,
        "tools-call-elicitation": ASKS,
        "tools-call-sampling": ASKS,
        "logging-set-level": LOGS,
        "tools-call-with-logging": LOGS,
        "resources-subscribe": STATELESS,
        "resources-unsubscribe": STATELESS,
        "server-session-lifecycle/server-session-delete-accepted": STATELESS,
        "server-session-lifecycle/server-session-terminated-returns-404": STATELESS,
    },
    "2026-07-28": {
        "input-required-result-basic-elicitation": ASKS,
        "input-required-result-basic-list-roots": ASKS,
        "input-required-result-basic-sampling": ASKS,
        "input-required-result-capability-check": ASKS,
        "input-required-result-ignore-extra-params": ASKS,
        "input-required-result-missing-input-response": ASKS,
        "input-required-result-multi-round": ASKS,
        "input-required-result-multiple-input-requests": ASKS,
        "input-required-result-non-tool-request": ASKS,
        "input-required-result-request-state": ASKS,
        "input-required-result-result-type": ASKS,
        "input-required-result-tampered-state": ASKS,
        "server-stateless/sep-2575-server-rejects-undeclared-capability": NEEDS_NOTHING,
        "server-stateless/sep-2575-missing-capability-http-400": NEEDS_NOTHING,
        "server-stateless/sep-2575-server-sends-tools-list-changed-on-subscription": FIXED,
        "tasks-capability-negotiation": TASKS,
        "tasks-dispatch-and-envelope": TASKS,
        "tasks-lifecycle": TASKS,
        "tasks-mrtr-composition": TASKS,
        "tasks-mrtr-input": TASKS,
        "tasks-request-headers": TASKS,
        "tasks-request-state-removal": TASKS,
        "tasks-required-task-error": TASKS,
        "tasks-status-notifications": TASKS,
        "tasks-wire-fields": TASKS,
    },
}
# How many scenarios a revision requires or is curious about: a suite that ran nothing finds nothing wrong.
SCENARIOS = {"2025-11-25": 33, "2026-07-28": 50}


@pytest.mark.parametrize("revision", NOT_APPLICABLE)
def test_all_that_applies_passes_and_nothing_else_does(revision: str, tmp_path: Path) -> None:
    checks = run(revision, tmp_path)
    failed = {(scenario, check): why for scenario, check, why in checks if why is not None}
    listed = NOT_APPLICABLE[revision]

    unexpected = {key: why for key, why in failed.items() if not is_listed(listed, *key)}
    assert unexpected == {}
    failing = {scenario for scenario, _ in failed} | {f"{scenario}/{check}" for scenario, check in failed}
    assert set(listed) - failing == set()
    assert len({scenario for scenario, _, _ in checks}) == SCENARIOS[revision]


def is_listed(listed: dict[str, str], scenario: str, check: str) -> bool:
    # Whatever a scenario is about, each message that it made us send has to be one that the schema knows.
    if check.startswith("wire-schema"):
        return False
    return scenario in listed or f"{scenario}/{check}" in listed


def run(revision: str, folder: Path) -> list[tuple[str, str, str | None]]:
    """Return every check that the suite made: its scenario, its name, and what is wrong where it did not succeed."""
    command = [sys.executable, "-m", conformance_server.__name__]
    with HttpServer("--database", str(folder / "satchel.db"), command=command) as server:
        suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
        options = ["--url", f"{server.url}/mcp", "--requirements", revision, "--output-dir", str(folder / "results")]
        done = node.run(suite, "server", *options, home=folder, patience=90)
    made = []
    for file in (folder / "results").glob("server-*/checks.json"):
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", file.parent.name)
        for check in json.loads(file.read_text()):
            is_good = check["status"] in ("SUCCESS", "INFO")
            why = None if is_good else f"{check['status']}: {check.get('errorMessage')}"
            made.append((scenario, check["id"], why))
    assert made, done.stdout + done.stderr
    return made
