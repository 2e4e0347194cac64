"""Fast copies of a whole simulation: they copy objects that change, and share objects that never change.

`copy.deepcopy` calls Python functions for each object, and also copies values that cannot change. This package examines
each class once, and then copies its objects field by field, in C if the package was compiled. Objects of other packages
(observers of users) are copied by `copy.deepcopy`.
"""

from batprotocol.simulator.copying.copying import copied

__all__ = ["copied"]
