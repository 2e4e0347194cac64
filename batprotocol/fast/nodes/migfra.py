"""The migration framework of a node: it takes tasks and returns results, as measurements of the real one show.

Bad input never stops it. Each task runs beside the others, and each entry of one beside its other entries, unless they
say otherwise; one result comes when all entries are done, with the entries in their order. Unlike the real one, it
does a task once, even if a broker delivers it again.

It must not know of MQTT, only of the function that publishes.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

from batprotocol.errors import DecodeError
from batprotocol.fast import wire
from batprotocol.fast.messages import RESULTS
from batprotocol.fast.nodes.hypervisor import Hypervisors, Machine, Refusal, matching, name_in
from batprotocol.fast.nodes.settings import Luck
from batprotocol.fast.topics import Channel
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

logger = logging.getLogger("batprotocol.fast.nodes")

__all__ = ["Hooks", "MigrationFramework"]

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
            task: Any = wire.decode(payload, Channel.MIGFRA_TASK.topic(self.host))
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
        except Refusal as refusal:
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
        except Refusal as refusal:
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
            raise Refusal(f"failed to {deed} '{name}': asked for with --fail {deed}")
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
            except Refusal:
                name = each.xml or ""  # as the real one calls it
            yield _Entry(name, partial(self._start_one, each), each)

    async def _start_one(self, configuration: VMConfiguration) -> None:
        if configuration.transient and configuration.xml is None:
            raise Refusal("A transient domain needs its xml.")
        name = _name(configuration)
        vcpu_map = configuration.vcpu_map
        machine = Machine(name, configuration.vcpus or len(vcpu_map or ()) or 1, vcpu_map)
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
            raise Refusal("Neither vm-name or regex is defined in stop task.")
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
            raise Refusal(f"no destination has enough free cores for '{name}'")
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
            raise Refusal("pscom-hook-procs is malformed: stoul")
        return int(number[1])

    async def _hook(self, what: str, processes: Mapping[str, int]) -> None:
        asked = [self._hooks.ask(machine, what, count) for machine, count in processes.items() if count]
        if not all(await asyncio.gather(*asked)):
            raise Refusal("Timeout while waiting for message.")


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
