"""The places of an event: whoever adds one, or a field, is told which was forgotten, and what to write there.

What there must be is read from the schema: it comes first, then `tools/compile_schema.py`, then the class in `model`,
without which nothing can be imported.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from batprotocol._schema.description import UNIONS
from calls import CALLS
from hypothesis import Phase, given, settings
from support import ROOT, snake

import batprotocol
from batprotocol import MessageBuilder, model
from batprotocol.conversation import RULES
from batprotocol.conversation.events import EVENTS as JUDGED
from batprotocol.edc import Scheduler
from batprotocol.edc.scheduler import METHODS
from batprotocol.simulator.batsim.decisions import DECISIONS
from batprotocol.testing.strategies import EVENT_STRATEGIES, VALUE_STRATEGIES

WITHOUT_ENGINE = True

WITHOUT_ENGINE = True  # and an engine that was not built anew does not know the event that is told about
EVENTS = UNIONS["Event"].members


class Place(NamedTuple):
    """A place where an event must be.

    Args:
        file: the file; `{side}` is "from_batsim" or "from_edc".
        add: what to add there; `{event}` is the name of the event, and `{verb}` what methods are named after.
        names: the names that are there: of events, or of what is to be added.
        sender: which side's events have that place.
        expected: the name to find, of what is to be added; the event's own unless told otherwise.
    """

    file: str
    add: str
    names: frozenset[str]
    sender: model.Direction | None = None
    expected: str = "{event}"

    def forgotten(self, events: Iterable[str], senders: Mapping[str, model.Direction]) -> list[str]:
        """What must be added, as a sentence for each of these events that is not here."""
        return [
            f"{self.file.format(side=SIDES[senders.get(event)])}: add {fill(self.add, event)}"
            for event in events
            if self.sender in (None, senders.get(event)) and fill(self.expected, event) not in self.names
        ]


def fill(text: str, event: str) -> str:
    return text.format(event=event, verb=snake(event).removesuffix("_event"))


def named(types: Iterable[type]) -> frozenset[str]:
    return frozenset(kind.__name__ for kind in types)


B2E, E2B = model.Direction.BATSIM_TO_EDC, model.Direction.EDC_TO_BATSIM
SENDERS = {**dict.fromkeys(named(model.BATSIM_TO_EDC), B2E), **dict.fromkeys(named(model.EDC_TO_BATSIM), E2B)}
SIDES = {B2E: "from_batsim", E2B: "from_edc", None: "from_batsim.py or from_edc"}  # None: without a class, who knows?
PLACES = (
    Place(
        "batprotocol/model/events.py",
        "a class `{event}`, its name in `__all__`, and the class in the union of its side",
        frozenset(SENDERS),
    ),
    Place("batprotocol/builder/{side}.py", "a method `add_{verb}`", frozenset(dir(MessageBuilder)), None, "add_{verb}"),
    Place(
        "batprotocol/conversation/events.py",
        "a row `model.{event}` to `EVENTS`: its phases, and the function that judges it (`_nothing`, if there is none)",
        named(JUDGED),
    ),
    Place(
        "batprotocol/edc/scheduler.py", "a method `Scheduler.on_{verb}`", frozenset(dir(Scheduler)), B2E, "on_{verb}"
    ),
    Place("batprotocol/edc/scheduler.py", "`{event}` and its method to `METHODS`", named(METHODS), B2E),
    Place(
        "batprotocol/simulator/batsim/decisions.py",
        "`{event}` to `DECISIONS`, and the function that does it in the simulation",
        named(DECISIONS) | {"EDCHelloEvent"},
        E2B,
    ),
    Place(
        "batprotocol/testing/strategies/_events.py",
        "a function `{verb}_events`, decorated with `@makes(model.{event})`, and its name in the package's `__all__`",
        named(EVENT_STRATEGIES),
    ),
    Place(
        "tests/calls.py",
        "a `Call` of `add_{verb}`, with each of its arguments, to `CALLS`",
        frozenset(call.method for call in CALLS),
        None,
        "add_{verb}",
    ),
)
every_place = pytest.mark.parametrize("place", PLACES, ids=lambda place: fill(place.add, "Event"))


@every_place
def test_no_event_is_forgotten(place: Place) -> None:
    forgotten = place.forgotten(EVENTS, SENDERS)
    assert not forgotten, "\n".join(forgotten)


@every_place
def test_a_forgotten_event_is_told_where_it_belongs(place: Place) -> None:
    """An event that is nowhere yet, sent by the side whose place this is, or by either or nobody knows whom."""
    for sender in [place.sender] if place.sender else SIDES:
        (told,) = place.forgotten(["ImaginaryEvent"], {"ImaginaryEvent": sender} if sender else {})
        first, *others = told.split(":")[0].split(" or ")
        folder = (ROOT / first).parent
        assert all((folder / file.split("/")[-1]).is_file() for file in (first, *others))
        assert "ImaginaryEvent" in told or "_imaginary" in told
        assert "{" not in told


# Fields


def given_fields(function: Callable[..., Any] | None, made: str) -> set[str]:
    """The keywords with which a function makes values of this class."""
    if function is None:
        return set()
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {
        keyword.arg or ""
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == made
        for keyword in call.keywords
    }


@pytest.mark.parametrize("name", [name for name in EVENTS if name in SENDERS])
def test_the_builder_gives_every_field(name: str) -> None:
    method = fill("add_{verb}", name)
    fields = set(getattr(model, name).__struct_fields__)
    forgotten = fields - given_fields(getattr(MessageBuilder, method, None), name)
    file = f"batprotocol/builder/{SIDES[SENDERS[name]]}.py"
    assert not forgotten, f"{file}: let `{method}` give {', '.join(sorted(forgotten))}"


@pytest.mark.parametrize("sender", [B2E, E2B])
def test_the_builder_is_in_the_order_of_the_schema(sender: model.Direction) -> None:
    """Whoever looks for a method, or for the place of a new one, finds it where the schema has its event."""
    source = (ROOT / "batprotocol" / "builder" / f"{SIDES[sender]}.py").read_text()
    methods = [fill("add_{verb}", name) for name in EVENTS if SENDERS.get(name) is sender]
    assert [name for name in re.findall(r"def (\w+)", source) if name in methods] == [
        name for name in methods if name in source
    ]


class AllSeen(BaseException):
    """No `Exception`, so that it leaves hypothesis at once."""


def unvaried(kind: type[Any], examples: int = 1000) -> set[str]:
    """The fields that the strategy of a type leaves as they are unless told otherwise."""
    waiting = {field.name: field.default for field in msgspec.structs.fields(kind) if not field.required}
    make: Callable[..., Any] = {**EVENT_STRATEGIES, **VALUE_STRATEGIES}[kind]

    @settings(max_examples=examples, database=None, derandomize=True, phases=[Phase.generate])
    @given(make())
    def look(value: Any) -> None:
        for name in [name for name, default in waiting.items() if getattr(value, name) != default]:
            del waiting[name]
        if not waiting:
            raise AllSeen

    with contextlib.suppress(AllSeen):
        look()
    return set(waiting)


@pytest.mark.parametrize("kind", [*EVENT_STRATEGIES, *VALUE_STRATEGIES], ids=lambda kind: kind.__name__)
def test_the_strategies_vary_every_field(kind: type[Any]) -> None:
    forgotten = unvaried(kind)
    make = {**EVENT_STRATEGIES, **VALUE_STRATEGIES}[kind]
    file = Path(inspect.getsourcefile(make) or "").relative_to(Path(batprotocol.__file__).parent.parent)
    assert not forgotten, f"{file}: let `{make.__name__}` give {', '.join(sorted(forgotten))}"


# Rules


CONVERSATION = ROOT / "batprotocol" / "conversation"
TOPICS = sorted(path for path in CONVERSATION.glob("*.py") if path.name != "rules.py")


def texts(nodes: Iterable[ast.AST]) -> set[str]:
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def reported(path: Path) -> set[str]:
    """The rules that a file reports by name: the first arguments of `report` and of its own functions with a state."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call) and node.args]
    first = texts(call.args[0] for call in calls if getattr(call.func, "attr", "").startswith("report"))
    with_state = [call for call in calls if getattr(call.args[0], "id", "") == "state"]
    return first | texts(call.args[1] for call in with_state if len(call.args) > 1)


