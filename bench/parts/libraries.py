"""What libraries cost: listing 3,000 prompts of 300 libraries, and rendering a template with ten arguments.

A render goes through the whole server and its worker; the same template is also rendered by Jinja2 alone.
"""

import time
from pathlib import Path
from typing import Any

import jinja2

from bench.measuring import Case, show, show_tail, time_ms
from bench.results import Result, Table
from bench.stdio import Client
from bench.surroundings import SATCHEL, SCRATCH, Run, environment

ARGUMENTS = [f"argument_{number}" for number in range(10)]
TEMPLATE = "".join(
    f"{{% if {name} %}}The {name} is {{{{ {name} }}}}, again {{{{ {name} }}}}.{{% endif %}}\n" for name in ARGUMENTS
)
VALUES = {name: f"value of {name}" for name in ARGUMENTS}
FULL = 300  # libraries in a full run
PROMPTS = 10  # of each library


def measure(run: Run) -> Result:
    """Measure lists and renders, and renders by Jinja2 alone."""
    libraries, rounds = run.amount(10, FULL), run.amount(5, 1000)
    run.expect(rounds + 1 + 11 + 21)
    place = run.make_folder("libraries")
    write(place / "all", libraries, PROMPTS)
    write(place / "small", 1, 1)
    serve(place / "small").close()  # fills the cache of bytecode
    started = time.perf_counter()
    client = serve(place / "all")
    run.stack.callback(client.close)
    count, _ = list_prompts(client)
    cold = (time.perf_counter() - started) * 1000
    assert count == libraries * PROMPTS, count
    params = {"name": "library_007:prompt_3", "arguments": VALUES}
    compiled = client.ask_timed("prompts/get", params)[0]
    template = jinja2.Template(TEMPLATE)
    listed = Case(f"{count:,} prompts listed, warm", lambda _: list_prompts(client)[1])
    first = Case("first render of a process", lambda _: render_first(place / "small"))
    rendered = Case("render with ten arguments", lambda _: client.ask_timed("prompts/get", params)[0])
    alone = Case("the same by Jinja2 alone", lambda _: time_ms(lambda: template.render(VALUES)))
    run.interleave("render", [rendered, alone], rounds)
    run.interleave("list", [listed], min(20, rounds))
    run.interleave("start", [first], min(10, rounds))
    cases = (listed, first, rendered, alone)
    rows = [
        [case.name, case.summary, show_tail(case.values, 0.95), show_tail(case.values, 0.99), f"{len(case.values)}"]
        for case in cases
    ]
    rows.insert(0, [f"start to {count:,} prompts listed", show(cold), "–", "–", "1"])
    rows.insert(2, ["first render of a template, which compiles it", show(compiled), "–", "–", "1"])
    figures = {"render ms": rendered.median, "first render ms": first.median}
    if count == FULL * PROMPTS:
        figures["listing ms"] = listed.median
    note = "Median (quartiles). A percentile is shown if ten samples lie above it."
    table = Table("Libraries of templates", ["what", "ms", "95 %", "99 %", "samples"], rows, note)
    return Result("libraries", tables=[table], figures=figures)


def serve(folder: Path) -> Client:
    """Start Satchel with the libraries of a folder."""
    command = [SATCHEL, "serve", "--contract", "twig", "--libraries", str(folder)]
    return Client(command, environment(SCRATCH / "bytecode" / "satchel-bytecode", SATCHEL_HOME=str(folder.parent)))


def write(root: Path, libraries: int, prompts: int) -> None:
    """Put libraries on disk."""
    for number in range(libraries):
        folder = root / f"library {number:03}"
        (folder / "prompts").mkdir(parents=True, exist_ok=True)
        lines = []
        for prompt in range(prompts):
            lines.append(f'[prompts.prompt_{prompt}]\ndescription = "Prompt {prompt} of library {number}"')
            lines += [
                f'[[prompts.prompt_{prompt}.arguments]]\nname = "{name}"\ndescription = "What {name} is"'
                for name in ARGUMENTS
            ]
            (folder / "prompts" / f"prompt_{prompt}.md").write_text(TEMPLATE)
        (folder / "twig.toml").write_text("\n".join(lines) + "\n")


def render_first(folder: Path) -> float:
    """Return the milliseconds of the first render of a new server."""
    client = serve(folder)
    taken = client.ask_timed("prompts/get", {"name": "library_000:prompt_0", "arguments": VALUES})[0]
    client.close()
    return taken


def list_prompts(client: Client) -> tuple[int, float]:
    """Read all pages of `prompts/list`; return the number of prompts and the milliseconds of the calls."""
    count, spent = 0, 0.0
    params: dict[str, Any] = {}
    while True:
        taken, result = client.ask_timed("prompts/list", params)
        count, spent = count + len(result["prompts"]), spent + taken
        if "nextCursor" not in result:
            return count, spent
        params = {"cursor": result["nextCursor"]}
