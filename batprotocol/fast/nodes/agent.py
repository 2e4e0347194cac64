"""The agent of a node, which reports indicators, and mmbwmon, which measures the memory bandwidth that is left.

It must not know of MQTT, only of what it is given to publish with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from batprotocol.fast import values as v
from batprotocol.fast.nodes.hypervisor import Hypervisors
from batprotocol.fast.nodes.settings import Luck, Settings

__all__ = ["LEAST_BANDWIDTH", "Agent"]

LEAST_BANDWIDTH: Final = 0.33
"""What is always left, by the specification."""


class Agent:
    """The agent and the mmbwmon of one host.

    Args:
        host: the host.
        hypervisors: the machines of all hosts.
        settings: how much bandwidth machines use.
        luck: what chance has in store.
        publish: called with what is said.
        start: runs a coroutine beside the others.
    """

    def __init__(
        self,
        host: str,
        hypervisors: Hypervisors,
        settings: Settings,
        luck: Luck,
        publish: Callable[[v.FastMessage], None],
        start: Callable[[Coroutine[Any, Any, None]], asyncio.Task[Any]],
    ) -> None:
        self.host = host
        self._hypervisors = hypervisors
        self._settings = settings
        self._luck = luck
        self._publish = publish
        self._start = start
        self._reporting: asyncio.Task[Any] | None = None

    def begin(self) -> None:
        """Announce the node to schedulers."""
        self._publish(v.Init(self.host))

    def take(self, message: v.FastMessage) -> None:
        """Do what a scheduler asks for."""
        if isinstance(message, v.InitAgent):
            self._configure(message)
        elif isinstance(message, v.MmbwmonRequest):
            self._start(self._measure(message))
        elif isinstance(message, v.MmbwmonStop):
            self._publish(v.MmbwmonStopAck())
        elif isinstance(message, v.MmbwmonRestart):
            self._publish(v.MmbwmonRestartAck())
        else:  # stop monitoring
            self.end()

    def end(self) -> None:
        """Report nothing any more."""
        if self._reporting is not None:
            self._reporting.cancel()
            self._reporting = None

    @property
    def available_bandwidth(self) -> float:
        """The share of the memory bandwidth that the machines leave that are not suspended."""
        machines = self._hypervisors.machines(self.host).values()
        used = sum(self._settings.bandwidth_of(each.name) for each in machines if not each.is_suspended)
        return round(max(LEAST_BANDWIDTH, 1 - used), 4)

    def _configure(self, message: v.InitAgent) -> None:
        self.end()
        accepted = message.kpi.repeat > 0
        self._publish(v.Configuration(self.host, "accepted" if accepted else "denied"))
        if accepted:
            self._reporting = self._start(self._report(message))

    async def _report(self, message: v.InitAgent) -> None:
        while True:
            await asyncio.sleep(message.kpi.repeat)
            machines = len(self._hypervisors.names(self.host))
            known = {"Node memory bandwidth": str(self.available_bandwidth), "Node virtual machines": str(machines)}
            self._publish(v.KPI(self.host, {name: known.get(name, "0") for name in message.kpi.categories} or known))

    async def _measure(self, message: v.MmbwmonRequest) -> None:
        fate = self._luck.draw("mmbwmon", str(message.cores))
        await asyncio.sleep(fate.seconds)
        if not fate.fails and not fate.is_silent:  # it has no words for a failure
            self._publish(v.MmbwmonResponse(message.cores, self.available_bandwidth))
