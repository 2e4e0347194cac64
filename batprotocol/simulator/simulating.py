"""`simulate`: a whole simulation of a scheduler in this very process, from the inputs to the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Protocol, TypeAlias, runtime_checkable

from batprotocol.conversation import DEFAULT_RULE_SET, Conversation, JobState
from batprotocol.model import ForceSimulationStopEvent, Message
from batprotocol.simulator.batsim.simulator import Simulator
from batprotocol.simulator.inputs import (
    ExternalEventList,
    Platform,
    Workload,
    read_external_events,
    read_platform,
    read_workload,
)
from batprotocol.simulator.results import EnergyPoints, JobRows, Observer, Observers, Result, ResultFiles, Statistics

__all__ = ["DecisionComponent", "Player", "simulate"]

Path: TypeAlias = str | os.PathLike[str]


@runtime_checkable
class DecisionComponent(Protocol):
    """What can be simulated without a socket: something that says hello and answers messages, as values."""

    def hello(self, text: str, /) -> Message:
        """The first message, for these initialization data."""

    def answer(self, message: Message, /) -> Message:
        """The reply to a message."""


@runtime_checkable
class Player(Protocol):
    """What shares the conversation of the simulator, so that each message is judged once, as `edc.Scheduler` does."""

    def hello(self, text: str, /) -> Message:
        """The first message, for these initialization data."""

    def player(self, conversation: Conversation, /) -> Callable[[Message], Message]:
        """What gives the reply to a message that the conversation knows, and tells the conversation of it."""


def simulate(
    platform: Platform | Path,
    workloads: Workload | Path | Iterable[Workload | Path],
    scheduler: Player | DecisionComponent,
    *,
    external_events: Iterable[ExternalEventList | Path] = (),
    energy: bool = False,
    rules: str = DEFAULT_RULE_SET,
    corrected: bool = False,
    init: str = "",
    output: str | None = None,
    observers: Sequence[Observer] = (),
    on_turn: Callable[[Message, Message], None] | None = None,
) -> Result:
    """Simulate a scheduler.

    Args:
        platform: the hosts, as a value or SimGrid's file.
        workloads: what is submitted, one or several, as values or files (Batsim's JSON, the archive's SWF).
        scheduler: a `batprotocol.edc.Scheduler`, or anything with the methods of `DecisionComponent`. If it has the
            attributes `is_told_at_once` and `says_nothing`, the simulator takes its time as the older Batsims did, see
            `Simulator`.
        external_events: what happens besides, as values or files.
        energy: whether energy is measured, which needs the wattages of all hosts.
        rules: the rule set that both sides are checked with.
        corrected: do what is sensible where what Batsim 5.0.0-rc2 does looks unintended; with rules beyond Batsim's,
            that is always done.
        init: the initialization data.
        output: what is put before the names of Batsim's result files (`out/`); None: nothing is written, and the rows
            of the jobs are kept in memory. Where the simulation fails, they have all that happened until then.
        observers: whom to tell what happens, besides.
        on_turn: told of each message of the simulator and the reply to it.

    Returns:
        What the simulation came to. The same inputs give the same result.

    Raises:
        InputError: an input cannot be used.
        RuleViolation: the scheduler asked for something that Batsim would not survive.
        OSError: a file cannot be read or written.

    >>> from batprotocol.edc import Scheduler
    >>> from batprotocol.model import DelayProfile
    >>> from batprotocol.simulator import Platform, StaticJob, Workload, simulate
    >>> class OneByOne(Scheduler):
    ...     def on_job_submitted(self, event):
    ...         self.reply.add_execute_job(event.job_id, "0")
    >>> result = simulate(Platform.homogeneous(4), Workload([StaticJob("1", 0.0, 1, DelayProfile(10.0))]), OneByOne())
    >>> [(job.job_id, job.final_state.name, job.execution_time) for job in result.jobs]
    [('1', 'COMPLETED_SUCCESSFULLY', 10.0)]
    """
    corrected = corrected or rules != DEFAULT_RULE_SET
    hosts = platform if isinstance(platform, Platform) else read_platform(platform, energy=energy)
    given = [workloads] if isinstance(workloads, Workload | str | os.PathLike) else workloads
    statistics, rows, points = Statistics(), JobRows(), EnergyPoints()
    watching: list[Observer] = [statistics, *observers]
    files = None if output is None else ResultFiles(output, energy=energy, statistics=statistics)
    watching += [rows, points] if files is None else [files]
    simulator = Simulator(
        hosts,
        [
            each
            if isinstance(each, Workload)
            else read_workload(each, name=f"w{number}", compositions=rules != DEFAULT_RULE_SET, corrected=corrected)
            for number, each in enumerate(given)
        ],
        external_events=[
            each if isinstance(each, ExternalEventList) else read_external_events(each, corrected=corrected)
            for each in external_events
        ],
        energy=energy,
        rules=rules,
        corrected=corrected,
        observer=Observers(watching),
        init=init,
        at_once=bool(getattr(scheduler, "is_told_at_once", False)),
        says_nothing=str(getattr(scheduler, "says_nothing", "")),
    )
    try:
        was_stopped = _play(simulator, scheduler, on_turn)
    except BaseException:
        if files is not None:
            with suppress(OSError):  # what can be kept is kept, and what came first is told
                files.flush()
        raise
    return Result(
        statistics,
        hosts=len(hosts.computation_hosts),
        energy=energy,
        rows=rows.rows if output is None else output,
        points=points.points,
        was_stopped=was_stopped,
    )


def _play(
    simulator: Simulator, scheduler: Player | DecisionComponent, on_turn: Callable[[Message, Message], None] | None
) -> bool:
    """All turns of a simulation; whether it was stopped before all jobs had ended."""
    message: Message | None = simulator.begin(scheduler.hello(simulator.init))
    before = last = Message(0.0)
    shares = isinstance(scheduler, Player)
    answer = scheduler.player(simulator.conversation) if isinstance(scheduler, Player) else scheduler.answer
    turn = simulator.turn_judged if shares else simulator.turn
    while message is not None:
        reply = answer(message)
        if on_turn is not None:
            on_turn(message, reply)
        message = turn(reply)
        before, last = last, reply
    return any(isinstance(event, ForceSimulationStopEvent) for event in before.events) and _is_unfinished(
        simulator.conversation
    )


def _is_unfinished(conversation: Conversation) -> bool:
    """Whether there were jobs that had not ended, or were still to come."""
    done = (JobState.COMPLETED, JobState.REJECTED)
    return not conversation.all_static_jobs_submitted or any(
        record.state not in done for record in conversation.jobs.values()
    )
