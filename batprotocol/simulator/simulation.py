"""`simulate`: a whole simulation of a scheduler in this process, from the inputs to the result; and watchers of it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from batprotocol.conversation import DEFAULT_RULE_SET, Conversation, JobState
from batprotocol.errors import SchedulerError, expect_instance, expect_options, shown
from batprotocol.model import ForceSimulationStopEvent, Message
from batprotocol.model.planned_jobs import HostPlanner, PlannerMaker
from batprotocol.results import EnergyPoints, JobRows, Observer, Observers, Result, ResultFiles, Statistics
from batprotocol.simulator.batsim.simulator import Simulator
from batprotocol.simulator.options import SimulationOptions
from batprotocol.workloads import (
    ExternalEventList,
    Platform,
    Workload,
    read_external_events,
    read_platform,
    read_workload,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "DecisionComponent",
    "Player",
    "Watcher",
    "is_notified_at_once",
    "simulate",
    "watched",
]


Path: TypeAlias = str | os.PathLike[str]


@runtime_checkable
class DecisionComponent(Protocol):
    """A scheduler that can be simulated without a socket: it returns a hello and replies, as values."""

    def hello(self, text: str, /) -> Message:
        """Take the initialization data, and return the hello."""

    def answer(self, message: Message, /) -> Message:
        """Take a message, and return the reply."""


@runtime_checkable
class Player(Protocol):
    """A scheduler that shares the simulator's conversation, so each message is checked only once: `edc.Scheduler`."""

    def hello(self, text: str, /) -> Message:
        """Take the initialization data, and return the hello."""

    def player(self, conversation: Conversation, /) -> Callable[[Message], Message]:
        """A function that returns the reply to a message of the conversation, and adds this reply to it."""


@runtime_checkable
class Planned(Protocol):
    """A scheduler that can do without messages where jobs only take time: a policy that counts hosts."""

    def planner(self, workload: Workload, /) -> PlannerMaker | None:
        """A function that makes its planner at the beginning of a simulation of these jobs; None: it needs messages."""


