"""Watts for platforms that declare none, against the same watts declared in a platform."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.model import ParallelTaskHomogeneousProfile
from batprotocol.policies import named
from batprotocol.simulator import EXAMPLE_PLATFORM, Platform, Result, StaticJob, Workload, read_platform, simulate
from batprotocol.workloads.described import TypicalWatts, parse_watts, with_watts

WITHOUT_ENGINE = True


def workload() -> Workload:
    """Jobs that keep all cores of their hosts busy for 100 s."""
    task = ParallelTaskHomogeneousProfile(1e11, 0.0)
    return Workload([StaticJob(f"{number}", 700.0 * number, 1 + number % 3, task) for number in range(6)])


def rows(result: Result) -> list[tuple[float, float]]:
    """The waiting and finish times of jobs."""
    return [(row.waiting_time or 0.0, row.finish_time or 0.0) for row in result.jobs]


def test_the_energy_is_that_of_the_watts() -> None:
    """Four hosts take 100 W, and 12 hosts take 100 W more for 100 s."""
    platform = with_watts(Platform.homogeneous(4), parse_watts("idle=100,busy=200"))
    result = simulate(platform, workload(), named("fcfs")(), energy=True)
    span = max(finish for _, finish in rows(result))
    assert result.consumed_joules == pytest.approx(4 * 100 * span + 12 * 100 * 100, rel=1e-6)


def test_hosts_can_sleep() -> None:
    platform = with_watts(Platform.homogeneous(4), parse_watts("idle=100,busy=200,off=5,boot=50s,shutdown=10s"))
    always = simulate(platform, workload(), named("fcfs")(), energy=True).consumed_joules
    slept = simulate(platform, workload(), named("fcfs+off=60")(), energy=True)
    assert always is not None
    assert slept.consumed_joules is not None
    assert slept.consumed_joules < 0.8 * always
    assert max(waited for waited, _ in rows(slept)) == pytest.approx(50.0, abs=0.1)


def test_declared_watts_are_not_changed() -> None:
    platform = read_platform(EXAMPLE_PLATFORM)
    assert with_watts(platform, parse_watts("idle=1,busy=2")).hosts == platform.hosts


@given(
    st.builds(
        TypicalWatts,
        idle=st.floats(0, 100),
        busy=st.floats(100, 1000),
        off=st.none() | st.floats(0, 50),
        slow=st.lists(st.tuples(st.floats(0.1, 0.9), st.just(100.0)), max_size=2).map(tuple),
    )
)
def test_texts_are_read_as_they_were_written(watts: TypicalWatts) -> None:
    again = parse_watts(watts.text)
    assert parse_watts(again.text) == again
    assert again.idle == pytest.approx(watts.idle)
    [host] = with_watts(Platform.homogeneous(1), again).hosts
    assert host.watts is not None
    assert len(host.watts) == len(host.speeds) == 1 + len(watts.slow) + (0 if watts.off is None else 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("idle=95", "expected idle and busy, as in"),
        ("idle=95,buzy=250", "did you mean 'busy'"),
        ("idle=95,busy=much", "busy: expected a number of watts >= 0, got 'much'"),
        ("idle=95,busy=90", "at least those without, 95, got 90"),
        ("idle=95,idle=90,busy=100", "expected each key once, got idle twice"),
        ("idle=95,busy=250,boot=150s", "give off, too"),
        ("idle=95,busy=250,off=1,boot=0s", "boot: expected a time > 0"),
        ("idle=95,busy=250,slow=2:180", "expected a share of the speed below 1"),
        ("idle=95,busy=250,slow=0.5:300", "and watts from 95 to 250, got slow=0.5:300"),
    ],
)
def test_what_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        parse_watts(text)
