"""The two tools of our own rivals, `add_prompt` and `get_prompt` on one table, as durable as Satchel's.

It imports only what a bare loop needs, because the start of that loop is the limit of a start.
"""

import os
import time
from typing import Any

import apsw

SCHEMA = "create table if not exists notes (id text primary key, title text, content text, tags text, created_at text)"
TEXT = {"type": "string"}
ADD_SCHEMA = {
    "type": "object",
    "properties": {"title": TEXT, "content": TEXT, "tags": {"type": "array", "items": TEXT}},
    "required": ["title", "content"],
}
GET_SCHEMA = {"type": "object", "properties": {"id": TEXT}, "required": ["id"]}
DESCRIPTIONS = {"add_prompt": ("Add a prompt", ADD_SCHEMA), "get_prompt": ("Get a prompt", GET_SCHEMA)}


class Notes:
    """The table in a SQLite file; acknowledged writes are on disk."""

    def __init__(self, path: str) -> None:
        self._connection = apsw.Connection(path)
        self._connection.set_busy_timeout(10_000)
        self._connection.execute(f"pragma journal_mode = wal; pragma synchronous = full; {SCHEMA}").fetchall()
        self._tools: dict[str, Any] = {"add_prompt": self.add, "get_prompt": self.get}

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool."""
        body: dict[str, Any] = self._tools[tool](**arguments)
        return body

    def add(self, title: str, content: str, tags: list[str] | None = None) -> dict[str, Any]:
        """Insert a row."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        row = (os.urandom(16).hex(), title, content, " ".join(tags or ()), now)
        self._connection.execute("insert into notes values (?, ?, ?, ?, ?)", row)
        return {"id": row[0], "title": title, "created_at": now}

    def get(self, id: str) -> dict[str, Any]:
        """Read a row."""
        row = self._connection.execute("select * from notes where id = ?", (id,)).fetchone()
        if row is None:
            raise KeyError(id)
        _, title, content, tags, created_at = row
        return {"id": id, "title": title, "content": content, "tags": tags.split(), "created_at": created_at}
