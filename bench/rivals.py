"""The rivals over stdio: how each is prepared in its own folder, started and driven."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench import drivers, installing
from bench.drivers import Driver, Vocabulary
from bench.installing import NotInstalled
from bench.stdio import Client
from bench.surroundings import HERE, PYTHON, SATCHEL, SCRATCH, Run, environment


@dataclass
class Rival:
    """A server that can be started: its command and environment, with a store in `folder`."""

    name: str
    kind: str  # "satchel", "limit", "library" or "peer"
    folder: Path
    command: list[str]
    environment: dict[str, str]
    vocabulary: Vocabulary
    count: Callable[[], int] | None = None  # of the items in the store, read without the server

    def start(self) -> Client:
        """Start a new process."""
        return Client(self.command, self.environment, self.folder)

    def drive(self) -> Driver:
        """Start a new process with a driver; the store must be new."""
        driver = Driver(self.start(), self.vocabulary)
        driver.prepare()
        return driver


@dataclass
class Field:
    """The rivals that could be installed, and the reasons why others could not."""

    rivals: list[Rival] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


def gather(run: Run, name: str, *, is_first: bool = False) -> Field:
    """Prepare every rival with a new store, in folders below `name`."""
    place = run.make_folder(name)

    def surround(name: str) -> dict[str, str]:
        """Return an environment with its own bytecode: new if the first start counts, else from earlier parts."""
        return environment((place if is_first else SCRATCH / "bytecode") / f"{name}-bytecode")

    found = Field([make_bare(place, surround("bare"))])
    found.rivals += [make_satchel(place, surround("satchel")), make_prompt_store(place, surround("prompts"))]
    found.rivals += [make_library(place, surround(script), name, script) for name, script in LIBRARIES]
    for title, make in PEERS.items():
        if run.rivals is not None and title not in run.rivals:
            continue
        folder = place / re.sub(r"\W", "-", title)
        folder.mkdir()
        try:
            found.rivals.append(make(title, folder, {**surround(folder.name), "HOME": str(folder)}))
        except (NotInstalled, subprocess.SubprocessError, OSError) as error:
            found.missing[title] = str(error)
    return found


LIBRARIES = (("official SDK", "official.py"), ("fastmcp", "fast.py"))


def make_bare(place: Path, plain: dict[str, str]) -> Rival:
    """Prepare the bare loop, the limit."""
    command = [PYTHON, str(HERE / "servers" / "bare.py"), str(place / "bare.db")]
    return Rival("bare loop", "limit", place, command, plain, drivers.SAME_TOOLS)


def make_library(place: Path, plain: dict[str, str], name: str, script: str) -> Rival:
    """Prepare the two tools on a library for MCP servers."""
    command = [PYTHON, str(HERE / "servers" / script), str(place / f"{script}.db")]
    return Rival(name, "library", place, command, plain, drivers.SAME_TOOLS)


def make_satchel(place: Path, plain: dict[str, str]) -> Rival:
    """Prepare Satchel with its default contract, and tasks."""
    store = place / "satchel.db"
    command = [SATCHEL, "serve", "--database", str(store), "--project", "default"]
    return Rival("satchel", "satchel", place, command, plain, drivers.SATCHEL, lambda: count_rows(store, "tasks"))


def make_prompt_store(place: Path, plain: dict[str, str]) -> Rival:
    """Prepare Satchel with the contract that has the same two tools as the libraries."""
    command = [SATCHEL, "serve", "--contract", "prompt-store", "--database", str(place / "prompts.db")]
    return Rival("satchel, prompt-store", "satchel", place, command, plain, drivers.PROMPT_STORE)


def make_kazuph(name: str, folder: Path, env: dict[str, str]) -> Rival:
    """Prepare @kazuph/mcp-taskmanager: a queue of tasks in one JSON file."""
    file = folder / "tasks.json"
    command = _node("kazuph", "@kazuph/mcp-taskmanager/dist/index.js")
    env = {**env, "TASK_MANAGER_FILE_PATH": str(file)}
    return Rival(name, "peer", folder, command, env, drivers.KAZUPH, lambda: count_matches(file, '"title"') - 1)


def make_server_memory(name: str, folder: Path, env: dict[str, str]) -> Rival:
    """Prepare server-memory: a graph of entities in one file of JSON lines."""
    file = folder / "memory.jsonl"
    command = _node("server-memory", "@modelcontextprotocol/server-memory/dist/index.js")
    env = {**env, "MEMORY_FILE_PATH": str(file)}
    return Rival(name, "peer", folder, command, env, drivers.SERVER_MEMORY, lambda: count_matches(file, '"entityType"'))


def make_backlog(name: str, folder: Path, env: dict[str, str]) -> Rival:
    """Prepare backlog.md: a Markdown file per task, in a git repository."""
    program = _node("backlog", "backlog.md/cli.js")
    _prepare(["git", "init", "--quiet"], folder, env)
    _prepare([*program, "init", "bench", "--defaults", "--integration-mode", "mcp"], folder, env)
    tasks = folder / "backlog" / "tasks"
    command = [*program, "mcp", "start"]
    return Rival(name, "peer", folder, command, env, drivers.BACKLOG, lambda: len(list(tasks.glob("*.md"))))


def make_shrimp(name: str, folder: Path, env: dict[str, str]) -> Rival:
    """Prepare mcp-shrimp-task-manager: tasks in one JSON file."""
    command = _node("shrimp", "mcp-shrimp-task-manager/dist/index.js")
    env = {**env, "DATA_DIR": str(folder), "TEMPLATES_USE": "en", "ENABLE_GUI": "false"}
    file = folder / "tasks.json"
    return Rival(name, "peer", folder, command, env, drivers.SHRIMP, lambda: len(json.loads(file.read_text())["tasks"]))


def make_task_master(name: str, folder: Path, env: dict[str, str]) -> Rival:
    """Prepare task-master-ai: tasks in one JSON file. Only its full set of tools adds one."""
    file = folder / ".taskmaster" / "tasks" / "tasks.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"master":{"tasks":[],"metadata":{}}}')
    command = _node("task-master", "task-master-ai/dist/mcp-server.js")
    env = {**env, "TASK_MASTER_TOOLS": "all"}
    words = drivers.task_master(str(folder))
    return Rival(
        name, "peer", folder, command, env, words, lambda: len(json.loads(file.read_text())["master"]["tasks"])
    )


def make_taskwarrior(name: str, folder: Path, env: dict[str, str]) -> Rival:
    """Prepare taskwarrior-mcp: a wrapper around the program `task`."""
    command = [str(installing.install_python("taskwarrior-mcp") / "taskwarrior-mcp")]
    settings, data = folder / "taskrc", folder / "data"
    settings.write_text("confirmation=off\n")
    data.mkdir()
    path = f"{installing.install_task()}{os.pathsep}{env['PATH']}"
    env = {**env, "PATH": path, "TASKRC": str(settings), "TASKDATA": str(data)}
    pending = data / "pending.data"
    words = drivers.taskwarrior_mcp()
    return Rival(name, "peer", folder, command, env, words, lambda: count_matches(pending, 'status:"pending"'))


def make_basic_memory(name: str, folder: Path, env: dict[str, str]) -> Rival:
    """Prepare basic-memory: Markdown notes with an index in SQLite, without its search by embeddings."""
    command = [str(installing.install_python("basic-memory", needs=(3, 12)) / "basic-memory"), "mcp"]
    notes = folder / "notes"
    env = {**env, "BASIC_MEMORY_HOME": str(notes), "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false"}
    return Rival(name, "peer", folder, command, env, drivers.BASIC_MEMORY, lambda: len(list(notes.rglob("*.md"))))


PEERS: dict[str, Callable[[str, Path, dict[str, str]], Rival]] = {
    "@kazuph/mcp-taskmanager": make_kazuph,
    "server-memory": make_server_memory,
    "backlog.md": make_backlog,
    "mcp-shrimp-task-manager": make_shrimp,
    "task-master-ai": make_task_master,
    "taskwarrior-mcp": make_taskwarrior,
    "basic-memory": make_basic_memory,
}


def count_rows(store: Path, table: str) -> int:
    """Count the rows of a table in a SQLite file."""
    import apsw

    connection = apsw.Connection(str(store), flags=apsw.SQLITE_OPEN_READONLY)
    [[count]] = connection.execute(f"select count(*) from {table}").fetchall()
    connection.close()
    assert isinstance(count, int)
    return count


def count_matches(file: Path, piece: str) -> int:
    """Count the occurrences of a text in a file."""
    return file.read_text().count(piece)


def _node(name: str, script: str) -> list[str]:
    return [str(installing.find_node()), str(installing.install_npm(name) / script)]


def _prepare(command: list[str], folder: Path, env: dict[str, str]) -> None:
    subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=120, check=True)
