"""The stdio transport: purity of stdout, ends of the process, bounded lines, notifications from other threads."""

import json
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from satchel.protocol import MAX_MESSAGE_BYTES
from satchel.storage.database import open_database
from tests.support.locks import locked
from tests.support.process import SERVE, eventually
from tests.support.stdio import META, NEWEST, PATIENCE, Server
from tests.support.web import call

COMMAND = [sys.executable, "-m", "tests.transports.fixtures"]
PING = b'{"jsonrpc":"2.0","id":"p","method":"ping"}'


@pytest.fixture
def fixtures() -> Iterator[Server]:
    with Server(command=COMMAND) as server:
        yield server


@pytest.fixture
def server(tmp_path: Path, serve_process: Callable[..., Server]) -> Server:
    return serve_process("prompt-store", str(tmp_path / "s.db"))


def ping(server: Server) -> None:
    server.methods["p"] = ("ping", "2025-11-25")
    server.send_line(PING)
    assert server.read() == {"jsonrpc": "2.0", "id": "p", "result": {}}


# -- what goes in -----------------------------------------------------------------------------------------------


def test_blank_lines_are_ignored_and_crlf_is_accepted(server: Server) -> None:
    for blank in (b"", b"   ", b"\r", b"\t\r"):
        server.send_line(blank)
    server.methods["p"] = ("ping", "2025-11-25")
    server.send_line(PING + b"\r")
    assert server.read()["id"] == "p"
    assert server.is_silent()


def test_a_line_of_32_mib_is_read_and_a_longer_one_refused_without_its_id(server: Server) -> None:
    frame = len(b'{"jsonrpc":"2.0","id":"p","method":"ping","params":{"x":""}}')
    line = b'{"jsonrpc":"2.0","id":"p","method":"ping","params":{"x":"%s"}}'
    server.methods["p"] = ("ping", "2025-11-25")
    server.send_line(line % (b"x" * (MAX_MESSAGE_BYTES - frame)))
    assert server.read()["id"] == "p"
    server.send_line(line % (b"x" * (MAX_MESSAGE_BYTES - frame + 1)))
    answer = server.read()
    assert answer["error"]["code"] == -32600 and "id" not in answer
    ping(server)


def test_an_endless_line_is_refused_while_it_runs_and_costs_no_more_memory_than_the_bound(server: Server) -> None:
    assert server.process.stdin is not None
    for _ in range(200):
        server.process.stdin.write(b"x" * 1_000_000)
    server.process.stdin.flush()
    assert server.read()["error"]["code"] == -32600
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    peak = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
    assert peak < 110_000, f"{peak} kB"
    server.process.stdin.write(b"\n")
    ping(server)


# -- what comes out ---------------------------------------------------------------------------------------------


def test_stray_prints_land_on_stderr(fixtures: Server) -> None:
    assert fixtures.call("print")["content"][0]["text"] == "print"
    assert fixtures.close() == 0
    assert fixtures.ended()
    for stray in ("a stray print", "a stray write", "a stray child"):
        assert stray in fixtures.stderr


def test_changes_reach_both_generations_on_one_connection(fixtures: Server) -> None:
    fixtures.initialize("2025-06-18")
    fixtures.request("resources/subscribe", {"uri": "test://one"})
    wish = {"promptsListChanged": True, "resourceSubscriptions": ["test://one"]}
    id = fixtures.ask("subscriptions/listen", {"notifications": wish}, NEWEST)
    assert fixtures.read()["params"]["notifications"] == wish
    fixtures.ask("tools/call", {"name": "announce"})
    notifications = [fixtures.read() for _ in range(7)]
    tags = [
        (
            one["method"].removeprefix("notifications/"),
            one.get("params", {}).get("_meta", {}).get(f"{META}subscriptionId"),
        )
        for one in notifications
        if "method" in one
    ]
    assert tags == [
        ("tools/list_changed", None),
        ("prompts/list_changed", None),
        ("prompts/list_changed", id),
        ("resources/list_changed", None),
        ("resources/updated", None),
        ("resources/updated", id),
    ]


