"""The command `satchel`. `serve` starts without click, which takes 20 to 30 ms; click runs every other command.

Without arguments it serves over stdio, because clients start it like that; on a terminal it prints a welcome.
"""

import gc
import os
import sys

_COMPLETING = "_SATCHEL_COMPLETE"  # the variable by which a shell asks for completions, without arguments


def main() -> int:
    """Run the command line and return the exit status."""
    arguments = sys.argv[1:]
    if not arguments and _COMPLETING not in os.environ:
        if _has_no_client():
            from satchel.cli.app import WELCOME

            sys.stdout.write(WELCOME)
            return 0
        arguments = ["serve"]
    _open_closed_streams()
    if arguments[:1] == ["serve"]:
        # Without garbage collection a start is 4 ms faster; the server enables it.
        gc.disable()
        from satchel.cli.serve import run

        status = run(arguments[1:])
        if status is not None:
            return status
        gc.enable()
    from satchel.cli.app import run_command

    return run_command(arguments)


def _open_closed_streams() -> None:
    """Open /dev/null in place of each standard stream that the caller closed and Python therefore set to None."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)  # returns the lowest free number, which is the stream's
            setattr(sys, name, os.fdopen(number, mode))


def _has_no_client() -> bool:
    """Return whether stdin is closed or a terminal, so that no client can be there."""
    try:
        os.fstat(0)
    except OSError:
        return True
    return os.isatty(0)


if __name__ == "__main__":
    sys.exit(main())
