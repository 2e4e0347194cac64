"""What engines call in tests."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PATH = Path(__file__).parent


def does(what: str, shared: Mapping[str, Any], scratch: str) -> Any:
    """What is asked for."""
    assert os.listdir(scratch) == []
    Path(scratch, "left").write_text("behind")
    os.mkdir(os.path.join(scratch, "folder"))
    if what == "raise":
        raise KeyError("what is wrong")
    if what == "die":
        print("the last word", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "leave":
        sys.stderr.write("on the way out")
        os._exit(7)
    if what == "sleep":
        time.sleep(600)
    if what == "eat":
        return len(bytearray(2_000_000_000))
    if what == "who":
        return os.getpid(), scratch
    return what.upper(), dict(shared)
