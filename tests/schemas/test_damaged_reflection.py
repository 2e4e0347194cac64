"""A `.bfbs` with a few changed bytes: an error, or a schema that each function can use."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from support import ROOT

from batprotocol.errors import InputError
from batprotocol.schemas import Codec, differences, dissector, read_schema

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

WHOLE = (ROOT / "generated" / "_schema" / "batprotocol.bfbs").read_bytes()
TODAY = read_schema("2026-06")


def damaged(draw: Random) -> bytes:
    found = bytearray(WHOLE)
    for _ in range(draw.choice([1, 1, 2, 8])):
        place = draw.randrange(len(found))
        match draw.randrange(5):
            case 0:
                found[place] ^= 1 << draw.randrange(8)
            case 1:
                found[place : place + 4] = draw.choice([b"\xff\xff\xff\x7f", b"\0\0\0\0", b"\x01\0\0\0"])
            case 2:
                del found[place : place + draw.randrange(1, 9)]
            case 3:
                other = draw.randrange(len(found))
                found[place : place + 8] = found[other : other + 8]
            case _:
                found[place] = draw.randrange(256)
    return bytes(found)


@pytest.mark.parametrize("whole", [False, True])
def test_any_damage(tmp_path: Path, whole: bool) -> None:
    path = tmp_path / "damaged.bfbs"
    used = 0
    for seed in range(150):
        path.write_bytes(damaged(Random(seed)))
        try:
            schema = read_schema(path, whole=whole)
            differences(TODAY, schema)
            differences(schema, TODAY)
            dissector(schema)
            if not whole:
                Codec(schema)
        except InputError:
            continue
        used += 1
    assert 10 < used < 140
