"""A policy decides the same wherever it runs: in a simulation's process, over a socket, inside Batsim."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from beside import LIMIT, Beside
from embedded import needs_host
from processes import BATPROTO, batproto
from test_sites import HOSTS, RULES, jobs_of, with_modes, without_partitions

from batprotocol.edc import run
from batprotocol.edc.commands.scheduler import as_file
from batprotocol.edc.embedded import options
from batprotocol.legacy.bridge import CheckedScheduler, OldBatsim, OldScheduler, drive
from batprotocol.legacy.translate import Options
from batprotocol.model import DelayProfile, ParallelTaskHomogeneousProfile
from batprotocol.policies import Policy, SiteRules, named
from batprotocol.simulator import (
    EXAMPLE_PLATFORM,
    EXAMPLE_WORKLOAD,
    ExternalEventList,
    Platform,
    Result,
    StaticJob,
    Workload,
    connect,
    described_platform,
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
    others = [line for line in done.stderr.splitlines() if "still waiting for" not in line]  # on a loaded machine
    assert (done.returncode, others) == (0, [])
    assert (tmp_path / "socket" / "jobs.csv").read_bytes() == (tmp_path / "here-jobs.csv").read_bytes()


@needs_host
def test_batproto_has_batsim_load_it_by_its_name(tmp_path: Path) -> None:
    name = NAMES[2]
    simulate(PLATFORM, WORKLOAD, named(name)(), output=f"{tmp_path}/here-")
    command = [*SIMULATE, "--library", "{library}", "--init", "{init}", "-o", str(tmp_path / "library")]
    done = batproto("run", "--in-process", name, "--", *command)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "library" / "jobs.csv").read_bytes() == (tmp_path / "here-jobs.csv").read_bytes()


# Hosts that fail

FAILING = [
    *((40.0, '{"hosts":"0-3","state":"down"}'), (90.5, '{"hosts":"0-3","state":"up"}')),
    *((95.0, '{"hosts":"2","state":"down"}'), (300.25, '{"hosts":"2","state":"up"}')),
    *((400.0, '{"hosts":"1-6","state":"down"}'), (401.0, '{"hosts":"1-6","state":"up"}')),
]
FATES = ["easy", "easy-sjf+requeue", "conservative+requeue=1,last", "easy+checkpoint=20,2,restart=5"]
FATE = FATES[3]
EVENTS = ExternalEventList.of(FAILING)


@pytest.fixture(scope="module")
def jobs() -> Workload:
    made = [
        StaticJob(str(number), number * 11.0, number % 5 + 1, DelayProfile(30.0 + number * 7 % 90), 250.0)
        for number in range(30)
    ]
    made.append(StaticJob("task", 3.0, 2, ParallelTaskHomogeneousProfile(9e10, 0.0), 400.0))
    return Workload(made)


MACHINE = Platform.homogeneous(8)


@pytest.mark.parametrize("name", FATES)
def test_over_a_socket_jobs_of_hosts_that_fail_end_as_in_process(name: str, jobs: Workload) -> None:
    bound: list[str] = []
    ready = threading.Event()

    def is_bound(at: str) -> None:
        bound.append(at)
        ready.set()

    served = threading.Thread(target=lambda: run(named(name)(), "tcp://127.0.0.1:*", on_bound=is_bound))
    served.start()
    ready.wait()
    with connect(bound[0]) as component:
        result = simulate(MACHINE, jobs, component, external_events=[EVENTS])
    served.join()
    assert list(result.jobs) == list(simulate(MACHINE, jobs, named(name)(), external_events=[EVENTS]).jobs)


@needs_host
@pytest.mark.parametrize("name", FATES)
def test_in_the_library_jobs_of_hosts_that_fail_end_as_in_process(name: str, jobs: Workload) -> None:
    with load_library(options.library(), options.carried(as_file(name))) as component:
        result = simulate(MACHINE, jobs, component, external_events=[EVENTS])
    assert list(result.jobs) == list(simulate(MACHINE, jobs, named(name)(), external_events=[EVENTS]).jobs)


def test_the_program_that_stands_in_for_batsim_writes_the_same_jobs(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    lines = [{"type": "generic", "timestamp": time, "data": data} for time, data in FAILING]
    events.write_text("".join(json.dumps(line) + "\n" for line in lines))
    simulate(PLATFORM, WORKLOAD, named(FATE)(), external_events=[events], output=f"{tmp_path}/here-")
    inputs = ["-p", str(EXAMPLE_PLATFORM), "-w", str(EXAMPLE_WORKLOAD), "--events", str(events)]
    command = [*SIMULATE, "--endpoint", "{endpoint}", *inputs, "-o", str(tmp_path / "socket")]
    done = batproto("run", FATE, "--", *command)
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "here-jobs.csv").read_bytes()
    assert (tmp_path / "socket" / "jobs.csv").read_bytes() == written
    assert b"~1," in written, "no job runs again"


# Jobs that share hosts

SITES = {
    "shared hosts": ("conservative+pack", None),
    "partitions": ("easy", SiteRules.of(RULES)),
    "requeue": ("easy", with_modes("requeue")),
    "checkpoint": ("easy+best-fit", with_modes("checkpoint")),
}
SHARED = described_platform(HOSTS)


def site_policy(kind: str) -> Policy:
    name, rules = SITES[kind]
    parts = named(name)()
    return Policy(parts.order, parts.backfilling, parts.allocation, site=rules)


def sharing(kind: str) -> Workload:
    jobs = jobs_of(3, 30)
    return Workload(without_partitions(jobs) if SITES[kind][1] is None else jobs, {})


@pytest.mark.parametrize("kind", SITES)
def test_over_a_socket_jobs_share_hosts_as_in_process(kind: str) -> None:
    bound: list[str] = []
    ready = threading.Event()

    def is_bound(at: str) -> None:
        bound.append(at)
        ready.set()

    policy = site_policy(kind)
    served = threading.Thread(target=lambda: run(policy, "tcp://127.0.0.1:*", on_bound=is_bound))
    served.start()
    ready.wait()
    with connect(bound[0]) as component:
        result = simulate(SHARED, sharing(kind), component)
    served.join()
    here = site_policy(kind)
    assert list(result.jobs) == list(simulate(SHARED, sharing(kind), here).jobs)
    assert list(policy.allocated) == list(here.allocated)


@needs_host
def test_in_the_library_jobs_share_hosts_as_in_process(tmp_path: Path) -> None:
    rules = tmp_path / "site.toml"
    rules.write_text(
        '[partitions.batch]\nhosts = "n[0-3],g[0-1]"\ndefault = true\npreempt = "requeue"\n'
        '[partitions.gpu]\nhosts = "g[0-1]"\ntier = 2\n'
    )
    name = f"easy+pack+site={rules}"
    with load_library(options.library(), options.carried(as_file(name))) as component:
        result = simulate(SHARED, sharing("partitions"), component)
    assert list(result.jobs) == list(simulate(SHARED, sharing("partitions"), named(name)()).jobs)


@pytest.mark.parametrize("kind", SITES)
def test_through_bridges_jobs_share_hosts_as_in_process(kind: str) -> None:
    """The embedded Batsim speaks as Batsim 4.2, whose events a bridge translates for the policy."""
    with OldBatsim("tcp://127.0.0.1:*", "4.2", timeout=LIMIT) as old:
        bridge = Beside(lambda: drive(old, CheckedScheduler(site_policy(kind))))
        dynamic = site_policy(kind).features.dynamic_registration
        settings = Options(dynamic=dynamic, forward_profiles=True, sharing=True)
        with OldScheduler(old.endpoint, "4.2", settings, timeout=LIMIT) as component:
            result = simulate(SHARED, sharing(kind), component)
        bridge.end()
    assert rounded(result) == rounded(simulate(SHARED, sharing(kind), site_policy(kind)))


def rounded(result: Result) -> list[object]:
    """The jobs without what Batsim 4 rounds: its times are milliseconds, and jobs that run again have other names."""
    assert result.is_complete
    return [(row.final_state, round(row.starting_time or -1, 1), row.allocated_resources) for row in result.jobs]
