"""The processes in the machines: MPI processes, whose layer pscom closes its connections on request, and applications.

It must not know of MQTT; it publishes through a function that it gets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final
from zlib import crc32

from batprotocol.fast.nodes.hypervisor import Hypervisors
from batprotocol.fast.nodes.settings import Luck, Settings
from batprotocol.fast.values import (
    ALLOWED,
    ANY_PROCESS,
    COMPLETED,
    RESUME,
    SUSPEND,
    ApplicationKPIs,
    ApplicationStatus,
    FastMessage,
    PscomRequest,
    PscomResponse,
)

__all__ = ["Applications", "Processes"]

PATIENCE: Final = 10.0
"""Seconds that a migration framework waits for each answer of pscom."""

_Publish = Callable[[str, FastMessage, "int | str | None"], None]
_Start = Callable[[Coroutine[Any, Any, None]], asyncio.Task[Any]]


class Processes:
    """The processes of MPI in all machines: pscom in them, and how a migration framework reaches it.

    Args:
        hypervisors: the machines of all hosts.
        settings: how many processes there are in each.
        luck: what chance has in store.
        publish: called with a machine, what is said to it or by it, and the process.
        start: runs a coroutine beside the others.
    """

    def __init__(
        self, hypervisors: Hypervisors, settings: Settings, luck: Luck, publish: _Publish, start: _Start
    ) -> None:
        self._hypervisors = hypervisors
        self._settings = settings
        self._luck = luck
        self._publish = publish
        self._start = start
        self._answers: dict[str, asyncio.Queue[None]] = {}

    def numbers(self, machine: str) -> tuple[int, ...]:
        """The numbers of the processes in a machine."""
        first = 2000 + crc32(machine.encode()) % 8000
        return tuple(range(first, first + self._settings.pscom_procs))

    # As pscom

    def take_request(self, machine: str, process: str, request: PscomRequest) -> None:
        """Let the processes answer that are meant, if the machine is on one of these hosts."""
        if self._hypervisors.host_of(machine) is None or request.task not in (SUSPEND, RESUME):
            return
        state = ALLOWED if request.task == SUSPEND else COMPLETED
        for number in self.numbers(machine):
            if process in (ANY_PROCESS, str(number)):
                self._start(self._answer(machine, PscomResponse(state, number)))

    async def _answer(self, machine: str, response: PscomResponse) -> None:
        fate = self._luck.draw("pscom", f"{machine} {response}")
        await asyncio.sleep(fate.seconds)
        if not fate.fails and not fate.is_silent:  # it has no words for a failure
            self._publish(machine, response, response.process)

    # As a migration framework reaches it

    def count(self, machine: str) -> int:
        """How many processes there are in a machine."""
        return self._settings.pscom_procs

    async def ask(self, machine: str, what: str, processes: int) -> bool:
        """Let the processes of a machine `suspend` or `resume` their connections; whether so many answered in time."""
        answers = self._answers[machine] = asyncio.Queue()
        self._publish(machine, PscomRequest(what), ANY_PROCESS)
        try:
            for _ in range(processes):
                await asyncio.wait_for(answers.get(), PATIENCE)
        except asyncio.TimeoutError:
            return False
        finally:
            self._answers.pop(machine, None)
        return True

    def take_response(self, machine: str) -> None:
        """Take note that a process of a machine has answered; the content of its answer does not matter."""
        if machine in self._answers:
            self._answers[machine].put_nowait(None)


class Applications:
    """An application in each machine that reports its progress. The job id of each is the name of its machine.

    Args:
        hypervisors: the machines of all hosts.
        settings: how often they report, if they do at all.
        publish: called with a job id, what is said, and None.
        start: runs a coroutine beside the others.
    """

    def __init__(self, hypervisors: Hypervisors, settings: Settings, publish: _Publish, start: _Start) -> None:
        self._hypervisors = hypervisors
        self._settings = settings
        self._publish = publish
        self._start = start
        self._running: dict[str, asyncio.Task[Any]] = {}

    def look(self) -> None:
        """Start the applications of machines that are new, and end those of machines that are gone."""
        if not self._settings.applications:
            return
        there = {name for host in self._hypervisors.hosts for name in self._hypervisors.names(host)}
        for name in self._running.keys() - there:
            self._running.pop(name).cancel()
        for name in there - self._running.keys():
            self._running[name] = self._start(self._report(name))

    async def _report(self, job_id: str) -> None:
        self._publish(job_id, ApplicationStatus(job_id, True, ["progress", "memory bandwidth"]), None)
        seconds = 0.0
        while True:
            await asyncio.sleep(self._settings.report_time)
            seconds += self._settings.report_time
            bandwidth = self._settings.bandwidth_of(job_id)
            kpis = {"progress": f"{seconds:g}", "memory bandwidth": f"{bandwidth:.3f}"}
            self._publish(job_id, ApplicationKPIs(job_id, kpis), None)
