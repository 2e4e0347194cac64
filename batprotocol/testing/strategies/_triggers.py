"""Strategies for temporal triggers."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from batprotocol import model
from batprotocol.testing.strategies._common import makes
from batprotocol.testing.strategies._enums import enums
from batprotocol.testing.strategies._numbers import uint32s, uint64s

__all__ = ["finite_period_numbers", "infinites", "one_shots", "periodic_modes", "periodics", "temporal_triggers"]


@makes(model.OneShot)
def one_shots() -> SearchStrategy[model.OneShot]:
    """`OneShot` values."""
    return st.builds(model.OneShot, time=uint64s(), time_unit=enums(model.TimeUnit))


@makes(model.Infinite)
def infinites() -> SearchStrategy[model.Infinite]:
    """`Infinite()`."""
    return st.builds(model.Infinite)


@makes(model.FinitePeriodNumber)
def finite_period_numbers() -> SearchStrategy[model.FinitePeriodNumber]:
    """`FinitePeriodNumber` values, 0 periods too."""
    return st.builds(model.FinitePeriodNumber, nb_periods=uint32s())


def periodic_modes() -> SearchStrategy[model.PeriodicMode]:
    """`Infinite()` or a `FinitePeriodNumber`."""
    return st.one_of(infinites(), finite_period_numbers())


@makes(model.Periodic)
def periodics() -> SearchStrategy[model.Periodic]:
    """`Periodic` values, of period 0 and with any offset too."""
    return st.builds(
        model.Periodic, period=uint64s(), offset=uint64s(), time_unit=enums(model.TimeUnit), mode=periodic_modes()
    )


def temporal_triggers() -> SearchStrategy[model.TemporalTrigger]:
    """A `OneShot` or a `Periodic`."""
    return st.one_of(one_shots(), periodics())
