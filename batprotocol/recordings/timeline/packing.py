"""Encode a run as bytes, which its page unpacks: a header as JSON, and columns of numbers.

A column begins with the first bytes of all its numbers; the second bytes follow, and so on. Neighbouring numbers begin
alike, so the column deflates to half the size. `page/data.js` unpacks it.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from batprotocol.model import FinalJobState
from batprotocol.recordings.timeline.values import (
    BLOCK,
    OFF_DUTY,
    Messages,
    OffDuty,
    Series,
    TimelineData,
    TimelineJob,
    deflated,
    free_hosts,
    or_nan,
    waiting_jobs,
)

__all__ = [
    "all_series",
    "facts",
    "off_duty_columns",
    "packed",
    "packed_columns",
    "size",
    "state_number",
    "word_numbers",
]

_TYPES: Final = {"d": "f64", "I": "u32", "H": "u16", "B": "u8"}
_STATES: Final = {
    FinalJobState.COMPLETED_SUCCESSFULLY: 0,
    FinalJobState.COMPLETED_FAILED: 1,
    FinalJobState.COMPLETED_WALLTIME_REACHED: 2,
    FinalJobState.COMPLETED_KILLED: 3,
    FinalJobState.REJECTED: 4,
}
_OTHER_STATE: Final = 5
_LARGEST: Final = 2**32 - 1
_UNITS: Final = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"))


def all_series(timeline: TimelineData) -> list[Series]:
    """The series of a run, in the order in which they are drawn: those computed from the jobs, and those given."""
    kinds = {each.kind for each in timeline.given}
    found = [] if "queue" in kinds or not timeline.jobs else [waiting_jobs(timeline.jobs)]
    if "hosts" not in kinds and timeline.host_count:
        away = [each for each in timeline.off_duty if each.reason != "reserved"]
        found.append(free_hosts(timeline.jobs, timeline.host_count, timeline.start, away, timeline.end))
    order = ("queue", "hosts", "power", "carbon", "price", "probe")
    return sorted([*found, *timeline.given], key=lambda series: order.index(series.kind))


def as_json(value: Any) -> bytes:
    """JSON in UTF-8 for any names: those of files may contain bytes that are not characters."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def state_number(job: TimelineJob) -> int:
    """The final state of the job, as a place in `states` of `page/colours.json`."""
    return _OTHER_STATE if job.state is None else _STATES.get(job.state, _OTHER_STATE)


def packed(timeline: TimelineData) -> bytes:
    """The run, deflated."""
    jobs, messages = timeline.jobs, timeline.messages or Messages()
    words: dict[str, list[str]] = {"kind": messages.kind_names or [""]}
    columns = _job_columns(timeline, words)
    columns |= off_duty_columns(timeline.off_duty)
    begin, of_job = messages.by_job([job.job_id for job in jobs])
    columns |= {
        "message_time": messages.times,
        "message_sender": messages.senders,
        "message_kind": messages.kinds,
        "message_events": messages.events,
        "messages_begin": begin,
        "messages_of_job": of_job,
    }
    series = all_series(timeline)
    shown = len(series)
    if timeline.host_count:
        series.append(_unused(timeline, series))
    for number, each in enumerate(series):
        columns[f"times{number}"] = array("d", each.times)
        columns[f"values{number}"] = array("d", each.values)
    header = {
        "name": timeline.name,
        "facts": facts(timeline),
        "host_count": timeline.host_count,
        "host_names": timeline.host_names or None,
        "start": timeline.start,
        "end": timeline.end,
        "ids": [job.job_id for job in jobs],
        "words": words,
        "series": [
            {
                "name": each.name,
                "kind": each.kind,
                "unit": each.unit,
                "lane": each.lane or each.name,
                "step": each.is_step,
                "most": each.most,
                "hidden": number >= shown,
            }
            for number, each in enumerate(series)
        ],
        "texts": messages.text_count,
        "block": BLOCK,
        "hint": messages.hint,
    }
    return packed_columns(header, columns)


