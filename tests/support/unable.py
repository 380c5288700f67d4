"""A Satchel whose worker processes cannot start."""

import sys

from satchel.app import http
from satchel.errors import StoreUnusable


def _fail(*_: object) -> None:
    raise StoreUnusable("this worker cannot start. Nothing helps.")


if __name__ == "__main__":
    from satchel.__main__ import main

    sys.exit(main())
else:  # in a worker, which imports the main module again
    http.make_app = _fail  # type: ignore[assignment]
