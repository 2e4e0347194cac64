"""A tiny Batsim and a decision component that only does what is allowed: random conversations that break no rule.

It is written from the documentation alone and shares nothing with `batprotocol.conversation`, which it tests.
"""

from __future__ import annotations

from hypothesis import strategies as st
from talks import COMPUTING, begins, hello, probe, talk

from batprotocol.conversation import AnyMessage
from batprotocol.model import (
    AllocationPlacement,
    AllStaticJobsHaveBeenSubmittedEvent,
    CallMeLaterEvent,
    ChangeHostsPStateEvent,
    DelayProfile,
    Event,
    ExecuteJobEvent,
    FinalJobState,
    FinishRegistrationEvent,
    FinitePeriodNumber,
    HostResources,
    HostsPStateChangedEvent,
    HostsTurnedOnOffEvent,
    Job,
    JobAndProgress,
    JobCompletedEvent,
    JobsKilledEvent,
    JobSubmittedEvent,
    KillJobsEvent,
    KillProgressAtomicProfile,
    Message,
    OneShot,
    Periodic,
    ProbeDataEmittedEvent,
    ProfileAndId,
    RegisterJobEvent,
    RegisterProfileEvent,
    RejectJobEvent,
    RequestedCallEvent,
    SimulationEndsEvent,
    StopCallMeLaterEvent,
    StopProbeEvent,
    TurnOnOffHostsEvent,
    VectorialProbeData,
)

MOST_TURNS = 12
MOST_JOBS = 4


