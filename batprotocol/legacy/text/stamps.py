"""The stamps of the text protocol as Batsim really had them: one table, for the codec, for rules and for people.

The documentation has later versions for most of them; those here are of four Batsims that were asked. It knows what is
behind a stamp when it is written as Batsim writes it; how Batsim reads what is written otherwise, `lenient` knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, Final, NamedTuple

from batprotocol.errors import HostSetError, shown
from batprotocol.legacy.text import events as e
from batprotocol.model import Direction

__all__ = ["BY_LETTER", "BY_VALUE", "STAMPS", "VERSIONS", "Stamp", "Unfit", "fault_of", "time_of", "written"]

VERSIONS: Final = (0, 1, 2, 3)
"""The versions of the text protocol."""

_TIME = re.compile(r"[0-9]{1,309}(?:\.[0-9]{0,300})?(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_INTEGER = re.compile(r"[0-9]{1,9}", re.ASCII)
_NUMBER = re.compile(r"(?:0|[1-9][0-9]{0,9})", re.ASCII)

B2S: Final = (Direction.BATSIM_TO_EDC,)
S2B: Final = (Direction.EDC_TO_BATSIM,)
BOTH: Final = (*B2S, *S2B)


class Unfit(Exception):
    """What is behind a stamp cannot be read, or cannot be written."""


class Stamp(NamedTuple):
    """A kind of event.

    Attributes:
        letter: the stamp.
        value: the class of the event.
        since: the first version of the protocol that has it.
        directions: who says it.
        read: the values that its content holds, None if it has none.
        write: its content.
        content: what its content looks like, with WLOAD! from version 2 on.
        is_sent: whether a Batsim ever said it, if it is Batsim's.
    """

    letter: str
    value: type[e.Event]
    since: int
    directions: tuple[Direction, ...]
    read: Callable[[str], tuple[Any, ...]] | None = None
    write: Callable[[Any], str] | None = None
    content: str = ""
    is_sent: bool = True


# Times


def time_of(text: str) -> float:
    """The time, or amount, that this is."""
    value = float(text) if _TIME.fullmatch(text) else float("nan")
    if not isfinite(value):
        raise Unfit(f"expected a number of seconds, got {shown(text)}")
    return value


def written(value: float) -> str:
    """A time, or amount, as Batsim and its schedulers write it: with six digits behind the point, and no exponent."""
    if type(value) not in (int, float) or not isfinite(value) or value < 0:
        raise Unfit(f"expected a finite number >= 0, got {shown(value)}")
    return f"{abs(value):.6f}"


# Jobs


def _job_fault(job_id: object, version: int | None, forbidden: str) -> str | None:
    """Why this cannot be said as the name of a job in that version, None if it can."""
    if not isinstance(job_id, str) or not job_id or any(each in job_id for each in forbidden):
        return f"{shown(job_id)} cannot be written as the name of a job"
    if version is None:
        return None
    _, mark, name = job_id.rpartition("!")
    if bool(mark) != (version >= 2) or not _NUMBER.fullmatch(name):
        return f"expected {'WORKLOAD!NUMBER' if version >= 2 else 'the number of a job'}, got {shown(job_id)}"
    return None


def fault_of(event: Any, version: int | None) -> str | None:
    """Why this cannot be said in that version, None if it can: what jobs and machines are called."""
    if isinstance(event, e.JobAllocation):
        for each in event.allocations:
            fault = _job_fault(each.job_id, version, "|:;=")
            if fault is not None:
                return fault
            if version == 0 and "-" in each.machines:
                return f"version 0 has no intervals of machines, got {shown(each.machines)}"
    elif isinstance(event, e.JobRejection):
        return _job_fault(event.job_id, version, "|:")
    elif isinstance(event, e.JobSubmission | e.JobCompletion):
        return _job_fault(event.job_id, version, "|")
    elif isinstance(event, e.PStateRequest | e.PStateChanged) and version == 0 and not event.machines.isdecimal():
        return f"version 0 has one machine in each such event, got {shown(event.machines)}"
    return None


def _job(text: str) -> str:
    if not text:
        raise Unfit("a job has a name")
    return text


def _read_job(text: str) -> tuple[str]:
    return (_job(text),)


def _write_job(event: Any) -> str:
    return _sayable(event.job_id, "|")


def _sayable(job_id: Any, forbidden: str) -> str:
    fault = _job_fault(job_id, None, forbidden)
    if fault is not None:
        raise Unfit(fault)
    return str(job_id)


# Machines


def _machines(text: str) -> str:
    try:
        e.machines_of(text)
    except (HostSetError, AttributeError, TypeError) as error:
        raise Unfit(str(error)) from None
    return text


def _read_machines(text: str) -> tuple[str]:
    return (_machines(text),)


def _write_machines(event: Any) -> str:
    return _machines(event.machines)


def _read_pstate(text: str) -> tuple[str, int]:
    machines, equals, state = text.partition("=")
    if not equals or not _INTEGER.fullmatch(state):
        raise Unfit(f"expected machines=state, got {shown(text)}")
    return _machines(machines), int(state)


def _write_pstate(event: Any) -> str:
    if type(event.pstate) is not int or not 0 <= event.pstate < 10**9:
        raise Unfit(f"expected the number of a power state, got {shown(event.pstate)}")
    return f"{_machines(event.machines)}={event.pstate}"


def _read_allocations(text: str) -> tuple[tuple[e.Allocation, ...]]:
    found = []
    for part in text.split(";"):
        job, equals, machines = part.rpartition("=")
        if not equals:
            raise Unfit(f"expected job=machines, got {shown(part)}")
        found.append(e.Allocation(_job(job), _machines(machines)))
    return (tuple(found),)


def _write_allocations(event: Any) -> str:
    if not event.allocations:
        raise Unfit("an allocation has one job at least")
    return ";".join(f"{_sayable(each.job_id, '|:;=')}={_machines(each.machines)}" for each in event.allocations)


# The rest


def _read_time(text: str) -> tuple[float]:
    return (time_of(text),)


def _read_query(text: str) -> tuple[str, int, float]:
    parts = text.split(",")
    if len(parts) != 3 or not parts[0] or not _INTEGER.fullmatch(parts[1]):
        raise Unfit(f"expected submitter,machines,seconds, got {shown(text)}")
    return parts[0], int(parts[1]), time_of(parts[2])


def _read_answer(text: str) -> tuple[str, int, float, float]:
    asked, _, expected = text.rpartition(",")
    return (*_read_query(asked), time_of(expected))


def _write_query(event: Any) -> str:
    submitter, count = event.submitter, event.nb_res
    if not isinstance(submitter, str) or not submitter or any(each in submitter for each in "|:,"):
        raise Unfit(f"{shown(submitter)} cannot be written as the name of who asks")
    if type(count) is not int or not 0 <= count < 10**9:
        raise Unfit(f"expected a number of machines, got {shown(count)}")
    return f"{submitter},{count},{written(event.processing_time)}"


def _write_answer(event: Any) -> str:
    return f"{_write_query(event)},{written(event.expected_time)}"


STAMPS: Final[tuple[Stamp, ...]] = (
    Stamp("S", e.JobSubmission, 0, B2S, _read_job, _write_job, "WLOAD!JOB_ID"),
    Stamp("C", e.JobCompletion, 0, B2S, _read_job, _write_job, "WLOAD!JOB_ID"),
    Stamp("J", e.JobAllocation, 0, S2B, _read_allocations, _write_allocations, "WLOAD!JID1=MID1,MID2,MIDn[;...]"),
    Stamp("N", e.Nop, 0, BOTH),
    Stamp("P", e.PStateRequest, 0, S2B, _read_pstate, _write_pstate, "MID1,MID2,MIDn=PSTATE"),
    Stamp("p", e.PStateChanged, 0, B2S, _read_pstate, _write_pstate, "MID1,MID2,MIDn=PSTATE"),
    Stamp("R", e.JobRejection, 1, S2B, _read_job, _write_job, "WLOAD!JOB_ID"),
    Stamp("n", e.NopMeLater, 1, S2B, _read_time, lambda event: written(event.time), "TIME"),
    Stamp("E", e.EnergyRequest, 1, S2B),
    Stamp("e", e.Energy, 1, B2S, _read_time, lambda event: written(event.consumed_energy), "CONSUMED_ENERGY"),
    Stamp("A", e.SimulationBegins, 3, B2S),
    Stamp("Z", e.SimulationEnds, 3, B2S),
    Stamp("F", e.MachinesFailed, 3, B2S, _read_machines, _write_machines, "MID1,MID2,MIDn", False),
    Stamp("f", e.MachinesRepaired, 3, B2S, _read_machines, _write_machines, "MID1,MID2,MIDn", False),
    Stamp("Q", e.WaitingTimeQuery, 3, B2S, _read_query, _write_query, "SUBMITTER,NB_RES,SECONDS", False),
    Stamp("W", e.WaitingTime, 3, S2B, _read_answer, _write_answer, "SUBMITTER,NB_RES,SECONDS,WAITING_TIME"),
)
"""All stamps, in the order of the documentation."""

BY_LETTER: Final[Mapping[str, Stamp]] = {stamp.letter: stamp for stamp in STAMPS}
BY_VALUE: Final[Mapping[type, Stamp]] = {stamp.value: stamp for stamp in STAMPS}
