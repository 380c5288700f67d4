"""What every screen of the page costs the server, with 100 to 10,000 prompts and tasks; sending is not included."""

import random
import time
from collections.abc import Callable

from bench.measuring import Case, count_samples
from bench.results import Plot, Result, Table
from bench.stores import SCOPE
from bench.surroundings import Run
from satchel.library.catalog import Libraries
from satchel.model import DocumentDraft, PromptDraft, TaskDraft
from satchel.page.site import Site
from satchel.page.visit import Server, Visit
from satchel.services import documents, projects, prompts, tasks
from satchel.storage.database import Database, open_database

BATCH = 2000
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


def measure(run: Run) -> Result:
    """Measure every screen of stores of three sizes, in turn."""
    sizes = [100] if run.is_quick else [100, 1000, max(2000, round(10_000 * run.share))]
    rounds = run.amount(2, 15)
    run.expect((rounds + 1) * len(SCREENS))
    libraries = Libraries([str(run.make_folder("libraries"))])
    run.stack.callback(libraries.renderer.close)
    sites = {}
    for size in sizes:
        database = open_database(str(run.folder / f"{size}.db"))
        run.stack.callback(database.close)
        fill(database, size)
        sites[size] = make_site(database, libraries)
    rows, slowest = [], {}
    for screen in SCREENS:
        cases = [Case(f"{size:,}", make_opening(site, screen)) for size, site in sites.items()]
        run.interleave(screen, cases, rounds)
        length = open_screen(sites[sizes[-1]], screen)[1]
        growth = cases[-1].median / cases[0].median
        samples = count_samples(cases)
        cells = [*(case.summary for case in cases), samples, f"{length / 1000:.0f}", f"{growth:.2f}"]
        rows.append([screen, *cells])
        slowest[screen] = cases[-1].median
    head = ["screen, ms", *(f"{size:,}" for size in sizes), "samples", "KB", "last / first"]
    note = (
        "Medians (quartiles) from the request to the bytes of the page. A screen that 100 items do not fill shows more "
        "with more items."
    )
    plot = Plot("page", f"Screens of the page with {sizes[-1]:,} prompts and tasks", "ms", slowest)
    figures = {"slowest screen ms": max(slowest.values())}
    return Result("page", tables=[Table("The page", head, rows, note)], plots=[plot], figures=figures)


def make_opening(site: Site, screen: str) -> Callable[[int], float]:
    """Make a function that opens a screen and returns the milliseconds."""
    return lambda _: open_screen(site, screen)[0]


def make_site(database: Database, libraries: Libraries) -> Site:
    """Make the pages of a store."""
    server = Server(database=database, libraries=libraries, url="http://127.0.0.1:8000", auth="none", contracts=())
    return Site(server)


def fill(database: Database, size: int) -> None:
    """Put prompts, tasks and some documents into a store; some tasks are done, blocked or deleted."""
    dice = random.Random(7)
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
                    documents.add(tx, SCOPE, DocumentDraft(name=name, uri=f"doc:///{name}", content=text))
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
                    tasks.add_note(tx, SCOPE, task.number, "A note")
                if number % 20 == 9:
                    tasks.delete(tx, SCOPE, task.number)


def open_screen(site: Site, address: str) -> tuple[float, int]:
    """Open a screen; return the milliseconds from the request to the bytes of the page, and their number."""
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