class Reference:
    """One random conversation, in `said`.

    Args:
        data: where the choices come from.
        stop_in_a_reply: end after a message of Batsim, so that a reply is due.
    """

    def __init__(self, data: st.DataObject, stop_in_a_reply: bool = False) -> None:
        self.draw = data.draw
        self.features = {
            name: self.chance()
            for name in ("dynamic_registration", "acknowledge_dynamic_jobs", "forward_profiles_on_job_submission")
        }
        self.features["acknowledge_dynamic_jobs"] &= self.features["dynamic_registration"]
        self.said: list[AnyMessage] = talk(first=hello(**self.features), begin=begins())
        self.now = 1e-5
        self.to_submit = [f"w0!{number}" for number in range(self.draw(st.integers(0, MOST_JOBS)))]
        self.told_last = False
        self.waiting: list[str] = []
        self.running: dict[str, str] = {}
        self.being_killed: list[str] = []
        self.acknowledge: list[str] = []
        self.profiles: list[str] = []
        self.registered = 0
        self.open = self.features["dynamic_registration"]
        self.one_shots: list[tuple[float, str]] = []
        self.periodic: dict[str, int] = {}
        self.probes: dict[str, int] = {}
        self.asleep: set[int] = set()
        self.switching: list[tuple[int, int]] = []
        self.changes: list[tuple[str, int]] = []
        for _ in range(self.draw(st.integers(0, MOST_TURNS))):
            self.reply()
            events = self.batsim()
            if events is None:
                break
            self.said.append(Message(self.now, tuple(events)))
            if any(isinstance(event, SimulationEndsEvent) for event in events):
                if not stop_in_a_reply:
                    self.said.append(Message(self.now))
                return
        if not stop_in_a_reply and len(self.said) % 2 == 1:
            self.reply()

    def chance(self) -> bool:
        return self.draw(st.booleans())

    # The decision component

    def reply(self) -> None:
        events: list[Event] = []
        for step in self.draw(st.lists(st.sampled_from(REPLIES), max_size=4)):
            events += step(self)
        if not self.something_left(events):  # a reply must not leave the simulation stuck
            events += [*self.finish(), *(event for _ in tuple(self.waiting) for event in self.execute_or_reject())]
        thinking = self.draw(st.sampled_from([0.0, 0.0, 0.5]))
        self.now += thinking
        self.said.append(Message(self.now, tuple(events)))

    def at(self) -> float:
        return self.now

    def execute_or_reject(self) -> list[Event]:
        if not self.waiting:
            return []
        job = self.waiting.pop(0)
        free = [host for host in range(COMPUTING) if host not in self.asleep and str(host) not in self.running.values()]
        if free and self.chance():
            self.running[job] = str(free[0])
            return [ExecuteJobEvent(job_id=job, allocation=AllocationPlacement(str(free[0])), timestamp=self.at())]
        return [RejectJobEvent(job_id=job, timestamp=self.at())]

    def kill(self) -> list[Event]:
        jobs = [job for job in self.running if job not in self.being_killed]
        if not jobs:
            return []
        self.being_killed += jobs
        return [KillJobsEvent(job_ids=jobs, timestamp=self.at())]

    def register(self) -> list[Event]:
        if not self.open:
            return []
        self.registered += 1
        profile, job = f"d!p{self.registered}", f"d!j{self.registered}"
        self.waiting.append(job)
        if self.features["acknowledge_dynamic_jobs"]:
            self.acknowledge.append(job)
        short = self.draw(st.sampled_from([profile, profile.removeprefix("d!")]))
        return [
            RegisterProfileEvent(profile=ProfileAndId(profile, DelayProfile(1.0)), timestamp=self.at()),
            RegisterJobEvent(job_id=job, job=Job(resource_request=1, profile_id=short), timestamp=self.at()),
        ]

    def finish(self) -> list[Event]:
        if not self.open:
            return []
        self.open = False
        return [FinishRegistrationEvent(timestamp=self.at())]

    def ask(self) -> list[Event]:
        time = round(self.now) + self.draw(st.integers(1, 3))
        self.one_shots.append((float(time), "once"))
        return [CallMeLaterEvent(call_me_later_id="once", when=OneShot(time), timestamp=self.at())]

    def ask_periodically(self) -> list[Event]:
        name, periods = f"every{len(self.periodic)}", self.draw(st.integers(1, 2))
        if name in self.periodic:
            return []
        self.periodic[name] = periods
        when = Periodic(self.draw(st.sampled_from([1, 2, 4])), mode=FinitePeriodNumber(periods))
        return [CallMeLaterEvent(call_me_later_id=name, when=when, timestamp=self.at())]

    def stop_asking(self) -> list[Event]:
        if not self.periodic:
            return []
        name, _ = self.periodic.popitem()
        return [StopCallMeLaterEvent(call_me_later_id=name, timestamp=self.at())]

    def observe(self) -> list[Event]:
        name, periods = f"probe{len(self.probes)}", self.draw(st.integers(1, 2))
        if name in self.probes:
            return []
        self.probes[name] = periods
        when = Periodic(4, mode=FinitePeriodNumber(periods))
        return [probe(name, "0-1", measurement_triggering_policy=when, timestamp=self.at())]

    def stop_observing(self) -> list[Event]:
        if not self.probes:
            return []
        name, _ = self.probes.popitem()
        return [StopProbeEvent(probe_id=name, timestamp=self.at())]

    def switch(self) -> list[Event]:
        busy = {int(host) for host in self.running.values()} | {host for host, _ in self.switching}
        hosts = [host for host in range(COMPUTING) if host not in busy]
        if not hosts:
            return []
        host = self.draw(st.sampled_from(hosts))
        state = 0 if host in self.asleep else 1
        self.asleep.add(host)
        self.switching.append((host, state))
        return [TurnOnOffHostsEvent(host_ids=str(host), state=state, timestamp=self.at())]

    def change(self) -> list[Event]:
        if self.asleep:
            return []
        self.changes.append(("0-2", 0))
        return [ChangeHostsPStateEvent(host_ids="0-2", pstate=0, timestamp=self.at())]

    def something_left(self, events: list[Event]) -> bool:
        under_way = (
            self.to_submit, not self.told_last, self.running, self.being_killed, self.acknowledge, self.one_shots,
            self.periodic, self.probes, self.switching, self.changes,
        )  # fmt: skip
        return any(under_way) or not (self.waiting or self.open)

    # Batsim

    def batsim(self) -> list[Event] | None:
        """What Batsim says next: some of what is under way, or the end. None if the reference has nothing to say."""
        self.now += 1.0
        steps = [step for step in BATSIM if self.chance()]
        events = [event for step in steps for event in step(self)]
        if not events:
            self.now = max(self.now, min((time for time, _ in self.one_shots), default=self.now))
            events = [event for step in BATSIM for event in step(self)]
        if not events and not self.waiting and not self.open:
            return [SimulationEndsEvent(timestamp=self.at())]
        return events or None

    def submit(self) -> list[Event]:
        if self.to_submit:
            job = self.to_submit.pop(0)
            self.waiting.append(job)
            return [self.submission(job, "w0!delay")]
        if not self.told_last:
            self.told_last = True
            return [AllStaticJobsHaveBeenSubmittedEvent(timestamp=self.at())]
        return []

    def submission(self, job: str, profile: str) -> JobSubmittedEvent:
        forward = self.features["forward_profiles_on_job_submission"]
        return JobSubmittedEvent(
            job_id=job,
            job=Job(resource_request=1, profile_id=profile),
            submission_time=self.now,
            profile=ProfileAndId(profile, DelayProfile(1.0)) if forward else None,
            timestamp=self.at(),
        )

    def acknowledged(self) -> list[Event]:
        events: list[Event] = [self.submission(job, job.replace("!j", "!p")) for job in self.acknowledge]
        self.acknowledge.clear()
        return events

    def complete(self) -> list[Event]:
        jobs = [job for job in self.running if job not in self.being_killed]
        if not jobs:
            return []
        del self.running[jobs[0]]
        return [JobCompletedEvent(job_id=jobs[0], state=FinalJobState.COMPLETED_SUCCESSFULLY, timestamp=self.at())]

    def have_killed(self) -> list[Event]:
        if not self.being_killed:
            return []
        jobs, self.being_killed = self.being_killed, []
        for job in jobs:
            del self.running[job]
        progresses = [JobAndProgress(job, KillProgressAtomicProfile("w0!delay", 0.5)) for job in jobs]
        return [
            *(JobCompletedEvent(job_id=job, state=FinalJobState.COMPLETED_KILLED, timestamp=self.at()) for job in jobs),
            JobsKilledEvent(job_ids=jobs, progresses=progresses, timestamp=self.at()),
        ]

    def call(self) -> list[Event]:
        due = [each for each in self.one_shots if each[0] <= self.now]
        self.one_shots = [each for each in self.one_shots if each not in due]
        return [RequestedCallEvent(call_me_later_id=name, timestamp=self.at()) for _, name in due]

    def call_periodically(self) -> list[Event]:
        events: list[Event] = []
        for name in tuple(self.periodic):
            self.periodic[name] -= 1
            last = not self.periodic[name]
            if last:
                del self.periodic[name]
            events.append(RequestedCallEvent(call_me_later_id=name, last_periodic_call=last, timestamp=self.at()))
        return events

    def measure(self) -> list[Event]:
        events: list[Event] = []
        for name in tuple(self.probes):
            self.probes[name] -= 1
            if not self.probes[name]:
                del self.probes[name]
            data = VectorialProbeData([1.0, 2.0])
            events.append(
                ProbeDataEmittedEvent(probe_id=name, resources=HostResources("0-1"), data=data, timestamp=self.at())
            )
        return events

    def switched(self) -> list[Event]:
        done, self.switching = self.switching, []
        self.asleep -= {host for host, state in done if state == 0}
        return [HostsTurnedOnOffEvent(host_ids=str(host), state=state, timestamp=self.at()) for host, state in done]

    def changed(self) -> list[Event]:
        done, self.changes = self.changes, []
        return [HostsPStateChangedEvent(host_ids=hosts, pstate=state, timestamp=self.at()) for hosts, state in done]


REPLIES = (
    Reference.execute_or_reject, Reference.kill, Reference.register, Reference.finish, Reference.ask,
    Reference.ask_periodically, Reference.stop_asking, Reference.observe, Reference.stop_observing, Reference.switch,
    Reference.change,
)  # fmt: skip

BATSIM = (
    Reference.submit, Reference.acknowledged, Reference.complete, Reference.have_killed, Reference.call,
    Reference.call_periodically, Reference.measure, Reference.switched, Reference.changed,
)  # fmt: skip
