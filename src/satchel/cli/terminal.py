"""Full-screen terminal with single-key input; its state is restored on exit, even after a crash or a signal."""

import os
import re
import select
import signal
import sys
import termios
import threading
from collections.abc import Sequence
from types import FrameType, TracebackType
from typing import Any

# Switch to the alternate screen without cursor and line wrapping, and back.
_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
_LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_SEQUENCES = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end"}
_SEQUENCE = r"\x1b[\[O][0-9;]*([A-Za-z~])"
_NAMES = {"\r": "enter", "\n": "enter", "\x1b": "escape", " ": "space", "\x04": "q"}
_LONE_ESCAPE = 0.05  # seconds in which the rest of a key sequence follows an escape
_USUAL = (80, 24)  # columns and lines, if the size is unknown
_ENDING = (signal.SIGTERM, signal.SIGHUP)


class Terminal:
    """The terminal on stdin and stdout. As a context manager, it delivers single keys; Ctrl-C still interrupts."""

    def __init__(self) -> None:
        self._input = sys.stdin.fileno()
        self._typed = ""  # typed, but not yet returned by `read_key`
        self._before = termios.tcgetattr(self._input)
        self._handlers: dict[signal.Signals, Any] = {}
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)

    def __enter__(self) -> "Terminal":
        mode = termios.tcgetattr(self._input)
        mode[3] &= ~(termios.ICANON | termios.ECHO)
        controls: list[Any] = mode[6]
        controls[termios.VMIN], controls[termios.VTIME] = 1, 0
        controls[termios.VSUSP] = b"\0"  # disable Ctrl-Z, which would leave the shell on this screen
        try:
            if threading.current_thread() is threading.main_thread():
                for one in _ENDING:
                    self._handlers[one] = signal.signal(one, _end)
                self._handlers[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, lambda *_: self.wake())
            termios.tcsetattr(self._input, termios.TCSADRAIN, mode)
            _write(_ENTER)
        except BaseException:
            self._restore()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def wake(self) -> None:
        """Make `read_key` return, from any thread."""
        try:
            os.write(self._waker, b"!")
        except BlockingIOError:
            return  # the pipe is full, so it will wake anyway

    def read_key(self, timeout: float) -> str | None:
        """Return the name of the next key; empty after `wake`, None after the timeout."""
        if self._typed:
            return self._read()
        ready, _, _ = select.select([self._input, self._woken], [], [], timeout)
        if self._woken in ready:
            os.read(self._woken, 4096)
        if self._input in ready:
            return self._read()
        return "" if ready else None

    def show(self, lines: Sequence[str]) -> None:
        """Show a screen, given as lines that fit."""
        _write("\x1b[H" + "\r\n".join(f"{line}\x1b[K" for line in lines) + "\x1b[J")

    @property
    def size(self) -> tuple[int, int]:
        """Return the number of columns and lines."""
        try:
            size = os.get_terminal_size(sys.stdout.fileno())
        except OSError:
            return _USUAL
        return size if size.columns > 0 and size.lines > 0 else _USUAL

    def _read(self) -> str:
        """Return the next typed key; empty for a key without a name."""
        if not self._typed:
            self._typed = os.read(self._input, 256).decode("utf-8", "replace")
        if not self._typed:
            return "q"  # the terminal is gone
        if self._typed == "\x1b" and select.select([self._input], [], [], _LONE_ESCAPE)[0]:
            self._typed += os.read(self._input, 256).decode("utf-8", "replace")
        found = re.match(_SEQUENCE, self._typed)
        length = len(found[0]) if found else 1
        key, self._typed = self._typed[:length], self._typed[length:]
        return _SEQUENCES.get(found[1], "") if found else _NAMES.get(key, key)

    def _restore(self) -> None:
        _write(_LEAVE)
        termios.tcsetattr(self._input, termios.TCSADRAIN, self._before)
        for one, handler in self._handlers.items():
            signal.signal(one, handler)
        # Keep the pipe open: a thread may still call `wake`.


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _write(text: str) -> None:
    sys.stdout.flush()
    raw = memoryview(text.encode("utf-8", "replace"))
    while raw:
        raw = raw[os.write(sys.stdout.fileno(), raw) :]
