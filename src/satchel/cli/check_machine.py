"""Checks of `satchel doctor` on this machine: interpreter, data folder, libraries, watcher and port."""

import os
import platform
import shutil
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator

import apsw

from satchel import __version__
from satchel.cli.findings import Finding, Repairable, attempt
from satchel.config import Http, Settings

_LEAST_SPACE = 100 * 2**20  # bytes of free space below which a warning is due
_FIRST_SOUND_SQLITE = (3, 51, 3)  # before it, a rare race while the log is reset can damage a file


def check_interpreter() -> Finding:
    """Versions of what runs."""
    versions = f"Satchel {__version__}, Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}"
    where = f"{versions} ({sys.executable})"
    if tuple(int(part) for part in apsw.sqlite_lib_version().split(".")[:3]) < _FIRST_SOUND_SQLITE:
        remedy = "Install a newer apsw: pip install --upgrade apsw"
        return Finding(check="interpreter", status="warning", message=f"{where}: this SQLite is old.", remedy=remedy)
    return Finding(check="interpreter", status="ok", message=where)


def check_data_folder(home: str, *, is_fixing: bool) -> Finding:
    """Whether the data folder can be written, is private, and has space."""

    def look() -> str:
        if not os.path.isdir(home):
            if os.path.lexists(home):
                raise Repairable(f"{home} is not a folder.", "Move it away, or set SATCHEL_HOME.", _nothing)
            return f"{home} does not exist yet; it is made with the first use"
        if not os.access(home, os.W_OK | os.X_OK):
            raise Repairable(f"{home} cannot be written.", "Make it yours, or set SATCHEL_HOME to another.", _nothing)
        if os.name != "nt" and stat.S_IMODE(os.stat(home).st_mode) & 0o077:
            mode = f"{home} can be read by others."
            raise Repairable(mode, f"chmod 700 {home}", lambda: _make_private(home, 0o700), is_failure=False)
        free = shutil.disk_usage(home).free
        if free < _LEAST_SPACE:
            raise Repairable(f"{home}: only {free // 2**20} MiB are free.", "Free some space.", _nothing)
        return f"{home} is writable and private, {free / 2**30:.1f} GiB free"

    return attempt("data folder", look, is_fixing=is_fixing)


def _nothing() -> str:
    raise OSError("only you can")


def _make_private(path: str, mode: int) -> str:
    os.chmod(path, mode)
    return f"Its mode is {mode:o} now."


def check_libraries(settings: Settings) -> Iterator[Finding]:
    """Every problem of a library with file and line, or how many there are."""
    from satchel.library.validate import check_all

    if settings.libraries == (os.path.join(settings.home, "libraries"),) and not os.path.lexists(settings.libraries[0]):
        hint = "make one with: satchel library new NAME"
        yield Finding(check="libraries", status="ok", message=f"there are none yet; {hint}")
        return
    report = check_all(settings.libraries)
    for problem in report.problems:
        yield Finding(
            check="libraries",
            status="warning" if problem.is_warning else "failure",
            message=str(problem),
            remedy="" if problem.is_warning else "Correct it, then: satchel library validate",
            file=_whole_path(settings.libraries, problem.file),
            line=problem.line,
        )
    if not any(not problem.is_warning for problem in report.problems):
        counts = f"{report.libraries} libraries with {report.prompts} prompts"
        yield Finding(check="libraries", status="ok", message=f"{counts} in {', '.join(settings.libraries)}")


def _whole_path(roots: tuple[str, ...], file: str) -> str:
    """The path of a file that is named from one of the folders of libraries."""
    paths = [os.path.join(root, file) for root in roots]
    return next((path for path in paths if os.path.lexists(path)), file)


def check_watcher(home: str) -> Finding:
    """Whether the system reports a changed file, so that clients hear of changed templates."""
    from satchel.library.watch import sees_changes

    base = home if os.path.isdir(home) and os.access(home, os.W_OK | os.X_OK) else None
    try:
        with tempfile.TemporaryDirectory(prefix=".doctor-", dir=base) as folder:
            is_seen = sees_changes(folder)
    except (OSError, RuntimeError) as error:
        is_seen, why = False, f": {error}"
    else:
        why = ""
    if is_seen:
        return Finding(check="watcher", status="ok", message="a touched file was noticed")
    remedy = "Changed templates are noticed within 30 seconds. On Linux raise fs.inotify.max_user_watches."
    return Finding(check="watcher", status="warning", message=f"A touched file was not noticed{why}.", remedy=remedy)


def check_port(http: Http, *, is_needed: bool) -> Finding:
    """Whether the port for HTTP is free, or served by Satchel."""
    place = f"{http.host}:{http.port}"
    try:
        host = http.host.strip("[]")
        family = socket.getaddrinfo(host, http.port, type=socket.SOCK_STREAM)[0][0]
        socket.create_server((host, http.port), family=family).close()
    except OSError as error:
        if _is_satchel(http):
            return Finding(check="port", status="ok", message=f"Satchel serves at {place} already")
        message = f"{place} cannot be used for HTTP: {error.strerror}."
        remedy = "Choose another: satchel serve --transport http --port 0, or port = … in satchel.toml"
        return Finding(check="port", status="failure" if is_needed else "warning", message=message, remedy=remedy)
    return Finding(check="port", status="ok", message=f"{place} is free")


def _is_satchel(settings: Http) -> bool:
    """Whether Satchel answers at the port."""
    import http.client  # with the modules for mail that it needs, 20 ms

    host = settings.host.strip("[]")
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - only compared  # nosec B104
    connection = http.client.HTTPConnection(host, settings.port, timeout=2)
    try:
        connection.request("GET", "/health")
        return b'"schema"' in connection.getresponse().read(1000)
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()
