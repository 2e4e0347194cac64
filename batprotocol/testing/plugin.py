"""The pytest plugin: fixtures for simulations, and the option that names a decision component to be tested.

pytest loads it wherever batprotocol is installed, so it imports next to nothing until a fixture is used.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from batprotocol.simulator import DecisionComponent, Platform, Player, Result, Workload
    from batprotocol.testing.conformance import Target

__all__ = ["batprotocol_edc", "batsim_platform", "batsim_simulation", "pytest_addoption"]

_OPTION = "--batprotocol-edc"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("batprotocol").addoption(
        _OPTION,
        metavar="COMMAND",
        help="The decision component for the fixture batprotocol_edc: a command that contains {endpoint}, the address "
        "at which it must listen.",
    )


@pytest.fixture
def batsim_platform() -> Platform:
    """A platform of four equal hosts that can sleep and have wattages. Override the fixture for another platform."""
    from batprotocol.simulator import Platform, SleepPState, Watts

    return Platform.homogeneous(
        4,
        speeds=(1e9, 1.0, 0.5, 0.25),
        watts=(
            Watts(100.0, 120.0, 200.0),
            Watts(10.0, 10.0, 10.0),
            Watts(90.0, 90.0, 90.0),
            Watts(110.0, 110.0, 110.0),
        ),
        sleep_pstates=(SleepPState(1, 2, 3),),
        properties={"sleep_pstates": "1:2:3"},
    )


@pytest.fixture
def batsim_simulation(batsim_platform: Platform) -> Callable[..., Result]:
    """A function that simulates a scheduler on `batsim_platform`, as `batprotocol.simulator.simulate` does.

    It takes the scheduler, the workloads (by default, a few jobs that end in all ways), and the options of `simulate`
    by keyword. If the scheduler asks for something that Batsim would not survive, a RuleViolation fails the test.
    """

    def simulated(scheduler: Player | DecisionComponent, workloads: Workload | None = None, **options: Any) -> Result:
        from batprotocol.simulator import simulate

        return simulate(batsim_platform, _few_jobs() if workloads is None else workloads, scheduler, **options)

    return simulated


@pytest.fixture
def batprotocol_edc(request: pytest.FixtureRequest) -> Iterator[Target]:
    """The decision component of `--batprotocol-edc`, for `batprotocol.testing.conformance.check`.

    Tests that use it are skipped without the option.
    """
    command = request.config.getoption(_OPTION)
    if command is None:
        pytest.skip(f"needs {_OPTION} COMMAND")
    from batprotocol.testing.conformance import Command

    try:
        target = Command(shlex.split(command))
    except ValueError as error:
        raise pytest.UsageError(f"{_OPTION}: {error}") from None
    with target:
        yield target


def _few_jobs() -> Workload:
    from batprotocol.model import DelayProfile
    from batprotocol.simulator import StaticJob, Workload, WorkloadProfile

    profiles = {
        "short": WorkloadProfile(DelayProfile(10.0)),
        "long": WorkloadProfile(DelayProfile(100.0)),
        "fails": WorkloadProfile(DelayProfile(10.0), return_code=1),
    }
    jobs = [
        StaticJob("0", 0.0, 1, "short"),
        StaticJob("1", 0.0, 2, "long", 150.0),
        StaticJob("2", 5.0, 4, "short", 20.0),
        StaticJob("3", 5.0, 1, "fails", 20.0),
        StaticJob("4", 5.0, 1, "long", 30.0),
        StaticJob("5", 50.0, 3, "short"),
    ]
    return Workload(jobs, profiles)
