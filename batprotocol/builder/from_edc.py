"""How the events that the decision component sends are made, in the order of the schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from batprotocol import model
from batprotocol.builder import arguments
from batprotocol.builder.collector import Collector
from batprotocol.builder.fields import host_set, some_hosts
from batprotocol.model.hosts import FrozenHosts
from batprotocol.wire.making import new_allocation, new_execution

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
        """Decision component: this job will not be executed.

        Args:
            job_id: a submitted job, `workload!job`; not empty.
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
        """Decision component: kill these jobs.

        Args:
            job_ids: running jobs, `workload!job`; at least one.
        """
        self._append(model.KillJobsEvent(timestamp=self._now, job_ids=arguments.tuple_of(job_ids)))

    # Dynamic registration

    def add_register_profile(self, profile_id: str, profile: model.Profile, extra_data: str | None = None) -> None:
        """Decision component: here is a new profile.

        Args:
            profile_id: its name, `workload!name`; not empty.
            profile: the profile; its amounts are finite.
            extra_data: free text that Batsim only carries.
        """
        self._append(
            model.RegisterProfileEvent(timestamp=self._now, profile=model.ProfileAndId(profile_id, profile, extra_data))
        )

    def add_register_job(self, job_id: str, job: model.Job) -> None:
        """Decision component: here is a new job.

        Args:
            job_id: its name, `workload!job`; not empty.
            job: what it asks for; its `profile_id` must not be empty.
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
        """Decision component: stop this probe.

        Args:
            probe_id: the name of the probe; not empty.
        """
        self._append(model.StopProbeEvent(timestamp=self._now, probe_id=probe_id))

    def add_trigger_probe(self, probe_id: str, force_data_emission: bool = True) -> None:
        """Decision component: take a measure now. Batsim 5.0.0-rc2 refuses it.

        Args:
            probe_id: the name of the probe; not empty.
            force_data_emission: emit data whatever the emission filter says.
        """
        self._append(
            model.TriggerProbeEvent(timestamp=self._now, probe_id=probe_id, force_data_emission=force_data_emission)
        )

    def add_reset_probe(self, probe_id: str, new_value: float = 0.0) -> None:
        """Decision component: set the accumulated value of this probe. Batsim 5.0.0-rc2 refuses it.

        Args:
            probe_id: the name of the probe; not empty.
            new_value: the new value, in the unit of the accumulated metrics.
        """
        self._append(model.ResetProbeEvent(timestamp=self._now, probe_id=probe_id, new_value=new_value))

    # Calls

    def add_call_me_later(self, call_me_later_id: str, when: model.TemporalTrigger) -> None:
        """Decision component: call me at this time, or periodically.

        Args:
            call_me_later_id: a name that comes back in each `RequestedCallEvent`; not empty.
            when: `OneShot(42)`, `Periodic(10)` ...
        """
        self._append(model.CallMeLaterEvent(timestamp=self._now, call_me_later_id=call_me_later_id, when=when))

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
        features: model.EDCRequestedSimulationFeatures | None = None,
        batprotocol_version: str = arguments.PROTOCOL_VERSION,
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

    def add_finish_registration(self) -> None:
        """Decision component: no more jobs or profiles will be registered."""
        self._append(model.FinishRegistrationEvent(timestamp=self._now))

    def add_force_simulation_stop(self) -> None:
        """Decision component: stop the simulation now. Later events of the same message are dropped by Batsim.

        Batsim 5.0.0-rc2 dies of SIGABRT if a parallel task runs: kill the running jobs before, in the same message.
        """
        self._append(model.ForceSimulationStopEvent(timestamp=self._now))

    # Hosts

    def add_change_hosts_pstate(self, hosts: model.HostSet, pstate: int) -> None:
        """Decision component: change the power state of these hosts.

        Args:
            hosts: the host set; not empty.
            pstate: the power state to reach; uint32.
        """
        self._append(
            model.ChangeHostsPStateEvent(timestamp=self._now, host_ids=host_set(hosts, "host_ids"), pstate=pstate)
        )

    def add_turn_on_off_hosts(self, hosts: model.HostSet, state: int) -> None:
        """Decision component: turn these hosts on or off.

        Args:
            hosts: the host set; not empty.
            state: the power state to reach, a computation one from a sleep one or the reverse; uint32.
        """
        self._append(model.TurnOnOffHostsEvent(timestamp=self._now, host_ids=host_set(hosts, "host_ids"), state=state))
