"""The state of one simulation, which all its actors share: plain values, which can be copied and pickled."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Final

from mypy_extensions import mypyc_attr

from batprotocol.errors import RuleViolation
from batprotocol.model import Message
from batprotocol.results import Observer
from batprotocol.simulator.batsim.state.desk import ServerState
from batprotocol.simulator.batsim.state.jobs import SimulatedJob
from batprotocol.simulator.batsim.state.probes import Probe
from batprotocol.simulator.batsim.state.profiles import Profiles
from batprotocol.simulator.batsim.state.reports import Reports
from batprotocol.simulator.batsim.state.rules import Refusals
from batprotocol.simulator.batsim.state.setup import Setup
from batprotocol.simulator.machine.machine import SimulatedMachine
from batprotocol.simulator.queue.actor import Mailbox, SimulationActor
from batprotocol.simulator.queue.exact import EventQueue

__all__ = ["Listener", "Simulation"]

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
        waiting = [job.id for job in self.jobs.values() if job.final_state is None]
        rule = "simulation.stuck-jobs"
        if waiting:
            many = "1 job waits" if len(waiting) == 1 else f"{len(waiting)} jobs wait"
            text = f"nothing can happen any more, and {many}: {', '.join(waiting[:3])}"
        elif self.server.registration_is_open:
            rule, text = "simulation.stuck-registration", "nothing can happen any more, and registration is open"
        elif self.jobs:
            text = f"nothing can happen any more, and nothing reports the end of {', '.join(list(self.jobs)[:3])}"
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
