"""The rules of FaST, with their severities, and the state of a conversation.

There are two rule sets: `fast-lib` is for conversations in which every program reads with fast-lib, `protocol` for
those in which the specification's spelling is understood, too.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import count
from typing import ClassVar, Final, Generic, Literal, TypeVar

from batprotocol._util.rules import BrokenRule as AnyViolation
from batprotocol._util.rules import Catalogue, Rule, RuleRow, Severity

RULE_SETS: Final = ("fast-lib", "protocol")
"""Their names."""

_Cells = tuple[Severity | Literal["off"], ...]
_E: Final[_Cells] = ("error", "error")
_D: Final[_Cells] = ("deadlock", "deadlock")
_W: Final[_Cells] = ("warning", "warning")

CATALOGUE: Final = Catalogue(
    RULE_SETS,
    (
        # Any message
        RuleRow("message.topic", _W, "There is no such topic", "No program subscribes to it: see the table of topics."),
        RuleRow(
            "message.form",
            _E,
            "The payload is not a message for its topic",
            "A scheduler such as poncos aborts on an answer that it cannot read; agents differ.",
        ),
        RuleRow(
            "message.dialect",
            ("error", "off"),
            "The message is spelled as in the specification, and fast-lib refuses it",
            "Write the words of fast-lib: hostname for source, result for response, a mapping of categories.",
        ),
        RuleRow(
            "message.retained",
            _W,
            "The broker has kept the message from before",
            "Do not use the retain flag: each framework that connects does a retained task again.",
        ),
        # Tasks
        RuleRow(
            "task.form",
            _W,
            "The payload is not a task",
            "The framework continues, and answers with the result 'unknown', which has no id.",
        ),
        RuleRow(
            "task.empty", _W, "A task for no machine", "The framework answers 'unknown'. Name at least one machine."
        ),
        RuleRow(
            "task.id-twice",
            _W,
            "Two tasks at a time have the same id",
            "Results of different tasks overtake each other, and only the id shows the task of a result.",
        ),
        RuleRow(
            "task.unanswered",
            _D,
            "A task has no result in time",
            "The framework does not run, lost its subscriptions when the broker restarted, or has lost the result.",
        ),
        RuleRow(
            "task.open",
            _W,
            "A task has no result when the recording ends",
            "Each task has one result. This one may still have come in time.",
        ),
        # Results
        RuleRow("result.unasked", _W, "A result without a known task", "Each result is for one task."),
        RuleRow("result.twice", _E, "A second result for a task", "Each task has one result."),
        RuleRow("result.id", _E, "A result without the id of its task", "A result has the id of its task, or none."),
        RuleRow("result.title", _E, "A result of another kind of task", "'start vm' becomes 'vm started', and so on."),
        RuleRow(
            "result.entries",
            _E,
            "A result for other machines than the task's",
            "A result has one entry for each of the task, of the same name; a regular expression is its own name.",
        ),
        RuleRow("result.order", _W, "The entries are not in the order of the task", "The framework keeps the order."),
        RuleRow("result.status", _W, "An unknown status", "A status is 'success' or 'error'."),
        # Machines
        RuleRow(
            "vm.not-started",
            _W,
            "The machine does not run",
            "Start it, and wait for its result, before it is suspended, resumed, repinned or migrated.",
        ),
        RuleRow("vm.not-suspended", _W, "The machine is not suspended", "Only a suspended machine can be resumed."),
        RuleRow("vm.suspended", _W, "The machine is suspended already", "Resume it first."),
        # Agents
        RuleRow(
            "agent.no-init-agent",
            _W,
            "An agent has started, and no scheduler configures it",
            "The scheduler answers 'init' with 'init agent'.",
        ),
        RuleRow(
            "agent.order",
            _W,
            "An agent is used before it was configured",
            "After 'init' comes 'init agent', then the configuration, reports and 'stop monitoring'.",
        ),
        RuleRow("mmbwmon.unasked", _W, "An answer of mmbwmon without a request", "Each answer is for one request."),
        RuleRow("mmbwmon.cores", _W, "An answer for other cores", "mmbwmon answers for the cores of the request."),
        RuleRow("mmbwmon.unanswered", _D, "mmbwmon does not answer", "It measures for some 15 seconds."),
        RuleRow(
            "mmbwmon.open", _W, "mmbwmon has not answered when the recording ends", "It may still have come in time."
        ),
        # pscom
        RuleRow(
            "pscom.not-suspended",
            _E,
            "A machine was migrated with open connections",
            "With pscom-hook-procs, 'suspend' and the answers of all processes come before the migration. Without "
            "any message of pscom, this is only a warning.",
        ),
        RuleRow(
            "pscom.not-resumed",
            _D,
            "A machine was migrated, and its connections stay closed",
            "With pscom-hook-procs, 'resume' and the answers of all processes come after the migration.",
        ),
        RuleRow("pscom.order", _W, "'resume' without 'suspend', or 'suspend' twice", "They alternate."),
        RuleRow("pscom.unasked", _W, "An answer of pscom without a request", "Processes answer requests only."),
        RuleRow(
            "pscom.unanswered",
            _W,
            "Processes do not answer",
            "The framework waits 10 seconds for each, then the migration fails. A missing answer to 'suspend' is also "
            "reported when the framework requests 'resume'.",
        ),
    ),
)
"""The rules, and their severities in each rule set."""


class Violation(AnyViolation, frozen=True):
    """A broken rule of FaST, and its place."""

    RULES: ClassVar[Mapping[str, Rule]] = CATALOGUE.rules


# The state that all receivers share: the clock, the violations so far, and the open requests


LARGEST = 10_000
"""The maximum number of entries of each kind in memory."""

Key = TypeVar("Key")
Thing = TypeVar("Thing")


class BoundedMemory(Generic[Key, Thing]):
    """A dictionary that forgets its oldest entries.

    >>> memory: BoundedMemory[str, int] = BoundedMemory(2)
    >>> memory["a"], memory["b"], memory["c"] = 1, 2, 3
    >>> memory.get("a"), memory.get("c")
    (None, 3)
    """

    def __init__(self, largest: int = 0) -> None:
        self._things: OrderedDict[Key, Thing] = OrderedDict()
        self._largest = largest or LARGEST

    def __setitem__(self, key: Key, thing: Thing) -> None:
        self._things[key] = thing
        self._things.move_to_end(key)
        if len(self._things) > self._largest:
            self._things.popitem(last=False)

    def get(self, key: Key) -> Thing | None:
        """The entry of this key, or None."""
        return self._things.get(key)

    def pop(self, key: Key) -> Thing | None:
        """Forget the entry of this key, and return it, or None."""
        return self._things.pop(key, None)

    def drop(self, condition: Callable[[Key], bool]) -> None:
        """Forget all entries whose keys fulfill the condition."""
        for key in [key for key in self._things if condition(key)]:
            del self._things[key]

    def __len__(self) -> int:
        return len(self._things)


class OpenRequest:
    """An open request, and whether its answer has come.

    Attributes:
        number: the number of the message with the request.
        deadline: the time after which the answer is overdue, in seconds.
        overdue: the rule that is broken after this time, or "".
        open: the rule that is broken if the answer is missing at the end, or "".
        text: a description of the answer.
        done: whether the answer has come.
    """

    __slots__ = ("deadline", "done", "number", "open", "overdue", "text")

    def __init__(self, number: int, deadline: float, overdue: str, open: str, text: str) -> None:
        self.number = number
        self.deadline = deadline
        self.overdue = overdue
        self.open = open
        self.text = text
        self.done = False


class FastState:
    """The clock, the violations, and the open requests.

    Args:
        rules: the name of the rule set.
    """

    def __init__(self, rules: str) -> None:
        self.severities: Mapping[str, Severity] = CATALOGUE.severities(rules)
        self.number = 0
        self.time = 0.0
        self.found: list[Violation] = []
        self._waiting: list[tuple[float, int, OpenRequest]] = []
        self._order = count()

    def report(
        self, rule: str, path: str, text: str, number: int | None = None, *, severity: Severity | None = None
    ) -> None:
        """Record a violation of the current message, or of an earlier one.

        Args:
            rule: its id.
            path: the place in the message.
            text: a description of the mistake.
            number: the number of an earlier message.
            severity: instead of the rule's severity, if less is known than usual.
        """
        usual = self.severities.get(rule)
        if usual is not None:
            place = self.number if number is None else number
            self.found.append(Violation(place, path, rule, severity or usual, text))

    def wait(self, seconds: float, overdue: str, open: str, text: str) -> OpenRequest:
        """Wait for an answer, for this time."""
        waiting = OpenRequest(self.number, self.time + seconds, overdue, open, text)
        heapq.heappush(self._waiting, (waiting.deadline, next(self._order), waiting))
        if len(self._waiting) > 2 * LARGEST:
            self._waiting = [entry for entry in self._waiting if not entry[2].done][-LARGEST:]
            heapq.heapify(self._waiting)
        return waiting

    def clock(self, time: float) -> None:
        """Advance to this time, and record the answers that are overdue."""
        self.time = max(self.time, time)
        while self._waiting and self._waiting[0][0] < self.time:
            waiting = heapq.heappop(self._waiting)[2]
            if not waiting.done and waiting.overdue:
                seconds = f"{self.time - waiting.deadline:.0f} s"
                self.report(waiting.overdue, "", f"{waiting.text} is overdue for {seconds}", waiting.number)

    def end(self) -> None:
        """Record the answers that are missing."""
        for _, _, waiting in sorted(self._waiting, key=lambda entry: entry[2].number):
            if not waiting.done and waiting.open:
                self.report(waiting.open, "", f"{waiting.text} has not come when the recording ends", waiting.number)
        self._waiting.clear()
