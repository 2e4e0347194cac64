"""The embedded simulator as a Batsim 4.2.1: when a scheduler replies what was recorded, it is told what was recorded.

Times may differ by two messages of Batsim's parts among themselves, which take 0.6 ms each on the slowest network that
was recorded: of these, Batsim 4 sends some more than today's, and some fewer. The first message tells of the platform,
whose hosts may have other names.
"""

from __future__ import annotations

import json
from threading import Event, Thread
from typing import Any

import pytest
import zmq
from old_inputs import SIMULATED
from old_runs import old_run

from batprotocol.legacy.bridge import OldScheduler
from batprotocol.simulator import simulate

WITHOUT_ENGINE = True


class Replying(Thread):
    """A scheduler that replies what was recorded, whatever it is told, and keeps that."""

    def __init__(self, replies: list[bytes]) -> None:
        super().__init__(daemon=True)
        self.replies = replies
        self.heard: list[bytes] = []
        self.ended = Event()
        self.socket = zmq.Context.instance().socket(zmq.REP)
        self.endpoint = f"tcp://127.0.0.1:{self.socket.bind_to_random_port('tcp://127.0.0.1')}"

    def run(self) -> None:
        for reply in self.replies:
            while not self.socket.poll(100):
                if self.ended.is_set():
                    return
            self.heard.append(self.socket.recv())
            self.socket.send(reply)


def told(frames: list[bytes]) -> tuple[list[float], list[Any]]:
    """What these messages say: the events, and when each was told."""
    messages = [json.loads(frame, parse_float=lambda digits: round(float(digits), 6)) for frame in frames]
    events = [(message["now"], event) for message in messages for event in message["events"]]
    times = [now for now, event in events]
    return times, [(event["type"], event["data"]) for _, event in events if event["type"] != "SIMULATION_BEGINS"]


@pytest.mark.parametrize("name", SIMULATED)
def test_it_says_what_batsim_4_said(name: str) -> None:
    run, inputs = old_run(name), SIMULATED[name]
    scheduler = Replying([data for sender, data in run.messages if sender == "s2b"])
    scheduler.start()
    with OldScheduler(scheduler.endpoint, run.version, inputs.options, timeout=60) as end:
        assert simulate(inputs.platform, inputs.workload, end, energy=inputs.energy).is_complete
    scheduler.ended.set()
    scheduler.join()
    scheduler.socket.close()
    times, events = told(scheduler.heard)
    expected_times, expected_events = told([data for sender, data in run.messages if sender == "b2s"])
    assert events == expected_events
    assert times == pytest.approx(expected_times, abs=1.21e-3)


def test_there_are_such_runs() -> None:
    assert {"fillerSched__test_delays__default", "late__test_delays__0.5"} <= SIMULATED.keys()
