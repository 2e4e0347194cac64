"""Every rule, by id: a conversation that breaks it, and one that comes as near as it can without."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace
from talks import (
    BEGINS,
    DELAY,
    FEW,
    HELLO,
    KILLED,
    LAST,
    SPREAD,
    STAGED,
    STORAGE,
    TASK,
    TO_THE_END,
    USAGE,
    VECTOR,
    at_the_end,
    begins,
    call,
    change,
    comes,
    dynamic,
    ended,
    executed,
    hello,
    host,
    kill,
    killed,
    mapped,
    message,
    new_job,
    new_profile,
    on,
    probe,
    registering,
    sequence,
    submitted,
    talk,
    turn,
    turned,
)

from batprotocol.conversation import AnyMessage, check
from batprotocol.model import (
    AggregatedProbeData,
    AllStaticExternalEventsHaveBeenInjectedEvent,
    DelayProfile,
    ExponentialMovingAverage,
    ExternalEventOccurredEvent,
    FinishRegistrationEvent,
    FinitePeriodNumber,
    ForceSimulationStopEvent,
    ForkJoinCompositionProfile,
    GenericExternalEvent,
    HostsPStateChangedEvent,
    Message,
    NoProbeDataAccumulation,
    OneShot,
    ParallelTaskHomogeneousProfile,
    ParallelTaskProfile,
    Periodic,
    PredefinedExecutorPlacementStrategy,
    ProfileAllocationPlacement,
    RejectJobEvent,
    SequentialCompositionProfile,
    SimulationEndsEvent,
    StopCallMeLaterEvent,
    StopProbeEvent,
    StorageHost,
    TimeUnit,
    TraceReplayProfile,
    TraceType,
    TriggerProbeEvent,
)
from batprotocol.wire import frames


class Case(NamedTuple):
    """A conversation that breaks the rule, and one that nearly does."""

    breaks: Sequence[AnyMessage]
    keeps: Sequence[AnyMessage]


def raw(data: bytes, flags: bytes = b"\1\0\0\0") -> list[AnyMessage]:
    """Bytes in place of the first reply."""
    return [b"\4\0\0\0init", flags + HELLO.to_binary(), BEGINS.to_binary(), data]


def unverified() -> bytes:
    """A binary probe whose temporal aggregation is NONE: the type that the union's tag says is 0."""
    data = bytearray(message(probe(temporal_aggregation_function=ExponentialMovingAverage()), 3.0).to_binary())
    tables = [at for at in range(len(data)) if data[at] == 2]
    for at in tables:
        changed = bytes(data[:at]) + b"\0" + bytes(data[at + 1 :])
        if [each.rule for each in check(raw(changed))] == ["message.unverified"]:
            return changed
    raise AssertionError("no byte of the message is the tag")