@pytest.mark.parametrize("path", TOPICS, ids=lambda path: path.stem)
def test_what_is_reported_is_a_rule(path: Path) -> None:
    """What the catalogue does not have is reported to nobody."""
    rules = {text for text in reported(path) if re.fullmatch(r"[a-z]+\.[a-z]+(-[a-z]+)*", text)}
    unknown = rules - RULES.keys()
    assert not unknown, f"batprotocol/conversation/rules.py: add {', '.join(sorted(unknown))}, as {path.name} has it"


def test_every_rule_is_reported() -> None:
    silent = RULES.keys() - set().union(*(texts(ast.walk(ast.parse(path.read_text()))) for path in TOPICS))
    assert not silent, f"batprotocol/conversation/rules.py: nothing ever reports {', '.join(sorted(silent))}"


# The page that lists the places


PAGE = (ROOT / "CONTRIBUTING.md").read_text()


@every_place
def test_the_page_names_the_place(place: Place) -> None:
    """By its file, or where each side has one by their folder."""
    assert place.file.removesuffix("{side}.py") in PAGE


def test_what_the_page_names_is_there() -> None:
    named = set(re.findall(r"(?:batprotocol|docs|schema|tests|tools)/[\w./-]+", PAGE))
    assert len(named) > 20
    examples = {path for path in named if "NAME" in path}
    assert [path for path in named - examples if not (ROOT / path.rstrip(".")).exists()] == []
