"""Scheduler, the base class of schedulers: a method for each event of Batsim, and the reply to fill in."""

from __future__ import annotations

import inspect
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Final

import batprotocol
from batprotocol import model
from batprotocol._util.user_code import DEPENDENCIES, ImportFault, expect_known, expect_method, is_computed, module_in
from batprotocol.conversation import DEFAULT_RULE_SET, Conversation
from batprotocol.edc.error_notes import inspection_hint, moment_of, note_moment
from batprotocol.edc.reply import Reply, hello_message
from batprotocol.edc.session import LAST_EVENTS, Attendant, EventChecker, Session, Turn, logger
from batprotocol.errors import BuilderError, SchedulerError, shown

__all__ = [
    "DEPENDENCIES",
    "METHODS",
    "LoadError",
    "Scheduler",
    "attend_to",
    "expect_scheduler",
    "file_of",
    "hello_of",
    "intended_by",
    "load",
    "rehearse",
    "show_own",
]


# The first message of a decision component. Its fields come from the user, and the builder checks them.


class Scheduler:
    """A scheduler: override the methods of the events that matter, and fill in `self.reply`.

    Attributes:
        name: the name that the hello carries, without comma or double quote; by default, the name of the class.
        version: the version that the hello carries, likewise.
        commit: the commit that the hello carries, likewise.
        features: the features that the hello requests of the simulation; `on_init` may still set them.
        shares_hosts: whether jobs share hosts on purpose. Then the rule `job.over-allocation` logs no warning. It needs
            not be set for jobs whose extra data ask for a part of a host, such as `{"cores": 4}`.

    For each message of Batsim, the library calls the methods of its events in their order, then `decide`. Then it sends
    the reply. Where Batsim would abort, a method of the reply raises `RuleViolation`, in the line that called it.

    Python reports a wrong class when it creates the class: `SchedulerError`, which is a `TypeError`, for a method that
    is misspelt, takes other arguments or is `async def`; `BuilderError` for a name or features that the hello cannot
    carry.

    >>> class Rejecter(Scheduler):
    ...     def on_job_submitted(self, event):
    ...         self.reply.add_reject_job(event.job_id)
    """

    name: str = ""
    version: str = "0"
    commit: str = ""
    features: model.EDCRequestedSimulationFeatures = model.EDCRequestedSimulationFeatures()
    shares_hosts: bool = False

    _turn: Turn | None = None

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        expect_known(cls, _KNOWN, "event")
        for name, arguments_called_with in _ARGUMENTS.items():
            method = inspect.getattr_static(cls, name)
            if method is not vars(Scheduler)[name]:
                expect_method(cls, name, method, arguments_called_with, _INSTEAD)
        for name in _GIVEN:
            attribute = inspect.getattr_static(cls, name)
            if attribute is not vars(Scheduler)[name] and not is_computed(attribute):
                raise SchedulerError(f"{cls.__name__}.{name} would hide the one of Scheduler: choose another name")
        # A property is computed for each scheduler, and judged when its hello is made.
        attributes = {name: inspect.getattr_static(cls, name) for name in _IN_HELLO.values()}
        _hello(cls, **{name: value for name, value in attributes.items() if not is_computed(value)})

    # While a message is being answered

    @property
    def reply(self) -> Reply:
        """The reply to fill in: a `MessageBuilder` at the time of the message. It exists only during a turn."""
        return (self._turn or self._open_turn()).reply

    @property
    def message(self) -> model.Message:
        """The message of this turn, which the reply answers."""
        return self._open_turn().message

    @property
    def now(self) -> float:
        """The time of the message of this turn, in simulated seconds."""
        return (self._turn or self._open_turn()).message.now

    @property
    def conversation(self) -> Conversation:
        """The state of the simulation: jobs, hosts, calls, probes. The events of the message have taken effect."""
        return self._open_turn().conversation

    def _open_turn(self) -> Turn:
        if self._turn is None:
            raise RuntimeError("there is no message to reply to yet: reply from on_simulation_begins on")
        return self._turn

    # To be overridden

    def on_init(self, text: str) -> None:
        """The simulator has connected.

        Args:
            text: the initialization data, free text from Batsim's command line; often empty, often JSON.
        """

    def decide(self) -> None:
        """Decide, after the methods of all events of the message were called.

        It is not called for the last message, with which the simulation ends.
        """

    def on_simulation_begins(self, event: model.SimulationBeginsEvent) -> None:
        """The simulation begins; the event describes the platform."""

    def on_simulation_ends(self, event: model.SimulationEndsEvent) -> None:
        """The simulation has ended; the reply is the last one, and stays empty."""

    def on_simulation_error(self, event: model.SimulationErrorEvent) -> None:
        """The simulation has failed; the reply is the last one. By default, this method logs the error."""
        logger.error("the simulation has failed: %s", event.error)

    def on_job_submitted(self, event: model.JobSubmittedEvent) -> None:
        """A job was submitted: execute it or reject it, now or later."""

    def on_job_completed(self, event: model.JobCompletedEvent) -> None:
        """A job has ended: it is complete, has reached its walltime, or was killed."""

    def on_jobs_killed(self, event: model.JobsKilledEvent) -> None:
        """Jobs were killed as requested; a JobCompletedEvent for each of them came before."""

    def on_all_static_jobs_have_been_submitted(self, event: model.AllStaticJobsHaveBeenSubmittedEvent) -> None:
        """No more jobs will come, except registered ones."""

    def on_requested_call(self, event: model.RequestedCallEvent) -> None:
        """A call that `add_call_me_later` requested is due."""

    def on_probe_data_emitted(self, event: model.ProbeDataEmittedEvent) -> None:
        """A probe that `add_create_probe` created has data."""

    def on_hosts_pstate_changed(self, event: model.HostsPStateChangedEvent) -> None:
        """Hosts have changed their power state as requested."""

    def on_hosts_turned_on_off(self, event: model.HostsTurnedOnOffEvent) -> None:
        """Hosts have finished turning on or off as requested."""

    def on_external_event_occurred(self, event: model.ExternalEventOccurredEvent) -> None:
        """An external event has occurred."""

    def on_all_static_external_events_have_been_injected(
        self, event: model.AllStaticExternalEventsHaveBeenInjectedEvent
    ) -> None:
        """No more external events will come."""

    # Called by those that run it

    def hello(self, text: str) -> model.Message:
        """The first message, for these initialization data. It calls `on_init`."""
        try:
            self.on_init(text)
        except Exception as error:
            note_moment(error, f"before the simulation, in message 0, the initialization data {shown(text)}", 0)
            raise
        return _hello(type(self), self.name, self.version, self.commit, self.features)

    def player(self, conversation: Conversation) -> Callable[[model.Message], model.Message]:
        """Make a function that replies to messages as values, for a simulator in the same process.

        Args:
            conversation: the conversation, which the simulator shares. It must receive each message before the function
                does, and it learns the events of the reply from the function.

        The function raises `RuleViolation` where the reply asks for something that Batsim would not survive.
        """
        attend, verdicts = attend_to(self), EventChecker(conversation, intended_by(self))

        def answer(message: model.Message) -> model.Message:
            turn = Turn(message, verdicts)
            attend(turn)
            if conversation.doubtful:
                verdicts.doubtful = True
            return turn.answer()

        return answer


