"""Settings, read once and then frozen: flag before environment before `satchel.toml` before default."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from satchel import clock
from satchel.model import DEFAULT_PROJECT, DEFAULT_STORE, PERSONAL_PROJECT, Retention
from satchel.settings import BY_NAME, DEFAULT_CONTRACT, SETTINGS, Setting, Value

YES_OR_NO = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)

Flags = Mapping[str, str | list[str] | None]


class Http(Struct, frozen=True, kw_only=True):
    """The settings of a server over HTTP."""

    host: str
    port: int
    tls_cert: str | None = None  # a PEM file; together with tls_key
    tls_key: str | None = None
    workers: int
    connections: int  # of one process
    forwarded_allow_ips: str | None = None  # proxies whose X-Forwarded-For names the client
    auth: str  # none, token, oauth
    calls_per_minute: int = 0  # of a user with a token; 0: any number
    user_items: int = 0  # that a user with a token may keep; 0: any number
    user_megabytes: int = 0
    has_page: bool = True
    allow_hosts: tuple[str, ...]
    allow_origins: tuple[str, ...]
    public_url: str | None  # by which clients reach us
    oauth_issuer: str | None
    oauth_client_id: str | None = None
    oauth_audience: str | None
    oauth_algorithm: str
    oauth_keys: str | None
    oauth_any_scope: bool


class Settings(Struct, frozen=True, kw_only=True):
    """The settings of one Satchel process."""

    database: str  # a file path or a postgresql:// address
    database_direct: str | None = None  # the same PostgreSQL server without a pooler
    project: str = DEFAULT_PROJECT
    why_project: str | None = None  # which setting named the project; None for the default
    personal: str = PERSONAL_PROJECT  # the project that every project can read; empty: none
    contract: str = DEFAULT_CONTRACT
    libraries: tuple[str, ...] = ()  # folders with libraries in them
    user: str | None = None  # the only user that a connection may act as
    home: str  # the data folder
    toolsets: tuple[str, ...] = ()  # the toolsets to serve; empty: all
    is_read_only: bool = False
    retention: Retention = Retention()
    http: Http | None = None  # None: stdio


class SettingsError(Exception):
    """A setting has an invalid value; the message names the setting, its source, and the valid values."""


def load(flags: Flags, environment: Mapping[str, str] | None = None) -> Settings:
    """Find the value of every setting. HTTP settings are ignored on stdio.

    Raises:
        SettingsError: a value is of the wrong type, or not allowed.
    """
    environment = os.environ if environment is None else environment
    home = environment.get("SATCHEL_HOME") or _default_home()
    path = os.path.join(home, "satchel.toml")
    file = _read_file(path)
    is_http = _find(BY_NAME["transport"], flags, environment, path, file)[0] == "http"
    if is_http:
        # One server has many callers: each names its project by ?project=, not by the server's environment.
        environment = {name: value for name, value in environment.items() if name != "SATCHEL_PROJECT"}
    found = {
        setting.name: _find(setting, flags, environment, path, file)
        for setting in SETTINGS
        if is_http or not setting.is_http
    }
    values: dict[str, Any] = {name: value for name, (value, _) in found.items()}
    project_source = found["project"][1]
    return Settings(
        database=values["database"] or os.path.join(home, DEFAULT_STORE),
        database_direct=values["database_direct"],
        project=values["project"],
        why_project=_PROJECT_SOURCES.get(project_source, "the settings file") if project_source else None,
        personal="" if values["no_personal"] else PERSONAL_PROJECT,
        contract=values["contract"],
        libraries=_expand(values["libraries"]) or _default_libraries(home, environment),
        user=values["user"],
        home=home,
        toolsets=values["toolsets"],
        is_read_only=values["read_only"],
        retention=Retention(**{name: values[name] for name in Retention.__struct_fields__}),
        http=_http(values) if is_http else None,
    )


def _expand(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Expand `~` in folders. An empty one, as in `A::B`, is left out: it would be the working directory."""
    return tuple(os.path.expanduser(folder) for folder in folders if folder)


