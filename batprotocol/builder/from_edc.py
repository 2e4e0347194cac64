"""The methods that add the events that the decision component sends, in the order of the schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from batprotocol import model
from batprotocol.builder import fields as arguments
from batprotocol.builder.collector import Collector
from batprotocol.builder.fields import host_set, some_hosts
from batprotocol.model.hosts import FrozenHosts
from batprotocol.wire.making import add_execution, new_allocation, new_execution

__all__ = ["FromEDC"]

_NO_ACCUMULATION: Final = model.NoProbeDataAccumulation()
_NO_AGGREGATION: Final = model.NoResourcesAggregation()
_NO_TEMPORAL_AGGREGATION: Final = model.NoTemporalAggregation()
_NO_FILTERING: Final = model.NoFiltering()
_NO_FEATURES: Final = model.EDCRequestedSimulationFeatures()
_SPREAD: Final = model.PredefinedExecutorPlacementStrategy.SpreadOverHostsFirst
_FILL: Final = model.PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst


class FromEDC(Collector):
    """An `add_` method for each event that the decision component sends."""

    __slots__ = ()

    # Jobs

    def add_reject_job(self, job_id: str) -> None:
        """Reject a job: Batsim never executes it.

        Args:
            job_id: the id of a submitted job, `workload!job`; not empty.
        """
        self._append(model.RejectJobEvent(timestamp=self._now, job_id=job_id))

    def add_execute_job(
        self,
        job_id: str,
        hosts: model.HostSet,
        placement: model.ExecutorPlacement | Iterable[int] = _SPREAD,
        profile_overrides: Iterable[model.ProfileAllocationPlacement]
        | Mapping[str, model.HostSet | model.AllocationPlacement]
        | None = None,
        storage_placement: Iterable[model.StorageHost] | Mapping[str, int] | None = None,
    ) -> None:
        """Execute a job on these hosts.

        Batsim does not check that the hosts are free, or that there are enough of them.

        Args:
            job_id: the id of a submitted job, `workload!job`; not empty.
            hosts: the host set; not empty. A list, tuple or array names each host once.
            placement: the placement of the executors: a predefined strategy (`SpreadOverHostsFirst` by default), a
                `CustomExecutorToHostMapping`, or its numbers only. The numbers are indices into the host set, one for
                each executor, in [0, number of hosts).
            profile_overrides: other hosts and placements for the profiles within a composition: values, or a mapping of
                profile id to hosts or `AllocationPlacement`; None by default.
            storage_placement: the hosts of the storages that the profiles name: values, or a mapping of storage name to
                host id (uint32); None by default.

        >>> builder = MessageBuilder()
        >>> builder.add_execute_job("w0!1", "0-3", placement=[0, 1, 2, 3], storage_placement={"pfs": 19})
        >>> builder.events[0].storage_placement
        (StorageHost(storage_name='pfs', host_id=19),)
        """
        is_plain = profile_overrides is None and storage_placement is None
        if is_plain and add_execution(self, job_id, hosts, placement):
            return
        if (
            is_plain
            and (placement is _SPREAD or placement is _FILL)
            and type(job_id) is str
            and job_id.isascii()
            and job_id
            and not self._finished
        ):  # a shortcut for the most frequent event, with all checks that it needs
            text = hosts._sent if type(hosts) is FrozenHosts else ""
            allocation = new_allocation(text or some_hosts(hosts, "allocation.host_allocation"), placement)
            event = new_execution(job_id, allocation, None, None, self._now)
            judge = self._judge
            if judge is not None:
                judge(event)
            self._events.append(event)
            return
        self._append(
            model.ExecuteJobEvent(
                timestamp=self._now,
                job_id=job_id,
                allocation=model.AllocationPlacement(
                    host_set(hosts, "allocation.host_allocation"),
                    arguments.wrapped(model.CustomExecutorToHostMapping, placement),
                ),
                profile_allocation_override=None
                if profile_overrides is None
                else arguments.overrides(profile_overrides),
                storage_placement=None
                if storage_placement is None
                else arguments.pairs(model.StorageHost, storage_placement),
            )
        )

    def add_kill_jobs(self, job_ids: Iterable[str]) -> None:
        """Kill these jobs.

        Args:
            job_ids: the ids of running jobs, `workload!job`; at least one.
        """
        self._append(model.KillJobsEvent(timestamp=self._now, job_ids=arguments.tuple_of(job_ids)))

    # Dynamic registration

    def add_register_profile(self, profile_id: str, profile: model.Profile, extra_data: str | None = None) -> None:
        """Register a new profile. The decision component must have requested `dynamic_registration`.

        Args:
            profile_id: the new id of the profile, `workload!name`; not empty.
            profile: the profile. Its amounts must be finite.
            extra_data: free text for decision components, which Batsim does not read; None by default.
        """
        self._append(
            model.RegisterProfileEvent(timestamp=self._now, profile=model.ProfileAndId(profile_id, profile, extra_data))
        )

    def add_register_job(self, job_id: str, job: model.Job) -> None:
        """Register a new job. The decision component must have requested `dynamic_registration`.

        Args:
            job_id: the new id of the job, `workload!job`; not empty.
            job: the request of the job. Its profile must exist, and its `profile_id` must not be empty.
        """
        self._append(model.RegisterJobEvent(timestamp=self._now, job_id=job_id, job=job))

    # Probes

    def add_create_probe(
        self,
        probe_id: str,
        metrics: model.Metrics = model.Metrics.Power,
        *,
        hosts: model.HostSet | None = None,
        links: Iterable[str] | None = None,
        trigger: model.TemporalTrigger,
        accumulation: model.ProbeDataAccumulationStrategy = _NO_ACCUMULATION,
        aggregation: model.ResourcesAggregationFunction = _NO_AGGREGATION,
        temporal_aggregation: model.TemporalAggregationFunction = _NO_TEMPORAL_AGGREGATION,
        emission_filter: model.ProbeEmissionFilteringPolicy = _NO_FILTERING,
    ) -> None:
        """Create a probe, which observes hosts or links.

        Args:
            probe_id: the id of the probe; not empty.
            metrics: the quantity to measure; `Metrics.Power` by default.
            hosts: the hosts to observe, at least one. Give either `hosts` or `links`.
            links: the names of the links to observe.
            trigger: the times at which the probe measures, such as `Periodic(10)` or `OneShot(42)`.
            accumulation: how the probe accumulates measures over time; no accumulation by default.
            aggregation: how the probe combines the values of the resources; no aggregation by default. The threshold of
                a `QuantileFunction` is in [0,1].
            temporal_aggregation: how the probe aggregates measures over time; no aggregation by default.
            emission_filter: which data the probe emits; all by default.

        >>> builder = MessageBuilder()
        >>> energy = model.ProbeDataAccumulation()  # power accumulated over time: the kind that Batsim implements
        >>> builder.add_create_probe("energy", hosts="0-3", trigger=model.Periodic(60), accumulation=energy)
        """
        self._append(
            model.CreateProbeEvent(
                timestamp=self._now,
                probe_id=probe_id,
                metrics=metrics,
                resources=arguments.resources(hosts, links),
                data_accumulation_strategy=accumulation,
                measurement_triggering_policy=trigger,
                resources_aggregation_function=aggregation,
                temporal_aggregation_function=temporal_aggregation,
                emission_filtering_policy=emission_filter,
            )
        )

    def add_stop_probe(self, probe_id: str) -> None:
        """Stop a probe.

        Args:
            probe_id: the id of the probe; not empty.
        """
        self._append(model.StopProbeEvent(timestamp=self._now, probe_id=probe_id))

    def add_trigger_probe(self, probe_id: str, force_data_emission: bool = True) -> None:
        """Measure with a probe now. Batsim 5.0.0-rc2 refuses it.

        Args:
            probe_id: the id of the probe; not empty.
            force_data_emission: emit the data even if the emission filter would drop it; True by default.
        """
        self._append(
            model.TriggerProbeEvent(timestamp=self._now, probe_id=probe_id, force_data_emission=force_data_emission)
        )

    def add_reset_probe(self, probe_id: str, new_value: float = 0.0) -> None:
        """Set the accumulated value of a probe. Batsim 5.0.0-rc2 refuses it.

        Args:
            probe_id: the id of the probe; not empty.
            new_value: the new value, in the unit of the accumulated metrics; 0 by default.
        """
        self._append(model.ResetProbeEvent(timestamp=self._now, probe_id=probe_id, new_value=new_value))

    # Calls

    def add_call_me_later(self, call_me_later_id: str, when: model.TemporalTrigger) -> None:
        """Request a call, once or periodically.

        Args:
            call_me_later_id: the id of the call, not empty. Each `RequestedCallEvent` has the same id.
            when: the time of the call, such as `OneShot(42)` or `Periodic(10)`.
        """
        self._append(model.CallMeLaterEvent(timestamp=self._now, call_me_later_id=call_me_later_id, when=when))

    def add_stop_call_me_later(self, call_me_later_id: str) -> None:
        """Stop a periodic call.

        Args:
            call_me_later_id: the id of the call, from the `CallMeLaterEvent`; not empty.
        """
        self._append(model.StopCallMeLaterEvent(timestamp=self._now, call_me_later_id=call_me_later_id))

    # The simulation

    def add_edc_hello(
        self,
        name: str,
        version: str,
        commit: str = "",
        features: model.EDCRequestedSimulationFeatures | None = None,
        batprotocol_version: str = arguments.PROTOCOL_VERSION,
        batprotocol_commit: str | None = None,
    ) -> None:
        """Identify the decision component and request features, in the only event of its first message.

        Args:
            name: the name of the scheduler.
            version: the version of the scheduler.
            commit: the commit of the scheduler; `""` by default. The builder always writes it, because Batsim crashes
                without it.
            features: the features that the scheduler requests; none by default.
            batprotocol_version: the version of the protocol; `PROTOCOL_VERSION` by default.
            batprotocol_commit: the Git commit of the protocol; None by default.

        The texts must not hold a comma or a double quote.
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

    def add_finish_registration(self) -> None:
        """Finish registration: the decision component registers no more jobs or profiles."""
        self._append(model.FinishRegistrationEvent(timestamp=self._now))

    def add_force_simulation_stop(self) -> None:
        """Stop the simulation now. Batsim drops later events of the same message.

        Batsim 5.0.0-rc2 aborts (SIGABRT) if a parallel task is running. Kill the running jobs first, in the same
        message.
        """
        self._append(model.ForceSimulationStopEvent(timestamp=self._now))

    # Hosts

    def add_change_hosts_pstate(self, hosts: model.HostSet, pstate: int) -> None:
        """Change the power state of these hosts.

        Args:
            hosts: the host set; not empty.
            pstate: the power state to reach; uint32.
        """
        self._append(
            model.ChangeHostsPStateEvent(timestamp=self._now, host_ids=host_set(hosts, "host_ids"), pstate=pstate)
        )

    def add_turn_on_off_hosts(self, hosts: model.HostSet, state: int) -> None:
        """Turn these hosts on or off.

        Args:
            hosts: the host set; not empty.
            state: the power state to reach: a computation state to turn hosts on, a sleep state to turn them off;
                uint32.
        """
        self._append(model.TurnOnOffHostsEvent(timestamp=self._now, host_ids=host_set(hosts, "host_ids"), state=state))
