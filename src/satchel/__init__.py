"""Satchel keeps prompts, documents and tasks in one store and serves them over the Model Context Protocol."""

import sys

__version__ = "0.1.0"


def _import_msgspec_without_typing_extensions() -> None:
    # msgspec tries typing_extensions first and typing second. On the Pythons we support the two give it the
    # same, but the first costs a cold start 30 ms and 5 MB, so it is hidden while msgspec is imported.
    if "msgspec" in sys.modules or "typing_extensions" in sys.modules:
        return
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules["typing_extensions"]


_import_msgspec_without_typing_extensions()
