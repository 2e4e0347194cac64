"""A node for its scheduler: a method for each task, which returns the future result.

It must not know how tasks are sent or written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from batprotocol.fast import values as v
from batprotocol.fast.runtime.calls import Call

__all__ = ["Node", "Sender"]


class Sender(Protocol):
    """It sends tasks: a `Cluster`."""

    def call(self, host: str, task: v.FastMessage, timeout: float | None = None) -> Call[Any]: ...
    def send(self, name: str, message: v.FastMessage, process: str | int | None = None) -> None: ...


class Node:
    """A node. Each method sends a task, and returns the `Call` of its result.

    Attributes:
        host: its name.

    `timeout` is the time for the result, in seconds; the default is that of the cluster. For options that the methods
    do not have, use `call`: `node.call(StartVM([...], concurrent_execution=False))`.
    """

    __slots__ = ("_sender", "host")

    def __init__(self, sender: Sender, host: str) -> None:
        self._sender = sender
        self.host = host

    def __repr__(self) -> str:
        return f"Node({self.host!r})"

    def call(self, task: v.FastMessage, timeout: float | None = None) -> Call[Any]:
        """Send a task as it is; it is given an id unless it has one."""
        return self._sender.call(self.host, task, timeout)

    # The migration framework

    def start(self, *machines: v.VMConfiguration | str, timeout: float | None = None) -> Call[v.Result]:
        """Start these machines: those that the node knows by their names, others by a `VMConfiguration`."""
        entries = [v.VMConfiguration(vm_name=each) if isinstance(each, str) else each for each in machines]
        return self.call(v.StartVM(entries), timeout)

    def stop(
        self,
        *machines: v.VMToStop | str,
        force: bool | None = None,
        undefine: bool | None = None,
        timeout: float | None = None,
    ) -> Call[v.Result]:
        """Stop these machines.

        Args:
            machines: their names; `VMToStop(regex=".*")` is all of them.
            force: whether those that are named are switched off rather than shut down.
            undefine: whether the node forgets those that are named.
            timeout: see above.
        """
        named = (v.VMToStop(vm_name=each, force=force, undefine=undefine) for each in machines if isinstance(each, str))
        return self.call(v.StopVM([next(named) if isinstance(each, str) else each for each in machines]), timeout)

    def suspend(self, *names: str, timeout: float | None = None) -> Call[v.Result]:
        """Let these machines have no CPU time."""
        return self.call(v.SuspendVM([v.VM(vm_name=name) for name in names]), timeout)

    def resume(self, *names: str, timeout: float | None = None) -> Call[v.Result]:
        """Let these machines go on."""
        return self.call(v.ResumeVM([v.VM(vm_name=name) for name in names]), timeout)

    def migrate(
        self,
        name: str,
        destination: str,
        parameter: v.MigrateParameter | None = None,
        *,
        swap_with: str | v.SwapWith | None = None,
        timeout: float | None = None,
    ) -> Call[v.Result]:
        """Bring a machine to another node.

        Args:
            name: the machine, which runs here.
            destination: the node that it comes to.
            parameter: how.
            swap_with: the machine that comes here in its place, in addition to what `parameter` says.
            timeout: see above.
        """
        if swap_with is not None:
            given = parameter or v.MigrateParameter()
            other = v.SwapWith(swap_with) if isinstance(swap_with, str) else swap_with
            fields = {each: getattr(given, each) for each in given.__struct_fields__}
            parameter = v.MigrateParameter(**{**fields, "swap_with": other})
        return self.call(v.MigrateVM(name, destination, parameter), timeout)

    def repin(self, name: str, vcpu_map: Iterable[Iterable[int]], timeout: float | None = None) -> Call[v.Result]:
        """Let the virtual CPUs of a machine run on these CPUs: an entry for each of them."""
        return self.call(v.RepinVM(name, vcpu_map), timeout)

    def evacuate(
        self, *destinations: str, parameter: v.EvacuateParameter | None = None, timeout: float | None = None
    ) -> Call[v.Result]:
        """Bring all machines that run here to these nodes."""
        return self.call(v.EvacuateNode(destinations, parameter=parameter), timeout)

    def quit(self, timeout: float | None = None) -> Call[v.Result]:
        """Let the migration framework of this node end."""
        return self.call(v.Quit(), timeout)

    # The agent and mmbwmon

    def init_agent(self, categories: Mapping[str, str], repeat: int) -> None:
        """Let the agent report these indicators, every so many seconds. It may answer with a `Configuration`."""
        self._sender.send(self.host, v.InitAgent(v.KPIConfiguration(categories, repeat)))

    def stop_monitoring(self, job_id: str, process_id: int) -> None:
        """Let the agent watch a job no longer."""
        self._sender.send(self.host, v.StopMonitoring(v.JobDescription(job_id, process_id)))

    def measure(self, cores: Iterable[int], timeout: float | None = None) -> Call[v.MmbwmonResponse]:
        """Let mmbwmon measure the memory bandwidth that is left to these cores: what runs there is suspended before."""
        return self.call(v.MmbwmonRequest(cores), timeout)

    def stop_cgroup(self, cgroup: str, timeout: float | None = None) -> Call[v.MmbwmonStopAck]:
        """Let mmbwmon stop the processes of a cgroup."""
        return self.call(v.MmbwmonStop(cgroup), timeout)

    def restart_cgroup(self, cgroup: str, timeout: float | None = None) -> Call[v.MmbwmonRestartAck]:
        """Let mmbwmon restart the processes of a cgroup."""
        return self.call(v.MmbwmonRestart(cgroup), timeout)
