"""The catalogue of rules: what each is about, the way out, and how severe it is in each rule set.

It is a table and nothing else: when a rule is broken is found out by the modules of the topics (`jobs`, `periodic`...),
which know the rules by their ids. It must not know of messages or of the state of a conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from batprotocol import rules
from batprotocol.rules import Catalogue, Row, Rule, Severity

__all__ = ["CATALOGUE", "DEFAULT_RULE_SET", "RULES", "RULE_SETS", "Violation"]

_Word: TypeAlias = Severity | Literal["off"]


def _rule(id: str, protocol: _Word, batsim: _Word, title: str, explanation: str) -> Row:
    return Row(id, (protocol, batsim), title, explanation)


# The table: id, severity in "protocol", severity in "batsim-5.0.0-rc2", title, explanation. "off" is no violation.
# "protocol" is what the schema and Batsim's documentation demand of any two peers; the other is what that Batsim does.

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
          "The documented flags are 1 (binary) and 2 (JSON). Batsim 5.0.0-rc2 only looks at the bit of value 2; write "
          "one of the two."),
    _rule("message.unreadable", "error", "error", "The bytes are no message",
          "Batsim does not verify what it gets: binary replies that are empty, cut short or lack something make it "
          "crash, and JSON that its parser refuses makes it abort. Write messages with a library of the protocol and "
          "send all that it gives; in Python, that is `Message.to_binary` or `Message.to_json`."),
    _rule("message.unverified", "error", "warning", "The message is broken where Batsim does not look",
          "The flatbuffer is not valid, but this Batsim never looks at what is wrong with it. Other readers will. "
          "Nothing that comes after it in the conversation is judged. Write messages with a library of the protocol "
          "and send all that it gives; in Python, that is `Message.to_binary`."),
    # Turns and phases
    _rule("turn.order", "error", "error", "Spoken out of turn",
          "The two sides take turns strictly: Batsim's initialization data, the hello, then Batsim and the decision "
          "component in alternation until the reply to SimulationEndsEvent. Answer each message exactly once."),
    _rule("hello.first-message", "error", "error", "The first message is not just a hello",
          "The first message of a decision component holds exactly one event, an EDCHelloEvent. Send other events in "
          "the reply to SimulationBeginsEvent."),
    _rule("hello.twice", "error", "error", "A second hello",
          "A decision component says hello once, in message 1. Leave the other EDCHelloEvent out."),
    _rule("hello.no-commit", "off", "error", "The hello has no decision_component_commit",
          "The schema calls this field optional, but Batsim 5.0.0-rc2 crashes without it. Write an empty string at "
          "least, as `MessageBuilder.add_edc_hello` does."),
    _rule("hello.text", "error", "warning", "A name in the hello holds a comma or a double quote",
          "Name, version and commit of a decision component end up in CSV files, so the schema forbids commas and "
          "double quotes. Use other characters."),
    _rule("hello.features", "warning", "warning", "A feature without the feature it needs",
          "acknowledge_dynamic_jobs and profile_reuse only mean something together with dynamic_registration. Request "
          "that too, or none."),
    _rule("event.wrong-direction", "error", "error", "This event is the other side's",
          "Each type of event is sent by one side only; Batsim aborts with `Unhandled event type received`. "
          "`batprotocol.EDC_TO_BATSIM` and `BATSIM_TO_EDC` list them."),
    _rule("event.not-implemented", "off", "error", "Batsim does not implement this event",
          "Batsim 5.0.0-rc2 aborts on TriggerProbeEvent and ResetProbeEvent. Use a periodic probe, and subtract what "
          "was emitted before."),
    _rule("event.out-of-phase", "error", "error", "This event cannot come now",
          "SimulationBeginsEvent comes once and before everything else, SimulationEndsEvent once and after everything "
          "else, and right after ForceSimulationStopEvent."),
    _rule("simulation.not-begun", "error", "error", "Batsim's first message has no SimulationBeginsEvent",
          "The first message after the hello tells the platform, in a SimulationBeginsEvent."),
    _rule("simulation.version", "warning", "warning", "Batsim speaks another version of the protocol",
          "What an event means may have changed between versions, and flatbuffers does not tell: fields may be read as "
          "others. Compare the schemas (`batproto schema --diff`), and run with Batsim's (`--schema`)."),
    _rule("simulation.host-count", "error", "error", "The numbers of hosts do not fit the hosts",
          "host_number is computation_host_number plus storage_host_number, and these are the numbers of hosts in "
          "computation_hosts and storage_hosts."),
    _rule("simulation.host-ids", "error", "error", "The ids of the hosts do not count from 0",
          "Computation and storage hosts are numbered together, each once, from 0 without gaps."),
    _rule("simulation.ends-early", "error", "error", "The simulation ends although something is still to come",
          "Unless it is forced, a simulation ends when all static jobs have been submitted and all external events "
          "injected, each job has ended or was rejected, registration is finished, and no call, probe or switch of a "
          "host is left."),
    _rule("simulation.endless", "warning", "warning", "The simulation goes on for ever",
          "Nothing is left but calls or probes without end, and these keep the simulation alive. Stop them when the "
          "last job has ended, or give them a number of periods."),
    _rule("simulation.stuck-jobs", "deadlock", "deadlock", "Jobs wait for ever",
          "After this reply nothing can happen any more: no job runs, no call, probe, submission or external event is "
          "to come, but there are jobs that were neither executed nor rejected. Execute or reject them, or ask to be "
          "called later."),
    _rule("simulation.stuck-registration", "deadlock", "deadlock", "Registration stays open for ever",
          "dynamic_registration was requested, so the simulation ends only after a FinishRegistrationEvent, and after "
          "this reply nothing else can happen. Send one as soon as no job or profile is left to register."),
    # The end
    _rule("end.call-me-later", "error", "error", "A call is requested after the end",
          "The reply to SimulationEndsEvent is the last message: this call can never fire, and Batsim aborts. Leave "
          "it out."),
    _rule("end.register-job", "error", "error", "A job is registered after the end",
          "The reply to SimulationEndsEvent is the last message, and Batsim aborts when it registers a job. Keep "
          "registration open (no FinishRegistrationEvent) as long as jobs may come."),
    _rule("end.create-probe", "error", "deadlock", "A probe is created after the end",
          "The reply to SimulationEndsEvent is the last message: nothing will be measured, and Batsim 5.0.0-rc2 "
          "deadlocks. Leave it out."),
    _rule("end.turn-on-off", "error", "error", "Hosts are turned on or off after the end",
          "The reply to SimulationEndsEvent is the last message, and Batsim aborts while hosts are switching. Leave "
          "it out."),
    _rule("end.stop-call", "warning", "deadlock", "A call is stopped after the end",
          "Batsim 5.0.0-rc2 deadlocks on a StopCallMeLaterEvent in the reply to SimulationEndsEvent: nobody is left to "
          "take it. No call is running then. Leave it out."),
    _rule("end.stop-probe", "warning", "deadlock", "A probe is stopped after the end",
          "Batsim 5.0.0-rc2 deadlocks on a StopProbeEvent in the reply to SimulationEndsEvent: nobody is left to take "
          "it. No probe is running then. Leave it out."),
    _rule("end.force-stop", "warning", "deadlock", "The simulation is stopped after its end",
          "Batsim 5.0.0-rc2 deadlocks on a ForceSimulationStopEvent in the reply to SimulationEndsEvent. Send it "
          "before, or not at all."),
    _rule("end.useless", "warning", "warning", "An event in the last message",
          "The reply to SimulationEndsEvent is the last message: nothing that it asks for will be answered. An empty "
          "reply is enough."),
    _rule("stop.dropped", "warning", "warning", "An event after ForceSimulationStopEvent",
          "Batsim drops all later events of the message. Put ForceSimulationStopEvent last."),
    _rule("stop.parallel-task", "off", "error", "The simulation is stopped while a parallel task runs",
          "Batsim 5.0.0-rc2 dies of SIGABRT, and its jobs.csv stays empty. Kill the running jobs first, in the same "
          "reply: `add_kill_jobs`, then `add_force_simulation_stop`. `Conversation.killable` lists the jobs."),
    _rule("stop.job", "off", "warning", "The simulation is stopped while a job runs that may be a parallel task",
          "If the job is executing a parallel task, Batsim 5.0.0-rc2 dies of SIGABRT, and its jobs.csv stays empty. "
          "Kill the running jobs first, in the same reply: `add_kill_jobs`, then `add_force_simulation_stop`. "
          "`Conversation.killable` lists the jobs. What the job's profile is was not forwarded, or only parts of it "
          "are parallel tasks; forward_profiles_on_job_submission tells more."),
    # Time
    _rule("time.after-now", "error", "error", "An event is later than its message",
          "The timestamp of an event must not be after the message's now; Batsim aborts. Give the message a later now "
          "(`finish_message(now)`): that is the time the decision component takes to think."),
    _rule("time.before-first", "error", "error", "An event is earlier than the first of its message",
          "Events are in chronological order. Batsim compares each with the first and aborts. Add the events in the "
          "order of their timestamps."),
    _rule("time.order", "error", "warning", "An event is earlier than the one before it",
          "Events are in chronological order. Batsim 5.0.0-rc2 compares with the first event of the message only, but "
          "the documentation demands it of all. Add the events in the order of their timestamps."),
    _rule("time.infinite", "error", "error", "Now is infinite",
          "Batsim lets the time until now pass, and aborts when that is for ever. Use a finite number; to be called "
          "much later, use a CallMeLaterEvent."),
    _rule("time.not-a-number", "error", "error", "A timestamp is not a number",
          "NaN is not before any time, so Batsim takes the event for one after now. Use a finite number."),
    _rule("time.now-not-a-number", "error", "warning", "Now is not a number",
          "Batsim 5.0.0-rc2 survives a now of NaN only as long as there are no events. Use a finite number."),
    _rule("time.past", "warning", "warning", "The reply is from the past",
          "A now or timestamp earlier than the simulated time acts at once, as if it were now. Start from the now of "
          "Batsim's message."),
    _rule("time.backwards", "error", "error", "Batsim's time goes backwards",
          "The now of Batsim's messages never decreases."),
    # Jobs: what the decision component asks for
    _rule("job.id-format", "error", "error", "This is no job id",
          "A job is named `workload!job`, with exactly one exclamation mark. Use the id that JobSubmittedEvent gave."),
    _rule("job.unknown", "error", "error", "There is no such job",
          "Only jobs that were submitted (JobSubmittedEvent) or registered can be executed, rejected or killed. "
          "Batsim forgets a job as soon as its JobCompletedEvent is delivered. Keep a list of the jobs that are "
          "alive."),
    _rule("job.execute-state", "error", "error", "The job cannot be executed any more",
          "A job is executed or rejected once, after its submission. Take it off the queue when you do."),
    _rule("job.reject-state", "error", "error", "The job cannot be rejected any more",
          "A job is executed or rejected once, after its submission. Kill running jobs with a KillJobsEvent."),
    _rule("job.kill-state", "error", "error", "The job cannot be killed",
          "Only running jobs can be killed. Reject a job that was not executed yet. One that has ended is forgotten: "
          "kill no job in the reply to its JobCompletedEvent."),
    _rule("job.kill-nothing", "error", "error", "A KillJobsEvent without jobs",
          "KillJobsEvent needs at least one job id. Leave the event out when there is nothing to kill."),
    _rule("job.kill-again", "warning", "error", "All these jobs are being killed already",
          "Batsim 5.0.0-rc2 drops the jobs whose kill was asked for before, and aborts when none is left. Wait for "
          "the JobsKilledEvent."),
    _rule("job.kill-usage-trace", "off", "error", "Batsim cannot kill a usage trace",
          "Batsim 5.0.0-rc2 aborts when it computes the progress of a killed job that replays a trace of fractional "
          "computation. Let it end, or give it a walltime."),
    _rule("job.over-allocation", "warning", "warning", "Hosts are given to two jobs at once",
          "Batsim does not check it: the jobs share the hosts and slow each other down, and delays do not even "
          "notice. If that is not meant, allocate only hosts that are free."),
    _rule("job.host-number", "warning", "warning", "The number of hosts is not what the job requests",
          "Batsim does not check it: it spreads the job's executors, resource_request of them, over the hosts it "
          "gets. If that is not meant, allocate resource_request hosts."),
    _rule("job.host-asleep", "error", "error", "The job is executed on a host that is off or switching",
          "Batsim aborts when a host is neither computing nor idle, or was changed to a sleep or virtual power state. "
          "Turn it on with a TurnOnOffHostsEvent, wait for the HostsTurnedOnOffEvent, then execute."),
    _rule("job.host-stores", "warning", "warning", "The job is executed on a storage host",
          "Storage hosts are there for data. Allocate computation hosts, and name storages in storage_placement."),
    _rule("job.mapping-size", "error", "error", "The custom mapping does not fit the profile",
          "A parallel task with fixed amounts and a trace need one entry for each of their executors, "
          "resource_request of them. Give so many, or use a predefined strategy."),
    _rule("job.mapping-entry", "error", "error", "The custom mapping points outside the allocation",
          "An entry is not a host id but an index into the allocation's hosts, from 0 to their number minus 1."),
    _rule("job.mapping-doubtful", "warning", "warning", "The custom mapping may not fit",
          "What the job's profile is was not forwarded, or it does not use a mapping. If it is a parallel task, the "
          "mapping needs one entry for each executor, each an index into the allocation. Request "
          "forward_profiles_on_job_submission to have it checked."),
    _rule("job.placement-strategy", "error", "warning", "Unknown placement strategy",
          "The schema knows SpreadOverHostsFirst and FillOneHostCoresFirst. Use one of these or a custom mapping."),
    _rule("job.override-unused", "warning", "warning", "An override for a profile that the job does not have",
          "profile_allocation_override is about the sub-profiles of the job's profile; Batsim ignores others. Name "
          "one of those, in full."),
    _rule("job.storage-unknown", "error", "error", "A storage that cannot be found",
          "The job's profile names a storage that neither storage_placement nor a host's name explains, so Batsim "
          "aborts when it gets there. Give storage_placement={name: host}."),
    _rule("job.storage-computes", "error", "error", "A storage that is no storage host",
          "A profile's storage must be a host with the storage role (SimulationBeginsEvent.storage_hosts). Place it "
          "on one."),
    _rule("job.task-size", "error", "error", "A parallel task of the job has another size than the job",
          "A parallel task with vectors has as many executors as its vector has entries, and the job executes each "
          "part of its profile with resource_request executors, so Batsim aborts when it gets there. Compose "
          "sequences of parallel tasks of one size."),
    _rule("job.no-work", "off", "error", "A parallel task of the job has nothing to compute on its only executor",
          "Batsim 5.0.0-rc2 aborts on a homogeneous parallel task of 0 flops with one executor, which has nobody to "
          "send bytes to, and on parallel tasks without executors. Give it some flops, or use a DelayProfile."),
    _rule("job.infinite", "warning", "error", "The job has an infinite part",
          "Batsim aborts on infinite flops or bytes, on an infinite delay that no walltime ends, on a walltime that is "
          "not a number, and on an infinite walltime of anything but a delay. Use finite numbers, and None for a job "
          "without walltime."),
    _rule("job.trace-hosts", "off", "error", "A usage trace does not get a host for each executor",
          "Batsim 5.0.0-rc2 wants each executor of a trace of fractional computation on a host of its own. Allocate "
          "resource_request hosts, and name none twice in a custom mapping."),
    # Jobs: what Batsim says
    _rule("job.submitted-twice", "error", "error", "A job is submitted twice",
          "Each job is submitted once; a registered one is acknowledged once, if that was requested."),
    _rule("job.submitted-late", "error", "error", "A job is submitted after the last one",
          "After AllStaticJobsHaveBeenSubmittedEvent only registered jobs are submitted."),
    _rule("job.profile-not-forwarded", "error", "error", "A profile that was asked for is missing",
          "The forward_profiles features of the hello ask for profiles on submission, on kills and on begin."),
    _rule("job.completed-not-running", "error", "error", "A job ends that was not running",
          "JobCompletedEvent is about a running job, once. Rejected jobs get none."),
    _rule("job.killed-unasked", "error", "error", "A job is killed that nobody wanted to kill",
          "JobsKilledEvent and COMPLETED_KILLED answer a KillJobsEvent, once for each job."),
    _rule("job.killed-not-completed", "error", "error", "A killed job has not ended",
          "JobsKilledEvent comes after the JobCompletedEvent of each of its jobs."),
    _rule("job.progress-unrelated", "error", "error", "The progress of a job that was not killed",
          "progresses is about the jobs of job_ids. It may hold fewer: jobs that ended by themselves have none."),
    _rule("job.progress-range", "error", "off", "A progress outside [0,1]",
          "Progress goes from 0 (just started) to 1 (just finished). Batsim 5.0.0-rc2 says -1 for replays of SMPI "
          "traces."),
    # Registration
    _rule("register.not-requested", "error", "warning", "Registration without dynamic_registration",
          "Request dynamic_registration in the hello. Without it, Batsim 5.0.0-rc2 takes jobs and profiles all the "
          "same, but may end the simulation before they are executed, or deadlock."),
    _rule("register.after-finish", "error", "warning", "Registration after its end",
          "FinishRegistrationEvent says that no job or profile is to come. Send it last."),
    _rule("register.unfinished", "error", "warning", "The simulation ended with registration open",
          "dynamic_registration was requested but no FinishRegistrationEvent was sent. Send one when no job or "
          "profile is left to register."),
    _rule("register.duplicate-job", "error", "error", "The job exists already",
          "Job ids are used once, and not again after the job has ended. Use a workload name of your own for "
          "registered jobs."),
    _rule("register.duplicate-profile", "error", "error", "The profile exists already",
          "Profile names are used once. Use a workload name of your own for registered profiles."),
    _rule("register.unknown-profile", "error", "error", "The job's profile does not exist",
          "Register the profile first. A bare name means a profile of the job's own workload; name others "
          "`workload!name`."),
    _rule("register.profile-gone", "error", "error", "The profile is gone",
          "Batsim forgets a profile, and the parts of a sequence, when the first job that has it has ended or was "
          "rejected. Request profile_reuse in the hello, register all its jobs before the first one ends, or register "
          "the profile again under another name."),
    _rule("register.sequence-workloads", "off", "error", "The job's sequence has parts of another workload",
          "When a job ends or is rejected, Batsim 5.0.0-rc2 forgets the parts of its sequence too, looks for them in "
          "the workload of the sequence, and aborts. Register the parts in that workload, or request profile_reuse."),
    _rule("register.job-size", "error", "error", "The job's size is not its profile's",
          "A parallel task with vectors has as many executors as its computation vector has entries (or the matrix "
          "rows); resource_request must be that number."),
    _rule("register.walltime", "warning", "warning", "The walltime is not positive",
          "A job registered with walltime 0 is killed as soon as it starts, and a negative walltime is none. Use None "
          "for a job without walltime."),
    _rule("register.profile-id", "error", "warning", "This is no profile id",
          "A profile is named `workload!name`, with exactly one exclamation mark."),
    _rule("profile.delay", "error", "error", "The delay is not positive",
          "A delay is > 0 seconds."),
    _rule("profile.amount", "error", "error", "An amount is negative",
          "Flops and bytes are >= 0."),
    _rule("profile.infinite", "warning", "warning", "An amount is infinite",
          "Batsim registers the profile, but aborts when it executes it; only a delay can be infinite, if the walltime "
          "of the job ends it. Use a finite number."),
    _rule("profile.matrix-size", "error", "error", "The communication matrix does not fit",
          "communication_matrix has one entry for each pair of executors: the square of the size of "
          "computation_vector."),
    _rule("profile.unknown-subprofile", "error", "error", "A sub-profile does not exist",
          "The profiles of a composition must be registered before it, and be named in full: `workload!name`."),
    _rule("profile.not-implemented", "off", "error", "Batsim does not implement this composition",
          "Batsim 5.0.0-rc2 aborts on ForkJoinCompositionProfile and ParallelTaskMergeCompositionProfile. Use several "
          "jobs, or one parallel task with merged vectors."),
    # Calls and probes
    _rule("trigger.offset", "off", "error", "A periodic trigger with an offset",
          "Batsim 5.0.0-rc2 aborts on an offset other than 0. Ask for a one-shot call at the offset, and start the "
          "periodic one then."),
    _rule("trigger.period-zero", "error", "error", "The period is 0",
          "Batsim divides by the period. Use one of at least 1 (in seconds or milliseconds)."),
    _rule("trigger.no-periods", "error", "error", "The number of periods is 0",
          "A finite periodic trigger fires at least once. Leave it out, or use Infinite()."),
    _rule("trigger.periods", "off", "error", "Periods that do not divide one another",
          "Of any two periods of running calls and probes, one must be a multiple of the other, or Batsim 5.0.0-rc2 "
          "aborts. Round the periods, or ask for the next one-shot call each time."),
    _rule("trigger.time-unit", "error", "error", "The time unit of a periodic trigger is unknown",
          "The schema knows Second and Millisecond; of a one-shot trigger, Batsim takes any other for seconds."),
    _rule("call.no-id", "off", "error", "The call has no id",
          "Batsim 5.0.0-rc2 aborts when a call with an empty id fires. Give it a name."),
    _rule("call.id-in-use", "error", "error", "The id of this periodic call is in use",
          "Two running periodic calls cannot have the same id (one-shot calls can). Stop the other one first, or use "
          "another id."),
    _rule("call.past", "warning", "warning", "The call is for a time in the past",
          "A one-shot call for a time that is over fires at once. Times count from the start of the simulation, not "
          "from now."),
    _rule("call.stop-unknown", "warning", "warning", "There is no such call to stop",
          "Only running periodic calls can be stopped; Batsim warns and goes on. One-shot calls fire in any case: "
          "ignore them."),
    _rule("call.unasked", "error", "error", "A call that nobody asked for",
          "RequestedCallEvent answers a CallMeLaterEvent that still runs."),
    _rule("call.early", "error", "error", "A call comes too early",
          "A one-shot call fires at the time asked for, or later."),
    _rule("call.last", "warning", "warning", "The mark of the last call is wrong",
          "It is true for the last call of a periodic one with a finite number of periods, and only there."),
    _rule("call.never-fires", "warning", "warning", "A call can never fire",
          "The simulation ended before it was due. That is what happens after ForceSimulationStopEvent."),
    _rule("probe.no-id", "off", "error", "The probe has no id",
          "Give it a name: Batsim aborts when it emits data."),
    _rule("probe.id-in-use", "error", "error", "The id of this probe is in use",
          "Two running probes cannot have the same id. Stop the other one first, or use another id."),
    _rule("probe.not-implemented", "off", "error", "Batsim does not implement this probe",
          "Batsim 5.0.0-rc2 measures one thing: Power of hosts, periodically, accumulated without reset, and not "
          "aggregated, summed or averaged over the hosts. For power at a moment, subtract two emissions and divide by "
          "the period."),
    _rule("probe.no-energy", "off", "error", "Batsim does not simulate energy",
          "Probes need Batsim's option --energy-host."),
    _rule("probe.ignored", "off", "warning", "Batsim ignores this part of the probe",
          "Emission filter, temporal aggregation, cumulative function and normalization are read by Batsim 5.0.0-rc2 "
          "but have no effect. Compute them from the data that comes."),
    _rule("probe.stop-unknown", "warning", "warning", "There is no such probe to stop",
          "Only running probes can be stopped; Batsim warns and goes on. A probe with a finite number of periods ends "
          "by itself."),
    _rule("probe.unasked", "error", "error", "Data of a probe that does not run",
          "ProbeDataEmittedEvent answers a CreateProbeEvent that still runs."),
    _rule("probe.data-shape", "error", "error", "The data does not fit the probe",
          "Data aggregated over the resources is one number; otherwise there is one for each resource."),
    # Hosts
    _rule("hosts.syntax", "error", "error", "This is no host set",
          "A host set is written `a` or `a-b` (a <= b), separated by single spaces: `0-3 8`. No comma, no other "
          "space, no sign. `format_hosts` and MessageBuilder write it."),
    _rule("hosts.misread", "error", "warning", "Batsim reads something else than is written",
          "Batsim 5.0.0-rc2 takes the digits that a host starts with and ignores what follows, and takes many spaces "
          "or hyphens for one: it reads `0,1` as host 0 and `0x1` as host 0. Write `0-3 8`, as `format_hosts` and "
          "MessageBuilder do."),
    _rule("hosts.order", "warning", "warning", "The host set is not in ascending order",
          "The documented form is ascending: `0-3 8`. `format_hosts` and MessageBuilder write it."),
    _rule("hosts.empty", "error", "error", "The host set is empty",
          "At least one host is needed here. Leave the event out if there is none."),
    _rule("hosts.unknown", "error", "error", "There is no such host",
          "Hosts are numbered from 0 to host_number - 1 (SimulationBeginsEvent)."),
    _rule("hosts.pstate-unknown", "error", "error", "There is no such power state",
          "A host's power states are numbered from 0 to pstate_count - 1 (SimulationBeginsEvent)."),
    _rule("hosts.pstate-sleep", "warning", "warning", "ChangeHostsPStateEvent with a sleep or virtual state",
          "It is done at once, but the host cannot compute until it is turned on, from a sleep state, or changed to a "
          "computation state. Use TurnOnOffHostsEvent for sleep states: it takes the time that the platform defines."),
    _rule("hosts.turn-direction", "error", "error", "The hosts cannot be turned to this power state",
          "TurnOnOffHostsEvent goes from a computation to a sleep state (off) or from a sleep to a computation state "
          "(on), and not from or to a virtual one. Sleep states are those of the host's property sleep_pstates. Ask "
          "only for hosts that are on, or off."),
    _rule("hosts.turn-busy", "error", "error", "A host that executes a job is turned off",
          "Batsim aborts. Wait for the JobCompletedEvent, or kill the job first."),
    _rule("hosts.turn-switching", "error", "error", "A host is switching already",
          "Wait for the HostsTurnedOnOffEvent before the host is switched again."),
    _rule("hosts.changed-unasked", "error", "error", "A change of hosts that nobody asked for",
          "HostsPStateChangedEvent and HostsTurnedOnOffEvent answer what was asked for, once."),
    # The inputs
    _rule("static.twice", "error", "error", "The end of the inputs is told twice",
          "AllStaticJobsHaveBeenSubmittedEvent and AllStaticExternalEventsHaveBeenInjectedEvent come once."),
    _rule("static.external-late", "error", "error", "An external event after the last one",
          "After AllStaticExternalEventsHaveBeenInjectedEvent there are none."),
    _rule("job.undecided", "warning", "warning", "A job was neither executed nor rejected",
          "The simulation ended with the job in the queue. That is what happens after ForceSimulationStopEvent."),
)
# fmt: on

CATALOGUE: Final = Catalogue(("protocol", "batsim-5.0.0-rc2"), _TABLE)
"""The rules of the conversation, in both rule sets."""

DEFAULT_RULE_SET: Final = CATALOGUE.default
"""The rule set that conversations are judged by unless told otherwise."""

RULES: Final[Mapping[str, Rule]] = CATALOGUE.rules
"""All rules by id."""

RULE_SETS: Final[Mapping[str, Mapping[str, Severity]]] = CATALOGUE.rule_sets
"""The severity of each rule, by rule set. A rule that is not there is off."""


class Violation(rules.Violation, frozen=True):
    """A rule of the conversation that was broken, and where.

    It has `message` (its number: the initialization data are 0, the hello is 1), `path`, `rule`, `severity` and `text`,
    which `batprotocol.rules.Violation` explains.

    >>> print(Violation(3, "events[0].event.job_id", "job.unknown", "error", "there is no job 'w0!1'"))
    message 3, events[0].event.job_id: error: there is no job 'w0!1' [job.unknown]
    """

    RULES = RULES
