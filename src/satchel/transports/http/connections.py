"""The connections of one process: how many there may be in all and of an address, and which one gives way to a new."""

import ipaddress
from collections import Counter
from time import monotonic
from typing import Literal, Protocol

from msgspec import Struct

MAX_UNREAD_BYTES = 32 * 1024 * 1024  # received on all connections, and not taken by the application yet
PROBE_CONNECTIONS = 8  # beyond the bound, for requests of /health only
DEFAULT_PER_ADDRESS = 200
GRACE = 1.0  # seconds for which an idle connection does not go before one whose request has begun

# What a connection does: it waits for a request, for the rest of one, or the server has something to do for it.
State = Literal["idle", "arriving", "busy"]
Admission = Literal["admitted", "probes only", "too many", "too many of its address"]


class Limits(Struct, frozen=True, kw_only=True):
    """How many connections a process has at most."""

    connections: int
    per_address: int | None = None  # None: DEFAULT_PER_ADDRESS, and no bound for this machine itself

    def has_room(self, address: str, count: int) -> bool:
        """Whether an address may have one more connection than so many."""
        if self.per_address is not None:
            return count < self.per_address
        return count < DEFAULT_PER_ADDRESS or _is_loopback(address)


class Member(Protocol):
    """A connection, as the register sees it."""

    address: str

    def give_way(self) -> None:
        """Close, because another connection needs the room."""


class Connections:
    """The open connections of one process."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._states: dict[Member, State] = {}
        self._by_address: Counter[str] = Counter()
        self._idle: dict[Member, float] = {}  # since when, the oldest first
        self._arriving: dict[Member, float] = {}
        self.unread = 0  # bytes of all connections that the application has not taken yet

    def admit(self, new: Member) -> Admission:
        """Count a new connection in. Where there is no room, one that waits for its client gives way to it."""
        address = new.address
        if not self._limits.has_room(address, self._by_address[address]) and not self._evict(address):
            return "too many of its address"
        excess = len(self._states) + 1 - self._limits.connections
        has_room = excess <= 0 or self._evict()
        if not has_room and excess > PROBE_CONNECTIONS:
            return "too many"
        self._states[new] = "busy"
        self._by_address[address] += 1
        self.change(new, "idle")
        return "admitted" if has_room else "probes only"

    def change(self, member: Member, state: State) -> None:
        """Note what a connection does now."""
        if self._states.get(member, state) == state:
            return  # it is the same, or the connection is not in the register
        self._idle.pop(member, None)
        self._arriving.pop(member, None)
        self._states[member] = state
        if state != "busy":
            (self._idle if state == "idle" else self._arriving)[member] = monotonic()

    def remove(self, member: Member) -> None:
        """Count a connection out, unless that was done."""
        if self._states.pop(member, None) is None:
            return
        self._idle.pop(member, None)
        self._arriving.pop(member, None)
        self._by_address[member.address] -= 1
        if not self._by_address[member.address]:
            del self._by_address[member.address]

    def _evict(self, address: str | None = None) -> bool:
        """Close the connection that has waited longest for its client, of an address or of all; False if none waits.

        Idle ones go first, except new ones: their request may be on its way.
        """
        idle, arriving = (
            next((one for one in waiting if address is None or one.address == address), None)
            for waiting in (self._idle, self._arriving)
        )
        is_idle_first = idle is not None and (arriving is None or monotonic() - self._idle[idle] > GRACE)
        found = idle if is_idle_first else arriving
        if found is None:
            return False
        self.remove(found)
        found.give_way()
        return True


def _is_loopback(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return not address  # a Unix socket has none
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback
