"""Eight jobs of an agent in calls and tokens: the scripted agent of `tests/contracts/test_satchel_jobs.py`, counted."""

import inspect
import sys
from pathlib import Path

from bench.results import Result, Table
from bench.surroundings import ROOT, Run


def measure(run: Run) -> Result:
    """Run each job once; nothing here depends on time."""
    sys.path.insert(0, str(ROOT))
    from tests.contracts import test_satchel_jobs as jobs

    every: list[jobs.Agent] = []

    class CountedAgent(jobs.Agent):
        """An agent that is found again when its job is done."""

        def __init__(self, store: Path | str, *arguments: str) -> None:
            super().__init__(store, *arguments)
            every.append(self)

    jobs.Agent = CountedAgent  # type: ignore[misc]
    tests = [test for name, test in vars(jobs).items() if name.startswith("test_")]
    run.expect(len(tests))
    rows = []
    for test in tests:
        every.clear()
        folder = run.make_folder(test.__name__)
        with CountedAgent(folder / "store.db", "--project", "default") as agent:
            given = {"agent": agent, "tmp_path": folder}
            test(**{name: given[name] for name in inspect.signature(test).parameters})
        calls, tokens = sum(one.calls for one in every), sum(one.tokens for one in every)
        rows.append([test.__name__.removeprefix("test_").replace("_", " "), str(calls), f"{tokens:,}"])
        run.step()
    note = "o200k tokens of the agent's calls and of the longer form of each answer, for all agents of a job together."
    return Result("jobs", tables=[Table("An agent's jobs", ["job", "calls", "tokens"], rows, note)])