def test_notifications_from_other_threads_are_written_whole(fixtures: Server) -> None:
    fixtures.initialize("2025-11-25")
    for _ in range(3):
        fixtures.ask("tools/call", {"name": "flood"})
    answers = notifications = 0
    while answers < 3 or notifications < 3 * 4 * 200 * 3:
        message = fixtures.read()  # which parses and judges each line
        answers += "id" in message
        notifications += "method" in message


def test_a_server_that_shuts_down_ends_its_subscriptions(fixtures: Server) -> None:
    id = fixtures.ask("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    assert fixtures.read()["method"] == "notifications/subscriptions/acknowledged"
    fixtures.process.send_signal(signal.SIGTERM)
    answer = fixtures.read()
    assert answer["id"] == id and answer["result"]["resultType"] == "complete"
    assert fixtures.process.wait(PATIENCE) == 0


# -- the end ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_status_0_after_a_signal(
    tmp_path: Path, serve_process: Callable[..., Server], number: int
) -> None:
    server = serve_process("prompt-store", str(tmp_path / "s.db"))
    ping(server)
    server.process.send_signal(number)
    assert server.process.wait(PATIENCE) == 0


def test_a_signal_in_mid_request_lets_the_request_finish(fixtures: Server) -> None:
    id = fixtures.ask("tools/call", {"name": "until signalled"})
    assert eventually(lambda: "at work" in fixtures.stderr)
    fixtures.process.send_signal(signal.SIGTERM)
    assert fixtures.read()["id"] == id
    assert fixtures.process.wait(PATIENCE) == 0


PATIENT = """
import runpy
from satchel.transports import stdio
stdio.TIMEOUT = 600.0
runpy.run_module("tests.transports.fixtures", run_name="__main__")
"""


def test_a_second_signal_ends_the_process_at_once() -> None:
    with Server(command=[sys.executable, "-c", PATIENT]) as fixtures:
        fixtures.ask("tools/call", {"name": "stuck"})
        fixtures.said("at work")
        fixtures.process.send_signal(signal.SIGTERM)
        fixtures.said("told to stop")
        fixtures.process.send_signal(signal.SIGINT)
        assert fixtures.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("way", ["signal", "close"])
def test_a_call_that_does_not_return_cannot_keep_a_server_alive(fixtures: Server, way: str) -> None:
    fixtures.ask("tools/call", {"name": "stuck"})
    fixtures.said("at work")
    if way == "signal":
        fixtures.process.send_signal(signal.SIGTERM)
    assert fixtures.close() == 0


def test_a_bug_outside_of_the_contracts_ends_the_server_with_status_1() -> None:
    server = Server(command=COMMAND)
    server.ask("tools/call", {"name": "broken"})
    assert server.wait() == 1 == server.close()
    assert "a bug of ours" in server.stderr


def test_a_client_that_does_not_read_cannot_keep_a_server_alive(tmp_path: Path) -> None:
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(call("flood")[1] + b"\n")
    process.stdin.flush()
    # Its answer is larger than the pipe: once some of it is there, it is stuck in a write, or will be.
    assert select.select([process.stdout], [], [], PATIENCE)[0]
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0
    with suppress(BrokenPipeError):
        process.stdin.close()
    process.stdout.close()


ADD = {"name": "add_prompt", "arguments": {"title": "T", "content": "x"}}


@pytest.mark.parametrize("way", ["signal", "close"])
def test_a_server_that_waits_for_a_lock_still_ends_in_time(
    store: str, serve_process: Callable[..., Server], way: str
) -> None:
    server = serve_process("prompt-store", store)
    ping(server)
    with locked(store, "prompts"):
        server.ask("tools/call", ADD)
        time.sleep(0.3)  # by now it waits for the lock, inside of the database
        if way == "signal":
            server.process.send_signal(signal.SIGTERM)
        assert server.close() == 0
        assert server.ended()  # before the database gave up on the lock, which is an answer
    database = open_database(store)
    with database.read() as tx:
        assert tx.all("select title from prompts") == []
    database.close()


