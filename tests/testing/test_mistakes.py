"""Each mistake of `plain_edc` is found, by its rule, and what has none is left alone.

Those that a decision component makes with what it says are found in this process, which is quick. Those of a program
need one; with the default settings, each of them is found in a program, too: `-m minutes`.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import plain_edc
import pytest
from support import ROOT

from batprotocol import Message
from batprotocol.conversation import check as check_conversation
from batprotocol.testing import conformance
from batprotocol.testing.conformance import _search as searching
from batprotocol.wire import FORMATS, frames

WITHOUT_ENGINE = True
PLAIN = [sys.executable, str(Path(plain_edc.__file__)), "{endpoint}"]

RIGHT = ("Plain", "Limits", "CountsHosts")
"""What has no mistake. The last one trusts that computation hosts are 0 to n - 1, which Batsim 5 guarantees."""

SAID = {
    "LosesJobs": "simulation.stuck-jobs",
    "OneEvent": "simulation.stuck-jobs",
    "ExecutesTwice": "job.execute-state",
    "NeverDecides": "simulation.stuck-jobs",
    "Procrastinates": "edc.never-decided",
    "IgnoresSize": "simulation.stuck-jobs",
    "OneHostEach": "job.host-number",
    "NeedsWalltime": "edc.died",
    "IgnoresFailed": "simulation.stuck-jobs",
    "IgnoresWalltime": "simulation.stuck-jobs",
    "MixesWorkloads": "job.unknown job.execute-state",
    "JobsByNumber": "simulation.stuck-jobs",
    "NumericJobs": "edc.died",
    "Overallocates": "job.over-allocation",
    "UsesStorages": "job.host-stores",
    "SleepsWithJobs": "job.host-asleep",
    "CommaSeparated": "hosts.syntax hosts.misread",
    "KillsEnded": "job.kill-state",
    "KillsJustEnded": "job.kill-state",
    "KillsInCompletion": "job.kill-state",
    "KillsTwice": "job.kill-again",
    "IgnoresKilled": "simulation.stuck-jobs",
    "NeedsProgress": "edc.died",
    "FreesTwice": "job.over-allocation",
    "CallsAfterEnd": "end.call-me-later",
    "TicksForEver": "edc.endless",
    "NeverFinishesRegistration": "simulation.stuck-registration",
    "InTheFuture": "time.after-now",
    "Garbage": "message.unreadable",
    "UnknownField": "message.unreadable",
    "Dies": "edc.died",
    "KnowsAllEvents": "edc.died",
}
"""The mistakes that show in what is said, with the rules of which one is named."""

DONE = {
    "WrongFlags": "message.unreadable",
    "UnknownFlags": "frame.flags",
    "NeverAnswersCalls": "edc.silent",
    "TwoAnswers": "edc.second-answer",
    "TwoParts": "edc.several-parts",
    "Hangs": "edc.silent",
    "HangsAtOnce": "edc.silent",
}
"""Those that only a program makes."""

SLOW = {"Hangs"}
"""What takes a time-out in each of many simulations."""

ALL = {**SAID, **DONE}


class Adapted:
    """A plain decision component, called without a socket."""

    def __init__(self, name: str) -> None:
        self._plain = plain_edc.MISTAKES[name]()

    def hello(self, text: str) -> Message:
        return frames.decode_hello(self._plain.hello()).message

    def answer(self, message: Message) -> Message:
        reply: Message = FORMATS["json"].decode(self._plain.answer(FORMATS["json"].encode(message)))
        return reply


def test_no_mistake_is_forgotten() -> None:
    assert set(ALL) == set(plain_edc.MISTAKES) - set(RIGHT)
    assert len(ALL) >= 20


@pytest.mark.slow
@pytest.mark.long
def test_plain_edc_does_without_the_library() -> None:
    code = f"import sys; sys.path.insert(0, {str(Path(plain_edc.__file__).parent)!r}); import plain_edc"
    code += "; assert not [name for name in sys.modules if name.startswith('batprotocol')]"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.fixture
def unshrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found hardly becomes smaller, which takes most of the time."""
    monkeypatch.setattr(searching, "_SHRINKING_PLAYS", 5)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("unshrunk")
@pytest.mark.parametrize("name", [name for name in SAID if name != "NeedsProgress"])  # hundreds of simulations are fine
def test_a_mistake_is_found(name: str) -> None:
    report = conformance.find(lambda: Adapted(name))
    assert report.finding is not None
    assert report.finding.rule in SAID[name].split()
    assert report.finding.violation.message == len(report.finding.log) - 1


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", RIGHT)
def test_no_mistake_no_finding(name: str) -> None:
    report = conformance.find(lambda: Adapted(name), examples=60)
    assert report.finding is None
    assert report.simulations == 60
    assert not report.remarks


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.usefixtures("unshrunk")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.minutes if name in SLOW else ()) for name in (*DONE, "Dies")]
)
def test_a_mistake_of_a_program_is_found(name: str) -> None:
    """The time-out is short; where it comes too soon, an answer is missing all the same."""
    with conformance.Command([*PLAIN, name]) as target:
        report = conformance.find(target, timeout=0.3 if "edc.silent" in ALL[name] else 60)
    assert report.finding is not None
    assert report.finding.rule in ALL[name].split()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", ["ExecutesTwice", "MixesWorkloads", "CommaSeparated", "InTheFuture", "Garbage"])
def test_the_smallest_conversation_breaks_the_same_rule(name: str, tmp_path: Path) -> None:
    # Only a program can say what is no message.
    with conformance.Command([*PLAIN, name]) if name == "Garbage" else nullcontext(lambda: Adapted(name)) as target:
        finding = conformance.find(target).finding
    assert finding is not None
    conformance.save(finding, tmp_path)
    said = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    found = check_conversation(said, "protocol")  # this Batsim survives some of them, with other hosts than were meant
    assert [violation.rule for violation in found if violation.is_fatal][:1] == [finding.rule]
    assert len(said) <= 12


@pytest.mark.minutes
@pytest.mark.parametrize("name", ALL)
def test_each_mistake_is_found_with_the_default_settings(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "batprotocol", "conformance", "--", *PLAIN, name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert any(f"[{rule}]" in done.stdout.splitlines()[0] for rule in ALL[name].split()), done.stdout[:500]


@pytest.mark.minutes
@pytest.mark.parametrize("name", RIGHT)
def test_a_program_without_a_mistake_passes_2000_simulations(name: str) -> None:
    with conformance.Command([*PLAIN, name]) as target:
        assert conformance.find(target, examples=2000).finding is None
