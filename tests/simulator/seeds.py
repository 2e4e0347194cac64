"""Simulations from a seed: a platform, workloads, external events and a scheduler that decides at random.

The files are those that Batsim reads, so that `write` gives what the real one can be run on, too.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from batprotocol.edc import Scheduler
from batprotocol.errors import BuilderError, RuleViolation
from batprotocol.model import (
    DelayProfile,
    EDCRequestedSimulationFeatures,
    FinitePeriodNumber,
    Job,
    JobSubmittedEvent,
    Message,
    OneShot,
    Periodic,
    ProbeDataAccumulation,
)
from batprotocol.simulator import read_platform, simulate

WILD = 20
"""For so many turns anything is decided, then what is left is brought to an end."""

_HEAD = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
"""
_LATENCIES = ("0us", "1us", "15us", "33.3us", "1ms")
_BANDWIDTHS = ("1.25GBps", "125MBps", "37.5MBps", "400Mbps", "10MBps")
_SPEEDS = ("1Gf", "250Mf", "100Mf", "73.3Mf")
_WATTS = "95:120:200,90:110:150,5:5:5,60:60:60,70:70:70"


class Random(Scheduler):
    """Decides at random; what breaks a rule is not said."""

    features = EDCRequestedSimulationFeatures(
        dynamic_registration=True,
        profile_reuse=True,
        acknowledge_dynamic_jobs=True,
        forward_profiles_on_job_submission=True,
        forward_profiles_on_jobs_killed=True,
        forward_profiles_on_simulation_begins=True,
    )

    def __init__(self, seed: int, hosts: int, energy: bool) -> None:
        self.random = random.Random(seed)
        self.hosts = hosts
        self.energy = energy
        self.waiting: list[str] = []
        self.turns = 0
        self.wild_turns = WILD
        self.registered = 0

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        self.waiting.append(event.job_id)

    def decide(self) -> None:
        self.turns += 1
        if self.turns <= self.wild_turns:
            for _ in range(self.random.randrange(5)):
                with suppress(RuleViolation, BuilderError):
                    self.random.choice(self.DECISIONS)(self)
            self.tick()
            return
        if self.turns == self.wild_turns + 1:
            self.reply.add_finish_registration()
        for job_id in self.waiting:
            self.reply.add_reject_job(job_id)
        self.waiting.clear()

    def tick(self) -> None:
        """Go on, though nothing happens."""
        self.reply.add_call_me_later("tick", OneShot(int(self.now) + 1))

    def some_hosts(self) -> list[int]:
        return sorted(self.random.sample(range(self.hosts), self.random.randint(1, self.hosts)))

    def some_delay(self) -> float:
        return self.random.uniform(0.1, 5.0)

    def some_moment(self) -> OneShot:
        return OneShot(int(self.now) + self.random.randrange(4))

    def execute(self) -> None:
        if self.waiting:
            job_id = self.random.choice(self.waiting)
            self.reply.add_execute_job(job_id, self.some_hosts())
            self.waiting.remove(job_id)

    def kill(self) -> None:
        running = [interval.data for interval in self.conversation.usage]
        if running:
            self.reply.add_kill_jobs([self.random.choice(running)])

    def register(self) -> None:
        self.registered += 1
        name = f"dynamic!{self.registered}"
        self.reply.add_register_profile(name, DelayProfile(self.some_delay()))
        self.reply.add_register_job(name, Job(resource_request=1, profile_id=name))

    def call(self) -> None:
        self.reply.add_call_me_later("once", self.some_moment())

    def call_periodically(self) -> None:
        self.reply.add_call_me_later(f"every{self.random.randrange(2)}", self.periodic())

    def observe(self) -> None:
        if self.energy:
            self.reply.add_create_probe(
                f"probe{self.random.randrange(2)}",
                trigger=self.periodic(),
                hosts=self.some_hosts(),
                accumulation=ProbeDataAccumulation(),
            )

    def periodic(self) -> Periodic:
        return Periodic(self.random.choice((1, 2, 4)), mode=FinitePeriodNumber(self.random.randint(1, 4)))

    def stop(self) -> None:
        self.reply.add_stop_call_me_later(f"every{self.random.randrange(2)}")
        self.reply.add_stop_probe(f"probe{self.random.randrange(2)}")

    def change(self) -> None:
        self.reply.add_change_hosts_pstate(self.some_hosts(), self.random.randrange(2))

    def switch_off(self) -> None:
        self.reply.add_turn_on_off_hosts(self.some_hosts(), 2)

    def switch_on(self) -> None:
        self.reply.add_turn_on_off_hosts(self.some_hosts(), 0)

    def think(self) -> None:
        self.reply.set_current_time(self.reply.current_time + self.random.random())

    DECISIONS: ClassVar[tuple[Callable[[Random], None], ...]] = (
        execute,
        execute,
        execute,
        kill,
        register,
        call,
        call_periodically,
        observe,
        stop,
        change,
        switch_off,
        switch_on,
        think,
    )


