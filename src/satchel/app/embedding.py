"""The settings of a program that embeds Satchel: keyword arguments in the place of flags."""

from collections.abc import Sequence

from satchel import config
from satchel.app import check_contract
from satchel.app.startup import CannotStart

Option = str | bool | Sequence[str] | None


def load_settings(**options: Option) -> config.Settings:
    """The settings that the options, the environment and `satchel.toml` give; an option that is empty is left out.

    Raises:
        SettingsError: a setting cannot be what it is.
    """
    flags: config.Flags = {name: _to_flag(option) for name, option in options.items() if option}
    settings = config.load(flags)
    try:
        check_contract(settings)
    except CannotStart as error:
        raise config.SettingsError(str(error)) from error
    return settings


def _to_flag(option: Option) -> str | list[str]:
    if isinstance(option, str):
        return option
    return "yes" if isinstance(option, bool) else list(option or ())
