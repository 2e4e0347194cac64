"""A decision component in plain JSON, without batprotocol: first come, first served. It does all as it should."""

from __future__ import annotations

import json
import struct
from typing import Any

import zmq

__all__ = ["Event", "Plain"]

Event = dict[str, Any]


class Plain:
    """First come, first served."""

    features: tuple[str, ...] = ()
    flags = 2

    def __init__(self) -> None:
        self.free: list[int] = []
        self.size = 0
        self.queue: list[tuple[str, int]] = []
        self.running: dict[str, list[int]] = {}
        self.now = 0.0
        self.events: list[Event] = []

    # What is said

    def say(self, kind: str, **fields: Any) -> None:
        self.events.append({"timestamp": self.now, "event_type": kind, "event": fields})

    def execute(self, job: str, hosts: list[int]) -> None:
        placement = {
            "host_allocation": " ".join(map(str, sorted(hosts))),
            "executor_placement_type": "PredefinedExecutorPlacementStrategyWrapper",
            "executor_placement": {"strategy": "SpreadOverHostsFirst"},
        }
        self.say("ExecuteJobEvent", job_id=job, allocation=placement)

    def call(self, when: float, name: str = "call") -> None:
        self.say("CallMeLaterEvent", call_me_later_id=name, when_type="OneShot", when={"time": int(when)})

    def call_every(self, seconds: int) -> None:
        when = {"period": seconds, "mode_type": "Infinite", "mode": {}}
        self.say("CallMeLaterEvent", call_me_later_id="tick", when_type="Periodic", when=when)

    def hello(self) -> bytes:
        event = {
            "batprotocol_version": "0.1.0",
            "decision_component_name": "plain",
            "decision_component_version": "1",
            "decision_component_commit": "",
            "requested_simulation_features": dict.fromkeys(self.features, True),
        }
        self.say("EDCHelloEvent", **event)
        return struct.pack("<I", self.flags) + self.take_reply()

    def take_reply(self) -> bytes:
        reply = json.dumps({"now": self.now, "events": self.events}).encode() + b"\0"
        self.events = []
        return reply

    # What happens

    def answer(self, data: bytes) -> bytes:
        message = json.loads(data.rstrip(b"\0"))
        self.now = message["now"]
        for each in message["events"]:
            method = getattr(self, "on_" + each["event_type"], None)
            if method is not None:
                method(each["event"])
        if message["events"][-1]["event_type"] != "SimulationEndsEvent":
            self.decide()
        return self.take_reply()

    def on_SimulationBeginsEvent(self, event: Event) -> None:  # noqa: N802
        self.free = [host["id"] for host in event["computation_hosts"]]
        self.size = len(self.free)

    def on_JobSubmittedEvent(self, event: Event) -> None:  # noqa: N802
        size = event["job"]["resource_request"]
        if size <= self.size:
            self.queue.append((event["job_id"], size))
        else:
            self.say("RejectJobEvent", job_id=event["job_id"])

    def on_JobCompletedEvent(self, event: Event) -> None:  # noqa: N802
        self.free += self.running.pop(event["job_id"])

    def decide(self) -> None:
        while self.queue and self.queue[0][1] <= len(self.free):
            self.start(*self.queue.pop(0))

    def start(self, job: str, size: int) -> None:
        self.running[job] = self.free[:size]
        self.free = self.free[size:]
        self.execute(job, self.running[job])

    # The socket

    def serve(self, endpoint: str) -> None:
        with zmq.Context() as context, context.socket(zmq.REP) as socket:
            socket.bind(endpoint)
            socket.recv()
            socket.send(self.hello())
            while True:
                data = socket.recv()
                socket.send(self.answer(data))
                if b"SimulationEndsEvent" in data:
                    return
