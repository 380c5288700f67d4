"""The connections of one process: how many there may be in all and of an address, and which one gives way to a new."""

import ipaddress
from collections import Counter
from functools import lru_cache
from time import monotonic
from typing import Literal, Protocol

from msgspec import Struct

from satchel.transports.http.turns import is_user

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
    holder: str  # whose requests arrive on it (see turns.py); empty before the first one

    def give_way(self) -> None:
        """Close, because another connection needs the room."""


class _Waiting:
    """The connections of one holder that wait for their client: since when, the oldest first."""

    def __init__(self) -> None:
        self.idle: dict[Member, float] = {}
        self.arriving: dict[Member, float] = {}

    def __len__(self) -> int:
        return len(self.idle) + len(self.arriving)

    def find_first(self, address: str | None) -> Member | None:
        """The one that gives way first, of an address or of all: an idle one, but its request may be on its way."""
        idle, arriving = (
            next((one for one in waiting if address is None or one.address == address), None)
            for waiting in (self.idle, self.arriving)
        )
        is_idle_first = idle is not None and (arriving is None or monotonic() - self.idle[idle] > GRACE)
        return idle if is_idle_first else arriving


class Connections:
    """The open connections of one process."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._places: dict[Member, tuple[str, State]] = {}  # the holder, and what it does
        self._by_address: Counter[str] = Counter()
        self._waiting: dict[str, _Waiting] = {}  # by holder
        self.unread = 0  # bytes of all connections that the application has not taken yet

    def admit(self, new: Member) -> Admission:
        """Count a new connection in. Where there is no room, one that waits for its client gives way to it."""
        address = new.address
        if not self._limits.has_room(address, self._by_address[address]) and not self._evict(address):
            return "too many of its address"
        excess = len(self._places) + 1 - self._limits.connections
        has_room = excess <= 0 or self._evict()
        if not has_room and excess > PROBE_CONNECTIONS:
            return "too many"
        self._by_address[address] += 1
        self._enter(new, "idle")
        return "admitted" if has_room else "probes only"

    def change(self, member: Member, state: State) -> None:
        """Note what a connection does now, and for whom."""
        place = self._places.get(member)
        if place is not None and place != (_find_holder(member), state):
            self._leave(member)
            self._enter(member, state)

    def remove(self, member: Member) -> None:
        """Count a connection out, unless that was done."""
        if member not in self._places:
            return
        self._leave(member)
        self._by_address[member.address] -= 1
        if not self._by_address[member.address]:
            del self._by_address[member.address]

    def _enter(self, member: Member, state: State) -> None:
        holder = _find_holder(member)
        self._places[member] = (holder, state)
        if state != "busy":
            waiting = self._waiting.setdefault(holder, _Waiting())
            (waiting.idle if state == "idle" else waiting.arriving)[member] = monotonic()

    def _leave(self, member: Member) -> None:
        holder, state = self._places.pop(member)
        if state != "busy":
            waiting = self._waiting[holder]
            del (waiting.idle if state == "idle" else waiting.arriving)[member]
            if not waiting:
                del self._waiting[holder]

    def _evict(self, address: str | None = None) -> bool:
        """Close a connection that waits for its client, of an address or of all; False if none waits.

        It is one of the holder who has most of them, so that a flood gives way to itself.
        """
        for waiting in sorted(self._waiting.values(), key=len, reverse=True):
            found = waiting.find_first(address)
            if found is not None:
                self.remove(found)
                found.give_way()
                return True
        return False


def _find_holder(member: Member) -> str:
    return member.holder if is_user(member.holder) else f"address {member.address}"


@lru_cache(maxsize=1024)
def _is_loopback(address: str) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return not address  # a Unix socket has none
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback
