"""All settings, each defined once, and how their values are found: flags, then environment, then `satchel.toml`.

The flags of `satchel serve`, the environment variables, the names in `satchel.toml` and the page of settings in the
documentation all come from SETTINGS.
"""

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from msgspec import Struct

from satchel import clock
from satchel.model import DEFAULT_PROJECT, DEFAULT_STORE, PERSONAL_PROJECT, Retention

Value = str | int | bool | tuple[str, ...] | None
Flags = Mapping[str, str | list[str] | None]

DEFAULT_CONTRACT = "satchel"
YES_OR_NO = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)


class Setting(Struct, frozen=True):
    """One setting: its name, its values, and its default."""

    name: str  # in satchel.toml; flag and environment variable are derived from it
    metavar: str  # the value in `--help`; empty for a flag without one
    help: str
    short_flag: str | None = None
    kind: Literal["text", "number", "yes/no", "uuid", "list"] = "text"
    choices: tuple[str, ...] = ()  # the allowed values of a text, or of each item of a list
    bounds: tuple[int, int] = (0, 0)  # the minimum and maximum of a number
    separator: str = ","  # separates the items of a list in one text
    is_repeated: bool = False  # a list whose flag is repeated for each item
    default: Value = None
    default_note: str = ""  # describes a default that is not a fixed value
    is_http: bool = False  # a setting for HTTP, ignored on stdio

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of `serve`, long form first."""
        long = f"--{self.name.replace('_', '-')}"
        return (long,) if self.short_flag is None else (long, self.short_flag)

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"SATCHEL_{self.name.upper()}"

    @property
    def is_flag(self) -> bool:
        """Whether the flag of this setting takes no value."""
        return self.kind == "yes/no"

    @property
    def takes(self) -> str:
        """The accepted values, in words."""
        if self.kind == "number":
            return f"a whole number from {self.bounds[0]} to {self.bounds[1]}"
        if self.kind == "uuid":
            return "a UUID, as `satchel user` prints one"
        if self.kind == "yes/no":
            return "yes or no"
        choices = " or ".join(", ".join(self.choices).rsplit(", ", 1))
        if self.kind == "list":
            return f"a list of {choices or 'texts'}"
        return choices or "a text"

    @property
    def default_text(self) -> str:
        """The default, in words; empty if there is none."""
        return self.default_note or ("" if self.default in (None, (), False) else str(self.default))

    @property
    def full_help(self) -> str:
        """The text for `--help`."""
        default = f"; default: {self.default_text}" if self.default_text else ""
        repeated = "; repeatable" if self.is_repeated else ""
        return f"{'HTTP: ' if self.is_http else ''}{self.help}{repeated}{default}. [env: {self.variable}]"


def _number(name: str, help: str, bounds: tuple[int, int], default: int, *, is_http: bool = False) -> Setting:
    return Setting(name, "NUMBER", help, kind="number", bounds=bounds, default=default, is_http=is_http)


def _flag(name: str, help: str, *, is_http: bool = False) -> Setting:
    return Setting(name, "", help, kind="yes/no", default=False, is_http=is_http)


_http = partial(Setting, is_http=True)
_http_number = partial(_number, is_http=True)
_http_list = partial(_http, kind="list", is_repeated=True, default=())

SETTINGS = (
    Setting("contract", "NAME", "The contract to serve", short_flag="-c", default=DEFAULT_CONTRACT),
    Setting(
        "project",
        "NAME",
        "The project to work in; over HTTP the environment variable is ignored",
        short_flag="-p",
        default=DEFAULT_PROJECT,
        default_note="what a .satchel file or the repository names (commands and the contract satchel), else default",
    ),
    _flag("no_personal", "Do not show the prompts and documents of the project personal in the other projects"),
    Setting(
        "database",
        "PATH|URL",
        "The store: a file, or postgresql://…",
        short_flag="-d",
        default_note="satchel.db in the data folder",
    ),
    Setting(
        "database_direct",
        "URL",
        "The address of the PostgreSQL server itself, if --database leads to a pooler in transaction mode",
    ),
    Setting(
        "libraries",
        "DIR",
        "A folder of libraries",
        short_flag="-l",
        kind="list",
        separator=os.pathsep,
        is_repeated=True,
        default=(),
        default_note="libraries in the data folder, and ~/.local/share/twig/prompts",
    ),
    Setting("user", "UUID", "The user of all calls", short_flag="-u", kind="uuid", default_note="the local user"),
    Setting(
        "toolsets",
        "LIST",
        "Serve only these tools of the contract satchel: prompts,documents,tasks",
        kind="list",
        choices=("prompts", "documents", "tasks"),
        default=(),
        default_note="all",
    ),
    _flag("read_only", "Change nothing"),
    _number("trash_days", "For how many days deleted items can be restored; 0: not at all", (0, 36_500), 30),
    _number("history_days", "For how many days every version is kept", (0, 36_500), 90),
    _number("history_versions", "How many versions of each item are kept regardless of age", (1, 1_000_000), 20),
    Setting(
        "transport", "stdio|http", "How clients connect", short_flag="-t", choices=("stdio", "http"), default="stdio"
    ),
    _http("host", "ADDRESS", "the address to listen on", default="127.0.0.1"),
    _http_number("port", "the port to listen on; 0: any free one", (0, 65535), 8000),
    _http("tls_cert", "FILE", "serve https with this certificate chain in PEM; needs --tls-key"),
    _http("tls_key", "FILE", "the private key of the certificate, in PEM"),
    _http_number("workers", "the number of processes", (1, 64), 1),
    _http_number("connections", "the limit of connections of one process", (1, 100_000), 1000),
    _http(
        "forwarded_allow_ips",
        "LIST",
        "the addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted; *: any",
    ),
    _http(
        "auth",
        "none|token|oauth",
        "how callers authenticate; none serves this machine only",
        choices=("none", "token", "oauth"),
        default="none",
    ),
    _http_number(
        "calls_per_minute",
        "the limit of calls per minute for a user with a token, with bursts of five minutes' worth; 0: no limit",
        (0, 10_000_000),
        6000,
    ),
    _http_number(
        "user_items",
        "the limit of items for a user with a token, including deleted ones until they expire; 0: no limit",
        (0, 100_000_000),
        100_000,
    ),
    _http_number(
        "user_megabytes",
        "the limit of MiB for a user with a token, including old versions until they expire; 0: no limit",
        (0, 100_000_000),
        1024,
    ),
    _flag("no_page", "serve no page for people, only MCP", is_http=True),
    _http_list("allow_host", "NAME", "another host name by which clients reach the server"),
    _http_list("allow_origin", "ORIGIN", "an origin whose web pages may call the server"),
    _http("public_url", "URL", "the address by which clients reach the server behind a proxy"),
    _http("oauth_issuer", "URL", "the OAuth issuer whose tokens are accepted"),
    _http("oauth_client_id", "ID", "the client id at the issuer by which people log in to the page"),
    _http(
        "oauth_audience",
        "TEXT",
        "the audience that OAuth tokens must name",
        default_note="the public URL with the path of a contract",
    ),
    _http("oauth_algorithm", "NAME", "the signature algorithm of OAuth tokens", default="RS256"),
    _http(
        "oauth_keys",
        "URL|FILE",
        "the keys of the OAuth issuer, as JWKS or PEM",
        default_note="what the issuer's metadata names",
    ),
    _flag(
        "oauth_any_scope",
        "allow writes with OAuth tokens that have neither of the scopes satchel:read and satchel:write",
        is_http=True,
    ),
)
BY_NAME = {setting.name: setting for setting in SETTINGS}

# -- values -------------------------------------------------------------------------------------------------------


class Http(Struct, frozen=True, kw_only=True):
    """The settings of a server over HTTP."""

    host: str
    port: int
    tls_cert: str | None = None  # a PEM file; together with tls_key
    tls_key: str | None = None
    workers: int
    connections: int  # the limit for one process
    forwarded_allow_ips: str | None = None  # proxies whose X-Forwarded-For names the client
    auth: str  # none, token, oauth
    calls_per_minute: int = 0  # the limit for a user with a token; 0: no limit
    user_items: int = 0  # the limit for a user with a token; 0: no limit
    user_megabytes: int = 0
    has_page: bool = True
    allow_hosts: tuple[str, ...]
    allow_origins: tuple[str, ...]
    public_url: str | None  # the address by which clients reach the server
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
    why_project: str | None = None  # the setting that named the project; None for the default
    personal: str = PERSONAL_PROJECT  # the project that every project can read; empty: none
    contract: str = DEFAULT_CONTRACT
    libraries: tuple[str, ...] = ()  # folders with libraries in them
    user: str | None = None  # the only user as whom a connection may act
    home: str  # the data folder
    toolsets: tuple[str, ...] = ()  # the toolsets to serve; empty: all
    is_read_only: bool = False
    retention: Retention = Retention()
    http: Http | None = None  # None: stdio


class SettingsError(Exception):
    """A setting has an invalid value; the message names the setting, its source, and the valid values."""


def load(flags: Flags, environment: Mapping[str, str] | None = None) -> Settings:
    """Find the value of every setting. On stdio, HTTP settings of the environment and of the file are ignored.

    Raises:
        SettingsError: a value has the wrong type or is not allowed, or a flag needs HTTP.
    """
    environment = os.environ if environment is None else environment
    home = environment.get("SATCHEL_HOME") or _default_home()
    path = os.path.join(home, "satchel.toml")
    file = _read_file(path)
    is_http = _find(BY_NAME["transport"], flags, environment, path, file)[0] == "http"
    if is_http:
        # A server has many callers, so the project is named by each request, not by the server's environment.
        environment = {name: value for name, value in environment.items() if name != "SATCHEL_PROJECT"}
    elif not flags.get("transport"):
        needy = next((setting for setting in SETTINGS if setting.is_http and flags.get(setting.name)), None)
        if needy is not None:
            raise SettingsError(f"{needy.flags[0]} needs --transport http.")
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
        http=_make_http(values) if is_http else None,
    )


def _expand(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Expand `~` in folders. Drop empty ones, as in `A::B`, which would mean the working directory."""
    return tuple(os.path.expanduser(folder) for folder in folders if folder)


