"""Compares two runs: finds their first difference, what each side knew before it, and the jobs that differ.

It reads both runs in parallel, one message of each at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, zip_longest
from typing import Final

import msgspec

from batprotocol._util.deprecation import old_names
from batprotocol.edc.recording.entries import Entry
from batprotocol.model import Direction, EDCHelloEvent, SimulationBeginsEvent
from batprotocol.recordings.canonical import TOLERANCE, CanonicalForms, MessageDifference, difference
from batprotocol.recordings.states import RunState, messages_in, state_at
from batprotocol.recordings.statistics import CapturedJob, JobBook
from batprotocol.wire import frames

__all__ = ["Divergence", "JobDifference", "compare", "differing_jobs", "ignored_differences", "job_differences"]

__getattr__ = old_names(__name__, {"Parting": "Divergence", "left_aside": "ignored_differences"})

_TIMES: Final = ("submitted", "started", "finished", "rejected")
_FACTS: Final = ("state", "hosts", "resource_request", "walltime", "profile_id", "return_code")


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """The first difference of two runs.

    Args:
        number: the number of the message that differs.
        difference: the first difference in it.
        one: the message of the first run. None if that run has ended before.
        other: the message of the second run, likewise.
        known: what both sides of the first run knew before that message.
        known_in_other: what both sides of the second run knew.
    """

    number: int
    difference: MessageDifference
    one: Entry | None
    other: Entry | None
    known: RunState
    known_in_other: RunState


class JobDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A job that two runs treat differently.

    Args:
        job_id: its full name.
        one: the job in the first run. None if there is no such job.
        other: the job in the second run, likewise.
        fields: the fields of `CapturedJob` that differ. Empty if the job is in one run only.
    """

    job_id: str
    one: CapturedJob | None
    other: CapturedJob | None
    fields: tuple[str, ...] = ()


def compare(one: Iterable[Entry], other: Iterable[Entry], *, tolerance: float = TOLERANCE) -> Divergence | None:
    """The first difference of two runs that has an effect, or None if there is none.

    These differences have no effect: ids of calls and probes, the order of independent events in a message, the format,
    the notation of host sets and times, versions and names of both sides, the arguments of Batsim, and the
    initialization data.

    Args:
        one: the first run, such as a `Capture`. It must support several iterations.
        other: the second run.
        tolerance: how many simulated seconds times may differ.
    """
    mine, theirs = CanonicalForms(tolerance), CanonicalForms(tolerance)
    for number, (first, second) in enumerate(zip_longest(one, other)):
        found = _difference(mine, theirs, first, second, tolerance)
        if found is not None:
            known, known_in_other = (state_at(messages_in(islice(run, number))) for run in (one, other))
            return Divergence(
                number=number, difference=found, one=first, other=second, known=known, known_in_other=known_in_other
            )
    return None


def _difference(
    mine: CanonicalForms, theirs: CanonicalForms, first: Entry | None, second: Entry | None, tolerance: float
) -> MessageDifference | None:
    if first is None or second is None:
        ended = "the run has ended"
        return MessageDifference("message", _sender(first) or ended, _sender(second) or ended)
    if first.direction is not second.direction:
        return MessageDifference("message", _sender(first), _sender(second))
    one, other = first.message, second.message
    if one is not None and other is not None:
        meant, also = mine.of(first.direction, one), theirs.of(second.direction, other)
        return difference(meant, also, tolerance)
    mine.skip()
    theirs.skip()
    if first.number == 0 and first.kind == second.kind == "init":
        return None
    if one is None and other is None and first.data == second.data:
        return None
    return MessageDifference("message", _state(first), _state(second))


def _sender(entry: Entry | None) -> str:
    if entry is None:
        return ""
    return f"a message from {'Batsim' if entry.direction is Direction.BATSIM_TO_EDC else 'the EDC'}"


def _state(entry: Entry) -> str:
    return f"an unreadable message ({entry.fault})" if entry.fault is not None else "a message"


