"""`satchel serve`. Its options come from the table of settings; click reads them only when this parser cannot."""

from collections.abc import Sequence

from satchel.settings import SETTINGS

Flags = dict[str, str | list[str] | None]


def run(arguments: Sequence[str]) -> int | None:
    """Serve if `parse` understands the arguments; None leaves them to click."""
    flags = parse(arguments)
    return None if flags is None else serve(flags)


def parse(arguments: Sequence[str]) -> Flags | None:
    """The options given; None for anything but known options with a value each, which click reports better."""
    settings = {flag: setting for setting in SETTINGS for flag in setting.flags}
    flags: Flags = {}
    rest = list(arguments)
    while rest:
        flag, has_value, value = rest.pop(0).partition("=")
        setting = settings.get(flag)
        if setting is None or (has_value and (setting.is_flag or not flag.startswith("--"))):
            return None
        if setting.is_flag:
            value = "yes"
        elif not has_value:
            if not rest or rest[0].startswith("-"):
                return None
            value = rest.pop(0)
        before = flags.get(setting.name)
        flags[setting.name] = [*(before if isinstance(before, list) else []), value] if setting.is_repeated else value
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
