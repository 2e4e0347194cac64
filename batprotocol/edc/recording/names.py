"""The names of recordings and of their messages: `run.mcap`, `00004-b2e.bin`. It must not know what is in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from batprotocol.model import Direction

__all__ = ["MCAP", "MCAP_MAGIC", "Names"]

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
