"""A decision component in plain JSON, without batprotocol: first come, first served, and many ways to get it wrong.

    python plain_edc.py ENDPOINT [MISTAKE]

Without a mistake it does all as it should. Each mistake is one that authors of schedulers make.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import zmq
from plain import Event, Plain

# Mistakes with jobs


class LosesJobs(Plain):
    """Of jobs that are submitted together, it sees the first."""

    def answer(self, data: bytes) -> bytes:
        message = json.loads(data.rstrip(b"\0"))
        seen, kept = set(), []
        for each in message["events"]:
            if each["event_type"] != "JobSubmittedEvent" or each["event_type"] not in seen:
                kept.append(each)
            seen.add(each["event_type"])
        return super().answer(json.dumps({**message, "events": kept}).encode())


class OneEvent(Plain):
    """It thinks that a message holds one event."""

    def answer(self, data: bytes) -> bytes:
        message = json.loads(data.rstrip(b"\0"))
        return super().answer(json.dumps({**message, "events": message["events"][:1]}).encode())


class ExecutesTwice(Plain):
    """It forgets to take the last job off the queue while others run."""

    def decide(self) -> None:
        for job, size in list(self.queue):
            if size <= len(self.free):
                self.start(job, size)
                if len(self.queue) > 1:
                    self.queue.remove((job, size))
        if not self.running:
            self.queue.clear()


class NeverDecides(Plain):
    """It lets jobs without a walltime wait, for ever."""

    def on_JobSubmittedEvent(self, event: Event) -> None:  # noqa: N802
        if event["job"].get("walltime") is not None:
            super().on_JobSubmittedEvent(event)


class Procrastinates(Plain):
    """It looks at jobs without a walltime later, and then later still."""

    def on_JobSubmittedEvent(self, event: Event) -> None:  # noqa: N802
        if event["job"].get("walltime") is not None:
            super().on_JobSubmittedEvent(event)
        else:
            self.call(self.now + 60)

    def on_RequestedCallEvent(self, event: Event) -> None:  # noqa: N802
        self.call(self.now + 60)


class IgnoresSize(Plain):
    """It never rejects, and waits for hosts that do not exist."""

    def on_JobSubmittedEvent(self, event: Event) -> None:  # noqa: N802
        self.queue.append((event["job_id"], event["job"]["resource_request"]))


class OneHostEach(Plain):
    """It gives each job one host, whatever it requests."""

    def start(self, job: str, size: int) -> None:
        super().start(job, min(size, 1))


class NeedsWalltime(Plain):
    """It computes with the walltime, which not each job has."""

    def on_JobSubmittedEvent(self, event: Event) -> None:  # noqa: N802
        self.last_end = self.now + event["job"]["walltime"]
        super().on_JobSubmittedEvent(event)


class IgnoresFailed(Plain):
    """It never gets the hosts of failed jobs back."""

    def on_JobCompletedEvent(self, event: Event) -> None:  # noqa: N802
        if event["state"] != "COMPLETED_FAILED":
            super().on_JobCompletedEvent(event)


class IgnoresWalltime(Plain):
    """It never gets the hosts of jobs back that have reached their walltime."""

    def on_JobCompletedEvent(self, event: Event) -> None:  # noqa: N802
        if event["state"] != "COMPLETED_WALLTIME_REACHED":
            super().on_JobCompletedEvent(event)


class MixesWorkloads(Plain):
    """It knows jobs by their number, and all are of the first workload."""

    def execute(self, job: str, hosts: list[int]) -> None:
        super().execute("w0!" + job.partition("!")[2], hosts)


class JobsByNumber(Plain):
    """Two jobs with the same number in two workloads are one."""

    def on_JobSubmittedEvent(self, event: Event) -> None:  # noqa: N802
        number = event["job_id"].partition("!")[2]
        if number not in [job.partition("!")[2] for job, _ in self.queue]:
            super().on_JobSubmittedEvent(event)


class NumericJobs(Plain):
    """It thinks that jobs are called by numbers."""

    def on_JobSubmittedEvent(self, event: Event) -> None:  # noqa: N802
        int(event["job_id"].partition("!")[2])
        super().on_JobSubmittedEvent(event)


class Overallocates(Plain):
    """It frees hosts when a job is half done, or so it thinks."""

    def start(self, job: str, size: int) -> None:
        hosts = self.free[:size]
        super().start(job, size)
        if size == 1 and len(self.running) == 2:
            self.free += hosts


# Mistakes with hosts


class CountsHosts(Plain):
    """It trusts that the computation hosts are 0 to n - 1, as Batsim's own schedulers in C++ do: no mistake."""

    def on_SimulationBeginsEvent(self, event: Event) -> None:  # noqa: N802
        self.size = len(event["computation_hosts"])
        self.free = list(range(self.size))


