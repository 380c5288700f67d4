"""`satchel serve`: its options as a table that a few lines here read, and that click reads when help is needed."""

from collections.abc import Sequence

from msgspec import Struct

Flags = dict[str, str | list[str] | None]


class Option(Struct, frozen=True):
    """One option of `serve`."""

    name: str
    flags: tuple[str, ...]
    metavar: str
    help: str
    is_repeated: bool = False
    is_flag: bool = False  # takes no value


def _http(name: str, metavar: str, help: str, *, is_repeated: bool = False) -> Option:
    flag = name.replace("_", "-")
    return Option(name, (f"--{flag}",), metavar, f"{help} [env: SATCHEL_{name.upper()}]", is_repeated=is_repeated)


OPTIONS = (
    Option(
        "contract", ("--contract", "-c"), "NAME", "The contract to serve; default: satchel. [env: SATCHEL_CONTRACT]"
    ),
    Option("project", ("--project", "-p"), "NAME", "The project to work in; default: default. [env: SATCHEL_PROJECT]"),
    Option(
        "database",
        ("--database", "-d"),
        "PATH|URL",
        "The store: a file, or postgresql://… ; default: satchel.db in the data folder. [env: SATCHEL_DATABASE]",
    ),
    Option(
        "libraries",
        ("--libraries", "-l"),
        "DIR",
        "A folder of libraries; may be said several times. [env: SATCHEL_LIBRARIES]",
        is_repeated=True,
    ),
    Option("user", ("--user", "-u"), "UUID", "The only user to act as; default: the local one. [env: SATCHEL_USER]"),
    Option(
        "toolsets",
        ("--toolsets",),
        "LIST",
        "Only these tools of satchel: prompts,resources,tasks. [env: SATCHEL_TOOLSETS]",
    ),
    Option("read_only", ("--read-only",), "", "Change nothing. [env: SATCHEL_READ_ONLY]", is_flag=True),
    Option("transport", ("--transport", "-t"), "stdio|http", "How; default: stdio. [env: SATCHEL_TRANSPORT]"),
    _http("host", "ADDRESS", "HTTP: where to listen; default: 127.0.0.1."),
    _http("port", "NUMBER", "HTTP: the port; default: 8000; 0: any free one."),
    _http("workers", "NUMBER", "HTTP: how many processes; default: 1."),
    _http("connections", "NUMBER", "HTTP: the most connections of a process; default: 1000."),
    _http("auth", "none|token|oauth", "HTTP: how callers are known; default: none, on this machine only."),
    _http("allow_host", "NAME", "HTTP: another host name that we are reached by; repeatable.", is_repeated=True),
    _http("allow_origin", "ORIGIN", "HTTP: an origin whose web pages may call; repeatable.", is_repeated=True),
    _http("public_url", "URL", "HTTP: the address by which clients reach us, behind a proxy."),
    _http("oauth_issuer", "URL", "OAuth: the issuer whose tokens are taken."),
    _http("oauth_audience", "TEXT", "OAuth: whom tokens must be for; default: the public URL with a path of ours."),
    _http("oauth_algorithm", "NAME", "OAuth: how tokens are signed; default: RS256."),
    _http("oauth_keys", "URL|FILE", "OAuth: the keys (JWKS, or PEM); default: where the issuer says."),
)


def run(arguments: Sequence[str]) -> int | None:
    """Serve, if the arguments are plain enough to be understood here; None leaves them to click."""
    flags = parse(arguments)
    return None if flags is None else serve(flags)


def parse(arguments: Sequence[str]) -> Flags | None:
    """The options given, or None for anything but known options with a value each."""
    options = {flag: option for option in OPTIONS for flag in option.flags}
    flags: Flags = {}
    rest = list(arguments)
    while rest:
        flag, has_value, value = rest.pop(0).partition("=")
        if flag not in options or (has_value and (options[flag].is_flag or not flag.startswith("--"))):
            return None
        if options[flag].is_flag:
            value = "yes"
        elif not has_value:
            if not rest or rest[0].startswith("-"):
                return None
            value = rest.pop(0)
        option = options[flag]
        before = flags.get(option.name)
        flags[option.name] = [*(before if isinstance(before, list) else []), value] if option.is_repeated else value
    return flags


def serve(flags: Flags) -> int:
    """Serve with these options."""
    from satchel import app, config
    from satchel.contracts import CONTRACTS

    try:
        settings = config.load(flags)
    except config.SettingsError as error:
        return app.complain(str(error), 2)
    known = ", ".join(CONTRACTS)
    if settings.contract not in CONTRACTS:
        from satchel.services.suggestions import closest_name

        near = closest_name(settings.contract, CONTRACTS)
        hint = f"Did you mean '{near}'? " if near else ""
        return app.complain(f"there is no contract '{settings.contract}'. {hint}There are: {known}.", 2)
    if settings.contract != "satchel" and settings.http is None and (settings.toolsets or settings.is_read_only):
        return app.complain("--toolsets and --read-only narrow the contract satchel; the others are served whole.", 2)
    return app.serve(settings)
