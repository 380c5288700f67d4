"""The migration of a large store to history, and the longest time that a step of pruning holds the write lock."""

import os
import tempfile
import time

import apsw

from client import table
from satchel.model import PromptDraft, Retention, Scope
from satchel.services import projects, prompts, pruning
from satchel.storage.database import open_database

PROMPTS = 100_000
REVISIONS = 100_000
SCOPE = Scope(user="550e8400-e29b-41d4-a716-446655440000")
OLD = "2020-01-01T00:00:00.000000Z"


def main() -> None:
    """Measure, and print a table."""
    with tempfile.TemporaryDirectory(prefix="satchel-bench-") as folder:
        path = os.path.join(folder, "satchel.db")
        seconds = migrate(path)
        steps, removed = prune(path)
    longest = max(steps) * 1000
    rows = [
        (f"migration of {PROMPTS:,} prompts, SQLite", f"{seconds:.2f} s", "5 s"),
        (f"longest of {len(steps):,} steps that removed {removed:,} rows", f"{longest:.1f} ms", "50 ms"),
    ]
    print(table(("what", "took", "goal"), rows))


def migrate(path: str) -> float:
    """Make a store of the schema before history, and time its opening."""
    database = open_database(path)
    projects.require(database, SCOPE)
    with database.write(SCOPE) as tx:
        prompts.add(tx, SCOPE, PromptDraft(title="First", content="x"))
    database.close()
    connection = apsw.Connection(path)
    connection.execute(
        """
        begin;
        with recursive n(i) as (select 1 union all select i + 1 from n where i < :many)
        insert into prompts (id, project, name, title, content, created_at, updated_at)
        select 'id' || i, 1, 'n' || i, 't' || i, hex(randomblob(1200)), :old, :old from n;
        insert into prompt_texts (prompt, title, content, is_indexed)
        select number, title, content, 0 from prompts where number not in (select prompt from prompt_texts);
        drop table revision_states; drop table revisions; drop table authors; drop table trash;
        alter table projects drop column deleted_at;
        pragma user_version = 3;
        commit
        """,
        {"many": PROMPTS, "old": OLD},
    )
    connection.close()
    started = time.perf_counter()
    open_database(path).close()
    return time.perf_counter() - started


def prune(path: str) -> tuple[list[float], int]:
    """Fill history with old revisions, and time every step that removes some of them."""
    connection = apsw.Connection(path)
    connection.execute(
        """
        begin;
        with recursive n(i) as (select 0 union all select i + 1 from n where i < :many)
        insert into revisions (kind, item, version, action, at, project)
        select 'prompt', i % 100 + 1, i / 100 + 1, 'update', :old, 1 from n;
        insert into revision_states (revision, state) select number, randomblob(150) from revisions;
        commit
        """,
        {"many": REVISIONS, "old": OLD},
    )
    connection.close()
    database = open_database(path)
    database.retention = Retention(history_days=1)
    steps: list[float] = []
    started = time.perf_counter()

    def note() -> None:
        nonlocal started
        steps.append(time.perf_counter() - started)
        started = time.perf_counter()

    removed = pruning.prune(database, pause=note)
    database.close()
    return steps, removed


if __name__ == "__main__":
    main()