def test_requests_in_the_pipe_when_the_input_closes_are_all_answered(tmp_path: Path) -> None:
    adds = [call("add_prompt", {"title": f"T{number}", "content": "x"}, id=number)[1] for number in range(1000)]
    command = [*SERVE, "-c", "prompt-store", "-d", str(tmp_path / "s.db")]
    done = subprocess.run(command, input=b"\n".join(adds), capture_output=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == list(range(1000))
    assert not any(answer["result"]["isError"] for answer in answers)


def test_a_signal_during_the_start_ends_it_with_status_0(tmp_path: Path) -> None:
    for delay in (0.09, 0.15):
        server = Server("-c", "prompt-store", "-d", str(tmp_path / f"{delay}.db"))
        time.sleep(delay)
        server.process.send_signal(signal.SIGTERM)
        assert server.wait() in (0, -signal.SIGTERM)  # a signal before our handlers are installed
        assert server.close() is not None and server.stderr == ""


def test_an_error_at_the_start_never_goes_to_stdout(tmp_path: Path) -> None:
    command = f"exec {sys.executable} -m satchel serve -c prompt-store -p nope -d {tmp_path / 's.db'} 2>&-"
    done = subprocess.run(["sh", "-c", command], input=b"", stdout=subprocess.PIPE, check=False)
    assert (done.returncode, done.stdout) == (3, b"")


def test_non_blocking_streams_are_served(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    command = [*SERVE, "-c", "prompt-store", "-d", str(tmp_path / "s.db")]
    process = subprocess.Popen(command, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.DEVNULL)
    theirs.close()
    long = json.dumps({"jsonrpc": "2.0", "id": "x" * 300_000, "method": "ping"}).encode() + b"\n"
    for _ in range(3):
        ours.sendall(long)
        got = b""
        while not got.endswith(b"\n"):
            time.sleep(0.01)  # slow enough for it to run into a full buffer
            got += ours.recv(65536)
        assert len(got) > 300_000
    ours.close()
    assert process.wait(PATIENCE) == 0


def test_a_client_that_is_gone_ends_the_server_quietly() -> None:
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdout.close()
    process.stdin.write(PING + b"\n")
    process.stdin.flush()
    assert process.wait(PATIENCE) == 0
    assert process.stderr.read() == b""
    process.stdin.close()
    process.stderr.close()


def test_a_client_that_ignores_stderr_does_not_stop_the_server(tmp_path: Path) -> None:
    command = [*SERVE, "-c", "prompt-store", "-d", str(tmp_path / "s.db")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    for _ in range(2500):  # a pipe holds 64 KiB, and each call logs some 45 bytes
        process.stdin.write(call("list_tags")[1] + b"\n")
        process.stdin.flush()
        assert process.stdout.readline()
    process.stdin.close()
    assert process.wait(PATIENCE) == 0
    process.stdout.close()
    process.stderr.close()


# -- questions to the user ----------------------------------------------------------------------------------------


def ask_to_confirm(fixtures: Server, revision: str = "2025-11-25") -> tuple[int, str]:
    """Call a tool that wants a confirmation; the ids of the call and of the question."""
    fixtures.initialize(revision, {"elicitation": {}})
    call = fixtures.ask("tools/call", {"name": "confirm", "arguments": {}})
    question = fixtures.read()
    assert (question["method"], question["params"]["message"]) == ("elicitation/create", "Really?")
    return call, question["id"]


def read_text(fixtures: Server, call: int) -> str:
    message = fixtures.read()
    assert message["id"] == call
    text: str = message["result"]["content"][0]["text"]
    return text


def test_the_answer_to_a_client_that_left_reports_that_nothing_was_done() -> None:
    with Server(command=COMMAND) as fixtures:
        call, question = ask_to_confirm(fixtures)
        assert fixtures.process.stdin is not None
        fixtures.process.stdin.close()
        assert fixtures.read()["params"] == {"requestId": question}
        assert read_text(fixtures, call) == "cancel"
        assert fixtures.ended() and fixtures.process.wait(PATIENCE) == 0


def test_a_signal_ends_the_process_while_a_question_is_open() -> None:
    with Server(command=COMMAND) as fixtures:
        ask_to_confirm(fixtures)
        fixtures.process.send_signal(signal.SIGTERM)
        assert fixtures.process.wait(PATIENCE) == 0
