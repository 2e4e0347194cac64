"""Nodes to test schedulers with: their virtual machines, and the migration framework that answers tasks.

`Settings` say how long actions take, and how often they fail or are never answered. Chance depends on the seed and on
the action, and not on the time: the same tasks meet the same luck. The answers are those of the real framework, as
measured.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from random import Random
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from batprotocol._util.requirements import installing
from batprotocol.errors import DecodeError, PackageMissing
from batprotocol.fast import wire
from batprotocol.fast.topics import RESULTS, TopicKind
from batprotocol.fast.values import (
    ERROR,
    RESUME,
    SUCCESS,
    SUSPEND,
    UNKNOWN,
    EvacuateNode,
    EvacuateParameter,
    FastMessage,
    MigrateParameter,
    MigrateVM,
    Quit,
    RepinVM,
    Result,
    ResumeVM,
    StartVM,
    StopVM,
    SuspendVM,
    VMConfiguration,
    VMResult,
    VMToStop,
)

__all__ = [
    "DEEDS",
    "DEFAULT_TIMES",
    "Hypervisors",
    "Luck",
    "MigrationFramework",
    "Settings",
    "TaskRefusal",
    "VirtualMachine",
    "matching",
    "name_in",
]

DEFAULT_TIMES: Final[Mapping[str, tuple[float, float]]] = {
    "start": (0.2, 0.4),
    "stop": (0.05, 0.1),
    "suspend": (0.01, 0.02),
    "resume": (0.01, 0.02),
    "migrate": (0.2, 0.5),
    "repin": (0.01, 0.02),
    "mmbwmon": (0.1, 0.1),
    "pscom": (0.01, 0.05),
}
"""The seconds that each of the deeds of a node takes, from and to."""

DEEDS: Final = tuple(DEFAULT_TIMES)


@dataclass(frozen=True)
class Settings:
    """How nodes behave.

    Args:
        times: for some deeds, the seconds that they take, from and to; the others take those of `DEFAULT_TIMES`.
        fail: for some deeds, how probable it is that one fails, from 0 to 1.
        silent: for some deeds, how probable it is that one is done, but never answered.
        seed: what chance is made of.
        cores: how many cores a node has.
        pscom_procs: how many processes of MPI are in each machine.
        applications: whether an application in each machine reports its progress; its job id is the machine's name.
        report_time: the seconds between two such reports.
        bandwidth: how much of a node's memory bandwidth each machine uses, by patterns of names (`stream*`); others use
            between 0.05 and 0.5 of it, by chance.
    """

    times: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    fail: Mapping[str, float] = field(default_factory=dict)
    silent: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    cores: int = 16
    pscom_procs: int = 2
    applications: bool = False
    report_time: float = 1.0
    bandwidth: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, given in (("times", self.times), ("fail", self.fail), ("silent", self.silent)):
            for deed in given:
                if deed not in DEFAULT_TIMES:
                    raise ValueError(f"{name}: there is no {deed!r}, only {', '.join(DEEDS)}")
        for name, chances in (("fail", self.fail), ("silent", self.silent), ("bandwidth", self.bandwidth)):
            for key, chance in chances.items():
                if not 0 <= chance <= 1:
                    raise ValueError(f"{name} {key}: expected a number from 0 to 1, got {chance}")
        for deed, (low, high) in self.times.items():
            if not 0 <= low <= high < float("inf"):
                raise ValueError(f"times {deed}: expected seconds from 0 on, got {low:g} to {high:g}")

    def bandwidth_of(self, machine: str) -> float:
        """The share of a node's memory bandwidth that a machine uses while it runs."""
        for pattern, share in self.bandwidth.items():
            if fnmatchcase(machine, pattern):
                return share
        return Random(f"{self.seed}/bandwidth/{machine}").uniform(0.05, 0.5)