def simulate(
    platform: Platform | Path,
    workloads: Workload | Path | Iterable[Workload | Path],
    scheduler: Player | DecisionComponent,
    *,
    external_events: Iterable[ExternalEventList | Path] = (),
    output: str | None = None,
    observers: Sequence[Observer] = (),
    on_turn: Callable[[Message, Message], None] | None = None,
    **options: Unpack[SimulationOptions],
) -> Result:
    """Simulate a scheduler.

    Args:
        platform: the hosts, as a value or SimGrid's file.
        workloads: the workloads to submit, one or several, as values or files (Batsim's JSON, the archive's SWF).
        scheduler: a `batprotocol.edc.Scheduler`, or an object with the methods of `DecisionComponent`. If it has the
            attributes `is_notified_at_once` and `says_nothing`, messages take time as with older versions of Batsim,
            see `Simulator`.
        external_events: lists of external events, as values or files.
        output: a prefix for the names of Batsim's result files (`out/`); None: no files are written, and the rows of
            the jobs are in memory. If the simulation fails, the files have all rows up to the failure.
        observers: further observers.
        on_turn: called with each message of the simulator and the reply to it.
        options: the options of the simulation: `energy`, `rules`, `corrected` and `init`, see `SimulationOptions`.

    Returns:
        The results of the simulation. The same inputs lead to the same result.

    Raises:
        InputError: an input cannot be used.
        SchedulerError: the scheduler is a class, or no scheduler; or another argument is a class.
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
    expect_options("simulate", options, SimulationOptions)
    _expect_scheduler(scheduler)
    energy, rules = options.get("energy", False), options.get("rules", DEFAULT_RULE_SET)
    corrected = options.get("corrected", False) or rules != DEFAULT_RULE_SET
    expect_instance(platform, (Platform, str, os.PathLike), "simulate", "a platform or its file")
    hosts = platform if isinstance(platform, Platform) else read_platform(platform, energy=energy)
    single = isinstance(workloads, Workload | str | os.PathLike | type)
    given: list[Workload | Path] = [workloads] if single else list(workloads)  # type: ignore[arg-type,list-item]
    for each in given:
        expect_instance(each, (Workload, str, os.PathLike), "simulate", "a workload or its file")
    for observer in observers:
        expect_instance(observer, Observer, "simulate", "an Observer")
    statistics, rows, points = Statistics(), JobRows(), EnergyPoints()
    watching: list[Observer] = [statistics, *observers]
    for observer in observers:
        if isinstance(observer, ResultFiles):
            observer.follow(statistics)
    files = None if output is None else ResultFiles(output, energy=energy, statistics=statistics)
    watching += [rows, points] if files is None else [files]
    events = [
        each if isinstance(each, ExternalEventList) else read_external_events(each, corrected=corrected)
        for each in external_events
    ]
    simulator = Simulator(
        hosts,
        [
            each
            if isinstance(each, Workload)
            else read_workload(each, name=f"w{number}", compositions=rules != DEFAULT_RULE_SET, corrected=corrected)
            for number, each in enumerate(given)
        ],
        external_events=events,
        energy=energy,
        rules=rules,
        corrected=corrected,
        observer=Observers(watching),
        init=options.get("init", ""),
        at_once=is_notified_at_once(scheduler),
        says_nothing=str(getattr(scheduler, "says_nothing", "")),
    )
    try:
        was_stopped = _play(simulator, scheduler, on_turn)
    except BaseException:
        if files is not None:
            with suppress(OSError):  # write what can be written, and raise the first error
                files.flush()
        raise
    return Result(
        statistics,
        hosts=len(hosts.computation_hosts),
        energy=energy,
        rows=rows.rows if output is None else output,
        points=points.points,
        events=events,
        was_stopped=was_stopped,
        cores=hosts.core_count,
    )


def _play(
    simulator: Simulator, scheduler: Player | DecisionComponent, on_turn: Callable[[Message, Message], None] | None
) -> bool:
    """Run all turns of a simulation; whether it was stopped before all jobs had ended."""
    hello = scheduler.hello(simulator.init)
    if on_turn is None and isinstance(scheduler, Planned) and simulator.run_planned(hello, scheduler.planner):
        return False
    message: Message | None = simulator.begin(hello)
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


def _expect_scheduler(scheduler: object) -> None:
    """Refuse an object that is not a scheduler, above all the class of one."""
    if isinstance(scheduler, str):
        raise SchedulerError(f"simulate takes a scheduler, got {shown(scheduler)}: write named({shown(scheduler)})()")
    if isinstance(scheduler, type) and scheduler.__module__.startswith("batprotocol.policies"):
        raise SchedulerError(
            f"simulate takes a scheduler, and not the class {scheduler.__name__}: add (), as in named('easy')()"
        )
    expect_instance(scheduler, (Player, DecisionComponent), "simulate", "a scheduler")


def is_notified_at_once(scheduler: object) -> bool:
    """Whether the scheduler gets events as soon as it has replied, see `Simulator`."""
    if hasattr(scheduler, "is_told_at_once"):
        sentence = "the attribute 'is_told_at_once' of schedulers is deprecated: use 'is_notified_at_once' instead"
        warnings.warn(sentence, DeprecationWarning, stacklevel=3)
        return bool(scheduler.is_told_at_once)
    return bool(getattr(scheduler, "is_notified_at_once", False))


def _is_unfinished(conversation: Conversation) -> bool:
    """Whether some jobs had not ended, or had not been submitted."""
    done = (JobState.COMPLETED, JobState.REJECTED)
    return not conversation.all_static_jobs_submitted or any(
        record.state not in done for record in conversation.jobs.values()
    )


# Watchers


class Watcher(Protocol):
    """An object that gets the messages of a simulation, in this order. A `Recorder` is a watcher."""

    def hello(self, init: str, message: Message, /) -> None:
        """Take the initialization data, and the hello of the decision component."""

    def sent(self, message: Message, /) -> None:
        """Take a message of the simulator, which may never be answered."""

    def answered(self, reply: Message, /) -> None:
        """Take the reply to the last message."""


def watched(component: Player | DecisionComponent, watcher: Watcher) -> Player | DecisionComponent:
    """The same component with a watcher, for `simulate`.

    Args:
        component: the decision component.
        watcher: the watcher of its messages. If it has a method `without_messages`, the simulation may do without them:
            then the watcher gets the hello alone, and this method takes the planner and returns the one to ask.
    """
    return (_WatchedPlayer if isinstance(component, Player) else _WatchedComponent)(component, watcher)


class _WatchedScheduler:
    def __init__(self, component: Player | DecisionComponent, watcher: Watcher) -> None:
        self._component = component
        self._watcher = watcher
        self.is_notified_at_once = is_notified_at_once(component)
        self.says_nothing = getattr(component, "says_nothing", "")

    def hello(self, text: str) -> Message:
        message = self._component.hello(text)
        self._watcher.hello(text, message)
        return message

    def _through(self, answer: Callable[[Message], Message]) -> Callable[[Message], Message]:
        sent, answered = _sent_of(self._watcher), self._watcher.answered

        def through(message: Message) -> Message:
            sent(message)
            reply = answer(message)
            answered(reply)
            return reply

        return through


def _sent_of(watcher: Watcher) -> Callable[[Message], None]:
    """The method `sent` of a watcher, or `told`, its old name."""
    old: Callable[[Message], None] | None = None if hasattr(watcher, "sent") else getattr(watcher, "told", None)
    if old is None:
        return watcher.sent
    sentence = f"the method `told` of {type(watcher).__name__} is deprecated: rename it to `sent`"
    warnings.warn(sentence, DeprecationWarning, stacklevel=4)
    return old


class _WatchedPlayer(_WatchedScheduler):
    def planner(self, workload: Workload) -> PlannerMaker | None:
        """The planner of the scheduler, if the watcher can do without messages: see `watched`."""
        wrap: Callable[[HostPlanner], HostPlanner] | None = getattr(self._watcher, "without_messages", None)
        make = self._component.planner(workload) if wrap and isinstance(self._component, Planned) else None
        return None if wrap is None or make is None else lambda event: wrap(make(event))

    def player(self, conversation: Conversation) -> Callable[[Message], Message]:
        assert isinstance(self._component, Player)
        return self._through(self._component.player(conversation))


class _WatchedComponent(_WatchedScheduler):
    def __init__(self, component: Player | DecisionComponent, watcher: Watcher) -> None:
        super().__init__(component, watcher)
        assert isinstance(component, DecisionComponent)
        self.answer = self._through(component.answer)
