"""The state at a moment of a conversation: the queue, running jobs and their hosts, free hosts, calls and probes.

The rules of the conversation follow the messages (`batprotocol.conversation`). This module makes immutable values of
their state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import inf
from typing import Any, Final

import msgspec

from batprotocol import model
from batprotocol._util.deprecation import OldName, old_arguments, old_names
from batprotocol.conversation import AnyMessage, Conversation, HostPower, JobState
from batprotocol.conversation.hostsets import read_hosts
from batprotocol.edc.recording.entries import Entry
from batprotocol.model import Direction, Message
from batprotocol.model.hosts import FrozenHosts, frozen_hosts
from batprotocol.recordings.statistics import canonical_hosts
from batprotocol.wire.tree import from_message
from batprotocol.workloads.requests import asks_for_a_part

__all__ = [
    "ExecutedJob",
    "PendingCall",
    "QueuedJob",
    "RunState",
    "RunningProbe",
    "StateFollower",
    "messages_in",
    "state_at",
]

__getattr__ = old_names(
    __name__,
    {"Follower": "StateFollower", "Knowledge": "RunState", "knowledge_at": "state_at", "said_in": "messages_in"},
)

_WAITING: Final = JobState.SUBMITTED
_RUNNING: Final = (JobState.RUNNING, JobState.KILL_PENDING)


class QueuedJob(msgspec.Struct, frozen=True):
    """A job in the queue.

    Args:
        job_id: its full name.
        submitted: the time of its submission or registration, in simulated seconds.
        job: its request.
    """

    job_id: str
    submitted: float
    job: model.Job


class ExecutedJob(msgspec.Struct, frozen=True):
    """A job that is executed.

    Args:
        job_id: its full name.
        submitted: the time of its submission or registration, in simulated seconds.
        started: the time of its execution, in simulated seconds.
        hosts: its hosts, as Batsim reads them.
        job: its request.
        kill_asked: whether its kill was requested.
    """

    job_id: str
    submitted: float
    started: float
    hosts: str
    job: model.Job
    kill_asked: bool = False

    @property
    def ends_by(self) -> float | None:
        """The end of its walltime, in simulated seconds. None if it has no walltime."""
        return None if self.job.walltime is None else self.started + self.job.walltime


class PendingCall(msgspec.Struct, frozen=True):
    """A call that will fire.

    Args:
        call_me_later_id: its id.
        when: its trigger.
        fired: the number of times it has fired.
    """

    call_me_later_id: str
    when: model.TemporalTrigger
    fired: int = 0


class RunningProbe(msgspec.Struct, frozen=True):
    """A probe that runs.

    Args:
        event: the event that created it.
        emitted: the number of times it has emitted data.
    """

    event: model.CreateProbeEvent
    emitted: int = 0


class RunState(msgspec.Struct, frozen=True, kw_only=True):
    """The state at a moment.

    Args:
        number: the number of the last message. -1 before the first.
        now: the simulated time that Batsim reported last, in seconds.
        phase: the phase of the conversation, in the words of `conversation.Phase`.
        queue: the jobs that wait, in the order of their submission.
        running: the jobs that run, in the order of their execution.
        free: the computation hosts that are on and have no job, as a host set.
        asleep: the hosts in a sleep state, as a host set.
        switching_on: the hosts that are switching on.
        switching_off: the hosts that are switching off.
        host_count: the number of computation hosts.
        calls: the calls that will fire.
        probes: the probes that run.
        registered: the profiles that the decision component registered, by name.
        profiles: all known profiles, by name. The value is None if no message describes the profile.
        ended: the number of jobs that have ended or were rejected.
        all_submitted: whether all static jobs are submitted. Only registered jobs can follow.
        registration: whether jobs and profiles can be registered, in the words of `conversation.Registration`.
        lost_at: the number of the first message that could not be followed, because it could not be read or came out of
            turn. None if all messages could be followed.
    """

    number: int
    now: float
    phase: str
    queue: tuple[QueuedJob, ...] = ()
    running: tuple[ExecutedJob, ...] = ()
    free: str = ""
    asleep: str = ""
    switching_on: str = ""
    switching_off: str = ""
    host_count: int = 0
    calls: tuple[PendingCall, ...] = ()
    probes: tuple[RunningProbe, ...] = ()
    registered: Mapping[str, model.Profile] = {}
    profiles: Mapping[str, model.Profile | None] = {}
    ended: int = 0
    all_submitted: bool = False
    registration: str = ""
    lost_at: int | None = None

    @property
    def free_hosts(self) -> FrozenHosts:
        """The free hosts as a set."""
        return frozen_hosts(self.free)

    def to_json(self) -> dict[str, Any]:
        """The state as plain values for JSON, with the names of the schema."""
        return {
            "number": self.number,
            "now": self.now,
            "phase": self.phase,
            "queue": [
                {"job_id": each.job_id, "submitted": each.submitted, **_job_tree(each.job)} for each in self.queue
            ],
            "running": [
                {
                    "job_id": each.job_id,
                    "submitted": each.submitted,
                    "started": each.started,
                    "hosts": each.hosts,
                    "kill_asked": each.kill_asked,
                    **_job_tree(each.job),
                }
                for each in self.running
            ],
            "host_count": self.host_count,
            "free": self.free,
            "asleep": self.asleep,
            "switching_on": self.switching_on,
            "switching_off": self.switching_off,
            "calls": [
                {
                    **_tree(model.CallMeLaterEvent(call_me_later_id=each.call_me_later_id, when=each.when)),
                    "fired": each.fired,
                }
                for each in self.calls
            ],
            "probes": [{**_tree(each.event), "emitted": each.emitted} for each in self.probes],
            "registered_profiles": [
                _tree(model.RegisterProfileEvent(profile=model.ProfileAndId(id=name, profile=profile)))["profile"]
                for name, profile in self.registered.items()
            ],
            "ended": self.ended,
            "all_submitted": self.all_submitted,
            "registration": self.registration,
            "lost_at": self.lost_at,
        }


def _tree(event: model.Event) -> dict[str, Any]:
    """An event in its JSON form."""
    found: dict[str, Any] = from_message(Message(0.0, (event,)))["events"][0]["event"]
    return found


def _job_tree(job: model.Job) -> dict[str, Any]:
    found: dict[str, Any] = _tree(model.RegisterJobEvent(job_id="", job=job))["job"]
    return found


class StateFollower:
    """Follows a conversation from its first message on, and derives its state.

    Attributes:
        conversation: the conversation and its state.
        lost_at: the number of the first message that could not be followed. None if all messages could be followed.
    """

    def __init__(self) -> None:
        self.conversation = Conversation(asks_for_a_part=asks_for_a_part)
        self.lost_at: int | None = None
        self._submitted: dict[str, float] = {}
        self._started: dict[str, float] = {}
        self._registered: dict[str, model.Profile] = {}
        self._ended = 0

    @old_arguments(said="message")
    def take(self, direction: Direction, message: AnyMessage | None) -> None:
        """Take in the next message.

        Args:
            direction: its direction.
            message: the message, or its bytes. For the first two messages: the frame of the handshake, or its bytes.
                None if it could not be read.
        """
        conversation = self.conversation
        if self.lost_at is not None:
            return
        if message is None or conversation.is_over or direction is not conversation.turn:
            self.lost_at = conversation.number
            return
        found = conversation.feed(message)
        if any(each.rule in _UNREADABLE for each in found) and not isinstance(message, Message):
            self.lost_at = conversation.number - 1
        elif isinstance(message, Message):
            self._note(message)

    def _note(self, message: Message) -> None:
        """Note the facts that no rule needs, so that the conversation does not keep them."""
        for event in message.events:
            if isinstance(event, model.JobSubmittedEvent):
                self._submitted[event.job_id] = event.submission_time
            elif isinstance(event, model.ExecuteJobEvent):
                self._started.setdefault(event.job_id, max(event.timestamp, self.conversation.now))
            elif isinstance(event, model.JobCompletedEvent | model.RejectJobEvent):
                self._ended += self._submitted.pop(event.job_id, None) is not None
                self._started.pop(event.job_id, None)
            elif isinstance(event, model.RegisterJobEvent):
                self._submitted[event.job_id] = max(event.timestamp, self.conversation.now)
            elif isinstance(event, model.RegisterProfileEvent):
                self._registered[event.profile.id] = event.profile.profile

    def state(self) -> RunState:
        """The current state."""
        conversation = self.conversation
        queue: list[QueuedJob] = []
        running: list[ExecutedJob] = []
        taken: list[tuple[int, int]] = []
        for job_id in self._submitted:
            record = conversation.jobs.get(job_id)
            if record is None or record.job is None:
                continue
            if record.state is _WAITING:
                queue.append(QueuedJob(job_id, self._submitted[job_id], record.job))
            elif record.state in _RUNNING and record.allocation is not None:
                since = self._started.get(job_id, record.since or 0.0)
                hosts_of_it = canonical_hosts(record.allocation)
                running.append(
                    ExecutedJob(job_id, self._submitted[job_id], since, hosts_of_it, record.job, record.kill_due)
                )
                taken += read_hosts(record.allocation).intervals
        running.sort(key=lambda job: job.started)  # stable: at the same moment, in the order of submission
        hosts = conversation.hosts
        on: dict[HostPower, list[int]] = {power: [] for power in HostPower}
        for number, host in hosts.items():
            if not host.is_storage:
                on[host.power].append(number)
        busy = frozen_hosts(" ".join(f"{first}-{last}" for first, last in taken))
        return RunState(
            number=conversation.number - 1,
            now=conversation.now,
            phase=conversation.phase.meaning,
            queue=tuple(queue),
            running=tuple(running),
            free=(frozen_hosts(on[HostPower.ON]) - busy).text,
            asleep=frozen_hosts(on[HostPower.ASLEEP]).text,
            switching_on=frozen_hosts(on[HostPower.SWITCHING_ON]).text,
            switching_off=frozen_hosts(on[HostPower.SWITCHING_OFF]).text,
            host_count=sum(map(len, on.values())),
            calls=tuple(
                PendingCall(name, call.when, call.fired) for name, calls in conversation.calls.items() for call in calls
            ),
            probes=tuple(RunningProbe(probe.event, probe.emitted) for probe in conversation.probes.values()),
            registered=dict(self._registered),
            profiles=dict(conversation.profiles),
            ended=self._ended,
            all_submitted=conversation.all_static_jobs_submitted,
            registration=conversation.registration.value,
            lost_at=self.lost_at,
        )

    knowledge = OldName("state")


_UNREADABLE: Final = frozenset(["frame.init", "frame.hello", "message.unreadable", "message.unverified", "turn.order"])


def messages_in(entries: Iterable[Entry]) -> Iterator[tuple[Direction, AnyMessage | None]]:
    """The directions and messages of a capture, for `StateFollower.take`. The frames of the handshake are bytes."""
    return ((entry.direction, entry.data if entry.number < 2 else entry.message) for entry in entries)


@old_arguments(said="messages")
def state_at(messages: Iterable[tuple[Direction, AnyMessage | None]], time: float = inf) -> RunState:
    """The state at a simulated time.

    Args:
        messages: the messages with their directions, from the initialization data on; see `StateFollower.take`.
        time: the time, in simulated seconds. Messages at that time are included. The time of a reply is its `now`: it
            includes the thinking time of the scheduler.
    """
    follower = StateFollower()
    for direction, each in messages:
        if isinstance(each, Message) and each.now > time:
            break
        follower.take(direction, each)
    return follower.state()