class Luck:
    """The random outcomes of a node's actions.

    >>> luck = Luck(Settings(fail={"start": 1.0}), "node-a")
    >>> luck.draw("start", "vm1").fails, luck.draw("stop", "vm1").fails
    (True, False)
    """

    def __init__(self, settings: Settings, host: str) -> None:
        self._settings = settings
        self._host = host
        self._times_done: dict[tuple[str, str], int] = {}

    def draw(self, deed: str, what: str) -> Fate:
        """The duration and the outcome of this action."""
        key = deed, what
        number = self._times_done[key] = self._times_done.get(key, 0) + 1
        random = Random(f"{self._settings.seed}/{self._host}/{deed}/{what}/{number}")
        low, high = self._settings.times.get(deed, DEFAULT_TIMES[deed])
        return Fate(
            random.uniform(low, high),
            random.random() < self._settings.fail.get(deed, 0.0),
            random.random() < self._settings.silent.get(deed, 0.0),
        )


@dataclass(frozen=True)
class Fate:
    """The outcome of one action.

    Attributes:
        seconds: its duration.
        fails: whether it fails.
        is_silent: whether it has no answer.
    """

    seconds: float
    fails: bool
    is_silent: bool


# Hypervisors in memory


CPUMap: TypeAlias = tuple[tuple[int, ...], ...]

_OPEN: Final = "<name>"


class TaskRefusal(Exception):
    """An impossible action; the text is for the details of the node's result. Nothing has changed."""


@dataclass(frozen=True)
class VirtualMachine:
    """A virtual machine that runs.

    Attributes:
        name: its name.
        vcpus: how many virtual CPUs it has.
        vcpu_map: for each of them, the CPUs of the host that it may run on; None for all.
        is_suspended: whether it gets no CPU time.
    """

    name: str
    vcpus: int = 1
    vcpu_map: CPUMap | None = None
    is_suspended: bool = False


def name_in(xml: str) -> str:
    """The name in libvirt's definition of a machine. Refusal if there is none.

    >>> name_in("<domain><name>vm1</name></domain>")
    'vm1'
    """
    name, end, _ = xml.partition(_OPEN)[2].partition("</name>")
    if not name or not end:
        raise TaskRefusal("Could not find vm-name in xml.")
    return name


def matching(regex: str, names: Iterable[str]) -> tuple[str, ...]:
    """Those of these names that the whole of a regular expression matches, in time linear in both.

    >>> matching("vm[0-9]+", ["vm1", "vm22", "other"])
    ('vm1', 'vm22')
    """
    try:
        import re2  # a peer writes the expression, and must not keep a node busy for ever
    except ImportError:
        sentence = f"regular expressions of peers need the package google-re2: {installing('fast')}"
        raise PackageMissing(sentence) from None
    options = re2.Options()
    options.log_errors = False
    try:
        pattern = re2.compile(regex, options)
        return tuple(name for name in names if pattern.fullmatch(name))
    except (re2.error, UnicodeError) as error:
        raise TaskRefusal(f"regex_error: {regex!r} cannot be read as a regular expression") from error


