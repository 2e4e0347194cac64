"""`conformance.check` in tests of schedulers, the strategy of whole conversations, and the pytest plugin."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import plain_edc
import pytest
from hypothesis import HealthCheck, given, settings
from support import ROOT

from batprotocol import JobSubmittedEvent, Message, MessageBuilder, RequestedCallEvent
from batprotocol.conversation import RULES
from batprotocol.conversation import check as check_conversation
from batprotocol.edc import Scheduler
from batprotocol.model import EDCRequestedSimulationFeatures, KillJobsEvent, OneShot
from batprotocol.testing import conformance, strategies
from batprotocol.testing.conformance._report import Report
from batprotocol.wire import frames

WITHOUT_ENGINE = True


class Rejecter(Scheduler):
    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        self.reply.add_reject_job(event.job_id)


class Twice(Rejecter):
    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        super().on_job_submitted(event)
        super().on_job_submitted(event)


class Crashing(Rejecter):
    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        raise LookupError("lost it")


class Exiting(Rejecter):
    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        sys.exit(0)


class Unfinished(Rejecter):
    features = EDCRequestedSimulationFeatures(dynamic_registration=True)


class Ticking(Rejecter):
    def on_simulation_begins(self, event: Any) -> None:
        self.reply.add_call_me_later("tick", OneShot(1))

    def on_requested_call(self, event: RequestedCallEvent) -> None:
        self.reply.add_call_me_later("tick", OneShot(int(self.now) + 1))


class Values:
    """Not a Scheduler: what it says is judged when it has said it."""

    def hello(self, text: str) -> Message:
        builder = MessageBuilder()
        builder.add_edc_hello("values", "1")
        return builder.finish_message()

    def answer(self, message: Message) -> Message:
        return Message(message.now, (KillJobsEvent(job_ids=("w0!nobody",), timestamp=message.now),))


@pytest.mark.parametrize(
    ("component", "rule"),
    [
        (Twice, "job.unknown job.reject-state"),
        (Crashing, "edc.died"),
        (Exiting, "edc.died"),
        (Unfinished, "simulation.stuck-registration"),
        (Scheduler, "simulation.stuck-jobs"),
        (Ticking, "edc.endless"),
        (Values, "job.unknown"),
        (lambda: object(), "edc.died"),
    ],
)
def test_what_is_wrong_is_raised(component: Any, rule: str) -> None:
    with pytest.raises(conformance.NonConformance) as caught:
        conformance.check(component)
    assert caught.value.finding.rule in rule.split()
    text = str(caught.value)
    assert f"[{caught.value.finding.rule}]" in text.splitlines()[0]
    assert "The conversation:" in text
    assert len(text.splitlines()) < 120


def test_the_text_tells_where_a_scheduler_crashed() -> None:
    with pytest.raises(conformance.NonConformance, match="LookupError: lost it") as caught:
        conformance.check(Crashing)
    assert 'raise LookupError("lost it")' in str(caught.value)
    assert "job 'w0!0' at 0: 1 host" in str(caught.value)


def test_the_refused_event_is_part_of_the_conversation(tmp_path: Path) -> None:
    with pytest.raises(conformance.NonConformance) as caught:
        conformance.check(Twice, save_to=tmp_path)
    said = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    assert [violation.rule for violation in check_conversation(said)] == [caught.value.finding.rule]


@pytest.mark.slow
@pytest.mark.long
def test_what_is_right_passes() -> None:
    report = conformance.check(Rejecter, examples=150)
    assert report.simulations == 150
    assert report.finding is None
    assert set(report.stages) == {stage.name for stage in conformance.STAGES if not stage.after_kills}


@pytest.mark.parametrize(
    "options", [{"examples": 0}, {"ignore": ["job.nonsense"]}, {"rules": "nonsense"}, {"timeout": 0.0}]
)
def test_arguments_that_make_no_sense(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"expected|there is no rule"):
        conformance.check(Rejecter, **options)


def test_the_report_knows_all_rules_that_can_be_broken() -> None:
    """Those that it does not list are about what Batsim says."""
    listed = {rule for group in Report("protocol").groups() for rule in group.never}
    listed |= {rule for group in Report("batsim-5.0.0-rc2").groups() for rule in group.never}
    assert listed <= conformance.ALL_RULES.keys()
    of_batsim = RULES.keys() - listed
    assert of_batsim == {
        "call.early",
        "call.last",
        "call.unasked",
        "frame.init",
        "hosts.changed-unasked",
        "job.completed-not-running",
        "job.killed-not-completed",
        "job.killed-unasked",
        "job.profile-not-forwarded",
        "job.progress-range",
        "job.progress-unrelated",
        "job.submitted-late",
        "job.submitted-twice",
        "probe.data-shape",
        "probe.unasked",
        "simulation.ends-early",
        "simulation.host-count",
        "simulation.host-ids",
        "simulation.not-begun",
        "simulation.version",
        "static.external-late",
        "static.twice",
        "time.backwards",
    }


# Whole conversations


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("rules", ["batsim-5.0.0-rc2", "protocol"])
def test_generated_conversations_break_no_rule(rules: str) -> None:
    seen = set()

    @settings(max_examples=100, suppress_health_check=list(HealthCheck))
    @given(strategies.conversations(rules=rules))
    def whole(said: list[Any]) -> None:
        assert [str(each) for each in check_conversation(said, rules) if each.is_fatal] == []
        assert isinstance(said[0], str)
        seen.update(type(event).__name__ for message in said[1:] for event in message.events)

    whole()
    assert {"KillJobsEvent", "RequestedCallEvent", "RegisterJobEvent", "HostsTurnedOnOffEvent"} <= seen
    assert {"ExternalEventOccurredEvent", "ForceSimulationStopEvent", "StopCallMeLaterEvent"} <= seen


# The plugin


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.long
def test_the_plugin_is_light() -> None:
    code = (
        "import sys, batprotocol.testing.plugin\n"
        "heavy = ('hypothesis', 'batprotocol.simulator', 'batprotocol.testing.conformance', 'zmq')\n"
        "assert not [name for name in heavy if name in sys.modules]"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


TESTS = """
from batprotocol.edc import Scheduler
from batprotocol.simulator import Platform
from batprotocol.testing import conformance

