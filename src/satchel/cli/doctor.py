"""`satchel doctor`: looks at everything that Satchel needs, and says what is wrong and how to put it right."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from satchel.cli.findings import Finding  # imported where it is used: `--help` needs no checks

EXAMPLES = """\b
Examples:
  satchel doctor
  satchel doctor --fix      repair what is safe to repair
  satchel doctor --json
"""
_MARKS = {"ok": ("ok", "green"), "fixed": ("fixed", "green"), "note": ("note", None), "warning": ("warning", "yellow")}


@click.command(epilog=EXAMPLES)
@click.option("--fix", is_flag=True, help="Repair what is safe: modes, schema, search index, moved commands.")
@click.option("--database", "-d", metavar="PATH|URL", help="The store. [env: SATCHEL_DATABASE]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def cli(fix: bool, database: str | None, as_json: bool) -> None:
    """Check the installation, the store, the libraries and every connected client.

    Each problem comes with its remedy. Ends with 1 if something failed, else with 0.
    """
    from satchel.cli.findings import Finding, is_problem
    from satchel.cli.printing import to_json

    found: list[Finding] = []
    for finding in _look(database, is_fixing=fix):
        found.append(finding)
        if not as_json:
            _print(finding)
    problems = sum(map(is_problem, found))
    if as_json:
        click.echo(to_json({"ok": not problems, "findings": found}))
    else:
        click.echo("All is well." if not problems else f"{problems} problem{'' if problems == 1 else 's'}.")
    raise SystemExit(1 if problems else 0)


def _look(database: str | None, *, is_fixing: bool) -> "Iterator[Finding]":
    """Every finding, as soon as it is known."""
    from satchel import config
    from satchel.cli import check_clients, check_machine, check_store
    from satchel.cli.findings import Finding
    from satchel.clients.places import Machine

    yield from _guard("interpreter", lambda: [check_machine.check_interpreter()])
    try:
        settings = config.load({"database": database})
        served = config.load({"database": database, "transport": "http"})
    except config.SettingsError as error:
        yield Finding(check="settings", status="failure", message=str(error), remedy="Correct the setting.")
    else:
        yield Finding(
            check="settings", status="ok", message=f"contract {settings.contract}, project {settings.project}"
        )
        http = served.http
        assert http is not None
        home, store, direct = settings.home, settings.database, settings.database_direct
        yield from _guard("data folder", lambda: [check_machine.check_data_folder(home, is_fixing=is_fixing)])
        yield from _guard("store", lambda: check_store.check_store(store, direct, is_fixing=is_fixing))
        yield from _guard("libraries", lambda: check_machine.check_libraries(settings))
        yield from _guard("watcher", lambda: [check_machine.check_watcher(home)])
        yield from _guard("port", lambda: [check_machine.check_port(http, is_needed=settings.http is not None)])
    yield from _guard("clients", lambda: check_clients.check_clients(Machine.current(), is_fixing=is_fixing))


def _guard(check: str, look: "Callable[[], Iterable[Finding]]") -> "Iterator[Finding]":
    """The findings of a check; one that breaks is a finding too, and does not stop the others."""
    from satchel.cli.findings import Finding

    try:
        yield from look()
    except Exception as error:
        message = f"it could not be checked: {type(error).__name__}: {error}"
        yield Finding(check=check, status="failure", message=message)


def _print(finding: "Finding") -> None:
    mark, color = _MARKS.get(finding.status, ("failed", "red"))
    click.echo(f"{click.style(f'{mark:<8}', fg=color)}{finding.check:<13} {finding.message}")
    if finding.remedy:
        click.echo(f"{'':<22}-> {finding.remedy}")
