"""What a bridge costs, in CPU time for each turn, against a program that only forwards frames between such sockets."""

from __future__ import annotations

import multiprocessing as mp
import time
from statistics import median

import pytest
import zmq

from batprotocol import MessageBuilder, model
from batprotocol.legacy.bridge import NewBatsim, OldScheduler, drive
from batprotocol.wire import frames

WITHOUT_ENGINE = True
pytestmark = pytest.mark.minutes

TURNS = 2000
MOST = 2.5
"""How many times as much a turn may take."""


def turns() -> list[bytes]:
    """What Batsim says: a job is submitted, and the one before has ended."""
    said = []
    for number in range(TURNS):
        builder = MessageBuilder(float(number))
        if number:
            builder.add_job_completed(f"w0!{number - 1}", model.FinalJobState.COMPLETED_SUCCESSFULLY)
        job = model.Job(profile_id="w0!p", resource_request=4, walltime=100.0)
        builder.add_job_submitted(f"w0!{number}", job, float(number))
        said.append(builder.finish_message().to_binary())
    builder = MessageBuilder(float(TURNS))
    builder.add_simulation_ends()
    return [*said, builder.finish_message().to_binary()]


def scheduler(port: mp.SimpleQueue[int], rounds: int) -> None:
    """It executes each job, and takes no time to think of it."""
    socket = zmq.Context().socket(zmq.REP)
    port.put(socket.bind_to_random_port("tcp://127.0.0.1"))
    number = 0
    for _ in range(rounds):
        if b"JOB_SUBMITTED" not in socket.recv():
            socket.send(b'{"now":0.0,"events":[]}')
            continue
        event = b'{"timestamp":%d.0,"type":"EXECUTE_JOB","data":{"job_id":"w0!%d","alloc":"0-3"}}' % (number, number)
        socket.send(b'{"now":%d.0,"events":[%s]}' % (number, event))
        number += 1


def forward(port: mp.SimpleQueue[object], to: int, rounds: int) -> None:
    context = zmq.Context()
    one, other = context.socket(zmq.REP), context.socket(zmq.REQ)
    port.put(one.bind_to_random_port("tcp://127.0.0.1"))
    other.connect(f"tcp://127.0.0.1:{to}")
    began = time.process_time()
    for _ in range(rounds):
        other.send(one.recv())
        one.send(other.recv())
    port.put(time.process_time() - began)


def bridge(port: mp.SimpleQueue[object], to: int, rounds: int) -> None:
    with NewBatsim("tcp://127.0.0.1:*") as one, OldScheduler(f"tcp://127.0.0.1:{to}", "4.2") as other:
        port.put(int(one.endpoint.rpartition(":")[2]))
        began: list[float] = []
        drive(one, other, lambda message, reply: began.append(time.process_time()) if not began else None)
        port.put(time.process_time() - began[0])


def measured(bridged: bool, said: list[bytes]) -> float:
    begins = MessageBuilder()
    host = model.Host(id=0, name="a", computation_speed=[1.0], state=model.HostState.IDLE)
    begins.add_simulation_begins(batsim_version="5", computation_hosts=[host])
    first = [frames.encode_init(""), begins.finish_message().to_binary()] if bridged else []
    context = mp.get_context("spawn")
    ports: tuple[mp.SimpleQueue[int], mp.SimpleQueue[float]] = context.SimpleQueue(), context.SimpleQueue()
    rounds = len(said) + bridged
    started = [context.Process(target=scheduler, args=(ports[0], rounds), daemon=True)]
    started[0].start()
    work = bridge if bridged else forward
    started.append(context.Process(target=work, args=(ports[1], ports[0].get(), len(said)), daemon=True))
    started[1].start()
    socket = zmq.Context().socket(zmq.REQ)
    socket.connect(f"tcp://127.0.0.1:{int(ports[1].get())}")
    for frame in [*first, *said]:
        socket.send(frame)
        socket.recv()
    spent = ports[1].get()
    for process in started:
        process.join(30)
    return spent


def test_a_turn_of_a_bridge_costs_less_than_two_and_a_half_of_a_forwarder() -> None:
    """In turns, so that whatever else the machine does slows both."""
    said = turns()
    pairs = [(measured(True, said), measured(False, said)) for _ in range(5)]
    assert median(bridged / bare for bridged, bare in pairs) <= MOST, pairs
