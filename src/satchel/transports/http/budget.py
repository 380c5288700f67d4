"""How many bytes may be in flight: bodies that are not answered yet, and answers that are not read yet.

The bytes of a caller with a token count for its user, those of any other for its address, and all for the process.
"""

from collections import Counter
from threading import RLock
from time import monotonic
from weakref import WeakValueDictionary

from anyio import CapacityLimiter

from satchel.transports.http.messages import RETRY_LATER, Refusal
from satchel.transports.http.turns import is_user

MAX_BYTES = 96 * 1024 * 1024  # of one process
MAX_HOLDER_BYTES = 72 * 1024 * 1024  # of one user or address; the largest answer has 64 MiB
RESERVE = 32 * 1024 * 1024  # beyond MAX_BYTES, for those who have little in flight themselves
LITTLE = 8 * 1024 * 1024  # of one user or address
LARGE_MESSAGE = 1024 * 1024  # bytes; of such messages one is decoded at a time
EXPECTED_LARGE = 10.0  # seconds after a large answer, in which others are expected
LOOKUPS = 1  # tokens of one user that are looked up in threads at once
STRANGERS = 4  # and those of all whose token was not valid before: one of them may wait for an issuer
FREE_BYTES = 64 * 1024  # of one request, which are never refused: the number of connections bounds them

TOO_MUCH_OF_HOLDER = f"Your requests and their answers have more than {MAX_HOLDER_BYTES} bytes in flight"
TOO_MUCH_OF_ALL = "Too many bytes are in flight"

_MAX_NOTED = 1000  # holders; then those whose time is over are forgotten


class Budget:
    """The bytes in flight of one process."""

    def __init__(self) -> None:
        self._total = 0
        self.lock = RLock()  # answers are counted by the threads that make them
        self.large_decoder = CapacityLimiter(1)
        self._strangers = CapacityLimiter(STRANGERS)
        self._lookups: WeakValueDictionary[str, CapacityLimiter] = WeakValueDictionary()  # by user, while it is used
        self._large_until: dict[str, float] = {}  # by holder: until when their answers are expected to be large
        self._by_holder: Counter[str] = Counter()

    def check(self, holder: str, size: int) -> None:
        """Check that a holder may have so many more bytes in flight.

        Raises:
            Refusal: 429 where they have too many themselves, 503 where all together have.
        """
        held = self._by_holder[holder] + size
        if held > MAX_HOLDER_BYTES:
            raise Refusal(429, "body", f"{TOO_MUCH_OF_HOLDER}. Read first.", [RETRY_LATER])
        if self._total + size > MAX_BYTES + (RESERVE if held <= LITTLE else 0):
            raise Refusal(503, "body", f"{TOO_MUCH_OF_ALL}. Try again later.", [RETRY_LATER])

    def find_shortage(self, holder: str) -> str:
        """Why no more answers are to be made for a holder now; empty where they may be."""
        held = self._by_holder[holder]
        if held > MAX_HOLDER_BYTES:
            return TOO_MUCH_OF_HOLDER
        return TOO_MUCH_OF_ALL if self._total > MAX_BYTES + (RESERVE if held <= LITTLE else 0) else ""

    def find_lookups(self, holder: str) -> CapacityLimiter:
        """The limiter of the threads that look up tokens for a holder of the event loop (see turns.py)."""
        if not is_user(holder):
            return self._strangers
        found = self._lookups.get(holder)
        if found is None:
            found = self._lookups[holder] = CapacityLimiter(LOOKUPS)
        return found

    def note_large_answer(self, holder: str) -> None:
        """Note that an answer was large: the next ones may be, too."""
        now = monotonic()
        if len(self._large_until) >= _MAX_NOTED:
            self._large_until = {one: until for one, until in self._large_until.items() if until > now}
        self._large_until[holder] = now + EXPECTED_LARGE

    def expects_large_answer(self, holder: str) -> bool:
        """Whether the next answer to a holder is expected to be large, as one of the last was."""
        return self._large_until.get(holder, 0.0) > monotonic()

    def add(self, holder: str, size: int) -> None:
        """Count bytes in, or with a negative size out; from any thread."""
        with self.lock:
            self._total += size
            self._by_holder[holder] += size
            if not self._by_holder[holder]:
                del self._by_holder[holder]


class Account:
    """What one request has in flight."""

    def __init__(self, budget: Budget, address: str) -> None:
        self._budget = budget
        self._holder = f"address {address}"
        self._size = 0
        self._answer_size = 0  # of an answer that is being made
        self._is_closed = False

    def belongs_to(self, user: str) -> None:
        """Count it for a user from now on, instead of for an address."""
        size = self._size
        self.give_back(size)
        self._holder = f"user {user}"
        self.take(size, is_refusable=False)

    def take(self, size: int, *, is_refusable: bool = True) -> None:
        """Count more bytes in. Raises Refusal where that is too many, unless they are not refusable."""
        more = _count(self._size + size) - _count(self._size)
        if is_refusable and more > 0:
            self._budget.check(self._holder, more)
        self._size += size
        if more:
            self._budget.add(self._holder, more)

    def take_answer(self, size: int, *, is_refusable: bool) -> None:
        """Count an answer in; as `take` does."""
        self.make_answer(0)
        if size > FREE_BYTES:
            self._budget.note_large_answer(self._holder)
        self.take(size, is_refusable=is_refusable)

    def make_answer(self, size: int) -> str:
        """Count how large an answer has become that is being made; why nothing is to be added to it, or nothing.

        From the thread that makes it.
        """
        with self._budget.lock:
            if self._is_closed:  # the request was given up, while the thread went on
                return ""
            self._budget.add(self._holder, _count(size) - _count(self._answer_size))
            self._answer_size = size
            return self._budget.find_shortage(self._holder)

    def check_unread(self, id: str | int | None) -> None:
        """Check that a call with this id may begin whose answer cannot be refused later.

        Raises:
            Refusal: the holder has too many bytes in flight.
        """
        if self._budget.find_shortage(self._holder) == TOO_MUCH_OF_HOLDER:
            raise Refusal(429, "body", f"{TOO_MUCH_OF_HOLDER}. Read first.", [RETRY_LATER], id)

    @property
    def expects_large_answer(self) -> bool:
        """Whether the answer is expected to be large, as one of the last to the same holder was."""
        return self._budget.expects_large_answer(self._holder)

    def find_lookups(self, holder: str) -> CapacityLimiter | None:
        """The limiter of the threads that look up tokens, so that those of others need not wait; None where none is."""
        return self._budget.find_lookups(holder) if holder else None

    def decoder(self, size: int) -> CapacityLimiter | None:
        """The limiter of the threads that decode a message of this size; None for the usual threads.

        A text of 32 MiB may become 128 MiB of Python strings.
        """
        return self._budget.large_decoder if size > LARGE_MESSAGE else None

    def give_back(self, size: int) -> None:
        """Count bytes out."""
        self.take(-size, is_refusable=False)

    def close(self) -> None:
        """Count everything out, and nothing more in."""
        with self._budget.lock:
            self.make_answer(0)
            self._is_closed = True
        self.give_back(self._size)


def _count(size: int) -> int:
    """The part of the bytes of a request that counts."""
    return size if size > FREE_BYTES else 0
