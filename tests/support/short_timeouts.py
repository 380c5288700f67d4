"""`satchel serve` over HTTP with timeouts that a test can wait for; run as `python -m tests.support.short_timeouts`."""

import sys

from satchel import config
from satchel.app import http
from satchel.cli.serve import parse
from satchel.transports.http.limits import Timeouts

REQUEST = 1.0
KEEP_ALIVE = 3
HEARTBEAT = 0.5
TIMEOUTS = Timeouts(request=REQUEST, write=REQUEST, keep_alive=KEEP_ALIVE)


def main() -> int:
    flags = parse(sys.argv[1:])
    assert flags is not None, sys.argv
    settings = config.load(flags)
    assert settings.http is not None
    return http.serve(settings, settings.http, TIMEOUTS, HEARTBEAT)


if __name__ == "__main__":
    sys.exit(main())
