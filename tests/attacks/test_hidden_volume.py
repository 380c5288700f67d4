"""The work of what a limited caller asks depends neither on what is hidden, nor on how much is hidden."""

from collections.abc import Callable
from pathlib import Path

from satchel.model import PromptDraft, Scope, TaskDraft
from satchel.services import projects, prompts, tasks
from satchel.storage.database import Database, open_database
from tests.attacks.test_search_timing import ABSENT, EVERYWHERE, LOOKS, PRESENT, PUB, USER, count_rows, count_steps
from tests.support.postgres import PostgresServer
from tests.support.roles import two_roles


def fill(database: Database, hidden: int) -> None:
    """Fill an open project with some items, and a hidden one with a number of each kind."""
    priv = Scope(user=USER, project="priv")
    with database.write(EVERYWHERE) as tx:
        for name in ("pub", "priv"):
            projects.add(tx, name)
        for number in range(30):
            prompts.add(tx, PUB, PromptDraft(title=f"Open {number}", content="plain words", tags=["open"]))
            tasks.add(tx, EVERYWHERE, TaskDraft(title=f"Open {number}", project="pub", tags=["open"]))
        for number in range(hidden):
            text = f"{PRESENT} {number}"
            prompts.add(tx, priv, PromptDraft(title=text, content=text, tags=[PRESENT]))
            tasks.add(tx, EVERYWHERE, TaskDraft(title=text, description=text, project="priv", tags=[PRESENT]))


def test_a_hidden_text_is_as_much_work_as_one_that_is_nowhere_under_row_level_security(
    postgres: PostgresServer,
) -> None:
    database = open_database(two_roles(postgres)[1])
    fill(database, 100)
    for name, look in LOOKS.items():
        with database.read(PUB) as tx:
            for text in (PRESENT, ABSENT) * 6:
                look(tx, text)  # until psycopg has prepared the statements and PostgreSQL has planned them
            rows = {text: count_rows(tx, look, text) for text in (PRESENT, ABSENT)}
        assert rows[PRESENT] == rows[ABSENT], name
    database.close()


def test_counting_open_tasks_is_as_much_work_however_many_are_hidden(tmp_path: Path) -> None:
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