class Rejecter(Scheduler):
    def on_job_submitted(self, event):
        self.reply.add_reject_job(event.job_id)

def test_platform(batsim_platform):
    assert len(batsim_platform.computation_hosts) == 4

def test_simulation(batsim_simulation):
    result = batsim_simulation(Rejecter(), energy=True)
    assert [job.final_state.name for job in result.jobs] == ["REJECTED"] * 6

def test_edc(batprotocol_edc):
    conformance.check(batprotocol_edc, examples=6)
"""


@pytest.mark.slow
@pytest.mark.long
def test_the_fixtures_of_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(TESTS)
    command = f"{sys.executable} {plain_edc.__file__} {{endpoint}}"
    assert "2 passed, 1 skipped" in pytest_in(tmp_path).stdout
    assert "3 passed" in pytest_in(tmp_path, f"--batprotocol-edc={command}").stdout
    failed = pytest_in(tmp_path, f"--batprotocol-edc={command} ExecutesTwice")
    assert failed.returncode == 1
    assert "[job.execute-state]" in failed.stdout
    assert "{endpoint} is missing" in pytest_in(tmp_path, "--batprotocol-edc=edc").stdout


@pytest.mark.slow
@pytest.mark.long
def test_frames_are_saved_as_they_were_said(tmp_path: Path) -> None:
    with conformance.Command([sys.executable, str(plain_edc.__file__), "{endpoint}", "UnknownFlags"]) as target:
        finding = conformance.find(target).finding
    assert finding is not None
    conformance.save(finding, tmp_path / "run")
    assert frames.decode_hello((tmp_path / "run" / "00001-e2b.bin").read_bytes()).flags == 0x86


def test_an_interruption_before_the_search_of_hypothesis_stays_one() -> None:
    """hypothesis makes an error of its own of it."""
    came = []

    def interrupt(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_name == "run_engine":
            sys.setprofile(None)
            came.append(frame)
            raise KeyboardInterrupt

    sys.setprofile(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            conformance.check(Rejecter, examples=5)
    finally:
        sys.setprofile(None)
    assert came
