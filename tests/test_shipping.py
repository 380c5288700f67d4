"""What is shipped: wheel, source distribution, bundle, registry entry, image and service; lean, and of one version."""

import configparser
import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from satchel import __version__
from satchel.clients import jsonc
from satchel.contracts import CONTRACTS
from tests.support.process import HttpProcess

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return folder


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def follow(required: list[str]) -> Iterator[str]:
    """Yield the distributions that a plain installation of others brings here, in their own versions."""
    for line in required:
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            name = canonicalize_name(wanted.name)
            yield name
            yield from follow(metadata.requires(name) or [])


PLAIN = sorted(set(follow(PROJECT["dependencies"])))


def test_the_wheel_has_the_package_and_nothing_else(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    assert wheel.name == f"satchel-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    information = f"satchel-{__version__}.dist-info"
    sources = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    extra = {f"{information}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    assert names == sources | extra | {f"{information}/licenses/LICENSE"}


def test_the_source_distribution_has_what_builds_it_and_no_rubbish(built: Path) -> None:
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "PKG-INFO"} <= names
    assert {name.partition("/")[0] for name in names if "/" in name} == {"src", "docs"}
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyc", ".db"))]


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the command of a new environment that has the built wheel and what it requires, and nothing else."""
    folder = tmp_path_factory.mktemp("plain") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    [site] = folder.glob("lib/python*/site-packages")
    for name in PLAIN:
        if name != "satchel":
            link(name, site)
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    script = folder / "bin" / "satchel"
    start = "import sys\nfrom satchel.__main__ import main\nsys.exit(main())\n"
    script.write_text(f"#!{folder / 'bin' / 'python'}\n{start}")
    script.chmod(0o755)
    return script


def link(name: str, site: Path) -> None:
    """Link a distribution of our environment into another one."""
    for file in metadata.files(name) or ():
        top = file.parts[0]
        place = Path(str(metadata.distribution(name).locate_file(top)))
        if top not in ("..", "__pycache__") and place.exists() and not (site / top).exists():
            (site / top).symlink_to(place)


def plain_environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": "/usr/bin:/bin", "SATCHEL_PORT": "0"}


def test_the_built_wheel_serves_in_an_empty_environment(installed: Path, tmp_path: Path) -> None:
    def satchel(*arguments: str) -> str:
        done = subprocess.run(
            [installed, *arguments],
            env=plain_environment(tmp_path),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    assert satchel("--version") == f"satchel, version {__version__}\n"
    satchel("prompt", "add", "Walrus", "tusks")
    satchel("library", "new", "mine")
    assert satchel("library", "render", "mine:review", "code=x").startswith("Please review")
    satchel("install", "codex")
    findings = json.loads(satchel("doctor", "--json"))["findings"]
    assert {finding["status"] for finding in findings} == {"ok"}, findings
    assert str(installed) in (tmp_path / ".codex" / "config.toml").read_text()
    with HttpProcess(command=[str(installed), "serve"], environment=plain_environment(tmp_path)) as server:
        assert server.port


def read_json(path: str) -> Any:
    return json.loads((ROOT / path).read_text())


def test_all_versions_agree() -> None:
    server, manifest = read_json("server.json"), read_json("shipping/manifest.json")
    [image] = re.findall(r"image: satchel:(\S+)", (ROOT / "compose.yaml").read_text())
    versions = [server["version"], *(package["version"] for package in server["packages"]), manifest["version"], image]
    assert set(versions) == {__version__} == {metadata.version("satchel")}


def test_the_registry_entry_is_what_the_registry_takes() -> None:
    """The rules of its schema of 2025-12-11 that a slip could break."""
    server = read_json("server.json")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert len(server["description"]) <= 100
    [package] = server["packages"]
    assert {"registryType", "identifier", "version", "transport"} <= package.keys()
    assert package["identifier"] == PROJECT["name"]
    contract = next(one for one in package["packageArguments"] if one.get("name") == "--contract")
    assert contract["choices"] == list(CONTRACTS)
    # PyPI shows the README, and the registry looks for this line in it.
    assert f"<!-- mcp-name: {server['name']} -->" in (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the bundle, unpacked."""
    folder = tmp_path_factory.mktemp("bundle")
    for name in ("once", "again"):
        subprocess.run([sys.executable, ROOT / "tools" / "bundle", folder / name], check=True, capture_output=True)
    first, second = (next((folder / name).iterdir()) for name in ("once", "again"))
    assert first.name == f"satchel-{__version__}.mcpb"
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def test_the_bundle_has_what_its_manifest_names_and_starts(bundle: Path, tmp_path: Path) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text())
    for path in (manifest["icon"], manifest["server"]["entry_point"], "pyproject.toml", "README.md", "LICENSE"):
        assert (bundle / path).is_file()
    assert not list(bundle.rglob("__pycache__")) and not (bundle / "tests").exists()
    words = manifest["server"]["mcp_config"]["args"]
    assert words[-2:] == ["satchel", "serve"]
    assert manifest["compatibility"]["platforms"] == ["darwin", "linux"], "the store needs locks that Windows lacks"
    # As uv would run it, with the dependencies that we have.
    environment = {**os.environ, "PYTHONPATH": str(bundle / "src"), "SATCHEL_HOME": str(tmp_path)}
    command = [sys.executable, "-c", "import satchel; print(satchel.__file__)"]
    assert str(bundle) in subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    command = [sys.executable, "-m", "satchel", words[-1]]
    hello = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    served = subprocess.run(
        command, env=environment, input=hello, capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(served.stdout)["id"] == 1


@pytest.mark.npm
def test_the_official_tool_accepts_the_bundle(bundle: Path) -> None:
    from tests.oracles import node
    from tests.oracles.test_clients import find_agent

    command = [*find_agent("mcpb"), "validate", str(bundle / "manifest.json")]
    environment = {"PATH": f"{node.binaries()}:/usr/bin:/bin", "HOME": str(bundle)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_example_for_a_project_is_what_install_writes(tmp_path: Path) -> None:
    example = jsonc.load((ROOT / "examples" / ".mcp.json").read_text())
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "satchel").symlink_to(Path(sys.executable).with_name("satchel"))
    environment = {"HOME": str(tmp_path), "PATH": str(tmp_path / "bin")}
    command = [str(tmp_path / "bin" / "satchel"), "install", "claude-code", "--scope", "project", "--print"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == example


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, each on one line."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.M).replace("\\\n", " ")
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in text.splitlines() if line.strip()]


def test_the_image_copies_only_what_exists_runs_as_a_user_without_rights_and_is_guarded() -> None:
    found = instructions()
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for instruction, rest in found:
        if instruction == "COPY" and "--from" not in rest:
            for path in rest.split()[:-1]:
                assert (ROOT / path).exists() and f"!{path}" in ignored, path
    assert ("USER", "10001") in found
    last = dict(found)
    assert json.loads(last["ENTRYPOINT"]) == ["satchel"] and json.loads(last["CMD"]) == ["serve"]
    variables = dict(part.split("=", 1) for part in shlex.split(last["ENV"]))
    assert (variables["SATCHEL_TRANSPORT"], variables["SATCHEL_AUTH"]) == ("http", "token")
    assert "/health" in last["HEALTHCHECK"]


@pytest.mark.npm
def test_hadolint_has_nothing_to_say_about_the_dockerfile() -> None:
    linter = Path(sys.executable).with_name("hadolint")
    if not linter.exists():
        pytest.fail("hadolint is not installed: run `make judges`", pytrace=False)
    done = subprocess.run([linter, ROOT / "Dockerfile"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_compose_file_keeps_data_in_volumes_and_opens_no_port_to_others() -> None:
    import yaml

    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    satchel = compose["services"]["satchel"]
    assert satchel["build"] == "." and satchel["volumes"] == ["data:/data"]
    assert satchel["ports"] == ["127.0.0.1:8000:8000"]
    volumes = [volume for service in compose["services"].values() for volume in service["volumes"]]
    assert {volume.partition(":")[0] for volume in volumes} == set(compose["volumes"])


class Unit(configparser.ConfigParser):
    """A unit file; keys may be repeated, and keep their case."""

    def __init__(self) -> None:
        super().__init__(interpolation=None, strict=False)
        self.optionxform = str  # type: ignore[assignment, method-assign]
        self.read(ROOT / "shipping" / "satchel.service")


def test_the_commands_of_the_image_and_of_the_service_serve(tmp_path: Path) -> None:
    """Run them with their variables on this machine, instead of in a container and by systemd."""
    variables = dict(part.split("=", 1) for part in shlex.split(dict(instructions())["ENV"]))
    environment = {**variables, "PATH": os.environ["PATH"], "SATCHEL_HOME": str(tmp_path), "SATCHEL_HOST": "127.0.0.1"}
    with HttpProcess(environment=environment) as server:
        assert server.port
    service = Unit()["Service"]
    command, *arguments = shlex.split(service["ExecStart"])
    assert command == "/opt/satchel/bin/satchel" and arguments[0] == "serve"
    variables = dict([service["Environment"].split("=", 1)])
    assert variables == {"SATCHEL_HOME": f"/var/lib/{service['StateDirectory']}"}
    arguments = [word for word in arguments[1:] if word not in ("--transport", "http")]
    with HttpProcess(*arguments, environment={"SATCHEL_HOME": str(tmp_path)}) as server:
        assert server.port


@pytest.mark.skipif(not Path("/usr/bin/systemd-analyze").exists(), reason="there is no systemd here")
def test_systemd_finds_nothing_wrong_with_the_service(tmp_path: Path) -> None:
    text = (ROOT / "shipping" / "satchel.service").read_text()
    copy = tmp_path / "satchel.service"
    copy.write_text(text.replace("/opt/satchel/bin/satchel", str(Path(sys.executable).with_name("satchel"))))
    done = subprocess.run(["/usr/bin/systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
    complaints = [line for line in done.stderr.splitlines() if "satchel.service" in line]
    assert complaints == []


# -- setting up ------------------------------------------------------------------------------------------------------


def set_up(folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    """Run tools/setup in a copy of what it needs, with a Python and no uv on the PATH."""
    for path in ("tools/setup", "locks/run.txt", "locks/uv.txt", "pyproject.toml"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes((ROOT / path).read_bytes())
    (folder / "tools" / "setup").chmod(0o755)
    environment = {"PATH": "/usr/bin:/bin", "PYTHON": python, "HOME": str(folder)}
    command = [str(folder / "tools" / "setup"), "run"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_a_python_without_venv_gets_advice_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    # As Debian's without python3-venv: the folder is made, and then there is no ensurepip.
    python.write_text(
        f'#!/bin/sh\nif [ "$1" = -m ] && [ "$2" = venv ]; then mkdir -p "$3/bin"; cp {sys.executable} "$3/bin/python"\n'
        f'echo "ensurepip is not available"; exit 1; fi\nexec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    for _ in range(2):
        done = set_up(tmp_path / "copy", str(python))
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        assert done.returncode == 1
        assert f"sudo apt install python{version}-venv" in done.stderr
        assert "not found" not in done.stderr and not (tmp_path / "copy" / ".venv").exists()


def test_an_old_python_is_detected(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text('#!/bin/sh\n[ "$1" = -V ] && echo "Python 3.9.2" && exit 0\nexit 1\n')
    python.chmod(0o755)
    done = set_up(tmp_path / "copy", str(python))
    assert done.returncode == 1 and "Satchel needs Python 3.11 or newer" in done.stderr


def test_make_run_takes_a_port() -> None:
    for port, words in (("PORT=8123", "--transport http --port 8123"), ("", "--transport http")):
        command = ["make", "--dry-run", "--no-print-directory", "run", *filter(None, [port])]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        assert done.stdout.rstrip().endswith(f".venv/bin/satchel serve {words}")
