"""The schema of a store, and the migrations that were released after it.

migration  statements in the SQL of both engines
items      settings, projects, prompts, documents
tasks      tasks, and links between items
history    users and their actions
search     the word index

Until 0.1.0, the schema is edited in place, and each edit raises NUMBER. From then on, the schema stays as it is, and
each change is a migration: a module of its own, listed in MIGRATIONS.
"""

from collections.abc import Iterator

from satchel.errors import StoreUnusable
from satchel.storage.schema import history, items, search, tasks
from satchel.storage.schema.migration import PROTECT_FUNCTIONS, Migration, Statements

NUMBER = 22  # the number of the schema in these modules
MIGRATIONS: tuple[Migration, ...] = (
    # the first one migrates a store to NUMBER + 1
)

SCHEMA: tuple[Statements, ...] = (
    *(history.TOKENS_AND_SESSIONS, items.SETTINGS, items.PROJECTS, items.PROMPTS, items.DOCUMENTS),
    *(items.ARGUMENT_VALUES, history.REVISIONS, tasks.TASKS, tasks.CLAIMS_AND_NOTES, tasks.LINKS),
    *(history.REMOVAL, history.USAGE, history.CHANGES, search.SEARCH, Statements(postgres=PROTECT_FUNCTIONS)),
)


def newest() -> int:
    """Return the number of the newest schema."""
    return NUMBER + len(MIGRATIONS)


def list_statements(after: int, up_to: int | None = None) -> Iterator[Statements]:
    """List the steps that migrate a store from one schema (0: none) to another, by default the newest."""
    if not after:
        yield from SCHEMA
    yield from MIGRATIONS[max(0, after - NUMBER) : (up_to or newest()) - NUMBER]


def explain_number(found: int) -> str:
    """Explain in a clause why a store with this schema cannot be opened; empty if it can.

    A store that can be migrated first counts as usable; 0 stands for a new store.
    """
    if found > newest():
        return (
            f"has schema {found}, and this Satchel knows schemas up to {newest()}: a newer Satchel wrote it. Upgrade "
            "this one, or dump the store with the newer one and load the dump into a new store with this one"
        )
    if found and found < NUMBER:
        return (
            f"has schema {found}, and this Satchel migrates only stores of schema {NUMBER} and newer. Dump it with the "
            "Satchel that wrote it (`satchel dump FILE`), and load the dump into a new store with this one (`satchel "
            "load FILE`)"
        )
    return ""


def check_number(found: int, store: str) -> None:
    """Check that a store with this schema can be opened, perhaps after a migration; 0 stands for a new store.

    Raises:
        StoreUnusable: this Satchel does not know the schema.
    """
    if why := explain_number(found):
        raise StoreUnusable(f"{store} {why}.")
