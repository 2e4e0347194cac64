"""Schedulers as classes: which methods are called when, and what is refused before it could go wrong."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any, get_type_hints

import pytest
from replay import InThread, begins, begun, ends, said, submitted
from simulations import ANY_PORT, Everywhere, types

from batprotocol import (
    BATSIM_TO_EDC,
    BuilderError,
    EDCHelloEvent,
    EDCRequestedSimulationFeatures,
    Event,
    Job,
    JobSubmittedEvent,
    MessageBuilder,
    RequestedCallEvent,
    SimulationErrorEvent,
)
from batprotocol.edc import Scheduler, rehearse, run
from batprotocol.edc.scheduler import METHODS
from batprotocol.errors import SchedulerError

WITHOUT_ENGINE = True


def test_there_is_a_method_for_each_event_of_batsim_named_as_in_the_builder() -> None:
    assert set(METHODS) == set(BATSIM_TO_EDC)
    for event_type, name in METHODS.items():
        method = getattr(Scheduler, name)
        assert list(inspect.signature(method).parameters) == ["self", "event"]
        assert get_type_hints(method)["event"] is event_type
        assert hasattr(MessageBuilder, "add_" + name.removeprefix("on_")), name


def test_methods_are_called_in_the_order_of_the_events_and_then_decide() -> None:
    class Listener(Scheduler):
        def __init__(self) -> None:
            self.heard: list[tuple[str, float]] = []

        def on_init(self, text: str) -> None:
            self.heard.append((text, -1.0))

        def decide(self) -> None:
            self.heard.append(("decide", self.now))

    for name in METHODS.values():
        setattr(Listener, name, lambda self, event: self.heard.append((type(event).__name__, self.now)))

    scheduler = Listener()
    job = Job(resource_request=1, profile_id="w0!delay")
    two = said(
        1.0, RequestedCallEvent(call_me_later_id="x"), JobSubmittedEvent(job_id="w0!1", job=job, submission_time=1.0)
    )
    rehearse(scheduler, [begins(), two, ends(2.0)], "the text", rules="protocol")
    assert scheduler.heard == [
        ("the text", -1.0),
        ("SimulationBeginsEvent", 0.0),
        ("decide", 0.0),
        ("RequestedCallEvent", 1.0),
        ("JobSubmittedEvent", 1.0),
        ("decide", 1.0),
        ("SimulationEndsEvent", 2.0),
    ]


def test_a_method_can_be_given_to_a_single_scheduler() -> None:
    scheduler = Scheduler()
    scheduler.on_job_submitted = lambda event: scheduler.reply.add_reject_job(event.job_id)  # type: ignore[method-assign]  # the point
    replies = rehearse(scheduler, [begins(), submitted(1.0)])
    assert types(replies) == [[], ["RejectJobEvent"]]


def test_a_method_that_would_never_be_called_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"Wrong\.on_job_submited would never be called.*did you mean on_job_submitted\?"
    ):
        type("Wrong", (Scheduler,), {"on_job_submited": lambda self, event: None})


async def waits(self: Scheduler, event: Event) -> None:
    """A method that must be awaited."""


async def yields_and_waits(self: Scheduler, event: Event) -> AsyncIterator[Event]:
    yield event


def yields(self: Scheduler, event: Event) -> Iterator[Event]:
    yield event


@functools.wraps(waits)
def decorated(self: Scheduler, *arguments: Event) -> None:
    """A method that takes what is not written behind its name."""


@pytest.mark.parametrize(
    ("name", "method", "sentence"),
    [
        ("on_job_submitted", lambda self: None, r"takes \(self\), but is called with \(self, event\)"),
        (
            "on_job_completed",
            lambda self, job, now: None,
            r"takes \(self, job, now\), but is called with \(self, event",
        ),
        ("on_requested_call", lambda self, *, event: None, r"takes \(self, \*, event\), but is called with"),
        ("on_simulation_begins", staticmethod(lambda: None), r"takes \(\), but is called with \(event\)"),
        ("on_simulation_begins", classmethod(lambda cls: None), r"takes \(\), but is called with \(event\)"),
        ("on_init", lambda self: None, r"takes \(self\), but is called with \(self, text\)"),
        ("decide", lambda self, event: None, r"takes \(self, event\), but is called with \(self\)"),
        ("on_job_submitted", waits, "is `async def`, and nobody would await it: make it a `def`"),
        ("on_job_submitted", yields_and_waits, "is `async def`"),
        ("on_job_submitted", yields, "contains a `yield`"),
        ("on_job_submitted", None, "is not a method: expected a function, got None"),
        ("decide", 7, "is not a method: expected a function, got 7"),
    ],
)
def test_a_method_that_could_not_be_called_is_refused(name: str, method: Any, sentence: str) -> None:
    with pytest.raises(TypeError, match=rf"Wrong\.{name} {sentence}"):
        type("Wrong", (Scheduler,), {name: method})
    mixin = type("Mixin", (), {name: method})
    with pytest.raises(TypeError, match=rf"Wrong\.{name} {sentence}"):
        type("Wrong", (mixin, Scheduler), {})


@pytest.mark.parametrize("name", ["on_job_submitted", "on_simulation_ends"])
@pytest.mark.parametrize(
    "method",
    [
        lambda self, event: None,
        lambda self, job_submitted, /, more=None: None,
        lambda *arguments: None,
        staticmethod(lambda event: None),
        classmethod(lambda cls, event: None),
        functools.partial(print, end=""),
        functools.partialmethod(lambda self, more, event: None, 1),
        property(lambda self: print),
        decorated,
        max,
    ],
)
def test_a_method_can_be_made_in_any_way(name: str, method: Any) -> None:
    assert issubclass(type("Right", (Scheduler,), {name: method}), Scheduler)


def test_a_method_given_to_a_single_scheduler_must_take_the_event() -> None:
    scheduler = Scheduler()
    scheduler.on_job_submitted = lambda: None  # type: ignore[method-assign, assignment]  # the point
    with pytest.raises(TypeError, match=r"Scheduler\.on_job_submitted takes \(\), but is called with \(event\)"):
        rehearse(scheduler, [begins()])


TOLD: list[tuple[str, object, str]] = [
    ("name", "a, b", "Wrong.name: expected a text without comma or double quote, got 'a, b'"),
    ("name", lambda self: "x", "Wrong.name: expected a string, got"),
    ("version", 1.0, "Wrong.version: expected a string, got 1.0"),
    ("commit", '"', "Wrong.commit: expected a text without comma"),
    ("features", {"profile_reuse": True}, "Wrong.features: expected an? EDCRequested.*, got {'profile_reuse': True}"),
    ("features", EDCRequestedSimulationFeatures, "Wrong.features: expected"),
    ("features", EDCRequestedSimulationFeatures(profile_reuse=1), "Wrong.features.profile_reuse: expected True"),  # type: ignore[arg-type]  # the point
]


@pytest.mark.parametrize(("name", "value", "sentence"), TOLD)
def test_what_batsim_cannot_be_told_is_refused_with_the_attribute(name: str, value: object, sentence: str) -> None:
    with pytest.raises(BuilderError, match=sentence):
        type("Wrong", (Scheduler,), {name: value})
    late = type("Wrong", (Scheduler,), {name: property(lambda self: value)})
    with pytest.raises(BuilderError, match=sentence.replace("<function", "<")):
        late().hello("")


@pytest.mark.parametrize("name", ["conversation", "message", "now", "reply"])
@pytest.mark.parametrize("value", [0, None, lambda self: 0])
def test_what_would_hide_the_reply_or_the_message_is_refused(name: str, value: object) -> None:
    with pytest.raises(SchedulerError, match=rf"Wrong\.{name} would hide the one of Scheduler"):
        type("Wrong", (Scheduler,), {name: value})
    assert type("Right", (Scheduler,), {name: property(lambda self: value)})


def test_a_scheduler_can_be_a_dataclass() -> None:
    @dataclasses.dataclass
    class Made(Scheduler):
        name: str = dataclasses.field(default="made")
        limit: int = 60

    (event,) = Made(limit=5).hello("").events
    assert isinstance(event, EDCHelloEvent)
    assert event.decision_component_name == "made"


def test_the_class_in_place_of_a_scheduler_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"run takes a scheduler, not its class: write run\(Everywhere\(...\)\) instead of"
    ):
        run(Everywhere)  # type: ignore[arg-type]  # the point
    with pytest.raises(TypeError, match=r"rehearse takes a scheduler, not its class: write rehearse\(Everywhere\("):
        rehearse(Everywhere, [])  # type: ignore[arg-type]  # the point
    with pytest.raises(TypeError, match=r"run takes a Scheduler, got 'scheduler\.py'"):
        run("scheduler.py")  # type: ignore[arg-type]  # the point


def test_there_is_no_reply_before_the_first_message() -> None:
    class Early(Scheduler):
        def on_init(self, text: str) -> None:
            self.reply.add_reject_job("w0!1")

    with pytest.raises(RuntimeError, match="no message to reply to yet"):
        rehearse(Early(), [])


def test_the_hello_tells_what_the_attributes_say() -> None:
    class Named(Scheduler):
        version = "1.2"

        def on_init(self, text: str) -> None:
            self.features = EDCRequestedSimulationFeatures(dynamic_registration=text == "dynamic")

    (event,) = Named().hello("dynamic").events
    assert isinstance(event, EDCHelloEvent)
    assert (event.decision_component_name, event.decision_component_version) == ("Named", "1.2")
    assert event.decision_component_commit == ""
    assert event.requested_simulation_features.dynamic_registration
    assert Named().hello("static").events[0] != event


def test_an_error_of_the_simulation_is_logged_and_ends_it(caplog: pytest.LogCaptureFixture) -> None:
    error = said(1.0, SimulationErrorEvent(error="the disk is full"))
    batsim = InThread(lambda peer: begun(peer).say(error))
    run(Everywhere(), ANY_PORT, on_bound=batsim)
    assert batsim.join().events == ()
    assert "the simulation has failed: the disk is full" in caplog.text


@pytest.mark.parametrize("is_intended", [False, True])
def test_a_scheduler_that_shares_hosts_on_purpose_gets_no_warning(
    is_intended: bool, caplog: pytest.LogCaptureFixture
) -> None:
    class Shares(Scheduler):
        shares_hosts = is_intended

        def on_job_submitted(self, event: JobSubmittedEvent) -> None:
            self.reply.add_execute_job(event.job_id, "0")

    rehearse(Shares(), [begins(), submitted(1.0, "w0!1", 1), submitted(2.0, "w0!2", 1)])
    assert ("job.over-allocation" in caplog.text) is not is_intended
