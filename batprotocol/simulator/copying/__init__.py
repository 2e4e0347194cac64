"""Copies of a whole simulation in little time: what changes is copied, what never does is shared.

`copy.deepcopy` calls a function of Python for each object, asks each what to do, and copies values that cannot change.
Here, each class is looked at once; then its objects are copied field by field, in C where that was compiled. What is
not of this library (observers of users) is left to `copy.deepcopy`.
"""

from batprotocol.simulator.copying.copying import copied

__all__ = ["copied"]
