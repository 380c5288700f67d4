"""Every setting, defined once.

The flags of `satchel serve`, the environment variables, the names in `satchel.toml` and the tables in README.md all
come from SETTINGS.
"""

import os
from functools import partial
from typing import Literal

from msgspec import Struct

from satchel.model import DEFAULT_PROJECT

Value = str | int | bool | tuple[str, ...] | None

DEFAULT_CONTRACT = "satchel"
TOOLSETS = ("prompts", "documents", "tasks")
TRANSPORTS = ("stdio", "http")


class Setting(Struct, frozen=True):
    """One setting: its name, its values, and its default."""

    name: str  # in satchel.toml; the flag and the environment variable follow from it
    metavar: str  # the value in `--help`; empty for a flag without one
    help: str
    short_flag: str | None = None
    kind: Literal["text", "number", "yes/no", "uuid", "list"] = "text"
    choices: tuple[str, ...] = ()  # of a text, or of each item of a list
    bounds: tuple[int, int] = (0, 0)  # of a number
    separator: str = ","  # of a list that is one text
    is_repeated: bool = False  # a list; each use of the flag adds one item
    default: Value = None
    default_note: str = ""  # describes a default that is not a fixed value
    is_http: bool = False  # ignored on stdio

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of `serve`, the long one first."""
        long = f"--{self.name.replace('_', '-')}"
        return (long,) if self.short_flag is None else (long, self.short_flag)

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"SATCHEL_{self.name.upper()}"

    @property
    def is_flag(self) -> bool:
        """Whether its flag takes no value."""
        return self.kind == "yes/no"

    @property
    def takes(self) -> str:
        """The values it takes, in words."""
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
    Setting("user", "UUID", "The only user to act as", short_flag="-u", kind="uuid", default_note="the local user"),
    Setting(
        "toolsets",
        "LIST",
        "Serve only these tools of the contract satchel: prompts,documents,tasks",
        kind="list",
        choices=TOOLSETS,
        default=(),
        default_note="all",
    ),
    _flag("read_only", "Change nothing"),
    _number("trash_days", "How many days deleted items can be restored; 0: none", (0, 36_500), 30),
    _number("history_days", "How many days every version is kept", (0, 36_500), 90),
    _number("history_versions", "How many versions of each item are kept regardless of age", (1, 1_000_000), 20),
    Setting("transport", "stdio|http", "How clients connect", short_flag="-t", choices=TRANSPORTS, default="stdio"),
    _http("host", "ADDRESS", "the address to listen on", default="127.0.0.1"),
    _http_number("port", "the port to listen on; 0: any free one", (0, 65535), 8000),
    _http("tls_cert", "FILE", "serve https with this certificate chain in PEM; needs --tls-key"),
    _http("tls_key", "FILE", "the private key of the certificate, in PEM"),
    _http_number("workers", "the number of processes", (1, 64), 1),
    _http_number("connections", "the limit of connections of one process", (1, 100_000), 1000),
    _http(
        "forwarded_allow_ips",
        "LIST",
        "the addresses of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed; *: any",
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
        "how many calls a user with a token may make in a minute, five minutes' worth at once; 0: any number",
        (0, 10_000_000),
        6000,
    ),
    _http_number(
        "user_items",
        "how many items a user with a token may keep, deleted ones included until they expire; 0: any number",
        (0, 100_000_000),
        100_000,
    ),
    _http_number(
        "user_megabytes",
        "how many MiB a user with a token may keep, with old versions until they expire; 0: any number",
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
        default_note="the public URL with a path of the server",
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
