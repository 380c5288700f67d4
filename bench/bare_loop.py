"""The least that a stdio server on SQLite can be: msgspec, apsw, an open file and a loop. The yardstick of a start."""

import sys

import apsw
import msgspec

RESULT = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "bare", "version": "0"},
}


def main(path: str) -> None:
    """Answer `initialize` until the input ends."""
    connection = apsw.Connection(path)
    connection.execute("pragma user_version").fetchall()  # SQLite opens the file at the first question
    for line in sys.stdin.buffer:
        request = msgspec.json.decode(line)
        if request.get("method") == "initialize":
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": RESULT}
            sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
