"""The units of carbon intensities, prices and power: those of tables, and those that this library computes with.

Carbon intensities are in `g/kWh`: grams of CO2 equivalent for each kilowatt hour. Prices are in a currency for each
kilowatt hour, such as `EUR/kWh`. Power is in `W`.
"""

from __future__ import annotations

import math
import re
from typing import Final, Literal, NamedTuple, TypeAlias

from batprotocol.errors import InputError, shown

__all__ = [
    "CARBON",
    "NEVER_NEGATIVE",
    "POWER",
    "PRICE",
    "QUANTITIES",
    "Kind",
    "Unit",
    "parse_power",
    "parse_unit",
    "unit_in",
    "unit_of_power",
]

Kind: TypeAlias = Literal["carbon", "price", "power"]
"""The kinds of values."""
CARBON: Final[Kind] = "carbon"
"""Carbon intensities, in g/kWh."""
PRICE: Final[Kind] = "price"
"""Prices, in a currency for each kWh."""
POWER: Final[Kind] = "power"
"""Watts, such as those that a machine may draw at most."""
QUANTITIES: Final[dict[Kind, str]] = {CARBON: "a carbon intensity", PRICE: "a price", POWER: "a number of watts"}
"""The names of a value of each kind."""
NEVER_NEGATIVE: Final = frozenset((CARBON, POWER))
"""The kinds of values that are never less than 0. Prices can be."""

_POUND: Final = 0.45359237  # kilograms; exact by definition
_MASSES: Final = {"g": 1.0, "kg": 1000.0, "t": 1e6, "lb": 1000 * _POUND, "lbs": 1000 * _POUND}
_ENERGIES: Final = {"kwh": 1.0, "mwh": 1000.0, "gwh": 1e6}
_CENTS: Final = {"ct": "EUR", "cent": "EUR", "c": "EUR", "p": "GBP", "pence": "GBP"}
_SIGNS: Final = {"€": "EUR", "£": "GBP", "$": "USD"}

_TEXT: Final = re.compile(
    r"(?<![a-z0-9])(kg|g|t|lbs?|[a-z]{3}|ct|cent|c|pence|p|[€£$])"
    r"(?:[ _]?(co2(?:eq|e)?(?:q)?))?"
    r"(?:/| per |_per_)([kmg]wh)e?(?![a-z0-9])"
)

_POWER: Final = re.compile(r"(?<![a-z0-9])(?:(|k|m|g)w|(|kilo|mega|giga)watts?)(?![a-z0-9/])")
_POWERS: Final = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}


class Unit(NamedTuple):
    """A unit of a table.

    Attributes:
        kind: the kind of the values.
        name: the unit that the library computes with: `g/kWh`, a currency for each kilowatt hour, or `W`.
        factor: what a value is multiplied by to have that unit.
    """

    kind: Kind
    name: str
    factor: float


def unit_in(text: str) -> Unit | None:
    """The unit that a text, such as the header of a column, names; None if it names none.

    >>> unit_in("Carbon intensity gCO₂eq/kWh (direct)")
    Unit(kind='carbon', name='g/kWh', factor=1.0)
    >>> unit_in("Day-ahead Price (EUR/MWh)")
    Unit(kind='price', name='EUR/kWh', factor=0.001)
    """
    found = _TEXT.search(text[:1000].lower().replace("₂", "2"))
    if found is None:
        return None
    first, carbon, energy = found.groups()
    if first in _MASSES:
        return Unit(CARBON, "g/kWh", _MASSES[first] / _ENERGIES[energy])
    if carbon:
        return None
    if first in _CENTS:
        return Unit(PRICE, f"{_CENTS[first]}/kWh", 0.01 / _ENERGIES[energy])
    return Unit(PRICE, f"{_SIGNS.get(first, first.upper())}/kWh", 1 / _ENERGIES[energy])


def parse_unit(text: str) -> Unit:
    """The unit of a text.

    Raises:
        InputError: it is no unit.

    >>> parse_unit("lbs/MWh").factor
    0.45359237
    """
    unit = unit_in(text)
    if unit is None:
        raise InputError(f"expected a unit such as g/kWh, lb/MWh, EUR/MWh or ct/kWh, got {shown(text)}")
    return unit


def unit_of_power(text: str) -> Unit | None:
    """The unit of power that a text, such as the header of a column, names; None if it names none.

    >>> unit_of_power("Cap (kW)")
    Unit(kind='power', name='W', factor=1000.0)
    """
    found = _POWER.search(text[:1000].lower())
    return None if found is None else Unit(POWER, "W", _POWERS[(found[1] or found[2] or "")[:1]])


def parse_power(text: str) -> float:
    """The watts of a text such as `4kW`, `1.5 MW` or `4000`.

    Raises:
        InputError: it is no number of watts.

    >>> parse_power("4kW"), parse_power("250")
    (4000.0, 250.0)
    """
    number, factor = text.strip().lower(), 1.0
    if number.endswith("w"):
        number = number[:-1]
        if number.endswith(("k", "m", "g")):
            number, factor = number[:-1], _POWERS[number[-1]]
    try:
        watts = float(number) * factor if number.isascii() and "_" not in number else math.nan
    except ValueError:
        watts = math.nan
    if not 0 <= watts < math.inf:
        raise InputError(f"expected a number of watts such as 4000, 4kW or 1.5MW, got {shown(text)}")
    return watts