class Generated(NamedTuple):
    """The files of a simulation, and how it is run."""

    platform: Path
    roles: list[tuple[str, str]]
    workloads: list[Path]
    events: list[Path]
    hosts: int
    energy: bool
    seed: int

    def scheduler(self) -> Random:
        return Random(self.seed, self.hosts, self.energy)


def write(seed: int, folder: Path) -> Generated:
    """Write the files of the simulation of this seed."""
    chance = random.Random(seed)
    energy, count = chance.random() < 0.5, chance.randint(2, 7)
    cluster = chance.random() < 0.4
    folder.mkdir(parents=True, exist_ok=True)
    platform = folder / "platform.xml"
    inside = _cluster(chance, count, energy) if cluster else _hosts(chance, count, energy)
    platform.write_text(f'{_HEAD}<zone id="z" routing="Full">\n{inside}</zone></platform>\n')
    workloads = []
    for number in range(chance.randint(1, 2)):
        workloads.append(folder / f"workload{number}.json")
        workloads[-1].write_text(json.dumps(_workload(chance, folder, number, count), indent=1))
    events = []
    if chance.random() < 0.4:
        events.append(folder / "events.txt")
        times = sorted(chance.choice((float(chance.randrange(20)), chance.uniform(0, 20))) for _ in range(6))
        lines = (json.dumps({"type": "generic", "timestamp": time, "data": f"at {time}"}) for time in times)
        events[0].write_text("".join(f"{line}\n" for line in lines))
    return Generated(platform, [("a0", "master")] if cluster else [], workloads, events, count, energy, seed)


def played(given: Generated, folder: Path) -> tuple[list[Message], list[Message]]:
    """The messages of a simulation, and the replies; files go into a folder."""
    messages, replies, _ = outcome(given, folder, given.scheduler())
    return messages, replies


def outcome(
    given: Generated, folder: Path, scheduler: Random
) -> tuple[list[Message], list[Message], RuleViolation | None]:
    """The messages of a simulation, the replies, and what Batsim would have refused at its end."""
    messages: list[Message] = []
    replies: list[Message] = []

    def on_turn(message: Message, reply: Message) -> None:
        messages.append(message)
        replies.append(reply)

    try:
        simulate(
            read_platform(given.platform, roles=given.roles, energy=given.energy),
            given.workloads,
            scheduler,
            external_events=given.events,
            energy=given.energy,
            output=f"{folder}/",
            on_turn=on_turn,
        )
    except RuleViolation as violation:  # of what only the simulator knows
        return messages, replies, violation
    return messages, replies, None


