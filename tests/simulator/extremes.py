"""Simulations from a seed that go to the ends: times from 1e-9 to 1e9 s, up to 500 jobs, equal walltimes, FATPIPE
loopbacks, hosts that begin in any power state, networks of all kinds.

The files are those that Batsim reads. As a program, it prints what simulations come to, one a line, so that two
builds can be compared. Rounds of sharing that Batsim walks for hours are walked here, too, unless FATPIPEs alone are
shared (`actions/rounds.py`): what takes more than 30 s is given up.

    python tests/simulator/extremes.py 0 5000 > compiled.txt
"""

from __future__ import annotations

import json
import logging
import random
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a program, too

from seeds import Generated, Random, come_to

from batprotocol.model import FinitePeriodNumber, OneShot, Periodic, TimeUnit

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
_LATENCIES: Final = ("0us", "1ns", "13ns", "10us", "50us", "1ms", "0.02s", "0.1s", "1s")
_BANDWIDTHS: Final = ("1kBps", "3MBps", "10MBps", "125MBps", "1GBps", "40Gbps", "100GBps")
_SPEEDS: Final = ("1Mf", "77.7Mf", "100Mf", "500Mf", "1Gf", "3.2Gf", "1Tf")
_SWITCHES: Final = ("1f", "0.5f", "0.013f", "2f", "50f")
_WATTS: Final = ("100:100", "10:10:22", "200:230:330.5", "0:0:0", "93.25:135.25", "1.5:9.0:109.5")
_SETTINGS: Final = (
    ("network/TCP-gamma", ("0", "1e5", "4194304", "1e9")),
    ("network/loopback-bw", ("1e6", "498e6", "3e9")),
    ("network/loopback-lat", ("0", "1e-6")),
)


class Wild(Random):
    """Decides at random in the time of the simulation; what breaks a rule is not said."""

    def __init__(self, seed: int, hosts: int, energy: bool, times: tuple[float, ...], turns: int) -> None:
        super().__init__(seed, hosts, energy)
        self.times = times
        self.wild_turns = turns

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

    def tick(self) -> None:
        self.reply.add_call_me_later("tick", self.some_moment())

    def execute(self) -> None:
        for _ in range(self.random.choice((1, 1, 3, 8))):
            super().execute()

    def some_hosts(self) -> list[int]:
        few = min(self.hosts, self.random.choice((1, 2, 3, self.hosts)))
        return sorted(self.random.sample(range(self.hosts), few))

    def periodic(self) -> Periodic:
        period, unit = self.some_time()
        return Periodic(period, time_unit=unit, mode=FinitePeriodNumber(self.random.randint(1, 4)))

    def switch_off(self) -> None:
        self.reply.add_turn_on_off_hosts(self.some_hosts(), self.random.choice((1, 2)))

    def think(self) -> None:
        self.reply.set_current_time(self.reply.current_time + self.random.choice(self.times) * self.random.random())

    DECISIONS: ClassVar[tuple[Callable[[Any], None], ...]] = (
        *(execute,) * 8,
        Random.kill,
        Random.register,
        Random.call,
        Random.call_periodically,
        Random.observe,
        Random.stop,
        Random.change,
        switch_off,
        Random.switch_on,
        think,
    )


class Extreme(Generated):
    """A simulation that goes to the ends."""

    def scheduler(self) -> Wild:
        chance = random.Random(self.seed)
        return Wild(self.seed, self.hosts, self.energy, _times(chance), chance.choice((10, 30, 100)))


def _times(chance: random.Random) -> tuple[float, ...]:
    """The first choice of a seed, for the files and the scheduler."""
    return chance.choice(list(_SCALES.values()))


