"""A Satchel of the next version: the same program, with one more step of the schema.

It is a module, so that worker processes, which import the main module again, are of that version too.
"""

import sys
import time

from satchel.storage import migrations
from satchel.storage.database import Tx
from satchel.storage.migrations.migration import Fill, Migration


def _mark(tx: Tx, after: int, last: int) -> int | None:
    """Copy the titles of some tasks; slowly, so that others work meanwhile."""
    time.sleep(0.05)
    wanted = "select number, title from tasks where number > :after and number <= :last order by number limit 100"
    found = tx.all(wanted, after=after, last=last)
    sql = "insert into task_marks (task, title) values (:task, :title)"
    tx.many(sql, [{"task": number, "title": title.upper()} for number, title in found])
    return found[-1][0] if found else None


STEP = Migration(
    both="""
alter table tasks add column estimate {integer} not null default 0;
create table task_marks (
    task {integer} primary key references tasks (number) on delete cascade,
    title {text} not null
) {strict};
""",
    indexes=("create index tasks_by_estimate on tasks (owner, estimate)",),
    fills=(Fill("tasks", _mark),),
)
migrations.MIGRATIONS = (*migrations.MIGRATIONS, STEP)

if __name__ == "__main__":
    from satchel.__main__ import main

    sys.exit(main())
