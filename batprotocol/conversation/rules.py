"""The catalogue of rules: what each rule is about, how to correct it, and its severity in each rule set.

It is only a table. The modules of the topics (`jobs`, `periodic`...) find the violations, and refer to the rules by
their ids: to find where a rule is checked, search this folder for its id, such as `time.order`. This module must not
know messages or the state of a conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from batprotocol._util import rules
from batprotocol._util.rules import Catalogue, Rule, RuleRow, Severity

__all__ = ["CATALOGUE", "DEFAULT_RULE_SET", "RULES", "RULE_SETS", "Violation"]

_Word: TypeAlias = Severity | Literal["off"]


def _rule(id: str, protocol: _Word, batsim: _Word, title: str, explanation: str) -> RuleRow:
    return RuleRow(id, (protocol, batsim), title, explanation)


# The table: id, severity in "protocol", severity in "batsim-5.0.0-rc2", title, explanation. "off" is not a violation.
# "protocol": the schema and Batsim's documentation demand it of any two peers. The other: that Batsim's behaviour.

# A rule is a paragraph here, not a column.
# fmt: off
_TABLE: Final = (
    # Frames and messages
    _rule("frame.init", "error", "error", "The frame of message 0 is broken",
          "Message 0 is a uint32 size followed by exactly that many bytes of initialization data. Write it with "
          "`frames.encode_init`."),
    _rule("frame.hello", "error", "error", "The frame of message 1 is too short",
          "Message 1 starts with a uint32 of flags. Write it with `frames.encode_hello`."),
    _rule("frame.flags", "warning", "warning", "The flags of message 1 are not documented ones",
          "The documented flags are 1 (binary) and 2 (JSON). Batsim 5.0.0-rc2 only looks at the bit of value 2. Write "
          "one of the two values."),
    _rule("message.unreadable", "error", "error", "The bytes are not a message",
          "Batsim does not verify the bytes that it gets. It crashes on binary replies that are empty, truncated or "
          "incomplete, and aborts on JSON that its parser refuses. Write messages with a library of the protocol, and "
          "send all bytes that it returns; in Python, use `Message.to_binary` or `Message.to_json`."),
    _rule("message.unverified", "error", "warning", "The message is broken where Batsim does not look",
          "The flatbuffer is not valid, but this Batsim never reads the broken part. Other readers do. The rest of the "
          "conversation is not checked. Write messages with a library of the protocol, and send all bytes that it "
          "returns; in Python, use `Message.to_binary`."),
    # Turns and phases
    _rule("turn.order", "error", "error", "A message out of turn",
          "The two sides take turns strictly. Batsim sends its initialization data, and the decision component its "
          "hello; then both alternate until the reply to SimulationEndsEvent. Answer each message exactly once."),
    _rule("hello.first-message", "error", "error", "The first message is not just a hello",
          "The first message of a decision component holds exactly one event, an EDCHelloEvent. Send other events in "
          "the reply to SimulationBeginsEvent."),
    _rule("hello.twice", "error", "error", "A second hello",
          "A decision component sends EDCHelloEvent once, in message 1. Remove the other one."),
    _rule("hello.no-commit", "off", "error", "The hello has no decision_component_commit",
          "The schema calls this field optional, but Batsim 5.0.0-rc2 crashes without it. Write at least an empty "
          "string, as `MessageBuilder.add_edc_hello` does."),
    _rule("hello.text", "error", "warning", "A name in the hello contains a comma or a double quote",
          "Batsim writes the name, version and commit of a decision component to CSV files, so the schema forbids "
          "commas and double quotes. Use other characters."),
    _rule("hello.features", "warning", "warning", "A feature without the feature it needs",
          "acknowledge_dynamic_jobs and profile_reuse have no effect without dynamic_registration. Request it too, or "
          "none of them."),
    _rule("event.wrong-direction", "error", "error", "Only the other side sends this event",
          "Only one side sends each type of event. Batsim aborts with `Unhandled event type received`. "
          "`batprotocol.EDC_TO_BATSIM` and `BATSIM_TO_EDC` list them."),
    _rule("event.not-implemented", "off", "error", "Batsim does not implement this event",
          "Batsim 5.0.0-rc2 aborts on TriggerProbeEvent and ResetProbeEvent. Use a periodic probe, and subtract the "
          "values that it emitted before."),
    _rule("event.out-of-phase", "error", "error", "This event cannot come now",
          "SimulationBeginsEvent comes once, before all other events. SimulationEndsEvent comes once, after all other "
          "events, and directly after ForceSimulationStopEvent."),
    _rule("simulation.not-begun", "error", "error", "Batsim's first message has no SimulationBeginsEvent",
          "The first message after the hello must describe the platform in a SimulationBeginsEvent."),
    _rule("simulation.version", "warning", "warning", "Batsim speaks another version of the protocol",
          "The meaning of events may differ between versions, and flatbuffers does not detect it: a field may be read "
          "as another one. Compare the schemas (`batproto schema --diff`), and run with Batsim's (`--schema`)."),
    _rule("simulation.host-count", "error", "error", "The numbers of hosts do not fit the hosts",
          "host_number must be computation_host_number plus storage_host_number, and these must be the numbers of "
          "hosts in computation_hosts and storage_hosts."),
    _rule("simulation.host-ids", "error", "error", "The ids of the hosts do not count from 0",
          "Computation and storage hosts share one numbering: each has its own id, from 0 without gaps."),
    _rule("simulation.ends-early", "error", "error", "The simulation ends although something is still to come",
          "A simulation that is not stopped ends when Batsim has submitted all static jobs and injected all external "
          "events, each job has ended or was rejected, registration is finished, and no call, probe or switch of a "
          "host is pending."),
    _rule("simulation.endless", "warning", "warning", "The simulation goes on forever",
          "Only calls or probes without end are pending, and these keep the simulation alive. Stop them when the last "
          "job has ended, or give them a number of periods."),
    _rule("simulation.stuck-jobs", "deadlock", "deadlock", "Jobs wait forever",
          "After this reply, nothing can happen any more: no job runs, and no call, probe, submission or external "
          "event is to come, but some jobs were neither executed nor rejected. Execute or reject them, or ask to be "
          "called later."),
    _rule("simulation.stuck-registration", "deadlock", "deadlock", "Registration stays open forever",
          "dynamic_registration was requested, so the simulation ends only after a FinishRegistrationEvent. After this "
          "reply, nothing else can happen. Send the event as soon as you have no more jobs or profiles to register."),
    # The end
    _rule("end.call-me-later", "error", "error", "A call is requested after the end",
          "The reply to SimulationEndsEvent is the last message: this call can never fire, and Batsim aborts. Remove "
          "it."),
    _rule("end.register-job", "error", "error", "A job is registered after the end",
          "The reply to SimulationEndsEvent is the last message, and Batsim aborts when it registers a job. Keep "
          "registration open (no FinishRegistrationEvent) as long as jobs may come."),
    _rule("end.create-probe", "error", "deadlock", "A probe is created after the end",
          "The reply to SimulationEndsEvent is the last message: the probe can never measure, and Batsim 5.0.0-rc2 "
          "deadlocks. Remove it."),
    _rule("end.turn-on-off", "error", "error", "Hosts are turned on or off after the end",
          "The reply to SimulationEndsEvent is the last message, and Batsim aborts while hosts are switching. Remove "
          "it."),
    _rule("end.stop-call", "warning", "deadlock", "A call is stopped after the end",
          "Batsim 5.0.0-rc2 deadlocks on a StopCallMeLaterEvent in the reply to SimulationEndsEvent, because nothing "
          "handles it any more. No call is running then: remove the event."),
    _rule("end.stop-probe", "warning", "deadlock", "A probe is stopped after the end",
          "Batsim 5.0.0-rc2 deadlocks on a StopProbeEvent in the reply to SimulationEndsEvent, because nothing handles "
          "it any more. No probe is running then: remove the event."),
    _rule("end.force-stop", "warning", "deadlock", "The simulation is stopped after its end",
          "Batsim 5.0.0-rc2 deadlocks on a ForceSimulationStopEvent in the reply to SimulationEndsEvent. Send it "
          "earlier, or not at all."),
    _rule("end.useless", "warning", "warning", "An event in the last message",
          "The reply to SimulationEndsEvent is the last message, and Batsim answers nothing in it. Send an empty "
          "reply."),
    _rule("stop.dropped", "warning", "warning", "An event after ForceSimulationStopEvent",
          "Batsim drops all later events of the message. Put ForceSimulationStopEvent last."),
    _rule("stop.parallel-task", "off", "error", "The simulation is stopped while a parallel task runs",
          "Batsim 5.0.0-rc2 dies of SIGABRT, and its jobs.csv stays empty. Kill the running jobs first, in the same "
          "reply: `add_kill_jobs`, then `add_force_simulation_stop`. `Conversation.killable` lists the jobs."),
    _rule("stop.job", "off", "warning", "The simulation is stopped while a job runs that may be a parallel task",
          "If the job is executing a parallel task, Batsim 5.0.0-rc2 dies of SIGABRT, and its jobs.csv stays empty. "
          "Kill the running jobs first, in the same reply: `add_kill_jobs`, then `add_force_simulation_stop`. "
          "`Conversation.killable` lists the jobs. The job's profile was not forwarded, or only parts of it are "
          "parallel tasks. Request forward_profiles_on_job_submission to know more."),
    # Time
    _rule("time.after-now", "error", "error", "An event is later than its message",
          "Batsim aborts if the timestamp of an event is after the message's now. Give the message a later now "
          "(`finish_message(now)`): it includes the time that the decision component takes to decide."),
    _rule("time.before-first", "error", "error", "An event is earlier than the first of its message",
          "Events are in chronological order. Batsim compares each with the first and aborts. Add the events in the "
          "order of their timestamps."),
    _rule("time.order", "error", "warning", "An event is earlier than the one before it",
          "Events are in chronological order. Batsim 5.0.0-rc2 compares with the first event of the message only, but "
          "the documentation demands this order of all events. Add the events in the order of their timestamps."),
    _rule("time.infinite", "error", "error", "Now is infinite",
          "Batsim waits until now, and aborts if now is infinite. Use a finite number. To be called much later, send a "
          "CallMeLaterEvent."),
    _rule("time.not-a-number", "error", "error", "A timestamp is not a number",
          "NaN is not before any time, so Batsim treats the event as one after now. Use a finite number."),
    _rule("time.now-not-a-number", "error", "warning", "Now is not a number",
          "Batsim 5.0.0-rc2 survives a now of NaN only as long as there are no events. Use a finite number."),
    _rule("time.past", "warning", "warning", "The reply is from the past",
          "A now or timestamp that is earlier than the simulated time acts at once. Start from the now of Batsim's "
          "message."),
    _rule("time.backwards", "error", "error", "Batsim's time goes backwards",
          "The now of Batsim's messages never decreases."),
    # Jobs: requests of the decision component
    _rule("job.id-format", "error", "error", "This is not a job id",
          "A job id is `workload!job`, with exactly one exclamation mark. Use the id that JobSubmittedEvent gave."),
    _rule("job.unknown", "error", "error", "There is no such job",
          "Only jobs that were submitted (JobSubmittedEvent) or registered can be executed, rejected or killed. Batsim "
          "forgets a job as soon as its JobCompletedEvent is delivered. Keep a list of the jobs that are alive."),
    _rule("job.execute-state", "error", "error", "The job cannot be executed any more",
          "A job is executed or rejected once, after its submission. Remove it from the queue at the same time."),
    _rule("job.reject-state", "error", "error", "The job cannot be rejected any more",
          "A job is executed or rejected once, after its submission. Kill running jobs with a KillJobsEvent."),
    _rule("job.kill-state", "error", "error", "The job cannot be killed",
          "Only running jobs can be killed. Reject a job that was not executed yet. Batsim has forgotten a job that "
          "has ended: do not kill a job in the reply to its JobCompletedEvent."),
    _rule("job.kill-nothing", "error", "error", "A KillJobsEvent without jobs",
          "KillJobsEvent needs at least one job id. Do not send the event when there is nothing to kill."),
    _rule("job.kill-again", "warning", "error", "All these jobs are being killed already",
          "Batsim 5.0.0-rc2 ignores jobs whose kill was requested before, and aborts when no other job is named. Wait "
          "for the JobsKilledEvent."),
    _rule("job.kill-usage-trace", "off", "error", "Batsim cannot kill a usage trace",
          "Batsim 5.0.0-rc2 aborts when it computes the progress of a killed job that replays a trace of fractional "
          "computation. Let it end, or give it a walltime."),
    _rule("job.over-allocation", "warning", "warning", "Two jobs get the same hosts at once",
          "Batsim does not check it: the jobs share the hosts and slow each other down, except for delays. Jobs that "
          "all ask for a part of a host (cores, memory, GPUs) may share it. If you do not intend it, allocate only "
          "hosts that are free; if you do, set shares_hosts of the scheduler."),
    _rule("job.host-number", "warning", "warning", "The number of hosts is not what the job requests",
          "Batsim does not check it: it spreads the job's executors, resource_request of them, over the allocated "
          "hosts. If you do not intend it, allocate resource_request hosts."),
    _rule("job.host-asleep", "error", "error", "The job is executed on a host that is off or switching",
          "Batsim aborts when a host is neither computing nor idle, or was changed to a sleep or virtual power state. "
          "Turn it on with a TurnOnOffHostsEvent, wait for the HostsTurnedOnOffEvent, then execute the job."),
    _rule("job.host-stores", "warning", "warning", "The job is executed on a storage host",
          "Storage hosts hold data. Allocate computation hosts, and name storage hosts in storage_placement."),
    _rule("job.mapping-size", "error", "error", "The custom mapping does not fit the profile",
          "A parallel task with fixed amounts and a trace need one entry for each of their executors: resource_request "
          "entries. Use that number of entries, or a predefined strategy."),
    _rule("job.mapping-entry", "error", "error", "The custom mapping points outside the allocation",
          "Each entry must be an index into the allocation's hosts, from 0 to their number minus 1, not a host id."),
    _rule("job.mapping-doubtful", "warning", "warning", "The custom mapping may not fit",
          "The job's profile was not forwarded, or it does not use a mapping. If it is a parallel task, the mapping "
          "needs one entry for each executor, each an index into the allocation. Request "
          "forward_profiles_on_job_submission, and the mapping is checked."),
    _rule("job.placement-strategy", "error", "warning", "Unknown placement strategy",
          "The schema has SpreadOverHostsFirst and FillOneHostCoresFirst. Use one of these or a custom mapping."),
    _rule("job.override-unused", "warning", "warning", "An override for a profile that the job does not have",
          "profile_allocation_override is about the sub-profiles of the job's profile; Batsim ignores others. Write "
          "the full name of a sub-profile."),
    _rule("job.storage-unknown", "error", "error", "A storage that cannot be found",
          "The job's profile names a storage that is neither in storage_placement nor a host's name, so Batsim aborts "
          "when it executes that profile. Pass storage_placement={name: host}."),
    _rule("job.storage-computes", "error", "error", "A storage that is not a storage host",
          "A profile's storage must be a host with the storage role (SimulationBeginsEvent.storage_hosts). Place it on "
          "one of these."),
    _rule("job.task-size", "error", "error", "A parallel task of the job has another size than the job",
          "A parallel task with vectors has as many executors as its vector has entries. The job executes each part of "
          "its profile with resource_request executors, so Batsim aborts when it executes this part. Compose sequences "
          "of parallel tasks of one size."),
    _rule("job.no-work", "off", "error", "A parallel task of the job has nothing to compute on its only executor",
          "Batsim 5.0.0-rc2 aborts on a homogeneous parallel task of 0 flops with a single executor, which cannot send "
          "bytes to another one, and on parallel tasks without executors. Give the task some flops, or use a "
          "DelayProfile."),
    _rule("job.infinite", "warning", "error", "The job has an infinite part",
          "Batsim aborts on infinite flops or bytes, on an infinite delay without a walltime, on a walltime that is "
          "not a number, and on an infinite walltime of any profile except a delay. Use finite numbers, and None for a "
          "job without walltime."),
    _rule("job.trace-hosts", "off", "error", "A usage trace does not get a host for each executor",
          "Batsim 5.0.0-rc2 needs a separate host for each executor of a trace of fractional computation. Allocate "
          "resource_request hosts, and do not name a host twice in a custom mapping."),
    _rule("job.later-part", "warning", "warning", "A later part of a sequence cannot be simulated",
          "Batsim aborts when it begins this part. It does not get there if the job is killed, reaches its walltime, "
          "or an earlier part returns another code than 0. Correct the sequence, or the placement of this part."),
    # Jobs: messages of Batsim
    _rule("job.submitted-twice", "error", "error", "A job is submitted twice",
          "Batsim submits each job once, and acknowledges a registered job once, if that was requested."),
    _rule("job.submitted-late", "error", "error", "A job is submitted after the last one",
          "After AllStaticJobsHaveBeenSubmittedEvent, Batsim submits only registered jobs."),
    _rule("job.profile-not-forwarded", "error", "error", "A requested profile is missing",
          "The forward_profiles features of the hello request profiles on submission, on kills and on begin."),
    _rule("job.completed-not-running", "error", "error", "A job ends that was not running",
          "Batsim sends one JobCompletedEvent for each job that ran, and none for rejected jobs."),
    _rule("job.killed-unasked", "error", "error", "A job is killed without a request",
          "JobsKilledEvent and COMPLETED_KILLED answer a KillJobsEvent, once for each job."),
    _rule("job.killed-not-completed", "error", "error", "A killed job has not ended",
          "JobsKilledEvent comes after the JobCompletedEvent of each of its jobs."),
    _rule("job.progress-unrelated", "error", "error", "The progress of a job that was not killed",
          "progresses is about the jobs of job_ids. It may have fewer entries: jobs that had already ended have none."),
    _rule("job.progress-range", "error", "off", "A progress outside [0,1]",
          "Progress goes from 0 (just started) to 1 (just finished). Batsim 5.0.0-rc2 sends -1 for replays of SMPI "
          "traces."),
    # Registration
    _rule("register.not-requested", "error", "warning", "Registration without dynamic_registration",
          "Request dynamic_registration in the hello. Without it, Batsim 5.0.0-rc2 accepts jobs and profiles too, but "
          "may end the simulation before they are executed, or deadlock."),
    _rule("register.after-finish", "error", "warning", "Registration after its end",
          "After FinishRegistrationEvent, jobs and profiles can no longer be registered. Send it last."),
    _rule("register.unfinished", "error", "warning", "The simulation ended with registration open",
          "dynamic_registration was requested, but FinishRegistrationEvent was not sent. Send it when you have no more "
          "jobs or profiles to register."),
    _rule("register.duplicate-job", "error", "error", "The job exists already",
          "A job id is used only once, even after the job has ended. Use a separate workload name for registered "
          "jobs."),
    _rule("register.duplicate-profile", "error", "error", "The profile exists already",
          "A profile name is used only once. Use a separate workload name for registered profiles."),
    _rule("register.unknown-profile", "error", "error", "The job's profile does not exist",
          "Register the profile first. A name alone means a profile of the job's own workload; for others, write "
          "`workload!name`."),
    _rule("register.profile-gone", "error", "error", "Batsim has forgotten the profile",
          "Batsim forgets a profile, and the parts of a sequence, when the first job with this profile has ended or "
          "was rejected. Request profile_reuse in the hello, register all jobs of the profile before the first one "
          "ends, or register the profile again under another name."),
    _rule("register.sequence-workloads", "off", "error", "The job's sequence has parts of another workload",
          "When a job ends or is rejected, Batsim 5.0.0-rc2 also forgets the parts of its sequence. It looks for them "
          "in the workload of the sequence, and aborts. Register the parts in that workload, or request "
          "profile_reuse."),
    _rule("register.job-size", "error", "error", "The job's size is not its profile's",
          "A parallel task with vectors has as many executors as its computation vector has entries (or the matrix "
          "rows); resource_request must be that number."),
    _rule("register.walltime", "warning", "warning", "The walltime is not positive",
          "A job registered with walltime 0 is killed as soon as it starts, and a negative walltime means no walltime. "
          "Use None for a job without walltime."),
    _rule("register.profile-id", "error", "warning", "This is not a profile id",
          "A profile id is `workload!name`, with exactly one exclamation mark."),
    _rule("profile.delay", "error", "error", "The delay is not positive",
          "Use a delay of more than 0 seconds."),
    _rule("profile.amount", "error", "error", "An amount is negative",
          "Use flops and bytes of at least 0."),
    _rule("profile.infinite", "warning", "warning", "An amount is infinite",
          "Batsim registers the profile, but aborts when it executes it. Only a delay can be infinite, if the job has "
          "a walltime. Use a finite number."),
    _rule("profile.matrix-size", "error", "error", "The communication matrix does not fit",
          "communication_matrix needs one entry for each pair of executors: the square of the size of "
          "computation_vector."),
    _rule("profile.unknown-subprofile", "error", "error", "A sub-profile does not exist",
          "Register the profiles of a composition before it, and write their full names: `workload!name`."),
    _rule("profile.not-implemented", "off", "error", "Batsim does not implement this composition",
          "Batsim 5.0.0-rc2 aborts on ForkJoinCompositionProfile and ParallelTaskMergeCompositionProfile. Use several "
          "jobs, or one parallel task with merged vectors."),
    # Calls and probes
    _rule("trigger.offset", "off", "error", "A periodic trigger with an offset",
          "Batsim 5.0.0-rc2 aborts on an offset other than 0. Request a one-shot call at the offset, and start the "
          "periodic call then."),
    _rule("trigger.period-zero", "error", "error", "The period is 0",
          "Batsim divides by the period. Use a period of at least 1 (in seconds or milliseconds)."),
    _rule("trigger.no-periods", "error", "error", "The number of periods is 0",
          "A finite periodic trigger fires at least once. Remove it, or use Infinite()."),
    _rule("trigger.periods", "off", "error", "Periods that do not divide one another",
          "Batsim 5.0.0-rc2 aborts unless, for any two periods of running calls and probes, one is a multiple of the "
          "other. Round the periods, or request the next one-shot call each time."),
    _rule("trigger.time-unit", "error", "error", "The time unit of a periodic trigger is unknown",
          "Use Second or Millisecond. For a one-shot trigger, Batsim treats any other unit as seconds."),
    _rule("call.no-id", "off", "error", "The call has no id",
          "Batsim 5.0.0-rc2 aborts when a call with an empty id fires. Give the call an id."),
    _rule("call.id-in-use", "error", "error", "The id of this periodic call is in use",
          "Two running periodic calls cannot have the same id (one-shot calls can). Stop the other one first, or use "
          "another id."),
    _rule("call.past", "warning", "warning", "The call is for a time in the past",
          "A one-shot call for a time in the past fires at once. Times count from the start of the simulation, not "
          "from now."),
    _rule("call.stop-unknown", "warning", "warning", "There is no such call to stop",
          "Only running periodic calls can be stopped; Batsim prints a warning and continues. One-shot calls fire in "
          "any case: ignore them."),
    _rule("call.unasked", "error", "error", "A call that was not requested",
          "RequestedCallEvent answers a CallMeLaterEvent that is still pending."),
    _rule("call.early", "error", "error", "A call comes too early",
          "A one-shot call fires at the requested time, or later."),
    _rule("call.last", "warning", "warning", "The mark of the last call is wrong",
          "It is true only for the last call of a periodic trigger with a finite number of periods."),
    _rule("call.never-fires", "warning", "warning", "A call can never fire",
          "The simulation ended before the call was due. That is normal after ForceSimulationStopEvent."),
    _rule("probe.no-id", "off", "error", "The probe has no id",
          "Batsim 5.0.0-rc2 aborts when a probe with an empty id emits data. Give the probe an id."),
    _rule("probe.id-in-use", "error", "error", "The id of this probe is in use",
          "Two running probes cannot have the same id. Stop the other one first, or use another id."),
    _rule("probe.not-implemented", "off", "error", "Batsim does not implement this probe",
          "Batsim 5.0.0-rc2 measures only the Power of hosts, periodically, accumulated without reset, and not "
          "aggregated, summed or averaged over the hosts. For the power at a moment, subtract two emissions and divide "
          "by the period."),
    _rule("probe.no-energy", "off", "error", "Batsim does not simulate energy",
          "Probes need Batsim's option --energy-host. Start Batsim with it."),
    _rule("probe.ignored", "off", "warning", "Batsim ignores this part of the probe",
          "Batsim 5.0.0-rc2 reads the emission filter, temporal aggregation, cumulative function and normalization, "
          "but they have no effect. Compute them from the emitted data."),
    _rule("probe.stop-unknown", "warning", "warning", "There is no such probe to stop",
          "Only running probes can be stopped; Batsim prints a warning and continues. A probe with a finite number of "
          "periods ends automatically."),
    _rule("probe.unasked", "error", "error", "Data of a probe that does not run",
          "ProbeDataEmittedEvent answers a CreateProbeEvent whose probe still runs."),
    _rule("probe.data-shape", "error", "error", "The data does not fit the probe",
          "Data that is aggregated over the resources is one number; otherwise there is one number for each resource."),
    # Hosts
    _rule("hosts.syntax", "error", "error", "This is not a host set",
          "A host set is a list of `a` or `a-b` (a <= b), separated by single spaces: `0-3 8`. It has no comma, no "
          "other space and no sign. Use `format_hosts` or MessageBuilder, which write it so."),
    _rule("hosts.misread", "error", "warning", "Batsim reads another host set than you wrote",
          "Batsim 5.0.0-rc2 reads the first digits of a host and ignores the rest, and reads several spaces or hyphens "
          "as one: it reads `0,1` as host 0 and `0x1` as host 0. Write `0-3 8`, as `format_hosts` and MessageBuilder "
          "do."),
    _rule("hosts.order", "warning", "warning", "The host set is not in ascending order",
          "The documented order is ascending: `0-3 8`. Use `format_hosts` or MessageBuilder, which write it so."),
    _rule("hosts.empty", "error", "error", "The host set is empty",
          "At least one host is needed here. Do not send the event if there is none."),
    _rule("hosts.unknown", "error", "error", "There is no such host",
          "Use a host from 0 to host_number - 1 (SimulationBeginsEvent)."),
    _rule("hosts.pstate-unknown", "error", "error", "There is no such power state",
          "Use a power state from 0 to pstate_count - 1 of the host (SimulationBeginsEvent)."),
    _rule("hosts.pstate-sleep", "warning", "warning", "ChangeHostsPStateEvent with a sleep or virtual state",
          "Batsim changes the state at once, but the host cannot compute until you turn it on, from a sleep state, or "
          "change it to a computation state. Use TurnOnOffHostsEvent for sleep states: it takes the time that the "
          "platform defines."),
    _rule("hosts.change-switching", "warning", "warning", "ChangeHostsPStateEvent for a host that is switching",
          "The switch goes on at the speed of the new power state, and ends in the power state that it was asked for. "
          "Batsim 5.0.0-rc2 aborts if the power state changes between the end of the switch and its report. Wait for "
          "the HostsTurnedOnOffEvent."),
    _rule("hosts.turn-direction", "error", "error", "The hosts cannot be turned to this power state",
          "TurnOnOffHostsEvent goes from a computation to a sleep state (off) or from a sleep to a computation state "
          "(on), and not from or to a virtual one. The host's property sleep_pstates lists its sleep states. Turn off "
          "only hosts that are on, and turn on only hosts that are off."),
    _rule("hosts.turn-busy", "error", "error", "A host that executes a job is turned off",
          "Batsim aborts when it turns off a host with a running job. Wait for the JobCompletedEvent, or kill the job "
          "first."),
    _rule("hosts.turn-switching", "error", "error", "A host is switching already",
          "Wait for the HostsTurnedOnOffEvent before you switch the host again."),
    _rule("hosts.changed-unasked", "error", "error", "A change of hosts that was not requested",
          "HostsPStateChangedEvent and HostsTurnedOnOffEvent answer a request, once."),
    # The inputs
    _rule("static.twice", "error", "error", "The end of the inputs is reported twice",
          "AllStaticJobsHaveBeenSubmittedEvent and AllStaticExternalEventsHaveBeenInjectedEvent come once."),
    _rule("static.external-late", "error", "error", "An external event after the last one",
          "No external event comes after AllStaticExternalEventsHaveBeenInjectedEvent."),
    _rule("job.undecided", "warning", "warning", "A job was neither executed nor rejected",
          "The simulation ended with the job in the queue. That is normal after ForceSimulationStopEvent. Otherwise, "
          "execute or reject each job."),
)
# fmt: on

CATALOGUE: Final = Catalogue(("protocol", "batsim-5.0.0-rc2"), _TABLE)
"""The rules of the conversation, in both rule sets."""

DEFAULT_RULE_SET: Final = CATALOGUE.default
"""The rule set that conversations are judged by, unless you choose another one."""

RULES: Final[Mapping[str, Rule]] = CATALOGUE.rules
"""All rules by id."""

RULE_SETS: Final[Mapping[str, Mapping[str, Severity]]] = CATALOGUE.rule_sets
"""The severity of each rule, by rule set. A rule that is not in it is off."""


class Violation(rules.BrokenRule, frozen=True):
    """A broken rule of the conversation, and the place.

    `batprotocol._util.rules.BrokenRule` explains its attributes: `message` (the number; 0 for the initialization
    data, 1 for the hello), `path`, `rule`, `severity` and `text`.

    >>> print(Violation(3, "events[0].event.job_id", "job.unknown", "error", "there is no job 'w0!1'"))
    message 3, events[0].event.job_id: error: there is no job 'w0!1' [job.unknown]
    """

    RULES = RULES
