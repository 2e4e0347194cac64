"""Reads the answers of OAR's API: resources, jobs, the number of a submission, and errors.

The result is a value or a `Misunderstood`, for any bytes. This module must not know of sockets or files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from batprotocol.campaigns.managers.oar.http import Answer
from batprotocol.campaigns.model import JobState, RemoteEvent
from batprotocol.campaigns.model.record import Record

__all__ = ["Misunderstood", "OarJob", "Page", "error_of", "job_page", "resource_page", "stress_of", "submitted_id"]

Kind = TypeVar("Kind")
Number = int | str | float | None

MOST_EVENTS: Final = 20
MOST_CHARACTERS: Final = 1000

STATES: Final[Mapping[str, JobState]] = {
    "Hold": JobState.REMOTE_WAITING,
    "Waiting": JobState.REMOTE_WAITING,
    "toAckReservation": JobState.REMOTE_WAITING,
    "toLaunch": JobState.RUNNING,
    "Launching": JobState.RUNNING,
    "Running": JobState.RUNNING,
    "Suspended": JobState.RUNNING,
    "Resuming": JobState.RUNNING,
    "Finishing": JobState.RUNNING,
    "toError": JobState.RUNNING,
    "Terminated": JobState.TERMINATED,
    "Error": JobState.TERMINATED,
}
"""OAR's states. Another one is unknown: `SUBMITTED`."""

FIRST: Final = ("BESTEFFORT_KILL", "WALLTIME")
"""The events that say why OAR killed a job. The event of the kill itself may be listed before them."""

_NEW_ID = re.compile(r"new id = ([0-9]{1,18})\)")


class Misunderstood(ValueError):
    """An answer that is not one of OAR's API."""


