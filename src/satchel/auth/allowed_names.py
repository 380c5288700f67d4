"""The host names that a server answers to, and the origins whose pages may call it.

A web page in a browser on this machine can send requests here, even under a host name of its own that resolves to us
(DNS rebinding). It cannot choose the Host and Origin that the browser sends, so both must be on a list.
"""

from collections.abc import Iterable

from msgspec import Struct

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_MAX_HOST = 300  # characters: at most 253 of a name, and a port


class AllowedNames(Struct, frozen=True):
    """The host names and origins of one server."""

    hosts: frozenset[str]  # with a port, only that port is allowed
    origins: frozenset[str]  # in addition to those of this machine

    def has_host(self, host: str) -> bool:
        """Return whether a Host is one of the names with any port, or one that is allowed with exactly this port."""
        folded = host.lower()
        name, port = _split_port(folded)
        return len(host) <= _MAX_HOST and (folded in self.hosts or (name in self.hosts and _is_port(port)))

    def has_origin(self, origin: str) -> bool:
        """Return whether an Origin is allowed or belongs to this machine."""
        if origin in self.origins:
            return True
        scheme, separator, host = origin.partition("://")
        name, port = _split_port(host.lower())
        return scheme in ("http", "https") and bool(separator) and name in LOOPBACK and _is_port(port)


def allow(hosts: Iterable[str], origins: Iterable[str]) -> AllowedNames:
    """Allow the names of this machine and the given ones, except empty strings, which an extra comma makes."""
    named = (host.lower() for host in hosts if host)
    return AllowedNames(frozenset({*LOOPBACK, *named}), frozenset(origin for origin in origins if origin))


def _split_port(host: str) -> tuple[str, str | None]:
    """Split a host into name and port; colons inside the brackets of an IPv6 address separate no port."""
    name, separator, port = host.rpartition(":")
    if not separator or (host.startswith("[") and host.endswith("]")):
        return host, None
    return name, port


def _is_port(port: str | None) -> bool:
    return port is None or (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) <= 65535)
