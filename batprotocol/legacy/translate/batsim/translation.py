"""ToOldBatsim: it translates between a Batsim of version 1 to 4 and a current decision component. No I/O.

It uses the state (`memory`), the events for the component (`told`) and the events for Batsim (`wishes`). It adds the
events that the current Batsim would send and the older one does not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from batprotocol import model
from batprotocol.errors import DecodeError
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.versions import Version
from batprotocol.legacy.store import JobStore
from batprotocol.legacy.translate.batsim.memory import Memory
from batprotocol.legacy.translate.batsim.told import TOLD
from batprotocol.legacy.translate.batsim.wishes import WISHES
from batprotocol.legacy.translate.report import Report

__all__ = ["ToOldBatsim"]


class ToOldBatsim:
    """Translates for a current decision component.

    Args:
        version: the version of Batsim.
        store: the store of the jobs, if messages do not describe them.

    `init` gives the initialization data from Batsim's first message, and `begin` takes the hello that answers them.
    Then, in turns, `hear` takes a message of Batsim (also the first one) and returns the message for the component, and
    `say` takes the reply of the component and returns the reply for Batsim.
    """

    def __init__(self, version: str | Version = "4.2", store: JobStore | None = None) -> None:
        self._memory = Memory(version, store)

    @property
    def version(self) -> Version:
        """The version of Batsim."""
        return self._memory.version

    @property
    def report(self) -> Report:
        """The losses of the translation."""
        return self._memory.report

    def init(self, first: e.Message) -> str:
        """The initialization data: the scheduler's configuration in Batsim's first message, or ""."""
        begins = next((event for event in first.events if isinstance(event, e.SimulationBegins)), None)
        if begins is None:
            raise DecodeError("the first message of a Batsim has SIMULATION_BEGINS", "events")
        config = (begins.config or {}).get("sched-config", "")
        return config if isinstance(config, str) else json.dumps(config)

    def begin(self, hello: model.Message) -> None:
        """Take the hello. It cannot change the simulation: the command line of an older Batsim sets its options."""
        memory = self._memory
        for event in hello.events:
            if isinstance(event, model.EDCHelloEvent):
                memory.features = event.requested_simulation_features

    # From Batsim

    def hear(self, message: e.Message) -> model.Message:
        """The message for the component, from a message of Batsim."""
        memory = self._memory
        memory.now = message.now
        memory.wakes = False
        said, memory.pending = memory.pending, []
        ends: list[model.Event] = []
        for event in message.events:
            tell = TOLD.get(type(event))
            if tell is None:
                kind = event.type if isinstance(event, e.OtherEvent) else type(event).__name__
                memory.report.add(kind, "", "the current protocol has no such event: it is left out")
                continue
            for told in tell(memory, event):
                (ends if isinstance(told, model.SimulationEndsEvent) else said).append(told)
        if ends and not memory.all_submitted and memory.version < (3,):  # no event reported this, but now it is certain
            said.append(model.AllStaticJobsHaveBeenSubmittedEvent(timestamp=message.now))
        if ends and not memory.all_injected:
            said.append(model.AllStaticExternalEventsHaveBeenInjectedEvent(timestamp=message.now))
        # In older versions, it need not be the last event of its message. Now it is.
        ended = said + [replace(each, timestamp=message.now) for each in ends[:1]]
        memory.is_over = memory.is_over or bool(ends)
        last = 0.0
        for index, each in enumerate(ended):
            last = min(max(each.timestamp, last), message.now)
            ended[index] = replace(each, timestamp=last)
        return model.Message(message.now, tuple(ended))

    def say(self, message: model.Message) -> e.Message:
        """The reply for Batsim, from the reply of the component."""
        memory = self._memory
        now = max(message.now, memory.now)
        replies: list[e.Event] = []
        for event in message.events:
            wish = WISHES.get(type(event))
            if wish is None:
                memory.report.add(type(event).__name__, "", "an older Batsim has no such event: it is left out")
            else:
                replies.extend(wish(memory, event, min(max(event.timestamp, 0.0), now)))
        replies[:0] = self._go_on(now)
        if memory.dynamic_enabled:
            self._open_or_close(replies, now)
        if memory.is_over:
            replies = []
        elif memory.pending and not memory.wakes:
            replies.append(e.CallMeLater(now, now + 0.001))
            memory.wakes = True
        memory.report.message += 1
        replies.sort(key=_timestamp)
        return e.Message(now, tuple(replies))

    def _open_or_close(self, replies: list[e.Event], now: float) -> None:
        """Tell Batsim whether jobs can still be registered: it ends when they cannot, and all jobs have ended.

        A component that does not ask for registration registers nothing. Before Batsim 3, no event reports that all
        jobs of the workload were submitted, so the component cannot know when it may finish. Whenever it has no job and
        expects nothing, registration is closed for it, until it has a job again.
        """
        memory, new = self._memory, self._memory.version >= (3,)
        over = memory.finished or not memory.features.dynamic_registration
        if over or (not new and memory.is_idle):
            if not memory.closed:
                memory.closed = True
                replies.append(e.Notify(now, "registration_finished" if new else "submission_finished"))
        elif memory.closed:
            memory.closed = False
            replies.insert(0, e.Notify(min((each.timestamp for each in replies), default=now), "continue_submission"))

    def _go_on(self, now: float) -> Iterable[e.Event]:
        """Request the next periodic calls, and the values that probes must measure now."""
        memory = self._memory
        due, memory.due = memory.due, []
        for whose in due:
            if whose in memory.periods:
                yield memory.call(whose, memory.next_multiple(memory.periods[whose][0], memory.now), memory.now)
        if memory.stopping:
            for job_id in memory.jobs.those("submitted"):
                memory.jobs[job_id] = "ended"
                yield e.RejectJob(now, memory.names.get(job_id, job_id))
        measure, memory.measure = memory.measure, []
        if measure:
            memory.asked += measure
            asked: dict[str, Any] = {"consumed_energy": {}}
            yield e.QueryRequest(memory.now, asked) if memory.version < (2,) else e.Query(memory.now, asked)


def _timestamp(event: e.Event) -> float:
    return event.timestamp
