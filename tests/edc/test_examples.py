"""The schedulers in examples/: against the Batsim side of every recorded run, and what each is there to show."""

from __future__ import annotations

import ast
import itertools
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest
from replay import PATIENCE, InThread, batsim_side, begins, completed, ends, said, submitted
from support import ROOT, runs

from batprotocol import decode, model
from batprotocol.edc import Scheduler, rehearse, run
from batprotocol.edc.commands.scheduler import load
from batprotocol.errors import PeerGone
from batprotocol.wire import frames

WITHOUT_ENGINE = True

EXAMPLES = {
    "fcfs": "FCFS",
    "easy_backfilling": "EASY",
    "power_saver": "PowerSaver",
    "dynamic_registration": "LoadGenerator",
    "killer": "Killer",
}


def example(module: str) -> type[Scheduler]:
    """The class that `batproto run` loads."""
    return load(f"{ROOT}/examples/{module}.py:{EXAMPLES[module]}")


def ended_well(sides: Sequence[bytes]) -> bool:
    """Whether Batsim told the end; some runs are there because it aborted."""
    return len(sides) > 1 and any(isinstance(event, model.SimulationEndsEvent) for event in decode(sides[-1]).events)


# All of them


@pytest.mark.slow
@pytest.mark.parametrize("archive", runs(), ids=lambda path: path.name.removesuffix(".tar.xz"))
def test_examples_work_to_the_end_of_every_recorded_run(
    archive: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What Batsim says there was meant for other schedulers: it ends jobs that were never started, and more."""
    caplog.set_level(logging.ERROR, "batprotocol.edc")
    said_by_batsim = batsim_side(archive)
    format = "json" if archive.name.endswith("__json.tar.xz") else "binary"
    for module in EXAMPLES:
        batsim = InThread(lambda peer: peer.replay(said_by_batsim))
        with nullcontext() if ended_well(said_by_batsim) else pytest.raises(PeerGone):
            run(example(module)(), f"ipc://{tmp_path}/edc.sock", format, on_bound=batsim)
        hello, *replies = batsim.join()
        assert frames.decode_hello(hello).format == format
        assert len(replies) == len(said_by_batsim) - 1
        assert all(decode(reply) for reply in replies)


@pytest.mark.slow
@pytest.mark.parametrize(("module", "format"), list(zip(EXAMPLES, itertools.cycle(["binary", "json"]))))
def test_batproto_runs_the_file(module: str, format: str) -> None:
    archive = next(
        path for path in runs() if path.name.endswith(f"__{format}.tar.xz") and ended_well(batsim_side(path))
    )
    replay = [sys.executable, f"{ROOT}/tests/replay.py", "{endpoint}", str(archive)]
    target = f"{ROOT}/examples/{module}.py:{EXAMPLES[module]}"
    done = subprocess.run(
        [sys.executable, "-m", "batprotocol", "run", "--format", format, target, "--", *replay],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), f"{ROOT}/tests"])},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("module", EXAMPLES)
def test_examples_are_short_and_documented(module: str) -> None:
    text = Path(f"{ROOT}/examples/{module}.py").read_text()
    assert len(text.splitlines()) < 120
    documentation = ast.get_docstring(ast.parse(text))
    assert documentation is not None
    assert f"batproto run examples/{module}.py:{EXAMPLES[module]}" in documentation
    assert example(module).__doc__


# Each of them


def jobs(now: float, *wanted: tuple[str, int, float | None], last: bool = False) -> model.Message:
    """Jobs are submitted: a name, a number of hosts, a walltime."""
    events: list[model.Event] = []
    for job_id, size, walltime in wanted:
        job = model.Job(resource_request=size, walltime=walltime, profile_id="w0!delay")
        events.append(model.JobSubmittedEvent(job_id=job_id, job=job, submission_time=now))
    return said(now, *events, *([model.AllStaticJobsHaveBeenSubmittedEvent()] if last else []))


def executed(reply: model.Message) -> dict[str, str]:
    events = [event for event in reply.events if isinstance(event, model.ExecuteJobEvent)]
    return {event.job_id: event.allocation.host_allocation for event in events}


def events_of(reply: model.Message, kind: type[model.Event]) -> list[model.Event]:
    return [event for event in reply.events if isinstance(event, kind)]


def test_fcfs_starts_jobs_in_their_order() -> None:
    replies = rehearse(
        example("fcfs")(),
        [
            begins(),
            jobs(1.0, ("w0!1", 3, None), ("w0!2", 2, None), ("w0!3", 1, None), ("w0!4", 5, None), last=True),
            completed(2.0, "w0!1"),
            completed(3.0, "w0!2"),
            completed(4.0, "w0!3"),
            ends(5.0),
        ],
    )
    assert [executed(reply) for reply in replies] == [{}, {"w0!1": "0-2"}, {"w0!2": "0-1", "w0!3": "2"}, {}, {}, {}]
    assert events_of(replies[1], model.RejectJobEvent) == [model.RejectJobEvent(job_id="w0!4", timestamp=1.0)]


def test_easy_backfills_what_does_not_delay_the_first_job() -> None:
    """One host is left while w0!2 waits for all four until 11: only what ends by then may take it."""
    replies = rehearse(
        example("easy_backfilling")(),
        [
            begins(),
            jobs(1.0, ("w0!1", 3, 10.0), ("w0!2", 4, 10.0), ("w0!3", 1, 10.5), ("w0!4", 1, 9.0), ("w0!5", 1, None)),
            completed(8.0, "w0!4"),
            completed(11.0, "w0!1"),
            completed(20.0, "w0!2"),
        ],
    )
    assert [executed(reply) for reply in replies] == [
        {},
        {"w0!1": "0-2", "w0!4": "3"},
        {},
        {"w0!2": "0-3"},
        {"w0!3": "0", "w0!5": "1"},
    ]


def test_easy_backfills_hosts_that_the_first_job_leaves() -> None:
    """w0!2 leaves one host when it starts at 11, which may be taken for ever, but once only."""
    replies = rehearse(
        example("easy_backfilling")(),
        [begins(), jobs(1.0, ("w0!1", 2, 10.0), ("w0!2", 3, 10.0), ("w0!3", 1, None), ("w0!4", 1, None))],
    )
    assert [executed(reply) for reply in replies] == [{}, {"w0!1": "0-1", "w0!3": "2"}]


def test_the_power_saver_turns_idle_hosts_off_and_on() -> None:
    sleeping = (model.HostProperty("sleep_pstates", "1:2:3"),)
    hosts = [
        model.Host(
            id=number,
            name=f"host{number}",
            state=model.HostState.IDLE,
            pstate_count=4,
            properties=sleeping if number else None,
            computation_speed=model.Doubles([1e9, 1e8, 1.0, 1.0]),
        )
        for number in range(4)
    ]
    probed = model.ProbeDataEmittedEvent(
        probe_id="energy", resources=model.HostResources("0-3"), data=model.AggregatedProbeData(data=6000.0)
    )
    scheduler = example("power_saver")()
    replies = rehearse(
        scheduler,
        [
            begins(computation_hosts=hosts, batsim_arguments=["batsim", "--energy-host"]),
            said(10.0, model.HostsTurnedOnOffEvent(host_ids="1-3", state=1)),
            said(60.0, probed),
            jobs(70.0, ("w0!1", 1, None), ("w0!2", 2, None), last=True),
            said(80.0, model.HostsTurnedOnOffEvent(host_ids="1-2", state=0)),
            completed(90.0, "w0!1"),
            completed(99.0, "w0!2"),
            said(100.0, model.HostsTurnedOnOffEvent(host_ids="1-2", state=1)),
            ends(101.0),
        ],
    )
    switched = [
        [(event.host_ids, event.state) for event in events_of(reply, model.TurnOnOffHostsEvent)] for reply in replies
    ]  # type: ignore[union-attr]  # all have them
    assert switched == [[("1-3", 1)], [], [], [("1-2", 0)], [], [], [("1-2", 1)], [], []]
    assert [executed(reply) for reply in replies[3:5]] == [{"w0!1": "0"}, {"w0!2": "1-2"}]
    assert [bool(events_of(reply, model.CreateProbeEvent)) for reply in replies] == [True] + [False] * 8
    assert [bool(events_of(reply, model.StopProbeEvent)) for reply in replies] == [False] * 6 + [True] + [False] * 2


def test_the_load_generator_registers_one_job_after_the_other() -> None:
    """Two at a time, four in all; they come back as submitted."""

    def back(now: float, *numbers: int) -> model.Message:
        return jobs(now, *((f"generated!{number}", 1, 60.0) for number in numbers))

    replies = rehearse(
        example("dynamic_registration")(),
        [
            begins(),
            back(1.0, 1, 2),
            said(2.0, model.AllStaticJobsHaveBeenSubmittedEvent()),
            completed(31.0, "generated!1"),
            back(32.0, 3),
            said(33.0, *completed(33.0, "generated!2").events, *completed(33.0, "generated!3").events),
            back(34.0, 4),
            completed(64.0, "generated!4"),
            ends(65.0),
        ],
        '{"jobs": 4}',
    )
    registered = [
        [event.job_id for event in reply.events if isinstance(event, model.RegisterJobEvent)] for reply in replies
    ]
    assert registered == [["generated!1", "generated!2"], [], [], ["generated!3"], [], ["generated!4"], [], [], []]
    assert len(events_of(replies[0], model.RegisterProfileEvent)) == 1
    assert [bool(events_of(reply, model.FinishRegistrationEvent)) for reply in replies] == [False] * 5 + [True] + [
        False
    ] * 3


def test_the_load_generator_with_nothing_to_register() -> None:
    (reply,) = rehearse(example("dynamic_registration")(), [begins()], '{"jobs": 0}')
    assert isinstance(reply.events[-1], model.FinishRegistrationEvent)


def test_the_killer_kills_what_runs_for_too_long_and_reads_the_progress() -> None:
    leaf = model.KillProgressAtomicProfile("w0!delay", 0.25)
    forked = model.KillProgressForkJoinProfile("w0!fork", [leaf, model.KillProgressAtomicProfile("w0!delay", 0.75)])  # type: ignore[arg-type]  # iterables become tuples
    nested = model.KillProgressSequentialProfile("w0!sequence", 0, 1, forked)
    killed = model.JobCompletedEvent(job_id="w0!1", state=model.FinalJobState.COMPLETED_KILLED, return_code=-1)
    scheduler = example("killer")()
    replies = rehearse(
        scheduler,
        [
            begins(),
            jobs(1.5, ("w0!1", 1, None), ("w0!2", 1, None), ("w0!3", 1, None), last=True),
            completed(5.0, "w0!2"),
            said(
                12.0,
                model.RequestedCallEvent(call_me_later_id="w0!1"),
                model.RequestedCallEvent(call_me_later_id="w0!2"),
            ),
            said(
                12.5,
                killed,
                model.JobsKilledEvent(job_ids=("w0!1",), progresses=(model.JobAndProgress("w0!1", nested),)),
                model.RequestedCallEvent(call_me_later_id="w0!3"),
            ),
            said(
                13.0,
                *completed(13.0, "w0!3").events,
                model.JobsKilledEvent(job_ids=("w0!3",), progresses=()),
            ),
            ends(14.0),
        ],
        '{"limit": 10}',
    )
    calls = [event for event in replies[1].events if isinstance(event, model.CallMeLaterEvent)]
    assert [call.when for call in calls] == [model.OneShot(12)] * 3
    assert [list(events_of(reply, model.KillJobsEvent)) for reply in replies[2:5]] == [
        [],
        [model.KillJobsEvent(job_ids=("w0!1",), timestamp=12.0)],
        [model.KillJobsEvent(job_ids=("w0!3",), timestamp=12.5)],
    ]
    assert vars(scheduler)["done"] == {"w0!1": 0.5}


@pytest.mark.parametrize("module", ["dynamic_registration", "killer"])
@pytest.mark.parametrize("text", ["", "{}", "not JSON", "[1]"])
def test_initialization_data_that_is_meant_for_others(module: str, text: str) -> None:
    assert len(rehearse(example(module)(), [begins(), submitted(1.0)], text)) == 2