def intended_by(scheduler: Scheduler) -> frozenset[str]:
    """The ids of rules that a scheduler breaks on purpose."""
    return frozenset(["job.over-allocation"] if scheduler.shares_hosts else ())


METHODS: Final[Mapping[type[model.Event], str]] = {
    model.SimulationBeginsEvent: "on_simulation_begins",
    model.SimulationEndsEvent: "on_simulation_ends",
    model.SimulationErrorEvent: "on_simulation_error",
    model.JobSubmittedEvent: "on_job_submitted",
    model.JobCompletedEvent: "on_job_completed",
    model.JobsKilledEvent: "on_jobs_killed",
    model.AllStaticJobsHaveBeenSubmittedEvent: "on_all_static_jobs_have_been_submitted",
    model.RequestedCallEvent: "on_requested_call",
    model.ProbeDataEmittedEvent: "on_probe_data_emitted",
    model.HostsPStateChangedEvent: "on_hosts_pstate_changed",
    model.HostsTurnedOnOffEvent: "on_hosts_turned_on_off",
    model.ExternalEventOccurredEvent: "on_external_event_occurred",
    model.AllStaticExternalEventsHaveBeenInjectedEvent: "on_all_static_external_events_have_been_injected",
}
"""The method of each event that Batsim sends."""

_NOTHING: Final = {getattr(Scheduler, name) for name in METHODS.values()} - {Scheduler.on_simulation_error}
"""The methods that do nothing; the library does not call them."""

_KNOWN: Final = frozenset(["on_init", *METHODS.values()])

_ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "hello": ("text",),
    "on_init": ("text",),
    "decide": (),
    **dict.fromkeys(METHODS.values(), ("event",)),
}
"""The arguments of each method that can be overridden."""

_INSTEAD: Final = "make it a `def`, or write a loop with `async for turn in batprotocol.edc.serve(...)`"

_GIVEN: Final = ("conversation", "message", "now", "reply")
"""The attributes that a scheduler has during a turn."""

_IN_HELLO: Final = {
    "decision_component_name": "name",
    "decision_component_version": "version",
    "decision_component_commit": "commit",
    "requested_simulation_features": "features",
}
"""The attribute that each field of the hello comes from."""


# Errors of a scheduler are reported at its definition, not in the middle of a simulation.


def expect_scheduler(scheduler: object, caller: str) -> None:
    """Refuse an object that is not a scheduler, above all the class instead of an instance."""
    if isinstance(scheduler, type) and issubclass(scheduler, Scheduler):
        name = scheduler.__name__
        raise SchedulerError(
            f"{caller} takes a scheduler, not its class: write {caller}({name}(...)) instead of {caller}({name})"
        )
    if not isinstance(scheduler, Scheduler):
        raise SchedulerError(f"{caller} takes a Scheduler, got {shown(scheduler)}")


def _hello(
    cls: type[Scheduler],
    name: str = "",
    version: str = "0",
    commit: str = "",
    features: model.EDCRequestedSimulationFeatures | None = None,
) -> model.Message:
    """The hello of a scheduler. `BuilderError` names the attribute at fault."""
    try:
        return hello_message(name or cls.__name__, version, commit, features)
    except BuilderError as error:
        field, dot, rest = error.path.partition(".")
        raise BuilderError(error.reason, f"{cls.__name__}.{_IN_HELLO.get(field, field)}{dot}{rest}") from None


def hello_of(scheduler: Scheduler, text: str) -> model.Message:
    """The hello of a scheduler, whose class may override `hello`."""
    hello: object = scheduler.hello(text)
    if not isinstance(hello, model.Message):
        raise SchedulerError(f"{type(scheduler).__name__}.hello gives {shown(hello)}, expected a Message")
    return hello


def attend_to(scheduler: Scheduler) -> Callable[[Turn], None]:
    """A function that lets a scheduler fill in the reply of a turn. Methods that are not overridden cost nothing."""
    for name in _ARGUMENTS.keys() & vars(scheduler).keys():
        method = staticmethod(vars(scheduler)[name])
        expect_method(type(scheduler), name, method, _ARGUMENTS[name], _INSTEAD)
    overridden: dict[type, Callable[[Any], object]] = {
        event_type: getattr(scheduler, name)
        for event_type, name in METHODS.items()
        if getattr(type(scheduler), name) not in _NOTHING or name in vars(scheduler)
    }
    for last in LAST_EVENTS:
        overridden.setdefault(last, lambda event: None)  # so that nothing is decided after it
    decides = type(scheduler).decide is not Scheduler.decide or "decide" in vars(scheduler)
    return Attendant(scheduler, overridden, decides).attend


def rehearse(
    scheduler: Scheduler, messages: Iterable[model.Message], init: str = "", rules: str = DEFAULT_RULE_SET
) -> list[model.Message]:
    """Let a scheduler reply to messages of Batsim, without Batsim and without a socket: for tests.

    Args:
        scheduler: the scheduler.
        messages: the messages of Batsim, from the one with `SimulationBeginsEvent` on.
        init: the initialization data.
        rules: the rule set that checks the replies.

    Returns:
        The replies, one for each message; the hello is not among them.

    Raises:
        SchedulerError: the argument is not a scheduler, but for example its class.
        RuleViolation: the scheduler asked for something that Batsim would not survive.

    >>> from batprotocol import MessageBuilder
    >>> builder = MessageBuilder()
    >>> builder.add_simulation_begins(batsim_version="5.0.0", computation_hosts=[])
    >>> rehearse(Scheduler(), [builder.finish_message()])
    [Message(now=0.0, events=())]
    """
    expect_scheduler(scheduler, "rehearse")
    session = Session(lambda text: hello_of(scheduler, text), rules=rules, intended=intended_by(scheduler))
    session.hear_init(init)
    attend = attend_to(scheduler)
    replies = []
    for message in messages:
        attend(session.hear(message))
        replies.append(session.say())
    return replies


