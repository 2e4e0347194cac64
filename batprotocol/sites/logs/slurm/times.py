"""Times in Slurm's accounting: its words for no time, and spans such as `1-02:03:04`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from batprotocol.sites.slurm import texts as amounts
from batprotocol.sites.slurm.texts import elapsed

__all__ = [
    "NOTHING",
    "NO_LIMITS",
    "OF_PARTITION",
    "minutes_of",
    "seconds_of",
    "settled",
    "walltime_of",
]

NOTHING: Final = amounts.NOTHING | {"Unknown", "unknown", "UNKNOWN", "NONE", "0"}
"""The words for a time, or another value, that the log does not have."""

OF_PARTITION: Final = "Partition_Limit"
"""The word for the time limit of a job that did not ask for one, before it starts."""
NO_LIMITS: Final = amounts.UNLIMITED | {OF_PARTITION}
"""The words for no time limit, or one that is not known."""

_WHOLE: Final = re.compile(r"[0-9]{1,12}", re.ASCII)
_TOLERANCE: Final = 1.0  # seconds between an elapsed time and the difference of two times, which are whole seconds


def settled(
    choices: Sequence[tuple[float | None, ...]],
    taken: float | None,
    waited: float | None,
    not_before: float | None,
    no_end_before: float | None = None,
) -> tuple[tuple[float | None, ...], bool]:
    """The moments of a job among those that its texts can stand for: the ones that agree best with the rest.

    Of several that agree as well, it takes those with the fewest changes of clocks between them, and then the first.

    Args:
        choices: the moments of its submission, eligibility, start and end.
        taken: seconds from its start to its end; None: not known.
        waited: seconds from its eligibility to its start; None: not known.
        not_before: when the job before it in the log was submitted, if the log is sorted by submission.
        no_end_before: when the job before it in the log ended, if the log is sorted by ends.

    Returns:
        the moments, and whether no others agree as well.
    """

    def faults(moments: tuple[float | None, ...]) -> int:
        submitted, eligible, started, ended = moments
        known = [each for each in moments if each is not None]
        count = 4 * sum(one > two for one, two in itertools.pairwise(known))
        if taken is not None and started is not None and ended is not None:
            count += 8 * (abs(ended - started - taken) > _TOLERANCE)
        if waited is not None and started is not None and eligible is not None:
            count += 2 * (abs(started - eligible - waited) > _TOLERANCE)
        if not_before is not None and submitted is not None:
            count += submitted < not_before
        if no_end_before is not None and ended is not None:
            count += 2 * (ended < no_end_before)
        return count

    set_back = min((choice[1] for choice in choices if len(choice) > 1 and choice[1] is not None), default=None)

    def changes(moments: tuple[float | None, ...]) -> int:
        """How often clocks are set back between them."""
        later = [each >= set_back for each in moments if each is not None and set_back is not None]
        return sum(one != two for one, two in itertools.pairwise(later))

    ranked = sorted(
        (faults(moments), changes(moments), place, moments) for place, moments in enumerate(itertools.product(*choices))
    )
    return ranked[0][3], len(ranked) == 1 or ranked[0][0] < ranked[1][0]


@lru_cache(8192)
def minutes_of(text: str) -> float:
    """A span of time of whole minutes, in seconds.

    Raises:
        ValueError: the text is no number.
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(text)
    return int(text) * 60.0


seconds_of = lru_cache(8192)(elapsed)


@lru_cache(8192)
def walltime_of(limit: str, minutes: str) -> float | None:
    """A time limit in seconds, of the columns `Timelimit` and `TimelimitRaw`; None if there is none.

    >>> walltime_of("", "3"), walltime_of("1-00:00:00", ""), walltime_of("UNLIMITED", "")
    (180.0, 86400.0, None)

    Raises:
        ValueError: a text is no time limit.
    """
    if limit not in NOTHING:
        return None if limit in NO_LIMITS else seconds_of(limit)
    return None if minutes in NOTHING or minutes in NO_LIMITS else minutes_of(minutes)
