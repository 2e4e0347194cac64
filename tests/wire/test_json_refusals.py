"""What cannot be written as JSON is refused by both engines, with the field that is wrong, indented or not."""

from __future__ import annotations

import copy
import itertools
import math
import random
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from engines import each_engine
from hypothesis import given
from hypothesis import strategies as st

from batprotocol import model
from batprotocol.errors import EncodeError
from batprotocol.testing import strategies as bat

WRONG: list[Any] = ["x", "", b"", None, [], (), {}, -1, 300, 2**70, 1.5, math.nan, object(), "\ud800"]


@given(bat.events(), st.randoms())
def test_whatever_a_field_holds_it_is_written_or_refused(event: model.Event, chance: random.Random) -> None:
    broken = copy.deepcopy(event)
    values: list[model.Value] = [broken]
    for value in values:
        parts = [getattr(value, name) for name in value.__struct_fields__]
        values += [part for part in parts if isinstance(part, model.Value)]
    place = chance.choice([value for value in values if value.__struct_fields__])
    name = chance.choice(place.__struct_fields__)
    for wrong in WRONG:
        msgspec.structs.force_setattr(place, name, wrong)
        for _, indent in itertools.product(each_engine(), (None, 2)):
            with suppress(EncodeError):
                model.Message(1.0, (broken,)).to_json(indent)


@pytest.mark.parametrize("wrong", ["x", "", b"", math.nan, 1.5, None])
def test_what_is_no_number_of_an_enum_is_named(wrong: Any) -> None:
    message = model.Message(1.0, (model.JobCompletedEvent(job_id="j", state=wrong),))
    for _, indent in itertools.product(each_engine(), (None, 2)):
        with pytest.raises(EncodeError) as refused:
            message.to_json(indent)
        assert refused.value.path == "events[0].event.state"


@pytest.mark.parametrize("indent", [-1, -2, "2", 1.0, True])
def test_an_indent_is_a_number_of_spaces(indent: Any) -> None:
    for _ in each_engine():
        with pytest.raises(EncodeError, match=f"indent: expected a number of spaces or None, got {indent!r}"):
            model.Message(1.0).to_json(indent)
