"""Simulations from a seed that go to the ends: times from 1e-9 to 1e9 s, up to 500 jobs, equal walltimes, FATPIPE
loopbacks, hosts that begin in any power state, networks of all kinds.

The files are those that Batsim reads. As a program, it prints what simulations come to, one a line, so that two
builds can be compared. Rounds of sharing that Batsim walks for hours are walked here, too, unless FATPIPEs alone are
shared (`actions/rounds.py`): what takes more than 30 s is given up.

    python tests/simulator/extremes.py digests 0 5000 > compiled.txt
    python tests/simulator/extremes.py runs 0 5000    # the arguments of Batsim for each, and what is drawn how often
"""

from __future__ import annotations

import json
import logging
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a program, too

from extreme_platforms import MadePlatform
from seeds import Generated, Random, come_to, outcome

from batprotocol.conversation import HostPower
from batprotocol.model import (
    DelayProfile,
    FinitePeriodNumber,
    Job,
    JobSubmittedEvent,
    OneShot,
    ParallelTaskHomogeneousProfile,
    ParallelTaskProfile,
    Periodic,
    PredefinedExecutorPlacementStrategy,
    Profile,
    ProfileAllocationPlacement,
    SequentialCompositionProfile,
    SimulationBeginsEvent,
    TimeUnit,
    TraceReplayProfile,
    TraceType,
    format_hosts,
)

_LONG: Final = 30
"""Seconds after which the program gives a simulation up."""
_SCALES: Final = {
    "tiny": (1e-9, 1e-6, 1e-5, 1e-4, 1e-3, 0.01),
    "usual": (0.1, 1 / 3, 1.0, 2.7, 5.0, 10.0, 33.333),
    "long": (1.0, 1e3, 5010.0, 1e5, 1e6),
    "huge": (1e5, 1e6, 12345678.9, 1e8, 1e9),
    "all": (1e-9, 1e-4, 0.5, 1.0, 10.0, 1e3, 1e6, 1e9),
}
"""Seconds that a simulation is made of."""
_MANY: Final = (1, 1, 2, 5, 10, 20, 30, 60, 200, 500)


