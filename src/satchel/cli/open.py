"""`satchel open`: opens the page of a running server in the browser, logged in by a one-time code."""

import http.client
import webbrowser
from urllib.parse import quote, urlsplit

import click

from satchel.auth import sessions
from satchel.cli.examples import Command
from satchel.cli.session import Session, command
from satchel.model import Identity

_TIMEOUT = 5.0  # seconds for the server to answer


@click.command(cls=Command)
@click.argument("url", default="http://127.0.0.1:8000")
@click.option("--print", "is_printed", is_flag=True, help="Print the address instead of opening it.")
@command(in_project=False)
def cli(session: Session, url: str, is_printed: bool) -> None:
    """Open the page of the server at URL in the browser.

    If the server asks for tokens, you are logged in as the local user by a code that works once, within a minute. The
    command needs the same store as the server: --database or SATCHEL_DATABASE.
    """
    url = url.rstrip("/")
    address = f"{url}/"
    if _asks_for_login(url):
        user = session.scope.user or session.scope.author.user
        with session.write() as tx:
            code = sessions.make_code(tx, Identity(user=user))
        address = f"{url}/login?code={quote(code)}"
    if is_printed or not webbrowser.open(address):
        session.say(address, {"url": address})
    else:
        session.say(f"Opened {url}/ in the browser.", {"url": address})


def _asks_for_login(url: str) -> bool:
    """Return whether the page at a URL asks for a token.

    Raises:
        ClickException: there is no page of Satchel.
    """
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        connection = kind(parts.hostname or "", parts.port, timeout=_TIMEOUT)
        connection.request("GET", f"{parts.path}/login")
        status = connection.getresponse().status
        connection.close()
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise click.ClickException(
            f"no server answers at {url} ({error}). Start one with: satchel serve --transport http"
        ) from error
    if status not in (200, 303):
        raise click.ClickException(f"the server at {url} has no page (status {status}). It may run with --no-page.")
    return status == 200