class Hypervisors:
    """The hosts of a cluster with the machines on them. All machines can be migrated from any host to any other.

    Args:
        hosts: the names of the hosts.
        cores: how many cores each of them has.

    >>> hypervisors = Hypervisors(["node-a", "node-b"])
    >>> hypervisors.start("node-a", VirtualMachine("vm1"))
    >>> hypervisors.migrate("node-a", "vm1", "node-b")
    >>> hypervisors.names("node-a"), hypervisors.names("node-b")
    ((), ('vm1',))
    """

    def __init__(self, hosts: Iterable[str], cores: int = 16) -> None:
        self.cores = cores
        self._hosts: dict[str, dict[str, VirtualMachine]] = {host: {} for host in hosts}

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names of the hosts."""
        return tuple(self._hosts)

    def names(self, host: str) -> tuple[str, ...]:
        """The machines on a host, in the order in which they came there."""
        return tuple(self._hosts[host])

    def machines(self, host: str) -> Mapping[str, VirtualMachine]:
        """The machines on a host by their names."""
        return dict(self._hosts[host])

    def host_of(self, name: str) -> str | None:
        """Where a machine is; None if it is nowhere."""
        return next((host for host, machines in self._hosts.items() if name in machines), None)

    def start(self, host: str, machine: VirtualMachine) -> None:
        """Let a machine run. Refusal if one of that name runs there, or its map is not one of its virtual CPUs."""
        if not machine.name:
            raise TaskRefusal("Domain not found: no domain with matching name ''")
        if machine.name in self._hosts[host]:
            raise TaskRefusal(f"Requested operation is not valid: domain '{machine.name}' is already running")
        self._hosts[host][machine.name] = self._pinned(machine, machine.vcpu_map)

    def stop(self, host: str, name: str) -> None:
        """Let a machine run no longer."""
        self._machine(host, name)
        del self._hosts[host][name]

    def suspend(self, host: str, name: str) -> None:
        """Give a machine no CPU time any more. One that has none stays as it is."""
        self._change(host, name, is_suspended=True)

    def resume(self, host: str, name: str) -> None:
        """Give a machine CPU time again."""
        if not self._machine(host, name).is_suspended:
            raise TaskRefusal(f"Requested operation is not valid: domain '{name}' is already running")
        self._change(host, name, is_suspended=False)

    def repin(self, host: str, name: str, vcpu_map: CPUMap) -> None:
        """Let the virtual CPUs of a machine run on these cores."""
        self._hosts[host][name] = self._pinned(self._machine(host, name), vcpu_map)

    def migrate(
        self,
        host: str,
        name: str,
        destination: str,
        vcpu_map: CPUMap | None = None,
        swap_with: str | None = None,
        swap_map: CPUMap | None = None,
    ) -> None:
        """Bring a machine to another host, and maybe another one from there in its place."""
        self.check_migration(host, name, destination, swap_with)
        going = self._pinned(self._machine(host, name), vcpu_map)
        coming = None if swap_with is None else self._pinned(self._machine(destination, swap_with), swap_map)
        del self._hosts[host][name]
        if coming is not None:
            del self._hosts[destination][coming.name]
            self._hosts[host][coming.name] = coming
        self._hosts[destination][name] = going

    def check_migration(self, host: str, name: str, destination: str, swap_with: str | None = None) -> None:
        """Refusal where a migration cannot be."""
        self._machine(host, name)
        if destination not in self._hosts:
            raise TaskRefusal(f"unable to connect to server at '{destination}': no such host")
        if destination == host:
            raise TaskRefusal(f"Attempt to migrate domain '{name}' to the same host {host}")
        if swap_with is not None:
            self._machine(destination, swap_with)
        if name in self._hosts[destination] and name != swap_with:
            raise TaskRefusal(f"operation failed: domain '{name}' already exists on {destination}")
        if swap_with is not None and swap_with in self._hosts[host] and swap_with != name:
            raise TaskRefusal(f"operation failed: domain '{swap_with}' already exists on {host}")

    def spread(
        self, host: str, destinations: Sequence[str], *, compact: bool, overbooking: bool
    ) -> dict[str, str | None]:
        """The destination of each machine of a host, None if no destination has enough free cores.

        Args:
            host: the host.
            destinations: the hosts that may take them.
            compact: whether one destination is filled before the next, rather than all of them evenly.
            overbooking: whether they may get more than they have cores.
        """
        used = {each: self._used(each) for each in destinations if each in self._hosts}
        found: dict[str, str | None] = {}
        for machine in self._hosts[host].values():
            limit = float("inf") if overbooking and not compact else self.cores
            fitting = [each for each in used if used[each] + machine.vcpus <= limit]
            if overbooking and not fitting:
                fitting = list(used)[-1:]
            target = (fitting[0] if compact else min(fitting, key=used.__getitem__)) if fitting else None
            found[machine.name] = target
            if target is not None:
                used[target] += machine.vcpus
        return found

    def _used(self, host: str) -> int:
        return sum(machine.vcpus for machine in self._hosts[host].values())

    def _machine(self, host: str, name: str) -> VirtualMachine:
        machine = self._hosts[host].get(name)
        if machine is None:
            raise TaskRefusal(f"Domain not found: no domain with matching name '{name}'")
        return machine

    def _change(self, host: str, name: str, **changes: Any) -> None:
        self._hosts[host][name] = replace(self._machine(host, name), **changes)

    def _pinned(self, machine: VirtualMachine, vcpu_map: CPUMap | None) -> VirtualMachine:
        if vcpu_map is None:
            return replace(machine, vcpu_map=None)
        if len(vcpu_map) != machine.vcpus:
            raise TaskRefusal(f"invalid argument: {len(vcpu_map)} entries in the vcpu-map for {machine.vcpus} vcpus")
        if any(not cpus or max(cpus) >= self.cores for cpus in vcpu_map):
            raise TaskRefusal(f"invalid argument: the vcpu-map names a CPU that is not one of {self.cores}")
        return replace(machine, vcpu_map=vcpu_map)


# The migration framework


logger = logging.getLogger("batprotocol.fast.nodes")


REMEMBERED: Final = 100_000
"""How many tasks are remembered, so that what a broker delivers again is known."""


_TASK: Final = ContextVar("task", default="")
"""The id of the task that something is done for."""


class Hooks(Protocol):
    """The requests to the MPI processes in machines."""

    def count(self, machine: str) -> int:
        """The number of processes in a machine, for `auto`."""
        ...

    async def ask(self, machine: str, what: str, processes: int) -> bool:
        """Request `suspend` or `resume` of their connections; whether this number of processes has answered in time."""
        ...


class _Silence(Exception):
    """The task is done, and the node sends no answer, which schedulers must handle."""


class _Entry(NamedTuple):
    """A part of a task: its name in the result, its work, and its options."""

    name: str
    work: Callable[[], Awaitable[None]]
    options: Any


class MigrationFramework:
    """The migration framework of one host.

    Args:
        host: the host.
        hypervisors: the machines of all hosts.
        luck: the random outcomes.
        hooks: the requests to the processes in machines.
        publish: called with each result.
        start: runs a coroutine beside the others.
        changed: called when machines have started, stopped or moved.

    Each action is logged as `batprotocol.fast.nodes`, with the id of its task.
    """

    def __init__(
        self,
        host: str,
        hypervisors: Hypervisors,
        luck: Luck,
        hooks: Hooks,
        publish: Callable[[FastMessage], None],
        start: Callable[[Coroutine[Any, Any, None]], asyncio.Task[Any]],
        changed: Callable[[], None],
    ) -> None:
        self.host = host
        self._hypervisors = hypervisors
        self._luck = luck
        self._hooks = hooks
        self._publish = publish
        self._start = start
        self._changed = changed
        self._known: dict[tuple[str, bytes], None] = {}
        self._has_quit = False
        self._payloads: asyncio.Queue[bytes] = asyncio.Queue()

    def take(self, payload: bytes) -> None:
        """Take a payload on the topic of its tasks; after `quit`, it is ignored."""
        if not self._has_quit:
            self._payloads.put_nowait(payload)

    async def serve(self) -> None:
        """Do the tasks, until `quit` comes."""
        running: set[asyncio.Task[Any]] = set()
        while True:
            task = self._read(await self._payloads.get())
            if task is None:
                continue
            if isinstance(task, Quit):
                self._has_quit = True
                self._publish(Result(RESULTS[Quit], [VMResult("n/a")], id=task.id))
                await asyncio.gather(*running)
                return
            if task.concurrent_execution is False:
                await self._answer(task)
            else:
                running.add(self._start(self._answer(task)))
                running = {each for each in running if not each.done()}

    def _read(self, payload: bytes) -> Any:
        """The task in a payload, None if it is none, or one that is known."""
        try:
            task: Any = wire.decode(payload, TopicKind.MIGFRA_TASK.topic(self.host))
        except DecodeError as error:
            self._complain(_complaint(error))
            return None
        if task.id is not None:
            if (task.id, payload) in self._known:
                return None
            self._known[task.id, payload] = None
            if len(self._known) > REMEMBERED:
                del self._known[next(iter(self._known))]
        return task

    def _complain(self, details: str, id: str | None = None) -> None:
        self._publish(Result(UNKNOWN, [VMResult(UNKNOWN, ERROR, details)], id=id))

    # A task

    async def _answer(self, task: Any) -> None:
        try:
            entries = list(_ENTRIES[type(task)](self, task))
        except TaskRefusal as refusal:
            self._complain(f"Exception: {refusal}")
            return
        if not entries and not isinstance(task, EvacuateNode):
            self._complain("Empty task container executed.", task.id)
            return
        _TASK.set(task.id or "without id")
        running = []
        for entry in entries:
            running.append(asyncio.ensure_future(self._do(entry)))
            if entry.options.concurrent_execution is False:
                await asyncio.wait(running[-1:])
        done = await asyncio.gather(*running)
        results = [each for each in done if each is not None]
        if len(results) == len(done):
            self._publish(Result(RESULTS[type(task)], results, id=task.id))

    async def _do(self, entry: _Entry) -> VMResult | None:
        """Do an entry, and return its result, None if it is not answered."""
        began = time.monotonic()
        status, details = SUCCESS, None
        try:
            await entry.work()
        except TaskRefusal as refusal:
            status, details = ERROR, str(refusal)
        except _Silence:
            return None
        took = {"overall": round(time.monotonic() - began, 6)} if entry.options.time_measurement else None
        return VMResult(entry.name, status, details, took)

    async def _deed(self, deed: str, name: str, act: Callable[[], None], at_once: bool = False) -> None:
        """Do something after the time that it takes, unless it fails."""
        fate = self._luck.draw(deed, name)
        await asyncio.sleep(0 if at_once else fate.seconds)
        if fate.fails:
            raise TaskRefusal(f"failed to {deed} '{name}': asked for with --fail {deed}")
        act()
        logger.info("%s: task %s: %s %s", self.host, _TASK.get(), deed, name)
        self._changed()
        if fate.is_silent:
            raise _Silence

    # The kinds of tasks: each gives its entries

    def _starts(self, task: StartVM) -> Iterable[_Entry]:
        for each in task.vm_configurations:
            try:
                name = _name(each)
            except TaskRefusal:
                name = each.xml or ""  # as the real one calls it
            yield _Entry(name, partial(self._start_one, each), each)

    async def _start_one(self, configuration: VMConfiguration) -> None:
        if configuration.transient and configuration.xml is None:
            raise TaskRefusal("A transient domain needs its xml.")
        name = _name(configuration)
        vcpu_map = configuration.vcpu_map
        machine = VirtualMachine(name, configuration.vcpus or len(vcpu_map or ()) or 1, vcpu_map)
        await self._deed("start", name, partial(self._hypervisors.start, self.host, machine))

    def _stops(self, task: StopVM) -> Iterable[_Entry]:
        for each in task.list:
            yield _Entry(each.vm_name or each.regex or "", partial(self._stop_some, each), each)

    async def _stop_some(self, wanted: VMToStop) -> None:
        if wanted.vm_name is not None:
            names: tuple[str, ...] = (wanted.vm_name,)
        elif wanted.regex is not None:
            names = matching(wanted.regex, self._hypervisors.names(self.host))
        else:
            raise TaskRefusal("Neither vm-name or regex is defined in stop task.")
        stop = partial(self._hypervisors.stop, self.host)
        for done in await asyncio.gather(
            *(self._deed("stop", name, partial(stop, name), bool(wanted.force)) for name in names),
            return_exceptions=True,
        ):
            if done is not None:
                raise done

    def _suspends(self, task: SuspendVM) -> Iterable[_Entry]:
        for each in task.list:
            act = partial(self._hypervisors.suspend, self.host, each.vm_name)
            yield _Entry(each.vm_name, partial(self._deed, "suspend", each.vm_name, act), each)

    def _resumes(self, task: ResumeVM) -> Iterable[_Entry]:
        for each in task.list:
            act = partial(self._hypervisors.resume, self.host, each.vm_name)
            yield _Entry(each.vm_name, partial(self._deed, "resume", each.vm_name, act), each)

    def _repins(self, task: RepinVM) -> Iterable[_Entry]:
        act = partial(self._hypervisors.repin, self.host, task.vm_name, task.vcpu_map)
        yield _Entry(task.vm_name, partial(self._deed, "repin", task.vm_name, act), task)

    def _migrates(self, task: MigrateVM) -> Iterable[_Entry]:
        yield _Entry(task.vm_name, partial(self._migrate_one, task.vm_name, task.destination, task.parameter), task)

    def _evacuates(self, task: EvacuateNode) -> Iterable[_Entry]:
        parameter = task.parameter or EvacuateParameter()
        targets = self._hypervisors.spread(
            self.host,
            [each for each in task.destinations if each != self.host],
            compact=parameter.mode == "compact",
            overbooking=parameter.overbooking is not False,
        )
        for name, target in targets.items():
            yield _Entry(name, partial(self._migrate_one, name, target, parameter), task)

    async def _migrate_one(
        self, name: str, destination: str | None, parameter: MigrateParameter | EvacuateParameter | None
    ) -> None:
        if destination is None:
            raise TaskRefusal(f"no destination has enough free cores for '{name}'")
        swap = getattr(parameter, "swap_with", None)
        other = None if swap is None else swap.vm_name
        self._hypervisors.check_migration(self.host, name, destination, other)
        processes = {name: self._processes(name, getattr(parameter, "pscom_hook_procs", None))}
        if swap is not None:
            processes[swap.vm_name] = self._processes(swap.vm_name, swap.pscom_hook_procs)
        maps = getattr(parameter, "vcpu_map", None), other, None if swap is None else swap.vcpu_map
        act = partial(self._hypervisors.migrate, self.host, name, destination, *maps)
        try:
            await self._hook(SUSPEND, processes)
            await self._deed("migrate", name, act)
        finally:
            await self._hook(RESUME, processes)

    def _processes(self, machine: str, text: str | None) -> int:
        """How many processes in a machine are to answer, as `pscom-hook-procs` has it."""
        if text is None:
            return 0
        if text == "auto":
            return self._hooks.count(machine)
        number = re.match(r"\s*\+?(\d{1,19})", text)
        if number is None:
            raise TaskRefusal("pscom-hook-procs is malformed: stoul")
        return int(number[1])

    async def _hook(self, what: str, processes: Mapping[str, int]) -> None:
        asked = [self._hooks.ask(machine, what, count) for machine, count in processes.items() if count]
        if not all(await asyncio.gather(*asked)):
            raise TaskRefusal("Timeout while waiting for message.")


_ENTRIES: Final[Mapping[type[FastMessage], Callable[[Any, Any], Iterable[_Entry]]]] = {
    StartVM: MigrationFramework._starts,
    StopVM: MigrationFramework._stops,
    SuspendVM: MigrationFramework._suspends,
    ResumeVM: MigrationFramework._resumes,
    RepinVM: MigrationFramework._repins,
    MigrateVM: MigrationFramework._migrates,
    EvacuateNode: MigrationFramework._evacuates,
}


def _name(configuration: VMConfiguration) -> str:
    """The name of a machine to start. Refusal if its definition has none."""
    if configuration.vm_name is not None or configuration.xml is None:
        return configuration.vm_name or ""
    return name_in(configuration.xml)


def _complaint(error: DecodeError) -> str:
    """The framework's message for a payload that is not a task."""
    if error.reason.startswith(wire.NO_TASK):
        return "Parsed message not being a Task_container."
    if error.reason.startswith(wire.UNKNOWN_TASK):
        return "Exception: Unknown type of Task while loading."
    return f"Exception while parsing message: {error}"
