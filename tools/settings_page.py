"""Render docs/reference/settings.md: every setting in tables, and a whole `satchel.toml`."""

from satchel.config import SETTINGS, Setting

HEAD = """\
# Settings

<!-- Made from the code by `make docs`. Do not edit. -->

Flags of `satchel serve` override environment variables, and these override `satchel.toml` in the data folder.
`SATCHEL_HOME` names the data folder; the default is the platform's, such as `~/.local/share/satchel`. Only you can read
the folder and its files (modes 0700 and 0600). Other commands read the same file and variables, and have the flags
`--database`, `--project` and `--user`.

A PostgreSQL store needs `pip install 'satchel[postgres]'`, which `make run` includes.
"""

FILE = """
## A whole satchel.toml

Every line is optional. Lines that begin with `#` show the default, or an example if there is no default.
"""


def settings_page() -> str:
    """Return the text of the page."""
    return f"{HEAD}\n{_tables()}\n{FILE}\n```toml\n{whole_file()}```\n"


def whole_file() -> str:
    """Return a `satchel.toml` with every setting."""
    lines = []
    for setting in SETTINGS:
        meaning = f"{setting.help[:1].upper()}{setting.help[1:]}"
        lines += [f"# {meaning}.", f"# {setting.name} = {_value(setting)}", ""]
    return "\n".join(lines[:-1]) + "\n"


def _tables() -> str:
    """Return the settings of both transports, then those of HTTP."""
    lines = []
    for is_http in (False, True):
        lines += ["", "Also, with `--transport http`:", ""] if is_http else []
        lines += ["| in `satchel.toml` | flag | environment | default | meaning |", "|---|---|---|---|---|"]
        lines += [_row(setting) for setting in SETTINGS if setting.is_http is is_http]
    return "\n".join(lines)


def _row(setting: Setting) -> str:
    flag = f"`{setting.flags[0]} {setting.metavar}".strip() + ("`, repeated" if setting.is_repeated else "`")
    variable = f"`{setting.variable}`" + (f", separated by `{setting.separator}`" if setting.kind == "list" else "")
    default = setting.default_note or (f"`{setting.default_text}`" if setting.default_text else "")
    meaning = f"{setting.help[:1].upper()}{setting.help[1:]}"
    cells = (f"`{setting.name}`", flag, variable, default, meaning)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


_EXAMPLES = {  # of settings without a fixed default
    "project": '"demo"',
    "database": '"postgresql://satchel@db.example/satchel"',
    "database_direct": '"postgresql://satchel@db-a.example,db-b.example/satchel"',
    "libraries": '["~/prompts", "/srv/libraries"]',
    "user": '"6f9c0d3e-52b1-4c7e-9f3a-1d2e3f4a5b6c"',
    "toolsets": '["prompts", "documents", "tasks"]',
    "tls_cert": '"/etc/satchel/chain.pem"',
    "tls_key": '"/etc/satchel/key.pem"',
    "allow_host": '["satchel.example"]',
    "allow_origin": '["https://app.example"]',
    "public_url": '"https://satchel.example"',
    "oauth_issuer": '"https://login.example/realms/us"',
    "oauth_client_id": '"satchel-page"',
    "oauth_audience": '"https://satchel.example/mcp"',
    "oauth_keys": '"/etc/satchel/jwks.json"',
}


def _value(setting: Setting) -> str:
    """Return the default as TOML, or an example."""
    if setting.kind == "yes/no":
        return "true" if setting.default else "false"
    if setting.name in _EXAMPLES:
        return _EXAMPLES[setting.name]
    return str(setting.default) if setting.kind == "number" else f'"{setting.default_text}"'
