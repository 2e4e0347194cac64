"""The traces of the options `--carbon`, `--price` and `--cap`."""

from __future__ import annotations

from batprotocol._util.tables import LeftOut
from batprotocol.cli.terminal import Output, report_left_out
from batprotocol.errors import InputError
from batprotocol.simulator import Electricity
from batprotocol.workloads.electricity import CARBON, PRICE
from batprotocol.workloads.electricity.tables import cap_named, trace_named

__all__ = [
    "read_electricity",
    "read_text",
]


def read_electricity(carbon: str | None, price: str | None, cap: str | None, output: Output) -> Electricity:
    """Read the traces, and print what was missing in them.

    Raises:
        InputError: one cannot be used.
        OSError: a file cannot be read.
    """
    counted = {text: LeftOut() for text in (carbon, price, cap) if text is not None}
    found = Electricity(
        carbon=None if carbon is None else trace_named(carbon, CARBON, left_out=counted[carbon]),
        price=None if price is None else trace_named(price, PRICE, left_out=counted[price]),
        cap=None if cap is None else cap_named(cap, left_out=counted[cap]),
    )
    for text, left_out in counted.items():
        report_left_out(output, text, left_out, "value")
    return found


# Text files: plans, JDLs, rules, parameters.


def read_text(path: str) -> str:
    """Read a text file.

    Raises:
        InputError: the file is not UTF-8; the error names the line.
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        return data.decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"expected UTF-8, found the byte 0x{data[error.start]:02x}", file=path, line=line) from None
