"""What is known at a moment of a conversation: who waits, who runs where, what is free, which calls and probes are due.

The conversation's own rules follow what is said (`batprotocol.conversation`); here is what they know, as values that
stay as they are. It must not know where messages are kept, nor any rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import inf
from typing import Any, Final

import msgspec

from batprotocol import model
from batprotocol.capture.entries import Entry
from batprotocol.capture.jobs import canonical_hosts
from batprotocol.conversation import AnyMessage, Conversation, HostPower, JobState
from batprotocol.conversation.hostsets import read_hosts
from batprotocol.deprecation import old_arguments, old_names
from batprotocol.model import Direction, Message
from batprotocol.model.hosts import FrozenHosts, frozen_hosts
from batprotocol.wire.tree import from_message

__all__ = [
    "Follower",
    "Knowledge",
    "PendingCall",
    "RunningJob",
    "RunningProbe",
    "WaitingJob",
    "knowledge_at",
    "messages_in",
]

__getattr__ = old_names(__name__, {"said_in": "messages_in"})

_WAITING: Final = JobState.SUBMITTED
_RUNNING: Final = (JobState.RUNNING, JobState.KILL_PENDING)


class WaitingJob(msgspec.Struct, frozen=True):
    """A job in the queue.

    Args:
        job_id: its full name.
        submitted: when it was submitted or registered, in simulated seconds.
        job: what it asks for.
    """

    job_id: str
    submitted: float
    job: model.Job


class RunningJob(msgspec.Struct, frozen=True):
    """A job that is executed.

    Args:
        job_id: its full name.
        submitted: when it was submitted or registered, in simulated seconds.
        started: when it was executed, in simulated seconds.
        hosts: its hosts, as Batsim reads them.
        job: what it asks for.
        kill_asked: whether its kill was asked for.
    """

    job_id: str
    submitted: float
    started: float
    hosts: str
    job: model.Job
    kill_asked: bool = False

    @property
    def ends_by(self) -> float | None:
        """When its walltime is over, in simulated seconds; None if it has none."""
        return None if self.job.walltime is None else self.started + self.job.walltime


class PendingCall(msgspec.Struct, frozen=True):
    """A call that is still to come.

    Args:
        call_me_later_id: its id.
        when: its trigger.
        fired: how often it has come.
    """

    call_me_later_id: str
    when: model.TemporalTrigger
    fired: int = 0


class RunningProbe(msgspec.Struct, frozen=True):
    """A probe that runs.

    Args:
        event: how it was created.
        emitted: how often it has emitted data.
    """

    event: model.CreateProbeEvent
    emitted: int = 0


class Knowledge(msgspec.Struct, frozen=True, kw_only=True):
    """What was known at a moment.

    Args:
        number: of the last message that was taken in; -1 before the first.
        now: the simulated time that Batsim told last, in seconds.
        phase: how far the conversation is, in the words of `conversation.Phase`.
        queue: the jobs that wait, in the order of their submission.
        running: the jobs that run, in the order of their execution.
        free: the computation hosts that no job has and that are on, as a host set.
        asleep: the hosts in a sleep state, and so on for those on the way.
        switching_on: see `asleep`.
        switching_off: see `asleep`.
        host_count: how many computation hosts there are.
        calls: the calls that are still to come.
        probes: the probes that run.
        registered: the profiles that the decision component registered, by name.
        profiles: all profiles that are known to exist, by name; None where nobody told what they are.
        ended: how many jobs have ended or were rejected.
        all_submitted: whether no job is to come but those that are registered.
        registration: whether jobs and profiles can be registered, in the words of `conversation.Registration`.
        lost_at: the number of the message from which on nothing could be followed, as it could not be read or came out
            of turn; None if all could.
    """

    number: int
    now: float
    phase: str
    queue: tuple[WaitingJob, ...] = ()
    running: tuple[RunningJob, ...] = ()
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
        """The same as plain values, in the words of the schema, for JSON."""
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
    """An event as JSON has it."""
    found: dict[str, Any] = from_message(Message(0.0, (event,)))["events"][0]["event"]
    return found


def _job_tree(job: model.Job) -> dict[str, Any]:
    found: dict[str, Any] = _tree(model.RegisterJobEvent(job_id="", job=job))["job"]
    return found


class Follower:
    """Follows a conversation from its first message on, and knows what is known.

    Attributes:
        conversation: the conversation, with all that it knows.
        lost_at: the number of the message from which on nothing could be followed; None if all could.
    """

    def __init__(self) -> None:
        self.conversation = Conversation()
        self.lost_at: int | None = None
        self._submitted: dict[str, float] = {}
        self._started: dict[str, float] = {}
        self._registered: dict[str, model.Profile] = {}
        self._ended = 0

    @old_arguments(said="message")
    def take(self, direction: Direction, message: AnyMessage | None) -> None:
        """Take in the next message.

        Args:
            direction: who sends it.
            message: the message, or its bytes; of the first two, the frame of the handshake, or its bytes. None where
                it could not be read.
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
        """What the conversation does not keep, as no rule needs it."""
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

    def knowledge(self) -> Knowledge:
        """What is known now."""
        conversation = self.conversation
        queue: list[WaitingJob] = []
        running: list[RunningJob] = []
        taken: list[tuple[int, int]] = []
        for job_id in self._submitted:
            record = conversation.jobs.get(job_id)
            if record is None or record.job is None:
                continue
            if record.state is _WAITING:
                queue.append(WaitingJob(job_id, self._submitted[job_id], record.job))
            elif record.state in _RUNNING and record.allocation is not None:
                since = self._started.get(job_id, record.since or 0.0)
                hosts_of_it = canonical_hosts(record.allocation)
                running.append(
                    RunningJob(job_id, self._submitted[job_id], since, hosts_of_it, record.job, record.kill_due)
                )
                taken += read_hosts(record.allocation).intervals
        running.sort(key=lambda job: job.started)  # stable: of one moment, in the order of submission
        hosts = conversation.hosts
        on: dict[HostPower, list[int]] = {power: [] for power in HostPower}
        for number, host in hosts.items():
            if not host.is_storage:
                on[host.power].append(number)
        busy = frozen_hosts(" ".join(f"{first}-{last}" for first, last in taken))
        return Knowledge(
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


_UNREADABLE: Final = frozenset(["frame.init", "frame.hello", "message.unreadable", "message.unverified", "turn.order"])


def messages_in(entries: Iterable[Entry]) -> Iterator[tuple[Direction, AnyMessage | None]]:
    """Who says what in a capture, for `Follower.take`: the frames of the handshake as they are, then messages."""
    return ((entry.direction, entry.data if entry.number < 2 else entry.message) for entry in entries)


@old_arguments(said="messages")
def knowledge_at(messages: Iterable[tuple[Direction, AnyMessage | None]], time: float = inf) -> Knowledge:
    """What was known at a simulated time.

    Args:
        messages: the messages with their directions, from the initialization data on; see `Follower.take`.
        time: in simulated seconds; what was said then counts. A reply that thinks is said when it has thought.
    """
    follower = Follower()
    for direction, each in messages:
        if isinstance(each, Message) and each.now > time:
            break
        follower.take(direction, each)
    return follower.knowledge()
