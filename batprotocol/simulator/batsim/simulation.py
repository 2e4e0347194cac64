"""The state of one simulation, which all its actors share: plain values, which can be copied and pickled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum
from typing import Final

from mypy_extensions import mypyc_attr

from batprotocol.errors import RuleViolation
from batprotocol.model import (
    Doubles,
    EDCRequestedSimulationFeatures,
    ExternalEventListAndFilename,
    Host,
    HostProperty,
    HostState,
    Message,
    ParallelTaskMergeCompositionProfile,
    Profile,
    ProfileAndId,
    SequentialCompositionProfile,
    SimulationBeginsEvent,
    WorkloadAndFilename,
)
from batprotocol.model.profiles import ForkJoinCompositionProfile
from batprotocol.simulator import inputs
from batprotocol.simulator.batsim.calls import PeriodicActor
from batprotocol.simulator.batsim.decisions import DECISIONS
from batprotocol.simulator.batsim.jobs import SimulatedJob
from batprotocol.simulator.batsim.occurrences import OCCURRENCES
from batprotocol.simulator.batsim.probes import Probe
from batprotocol.simulator.batsim.rules import Refusal
from batprotocol.simulator.batsim.server import Server
from batprotocol.simulator.batsim.submitters import Injector, Submitter
from batprotocol.simulator.machine.machine import Machine
from batprotocol.simulator.queue.base import Queue
from batprotocol.simulator.queue.exact import ExactQueue
from batprotocol.simulator.queue.fast import FastQueue
from batprotocol.simulator.results import EnergyRow, Observer, Observers, Totals

__all__ = ["BATSIM_VERSION", "Simulation"]

BATSIM_VERSION: Final = "5.0.0-rc2"
_PROTOCOL_VERSION: Final = "0.1.0"
_HANDLERS: Final = {**OCCURRENCES, **DECISIONS}
_COMPOSITIONS: Final = (SequentialCompositionProfile, ForkJoinCompositionProfile, ParallelTaskMergeCompositionProfile)


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Simulation:
    """What the actors of a simulation share.

    Attributes:
        queue: the clock, and all that will happen.
        machine: hosts and links.
        server: the actor in the middle.
        periodic: the actor of periodic calls and probes.
        profiles: all profiles by full name.
        gone: the names of profiles that can be used no more.
        unusable: the names of profiles that Batsim forgets at the start, as no job uses them.
        probes: the probes that only the rule set "protocol" knows, by id.
        jobs: the jobs that were submitted and are not forgotten, by full name.
        has_spoken: whether there is a message for the decision component.
        is_ending: whether that is the last one.
        last_end_energy: what all hosts had consumed when a job ended last, in joules.
    """

    __slots__ = (
        "_arguments",
        "_ended",
        "_event_lists",
        "_features",
        "_first_energy",
        "_grouped_switches",
        "_host_names",
        "_last_energy",
        "_last_energy_time",
        "_static_ids",
        "_switches",
        "_tells_states",
        "_workloads",
        "acknowledges",
        "forwards_on_kill",
        "forwards_on_submission",
        "gone",
        "has_spoken",
        "injector",
        "is_batsim",
        "is_ending",
        "jobs",
        "last_end_energy",
        "machine",
        "message",
        "message_number",
        "observer",
        "periodic",
        "platform",
        "probes",
        "profiles",
        "queue",
        "quirks",
        "server",
        "unusable",
    )

    def __init__(
        self,
        platform: inputs.Platform,
        workloads: Sequence[inputs.Workload],
        event_lists: Sequence[inputs.ExternalEventList],
        *,
        energy: bool,
        exact: bool,
        quirks: bool,
        is_batsim: bool,
        observer: Observer | None,
        arguments: Iterable[str],
        features: EDCRequestedSimulationFeatures,
    ) -> None:
        self.platform = platform
        self.machine = Machine(platform, energy, quirks)
        self.queue: Queue = ExactQueue(self.machine) if exact else FastQueue(self.machine)
        self.quirks = quirks
        self.is_batsim = is_batsim
        self.observer = observer
        self.server = Server(_HANDLERS, len(workloads), len(event_lists))
        self.server.registration_is_open = features.dynamic_registration
        self.periodic = PeriodicActor()
        self.profiles: dict[str, inputs.WorkloadProfile] = {}
        self.gone: set[str] = set()
        self.unusable: set[str] = set()
        self.probes: dict[str, Probe] = {}
        self.jobs: dict[str, SimulatedJob] = {}
        self.has_spoken = False
        self.is_ending = False
        self.message: Message | None = None
        self.message_number = 0
        self.injector: Injector | None = None
        self.last_end_energy: float | None = None
        self.acknowledges = features.acknowledge_dynamic_jobs
        self.forwards_on_kill = features.forward_profiles_on_jobs_killed
        self.forwards_on_submission = features.forward_profiles_on_job_submission
        self._features = features
        self._workloads = workloads
        self._event_lists = event_lists
        self._arguments = tuple(arguments)
        self._ended: list[SimulatedJob] = []
        self._first_energy: float | None = None
        self._last_energy: list[float] = []
        self._last_energy_time = 0.0
        self._switches = 0
        self._grouped_switches = 0
        self._tells_states = _wants_states(observer)
        self._static_ids: frozenset[str] | None = None
        self._host_names: dict[str, int] | None = None
        for workload in workloads:
            self.profiles.update(workload.profiles)
            if quirks:
                self.unusable.update(workload.profiles.keys() - workload.referenced_profiles)
            self.queue.start(Submitter(workload, are_jobs=True))
        for event_list in event_lists:
            self.queue.start(Submitter(event_list.events, are_jobs=False))
        self.queue.start(self.server)
        self.queue.start(self.periodic)
        self.tell_pstates(range(len(platform.hosts)), None)

    # Turns

    def speak(self, message: Message, injector: Injector) -> None:
        """There is a message for the decision component, whose reply goes to this injector."""
        self.message = message
        self.injector = injector
        self.has_spoken = True
        self.message_number += 2

    def go_on(self, reply: Message | None = None) -> Message | None:
        """The next message for the decision component, or None if nothing can happen any more."""
        self.has_spoken = False
        injector, self.injector = self.injector, None
        if reply is not None and injector is not None:
            injector.hear(reply)
            injector.run(self)
        if not self.queue.run(self):
            return None
        message, self.message = self.message, None
        return message

    def refusal(self, rule: str, text: str) -> RuleViolation:
        """What is raised when a decision cannot be done."""
        return RuleViolation([Refusal(self.message_number + 1, "", rule, "error", text)])

    # Jobs and profiles

    def find_profile(self, profile_id: str) -> inputs.WorkloadProfile:
        """The profile of this name."""
        profile = self.profiles.get(profile_id)
        if profile is None:
            raise self.refusal("register.unknown-profile", f"there is no profile {profile_id!r}")
        return profile

    def profile_tree(self, profile_id: str) -> list[str]:
        """The names of a profile and of all that it is composed of, each once."""
        found, todo = {profile_id: None}, [profile_id]
        while todo:
            profile = self.find_profile(todo.pop()).profile
            if isinstance(profile, _COMPOSITIONS):
                todo += [part for part in reversed(profile.profile_ids) if part not in found]
                found.update(dict.fromkeys(profile.profile_ids))
        return list(found)

    @staticmethod
    def has_parts(profile: Profile) -> bool:
        """Whether a profile is composed of others."""
        return isinstance(profile, _COMPOSITIONS)

    def told_profile(self, profile_id: str) -> ProfileAndId:
        """A profile as it is told."""
        known = self.find_profile(profile_id)
        return ProfileAndId(profile_id, known.profile, known.extra_data)

    def add_profile(self, profile_id: str, profile: inputs.WorkloadProfile) -> None:
        """A new profile. Its parts get their full names."""
        self.profiles[profile_id] = profile

    def add_job(self, job: SimulatedJob) -> None:
        """A new job."""
        self.jobs[job.id] = job
        self.server.unfinished += 1

    def finish_job(self, job: SimulatedJob) -> None:
        """A job has ended or was rejected, and is to be forgotten once the decision component was told."""
        self.server.unfinished -= 1
        self._ended.append(job)
        if self.observer is not None:
            self.observer.job_ended(job.row())

    def forget_ended(self) -> None:
        """The decision component is told now of all jobs that have ended."""
        loses = self.is_batsim and self._features.dynamic_registration and not self._features.profile_reuse
        for job in self._ended:
            self.jobs.pop(job.id, None)
            if loses and job.profile_id not in self.gone:
                self._lose_profile(job)
        self._ended.clear()

    def _lose_profile(self, job: SimulatedJob) -> None:
        """The profile of a job that has ended can be used no more, nor what it is composed of."""
        workload = job.profile_id.partition("!")[0]
        tree = self.profile_tree(job.profile_id)
        strange = next((name for name in tree if name.partition("!")[0] != workload), None)
        if strange is not None:
            text = f"profile {job.profile_id!r} of job {job.id!r} is composed of {strange!r}, of another workload"
            raise self.refusal("profile.other-workload", text)
        self.gone.update(tree)

    def has_workload(self, name: str) -> bool:
        """Whether a workload has this name."""
        return any(workload.name == name for workload in self._workloads)

    def has_static_job(self, job_id: str) -> bool:
        """Whether a job of this name is in a workload, submitted or not."""
        if self._static_ids is None:
            self._static_ids = frozenset(each.id for workload in self._workloads for each in workload)
        return job_id in self._static_ids

    def stop_everything(self) -> None:
        """The decision component wants no more."""
        for job in self.jobs.values():
            if job.execution is not None:
                job.execution.stop(self)
                job.execution = None

    # Hosts

    def host_named(self, name: str) -> int | None:
        """The number of a host, or None if there is none of this name."""
        if self._host_names is None:
            self._host_names = {host.name: host.id for host in self.platform.hosts}
        return self._host_names.get(name)

    def tell_states(self) -> None:
        """Tell the observer what the hosts do."""
        if self._tells_states and self.observer is not None:
            self.observer.machine_states(self.machine.row(self.queue.now))

    def tell_pstates(self, hosts: Iterable[int], pstate: int | None) -> None:
        """Tell the observer the power states of hosts: this one, or each its own."""
        if self.observer is not None:
            for row in self.machine.pstate_rows(hosts, pstate, self.queue.now):
                self.observer.pstates_changed(row)

    def end_probe(self, probe_id: str) -> None:
        """A probe measures no more."""
        self.server.probes.discard(probe_id)
        probe = self.probes.pop(probe_id, None)
        if probe is not None:
            self.machine.meters.remove(probe)

    def count_switches(self, hosts: int) -> None:
        """So many hosts are asked to switch together."""
        self._switches += hosts
        self._grouped_switches += 1

    # Energy

    def first_submission(self) -> int:
        """A workload submits its first jobs. How many hosts' energy was read for that."""
        if not self.machine.has_energy:
            return 0
        calls = self.machine.read_all(range(len(self.platform.hosts)), self.queue.now)
        if self._first_energy is None:
            self._first_energy = sum(self.machine.energy)
        return calls

    def read_energy(self, event_type: str) -> int:
        """Read the energy of all hosts, and tell the observer. How many hosts were read for that."""
        machine, now = self.machine, self.queue.now
        if not machine.has_energy:
            return 0
        calls = machine.read_all(range(len(machine.hosts)), now)
        passed = now - self._last_energy_time
        if self.observer is not None:
            energy = fsum(machine.energy)
            # Batsim sums with more digits than a double has: rows can be close, and the difference small.
            power = fsum([*machine.energy, *[-before for before in self._last_energy]]) / passed if passed > 0 else None
            self.observer.energy_read(EnergyRow(now, energy, event_type, machine.least_watts(), power))
            self._last_energy = machine.energy.copy()
        self._last_energy_time = now
        return calls

    # The beginning and the end

    def begin_telling(self) -> None:
        """All submitters are there: tell the decision component of the platform and the inputs."""
        computing = tuple(map(_told_host, self.platform.computation_hosts))
        storing = tuple(map(_told_host, self.platform.storage_hosts))
        profiles: tuple[ProfileAndId, ...] = ()
        if self._features.forward_profiles_on_simulation_begins:
            profiles = tuple(self.told_profile(id) for id in self.profiles if id not in self.unusable)
        self.server.events.append(
            SimulationBeginsEvent(
                timestamp=self.server.stamp,
                batprotocol_version=_PROTOCOL_VERSION,
                batsim_version=BATSIM_VERSION,
                host_number=len(computing) + len(storing),
                computation_host_number=len(computing),
                computation_hosts=computing,
                storage_host_number=len(storing),
                storage_hosts=storing,
                batsim_arguments=self._arguments,
                batsim_execution_context_json="{}",
                workloads=tuple(WorkloadAndFilename(each.name, each.filename) for each in self._workloads),
                external_event_lists=tuple(
                    ExternalEventListAndFilename(each.name, each.filename) for each in self._event_lists
                ),
                profiles=profiles,
            )
        )

    def finish(self, complete: bool) -> None:
        """The simulation is over."""
        if self.observer is None:
            return
        first, last = self._first_energy, self.last_end_energy
        times = self.machine.state_times
        self.observer.ended(
            Totals(
                consumed_joules=0.0 if first is None or last is None else last - first,
                nb_computing_machines=len(self.platform.hosts),
                nb_machine_switches=self._switches,
                nb_grouped_switches=self._grouped_switches,
                time_sleeping=times[HostState.SLEEPING],
                time_switching_on=times[HostState.SWITCHING_ON],
                time_switching_off=times[HostState.SWITCHING_OFF],
                time_idle=times[HostState.IDLE],
                time_computing=times[HostState.COMPUTING],
                simulation_time=self.queue.now,
                complete=complete,
            )
        )

    def why_stuck(self) -> RuleViolation:
        """What is raised when nothing can happen any more."""
        waiting = [job.id for job in self.jobs.values() if job.final_state is None]
        if waiting:
            rule = "simulation.stuck-jobs"
            text = f"nothing can happen any more, and {len(waiting)} jobs wait: {', '.join(waiting[:3])}"
        elif self.server.registration_is_open:
            rule, text = "simulation.stuck-registration", "nothing can happen any more, and registration is open"
        else:
            rule = "simulation.stuck-jobs"
            text = f"nothing can happen any more, and nobody tells of the end of {', '.join(list(self.jobs)[:3])}"
        return RuleViolation([Refusal(self.message_number + 1, "", rule, "deadlock", text)])


def _wants_states(observer: Observer | None) -> bool:
    """Whether somebody listens to what the hosts do: rows that nobody sees need not be made."""
    if isinstance(observer, Observers):
        return any(map(_wants_states, observer.observers))
    return observer is not None and type(observer).machine_states is not Observer.machine_states


def _told_host(host: inputs.Host) -> Host:
    return Host(
        id=host.id,
        name=host.name,
        pstate=host.pstate,
        pstate_count=len(host.speeds),
        state=HostState.IDLE,
        properties=tuple(HostProperty(key, value) for key, value in host.properties),
        zone_properties=tuple(HostProperty(key, value) for key, value in host.zone_properties),
        core_count=host.cores,
        computation_speed=Doubles(host.speeds),
    )
