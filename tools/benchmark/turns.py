"""Where the time of a turn goes: receive, decode, rules, handlers, rules of the reply, encode, send.

A peer in another process plays Batsim with the recorded messages of a simulation of delay jobs, over `ipc://`. It is
always some messages ahead, so nothing here is the time of waiting. All parts are timed in each turn, the clock's own
cost is taken off, and the figure is the mean of the best round, as turns differ by kind.
"""

from __future__ import annotations

import gc
import multiprocessing
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter_ns
from typing import Final, NamedTuple

# Run as a script, it measures the installed batprotocol, or without one the source tree.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent))

import zmq

from batprotocol._util.sockets import BoundChannel
from batprotocol.edc import Scheduler
from batprotocol.edc.commands.scheduler import load
from batprotocol.edc.scheduler import attend_to, hello_of
from batprotocol.edc.session import Session
from batprotocol.model import (
    DelayProfile,
    Event,
    JobSubmittedEvent,
    Message,
    SimulationBeginsEvent,
    SimulationEndsEvent,
)
from batprotocol.simulator import Platform, Simulator, StaticJob, Workload, WorkloadProfile
from batprotocol.wire import FORMATS, binary
from benchmark.tables import parser_for, table

__all__ = ["PARTS", "SCHEDULERS", "Budget", "delays", "main", "measured", "recorded"]

PARTS: Final = ("receive", "decode", "rules", "handlers", "rules of the reply", "encode", "send")
FCFS = f"{Path(__file__).resolve().parent.parent.parent / 'examples' / 'fcfs.py'}:FCFS"
_UNANSWERED = {SimulationBeginsEvent, JobSubmittedEvent}
UNDONE: Final = frozenset(["simulation.ends-early"])
"""The rule that no-op breaks on purpose: it leaves all jobs as they are."""
AHEAD = 100
"""How many messages the peer is ahead."""

_offering = 0
"""How long the rules of the reply took since the turn began, in nanoseconds."""


class NoOp(Scheduler):
    """Answers nothing, ever."""


class Budget(NamedTuple):
    """The mean times of the parts of a turn, in nanoseconds, in the order of `PARTS`."""

    parts: tuple[float, ...]

    @property
    def rules(self) -> float:
        """Both sides' rules together."""
        return self.parts[2] + self.parts[4]


SCHEDULERS: Final[dict[str, Callable[[], Scheduler]]] = {"no-op": NoOp, "FCFS": load(FCFS)}
"""The measured schedulers, by name."""


def delays(jobs: int) -> Workload:
    """Jobs of one host that come each second and take ten."""
    static = [StaticJob(f"{number}", float(number), 1, "delay") for number in range(jobs)]
    return Workload(static, {"delay": WorkloadProfile(DelayProfile(10.5))})


def recorded(scheduler: Scheduler, jobs: int | Workload) -> tuple[list[Message], list[Message]]:
    """The messages of Batsim to a scheduler, from that of SimulationBeginsEvent on, and the hello and the replies.

    Args:
        scheduler: the scheduler. The one that answers nothing gets the messages that FCFS gets, and leaves them
            without an answer.
        jobs: the jobs for 64 hosts, or the number of `delays`.
    """
    if isinstance(scheduler, NoOp):
        said = [message for message in recorded(SCHEDULERS["FCFS"](), jobs)[0] if _is_submission(message)]
        said.append(Message(said[-1].now, (SimulationEndsEvent(),)))
        return said, [hello_of(scheduler, ""), *(Message(message.now, ()) for message in said)]
    workload = delays(jobs) if isinstance(jobs, int) else jobs
    simulator = Simulator(Platform.homogeneous(64), [workload])
    session = Session(lambda text: hello_of(scheduler, text))
    session.hear_init("")
    attend, said, replies = attend_to(scheduler), [], [hello_of(scheduler, "")]
    message: Message | None = simulator.begin(replies[0])
    while message is not None:
        said.append(message)
        attend(session.hear(message))
        replies.append(session.say())
        message = simulator.turn(replies[-1])
    return said, replies


def _is_submission(message: Message) -> bool:
    return {type(event) for event in message.events} <= _UNANSWERED