def files_of(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


def summed_up(messages: list[Message], files: dict[str, str], folder: str = "") -> str:
    """A number that nothing else has. The first message, which names files, and the folder do not count."""
    text = repr([message.to_json() for message in messages[1:]]) + repr(sorted(files.items()))
    text = text.replace(folder, "") if folder else text
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def come_to(given: Generated, folder: Path) -> str:
    """The number of what a simulation says and writes; files go into a folder."""
    (folder / "out").mkdir()
    messages, _ = played(given, folder / "out")
    return summed_up(messages, files_of(folder / "out"), str(folder))


def _properties(energy: bool) -> str:
    watts = f'<prop id="wattage_per_state" value="{_WATTS}"/>' if energy else ""
    return f'<prop id="sleep_pstates" value="2:3:4"/>{watts}'


def _speeds(chance: random.Random) -> str:
    return f"{chance.choice(_SPEEDS)},{chance.choice(_SPEEDS)},1f,{chance.choice(('0.5', '0.1'))}f,0.25f"


def _hosts(chance: random.Random, count: int, energy: bool) -> str:
    """Hosts with a link each, and a route for each pair; some lead over a link of all."""
    names = ["master_host", *(f"n{number}" for number in range(count))]
    shared = _properties(energy)
    lines = [
        f'<host id="{name}" speed="{_speeds(chance)}" core="{chance.choice((1, 2, 4))}">{shared}</host>'
        for name in names
    ]
    for name in ("core", *names):
        kind = chance.choice(("", "", ' sharing_policy="FATPIPE"'))
        latency, bandwidth = chance.choice(_LATENCIES), chance.choice(_BANDWIDTHS)
        lines.append(f'<link id="l_{name}" bandwidth="{bandwidth}" latency="{latency}"{kind}/>')
    if chance.random() < 0.5:
        lines.append('<link id="loop" bandwidth="500MBps" latency="10us" sharing_policy="FATPIPE"/>')
        lines += [f'<route src="{name}" dst="{name}"><link_ctn id="loop"/></route>' for name in names]
    for place, name in enumerate(names):
        for other in names[place + 1 :]:
            between = ["l_core"] if chance.random() < 0.5 else []
            way = "".join(f'<link_ctn id="{link}"/>' for link in (f"l_{name}", *between, f"l_{other}"))
            lines.append(f'<route src="{name}" dst="{other}">{way}</route>')
    return "".join(f"{line}\n" for line in lines)


def _cluster(chance: random.Random, count: int, energy: bool) -> str:
    """A cluster, of which the first host is the master."""
    backbone = f' bb_bw="{chance.choice(_BANDWIDTHS)}" bb_lat="{chance.choice(_LATENCIES)}"'
    loopback = ' loopback_bw="50MBps" loopback_lat="1us"' if chance.random() < 0.5 else ""
    return (
        f'<cluster id="c" prefix="a" suffix="" radical="0-{count}" speed="{_speeds(chance)}" core="2" '
        f'bw="{chance.choice(_BANDWIDTHS)}" lat="{chance.choice(_LATENCIES)}"{backbone}{loopback}>'
        f"{_properties(energy)}</cluster>\n"
    )


def _workload(chance: random.Random, folder: Path, number: int, hosts: int) -> dict[str, Any]:
    profiles: dict[str, Any] = {
        "d": {"type": "DelayProfile", "delay": chance.choice((1, 2.5, chance.uniform(0.1, 9)))},
        "h": {
            "type": "ParallelTaskHomogeneousProfile",
            "cpu": chance.uniform(1e6, 1e9),
            "com": chance.choice((0, 1e5, chance.uniform(1e5, 1e8))),
            "generation_strategy": chance.choice(("DefinedAmountsUsedForEachValue", "SpreadUniformly")),
        },
        "s": {"type": "SequentialCompositionProfile", "seq": ["d", "h"], "repeat": chance.randint(1, 3)},
        "f": {"type": "DelayProfile", "delay": 1.5, "ret": 7},
        "u": {"type": "TraceReplayProfile", "trace_type": "FractionalComputation", "filename": f"usage{number}.txt"},
    }
    (folder / f"usage{number}.txt").write_text(f"usage{number}-0.txt\n")
    lines = (f"0 m_usage {chance.random():.2f} {chance.uniform(1e6, 5e8):.6g}\n" for _ in range(3))
    (folder / f"usage{number}-0.txt").write_text("".join(lines))
    jobs = []
    for place in range(chance.randint(3, 10)):
        time = chance.choice((chance.randrange(12), chance.uniform(0, 12)))
        job: dict[str, Any] = {"id": str(place), "subtime": time, "res": chance.randint(1, hosts)}
        job["profile"] = chance.choice(list(profiles))
        if chance.random() < 0.5:
            job["walltime"] = chance.choice((2, 5, chance.uniform(0.5, 9)))
        jobs.append(job)
    jobs.sort(key=lambda job: (float(job["subtime"]), f"w{number}!{job['id']}"))
    return {"nb_res": hosts, "jobs": jobs, "profiles": profiles}
