"""`Simulator`: Batsim's side of the conversation without any I/O, one message for one reply."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from mypy_extensions import mypyc_attr

from batprotocol.conversation import DEFAULT_RULE_SET, Conversation, Violation
from batprotocol.errors import InputError, RuleViolation, expect_options
from batprotocol.model import EDCHelloEvent, Message, SimulationErrorEvent, StopCallMeLaterEvent, StopProbeEvent
from batprotocol.model.planned_jobs import PlannerMaker
from batprotocol.results import Observer
from batprotocol.simulator.batsim.delays import delays_of, run_delays
from batprotocol.simulator.batsim.server import BatsimServer
from batprotocol.simulator.batsim.simulation_state import Setup, Simulation
from batprotocol.simulator.batsim.submitters import Submitter
from batprotocol.simulator.copies import copied
from batprotocol.simulator.machine.machine import SimulatedMachine
from batprotocol.simulator.machine.queue import EventQueue
from batprotocol.simulator.options import SimulationOptions
from batprotocol.workloads import ExternalEventList, Platform, Workload
from batprotocol.workloads.requests import asks_for_a_part
from batprotocol.workloads.workload_files import TraceReader, read_traces

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "Simulator",
    "assemble",
]


# Creation


def assemble(setup: Setup, *, energy: bool, observer: Observer | None) -> Simulation:
    """Create a simulation that is ready to begin."""
    machine = SimulatedMachine(setup.platform, energy, setup.corrected)
    queue = EventQueue(machine)
    simulation = Simulation(setup, queue, observer)
    profiles = simulation.profiles
    for workload in setup.workloads:
        profiles.known.update(workload.profiles)
        if not setup.corrected:
            profiles.unusable.update(workload.profiles.keys() - workload.referenced_profiles)
        queue.start(Submitter(workload, are_jobs=True))
    for event_list in setup.event_lists:
        queue.start(Submitter(event_list.events, are_jobs=False))
    queue.start(BatsimServer())
    simulation.reports.pstates(range(len(machine.hosts)), None)
    return simulation


_KNOWS_BETTER: Final = ("hosts.turn-busy", "hosts.turn-switching", "hosts.turn-direction")
"""Rules that a conversation cannot check exactly, because they depend on the states of hosts at an event."""


@mypyc_attr(serializable=True, allow_interpreted_subclasses=True)
class Simulator:
    """An embedded Batsim.

    Args:
        platform: the hosts and their network.
        workloads: the workloads to submit; they are renamed to w0, w1...
        external_events: lists of external events; they are renamed to ee0, ee1...
        observer: the observer that gets the rows of the result files.
        arguments: the command-line arguments that the decision component gets.
        at_once: whether the decision component gets events as soon as it has replied, as with Batsim before version 3,
            and not only when nothing else happens at the same time.
        traces: reads a usage trace that the decision component registers: a function of a filename with the keyword
            `corrected`. By default, the file is read as Batsim reads it: relative to the working directory.
        says_nothing: "waiting" if a reply without decisions takes as long as one decision, as in the first versions of
            the text protocol; "leaving" if the server gets a message but no time passes, as in the last ones.
        options: the options of the simulation: `energy`, `rules` ("batsim-5.0.0-rc2" refuses what this Batsim refuses),
            `corrected` and `init`, see `SimulationOptions`.

    `begin` takes the hello and returns the first message. Then `turn` takes each reply and returns the next message, or
    None at the end. Between any two turns, a simulator can be copied (`copy.copy` and `copy.deepcopy` are equivalent)
    and pickled. The original and the copy continue in the same way. They share data that never changes, such as the
    platform and the workloads.

    >>> from batprotocol import MessageBuilder
    >>> from batprotocol.simulator import Platform, Simulator, StaticJob, Workload
    >>> from batprotocol.model import DelayProfile
    >>> simulator = Simulator(Platform.homogeneous(4), [Workload([StaticJob("1", 5.0, 2, DelayProfile(10.0))])])
    >>> builder = MessageBuilder()
    >>> builder.add_edc_hello("me", "1")
    >>> message = simulator.begin(builder.finish_message())
    >>> [type(event).__name__ for event in message.events]
    ['SimulationBeginsEvent']
    >>> [type(event).__name__ for event in simulator.turn(MessageBuilder(message.now).finish_message()).events]
    ['JobSubmittedEvent']
    """

    __slots__ = (
        "_begun",
        "_energy",
        "_observer",
        "_setup",
        "_simulation",
        "conversation",
        "error",
        "init",
        "warnings",
    )

    def __init__(
        self,
        platform: Platform,
        workloads: Iterable[Workload] = (),
        *,
        external_events: Iterable[ExternalEventList] = (),
        observer: Observer | None = None,
        arguments: Iterable[str] = (),
        at_once: bool = False,
        says_nothing: str = "",
        traces: TraceReader = read_traces,
        **options: Unpack[SimulationOptions],
    ) -> None:
        expect_options("Simulator", options, SimulationOptions)
        energy, rules = options.get("energy", False), options.get("rules", DEFAULT_RULE_SET)
        if energy:
            missing = next((host.name for host in platform.hosts if host.watts is None), None)
            if missing is not None:
                raise InputError(f"to measure energy, give host {missing} wattages", f"host {missing}")
        self.init = options.get("init", "")
        self.conversation = Conversation(rules, without=_KNOWS_BETTER, asks_for_a_part=asks_for_a_part)
        self.conversation.begin(self.init)
        given = tuple(arguments) or ("batprotocol", "simulate")
        self._energy = energy
        self._observer = observer
        self._setup = Setup(
            platform,
            tuple(workload.named(f"w{number}") for number, workload in enumerate(workloads)),
            tuple(each.named(f"ee{number}") for number, each in enumerate(external_events)),
            (*given, "--energy-host") if energy and "--energy-host" not in given else given,
            options.get("corrected", False) or rules != DEFAULT_RULE_SET,
            self.conversation.rules == DEFAULT_RULE_SET,
            at_once,
            says_nothing,
            traces,
        )
        self._simulation: Simulation | None = None
        self._begun = False
        self.error: RuleViolation | None = None
        """The reason of a failed simulation, as in its SimulationErrorEvent; only under the rule set "protocol"."""
        self.warnings: tuple[Violation, ...] = ()
        """The violations of the hello or of the last reply after which the simulation continues."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Simulator:
        made: Simulator = copied(self, memo)
        return made

    def __copy__(self) -> Simulator:
        made: Simulator = copied(self)
        return made

    @property
    def now(self) -> float:
        """The simulated time, in seconds."""
        return 0.0 if self._simulation is None else self._simulation.queue.now

    @property
    def is_over(self) -> bool:
        """Whether the simulation has ended, so that there are no more messages."""
        return self._begun and self._simulation is None

    def begin(self, hello: Message) -> Message:
        """Begin the simulation with the hello of the decision component, and return the first message.

        Raises:
            RuleViolation: Batsim would refuse this hello.
        """
        if self._begun:
            raise RuntimeError("the simulation has already begun: create another Simulator")
        self._note(self.conversation.hello(hello))
        (event,) = hello.events
        assert isinstance(event, EDCHelloEvent)
        self._begun = True
        self._setup.features = event.requested_simulation_features
        self._simulation = assemble(self._setup, energy=self._energy, observer=self._observer)
        message = self.turn_judged(None)
        assert message is not None, "a simulation begins with a message"
        return message

    def run_planned(self, hello: Message, make: Callable[[Workload], PlannerMaker | None]) -> bool:
        """Run the whole simulation without messages, if its jobs only take time and the decision component allows it.

        Args:
            hello: the hello of the decision component.
            make: takes the workload, and returns a function that makes the planner at the beginning; None: it needs
                messages.

        Returns:
            Whether the simulation is over. If not, it has not begun: go on with `begin`.
        """
        delays = delays_of(self._setup, self._energy)
        maker = None if delays is None or self._begun else make(self._setup.workloads[0])
        if delays is None or maker is None:
            return False
        self._note(self.conversation.hello(hello))
        (event,) = hello.events
        assert isinstance(event, EDCHelloEvent)
        self._begun = True
        self._setup.features = event.requested_simulation_features
        run_delays(self._setup, delays, self._observer, maker)
        return True

    def turn(self, reply: Message) -> Message | None:
        """Take the reply to the last message, and return the next message; None at the end of the simulation.

        Raises:
            RuleViolation: the simulation cannot continue after this reply: Batsim would abort, crash or wait without
                end. The simulation is then over. Under the rule set "protocol", a SimulationErrorEvent reports the
                violations that only the simulator can find.
        """
        if self._simulation is None:
            raise RuntimeError("the simulation has not begun, or is over")
        try:
            self._judge_reply(self.conversation.feed(reply), reply)
        except RuleViolation:
            self._end(complete=False)
            raise
        return self.turn_judged(reply)

    def _judge_reply(self, violations: list[Violation], reply: Message) -> None:
        assert self._simulation is not None
        self._note(violations)
        if not self._simulation.is_ending:
            return
        _judge(violations, "deadlock")
        if self._simulation.is_batsim:
            for index, event in enumerate(reply.events):
                if isinstance(event, StopCallMeLaterEvent | StopProbeEvent):
                    text = f"Batsim waits without end when {type(event).__name__} answers SimulationEndsEvent"
                    number = self.conversation.number - 1
                    raise RuleViolation([Violation(number, f"events[{index}].event", "end.useless", "deadlock", text)])

    def _note(self, violations: list[Violation]) -> None:
        """Raise the violations after which the simulation cannot continue, and store the others."""
        _judge(violations)
        self.warnings = tuple(violation for violation in violations if violation.severity == "warning")

    def turn_judged(self, reply: Message | None) -> Message | None:
        """The same as `turn`, for a reply that `conversation` has already checked, event by event."""
        simulation = self._simulation
        assert simulation is not None
        if simulation.is_ending:
            self._end(complete=self.error is None)
            return None
        try:
            message = _next_message(simulation, reply)
        except RuleViolation as violation:
            if simulation.is_batsim:
                self._end(complete=False)
                raise
            self.error = violation
            simulation.is_ending = True
            error = SimulationErrorEvent(timestamp=simulation.queue.now, error=str(violation))
            message = Message(simulation.queue.now, (error,))
        self.conversation.receive(message)
        return message

    def _end(self, complete: bool) -> None:
        if self._simulation is not None:
            self._simulation.reports.finish(complete)
        self._simulation = None


def _next_message(simulation: Simulation, reply: Message | None) -> Message:
    """The next message. It is an error if there is none, or if bytes need a route that the platform cannot have."""
    try:
        message = simulation.next_message(reply)
    except InputError as error:
        raise simulation.refusal("platform.no-route", str(error)) from None
    if message is None:
        raise simulation.deadlock()
    return message


def _judge(violations: list[Violation], severity: str = "error") -> None:
    """Raise the violations after which the simulation cannot continue. Deadlocks are mostly found when they occur."""
    fatal = [violation for violation in violations if violation.severity == severity]
    if fatal:
        raise RuleViolation(fatal)
