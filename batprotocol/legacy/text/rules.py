"""The judge of messages in text: it trusts Batsim, and judges the scheduler as Batsim reads it.

Messages in text give jobs and machines, but neither the number of machines, nor the number that a job requests, nor
whether energy is on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from batprotocol.errors import DecodeError, shown
from batprotocol.legacy.json.values import printable
from batprotocol.legacy.rules import RuleState
from batprotocol.legacy.text import events as t
from batprotocol.legacy.text.wire import BY_VALUE, decode, decode_frame
from batprotocol.model import Direction

__all__ = ["TextJudge"]

_MOST: Final = 2**16
"""How many machines of an interval the judge checks."""
_SOON: Final = 1e-3
"""A machine reaches a power state that computes within this many seconds; to switch it on or off takes longer."""


def hosts_in(ranges: tuple[range, ...]) -> tuple[int, ...]:
    """The machines of these intervals, in their order."""
    return tuple(host for each in ranges for host in each[:_MOST])


class _StateRequest(msgspec.Struct):
    hosts: frozenset[int]
    pstate: int
    time: float
    is_old: bool = False


class TextMachines:
    """The known power states: the pending requests, and the information in the answers.

    If Batsim answers a request at once, the machine changes between two states that compute. Any other request puts
    machines to sleep, or wakes them up.
    """

    def __init__(self) -> None:
        self._requests: list[_StateRequest] = []
        self._asleep: set[int] = set()
        self._sleeping: set[int] = set()  # the power states in which machines sleep

    def ask(self, hosts: frozenset[int], pstate: int, time: float) -> None:
        """The scheduler requests a power state for machines."""
        self._requests.append(_StateRequest(hosts, pstate, time))

    def turn(self) -> None:
        """Take a message of Batsim: a request without an answer by now takes longer."""
        for request in self._requests:
            request.is_old = True

    def answered(self, hosts: frozenset[int], pstate: int, time: float) -> bool:
        """Batsim reports machines in that power state. Returns whether the scheduler had requested it."""
        request = next((each for each in self._requests if (each.hosts, each.pstate) == (hosts, pstate)), None)
        if request is None:
            return False
        self._requests.remove(request)
        took = time - request.time > _SOON
        if took and not hosts & self._asleep:
            self._asleep |= hosts
            self._sleeping.add(pstate)
        else:
            self._asleep -= hosts
            self._sleeping.discard(pstate)
        return True

    def why_idle(self, host: int) -> str | None:
        """The reason why a machine does not compute, None if it computes as far as messages show."""
        if any(request.is_old and host in request.hosts for request in self._requests):
            return "is being switched"
        return "sleeps" if host in self._asleep else None

    def sleeps_on(self, host: int, pstate: int) -> bool:
        """Whether a machine sleeps, and this power state is one in which machines sleep."""
        return host in self._asleep and pstate in self._sleeping

    @property
    def are_switching(self) -> bool:
        """Whether a request has no answer yet."""
        return bool(self._requests)


class TextState:
    """Jobs, calls and machines; `version` is that of Batsim."""

    def __init__(self, version: int) -> None:
        self.version: Final = version
        self.clock = 0.0
        self.step = 0.0
        """Seconds that each event of a reply takes to reach Batsim's main process, as far as messages show."""
        self.waiting: set[str] = set()
        self.running: dict[str, frozenset[int]] = {}
        self.ended: set[str] = set()
        self.calls = 0
        self.has_ended = False
        self.has_replied = False
        self.rejected_last = False
        self.machines = TextMachines()

    def users_of(self, host: int) -> str | None:
        """A job that runs on a machine, None if there is none."""
        return next((job for job, hosts in self.running.items() if host in hosts), None)


# The judge


def _is_framed(data: bytes) -> bool:
    return len(data) > 4 and int.from_bytes(data[:4], sys.byteorder) == len(data) - 4