class UsesStorages(Plain):
    """It takes all hosts for computation hosts."""

    def on_SimulationBeginsEvent(self, event: Event) -> None:  # noqa: N802
        self.size = event["host_number"]
        self.free = list(range(self.size))


class SleepsWithJobs(Plain):
    """It turns a host off that has nothing to do, and forgets that when a job comes."""

    def on_SimulationBeginsEvent(self, event: Event) -> None:  # noqa: N802
        super().on_SimulationBeginsEvent(event)
        for host in event["computation_hosts"]:
            if any(each["key"] == "sleep_pstates" for each in host["properties"] or []):
                state = next(each["value"] for each in host["properties"] if each["key"] == "sleep_pstates")
                self.say("TurnOnOffHostsEvent", host_ids=str(host["id"]), state=int(state.split(":")[0]))


class CommaSeparated(Plain):
    """It writes host sets with commas."""

    def say(self, kind: str, **fields: Any) -> None:
        if kind == "ExecuteJobEvent":
            fields["allocation"]["host_allocation"] = fields["allocation"]["host_allocation"].replace(" ", ",")
        super().say(kind, **fields)


# Mistakes with kills and calls


class Limits(Plain):
    """It kills jobs that have run for 20 s; there is no mistake in it."""

    def __init__(self) -> None:
        super().__init__()
        self.due: list[str] = []

    def start(self, job: str, size: int) -> None:
        super().start(job, size)
        self.call(self.now + 20, job)

    def on_RequestedCallEvent(self, event: Event) -> None:  # noqa: N802
        self.due.append(event["call_me_later_id"])

    def decide(self) -> None:
        """A job may have ended in the same message, after the call."""
        due, self.due = self.due, []
        for job in due:
            if job in self.running:
                self.kill(job)
        super().decide()

    def kill(self, job: str) -> None:
        self.say("KillJobsEvent", job_ids=[job])


class KillsEnded(Limits):
    """It kills the job, ended or not."""

    def decide(self) -> None:
        for job in self.due:
            self.kill(job)
        self.due = []
        super().decide()


class KillsJustEnded(Limits):
    """It kills the job at once, though the same message may tell that it has ended."""

    def on_RequestedCallEvent(self, event: Event) -> None:  # noqa: N802
        if event["call_me_later_id"] in self.running:
            self.kill(event["call_me_later_id"])


class KillsInCompletion(Plain):
    """To be sure, it kills jobs that have failed."""

    def on_JobCompletedEvent(self, event: Event) -> None:  # noqa: N802
        super().on_JobCompletedEvent(event)
        if event["return_code"] > 0:
            self.say("KillJobsEvent", job_ids=[event["job_id"]])


