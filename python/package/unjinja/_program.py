"""The command line of the wheel."""

import signal
import sys

from . import _native


def main() -> int:
    """Runs the program `unjinja` with the arguments of the process."""
    # The program ends where whoever reads its output has gone, and at Ctrl-C, as programs do.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.run(["unjinja", *sys.argv[1:]])
