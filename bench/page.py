"""What every screen of the page costs the server with few and with many prompts and tasks; bytes are not sent anywhere.

Every round opens each screen once in each store, so that a busy moment of the machine hits all sizes alike.
"""

import argparse
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import postgres
from client import table
from satchel.library.catalog import Libraries
from satchel.model import PromptDraft, ResourceDraft, Scope, TaskDraft
from satchel.page.site import Site
from satchel.page.visit import Server, Visit
from satchel.services import projects, prompts, resources, task_notes, tasks
from satchel.storage.database import Database, open_database

USER = "550e8400-e29b-41d4-a716-446655440000"
SCOPE = Scope(user=USER)
SIZES = (100, 1000, 10_000)  # prompts, and as many tasks
BATCH = 2000
GOAL = 20.0  # milliseconds of a screen in the largest store
SEARCH_GOAL = 50.0  # of a search, which ranks more where more has the word; as in search.py
GROWTH, NOISE = 2.0, 1.0  # times and milliseconds, from a store that fills the screen as much to the largest
TAGS = ("code", "review", "writing", "mail", "plan", "docs", "ops", "data", "test", "idea")
PROJECTS = ("web", "api", "docs", "ops")
SCREENS = (
    *("/", "/?q=writing", "/p/default/prompts", "/p/default/prompts?tag=code", "/p/default/prompts?q=about"),
    *("/p/default/prompts/prompt-7", "/p/default/prompts/prompt-7/edit", "/p/default/prompts/prompt-7/versions"),
    *("/p/default/prompts/new", "/p/default/documents", "/p/default/documents/document-7"),
    *("/tasks", "/tasks?status=ready", "/tasks?status=done", "/tasks?tag=code", "/tasks?project=web", "/tasks/7"),
    *("/tasks/7/versions", "/board", "/p/web/board", "/activity", "/activity?by=person", "/activity?kind=resource"),
    *("/trash", "/projects", "/connect", "/settings", "/libraries"),
)


