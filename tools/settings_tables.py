"""The tables of settings in README.md, between `<!-- settings -->` and `<!-- /settings -->`."""

from satchel.settings import SETTINGS, Setting


def settings_tables() -> str:
    """The tables of settings: those of both transports, then those of HTTP."""
    lines = []
    for is_http in (False, True):
        lines += ["", "With `--transport http` besides:", ""] if is_http else []
        lines += ["| in `satchel.toml` | flag | environment | default | what it is |", "|---|---|---|---|---|"]
        lines += [setting_row(setting) for setting in SETTINGS if setting.is_http is is_http]
    return "\n".join(lines)


def setting_row(setting: Setting) -> str:
    """One setting as a row of a table."""
    flag = f"`{setting.flags[0]} {setting.metavar}".strip() + ("`, repeated" if setting.is_repeated else "`")
    variable = f"`{setting.variable}`" + (f", separated by `{setting.separator}`" if setting.kind == "list" else "")
    default = setting.default_note or (f"`{setting.default_text}`" if setting.default_text else "")
    meaning = f"{setting.help[:1].upper()}{setting.help[1:]}"
    cells = (f"`{setting.name}`", flag, variable, default, meaning)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def with_settings(text: str) -> str:
    """A text with the tables of settings between its markers."""
    before, start, rest = text.partition("<!-- settings -->\n")
    _, end, after = rest.partition("<!-- /settings -->")
    if not start or not end:
        raise SystemExit("README.md lacks the markers <!-- settings --> and <!-- /settings -->.")
    return f"{before}{start}{settings_tables()}\n{end}{after}"
