"""The names in recordings, and the times in their index: `run.mcap`, `00004-b2e.bin`, whole nanoseconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from batprotocol.model import Direction

__all__ = [
    "LAST",
    "MCAP",
    "MCAP_MAGIC",
    "METADATA",
    "MOST",
    "UNFINISHED",
    "Names",
    "moment_of",
]

METADATA: Final = "metadata.json"
"""The file with the metadata of a recording: a JSON object whose values are texts."""
UNFINISHED: Final = "unfinished.tar"
"""The archive in a folder while its recording is not finished."""
MCAP: Final = ".mcap"
MCAP_MAGIC: Final = b"\x89MCAP0\r\n"
"""The bytes that an MCAP file begins and ends with."""

_ENDS: Final = {direction: f"-{direction.value}.bin" for direction in Direction}


class Names(NamedTuple):
    """The names of the files of messages in an archive or a folder.

    Attributes:
        ends: the text after the number, for each direction.
        digits: the minimum number of digits of a number.

    >>> Names().of(4, Direction.BATSIM_TO_EDC)
    '00004-b2e.bin'
    """

    ends: Mapping[Direction, str] = _ENDS
    digits: int = 5

    def of(self, number: int, direction: Direction) -> str:
        """The name of a message.

        Args:
            number: its number in the conversation, from 0.
            direction: its direction.
        """
        return f"{number:0{self.digits}}{self.ends[direction]}"


# The simulated times in the index: whole nanoseconds


MOST: Final = 2**64 - 1
"""The last moment: 584 years in nanoseconds."""
LAST: Final = 1.8e10
"""All times from this one on, in seconds, are the last moment."""


def moment_of(time: float | None) -> int:
    """A simulated time in the index of a capture: in nanoseconds, from 0 to `MOST`; 0 for None.

    >>> moment_of(1.5), moment_of(None)
    (1500000000, 0)
    """
    if time is None or not time > 0:
        return 0
    return int(time * 1e9 + 0.5) if time < LAST else MOST
