"""A program that waits for a simulation again and again, and tells how each wait ended: for tests with signals.

It prints `bound ENDPOINT` whenever it waits, then the name of what ended it and how many seconds after that it took.
"""

from __future__ import annotations

import sys

from batprotocol.edc import Scheduler, run


def bound(endpoint: str) -> None:
    print("bound", endpoint, flush=True)


def main(times: int) -> None:
    for _ in range(times):
        try:
            run(Scheduler(), "tcp://127.0.0.1:*", on_bound=bound)
        except (KeyboardInterrupt, SystemExit) as error:
            print(type(error).__name__, getattr(error, "code", ""), flush=True)
        else:
            print("ended", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
