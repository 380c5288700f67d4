"""Satchel as an ASGI application, for teams that mount it in a Starlette or FastAPI application of their own.

    app = Starlette(routes=[Mount("/satchel", create_app(public_url="https://example.com/satchel", auth="token"))])

MCP is then served at /satchel/mcp. See docs/embedding.md.
"""

from collections.abc import Sequence

from satchel import config
from satchel.app import http
from satchel.transports.http.guard import Guard


def create_app(
    *,
    public_url: str,
    database: str | None = None,
    project: str | None = None,
    contract: str | None = None,
    libraries: Sequence[str] = (),
    user: str | None = None,
    toolsets: Sequence[str] = (),
    read_only: bool = False,
    auth: str | None = None,
    allow_host: Sequence[str] = (),
    allow_origin: Sequence[str] = (),
    oauth_issuer: str | None = None,
    oauth_audience: str | None = None,
    oauth_algorithm: str | None = None,
    oauth_keys: str | None = None,
) -> Guard:
    """The ASGI application of a store, opened now; the arguments are the options of `satchel serve`.

    `public_url` is the address that clients reach it by, with the path that it is mounted at. What is left out comes
    from the environment and `satchel.toml`, as it does for the command. Call `close()` on the application when yours
    shuts down: a mounted application gets no lifespan events.

    Raises:
        SettingsError: a setting cannot be what it is.
        StoreError: the store cannot be used.
        NotFound: there is no such project.
    """
    flags: dict[str, str | list[str] | None] = {
        "transport": "http",
        "public_url": public_url,
        "database": database,
        "project": project,
        "contract": contract,
        "libraries": list(libraries),
        "user": user,
        "toolsets": list(toolsets) if toolsets else None,
        "read_only": "yes" if read_only else None,
        "auth": auth,
        "allow_host": list(allow_host),
        "allow_origin": list(allow_origin),
        "oauth_issuer": oauth_issuer,
        "oauth_audience": oauth_audience,
        "oauth_algorithm": oauth_algorithm,
        "oauth_keys": oauth_keys,
    }
    settings = config.load({name: flag for name, flag in flags.items() if flag})
    assert settings.http is not None, "transport is http"
    wrong = http.find_wrong_setting(settings.http, is_mounted=True)
    if wrong is not None:
        raise config.SettingsError(wrong)
    return http.make_app(settings, settings.http, public_url.rstrip("/"))
