"""Changes that processes announce to each other: their encoding, and the thread that passes them to a listener."""

import threading

import msgspec

from satchel.errors import StoreFailed
from satchel.log import log, log_surprise
from satchel.model import StoreChange
from satchel.storage.database import Listener

EVERYTHING = StoreChange("everything")

_CHANGES = msgspec.json.Decoder(list[StoreChange])


def encode(changes: list[StoreChange]) -> str:
    """Encode changes as JSON."""
    return msgspec.json.encode(changes).decode()


def decode(text: str) -> list[StoreChange]:
    """Decode changes; return `everything` for a change that only a newer Satchel knows."""
    try:
        return _CHANGES.decode(text)
    except msgspec.DecodeError:
        return [EVERYTHING]


class Watcher:
    """Polls an engine for changes in a thread, and passes them to a listener, until it is stopped."""

    interval = 0.0  # seconds between polls

    def __init__(self, listen: Listener) -> None:
        self._listen = listen
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="satchel-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and close the connection."""
        self._stopped.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(1)

    def poll(self) -> list[StoreChange]:
        """Return the changes since the last poll; it may wait half a second for some.

        Raises:
            StoreFailed: the store cannot be asked now.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Close the connection."""
        raise NotImplementedError

    def _run(self) -> None:
        complaint = ""
        while not self._stopped.wait(self.interval):
            try:
                changes = self.poll()
                complaint = ""
            except StoreFailed as error:
                changes = []
                if str(error) != complaint and not self._stopped.is_set():  # once, not with every poll
                    complaint = str(error)
                    log(f"watching the store: {complaint.strip()}")
            if changes and not self._stopped.is_set():
                self._pass_on(changes)
        self.close()

    def _pass_on(self, changes: list[StoreChange]) -> None:
        try:
            self._listen(changes)
        except Exception:  # the listener still gets the next changes
            log_surprise("watching the store")
