"""Many rounds of the fair bottleneck at once, equal to single rounds to the last bit.

A FATPIPE loses the same amount in each round: the smallest use of a user that no longer grows. Work that grows on that
FATPIPE alone is raised by the remaining capacity, divided by a weight. So the remaining capacity falls on a straight
line, as long as the exponent of the double stays the same. A rate, in units of its last bit, is a sum of rounded points
of a line. Such a sum takes logarithmic time. A round is computed alone if rounding the quotient could change the
rounding of the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, inf, ulp
from typing import Final

from batprotocol._util.counting import step

__all__ = ["ENOUGH", "jump"]

ENOUGH: Final = 1024
"""The number of single rounds before a jump is tried, and the smallest number of rounds for a jump."""
_LEAST: Final = 1 << 52
_MOST: Final = 1 << 53
"""Integer parts of a double, in units of its last bit, are between these."""
_SPARSE: Final = 256
"""A jump is made only if at most one in this number of rounds is computed alone."""
_ENDLESS: Final = 1 << 62


def jump(
    pipes: Sequence[tuple[float, float]], works: Sequence[tuple[int, float, float, float]]
) -> tuple[int, list[float], list[float]]:
    """Advance by many rounds in which no work reaches its bound.

    Args:
        pipes: the remaining capacity of each FATPIPE, and its loss in a round.
        works: for all work that grows: the index of its FATPIPE, the weight on it, rate, and bound (or infinity).

    Returns:
        The number of rounds, the remaining capacity of each FATPIPE, and the rate of each work. 0 rounds: no jump is
        possible. -1: nothing would ever change.
    """
    lines = [_Line(left, loss) for left, loss in pipes]
    sums = [_Sum(lines[pipe], weight, rate, bound) for pipe, weight, rate, bound in works]
    if not any(each.moves for each in sums):
        return -1, [], []
    rounds = min([*[line.rounds for line in lines], *[each.rounds for each in sums]])
    if rounds < ENOUGH or not all(each.is_sparse(rounds) for each in sums):
        return 0, [], []
    return rounds, [line.after(rounds) for line in lines], [each.after(rounds) for each in sums]


class _Line:
    """The remaining capacity of a FATPIPE in units of its last bit, which falls by the same number in each round."""

    __slots__ = ("left", "loss", "rounds", "unit")

    def __init__(self, left: float, loss: float) -> None:
        self.unit = unit = ulp(left)
        self.left = int(left / unit)
        lost = loss / unit
        self.loss = round(lost) if lost < _LEAST else _LEAST
        is_odd = lost - int(lost) == 0.5 and self.left % 2 == 1  # of the two nearest, the even one: the other, at first
        self.rounds = 0 if is_odd else (self.left - _LEAST) // self.loss - 1 if self.loss else _ENDLESS

    def after(self, rounds: int) -> float:
        return (self.left - rounds * self.loss) * self.unit


class _Sum:
    """A rate in units of its last bit, to which quotients of a line are added.

    Their number of units, before it is rounded, is (first - round * fall) / whole, less a half.
    """

    __slots__ = ("fall", "first", "line", "moves", "rate", "rounds", "slack", "unit", "weight", "whole")

    def __init__(self, line: _Line, weight: float, rate: float, bound: float) -> None:
        self.line = line
        self.weight = weight
        self.unit = unit = ulp(rate)
        self.rate = int(rate / unit)
        growth = line.left * line.unit / weight  # it becomes no greater
        self.moves = line.loss > 0 or rate + growth != rate
        highest = min(unit * _MOST, bound)
        is_small = growth * ENOUGH <= rate and highest < inf
        self.rounds = int((highest - rate) / (growth + unit / 2) * (1 - 1e-9)) - 2 if is_small else 0
        ratio = Fraction(line.unit) / Fraction(weight) / Fraction(unit)
        self.whole = 2 * ratio.denominator
        self.first = 2 * line.left * ratio.numerator + ratio.denominator
        self.fall = 2 * line.loss * ratio.numerator
        self.slack = 0
        if ratio.denominator & (ratio.denominator - 1):  # else quotients are doubles
            error = Fraction(ulp(growth)) / Fraction(unit)  # twice as much as a quotient can be rounded by
            self.slack = ratio.denominator * error.numerator // error.denominator

    def is_sparse(self, rounds: int) -> bool:
        """Whether few of these rounds are computed alone."""
        if self.slack == 0:
            return True
        last = self.first - (rounds - 1) * self.fall
        unsure = _sum_of_floors(rounds, self.whole, self.fall, last + self.slack)
        unsure -= _sum_of_floors(rounds, self.whole, self.fall, last - self.slack - 1)
        return unsure * _SPARSE <= rounds

    def after(self, rounds: int) -> float:
        """The rate after these rounds."""
        rate, done = self.rate, 0
        while True:
            step()
            start = self.first - done * self.fall
            sure = _falls_below(self.fall, self.whole, start + self.slack, 2 * self.slack)
            sure = min(sure, rounds - done)
            rate += self._rise(done, sure)
            done += sure
            if done == rounds:
                return rate * self.unit
            rate = int((rate * self.unit + self.line.after(done) / self.weight) / self.unit)
            done += 1
            if self.slack == 0:
                up, walked = self._to_even(done, rounds - done)
                rate += up
                done += walked

    def _rise(self, done: int, rounds: int) -> int:
        """The total rise of these rounds, with halves rounded up."""
        last = self.first - (done + rounds - 1) * self.fall
        return _sum_of_floors(rounds, self.whole, self.fall, last)

    def _to_even(self, done: int, rounds: int) -> tuple[int, int]:
        """The rise and the number of the rounds up to the last sum in the middle between two doubles.

        It begins after such a sum, which was rounded to the even one.

        They are a period apart. The rise in a period is odd if its last sum is rounded down: to the even one, again.
        """
        period = self.whole // gcd(self.fall, self.whole)
        periods = rounds // period
        is_odd = self._rise(done, period) % 2
        changes = period * (self.fall * period // self.whole) % 2
        down = (periods + is_odd) // 2 if changes else periods * is_odd
        return self._rise(done, periods * period) - down, periods * period


def _sum_of_floors(count: int, whole: int, rise: int, start: int) -> int:
    """The sum of (start + i * rise) // whole for i in [0, count)."""
    total = 0
    while count > 0:
        total += count * (count - 1) // 2 * (rise // whole) + count * (start // whole)
        rise %= whole
        start %= whole
        count, start = divmod(count * rise + start, whole)  # the same points, by columns
        whole, rise = rise, whole
    return total


def _falls_below(fall: int, whole: int, start: int, most: int) -> int:
    """The first i >= 0 for which (start - i * fall) % whole <= most."""
    start %= whole
    return 0 if start <= most else _first_between(fall % whole, whole, start - most, start)


def _first_between(rise: int, whole: int, low: int, high: int) -> int:
    """The first i >= 0 for which low <= i * rise % whole <= high, with 0 < low <= high < whole."""
    if 2 * rise > whole:
        rise, low, high = whole - rise, whole - high, whole - low
    if rise == 0:
        return _ENDLESS
    first = -(-low // rise)
    if first * rise <= high:
        return first
    turns = _first_between(-whole % rise, rise, low % rise, high % rise)
    return _ENDLESS if turns == _ENDLESS else -(-(low + whole * turns) // rise)
