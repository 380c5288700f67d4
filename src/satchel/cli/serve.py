"""`satchel serve`: its options come from the table of settings. click parses only what this parser cannot."""

from collections.abc import Sequence

from satchel import config

Flags = dict[str, str | list[str] | None]


def run(arguments: Sequence[str]) -> int | None:
    """Serve with arguments that `parse` understands, and return the exit status; None leaves the arguments to click."""
    flags = parse(arguments)
    return None if flags is None else serve(flags)


def parse(arguments: Sequence[str]) -> Flags | None:
    """Return the options; None if any is unknown or lacks a value, because click explains mistakes better."""
    settings = {flag: setting for setting in config.SETTINGS for flag in setting.flags}
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
    """Serve with these options, and return the exit status."""
    # The store and the contracts take 15 ms to import, which `satchel --help` need not wait for.
    from satchel import app
    from satchel.app.startup import CannotStart, print_message

    try:
        return app.serve(config.load(flags))
    except config.SettingsError as error:
        print_message(str(error))
        return 2
    except CannotStart as error:
        print_message(str(error))
        return error.status
