#!/usr/bin/env python3
"""Read and write messages by the million and see that memory and reference counts stay where they were.

It exits 1 when they have grown. `--count` is the number of messages, by default ten million.
"""

from __future__ import annotations

import argparse
import gc
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support import recorded_messages

import batprotocol
from batprotocol import DecodeError
from batprotocol.wire import binary, json


def samples() -> list[bytes]:
    """Recorded messages of all sizes, and broken ones."""
    found = sorted({recorded.data for recorded in recorded_messages() if not recorded.is_json}, key=len)
    chosen = found[:: max(1, len(found) // 60)]
    return chosen + [data[: len(data) // 2] for data in chosen[::12]]


def state() -> tuple[int, ...]:
    gc.collect()
    shared = (None, True, False, batprotocol.TimeUnit.Second, batprotocol.Job, batprotocol.Doubles, batprotocol.Message)
    return (sys.getallocatedblocks(), *map(sys.getrefcount, shared))


def work(messages: list[bytes], texts: list[bytes], count: int) -> int:
    """Read and write at least this many messages in both formats; return how many it were."""
    done = 0
    while done < count:
        for data in messages:
            try:
                binary.encode(binary.decode(data))
            except DecodeError:
                continue
        for text in texts:
            json.dumps(json.decode(text))
        done += len(messages) + len(texts)
    return done


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000_000)
    count = parser.parse_args().count
    messages = samples()
    texts = [json.encode(binary.decode(data)) for data in messages[:60] if len(data) < 2000]
    work(messages, texts, 20_000)
    before, resident, start = state(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    done = work(messages, texts, count)
    seconds = time.perf_counter() - start
    growth = [after - then for then, after in zip(before, state(), strict=True)]
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident
    print(f"{binary.ENGINE} engine: {done} messages in {seconds:.0f} s; blocks and references grew by {growth}, ")
    print(f"the most memory held by {grown} KiB (from {resident} KiB)")
    return int(max(growth) > 1000 or grown > 4096)


if __name__ == "__main__":
    sys.exit(main())