def write(seed: int, folder: Path) -> Extreme:
    """Write the files of the simulation of this seed."""
    times, chance = _times(random.Random(seed)), random.Random(f"files of {seed}")
    folder.mkdir(parents=True, exist_ok=True)
    made = _Platform(chance)
    platform = folder / "platform.xml"
    platform.write_text(made.text())
    workloads = []
    for number in range(chance.choice((1, 1, 1, 2, 3))):
        workloads.append(folder / f"workload{number}.json")
        text = json.dumps(_workload(chance, folder, number, made, times), indent=1)
        workloads[-1].write_text(text)
    events = []
    if chance.random() < 0.3:
        events.append(folder / "events.txt")
        moments = sorted(chance.choice(times) * chance.choice((0, 1, chance.random())) for _ in range(5))
        lines = (json.dumps({"type": "generic", "timestamp": moment, "data": "é"}) for moment in moments)
        events[0].write_text("".join(f"{line}\n" for line in lines))
    return Extreme(platform, made.roles, workloads, events, made.count, made.energy, seed)


class _Platform:
    """A platform: its kind, how many hosts compute, and the zones with their gateways."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.energy = chance.random() < 0.4
        self.sleeping = self.energy or chance.random() < 0.4
        self.storages = ["pfs", "nfs"][: chance.choice((0, 0, 1, 2))]
        self.roles = [(name, "storage") for name in self.storages]
        self.count = 0
        self.links: list[str] = []
        kind = chance.choice((self._hosts, self._clusters, self._clusters, self._graph, self._topology))
        self.inside = kind()

    def text(self) -> str:
        settings = "".join(
            f'<prop id="{name}" value="{self.chance.choice(values)}"/>'
            for name, values in _SETTINGS
            if self.chance.random() < 0.2
        )
        return (
            '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
            f'<platform version="4.1">\n<config>{settings}</config>\n{self.inside}</platform>\n'
        )

    def _states(self) -> tuple[str, str]:
        """The speeds of a host, and its properties."""
        chance = self.chance
        usual = [chance.choice(_SPEEDS) for _ in range(chance.choice((2, 2, 3)))]
        properties, states = "", usual
        if self.sleeping:  # all can be switched with the same numbers: 0 and 1 compute
            states = [*usual[:2], *(chance.choice(_SWITCHES) for _ in range(3))]
            properties = '<prop id="sleep_pstates" value="2:3:4"/>'
        if self.energy:
            watts = ",".join(chance.choice(_WATTS) for _ in states)
            off = chance.choice(("0", "1", "9.5"))
            properties += f'<prop id="wattage_per_state" value="{watts}"/><prop id="wattage_off" value="{off}"/>'
        return f'speed="{",".join(states)}" core="{chance.choice((1, 1, 2, 4, 16))}"', properties

    def _host(self, name: str) -> str:
        states, properties = self._states()
        begins = f' pstate="{self.chance.randrange(2)}"' if self.chance.random() < 0.4 else ""
        return f'<host id="{name}" {states}{begins}>{properties}</host>\n'

    def _link(self, name: str) -> str:
        chance = self.chance
        sharing = chance.choice(("", "", ' sharing_policy="FATPIPE"'))
        numbers = f'bandwidth="{chance.choice(_BANDWIDTHS)}" latency="{chance.choice(_LATENCIES)}"'
        return f'<link id="{name}" {numbers}{sharing}/>\n'

    def _loops(self, names: list[str]) -> Iterator[str]:
        """A FATPIPE loopback, for some of the hosts or for all."""
        chance = self.chance
        yield (
            f'<link id="loop" bandwidth="{chance.choice(_BANDWIDTHS)}" latency="{chance.choice(_LATENCIES)}" '
            'sharing_policy="FATPIPE"/>\n'
        )
        for name in names:
            if chance.random() < 0.8:
                yield f'<route src="{name}" dst="{name}"><link_ctn id="loop"/></route>\n'

    def _names(self) -> list[str]:
        self.count = self.chance.choice((2, 3, 4, 6, 10))
        return ["master_host", *(f"n{number}" for number in range(self.count)), *self.storages]

    def _hosts(self) -> str:
        """Hosts with a route for each pair."""
        chance, names = self.chance, self._names()
        lines = [self._host(name) for name in names]
        lines += [self._link(f"l{number}") for number in range(chance.randint(1, len(names)))]
        links = len(lines) - len(names)
        if chance.random() < 0.6:
            lines += self._loops(names)
        for place, name in enumerate(names):
            for other in names[place + 1 :]:
                way = chance.sample(range(links), min(links, chance.choice((1, 1, 2, 3))))
                inside = "".join(f'<link_ctn id="l{link}"/>' for link in way)
                lines.append(f'<route src="{name}" dst="{other}">{inside}</route>\n')
        return f'<zone id="z" routing="Full">\n{"".join(lines)}</zone>\n'

    def _graph(self) -> str:
        """Hosts on a tree of links, with some more."""
        chance, names = self.chance, self._names()
        lines = [self._host(name) for name in names]
        pairs = [(chance.randrange(place), place) for place in range(1, len(names))]
        for _ in range(chance.randrange(3)):
            first, second = sorted(chance.sample(range(len(names)), 2))
            if (first, second) not in pairs:
                pairs.append((first, second))
        for number, (first, second) in enumerate(pairs):
            lines.append(self._link(f"l{number}"))
            lines.append(f'<route src="{names[first]}" dst="{names[second]}"><link_ctn id="l{number}"/></route>\n')
        return f'<zone id="z" routing="{chance.choice(("Floyd", "Dijkstra"))}">\n{"".join(lines)}</zone>\n'

    def _cluster(self, name: str, size: int, inside: str) -> str:
        chance = self.chance
        states, properties = self._states()
        latency, sharing = chance.choice(_LATENCIES), chance.choice(("SHARED", "SPLITDUPLEX", "FATPIPE"))
        loop = (
            f' loopback_bw="{chance.choice(_BANDWIDTHS)}" loopback_lat="{chance.choice(_LATENCIES)}"'
            if chance.random() < 0.6
            else ""
        )
        self.count += size
        return (
            f'<cluster id="{name}" prefix="{name}-" suffix="" radical="0-{size - 1}" {states} '
            f'bw="{chance.choice(_BANDWIDTHS)}" lat="{latency}" sharing_policy="{sharing}"{loop}{inside}>'
            f"{properties}</cluster>\n"
        )

    def _backbone(self) -> str:
        chance = self.chance
        if chance.random() < 0.5:
            return ""
        sharing = chance.choice(("", ' bb_sharing_policy="FATPIPE"'))
        return f' bb_bw="{chance.choice(_BANDWIDTHS)}" bb_lat="{chance.choice(_LATENCIES)}"{sharing}'

    def _joined(self, clusters: list[tuple[str, str, str]]) -> str:
        """Clusters (their names, texts and gateways) and lone hosts, joined in a chain."""
        chance = self.chance
        zones = [
            *((f"zone_{name}", f'<zone id="zone_{name}" routing="Full">\n{text}</zone>\n', gateway)
              for name, text, gateway in clusters),
            *((f"zone_{name}", f'<zone id="zone_{name}" routing="Full">\n{self._host(name)}</zone>\n', name)
              for name in ("master_host", *self.storages)),
        ]  # fmt: skip
        lines = [text for _, text, _ in zones]
        lines += [self._link(f"s{number}") for number in range(len(zones) - 1)]
        for number in range(len(zones) - 1):
            one, other = zones[chance.randint(0, number)], zones[number + 1]
            lines.append(
                f'<zoneRoute src="{one[0]}" dst="{other[0]}" gw_src="{one[2]}" gw_dst="{other[2]}">'
                f'<link_ctn id="s{number}"/></zoneRoute>\n'
            )
        return f'<zone id="z" routing="{chance.choice(("Floyd", "Dijkstra"))}">\n{"".join(lines)}</zone>\n'

    def _clusters(self) -> str:
        names = "ab"[: self.chance.randint(1, 2)]
        sizes = [self.chance.choice((1, 2, 4, 7)) for _ in names]
        return self._joined(
            [
                (name, self._cluster(name, size, self._backbone()), f"{name}-{name}_router")
                for name, size in zip(names, sizes, strict=True)
            ]
        )

    def _topology(self) -> str:
        size, topology, parameters = self.chance.choice(
            (
                (4, "FAT_TREE", "1;4;1;1"),
                (8, "FAT_TREE", "2;2,4;1,1;3,1"),
                (8, "TORUS", "2,2,2"),
                (6, "TORUS", "2,3"),
                (8, "DRAGONFLY", "2,1;2,1;2,1;1"),
            )
        )
        inside = f' topology="{topology}" topo_parameters="{parameters}"'
        return self._joined([("t", self._cluster("t", size, inside), "t-0")])


def _workload(
    chance: random.Random, folder: Path, number: int, platform: _Platform, times: tuple[float, ...]
) -> dict[str, Any]:
    """Jobs that ask for any time of the scale, many of them for the same one."""
    strategies = ("DefinedAmountsUsedForEachValue", "DefinedAmountsSpreadUniformly")
    profiles: dict[str, Any] = {}
    for name in ("d0", "d1", "d2"):
        profiles[name] = {"type": "DelayProfile", "delay": chance.choice(times)}
    for name in ("h0", "h1"):
        profiles[name] = {
            "type": "ParallelTaskHomogeneousProfile",
            "cpu": chance.choice((0, 1, 1e6, 1e9, chance.choice(times) * 1e8)),
            "com": chance.choice((0, 0, 1, 1e5, 1e6, chance.uniform(0, 1e8))),
            "generation_strategy": chance.choice(strategies),
        }
    size = min(platform.count, chance.choice((1, 2, 3, 4)))
    profiles["p"] = {
        "type": "ParallelTaskProfile",
        "cpu": [chance.choice((0, 1e6, chance.uniform(1, 1e9))) for _ in range(size)],
        "com": [chance.choice((0, 0, 1000, 1e6, chance.uniform(0, 1e7))) for _ in range(size * size)],
    }
    trace = f"usage{number}.txt"
    usages = (f"0 m_usage {chance.choice((1, 0.5, 0.01))} {chance.uniform(0, 1e9):.6g}\n" for _ in range(3))
    (folder / trace).write_text(f"rank0-{trace}\n")
    (folder / f"rank0-{trace}").write_text("".join(usages))
    profiles["u"] = {"type": "TraceReplayProfile", "trace_type": "FractionalComputation", "filename": trace}
    sequence = chance.choices(list(profiles), k=chance.randint(1, 4))
    profiles["q"] = {"type": "SequentialCompositionProfile", "seq": sequence, "repeat": chance.randint(1, 3)}
    for storage in platform.storages:
        profiles[storage] = {
            "type": "ParallelTaskOnStorageHomogeneousProfile",
            "bytes_to_read": chance.choice((0, 1e6, 5e7)),
            "bytes_to_write": chance.choice((1000, 1e6, chance.uniform(0, 1e8))),
            "storage": storage,
            "generation_strategy": chance.choice(strategies),
        }
    jobs, walltimes = [], chance.choices((*times, 10.0, 1e7), k=2)
    many, moment = chance.choice(_MANY), 0.0
    between = chance.choice(times) / many if chance.random() < 0.7 else 0.0
    for place in range(many):
        profile = chance.choice(list(profiles))
        width = size if "p" in (profile, *(sequence if profile == "q" else ())) else chance.randint(1, platform.count)
        job: dict[str, Any] = {"id": str(place), "subtime": moment, "res": width, "profile": profile}
        if chance.random() < 0.5:
            job["walltime"] = chance.choice(walltimes)
        jobs.append(job)
        moment += between * chance.choice((0, 1, 1, chance.random()))
    return {"nb_res": platform.count, "jobs": jobs, "profiles": profiles}


def main(first: int, last: int) -> None:
    def give_up(*_: object) -> NoReturn:
        raise TimeoutError

    logging.disable()  # of what is odd, there is much
    signal.signal(signal.SIGALRM, give_up)
    for seed in range(first, last):
        with tempfile.TemporaryDirectory() as folder:
            given = write(seed, Path(folder) / "inputs")
            signal.alarm(_LONG)
            try:
                told = come_to(given, Path(folder))
            except TimeoutError:
                told = "takes too long"
            signal.alarm(0)
            print(seed, told, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
