"""The values of scalars: the rules by which yaml-cpp, as fast-lib uses it, reads texts as booleans and numbers.

A quoted scalar is read as a plain one. It must not know of nodes.
"""

from __future__ import annotations

import math
import re
from typing import Final

__all__ = ["LONGEST_NUMBER", "boolean", "pci_address", "pci_number", "real", "unsigned"]

LONGEST_NUMBER: Final = 400
"""The maximum number of characters of a number: enough for each double and each integer."""

_BOOLEANS: Final = {
    spelling: value
    for value, words in ((True, ("y", "yes", "true", "on")), (False, ("n", "no", "false", "off")))
    for word in words
    for spelling in (word, word.capitalize(), word.upper())
}
_SPACE = r"[ \t\n\r\v\f]*"
_UNSIGNED: Final = re.compile(rf"{_SPACE}([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*){_SPACE}")
_REAL: Final = re.compile(rf"{_SPACE}[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?{_SPACE}")
_PCI: Final = re.compile(rf"{_SPACE}([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_HEX: Final = re.compile(rf"{_SPACE}([+-]?)(?:0[xX](?=[0-9a-fA-F]))?([0-9a-fA-F]+)")
_SPECIAL: Final = {
    **{f"{sign}.{word}": math.inf for sign in ("", "+") for word in ("inf", "Inf", "INF")},
    **{f"-.{word}": -math.inf for word in ("inf", "Inf", "INF")},
    **{f".{word}": math.nan for word in ("nan", "NaN", "NAN")},
}


def boolean(text: str) -> bool | None:
    """Whether this is yes or no, or None if it is neither.

    >>> boolean("Yes"), boolean("OFF"), boolean("1"), boolean("tRUE")
    (True, False, None, None)
    """
    return _BOOLEANS.get(text)


def unsigned(text: str, largest: int) -> int | None:
    """A number in [0, largest], or None if the text is not one. A negative number counts from the end, as in C.

    >>> unsigned("0x10", 255), unsigned("010", 255), unsigned("-1", 255), unsigned("256", 255), unsigned("1.0", 255)
    (16, 8, 255, None, None)
    """
    found = _UNSIGNED.fullmatch(text) if len(text) <= LONGEST_NUMBER else None
    if found is None:
        return None
    number = _number(found[2])
    if number > largest:
        return None
    return -number % (largest + 1) if found[1] == "-" else number


def real(text: str) -> float | None:
    """A double, or None if the text is not one. NaN and infinities have a dot before.

    >>> real("0.5"), real(".inf"), real("nan"), real("1e999")
    (0.5, inf, None, None)
    """
    if text in _SPECIAL:
        return _SPECIAL[text]
    if len(text) > LONGEST_NUMBER or not _REAL.fullmatch(text):
        return None
    value = float(text)
    return None if math.isinf(value) else value


def pci_number(text: str) -> int | None:
    """The number at the beginning of a text, cut to 16 bits, or None if there is none: as `std::stoul` has it.

    >>> pci_number("0x15b3"), pci_number("15b3"), pci_number("b315")
    (5555, 15, None)
    """
    found = _PCI.match(text[:LONGEST_NUMBER])
    if found is None:
        return None
    return _cut(found[1], _number(found[2]), 2**16)


def pci_address(text: str) -> tuple[int, int, int, int] | None:
    """Domain, bus, device and function of an address, or None if the text is not one: as fast-lib splits it.

    Each is the hexadecimal number at its beginning, cut to 16 or 8 bits. The domain may be missing; so may the
    function, which is then the number of the device.

    >>> pci_address("0000:82:1f.7"), pci_address("82:00"), pci_address("82.0")
    ((0, 130, 31, 7), (0, 130, 0, 0), None)
    """
    parts = text.split(":", 3)
    if len(parts) not in (2, 3):
        return None
    domain, bus, place = ("0", *parts)[-3:]
    device, _, funct = place.partition(".") if "." in place else (place, "", place)
    found = [_hexadecimal(part, size) for part, size in ((domain, 2**16), (bus, 2**8), (device, 2**8), (funct, 2**8))]
    first, second, third, fourth = found
    if first is None or second is None or third is None or fourth is None:
        return None
    return first, second, third, fourth


def _hexadecimal(text: str, size: int) -> int | None:
    """The hexadecimal number at the beginning of a text, as `std::stoul` has it, or None if there is none."""
    found = _HEX.match(text[:LONGEST_NUMBER])
    return None if found is None else _cut(found[1], int(found[2], 16), size)


def _cut(sign: str, number: int, size: int) -> int | None:
    """The number modulo `size`; None for a number that does not fit into 64 bits."""
    return None if number >= 2**64 else (-number if sign == "-" else number) % size


def _number(digits: str) -> int:
    if digits[:2] in ("0x", "0X"):
        return int(digits, 16)
    return int(digits, 8) if digits.startswith("0") else int(digits)
