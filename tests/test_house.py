"""House rules, read from the syntax trees: who imports whom, what a start loads, and where SQL and code come from."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "satchel"
TREES = {str(file.relative_to(SOURCE)): ast.parse(file.read_text()) for file in sorted(SOURCE.rglob("*.py"))}

# room → the rooms it may import from, besides itself. `protocol` stands alone; `app` is the only wiring place.
GROUND = {"model", "errors", "clock", "log", "work", "files", "extras"}
ALLOWED: dict[str, set[str]] = {
    "__init__": set(),
    "__main__": {"cli"},
    "model": set(),
    "clock": set(),
    "files": {"clock"},
    "errors": {"model"},
    "log": {"clock"},
    "extras": set(),
    "work": {"errors"},
    "protocol": set(),
    "storage": GROUND,
    "services": GROUND | {"storage", "library"},
    "yaml_reader": set(),
    "library": GROUND | {"yaml_reader"},
    "contracts": GROUND | {"storage", "services", "library", "protocol", "yaml_reader", "__init__"},
    "exchange": GROUND | {"storage", "services", "yaml_reader"},
    "auth": GROUND | {"storage", "services"},
    "page": GROUND | {"storage", "services", "library", "auth", "clients", "__init__"},
    "transports": GROUND | {"auth", "contracts", "protocol", "page"},
    "settings": {"model"},
    "config": GROUND | {"settings"},
    "asgi": {"config", "app", "transports"},
    "sdk": {"config", "app", "extras"},
    "app": GROUND | {"config", "auth", "storage", "services", "library", "contracts", "transports", "protocol", "page"},
    "clients": GROUND | {"yaml_reader"},
    "cli": GROUND
    | {"config", "settings", "app", "auth", "clients", "contracts", "exchange", "services", "library", "storage"}
    | {"__init__"},
}


def imports(tree: ast.Module) -> Iterator[str]:
    """Yield the modules of satchel that a file imports, at the top or further down."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("satchel."))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            if node.module == "satchel":
                yield from (f"satchel.{name.name}" if is_module(name.name) else "satchel" for name in node.names)
            elif node.module and node.module.startswith("satchel."):
                yield node.module


