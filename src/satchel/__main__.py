"""The command `satchel`. `serve` starts without click, which takes 20 to 30 ms; click runs everything else.

Without arguments it serves on stdin and stdout, because that is how clients start it; on a terminal it welcomes people.
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
            from satchel.cli.welcome import TEXT

            sys.stdout.write(TEXT)
            return 0
        arguments = ["serve"]
    if arguments[:1] == ["serve"]:
        # What a start makes is no garbage, and to look for some takes 4 ms. Once it serves, it collects again.
        gc.disable()
        from satchel.cli.serve import run

        status = run(arguments[1:])
        if status is not None:
            return status
        gc.enable()
    from satchel.cli.main import run_command

    return run_command(arguments)


def _has_no_client() -> bool:
    """Whether stdin is a terminal, or closed."""
    try:
        os.fstat(0)
    except OSError:
        return True
    return os.isatty(0)


if __name__ == "__main__":
    sys.exit(main())
