"""Settings, read once and then frozen: flag before environment before `satchel.toml` before default."""

import os
import sys
from collections.abc import Mapping

from msgspec import Struct

from satchel import clock
from satchel.model import DEFAULT_PROJECT

NAMES = (
    "database",
    "project",
    "contract",
    "user",
    "libraries",
    "transport",
    "host",
    "port",
    "workers",
    "connections",
    "auth",
    "allow_host",
    "allow_origin",
    "public_url",
    "oauth_issuer",
    "oauth_audience",
    "oauth_algorithm",
    "oauth_keys",
    "toolsets",
    "read_only",
)
# Settings that are lists, and what separates them where they are one text.
LISTS = {"libraries": os.pathsep, "allow_host": ",", "allow_origin": ",", "toolsets": ","}
DEFAULT_CONTRACT = "satchel"
TOOLSETS = ("prompts", "resources", "tasks")
CHOICES = {"transport": ("stdio", "http"), "auth": ("none", "token", "oauth")}
NUMBERS = {"port": (0, 65535), "workers": (1, 64), "connections": (1, 100_000)}
YES_OR_NO = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)

Flags = Mapping[str, str | list[str] | None]


class Http(Struct, frozen=True, kw_only=True):
    """What only a server over HTTP needs to know."""

    host: str
    port: int
    workers: int
    connections: int  # of one process
    auth: str  # none, token, oauth
    allow_hosts: tuple[str, ...]
    allow_origins: tuple[str, ...]
    public_url: str | None  # by which clients reach us
    oauth_issuer: str | None
    oauth_audience: str | None
    oauth_algorithm: str
    oauth_keys: str | None
    tls_cert: str | None = None
    tls_key: str | None = None


class Settings(Struct, frozen=True, kw_only=True):
    """What a Satchel process was told."""

    database: str  # a file path or a postgresql:// address
    project: str = DEFAULT_PROJECT
    why_project: str | None = None  # it is that one; None where nobody said
    contract: str = DEFAULT_CONTRACT
    libraries: tuple[str, ...] = ()  # folders with libraries in them
    user: str | None = None  # the only user that a connection may act as
    home: str  # the data folder
    toolsets: tuple[str, ...] = ()  # the only ones to be served; none: all
    is_read_only: bool = False
    http: Http | None = None  # None: stdio


def load(flags: Flags, environment: Mapping[str, str] | None = None) -> Settings:
    """Settle every setting.

    Raises:
        SettingsError: one cannot be what it is.
    """
    environment = os.environ if environment is None else environment
    home = environment.get("SATCHEL_HOME") or _default_home()
    file = _file(os.path.join(home, "satchel.toml"))
    said = {name: flag for name, flag in flags.items() if isinstance(flag, str)}
    told = {name: said.get(name) or environment.get(f"SATCHEL_{name.upper()}") or file.get(name) for name in NAMES}
    if told["transport"] == "http":
        # The environment of a server for many is nobody's place of work: its callers say ?project=.
        environment = {name: value for name, value in environment.items() if name != "SATCHEL_PROJECT"}
        told["project"] = said.get("project") or file.get("project")
    given = {name: flag for name, flag in flags.items() if isinstance(flag, list)}
    lists = {name: tuple(given.get(name) or _parts(told[name], separator)) for name, separator in LISTS.items()}
    for name, choices in CHOICES.items():
        if told[name] is not None and told[name] not in choices:
            raise SettingsError(f"'{told[name]}' is no {name}: choose {' or '.join(choices)}.")
    if told["user"] is not None and clock.parse_id(told["user"]) is None:
        raise SettingsError(f"'{told['user']}' is no user: a user is a UUID, as `satchel user` prints one.")
    for toolset in lists["toolsets"]:
        if toolset not in TOOLSETS:
            raise SettingsError(f"'{toolset}' is no toolset: there are {', '.join(TOOLSETS)}.")
    return Settings(
        database=told["database"] or os.path.join(home, "satchel.db"),
        project=told["project"] or DEFAULT_PROJECT,
        why_project=_why(said, environment, file),
        contract=told["contract"] or DEFAULT_CONTRACT,
        libraries=lists["libraries"] or (os.path.join(home, "libraries"),),
        user=told["user"] and clock.parse_id(told["user"]),
        home=home,
        toolsets=lists["toolsets"],
        is_read_only=_is_yes(told, "read_only"),
        http=_http(told, lists) if told["transport"] == "http" else None,
    )


def _why(said: Mapping[str, str], environment: Mapping[str, str], file: Mapping[str, str]) -> str | None:
    if said.get("project"):
        return "the flag --project"
    if environment.get("SATCHEL_PROJECT"):
        return "the environment variable SATCHEL_PROJECT"
    return "the settings file" if file.get("project") else None


def _http(told: Mapping[str, str | None], lists: Mapping[str, tuple[str, ...]]) -> Http:
    return Http(
        host=told["host"] or "127.0.0.1",
        port=_number(told, "port", 8000),
        workers=_number(told, "workers", 1),
        connections=_number(told, "connections", 1000),
        auth=told["auth"] or "none",
        allow_hosts=lists["allow_host"],
        allow_origins=tuple(origin.rstrip("/") for origin in lists["allow_origin"]),
        public_url=told["public_url"] and told["public_url"].rstrip("/"),
        oauth_issuer=told["oauth_issuer"],
        oauth_audience=told["oauth_audience"],
        oauth_algorithm=told["oauth_algorithm"] or "RS256",
        oauth_keys=told["oauth_keys"],
    )


def _number(told: Mapping[str, str | None], name: str, default: int) -> int:
    text = told[name]
    if text is None:
        return default
    least, most = NUMBERS[name]
    if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
        raise SettingsError(f"'{text}' is no number for {name}: it is between {least} and {most}.")
    return int(text)


def _is_yes(told: Mapping[str, str | None], name: str) -> bool:
    # Whoever wants to be safe and mistypes it is told, not served without it.
    text = (told[name] or "no").lower()
    if text not in YES_OR_NO:
        raise SettingsError(f"'{told[name]}' is no answer for {name}: say yes or no.")
    return YES_OR_NO[text]


def _parts(text: str | None, separator: str) -> list[str]:
    return [part.strip() if separator == "," else part for part in text.split(separator)] if text else []


def _default_home() -> str:
    platform = sys.platform  # by a name of ours, or mypy takes the rest for unreachable
    if platform == "linux":
        # What platformdirs says there, without the 25 ms that it takes to say it.
        base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
        return os.path.join(base, "satchel")
    import platformdirs

    return platformdirs.user_data_dir("satchel", appauthor=False)


def _file(path: str) -> dict[str, str]:
    if not os.path.exists(path):
        return {}
    import tomllib  # only where there is such a file

    try:
        with open(path, "rb") as file:
            told = tomllib.load(file)
    except (OSError, ValueError) as error:
        raise SettingsError(f"cannot read {path}: {error}. Mend the file, or move it away.") from error
    for name, value in told.items():
        if name not in NAMES or not isinstance(value, str):
            raise SettingsError(f"{path}: {name} is no setting, or no text. Settings are {', '.join(NAMES)}.")
    return told


class SettingsError(Exception):
    """A settings file that cannot be used; the message says which, why and what next."""
