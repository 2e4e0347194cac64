"""How the events that Batsim sends are made, in the order of the schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real

from batprotocol import model
from batprotocol.builder import arguments
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

    def add_job_completed(self, job_id: str, state: model.FinalJobState, return_code: int = 0) -> None:
        """Batsim: a job has ended.

        Args:
            job_id: the job, `workload!job`; not empty.
            state: how it ended.
            return_code: 0 for success; int32.
        """
        self._append(model.JobCompletedEvent(timestamp=self._now, job_id=job_id, state=state, return_code=return_code))

    def add_jobs_killed(
        self,
        job_ids: Iterable[str],
        progresses: Mapping[str, model.KillProgress] | Iterable[model.JobAndProgress],
        profiles: Iterable[model.ProfileAndId] | None = None,
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
        computing, storing = arguments.tuple_of(computation_hosts), arguments.tuple_of(storage_hosts)
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
            error: what happened.
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
            pstate: the power state reached; uint32.
        """
        self._append(
            model.HostsPStateChangedEvent(timestamp=self._now, host_ids=host_set(hosts, "host_ids"), pstate=pstate)
        )

    def add_hosts_turned_on_off(self, hosts: model.HostSet, state: int) -> None:
        """Batsim: these hosts are now on or off.

        Args:
            hosts: the host set.
            state: the power state reached; uint32.
        """
        self._append(
            model.HostsTurnedOnOffEvent(timestamp=self._now, host_ids=host_set(hosts, "host_ids"), state=state)
        )

    # External events

    def add_external_event_occurred(self, id: str, external_event: model.ExternalEvent | str) -> None:
        """Batsim: an external event has occurred.

        Args:
            id: its name; not empty.
            external_event: the event; a text becomes a `GenericExternalEvent`.
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
