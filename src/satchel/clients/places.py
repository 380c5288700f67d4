"""The paths of clients' files on this machine, and which clients are installed on it."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

from satchel.clients.table import CLIENTS, Client

Scope = Literal["user", "project"]


class Machine(Struct, frozen=True, kw_only=True):
    """The platform, environment and working directory, which decide where files are."""

    platform: str  # a value of sys.platform
    environment: Mapping[str, str]
    folder: str  # the working directory, for files of a project

    @classmethod
    def current(cls) -> "Machine":
        """Return this machine, with its present environment and working directory."""
        return cls(platform=sys.platform, environment=dict(os.environ), folder=os.getcwd())

    @property
    def home(self) -> str:
        """The home folder."""
        return self.environment.get("HOME") or os.path.expanduser("~")

    @property
    def config(self) -> str:
        """The folder where applications keep their settings."""
        if self.platform == "darwin":
            return os.path.join(self.home, "Library", "Application Support")
        return self.environment.get("XDG_CONFIG_HOME") or os.path.join(self.home, ".config")

    def expand(self, paths: Sequence[str]) -> list[str]:
        """Expand paths of the table: those whose variable is set, or, if there are none, those without a variable."""
        moved = [path for path in paths if path.startswith("$") and self._variable(path)]
        usual = [path for path in paths if not path.startswith("$")]
        return [self._expand(path) for path in moved or usual]

    def _variable(self, path: str) -> str:
        return self.environment.get(path[1:].partition("/")[0]) or ""

    def _expand(self, path: str) -> str:
        first, slash, rest = path.partition("/")
        base = {"~": self.home, "%config%": self.config}.get(first) or self._variable(path)
        return os.path.join(base, rest) if slash else base

    def choose(self, paths: Sequence[str]) -> str | None:
        """Return the first of the paths that exists; if none does, the first path."""
        found = self.expand(paths)
        return next((path for path in found if os.path.lexists(path)), found[0] if found else None)

    def find_file(self, client: Client, scope: Scope) -> str | None:
        """Return the path of a client's settings file; None if the client has none in this scope."""
        if scope == "project":
            paths = [os.path.join(self.folder, path) for path in client.project_files]
            return next((path for path in paths if os.path.lexists(path)), paths[0] if paths else None)
        return self.choose(client.user_files.get(self.platform) or client.user_files.get("", ()))

    def find_hooks(self, client: Client, scope: Scope) -> str | None:
        """Return the path of a client's file with hooks; None if the client has no hooks."""
        if client.hook is None:
            return None
        if scope == "user":
            return self.choose(client.hook.user_file)
        return os.path.join(self.folder, client.hook.project_file)

    def find_rule(self, client: Client, scope: Scope) -> str | None:
        """Return the path of the instructions for a client's agents; None if the client has none in this scope."""
        if scope == "user":
            return self.choose(client.user_rule)
        return os.path.join(self.folder, client.project_rule) if client.project_rule else None

    def has(self, client: Client) -> bool:
        """Return whether a client is installed on this machine."""
        path = self.environment.get("PATH")
        if any(shutil.which(command, path=path) for command in client.commands):
            return True
        file = self.find_file(client, "user")
        places = [*self.expand(client.folders), *([file] if file else [])]
        return any(os.path.exists(place) for place in places)

    def find_clients(self) -> list[Client]:
        """List the clients on this machine, in the order of the table."""
        return [client for client in CLIENTS if self.has(client)]
