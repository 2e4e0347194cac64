"""The canonical form of messages: two messages with the same effect have equal forms.

A `Meaning` (`meaning`) follows one side of a comparison. It replaces the parts of each message that have no effect: the
ids of calls and probes (`names`), the notation of host sets, units and absent values (`forms`), and the order of
independent events (`order`). `differences` then finds the first difference of two messages. Times and measures that are
close count as equal. It must not know where messages are kept.
"""

from batprotocol.recordings.meaning.differences import TOLERANCE, Difference, Meant, difference
from batprotocol.recordings.meaning.meaning import Meaning

__all__ = ["TOLERANCE", "Difference", "Meaning", "Meant", "difference"]