def play(frames: Sequence[bytes], endpoint: str) -> None:
    """Batsim's side: the frames in order, some of them ahead of the answers."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.connect(endpoint)
        for number, frame in enumerate(frames):
            socket.send_multipart([b"", frame])
            if number >= AHEAD:
                socket.recv_multipart()
        for _ in frames[-AHEAD:]:
            socket.recv_multipart()


def _timed(judge: Callable[[Event], object]) -> Callable[[Event], None]:
    """A function that judges the events of a reply, and adds up the time of this."""

    def timed(event: Event) -> None:
        global _offering
        start = perf_counter_ns()
        judge(event)
        _offering += perf_counter_ns() - start

    return timed


def one_round(scheduler: Scheduler, said: Sequence[bytes], endpoint: str, format: str) -> Budget:
    """All turns of a simulation."""
    global _offering
    formats = FORMATS[format]
    session = Session(lambda text: hello_of(scheduler, text), format, intended=UNDONE)
    session.hear_init("")
    session.answer()
    attend = attend_to(scheduler)
    quiet = isinstance(scheduler, NoOp)
    channel = BoundChannel(endpoint)
    peer = multiprocessing.get_context("spawn").Process(target=play, args=(said, channel.endpoint))
    peer.start()
    clock, sums = perf_counter_ns, [0] * len(PARTS)
    own = _clocks_cost()
    gc.collect()
    gc.disable()
    try:
        for number in range(len(said)):
            _offering = offered = 0
            t0 = clock()
            frame = channel.receive()
            while frame is None:
                frame = channel.receive()
            t1 = clock()
            message = formats.decode(frame)
            t2 = clock()
            turn = session.hear(message)
            t3 = clock()
            reply = None if quiet else turn.reply  # which is made when it is asked for
            if reply is not None and reply._judge is not None:
                reply._judge = _timed(reply._judge)
            t4 = clock()
            attend(turn)
            t5 = clock()
            if reply is not None:
                offered = len(reply)
            t6 = clock()
            answer = session.say()
            t7 = clock()
            data = formats.encode(answer)
            t8 = clock()
            channel.send(data)
            t9 = clock()
            if number < AHEAD:  # the peer begins
                continue
            offering = _offering - offered * own
            handlers = t5 - t4 - own - offering - offered * 2 * own
            parts = (t1 - t0, t2 - t1, t3 - t2, handlers + own, offering + t7 - t6, t8 - t7, t9 - t8)
            for index, part in enumerate(parts):
                sums[index] += part - own
    except BaseException:
        peer.terminate()  # it waits for answers
        raise
    finally:
        gc.enable()
        peer.join()
        channel.close()
    turns = len(said) - AHEAD
    return Budget(tuple(total / turns for total in sums))


def _clocks_cost() -> int:
    """The cost of reading the clock, in nanoseconds."""
    samples = []
    for _ in range(1000):
        start = perf_counter_ns()
        samples.append(perf_counter_ns() - start)
    return sorted(samples)[500]


def measured(make: Callable[[], Scheduler], jobs: int, rounds: int, format: str = "binary") -> Budget:
    """The best round."""
    said = [FORMATS[format].encode(message) for message in recorded(make(), jobs)[0]]
    with tempfile.TemporaryDirectory() as folder:
        found = [one_round(make(), said, f"ipc://{folder}/{number}", format) for number in range(rounds)]
    return min(found, key=lambda budget: sum(budget.parts))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_for(__doc__, quick="2,000 jobs instead of 20,000")
    parser.add_argument("--engine", choices=binary.ENGINES, action="append", help="this one only (may be repeated)")
    given = parser.parse_args(arguments)
    rows = [["turn of", *PARTS, "all"]]
    for engine in given.engine or binary.ENGINES:
        binary.use_engine(engine)
        for name, make in SCHEDULERS.items():
            budget = measured(make, 2_000 if given.quick else 20_000, 3)
            costs = [f"{part / 1000:.2f}" for part in (*budget.parts, sum(budget.parts))]
            rows.append([f"{name}, {engine} engine", *costs])
    print(f"The cost of a turn, in µs:\n\n{table(rows, given.markdown)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