def _default_libraries(home: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the default library folders of Satchel and twig, which need not exist."""
    data = environment.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return (os.path.join(home, "libraries"), os.path.join(data, "twig", "prompts"))


_PROJECT_SOURCES = {"--project": "the flag --project", "SATCHEL_PROJECT": "the environment variable SATCHEL_PROJECT"}


def _make_http(values: dict[str, Any]) -> Http:
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
    """Return the value of a setting, and where the value was found; an empty text or list counts as not given."""
    for value, source in (
        (flags.get(setting.name), setting.flags[0]),
        (environment.get(setting.variable), setting.variable),
        (file.get(setting.name), f"{path}: {setting.name}"),
    ):
        if value not in (None, "", []):
            return _parse(setting, value, source), source
    return setting.default, None


def _parse(setting: Setting, value: object, source: str) -> Value:
    """Convert a text, or a value from TOML, to the type of a setting."""
    parsed = _PARSERS.get(setting.kind, _parse_text)(setting, value)
    if parsed is None:
        shown = f"'{value}'" if isinstance(value, str) else str(value)
        raise SettingsError(f"{source} must be {setting.takes}, not {shown}.")
    return parsed


def _parse_text(setting: Setting, value: object) -> Value:
    if not isinstance(value, str):
        return value if setting.kind == "yes/no" and isinstance(value, bool) else None
    if setting.kind == "yes/no":
        # A mistyped value is an error, never "no", because it could turn a protection off.
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
    platform = sys.platform  # a variable, because mypy treats code after a test of sys.platform as unreachable
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
            _parse(BY_NAME[name], value, f"{path}: {name}")  # a wrong value is an error even if a flag overrides it
    return given
