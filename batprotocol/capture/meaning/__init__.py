"""What messages mean, whatever they look like: two that come to the same are equal here.

A `Meaning` follows one side of a comparison, and leaves out of each message what does not matter: ids that were made up
(of calls and probes, `names`), the ways to write one thing (host sets, units, what is absent: `forms`) and the order of
events that do not touch one another (`order`). `differences` then tells the first place where two messages differ, with
times and measures taken as equal that are close. It must not know where messages are kept.
"""

from batprotocol.capture.meaning.differences import TOLERANCE, Difference, Meant, difference
from batprotocol.capture.meaning.meaning import Meaning

__all__ = ["TOLERANCE", "Difference", "Meaning", "Meant", "difference"]
