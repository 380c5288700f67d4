"""Settings, read once and then frozen: flag before environment before `satchel.toml` before default."""

import os
import sys
from collections.abc import Mapping

from msgspec import Struct

from satchel import clock
from satchel.model import DEFAULT_PROJECT

NAMES = ("database", "project", "contract", "user", "libraries")


class Settings(Struct, frozen=True, kw_only=True):
    """What a Satchel process was told."""

    database: str  # a file path or a postgresql:// address
    project: str = DEFAULT_PROJECT
    contract: str | None = None
    libraries: tuple[str, ...] = ()  # folders with libraries in them
    user: str | None = None  # the only user that a connection may act as
    home: str  # the data folder


def load(flags: Mapping[str, str | list[str] | None], environment: Mapping[str, str] | None = None) -> Settings:
    """Settle every setting."""
    environment = os.environ if environment is None else environment
    home = environment.get("SATCHEL_HOME") or _default_home()
    file = _file(os.path.join(home, "satchel.toml"))
    said = {name: flag for name, flag in flags.items() if isinstance(flag, str)}
    told = {name: said.get(name) or environment.get(f"SATCHEL_{name.upper()}") or file.get(name) for name in NAMES}
    libraries = flags.get("libraries") or (told["libraries"] or os.path.join(home, "libraries")).split(os.pathsep)
    if told["user"] is not None and clock.parse_id(told["user"]) is None:
        raise SettingsError(f"'{told['user']}' is no user: a user is a UUID, as `satchel user` prints one.")
    return Settings(
        database=told["database"] or os.path.join(home, "satchel.db"),
        project=told["project"] or DEFAULT_PROJECT,
        contract=told["contract"],
        libraries=tuple(libraries),
        user=told["user"] and clock.parse_id(told["user"]),
        home=home,
    )


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
