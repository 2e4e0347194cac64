"""Strategies for the messages of the older protocols: each event of each version, with what a fork may add to it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from batprotocol.legacy.json import events as e
from batprotocol.legacy.json.events import EVENTS, EventVersions, Version
from batprotocol.legacy.json.values import Job, JobProfile, JobProgress, Resource
from batprotocol.legacy.text import events as t
from batprotocol.legacy.text.wire import STAMPS, Stamp

numbers = st.floats(0, 1e12) | st.integers(0, 2**40).map(float)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\uf8ff"), max_size=8)
names = texts.filter(lambda text: text not in _KNOWN)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
_KNOWN = {
    "timestamp", "type", "data", "now", "events", "id", "name", "profile", "res", "subtime", "walltime", "state",
    *(field.on_wire for row in EVENTS for field in row.fields or ()),
    *Resource.__struct_fields__, *JobProgress.__struct_fields__,
}  # fmt: skip
extras = st.dictionaries(names, json_values, max_size=2) | st.just({})
optional = st.none()
jobs = st.builds(
    Job,
    texts | st.integers(0, 2**31) | optional,
    texts | optional,
    st.integers(0, 2**31) | optional,
    numbers | optional,
    numbers | st.just(-1.0) | optional,
    extras,
)
profiles = st.builds(JobProfile, st.dictionaries(texts | st.just("type"), json_values, max_size=4))
resources = st.builds(
    Resource,
    st.integers(-3, 2**20),
    texts,
    texts | optional,
    st.dictionaries(texts, texts, max_size=2) | optional,
    st.dictionaries(texts, texts, max_size=2) | optional,
    extras,
)
progresses: st.SearchStrategy[JobProgress] = st.recursive(
    st.builds(JobProgress, texts | optional, texts | optional, st.floats(-1, 1) | optional, extra=extras),
    lambda inner: st.builds(
        JobProgress, texts | optional, current_task_index=st.integers(-1, 99), current_task=inner, extra=extras
    ),
    max_leaves=3,
)
_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "job": jobs,
    "profile": profiles,
    "job_ids": st.lists(texts, max_size=3).map(tuple),
    "job_progress": st.dictionaries(texts, progresses, max_size=2),
    "requests": st.dictionaries(texts, json_values, max_size=2),
    "config": st.dictionaries(texts, json_values, max_size=2),
    "workloads": st.dictionaries(texts, texts, max_size=2),
    "profiles": st.dictionaries(texts, st.dictionaries(texts, profiles, max_size=2), max_size=2),
    "mapping": st.dictionaries(texts, texts | st.integers(0, 9), max_size=2),
    "storage_mapping": st.dictionaries(texts, st.integers(0, 9), max_size=2),
    "additional_io_job": st.dictionaries(texts, json_values, max_size=2),
    "msg": json_values,
    "time": numbers,
    "return_code": st.integers(-(2**31), 2**31),
    **dict.fromkeys(["nb_resources", "nb_compute_resources", "nb_storage_resources"], st.integers(0, 2**20)),
    **dict.fromkeys(["allow_time_sharing", "allow_compute_sharing", "allow_storage_sharing"], st.booleans()),
    **dict.fromkeys(["hpst_host", "lcst_host"], resources),
    **dict.fromkeys(
        ["resources_data", "compute_resources", "storage_resources"], st.lists(resources, max_size=2).map(tuple)
    ),
}


@st.composite
def json_events(draw: st.DrawFn, row: EventVersions, version: Version) -> e.Event:
    """An event of a version."""
    timestamp, beside = draw(numbers), draw(extras)
    if row.fields is None:
        data = draw(st.dictionaries(names, json_values, max_size=3))
        if row.value is e.Notify:
            return e.Notify(timestamp, draw(texts), extra=data, beside=beside)
        return row.value(timestamp, data, beside)  # type: ignore[call-arg]
    values = {}
    for field in row.fields_of(version):
        strategy = _FIELDS.get(field.name, texts)
        if row.value is e.ToJobMsg and field.name == "msg":
            strategy = texts
        values[field.name] = draw(strategy if field.required else strategy | optional)
    return row.value(timestamp, **values, extra=draw(extras), beside=beside)


@st.composite
def json_messages(draw: st.DrawFn, version: Version) -> e.Message:
    """A message of a version."""
    rows = [row for row in EVENTS if row.exists(version)]
    events = draw(st.lists(st.sampled_from(rows).flatmap(lambda row: json_events(row, version)), max_size=3))
    return e.Message(draw(numbers), tuple(events), draw(extras))


times = st.integers(0, 10**15).map(lambda micros: float(f"{micros / 1e6:.6f}"))
"""What text can say: six digits behind the point."""
workloads = st.text("abw0123_./é", min_size=1, max_size=8)
singles = st.lists(st.integers(0, 10**9 - 1).map(str), min_size=1, max_size=3).map(",".join)
machines = st.lists(
    st.tuples(st.integers(0, 99), st.integers(0, 9)).map(lambda pair: f"{pair[0]}-{pair[0] + pair[1]}")
    | st.integers(0, 10**9 - 1).map(str),
    min_size=1,
    max_size=3,
).map(",".join)


def text_events(stamp: Stamp, version: int) -> st.SearchStrategy[t.Event]:
    """An event of a stamp in a version."""
    fields = stamp.value.__struct_fields__[1:]
    job_ids = st.integers(0, 10**9 - 1).map(str)
    if version >= 2:
        job_ids = st.builds("{}!{}".format, workloads, job_ids)
    hosts = machines if version else singles
    one = st.integers(0, 10**9 - 1).map(str)
    of = {
        "job_id": job_ids,
        "machines": one if stamp.letter in "Pp" and not version else hosts,
        "pstate": st.integers(0, 10**9 - 1),
        "time": times,
        "consumed_energy": times,
        "allocations": st.lists(st.builds(t.JobMachines, job_ids, hosts), min_size=1, max_size=3).map(tuple),
        "submitter": workloads,
        "nb_res": st.integers(0, 10**9 - 1),
        "processing_time": times,
        "expected_time": times,
    }
    return st.builds(stamp.value, times, **{name: of[name] for name in fields})


@st.composite
def text_messages(draw: st.DrawFn) -> t.Message:
    """A message of any version."""
    version = draw(st.integers(0, 3))
    stamps = [stamp for stamp in STAMPS if stamp.since <= version]
    events = draw(st.lists(st.sampled_from(stamps).flatmap(lambda each: text_events(each, version)), min_size=1))
    return t.Message(version, draw(times), tuple(events))
