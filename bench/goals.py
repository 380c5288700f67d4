"""The goals, most of them ratios within one run, and whether the results meet them."""

from dataclasses import dataclass

from bench.measuring import show
from bench.results import Result, Table


@dataclass(frozen=True)
class Goal:
    """An upper or lower bound of a figure of a part."""

    name: str
    part: str
    figure: str
    bound: float
    is_least: bool = False  # the figure must be at least the bound
    unit: str = " ×"
    why: str = ""  # the reason if it is missed

    def judge(self, value: float) -> str:
        """Return `met`, or by how much the goal is missed."""
        if value >= self.bound if self.is_least else value <= self.bound:
            return "met"
        share = abs(1 - value / self.bound) if self.bound else 1.0
        return f"missed: {share:.0%} too {'little' if self.is_least else 'much'}"


PYTHON = "the bare loop itself takes nearly 0.3 × the fastest peer"
CHECKS = "checks, a transaction, a log line, limits"
HTTP = "a thread for each call, the runner, uvicorn: decision 53"
COMPARED = "a trigram index only proposes, texts are compared"
GOALS = (
    Goal("cold start against the bare loop", "start", "start/bare", 1.5),
    Goal("cold start against the fastest peer", "start", "start/fastest peer", 0.3, why=PYTHON),
    Goal("memory after 10,000 calls against the bare loop", "memory", "memory/bare", 1.8),
    Goal("memory after 10,000 calls against the leanest peer", "memory", "memory/leanest peer", 0.5),
    Goal("processor time of the same get against the bare loop", "memory", "get cpu/bare", 3, why=CHECKS),
    Goal("processor time of the same get: the SDK against Satchel", "memory", "get cpu SDK/satchel", 5, is_least=True),
    Goal("first page of prompts, 100,000 against 100", "growth", "growth of list prompts", 1.5),
    Goal("first page of tasks, 100,000 against 100", "growth", "growth of list tasks", 1.5),
    Goal("a scan against substring search, rare word", "growth", "scan/search, rare word", 20, is_least=True),
    Goal(
        "slowest literal search in 100,000 on PostgreSQL, with its total",
        "growth",
        "slowest search on PostgreSQL ms",
        60,
        unit=" ms",
        why=COMPARED,
    ),
    Goal("HTTP get, SQLite, against the SDK", "load", "http/SDK", 5, is_least=True, why=HTTP),
    Goal("list_tasks of 10,000 behind row-level security", "security", "guarded list_tasks ms", 10, unit=" ms"),
    Goal(
        "add of a task, durable, against the fastest peer",
        "calls",
        "add/fastest peer",
        0.3,
        why="each commit waits for the disk, as the bare loop does",
    ),
    Goal("render with ten arguments", "libraries", "render ms", 0.2, unit=" ms", why="four process switches"),
    Goal("first render of a process", "libraries", "first render ms", 80, unit=" ms", why="the start of the worker"),
    Goal("3,000 library prompts listed, warm", "libraries", "listing ms", 40, unit=" ms"),
    Goal("lost writes", "writers", "lost writes", 0, unit=""),
    Goal("a quiet user under attack: median", "attacks", "quiet median ms", 150, unit=" ms"),
    Goal("a quiet user under attack: worst", "attacks", "quiet worst ms", 3000, unit=" ms"),
    Goal("memory of a server under attack", "attacks", "attacked MB", 300, unit=" MB"),
)


def tabulate(found: dict[str, Result]) -> Table:
    """Make the table of all goals and their figures."""
    rows = []
    for goal in GOALS:
        result = found.get(goal.part)
        sign = "≥" if goal.is_least else "≤"
        bound = f"{sign} {goal.bound:g}{goal.unit}"
        if result is None or goal.figure not in result.figures:
            rows.append([goal.name, bound, "–", "not measured"])
            continue
        value = result.figures[goal.figure]
        verdict = goal.judge(value)
        if verdict != "met" and goal.why:
            verdict += f" ({goal.why})"
        if result.share < 1:
            verdict += f"; at {result.share:.0%} of the size"
        rows.append([goal.name, bound, f"{show(value)}{goal.unit}", verdict])
    return Table("Goals", ["figure", "goal", "now", ""], rows)
