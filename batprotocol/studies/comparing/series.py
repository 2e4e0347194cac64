"""Values that follow one another, such as those of the weeks of a log: how many independent values they are worth.

A week with a long queue is often followed by another one. Then the mean of ten weeks is known as well as that of fewer
independent values: their effective number. It is that of a first-order autoregression (G. V. Bayley and J. M.
Hammersley, "The effective number of independent observations in an autocorrelated time series", JRSS Supplement 8,
1946), of which the autocorrelation of neighbours is estimated. The estimate of few values is too small on average, and
is corrected: F. H. C. Marriott and J. A. Pope, "Bias in the estimation of autocorrelations", Biometrika 41, 1954.

It is also very uncertain: of ten independent values, it is often beyond 0.5. So it is weighted against a usual value,
0.06, by n^2 : 32^2. Ten values can hardly change the usual value, and of 100 values, the estimate counts.
The weights were fitted to queues: `tools/coverage.py` measures how often intervals contain the true mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

__all__ = ["FEWEST_WINDOWS", "effective_number"]

FEWEST_WINDOWS: Final = 5
"""The minimum number of consecutive values for an interval."""
_USUAL: Final = 0.06
"""The autocorrelation that is assumed of few values."""
_ENOUGH: Final = 32
"""Of this number of values, their own autocorrelation counts as much as the usual one."""
_MOST_ALIKE: Final = 0.9
"""The maximum autocorrelation that is assumed."""


def effective_number(values: Sequence[float]) -> float:
    """The number of independent values whose mean is known as well as the mean of these.

    It is at least 1 and at most their number. A negative autocorrelation counts as 0.

    Args:
        values: the values in their order, all finite; at least two, and not all equal.

    >>> round(effective_number([1.0, 2.0, 4.0, 5.0, 3.0, 4.0, 2.0, 1.0, 2.0, 4.0]), 1)
    8.4
    >>> round(effective_number([float(n // 20 % 2) for n in range(100)]), 1)
    7.8
    """
    count = len(values)
    mean = math.fsum(values) / count
    scale = max(abs(value - mean) for value in values)
    apart = [(value - mean) / scale for value in values]
    squares = math.fsum(each * each for each in apart)
    alike = math.fsum(one * other for one, other in pairwise(apart)) / squares
    own = count * count / (count * count + _ENOUGH * _ENOUGH)
    alike = own * (alike + (1 + 3 * alike) / count) + (1 - own) * _USUAL
    alike = min(max(alike, 0.0), _MOST_ALIKE)
    more = (1 + alike) / (1 - alike) - 2 * alike * (1 - alike**count) / (count * (1 - alike) ** 2)
    return count / max(more, 1.0)
