"""How much memory something takes."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Peak", "peak_memory"]


class Peak:
    """The most bytes that Python held at once, beyond those that it held before; 0 until the measurement has ended."""

    bytes: int = 0


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """Measure the peak of what the block allocates, with garbage collected as often as Python does by itself.

    It is collected first, too: this empties Python's lists of free objects, whose memory would not count. What is left
    need not be looked at again.
    """
    peak = Peak()
    often = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    gc.collect()
    gc.freeze()
    tracemalloc.start()
    try:
        yield peak
        peak.bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.set_threshold(*often)
