"""What the source may not do at all: build SQL from values, use a shell, or run code from strings."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.process import ROOT

SOURCE = ROOT / "src" / "satchel"
FILES = sorted(SOURCE.rglob("*.py"))

# -- SQL ------------------------------------------------------------------------------------------------------------

# What sends a statement to a database, as the first argument. Not `run` of other modules: see `is_sent`.
SENDING = {
    "one",
    "all",
    "run",
    "many",
    "execute",
    "executemany",
    "one_to_change",
    "all_beside",
    "stream",
    "copy",
    "renew",
}
RECEIVERS = {"tx", "connection", "cursor", "copy", "source", "target", "empty", "new", "_connection", "_writer", "self"}

# Functions whose statement is not a constant of their own module, each with the reason why no value can get into it.
EXCEPTIONS = {
    "storage/database.py:all": "hands on what it was given",
    "storage/database.py:one": "hands on what it was given",
    "storage/database.py:run": "hands on what it was given",
    "storage/database.py:many": "hands on what it was given",
    "storage/database.py:one_to_change": "columns, a table and a condition, which callers give as constants (checked)",
    "storage/database.py:all_beside": "adds the name of a column, which its callers give as a constant (checked)",
    "storage/database.py:renew": "adds names of tables and columns, which its callers give as constants (checked)",
    "storage/pruning.py:_count": "the steps of pruning, which are constants",
    "storage/sqlite.py:_prepare": "the schema, and numbers of ours",
    "storage/sqlite.py:_pragma": "names of pragmas, which its callers give as constants",
    "storage/postgres_tx.py:one_to_change": "adds the name of a table, which its callers give as a constant (checked)",
    "storage/postgres_tx.py:begin": "BEGIN and calls with placeholders, whose values psycopg quotes",
    "storage/postgres_tx.py:execute": "the engine: numbers the parameters of what it was given",
    "storage/postgres_tx.py:many": "the engine: numbers the parameters of what it was given",
    "storage/postgres_tx.py:prompts_containing": "one of the texts of prompts_postgres",
    "storage/postgres_schema.py:_migrate_from": "the owner's name, quoted by psycopg",
    "storage/postgres_schema.py:_make": "the schema",
    "storage/postgres_schema.py:_alter": "a migration",
    "storage/postgres_schema.py:_read_last": "the name of a table of ours, quoted by psycopg",
    "storage/postgres_schema.py:_build_index": "an index of the schema",
    "storage/sqlite.py:many": "the engine: repeats the values of what it was given",
    "storage/postgres_schema.py:grant": "names of roles and tables, quoted by psycopg",
    "storage/completion.py:names_starting": "one of the lists of its module, which callers name",
    "storage/completion.py:names_containing": "one of the lists of its module, which callers name",
    "storage/search.py:put": "the kind of an item, which is a Literal",
    "storage/search.py:find_alike": "the kind of an item, which is a Literal",
    "storage/task_pages.py:_few": "one of two constants of its own, with their values",
    "storage/revisions.py:feed": "chooses among constants of its module",
    "storage/dump.py:open_empty": "the schema",
    "storage/backup.py:_count_rows": "names of tables of the file itself, quoted",
    "storage/backup.py:_compute_seal": "names of tables of the file itself, quoted",
    "storage/dump.py:prepare": "definitions of indexes, as PostgreSQL writes them",
    "storage/dump.py:finish": "definitions of indexes, as PostgreSQL wrote them",
    "storage/dump.py:execute": "hands on what it was given",
    "storage/dump.py:execute_for_all": "a constant that its callers give, with names of the schema",
    "storage/dump.py:read": "hands on what it was given",
}


class Module:
    """A module whose functions are checked for what they send."""

    def __init__(self, file: Path) -> None:
        self.name = str(file.relative_to(SOURCE))
        self.tree = ast.parse(file.read_text())
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        self.constants: dict[str, list[ast.expr]] = {}
        self.bound: list[set[str]] = []  # names in comprehensions over constants
        self.checking: list[str] = []  # functions that are being looked at
        self.imported: set[str] = set()
        for node in self.tree.body:
            if isinstance(node, ast.ImportFrom):
                self.imported |= {name.asname or name.name for name in node.names}
            for target, value in assignments(node):
                self.constants.setdefault(target, []).append(value)

    def function_of(self, node: ast.AST) -> ast.FunctionDef | None:
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, ast.FunctionDef):
                return node
        return None

    def is_constant(self, value: ast.expr, function: ast.FunctionDef | None) -> bool:
        """Whether an expression is made of constants of this module alone."""
        if isinstance(value, ast.Constant):
            return True
        if isinstance(value, ast.Name):
            return self.is_constant_name(value.id, function)
        if isinstance(value, ast.JoinedStr):
            return all(self.is_constant(part, function) for part in value.values)
        if isinstance(value, ast.FormattedValue):
            return self.is_constant(value.value, function)
        if isinstance(value, ast.BinOp):
            return self.is_constant(value.left, function) and self.is_constant(value.right, function)
        if isinstance(value, ast.IfExp):
            return self.is_constant(value.body, function) and self.is_constant(value.orelse, function)
        if isinstance(value, ast.Dict):
            return all(self.is_constant(one, function) for one in value.values)
        if isinstance(value, ast.Tuple | ast.List):
            return all(self.is_constant(one, function) for one in value.elts)
        if isinstance(value, ast.Subscript | ast.Starred):  # one of several constants, whichever, or all of them
            return self.is_constant(value.value, function)
        if isinstance(value, ast.DictComp):
            return self.is_constant_for(value.generators, value.value, function)
        if isinstance(value, ast.ListComp | ast.GeneratorExp):
            return self.is_constant_for(value.generators, value.elt, function)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            return self.is_constant_call(value.func, value, function)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            return self.returns_constants(value.func.id)
        return False

    def is_constant_for(
        self, loops: list[ast.comprehension], value: ast.expr, function: ast.FunctionDef | None
    ) -> bool:
        """Whether each value of a comprehension over constants is one."""
        if not all(self.is_constant(strip_items(loop.iter), function) for loop in loops):
            return False
        names = {one.id for loop in loops for one in ast.walk(loop.target) if isinstance(one, ast.Name)}
        self.bound.append(names)
        try:
            return self.is_constant(value, function)
        finally:
            self.bound.pop()

    def returns_constants(self, name: str) -> bool:
        """Whether a function of this module returns nothing but constants."""
        found = [node for node in self.tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
        returned = [one.value for node in found for one in ast.walk(node) if isinstance(one, ast.Return)]
        if name in self.checking:
            return True  # it calls itself, or what it returns does: the rest decides
        self.checking.append(name)
        try:
            return bool(returned) and all(value is not None and self.is_constant(value, found[0]) for value in returned)
        finally:
            self.checking.pop()

    def is_constant_call(self, method: ast.Attribute, call: ast.Call, function: ast.FunctionDef | None) -> bool:
        if method.attr == "fill":  # Table.fill: names of the schema
            return all(self.is_constant(argument, function) for argument in call.args)
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        return (
            method.attr in ("encode", "format", "strip", "join", "values")
            and self.is_constant(method.value, function)
            and all(self.is_constant(argument, function) for argument in given)
        )

    def is_constant_name(self, name: str, function: ast.FunctionDef | None) -> bool:
        if any(name in names for names in self.bound):
            return True
        own = [value for target, value in assignments(function) if target == name]
        for loop in ast.walk(function) if function else ():
            if isinstance(loop, ast.For):
                names = {one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)}
                own += [loop.iter] if name in names else []
        if own:
            return all(self.is_constant(strip_items(value), function) for value in own)
        if name in self.imported:
            return name.isupper()
        values = self.constants.get(name, [])
        return bool(values) and all(self.is_constant(value, None) for value in values)


def strip_items(value: ast.expr) -> ast.expr:
    """`X.items()` and `X.values()` are made of what X is made of."""
    is_view = (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in ("items", "values")
    )
    return (
        value.func.value if is_view and isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else value
    )


def assignments(node: ast.AST | None) -> Iterator[tuple[str, ast.expr]]:
    """The names that are assigned in a node, with their values."""
    for one in ast.walk(node) if node is not None else ():
        if isinstance(one, ast.Assign):
            for target in one.targets:
                if isinstance(target, ast.Name):
                    yield target.id, one.value
        elif (
            isinstance(one, ast.AnnAssign | ast.AugAssign)
            and isinstance(one.target, ast.Name)
            and one.value is not None
        ):
            yield one.target.id, one.value


def is_sent(call: ast.Call) -> bool:
    """Whether a call sends a statement to a database."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in SENDING or not call.args:
        return False
    receiver = call.func.value
    name = (
        receiver.id if isinstance(receiver, ast.Name) else receiver.attr if isinstance(receiver, ast.Attribute) else ""
    )
    return name in RECEIVERS or call.func.attr in ("execute", "executemany")


