"""A question about a log: the policies, arrivals, numbers of hosts and estimates to compare, and the windows to cut."""

from __future__ import annotations

import math
import re
from typing import Final

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.studies.keys import ESTIMATES

__all__ = ["DAY", "WEEK", "Question", "parse_nodes"]

DAY: Final = 86_400.0
WEEK: Final = 604_800.0
_NODES: Final = re.compile(r"([+-])([0-9]{1,9}(?:\.[0-9]{1,9})?)(%?)|([0-9]{1,9}(?:\.[0-9]{1,9})?)(x?)", re.ASCII)
_MOST_HOSTS: Final = 10_000_000


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question about a log. The values of the log itself are always among those that are compared.

    Args:
        policies: the policies to compare.
        arrivals: the factors by which arrivals are compressed, > 0: with 1.1, jobs arrive 1.1 times as fast.
        nodes: other numbers of hosts, as `parse_nodes` reads them.
        estimates: the estimates of run times that policies have: `asked`, `exact` and `predicted`.
        window: the length of the windows in seconds, > 0.
        warm_up: the seconds before each window whose jobs are simulated and not counted.
        cool_down: the seconds after each window whose jobs are simulated and not counted.
        seed: without effect: intervals are not random.
    """

    policies: tuple[str, ...]
    arrivals: tuple[float, ...] = (1.0,)
    nodes: tuple[str, ...] = ()
    estimates: tuple[str, ...] = ("asked",)
    window: float = WEEK
    warm_up: float = DAY
    cool_down: float = DAY
    seed: int = 0

    def check(self) -> None:
        """Check its values.

        Raises:
            InputError: one is out of its range.
        """
        if not self.policies:
            raise InputError("expected at least one policy, got none")
        if "recorded" in self.policies:
            raise InputError("recorded is the baseline of each log with starts: leave it out of the policies")
        for factor in self.arrivals:
            if not 0 < factor < math.inf:
                raise InputError(f"expected a factor of arrivals > 0, got {shown(factor)}")
        for each in self.estimates:
            if each not in ESTIMATES:
                raise InputError(f"expected the estimates {', '.join(ESTIMATES)}, got {shown(each)}")
        if not 0 < self.window < math.inf:
            raise InputError(f"expected windows of > 0 seconds, got {shown(self.window)}")
        for what, seconds in (("warm-up", self.warm_up), ("cool-down", self.cool_down)):
            if not 0 <= seconds < math.inf:
                raise InputError(f"expected a {what} of >= 0 seconds, got {shown(seconds)}")
        if self.seed < 0:
            raise InputError(f"expected a seed >= 0, got {shown(self.seed)}")


def parse_nodes(text: str, hosts: int) -> int:
    """The number of hosts that a text means.

    Args:
        text: more or less hosts (`+40`, `-8`, `+10%`), a factor (`0.5x`), or the number itself. Parts of a host are
            rounded to the nearest number.
        hosts: the number of hosts of the machine.

    Raises:
        InputError: it is not such a text, or no host would be left.

    >>> [parse_nodes(text, 64) for text in ("+10%", "+40", "-8", "0.5x", "128")]
    [70, 104, 56, 32, 128]
    """
    found = _NODES.fullmatch(text)
    if found is None or (found[4] and not found[5] and "." in found[4]):
        raise InputError(f"expected a number of hosts such as +10%, +40, 0.5x or 128, got {shown(text)}")
    if found[1]:
        change = float(found[2]) * (hosts / 100 if found[3] else 1)
        number = hosts + change if found[1] == "+" else hosts - change
    else:
        number = float(found[4]) * (hosts if found[5] else 1)
    count = math.floor(number + 0.5)
    if not 1 <= count <= _MOST_HOSTS:
        raise InputError(f"{shown(text)} of {hosts:,} hosts is {count:,}, and a machine has 1 to {_MOST_HOSTS:,}")
    return count
