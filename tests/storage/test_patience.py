"""Reading with little time: given up when that has passed, with nothing left behind."""

from pathlib import Path

import pytest

from satchel.errors import OutOfTime
from satchel.model import Scope
from satchel.services import projects, prompts
from satchel.storage.database import Database, open_database

COUNTING = "with recursive n (i) as (select 1 union all select i + 1 from n where i < :far) select count(*) from n"


@pytest.fixture
def embedded(tmp_path: Path) -> Database:
    return open_database(str(tmp_path / "s.db"))


def test_what_takes_longer_than_the_patience_is_given_up(embedded: Database) -> None:
    with pytest.raises(OutOfTime), embedded.read(patience=0.001) as tx:
        tx.one(COUNTING, far=100_000_000)


def test_several_statements_share_the_patience(embedded: Database) -> None:
    with pytest.raises(OutOfTime), embedded.read(patience=0.01) as tx:
        for _ in range(10_000):
            tx.one(COUNTING, far=10_000)


def test_what_is_quick_is_answered(embedded: Database) -> None:
    with embedded.read(patience=5.0) as tx:
        assert tx.one(COUNTING, far=20_000) == (20_000,)


def test_whoever_reads_next_has_all_the_time(embedded: Database) -> None:
    for _ in range(3):
        with pytest.raises(OutOfTime), embedded.read(patience=0.0) as tx:
            tx.one(COUNTING, far=1_000_000)
        with embedded.read() as tx:
            assert tx.one(COUNTING, far=300_000) == (300_000,)


def test_a_search_that_walks_is_given_up_too(embedded: Database) -> None:
    projects.require(embedded, Scope())
    with embedded.write() as tx:
        for number in range(600):
            prompts.add(tx, Scope(), title=f"T{number}", content="the common word")
    with pytest.raises(OutOfTime), embedded.read(patience=0.0) as tx:
        prompts.search(tx, Scope(), "common", limit=500, offset=0)
    with embedded.read() as tx:
        assert prompts.search(tx, Scope(), "common", limit=500, offset=0).total == 600
