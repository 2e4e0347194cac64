"""The order of elements in platform files: SimGrid's own parser is the oracle, asked once about all short sequences."""

from __future__ import annotations

import io
import itertools

from support import DATA

from batprotocol.errors import InputError
from batprotocol.workloads._xml import ELEMENTS as ELEMENT_KINDS
from batprotocol.workloads._xml import SYNONYMS, Element, read_elements

WITHOUT_ENGINE = True

ELEMENTS = {
    "P": '<prop id="k{0}" value="v"/>',
    "Z": '<zone id="z{0}" routing="Full"/>',
    "C": '<cluster id="c{0}" prefix="c{0}" suffix="" radical="0-1" speed="1f" bw="1Bps" lat="0s"/>',
    "L": '<link id="l{0}" bandwidth="1Bps" latency="0s"/>',
    "B": '<backbone id="b{0}" bandwidth="1Bps" latency="0s"/>',
    "R": '<router id="r{0}"/>',
    "H": '<host id="h{0}" speed="1f"/>',
}
LAST = {
    "V": '<zoneRoute src="" dst="" gw_src="" gw_dst="">',
    "W": '<bypassZoneRoute src="" dst="" gw_src="" gw_dst="">',
    "T": '<route src="" dst="">',
    "U": '<bypassRoute src="" dst="">',
    "J": '<host_link id="" up="" down=""/>',
}


def sequences() -> list[str]:
    before = ["".join(each) for many in (1, 2, 3) for each in itertools.product(ELEMENTS, repeat=many)]
    return [f"{each}{last}" for each in before for last in ("", *LAST)]


def is_allowed(sequence: str) -> bool:
    inside = "".join({**ELEMENTS, **LAST}[letter].format(place) for place, letter in enumerate(sequence))
    text = f'<platform version="4.1"><zone id="top" routing="Cluster">{inside}</zone></platform>'
    try:
        read_elements(io.BytesIO(text.encode()), ELEMENT_KINDS, SYNONYMS, begin=nothing, end=nothing)
    except InputError as error:
        return "SimGrid expects one of" not in error.reason
    return True


def nothing(element: Element) -> None:
    """Only the order matters here."""


def test_elements_come_in_the_order_of_simgrid() -> None:
    lines = (DATA / "simgrid_orders.txt").read_text().splitlines()
    allowed = {word for line in lines if not line.startswith("#") for word in line.split()}
    tried = sequences()
    assert len(tried) == 2394
    assert allowed <= set(tried)
    for sequence in tried:
        assert is_allowed(sequence) is (sequence in allowed), sequence