# Finds out whether the code of a scheduler raised an exception, and shows its author the place.


_PACKAGE = Path(batprotocol.__file__).parent
_COMPILED = "batprotocol/"
"""The beginning of the file names in tracebacks of compiled modules: the path at compile time."""
_STANDARD = Path(logging.__file__).parent.parent
"""The folder of Python's standard library. Exceptions that it raises for our calls are not a scheduler's fault."""


def show_own(error: BaseException, target: str, record: str | None = None) -> str | None:
    """Print the traceback of an exception that the code of a scheduler raised, from the first line of that code on.

    Args:
        error: the exception.
        target: the scheduler, as its user names it.
        record: the recording of the simulation, or None.

    Returns:
        A sentence to print after the traceback. It names the scheduler and the time, and says how to inspect the
        message. None, with nothing printed, if other code raised the exception.
    """
    own = _own_part(error.__traceback__)
    if own is None and not isinstance(error, SyntaxError):
        return None
    traceback.print_exception(type(error), error, own)
    sentence = f"the scheduler {target} ended with {_with_article(type(error).__name__)}"
    moment = moment_of(error)
    if moment is None:
        return sentence
    return f"{sentence} {moment}; {inspection_hint(moment, record, '--record run.tar.xz')}"


def _own_part(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame of the scheduler's code on; None where there is no such frame."""
    while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_ours(filename: str) -> bool:
    if filename.startswith(("<frozen ", _COMPILED)):
        return True
    folders = Path(filename).parents
    is_standard = _STANDARD in folders and not {"site-packages", "dist-packages"} & set(Path(filename).parts)
    zmq = getattr(sys.modules.get("zmq"), "__file__", None)  # imported only where there is a socket
    return is_standard or _PACKAGE in folders or (zmq is not None and Path(zmq).parent in folders)


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


# Loads the class of a scheduler from its file: `path/to/file.py:Class`.


class LoadError(SchedulerError):
    """The target is not a file with a scheduler in it. Exceptions of that file itself pass through unchanged."""


def file_of(target: str) -> tuple[str, str]:
    """The path and the name of the class in `path/to/file.py:Class`.

    Raises:
        LoadError: there is no such file.
    """
    path, _, name = target.rpartition(":")
    if not path or not name:
        raise LoadError(f"expected FILE:CLASS, for example scheduler.py:FCFS, got {target!r}")
    if not os.path.isfile(path):
        hint = f"; did you mean {path}.py:{name}?" if os.path.isfile(f"{path}.py") else ""
        raise LoadError(f"there is no file {path!r}{hint}")
    return path, name


def load(target: str, arguments: Mapping[str, object] | None = None) -> type[Scheduler]:
    """Load the class that `path/to/file.py:Class` names. As a script can, the file can import the files beside it.

    Args:
        target: the file and the class.
        arguments: the keyword arguments that the class will be called with.

    Raises:
        LoadError: there is no such file, no such scheduler in it, or the scheduler does not take these arguments.
    """
    path, name = file_of(target)
    module = _module(path)
    found = getattr(module, name, None)
    if not isinstance(found, type) or not issubclass(found, Scheduler):
        own = [each for each, value in vars(module).items() if _is_scheduler_of(value, module)]
        hint = f"; it has {' and '.join(own)}" if own else ", and no other"
        raise LoadError(f"{path!r} has no Scheduler called {name!r}{hint}")
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise LoadError(f"the class {name} is abstract: define {' and '.join(missing)}, too")
    try:
        signature = inspect.signature(found)
        signature.bind(**(arguments or {}))
    except ValueError:  # of some classes in C, nobody knows it
        return found
    except TypeError as error:
        if arguments:
            raise LoadError(f"the class {name} cannot be made with these arguments: {error}") from None
        raise LoadError(
            f"the class {name} is made without arguments, but its __init__ takes {signature}: give them defaults, read "
            f"them from the initialization data in on_init, or call batprotocol.edc.run in a program of your own"
        ) from None
    return found


def _module(path: str) -> ModuleType:
    try:
        return module_in(path)
    except ImportFault as fault:
        raise LoadError(str(fault)) from None


def _is_scheduler_of(value: object, module: ModuleType) -> bool:
    return isinstance(value, type) and issubclass(value, Scheduler) and value.__module__ == module.__name__
