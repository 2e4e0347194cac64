"""The parts of a capture in an MCAP that is made byte by byte, by its index."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcaps import LONG, indexed

from batprotocol.recordings import Capture

pytestmark = pytest.mark.once


@pytest.mark.parametrize("crc", [True, False])
def test_with_an_index(crc: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    path.write_bytes(indexed(LONG, crc))
    with Capture(path) as run:
        assert [each.time for each in run] == [5.0 * number for number in range(10)]
        assert run.missing == ""
        for start, end, times in (
            (0.0, 0.0, [0.0]),
            (0.0, 5.0, [0.0, 5.0]),
            (6.0, 9.0, []),
            (5.0, 10.0, [5.0, 10.0]),
            (15.0, 25.0, [15.0, 20.0, 25.0]),
            (44.0, 99.0, [45.0]),
            (46.0, 99.0, []),
        ):
            assert [each.time for each in run.between(start, end)] == times
        for time, found in ((0.0, 0.0), (4.0, 0.0), (9.9, 5.0), (10.0, 10.0), (44.9, 40.0), (99.0, 45.0)):
            entry = run.at(time)
            assert entry is not None
            assert entry.time == found
        assert run.at(-1.0) is None
