"""Runs servers as children of one process that has imported everything: a line on stdin starts one.

gRPC is imported here but not used before the fork, which is what it allows. Prints the child's process id; the child
then prints the address.
"""

from __future__ import annotations

import os
import signal
import sys

from loopguard.server import app


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for _ in sys.stdin:
        sys.stdout.flush()
        process_id = os.fork()
        if process_id == 0:
            os._exit(app.main())
        sys.stdout.write(f"{process_id}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
