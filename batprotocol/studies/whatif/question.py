"""A question about a log: the policies, arrivals, numbers of hosts and estimates to compare, and the windows to cut."""

from __future__ import annotations

import math
import re
from typing import Final

import msgspec

from batprotocol.errors import InputError, shown
from batprotocol.studies.keys import ESTIMATES

__all__ = ["Question", "parse_nodes"]

_NODES: Final = re.compile(r"([+-])([0-9]{1,9}(?:\.[0-9]{1,9})?)(%?)|([0-9]{1,9}(?:\.[0-9]{1,9})?)(x?)", re.ASCII)
_MOST_HOSTS: Final = 10_000_000


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question about a log. The values of the log itself are always among those that are compared.

    Args:
        policies: the policies to compare.
        arrivals: the factors by which arrivals are compressed, > 0: with 1.1, jobs arrive 1.1 times as fast.
        nodes: other numbers of hosts, as `parse_nodes` reads them.
        estimates: the estimates of run times that policies have: `asked`, `exact` and `predicted`.
        today: the policy that the machine has today; "": a Slurm among the policies, or else `easy`.
        window: the length of the windows in seconds, > 0; None: one of which the log has at least ten.
        warm_up: the seconds at the beginning of the log whose jobs are simulated and not counted; None: the time within
            which 99 of 100 jobs end, and at most a twentieth of the log.
        cool_down: the seconds at the end of the log whose jobs are simulated and not counted.
        seed: without effect: intervals are not random.
    """

    policies: tuple[str, ...]
    arrivals: tuple[float, ...] = (1.0,)
    nodes: tuple[str, ...] = ()
    estimates: tuple[str, ...] = ("asked",)
    today: str = ""
    window: float | None = None
    warm_up: float | None = None
    cool_down: float = 0.0
    seed: int = 0

    def check(self) -> None:
        """Check its values.

        Raises:
            InputError: one is out of its range.
        """
        if not self.policies:
            raise InputError("expected at least one policy, got none")
        if "recorded" in (self.today, *self.policies):
            raise InputError("recorded is the baseline of each log with starts: leave it out of the policies")
        for factor in self.arrivals:
            if not 0 < factor < math.inf:
                raise InputError(f"expected a factor of arrivals > 0, got {shown(factor)}")
        for each in self.estimates:
            if each not in ESTIMATES:
                raise InputError(f"expected the estimates {', '.join(ESTIMATES)}, got {shown(each)}")
        if self.window is not None and not 0 < self.window < math.inf:
            raise InputError(f"expected windows of > 0 seconds, got {shown(self.window)}")
        for what, seconds in (("warm-up", self.warm_up), ("cool-down", self.cool_down)):
            if seconds is not None and not 0 <= seconds < math.inf:
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
