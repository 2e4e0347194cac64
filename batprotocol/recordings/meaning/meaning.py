"""`Meaning`: makes the canonical form of each message of a conversation.

It combines the other modules of this package. It must not know which conversations are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from batprotocol import model
from batprotocol.model import Direction, Message
from batprotocol.recordings.meaning.differences import TOLERANCE, Meant
from batprotocol.recordings.meaning.forms import FORMS, canonical_resources
from batprotocol.recordings.meaning.names import Names, as_milliseconds
from batprotocol.recordings.meaning.order import in_order

__all__ = ["Meaning"]


class Meaning:
    """Follows a conversation from its first message on, and makes what each of them means.

    Args:
        tolerance: how many seconds times may differ and still be one.

    >>> meaning = Meaning()
    >>> kill = model.KillJobsEvent(job_ids=["w0!2", "w0!1"], timestamp=1.0)
    >>> meaning.of(Direction.EDC_TO_BATSIM, Message(1.0, [kill])).message.events[0].job_ids
    ('w0!1', 'w0!2')
    """

    def __init__(self, tolerance: float = TOLERANCE) -> None:
        self._tolerance = tolerance
        self._number = 0
        self._now = 0.0
        self._calls = Names()
        self._probes = Names()

    def of(self, direction: Direction, message: Message) -> Meant:
        """What the next message means.

        Args:
            direction: who says it. What the decision component asks for does not happen before Batsim's own time.
            message: what is said.
        """
        self._number += 1
        if direction is Direction.BATSIM_TO_EDC:
            self._now = message.now
        said = message.events
        events = [self._form(event, direction) for event in said]
        places = in_order(events, self._tolerance)
        now = message.now
        if direction is Direction.EDC_TO_BATSIM and now < self._now:
            now = self._now
        return Meant(Message(now, tuple(events[place] for place in places)), tuple(said[place] for place in places))

    def skip(self) -> None:
        """The next message is left out, as it cannot be read."""
        self._number += 1

    def _form(self, event: model.Event, direction: Direction) -> model.Event:
        if direction is Direction.EDC_TO_BATSIM and event.timestamp < self._now:
            event = replace(event, timestamp=self._now)
        kind = type(event)
        form = FORMS.get(kind)
        if form is not None:
            found: model.Event = form(event)
            return found
        named = _NAMED.get(kind)
        return event if named is None else named(self, event)

    # Events with ids that were made up

    def _call(self, event: model.CallMeLaterEvent) -> model.Event:
        when = as_milliseconds(event.when)
        name = self._calls.ask(event.call_me_later_id, when, f"of message {self._number}")
        return replace(event, call_me_later_id=name, when=when)

    def _called(self, event: model.RequestedCallEvent) -> model.Event:
        name = self._calls.fire(event.call_me_later_id, event.timestamp, last=event.last_periodic_call)
        return replace(event, call_me_later_id=name)

    def _stop_call(self, event: model.StopCallMeLaterEvent) -> model.Event:
        return replace(event, call_me_later_id=self._calls.stop(event.call_me_later_id))

    def _create(self, event: model.CreateProbeEvent) -> model.Event:
        when, resources = as_milliseconds(event.measurement_triggering_policy), canonical_resources(event.resources)
        form = replace(event, measurement_triggering_policy=when, resources=resources)
        place = f"of message {self._number}, {replace(form, probe_id='', timestamp=0.0)!r}"
        return replace(form, probe_id=self._probes.ask(event.probe_id, when, place))

    def _probed(self, event: model.ProbeDataEmittedEvent) -> model.Event:
        name = self._probes.get(event.probe_id)
        return replace(event, probe_id=name, resources=canonical_resources(event.resources))

    def _stop_probe(self, event: model.StopProbeEvent) -> model.Event:
        return replace(event, probe_id=self._probes.stop(event.probe_id))

    def _probe(self, event: Any) -> model.Event:
        found: model.Event = replace(event, probe_id=self._probes.get(event.probe_id))
        return found


_NAMED: Final[Mapping[type[model.Event], Callable[[Meaning, Any], model.Event]]] = {
    model.CallMeLaterEvent: Meaning._call,
    model.RequestedCallEvent: Meaning._called,
    model.StopCallMeLaterEvent: Meaning._stop_call,
    model.CreateProbeEvent: Meaning._create,
    model.ProbeDataEmittedEvent: Meaning._probed,
    model.StopProbeEvent: Meaning._stop_probe,
    model.TriggerProbeEvent: Meaning._probe,
    model.ResetProbeEvent: Meaning._probe,
}
"""The function that makes the canonical form of each type of event with an id of a call or a probe."""
