"""How long a server waits for its clients."""

from msgspec import Struct


class Timeouts(Struct, frozen=True, kw_only=True):
    """Time limits of a server, in seconds."""

    request: float = 30.0  # from the first byte of a request to its last; a body that arrives steadily has more
    body_rate: int = 16 * 1024  # bytes of a body that give it a second more
    body: float = 600.0  # for a request in all, however steadily its body arrives
    write: float = 30.0  # for a client to read something of its response, however little
    keep_alive: int = 75  # for the next request on a connection
    shutdown: int = 10  # for running requests, when the server is told to end
    linger: float = 1.0  # for a client under TLS to agree to a close, when the server ends
