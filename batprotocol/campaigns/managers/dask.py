"""A cluster whose resource manager is a Dask scheduler: campaigns run on the workers of Dask.

The code that runs in Dask is in `dask_remote`. The package `distributed` comes with `batprotocol[dask]`, and is
imported at its first use.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from batprotocol._util.engines import connect, dask_faults, missing
from batprotocol.campaigns.managers.interface import (
    KILLED,
    LOST,
    NO_DIRECTORY,
    TIME_OVER,
    JobRequest,
    ended,
    text_of_output,
)
from batprotocol.campaigns.model import GridJobState, Observation, RemoteJob
from batprotocol.errors import ClusterError

__all__ = ["DaskCluster"]

Answer = TypeVar("Answer")

PRIORITY: Final = -10
"""The priority of best-effort jobs. Other work of the Dask cluster has 0, and goes first."""

RESTARTED: Final = "the Dask scheduler was restarted and has lost its jobs: jobs that had ended may run again"

CAUSES: Final = {event.type: event for event in (KILLED, LOST, NO_DIRECTORY, TIME_OVER)}


class DaskCluster:
    """The workers of a Dask scheduler. Its resources are the threads of the workers.

    A job that asks for more than one resource takes as many `slots`, a resource that workers declare:
    `dask worker --resources slots=4`.

    Args:
        name: the name of the cluster.
        address: the address of the scheduler, `tcp://host:8786`.
        mark: the prefix of the names of all jobs that are submitted to it.
        timeout: how many seconds to wait for an answer of the scheduler.

    Raises:
        ClusterError: `distributed` is missing, or nobody answers at the address.
    """

    def __init__(self, name: str, address: str, mark: str = "cigri", timeout: float = 10.0) -> None:
        self.name = name
        self._address = address
        self._mark = f"{mark}."
        self._timeout = timeout
        self._client: Any = None
        self._life: str | None = None  # the id of the last register
        self._ask(lambda client: client.scheduler_info())

    def look(self) -> Observation:
        found = self._ask(lambda client: self._call(client, "look", mark=self._mark))
        jobs = tuple(_remote_job(int(job["name"][len(self._mark) :]), job) for job in found["jobs"])
        before, self._life = self._life, found["life"]
        return Observation(
            cluster=self.name,
            time=time.time(),
            max=found["maximum"],
            free=found["free"],
            jobs=jobs,
            message=RESTARTED if before not in (None, found["life"]) else "",
        )

    def submit(self, requests: Sequence[JobRequest]) -> None:
        groups: dict[tuple[str, int], dict[int, JobRequest]] = {}
        for each in requests:
            key = ("alone", each.job) if each.group is None else ("group", each.group)
            groups.setdefault(key, {})[each.job] = each
        tasks = {self._name(next(iter(jobs))): list(jobs.values()) for jobs in groups.values()}
        if tasks:
            self._ask(lambda client: self._send(client, tasks))

    def _send(self, client: Any, tasks: Mapping[str, Sequence[JobRequest]]) -> None:
        from batprotocol.campaigns.managers._dask_worker import run_commands

        groups = {task: [self._name(job.job) for job in jobs] for task, jobs in tasks.items()}
        for task in self._call(client, "announce", groups=groups):
            first = tasks[task][0]
            client.submit(
                run_commands,
                [{**msgspec.structs.asdict(job), "name": self._name(job.job)} for job in tasks[task]],
                key=task,
                pure=False,
                priority=PRIORITY if first.best_effort else 0,
                resources={"slots": first.weight} if first.weight > 1 else None,
            )
        until = time.monotonic() + self._timeout  # Dask sends them with a delay
        while self._call(client, "announce", groups=groups):
            if time.monotonic() > until:
                raise TimeoutError("it has not accepted the jobs")
            time.sleep(0.005)

    def kill(self, jobs: Iterable[int]) -> None:
        names = [self._name(job) for job in jobs]
        if names:
            self._ask(lambda client: self._kill(client, names))

    def _kill(self, client: Any, names: list[str]) -> None:
        from batprotocol.campaigns.managers._dask_worker import kill_commands

        begun = self._call(client, "kill", names=names, cause=KILLED.type)  # the others never begin
        if begun:
            client.run(kill_commands, begun)

    def forget(self, jobs: Iterable[int]) -> None:
        names = [self._name(job) for job in jobs]
        if names:
            self._ask(lambda client: self._forget(client, names))

    def _forget(self, client: Any, names: list[str]) -> None:
        self._kill(client, names)
        self._call(client, "forget", names=names)

    def tend(self) -> None:
        """Do nothing: Dask starts jobs."""

    def close(self) -> None:
        if self._client is not None:
            self._client.close(timeout=self._timeout)
            self._client = None

    def _name(self, job: int) -> str:
        return f"{self._mark}{job}"

    def _call(self, client: Any, handler: str, **arguments: Any) -> Any:
        from batprotocol.campaigns.managers._dask_worker import MARK

        answer = client.sync(getattr(client.scheduler, f"{MARK}-{handler}"), **arguments)
        if answer is None:  # the client has connected again, to another scheduler, which has no register
            raise OSError("it was restarted")
        return answer

    def _connected(self) -> Any:
        """The client. After a failure, it is a new one, as there may be another scheduler, without a register."""
        if self._client is None:
            self._client = connect(self._address, self._timeout, _with_register)
        return self._client

    def _ask(self, question: Callable[[Any], Answer]) -> Answer:
        try:
            return question(self._connected())
        except ImportError as error:
            raise ClusterError(missing(error), self.name) from None
        except dask_faults() as error:
            client, self._client = self._client, None
            if client is not None:
                client.close(timeout=1)
            raise ClusterError(f"{self._address} does not answer: {error}", self.name) from None


def _with_register(client: Any) -> None:
    from batprotocol.campaigns.managers import _dask_worker

    _by_value(_dask_worker)
    client.register_plugin(_dask_worker.Register())


def _by_value(module: Any) -> None:
    """Send functions of this module with their code, so that Dask's workers do not need batprotocol."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(module)


def _remote_job(number: int, job: dict[str, Any]) -> RemoteJob:
    """A job of the register, as a `RemoteJob`."""
    started, stopped, node = job.get("started"), job.get("ended"), job.get("node")
    if stopped is None:
        state = GridJobState.RUNNING if "worker" in job else GridJobState.REMOTE_WAITING
        return RemoteJob(job=number, state=state, remote_id=job["name"], start_time=started, node=node)
    cause, exit_code = CAUSES.get(job["cause"]), job["exit_code"]
    return ended(
        number,
        exit_code=exit_code,
        because=cause,
        start_time=started,
        stop_time=stopped,
        remote_id=job["name"],
        node=node,
        output=_printed(job.get("output")),
        errors=_printed(job.get("errors")),
    )


def _printed(kept: tuple[bytes, bool] | None) -> str:
    return "" if kept is None else text_of_output(bytes(kept[0]), whole=kept[1])
