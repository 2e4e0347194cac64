"""MessageBuilder makes the messages of one side: it owns the clock, checks each event, and fills in what Batsim needs.

Its names are those of Batsim's own C++ library. It must not know which event may be said when, or by whom: that is the
conversation's business.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from numbers import Real
from types import NoneType
from typing import Any, Final, SupportsIndex, TypeAlias, get_args, get_type_hints

from msgspec.structs import replace

from batprotocol import model
from batprotocol.errors import BuilderError, EncodeError, HostSetError, shown
from batprotocol.model import (
    AggregatedProbeData,
    AllocationPlacement,
    CustomExecutorToHostMapping,
    Doubles,
    EDCRequestedSimulationFeatures,
    Event,
    ExecutorPlacement,
    ExternalEvent,
    ExternalEventListAndFilename,
    FinalJobState,
    GenericExternalEvent,
    Host,
    HostResources,
    HostSet,
    Job,
    JobAndProgress,
    KillProgress,
    LinkResources,
    Message,
    Metrics,
    NoFiltering,
    NoProbeDataAccumulation,
    NoResourcesAggregation,
    NoTemporalAggregation,
    PredefinedExecutorPlacementStrategy,
    ProbeData,
    ProbeDataAccumulationStrategy,
    ProbeEmissionFilteringPolicy,
    Profile,
    ProfileAllocationPlacement,
    ProfileAndId,
    ProtocolEnum,
    Resources,
    ResourcesAggregationFunction,
    StorageHost,
    TemporalAggregationFunction,
    TemporalTrigger,
    Value,
    VectorialProbeData,
    WorkloadAndFilename,
    format_hosts,
)
from batprotocol.wire.check import check

__all__ = ["PROTOCOL_VERSION", "MessageBuilder"]

PROTOCOL_VERSION: Final = "0.1.0"
"""The version of the protocol that the builder speaks, as it says in `EDCHelloEvent.batprotocol_version`."""

_NO_ACCUMULATION: Final = NoProbeDataAccumulation()
_NO_AGGREGATION: Final = NoResourcesAggregation()
_NO_TEMPORAL_AGGREGATION: Final = NoTemporalAggregation()
_NO_FILTERING: Final = NoFiltering()
_NO_FEATURES: Final = EDCRequestedSimulationFeatures()
_SPREAD: Final = PredefinedExecutorPlacementStrategy.SpreadOverHostsFirst
_FILL: Final = PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst
_LAST_HOST = 2**32 - 1
_EVENT_TYPES = frozenset(get_args(Event))


class MessageBuilder:
    """Collects the events of one message, in the order of time.

    Args:
        now: the current time, in simulated seconds; finite, and negative where the simulation's is.

    Each `add_<event>` makes one event that happens at the current time, and `add` takes one that is already made. A
    call that is refused raises `BuilderError`, which names the field and the value, and leaves the builder as it was.

    Host sets are given as strings (`"0-3"`, `"0,1,2"`), ints, iterables of ints or `procset.ProcSet`, and are always
    written as the canonical string. Where a sequence is asked for, any iterable will do.

    >>> builder = MessageBuilder(now=10)
    >>> builder.add_execute_job("w0!1", [0, 1, 2, 3])
    >>> builder.add_call_me_later("later", model.OneShot(42))
    >>> message = builder.finish_message()
    >>> message.now, message.events[0].allocation.host_allocation
    (10.0, '0-3')
    """

    __slots__ = ("_events", "_finished", "_now")

    def __init__(self, now: float = 0.0) -> None:
        self.clear(now)

    def __len__(self) -> int:
        """How many events have been added since the builder was made or cleared."""
        return len(self._events)

    def __repr__(self) -> str:
        return f"<MessageBuilder: {len(self)} events, {'finished' if self._finished else 'open'} at {self._now}>"

    @property
    def current_time(self) -> float:
        """The time that the next event will carry, in simulated seconds."""
        return self._now

    @property
    def events(self) -> tuple[Event, ...]:
        """The events added since the builder was made or cleared."""
        return tuple(self._events)

    @property
    def is_finished(self) -> bool:
        """Whether `finish_message` was called; only `clear` then goes on."""
        return self._finished

    def set_current_time(self, now: float) -> None:
        """Move the clock: the events added from here on happen at this time.

        Args:
            now: in simulated seconds; finite, and not before the current time.
        """
        self._must_be_open("set_current_time")
        self._now = self._not_before_now(now, "now")

    def clear(self, now: float = 0.0) -> None:
        """Forget all events and start the next message.

        Args:
            now: the current time from here on, in simulated seconds; finite, and earlier than before if need be.
        """
        self._now = _finite(now, "now")
        self._events: list[Event] = []
        self._finished = False

    def finish_message(self, now: float | None = None) -> Message:
        """The message with all events added. Nothing more can be added until `clear`.

        Args:
            now: when the message is sent, in simulated seconds; finite, not before the current time, which it is
                unless told otherwise. In a message to Batsim, a later time is think time that passes in the simulation.

        >>> MessageBuilder(now=2.5).finish_message()
        Message(now=2.5, events=())
        """
        self._must_be_open("finish_message")
        if now is not None:
            self._now = self._not_before_now(now, "now")
        self._finished = True
        return Message(self._now, tuple(self._events))

    def add(self, event: Event) -> None:
        """Add an event that is already made, with the checks and completions of its `add_` method.

        Args:
            event: any event. A timestamp of 0, which is what an event has unless told otherwise, becomes the current
                time. Any other must not be before the current time, and moves the clock.

        >>> builder = MessageBuilder(now=5)
        >>> builder.add(model.RejectJobEvent(job_id="w0!1"))
        >>> builder.add(model.RejectJobEvent(job_id="w0!2", timestamp=7))
        >>> [event.timestamp for event in builder.events], builder.current_time
        ([5.0, 7.0], 7.0)
        """
        if type(event) not in _EVENT_TYPES:
            raise BuilderError(f"expected an event, got {shown(event)}", "event")
        timestamp = _finite(event.timestamp, "timestamp")
        self._append(replace(event, timestamp=self._not_before_now(timestamp, "timestamp") if timestamp else self._now))

    # Jobs

    def add_job_submitted(
        self, job_id: str, job: Job, submission_time: float, profile: ProfileAndId | None = None
    ) -> None:
        """Batsim: a job was submitted.

        Args:
            job_id: the job, `workload!job`; not empty.
            job: what it asks for.
            submission_time: when it was submitted, in simulated seconds; finite.
            profile: its profile, if `forward_profiles_on_job_submission` was requested.
        """
        self._append(
            model.JobSubmittedEvent(
                timestamp=self._now, job_id=job_id, job=job, submission_time=submission_time, profile=profile
            )
        )

    def add_job_completed(self, job_id: str, state: FinalJobState, return_code: int = 0) -> None:
        """Batsim: a job has ended.

        Args:
            job_id: the job, `workload!job`; not empty.
            state: how it ended.
            return_code: 0 for success; int32.
        """
        self._append(model.JobCompletedEvent(timestamp=self._now, job_id=job_id, state=state, return_code=return_code))

    def add_reject_job(self, job_id: str) -> None:
        """Decision component: this job will not be executed.

        Args:
            job_id: a submitted job, `workload!job`; not empty.
        """
        self._append(model.RejectJobEvent(timestamp=self._now, job_id=job_id))

    def add_execute_job(
        self,
        job_id: str,
        hosts: HostSet,
        placement: ExecutorPlacement | Iterable[int] = PredefinedExecutorPlacementStrategy.SpreadOverHostsFirst,
        profile_overrides: Iterable[ProfileAllocationPlacement]
        | Mapping[str, HostSet | AllocationPlacement]
        | None = None,
        storage_placement: Iterable[StorageHost] | Mapping[str, int] | None = None,
    ) -> None:
        """Decision component: execute this job on these hosts.

        Args:
            job_id: a submitted job, `workload!job`; not empty.
            hosts: the host set; not empty.
            placement: a predefined strategy, or where each executor runs: a `CustomExecutorToHostMapping` or just its
                numbers, which are indices into the host set; uint32.
            profile_overrides: other hosts and placements for sub-profiles of a composition: values, or a mapping of
                profile to hosts or `AllocationPlacement`.
            storage_placement: the hosts that stand for the storages that the profiles name: values, or a mapping of
                storage name to host; uint32.

        >>> builder = MessageBuilder()
        >>> builder.add_execute_job("w0!1", "0-3", placement=[0, 1, 2, 3], storage_placement={"pfs": 19})
        >>> builder.events[0].storage_placement
        (StorageHost(storage_name='pfs', host_id=19),)
        """
        if (
            profile_overrides is None
            and storage_placement is None
            and (placement is _SPREAD or placement is _FILL)
            and type(job_id) is str
            and job_id.isascii()
            and job_id
            and not self._finished
        ):  # by far the most frequent event, and all checks that it needs: a turn is made of little else
            allocation = AllocationPlacement(_some_hosts(hosts, "allocation.host_allocation"), placement)
            self._accept(model.ExecuteJobEvent(timestamp=self._now, job_id=job_id, allocation=allocation))
            return
        self._append(
            model.ExecuteJobEvent(
                timestamp=self._now,
                job_id=job_id,
                allocation=AllocationPlacement(
                    _hosts(hosts, "allocation.host_allocation"),
                    _wrapped(CustomExecutorToHostMapping, placement),
                ),
                profile_allocation_override=None if profile_overrides is None else _overrides(profile_overrides),
                storage_placement=None if storage_placement is None else _pairs(StorageHost, storage_placement),
            )
        )

    def add_kill_jobs(self, job_ids: Iterable[str]) -> None:
        """Decision component: kill these jobs.

        Args:
            job_ids: running jobs, `workload!job`; at least one.
        """
        self._append(model.KillJobsEvent(timestamp=self._now, job_ids=_tuple(job_ids)))

    def add_jobs_killed(
        self,
        job_ids: Iterable[str],
        progresses: Mapping[str, KillProgress] | Iterable[JobAndProgress],
        profiles: Iterable[ProfileAndId] | None = None,
    ) -> None:
        """Batsim: these jobs were killed, as asked.

        Args:
            job_ids: the jobs, `workload!job`; at least one.
            progresses: how far each had come, by job: a mapping, or values. Each job is one of `job_ids`; jobs that
                had ended by themselves have none. Every progress is in [0,1].
            profiles: their profiles, if `forward_profiles_on_jobs_killed` was requested.

        >>> builder = MessageBuilder()
        >>> builder.add_jobs_killed(["w0!1"], {"w0!1": model.KillProgressAtomicProfile("w0!delay", 0.5)})
        """
        self._append(
            model.JobsKilledEvent(
                timestamp=self._now,
                job_ids=_tuple(job_ids),
                progresses=_pairs(JobAndProgress, progresses),
                profiles=_tuple(profiles),
            )
        )

    # Dynamic registration

    def add_register_profile(self, profile_id: str, profile: Profile, extra_data: str | None = None) -> None:
        """Decision component: here is a new profile.

        Args:
            profile_id: its name, `workload!name`; not empty.
            profile: the profile; its amounts are finite.
            extra_data: free text that Batsim only carries.
        """
        self._append(
            model.RegisterProfileEvent(timestamp=self._now, profile=ProfileAndId(profile_id, profile, extra_data))
        )

    def add_register_job(self, job_id: str, job: Job) -> None:
        """Decision component: here is a new job.

        Args:
            job_id: its name, `workload!job`; not empty.
            job: what it asks for; its `profile_id` must not be empty.
        """
        self._append(model.RegisterJobEvent(timestamp=self._now, job_id=job_id, job=job))

    def add_finish_registration(self) -> None:
        """Decision component: no more jobs or profiles will be registered."""
        self._append(model.FinishRegistrationEvent(timestamp=self._now))

    # Probes

    def add_create_probe(
        self,
        probe_id: str,
        metrics: Metrics = Metrics.Power,
        *,
        hosts: HostSet | None = None,
        links: Iterable[str] | None = None,
        trigger: TemporalTrigger,
        accumulation: ProbeDataAccumulationStrategy = _NO_ACCUMULATION,
        aggregation: ResourcesAggregationFunction = _NO_AGGREGATION,
        temporal_aggregation: TemporalAggregationFunction = _NO_TEMPORAL_AGGREGATION,
        emission_filter: ProbeEmissionFilteringPolicy = _NO_FILTERING,
    ) -> None:
        """Decision component: observe these resources.

        Args:
            probe_id: the name of the probe; not empty.
            metrics: what is measured.
            hosts: the hosts observed, not empty; or give `links`.
            links: the names of the links observed; or give `hosts`.
            trigger: when measures are taken: `Periodic(10)`, `OneShot(42)` ...
            accumulation: whether and how measures are accumulated over time; not unless told otherwise.
            aggregation: how the values of the resources become one; not unless told otherwise. The threshold of a
                `QuantileFunction` is in [0,1].
            temporal_aggregation: how measures are aggregated over time; not unless told otherwise.
            emission_filter: which data is emitted; all unless told otherwise.

        >>> builder = MessageBuilder()
        >>> builder.add_create_probe(
        ...     "power", hosts="0-3", trigger=model.Periodic(60), aggregation=model.ArithmeticMean()
        ... )
        """
        self._append(
            model.CreateProbeEvent(
                timestamp=self._now,
                probe_id=probe_id,
                metrics=metrics,
                resources=_resources(hosts, links),
                data_accumulation_strategy=accumulation,
                measurement_triggering_policy=trigger,
                resources_aggregation_function=aggregation,
                temporal_aggregation_function=temporal_aggregation,
                emission_filtering_policy=emission_filter,
            )
        )

    def add_stop_probe(self, probe_id: str) -> None:
        """Decision component: stop this probe.

        Args:
            probe_id: the name of the probe; not empty.
        """
        self._append(model.StopProbeEvent(timestamp=self._now, probe_id=probe_id))

    def add_trigger_probe(self, probe_id: str, force_data_emission: bool = True) -> None:
        """Decision component: take a measure now.

        Args:
            probe_id: the name of the probe; not empty.
            force_data_emission: emit data whatever the emission filter says.
        """
        self._append(
            model.TriggerProbeEvent(timestamp=self._now, probe_id=probe_id, force_data_emission=force_data_emission)
        )

    def add_reset_probe(self, probe_id: str, new_value: float = 0.0) -> None:
        """Decision component: set the accumulated value of this probe.

        Args:
            probe_id: the name of the probe; not empty.
            new_value: the new value, in the unit of the accumulated metrics.
        """
        self._append(model.ResetProbeEvent(timestamp=self._now, probe_id=probe_id, new_value=new_value))

    def add_probe_data_emitted(
        self,
        probe_id: str,
        metrics: Metrics,
        data: ProbeData | float | Iterable[float],
        *,
        hosts: HostSet | None = None,
        links: Iterable[str] | None = None,
        manually_triggered: bool = False,
        nb_emitted: int = 0,
        nb_triggered: int = 0,
    ) -> None:
        """Batsim: data of a probe.

        Args:
            probe_id: the name of the probe; not empty.
            metrics: what was measured.
            data: one number for all resources, or several, one for each resource.
            hosts: the hosts observed; or give `links`.
            links: the names of the links observed; or give `hosts`.
            manually_triggered: whether a `TriggerProbeEvent` asked for it.
            nb_emitted: how many times the probe has emitted data; uint32.
            nb_triggered: how many times the probe has been triggered; uint32.

        >>> builder = MessageBuilder()
        >>> builder.add_probe_data_emitted("power", Metrics.Power, [50, 30.5], hosts="0-1")
        >>> builder.events[0].data
        VectorialProbeData(data=Doubles([50.0, 30.5]))
        """
        self._append(
            model.ProbeDataEmittedEvent(
                timestamp=self._now,
                probe_id=probe_id,
                resources=_resources(hosts, links),
                metrics=metrics,
                data=AggregatedProbeData(data) if isinstance(data, Real) else _wrapped(VectorialProbeData, data),
                manually_triggered=manually_triggered,
                nb_emitted=nb_emitted,
                nb_triggered=nb_triggered,
            )
        )

    # Calls

    def add_call_me_later(self, call_me_later_id: str, when: TemporalTrigger) -> None:
        """Decision component: call me at this time, or periodically.

        Args:
            call_me_later_id: a name that comes back in each `RequestedCallEvent`; not empty.
            when: `OneShot(42)`, `Periodic(10)` ...
        """
        self._append(model.CallMeLaterEvent(timestamp=self._now, call_me_later_id=call_me_later_id, when=when))

    def add_requested_call(self, call_me_later_id: str, last_periodic_call: bool = False) -> None:
        """Batsim: here is the call that was requested.

        Args:
            call_me_later_id: the name given in the `CallMeLaterEvent`; not empty.
            last_periodic_call: whether this is the last call of a periodic call with a finite number of periods.
        """
        self._append(
            model.RequestedCallEvent(
                timestamp=self._now, call_me_later_id=call_me_later_id, last_periodic_call=last_periodic_call
            )
        )

    def add_stop_call_me_later(self, call_me_later_id: str) -> None:
        """Decision component: stop this periodic call.

        Args:
            call_me_later_id: the name given in the `CallMeLaterEvent`; not empty.
        """
        self._append(model.StopCallMeLaterEvent(timestamp=self._now, call_me_later_id=call_me_later_id))

    # The simulation

    def add_edc_hello(
        self,
        name: str,
        version: str,
        commit: str = "",
        features: EDCRequestedSimulationFeatures | None = None,
        batprotocol_version: str = PROTOCOL_VERSION,
        batprotocol_commit: str | None = None,
    ) -> None:
        """Decision component: who I am. The one event of its first message.

        Args:
            name: the scheduler's name.
            version: its version.
            commit: its commit. It is always written, as Batsim crashes where it is absent.
            features: what it asks of the simulation; nothing unless told otherwise.
            batprotocol_version: the version of the protocol.
            batprotocol_commit: its Git commit, or None.

        None of the texts may hold a comma or a double quote.
        """
        self._append(
            model.EDCHelloEvent(
                timestamp=self._now,
                batprotocol_version=batprotocol_version,
                batprotocol_commit=batprotocol_commit,
                decision_component_name=name,
                decision_component_version=version,
                decision_component_commit=commit,
                requested_simulation_features=_NO_FEATURES if features is None else features,
            )
        )

    def add_simulation_begins(
        self,
        *,
        batsim_version: str,
        computation_hosts: Iterable[Host],
        storage_hosts: Iterable[Host] = (),
        host_number: int | None = None,
        computation_host_number: int | None = None,
        storage_host_number: int | None = None,
        batsim_arguments: Iterable[str] = (),
        batsim_execution_context_json: str = "{}",
        workloads: Iterable[WorkloadAndFilename] = (),
        external_event_lists: Iterable[ExternalEventListAndFilename] = (),
        profiles: Iterable[ProfileAndId] | None = None,
        batsim_commit: str | None = None,
        batprotocol_version: str = PROTOCOL_VERSION,
    ) -> None:
        """Batsim: the simulation begins; here is the platform.

        Args:
            batsim_version: the version of Batsim, without comma or double quote.
            computation_hosts: the hosts that execute jobs.
            storage_hosts: the hosts that store data.
            host_number: how many hosts there are; as many as are given unless told otherwise; uint32.
            computation_host_number: how many of them execute jobs, likewise; uint32.
            storage_host_number: how many of them store data, likewise; uint32.
            batsim_arguments: Batsim's command line.
            batsim_execution_context_json: Batsim's execution context, as JSON text.
            workloads: the static workloads.
            external_event_lists: the static lists of external events.
            profiles: the profiles of the static workloads, if `forward_profiles_on_simulation_begins` was requested.
            batsim_commit: Batsim's Git commit.
            batprotocol_version: the version of the protocol.
        """
        computing, storing = _tuple(computation_hosts), _tuple(storage_hosts)
        known = type(computing) is tuple and type(storing) is tuple  # else the check names the one that is no sequence
        computing_count, storing_count = (len(computing), len(storing)) if known else (0, 0)
        self._append(
            model.SimulationBeginsEvent(
                timestamp=self._now,
                batprotocol_version=batprotocol_version,
                batsim_version=batsim_version,
                batsim_commit=batsim_commit,
                host_number=computing_count + storing_count if host_number is None else host_number,
                computation_host_number=computing_count if computation_host_number is None else computation_host_number,
                computation_hosts=computing,
                storage_host_number=storing_count if storage_host_number is None else storage_host_number,
                storage_hosts=storing,
                batsim_arguments=_tuple(batsim_arguments),
                batsim_execution_context_json=batsim_execution_context_json,
                workloads=_tuple(workloads),
                external_event_lists=_tuple(external_event_lists),
                profiles=_tuple(profiles),
            )
        )

    def add_simulation_ends(self) -> None:
        """Batsim: the simulation has ended."""
        self._append(model.SimulationEndsEvent(timestamp=self._now))

    def add_simulation_error(self, error: str) -> None:
        """Batsim: the simulation has failed.

        Args:
            error: what happened.
        """
        self._append(model.SimulationErrorEvent(timestamp=self._now, error=error))

    def add_all_static_jobs_have_been_submitted(self) -> None:
        """Batsim: all jobs of the static workloads have been submitted."""
        self._append(model.AllStaticJobsHaveBeenSubmittedEvent(timestamp=self._now))

    def add_all_static_external_events_have_been_injected(self) -> None:
        """Batsim: all events of the static external event lists have occurred."""
        self._append(model.AllStaticExternalEventsHaveBeenInjectedEvent(timestamp=self._now))

    def add_force_simulation_stop(self) -> None:
        """Decision component: stop the simulation now. Later events of the same message are dropped by Batsim.

        Batsim 5.0.0-rc2 dies of SIGABRT if a parallel task runs: kill the running jobs before, in the same message.
        """
        self._append(model.ForceSimulationStopEvent(timestamp=self._now))

    # Hosts

    def add_change_hosts_pstate(self, hosts: HostSet, pstate: int) -> None:
        """Decision component: change the power state of these hosts.

        Args:
            hosts: the host set; not empty.
            pstate: the power state to reach; uint32.
        """
        self._append(
            model.ChangeHostsPStateEvent(timestamp=self._now, host_ids=_hosts(hosts, "host_ids"), pstate=pstate)
        )

    def add_hosts_pstate_changed(self, hosts: HostSet, pstate: int) -> None:
        """Batsim: the power state of these hosts has changed.

        Args:
            hosts: the host set.
            pstate: the power state reached; uint32.
        """
        self._append(
            model.HostsPStateChangedEvent(timestamp=self._now, host_ids=_hosts(hosts, "host_ids"), pstate=pstate)
        )

    def add_turn_on_off_hosts(self, hosts: HostSet, state: int) -> None:
        """Decision component: turn these hosts on or off.

        Args:
            hosts: the host set; not empty.
            state: the power state to reach, a computation one from a sleep one or the reverse; uint32.
        """
        self._append(model.TurnOnOffHostsEvent(timestamp=self._now, host_ids=_hosts(hosts, "host_ids"), state=state))

    def add_hosts_turned_on_off(self, hosts: HostSet, state: int) -> None:
        """Batsim: these hosts are now on or off.

        Args:
            hosts: the host set.
            state: the power state reached; uint32.
        """
        self._append(model.HostsTurnedOnOffEvent(timestamp=self._now, host_ids=_hosts(hosts, "host_ids"), state=state))

    # External events

    def add_external_event_occurred(self, id: str, external_event: ExternalEvent | str) -> None:
        """Batsim: an external event has occurred.

        Args:
            id: its name; not empty.
            external_event: the event; a text becomes a `GenericExternalEvent`.
        """
        self._append(
            model.ExternalEventOccurredEvent(
                timestamp=self._now,
                id=id,
                external_event=GenericExternalEvent(external_event)
                if isinstance(external_event, str)
                else external_event,
            )
        )

    # What all of them do

    def _append(self, event: Event) -> None:
        """Add an event whose timestamp is right, once it has passed all checks."""
        self._must_be_open(type(event).__name__)
        try:
            check(event)
        except EncodeError as error:
            raise BuilderError(error.reason, error.path) from error
        completed: Event = _completed(event, "")
        if type(event) in _ACROSS_FIELDS:
            _ACROSS_FIELDS[type(event)](completed)
        self._accept(completed)

    def _accept(self, event: Event) -> None:
        """Take an event that has passed all checks. Derived classes may have more of them."""
        self._events.append(event)
        self._now = event.timestamp

    def _must_be_open(self, refused: str) -> None:
        if self._finished:
            raise BuilderError(
                f"expected no {refused} before clear(), as the message was finished at {self._now}", "finish_message"
            )

    def _not_before_now(self, value: float, path: str) -> float:
        time = _finite(value, path)
        if time < self._now:
            raise BuilderError(f"expected a time not before the current time {self._now}, got {time}", path)
        return time


# What the add_ methods make of their arguments. What cannot be made into the field's form stays as it is: the check
# then names the field.


def _is_sequence(items: Any) -> bool:
    return isinstance(items, Iterable) and not isinstance(items, str | bytes | Mapping)


def _tuple(items: Any) -> Any:
    return tuple(items) if _is_sequence(items) else items


def _wrapped(kind: type[Value], items: Any) -> Any:
    """The value of this type that holds these items, or what was given where it is not a sequence."""
    return kind(items) if _is_sequence(items) else items


def _pairs(kind: type[Value], items: Any) -> Any:
    """Values of a type that has two fields, given as a mapping of the first to the second or as they are."""
    return tuple(kind(*pair) for pair in items.items()) if isinstance(items, Mapping) else _tuple(items)


def _overrides(items: Any) -> Any:
    if not isinstance(items, Mapping):
        return _tuple(items)
    path = "profile_allocation_override[{}].host_allocation"
    return tuple(
        ProfileAllocationPlacement(profile_id, given.host_allocation, given.executor_placement)
        if isinstance(given, AllocationPlacement)
        else ProfileAllocationPlacement(profile_id, _hosts(given, path.format(index)))
        for index, (profile_id, given) in enumerate(items.items())
    )


def _resources(hosts: HostSet | None, links: Iterable[str] | None) -> Resources:
    if (hosts is None) is (links is None):
        raise BuilderError(
            f"expected either hosts or links, got hosts={shown(hosts)} and links={shown(links)}", "resources"
        )
    if links is not None:
        return LinkResources(_tuple(links))
    return HostResources(_hosts(hosts, "resources.host_ids"))


# What becomes of a field once its type is known to be right: each function gives the value to write, or raises
# BuilderError with the path that it was told.

_Completion: TypeAlias = Callable[[Any, str], Any]


def _number(value: Any, path: str) -> float:
    if type(value) is float:
        return value
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        raise BuilderError(f"expected a number, got {shown(value)}", path)
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError) as error:
        raise BuilderError(f"expected a number that a double can hold, got {shown(value)}", path) from error


def _finite(value: Any, path: str) -> float:
    number = _number(value, path)
    if not math.isfinite(number):
        raise BuilderError(f"expected a finite number, got {number}", path)
    return number


def _finite_vector(values: Doubles | None, path: str) -> Doubles | None:
    if values is not None and not math.isfinite(sum(values.view)):  # that of finite numbers can be infinite too
        for index, value in enumerate(values):
            _finite(value, f"{path}[{index}]")
    return values


def _fraction(value: Any, path: str) -> float:
    number = _number(value, path)
    if not 0.0 <= number <= 1.0:
        raise BuilderError(f"expected a number in [0,1], got {number}", path)
    return number


def _integer(value: SupportsIndex, path: str) -> int:
    return operator.index(value)  # numpy's integers become Python's, as those that come from the wire are


def _integers(values: tuple[SupportsIndex, ...], path: str) -> tuple[int, ...]:
    return tuple(map(operator.index, values))


def _known(value: ProtocolEnum, path: str) -> ProtocolEnum:
    if not value.known:
        names = ", ".join(member.name for member in type(value))
        raise BuilderError(f"expected one of {names}, got {int(value)}", path)
    return value


def _placement(value: ExecutorPlacement, path: str) -> Any:
    if value is _SPREAD:  # as nearly all are
        return value
    return _known(value, path) if isinstance(value, ProtocolEnum) else _completed(value, path)


def _id(value: str, path: str) -> str:
    if not value:
        raise BuilderError(f"expected an id, got {value!r}", path)
    return value


def _ids(values: tuple[str, ...], path: str) -> tuple[str, ...]:
    for index, value in enumerate(values):
        _id(value, f"{path}[{index}]")
    return values


def _some_ids(values: tuple[str, ...], path: str) -> tuple[str, ...]:
    if not values:
        raise BuilderError("expected at least one id, got none", path)
    return _ids(values, path)


def _csv_text(value: str | None, path: str) -> str | None:
    if value is not None and ("," in value or '"' in value):
        raise BuilderError(f"expected a text without comma or double quote, got {shown(value)}", path)
    return value


def _commit(value: str | None, path: str) -> str | None:
    return _csv_text(value or "", path)


def _hosts(value: Any, path: str) -> str:
    try:
        text = value if type(value) is str else format_hosts(value)
        canonical = _canonical_hosts(text)
    except ValueError as error:  # HostSetError, or Python will not write an int of thousands of digits
        raise BuilderError(str(error), path) from error
    return text if canonical == text else canonical  # the very string that was given where it will do


@lru_cache(maxsize=1024)
def _canonical_hosts(text: str) -> str:
    """Schedulers allocate the same sets again and again, and reading one takes longer than all other checks."""
    canonical = format_hosts(text)
    if int(canonical.replace("-", " ").rpartition(" ")[2] or 0) > _LAST_HOST:
        raise HostSetError(f"a host is an integer in [0, {_LAST_HOST}], got {shown(text)}")
    return canonical


def _some_hosts(value: Any, path: str) -> str:
    hosts = _hosts(value, path)
    if not hosts:
        raise BuilderError(f"expected at least one host, got {value!r}", path)
    return hosts


def _completed(value: Any, path: str) -> Any:
    """The value as it is to be written, and all that it holds."""
    kind: Any = type(value)
    if kind is tuple:
        return tuple([_completed(item, f"{path}[{index}]") for index, item in enumerate(value)])
    changes = {}
    for name, complete in _completions(kind):
        given = getattr(value, name)
        written = complete(given, f"{path}.{name}" if path else name)
        if written is not given:
            changes[name] = written
    return replace(value, **changes) if changes else value


_BY_NAME: dict[str, _Completion | None] = {
    "call_me_later_id": _id,
    "delay": _finite,
    "host_allocation": _some_hosts,
    "host_ids": _hosts,
    "job_id": _id,
    "job_ids": _some_ids,
    "link_ids": _ids,
    "probe_id": _id,
    "profile_id": _id,
    "profile_ids": _ids,
    "progress": _fraction,
    "submission_time": _finite,
    "timestamp": None,  # the builder's own clock
    "walltime": _finite,
}
"""What becomes of a field, whatever the type that has it."""

_BY_FIELD: dict[tuple[type, str], _Completion | None] = {
    (model.AllocationPlacement, "executor_placement"): _placement,
    (model.ChangeHostsPStateEvent, "host_ids"): _some_hosts,
    (model.EDCHelloEvent, "batprotocol_commit"): _csv_text,
    (model.EDCHelloEvent, "batprotocol_version"): _csv_text,
    (model.EDCHelloEvent, "decision_component_commit"): _commit,
    (model.EDCHelloEvent, "decision_component_name"): _csv_text,
    (model.EDCHelloEvent, "decision_component_version"): _csv_text,
    (model.ExternalEventOccurredEvent, "id"): _id,
    (model.Job, "profile_id"): None,  # empty in a submitted job that is only there to be seen; see _ACROSS_FIELDS
    (model.ParallelTaskDataStagingBetweenStoragesProfile, "bytes_to_transfer"): _finite,
    (model.ParallelTaskHomogeneousProfile, "communication_amount"): _finite,
    (model.ParallelTaskHomogeneousProfile, "computation_amount"): _finite,
    (model.ParallelTaskOnStorageHomogeneousProfile, "bytes_to_read"): _finite,
    (model.ParallelTaskOnStorageHomogeneousProfile, "bytes_to_write"): _finite,
    (model.ParallelTaskProfile, "communication_matrix"): _finite_vector,
    (model.ParallelTaskProfile, "computation_vector"): _finite_vector,
    (model.ProfileAllocationPlacement, "executor_placement"): _placement,
    (model.ProfileAndId, "id"): _id,
    (model.QuantileFunction, "threshold"): _fraction,
    (model.SimulationBeginsEvent, "batsim_version"): _csv_text,
    (model.TurnOnOffHostsEvent, "host_ids"): _some_hosts,
}
"""What becomes of a field where the type that has it matters too. None is nothing."""

_BY_HINT: dict[Any, _Completion] = {float: _number, int: _integer, tuple[int, ...]: _integers}
"""What becomes of all other fields of these types."""


@cache
def _completions(kind: type) -> tuple[tuple[str, _Completion], ...]:
    """The fields of a type that something becomes of: those of the tables, other doubles, and values inside."""
    if not issubclass(kind, Value):
        return ()
    found = ((name, _completion(kind, name, hint)) for name, hint in get_type_hints(kind).items())
    return tuple((name, complete) for name, complete in found if complete is not None)


def _completion(kind: type, name: str, hint: Any) -> _Completion | None:
    if (kind, name) in _BY_FIELD:
        return _BY_FIELD[kind, name]
    if NoneType in get_args(hint):
        (present,) = (member for member in get_args(hint) if member is not NoneType)
        complete = _completion(kind, name, present)
        return complete and (lambda value, path: None if value is None else complete(value, path))
    if name in _BY_NAME:
        return _BY_NAME[name]
    if hint in _BY_HINT:
        return _BY_HINT[hint]
    if isinstance(hint, type) and issubclass(hint, ProtocolEnum):
        return lambda value, path: _known(hint(value), path)  # a number will do, if the schema knows it
    return _completed if any(issubclass(leaf, Value) for leaf in _leaves(hint)) else None


def _leaves(hint: Any) -> Iterator[type]:
    """The types that an annotation names."""
    for member in get_args(hint):
        yield from _leaves(member)
    if isinstance(hint, type) and not get_args(hint):
        yield hint


def _job_to_register(event: model.RegisterJobEvent) -> None:
    _id(event.job.profile_id, "job.profile_id")


def _probe(event: model.CreateProbeEvent) -> None:
    if isinstance(event.resources, HostResources):
        _some_hosts(event.resources.host_ids, "resources.host_ids")


def _jobs_with_progress(event: model.JobsKilledEvent) -> None:
    killed = set(event.job_ids)
    for index, progress in enumerate(event.progresses):
        if progress.job_id not in killed:
            raise BuilderError(f"expected one of job_ids, got {shown(progress.job_id)}", f"progresses[{index}].job_id")


_ACROSS_FIELDS: dict[type, Callable[[Any], None]] = {
    model.CreateProbeEvent: _probe,
    model.JobsKilledEvent: _jobs_with_progress,
    model.RegisterJobEvent: _job_to_register,
}
"""What an event must fulfil as a whole."""