class TextJudge:
    """Judges messages in text.

    Args:
        rule_set: "text-0" to "text-3".
        state: where violations are reported.
    """

    def __init__(self, rule_set: str, state: RuleState) -> None:
        self._state: Final = state
        self._known: Final = TextState(int(rule_set[-1]))

    def _read(self, data: bytes, strict: bool = False) -> t.Message:
        return (decode_frame if _is_framed(data) else decode)(data, self._known.version, strict=strict)

    # Batsim

    def hear(self, data: bytes) -> None:
        """Take a message of Batsim. `DecodeError` if it is not a message."""
        known = self._known
        message = self._read(data)
        last = 0.0
        for index, event in enumerate(message.events):
            if not last <= event.timestamp <= message.now:
                self._state.report("batsim.odd", f"events[{index}].timestamp", "it is not between the last one and now")
            last = event.timestamp
            take = _HEARD.get(type(event))
            if take is not None:
                take(self, event, f"events[{index}]")
        known.step = _step_of(message) or known.step
        known.clock, known.has_replied = message.now, False
        known.machines.turn()

    def _submitted(self, event: t.JobSubmission, path: str) -> None:
        self._known.waiting.add(event.job_id)

    def _completed(self, event: t.JobCompletion, path: str) -> None:
        if self._known.running.pop(event.job_id, None) is None:
            self._state.report("batsim.odd", path, f"there is no job {shown(event.job_id)} that could have ended")
        self._known.ended.add(event.job_id)

    def _changed(self, event: t.PStateChanged, path: str) -> None:
        hosts = frozenset(hosts_in(t.machines_of(event.machines)))
        if not self._known.machines.answered(hosts, event.pstate, event.timestamp):
            self._state.report("batsim.odd", path, "the scheduler has not asked for this power state")

    def _called(self, event: t.Nop, path: str) -> None:
        self._known.calls = max(self._known.calls - 1, 0)

    def _ended(self, event: t.SimulationEnds, path: str) -> None:
        self._known.has_ended = True

    # The scheduler

    def judge(self, data: bytes) -> None:
        """Judge a message of the scheduler. `DecodeError` if Batsim aborts when it reads it."""
        known, report = self._known, self._state.report
        message = self._read(data)
        known.has_replied, known.rejected_last = True, False
        try:
            self._read(data, strict=True)
        except DecodeError as error:
            report("message.odd", error.path, f"it is read leniently: {error.reason}")
        last, clock = known.clock, known.clock
        for index, event in enumerate(message.events):
            path = f"events[{index}]"
            stamp = BY_VALUE[type(event)]
            if Direction.EDC_TO_BATSIM not in stamp.directions or stamp.since > known.version:
                who = "Batsim says" if Direction.EDC_TO_BATSIM not in stamp.directions else "later versions have"
                report("event.unknown", path, f"only {who} {stamp.letter}")
                continue
            if event.timestamp < clock:
                report("message.time", path, f"{event.timestamp} is earlier than the clock, {clock}")
            elif event.timestamp < last:
                report("message.order", path, f"{event.timestamp} is earlier than {last}, which came before it")
            elif known.version >= 3 and not printable(event.timestamp):
                report("message.time", path, f"{event.timestamp} is too large to be printed")
            last = max(last, event.timestamp)
            judge = _SAID.get(type(event))
            if judge is not None:
                judge(self, event, path, index)
        known.clock = last

    def _job(self, job_id: str, path: str) -> bool:
        """Whether a job waits. If it does not, this reports a violation."""
        known = self._known
        if job_id in known.waiting:
            return True
        if job_id in known.running or job_id in known.ended:
            state = "is executed" if job_id in known.running else "has ended or was rejected"
            self._state.report("job.not-submitted", path, f"the job {shown(job_id)} {state} already")
        else:
            self._state.report("job.unknown", path, f"no job {shown(job_id)} was submitted so far")
        return False

    def _execute(self, event: t.JobAllocation, path: str, index: int) -> None:
        known, report = self._known, self._state.report
        started: dict[str, frozenset[int]] = {}
        for number, each in enumerate(event.allocations):
            place = f"{path}.allocations[{number}]"
            if each.job_id in started:
                report("job.not-submitted", place, f"the job {shown(each.job_id)} is in this event twice")
            elif not self._job(each.job_id, place):
                continue
            machines = hosts_in(t.machines_of(each.machines))
            hosts = frozenset(machines)
            if len(hosts) < len(machines):
                report("alloc.twice", place, "a machine is named twice")
            for host in sorted(hosts):
                why, user = known.machines.why_idle(host), known.users_of(host)
                if why is not None and event.timestamp <= known.clock:
                    report("alloc.asleep", place, f"the machine {host} {why}")
                    break
                if user is not None or any(host in others for others in started.values()):
                    report("alloc.shared", place, f"the machine {host} may still run {shown(user)}")
                    break
            started[each.job_id] = hosts
        known.waiting.difference_update(started)
        known.running.update(started)

    def _reject(self, event: t.JobRejection, path: str, index: int) -> None:
        if self._job(event.job_id, path):
            self._known.waiting.discard(event.job_id)
            self._known.ended.add(event.job_id)
            self._known.rejected_last = True

    def _switch(self, event: t.PStateRequest, path: str, index: int) -> None:
        known, report = self._known, self._state.report
        if event.pstate < 0:
            report("hosts.state", path, f"there is no power state {event.pstate}")
            return
        hosts = frozenset(hosts_in(t.machines_of(event.machines)))
        for host in sorted(hosts):
            user, why = known.users_of(host), known.machines.why_idle(host)
            if user is not None and event.timestamp <= known.clock:
                report("hosts.busy", path, f"{shown(user)} runs on the machine {host}")
                return
            if why == "is being switched" and event.timestamp <= known.clock:
                report("hosts.busy", path, f"the machine {host} {why}")
                return
            if known.machines.sleeps_on(host, event.pstate):
                report("hosts.state", path, f"the machine {host} sleeps, and can be switched on only")
                return
        known.machines.ask(hosts, event.pstate, event.timestamp)

    def _call(self, event: t.NopMeLater, path: str, index: int) -> None:
        known, report = self._known, self._state.report
        reached = max(event.timestamp, known.clock + (index + 1) * known.step)
        if event.time <= reached:
            report("call.past", path, f"{event.time} is not later than {reached:.6f}, when Batsim comes to it")
        elif known.version >= 3 and not printable(event.time):
            report("message.time", path, f"{event.time} is too large to be printed, once it is reached")
        else:
            known.calls += 1

    def finish(self) -> None:
        """Take the end of the conversation: check whether Batsim had a reason to end it."""
        known, report = self._known, self._state.report
        if not known.has_replied or known.has_ended:
            return
        if known.running or known.calls or known.machines.are_switching:
            return
        if known.waiting:
            names = ", ".join(map(shown, sorted(known.waiting)[:3]))
            report("job.left", "", f"nothing can happen any more, and {names} still waits")
        elif known.rejected_last and known.version >= 3:
            report("job.rejected-last", "", "the last open job was rejected, and Batsim 3 does not survive that")


def _step_of(message: t.Message) -> float:
    """The time that the report of one event takes, as a message shows it: all reports of Batsim take the same time."""
    late = min((message.now - event.timestamp for event in message.events), default=0.0)
    micros = round(late * 1e6) or round(message.now * 1e6) % 1000
    return micros / 1e6 if micros <= 100 else 0.0


_HEARD: Final[Mapping[type[t.Event], Callable[[TextJudge, Any, str], None]]] = {
    t.JobSubmission: TextJudge._submitted,
    t.JobCompletion: TextJudge._completed,
    t.PStateChanged: TextJudge._changed,
    t.Nop: TextJudge._called,
    t.SimulationEnds: TextJudge._ended,
}
_SAID: Final[Mapping[type[t.Event], Callable[[TextJudge, Any, str, int], None]]] = {
    t.JobAllocation: TextJudge._execute,
    t.JobRejection: TextJudge._reject,
    t.PStateRequest: TextJudge._switch,
    t.NopMeLater: TextJudge._call,
}