def is_module(name: str) -> bool:
    return (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").exists()


def test_imports_go_one_way() -> None:
    for path, tree in TREES.items():
        own = path.split("/")[0].removesuffix(".py")
        for module in imports(tree):
            room = module.split(".")[1] if "." in module else "__init__"
            assert room in ALLOWED[own] | {own}, f"{path} must not import {module}"


def test_contracts_do_not_import_each_other() -> None:
    from satchel.contracts import CONTRACTS

    for module in CONTRACTS.values():
        place = "/".join(module.split(".")[1:])
        for path in (path for path in TREES if path == f"{place}.py" or path.startswith(f"{place}/")):
            assert not set(imports(TREES[path])) & (set(CONTRACTS.values()) - {module}), path


def loaded(code: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after some code."""
    script = f"{code}\nimport sys; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], input=b"", capture_output=True, check=True)
    return set(done.stderr.decode().splitlines()[-1].split())


# Modules that take 3 ms or more to import and that a start does not need; `make bench PARTS=start` measures a start.
HEAVY = {
    *("click", "platformdirs", "asyncio", "logging", "pathlib", "psycopg", "starlette", "uvicorn"),
    *("httptools", "uvloop", "rich", "jinja2", "markupsafe", "watchfiles", "tempfile", "anyio", "mcp", "mcp_types"),
    "pydantic",
}


def test_a_cold_start_loads_nothing_that_it_does_not_use(tmp_path: Path) -> None:
    from satchel.contracts import CONTRACTS

    for contract in ("prompt-store", "satchel"):
        arguments = ["satchel", "serve", "--contract", contract, "--database", str(tmp_path / "s.db")]
        code = f"import gc, sys; sys.argv = {arguments!r}\nfrom satchel.__main__ import main; main(); "
        modules = loaded(code + "assert gc.isenabled()")
        if contract == "prompt-store":  # which made the store
            modules = loaded(code)
        assert CONTRACTS[contract] in modules
        assert not {name.split(".")[0] for name in modules} & HEAVY
        # The first call of a tool imports its module and what that needs.
        nouns = {"prompts", "documents", "tasks", "items", "history", "projects", "search", "methods", "guesses"}
        assert not modules & {"satchel.library.catalog", *(f"satchel.contracts.satchel.{one}" for one in nouns)}


def test_without_its_extra_the_sdk_module_says_what_to_install() -> None:
    for missing in ("mcp", "mcp_types"):  # version 1 of the SDK has no mcp_types
        code = f"import sys; sys.modules[{missing!r}] = None\nimport satchel.sdk"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        last = done.stderr.splitlines()[-1]
        assert last.startswith("ImportError: satchel.sdk needs the official MCP SDK. Install it with: ")
        assert "[sdk]" in last


def test_a_command_loads_only_what_it_needs(tmp_path: Path) -> None:
    listing = ["prompt", "list", "--database", str(tmp_path / "s.db")]
    for words, absent in (
        (["--help"], ("satchel.storage", "satchel.protocol", "apsw", "rich")),
        (listing, ("satchel.transports", "starlette", "rich", "psycopg")),
    ):
        code = f"import sys; sys.argv = {['satchel', *words]!r}\nfrom satchel.__main__ import main\n"
        modules = loaded(code + "try: main()\nexcept SystemExit: pass")
        assert not {name for name in modules if name.startswith(absent)}, words


def test_the_docstring_of_a_package_lists_its_modules() -> None:
    for file in SOURCE.glob("*/**/__init__.py"):
        source = file.read_text()
        if file.parent.name == "formats":  # its table names them
            described = {"shared", *re.findall(r"^    Format\(.*, (\w+), \(", source, re.M)}
        else:
            docstring = ast.get_docstring(ast.parse(source)) or ""
            described = {line.split()[0] for line in docstring.splitlines() if line}
        modules = {one.stem for one in file.parent.iterdir() if one.suffix == ".py" or (one / "__init__.py").exists()}
        assert modules - {"__init__"} <= described, file


def test_only_the_clock_has_a_state_that_all_applications_of_a_process_share() -> None:
    found = {path for path, tree in TREES.items() for node in ast.walk(tree) if isinstance(node, ast.Global)}
    empty = {"{}", "[]", "dict()", "list()", "set()", "OrderedDict()", "deque()"}
    for path, tree in TREES.items():
        values = [node.value for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign) and node.value]
        found |= {path for value in values if ast.unparse(value).split(".")[-1] in empty}
    assert found == {"clock.py"}


# -- SQL ------------------------------------------------------------------------------------------------------------

# Methods that send a statement to a database, with the number of their arguments that are put into it.
SENDING = {"one": 1, "all": 1, "value": 1, "run": 1, "many": 1, "stream": 1, "copy": 1, "execute": 1, "executemany": 1}
SENDING |= {"one_to_change": 3, "renew": 3, "all_beside": 2}
RECEIVERS = {"tx", "connection", "cursor", "copy", "source", "target", "empty", "new", "_connection", "_writer", "self"}

# Functions whose statement is not a constant, each with the reason why no value can get into it.
EXCEPTIONS = {
    "storage/backup.py:_compute_seal": "names of tables of the file itself, quoted",
    "storage/backup.py:_count_rows": "names of tables of the file itself, quoted",
    "storage/completion.py:names_containing": "one of the lists of its module, which callers name",
    "storage/completion.py:names_starting": "one of the lists of its module, which callers name",
    "storage/database.py:all": "hands on what it was given",
    "storage/database.py:all_beside": "adds the name of a column, which its callers give as a constant (checked)",
    "storage/database.py:many": "hands on what it was given",
    "storage/database.py:one": "hands on what it was given",
    "storage/database.py:one_to_change": "columns, a table and a condition, which callers give as constants (checked)",
    "storage/database.py:renew": "adds names of tables and columns, which its callers give as constants (checked)",
    "storage/database.py:run": "hands on what it was given",
    "storage/database.py:value": "hands on what it was given",
    "storage/dump.py:execute": "hands on what it was given",
    "storage/dump.py:execute_for_all": "a constant that its callers give, with names of the schema",
    "storage/dump.py:finish": "definitions of indexes, as PostgreSQL wrote them",
    "storage/dump.py:open_empty": "the schema",
    "storage/dump.py:prepare": "definitions of indexes, as PostgreSQL writes them",
    "storage/dump.py:read": "hands on what it was given",
    "storage/postgres_schema.py:_alter": "a migration",
    "storage/postgres_schema.py:_build_index": "an index of the schema",
    "storage/postgres_schema.py:_make": "the schema",
    "storage/postgres_schema.py:_migrate_from": "the owner's name, quoted by psycopg",
    "storage/postgres_schema.py:_read_last": "the name of a table of ours, quoted by psycopg",
    "storage/postgres_schema.py:grant": "names of roles and tables, quoted by psycopg",
    "storage/postgres_tx.py:begin": "BEGIN and calls with placeholders, whose values psycopg quotes",
    "storage/postgres_tx.py:execute": "the engine: numbers the parameters of what it was given",
    "storage/postgres_tx.py:many": "the engine: numbers the parameters of what it was given",
    "storage/postgres_tx.py:one_to_change": "adds the name of a table, which its callers give as a constant (checked)",
    "storage/prompts.py:_scan_newest": "one of two constants, which its callers name",
    "storage/pruning.py:_count": "the steps of pruning, which are constants",
    "storage/revisions.py:feed": "chooses among constants of its module",
    "storage/search.py:find_alike": "the kind of an item, which is a Literal",
    "storage/search.py:put": "the kind of an item, which is a Literal",
    "storage/search.py:remove": "the kind of an item, which is a Literal",
    "storage/sqlite.py:_prepare": "the schema, and numbers of ours",
    "storage/sqlite.py:execute": "the engine: runs what it was given, with lists as JSON",
    "storage/sqlite.py:many": "the engine: repeats the values of what it was given",
    "storage/sqlite.py:walk": "hands on what it was given",
    "storage/search.py:find_anywhere": "the table of a kind",
    "storage/tasks.py:_few": "one of two constants of its own, with their values",
    "storage/tasks.py:_walk": "one of the constants of its own, with conditions and orders that are constants",
    "storage/tasks.py:count_blocked": "constants of its own, one for each condition that is set",
    "storage/tasks.py:count_held": "constants of its own, one for each condition that is set",
    "storage/trash.py:_all": "hands on what it was given",
}


def is_constant(value: ast.expr, function: ast.AST) -> bool:
    """Return whether an expression consists of literals and of constants of a module, which are written in capitals."""
    match value:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            assigned = list(find_assigned(function, name))
            return name.isupper() or (bool(assigned) and all(is_constant(one, function) for one in assigned))
        case ast.FormattedValue(value=part) | ast.Starred(value=part) | ast.Subscript(value=part):
            return is_constant(part, function)
        case ast.JoinedStr(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            return all(is_constant(part, function) for part in parts)
        case ast.BinOp(left=first, right=second) | ast.IfExp(body=first, orelse=second):
            return is_constant(first, function) and is_constant(second, function)
        case ast.Call(func=ast.Attribute(attr="fill"), args=parts):  # Table.fill: names of the schema
            return all(is_constant(part, function) for part in parts)
        case ast.Call(func=ast.Attribute(value=text, attr="encode" | "format" | "strip" | "join"), args=parts):
            given = [text, *parts, *(keyword.value for keyword in value.keywords)]
            return all(is_constant(part, function) for part in given)
    return False


def find_assigned(function: ast.AST, name: str) -> Iterator[ast.expr]:
    """Yield the values that a name gets in a function."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                yield value
            case ast.AugAssign(target=ast.Name(id=target), value=value) if target == name:
                yield value
            case ast.For(target=ast.Name(id=target), iter=value) if target == name:
                yield value


def find_built_statements(tree: ast.Module) -> Iterator[str]:
    """Yield the functions of a file that send a statement which is not a constant."""
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for node in ast.walk(function):
            match node:
                case ast.Call(func=ast.Attribute(value=receiver, attr=method), args=[_, *_]) if method in SENDING:
                    name = ast.unparse(receiver).split(".")[-1]
                    texts = node.args[: SENDING[method]]
                    texts += [one.value for one in node.keywords if method == "renew" and one.arg == "columns"]
                    is_sent = name in RECEIVERS or method.startswith("execute")
                    if is_sent and not all(is_constant(text, function) for text in texts):
                        yield function.name


def test_no_statement_is_put_together_from_values() -> None:
    found = {f"{path}:{function}" for path, tree in TREES.items() for function in find_built_statements(tree)}
    assert not found - EXCEPTIONS.keys(), "a statement is a constant, or its function is listed with the reason"


def test_the_rule_for_sql_finds_statements_made_of_values() -> None:
    for code in (
        'def f(tx, name): tx.all(f"select {name}")',
        'def f(tx, name): tx.one("select " + name)',
        'def f(tx, name): tx.run("select %s" % name)',
        'def f(tx, name): tx.run("select {}".format(name))',
        'def f(tx, name):\n    sql = "select 1"\n    sql += name\n    tx.run(sql)',
        "def f(connection, names):\n    for name in names: connection.execute(name)",
        'def f(tx, column): tx.renew("prompts", f"{column} = 1", "true", columns="number")',
    ):
        assert list(find_built_statements(ast.parse(code))) == ["f"], code


# -- shells and code --------------------------------------------------------------------------------------------------

FORBIDDEN = {
    *("os.system", "os.popen", "pty.spawn", "subprocess.getoutput", "subprocess.getstatusoutput"),
    *("eval", "exec", "compile", "__import__", "pickle.loads", "pickle.load", "marshal.loads", "yaml.load"),
}
# The worker that renders templates compiles them, which is what it is for; it has no file, no network and no builtins.
ALLOWED_CALLS = {
    "library/sandbox.py",
    "library/worker.py",
    "library/templates.py",
    "library/render.py",
    "library/conditions.py",
}


def test_no_shell_is_used_and_no_code_is_made_of_strings() -> None:
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                assert name not in FORBIDDEN or path in ALLOWED_CALLS, f"{path}:{node.lineno}"
                assert not name.startswith(("os.exec", "os.spawn")), f"{path}:{node.lineno}"
                assert "shell" not in {keyword.arg for keyword in node.keywords}, f"{path}:{node.lineno}"
