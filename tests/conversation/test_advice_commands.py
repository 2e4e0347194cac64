"""Advice as users ask for it: `batproto check --advise`, `batproto conformance --advise`, and in Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run_here
from support import DATA, runs
from talks import ended, executed, message, submitted, talk

from batprotocol.edc.recording import Recorder
from batprotocol.model import AllStaticJobsHaveBeenSubmittedEvent, Direction, SimulationEndsEvent
from batprotocol.policies.names import named
from batprotocol.testing import conformance
from batprotocol.wire import frames

WITHOUT_ENGINE = True


@pytest.fixture
def waits(tmp_path: Path) -> Path:
    """A job waits for 96 seconds beside free hosts."""
    said = talk((), submitted(request=2), (), message((), 100.0), message(executed(hosts="0-1"), 100.0))
    said += [
        message((ended(), AllStaticJobsHaveBeenSubmittedEvent()), 200.0),
        message((), 200.0),
        message(SimulationEndsEvent(), 200.0),
        message((), 200.0),
    ]
    path = tmp_path / "run.tar"
    with Recorder(path) as recorder:
        recorder.write(Direction.BATSIM_TO_EDC, frames.encode_init("init"))
        recorder.write(Direction.EDC_TO_BATSIM, frames.encode_hello(said[1], "binary"))
        for number, each in enumerate(said[2:]):
            recorder.write(Direction.EDC_TO_BATSIM if number % 2 else Direction.BATSIM_TO_EDC, each.to_binary())
    return path


FREE = "from 4 to 100 (96 s), job 'w0!1' waited for 2 hosts although hosts 0-3 were free [hosts.free]"


def test_advice_is_printed_on_request(waits: Path) -> None:
    assert FREE not in run_here("check", waits).out
    assert FREE not in run_here("check", "--advise", waits).out
    done = run_here("check", "--advise-after", "60", waits)
    assert done.status == 0
    assert f"run.tar: advice: {FREE}" in done.out
    assert done.out.endswith("run.tar: 12 messages, nothing wrong\n")
    assert run_here("check", "--advise", "--advise-after", "60", waits).out == done.out


@pytest.mark.parametrize("after", ["-1", "x", ""])
def test_seconds_that_make_no_sense_are_refused(after: str, waits: Path) -> None:
    done = run_here("check", "--advise-after", after, waits)
    assert done.status == 2
    assert "--advise-after" in done.err


def test_much_advice_of_one_kind_is_cut(tmp_path: Path) -> None:
    run = tmp_path / "run.tar"
    log = Path(__file__).parent.parent.parent / "examples" / "lublin.swf.gz"
    assert run_here("simulate", "fcfs", "-w", log, "--record", run).status == 0
    lines = run_here("check", "--advise", run).out.splitlines()
    assert len(lines) == 12
    assert lines[-2].endswith("advice: 27 lines like these, about shorter times, not shown [hosts.free]")


@pytest.mark.parametrize("path", sorted((DATA / "legacy").glob("*.tar.xz"))[::6], ids=lambda path: path.name)
def test_older_runs_get_advice(path: Path) -> None:
    plain, advised = run_here("check", path), run_here("check", "--advise-after", "1", path)
    assert advised.status == plain.status
    assert set(plain.out.splitlines()) <= set(advised.out.splitlines())
    assert "fault of batproto" not in advised.err


def test_an_older_scheduler_that_keeps_hosts_free(tmp_path: Path) -> None:
    begins = (
        b'{"now":0,"events":[{"timestamp":0,"type":"SIMULATION_BEGINS","data":{"nb_resources":2,"config":{},'
        b'"allow_time_sharing":false,"resources_data":[{"id":0,"name":"a"},{"id":1,"name":"b"}]}}]}'
    )
    comes = (
        b'{"now":10,"events":[{"timestamp":10,"type":"JOB_SUBMITTED","data":{"job_id":"w0!1",'
        b'"job":{"id":"w0!1","res":2,"profile":"p","subtime":10,"walltime":-1}}}]}'
    )
    nothing, later = b'{"now":10,"events":[]}', b'{"now":9000,"events":[]}'
    done = b'{"now":9000,"events":[{"timestamp":9000,"type":"SIMULATION_ENDS","data":{}}]}'
    with Recorder(tmp_path / "old.tar") as recorder:
        for number, said in enumerate((begins, b'{"now":0,"events":[]}', comes, nothing, done, later)):
            recorder.write(Direction.EDC_TO_BATSIM if number % 2 else Direction.BATSIM_TO_EDC, said)
    out = run_here("check", "--advise", tmp_path / "old.tar").out
    assert "job 'w0!1' waited for 2 hosts although hosts 0-1 were free [hosts.free]" in out
    assert "never executed, rejected or killed job 'w0!1', submitted at 10 [jobs.undecided]" in out


@pytest.mark.parametrize("path", runs()[::5], ids=lambda path: path.name)
def test_advice_changes_no_verdict(path: Path) -> None:
    assert run_here("check", "--advise-after", "0", path).status == run_here("check", path).status


# Conformance


def test_conformance_gives_advice_on_request() -> None:
    done = run_here("conformance", "--advise-after", "5", "--examples", "40", "fcfs")
    assert done.status == 0
    assert " a job waits although enough hosts are free [hosts.free]\n  from " in done.out
    assert "advice" not in run_here("conformance", "--examples", "40", "fcfs").out


def test_conformance_in_python() -> None:
    report = conformance.check(named("fcfs"), examples=40, advise_after=5.0)
    count, smallest = report.advice["hosts.free"]
    assert count >= 1
    assert "hosts.free" in {each.kind for each in smallest.advice}
    assert conformance.check(named("fcfs"), examples=5).advice == {}
    with pytest.raises(ValueError, match="expected a number of seconds >= 0, got -1"):
        conformance.check(named("fcfs"), advise_after=-1)
