"""A Satchel of the next version: the same program, with one more migration."""

import sys
import time

from satchel.storage import schema
from satchel.storage.database import Tx
from satchel.storage.schema.migration import Fill, Migration

BATCH = 100
MIGRATE = (sys.executable, "-m", "tests.support.newer", "database", "migrate", "--database")


def mark(tx: Tx, after: int) -> int | None:
    """Copy the titles of a batch of tasks, slowly, so that other calls run meanwhile."""
    time.sleep(0.05)
    wanted = """
        select number, title from tasks where number > :after
            and not exists (select 1 from task_marks m where m.task = tasks.number)
        order by number limit :batch
    """
    found = tx.all(wanted, after=after, batch=BATCH)
    sql = "insert into task_marks (task, title) values (:task, :title)"
    tx.many(sql, [{"task": number, "title": title.upper()} for number, title in found])
    return found[-1][0] if found else None


MIGRATION = Migration(
    both="""
alter table tasks add column estimate {integer} not null default 7;
create table task_marks (
    task {integer} primary key references tasks (number) on delete cascade,
    title {text} not null
) {strict};
""",
    indexes=("create index tasks_by_estimate on tasks (owner, estimate)",),
    fills=(Fill("tasks", mark),),
)


def install() -> None:
    """Make this process a Satchel of the next version."""
    schema.MIGRATIONS = (MIGRATION,)


# Worker processes import the main module again, by another name.
if __name__ in ("__main__", "__mp_main__"):
    install()
if __name__ == "__main__":
    from satchel.__main__ import main

    sys.exit(main())
