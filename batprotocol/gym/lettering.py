"""Letters for pictures: a font of 5 x 8 dots for ASCII characters. It must not know environments."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["HEIGHT", "WIDTH", "dots", "write"]

WIDTH: Final = 6
"""The width of a character in dots, with the space behind it."""
HEIGHT: Final = 8
"""The height of a character in dots."""
_FIRST: Final = 32
_ROWS: Final = (  # noqa: SIM905
    "00000000000000 04040404000004 0A0A0A00000000 0A0A1F0A1F0A0A 040F140E051E04 18190204081303 0C12140815120D "
    "04040800000000 02040808080402 08040202020408 0004150E150400 0004041F040400 00000000000C0408 "
    "0000001F000000 00000000000C0C 00010204081000 0E11131519110E 040C040404040E 0E11010204081F 1F02040201110E "
    "02060A121F0202 1F101E0101110E 0608101E11110E 1F010204080808 0E11110E11110E 0E11110F01020C 000C0C000C0C00 "
    "00000C0C000C0408 02040810080402 00001F001F0000 08040201020408 0E110102040004 0E11010D15150E "
    "0E11111F111111 1E11111E11111E 0E11101010110E 1C12111111121C 1F10101E10101F 1F10101E101010 0E11101711110F "
    "1111111F111111 0E04040404040E 0702020202120C 11121418141211 1010101010101F 111B1515111111 11111915131111 "
    "0E11111111110E 1E11111E101010 0E11111115120D 1E11111E141211 0F10100E01011E 1F040404040404 1111111111110E "
    "11111111110A04 1111111515150A 11110A040A1111 1111110A040404 1F01020408101F 0E08080808080E 00100804020100 "
    "0E02020202020E 040A1100000000 0000000000001F 08040200000000 00000E010F110F 1010161911111E 00000E1010110E "
    "01010D1311110F 00000E111F100E 0609081C080808 00000F11110F010E 10101619111111 04000C0404040E "
    "020006020202120C 10101214181412 0C04040404040E 00001A15151111 00001619111111 00000E1111110E "
    "00001E11111E1010 00000D13110F0101 00001619101010 00000E100E011E 08081C08080906 0000111111130D "
    "00001111110A04 0000111115150A 0000110A040A11 00001111110F010E 00001F0204081F 02040408040402 "
    "04040404040404 08040402040408 00000815020000 "
).split()
"""The rows of each character from the space on, two hexadecimal digits a row: seven rows, or eight with a descender.
The highest of five bits is the left one."""


def dots(text: str) -> npt.NDArray[np.bool_]:
    """The dots of a text, in `HEIGHT` rows. Characters that the font does not have are question marks.

    >>> dots("I").astype(int).tolist()[:2]
    [[0, 1, 1, 1, 0, 0], [0, 0, 1, 0, 0, 0]]
    """
    made = np.zeros((HEIGHT, WIDTH * len(text)), np.bool_)
    for place, character in enumerate(text):
        number = ord(character) - _FIRST
        rows = bytes.fromhex(_ROWS[number if 0 <= number < len(_ROWS) else ord("?") - _FIRST].ljust(2 * HEIGHT, "0"))
        bits = np.unpackbits(np.frombuffer(rows, np.uint8)[:, None], axis=1)[:, 3:]
        made[:, place * WIDTH : place * WIDTH + WIDTH - 1] = bits
    return made


def write(
    image: npt.NDArray[np.uint8], text: str, top: int, left: int, colour: tuple[int, int, int], scale: int = 2
) -> None:
    """Write a text into a picture. Parts beyond its edges are cut off.

    Args:
        image: an array of (height, width, 3) bytes.
        text: the text.
        top: the row of its upper edge, >= 0.
        left: the column of its left edge, >= 0.
        colour: red, green and blue.
        scale: the number of pixels of a dot, in both directions.
    """
    drawn = dots(text).repeat(scale, 0).repeat(scale, 1)
    part = image[top : top + drawn.shape[0], left : left + drawn.shape[1]]
    part[drawn[: part.shape[0], : part.shape[1]]] = colour
