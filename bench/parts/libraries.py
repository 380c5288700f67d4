"""What libraries cost: 3,000 prompts in 300 libraries listed cold and warm, and a template with ten arguments rendered.

A render goes through the whole server and its worker; beside it stands the same template rendered by Jinja2 alone.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jinja2
import msgspec

from client import SATCHEL, Client, environment, median, quantile, table

ARGUMENTS = [f"argument_{number}" for number in range(10)]
TEMPLATE = "".join(
    f"{{% if {name} %}}The {name} is {{{{ {name} }}}}, again {{{{ {name} }}}}.{{% endif %}}\n" for name in ARGUMENTS
)
LIBRARIES, PROMPTS = 300, 10


def main() -> int:
    """Measure, print the table, and with --check tell by the exit status whether a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--check", action="store_true", help="end with 1 when a goal is missed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write(folder / "libraries", LIBRARIES, PROMPTS)
        command = [SATCHEL, "serve", "--contract", "twig", "--libraries", str(folder / "libraries")]
        surroundings = environment(folder / "cache")
        Client(command, surroundings).close()  # fills the cache of bytecode
        started = time.perf_counter()
        client = Client(command, surroundings)
        initialized = client.start_ms
        prompts = whole_list(client)
        cold = (time.perf_counter() - started) * 1000
        assert prompts == LIBRARIES * PROMPTS, prompts
        warm = [timed(lambda: whole_list(client)) for _ in range(20)]
        values = {name: f"value of {name}" for name in ARGUMENTS}
        params = {"name": "library_007:prompt_3", "arguments": values}
        compiled = timed(lambda: ask(client, "prompts/get", params))  # manifests of this size have started the worker
        renders = [timed(lambda: ask(client, "prompts/get", params)) for _ in range(options.rounds)]
        client.close()
        first = [first_render(folder, values) for _ in range(10)]
        template = jinja2.Template(TEMPLATE)
        alone = [timed(lambda: template.render(values)) for _ in range(options.rounds)]
    figures = [
        ("start to initialize", initialized, initialized, None),
        ("start to 3,000 prompts listed", cold, cold, 2000.0),
        ("3,000 prompts listed, warm", median(warm), quantile(warm, 0.95), 100.0),
        ("first render of a process, which starts the worker", median(first), quantile(first, 0.95), None),
        ("first render of a template, which compiles it", compiled, compiled, None),
        ("render with ten arguments", median(renders), quantile(renders, 0.95), 1.0),
        ("the same by Jinja2 alone", median(alone), quantile(alone, 0.95), None),
    ]
    rows = [
        (name, f"{middle:.2f}", f"{most:.2f}", "" if goal is None else f"{goal:.0f}")
        for name, middle, most, goal in figures
    ]
    print(table(("what", "median ms", "p95 ms", "goal ms"), rows))
    missed = [name for name, middle, _, goal in figures if goal is not None and middle > goal]
    print(f"missed: {', '.join(missed)}" if missed else "every goal is met")
    return 1 if missed and options.check else 0


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


def first_render(folder: Path, values: dict[str, str]) -> float:
    """The milliseconds of the first render of a new server."""
    small = folder / "small"
    write(small, 1, 1)
    command = [SATCHEL, "serve", "--contract", "twig", "--libraries", str(small)]
    client = Client(command, environment(folder / "cache"))
    took = timed(lambda: ask(client, "prompts/get", {"name": "library_000:prompt_0", "arguments": values}))
    client.close()
    return took


def whole_list(client: Client) -> int:
    """Go through all pages, and count."""
    count = 0
    params: dict[str, Any] = {}
    while True:
        result = ask(client, "prompts/list", params)
        count += len(result["prompts"])
        if "nextCursor" not in result:
            return count
        params = {"cursor": result["nextCursor"]}


def ask(client: Client, method: str, params: dict[str, Any]) -> Any:
    """The result of a request."""
    client.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    while "result" not in (answer := msgspec.json.decode(client.read_line())):
        assert "error" not in answer, answer
    return answer["result"]


def timed(work: Any) -> float:
    """The milliseconds that something takes."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    sys.exit(main())
