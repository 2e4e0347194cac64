"""The electricity of episodes: the watts of hosts, the carbon intensity and the price, and what agents see of them.

This module must not know worlds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from batprotocol.errors import InputError, shown
from batprotocol.gym.log import Log
from batprotocol.workloads import parse_watts
from batprotocol.workloads.electricity import CARBON, PRICE, Kind, PowerEvent, Trace
from batprotocol.workloads.electricity.tables import trace_named
from batprotocol.workloads.electricity.trace import power_events

__all__ = ["SUMS", "Electric", "KnownElectricity"]

SUMS: Final[dict[Kind, str]] = {CARBON: "carbon_grams", PRICE: "cost"}
"""The names of the sums in `info`."""

_HOUR: Final = 3600.0
_LONGER: Final = 4.0
"""Changes are events for this many times the time that the jobs of an episode need."""
GivenTrace: TypeAlias = "Trace | str | None"


class Electric(msgspec.Struct, frozen=True, kw_only=True):
    """The electricity of an environment.

    Args:
        carbon: the carbon intensity, a trace that repeats, or its name (`gb.csv?repeat=yes`, `daily:300`); None: none.
        price: the price, as `carbon`.
        watts: the watts of hosts, as `parse_watts` reads them. `Power` has a platform of its own.
        forecast: the number of hours to come whose mean values agents see, >= 0.
    """

    carbon: GivenTrace = None
    price: GivenTrace = None
    watts: str = "idle=95,busy=190"
    forecast: int = 24


class KnownElectricity:
    """The traces of an environment, and the numbers that agents see.

    Args:
        given: the description.

    Raises:
        InputError: a trace cannot be used, or does not repeat.
        OSError: a file cannot be read.
    """

    def __init__(self, given: Electric) -> None:
        if type(given.forecast) is not int or given.forecast < 0:
            raise InputError(f"expected a forecast of hours >= 0, got {shown(given.forecast)}")
        self.given = given
        self.traces: dict[Kind, Trace] = {}
        for kind, trace in ((CARBON, given.carbon), (PRICE, given.price)):
            if trace is not None:
                self.traces[kind] = _trace(trace, kind)
        self._ranges = {kind: (min(each.values), max(each.values)) for kind, each in self.traces.items()}
        self.watts = parse_watts(given.watts)
        """The watts of hosts, for environments without a platform of their own."""

    def __deepcopy__(self, memo: object) -> KnownElectricity:
        return self  # it never changes

    def __reduce__(self) -> tuple[type[KnownElectricity], tuple[Electric]]:
        return KnownElectricity, (self.given,)

    @property
    def size(self) -> int:
        """The number of numbers that agents see."""
        return 1 + len(self.traces) * (1 + self.given.forecast)

    def numbers(self, now: float, watts: float, most: float) -> npt.NDArray[np.float64]:
        """The numbers that agents see, in [0, 1]: the watts; then for each trace its value, and those to come.

        Args:
            now: the time, in seconds.
            watts: the watts that the machine draws.
            most: the most that it can draw.
        """
        found = [watts / most if most > 0 else 0.0]
        for kind, trace in self.traces.items():
            least, largest = self._ranges[kind]
            values = [trace.at(now)]
            values += [trace.mean(now + hour * _HOUR, now + (hour + 1) * _HOUR) for hour in range(self.given.forecast)]
            found += [(value - least) / (largest - least) if largest > least else 0.0 for value in values]
        seen: npt.NDArray[np.float64] = np.clip(np.array(found), 0.0, 1.0)
        return seen

    def changes(self, log: Log, first: int, count: int) -> Iterator[tuple[float, PowerEvent]]:
        """The changes of traces in an episode, with their times, after its first submission."""
        begin = float(log.submitted[first])
        until = begin + _LONGER * log.needed(first, count)
        for kind, trace in self.traces.items():
            yield from ((time, event) for time, event in power_events(trace, kind, until) if time > begin)


def _trace(given: Trace | str, kind: Kind) -> Trace:
    trace = trace_named(given, kind) if isinstance(given, str) else given
    if not trace.repeats:
        raise InputError(
            f"expected a {kind} that repeats, as episodes may last long: add repeat=yes, got {shown(given)}"
        )
    return trace
