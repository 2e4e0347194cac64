"""The laws of random times: how long hosts work, and how long their repairs take.

Each law turns a random number between 0 and 1 into a time, by the inverse of its distribution function. So one number
is one time, and the same numbers give the same times on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Final, TypeAlias

import msgspec

from batprotocol._util.times import parse_duration
from batprotocol.errors import InputError, hint, shown

__all__ = [
    "Exponential",
    "Fixed",
    "Law",
    "Lognormal",
    "Weibull",
    "parse_law",
]


class Exponential(msgspec.Struct, frozen=True):
    """The exponential distribution: a host fails as often when it is old as when it is new.

    Args:
        mean: the mean, in seconds, > 0.

    >>> Exponential(100.0).time(0.5)
    69.31471805599453
    """

    mean: float

    def __post_init__(self) -> None:
        _expect(mean=self.mean)

    def time(self, chance: float) -> float:
        """The time that this share of all times is shorter than: the quantile of `chance`, in (0, 1)."""
        return -self.mean * math.log1p(-chance)


class Weibull(msgspec.Struct, frozen=True):
    """The Weibull distribution. With a shape below 1, hosts that have just come back fail more often than others.

    Args:
        shape: the shape k, > 0; 1 is the exponential distribution.
        scale: the scale, in seconds, > 0: 63.2 % of all times are shorter.

    >>> round(Weibull.of_mean(0.7, 1000.0).scale, 1), round(Weibull(0.5, 500.0).mean, 1)
    (790.0, 1000.0)
    """

    shape: float
    scale: float

    def __post_init__(self) -> None:
        _expect(shape=self.shape, scale=self.scale, mean=self.mean)

    @classmethod
    def of_mean(cls, shape: float, mean: float) -> Weibull:
        """The distribution of this shape with this mean, in seconds."""
        _expect(shape=shape, mean=mean)
        return cls(shape, mean / _gamma(1 + 1 / shape))

    @property
    def mean(self) -> float:
        """The mean, in seconds."""
        return self.scale * _gamma(1 + 1 / self.shape) if self.shape > 0 else math.nan

    def time(self, chance: float) -> float:
        """The quantile of `chance`, in (0, 1)."""
        return self.scale * _power(-math.log1p(-chance), 1 / self.shape)


class Lognormal(msgspec.Struct, frozen=True):
    """The lognormal distribution: the logarithm of the times is normally distributed.

    Args:
        mu: the mean of the logarithm of the seconds.
        sigma: its standard deviation, >= 0.

    >>> law = Lognormal.of_mean(mean=355 * 60.0, median=54 * 60.0)
    >>> round(law.mu, 4), round(law.sigma, 4), round(law.mean / 60, 6)
    (8.0833, 1.9407, 355.0)
    """

    mu: float
    sigma: float

    def __post_init__(self) -> None:
        if not 0 <= self.sigma < math.inf or not math.isfinite(self.mu) or not 0 < self.mean < math.inf:
            raise InputError(f"expected a mean that is a finite number > 0, got {shown((self.mu, self.sigma))}")

    @classmethod
    def of_mean(cls, mean: float, median: float) -> Lognormal:
        """The distribution with this mean and this median, in seconds; the mean is not less than the median."""
        _expect(mean=mean, median=median)
        if mean < median:
            raise InputError(f"expected a mean >= the median, {median:g} s, got {mean:g} s", "mean")
        return cls(math.log(median), math.sqrt(2 * math.log(mean / median)))

    @property
    def mean(self) -> float:
        """The mean, in seconds."""
        return _exp(self.mu + self.sigma**2 / 2)

    def time(self, chance: float) -> float:
        """The quantile of `chance`, in (0, 1)."""
        return _exp(self.mu + self.sigma * _normal_quantile()(chance))


class Fixed(msgspec.Struct, frozen=True):
    """All times are equal.

    Args:
        mean: the time, in seconds, > 0.
    """

    mean: float

    def __post_init__(self) -> None:
        _expect(mean=self.mean)

    def time(self, chance: float) -> float:
        """The time."""
        return self.mean


Law: TypeAlias = Exponential | Weibull | Lognormal | Fixed
"""The laws of random times."""


def _expect(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise InputError(f"expected a finite number > 0, got {shown(value)}", name)


def _gamma(value: float) -> float:
    try:
        return math.gamma(value)
    except OverflowError:
        return math.inf


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _power(value: float, exponent: float) -> float:
    try:
        return float(value**exponent)
    except OverflowError:
        return math.inf


@cache
def _normal_quantile() -> Callable[[float], float]:
    from statistics import NormalDist  # few programs need it

    return NormalDist().inv_cdf


def _number(text: str) -> float:
    try:
        return float(text) if len(text) <= _LONGEST else math.nan
    except ValueError:
        return math.nan


_LONGEST: Final = 100
_READERS: Final[dict[str, Callable[[str], float]]] = {
    "mean": parse_duration,
    "median": parse_duration,
    "scale": parse_duration,
    "shape": _number,
    "mu": _number,
    "sigma": _number,
}


class _Form(msgspec.Struct, frozen=True):
    """A form of a law in text: its keys, and the function that takes their values."""

    of: Callable[..., Law]
    keys: tuple[str, ...]


_FORMS: Final[dict[str, tuple[_Form, ...]]] = {
    "exponential": (_Form(Exponential, ("mean",)),),
    "weibull": (_Form(Weibull.of_mean, ("shape", "mean")), _Form(Weibull, ("shape", "scale"))),
    "lognormal": (_Form(Lognormal.of_mean, ("mean", "median")), _Form(Lognormal, ("mu", "sigma"))),
    "fixed": (_Form(Fixed, ("mean",)),),
}


def parse_law(text: str) -> Law:
    """Read a law: its name, and its parameters.

    The laws are `exponential:mean=30d` or `exponential:30d`, `weibull:shape=0.7,mean=30d` or
    `weibull:shape=0.7,scale=30d`, `lognormal:mean=355min,median=54min` or `lognormal:mu=8,sigma=1.9` (of seconds), and
    `fixed:2h`.

    >>> parse_law("weibull:shape=1,mean=1d"), parse_law("fixed:2h")
    (Weibull(shape=1.0, scale=86400.0), Fixed(mean=7200.0))

    Raises:
        InputError: the text is not a law; `path` is the parameter.
    """
    name, _, rest = text.partition(":")
    forms = _FORMS.get(name)
    if forms is None:
        raise InputError(f"expected {', '.join(_FORMS)}, got {shown(name)}{hint(name, _FORMS)}")
    if rest and "=" not in rest and len(forms) == 1:
        rest = f"mean={rest}"
    given: dict[str, float] = {}
    for word in filter(None, rest.split(",")):
        key, equals, value = word.partition("=")
        if not equals or key not in _READERS or key in given:
            raise InputError(f"expected {_expected(name)}, got {shown(text)}")
        try:
            given[key] = _READERS[key](value)
        except InputError as error:
            raise InputError(error.reason, key) from None
    for form in forms:
        if set(form.keys) == set(given):
            return form.of(**given)
    raise InputError(f"expected {_expected(name)}, got {shown(text)}")


def _expected(name: str) -> str:
    samples = {"mean": "30d", "median": "1h", "scale": "30d", "shape": "0.7", "mu": "8", "sigma": "1.9"}
    texts = [f"{name}:{','.join(f'{key}={samples[key]}' for key in form.keys)}" for form in _FORMS[name]]
    return " or ".join(texts)