CASES = {
    # Frames and messages
    "frame.init": Case([b"\5\0\0\0init"], [b"\4\0\0\0init"]),
    "frame.hello": Case([b"\0\0\0\0", b"\1\0\0"], [b"\0\0\0\0", b"\1\0\0\0" + HELLO.to_binary()]),
    "frame.flags": Case(["", frames.Hello(4, "binary", HELLO)], ["", frames.Hello(2, "json", HELLO)]),
    "message.unreadable": Case(raw(b""), raw(Message(3.0).to_binary() + b"more")),
    "message.unverified": Case(raw(unverified()), raw(message(probe(), 3.0).to_binary())),
    # Turns and phases
    "turn.order": Case(["init", HELLO, "init"], ["init", HELLO, BEGINS]),
    "hello.first-message": Case(["", message([hello(), call(OneShot(5))], 0.0)], ["", HELLO]),
    "hello.twice": Case(talk(hello()), talk([])),
    "hello.no-commit": Case(talk(first=hello(None)), talk(first=hello(""))),
    "hello.text": Case(talk(first=hello(name="a,b")), talk(first=hello(name="a;b"))),
    "hello.features": Case(talk(profile_reuse=True), talk(profile_reuse=True, dynamic_registration=True)),
    "event.wrong-direction": Case(talk(submitted()), talk([], submitted())),
    "event.not-implemented": Case(talk(TriggerProbeEvent(probe_id="watts")), talk(StopProbeEvent(probe_id="watts"))),
    "event.out-of-phase": Case(talk([], begins()), talk([])),
    "simulation.not-begun": Case(["", HELLO, Message(1.0)], ["", HELLO, BEGINS]),
    "simulation.version": Case(
        talk(begin=begins(batprotocol_version="0.2.0")), talk(begin=begins(batprotocol_version="0.1.0"))
    ),
    "simulation.host-count": Case(talk(begin=begins(host_number=4)), talk(begin=begins(host_number=5))),
    "simulation.host-ids": Case(
        talk(begin=begins(computation_hosts=(host(0), host(1), host(2), host(5)))),
        talk(begin=begins(computation_hosts=(host(3), host(1), host(2), host(0)))),
    ),
    "simulation.ends-early": Case(
        talk([], [submitted(), LAST], executed(), SimulationEndsEvent()), talk([], submitted(), *TO_THE_END)
    ),
    "simulation.endless": Case(
        talk(call(Periodic(5)), LAST, []),
        talk([call(Periodic(5)), call(OneShot(50))], [submitted(), LAST], [], comes(), executed()),
    ),
    "simulation.stuck-jobs": Case(talk([], [submitted(), LAST], []), talk([], [submitted(), LAST], call(OneShot(50)))),
    "simulation.stuck-registration": Case(
        talk([], LAST, [], dynamic_registration=True),
        talk([], LAST, FinishRegistrationEvent(), dynamic_registration=True),
    ),
    # The end
    "end.call-me-later": Case(
        at_the_end(call(OneShot(99))), talk([], submitted(), executed(), [ended(), LAST], call(OneShot(99)))
    ),
    "end.register-job": Case(at_the_end(new_job()), at_the_end(new_profile())),
    "end.create-probe": Case(
        at_the_end(probe()),
        talk([], submitted(), executed(), [ended(), LAST], probe(measurement_triggering_policy=FEW)),
    ),
    "end.turn-on-off": Case(at_the_end(turn("0", 1)), at_the_end(change("0", 0))),
    "end.stop-call": Case(
        at_the_end(StopCallMeLaterEvent(call_me_later_id="tick")),
        talk(call(Periodic(5)), submitted(), [executed(), StopCallMeLaterEvent(call_me_later_id="tick")]),
    ),
    "end.stop-probe": Case(
        at_the_end(StopProbeEvent(probe_id="watts")),
        talk(probe(), submitted(), [executed(), StopProbeEvent(probe_id="watts")]),
    ),
    "end.force-stop": Case(at_the_end(ForceSimulationStopEvent()), talk(ForceSimulationStopEvent())),
    "end.useless": Case(at_the_end(change("0", 0)), at_the_end()),
    "stop.dropped": Case(
        talk([ForceSimulationStopEvent(), call(OneShot(5))]), talk([call(OneShot(5)), ForceSimulationStopEvent()])
    ),
    "stop.parallel-task": Case(
        on(TASK, [executed(hosts="0-1"), ForceSimulationStopEvent()]),
        on(TASK, [executed(hosts="0-1"), kill("w0!1"), ForceSimulationStopEvent()]),
    ),
    "stop.job": Case(
        talk([], submitted(), [executed(), ForceSimulationStopEvent()]),
        on(DELAY, [executed(hosts="0-1"), ForceSimulationStopEvent()]),
    ),
    # Time
    "time.after-now": Case(
        talk(Message(3.0, (call(OneShot(9), "a"), replace(call(OneShot(9)), timestamp=3.5)))),
        talk(Message(3.5, (replace(call(OneShot(9)), timestamp=3.5),))),
    ),
    "time.before-first": Case(
        talk(Message(5.0, (replace(call(OneShot(9)), timestamp=4.0), replace(call(OneShot(9)), timestamp=3.9)))),
        talk(Message(5.0, (replace(call(OneShot(9)), timestamp=4.0), replace(call(OneShot(9)), timestamp=4.0)))),
    ),
    "time.order": Case(
        talk(Message(9.0, tuple(replace(call(OneShot(9)), timestamp=time) for time in (4.0, 6.0, 5.0)))),
        talk(Message(9.0, tuple(replace(call(OneShot(9)), timestamp=time) for time in (4.0, 5.0, 6.0)))),
    ),
    "time.infinite": Case(talk(Message(math.inf)), talk(Message(1e300))),
    "time.not-a-number": Case(
        talk(Message(3.0, (replace(call(OneShot(9)), timestamp=math.nan),))),
        talk(Message(3.0, (replace(call(OneShot(9)), timestamp=-0.0),))),
    ),
    "time.now-not-a-number": Case(talk(Message(math.nan)), talk(Message(3.0))),
    "time.past": Case(talk(Message(0.0)), talk(Message(1e-5))),
    "time.backwards": Case(talk([], Message(1e-6)), talk([], Message(1e-5))),
    # Jobs: what the decision component asks for
    "job.id-format": Case(talk(RejectJobEvent(job_id="w0!1!2")), talk([], submitted(), RejectJobEvent(job_id="w0!1"))),
    "job.unknown": Case(talk(executed()), talk([], submitted(), executed())),
    "job.execute-state": Case(
        talk([], submitted(), [executed(), executed()]),
        talk([], [submitted(), submitted("w0!2")], [executed(), executed("w0!2", "1")]),
    ),
    "job.reject-state": Case(
        talk([], submitted(), [executed(), RejectJobEvent(job_id="w0!1")]),
        talk([], submitted(), RejectJobEvent(job_id="w0!1")),
    ),
    "job.kill-state": Case(
        talk([], submitted(), executed(), ended(), kill("w0!1")), talk([], submitted(), [executed(), kill("w0!1")])
    ),
    "job.kill-nothing": Case(talk(kill()), talk([], submitted(), [executed(), kill("w0!1")])),
    "job.kill-again": Case(
        talk([], submitted(), [executed(), kill("w0!1"), kill("w0!1")]),
        talk(
            [],
            [submitted(), submitted("w0!2")],
            [executed(), executed("w0!2", "1"), kill("w0!1"), kill("w0!1", "w0!2")],
        ),
    ),
    "job.kill-usage-trace": Case(
        on(USAGE, message([executed(), kill("w0!1")], 4.0), 1),
        on(TraceReplayProfile(TraceType.SMPI, "smpi.txt"), message([executed(), kill("w0!1")], 4.0), 1),
    ),
    "job.over-allocation": Case(
        talk([], [submitted(), submitted("w0!2", request=2)], [executed(), executed("w0!2", "0-1")]),
        talk([], [submitted(), submitted("w0!2", request=2)], [executed(), executed("w0!2", "1-2")]),
    ),
    "job.host-number": Case(
        talk([], submitted(request=2), executed(hosts="0-2")), talk([], submitted(request=2), executed(hosts="0 2"))
    ),
    "job.host-asleep": Case(
        talk([], submitted(), [turn("0", 1), executed()]), talk([], submitted(), [turn("1", 1), executed()])
    ),
    "job.host-stores": Case(
        talk([], submitted(), executed(hosts=str(STORAGE))), talk([], submitted(), executed(hosts=str(STORAGE - 1)))
    ),
    "job.mapping-size": Case(
        on(TASK, executed(hosts="0-1", placement=mapped(0))), on(SPREAD, executed(hosts="0-1", placement=mapped(0)))
    ),
    "job.mapping-entry": Case(
        on(TASK, executed(hosts="0-1", placement=mapped(0, 2))), on(TASK, executed(hosts="0-1", placement=mapped(0, 1)))
    ),
    "job.mapping-doubtful": Case(
        on(DelayProfile(1.0), executed(hosts="0-1", placement=mapped(0, 2))),
        on(DelayProfile(1.0), executed(hosts="0-1", placement=mapped(1, 1))),
    ),
    "job.placement-strategy": Case(
        on(TASK, executed(hosts="0-1", placement=PredefinedExecutorPlacementStrategy(7))),
        on(TASK, executed(hosts="0-1", placement=PredefinedExecutorPlacementStrategy(1))),
    ),
    "job.override-unused": Case(
        on(TASK, executed(hosts="0-1", profile_allocation_override=(ProfileAllocationPlacement("w0!q", "2-3"),))),
        on(TASK, executed(hosts="0-1", profile_allocation_override=(ProfileAllocationPlacement("w0!p", "2-3"),))),
    ),
    "job.storage-unknown": Case(
        on(STAGED, executed(hosts="0-1")),
        on(STAGED, executed(hosts="0-1", storage_placement=(StorageHost("data", STORAGE),))),
    ),
    "job.storage-computes": Case(
        on(STAGED, executed(hosts="0-1", storage_placement=(StorageHost("data", 3),))),
        on(STAGED, executed(hosts="0-1", storage_placement=(StorageHost("data", STORAGE), StorageHost("other", 3)))),
    ),
    "job.task-size": Case(
        dynamic("d!s", [TASK, sequence("d!p")], request=1),
        dynamic("d!s", [TASK, sequence("d!p")], request=2),
    ),
    "job.no-work": Case(
        on(ParallelTaskHomogeneousProfile(0.0, 1e6), executed(), 1),
        on(ParallelTaskHomogeneousProfile(0.0, 0.0), executed(hosts="0-1"), 2),
    ),
    "job.infinite": Case(
        dynamic("d!p", [DelayProfile(math.inf)]),
        dynamic("d!p", [DelayProfile(math.inf)], walltime=100.0),
    ),
    "job.trace-hosts": Case(
        on(USAGE, executed(hosts="0-1", placement=mapped(1, 1))),
        on(USAGE, executed(hosts="0-1", placement=mapped(1, 0))),
    ),
    "job.later-part": Case(
        dynamic("d!t", [TASK, DelayProfile(1.0), sequence("d!s", "d!p")], request=1),
        dynamic("d!t", [TASK, DelayProfile(1.0), sequence("d!s", "d!p")], request=2),
    ),
    # Jobs: what Batsim says
    "job.submitted-twice": Case(talk([], [submitted(), submitted()]), talk([], [submitted(), submitted("w0!2")])),
    "job.submitted-late": Case(talk([], [LAST, submitted()]), talk([], [submitted(), LAST])),
    "job.profile-not-forwarded": Case(
        talk([], submitted(), forward_profiles_on_job_submission=True),
        talk([], submitted(profile=TASK), forward_profiles_on_job_submission=True),
    ),
    "job.completed-not-running": Case(talk([], submitted(), [], ended()), talk([], submitted(), executed(), ended())),
    "job.killed-unasked": Case(
        talk([], submitted(), executed(), [ended(), killed("w0!1")]),
        talk([], submitted(), [executed(), kill("w0!1")], [ended(), killed("w0!1")]),
    ),
    "job.killed-not-completed": Case(
        talk([], submitted(), [executed(), kill("w0!1")], killed("w0!1")),
        talk([], submitted(), [executed(), kill("w0!1")], [ended(state=KILLED), killed("w0!1")]),
    ),
    "job.progress-unrelated": Case(
        talk([], submitted(), [executed(), kill("w0!1")], [ended(), killed("w0!1", of="w0!2")]),
        talk([], submitted(), [executed(), kill("w0!1")], [ended(), killed("w0!1")]),
    ),
    "job.progress-range": Case(
        talk([], submitted(), [executed(), kill("w0!1")], [ended(), killed("w0!1", progress=-1.0)]),
        talk([], submitted(), [executed(), kill("w0!1")], [ended(), killed("w0!1", progress=1.0)]),
    ),
    # Registration
    "register.not-requested": Case(talk(new_profile()), registering(new_profile())),
    "register.after-finish": Case(
        registering(FinishRegistrationEvent(), new_profile()), registering(new_profile(), FinishRegistrationEvent())
    ),
    "register.unfinished": Case(
        talk(ForceSimulationStopEvent(), SimulationEndsEvent(), dynamic_registration=True),
        talk([FinishRegistrationEvent(), ForceSimulationStopEvent()], SimulationEndsEvent(), dynamic_registration=True),
    ),
    "register.duplicate-job": Case(
        registering(new_profile(), new_job(), new_job()), registering(new_profile(), new_job(), new_job("d!k"))
    ),
    "register.duplicate-profile": Case(
        registering(new_profile(), new_profile()), registering(new_profile(), new_profile(name="e!p"))
    ),
    "register.unknown-profile": Case(
        registering(new_profile(), new_job("e!j", "p")), registering(new_profile(), new_job("d!j", "p"))
    ),
    "register.profile-gone": Case(
        # gone with the first of its jobs, though another one still has it
        talk(
            [new_profile(), new_job(), new_job("d!i")],
            [],
            [executed("d!j"), executed("d!i", "1")],
            ended("d!j"),
            new_job("d!k"),
            dynamic_registration=True,
        ),
        talk(
            [new_profile(), new_job()],
            [],
            executed("d!j"),
            ended("d!j"),
            new_job("d!k"),
            dynamic_registration=True,
            profile_reuse=True,
        ),
    ),
    "register.sequence-workloads": Case(
        registering(new_profile(), new_profile(sequence("d!p"), "e!s"), new_job(profile="e!s")),
        registering(new_profile(), new_profile(sequence("d!p"), "d!s"), new_job("e!j", profile="d!s")),
    ),
    "register.job-size": Case(
        registering(new_profile(TASK), new_job(size=3)), registering(new_profile(TASK), new_job(size=2))
    ),
    "register.walltime": Case(
        registering(new_profile(), new_job(walltime=0.0)), registering(new_profile(), new_job(walltime=0.1))
    ),
    "register.profile-id": Case(registering(new_profile(name="p")), registering(new_profile(name="d!p"))),
    "profile.delay": Case(registering(new_profile(DelayProfile(0.0))), registering(new_profile(DelayProfile(1e-9)))),
    "profile.amount": Case(
        registering(new_profile(ParallelTaskProfile([-1.0]))), registering(new_profile(ParallelTaskProfile([0.0])))
    ),
    "profile.infinite": Case(
        registering(new_profile(ParallelTaskProfile([1.0, math.inf]))),
        registering(new_profile(ParallelTaskProfile([1.0, 1e300]))),
    ),
    "profile.matrix-size": Case(
        registering(new_profile(ParallelTaskProfile([1.0, 1.0], [0.0] * 3))),
        registering(new_profile(ParallelTaskProfile([1.0, 1.0], [0.0] * 4))),
    ),
    "profile.unknown-subprofile": Case(
        registering(new_profile(), new_profile(SequentialCompositionProfile(profile_ids=("p",)), "d!s")),
        registering(new_profile(), new_profile(SequentialCompositionProfile(profile_ids=("d!p",)), "d!s")),
    ),
    "profile.not-implemented": Case(
        registering(new_profile(), new_profile(ForkJoinCompositionProfile(("d!p",)), "d!f")),
        registering(new_profile(), new_profile(SequentialCompositionProfile(profile_ids=("d!p",)), "d!f")),
    ),
    # Calls and probes
    "trigger.offset": Case(talk(call(Periodic(5, offset=1))), talk(call(Periodic(5)))),
    "trigger.period-zero": Case(talk(call(Periodic(0))), talk(call(Periodic(1, time_unit=TimeUnit.Millisecond)))),
    "trigger.no-periods": Case(
        talk(call(Periodic(5, mode=FinitePeriodNumber(0)))), talk(call(Periodic(5, mode=FinitePeriodNumber(1))))
    ),
    "trigger.periods": Case(
        talk([call(Periodic(2), "a"), call(Periodic(3), "b")]),
        talk([call(Periodic(2), "a"), call(Periodic(6000, time_unit=TimeUnit.Millisecond), "b")]),
    ),
    "trigger.time-unit": Case(
        talk(call(Periodic(5, time_unit=TimeUnit(7)))), talk(call(Periodic(5, time_unit=TimeUnit.Second)))
    ),
    "call.no-id": Case(talk(call(OneShot(5), "")), talk(call(OneShot(5), " "))),
    "call.id-in-use": Case(
        talk([call(Periodic(5)), call(Periodic(5))]),
        talk([call(Periodic(5)), StopCallMeLaterEvent(call_me_later_id="tick"), call(Periodic(5)), call(OneShot(9))]),
    ),
    "call.past": Case(talk([], [], call(OneShot(4))), talk([], [], call(OneShot(5)))),
    "call.stop-unknown": Case(
        talk([call(OneShot(9)), StopCallMeLaterEvent(call_me_later_id="tick")]),
        talk([call(Periodic(9)), StopCallMeLaterEvent(call_me_later_id="tick")]),
    ),
    "call.unasked": Case(
        talk([call(Periodic(2)), StopCallMeLaterEvent(call_me_later_id="tick")], [], [], comes()),
        # the call may have come while the reply was on its way
        talk([call(Periodic(2)), StopCallMeLaterEvent(call_me_later_id="tick")], comes()),
    ),
    "call.early": Case(talk(call(OneShot(5)), comes()), talk(call(OneShot(4)), comes())),
    "call.last": Case(
        talk(call(Periodic(1, mode=FinitePeriodNumber(2))), comes(), [], comes()),
        talk(call(Periodic(1, mode=FinitePeriodNumber(2))), comes(), [], comes(last=True)),
    ),
    "call.never-fires": Case(
        talk([call(OneShot(99)), ForceSimulationStopEvent()], SimulationEndsEvent()),
        talk(call(OneShot(4)), comes(), ForceSimulationStopEvent(), SimulationEndsEvent()),
    ),
    "probe.no-id": Case(talk(probe("")), talk(probe(" "))),
    "probe.id-in-use": Case(
        talk([probe(), probe()]), talk([probe(), StopProbeEvent(probe_id="watts"), probe(), probe("more")])
    ),
    "probe.not-implemented": Case(
        talk(probe(data_accumulation_strategy=NoProbeDataAccumulation())), talk(probe(hosts="0"))
    ),
    "probe.no-energy": Case(
        talk(probe(), begin=begins(arguments=("batsim", "-p", "energy.xml"))),
        talk(probe(), begin=begins(arguments=("batsim", "--energy-host"))),
    ),
    "probe.ignored": Case(talk(probe(temporal_aggregation_function=ExponentialMovingAverage())), talk(probe())),
    "probe.stop-unknown": Case(
        talk(StopProbeEvent(probe_id="watts")), talk([probe(), StopProbeEvent(probe_id="watts")])
    ),
    "probe.unasked": Case(
        talk([probe(), StopProbeEvent(probe_id="watts")], [], [], VECTOR),
        talk([probe(), StopProbeEvent(probe_id="watts")], VECTOR),
    ),
    "probe.data-shape": Case(talk(probe(), replace(VECTOR, data=AggregatedProbeData(3.0))), talk(probe(), VECTOR)),
    # Hosts
    "hosts.syntax": Case(
        talk([], submitted(request=2), executed(hosts=" 0 1")), talk([], submitted(request=2), executed(hosts="0 1"))
    ),
    "hosts.misread": Case(
        talk([], submitted(), executed(hosts="0,1")), talk([], submitted(request=2), executed(hosts="00 1-1"))
    ),
    "hosts.order": Case(
        talk([], submitted(request=2), executed(hosts="1 0")), talk([], submitted(request=2), executed(hosts="0 1"))
    ),
    "hosts.empty": Case(talk([], submitted(), executed(hosts="")), talk([], submitted(), executed(hosts="0"))),
    "hosts.unknown": Case(talk([], submitted(), executed(hosts="5")), talk([], submitted(), executed(hosts="4"))),
    "hosts.pstate-unknown": Case(talk(change("0", 4)), talk(change("0", 3))),
    "hosts.pstate-sleep": Case(talk(change("0", 1)), talk(change("0", 0))),
    "hosts.change-switching": Case(talk([turn("0", 1), change("0", 0)]), talk([turn("0", 1), change("1", 0)])),
    "hosts.turn-direction": Case(talk(turn("0", 0)), talk(turn("0", 1))),
    "hosts.turn-busy": Case(
        talk([], submitted(), executed(), [], message(turn("0", 1), 6.0)),
        # while the reply is on its way the job may end
        talk([], submitted(), executed(), [], message(turn("0", 1), 7.0)),
    ),
    "hosts.turn-switching": Case(
        talk(turn("0-1", 1), [], message(turn("1", 0), 4.0)),
        # by then it has switched, though the message that says so is still to come
        talk(turn("0-1", 1), [], message(turn("1", 0), 5.0)),
    ),
    "hosts.changed-unasked": Case(
        talk(change("0-1", 0), [HostsPStateChangedEvent(host_ids="0-2", pstate=0)]),
        talk([change("0-1", 0), turn("2", 1)], [HostsPStateChangedEvent(host_ids="0-1", pstate=0), turned("2", 1)]),
    ),
    # The inputs
    "static.twice": Case(talk([], [LAST, LAST]), talk([], LAST)),
    "static.external-late": Case(
        talk(
            [],
            [
                AllStaticExternalEventsHaveBeenInjectedEvent(),
                ExternalEventOccurredEvent(id="e", external_event=GenericExternalEvent("")),
            ],
            begin=begins(external=("ee0",)),
        ),
        talk(
            [],
            [
                ExternalEventOccurredEvent(id="e", external_event=GenericExternalEvent("")),
                AllStaticExternalEventsHaveBeenInjectedEvent(),
            ],
            begin=begins(external=("ee0",)),
        ),
    ),
    "job.undecided": Case(
        talk([], submitted(), ForceSimulationStopEvent(), SimulationEndsEvent()),
        talk([], submitted(), [executed(), kill("w0!1"), ForceSimulationStopEvent()], SimulationEndsEvent()),
    ),
}