class OarJob(Record, frozen=True, kw_only=True):
    """A job, as OAR reports it.

    Args:
        id: OAR's number.
        state: OAR's word.
        command: its command.
        exit_code: its status as `wait` returns it; None: unknown.
        start: the time of its begin, None before.
        stop: the time of its end, None before.
        events: its events. Those that say why it was killed come first.
        resources: the numbers of the resources that it has.
        node: its first node.
        directory: where its files are.
        stdout: the file of its output.
        stderr: the file of its errors.
        array: the number of its array.
        owner: the login of its user.
        became: the number of the job that OAR submitted in its place.
    """

    id: int
    state: str
    command: str = ""
    exit_code: int | None = None
    start: float | None = None
    stop: float | None = None
    events: tuple[RemoteEvent, ...] = ()
    resources: tuple[int, ...] = ()
    node: str | None = None
    directory: str = ""
    stdout: str = ""
    stderr: str = ""
    array: int | None = None
    owner: str = ""
    became: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether it waits until it is resumed."""
        return self.state == "Hold"

    @property
    def is_well(self) -> bool:
        """Whether it has ended well."""
        return self.exit_code == 0 and self.state == "Terminated"

    @property
    def seen_as(self) -> JobState:
        """Its state, as campaigns know it."""
        return STATES.get(self.state, JobState.SUBMITTED)


class Page(Record, frozen=True):
    """A page of a collection.

    Args:
        items: what it has.
        next: the offset of the next page, or None.
        time: the clock of the server.
    """

    items: tuple[Any, ...]
    next: int | None = None
    time: float | None = None


class _Link(msgspec.Struct):
    rel: str | None = None


class _Collection(msgspec.Struct):
    items: list[msgspec.Raw]
    links: list[_Link] | None = None
    offset: Number = 0
    api_timestamp: Number = None


class _Event(msgspec.Struct):
    type: str | None = None
    description: str | None = None


class _Assigned(msgspec.Struct):
    id: Number = None
    status: str | None = None
    network_address: str | None = None


class _Job(msgspec.Struct):
    id: int | str
    state: str
    command: str | None = None
    exit_code: Number = None
    start_time: Number = None
    stop_time: Number = None
    events: list[_Event] | None = None
    resources: list[_Assigned] | None = None
    nodes: list[_Assigned] | None = None
    launching_directory: str | None = None
    stdout_file: str | None = None
    stderr_file: str | None = None
    array_id: Number = None
    owner: str | None = None


class _Submitted(msgspec.Struct):
    id: int | str


class _Stress(msgspec.Struct):
    GLOBAL_STRESS: Number


class _Error(msgspec.Struct):
    title: str | None = None
    message: str | None = None


def job_page(answer: Answer) -> Page:
    """The jobs of a page of `jobs/details`.

    Raises:
        Misunderstood: it is not one.
    """
    page = _decoded(answer, _Collection)
    return _page(page, [_job(_converted(answer, each, _Job)) for each in page.items])


def resource_page(answer: Answer) -> Page:
    """The resources of a page of `resources/full`: the values of their properties as texts.

    Raises:
        Misunderstood: it is not one.
    """
    page = _decoded(answer, _Collection)
    found = []
    for each in page.items:
        members = _converted(answer, each, dict[str, Any])
        flat = {name: str(value)[:MOST_CHARACTERS] for name, value in members.items() if not isinstance(value, list)}
        if _whole(members.get("id")) is None or "state" not in flat:
            raise Misunderstood(f"{answer.about} has a resource without 'id' or 'state'")
        found.append({**flat, "resource_id": str(_whole(members["id"]))})
    return _page(page, found)


def submitted_id(answer: Answer) -> int:
    """The number of a job, or of the first job of an array, that was submitted.

    Raises:
        Misunderstood: it is not there.
    """
    found = _whole(_decoded(answer, _Submitted).id)
    if found is None or found <= 0:
        raise Misunderstood(f"{answer.about} has no number of a job")
    return found


def stress_of(answer: Answer) -> float | None:
    """The stress factor of the cluster, or None if it reports none."""
    if answer.status != 200:
        return None
    try:
        found = float(_decoded(answer, _Stress).GLOBAL_STRESS or 0)
    except (Misunderstood, ValueError, OverflowError):
        return None
    return found if 0 <= found < float("inf") else None


def error_of(answer: Answer) -> str:
    """The message of an answer that reports an error."""
    try:
        found = msgspec.json.decode(answer.body, type=_Error)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _without_tags(answer.body)
    return found.message or found.title or ""


def _without_tags(body: bytes) -> str:
    """The words of a page of HTML."""
    text = body[:10_000].decode("utf-8", "replace")
    return " ".join(re.sub(r"<[^<>]*>", " ", text).split())


def _decoded(answer: Answer, kind: type[Kind]) -> Kind:
    return _converted(answer, answer.body, kind)


def _converted(answer: Answer, text: bytes | msgspec.Raw, kind: type[Kind]) -> Kind:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        if answer.body.lstrip()[:1] == b"<":
            raise Misunderstood(f"{answer.about} is answered with a page for people: {error_of(answer)}") from None
        raise Misunderstood(f"{answer.about} is not answered with the JSON of OAR's API: {error}") from None


def _page(page: _Collection, items: Sequence[Any]) -> Page:
    offset = _whole(page.offset) or 0
    more = bool(items) and any(each.rel == "next" for each in page.links or ())
    return Page(tuple(items), offset + len(items) if more else None, _time(page.api_timestamp))


def _job(found: _Job) -> OarJob:
    number = _whole(found.id)
    if number is None:
        raise Misunderstood("a job has no number")
    events = [
        RemoteEvent(each.type[:MOST_CHARACTERS], (each.description or "")[:MOST_CHARACTERS])
        for each in found.events or ()
        if each.type
    ]
    events.sort(key=lambda event: event.type not in FIRST)
    new = next((new for each in events if (new := _NEW_ID.search(each.description)) is not None), None)
    assigned = (_whole(each.id) for each in found.resources or ())
    return OarJob(
        id=number,
        state=found.state,
        command=(found.command or "")[:MOST_CHARACTERS],
        exit_code=_whole(found.exit_code),
        start=_time(found.start_time),
        stop=_time(found.stop_time),
        events=tuple(events[:MOST_EVENTS]),
        resources=tuple(each for each in assigned if each is not None),
        node=next((each.network_address for each in found.nodes or () if each.network_address), None),
        directory=found.launching_directory or "",
        stdout=found.stdout_file or "",
        stderr=found.stderr_file or "",
        array=_whole(found.array_id),
        owner=found.owner or "",
        became=None if new is None else int(new[1]),
    )


def _whole(value: object) -> int | None:
    """A whole number that may be written as a text; None if it is none."""
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18 else None


def _time(value: object) -> float | None:
    """A time after 1970, or None."""
    found = _whole(value)
    return float(found) if found is not None and found > 0 else None
