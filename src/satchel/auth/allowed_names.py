"""The host names that a server answers to, and the origins that may call it.

A web page in a browser on this machine can send requests here, even under a host name of its own that resolves to us
(DNS rebinding). It cannot choose the Host and Origin that the browser sends, so both must be on a list.
"""

import re
from collections.abc import Iterable
from ipaddress import ip_address

from msgspec import Struct

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

_HOST = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([0-9]{1,5}))?")  # a name, or an IPv6 address in brackets; a port


class AllowedNames(Struct, frozen=True):
    """The host names and origins of one server."""

    hosts: frozenset[str]  # with a port, only that port is allowed
    origins: frozenset[str]  # in addition to those of this machine

    def has_host(self, host: str) -> bool:
        """Return whether a Host is allowed, with any port or with exactly this one."""
        folded = host.lower()
        return folded in self.hosts or _find_name(folded) in self.hosts

    def has_origin(self, origin: str) -> bool:
        """Return whether an Origin is allowed or belongs to this machine."""
        scheme, _, host = origin.partition("://")
        return origin in self.origins or (scheme in ("http", "https") and _find_name(host.lower()) in LOOPBACK)


def allow(hosts: Iterable[str], origins: Iterable[str]) -> AllowedNames:
    """Allow the names of this machine and the given names; ignore empty ones, which come from an extra comma."""
    named = (host.lower() for host in hosts if host)
    return AllowedNames(frozenset({*LOOPBACK, *named}), frozenset(origin for origin in origins if origin))


def is_loopback(host: str) -> bool:
    """Return whether a host, perhaps in brackets, is this machine."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _find_name(host: str) -> str | None:
    """Return the name in a host with or without a port; None if the host is malformed."""
    found = _HOST.fullmatch(host)
    return found[1] if found is not None and 0 < int(found[2] or 1) <= 65535 else None
