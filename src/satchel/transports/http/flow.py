"""When a connection reads nothing: its application has enough, or it waits for its turn."""

from uvicorn.protocols.http.flow_control import FlowControl


class Flow(FlowControl):
    """uvicorn's flow control, with a second reason to read nothing: the connection waits for its turn."""

    is_waiting = False

    def wait(self) -> None:
        """Read nothing until it is the connection's turn."""
        self.is_waiting = True
        self._transport.pause_reading()

    def go_on(self) -> None:
        """It is its turn: read again, unless the application has more than it can take."""
        self.is_waiting = False
        if not self.read_paused:
            self._transport.resume_reading()

    def resume_reading(self) -> None:
        if self.is_waiting:
            self.read_paused = False
        else:
            super().resume_reading()
