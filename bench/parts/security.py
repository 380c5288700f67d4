"""What row-level security costs: the same reads and writes by the owner of the tables, and by the application role."""

from collections.abc import Callable

from bench import postgres, stores, texts
from bench.measuring import Case, count_samples, time_ms
from bench.results import Result, Table
from bench.stores import SCOPE
from bench.surroundings import Run
from satchel.model import PromptQuery, Scope, TaskDraft, TaskQuery
from satchel.services import prompts, tasks
from satchel.storage.database import Database, Tx, open_database

OTHER = Scope(user="11111111-e29b-41d4-a716-446655440000")  # whose tasks must not be seen
NAME = next(stores.make_samples(0, 1)).title.lower().replace(" ", "-")  # of the first prompt
READS: dict[str, Callable[[Tx, int], object]] = {
    "get a prompt": lambda tx, round: prompts.get_by_name(tx, SCOPE, NAME),  # noqa: ARG005
    "list prompts": lambda tx, round: prompts.list_page(tx, SCOPE, PromptQuery(), limit=20),  # noqa: ARG005
    "search a rare word": lambda tx, round: prompts.list_counted(  # noqa: ARG005
        tx, SCOPE, PromptQuery(text=texts.RARE_WORD), limit=20, offset=0
    ),
    "get a task": lambda tx, round: tasks.find(tx, SCOPE, round + 1),
    "list tasks": lambda tx, round: tasks.list_page(tx, SCOPE, TaskQuery(), limit=20),  # noqa: ARG005
}


def measure(run: Run) -> Result:
    """Measure both roles on one store, in turn."""
    try:
        server = run.stack.enter_context(postgres.Server())
    except (RuntimeError, OSError) as error:
        return Result("security", notes=[f"PostgreSQL was not measured: {str(error)[:200]}"])
    owner, role, _ = server.make_guarded_store("guarded")
    mine, rounds = run.amount(30, 10_000), run.amount(3, 60)
    run.expect((rounds + 1) * (len(READS) + 1))
    filled = stores.open_new(owner)
    stores.grow(filled, 0, mine)
    stores.grow(filled, mine, mine + mine // 4, OTHER)
    filled.close()
    postgres.settle(owner)
    opened = [open_database(address) for address in (owner, role)]
    for database in opened:
        run.stack.callback(database.close)
    rows, result = [], Result("security")
    for name in (*READS, "add a task"):
        roles = ("owner", "application role")
        cases = [Case(who, make_call(one, name)) for who, one in zip(roles, opened, strict=True)]
        run.interleave(name, cases, rounds)
        if not all(case.values for case in cases):
            result.notes += [f"{name}: {case.failure}" for case in cases if case.failure]
            continue
        plain, guarded = cases
        ratio = guarded.median / plain.median
        rows.append([name, plain.summary, guarded.summary, count_samples(cases), f"{ratio:.2f}"])
        result.figures[f"row-level security of {name}"] = ratio
        if name == "list tasks":
            result.figures["guarded list_tasks ms"] = guarded.median
    head = ["call on PostgreSQL", "owner, ms", "behind row-level security, ms", "samples", "ratio"]
    note = f"In process, through the services; the user has {mine:,} tasks, another one {mine // 4:,}."
    result.tables.append(Table("What row-level security costs", head, rows, note))
    return result


def make_call(database: Database, name: str) -> Callable[[int], float]:
    """Make a function that times a call in a transaction of its own."""

    def read(round: int) -> None:
        with database.read(SCOPE) as tx:
            READS[name](tx, round)

    def add(round: int) -> None:
        with database.write(SCOPE) as tx:
            tasks.add(tx, SCOPE, TaskDraft(title=f"Another {round}", description=texts.sentence(round)))

    act = read if name in READS else add
    return lambda round: time_ms(lambda: act(round))