def _default_libraries(home: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return our folder of libraries and that of twig, either of which need not exist."""
    data = environment.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return (os.path.join(home, "libraries"), os.path.join(data, "twig", "prompts"))


_PROJECT_SOURCES = {"--project": "the flag --project", "SATCHEL_PROJECT": "the environment variable SATCHEL_PROJECT"}


def _http(values: dict[str, Any]) -> Http:
    given = {setting.name: values[setting.name] for setting in SETTINGS if setting.is_http}
    if (given["tls_cert"] is None) != (given["tls_key"] is None):
        raise SettingsError("--tls-cert and --tls-key belong together: give both, or neither.")
    hosts, origins, url = given.pop("allow_host"), given.pop("allow_origin"), given.pop("public_url")
    return Http(
        allow_hosts=hosts,
        allow_origins=tuple(origin.rstrip("/") for origin in origins),
        public_url=url and url.rstrip("/"),
        has_page=not given.pop("no_page"),
        **given,
    )


def _find(
    setting: Setting, flags: Flags, environment: Mapping[str, str], path: str, file: Mapping[str, object]
) -> tuple[Value, str | None]:
    """Return the value of a setting and its source; an empty text or list counts as not given."""
    for value, source in (
        (flags.get(setting.name), setting.flags[0]),
        (environment.get(setting.variable), setting.variable),
        (file.get(setting.name), f"{path}: {setting.name}"),
    ):
        if value not in (None, "", []):
            return _parse(setting, value, source), source
    return setting.default, None


def _parse(setting: Setting, value: object, source: str) -> Value:
    """Parse a text, or a value of TOML, as a value of the setting's type."""
    parsed = _PARSERS.get(setting.kind, _parse_text)(setting, value)
    if parsed is None:
        shown = f"'{value}'" if isinstance(value, str) else str(value)
        raise SettingsError(f"{source} must be {setting.takes}, not {shown}.")
    return parsed


def _parse_text(setting: Setting, value: object) -> Value:
    if not isinstance(value, str):
        return value if setting.kind == "yes/no" and isinstance(value, bool) else None
    if setting.kind == "yes/no":
        # A typing mistake is an error, never "no": the server would be less protected than it was asked to be.
        return YES_OR_NO.get(value.lower())
    if setting.kind == "uuid":
        return clock.parse_id(value)
    return value if not setting.choices or value in setting.choices else None


def _parse_number(setting: Setting, value: object) -> Value:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    least, most = setting.bounds
    return value if isinstance(value, int) and is_number and least <= value <= most else None


def _parse_list(setting: Setting, value: object) -> Value:
    if isinstance(value, str):
        parts = value.split(setting.separator)
        value = [part.strip() for part in parts] if setting.separator == "," else parts
    if not isinstance(value, list):
        return None
    is_allowed = all(isinstance(item, str) and (not setting.choices or item in setting.choices) for item in value)
    return tuple(value) if is_allowed else None


_PARSERS: dict[str, Callable[[Setting, object], Value]] = {"number": _parse_number, "list": _parse_list}


def _default_home() -> str:
    platform = sys.platform  # a variable, because mypy takes code after a test of sys.platform for unreachable
    if platform == "linux":
        # What platformdirs returns on Linux; importing it takes 10 ms.
        base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
        return os.path.join(base, "satchel")
    import platformdirs

    return platformdirs.user_data_dir("satchel", appauthor=False)


def _read_file(path: str) -> dict[str, object]:
    if not os.path.exists(path):
        return {}
    import tomllib  # 2 ms, and most users have no such file

    try:
        with open(path, "rb") as file:
            given = tomllib.load(file)
    except (OSError, ValueError) as error:
        raise SettingsError(f"cannot read {path}: {error}. Correct the file, or move it away.") from error
    for name, value in given.items():
        if name not in BY_NAME:
            raise SettingsError(f"{path}: there is no setting '{name}'. Settings are {', '.join(BY_NAME)}.")
        if value not in ("", []):
            _parse(BY_NAME[name], value, f"{path}: {name}")  # an error even where a flag overrides it
    return given
