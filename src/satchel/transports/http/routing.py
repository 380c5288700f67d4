"""Which application answers which path, and the lifespan of all of them together."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

from satchel.transports.http.messages import App, Receive, Scope, Send


class Router:
    """An ASGI application that finds another one by the path: the whole path first, then what it begins with."""

    def __init__(
        self,
        paths: Mapping[str, App],
        prefixes: Mapping[str, App],
        *,
        default: App,
        lifespan: Callable[[], AbstractAsyncContextManager[None]],
    ) -> None:
        self._paths = paths
        self._prefixes = prefixes
        self._default = default
        self._lifespan = lifespan

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        await self.find(_find_path(scope))(scope, receive, send)

    def find(self, path: str) -> App:
        """The application that answers a path."""
        found = self._paths.get(path)
        if found is not None:
            return found
        return next((app for prefix, app in self._prefixes.items() if path.startswith(prefix)), self._default)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Answer the messages of the server about its start and its end."""
        has_started = False
        await receive()
        try:
            async with self._lifespan():
                await send({"type": "lifespan.startup.complete"})
                has_started = True
                await receive()
        except BaseException as error:
            what = "shutdown" if has_started else "startup"
            await send({"type": f"lifespan.{what}.failed", "message": f"{type(error).__name__}: {error}"})
            raise
        await send({"type": "lifespan.shutdown.complete"})


def _find_path(scope: Scope) -> str:
    """The path below where we are mounted: servers leave the mount point in the path, and name it as the root path."""
    path: str = scope["path"]
    root: str = scope.get("root_path") or ""
    return path[len(root) :] if root and (path == root or path.startswith(f"{root}/")) else path
