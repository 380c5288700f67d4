"""Puts the other packages together: settings in, a serving process out.

stdio              one client on stdin and stdout
http               many clients over HTTP, in one or several processes
sdk                a contract as a server of the official SDK
open_contract      a contract with its store and libraries, for the owner of the process
greeting           the lines that a server over HTTP prints when it is ready
startup            opens the store; explains why a process cannot start
upkeep             keeps history and trash within the retention, beside the work
project_discovery  finds the current project, for servers and commands
"""

from collections.abc import Sequence

from satchel import config
from satchel.app.startup import CannotStart
from satchel.config import Settings
from satchel.services.texts import closest_name


def serve(settings: Settings) -> int:
    """Serve according to the settings, until the client leaves or a signal comes; return the exit status.

    Raises:
        CannotStart: the contract, the store, the project or a setting cannot be served.
    """
    check_contract(settings)
    if settings.http is not None:
        from satchel.app import http  # asyncio alone takes 24 ms to import

        return http.serve(settings, settings.http)
    from satchel.app import stdio  # imports the protocol, which commands do not need

    return stdio.serve(settings)


def check_contract(settings: Settings) -> None:
    """Check that the contract in the settings exists and supports the settings that narrow it.

    Raises:
        CannotStart: there is no such contract, or it does not support them.
    """
    from satchel.contracts import CONTRACTS  # as above

    if settings.contract not in CONTRACTS:
        near = closest_name(settings.contract, CONTRACTS)
        hint = f"Did you mean '{near}'? " if near else ""
        raise CannotStart(f"there is no contract '{settings.contract}'. {hint}There are: {', '.join(CONTRACTS)}.", 2)
    if settings.contract != "satchel" and settings.http is None and settings.toolsets:
        raise CannotStart("--toolsets narrows the contract satchel; the others have no toolsets.", 2)


def load_settings(**options: str | bool | Sequence[str] | None) -> Settings:
    """Return the settings of a program that embeds Satchel: its options, the environment and `satchel.toml`.

    Empty options are left out.

    Raises:
        SettingsError: a setting has an invalid value.
    """
    given = {name: "yes" if option is True else option for name, option in options.items() if option}
    settings = config.load({name: one if isinstance(one, str) else list(one) for name, one in given.items()})
    try:
        check_contract(settings)
    except CannotStart as error:
        raise config.SettingsError(str(error)) from error
    return settings
