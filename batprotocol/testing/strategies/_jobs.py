"""Strategies for what jobs ask for."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol import model
from batprotocol.testing.strategies._common import makes, optional
from batprotocol.testing.strategies._numbers import float64s, uint32s
from batprotocol.testing.strategies._texts import profile_ids, texts

__all__ = ["jobs"]


@makes(model.Job)
def jobs(*, allow_nan: bool = False) -> SearchStrategy[model.Job]:
    """`Job` values; walltime absent, 0 or any other double, extra data absent, empty or any text."""
    return st.builds(
        model.Job,
        resource_request=uint32s(),
        walltime=optional(float64s(allow_nan=allow_nan)),
        extra_data=optional(texts()),
        profile_id=profile_ids(),
    )
