"""The state of a simulation: its inputs and options, profiles, the state of the server, and all that actors share."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Final

from mypy_extensions import mypyc_attr

from batprotocol._util.counting import step
from batprotocol.errors import RuleViolation
from batprotocol.model import (
    EDCRequestedSimulationFeatures,
    Event,
    Message,
    ParallelTaskMergeCompositionProfile,
    Profile,
    ProfileAndId,
    SequentialCompositionProfile,
)
from batprotocol.model.profiles import ForkJoinCompositionProfile
from batprotocol.results import Observer
from batprotocol.simulator.batsim.jobs import Reports, SimulatedJob
from batprotocol.simulator.batsim.messages import EndPeriodicCalls
from batprotocol.simulator.batsim.probes import Probe
from batprotocol.simulator.batsim.rules import Refusals
from batprotocol.simulator.machine.machine import SimulatedMachine
from batprotocol.simulator.machine.queue import EventQueue, Mailbox, SimulationActor
from batprotocol.workloads import ExternalEventList, Platform, Workload, WorkloadProfile
from batprotocol.workloads.workload_files import TraceReader, read_traces

__all__ = [
    "Listener",
    "Profiles",
    "ServerState",
    "Setup",
    "Simulation",
    "SwitchRequest",
    "has_parts",
]


# Inputs and options, which never change


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Setup:
    """The inputs and options of a simulation.

    Args:
        platform: hosts and network.
        workloads: the workloads to submit.
        event_lists: the lists of external events.
        arguments: the command-line arguments that the decision component gets.
        corrected: whether behaviour of Batsim that looks unintended is corrected.
        is_batsim: whether only the features of that Batsim are supported.
        at_once: whether the decision component gets events as soon as it has replied, as with Batsim before version 3.
        traces: reads the usage trace with this name that the decision component registers, as `read_traces`.
        says_nothing: "", or the way in which the server gets a reply without decisions in the text protocol: "waiting",
            as for a decision, or "leaving", without waiting.

    Attributes:
        features: the features that the decision component has requested in its hello.
    """

    __slots__ = (
        "_host_names",
        "_static_ids",
        "arguments",
        "at_once",
        "corrected",
        "event_lists",
        "features",
        "is_batsim",
        "platform",
        "says_nothing",
        "traces",
        "workloads",
    )

    def __init__(
        self,
        platform: Platform,
        workloads: Sequence[Workload],
        event_lists: Sequence[ExternalEventList],
        arguments: tuple[str, ...],
        corrected: bool,
        is_batsim: bool,
        at_once: bool = False,
        says_nothing: str = "",
        traces: TraceReader = read_traces,
    ) -> None:
        self.platform = platform
        self.workloads = workloads
        self.event_lists = event_lists
        self.arguments = arguments
        self.features = EDCRequestedSimulationFeatures()
        self.corrected = corrected
        self.is_batsim = is_batsim
        self.at_once = at_once
        self.says_nothing = says_nothing
        self.traces = traces
        self._static_ids: frozenset[str] | None = None
        self._host_names: dict[str, int] | None = None

    def has_workload(self, name: str) -> bool:
        """Whether a workload has this name."""
        return any(workload.name == name for workload in self.workloads)

    def has_static_job(self, job_id: str) -> bool:
        """Whether a job of this name is in a workload, submitted or not."""
        if self._static_ids is None:
            self._static_ids = frozenset(each.id for workload in self.workloads for each in workload)
        return job_id in self._static_ids

    def host_named(self, name: str) -> int | None:
        """The number of the host with this name, or None."""
        if self._host_names is None:
            self._host_names = {host.name: host.id for host in self.platform.hosts}
        return self._host_names.get(name)


# The server


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class SwitchRequest:
    """Hosts that are turned on or off together.

    Attributes:
        hosts: the hosts.
        text: the hosts as text.
        target: the power state to reach.
        left: the number of hosts that have not reached it yet.
    """

    __slots__ = ("hosts", "left", "target", "text")

    def __init__(self, hosts: tuple[int, ...], text: str, target: int) -> None:
        self.hosts = hosts
        self.text = text
        self.target = target
        self.left = len(hosts)


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class ServerState:
    """The state of the server.

    Args:
        workloads: the number of workloads.
        lists: the number of lists of external events.
        registration_is_open: whether jobs may be registered.

    Attributes:
        mailbox: the mailbox of the server.
        events: the events of the next message.
        stamp: the time of events that do not set it.
        todo: the remaining steps of the current message. The server waits once in each.
        submitters_starting: the number of submitters that have not started yet.
        workloads_left: the number of workloads with remaining jobs.
        lists_left: the number of lists with remaining external events.
        unfinished: the number of jobs that have neither ended nor been rejected.
        kills: the number of active killers.
        switching: the number of requests to switch that are under way.
        one_shots: the number of pending one-shot calls.
        calls: the active periodic calls.
        probes: the active probes.
        registration_is_open: whether jobs may still be registered.
        is_ready: whether the last reply was processed to its end.
        is_ending: whether only the end will follow.
    """

    __slots__ = (
        "calls",
        "events",
        "is_ending",
        "is_ready",
        "kills",
        "lists_left",
        "mailbox",
        "one_shots",
        "probes",
        "registration_is_open",
        "stamp",
        "submitters_starting",
        "switching",
        "todo",
        "unfinished",
        "workloads_left",
    )

    def __init__(self, workloads: int, lists: int, registration_is_open: bool) -> None:
        self.mailbox = Mailbox()
        self.events: list[Event] = []
        self.stamp = 0.0
        self.todo: deque[tuple[str, Any]] = deque()
        self.submitters_starting = workloads + lists
        self.workloads_left = workloads
        self.lists_left = lists
        self.unfinished = 0
        self.kills = 0
        self.switching = 0
        self.one_shots = 0
        self.calls: set[str] = set()
        self.probes: set[str] = set()
        self.registration_is_open = registration_is_open
        self.is_ready = True
        self.is_ending = False

    def is_done(self) -> bool:
        """Whether no more events can come."""
        return (
            not self.unfinished
            and not self.workloads_left
            and not self.lists_left
            and not self.registration_is_open
            and not self.kills
            and not self.switching
            and not self.one_shots
            and not self.calls
            and not self.probes
        )

    def end(self) -> None:
        """Let only the end follow."""
        self.events = []
        self.todo.clear()
        self.todo.append(("forward", EndPeriodicCalls()))
        self.is_ending = True


# Profiles


_COMPOSITIONS: Final = (SequentialCompositionProfile, ForkJoinCompositionProfile, ParallelTaskMergeCompositionProfile)


def has_parts(profile: Profile) -> bool:
    """Whether a profile is composed of others."""
    return isinstance(profile, _COMPOSITIONS)


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Profiles:
    """All profiles of a simulation.

    Args:
        refusals: creates the exceptions for unknown profiles.

    Attributes:
        known: all profiles by full name.
        dropped: the names of the profiles that can no longer be used.
        unusable: the names of the profiles that Batsim drops at the start, because no job uses them.
    """

    __slots__ = ("_refusals", "dropped", "known", "unusable")

    def __init__(self, refusals: Refusals) -> None:
        self._refusals = refusals
        self.known: dict[str, WorkloadProfile] = {}
        self.dropped: set[str] = set()
        self.unusable: set[str] = set()

    def find(self, profile_id: str) -> WorkloadProfile:
        """The profile of this name."""
        profile = self.known.get(profile_id)
        if profile is None:
            raise self._refusals.refusal("register.unknown-profile", f"there is no profile {profile_id!r}")
        return profile

    def tree(self, profile_id: str) -> list[str]:
        """The names of a profile and of all its parts, without duplicates."""
        found, todo = {profile_id: None}, [profile_id]
        while todo:
            step()
            profile = self.find(todo.pop()).profile
            if isinstance(profile, _COMPOSITIONS):
                todo += [part for part in reversed(profile.profile_ids) if part not in found]
                found.update(dict.fromkeys(profile.profile_ids))
        return list(found)

    def sent(self, profile_id: str) -> ProfileAndId:
        """A profile in the form of events."""
        known = self.find(profile_id)
        return ProfileAndId(profile_id, known.profile, known.extra_data)

    def drop(self, profile_id: str, job_id: str) -> None:
        """Drop the profile of a job that has ended, and its parts."""
        if profile_id in self.dropped:
            return
        workload = profile_id.partition("!")[0]
        tree = self.tree(profile_id)
        strange = next((name for name in tree if name.partition("!")[0] != workload), None)
        if strange is not None:
            text = f"profile {profile_id!r} of job {job_id!r} is composed of {strange!r}, of another workload"
            raise self._refusals.refusal("profile.other-workload", text)
        self.dropped.update(tree)


_logger: Final = logging.getLogger("batprotocol.simulator")


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Listener(SimulationActor):
    """An actor that has sent a message to the decision component, and waits for the reply."""

    __slots__ = ()

    @abstractmethod
    def take_reply(self, reply: Message) -> None:
        """Take the reply of the decision component."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Simulation:
    """The shared state of the actors of a simulation.

    Args:
        setup: the inputs and options.
        queue: the clock, and all future events.
        observer: the observer that gets the rows of the result files.

    Attributes:
        machine: hosts and links.
        server: the state of the server.
        periodic_mailbox: the mailbox of the actor of periodic calls and probes.
        periodic_is_posting: whether this actor waits for the server to receive its message.
        refusals: creates the exceptions for decisions that cannot be carried out.
        profiles: the profiles of jobs.
        probes: the probes that only the rule set "protocol" has, by id.
        jobs: the jobs from their submission until their end was reported, by full name.
        reports: the reports to the observer.
        has_message: whether there is a message for the decision component.
        is_ending: whether this message is the last one.
    """

    __slots__ = (
        "_ended",
        "_listener",
        "_message",
        "corrected",
        "has_message",
        "is_batsim",
        "is_ending",
        "jobs",
        "machine",
        "periodic_is_posting",
        "periodic_mailbox",
        "probes",
        "profiles",
        "queue",
        "refusals",
        "reports",
        "server",
        "setup",
    )

    def __init__(self, setup: Setup, queue: EventQueue, observer: Observer | None) -> None:
        self.setup = setup
        self.queue = queue
        self.machine: SimulatedMachine = queue.machine
        self.corrected = setup.corrected
        self.is_batsim = setup.is_batsim
        self.server = ServerState(len(setup.workloads), len(setup.event_lists), setup.features.dynamic_registration)
        self.periodic_mailbox = Mailbox()
        self.periodic_is_posting = False
        self.refusals = Refusals()
        self.profiles = Profiles(self.refusals)
        self.probes: dict[str, Probe] = {}
        self.jobs: dict[str, SimulatedJob] = {}
        self.reports = Reports(observer, queue, self.machine)
        self.has_message = False
        self.is_ending = False
        self._message: Message | None = None
        self._listener: Listener | None = None
        self._ended: list[SimulatedJob] = []

    # Turns

    def send(self, message: Message, listener: Listener) -> None:
        """Send a message to the decision component. The reply goes to this listener."""
        self._message = message
        self._listener = listener
        self.has_message = True
        self.refusals.number += 2

    def next_message(self, reply: Message | None = None) -> Message | None:
        """The next message for the decision component, or None if no more events can happen."""
        self.has_message = False
        listener, self._listener = self._listener, None
        if reply is not None and listener is not None:
            listener.take_reply(reply)
            listener.run(self)
        if not self.queue.run(self):
            return None
        message, self._message = self._message, None
        return message

    def deadlock(self) -> RuleViolation:
        """The exception for a simulation in which no more events can happen."""
        if self.queue.now == inf:
            text = "jobs take so long that the simulated time is infinite, more than 1.8e308 seconds"
            return self.refusals.refusal("profile.infinite", text)
        waiting = [job.id for job in self.jobs.values() if job.final_state is None]
        rule = "simulation.stuck-jobs"
        if waiting:
            many = "1 job waits" if len(waiting) == 1 else f"{len(waiting)} jobs wait"
            text = f"nothing can happen any more, and {many}: {', '.join(waiting[:3])}"
        elif self.server.registration_is_open:
            rule, text = "simulation.stuck-registration", "nothing can happen any more, and registration is open"
        elif self.jobs:
            text = f"nothing can happen any more, and nothing reports the end of {', '.join(list(self.jobs)[:3])}"
        elif self.server.unfinished:  # without messages, jobs are known by their number only
            many = "1 job waits" if self.server.unfinished == 1 else f"{self.server.unfinished} jobs wait"
            text = f"nothing can happen any more, and {many}"
        else:
            text = "nothing can happen any more, but the simulation does not end"
        return self.refusals.refusal(rule, text, "deadlock")

    def refusal(self, rule: str, text: str) -> RuleViolation:
        """The exception for a decision that cannot be carried out."""
        return self.refusals.refusal(rule, text)

    def read_energy(self, then: Callable[[Any, Any], None], argument: Any) -> None:
        """Let the server read and report the energy of all hosts, if it is measured, and then call a function."""
        if self.machine.has_energy:
            self.server.todo.append(("read", range(len(self.machine.hosts))))
        self.server.todo.append(("do", (then, argument)))

    def warn(self, what: str, instead: str) -> None:
        """Log a warning: a mistake of Batsim will lose something, or wait without end."""
        _logger.warning(
            "at %.6f s: %s; %s, or simulate with corrected=True (--corrected)", self.queue.now, what, instead
        )

    # Jobs and probes

    def add_job(self, job: SimulatedJob) -> None:
        """Add a job."""
        self.jobs[job.id] = job
        self.server.unfinished += 1

    def finish_job(self, job: SimulatedJob) -> None:
        """Note that a job has ended or was rejected. It is dropped when this has been reported."""
        self.server.unfinished -= 1
        self._ended.append(job)
        observer = self.reports.observer
        if observer is not None:
            observer.job_ended(job.row())

    def forget_ended(self) -> None:
        """Drop all jobs that have ended, because this is being reported."""
        features = self.setup.features
        loses = self.is_batsim and features.dynamic_registration and not features.profile_reuse
        for job in self._ended:
            self.jobs.pop(job.id, None)
            if loses:
                self.profiles.drop(job.profile_id, job.id)
        self._ended.clear()

    def end_probe(self, probe_id: str) -> None:
        """End a probe."""
        self.server.probes.discard(probe_id)
        probe = self.probes.pop(probe_id, None)
        if probe is not None:
            self.machine.meters.remove(probe)
