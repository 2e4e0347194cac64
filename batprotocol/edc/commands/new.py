"""`batproto new`: its parameters. `scheduler` has the files that it writes."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, Final

import click

from batprotocol._util.files import naming
from batprotocol.cli.families import Family
from batprotocol.edc.scheduler import DEPENDENCIES

if TYPE_CHECKING:
    from batprotocol.edc import Scheduler

__all__ = [
    "example_scheduler",
    "new",
    "written_scheduler",
]


_OVERVIEW = {"Files": {"scheduler": "Write a scheduler and its test into the current directory."}}


@click.group(cls=Family, overview=_OVERVIEW)
def new() -> None:
    """Write files to start from."""


@new.command("scheduler")
@click.argument("name")
def new_scheduler(name: str) -> None:
    """Write a scheduler called NAME (for example MyScheduler) and its test into the current directory."""

    for file in written_scheduler(name):
        click.echo(f"wrote {file}")


# `batproto new`: the contents of the files to start from, and the code that writes them.


_SCHEDULER: Final = Template('''\
"""$class_name: a scheduler for Batsim. Each job starts as soon as it is first in the queue and enough hosts are free.

Run it, and a simulation with it:

    batproto run $module.py:$class_name -- batsim -p platform.xml -w workload.json --edc-socket-str {endpoint} ""

Test it, with pytest installed (pip install pytest): pytest test_$module.py
"""

from __future__ import annotations

from collections import deque

from batprotocol import FrozenHosts, Hosts, JobCompletedEvent, JobSubmittedEvent, SimulationBeginsEvent
from batprotocol.edc import Scheduler


class $class_name(Scheduler):
    """Batsim's events call the `on_...` methods. There is one for each type of event; those that are missing do
    nothing.

    `self.reply` is the answer to Batsim: `add_execute_job`, `add_reject_job`, `add_kill_jobs`, `add_call_me_later`...
    A call that would make Batsim abort raises a RuleViolation. `self.now` is the simulated time, and
    `self.conversation` knows all jobs and hosts. `on_init(self, text)` gets the initialization data.
    `features = EDCRequestedSimulationFeatures(...)` requests optional features of the simulation.
    """

    version = "0.1"

    def __init__(self) -> None:
        self.free = Hosts()  # the idle hosts
        self.size = 0  # the number of hosts
        self.queue: deque[JobSubmittedEvent] = deque()  # the jobs that wait, in the order of their submission
        self.running: dict[str, FrozenHosts] = {}  # the jobs that run, and their hosts

    def on_simulation_begins(self, event: SimulationBeginsEvent) -> None:
        self.free = Hosts(host.id for host in event.computation_hosts)
        self.size = len(self.free)

    def on_job_submitted(self, event: JobSubmittedEvent) -> None:
        if event.job.resource_request > self.size:
            self.reply.add_reject_job(event.job_id)
        else:
            self.queue.append(event)

    def on_job_completed(self, event: JobCompletedEvent) -> None:
        self.free.give_back(self.running.pop(event.job_id))

    def decide(self) -> None:
        """Decide, once for each message, after the methods of all its events."""
        while self.queue and self.queue[0].job.resource_request <= len(self.free):  # else the first job waits, and all
            event = self.queue.popleft()
            hosts = self.free.take(event.job.resource_request)
            self.reply.add_execute_job(event.job_id, hosts)
            self.running[event.job_id] = hosts
''')

_TEST: Final = Template('''\
"""Tests of $class_name: they send it the messages of a simulation, without Batsim and without a socket."""

from __future__ import annotations

from batprotocol import (
    Doubles,
    ExecuteJobEvent,
    FinalJobState,
    Host,
    Job,
    Message,
    MessageBuilder,
    RejectJobEvent,
    WorkloadAndFilename,
)
from batprotocol.edc import rehearse

from $module import $class_name

HOSTS = 4


def begins() -> Message:
    """The simulation begins, on four hosts."""
    speed = Doubles([1e9])
    builder = MessageBuilder()
    builder.add_simulation_begins(
        batsim_version="5.0.0",
        computation_hosts=[Host(id=number, name=f"host{number}", computation_speed=speed) for number in range(HOSTS)],
        workloads=[WorkloadAndFilename("w0", "workload.json")],
    )
    return builder.finish_message()


def submitted(now: float, *jobs: tuple[str, int]) -> Message:
    """These jobs are submitted, each a name and a number of hosts, and no others will be."""
    builder = MessageBuilder(now)
    for job_id, size in jobs:
        builder.add_job_submitted(job_id, Job(resource_request=size, walltime=10.0, profile_id="w0!delay5"), now)
    builder.add_all_static_jobs_have_been_submitted()
    return builder.finish_message()


def completed(now: float, job_id: str) -> Message:
    """A job has ended."""
    builder = MessageBuilder(now)
    builder.add_job_completed(job_id, FinalJobState.COMPLETED_SUCCESSFULLY)
    return builder.finish_message()


def ends(now: float) -> Message:
    """The simulation has ended."""
    builder = MessageBuilder(now)
    builder.add_simulation_ends()
    return builder.finish_message()


def executed(reply: Message) -> dict[str, str]:
    """The jobs that a reply executes, and their hosts."""
    events = [event for event in reply.events if isinstance(event, ExecuteJobEvent)]
    return {event.job_id: event.allocation.host_allocation for event in events}


def test_jobs_start_in_order_when_there_is_room() -> None:
    simulation = [
        begins(),
        submitted(1.0, ("w0!1", 3), ("w0!2", 2)),
        completed(6.0, "w0!1"),
        completed(11.0, "w0!2"),
        ends(12.0),
    ]
    replies = rehearse($class_name(), simulation)
    assert [executed(reply) for reply in replies] == [{}, {"w0!1": "0-2"}, {"w0!2": "0-1"}, {}, {}]


def test_a_job_that_can_never_start_is_rejected() -> None:
    replies = rehearse($class_name(), [begins(), submitted(1.0, ("w0!1", HOSTS + 1)), ends(2.0)])
    assert [type(event) for event in replies[1].events] == [RejectJobEvent]
''')

_FILES: Final[Mapping[str, Template]] = {"{module}.py": _SCHEDULER, "test_{module}.py": _TEST}


def written_scheduler(name: str) -> list[str]:
    """Write a scheduler and its test into the current directory; the names of the files.

    Args:
        name: the scheduler's name in any style: `MyScheduler`, `my_scheduler`, `my-scheduler`.
    """
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+", name)
    module = "_".join(words).lower()
    class_name = "".join(word[0].upper() + word[1:] for word in words)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) or keyword.iskeyword(module):
        raise click.UsageError(f"expected a name of letters and digits, such as MyScheduler, got {name!r}")
    if module in sys.stdlib_module_names or module in DEPENDENCIES:
        raise click.UsageError(f"{module}.py would hide a module of Python or of this library: choose another name")
    files = {Path(file.format(module=module)): template for file, template in _FILES.items()}
    for file in files:
        if file.exists():
            raise click.ClickException(f"{file} exists already, nothing was written")
    for file, template in files.items():
        with naming(file), file.open("x", encoding="utf-8") as stream:
            stream.write(template.substitute(module=module, class_name=class_name))
    return [str(file) for file in files]


def example_scheduler() -> type[Scheduler]:
    """The class that `written_scheduler` writes, as an example."""
    module: dict[str, Any] = {"__name__": "example"}
    source = _SCHEDULER.substitute(class_name="Example", module="example")
    exec(compile(source, "<example>", "exec", dont_inherit=True), module)  # it is ours
    made: type[Scheduler] = module["Example"]
    return made