class Wild(Random):
    """Decides at random in the time of the simulation. It says nothing that Batsim refuses.

    What breaks a rule that the conversation checks is not said; for what only Batsim knows, it keeps away from hosts
    whose state it cannot know, from kills of usage traces, and from changes that may cross the report of a switch.
    """

    def __init__(self, seed: int, hosts: int, energy: bool, times: tuple[float, ...], turns: int, trace: Path) -> None:
        super().__init__(seed, hosts, energy)
        self.times = times
        self.wild_turns = turns
        self.trace = trace
        # Batsim has a table of the shortest periods in the longest one: periods differ by 4 at most.
        unit = TimeUnit.Millisecond if max(times) <= 1000 and self.random.random() < 0.5 else TimeUnit.Second
        self.period = self.random.choice((1, 5, 60)), unit
        self.known: dict[str, Profile] = {}
        self.jobs: dict[str, Job] = {}
        self.storages: dict[str, int] = {}
        self.drawn: Counter[str] = Counter()

    def on_simulation_begins(self, event: SimulationBeginsEvent) -> None:
        self.known = {each.id: each.profile for each in event.profiles or ()}
        self.storages = {host.name: host.id for host in event.storage_hosts or ()}

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        super().on_job_submitted(event)
        self.jobs[event.job_id] = event.job

    # Choices

    def some_time(self) -> tuple[int, TimeUnit]:
        """A time to come: in milliseconds, where they are short."""
        time = self.random.choice(self.times)
        if time < 1:
            return max(1, round(time * 1000)), TimeUnit.Millisecond
        return int(time), TimeUnit.Second

    def some_moment(self) -> OneShot:
        ahead, unit = self.some_time()
        return OneShot(int(self.now / (1, 1e-3)[unit]) + ahead, unit)

    def some_delay(self) -> float:
        return self.random.choice(self.times)

    def some_of(self, hosts: list[int], most: int = 3) -> list[int]:
        few = self.random.choice((1, 2, most, len(hosts)))
        return sorted(self.random.sample(hosts, min(few, len(hosts))))

    def some_hosts(self) -> list[int]:
        return self.some_of(list(range(self.hosts)))

    def hosts_that(self, *powers: HostPower, idle: bool = True, sure: bool = True) -> list[int]:
        """The hosts in these states, as far as they are known for sure."""
        busy = {host for interval in self.conversation.usage for host in range(int(interval.begin), int(interval.end))}
        records = self.conversation.hosts
        return [
            host
            for host in range(self.hosts)
            if records[host].power in powers
            and (records[host].other < 0 or not sure)
            and (host not in busy or not idle)
        ]

    def leaves(self, profile_id: str) -> list[str]:
        profile = self.known[profile_id]
        if not isinstance(profile, SequentialCompositionProfile):
            return [profile_id]
        return [leaf for part in profile.profile_ids for leaf in self.leaves(part)]

    def replays(self, job_id: str) -> bool:
        parts = self.leaves(self.jobs[job_id].profile_id)
        return any(isinstance(self.known[part], TraceReplayProfile) for part in parts)

    # Decisions

    def tick(self) -> None:
        self.reply.add_call_me_later("tick", self.some_moment())

    def execute(self) -> None:
        for _ in range(self.random.choice((1, 1, 3, 8))):
            if self.waiting:
                self.execute_one(self.random.choice(self.waiting))

    def execute_one(self, job_id: str) -> None:
        random, job = self.random, self.jobs[job_id]
        computes = [
            host
            for host in self.hosts_that(HostPower.ON, idle=False)
            if self.conversation.hosts[host].kind(self.conversation.hosts[host].pstate) == "computation"
        ]
        parts = {part: self.known[part] for part in self.leaves(job.profile_id)}
        traces = self.replays(job_id)
        rigid = any(isinstance(each, ParallelTaskProfile) for each in parts.values())
        size = job.resource_request
        if len(computes) < (size if traces or rigid else 1):
            return
        hosts = sorted(random.sample(computes, size)) if traces or rigid else self.some_of(computes)
        given: dict[str, Any] = {}
        if not traces and random.random() < 0.4:
            fill = PredefinedExecutorPlacementStrategy.FillOneHostCoresFirst
            places = random.sample(range(len(hosts)), size) if rigid else random.choices(range(len(hosts)), k=size)
            given["placement"] = random.choice((fill, places)) if not rigid else places
            self.drawn["placement: a mapping" if given["placement"] is places else "placement: cores first"] += 1
        free = [part for part, each in parts.items() if isinstance(each, ParallelTaskHomogeneousProfile)]
        if free and len(parts) > 1 and random.random() < 0.4:
            others = self.some_of(computes)
            given["profile_overrides"] = [ProfileAllocationPlacement(random.choice(free), format_hosts(others))]
            self.drawn["placement: an override"] += 1
        if self.storages and random.random() < 0.3:
            given["storage_placement"] = dict.fromkeys(self.storages, random.choice(list(self.storages.values())))
            self.drawn["placement: of storages"] += 1
        self.reply.add_execute_job(job_id, hosts, **given)
        self.waiting.remove(job_id)
        for part in parts.values():
            self.drawn[f"executed: {type(part).__name__}"] += 1
        if job.profile_id.rpartition("!")[2].startswith("x"):
            self.drawn["executed: a sequence with a part that cannot be simulated, and is not reached"] += 1

    def kill(self) -> None:
        running = [job_id for job_id in self.conversation.killable if not self.replays(job_id)]
        if running:
            self.reply.add_kill_jobs(self.random.sample(running, min(len(running), self.random.choice((1, 1, 3)))))
            self.drawn["kill"] += 1

    def register(self) -> None:
        self.registered += 1
        workload = self.random.choice(("dynamic", "w0"))
        name = f"{workload}!r{self.registered}"
        kind = self.random.choice(("delay", "task", "trace", "sequence", "known"))
        one: Profile = DelayProfile(self.some_delay())
        size = 1
        if kind == "trace":
            one = TraceReplayProfile(trace_type=TraceType.FractionalComputation, filename=str(self.trace))
        elif kind == "task":
            size = self.random.randint(1, self.hosts)
            one = ParallelTaskHomogeneousProfile(self.random.choice((1.0, 1e7)), self.random.choice((0.0, 1e5)))
        elif kind == "sequence":
            parts = [name for name, each in self.known.items() if isinstance(each, DelayProfile | TraceReplayProfile)]
            parts = [name for name in parts if not name.endswith("!u2")] or [""]
            one = SequentialCompositionProfile(repetition_count=2, profile_ids=self.random.choices(parts, k=2))
        profile = name
        if kind == "known":
            delays = [name for name, each in self.known.items() if isinstance(each, DelayProfile)]
            profile = self.random.choice(delays) if delays else ""
        else:
            self.reply.add_register_profile(name, one)
            self.known[name] = one
        walltime = self.random.choice((None, None, self.some_delay()))
        self.reply.add_register_job(name, Job(resource_request=size, profile_id=profile, walltime=walltime))
        self.drawn[f"registered: {kind}"] += 1

    def observe(self) -> None:
        if self.energy:
            super().observe()
            self.drawn["probe"] += 1

    def periodic(self) -> Periodic:
        period, unit = self.period
        count = FinitePeriodNumber(self.random.randint(1, 4))
        return Periodic(period * self.random.choice((1, 2, 4)), time_unit=unit, mode=count)

    def call_periodically(self) -> None:
        super().call_periodically()
        self.drawn["periodic call"] += 1

    def stop(self) -> None:
        number = self.random.randrange(2)
        runs = f"every{number}" in self.conversation.calls
        self.reply.add_stop_call_me_later(f"every{number}")
        self.drawn[f"stop: a call that {'runs' if runs else 'does not run'}"] += 1
        name = self.random.choice((f"probe{number}", "nothing"))
        runs = name in self.conversation.probes
        self.reply.add_stop_probe(name)
        self.drawn[f"stop: a probe that {'runs' if runs else 'does not run'}"] += 1

    def change(self) -> None:
        hosts = self.hosts_that(HostPower.ON, HostPower.ASLEEP, idle=False, sure=False)
        if hosts:
            self.reply.add_change_hosts_pstate(self.some_of(hosts), self.random.randrange(2))
            self.drawn["power state: a change"] += 1

    def change_in_a_switch(self) -> None:
        """One change for a host that switches alone: the switch then ends at once."""
        hosts = self.hosts_that(HostPower.ON)
        if hosts:
            host = self.random.choice(hosts)
            self.reply.add_turn_on_off_hosts([host], self.random.choice((2, 2, 5)))
            self.reply.add_change_hosts_pstate([host], self.random.randrange(2))
            self.drawn["power state: a change in a switch"] += 1

    def switch_off(self) -> None:
        hosts = self.hosts_that(HostPower.ON)
        if hosts:
            self.reply.add_turn_on_off_hosts(self.some_of(hosts), 2)
            self.drawn["power state: off"] += 1

    def switch_on(self) -> None:
        hosts = self.hosts_that(HostPower.ASLEEP)
        if hosts:
            self.reply.add_turn_on_off_hosts(self.some_of(hosts), self.random.randrange(2))
            self.drawn["power state: on"] += 1

    def think(self) -> None:
        self.reply.set_current_time(self.reply.current_time + self.random.choice(self.times) * self.random.random())

    DECISIONS: ClassVar[tuple[Callable[[Any], None], ...]] = (
        *(execute,) * 8,
        kill,
        register,
        register,
        Random.call,
        call_periodically,
        observe,
        stop,
        change,
        change_in_a_switch,
        switch_off,
        switch_on,
        think,
    )