# Jobs


def job_differences(
    one: Iterable[Entry], other: Iterable[Entry], *, tolerance: float = TOLERANCE
) -> Iterator[JobDifference]:
    """The jobs that differ in two runs, in the order of their ends, and then the jobs that are in one run only.

    In memory are only the jobs that are over in one run and not yet in the other.

    Args:
        one: the first run, such as a `Capture`.
        other: the second run.
        tolerance: how many simulated seconds times may differ.
    """
    books = JobBook(), JobBook()
    waiting: _Waiting = {}, {}
    for pair in zip_longest(one, other):
        for side, entry in enumerate(pair):
            if entry is None or entry.message is None:
                continue
            for job in books[side].take(entry.message, entry.direction):
                yield from _matched(waiting, side, job, tolerance)
    for side, book in enumerate(books):
        for job in book.open.values():
            yield from _matched(waiting, side, job, tolerance)
    yield from _unmatched(waiting)


def differing_jobs(
    one: Iterable[CapturedJob], other: Iterable[CapturedJob], *, tolerance: float = TOLERANCE
) -> Iterator[JobDifference]:
    """The jobs that differ in two series of jobs, in their order, and then the jobs that are in one series only.

    Args:
        one: the jobs of the first run.
        other: the jobs of the second run.
        tolerance: how many simulated seconds times may differ.
    """
    waiting: _Waiting = {}, {}
    for pair in zip_longest(one, other):
        for side, job in enumerate(pair):
            if job is not None:
                yield from _matched(waiting, side, job, tolerance)
    yield from _unmatched(waiting)


_Waiting = tuple[dict[str, CapturedJob], dict[str, CapturedJob]]
"""The jobs of each run that the other run has not yielded yet."""


def _unmatched(waiting: _Waiting) -> Iterator[JobDifference]:
    """The jobs that are in one run only."""
    yield from (JobDifference(job_id=name, one=job, other=None) for name, job in waiting[0].items())
    yield from (JobDifference(job_id=name, one=None, other=job) for name, job in waiting[1].items())


def _matched(waiting: _Waiting, side: int, job: CapturedJob, tolerance: float) -> Iterator[JobDifference]:
    """The difference of this job and that of the other run, if the other run has yielded it."""
    same = waiting[1 - side].pop(job.job_id, None)
    if same is None:
        waiting[side][job.job_id] = job
        return
    one, other = (job, same) if side == 0 else (same, job)
    fields = [name for name in _FACTS if getattr(one, name) != getattr(other, name)]
    fields += [name for name in _TIMES if _apart(getattr(one, name), getattr(other, name), tolerance)]
    if fields:
        yield JobDifference(job_id=job.job_id, one=one, other=other, fields=tuple(fields))


def _apart(one: float | None, other: float | None, tolerance: float) -> bool:
    if one is None or other is None:
        return one is not other
    return not abs(one - other) <= tolerance


# Ignored differences


def ignored_differences(one: Iterable[Entry], other: Iterable[Entry]) -> list[str]:
    """The differences in the first messages of two runs that `compare` ignores, as sentences."""
    mine, theirs = _beginning(one), _beginning(other)
    return [
        f"{name}: {mine[name]} and {theirs[name]}" for name in mine if name in theirs and mine[name] != theirs[name]
    ]


def _beginning(run: Iterable[Entry]) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in islice(run, 3):
        if entry.kind == "init" and entry.fault is None:
            found["initialization data"] = repr(frames.decode_init(entry.data))
        for event in entry.message.events if entry.message is not None else ():
            if isinstance(event, EDCHelloEvent):
                found["decision component"] = f"{event.decision_component_name} {event.decision_component_version}"
                found["format"] = frames.decode_hello(entry.data, strict=False).format
            elif isinstance(event, SimulationBeginsEvent):
                found["Batsim"] = event.batsim_version
    return found
