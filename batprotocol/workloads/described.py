"""Platforms from a few lines: `n[0-63] cores=64 memory=256G gres=gpu:a100:4 features=ib partitions=batch,debug`.

`with_watts` gives typical watts to the hosts of a platform that declares none: `idle=95,busy=250,off=10,boot=150s`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import BinaryIO, Final

import msgspec

from batprotocol._util.times import parse_duration
from batprotocol.errors import InputError, hint, shown
from batprotocol.model import Host as ModelHost
from batprotocol.model import HostProperty
from batprotocol.workloads.electricity.hosts import read_watts
from batprotocol.workloads.network import ClusterZone
from batprotocol.workloads.platform import Platform, PlatformHost, Role, SleepPState, Watts
from batprotocol.workloads.requests import expanded_names, read_offer
from batprotocol.workloads.requests.vocabulary import HOST_KEYS
from batprotocol.workloads.simgrid import parse_speed

__all__ = [
    "WATT_KEYS",
    "TypicalWatts",
    "described_platform",
    "parse_watts",
    "read_described",
    "with_watts",
]


_MOST: Final = 100_000
_MOST_BYTES: Final = 1 << 26


def described_platform(lines: str | Iterable[str], *, limit: int = _MOST) -> Platform:
    """A platform of hosts that a few lines describe. There is no network, so messages take no time.

    Args:
        lines: one line for each kind of hosts: names with ranges in brackets, then `KEY=VALUE`. The keys are those of
            `batprotocol.workloads.requests` (`cores`, `memory`, `gres`, `features`, `partitions`, `weight`), `speed`
            (flops per second of a core, such as `2Gf`; by default 1Gf) and any other property. A text may have several
            lines, or `;`.
        limit: the most hosts.

    >>> platform = described_platform("n[0-3] cores=8 memory=32G; g0 cores=16 gres=gpu:2 partitions=gpu")
    >>> [(host.name, host.cores) for host in platform.hosts]
    [('n0', 8), ('n1', 8), ('n2', 8), ('n3', 8), ('g0', 16)]

    Raises:
        InputError: a line cannot be read, or describes no host that there can be; with its number. Or a text has no
            line with hosts.
    """
    texts = re.split("[;\n]", lines) if isinstance(lines, str) else list(lines)
    hosts: list[PlatformHost] = []
    for number, text in enumerate(texts, 1):
        if text.split("#")[0].strip():
            try:
                hosts += _hosts_of(text.split("#")[0], len(hosts), limit - len(hosts))
            except InputError as error:
                raise InputError(error.reason, error.path, line=number) from None
    if isinstance(lines, str) and not hosts:
        raise InputError(f"expected hosts such as 'n[0-63] cores=64', got {shown(lines)}")
    names = [host.name for host in hosts]
    for name, count in Counter(["master_host", *names]).items():
        if count > 1:
            raise InputError(f"expected names that differ, got {shown(name)} twice")
    return _platform_of(hosts)


def read_described(stream: BinaryIO, *, mmax: int | None, energy: bool, host_limit: int, filename: str) -> Platform:
    """The platform of a file with such lines. `read_platform` has the meaning of the arguments.

    Raises:
        InputError: the file is not such lines, or has not what is asked for; with its name.
    """
    try:
        text = stream.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise InputError(f"expected at most {_MOST_BYTES >> 20} MiB")
        made = described_platform(text.decode(), limit=host_limit)
        if energy and any(host.watts is None for host in made.hosts):
            raise InputError("to measure energy, add wattage_per_state to each line, or give typical watts")
        if mmax is not None and not 0 < mmax <= len(made.hosts):
            raise InputError(f"cannot compute on {mmax} hosts: the platform has {len(made.hosts)}")
    except UnicodeDecodeError:
        raise InputError("expected text in UTF-8", file=filename) from None
    except InputError as error:
        raise InputError(error.reason, error.path, file=filename, line=error.line) from None
    return _platform_of(made.hosts[:mmax], filename)


def _platform_of(hosts: Sequence[PlatformHost], filename: str = "") -> Platform:
    """The platform of hosts with different names."""
    names = [host.name for host in hosts]
    zone = ClusterZone("cluster")
    members = {name: zone.add(name) for name in ("master_host", *names)}
    master = PlatformHost(id=-1, name="master_host", speeds=(1e9,), role=Role.MASTER)
    return Platform(hosts, master, members, filename=filename)


def _hosts_of(text: str, first: int, limit: int) -> list[PlatformHost]:
    pattern, *words = text.split()
    names = expanded_names(pattern, max(limit, 1))
    properties: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not (equals and value and key.isidentifier()):
            raise InputError(f"expected KEY=VALUE such as cores=64, got {shown(word)}", pattern)
        if key in properties:
            raise InputError(f"expected each key once, got {key} twice", pattern)
        properties[key] = value
    speed = parse_speed(properties.pop("speed", "1Gf"))
    if not speed > 0:
        raise InputError(f"expected a speed > 0, got {speed:g}", pattern)
    given = tuple(properties.items())
    sample = ModelHost(
        id=0,
        name=pattern,
        computation_speed=(speed,),
        properties=[HostProperty(key, value) for key, value in given if key in HOST_KEYS],
    )
    cores = read_offer(sample).cores
    watts = read_watts(properties, 1)
    return [
        PlatformHost(id=first + place, name=name, speeds=(speed,), cores=cores, properties=given, watts=watts)
        for place, name in enumerate(names)
    ]


# Typical watts


class TypicalWatts(msgspec.Struct, frozen=True, kw_only=True):
    """The watts of hosts, and how they sleep.

    Args:
        idle: the watts of a host without load.
        busy: the watts with all cores busy; in between, watts grow evenly with the load.
        off: the watts of a host that sleeps; None: hosts cannot sleep.
        boot: the seconds to switch a host on, > 0.
        shutdown: the seconds to switch a host off, > 0.
        switching: the watts while it switches; None: those without load.
        slow: slower power states: the share of the speed, and the watts with all cores busy.
    """

    idle: float
    busy: float
    off: float | None = None
    boot: float = 150.0
    shutdown: float = 6.0
    switching: float | None = None
    slow: tuple[tuple[float, float], ...] = ()

    @property
    def text(self) -> str:
        """The text that `parse_watts` reads as this value."""
        words = [f"idle={self.idle:.15g}", f"busy={self.busy:.15g}"]
        if self.off is not None:
            words += [f"off={self.off:.15g}", f"boot={self.boot:.15g}s", f"shutdown={self.shutdown:.15g}s"]
            if self.switching is not None:
                words.append(f"switching={self.switching:.15g}")
        return ",".join(words + [f"slow={speed:.15g}:{watts:.15g}" for speed, watts in self.slow])


WATT_KEYS: Final[Mapping[str, str]] = {
    "idle": "The watts of a host without load.",
    "busy": "The watts with all cores busy.",
    "off": "The watts of a host that sleeps; without it, hosts cannot sleep.",
    "boot": "The time to switch a host on, by default 150 s.",
    "shutdown": "The time to switch a host off, by default 6 s.",
    "switching": "The watts while a host switches, by default those without load.",
    "slow": "A slower power state, as SHARE:WATTS, such as 0.6:180; it may be given several times.",
}
"""The keys of the text, each with its meaning."""


def parse_watts(text: str) -> TypicalWatts:
    """The watts of a text of `KEY=VALUE`, with commas between them.

    >>> parse_watts("idle=95,busy=250,off=10,boot=150s").boot
    150.0

    Raises:
        InputError: the text has a key or a value that it cannot have.
    """
    given: dict[str, float] = {}
    slow: list[tuple[float, float]] = []
    for word in text.split(","):
        key, equals, value = (part.strip() for part in word.partition("="))
        if key not in WATT_KEYS or not equals:
            near = hint(key, WATT_KEYS)
            raise InputError(f"expected {', '.join(WATT_KEYS)} with values, as idle=95, got {shown(word)}{near}")
        if key in given:
            raise InputError(f"expected each key once, got {key} twice")
        if key == "slow":
            part, _, most = value.partition(":")
            slow.append((_number(part, key), _number(most, key)))
        else:
            given[key] = _SPECIAL.get(key, _number)(value, key)
    for key in ("idle", "busy"):
        if key not in given:
            raise InputError(f"expected idle and busy, as in idle=95,busy=250, got {shown(text)}")
    found = TypicalWatts(**given, slow=tuple(slow))
    if found.busy < found.idle:
        raise InputError(f"expected watts with load of at least those without, {found.idle:g}, got {found.busy:g}")
    if found.off is None and given.keys() & {"boot", "shutdown", "switching"}:
        raise InputError("boot, shutdown and switching are for hosts that sleep: give off, too")
    for share, watts in slow:
        if not (0 < share < 1 and found.idle <= watts <= found.busy):
            raise InputError(
                f"expected a share of the speed below 1, and watts from {found.idle:g} to {found.busy:g}, "
                f"got slow={share:g}:{watts:g}"
            )
    return found


def _number(text: str, key: str) -> float:
    try:
        number = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise InputError(f"expected a number of watts >= 0, got {shown(text)}", key)
    return number


def _time(text: str, key: str) -> float:
    seconds = parse_duration(text)
    if not seconds > 0:
        raise InputError(f"expected a time > 0, got {shown(text)}", key)
    return seconds


_SPECIAL: Final[Mapping[str, Callable[[str, str], float]]] = {"boot": _time, "shutdown": _time}


def with_watts(platform: Platform, watts: TypicalWatts) -> Platform:
    """The platform with watts for each host that declares none. Declared watts are not changed.

    The hosts that get watts have one speed, or one for each power state in which they compute. With `off`, each gets a
    power state to sleep in, and two to switch in, as the last ones.

    Raises:
        InputError: a host without watts has power states to sleep in, so its watts must be declared.

    >>> [host] = with_watts(Platform.homogeneous(1), parse_watts("idle=95,busy=250,off=10")).hosts
    >>> host.watts[0], host.sleep_pstates
    (Watts(idle=95.0, epsilon=95.0, max=250.0), (SleepPState(sleep=1, switching_off=2, switching_on=3),))
    """
    return platform.replaced([host if host.watts is not None else _with_watts(host, watts) for host in platform.hosts])


def _with_watts(host: PlatformHost, watts: TypicalWatts) -> PlatformHost:
    if host.sleep_pstates:
        raise InputError("it sleeps, so add the property wattage_per_state to the platform", f"host {host.name}")
    if host.role is not Role.COMPUTE:
        return msgspec.structs.replace(host, watts=(Watts(watts.idle, watts.idle, watts.busy),) * len(host.speeds))
    speeds = [*host.speeds, *(share * host.speeds[host.pstate] for share, _ in watts.slow)]
    draws = [Watts(watts.idle, watts.idle, watts.busy)] * len(host.speeds)
    draws += [Watts(watts.idle, watts.idle, most) for _, most in watts.slow]
    sleeps: tuple[SleepPState, ...] = ()
    properties = dict(host.properties)
    if watts.off is not None:
        switching = watts.idle if watts.switching is None else watts.switching
        first = len(speeds)
        sleeps = (SleepPState(first, first + 1, first + 2),)
        speeds += [1.0, 1 / watts.shutdown, 1 / watts.boot]
        draws += [Watts(each, each, each) for each in (watts.off, switching, switching)]
        properties["sleep_pstates"] = f"{first}:{first + 1}:{first + 2}"
    properties["wattage_per_state"] = ",".join(f"{w.idle:.15g}:{w.epsilon:.15g}:{w.max:.15g}" for w in draws)
    return msgspec.structs.replace(
        host,
        speeds=tuple(speeds),
        watts=tuple(draws),
        sleep_pstates=sleeps,
        properties=tuple(properties.items()),
    )
