"""`satchel dump` and `satchel load`: everything goes from one engine to the other and back, or nothing does."""

import gzip
import json
import re
import stat
from pathlib import Path

import apsw
import psycopg
import pytest

from satchel.model import PromptDraft, PromptQuery, Scope
from satchel.services import projects, prompts
from satchel.storage.database import open_database
from satchel.storage.dump import dump, list_tables
from tests.cli.test_backup import Satchel, satchel
from tests.support.command import done, failed, value
from tests.support.furnished import SCOPE, differences, everything, furnish
from tests.support.postgres import PostgresServer

__all__ = ["satchel"]


@pytest.fixture
def dumped(tmp_path: Path, satchel: Satchel) -> Path:
    """The dump of a furnished store."""
    furnish(str(tmp_path / "source.db"))
    done(satchel(tmp_path / "source.db", "dump", str(tmp_path / "dump.jsonl")))
    return tmp_path / "dump.jsonl"


def test_every_row_goes_to_postgres_and_back(
    satchel: Satchel, tmp_path: Path, postgres: PostgresServer, dumped: Path
) -> None:
    there, back = postgres.fresh(), tmp_path / "back.db"
    said = value(satchel(there, "load", str(dumped), "--json"))
    assert said["rows"] == sum(said["tables"].values()) and said["tables"]["prompts"] == 15
    between = satchel(there, "dump")
    assert between.returncode == 0
    done(satchel(back, "load", input=between.stdout))
    source = everything(str(tmp_path / "source.db"))
    for store in (there, str(back)):
        assert differences(source, everything(store)) == []
    # Each table has rows, so that none can be lost unseen.
    filled = {json.loads(line)["table"] for line in source if line.startswith(b'{"table"')}
    assert filled == {table.name for table in list_tables()}
    assert min(said["tables"].values()) > 0


def test_a_loaded_store_is_searched_and_written_like_its_source(
    satchel: Satchel, tmp_path: Path, postgres: PostgresServer, dumped: Path
) -> None:
    answers = []
    for store in (str(tmp_path / "source.db"), str(tmp_path / "loaded.db"), postgres.fresh()):
        if not store.endswith("source.db"):
            done(satchel(store, "load", str(dumped)))
        database = open_database(store)
        with database.write(SCOPE) as tx:
            found = prompts.list_counted(tx, SCOPE, PromptQuery(text="text 7"), limit=5, offset=0)
            added = prompts.add(tx, SCOPE, PromptDraft(title="New", content="New"))
            answers.append(([one.name for one in found.items], found.total, added.number))
        database.close()
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0] == ["prompt-7-ünï"] or answers[0][1] == 1


def test_a_dump_is_a_private_file_that_replaces_none(satchel: Satchel, tmp_path: Path, dumped: Path) -> None:
    assert stat.S_IMODE(dumped.stat().st_mode) == 0o600
    before = dumped.read_bytes()
    assert "already exists" in failed(satchel(tmp_path / "source.db", "dump", str(dumped)))
    assert dumped.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def test_a_dump_with_a_project_named_all_is_refused(satchel: Satchel, tmp_path: Path, dumped: Path) -> None:
    with apsw.Connection(str(tmp_path / "source.db")) as source:
        source.execute("update projects set name = 'all' where number = (select max(number) from projects)")
    old = satchel(tmp_path / "source.db", "dump")
    assert "a project named all" in failed(satchel(tmp_path / "loaded.db", "load", input=old.stdout))
    assert done(satchel(tmp_path / "source.db", "search", "text", "-p", "all"))


def test_a_dump_may_be_compressed(satchel: Satchel, tmp_path: Path, dumped: Path) -> None:
    packed = gzip.compress(dumped.read_bytes())
    done(satchel(tmp_path / "loaded.db", "load", input=packed))
    assert differences(everything(str(tmp_path / "source.db")), everything(str(tmp_path / "loaded.db"))) == []
    assert "cut off" in failed(satchel(tmp_path / "cut.db", "load", input=packed[:-100]))