class Extreme(Generated):
    """A simulation that goes to the ends."""

    def scheduler(self) -> Wild:
        chance = random.Random(self.seed)
        trace = self.workloads[0].parent / "registered.txt"
        return Wild(self.seed, self.hosts, self.energy, _times(chance), chance.choice((10, 30, 100)), trace)


def _times(chance: random.Random) -> tuple[float, ...]:
    """The first choice of a seed, for the files and the scheduler."""
    return chance.choice(list(_SCALES.values()))


def write(seed: int, folder: Path, drawn: Counter[str] | None = None) -> Extreme:
    """Write the files of the simulation of this seed, and count what is drawn."""
    times, chance = _times(random.Random(seed)), random.Random(f"files of {seed}")
    folder.mkdir(parents=True, exist_ok=True)
    drawn = Counter() if drawn is None else drawn
    drawn.update(f"times of {time:g} s" for time in {min(times), max(times)})
    made = MadePlatform(chance, drawn)
    platform = folder / "platform.xml"
    platform.write_text(made.text())
    workloads = []
    for number in range(chance.choice((1, 1, 1, 2, 3))):
        workloads.append(folder / f"workload{number}.json")
        text = json.dumps(_workload(chance, folder, number, made, times), indent=1)
        workloads[-1].write_text(text)
    drawn["several workloads"] += len(workloads) > 1
    _write_trace(chance, folder, "registered.txt", 1)
    events = []
    if chance.random() < 0.3:
        drawn["external events"] += 1
        events.append(folder / "events.txt")
        moments = sorted(chance.choice(times) * chance.choice((0, 1, chance.random())) for _ in range(5))
        lines = (json.dumps({"type": "generic", "timestamp": moment, "data": "é"}) for moment in moments)
        events[0].write_text("".join(f"{line}\n" for line in lines))
    return Extreme(platform, made.roles, workloads, events, made.count, made.energy, seed)


