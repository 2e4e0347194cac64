"""ToOldScheduler: it translates between the current Batsim and a scheduler of Batsim 1 to 4. No I/O.

It uses the state (`memory`), the events for the scheduler (`told`) and the events for Batsim (`decisions`). It does not
ask the scheduler about events that concern only the translation.
"""

from __future__ import annotations

from msgspec.structs import replace

from batprotocol import model
from batprotocol.builder import MessageBuilder
from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.versions import Version
from batprotocol.legacy.store import JobStore
from batprotocol.legacy.translate.report import Report
from batprotocol.legacy.translate.scheduler.decisions import DECISIONS
from batprotocol.legacy.translate.scheduler.memory import NO_OPTIONS, Memory, Options
from batprotocol.legacy.translate.scheduler.told import TOLD

__all__ = ["ToOldScheduler"]


class ToOldScheduler:
    """Translates for a scheduler of the JSON protocol.

    Args:
        version: the version of Batsim that it was made for.
        options: the options that this Batsim would get on its command line.
        store: the store of the jobs, if messages do not describe them.

    `hello` gives the first message for Batsim. Then, in turns, `hear` takes a message of Batsim and returns the
    message for the scheduler, or None if there is none, and `say` takes its answer (None then) and returns the reply.
    """

    def __init__(
        self, version: str | Version = "4.2", options: Options = NO_OPTIONS, store: JobStore | None = None
    ) -> None:
        self._memory = Memory(version, options, store)

    @property
    def version(self) -> Version:
        """The version of Batsim that the scheduler was made for."""
        return self._memory.version

    @property
    def report(self) -> Report:
        """The losses of the translation."""
        return self._memory.report

    def hello(self, text: str = "") -> model.Message:
        """The first message for Batsim: the hello of a decision component with the requests of the scheduler."""
        memory = self._memory
        options = memory.options
        builder = MessageBuilder()
        builder.add_edc_hello(
            "batprotocol bridge",
            ".".join(map(str, memory.version)),
            "",
            model.EDCRequestedSimulationFeatures(
                dynamic_registration=options.dynamic,
                acknowledge_dynamic_jobs=options.acknowledge,
                profile_reuse=options.dynamic,
                forward_profiles_on_job_submission=options.forward_profiles or memory.store is not None,
                forward_profiles_on_simulation_begins=memory.version >= (3,),
            ),
        )
        if text and "sched-config" not in options.config:
            memory.options = options._replace(config={**options.config, "sched-config": text})
        return builder.finish_message()

    # From Batsim

    def hear(self, message: model.Message) -> e.Message | None:
        """The message for the scheduler, from a message of Batsim; None if nothing in it concerns the scheduler."""
        memory = self._memory
        memory.now = message.now
        memory.wakes = False
        said, memory.pending = memory.pending, []
        for event in message.events:
            tell = TOLD.get(type(event))
            if tell is None:
                memory.report.add(type(event).__name__, "", "it is not sent to the scheduler")
            else:
                said.extend(tell(memory, event))
        if not said:
            return None
        if memory.ends and memory.all_injected and not memory.finished:
            memory.pending = said  # an older Batsim sends these events with SIMULATION_ENDS
            return None
        last = 0.0
        for index, each in enumerate(said):  # the current Batsim reports some events late
            time = each.timestamp
            if not last <= time <= memory.now:
                time = min(max(time, last), memory.now)
                said[index] = replace(each, timestamp=time)
            last = time
        return e.Message(memory.now, tuple(said))

    def say(self, message: e.Message | None) -> model.Message:
        """The reply for Batsim, from the answer of the scheduler, which is None if it was not asked."""
        memory = self._memory
        now = memory.now if message is None else max(message.now, memory.now)
        replies: list[model.Event] = []
        for event in message.events if message is not None else ():
            decide = DECISIONS.get(type(event))
            if decide is None:
                kind = event.type if isinstance(event, e.OtherEvent) else type(event).__name__
                memory.report.add(kind, "", "the current protocol has no such event: it is left out")
            else:
                time = event.timestamp
                replies.extend(decide(memory, event, time if 0 <= time <= now else min(max(time, 0.0), now)))
        if memory.ends and not memory.finished:
            memory.finished = True
            replies.append(model.FinishRegistrationEvent(timestamp=now))
        elif memory.pending and not memory.wakes:  # no other event would cause a message for it
            replies.append(memory.call_at(0, now))
            memory.wakes = True
        if len(replies) > 1:
            replies.sort(key=_timestamp)
        memory.report.message += 1
        return model.Message(now, tuple(replies))


def _timestamp(event: model.Event) -> float:
    return event.timestamp