class KillsTwice(Limits):
    """When it is called, it kills all jobs that were started at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.started: dict[str, float] = {}

    def start(self, job: str, size: int) -> None:
        super().start(job, size)
        self.started[job] = self.now

    def kill(self, job: str) -> None:
        for other in self.running:
            if self.started[other] == self.started[job]:
                super().kill(other)


class IgnoresKilled(Limits):
    """It never gets the hosts of the jobs back that it has killed."""

    def on_JobCompletedEvent(self, event: Event) -> None:  # noqa: N802
        if event["state"] == "COMPLETED_KILLED":
            self.running.pop(event["job_id"])
        else:
            super().on_JobCompletedEvent(event)


class NeedsProgress(Limits):
    """It wants to know how far each killed job had come, also those that had just ended by themselves."""

    def on_JobsKilledEvent(self, event: Event) -> None:  # noqa: N802
        progresses = {each["job_id"]: each for each in event["progresses"]}
        self.done = [progresses[job] for job in event["job_ids"]]


class FreesTwice(Limits):
    """It frees the hosts of a killed job when it is killed, and when it is completed."""

    def __init__(self) -> None:
        super().__init__()
        self.killed: dict[str, list[int]] = {}

    def kill(self, job: str) -> None:
        self.killed[job] = self.running[job]
        super().kill(job)

    def on_JobsKilledEvent(self, event: Event) -> None:  # noqa: N802
        for job in event["job_ids"]:
            self.free += self.killed.pop(job)


class NeverAnswersCalls(Limits):
    """A call has nothing to answer, it thinks."""

    def serve(self, endpoint: str) -> None:
        with zmq.Context() as context, context.socket(zmq.ROUTER) as socket:
            socket.bind(endpoint)
            first = True
            while True:
                peer, empty, data = socket.recv_multipart()
                reply = self.hello() if first else self.answer(data)
                if b'"RequestedCallEvent"' not in data:
                    socket.send_multipart([peer, empty, reply])
                first = False


class CallsAfterEnd(Plain):
    """It asks to be called when all is over."""

    def on_SimulationEndsEvent(self, event: Event) -> None:  # noqa: N802
        self.call(self.now + 5)


class TicksForEver(Plain):
    """It asks to be called every minute, and never stops."""

    def on_SimulationBeginsEvent(self, event: Event) -> None:  # noqa: N802
        super().on_SimulationBeginsEvent(event)
        self.call_every(60)


# Mistakes with the rest of the protocol


class NeverFinishesRegistration(Plain):
    features = ("dynamic_registration",)


class InTheFuture(Plain):
    """It dates what it decides half a second later than its message."""

    def decide(self) -> None:
        super().decide()
        for each in self.events:
            each["timestamp"] += 0.5


class TwoAnswers(Plain):
    """It acknowledges jobs that have failed before it answers."""

    def serve(self, endpoint: str) -> None:
        with zmq.Context() as context, context.socket(zmq.ROUTER) as socket:
            socket.bind(endpoint)
            first = True
            while True:
                peer, empty, data = socket.recv_multipart()
                reply = self.hello() if first else self.answer(data)
                socket.send_multipart([peer, empty, reply])
                if b'"COMPLETED_FAILED"' in data:
                    socket.send_multipart([peer, empty, self.take_reply()])
                first = False


class TwoParts(Plain):
    """It sends its answers in two parts."""

    def serve(self, endpoint: str) -> None:
        with zmq.Context() as context, context.socket(zmq.REP) as socket:
            socket.bind(endpoint)
            socket.recv()
            socket.send(self.hello())
            while True:
                socket.send_multipart([self.answer(socket.recv()), b""])


class Garbage(Plain):
    """It answers with bytes that are no message when a job has failed."""

    def answer(self, data: bytes) -> bytes:
        reply = super().answer(data)
        return b"\x17garbage" if b'"COMPLETED_FAILED"' in data else reply


class UnknownField(Plain):
    """It writes a field that the schema does not have."""

    def say(self, kind: str, **fields: Any) -> None:
        super().say(kind, **fields, **({"comment": "mine"} if kind == "ExecuteJobEvent" else {}))


class WrongFlags(Plain):
    """It says binary, and speaks JSON."""

    flags = 1


class UnknownFlags(Plain):
    """It says something that no document knows, which Batsim takes for JSON."""

    flags = 0x86


class Hangs(Plain):
    """It never comes back when a job fails."""

    def on_JobCompletedEvent(self, event: Event) -> None:  # noqa: N802
        super().on_JobCompletedEvent(event)
        if event["state"] == "COMPLETED_FAILED":
            time.sleep(3600)


class HangsAtOnce(Plain):
    """It never says hello."""

    def hello(self) -> bytes:
        time.sleep(3600)
        return b""


class Dies(Plain):
    """It leaves when an external event occurs."""

    def on_ExternalEventOccurredEvent(self, event: Event) -> None:  # noqa: N802
        sys.exit(3)


class KnowsAllEvents(Plain):
    """It fails on events that it does not know."""

    def answer(self, data: bytes) -> bytes:
        for each in json.loads(data.rstrip(b"\0"))["events"]:
            if not each["event_type"].startswith(("Simulation", "Job", "AllStaticJobs")):
                raise NotImplementedError(each["event_type"])
        return super().answer(data)


MISTAKES = {
    kind.__name__: kind for kind in list(globals().values()) if isinstance(kind, type) and issubclass(kind, Plain)
}

if __name__ == "__main__":
    MISTAKES[sys.argv[2] if len(sys.argv) > 2 else "Plain"]().serve(sys.argv[1])
