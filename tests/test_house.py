"""The house rules: which room may look into which, and what a cold start may not load."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "satchel"

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
    "clients": GROUND,
    "cli": GROUND
    | {"config", "settings", "app", "auth", "clients", "contracts", "exchange", "services", "library", "storage"}
    | {"__init__"},
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


# Modules that take 3 ms or more to import and that a start does not need; `make bench PARTS=start` measures a start.
HEAVY = {
    *("click", "platformdirs", "asyncio", "logging", "pathlib", "psycopg", "starlette", "uvicorn"),
    *("httptools", "uvloop", "rich", "jinja2", "markupsafe", "watchfiles", "tempfile", "anyio", "mcp", "mcp_types"),
    "pydantic",
}


@pytest.mark.parametrize("contract", ["prompt-store", "satchel"])
def test_a_cold_start_loads_nothing_that_it_does_not_use(tmp_path: Path, contract: str) -> None:
    arguments = ["satchel", "serve", "--contract", contract, "--database", str(tmp_path / "s.db")]
    code = f"import gc, sys; sys.argv = {arguments!r}\nfrom satchel.__main__ import main; main(); assert gc.isenabled()"
    loaded(code)  # makes the store
    modules = loaded(code)
    from satchel.contracts import CONTRACTS

    assert CONTRACTS[contract] in modules
    assert not {name.split(".")[0] for name in modules} & HEAVY


def test_without_its_extra_the_sdk_module_says_what_to_install() -> None:
    for missing in ("mcp", "mcp_types"):  # version 1 of the SDK has no mcp_types
        code = f"import sys; sys.modules[{missing!r}] = None\nimport satchel.sdk"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        last = done.stderr.splitlines()[-1]
        assert last.startswith("ImportError: satchel.sdk needs the official MCP SDK. Install it with: ")
        assert "[sdk]" in last


def test_help_loads_neither_the_store_nor_the_protocol() -> None:
    code = "import sys; sys.argv = ['satchel', '--help']\nfrom satchel.__main__ import main\n"
    modules = loaded(code + "try: main()\nexcept SystemExit: pass")
    assert not {name for name in modules if name.startswith(("satchel.storage", "satchel.protocol", "apsw", "rich"))}


def test_sql_is_never_put_together_from_values() -> None:
    """Outside the engine modules, nothing but constants like `_COLUMNS` is interpolated into a statement."""
    runs = ("one", "all", "run", "many", "execute")
    for file in [*(SOURCE / "storage").glob("*.py"), *(SOURCE / "services").glob("*.py")]:
        if file.name in ("sqlite.py", "postgres.py", "postgres_tx.py", "database.py"):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in runs:
                assert isinstance(node.args[0], ast.Constant | ast.Name), f"{file.name}:{node.lineno}"
            if isinstance(node, ast.JoinedStr):
                is_sql = any(word in ast.unparse(node).lower() for word in ("select ", "insert ", "update ", "delete "))
                parts = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
                is_constant = all(isinstance(part, ast.Name) and part.id.isupper() for part in parts)
                assert is_constant or not is_sql, f"{file.name}:{node.lineno}"


PACKAGES = sorted(str(file.parent.relative_to(SOURCE)) for file in SOURCE.glob("*/**/__init__.py"))


@pytest.mark.parametrize("package", PACKAGES)
def test_the_docstring_of_a_package_lists_its_modules(package: str) -> None:
    folder = SOURCE / package
    source = (folder / "__init__.py").read_text()
    if package == "exchange/formats":  # its table names them
        described = {"shared", *re.findall(r"^    Format\(.*, (\w+), \(", source, re.M)}
    else:
        docstring = ast.get_docstring(ast.parse(source)) or ""
        described = {line.split()[0] for line in docstring.splitlines() if line}
    modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert modules - {"__init__"} <= described
