"""The parts of the measurements; each module has `measure(run) -> Result` and is imported when it runs."""

PARTS = {
    "start": "from the start of a process to its first answer",
    "memory": "memory after a start and after 10,000 calls, processor time of a call",
    "definitions": "what tools/list costs a model",
    "calls": "add, get, list, update, search, complete, render: over stdio and HTTP",
    "growth": "the same with 100 to 100,000 items, and search against a scan",
    "writers": "concurrent writers, lost writes counted",
    "load": "calls a second over HTTP with 1, 8 and 64 clients",
    "attacks": "how long a quiet user waits while others attack",
    "commits": "additions a second at a commit of 3 ms, PostgreSQL",
    "history": "what history costs a write",
    "security": "what row-level security costs on PostgreSQL",
    "libraries": "3,000 templates listed, and rendered",
    "page": "every screen of the page for people",
    "jobs": "eight jobs of an agent in calls and tokens",
    "upkeep": "backup, dump and pruning",
}
COUNTED = ("definitions", "jobs")  # parts in which nothing depends on time or size
