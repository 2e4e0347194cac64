"""Laws of failures that studies of real machines have published."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from batprotocol.errors import InputError, hint, shown
from batprotocol.workloads.outages.failures import FailureModel
from batprotocol.workloads.outages.laws import Law, Lognormal, Weibull

__all__ = ["FAILURE_PRESETS", "Preset", "failure_preset"]

_MINUTE: Final = 60.0
_HOUR: Final = 3600.0


class Preset(NamedTuple):
    """A published model.

    Attributes:
        meaning: the laws.
        source: where they are published.
        repair: the law of repairs.
        between: the law of the times between failures; a function of their mean where the study has none.
    """

    meaning: str
    source: str
    repair: Law
    between: Law | Callable[[float], Law]


def _lanl(mean: float) -> Law:
    return Weibull.of_mean(0.7, mean)


FAILURE_PRESETS: Final[dict[str, Preset]] = {
    "lanl": Preset(
        "The machines of Los Alamos National Laboratory, 1996 to 2005: Weibull with a shape of 0.7 (they found 0.7 to "
        "0.8) and the mean that you give; repairs lognormal, with a mean of 355 minutes and a median of 54 minutes.",
        "B. Schroeder and G. A. Gibson, 'A large-scale study of failures in high-performance computing systems', "
        "DSN 2006",
        Lognormal.of_mean(355 * _MINUTE, 54 * _MINUTE),
        _lanl,
    ),
    "opendc": Preset(
        "The same machines in the Failure Trace Archive, as OpenDC's `Lanl05Wbl`: Weibull with a shape of 0.48 and a "
        "scale of 816.6 hours; repairs Weibull with a shape of 0.58 and a scale of 2.18 hours.",
        "B. Javadi, D. Kondo, A. Iosup and D. Epema, 'The Failure Trace Archive: enabling the comparison of failure "
        "measurements and models of distributed systems', JPDC 73(8), 2013",
        Weibull(0.58, 2.18 * _HOUR),
        Weibull(0.48, 816.6 * _HOUR),
    ),
}
"""The published models, by their names."""


def failure_preset(name: str, *, mtbf: float | None = None, each: str = "host") -> FailureModel:
    """The model of a preset.

    Args:
        name: its name, one of `FAILURE_PRESETS`.
        mtbf: the mean time between failures of a group, in seconds; needed for `lanl`, and only there.
        each: the hosts that fail together, as for `host_groups`.

    Raises:
        InputError: there is no such preset, or it has a mean of its own, or needs one.

    >>> failure_preset("lanl", mtbf=86400.0).between.mean
    86400.0
    """
    found = FAILURE_PRESETS.get(name)
    if found is None:
        raise InputError(f"expected {', '.join(FAILURE_PRESETS)}, got {shown(name)}{hint(name, FAILURE_PRESETS)}")
    if callable(found.between):
        if mtbf is None:
            raise InputError(f"{name} has no mean time between failures: give one")
        return FailureModel(found.between(mtbf), found.repair, each)
    if mtbf is not None:
        raise InputError(f"{name} has a mean time between failures of its own: leave yours out")
    return FailureModel(found.between, found.repair, each)
