"""The methods that add the events that Batsim sends, in the order of the schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real

from batprotocol import model
from batprotocol.builder import fields as arguments
from batprotocol.builder.collector import Collector
from batprotocol.builder.fields import host_set

__all__ = ["FromBatsim"]


class FromBatsim(Collector):
    """An `add_` method for each event that Batsim sends."""

    __slots__ = ()

    # Jobs

    def add_job_submitted(
        self, job_id: str, job: model.Job, submission_time: float, profile: model.ProfileAndId | None = None
    ) -> None:
        """Batsim: a job was submitted.

        Args:
            job_id: the id of the job, `workload!job`; not empty.
            job: the request of the job.
            submission_time: the submission time of the job, in simulated seconds; finite.
            profile: the profile of the job if the decision component requested `forward_profiles_on_job_submission`.
        """
        self._append(
            model.JobSubmittedEvent(
                timestamp=self._now, job_id=job_id, job=job, submission_time=submission_time, profile=profile
            )
        )

    def add_job_completed(self, job_id: str, state: model.FinalJobState, return_code: int = 0) -> None:
        """Batsim: a job has ended.

        Args:
            job_id: the id of the job, `workload!job`; not empty.
            state: how the job ended.
            return_code: the return code of the job, 0 (default) for success; int32.
        """
        self._append(model.JobCompletedEvent(timestamp=self._now, job_id=job_id, state=state, return_code=return_code))

    def add_jobs_killed(
        self,
        job_ids: Iterable[str],
        progresses: Mapping[str, model.KillProgress] | Iterable[model.JobAndProgress],
        profiles: Iterable[model.ProfileAndId] | None = None,
    ) -> None:
        """Batsim: the jobs of a `KillJobsEvent` do not run any more.

        Args:
            job_ids: the ids of the jobs, `workload!job`; at least one.
            progresses: the progress of each killed job: a mapping of job id to progress, or values. Each job must be in
                `job_ids`. A job that had ended before the kill has no entry. Each progress is in [0,1].
            profiles: the profiles of the killed jobs if the decision component requested
                `forward_profiles_on_jobs_killed`.

        >>> builder = MessageBuilder()
        >>> builder.add_jobs_killed(["w0!1"], {"w0!1": model.KillProgressAtomicProfile("w0!delay", 0.5)})
        """
        self._append(
            model.JobsKilledEvent(
                timestamp=self._now,
                job_ids=arguments.tuple_of(job_ids),
                progresses=arguments.pairs(model.JobAndProgress, progresses),
                profiles=arguments.tuple_of(profiles),
            )
        )

    # Probes

    def add_probe_data_emitted(
        self,
        probe_id: str,
        metrics: model.Metrics,
        data: model.ProbeData | float | Iterable[float],
        *,
        hosts: model.HostSet | None = None,
        links: Iterable[str] | None = None,
        manually_triggered: bool = False,
        nb_emitted: int = 0,
        nb_triggered: int = 0,
    ) -> None:
        """Batsim: a probe emits data.

        Args:
            probe_id: the id of the probe; not empty.
            metrics: the quantity that the probe measures.
            data: one number for all resources, or an iterable with one number for each resource.
            hosts: the hosts that the probe observes. Give either `hosts` or `links`.
            links: the names of the links that the probe observes.
            manually_triggered: whether a `TriggerProbeEvent` requested the data; False by default.
            nb_emitted: the number of times that the probe has emitted data; uint32, 0 by default.
            nb_triggered: the number of times that the probe was triggered; uint32, 0 by default.

        >>> builder = MessageBuilder()
        >>> builder.add_probe_data_emitted("power", Metrics.Power, [50, 30.5], hosts="0-1")
        >>> builder.events[0].data
        VectorialProbeData(data=Doubles([50.0, 30.5]))
        """
        self._append(
            model.ProbeDataEmittedEvent(
                timestamp=self._now,
                probe_id=probe_id,
                resources=arguments.resources(hosts, links),
                metrics=metrics,
                data=model.AggregatedProbeData(data)
                if isinstance(data, Real)
                else arguments.wrapped(model.VectorialProbeData, data),
                manually_triggered=manually_triggered,
                nb_emitted=nb_emitted,
                nb_triggered=nb_triggered,
            )
        )

    # Calls

    def add_requested_call(self, call_me_later_id: str, last_periodic_call: bool = False) -> None:
        """Batsim: a call that the decision component requested is due.

        Args:
            call_me_later_id: the id of the call, from the `CallMeLaterEvent`; not empty.
            last_periodic_call: True for the last call of a periodic call with a finite number of periods.
        """
        self._append(
            model.RequestedCallEvent(
                timestamp=self._now, call_me_later_id=call_me_later_id, last_periodic_call=last_periodic_call
            )
        )

    # The simulation

    def add_simulation_begins(
        self,
        *,
        batsim_version: str,
        computation_hosts: Iterable[model.Host],
        storage_hosts: Iterable[model.Host] = (),
        host_number: int | None = None,
        computation_host_number: int | None = None,
        storage_host_number: int | None = None,
        batsim_arguments: Iterable[str] = (),
        batsim_execution_context_json: str = "{}",
        workloads: Iterable[model.WorkloadAndFilename] = (),
        external_event_lists: Iterable[model.ExternalEventListAndFilename] = (),
        profiles: Iterable[model.ProfileAndId] | None = None,
        batsim_commit: str | None = None,
        batprotocol_version: str = arguments.PROTOCOL_VERSION,
    ) -> None:
        """Batsim: the simulation begins. The event describes the platform and the inputs.

        Args:
            batsim_version: the version of Batsim, without comma or double quote.
            computation_hosts: the hosts that execute jobs.
            storage_hosts: the hosts that store data.
            host_number: the number of hosts; uint32. By default, the builder counts the given hosts.
            computation_host_number: the number of computation hosts; uint32. By default, the builder counts them.
            storage_host_number: the number of storage hosts; uint32. By default, the builder counts them.
            batsim_arguments: Batsim's command line.
            batsim_execution_context_json: Batsim's execution context, as JSON text.
            workloads: the static workloads.
            external_event_lists: the static lists of external events.
            profiles: the profiles of the static workloads if the decision component requested
                `forward_profiles_on_simulation_begins`.
            batsim_commit: the Git commit of Batsim, or None.
            batprotocol_version: the version of the protocol, without comma or double quote.
        """
        computing, storing = arguments.tuple_of(computation_hosts), arguments.tuple_of(storage_hosts)
        known = type(computing) is tuple and type(storing) is tuple  # else the check names the invalid one
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
                batsim_arguments=arguments.tuple_of(batsim_arguments),
                batsim_execution_context_json=batsim_execution_context_json,
                workloads=arguments.tuple_of(workloads),
                external_event_lists=arguments.tuple_of(external_event_lists),
                profiles=arguments.tuple_of(profiles),
            )
        )

    def add_simulation_ends(self) -> None:
        """Batsim: the simulation has ended."""
        self._append(model.SimulationEndsEvent(timestamp=self._now))

    def add_simulation_error(self, error: str) -> None:
        """Batsim: the simulation has failed.

        Args:
            error: the description of the error.
        """
        self._append(model.SimulationErrorEvent(timestamp=self._now, error=error))

    def add_all_static_jobs_have_been_submitted(self) -> None:
        """Batsim: all jobs of the static workloads have been submitted."""
        self._append(model.AllStaticJobsHaveBeenSubmittedEvent(timestamp=self._now))

    def add_all_static_external_events_have_been_injected(self) -> None:
        """Batsim: all events of the static external event lists have occurred."""
        self._append(model.AllStaticExternalEventsHaveBeenInjectedEvent(timestamp=self._now))

    # Hosts

    def add_hosts_pstate_changed(self, hosts: model.HostSet, pstate: int) -> None:
        """Batsim: the power state of these hosts has changed.

        Args:
            hosts: the host set.
            pstate: the power state that the hosts have reached; uint32.
        """
        self._append(
            model.HostsPStateChangedEvent(timestamp=self._now, host_ids=host_set(hosts, "host_ids"), pstate=pstate)
        )

    def add_hosts_turned_on_off(self, hosts: model.HostSet, state: int) -> None:
        """Batsim: these hosts are now on or off.

        Args:
            hosts: the host set.
            state: the power state that the hosts have reached; uint32.
        """
        self._append(
            model.HostsTurnedOnOffEvent(timestamp=self._now, host_ids=host_set(hosts, "host_ids"), state=state)
        )

    # External events

    def add_external_event_occurred(self, id: str, external_event: model.ExternalEvent | str) -> None:
        """Batsim: an external event has occurred.

        Args:
            id: the id of the external event; not empty.
            external_event: the external event. A string becomes a `GenericExternalEvent`.
        """
        self._append(
            model.ExternalEventOccurredEvent(
                timestamp=self._now,
                id=id,
                external_event=model.GenericExternalEvent(external_event)
                if isinstance(external_event, str)
                else external_event,
            )
        )