def main() -> int:
    """Load, measure, print, and with --check judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="prompts of each store, and as many tasks")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--stores", type=Path, help="a folder that keeps the SQLite stores for the next run")
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL server started for the run")
    parser.add_argument("--check", action="store_true", help="exit 1 when a goal is missed")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="satchel-bench-")))
        libraries = Libraries([str(folder / "libraries")])
        stack.callback(libraries.renderer.close)
        sites: dict[int, Site] = {}
        for size in sizes:
            file = str((options.stores or folder) / f"{size}.db")
            address = stack.enter_context(postgres.temporary_server()) if options.postgres else file
            database = open_database(address)
            stack.callback(database.close)
            if not is_filled(database):
                fill(database, size)
            if options.postgres:
                postgres.settle(address)
            sites[size] = make_site(database, libraries)
        measured = measure(sites, options.rounds)
    return report(measured, sizes, is_judged=options.check)


def make_site(database: Database, libraries: Libraries) -> Site:
    """The pages of a store."""
    server = Server(database=database, libraries=libraries, url="http://127.0.0.1:8000", auth="none", contracts=())
    return Site(server)


def is_filled(database: Database) -> bool:
    """Whether a store is one of an earlier run."""
    with database.read(SCOPE) as tx:
        return len(projects.list_all(tx, SCOPE)) > 1


def fill(database: Database, size: int) -> None:
    """Put prompts, tasks and some documents into a store; some tasks are done, blocked or deleted."""
    dice, started = random.Random(7), time.perf_counter()
    projects.require(database, SCOPE)
    with database.write(SCOPE) as tx:
        for name in PROJECTS:
            projects.add(tx, name)
    for start in range(0, size, BATCH):
        with database.write(SCOPE) as tx:
            for number in range(start, min(start + BATCH, size)):
                text = f"Write about {dice.choice(TAGS)} number {number} for {{{{ reader }}}}. " * 4
                tags = dice.sample(TAGS, dice.randrange(4))
                prompts.add(tx, SCOPE, PromptDraft(title=f"Prompt {number}", content=text, tags=tags))
                if number % 10 == 7:
                    name = f"document-{number}"
                    resources.add(tx, SCOPE, ResourceDraft(name=name, uri=f"doc:///{name}", content=text))
                task = tasks.add(
                    tx,
                    SCOPE,
                    TaskDraft(
                        title=f"Task {number}",
                        description=f"About {dice.choice(TAGS)}",
                        tags=dice.sample(TAGS, dice.randrange(3)),
                        project=dice.choice((*PROJECTS, None)),
                        priority=dice.choice(("low", "normal", "normal", "high")),
                        blocked_by=[dice.randrange(number) // 20 * 20 + 1] if number % 10 == 5 else [],
                    ),
                )
                if number % 10 == 3:
                    tasks.complete(tx, SCOPE, task.number)
                if number == 6:
                    task_notes.add(tx, SCOPE, task.number, "A note")
                if number % 20 == 9:
                    tasks.delete(tx, SCOPE, task.number)
    print(f"{size} prompts and tasks in {time.perf_counter() - started:.0f} s", file=sys.stderr)


@dataclass
class Taken:
    """What one screen of one store took."""

    times: list[float] = field(default_factory=list)  # milliseconds
    size: int = 0  # bytes of the page

    @property
    def best(self) -> float:
        """The least of the times, which a busy machine changes least."""
        return min(self.times)


Measured = dict[str, dict[int, Taken]]  # by screen and size of the store


def measure(sites: dict[int, Site], rounds: int) -> Measured:
    """Open each screen of each store in turn."""
    found: Measured = {screen: {size: Taken() for size in sites} for screen in SCREENS}
    for turn in range(rounds + 2):
        for screen in SCREENS:
            for size, site in sites.items():
                taken, length = open_screen(site, screen)
                found[screen][size].size = length
                if turn >= 2:  # the first ones warm up
                    found[screen][size].times.append(taken)
    return found


def open_screen(site: Site, address: str) -> tuple[float, int]:
    """The milliseconds of one view, from the request to the bytes of its page, and how many these are."""
    path, _, query = address.partition("?")
    match = site.match(path)
    assert match is not None, address
    fields = dict(pair.split("=") for pair in query.split("&")) if query else {}
    started = time.perf_counter()
    visit = Visit(server=site.server, scope=SCOPE, address=address, path=match.parts, query=fields)
    answer = site.answer(match.views["GET"], visit)
    taken = (time.perf_counter() - started) * 1000
    assert answer.status == 200, (address, answer)
    return taken, len(answer.body)


def report(measured: Measured, sizes: list[int], *, is_judged: bool) -> int:
    """Print the best times and how they grow; 1 where a goal is missed and judged.

    Growth is from the smallest store that fills the screen as much as the largest: a longer page takes longer.
    """
    rows, missed = [], []
    for screen, found in measured.items():
        last = found[sizes[-1]]
        first = next(found[size] for size in sizes if found[size].size > 0.8 * last.size)
        growth = last.best / first.best
        rows.append(
            (screen, *(f"{found[size].best:.1f}" for size in sizes), f"{last.size / 1000:.0f}", f"{growth:.2f}")
        )
        is_search = screen.startswith("/?q=")
        if last.best > (SEARCH_GOAL if is_search else GOAL):
            missed.append(f"{screen} {last.best:.1f} ms")
        if not is_search and last.best > GROWTH * first.best + NOISE:
            missed.append(f"{screen} grows {growth:.1f} times")
    print(table(("screen", *(f"{size:,}: ms" for size in sizes), "KB", "growth"), rows))
    print(f"missed: {'; '.join(missed)}" if missed else "all goals met")
    return 1 if is_judged and missed else 0


if __name__ == "__main__":
    sys.exit(main())