def find_built_statements(module: Module) -> set[str]:
    """The functions that send a statement which is not a constant."""
    found = set()
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call) or not is_sent(node):
            continue
        assert isinstance(node.func, ast.Attribute)
        function = module.function_of(node)
        # These put several texts together, each of which must be a constant.
        texts = [*node.args[: {"renew": 3, "all_beside": 2, "one_to_change": 3}.get(node.func.attr, 1)]]
        texts += [keyword.value for keyword in node.keywords if node.func.attr == "renew" and keyword.arg == "columns"]
        if not all(module.is_constant(text, function) for text in texts):
            found.add(f"{module.name}:{function.name if function else ''}")
    return found


def test_no_statement_is_put_together_from_values() -> None:
    sending = re.compile(rf"\.({'|'.join(SENDING)})\(")
    files = [file for file in FILES if sending.search(file.read_text())]
    found = set().union(*(find_built_statements(Module(file)) for file in files))
    assert not found - EXCEPTIONS.keys(), "a statement is a constant, or its function is listed with the reason"


@pytest.mark.parametrize(
    "code",
    [
        'def f(tx, name): tx.all(f"select {name}")',
        'def f(tx, name): tx.one("select " + name)',
        'def f(tx, name): tx.run("select %s" % name)',
        'def f(tx, name): tx.run("select {}".format(name))',
        'def f(tx, name):\n    sql = "select 1"\n    sql += name\n    tx.run(sql)',
        "def f(connection, names):\n    for name in names: connection.execute(name)",
        'def f(tx, column): tx.renew("prompts", f"{column} = 1", "true", columns="number")',
        "X = input()\ndef f(tx): tx.all(X)",
    ],
)
def test_the_lint_finds_statements_made_of_values(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.py").write_text(code)
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    assert find_built_statements(Module(tmp_path / "x.py")) == {"x.py:f"}


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


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_no_shell_is_used_and_no_code_is_made_of_strings(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if str(file.relative_to(SOURCE)) not in ALLOWED_CALLS:
                assert name not in FORBIDDEN, f"{file}:{node.lineno}"
            assert not name.startswith(("os.exec", "os.spawn")), f"{file}:{node.lineno}"
            shells = [one for one in node.keywords if one.arg == "shell"]
            assert not shells, f"{file}:{node.lineno}"
