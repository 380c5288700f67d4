"""The house rules: which room may look into which, and what a cold start may not load."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "satchel"

# room → the rooms it may import from, besides itself. `protocol` stands alone; `app` is the only wiring place.
GROUND = {"model", "errors", "clock", "log"}
ALLOWED: dict[str, set[str]] = {
    "__init__": set(),
    "__main__": {"cli"},
    "model": set(),
    "clock": set(),
    "errors": {"model"},
    "log": {"clock"},
    "protocol": set(),
    "storage": GROUND,
    "services": GROUND | {"storage"},
    "library": GROUND,
    "contracts": GROUND | {"storage", "services", "library", "protocol", "__init__"},
    "auth": GROUND | {"storage", "services"},
    "transports": GROUND | {"auth", "contracts", "protocol"},
    "config": GROUND,
    "app": GROUND | {"config", "auth", "storage", "services", "library", "contracts", "transports", "protocol"},
    "cli": GROUND | {"config", "app", "auth", "contracts", "services", "library", "storage", "__init__"},
}


def room(module: str) -> str:
    """The room of a module: satchel.storage.prompts lives in storage."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports(file: Path) -> set[str]:
    """Every satchel module that a file imports, at the top or further down."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{file}: imports are absolute here"
            if node.module == "satchel":
                found |= {f"satchel.{name.name}" if is_module(name.name) else "satchel" for name in node.names}
            else:
                found.add(node.module)
    return {name for name in found if name.split(".")[0] == "satchel"}


def is_module(name: str) -> bool:
    return (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").exists()


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda file: str(file.relative_to(SOURCE)))
def test_imports_go_one_way(file: Path) -> None:
    own = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    for module in imports(file):
        assert room(module) in ALLOWED[own] | {own}, f"{own} must not import {module}"


def test_contracts_do_not_import_each_other() -> None:
    from satchel.contracts import CONTRACTS

    for module in CONTRACTS.values():
        place = SOURCE.joinpath(*module.split(".")[1:])
        for file in place.rglob("*.py") if place.is_dir() else [place.with_suffix(".py")]:
            assert not imports(file) & (set(CONTRACTS.values()) - {module}), file


def loaded(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after some code."""
    script = f"{code}\nimport sys; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], input=b"", capture_output=True, check=True)
    return set(done.stderr.decode().splitlines()[-1].split())


HEAVY = {
    *("click", "platformdirs", "asyncio", "logging", "json", "pathlib", "typing_extensions", "dataclasses"),
    *("psycopg", "httptools", "uvloop", "rich", "tomlkit", "tomllib", "minijinja", "watchfiles", "unicodedata"),
    *("urllib", "socket", "traceback", "subprocess", "tempfile", "difflib", "string"),
}


@pytest.mark.parametrize("contract", ["prompt-store", "satchel"])
def test_a_cold_start_loads_nothing_that_it_does_not_use(tmp_path: Path, contract: str) -> None:
    arguments = ["satchel", "serve", "--contract", contract, "--database", str(tmp_path / "s.db")]
    modules = loaded(f"import sys; sys.argv = {arguments!r}\nfrom satchel.__main__ import main; main()")
    from satchel.contracts import CONTRACTS

    assert CONTRACTS[contract] in modules
    assert not {name.split(".")[0] for name in modules} & HEAVY


def test_help_loads_neither_the_store_nor_the_protocol() -> None:
    code = "import sys; sys.argv = ['satchel', '--help']\nfrom satchel.__main__ import main\n"
    modules = loaded(code + "try: main()\nexcept SystemExit: pass")
    assert not {name for name in modules if name.startswith(("satchel.storage", "satchel.protocol", "apsw", "rich"))}


def test_sql_is_never_put_together_from_values() -> None:
    """No f-string, `%` or `+` makes a statement outside the engine modules; those take only our own words."""
    for file in [*(SOURCE / "storage").glob("*.py"), *(SOURCE / "services").glob("*.py")]:
        if file.name in ("sqlite.py", "postgres.py", "migrations.py", "database.py"):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                asks = node.func.attr in ("one", "all", "run", "many", "execute")
                assert not asks or isinstance(node.args[0], ast.Constant | ast.Name), f"{file.name}:{node.lineno}"
            if isinstance(node, ast.JoinedStr):
                text = ast.unparse(node).lower()
                assert not any(word in text for word in ("select ", "insert ", "update ", "delete ")), file.name
