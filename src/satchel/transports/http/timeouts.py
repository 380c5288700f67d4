"""How long a server waits for its clients."""

from msgspec import Struct


class Timeouts(Struct, frozen=True, kw_only=True):
    """Time limits of a server, in seconds."""

    request: float = 30.0  # from the first byte of a request to its last
    write: float = 30.0  # for a client to read something of its response; kept by the kernel, on Linux only
    keep_alive: int = 75  # for the next request on a connection
    shutdown: int = 10  # for running requests, when the server is told to end
    linger: float = 1.0  # for a client under TLS to agree to a close, when the server ends
