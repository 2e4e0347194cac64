"""The clock: calls in turn, round after round, and the median of the rounds.

In each round every call gets one batch, long enough for the clock to measure, and the next round starts with another
call, so other load on the machine slows all of them alike. The times are processor time, and as in `timeit`, the
garbage collector is off.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from itertools import repeat
from time import thread_time_ns
from typing import Any, TypeVar

__all__ = ["Call", "import_times", "measure"]

_Key = TypeVar("_Key", bound=Hashable)


@dataclass(frozen=True)
class Call:
    """A timed call: a function and its argument. `before` is called first and is not timed."""

    function: Callable[[Any], object]
    argument: Any
    before: Callable[[], None]

    def time(self, times: int) -> float:
        """The mean time of `times` calls, in nanoseconds."""
        self.before()
        function, argument = self.function, self.argument
        start = thread_time_ns()
        for _ in repeat(None, times):
            function(argument)
        return (thread_time_ns() - start) / times


def measure(calls: Mapping[_Key, Call], rounds: int, batch: int) -> dict[_Key, float]:
    """The median time of each call in nanoseconds.

    Args:
        calls: what to time.
        rounds: how many batches each call gets.
        batch: how long a batch shall take, in nanoseconds; it holds one call at least.
    """
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        sizes = {key: _batch_size(call, batch) for key, call in calls.items()}
        samples: dict[_Key, list[float]] = {key: [] for key in calls}
        keys = list(calls)
        for _ in range(rounds):
            for key in keys:
                samples[key].append(calls[key].time(sizes[key]))
            keys.append(keys.pop(0))
    finally:
        if collecting:
            gc.enable()
    return {key: statistics.median(times) for key, times in samples.items()}


def _batch_size(call: Call, batch: int) -> int:
    """How many calls fill a batch."""
    size = 1
    while True:
        time = min(call.time(size) for _ in range(3))
        if time * size > batch / 8:
            return max(1, round(batch / time))
        size *= 4


_IMPORT = """\
import sys
from time import thread_time_ns
sys.path[:] = {path!r}
start = thread_time_ns()
import {module}
print(thread_time_ns() - start)
"""


def import_times(imports: Mapping[str, tuple[str, Mapping[str, str]]], rounds: int) -> dict[str, float]:
    """The median time that an import takes in a new interpreter, in nanoseconds.

    Args:
        imports: by name, the module to import and what to add to the environment.
        rounds: how many interpreters to start for each.
    """
    samples: dict[str, list[int]] = {name: [] for name in imports}
    for number in range(rounds + 1):
        for name, (module, variables) in imports.items():
            program = _IMPORT.format(path=sys.path, module=module)
            environment = {**os.environ, **variables}
            done = subprocess.run(
                [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
            )
            if number:  # the first one may have had to compile
                samples[name].append(int(done.stdout))
    return {name: statistics.median(times) for name, times in samples.items()}
