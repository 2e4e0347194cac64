"""What goes on for minutes or for ever, in a process of its own, which signals are to end.

`python endless.py SIGNAL NAME...` does each of them, and sends itself the signal after some tenths of a second. Its
handler raises, as that of SIGINT does. What was interrupted is told on standard output.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

from batprotocol import MessageBuilder, model
from batprotocol import workloads as inputs
from batprotocol.conversation import Conversation
from batprotocol.edc import Scheduler
from batprotocol.simulator import Platform, StaticJob, Workload, simulate
from batprotocol.simulator.actions import KINDS
from batprotocol.wire import dialect

_AFTER = 0.2

Profiles = dict[str, inputs.WorkloadProfile]


class Interrupted(BaseException):
    """What the handler raises."""


class First(Scheduler):
    """Executes each job on the first hosts."""

    def on_job_submitted(self, event: model.JobSubmittedEvent) -> None:
        self.reply.add_execute_job(event.job_id, f"0-{event.job.resource_request - 1}")


def played(
    profile: model.Profile, profiles: dict[str, model.Profile], hosts: int = 1, jobs: int = 1, **how: Any
) -> None:
    """Simulate so many jobs with this profile on all hosts."""
    workload = Workload([StaticJob(str(n), n / 1000, hosts, profile) for n in range(jobs)], profiles=profiles)
    simulate(Platform.homogeneous(hosts), workload, First(), **how)


def repeated(part: model.Profile, **how: Any) -> None:
    """As often as the file formats allow."""
    sequence = model.SequentialCompositionProfile(profile_ids=["d"], repetition_count=2**31 - 1)
    played(sequence, {"d": part}, **how)


def doubled(levels: int, **how: Any) -> None:
    """Each level does the one below it twice."""
    profiles: dict[str, model.Profile] = {"l0": model.DelayProfile(1.0)}
    for level in range(1, levels + 1):
        profiles[f"l{level}"] = model.SequentialCompositionProfile(profile_ids=[f"l{level - 1}"] * 2)
    played(profiles[f"l{levels}"], profiles, **how)


def nothing(**how: Any) -> None:
    """Sequences of nothing, in which the clock does not even move."""
    profiles: dict[str, model.Profile] = {"l0": model.SequentialCompositionProfile(profile_ids=[])}
    for level in range(1, 60):
        profiles[f"l{level}"] = model.SequentialCompositionProfile(profile_ids=[f"l{level - 1}"] * 2)
    played(profiles["l59"], profiles, **how)


def raised(kind: str) -> Callable[[], object]:
    """Work grows for 10^13 rounds, as a FATPIPE loses hardly anything in each, and a wide link is used, too."""
    actions, demand = KINDS[kind]
    made = actions([1.0], [1.0], False)
    fast, slow, wide = made.add_link(1e10, True), made.add_link(1e3, False), made.add_link(1e300, False)
    made.work(demand({fast: (1e-3,), slow: (1e3,)}, {}, math.inf, 0.0), 1.0)
    made.work(demand({fast: (1.0,), wide: (1.0,)}, {}, math.inf, 0.0), 1.0)
    return partial(made.settle)


def judged() -> Callable[[], object]:
    """A message that holds the same event again and again, whose profile is a long list."""
    conversation, mine, batsim = Conversation("protocol"), MessageBuilder(), MessageBuilder()
    conversation.begin("")
    mine.add_edc_hello("me", "1", features=model.EDCRequestedSimulationFeatures(dynamic_registration=True))
    conversation.hello(mine.finish_message())
    batsim.add_simulation_begins(batsim_version="5", computation_hosts=[])
    conversation.receive(batsim.finish_message())
    job = model.RegisterJobEvent(timestamp=0.0, job_id="dyn!1", job=model.Job(resource_request=1, profile_id="dyn!s"))
    profiles = [(f"dyn!{n}", model.DelayProfile(1.0)) for n in range(100_000)]
    profiles.append(("dyn!s", model.SequentialCompositionProfile(profile_ids=[name for name, _ in profiles])))
    registered = [
        model.RegisterProfileEvent(timestamp=0.0, profile=model.ProfileAndId(*each, None)) for each in profiles
    ]
    return partial(conversation.feed, model.Message(0.0, (*registered, *[job] * 100_000)))


def read() -> Callable[[], object]:
    """JSON that only the dialect takes, in a great many values."""
    text = b"{" + b"'x':[{},[]," + b"[0x1,'\\x41']," * 1_000_000 + b"0]}"
    return partial(dialect.read, text, False, [])


ENDLESS: dict[str, Callable[[], Callable[[], object]]] = {
    "repeated": lambda: partial(repeated, model.DelayProfile(1.0)),
    "repeated, corrected": lambda: partial(repeated, model.DelayProfile(1.0), corrected=True),
    "repeated tasks": lambda: partial(repeated, model.ParallelTaskHomogeneousProfile(computation_amount=1e9)),
    "repeated, hardly any time": lambda: partial(repeated, model.DelayProfile(1e-300)),
    "doubled": lambda: partial(doubled, 60),
    "doubled, by the schema": lambda: partial(doubled, 60, rules="protocol"),
    "nothing": lambda: nothing,
    "nothing side by side": lambda: partial(
        repeated, model.ForkJoinCompositionProfile(profile_ids=[]), rules="protocol"
    ),
    "everybody to everybody": lambda: partial(
        played, model.ParallelTaskHomogeneousProfile(computation_amount=1.0, communication_amount=1.0), {}, hosts=20_000
    ),
    "all on one host": lambda: partial(
        played, model.ParallelTaskHomogeneousProfile(computation_amount=1e18), {}, jobs=100_000, energy=False
    ),
    **{f"raised again and again, {kind}": partial(raised, kind) for kind in KINDS},
    "judged": judged,
    "read": read,
}


def interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted


def main(number: int, names: list[str]) -> None:
    """Do them, each until the signal comes."""
    warnings.simplefilter("ignore")
    signal.signal(number, interrupt)
    for name in names:
        work = ENDLESS[name]()
        # From another thread: it gets its turn only if this one lets it.
        timer = threading.Timer(_AFTER, os.kill, (os.getpid(), number))
        timer.start()
        try:
            work()
            print(f"{name}: came to its end", flush=True)
            timer.cancel()
        except Interrupted:
            print(f"{name}: interrupted", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
