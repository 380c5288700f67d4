"""The least that a tool call on SQLite can cost: one table, `add` and `get`, no checks. The yardstick of a request."""

import sys
from datetime import UTC, datetime
from uuid import uuid4

import apsw
import msgspec

from bare_loop import RESULT

SCHEMA = "create table if not exists notes (id text primary key, title text, content text, tags text, created_at text)"


def connect(path: str) -> apsw.Connection:
    """The table, with the same promise as Satchel's: what was acknowledged is on the disk."""
    connection = apsw.Connection(path)
    connection.execute(f"pragma journal_mode = wal; pragma synchronous = full; {SCHEMA}").fetchall()
    return connection


def add(connection: apsw.Connection, title: str, content: str, tags: list[str]) -> dict[str, object]:
    """Insert a row."""
    row = (str(uuid4()), title, content, " ".join(tags), datetime.now(UTC).isoformat())
    connection.execute("insert into notes values (?, ?, ?, ?, ?)", row)
    return {"id": row[0], "title": title, "created_at": row[4]}


def get(connection: apsw.Connection, id: str) -> dict[str, object]:
    """Read a row."""
    _, title, content, tags, created_at = connection.execute("select * from notes where id = ?", (id,)).fetchone()
    return {"id": id, "title": title, "content": content, "tags": tags.split(), "created_at": created_at}


def main(path: str) -> None:
    """Answer `initialize` and `tools/call` until the input ends."""
    connection = connect(path)
    tools = {"add": add, "get": get}
    for line in sys.stdin.buffer:
        request = msgspec.json.decode(line)
        if "id" not in request:
            continue
        result: dict[str, object] = RESULT
        if request["method"] == "tools/call":
            body = tools[request["params"]["name"]](connection, **request["params"]["arguments"])
            text = msgspec.json.encode(body).decode()
            result = {"content": [{"type": "text", "text": text}], "structuredContent": body, "isError": False}
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
