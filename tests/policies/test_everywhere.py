"""A policy decides the same wherever it runs: in a simulation's process, over a socket, inside Batsim."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from embedded import needs_host
from processes import BATPROTO, batproto

from batprotocol.cli.run.scheduler import as_file
from batprotocol.edc import run
from batprotocol.edc.embedded import options
from batprotocol.policies import named
from batprotocol.simulator import (
    EXAMPLE_PLATFORM,
    EXAMPLE_WORKLOAD,
    Result,
    connect,
    load_library,
    read_platform,
    read_workload,
    simulate,
)

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

NAMES = ["easy-sjf", "wfp3+conservative+best-contiguous", "saf+easy=fcfs,no-spare,strict,once+keep+each+predicted"]
PLATFORM, WORKLOAD = read_platform(EXAMPLE_PLATFORM), read_workload(EXAMPLE_WORKLOAD)
SIMULATE = [*BATPROTO, "simulate"]


def schedule(result: Result) -> Sequence[object]:
    assert result.is_complete
    return [(row.job_id, row.starting_time, row.allocated_resources, row.final_state) for row in result.jobs]


@pytest.mark.parametrize("name", NAMES)
def test_over_a_socket_it_decides_as_in_process(name: str) -> None:
    endpoint = ""
    bound = threading.Event()

    def ready(at: str) -> None:
        nonlocal endpoint
        endpoint = at
        bound.set()

    served = threading.Thread(target=lambda: run(named(name)(), "tcp://127.0.0.1:*", on_bound=ready))
    served.start()
    bound.wait()
    with connect(endpoint) as component:
        result = simulate(PLATFORM, WORKLOAD, component)
    served.join()
    assert schedule(result) == schedule(simulate(PLATFORM, WORKLOAD, named(name)()))


@needs_host
@pytest.mark.parametrize("name", NAMES)
def test_in_the_library_that_batsim_loads_it_decides_as_in_process(name: str) -> None:
    with load_library(options.library(), options.carried(as_file(name))) as component:
        result = simulate(PLATFORM, WORKLOAD, component)
    assert schedule(result) == schedule(simulate(PLATFORM, WORKLOAD, named(name)()))


def test_batproto_runs_it_by_its_name(tmp_path: Path) -> None:
    name = NAMES[0]
    simulate(PLATFORM, WORKLOAD, named(name)(), output=f"{tmp_path}/here-")
    done = batproto("run", name, "--", *SIMULATE, "--endpoint", "{endpoint}", "-o", str(tmp_path / "socket"))
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "socket" / "jobs.csv").read_bytes() == (tmp_path / "here-jobs.csv").read_bytes()


@needs_host
def test_batproto_has_batsim_load_it_by_its_name(tmp_path: Path) -> None:
    name = NAMES[2]
    simulate(PLATFORM, WORKLOAD, named(name)(), output=f"{tmp_path}/here-")
    command = [*SIMULATE, "--library", "{library}", "--init", "{init}", "-o", str(tmp_path / "library")]
    done = batproto("run", "--in-process", name, "--", *command)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "library" / "jobs.csv").read_bytes() == (tmp_path / "here-jobs.csv").read_bytes()
