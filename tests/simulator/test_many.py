"""Simulations of many hosts, and of many jobs on one: what they cost, and how far they may go unasked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from commands import run_here
from conversations import at_once, simulated
from work import lines_of

from batprotocol.edc import Scheduler
from batprotocol.errors import InputError
from batprotocol.model import DelayProfile, JobSubmittedEvent
from batprotocol.simulator import (
    HOST_LIMIT,
    Platform,
    Simulator,
    StaticJob,
    Workload,
    platform_for,
    read_platform,
    read_swf,
    read_workload,
    simulate,
)

WITHOUT_ENGINE = True


class OnTheFirst(Scheduler):
    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        self.reply.add_execute_job(event.job_id, "0")


def on_one_host(count: int, gap: float) -> None:
    jobs = [StaticJob(str(number), number * gap, 1, DelayProfile(1e6)) for number in range(count)]
    assert len(list(simulate(Platform.homogeneous(4), Workload(jobs), OnTheFirst()).jobs)) == count


def on_many_hosts(count: int) -> None:
    jobs = [StaticJob(str(number), number, 1, DelayProfile(10.0)) for number in range(5)]
    simulate(Platform.homogeneous(count), Workload(jobs), OnTheFirst())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "work",
    [
        lambda count: on_one_host(count, 0.0),
        lambda count: on_one_host(count, 0.001),
        lambda count: on_many_hosts(20 * count),
    ],
    ids=["jobs at once", "jobs one after the other", "hosts"],
)
def test_the_work_grows_with_the_number(work: Callable[[int], None]) -> None:
    less, more = (lines_of(lambda count=count: work(count)) for count in (25, 100))
    assert more <= 4.6 * less, (less, more)


def workload_for(size: int, path: Path) -> Path:
    path.write_text(f'{{"nb_res":{size},"jobs":[],"profiles":{{}}}}')
    return path


def test_a_short_workload_does_not_make_a_platform_without_limits(tmp_path: Path) -> None:
    swf = tmp_path / "log.swf"
    swf.write_text("; MaxProcs: 999999999\n")
    assert len(platform_for([Workload()]).hosts) <= 1
    for workload in (read_workload(workload_for(HOST_LIMIT + 1, tmp_path / "workload.json")), read_swf(swf)):
        with pytest.raises(InputError, match=r"it is made for .* hosts, more than 100000") as caught:
            platform_for([Workload(), workload])
        assert caught.value.file == workload.filename
        assert len(platform_for([workload], mmax=5).hosts) == 5
    assert len(platform_for([read_workload(workload_for(101, tmp_path / "w.json"))], host_limit=101).hosts) == 101


def test_the_limit_of_platform_files_can_be_chosen(tmp_path: Path) -> None:
    path = tmp_path / "platform.xml"
    cluster = '<cluster id="c" prefix="h" suffix="" radical="0-{last}" speed="1Gf" bw="1GBps" lat="1us"/>'
    path.write_text(f'<platform version="4.1">{cluster.format(last=10)}</platform>')
    assert len(read_platform(path, master="h0", host_limit=11).hosts) == 10
    with pytest.raises(InputError, match="more than 10 hosts"):
        read_platform(path, master="h0", host_limit=10)


def test_the_command_has_an_option_for_it(tmp_path: Path) -> None:
    path = workload_for(HOST_LIMIT + 1, tmp_path / "workload.json")
    refused = run_here("simulate", "-w", path)
    assert refused.status == 1
    assert f"{path}: it is made for 100001 hosts, more than 100000; raise the limit" in refused.err
    workload_for(11, path)
    assert run_here("simulate", "-w", path, "--host-limit", 10).status == 1
    assert run_here("simulate", "-w", path, "--host-limit", 11).status == 0


def test_on_a_platform_for_delays_time_begins_at_0() -> None:
    workload = Workload([StaticJob("1", 0.0, 1, DelayProfile(1.0)), StaticJob("2", 2.0, 1, DelayProfile(1.0))])
    simulator = Simulator(platform_for([workload]), [workload])
    assert [message.now for message in simulated(simulator, at_once())] == [0.0, 0.0, 1.0, 2.0, 2.0, 3.0, 3.0]