def mutations(dump: bytes) -> dict[str, bytes]:
    """Dumps that are not what was written."""
    lines = dump.splitlines(keepends=True)
    middle = len(lines) // 2
    return {
        "empty": b"",
        "cut off in a line": dump[: len(dump) // 2],
        "cut off after a line": b"".join(lines[:middle]),
        "without its last line": b"".join(lines[:-1]),
        "without a row": b"".join(lines[:middle] + lines[middle + 1 :]),
        "with a row twice": b"".join(lines[:middle] + lines[middle : middle + 1] + lines[middle:]),
        "with a changed text": dump.replace(b"again", b"agaim", 1),
        "with more after the end": dump + b"[]\n",
        "another format": b'{"satchel_dump":2,' + dump.split(b",", 1)[1],
        "newer": dump.replace(b'"schema":', b'"schema":9', 1),
        "older": lines[0].replace(b'"schema":', b'"schema":0', 1).replace(b":0", b":-", 1) + b"".join(lines[1:]),
        "no JSON": b"\x00\xff" * 500,
        "other JSON": b'{"a": 1}\n[1, 2]\n',
        "one long line": b"[" * 70_000_000,
    }


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_dump_that_was_cut_off_or_changed_is_refused_whole(
    satchel: Satchel, tmp_path: Path, dumped: Path, engine: str, request: pytest.FixtureRequest
) -> None:
    store = request.getfixturevalue("postgres").fresh() if engine == "postgres" else str(tmp_path / "target.db")
    done(satchel(store, "database", "migrate"))
    empty = everything(store)
    for name, bad in mutations(dumped.read_bytes()).items():
        said = failed(satchel(store, "load", input=bad))
        assert said.startswith("satchel: this "), (name, said)
        assert everything(store) == empty, name
    done(satchel(store, "load", str(dumped)))


def reseal(lines: list[bytes]) -> bytes:
    """Return a dump with a last line that fits whatever is before it."""
    import hashlib

    body = b"".join(lines)
    return body + json.dumps({"lines": len(lines), "sha256": hashlib.sha256(body).hexdigest()}).encode() + b"\n"


def test_a_forged_dump_that_does_not_fit_leaves_nothing(satchel: Satchel, tmp_path: Path, dumped: Path) -> None:
    lines = dumped.read_bytes().splitlines(keepends=True)[:-1]
    table = next(number for number, line in enumerate(lines) if line.startswith(b'{"table":"prompt_tags"'))
    store = tmp_path / "target.db"
    done(satchel(store, "database", "migrate"))
    empty = everything(str(store))
    for forged in (
        [*lines[: table + 1], b'[99999,1,"a"]\n', *lines[table + 1 :]],  # of a prompt that is not there
        [*lines[: table + 1], b"[1]\n", *lines[table + 1 :]],
        [*lines[: table + 1], b'[{"a":1},1,"a"]\n', *lines[table + 1 :]],
        [*lines[:table], b'{"table":"sqlite_schema","columns":["sql"]}\n', *lines[table:]],
        [*lines[:table], lines[table].replace(b"tag", b"sql; drop table prompts"), *lines[table + 1 :]],
        [*lines[:table], lines[table].replace(b'"tag"', b'"project"'), *lines[table + 1 :]],
    ):
        assert "Traceback" not in failed(satchel(store, "load", input=reseal(forged)))
        assert everything(str(store)) == empty


def test_a_dump_of_another_schema_is_loaded_if_its_tables_and_columns_fit(
    satchel: Satchel, tmp_path: Path, dumped: Path
) -> None:
    lines = dumped.read_bytes().splitlines(keepends=True)[:-1]
    lines[0] = lines[0].replace(b'"schema":', b'"schema":9')
    tasks = next(number for number, line in enumerate(lines) if line.startswith(b'{"table":"tasks"'))
    head = json.loads(lines[tasks])
    rows = [json.loads(line) for line in lines[tasks + 1 : tasks + 5]]

    def with_tasks(head: object, rows: list[object]) -> bytes:
        changed = [json.dumps(line).encode() + b"\n" for line in (head, *rows)]
        return reseal([*lines[:tasks], *changed, *lines[tasks + 5 :]])

    def without(column: str) -> bytes:
        place = head["columns"].index(column)
        columns = [name for name in head["columns"] if name != column]
        return with_tasks(head | {"columns": columns}, [[*row[:place], *row[place + 1 :]] for row in rows])

    done(satchel(tmp_path / "s.db", "load", input=without("priority")))
    raw = apsw.Connection(str(tmp_path / "s.db"))
    assert raw.execute("select distinct priority from tasks").fetchall() == [(2,)]
    assert raw.execute("select title, version from tasks order by number").fetchall() == [
        (row[head["columns"].index("title")], row[head["columns"].index("version")]) for row in rows
    ]
    raw.close()
    new = with_tasks(head | {"columns": [*head["columns"], "estimate"]}, [[*row, 1] for row in rows])
    for bad, what in (
        (without("title"), "lacks the column 'title' of tasks"),
        (new, "has the column 'estimate' of tasks, which a store does not have"),
        (with_tasks(head | {"table": "chores"}, rows), "has the table 'chores', which a store does not have"),
    ):
        said = failed(satchel(tmp_path / "other.db", "load", input=bad))
        assert re.fullmatch(rf"satchel: this dump \(schema 9\d+\) {what}\. Nothing was changed\. Load it .*\n", said)


def test_only_an_empty_store_is_loaded(satchel: Satchel, store: str, dumped: Path) -> None:
    database = open_database(store)
    projects.require(database, Scope())
    with database.write() as tx:
        prompts.add(tx, Scope(), PromptDraft(title="Mine", content="stays"))
    database.close()
    before = everything(store)
    assert "this store is not empty" in failed(satchel(store, "load", str(dumped)))
    assert everything(store) == before


def test_a_store_of_which_only_the_default_project_was_made_is_empty(
    satchel: Satchel, store: str, tmp_path: Path, dumped: Path
) -> None:
    database = open_database(store)
    projects.require(database, Scope())
    database.close()
    done(satchel(store, "load", str(dumped)))
    assert differences(everything(str(tmp_path / "source.db")), everything(store)) == []


def test_a_dump_during_writes_is_one_snapshot(satchel: Satchel, store: str, tmp_path: Path) -> None:
    database = open_database(store)
    projects.require(database, Scope())

    def add_pair(number: int) -> None:
        with database.write() as tx:
            for twin in "ab":
                prompts.add(tx, Scope(), PromptDraft(title=f"{number} {twin}", content="x" * 2000))

    for number in range(300):
        add_pair(number)
    pieces: list[bytes] = []

    def write(piece: bytes) -> None:
        pieces.append(piece)
        add_pair(1000 + len(pieces))

    counts = dump(store, write)
    database.close()
    assert len(pieces) > 2 and counts["prompts"] == 600
    assert sum(b"needle" in line or line.startswith(b"[") for line in b"".join(pieces).splitlines()) == sum(
        counts.values()
    )


def test_a_failing_dump_is_reported(satchel: Satchel, tmp_path: Path, postgres: PostgresServer) -> None:
    assert "there is no store" in failed(satchel(tmp_path / "none.db", "dump"))
    assert not (tmp_path / "none.db").exists()
    assert "satchel database migrate" in failed(satchel(postgres.fresh(), "dump"))
    assert "cannot read" in failed(satchel(tmp_path / "none.db", "load", str(tmp_path / "none")))


def test_the_indexes_of_postgres_are_as_before(satchel: Satchel, postgres: PostgresServer, dumped: Path) -> None:
    store = postgres.fresh()
    done(satchel(store, "database", "migrate"))
    with psycopg.connect(store) as connection:
        sql = "select indexname, indexdef from pg_indexes where schemaname = 'public' order by 1"
        before = connection.execute(sql).fetchall()
    done(satchel(store, "load", str(dumped)))
    with psycopg.connect(store) as connection:
        assert connection.execute(sql).fetchall() == before