def _write_trace(chance: random.Random, folder: Path, name: str, ranks: int) -> str:
    """Write a usage trace of so many ranks, which all have three lines, and return its name."""
    files = [f"rank{rank}-{name}" for rank in range(ranks)]
    (folder / name).write_text("".join(f"{file}\n" for file in files))
    for rank, file in enumerate(files):
        usages = (f"{rank} m_usage {chance.choice((1, 0.5, 0.01))} {chance.uniform(0, 1e9):.6g}\n" for _ in range(3))
        (folder / file).write_text("".join(usages))
    return name


def _workload(
    chance: random.Random, folder: Path, number: int, platform: MadePlatform, times: tuple[float, ...]
) -> dict[str, Any]:
    """Jobs that ask for any time of the scale, many of them for the same one."""
    size = min(platform.count, chance.choice((1, 2, 3, 4)))
    profiles = _profiles(chance, folder, number, platform.storages, size, times)
    plain = [name for name in profiles if name not in ("n", "f", "u2")]
    for name in ("q", "qq"):  # a sequence, and one that may hold it
        parts = chance.choices(plain, k=chance.randint(1, 4))
        profiles[name] = {"type": "SequentialCompositionProfile", "seq": parts, "repeat": chance.randint(1, 3)}
        plain.append(name)
    late = max(times)
    profiles["late"] = {"type": "DelayProfile", "delay": late}
    # Batsim would abort at their last parts, and does not get there.
    profiles["xn"] = {"type": "SequentialCompositionProfile", "seq": ["late", "n"]}
    profiles["xu"] = {"type": "SequentialCompositionProfile", "seq": ["f", "u2"]}
    jobs, walltimes = [], chance.choices((*times, 10.0, 1e7, *(profiles[name]["delay"] for name in ("d0", "d1"))), k=2)
    many, moment = chance.choice(_MANY), 0.0
    between = chance.choice(times) / many if chance.random() < 0.7 else 0.0
    for place in range(many):
        profile = chance.choice((*plain, "u2", "xn", "xu") if platform.count > 1 else (*plain, "xn", "xu"))
        leaves = _leaves(profiles, profile)
        # A task of 0 flops needs an executor to send bytes to; one with vectors has a size of its own.
        idle = any(profiles[leaf].get("cpu") == 0 for leaf in leaves) and platform.count > 1
        width = size if "p" in leaves else chance.randint(1 + idle, platform.count)
        if "u" in leaves or "u2" in leaves or profile == "xn":
            width = size if "p" in leaves else max(1 + idle, 2 if profile == "u2" else 1)
        if profile == "xn":
            width = 1
        job: dict[str, Any] = {"id": str(place), "subtime": moment, "res": width, "profile": profile}
        if chance.random() < 0.5:
            job["walltime"] = chance.choice(walltimes)
        if profile == "xn":
            job["walltime"] = late / 2
        jobs.append(job)
        moment += between * chance.choice((0, 1, 1, chance.random()))
    used = {leaf for job in jobs for leaf in _leaves(profiles, job["profile"], whole=True)}
    # Batsim crashes if a profile that no job uses is to be forwarded.
    return {
        "nb_res": platform.count,
        "jobs": jobs,
        "profiles": {name: profiles[name] for name in profiles if name in used},
    }


