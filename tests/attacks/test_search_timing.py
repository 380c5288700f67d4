"""The work of what a caller asks depends neither on what is hidden from them, nor on how much is hidden.

The hidden project holds a text thousands of times, and another text is nowhere. A caller of the open project asks for
both, by every way to search. The engine's own counts of its work must be equal.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from satchel.model import PromptDraft, PromptQuery, Scope, TaskDraft, TaskQuery
from satchel.services import completion, documents, lookup, projects, prompts, search, tasks
from satchel.storage.database import Database, Tx, open_database
from tests.support.postgres import PostgresServer
from tests.support.roles import two_roles
from tests.support.soak import amount

USER = "11111111-1111-4111-8111-111111111111"
EVERYWHERE = Scope(user=USER)
PUB = Scope(user=USER, project="pub", projects=("pub",))
# Letter for letter another one, so that a look for either takes as many spellings.
PRESENT, ABSENT = "quetzalcoatlus", "rvfuabmdpbumvt"
HIDDEN = amount(400, 3000)  # items of each kind in the hidden project; more than any shortcut for a few

Look = Callable[[Tx, str], object]

LOOKS: dict[str, Look] = {
    "search_prompts": lambda tx, text: prompts.list_counted(tx, PUB, PromptQuery(text=text), limit=10, offset=0),
    "list_prompts": lambda tx, text: prompts.list_page(tx, PUB, PromptQuery(text=text), limit=10),
    "list_prompts by tag": lambda tx, text: prompts.list_page(tx, PUB, PromptQuery(tags=[text]), limit=10),
    "list_resources": lambda tx, text: documents.list_page(tx, PUB, text, limit=10),
    "list_tasks": lambda tx, text: tasks.list_page(tx, PUB, TaskQuery(filter="all", text=text), limit=10),
    "list_tasks by tag": lambda tx, text: tasks.list_page(tx, PUB, TaskQuery(filter="all", tags=[text]), limit=10),
    "list_tasks ready": lambda tx, text: tasks.list_page(tx, PUB, TaskQuery(text=text), limit=10),
    "search by words": lambda tx, text: search.search(tx, PUB, search.SearchQuery(text=text)),
    "search with a typo": lambda tx, text: search.search(tx, PUB, search.SearchQuery(text=f"{text[:6]}x{text[7:]}")),
    "search literally": lambda tx, text: search.search(tx, PUB, search.SearchQuery(text=f'"{text}"')),
    "complete a prompt": lambda tx, text: completion.prompt_names(tx, PUB, text[:5]),
    "complete a tag": lambda tx, text: completion.prompt_tags(tx, PUB, text[:5]),
    "complete a project": lambda tx, text: completion.projects(tx, PUB, text[:5]),
    "did you mean a prompt": lambda tx, text: lookup.suggest(tx, PUB, "prompt", text[:-1]),
    "did you mean a resource": lambda tx, text: lookup.suggest(tx, PUB, "document", text[:-1]),
    "did you mean a task": lambda tx, text: lookup.suggest(tx, PUB, "task", text[:-1]),
    "a task by its title": lambda tx, text: lookup.find_all(tx, PUB, [text]),
    "a deleted item": lambda tx, text: lookup.suggest_deleted(tx, PUB, ["prompt", "task"], text[:-1]),
}


def fill(database: Database, hidden: int) -> None:
    """Fill an open project with some items, and a hidden one with a number of each kind."""
    priv = Scope(user=USER, project="priv")
    with database.write(EVERYWHERE) as tx:
        for name in ("pub", "priv", *(f"{PRESENT}{number}" for number in range(20))):
            projects.add(tx, name)
        for number in range(hidden):
            text = f"{PRESENT} {number}"
            prompts.add(tx, priv, PromptDraft(title=text, content=f"about {text}", tags=[PRESENT]))
            tasks.add(tx, EVERYWHERE, TaskDraft(title=text, description=text, project="priv", tags=[PRESENT]))
            if number < 50:
                gone = tasks.add(tx, EVERYWHERE, TaskDraft(title=text, project="priv"))
                tasks.delete(tx, EVERYWHERE, gone.number)
        for number in range(30):
            prompts.add(tx, PUB, PromptDraft(title=f"Open {number}", content="plain words", tags=["open"]))
            tasks.add(tx, EVERYWHERE, TaskDraft(title=f"Open {number}", project="pub", tags=["open"]))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    database = open_database(str(tmp_path_factory.mktemp("timing") / "s.db"))
    fill(database, HIDDEN)
    yield database
    database.close()


def test_both_texts_are_answered_alike(filled: Database) -> None:
    with filled.read(PUB) as tx:
        for name, look in LOOKS.items():
            told = str(look(tx, PRESENT)).replace(PRESENT, "X").replace(PRESENT[:-1], "X")
            assert told == str(look(tx, ABSENT)).replace(ABSENT, "X").replace(ABSENT[:-1], "X"), name
    with filled.read(EVERYWHERE) as tx:  # and the hidden text is there
        assert prompts.list_counted(tx, Scope(project="priv"), PromptQuery(text=PRESENT), limit=1, offset=0).total


def count_steps(tx: Tx, look: Look, text: str) -> int:
    """Return the steps of SQLite's virtual machine for a look, in tens; they count every row and every comparison."""
    connection: apsw.Connection = tx._connection  # type: ignore[attr-defined]
    steps = 0

    def note() -> bool:
        nonlocal steps
        steps += 1
        return False

    connection.set_progress_handler(note, 10)
    try:
        look(tx, text)
    finally:
        connection.set_progress_handler(None)
    return steps


def test_a_hidden_text_takes_as_many_steps_as_a_missing_one(filled: Database) -> None:
    for name, look in LOOKS.items():
        with filled.read(PUB) as tx:
            for text in (PRESENT, ABSENT):
                look(tx, text)  # statements and caches are prepared
            steps = {text: count_steps(tx, look, text) for text in (PRESENT, ABSENT)}
            assert abs(steps[PRESENT] - steps[ABSENT]) <= 0.02 * max(steps.values()) + 5, (name, steps)


def count_rows(tx: Tx, look: Look, text: str) -> list[tuple[str, int]]:
    """Return the rows of each table that PostgreSQL read for a look, by the statistics of this transaction."""
    sql = """
        select relname, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables
        order by relname
    """
    before = dict(tx.all(sql))
    look(tx, text)
    return [(name, count - before[name]) for name, count in tx.all(sql)]


def test_a_hidden_text_takes_as_many_steps_as_a_missing_one_under_row_level_security(postgres: PostgresServer) -> None:
    database = open_database(two_roles(postgres)[1])
    fill(database, 50)
    for name, look in LOOKS.items():
        with database.read(PUB) as tx:
            for text in (PRESENT, ABSENT) * 6:
                look(tx, text)  # until psycopg has prepared the statements and PostgreSQL has planned them
            rows = {text: count_rows(tx, look, text) for text in (PRESENT, ABSENT)}
        assert rows[PRESENT] == rows[ABSENT], name
    database.close()


def test_counting_open_tasks_takes_the_same_steps_however_many_are_hidden(tmp_path: Path) -> None:
    look: Callable[..., object] = lambda tx, _text: projects.count_open_tasks(tx, PUB)  # noqa: E731
    steps = []
    for hidden in (0, 300):
        database = open_database(str(tmp_path / f"{hidden}.db"))
        fill(database, hidden)
        with database.read(PUB) as tx:
            assert [*projects.count_open_tasks(tx, PUB).values()] == [30]
            steps.append(count_steps(tx, look, ""))
        database.close()
    assert abs(steps[0] - steps[1]) <= 5, steps
