"""Satchel as an ASGI application, for teams that mount it in a Starlette or FastAPI application of their own.

    app = Starlette(routes=[Mount("/satchel", create_app(public_url="https://example.com/satchel", auth="token"))])

MCP is then served at /satchel/mcp. See docs/teams/embedding.md.
"""

from collections.abc import Sequence

from satchel import config
from satchel.app import http, load_settings
from satchel.transports.http.app import Guard


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
    oauth_any_scope: bool = False,
) -> Guard:
    """Open a store and return its ASGI application; the arguments are the options of `satchel serve`.

    `public_url` is the address that clients use, with the path of the mount. Omitted options come
    from the environment and `satchel.toml`, as they do for the command. Call `close()` on the application when yours
    shuts down: a mounted application gets no lifespan events.

    Raises:
        SettingsError: a setting has an invalid value.
        StoreError: the store cannot be used.
        NotFound: there is no such project.
    """
    settings = load_settings(
        transport="http",
        public_url=public_url,
        database=database,
        project=project,
        contract=contract,
        libraries=libraries,
        user=user,
        toolsets=toolsets,
        read_only=read_only,
        auth=auth,
        allow_host=allow_host,
        allow_origin=allow_origin,
        oauth_issuer=oauth_issuer,
        oauth_audience=oauth_audience,
        oauth_algorithm=oauth_algorithm,
        oauth_keys=oauth_keys,
        oauth_any_scope=oauth_any_scope,
    )
    assert settings.http is not None, "transport is http"
    wrong = http.find_wrong_setting(settings.http, is_mounted=True)
    if wrong is not None:
        raise config.SettingsError(wrong)
    return http.make_app(settings, settings.http, public_url.rstrip("/"))