def packed_columns(header: dict[str, Any], columns: dict[str, array[Any]]) -> bytes:
    """A header and columns of numbers, deflated; `unpacked` of `page/data.js` reads them."""
    described = [(name, _TYPES[values.typecode], len(values)) for name, values in columns.items()]
    text = as_json(header | {"columns": described})
    return deflated(b"".join([len(text).to_bytes(4, "little"), text, *map(_planes, columns.values())]))


def _unused(timeline: TimelineData, series: Sequence[Series]) -> Series:
    """How many hosts had no job, whether they were on or off: the overview shows the others."""
    free = [each for each in series if each.kind == "hosts"]
    if free and not timeline.off_duty and free[0] not in timeline.given:
        return free[0]
    return free_hosts(timeline.jobs, timeline.host_count, timeline.start)


def _job_columns(timeline: TimelineData, words: dict[str, list[str]]) -> dict[str, array[Any]]:
    """The columns of the jobs, and those of the host intervals of the jobs that ran."""
    jobs = timeline.jobs
    intervals = [job.hosts if job.started is not None else () for job in jobs]
    return {
        "submitted": or_nan(job.submitted for job in jobs),
        "started": or_nan(job.started for job in jobs),
        "finished": or_nan(job.finished for job in jobs),
        "walltime": or_nan(job.walltime for job in jobs),
        "requested": array("I", [min(job.requested, _LARGEST) for job in jobs]),
        "state": array("B", map(state_number, jobs)),
        "profile": word_numbers([job.profile for job in jobs], words, "profile"),
        "user": word_numbers([job.user for job in jobs], words, "user"),
        "workload": word_numbers([job.workload for job in jobs], words, "workload"),
        "rects": array("I", map(len, intervals)),
        "first": array("I", [first for each in intervals for first, _ in each]),
        "last": array("I", [last for each in intervals for _, last in each]),
    }


def word_numbers(texts: Sequence[str], words: dict[str, list[str]], name: str) -> array[int]:
    """Texts as numbers: their places in the list of different texts."""
    places: dict[str, int] = {}
    numbers = array("I", [places.setdefault(text, len(places)) for text in texts])
    words[name] = list(places) or [""]
    return numbers


def off_duty_columns(off_duty: Sequence[OffDuty]) -> dict[str, array[Any]]:
    """The columns of the hosts that were off or switching."""
    return {
        "off_first": array("I", [each.first for each in off_duty]),
        "off_last": array("I", [each.last for each in off_duty]),
        "off_from": array("d", [each.start for each in off_duty]),
        "off_to": array("d", [each.end for each in off_duty]),
        "off_kind": array("B", [OFF_DUTY.index(each.kind) for each in off_duty]),
    }


def _planes(values: array[Any]) -> bytes:
    """The bytes of numbers: first the least significant byte of each, then the next byte of each..."""
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    data, width = values.tobytes(), values.itemsize
    return b"".join([data[plane::width] for plane in range(width)])


def size(timeline: TimelineData) -> str:
    """The run in a line: the number of jobs and hosts, and the duration."""
    jobs = len(timeline.jobs)
    parts = [f"{jobs:,} job{'' if jobs == 1 else 's'}"]
    if timeline.host_count:
        parts.append(f"{timeline.host_count:,} host{'' if timeline.host_count == 1 else 's'}")
    span = timeline.end - timeline.start
    factor, unit = next(((factor, unit) for factor, unit in _UNITS if span >= factor), (1.0, "s"))
    long = span / factor
    parts.append(f"{long:,.0f} {unit}" if long >= 100 else f"{long:.3g} {unit}")
    return " · ".join(parts)


def facts(timeline: TimelineData) -> str:
    """The run in a line: its size, the number of messages, and the number of their texts in the page."""
    messages = timeline.messages
    if messages is None or not len(messages):
        return size(timeline)
    line = f"{size(timeline)} · {len(messages):,} messages"
    if messages.text_count == len(messages):
        return line
    kept = f"the texts of the first {messages.text_count:,}" if messages.text_count else "no texts"
    return f"{line}, with {kept} (--messages all keeps all)"
