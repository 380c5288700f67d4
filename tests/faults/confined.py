"""Starts Satchel with less than the tests may do themselves.

python -m tests.faults.confined plain ARGUMENT…        file modes count, for root too
python -m tests.faults.confined 2000000 ARGUMENT…      no file becomes larger, until the limit is raised
"""

import ctypes
import os
import resource
import sys

_PR_CAPBSET_DROP = 24
_CAPABILITIES = (1, 2)  # to write and to read whatever the modes of files say


def main(how: str, *arguments: str) -> None:
    """Give something up, and become the server."""
    if how == "plain":
        for one in _CAPABILITIES if os.geteuid() == 0 else ():
            if ctypes.CDLL(None, use_errno=True).prctl(_PR_CAPBSET_DROP, one, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "prctl")
    else:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(how), resource.RLIM_INFINITY))
    os.execv(sys.executable, [sys.executable, "-m", "satchel", "serve", *arguments])


if __name__ == "__main__":
    main(*sys.argv[1:])