def _profiles(
    chance: random.Random, folder: Path, number: int, storages: list[str], size: int, times: tuple[float, ...]
) -> dict[str, Any]:
    """Profiles that are not composed; `n` has nothing to do on one executor, and `f` fails."""
    strategies = ("DefinedAmountsUsedForEachValue", "DefinedAmountsSpreadUniformly")
    profiles: dict[str, Any] = {}
    for name in ("d0", "d1", "d2"):
        profiles[name] = {"type": "DelayProfile", "delay": chance.choice(times)}
    profiles["f"] = {"type": "DelayProfile", "delay": min(times), "ret": 7}
    for name in ("h0", "h1", "n"):
        profiles[name] = {
            "type": "ParallelTaskHomogeneousProfile",
            "cpu": chance.choice((0, 1, 1e6, 1e9, chance.choice(times) * 1e8)) if name == "h0" else 1e5,
            "com": chance.choice((0, 0, 1, 1e5, 1e6, chance.uniform(0, 1e8))),
            "generation_strategy": chance.choice(strategies),
        }
    profiles["n"] |= {"cpu": 0, "com": 1}
    profiles["p"] = {
        "type": "ParallelTaskProfile",
        "cpu": [chance.choice((0, 1e6, chance.uniform(1, 1e9))) for _ in range(size)],
        "com": [chance.choice((0, 0, 1000, 1e6, chance.uniform(0, 1e7))) for _ in range(size * size)],
    }
    for name, ranks in (("u", 1), ("u2", 2)):
        trace = _write_trace(chance, folder, f"usage{number}-{ranks}.txt", ranks)
        profiles[name] = {"type": "TraceReplayProfile", "trace_type": "FractionalComputation", "filename": trace}
    for storage in storages:
        profiles[storage] = {
            "type": "ParallelTaskOnStorageHomogeneousProfile",
            "bytes_to_read": chance.choice((0, 1e6, 5e7)),
            "bytes_to_write": chance.choice((1000, 1e6, chance.uniform(0, 1e8))),
            "storage": storage,
            "generation_strategy": chance.choice(strategies),
        }
    if len(storages) > 1:  # Batsim aborts on more bytes
        ends = {"from": storages[0], "to": storages[1]}
        profiles["staged"] = {"type": "ParallelTaskDataStagingBetweenStoragesProfile", "nb_bytes": 0, **ends}
    return profiles


def _leaves(profiles: dict[str, Any], name: str, whole: bool = False) -> set[str]:
    """The profiles that a profile executes, or also those that it is composed of."""
    parts = profiles[name].get("seq")
    if parts is None:
        return {name}
    return {leaf for part in parts for leaf in _leaves(profiles, part, whole)} | ({name} if whole else set())


def run_of(seed: int, folder: Path, drawn: Counter[str]) -> tuple[Extreme, str]:
    """Write and play the simulation of a seed: its files, and "" or what Batsim refuses."""
    given = write(seed, folder / "inputs", drawn)
    scheduler = given.scheduler()
    (folder / "out").mkdir()
    _, replies, violation = outcome(given, folder / "out", scheduler)
    drawn.update(scheduler.drawn)
    drawn["a turn"] += len(replies)
    return given, "" if violation is None else f"{violation.violations[0].rule} {violation.violations[0].severity}"


def command_of(given: Extreme) -> str:
    """The arguments of Batsim for this simulation."""
    words = [f"-p {given.platform.name}", *(f"-w {path.name}" for path in given.workloads)]
    words += [f"--ee {path.name}" for path in given.events]
    words += [f"-r {host} {role}" for host, role in given.roles]
    return " ".join([*words, "--energy-host"] if given.energy else words)


def main(what: str, first: int, last: int) -> None:
    def give_up(*_: object) -> NoReturn:
        raise TimeoutError

    logging.disable()  # of what is odd, there is much
    signal.signal(signal.SIGALRM, give_up)
    drawn: Counter[str] = Counter()
    for seed in range(first, last):
        with tempfile.TemporaryDirectory() as folder:
            signal.alarm(_LONG)
            try:
                if what == "digests":
                    print(seed, come_to(write(seed, Path(folder) / "inputs"), Path(folder)), flush=True)
                else:
                    given, refused = run_of(seed, Path(folder), drawn)
                    if what == "runs":
                        print(seed, f"refused: {refused}" if refused else command_of(given), flush=True)
            except TimeoutError:
                print(seed, "takes too long", flush=True)
            signal.alarm(0)
    for feature, many in sorted(drawn.items()):
        print(f"{many:8} {feature}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
